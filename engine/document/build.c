/* The tree, item by item in file order. Children of an open list or map wait on one common stack and move to their
 * final place, side by side, when it is closed. */
#include <inttypes.h>
#include <string.h>

#include "engine/document/document_internal.h"

enum { TEXT_ROOM_BYTES = 16 << 10 };

void gr_document_builder_init(struct gr_document_builder *builder, struct gr_memory *memory,
                              struct gr_diagnostics *diagnostics) {
  memset(builder, 0, sizeof *builder);
  builder->memory = memory;
  builder->diagnostics = diagnostics;
  gr_arena_init(&builder->arena, memory);
  gr_document_anchors_init(&builder->anchors, memory);
  gr_document_keys_init(&builder->keys, memory);
}

void gr_document_builder_release(struct gr_document_builder *builder) {
  gr_arena_release(&builder->arena);
  gr_memory_release(builder->memory, builder->items);
  gr_memory_release(builder->memory, builder->children);
  gr_memory_release(builder->memory, builder->pending);
  gr_document_anchors_release(&builder->anchors);
  gr_document_keys_release(&builder->keys);
}

struct gr_view gr_document_copy_text(struct gr_document_builder *builder, struct gr_view text) {
  /* The arena rounds every size up to its alignment: short texts share a piece. */
  if (text.length > builder->text_room_bytes && text.length < TEXT_ROOM_BYTES / 4) {
    char *room = gr_arena_allocate(&builder->arena, TEXT_ROOM_BYTES, 1);
    if (!room) return (struct gr_view){NULL, 0};
    builder->text_room = room;
    builder->text_room_bytes = TEXT_ROOM_BYTES;
  }
  char *copy;
  if (text.length <= builder->text_room_bytes && builder->text_room) {
    copy = builder->text_room;
    builder->text_room += text.length;
    builder->text_room_bytes -= text.length;
  } else {
    copy = gr_arena_allocate(&builder->arena, text.length, 1);
    if (!copy) return (struct gr_view){NULL, 0};
  }
  if (text.length > 0) memcpy(copy, text.bytes, text.length);
  return (struct gr_view){copy, text.length};
}

static struct gr_document_frame *innermost(struct gr_document_builder *builder) {
  return &builder->frames[builder->frame_count - 1];
}

bool gr_document_is_in_flow(const struct gr_document_builder *builder) {
  return builder->frame_count > 0 && builder->items[builder->frames[builder->frame_count - 1].item].is_flow;
}

/* UINT32_MAX without memory, which also 2^32 items would be. */
static uint32_t push_item(struct gr_document_builder *builder, struct gr_item item) {
  if (builder->item_count >= UINT32_MAX || !gr_memory_grow(builder->memory, &builder->items, builder->item_count,
                                                           &builder->item_capacity, sizeof *builder->items))
    return UINT32_MAX;
  uint32_t index = (uint32_t)builder->item_count++;
  builder->items[index] = item;
  return index;
}

bool gr_document_push_pending(struct gr_document_builder *builder, uint32_t item) {
  if (!gr_memory_grow(builder->memory, &builder->pending, builder->pending_count, &builder->pending_capacity,
                      sizeof *builder->pending))
    return false;
  builder->pending[builder->pending_count++] = item;
  return true;
}

static const char *kind_text(const struct gr_item *item) {
  return item->kind == GR_ITEM_MAP ? "map" : item->kind == GR_ITEM_LIST ? "list" : "scalar";
}

static void report_second_merge(struct gr_document_builder *builder, const struct gr_item *first,
                                const struct gr_item *second) {
  gr_diagnostics_error(builder->diagnostics, gr_item_mark(second),
                       "the key \"<<\" is given twice, first in line %" PRIu32
                       "; to merge several maps give it a list: <<: [*a, *b]",
                       first->line);
}

