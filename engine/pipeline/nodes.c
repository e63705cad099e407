/* Nodes: first all ids, so that `after` may name what comes further down, then each node by its kind. */
#include <inttypes.h>
#include <math.h>

#include "engine/pipeline/pipeline_internal.h"

enum { SECONDS_MAX = 1000000000 }; /* some thirty years; in nanoseconds it fits 63 bits */

static struct gr_mark mark_of(struct gr_reader *reader, uint32_t item) {
  return gr_item_mark(gr_reader_item(reader, item));
}

static void add_access(struct gr_reader *reader, struct gr_node *node, uint32_t reference_index,
                       enum gr_access access) {
  struct gr_node_access *kept = gr_reader_push(reader, &reader->accesses, sizeof *kept);
  if (!kept) return;
  *kept = (struct gr_node_access){reference_index, access};
  node->access_count++;
}

void gr_reader_add_access(struct gr_reader *reader, struct gr_node *node, uint32_t reference_index,
                          enum gr_access access) {
  const struct gr_reference *references = reader->references.elements;
  /* What touches no byte orders nothing. */
  if (node->is_no_op || access == GR_ACCESS_NONE || references[reference_index].element_count == 0) return;
  add_access(reader, node, reference_index, access);
}

/* ---- copy and fill ---- */

static bool has_same_shape(const struct gr_reference *a, const struct gr_reference *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    if (a->extents[i] != b->extents[i]) return false;
  }
  return true;
}

static void say_shapes_differ(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark,
                              const struct gr_reference *from, const struct gr_reference *to) {
  struct gr_shown_reference from_text = gr_reference_show(reader->buffers, from);
  struct gr_shown_reference to_text = gr_reference_show(reader->buffers, to);
  if (from->element_count != to->element_count) {
    gr_reader_error(reader, where, mark, "%s has %" PRIu64 " elements, but %s has %" PRIu64, from_text.text,
                    from->element_count, to_text.text, to->element_count);
  } else {
    gr_reader_error(reader, where, mark,
                    "%s and %s have equally many elements in different shapes, and %s does not lie side by side",
                    from_text.text, to_text.text, from->is_contiguous ? to_text.text : from_text.text);
  }
}

static bool check_copy(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark,
                       const struct gr_reference *from, const struct gr_reference *to) {
  enum gr_type from_type = reader->buffers[from->buffer_index].type;
  enum gr_type to_type = reader->buffers[to->buffer_index].type;
  struct gr_shown_reference from_text = gr_reference_show(reader->buffers, from);
  struct gr_shown_reference to_text = gr_reference_show(reader->buffers, to);
  if (from_type != to_type) {
    gr_reader_error(reader, where, mark, "%s is %s, but %s is %s; a copy does not convert, the kernel convert does",
                    from_text.text, gr_type_name(from_type), to_text.text, gr_type_name(to_type));
    return false;
  }
  bool is_packed = from->is_contiguous && to->is_contiguous && from->element_count == to->element_count;
  if (!is_packed && !has_same_shape(from, to)) {
    say_shapes_differ(reader, where, mark, from, to);
    return false;
  }
  if (gr_reference_overlaps(from, to)) {
    gr_reader_error(reader, where, mark, "source %s and target %s overlap", from_text.text, to_text.text);
    return false;
  }
  if (from->element_count == 0 || gr_box_fold_copy(reader->buffers, from, to, NULL)) return true;
  gr_reader_error(reader, where, mark,
                  "copying %s to %s needs more than 3 dimensions, also after folding those that lie side by side; "
                  "copy it in parts",
                  from_text.text, to_text.text);
  return false;
}

static bool read_reference(struct gr_reader *reader, const struct gr_where *parent, const struct gr_fields *fields,
                           uint32_t field, const char *key, struct gr_reference *reference) {
  if (!gr_field_is_usable(fields, field)) return false;
  struct gr_where where = gr_where_field(parent, key);
  return gr_reader_reference(reader, &where, fields->values[field], reference) == GR_LOOKUP_FOUND;
}

static void read_copy(struct gr_reader *reader, const struct gr_where *parent, uint32_t item, struct gr_node *node) {
  struct gr_where where = gr_where_field(parent, "copy");
  struct gr_fields fields;
  if (!gr_reader_fields(reader, &where, item, &gr_copy_fields, &fields)) return;
  struct gr_reference from;
  struct gr_reference to;
  bool is_right = read_reference(reader, &where, &fields, GR_COPY_FIELD_FROM, "from", &from);
  is_right = read_reference(reader, &where, &fields, GR_COPY_FIELD_TO, "to", &to) && is_right;
  if (!is_right || !check_copy(reader, &where, mark_of(reader, item), &from, &to)) return;
  node->is_no_op = from.element_count == 0;
  node->copy.from = gr_reader_add_reference(reader, &from);
  node->copy.to = gr_reader_add_reference(reader, &to);
  if (reader->is_out_of_memory) return;
  gr_reader_add_access(reader, node, node->copy.from, GR_ACCESS_READ);
  gr_reader_add_access(reader, node, node->copy.to, GR_ACCESS_WRITE);
}

