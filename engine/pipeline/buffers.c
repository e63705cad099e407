/* Buffers: type, shape, place, first values, and what becomes of the last ones. A buffer that is wrong is still known
 * by its name, so that what refers to it is not wrong as well. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

__extension__ typedef __int128 wide;

/* A buffer while it is read. */
struct draft {
  const struct gr_where *where;
  struct gr_fields fields;
  struct gr_mark mark;
  struct gr_buffer *buffer;
  const enum gr_type *type; /* null: not known */
  bool has_size;
  bool has_place;
};

/* The place of one of its fields in messages, and the field's item. */
static struct gr_where where_of(const struct draft *draft, uint32_t field) {
  return gr_where_field(draft->where, gr_buffer_fields.fields[field].key);
}

static struct gr_mark mark_of(struct gr_reader *reader, uint32_t item) {
  return gr_item_mark(gr_reader_item(reader, item));
}

/* ---- type, shape, place ---- */

static bool read_type(struct gr_reader *reader, struct draft *draft) {
  const char *words[GR_TYPE_COUNT];
  for (uint32_t i = 0; i < GR_TYPE_COUNT; i++) words[i] = gr_type_name((enum gr_type)i);
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_TYPE);
  uint32_t index;
  if (!gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_TYPE) ||
      !gr_reader_word(reader, &where, draft->fields.values[GR_BUFFER_FIELD_TYPE], words, GR_TYPE_COUNT, &index))
    return false;
  draft->buffer->type = (enum gr_type)index;
  draft->type = &draft->buffer->type;
  return true;
}

static void read_place(struct gr_reader *reader, struct draft *draft) {
  const char *words[GR_PLACE_COUNT];
  for (uint32_t i = 0; i < GR_PLACE_COUNT; i++) words[i] = gr_place_name((enum gr_place)i);
  uint32_t index;
  draft->has_place = gr_reader_word_field(reader, draft->where, &draft->fields, &gr_buffer_fields,
                                          GR_BUFFER_FIELD_PLACE, words, GR_PLACE_COUNT, &index);
  draft->buffer->place = (enum gr_place)index;
}

static void read_device(struct gr_reader *reader, struct draft *draft) {
  draft->buffer->device = (uint32_t)gr_field_fallback(&gr_buffer_fields, GR_BUFFER_FIELD_DEVICE).magnitude;
  if (!gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_DEVICE)) return;
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_DEVICE);
  int64_t device;
  if (gr_reader_integer(reader, &where, draft->fields.values[GR_BUFFER_FIELD_DEVICE], 0, INT32_MAX, &device)) {
    draft->buffer->device = (uint32_t)device;
  }
}

static bool read_extents(struct gr_reader *reader, struct draft *draft, uint64_t *extents) {
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_SHAPE);
  struct gr_elements elements = gr_reader_elements(reader, draft->fields.values[GR_BUFFER_FIELD_SHAPE], true);
  struct gr_element_item element;
  bool is_right = true;
  uint32_t rank = 0;
  while (gr_reader_next_element(reader, &where, &elements, &element)) {
    struct gr_where inner = element.index < 0 ? where : gr_where_item(&where, element.index);
    int64_t extent = 0;
    if (element.is_cut || !gr_reader_integer(reader, &inner, element.item, 0, INT64_MAX, &extent)) is_right = false;
    if (rank == GR_RANK_MAX) {
      gr_reader_error(reader, &where, mark_of(reader, element.item), "a shape has at most %d dimensions",
                      (int)GR_RANK_MAX);
      return false;
    }
    extents[rank++] = (uint64_t)extent;
  }
  draft->buffer->rank = rank;
  return is_right;
}