/* Quoted, `"<<"` is a key like any other. */
static bool is_merge_key(const struct gr_item *item) {
  return item->kind == GR_ITEM_SCALAR && item->is_plain && gr_view_is(gr_item_text(item), "<<");
}

static void take_key(struct gr_document_builder *builder, struct gr_document_frame *frame, uint32_t index) {
  struct gr_item *key = &builder->items[index];
  if (key->kind == GR_ITEM_LIST || key->kind == GR_ITEM_MAP) {
    gr_diagnostics_error(builder->diagnostics, gr_item_mark(key), "a key must be a scalar; this one is a %s",
                         kind_text(key));
  }
  if (key->kind != GR_ITEM_SCALAR) builder->items[frame->item].is_cut = true;
  if (!is_merge_key(key)) {
    frame->expanded++;
    return;
  }
  key->kind = GR_DOCUMENT_MERGE_KEY;
  frame->expects_merged = true;
  if (frame->merge_key > 0) report_second_merge(builder, &builder->items[frame->merge_key], key);
  if (frame->merge_key == 0) frame->merge_key = index;
}

static void raise_to(uint32_t *height, uint32_t other) {
  if (*height < other) *height = other;
}

/* What `<<` is given: not a child itself, its children will be. */
static void take_merged(struct gr_document_builder *builder, struct gr_document_frame *frame, uint32_t index,
                        uint32_t height, uint64_t expanded) {
  const struct gr_item *value = &builder->items[index];
  frame->expects_merged = false;
  if (value->kind == GR_ITEM_MAP) {
    frame->merged += expanded - 1;
    raise_to(&frame->height, height - 1);
  } else if (value->kind == GR_ITEM_LIST) {
    frame->merged += expanded - 1 - value->count;
    if (height > 2) raise_to(&frame->height, height - 2);
  }
}

static bool deliver(struct gr_document_builder *builder, uint32_t index, uint32_t height, uint64_t expanded) {
  if (builder->frame_count == 0) {
    builder->has_root = true;
    builder->root = index;
    builder->root_expanded = expanded;
    return true;
  }
  struct gr_document_frame *frame = innermost(builder);
  bool in_map = builder->items[frame->item].kind == GR_ITEM_MAP;
  bool is_key = in_map && (builder->pending_count - frame->first_pending) % 2 == 0;
  if (!gr_document_push_pending(builder, index)) return false;
  if (is_key) {
    take_key(builder, frame, index);
  } else if (frame->expects_merged) {
    take_merged(builder, frame, index, height, expanded);
  } else {
    raise_to(&frame->height, height);
    frame->expanded += expanded;
  }
  return true;
}

/* The anchor of that name, whether it is there already (a later anchor takes the name over) or not. */
static uint32_t take_anchor(struct gr_document_builder *builder, struct gr_view name) {
  uint32_t index = gr_document_anchors_find(&builder->anchors, name);
  if (index != GR_DOCUMENT_NO_ANCHOR) return index;
  struct gr_view copy = gr_document_copy_text(builder, name);
  return copy.bytes ? gr_document_anchors_add(&builder->anchors, copy) : GR_DOCUMENT_NO_ANCHOR;
}

bool gr_document_add_scalar(struct gr_document_builder *builder, struct gr_item item, struct gr_view anchor) {
  uint32_t index = push_item(builder, item);
  if (index == UINT32_MAX) return false;
  if (anchor.length > 0) {
    uint32_t anchor_index = take_anchor(builder, anchor);
    if (anchor_index == GR_DOCUMENT_NO_ANCHOR) return false;
    struct gr_document_anchor *entry = &builder->anchors.entries[anchor_index];
    entry->item = index;
    entry->height = 0;
    entry->expanded = 1;
    entry->is_open = false;
  }
  return deliver(builder, index, 0, 1);
}

