/* References: a buffer's name, or a slice of it with one half-open range a dimension. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

/* What a reference is about, cut into its parts. */
struct spelling {
  struct gr_view text;
  struct gr_view name;
  struct gr_view ranges; /* between the brackets */
  bool is_slice;
};

static bool split(struct gr_reader *reader, const struct gr_where *where, const struct gr_item *item,
                  struct spelling *spelling) {
  struct gr_view text = gr_item_text(item);
  *spelling = (struct spelling){.text = text, .name = text};
  const char *open = text.length > 0 ? memchr(text.bytes, '[', text.length) : NULL;
  if (!open) return true;
  size_t before = (size_t)(open - text.bytes);
  if (text.bytes[text.length - 1] != ']') {
    gr_reader_error(reader, where, gr_item_mark(item), "%s has no \"]\" at its end", gr_view_quote(text).text);
    return false;
  }
  spelling->is_slice = true;
  spelling->name = (struct gr_view){text.bytes, before};
  spelling->ranges = (struct gr_view){open + 1, text.length - before - 2};
  return true;
}

static bool find_buffer(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark,
                        struct gr_view name, uint32_t *index) {
  *index = gr_name_table_find(&reader->buffer_names, name);
  if (*index != GR_NO_INDEX) {
    reader->buffer_states[*index].is_used = true;
    return true;
  }
  if (name.length == 0) {
    gr_reader_error(reader, where, mark, "no buffer is named; it takes a buffer or a slice such as x[0:4]");
    return false;
  }
  if (reader->cut.buffers) return false;
  struct gr_quote quote = gr_view_quote(name);
  struct gr_number number;
  if (gr_name_table_find(&reader->node_names, name) != GR_NO_INDEX) {
    gr_reader_error(reader, where, mark, "%s is a node, and a buffer is expected", quote.text);
  } else if (gr_name_table_find(&reader->param_names, name) != GR_NO_INDEX) {
    gr_reader_error(reader, where, mark, "%s is a param, and a buffer is expected", quote.text);
  } else if (gr_number_parse(name, &number)) {
    gr_reader_error(reader, where, mark, "%s is a number, and a buffer is expected", quote.text);
  } else {
    gr_reader_error(reader, where, mark, "there is no buffer %s%s", quote.text,
                    gr_hint_of(gr_reader_nearest(reader, &reader->buffer_names, name)).text);
  }
  return false;
}

static bool is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

static struct gr_view trim(struct gr_view view) {
  while (view.length > 0 && is_blank(view.bytes[0])) view = (struct gr_view){view.bytes + 1, view.length - 1};
  while (view.length > 0 && is_blank(view.bytes[view.length - 1])) view.length--;
  return view;
}

/* The part of `rest` up to a comma outside of parentheses; `rest` goes on behind it. False at the end. */
static bool next_range(struct gr_view *rest, bool *is_over, struct gr_view *range) {
  if (*is_over) return false;
  int64_t open = 0;
  size_t at = 0;
  for (; at < rest->length; at++) {
    if (rest->bytes[at] == '(') open++;
    if (rest->bytes[at] == ')') open--;
    if (rest->bytes[at] == ',' && open <= 0) break;
  }
  *range = (struct gr_view){rest->bytes, at};
  *is_over = at == rest->length;
  if (!*is_over) *rest = (struct gr_view){rest->bytes + at + 1, rest->length - at - 1};
  return true;
}

static bool read_end(struct gr_reader *reader, const struct gr_where *where, uint32_t item, struct gr_view text,
                     uint64_t fallback, int64_t *end) {
  *end = (int64_t)fallback;
  text = trim(text);
  if (text.length == 0) return true;
  struct gr_number number;
  if (!gr_reader_evaluate(reader, where, item, text, GR_VALUE_INTEGER, &number)) return false;
  *end = (int64_t)(number.is_negative ? 0 - number.magnitude : number.magnitude);
  return true;
}

static bool read_range(struct gr_reader *reader, const struct gr_where *where, uint32_t item, struct gr_view range,
                       const struct gr_buffer *buffer, uint32_t dimension, uint64_t *start, uint64_t *extent) {
  struct gr_mark mark = gr_item_mark(gr_reader_item(reader, item));
  const char *colon = range.length > 0 ? memchr(range.bytes, ':', range.length) : NULL;
  if (!colon) {
    gr_reader_error(reader, where, mark, "%s is no range; a range is \"a:b\", where either end may be left out",
                    gr_view_quote(trim(range)).text);
    return false;
  }
  size_t before = (size_t)(colon - range.bytes);
  struct gr_view left = {range.bytes, before};
  struct gr_view right = {colon + 1, range.length - before - 1};
  uint64_t bound = buffer->shape[dimension];
  int64_t from;
  int64_t to;
  bool left_is_right = read_end(reader, where, item, left, 0, &from);
  if (!read_end(reader, where, item, right, bound, &to) || !left_is_right) return false;
  if (from >= 0 && from <= to && to <= (int64_t)bound) {
    *start = (uint64_t)from;
    *extent = (uint64_t)(to - from);
    return true;
  }
  gr_reader_error(reader, where, mark,
                  "the range %" PRId64 ":%" PRId64 " does not fit dimension %" PRIu32
                  " of \"%s\", which goes from 0 to %" PRIu64 "%s",
                  from, to, dimension, buffer->name, bound, from > to && from >= 0 ? "; it ends before it starts" : "");
  return false;
}