/* With one extent of 0 there is nothing, however large the others are. */
static bool measure(struct gr_buffer *buffer) {
  bool is_empty = false;
  for (uint32_t i = 0; i < buffer->rank; i++) is_empty = is_empty || buffer->shape[i] == 0;
  int64_t size_bytes = is_empty ? 0 : (int64_t)gr_type_size(buffer->type);
  for (uint32_t i = 0; i < buffer->rank && !is_empty; i++) {
    if (__builtin_mul_overflow(size_bytes, (int64_t)buffer->shape[i], &size_bytes)) return false;
  }
  buffer->size_bytes = (uint64_t)size_bytes;
  buffer->element_count = buffer->size_bytes / gr_type_size(buffer->type);
  return true;
}

static void read_shape(struct gr_reader *reader, struct draft *draft) {
  if (!gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_SHAPE)) return;
  uint64_t extents[GR_RANK_MAX];
  if (!read_extents(reader, draft, extents)) return;
  uint32_t rank = draft->buffer->rank;
  uint64_t *shape = gr_arena_allocate(&reader->pipeline->arena, rank, sizeof *shape);
  if (!gr_reader_has(reader, shape)) return;
  if (rank > 0) memcpy(shape, extents, rank * sizeof *shape);
  draft->buffer->shape = shape;
  if (!draft->type) return;
  if (measure(draft->buffer)) {
    draft->has_size = true;
    return;
  }
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_SHAPE);
  gr_reader_error(reader, &where, mark_of(reader, draft->fields.values[GR_BUFFER_FIELD_SHAPE]),
                  "size overflow: so many %s elements do not fit 63 bits of bytes", gr_type_name(*draft->type));
}

/* ---- init ---- */

static void read_init_fill(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                           uint32_t item, struct gr_init *init) {
  struct gr_number number;
  init->kind = GR_INIT_FILL;
  gr_reader_value(reader, where, item, draft->type, &number, &init->value);
}

static wide wide_of(struct gr_number number) {
  return number.is_negative ? -(wide)number.magnitude : (wide)number.magnitude;
}

/* Every element lies between the first and the last. */
static bool iota_fits(const struct gr_buffer *buffer, const struct gr_init *init) {
  if (buffer->element_count == 0) return true;
  uint64_t steps = buffer->element_count - 1;
  struct gr_number last;
  struct gr_element element;
  if (gr_type_is_float(buffer->type)) {
    /* As a run computes it. Infinities that the file asks for are no overflow. */
    if (!isfinite(init->start.real) || !isfinite(init->step.real)) return true;
    last = (struct gr_number){.is_real = true, .real = init->start.real + (double)steps * init->step.real};
    return isfinite(last.real) && gr_number_to_element(last, buffer->type, &element);
  }
  wide value = wide_of(init->start) + (wide)steps * wide_of(init->step);
  if (value > (wide)UINT64_MAX || value < INT64_MIN) return false;
  last = (struct gr_number){.is_negative = value < 0, .magnitude = (uint64_t)(value < 0 ? -value : value)};
  return gr_number_to_element(last, buffer->type, &element);
}

/* A step may be negative where the elements are not, so that it is judged as a signed number of any size. */
static bool read_step(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where, uint32_t item,
                      struct gr_number *step) {
  bool is_integer = draft->type && !gr_type_is_float(*draft->type);
  enum gr_type widest = GR_TYPE_I64;
  return gr_reader_value(reader, where, item, is_integer ? &widest : draft->type, step, NULL);
}

static void read_init_iota(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                           uint32_t item, struct gr_init *init) {
  init->kind = GR_INIT_IOTA;
  struct gr_fields fields;
  if (!gr_reader_fields(reader, where, item, &gr_iota_fields, &fields)) return;
  struct gr_where start = gr_where_field(where, "start");
  struct gr_where step = gr_where_field(where, "step");
  bool is_right = gr_field_is_usable(&fields, GR_IOTA_FIELD_START) &&
                  gr_reader_value(reader, &start, fields.values[GR_IOTA_FIELD_START], draft->type, &init->start, NULL);
  is_right = gr_field_is_usable(&fields, GR_IOTA_FIELD_STEP) &&
             read_step(reader, draft, &step, fields.values[GR_IOTA_FIELD_STEP], &init->step) && is_right;
  if (!is_right || !draft->has_size || iota_fits(draft->buffer, init)) return;
  gr_reader_error(reader, where, mark_of(reader, item), "the last of %" PRIu64 " elements does not fit %s",
                  draft->buffer->element_count, gr_type_name(*draft->type));
}

