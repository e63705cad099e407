/* One line an item, indented by depth; what is used several times is shown each time. */
#include <inttypes.h>

#include "engine/document/document.h"

/* A list or map that is being walked. */
struct level {
  const struct gr_item *item;
  uint64_t next; /* child, or pair */
};

static void append_item(struct gr_text *out, const struct gr_item *item) {
  if (item->kind == GR_ITEM_SCALAR) {
    gr_text_append_json(out, gr_item_text(item));
    if (item->is_plain) gr_text_append_text(out, " plain");
  } else if (item->kind == GR_ITEM_REFUSED) {
    gr_text_append_text(out, "refused");
  } else {
    gr_text_append_format(out, "%s of %" PRIu32, item->kind == GR_ITEM_MAP ? "map" : "list", item->count);
  }
  if (item->is_flow) gr_text_append_text(out, " flow");
  gr_text_append_format(out, " %" PRIu32 ":%" PRIu32 "\n", item->line, item->column);
}

/* The next child of the level, with its key and without what lies in it. */
static const struct gr_item *append_child(const struct gr_document *document, struct gr_text *out, struct level *level,
                                          uint32_t depth) {
  bool is_map = level->item->kind == GR_ITEM_MAP;
  uint64_t n = level->next++;
  gr_text_append_format(out, "%*s", (int)(2 * depth), "");
  if (is_map) {
    gr_text_append_json(out, gr_item_text(gr_document_item(document, gr_document_child(document, level->item, 2 * n))));
    gr_text_append_text(out, ": ");
  }
  uint32_t index = gr_document_child(document, level->item, is_map ? 2 * n + 1 : n);
  const struct gr_item *child = gr_document_item(document, index);
  append_item(out, child);
  return child;
}

void gr_document_show(const struct gr_document *document, struct gr_text *out) {
  struct level levels[GR_DOCUMENT_DEPTH_MAX];
  uint32_t depth = 0;
  levels[depth++] = (struct level){gr_document_item(document, document->root), 0};
  append_item(out, levels[0].item);
  while (depth > 0 && !out->failed) {
    struct level *level = &levels[depth - 1];
    if (level->next == level->item->count) {
      depth--;
      continue;
    }
    const struct gr_item *child = append_child(document, out, level, depth);
    if (child->kind == GR_ITEM_LIST || child->kind == GR_ITEM_MAP) levels[depth++] = (struct level){child, 0};
  }
}