static void read_fill(struct gr_reader *reader, const struct gr_where *parent, uint32_t item, struct gr_node *node) {
  struct gr_where where = gr_where_field(parent, "fill");
  struct gr_fields fields;
  if (!gr_reader_fields(reader, &where, item, &gr_fill_fields, &fields)) return;
  struct gr_reference to;
  bool is_right = read_reference(reader, &where, &fields, GR_FILL_FIELD_BUFFER, "buffer", &to);
  const enum gr_type *type = is_right ? &reader->buffers[to.buffer_index].type : NULL;
  struct gr_where value = gr_where_field(&where, "value");
  struct gr_number number;
  is_right = gr_field_is_usable(&fields, GR_FILL_FIELD_VALUE) &&
             gr_reader_value(reader, &value, fields.values[GR_FILL_FIELD_VALUE], type, &number, &node->fill.value) &&
             is_right;
  if (!is_right) return;
  if (to.element_count > 0 && !gr_box_fold_fill(reader->buffers, &to, NULL)) {
    gr_reader_error(reader, &where, to.mark,
                    "filling %s needs more than 3 dimensions, also after folding those that lie side by side; fill it "
                    "in parts",
                    gr_reference_show(reader->buffers, &to).text);
    return;
  }
  node->is_no_op = to.element_count == 0;
  node->fill.to = gr_reader_add_reference(reader, &to);
  if (reader->is_out_of_memory) return;
  gr_reader_add_access(reader, node, node->fill.to, GR_ACCESS_WRITE);
}

/* ---- what all nodes have ---- */

static void read_timeout(struct gr_reader *reader, const struct gr_where *parent, const struct gr_fields *fields,
                         struct gr_node *node) {
  if (!gr_field_is_usable(fields, GR_NODE_FIELD_TIMEOUT)) return;
  struct gr_where where = gr_where_field(parent, "timeout");
  uint32_t item = fields->values[GR_NODE_FIELD_TIMEOUT];
  double seconds;
  if (!gr_reader_real(reader, &where, item, &seconds)) return;
  if (seconds > 0 && seconds <= SECONDS_MAX) {
    node->timeout_ns = (uint64_t)ceil(seconds * 1e9);
    return;
  }
  gr_reader_error(reader, &where, mark_of(reader, item), "%s is no timeout; allowed are seconds above 0 up to %d",
                  gr_view_quote(gr_item_text(gr_reader_item(reader, item))).text, (int)SECONDS_MAX);
}

static void read_note(struct gr_reader *reader, const struct gr_where *parent, const struct gr_fields *fields,
                      struct gr_node *node) {
  if (!gr_field_is_usable(fields, GR_NODE_FIELD_NOTE)) return;
  uint32_t item = fields->values[GR_NODE_FIELD_NOTE];
  struct gr_view text = gr_item_text(gr_reader_item(reader, item));
  struct gr_where where = gr_where_field(parent, "note");
  size_t bad;
  for (size_t i = 0; i < text.length; i++) {
    if (text.bytes[i] != '\0') continue;
    gr_reader_error(reader, &where, mark_of(reader, item), "the note has a zero byte in it");
    return;
  }
  if (!gr_utf8_valid(text, &bad)) {
    gr_reader_error(reader, &where, mark_of(reader, item), "the note is not valid UTF-8");
    return;
  }
  node->note = gr_reader_copy(reader, text);
}

static void say_unknown_node(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark,
                             struct gr_view name) {
  if (reader->cut.nodes) return;
  if (gr_name_table_find(&reader->buffer_names, name) != GR_NO_INDEX) {
    gr_reader_error(reader, where, mark, "%s is a buffer, and a node is expected", gr_view_quote(name).text);
  } else if (name.length == 0) {
    gr_reader_error(reader, where, mark, "is empty; write [] or leave it out");
  } else {
    gr_reader_error(reader, where, mark, "there is no node %s%s", gr_view_quote(name).text,
                    gr_hint_of(gr_reader_nearest(reader, &reader->node_names, name)).text);
  }
}