bool gr_document_open(struct gr_document_builder *builder, struct gr_item item, struct gr_view anchor) {
  bool is_merged_list = false;
  if (builder->frame_count > 0) is_merged_list = item.kind == GR_ITEM_LIST && innermost(builder)->expects_merged;
  uint32_t index = push_item(builder, item);
  if (index == UINT32_MAX) return false;
  uint32_t anchor_index = GR_DOCUMENT_NO_ANCHOR;
  if (anchor.length > 0) {
    anchor_index = take_anchor(builder, anchor);
    if (anchor_index == GR_DOCUMENT_NO_ANCHOR) return false;
    builder->anchors.entries[anchor_index].item = index;
    builder->anchors.entries[anchor_index].is_open = true;
  }
  builder->frames[builder->frame_count++] = (struct gr_document_frame){
      .item = index,
      .anchor = anchor_index,
      .expanded = 1,
      .first_pending = builder->pending_count,
      .is_merged_list = is_merged_list,
  };
  return true;
}

static void report_equal_keys(struct gr_document_builder *builder, size_t own_count) {
  const struct gr_document_key *list = builder->keys.list;
  for (size_t i = 0; i < own_count; i++) {
    if (list[i].first == i) continue;
    const struct gr_item *key = &builder->items[list[i].item];
    gr_diagnostics_error(builder->diagnostics, gr_item_mark(key), "the key %s is given twice, first in line %" PRIu32,
                         gr_view_quote(gr_item_text(key)).text, builder->items[list[list[i].first].item].line);
  }
}

static bool finish_map(struct gr_document_builder *builder, struct gr_document_frame *frame) {
  size_t own_count = (builder->pending_count - frame->first_pending) / 2;
  builder->keys.count = 0;
  for (size_t i = 0; i < own_count; i++) {
    if (!gr_document_keys_add(&builder->keys, builder->pending[frame->first_pending + 2 * i])) return false;
  }
  if (frame->merge_key > 0 && !gr_document_merge_collect(builder, frame)) return false;
  if (!gr_document_keys_find_equal(&builder->keys, builder->items)) return false;
  report_equal_keys(builder, own_count);
  gr_document_merge_select(builder, frame, own_count);
  return true;
}

/* Moves what is pending of the frame to its final place. */
static bool settle_children(struct gr_document_builder *builder, const struct gr_document_frame *frame) {
  size_t count = builder->pending_count - frame->first_pending;
  size_t needed = builder->child_count + count;
  if (needed > builder->child_capacity) {
    size_t capacity = builder->child_capacity + builder->child_capacity / 2;
    if (capacity < needed) capacity = needed < 8 ? 8 : needed;
    uint32_t *children = gr_memory_resize(builder->memory, builder->children, capacity, sizeof *children);
    if (!children) return false;
    builder->children = children;
    builder->child_capacity = capacity;
  }
  struct gr_item *item = &builder->items[frame->item];
  item->first_child = builder->child_count;
  item->count = (uint32_t)(item->kind == GR_ITEM_MAP ? count / 2 : count);
  if (count > 0)
    memcpy(builder->children + builder->child_count, builder->pending + frame->first_pending,
           count * sizeof *builder->children);
  builder->child_count = needed;
  builder->pending_count = frame->first_pending;
  return true;
}

bool gr_document_close(struct gr_document_builder *builder) {
  struct gr_document_frame *frame = innermost(builder);
  if (builder->items[frame->item].kind == GR_ITEM_MAP && !finish_map(builder, frame)) return false;
  if (!settle_children(builder, frame)) return false;
  if (frame->anchor != GR_DOCUMENT_NO_ANCHOR) {
    struct gr_document_anchor *entry = &builder->anchors.entries[frame->anchor];
    if (entry->item == frame->item) { /* else the name was given anew inside */
      entry->height = frame->height + 1;
      entry->expanded = frame->expanded;
      entry->is_open = false;
    }
  }
  builder->frame_count--;
  return deliver(builder, frame->item, frame->height + 1, frame->expanded);
}

