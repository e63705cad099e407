/* Merge keys: `<<: *map` or `<<: [*map, {…}]`. Own keys win, then the earlier map; values are shared, not merged. */
#include <inttypes.h>

#include "engine/document/document_internal.h"

/* Looking at a pair costs time even where an earlier one wins: that is bounded like what is added, two items a pair. */
static bool collect_map(struct gr_document_builder *builder, const struct gr_document_frame *frame,
                        const struct gr_item *map) {
  if (map->count > GR_DOCUMENT_ALIAS_ITEMS_MAX / 2 - builder->looked_at) {
    gr_document_report_limit(builder, gr_item_mark(map));
    return true;
  }
  if (map->is_cut) builder->items[frame->item].is_cut = true;
  builder->looked_at += map->count;
  uint64_t first_child = map->first_child;
  for (uint64_t n = 0; n < 2 * (uint64_t)map->count; n++) {
    uint32_t child = builder->children[first_child + n];
    if (!gr_document_push_pending(builder, child)) return false;
    if (n % 2 == 0 && !gr_document_keys_add(&builder->keys, child)) return false;
  }
  return true;
}

static void refuse_kind(struct gr_document_builder *builder, const struct gr_document_frame *frame,
                        const struct gr_item *value, bool in_list) {
  builder->items[frame->item].is_cut = true;
  if (value->kind == GR_ITEM_REFUSED) return;
  gr_diagnostics_error(builder->diagnostics, gr_item_mark(value),
                       "\"<<\" takes a map or a list of maps; this %sis a %s", in_list ? "item of its list " : "",
                       value->kind == GR_ITEM_LIST ? "list" : "scalar");
}

static bool collect_list(struct gr_document_builder *builder, const struct gr_document_frame *frame,
                         const struct gr_item *list) {
  for (uint64_t n = 0; n < list->count; n++) {
    const struct gr_item *map = &builder->items[builder->children[list->first_child + n]];
    if (map->kind != GR_ITEM_MAP) {
      refuse_kind(builder, frame, map, true);
    } else if (!collect_map(builder, frame, map)) {
      return false;
    }
  }
  return true;
}

bool gr_document_merge_collect(struct gr_document_builder *builder, struct gr_document_frame *frame) {
  size_t own_end = builder->pending_count;
  for (size_t at = frame->first_pending; at < own_end; at += 2) {
    if (builder->items[builder->pending[at]].kind != GR_DOCUMENT_MERGE_KEY) continue;
    const struct gr_item *value = &builder->items[builder->pending[at + 1]];
    if (value->kind == GR_ITEM_MAP) {
      if (!collect_map(builder, frame, value)) return false;
    } else if (value->kind == GR_ITEM_LIST) {
      if (!collect_list(builder, frame, value)) return false;
    } else {
      refuse_kind(builder, frame, value, false);
    }
  }
  return true;
}

void gr_document_merge_select(struct gr_document_builder *builder, struct gr_document_frame *frame, size_t own_count) {
  const struct gr_document_key *keys = builder->keys.list;
  uint32_t *pairs = builder->pending + frame->first_pending;
  uint64_t added = frame->merged;
  size_t kept = 0;
  for (size_t i = 0; i < builder->keys.count; i++) {
    if (builder->items[pairs[2 * i]].kind == GR_ITEM_SCALAR && keys[i].first == i) {
      pairs[2 * kept] = pairs[2 * i];
      pairs[2 * kept + 1] = pairs[2 * i + 1];
      kept++;
    } else if (i >= own_count && builder->items[pairs[2 * i + 1]].kind == GR_ITEM_SCALAR) {
      added -= 2; /* lists and maps that lose stay counted: how much is in them is not known any more */
    }
  }
  builder->pending_count = frame->first_pending + 2 * kept;
  if (added > GR_DOCUMENT_ALIAS_ITEMS_MAX - builder->added) {
    gr_document_report_limit(builder, gr_item_mark(&builder->items[frame->merge_key]));
    return;
  }
  builder->added += added;
  frame->expanded += added;
}