static void read_after(struct gr_reader *reader, const struct gr_where *parent, uint32_t item, uint32_t node_index) {
  struct gr_node *node = &reader->nodes[node_index];
  struct gr_where where = gr_where_field(parent, "after");
  struct gr_elements elements = gr_reader_elements(reader, item, false);
  struct gr_element_item element;
  while (gr_reader_next_element(reader, &where, &elements, &element)) {
    const struct gr_item *id = gr_reader_item(reader, element.item);
    struct gr_where inner = element.index < 0 ? where : gr_where_item(&where, element.index);
    if (!gr_reader_takes(reader, &inner, element.item, GR_FIELD_NAME)) continue;
    uint32_t before = gr_name_table_find(&reader->node_names, gr_item_text(id));
    if (before == GR_NO_INDEX) {
      say_unknown_node(reader, &inner, gr_item_mark(id), gr_item_text(id));
      continue;
    }
    if (reader->seen_after[before] == node_index + 1) continue; /* a repeated id counts once */
    reader->seen_after[before] = node_index + 1;
    struct gr_after *after = gr_reader_push(reader, &reader->after, sizeof *after);
    if (!after) return;
    *after = (struct gr_after){before, gr_item_mark(id)};
    node->after_count++;
  }
}

/* ---- kinds ---- */

static const uint32_t kind_fields[] = {GR_NODE_FIELD_COPY, GR_NODE_FIELD_FILL, GR_NODE_FIELD_KERNEL, GR_NODE_FIELD_HOST,
                                       GR_NODE_FIELD_BARRIER};
enum { KIND_COUNT = sizeof kind_fields / sizeof kind_fields[0] };

/* The one field that says the kind, or GR_NO_INDEX. */
static uint32_t find_kind(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark,
                          const struct gr_fields *fields) {
  uint32_t kinds[KIND_COUNT];
  uint32_t count = 0;
  for (uint32_t i = 0; i < KIND_COUNT; i++) {
    if (gr_field_is_there(fields, kind_fields[i])) kinds[count++] = kind_fields[i];
  }
  if (count == 1) return kinds[0];
  if (count == 0 && !fields->has_unknown) {
    gr_reader_error(reader, where, mark,
                    "exactly one of copy, fill, kernel, host and barrier is needed, and none is there");
  } else if (count > 1) {
    gr_reader_error(reader, where, mark,
                    "exactly one of copy, fill, kernel, host and barrier is needed, and both %s and %s are there",
                    gr_node_fields.fields[kinds[0]].key, gr_node_fields.fields[kinds[1]].key);
  }
  return GR_NO_INDEX;
}

static void refuse_stray_fields(struct gr_reader *reader, const struct gr_where *where, const struct gr_fields *fields,
                                uint32_t kind) {
  static const uint32_t kernel_fields[] = {GR_NODE_FIELD_ARGS, GR_NODE_FIELD_LAUNCH};
  if (kind == GR_NODE_FIELD_KERNEL || kind == GR_NODE_FIELD_HOST || kind == GR_NO_INDEX) return;
  for (uint32_t i = 0; i < 2; i++) {
    if (!gr_field_is_usable(fields, kernel_fields[i])) continue;
    gr_reader_error(reader, where, mark_of(reader, fields->values[kernel_fields[i]]),
                    "\"%s\" belongs to kernel nodes, and this is a %s node",
                    gr_node_fields.fields[kernel_fields[i]].key, gr_node_fields.fields[kind].key);
  }
}

static void read_barrier(struct gr_reader *reader, const struct gr_where *where, uint32_t item) {
  if (gr_reader_item(reader, item)->count == 0) return;
  gr_reader_error(reader, where, mark_of(reader, item), "a barrier has nothing in it; write barrier: {}");
}

static void read_kind(struct gr_reader *reader, const struct gr_where *where, const struct gr_fields *fields,
                      uint32_t kind, struct gr_node *node) {
  if (kind == GR_NO_INDEX || !gr_field_is_usable(fields, kind)) return;
  switch (kind) {
    case GR_NODE_FIELD_COPY:
      node->kind = GR_NODE_COPY;
      read_copy(reader, where, fields->values[kind], node);
      break;
    case GR_NODE_FIELD_FILL:
      node->kind = GR_NODE_FILL;
      read_fill(reader, where, fields->values[kind], node);
      break;
    case GR_NODE_FIELD_KERNEL:
      node->kind = GR_NODE_KERNEL;
      gr_reader_call(reader, where, fields, node);
      break;
    case GR_NODE_FIELD_HOST:
      gr_reader_unsupported(reader, where, mark_of(reader, fields->values[kind]), "host nodes are not supported yet");
      break;
    default:
      node->kind = GR_NODE_BARRIER;
      read_barrier(reader, where, fields->values[kind]);
  }
}