static bool read_seed(struct gr_reader *reader, const struct gr_where *where, uint32_t item, uint64_t *seed) {
  const struct gr_item *scalar = gr_reader_item(reader, item);
  struct gr_number number;
  if (!gr_reader_evaluate(reader, where, item, gr_item_text(scalar), GR_VALUE_UNSIGNED, &number)) return false;
  *seed = number.magnitude;
  if (!number.is_negative) return true;
  gr_reader_error(reader, where, gr_item_mark(scalar), "%s is negative; a seed is 0 to 18446744073709551615",
                  gr_view_quote(gr_item_text(scalar)).text);
  return false;
}

static bool is_in_order(const struct draft *draft, const struct gr_init *init) {
  if (gr_type_is_float(*draft->type)) return init->low.real <= init->high.real; /* NaN is in no order */
  return wide_of(init->low) <= wide_of(init->high);
}

static void check_random(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                         struct gr_mark mark, const struct gr_init *init) {
  bool is_float = gr_type_is_float(*draft->type);
  if (is_float &&
      (!isfinite(init->low.real) || !isfinite(init->high.real) || !isfinite(init->high.real - init->low.real))) {
    gr_reader_error(reader, where, mark, "low, high and what lies between them must be finite");
  } else if (!is_in_order(draft, init)) {
    gr_reader_error(reader, where, mark, "low is %s and high is %s; low may not be larger",
                    gr_reader_show_number(reader, init->low).text, gr_reader_show_number(reader, init->high).text);
  }
}

static void read_init_random(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                             uint32_t item, struct gr_init *init) {
  init->kind = GR_INIT_RANDOM;
  struct gr_fields fields;
  if (!gr_reader_fields(reader, where, item, &gr_random_fields, &fields)) return;
  struct gr_where seed = gr_where_field(where, "seed");
  struct gr_where low = gr_where_field(where, "low");
  struct gr_where high = gr_where_field(where, "high");
  if (gr_field_is_usable(&fields, GR_RANDOM_FIELD_SEED)) {
    read_seed(reader, &seed, fields.values[GR_RANDOM_FIELD_SEED], &init->seed);
  }
  bool is_right = gr_field_is_usable(&fields, GR_RANDOM_FIELD_LOW) &&
                  gr_reader_value(reader, &low, fields.values[GR_RANDOM_FIELD_LOW], draft->type, &init->low, NULL);
  is_right = gr_field_is_usable(&fields, GR_RANDOM_FIELD_HIGH) &&
             gr_reader_value(reader, &high, fields.values[GR_RANDOM_FIELD_HIGH], draft->type, &init->high, NULL) &&
             is_right;
  if (is_right && draft->type) check_random(reader, draft, where, mark_of(reader, item), init);
}

/* The values are judged also where their number is wrong; then there is no room for them. */
static void read_init_values(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                             uint32_t item, struct gr_init *init) {
  init->kind = GR_INIT_VALUES;
  uint64_t count = gr_reader_item(reader, item)->count;
  size_t size = draft->type ? gr_type_size(*draft->type) : 0;
  unsigned char *values = NULL;
  if (draft->has_size && count == draft->buffer->element_count) {
    values = gr_arena_allocate(&reader->pipeline->arena, count, size);
    if (!gr_reader_has(reader, values)) return;
  }
  struct gr_elements elements = gr_reader_elements(reader, item, true);
  struct gr_element_item element;
  bool is_cut = false;
  while (gr_reader_next_element(reader, where, &elements, &element)) {
    struct gr_where inner = gr_where_item(where, element.index);
    struct gr_number number;
    struct gr_element bits = {0};
    is_cut = is_cut || element.is_cut;
    if (element.is_cut || !gr_reader_value(reader, &inner, element.item, draft->type, &number, &bits)) continue;
    /* Little-endian, so the low bytes come first. */
    if (values) memcpy(values + (uint64_t)element.index * size, &bits.bits, size);
  }
  init->values = values;
  if (draft->has_size && !values && !is_cut) {
    gr_reader_error(reader, where, mark_of(reader, item),
                    "there are %" PRIu64 " values, and the shape has %" PRIu64 " elements", count,
                    draft->buffer->element_count);
  }
}

