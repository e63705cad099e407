/* The reader's hands: keys against the table of fields, single values, and what a message says of where it is. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

/* ---- the table ---- */

#define FIELD_ROW(map, symbol, key, kind, required, fallback, meaning) \
  {key, GR_FIELD_##kind, required, fallback, meaning},
#define FIELD_SET(name, LIST)                                     \
  static const struct gr_field name##_rows[] = {LIST(FIELD_ROW)}; \
  const struct gr_field_set gr_##name##_fields = {name##_rows, sizeof name##_rows / sizeof name##_rows[0]}
FIELD_SET(top, GR_FIELDS_TOP);
FIELD_SET(streams, GR_FIELDS_STREAMS);
FIELD_SET(buffer, GR_FIELDS_BUFFER);
FIELD_SET(init, GR_FIELDS_INIT);
FIELD_SET(iota, GR_FIELDS_IOTA);
FIELD_SET(random, GR_FIELDS_RANDOM);
FIELD_SET(expect, GR_FIELDS_EXPECT);
FIELD_SET(node, GR_FIELDS_NODE);
FIELD_SET(copy, GR_FIELDS_COPY);
FIELD_SET(fill, GR_FIELDS_FILL);

enum { SCALAR = 1 << GR_ITEM_SCALAR, LIST = 1 << GR_ITEM_LIST, MAP = 1 << GR_ITEM_MAP };

struct kind_row {
  unsigned takes;
  const char *noun;
};
static const struct kind_row kind_rows[] = {
    [GR_FIELD_INTEGER] = {SCALAR, "an integer"},
    [GR_FIELD_REAL] = {SCALAR, "a number"},
    [GR_FIELD_VALUE] = {SCALAR, "a number"},
    [GR_FIELD_WORD] = {SCALAR, "a word"},
    [GR_FIELD_NAME] = {SCALAR, "a name"},
    [GR_FIELD_TEXT] = {SCALAR, "text"},
    [GR_FIELD_PATH] = {SCALAR, "a path"},
    [GR_FIELD_REFERENCE] = {SCALAR, "a buffer or a slice such as x[0:4]"},
    [GR_FIELD_MAP] = {MAP, "a map"},
    [GR_FIELD_LIST] = {LIST, "a list"},
    [GR_FIELD_INTEGERS] = {SCALAR | LIST, "an integer or a list of integers"},
    [GR_FIELD_NAMES] = {SCALAR | LIST, "an id or a list of ids"},
    [GR_FIELD_WORD_OR_MAP] = {SCALAR | MAP, "a word or a map"},
};

/* ---- where, and messages ---- */

struct gr_where gr_where_noun(const char *noun, struct gr_view name) {
  return (struct gr_where){.noun = noun, .name = name};
}

struct gr_where gr_where_field(const struct gr_where *parent, const char *key) {
  return (struct gr_where){.parent = parent, .name = gr_view_of(key)};
}

struct gr_where gr_where_item(const struct gr_where *parent, int64_t index) {
  return (struct gr_where){.parent = parent, .index = index, .is_item = true};
}

enum { WHERE_DEPTH_MAX = 8 };

static void append_where(struct gr_text *text, const struct gr_where *where) {
  const struct gr_where *chain[WHERE_DEPTH_MAX];
  uint32_t depth = 0;
  for (; where && depth < WHERE_DEPTH_MAX; where = where->parent) chain[depth++] = where;
  bool in_field = false;
  while (depth-- > 0) {
    const struct gr_where *part = chain[depth];
    if (part->noun) {
      gr_text_append_format(text, "%s %s: ", part->noun, gr_view_quote(part->name).text);
      continue;
    }
    if (part->is_item) {
      gr_text_append_format(text, "[%" PRId64 "]", part->index);
    } else {
      struct gr_quote quote = gr_view_quote(part->name);
      size_t length = strlen(quote.text);
      if (in_field) gr_text_append(text, ".", 1);
      gr_text_append(text, quote.text + 1, length - 2); /* escaped, without the quotes */
    }
    in_field = true;
  }
  if (in_field) gr_text_append(text, ": ", 2);
}

/* The whole message; out of memory is remembered. Without a text to show, an empty one: the entry still counts. */
__attribute__((format(printf, 5, 0))) static void compose(struct gr_reader *reader, struct gr_text *text, bool is_heard,
                                                          const struct gr_where *where, const char *format,
                                                          va_list arguments) {
  gr_text_init(text, reader->memory);
  if (!is_heard) return;
  append_where(text, where);
  char sentence[2048];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  gr_text_append_text(text, sentence);
  if (text->failed) reader->is_out_of_memory = true;
}

static const char *message_of(const struct gr_text *text) { return text->bytes ? text->bytes : ""; }

void gr_reader_error(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark, const char *format,
                     ...) {
  struct gr_text text;
  va_list arguments;
  va_start(arguments, format);
  compose(reader, &text, gr_reader_is_heard(reader), where, format, arguments);
  va_end(arguments);
  gr_diagnostics_error(reader->diagnostics, mark, "%s", message_of(&text));
  gr_text_release(&text);
  reader->invalid_count++;
}

void gr_reader_unsupported(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark,
                           const char *format, ...) {
  struct gr_text text;
  va_list arguments;
  va_start(arguments, format);
  compose(reader, &text, gr_reader_is_heard(reader), where, format, arguments);
  va_end(arguments);
  gr_diagnostics_error_status(reader->diagnostics, GR_ERR_NOT_SUPPORTED, mark, "%s", message_of(&text));
  gr_text_release(&text);
  reader->unsupported_count++;
}

void gr_reader_warning(struct gr_reader *reader, const struct gr_where *where, struct gr_mark mark, const char *format,
                       ...) {
  struct gr_text text;
  va_list arguments;
  va_start(arguments, format);
  compose(reader, &text, reader->diagnostics->warning_count < GR_DIAGNOSTIC_SHOWN_MAX, where, format, arguments);
  va_end(arguments);
  gr_diagnostics_warning(reader->diagnostics, mark, "%s", message_of(&text));
  gr_text_release(&text);
}

bool gr_reader_is_heard(const struct gr_reader *reader) {
  return reader->diagnostics->error_count < GR_DIAGNOSTIC_SHOWN_MAX;
}

struct gr_view gr_reader_nearest(const struct gr_reader *reader, const struct gr_name_table *table,
                                 struct gr_view name) {
  return gr_reader_is_heard(reader) ? gr_name_table_nearest(table, name) : (struct gr_view){NULL, 0};
}

bool gr_reader_has(struct gr_reader *reader, const void *address) {
  if (!address) reader->is_out_of_memory = true;
  return address != NULL;
}

void *gr_reader_push(struct gr_reader *reader, struct gr_growing *growing, size_t size_bytes) {
  if (growing->count >= UINT32_MAX ||
      !gr_memory_grow(reader->memory, &growing->elements, growing->count, &growing->capacity, size_bytes)) {
    reader->is_out_of_memory = true;
    return NULL;
  }
  return (char *)growing->elements + size_bytes * growing->count++;
}

const char *gr_reader_copy(struct gr_reader *reader, struct gr_view view) {
  const char *copy = gr_arena_copy(&reader->pipeline->arena, view.bytes, view.length);
  return gr_reader_has(reader, copy) ? copy : NULL;
}

struct gr_shown gr_reader_show_number(struct gr_reader *reader, struct gr_number number) {
  struct gr_shown shown = {.text = ""};
  if (!number.is_real) {
    snprintf(shown.text, sizeof shown.text, "%s%" PRIu64, number.is_negative ? "-" : "", number.magnitude);
    return shown;
  }
  struct gr_text text;
  gr_text_init(&text, reader->memory);
  gr_text_append_double(&text, number.real);
  if (text.failed) reader->is_out_of_memory = true;
  snprintf(shown.text, sizeof shown.text, "%s", message_of(&text));
  gr_text_release(&text);
  return shown;
}

/* ---- what flow style cuts ---- */

static bool is_blank_scalar(const struct gr_item *item) {
  return item->kind == GR_ITEM_SCALAR && item->is_plain && item->count == 0;
}

/* Could the rest of it stand in the next pair or element? */
static bool may_be_cut(const struct gr_item *value, int64_t *balance) {
  if (value->kind != GR_ITEM_SCALAR || !value->is_plain || !value->is_flow) return false;
  *balance = gr_expression_balance(gr_item_text(value));
  return *balance > 0;
}

static void say_cut(struct gr_reader *reader, const struct gr_where *where, const struct gr_item *first,
                    struct gr_text *whole) {
  if (whole->failed) {
    reader->is_out_of_memory = true;
    return;
  }
  gr_reader_error(reader, where, gr_item_mark(first),
                  "%s was cut at a comma: in YAML's flow style an expression with commas must be quoted, as in %s",
                  gr_view_quote(gr_item_text(first)).text,
                  gr_view_quote((struct gr_view){whole->bytes, whole->length}).text);
}

static void append_piece(struct gr_text *whole, struct gr_view piece) {
  gr_text_append_text(whole, ", ");
  gr_text_append(whole, piece.bytes, piece.length);
}

enum { PIECES_MAX = 8 }; /* that one expression is looked for in, so that no file takes long */

struct gr_pairs gr_reader_pairs(const struct gr_reader *reader, uint32_t map) {
  return (struct gr_pairs){gr_reader_item(reader, map), 0};
}

static const struct gr_item *key_at(const struct gr_reader *reader, const struct gr_pairs *pairs, uint64_t pair) {
  return gr_reader_item(reader, gr_document_child(reader->document, pairs->map, 2 * pair));
}

static bool is_rest(const struct gr_reader *reader, const struct gr_pairs *pairs, uint64_t pair) {
  if (pair >= pairs->map->count) return false;
  uint32_t value = gr_document_child(reader->document, pairs->map, 2 * pair + 1);
  return is_blank_scalar(gr_reader_item(reader, value)) && key_at(reader, pairs, pair)->is_plain;
}

/* How many pairs behind `first` complete it; 0 where they do not. */
static uint32_t count_rests(const struct gr_reader *reader, const struct gr_pairs *pairs, const struct gr_item *first) {
  int64_t balance;
  if (!pairs->map->is_flow || !may_be_cut(first, &balance)) return 0;
  for (uint32_t count = 0; count < PIECES_MAX && is_rest(reader, pairs, pairs->next + count);) {
    balance += gr_expression_balance(gr_item_text(key_at(reader, pairs, pairs->next + count)));
    count++;
    if (balance <= 0) return count;
  }
  return 0;
}

static bool swallow_pairs(struct gr_reader *reader, const struct gr_where *where, struct gr_pairs *pairs,
                          struct gr_view key, const struct gr_item *first) {
  uint32_t count = count_rests(reader, pairs, first);
  if (count == 0) return false;
  struct gr_text whole;
  gr_text_init(&whole, reader->memory);
  gr_text_append(&whole, first->text, first->count);
  for (; count > 0; count--) append_piece(&whole, gr_item_text(key_at(reader, pairs, pairs->next++)));
  struct gr_where inner = {.parent = where, .name = key};
  say_cut(reader, &inner, first, &whole);
  gr_text_release(&whole);
  return true;
}

bool gr_reader_next_pair(struct gr_reader *reader, const struct gr_where *where, struct gr_pairs *pairs,
                         struct gr_pair *pair) {
  if (pairs->next >= pairs->map->count) return false;
  const struct gr_item *key = key_at(reader, pairs, pairs->next);
  pair->key = gr_item_text(key);
  pair->key_mark = gr_item_mark(key);
  pair->value = gr_document_child(reader->document, pairs->map, 2 * pairs->next + 1);
  pairs->next++;
  pair->is_cut = swallow_pairs(reader, where, pairs, pair->key, gr_reader_item(reader, pair->value));
  return true;
}

struct gr_elements gr_reader_elements(const struct gr_reader *reader, uint32_t item, bool holds_expressions) {
  const struct gr_item *list = gr_reader_item(reader, item);
  return (struct gr_elements){list->kind == GR_ITEM_LIST ? list : NULL, item, 0, holds_expressions};
}

static const struct gr_item *element_at(const struct gr_reader *reader, const struct gr_elements *elements,
                                        uint64_t element) {
  return gr_reader_item(reader, gr_document_child(reader->document, elements->list, element));
}

/* The same as count_rests for the elements behind `first`. */
static uint32_t count_pieces(const struct gr_reader *reader, const struct gr_elements *elements,
                             const struct gr_item *first) {
  int64_t balance;
  if (!elements->holds_expressions || !may_be_cut(first, &balance)) return 0;
  for (uint32_t count = 0; count < PIECES_MAX && elements->next + count < elements->list->count;) {
    const struct gr_item *piece = element_at(reader, elements, elements->next + count);
    if (piece->kind != GR_ITEM_SCALAR || !piece->is_plain) return 0;
    balance += gr_expression_balance(gr_item_text(piece));
    count++;
    if (balance <= 0) return count;
  }
  return 0;
}

static bool swallow_elements(struct gr_reader *reader, const struct gr_where *where, struct gr_elements *elements,
                             const struct gr_item *first) {
  uint32_t count = count_pieces(reader, elements, first);
  if (count == 0) return false;
  struct gr_where inner = gr_where_item(where, (int64_t)elements->next - 1);
  struct gr_text whole;
  gr_text_init(&whole, reader->memory);
  gr_text_append(&whole, first->text, first->count);
  for (; count > 0; count--) append_piece(&whole, gr_item_text(element_at(reader, elements, elements->next++)));
  say_cut(reader, &inner, first, &whole);
  gr_text_release(&whole);
  return true;
}

bool gr_reader_next_element(struct gr_reader *reader, const struct gr_where *where, struct gr_elements *elements,
                            struct gr_element_item *element) {
  if (!elements->list) {
    if (elements->next++ > 0) return false;
    *element = (struct gr_element_item){elements->single, -1, false};
    return true;
  }
  if (elements->next >= elements->list->count) return false;
  element->index = (int64_t)elements->next;
  element->item = gr_document_child(reader->document, elements->list, elements->next++);
  element->is_cut = swallow_elements(reader, where, elements, gr_reader_item(reader, element->item));
  return true;
}

/* ---- fields ---- */

static uint32_t find_field(const struct gr_field_set *set, struct gr_view key) {
  for (uint32_t i = 0; i < set->count; i++) {
    if (gr_view_is(key, set->fields[i].key)) return i;
  }
  return GR_NO_INDEX;
}

static void append_keys(struct gr_text *text, const struct gr_field_set *set) {
  for (uint32_t i = 0; i < set->count; i++) {
    gr_text_append_format(text, "%s%s", i == 0 ? "" : ", ", set->fields[i].key);
  }
}

static void say_unknown_key(struct gr_reader *reader, const struct gr_where *where, const struct gr_pair *pair,
                            const struct gr_field_set *set, struct gr_fields *fields) {
  struct gr_view candidates[GR_FIELDS_MAX] = {{NULL, 0}};
  for (uint32_t i = 0; i < set->count; i++) candidates[i] = gr_view_of(set->fields[i].key);
  size_t nearest = gr_text_nearest(pair->key, candidates, set->count);
  fields->has_unknown = true;
  if (nearest != SIZE_MAX) {
    /* What was meant is not missing as well. */
    if (fields->values[nearest] == GR_NO_INDEX) fields->values[nearest] = GR_BAD_ITEM;
    gr_reader_error(reader, where, pair->key_mark, "unknown key %s; did you mean \"%s\"?",
                    gr_view_quote(pair->key).text, set->fields[nearest].key);
    return;
  }
  struct gr_text keys;
  gr_text_init(&keys, reader->memory);
  append_keys(&keys, set);
  gr_reader_error(reader, where, pair->key_mark, "unknown key %s; allowed are %s", gr_view_quote(pair->key).text,
                  message_of(&keys));
  gr_text_release(&keys);
}

static const char *noun_of_item(const struct gr_item *item) { return item->kind == GR_ITEM_LIST ? "a list" : "a map"; }

bool gr_reader_takes(struct gr_reader *reader, const struct gr_where *where, uint32_t item_index,
                     enum gr_field_kind kind) {
  const struct gr_item *item = gr_reader_item(reader, item_index);
  const struct kind_row *row = &kind_rows[kind];
  if ((row->takes >> item->kind & 1u) != 0) return true;
  if (item->kind == GR_ITEM_REFUSED) return false;
  if (item->kind != GR_ITEM_SCALAR) {
    gr_reader_error(reader, where, gr_item_mark(item), "must be %s, not %s", row->noun, noun_of_item(item));
  } else if (is_blank_scalar(item)) {
    gr_reader_error(reader, where, gr_item_mark(item), "must be %s, but is empty", row->noun);
  } else {
    gr_reader_error(reader, where, gr_item_mark(item), "must be %s, not %s", row->noun,
                    gr_view_quote(gr_item_text(item)).text);
  }
  return false;
}

static void read_pair(struct gr_reader *reader, const struct gr_where *where, const struct gr_pair *pair,
                      const struct gr_field_set *set, struct gr_fields *fields) {
  uint32_t field = find_field(set, pair->key);
  if (field == GR_NO_INDEX) {
    say_unknown_key(reader, where, pair, set, fields);
    return;
  }
  struct gr_where inner = gr_where_field(where, set->fields[field].key);
  bool is_usable = !pair->is_cut && gr_reader_takes(reader, &inner, pair->value, set->fields[field].kind);
  fields->values[field] = is_usable ? pair->value : GR_BAD_ITEM;
}

bool gr_reader_fields(struct gr_reader *reader, const struct gr_where *where, uint32_t map,
                      const struct gr_field_set *set, struct gr_fields *fields) {
  for (uint32_t i = 0; i < GR_FIELDS_MAX; i++) fields->values[i] = GR_NO_INDEX;
  fields->has_unknown = gr_reader_item(reader, map)->is_cut;
  if (!gr_reader_takes(reader, where, map, GR_FIELD_MAP)) return false;
  struct gr_pairs pairs = gr_reader_pairs(reader, map);
  struct gr_pair pair;
  while (gr_reader_next_pair(reader, where, &pairs, &pair)) read_pair(reader, where, &pair, set, fields);
  const struct gr_item *item = gr_reader_item(reader, map);
  for (uint32_t i = 0; i < set->count; i++) {
    if (!set->fields[i].is_required || fields->values[i] != GR_NO_INDEX) continue;
    fields->values[i] = GR_BAD_ITEM;
    if (!item->is_cut) gr_reader_error(reader, where, gr_item_mark(item), "\"%s\" is missing", set->fields[i].key);
  }
  return true;
}

/* ---- single values ---- */

static const char *allowed_text(enum gr_value_kind kind) {
  switch (kind) {
    case GR_VALUE_REAL:
      return "allowed are floats (1.5, 1e3, .inf, .nan), integers, params, + - * / %, parentheses, min, max and "
             "ceil_div";
    case GR_VALUE_NUMBER:
      return "allowed are integers (42, 0x2A, 4Ki), floats (1.5, 1e3, .inf, .nan), params, + - * / %, parentheses, "
             "min, max and ceil_div";
    default:
      return "allowed are integers (42, 0x2A, 4Ki), params, + - * / %, parentheses, min, max and ceil_div";
  }
}

static const char *noun_of_value(enum gr_value_kind kind) {
  return kind == GR_VALUE_REAL || kind == GR_VALUE_NUMBER ? "number" : "integer";
}

bool gr_reader_evaluate(struct gr_reader *reader, const struct gr_where *where, uint32_t item, struct gr_view text,
                        enum gr_value_kind kind, struct gr_number *number) {
  struct gr_scope scope = {&reader->param_names,       reader->params,
                           reader->param_is_known,     reader->visible_params,
                           gr_reader_is_heard(reader), reader->cut.params};
  struct gr_problem problem;
  enum gr_outcome outcome = gr_expression_evaluate(text, kind, &scope, number, &problem);
  if (outcome == GR_OUTCOME_PROBLEM) {
    gr_reader_error(reader, where, gr_item_mark(gr_reader_item(reader, item)), "%s is no %s: %s; %s%s",
                    gr_view_quote(text).text, noun_of_value(kind), problem.text, allowed_text(kind), problem.hint.text);
  }
  return outcome == GR_OUTCOME_VALUE;
}

/* "n*4" is 512, or just 512 where the text says so itself. */
static void describe_value(struct gr_reader *reader, struct gr_view text, struct gr_number number, char *out,
                           size_t out_bytes) {
  struct gr_shown shown = gr_reader_show_number(reader, number);
  if (gr_view_is(text, shown.text)) {
    snprintf(out, out_bytes, "%s", shown.text);
  } else {
    snprintf(out, out_bytes, "%s is %s, which", gr_view_quote(text).text, shown.text);
  }
}

enum { DESCRIPTION_BYTES = GR_QUOTE_BYTES + 64 };

static int64_t integer_of(struct gr_number number) {
  return (int64_t)(number.is_negative ? 0 - number.magnitude : number.magnitude);
}

bool gr_reader_integer(struct gr_reader *reader, const struct gr_where *where, uint32_t item, int64_t least,
                       int64_t most, int64_t *value) {
  if (!gr_reader_takes(reader, where, item, GR_FIELD_INTEGER)) return false;
  struct gr_view text = gr_item_text(gr_reader_item(reader, item));
  struct gr_number number;
  if (!gr_reader_evaluate(reader, where, item, text, GR_VALUE_INTEGER, &number)) return false;
  int64_t integer = integer_of(number);
  if (integer >= least && integer <= most) {
    *value = integer;
    return true;
  }
  char shown[DESCRIPTION_BYTES];
  describe_value(reader, text, number, shown, sizeof shown);
  struct gr_mark mark = gr_item_mark(gr_reader_item(reader, item));
  if (integer < least) {
    gr_reader_error(reader, where, mark, "%s is too small; the least is %" PRId64, shown, least);
  } else {
    gr_reader_error(reader, where, mark, "%s is too large; the most is %" PRId64, shown, most);
  }
  return false;
}

bool gr_reader_real(struct gr_reader *reader, const struct gr_where *where, uint32_t item, double *value) {
  if (!gr_reader_takes(reader, where, item, GR_FIELD_REAL)) return false;
  struct gr_view text = gr_item_text(gr_reader_item(reader, item));
  struct gr_number number;
  if (!gr_reader_evaluate(reader, where, item, text, GR_VALUE_REAL, &number)) return false;
  *value = number.real;
  return true;
}

static const char *range_of(enum gr_type type) {
  static const char *const ranges[GR_TYPE_COUNT] = {
      [GR_TYPE_I8] = "integers from -128 to 127",
      [GR_TYPE_U8] = "integers from 0 to 255",
      [GR_TYPE_I16] = "integers from -32768 to 32767",
      [GR_TYPE_U16] = "integers from 0 to 65535",
      [GR_TYPE_I32] = "integers from -2147483648 to 2147483647",
      [GR_TYPE_U32] = "integers from 0 to 4294967295",
      [GR_TYPE_I64] = "integers from -9223372036854775808 to 9223372036854775807",
      [GR_TYPE_U64] = "integers from 0 to 18446744073709551615",
      [GR_TYPE_F16] = "finite values up to 65504",
      [GR_TYPE_BF16] = "finite values up to 3.3895314e38",
      [GR_TYPE_F32] = "finite values up to 3.4028235e38",
      [GR_TYPE_F64] = "finite values up to 1.7976931348623157e308",
  };
  return ranges[type];
}

static enum gr_value_kind kind_of_type(const enum gr_type *type) {
  if (!type) return GR_VALUE_NUMBER;
  if (gr_type_is_float(*type)) return GR_VALUE_REAL;
  return *type == GR_TYPE_U64 ? GR_VALUE_UNSIGNED : GR_VALUE_INTEGER;
}

bool gr_reader_value(struct gr_reader *reader, const struct gr_where *where, uint32_t item, const enum gr_type *type,
                     struct gr_number *number, struct gr_element *element) {
  if (!gr_reader_takes(reader, where, item, GR_FIELD_VALUE)) return false;
  struct gr_view text = gr_item_text(gr_reader_item(reader, item));
  enum gr_value_kind kind = kind_of_type(type);
  /* A literal is judged by its value, so that 2.0 is an i32 and 2.5 is none. */
  if (kind == GR_VALUE_REAL || !gr_number_parse(text, number)) {
    if (!gr_reader_evaluate(reader, where, item, text, kind, number)) return false;
  }
  if (!type) return true;
  struct gr_element converted;
  if (gr_number_to_element(*number, *type, &converted)) {
    if (!gr_type_is_float(*type)) *number = gr_number_of_element(converted, *type);
    if (element) *element = converted;
    return true;
  }
  char shown[DESCRIPTION_BYTES];
  describe_value(reader, text, *number, shown, sizeof shown);
  gr_reader_error(reader, where, gr_item_mark(gr_reader_item(reader, item)), "%s does not fit %s, which holds %s",
                  shown, gr_type_name(*type), range_of(*type));
  return false;
}

static void append_words(struct gr_text *text, const char *const *words, uint32_t word_count) {
  for (uint32_t i = 0; i < word_count; i++) gr_text_append_format(text, "%s%s", i == 0 ? "" : ", ", words[i]);
}

enum { WORDS_MAX = 16 };

static void say_unknown_word(struct gr_reader *reader, const struct gr_where *where, const struct gr_item *item,
                             const char *const *words, uint32_t word_count) {
  struct gr_view candidates[WORDS_MAX] = {{NULL, 0}};
  for (uint32_t i = 0; i < word_count; i++) candidates[i] = gr_view_of(words[i]);
  size_t nearest = gr_text_nearest(gr_item_text(item), candidates, word_count);
  struct gr_text allowed;
  gr_text_init(&allowed, reader->memory);
  append_words(&allowed, words, word_count);
  struct gr_hint hint = gr_hint_of(nearest == SIZE_MAX ? (struct gr_view){NULL, 0} : candidates[nearest]);
  if (is_blank_scalar(item)) {
    gr_reader_error(reader, where, gr_item_mark(item), "is empty; allowed are %s", message_of(&allowed));
  } else {
    gr_reader_error(reader, where, gr_item_mark(item), "%s is none of %s%s", gr_view_quote(gr_item_text(item)).text,
                    message_of(&allowed), hint.text);
  }
  gr_text_release(&allowed);
}

bool gr_reader_word(struct gr_reader *reader, const struct gr_where *where, uint32_t item, const char *const *words,
                    uint32_t word_count, uint32_t *index) {
  if (!gr_reader_takes(reader, where, item, GR_FIELD_WORD)) return false;
  const struct gr_item *scalar = gr_reader_item(reader, item);
  for (uint32_t i = 0; i < word_count; i++) {
    if (!gr_view_is(gr_item_text(scalar), words[i])) continue;
    *index = i;
    return true;
  }
  say_unknown_word(reader, where, scalar, words, word_count);
  return false;
}

bool gr_reader_word_field(struct gr_reader *reader, const struct gr_where *where, const struct gr_fields *fields,
                          const struct gr_field_set *set, uint32_t field, const char *const *words, uint32_t word_count,
                          uint32_t *index) {
  const char *fallback = set->fields[field].fallback;
  *index = 0;
  for (uint32_t i = 0; fallback && i < word_count; i++) {
    if (strcmp(words[i], fallback) == 0) *index = i;
  }
  if (!gr_field_is_there(fields, field)) return true;
  if (!gr_field_is_usable(fields, field)) return false;
  struct gr_where inner = gr_where_field(where, set->fields[field].key);
  return gr_reader_word(reader, &inner, fields->values[field], words, word_count, index);
}

struct gr_number gr_field_fallback(const struct gr_field_set *set, uint32_t field) {
  struct gr_number number = {.magnitude = 0};
  const char *fallback = set->fields[field].fallback;
  if (fallback) (void)gr_number_parse(gr_view_of(fallback), &number);
  return number;
}

/* ---- names and paths ---- */

/* The offset of the first control character (C0, DEL or C1), or the length. Valid UTF-8 only. */
static size_t find_control(struct gr_view view) {
  for (size_t i = 0; i < view.length; i++) {
    unsigned char byte = (unsigned char)view.bytes[i];
    if (byte < 0x20 || byte == 0x7F) return i;
    if (byte == 0xC2 && i + 1 < view.length && (unsigned char)view.bytes[i + 1] < 0xA0) return i;
  }
  return view.length;
}

static const char *name_problem(struct gr_view name, bool is_buffer) {
  size_t bad;
  if (name.length == 0) return "is empty; a name has 1 to 256 bytes";
  if (!gr_utf8_valid(name, &bad)) return "is not valid UTF-8";
  if (find_control(name) < name.length) return "has a control character in it";
  if (name.length > GR_NAME_BYTES_MAX) return "is too long; a name has 1 to 256 bytes";
  for (size_t i = 0; is_buffer && i < name.length; i++) {
    if (strchr("[]:,", name.bytes[i])) return "has one of [ ] : , in it, which a buffer's name may not have";
  }
  return NULL;
}

bool gr_reader_name(struct gr_reader *reader, const struct gr_where *where, struct gr_view name, struct gr_mark mark,
                    bool is_buffer) {
  const char *problem = name_problem(name, is_buffer);
  if (!problem) return true;
  gr_reader_error(reader, where, mark, "the name %s %s", gr_view_quote(name).text, problem);
  return false;
}

static bool ends_with(struct gr_view view, const char *ending) {
  size_t length = strlen(ending);
  return view.length > length && memcmp(view.bytes + view.length - length, ending, length) == 0;
}

const char *gr_reader_path(struct gr_reader *reader, const struct gr_where *where, uint32_t item) {
  const struct gr_item *scalar = gr_reader_item(reader, item);
  struct gr_view path = gr_item_text(scalar);
  if (path.length == 0) {
    gr_reader_error(reader, where, gr_item_mark(scalar), "the path is empty");
    return NULL;
  }
  if (memchr(path.bytes, '\0', path.length)) {
    gr_reader_error(reader, where, gr_item_mark(scalar), "the path %s has a zero byte in it", gr_view_quote(path).text);
    return NULL;
  }
  if (!ends_with(path, ".npy") && !ends_with(path, ".bin")) {
    gr_reader_error(reader, where, gr_item_mark(scalar), "the path %s ends in neither .npy nor .bin",
                    gr_view_quote(path).text);
    return NULL;
  }
  return gr_reader_copy(reader, path);
}