/* ---- all of them ---- */

/* Might the node have an id that cannot be seen? */
static bool hides_id(const struct gr_item *map) { return map->kind == GR_ITEM_REFUSED || map->is_cut; }

/* The item of the node's id, or GR_NO_INDEX. */
static uint32_t find_id(const struct gr_reader *reader, const struct gr_item *map) {
  if (map->kind != GR_ITEM_MAP) return GR_NO_INDEX;
  for (uint64_t i = 0; i < map->count; i++) {
    uint32_t key = gr_document_child(reader->document, map, 2 * i);
    if (!gr_view_is(gr_item_text(gr_reader_item(reader, key)), gr_node_fields.fields[GR_NODE_FIELD_ID].key)) continue;
    uint32_t value = gr_document_child(reader->document, map, 2 * i + 1);
    return gr_reader_item(reader, value)->kind == GR_ITEM_SCALAR ? value : GR_NO_INDEX;
  }
  return GR_NO_INDEX;
}

static void read_id(struct gr_reader *reader, const struct gr_item *map, uint32_t index) {
  struct gr_node *node = &reader->nodes[index];
  node->mark = gr_item_mark(map);
  uint32_t item = find_id(reader, map);
  if (item == GR_NO_INDEX) { /* said when the node is read */
    reader->cut.nodes = reader->cut.nodes || hides_id(map);
    return;
  }
  struct gr_view name = gr_item_text(gr_reader_item(reader, item));
  struct gr_where parent = gr_where_field(NULL, "nodes");
  struct gr_where where = gr_where_item(&parent, index);
  /* Also a wrong name is known, so that what comes after it is not wrong as well. */
  if (gr_reader_name(reader, &where, name, mark_of(reader, item), false)) node->name = gr_reader_copy(reader, name);
  if (name.length == 0) return;
  uint32_t first = gr_name_table_add(&reader->node_names, name, index);
  if (first == GR_NO_INDEX) return;
  gr_reader_error(reader, NULL, mark_of(reader, item), "the id %s is taken: the node on line %" PRIu32 " has it",
                  gr_view_quote(name).text, reader->nodes[first].mark.line);
}

static void read_node(struct gr_reader *reader, uint32_t item, uint32_t index) {
  struct gr_node *node = &reader->nodes[index];
  struct gr_where parent = gr_where_field(NULL, "nodes");
  struct gr_where where = node->name ? gr_where_noun("node", gr_view_of(node->name)) : gr_where_item(&parent, index);
  node->first_after = (uint32_t)reader->after.count;
  node->first_access = (uint32_t)reader->accesses.count;
  struct gr_fields fields;
  if (!gr_reader_fields(reader, &where, item, &gr_node_fields, &fields)) return;
  uint32_t kind = find_kind(reader, &where, node->mark, &fields);
  refuse_stray_fields(reader, &where, &fields, kind);
  if (gr_field_is_usable(&fields, GR_NODE_FIELD_AFTER)) {
    read_after(reader, &where, fields.values[GR_NODE_FIELD_AFTER], index);
  }
  read_timeout(reader, &where, &fields, node);
  read_note(reader, &where, &fields, node);
  read_kind(reader, &where, &fields, kind, node);
}

void gr_reader_nodes(struct gr_reader *reader, uint32_t list) {
  const struct gr_item *item = gr_reader_item(reader, list);
  uint32_t count = item->count;
  if (count == 0) {
    struct gr_where where = gr_where_field(NULL, "nodes");
    gr_reader_error(reader, &where, gr_item_mark(item), "the list is empty; at least one node is needed");
    return;
  }
  if (!gr_name_table_init(&reader->node_names, reader->memory, count)) {
    reader->is_out_of_memory = true;
    return;
  }
  reader->nodes = gr_arena_allocate_zeroed(&reader->pipeline->arena, count, sizeof *reader->nodes);
  reader->seen_after = gr_memory_allocate_zeroed(reader->memory, count, sizeof *reader->seen_after);
  if (!gr_reader_has(reader, reader->nodes) || !gr_reader_has(reader, reader->seen_after)) return;
  for (uint32_t i = 0; i < count; i++) {
    read_id(reader, gr_reader_item(reader, gr_document_child(reader->document, item, i)), i);
  }
  for (uint32_t i = 0; i < count && !reader->is_out_of_memory; i++) {
    read_node(reader, gr_document_child(reader->document, item, i), i);
  }
  reader->pipeline->nodes = reader->nodes;
  reader->pipeline->node_count = count;
}