typedef void init_function(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                           uint32_t item, struct gr_init *init);

static void read_init_map(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                          uint32_t item, struct gr_init *init) {
  static init_function *const functions[GR_INIT_FIELD_COUNT] = {
      [GR_INIT_FIELD_FILL] = read_init_fill,
      [GR_INIT_FIELD_IOTA] = read_init_iota,
      [GR_INIT_FIELD_RANDOM] = read_init_random,
      [GR_INIT_FIELD_VALUES] = read_init_values,
  };
  struct gr_fields fields;
  if (!gr_reader_fields(reader, where, item, &gr_init_fields, &fields)) return;
  uint32_t count = 0;
  for (uint32_t i = 0; i < GR_INIT_FIELD_COUNT; i++) count += gr_field_is_there(&fields, i);
  if (count > 1 || (count == 0 && !fields.has_unknown)) {
    gr_reader_error(reader, where, mark_of(reader, item),
                    "exactly one of fill, iota, random and values is needed, and %s there",
                    count == 0 ? "none is" : "more are");
  }
  for (uint32_t i = 0; i < GR_INIT_FIELD_COUNT; i++) {
    if (!gr_field_is_usable(&fields, i)) continue;
    struct gr_where inner = gr_where_field(where, gr_init_fields.fields[i].key);
    functions[i](reader, draft, &inner, fields.values[i], init);
  }
}

static void read_init_item(struct gr_reader *reader, const struct draft *draft, struct gr_init *init) {
  static const char *const words[] = {"zeros"};
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_INIT);
  uint32_t item = draft->fields.values[GR_BUFFER_FIELD_INIT];
  init->mark = mark_of(reader, item);
  if (gr_reader_item(reader, item)->kind == GR_ITEM_MAP) {
    read_init_map(reader, draft, &where, item, init);
    return;
  }
  init->kind = GR_INIT_ZEROS;
  const struct gr_item *scalar = gr_reader_item(reader, item);
  if (gr_view_is(gr_item_text(scalar), words[0])) return;
  gr_reader_error(reader, &where, init->mark, "%s is none of zeros, {fill: v}, {iota: …}, {random: …}, {values: […]}",
                  gr_view_quote(gr_item_text(scalar)).text);
}

static void read_load(struct gr_reader *reader, const struct draft *draft, struct gr_init *init) {
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_LOAD);
  uint32_t item = draft->fields.values[GR_BUFFER_FIELD_LOAD];
  init->kind = GR_INIT_LOAD;
  init->mark = mark_of(reader, item);
  init->path = gr_reader_path(reader, &where, item);
}

static void read_init(struct gr_reader *reader, struct draft *draft) {
  bool has_init = gr_field_is_there(&draft->fields, GR_BUFFER_FIELD_INIT);
  bool has_load = gr_field_is_there(&draft->fields, GR_BUFFER_FIELD_LOAD);
  if (has_init && has_load) {
    gr_reader_error(reader, draft->where, draft->mark, "has both \"init\" and \"load\"; one of them is to be left out");
  }
  if (!gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_INIT) &&
      !gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_LOAD))
    return;
  struct gr_init *init = gr_arena_allocate_zeroed(&reader->pipeline->arena, 1, sizeof *init);
  if (!gr_reader_has(reader, init)) return;
  if (gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_INIT)) read_init_item(reader, draft, init);
  if (gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_LOAD)) read_load(reader, draft, init);
  draft->buffer->init = init;
}