static bool add_refused(struct gr_document_builder *builder, struct gr_mark mark) {
  struct gr_item item = {.line = mark.line, .column = mark.column, .text = "", .kind = GR_ITEM_REFUSED};
  uint32_t index = push_item(builder, item);
  return index != UINT32_MAX && deliver(builder, index, 0, 1);
}

void gr_document_report_limit(struct gr_document_builder *builder, struct gr_mark mark) {
  if (builder->limit_is_reported) return;
  builder->limit_is_reported = true;
  builder->is_broken = true;
  gr_diagnostics_error(builder->diagnostics, mark, "aliases and merge keys add more than %d items up to here",
                       GR_DOCUMENT_ALIAS_ITEMS_MAX);
}

static void report_unknown_alias(struct gr_document_builder *builder, struct gr_view name, struct gr_mark mark) {
  struct gr_view near = gr_document_anchors_nearest(&builder->anchors, name);
  if (near.length > 0) {
    gr_diagnostics_error(builder->diagnostics, mark, "the alias %s has no anchor before it; did you mean %s?",
                         gr_view_quote(name).text, gr_view_quote(near).text);
  } else {
    gr_diagnostics_error(builder->diagnostics, mark,
                         "the alias %s has no anchor before it; a text that starts with '*' needs quotes",
                         gr_view_quote(name).text);
  }
}

/* How many of the open lists and maps a merged value will not lie in: the map's content comes out of the `<<` value,
 * and out of its list. */
static uint32_t merged_levels(const struct gr_document_builder *builder) {
  if (builder->frame_count == 0) return 0;
  const struct gr_document_frame *frame = &builder->frames[builder->frame_count - 1];
  return frame->expects_merged ? 1 : frame->is_merged_list ? 2 : 0;
}

/* Whether what the anchor names may stand here; else says why not. */
static bool check_alias(struct gr_document_builder *builder, const struct gr_document_anchor *entry,
                        struct gr_mark mark) {
  if (entry->is_open) {
    gr_diagnostics_error(builder->diagnostics, mark,
                         "the alias %s stands inside the %s that it names, which would have no end",
                         gr_view_quote(entry->name).text, kind_text(&builder->items[entry->item]));
    return false;
  }
  uint32_t levels = merged_levels(builder);
  if (builder->frame_count + entry->height > GR_DOCUMENT_DEPTH_MAX + levels) {
    gr_diagnostics_error(builder->diagnostics, mark,
                         "with what the alias %s names, lists and maps are nested deeper than %d",
                         gr_view_quote(entry->name).text, GR_DOCUMENT_DEPTH_MAX);
    builder->is_broken = true;
    return false;
  }
  if (levels > 0) return true; /* the merge counts what it adds */
  if (entry->expanded > GR_DOCUMENT_ALIAS_ITEMS_MAX - builder->added) {
    gr_document_report_limit(builder, mark);
    return false;
  }
  builder->added += entry->expanded;
  return true;
}

/* A copy of the item with the alias's place, so that messages point at where something is used. */
bool gr_document_add_alias(struct gr_document_builder *builder, struct gr_view name, struct gr_mark mark) {
  uint32_t anchor_index = gr_document_anchors_find(&builder->anchors, name);
  if (anchor_index == GR_DOCUMENT_NO_ANCHOR) {
    report_unknown_alias(builder, name, mark);
    return add_refused(builder, mark);
  }
  const struct gr_document_anchor *entry = &builder->anchors.entries[anchor_index];
  if (!check_alias(builder, entry, mark)) return add_refused(builder, mark);
  struct gr_item item = builder->items[entry->item];
  if (item.kind == GR_DOCUMENT_MERGE_KEY) item.kind = GR_ITEM_SCALAR;
  item.line = mark.line;
  item.column = mark.column;
  uint32_t index = push_item(builder, item);
  return index != UINT32_MAX && deliver(builder, index, entry->height, entry->expanded);
}