static uint32_t count_ranges(struct gr_view ranges) {
  uint32_t count = 0;
  bool is_over = false;
  struct gr_view range;
  while (count < UINT32_MAX && next_range(&ranges, &is_over, &range)) count++;
  return count;
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static bool read_ranges(struct gr_reader *reader, const struct gr_where *where, uint32_t item,
                        const struct spelling *spelling, const struct gr_buffer *buffer, uint64_t *starts,
                        uint64_t *extents) {
  uint32_t count = count_ranges(spelling->ranges);
  if (count != buffer->rank) {
    gr_reader_error(reader, where, gr_item_mark(gr_reader_item(reader, item)),
                    "%s has %" PRIu32 " range%s, but \"%s\" has %" PRIu32 " dimension%s",
                    gr_view_quote(spelling->text).text, count, plural(count), buffer->name, buffer->rank,
                    plural(buffer->rank));
    return false;
  }
  struct gr_view rest = spelling->ranges;
  struct gr_view range;
  bool is_over = false;
  bool is_right = true;
  for (uint32_t i = 0; next_range(&rest, &is_over, &range); i++) {
    if (!read_range(reader, where, item, range, buffer, i, &starts[i], &extents[i])) is_right = false;
  }
  return is_right;
}

/* Counts, place and contiguity; nothing overflows, since the buffer's size fits 63 bits and no extent is 0. */
static void measure(const struct gr_buffer *buffer, struct gr_reference *reference) {
  reference->is_contiguous = true;
  if (buffer->element_count == 0) return; /* its other extents may be of any size */
  uint64_t stride = 1;
  uint64_t packed = 1;
  uint64_t offset = 0;
  reference->element_count = 1;
  for (uint32_t i = reference->rank; i-- > 0;) {
    uint64_t extent = reference->extents[i];
    if (reference->starts) offset += reference->starts[i] * stride;
    if (extent > 1 && stride != packed) reference->is_contiguous = false;
    packed *= extent;
    stride *= buffer->shape[i];
    reference->element_count *= extent;
  }
  if (reference->element_count == 0) reference->is_contiguous = true;
  reference->offset_bytes = offset * gr_type_size(buffer->type);
}

static bool keep_ranges(struct gr_reader *reader, struct gr_reference *reference, const uint64_t *starts,
                        const uint64_t *extents) {
  uint32_t rank = reference->rank;
  uint64_t *kept = gr_arena_allocate(&reader->pipeline->arena, 2 * (size_t)rank, sizeof *kept);
  if (!gr_reader_has(reader, kept)) return false;
  memcpy(kept, starts, rank * sizeof *kept);
  memcpy(kept + rank, extents, rank * sizeof *kept);
  reference->starts = kept;
  reference->extents = kept + rank;
  return true;
}

enum gr_lookup gr_reader_reference(struct gr_reader *reader, const struct gr_where *where, uint32_t item,
                                   struct gr_reference *reference) {
  const struct gr_item *scalar = gr_reader_item(reader, item);
  struct spelling spelling;
  uint32_t index;
  if (!split(reader, where, scalar, &spelling)) return GR_LOOKUP_BAD;
  if (!find_buffer(reader, where, gr_item_mark(scalar), spelling.name, &index)) return GR_LOOKUP_BAD;
  if (!reader->buffer_states[index].is_whole) return GR_LOOKUP_BAD; /* what is wrong with it has been said */
  const struct gr_buffer *buffer = &reader->buffers[index];
  *reference = (struct gr_reference){
      .buffer_index = index, .rank = buffer->rank, .extents = buffer->shape, .mark = gr_item_mark(scalar)};
  if (spelling.is_slice) {
    uint64_t starts[GR_RANK_MAX];
    uint64_t extents[GR_RANK_MAX];
    if (!read_ranges(reader, where, item, &spelling, buffer, starts, extents)) return GR_LOOKUP_BAD;
    /* A slice of everything is the whole buffer. */
    bool is_whole = memcmp(extents, buffer->shape, buffer->rank * sizeof *extents) == 0;
    if (!is_whole && !keep_ranges(reader, reference, starts, extents)) return GR_LOOKUP_BAD;
  }
  measure(buffer, reference);
  return GR_LOOKUP_FOUND;
}

uint32_t gr_reader_add_reference(struct gr_reader *reader, const struct gr_reference *reference) {
  struct gr_reference *kept = gr_reader_push(reader, &reader->references, sizeof *kept);
  if (!kept) return GR_NO_INDEX;
  *kept = *reference;
  return (uint32_t)(reader->references.count - 1);
}

bool gr_reference_overlaps(const struct gr_reference *a, const struct gr_reference *b) {
  if (a->buffer_index != b->buffer_index || a->element_count == 0 || b->element_count == 0) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    uint64_t a_start = a->starts ? a->starts[i] : 0;
    uint64_t b_start = b->starts ? b->starts[i] : 0;
    if (a_start + a->extents[i] <= b_start || b_start + b->extents[i] <= a_start) return false;
  }
  return true;
}

struct gr_shown_reference gr_reference_show(const struct gr_buffer *buffers, const struct gr_reference *reference) {
  struct gr_shown_reference shown;
  struct gr_quote quote = gr_view_quote(gr_view_of(buffers[reference->buffer_index].name));
  size_t length = strlen(quote.text);
  if (!reference->starts) {
    snprintf(shown.text, sizeof shown.text, "%s", quote.text);
    return shown;
  }
  /* Inside the quotes, as it would be written. */
  size_t used = length - 1;
  memcpy(shown.text, quote.text, used);
  for (uint32_t i = 0; i < reference->rank && used < sizeof shown.text; i++) {
    used += (size_t)snprintf(shown.text + used, sizeof shown.text - used, "%s%" PRIu64 ":%" PRIu64, i == 0 ? "[" : ", ",
                             reference->starts[i], reference->starts[i] + reference->extents[i]);
  }
  if (used < sizeof shown.text) snprintf(shown.text + used, sizeof shown.text - used, "]\"");
  return shown;
}