/* ---- save and expect ---- */

static void read_save(struct gr_reader *reader, struct draft *draft) {
  if (!gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_SAVE)) return;
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_SAVE);
  uint32_t item = draft->fields.values[GR_BUFFER_FIELD_SAVE];
  draft->buffer->save_mark = mark_of(reader, item);
  draft->buffer->save = gr_reader_path(reader, &where, item);
}

static double read_tolerance(struct gr_reader *reader, const struct gr_where *parent, const struct gr_fields *fields,
                             uint32_t field) {
  double fallback = gr_number_to_double(gr_field_fallback(&gr_expect_fields, field));
  if (!gr_field_is_usable(fields, field)) return fallback;
  struct gr_where where = gr_where_field(parent, gr_expect_fields.fields[field].key);
  uint32_t item = fields->values[field];
  double value;
  if (!gr_reader_real(reader, &where, item, &value)) return fallback;
  if (value >= 0 && isfinite(value)) return value;
  gr_reader_error(reader, &where, mark_of(reader, item), "%s is no tolerance; it must be finite and at least 0",
                  gr_view_quote(gr_item_text(gr_reader_item(reader, item))).text);
  return fallback;
}

/* A fraction can come within a tolerance of an integer; otherwise the value must be one of the type's. */
static void read_equals(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                        uint32_t item, struct gr_expect *expect) {
  expect->kind = GR_EXPECT_EQUALS;
  struct gr_number number;
  struct gr_element element;
  struct gr_view text = gr_item_text(gr_reader_item(reader, item));
  bool is_integer = draft->type && !gr_type_is_float(*draft->type);
  if (is_integer && gr_number_parse(text, &number) && number.is_real && isfinite(number.real) &&
      fabs(number.real - trunc(number.real)) > 0) {
    struct gr_number whole = {.is_real = true, .real = trunc(number.real)};
    if (gr_number_to_element(whole, *draft->type, &element)) {
      expect->value = number;
      return;
    }
  }
  if (!gr_reader_value(reader, where, item, draft->type, &number, &element) || !draft->type) return;
  /* Rounded as `fill` rounds, so that what was filled with 0.1 equals 0.1. */
  expect->value = gr_number_of_element(element, *draft->type);
}

static void read_sum(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where, uint32_t item,
                     struct gr_expect *expect) {
  expect->kind = GR_EXPECT_SUM;
  bool is_float = draft->type && gr_type_is_float(*draft->type);
  gr_reader_evaluate(reader, where, item, gr_item_text(gr_reader_item(reader, item)),
                     is_float ? GR_VALUE_REAL : GR_VALUE_NUMBER, &expect->value);
}

static void read_expected(struct gr_reader *reader, const struct draft *draft, const struct gr_where *where,
                          const struct gr_fields *fields, struct gr_expect *expect) {
  struct gr_where load = gr_where_field(where, "load");
  struct gr_where equals = gr_where_field(where, "equals");
  struct gr_where sum = gr_where_field(where, "sum");
  if (gr_field_is_usable(fields, GR_EXPECT_FIELD_LOAD)) {
    expect->kind = GR_EXPECT_LOAD;
    expect->path = gr_reader_path(reader, &load, fields->values[GR_EXPECT_FIELD_LOAD]);
  }
  if (gr_field_is_usable(fields, GR_EXPECT_FIELD_EQUALS)) {
    read_equals(reader, draft, &equals, fields->values[GR_EXPECT_FIELD_EQUALS], expect);
  }
  if (gr_field_is_usable(fields, GR_EXPECT_FIELD_SUM)) {
    read_sum(reader, draft, &sum, fields->values[GR_EXPECT_FIELD_SUM], expect);
  }
}

static void read_expect(struct gr_reader *reader, struct draft *draft) {
  if (!gr_field_is_usable(&draft->fields, GR_BUFFER_FIELD_EXPECT)) return;
  struct gr_where where = where_of(draft, GR_BUFFER_FIELD_EXPECT);
  uint32_t item = draft->fields.values[GR_BUFFER_FIELD_EXPECT];
  struct gr_fields fields;
  if (!gr_reader_fields(reader, &where, item, &gr_expect_fields, &fields)) return;
  struct gr_expect *expect = gr_arena_allocate_zeroed(&reader->pipeline->arena, 1, sizeof *expect);
  if (!gr_reader_has(reader, expect)) return;
  expect->mark = mark_of(reader, item);
  int count = gr_field_is_there(&fields, GR_EXPECT_FIELD_LOAD) + gr_field_is_there(&fields, GR_EXPECT_FIELD_EQUALS) +
              gr_field_is_there(&fields, GR_EXPECT_FIELD_SUM);
  if (count > 1 || (count == 0 && !fields.has_unknown)) {
    gr_reader_error(reader, &where, expect->mark, "exactly one of load, equals and sum is needed, and %s there",
                    count == 0 ? "none is" : "more are");
  }
  read_expected(reader, draft, &where, &fields, expect);
  expect->rtol = read_tolerance(reader, &where, &fields, GR_EXPECT_FIELD_RTOL);
  expect->atol = read_tolerance(reader, &where, &fields, GR_EXPECT_FIELD_ATOL);
  draft->buffer->expect = expect;
}

/* ---- all of them ---- */

static void read_buffer(struct gr_reader *reader, const struct gr_pair *pair, uint32_t index) {
  struct gr_buffer *buffer = &reader->buffers[index];
  struct gr_where where = gr_where_noun("buffer", pair->key);
  buffer->mark = pair->key_mark;
  buffer->name = gr_reader_copy(reader, pair->key);
  struct draft draft = {.where = &where, .buffer = buffer, .mark = pair->key_mark};
  bool is_named = gr_reader_name(reader, NULL, pair->key, pair->key_mark, true);
  if (pair->is_cut || !buffer->name || !gr_reader_fields(reader, &where, pair->value, &gr_buffer_fields, &draft.fields))
    return;
  read_type(reader, &draft);
  read_shape(reader, &draft);
  read_place(reader, &draft);
  read_device(reader, &draft);
  read_init(reader, &draft);
  read_save(reader, &draft);
  read_expect(reader, &draft);
  reader->buffer_states[index].is_whole = draft.has_size && draft.has_place && is_named;
}

/* ---- files that are saved to ---- */

/* Cuts the last part of a path off, for "..": a path that starts with ".." parts, or is empty, gets one more. */
static void step_up(char *path, size_t *length, bool is_absolute) {
  size_t last = *length;
  while (last > 0 && path[last - 1] != '/') last--;
  bool is_up = *length - last == 2 && memcmp(path + last, "..", 2) == 0;
  if (*length > 0 && !is_up) {
    *length = last > 0 ? last - 1 : 0;
  } else if (!is_absolute) {
    if (*length > 0) path[(*length)++] = '/';
    memcpy(path + *length, "..", 2);
    *length += 2;
  }
}

/* The path without "." and ".." and repeated slashes, so that two spellings of one file are alike; links are not
 * followed. Absolute paths start with a slash more. `plain` has room for as many bytes as `path` and one. */
static struct gr_view flatten(struct gr_view path, char *plain) {
  bool is_absolute = path.length > 0 && path.bytes[0] == '/';
  char *parts = plain + is_absolute;
  size_t length = 0;
  if (is_absolute) plain[0] = '/';
  for (size_t start = 0; start < path.length;) {
    const char *slash = memchr(path.bytes + start, '/', path.length - start);
    size_t end = slash ? (size_t)(slash - path.bytes) : path.length;
    struct gr_view part = {path.bytes + start, end - start};
    start = end + 1;
    if (part.length == 0 || gr_view_is(part, ".")) continue;
    if (gr_view_is(part, "..")) {
      step_up(parts, &length, is_absolute);
      continue;
    }
    if (length > 0) parts[length++] = '/';
    memcpy(parts + length, part.bytes, part.length);
    length += part.length;
  }
  return (struct gr_view){plain, length + is_absolute};
}

/* Behind the pipeline's folder, and flat; null without memory. */
static char *flat_path(struct gr_reader *reader, const char *path, struct gr_view *flat) {
  char *whole = gr_pipeline_path(reader->pipeline, reader->memory, path);
  char *plain = whole ? gr_memory_allocate(reader->memory, strlen(whole) + 1) : NULL;
  if (plain) *flat = flatten(gr_view_of(whole), plain);
  gr_memory_release(reader->memory, whole);
  gr_reader_has(reader, plain);
  return plain;
}

static void say_shared_save(struct gr_reader *reader, const struct gr_buffer *first, const struct gr_buffer *second) {
  struct gr_where where = gr_where_noun("buffer", gr_view_of(second->name));
  char spelling[GR_QUOTE_BYTES + 8] = "";
  if (strcmp(first->save, second->save) != 0) {
    snprintf(spelling, sizeof spelling, ", as %s", gr_view_quote(gr_view_of(first->save)).text);
  }
  gr_reader_error(reader, &where, second->save_mark,
                  "saves to %s, and so does buffer %s on line %" PRIu32 "%s; only one of them would stay",
                  gr_view_quote(gr_view_of(second->save)).text, gr_view_quote(gr_view_of(first->name)).text,
                  first->save_mark.line, spelling);
}

/* Two buffers that save to one file: the later one would win in silence. */
static void refuse_shared_saves(struct gr_reader *reader, uint32_t count) {
  struct gr_name_table paths;
  char **flat_paths = gr_memory_allocate_zeroed(reader->memory, count, sizeof *flat_paths);
  bool has_table = gr_name_table_init(&paths, reader->memory, count);
  if (!flat_paths || !has_table) reader->is_out_of_memory = true;
  for (uint32_t i = 0; i < count && !reader->is_out_of_memory; i++) {
    const struct gr_buffer *buffer = &reader->buffers[i];
    if (!buffer->save) continue;
    struct gr_view flat;
    flat_paths[i] = flat_path(reader, buffer->save, &flat);
    if (!flat_paths[i]) break;
    uint32_t first = gr_name_table_add(&paths, flat, i);
    if (first != GR_NO_INDEX) say_shared_save(reader, &reader->buffers[first], buffer);
  }
  if (has_table) gr_name_table_release(&paths);
  for (uint32_t i = 0; flat_paths && i < count; i++) gr_memory_release(reader->memory, flat_paths[i]);
  gr_memory_release(reader->memory, flat_paths);
}

void gr_reader_buffers(struct gr_reader *reader, uint32_t map) {
  uint32_t capacity = gr_reader_item(reader, map)->count;
  if (!gr_name_table_init(&reader->buffer_names, reader->memory, capacity)) {
    reader->is_out_of_memory = true;
    return;
  }
  reader->buffers = gr_arena_allocate_zeroed(&reader->pipeline->arena, capacity, sizeof *reader->buffers);
  reader->buffer_states = gr_memory_allocate_zeroed(reader->memory, capacity, sizeof *reader->buffer_states);
  if (!gr_reader_has(reader, reader->buffers) || !gr_reader_has(reader, reader->buffer_states)) return;
  struct gr_where where = gr_where_field(NULL, "buffers");
  struct gr_pairs pairs = gr_reader_pairs(reader, map);
  struct gr_pair pair;
  uint32_t count = 0;
  while (gr_reader_next_pair(reader, &where, &pairs, &pair)) {
    gr_name_table_add(&reader->buffer_names, pair.key, count);
    read_buffer(reader, &pair, count++);
  }
  reader->pipeline->buffers = reader->buffers;
  reader->pipeline->buffer_count = count;
  refuse_shared_saves(reader, count);
}
