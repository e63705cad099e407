/* What the files of this room share: the reader that walks a document, and the small machines it uses. */
#ifndef GRAPHRUN_ENGINE_PIPELINE_PIPELINE_INTERNAL_H
#define GRAPHRUN_ENGINE_PIPELINE_PIPELINE_INTERNAL_H

#include "engine/pipeline/fields.h"
#include "engine/pipeline/pipeline.h"

/* No enumerators: those are ints. */
static const uint32_t GR_NO_INDEX = UINT32_MAX;
static const uint32_t GR_BAD_ITEM = UINT32_MAX - 1; /* see struct gr_fields */

enum { GR_NAME_BYTES_MAX = 256 };

/* ---- number.c ---- */

/* gr_number_parse that says why not; *why is a static sentence, set on false (and maybe on true). */
bool gr_number_scan(struct gr_view text, struct gr_number *number, const char **why);
/* A number where a float is wanted: integers too, and digits that fit no integer. */
bool gr_number_scan_real(struct gr_view text, double *value, const char **why);
struct gr_number gr_number_of_element(struct gr_element element, enum gr_type type);

/* ---- names.c ---- */

/* Views of names, each once; the bytes belong to the document. */
struct gr_name_table {
  struct gr_memory *memory;
  struct gr_name_slot *slots;
  uint64_t mask;
  struct gr_view *names; /* [count], in the order of adding */
  uint32_t *indexes;     /* [count], what each name stands for */
  uint32_t count;
  uint32_t capacity;
};
/* Room for `capacity` names. False without memory. Release is safe after a failure and on a zeroed struct. */
bool gr_name_table_init(struct gr_name_table *table, struct gr_memory *memory, uint32_t capacity);
void gr_name_table_release(struct gr_name_table *table);
/* GR_NO_INDEX where it is not there. */
uint32_t gr_name_table_find(const struct gr_name_table *table, struct gr_view name);
/* GR_NO_INDEX when added; else the index that the name has already, and nothing changes. */
uint32_t gr_name_table_add(struct gr_name_table *table, struct gr_view name, uint32_t index);
/* For "did you mean": length 0 where none is near. Looks at a bounded number of names. */
struct gr_view gr_name_table_nearest(const struct gr_name_table *table, struct gr_view name);

/* `; did you mean "x"?`, or nothing where there is no suggestion. */
struct gr_hint {
  char text[GR_QUOTE_BYTES + 24];
};
struct gr_hint gr_hint_of(struct gr_view suggestion);

/* ---- expression.c ---- */

enum gr_value_kind {
  GR_VALUE_INTEGER,  /* signed 64-bit */
  GR_VALUE_UNSIGNED, /* the same, and a lone literal reaches 2^64-1 */
  GR_VALUE_REAL,     /* f64 */
  GR_VALUE_NUMBER,   /* REAL where a float occurs in it, else UNSIGNED */
};

/* The params that an expression sees. */
struct gr_scope {
  const struct gr_name_table *names; /* null: none */
  const struct gr_param *params;
  const bool *is_known;   /* false: its value was wrong, and that has been said */
  uint32_t visible_count; /* those with a smaller index */
  bool wants_hints;       /* look for the name that was meant: costs time in large files */
  bool is_cut;            /* there are more params than are known */
};

enum gr_outcome {
  GR_OUTCOME_VALUE,
  GR_OUTCOME_PROBLEM, /* `problem` says what is wrong */
  GR_OUTCOME_SILENT,  /* depends on a param that is wrong itself: nothing more to say */
};

struct gr_problem {
  char text[400];
  struct gr_hint hint;
};

/* Evaluates without recursion and without allocating. INTEGER, UNSIGNED and NUMBER give an integer that fits, REAL
 * gives a real. */
enum gr_outcome gr_expression_evaluate(struct gr_view text, enum gr_value_kind kind, const struct gr_scope *scope,
                                       struct gr_number *number, struct gr_problem *problem);
/* Is it a function of expressions? Params cannot have such a name. */
bool gr_expression_is_function(struct gr_view name);
/* [A-Za-z_][A-Za-z0-9_]* */
bool gr_expression_is_identifier(struct gr_view name);
/* Opening minus closing parentheses. */
int64_t gr_expression_balance(struct gr_view text);

/* ---- field.c: the reader's hands ---- */

struct gr_buffer_state {
  bool is_whole; /* type, shape and size are right, so that references can be judged */
  bool is_used;
};

/* Names are missing because what declares them is wrong, which has been said: a name that is not there is no error. */
struct gr_cut {
  bool params, kernels, buffers, nodes;
};

/* A growing array of the result; copied into the pipeline's arena at the end. */
struct gr_growing {
  void *elements;
  size_t count;
  size_t capacity;
};

struct gr_reader {
  struct gr_memory *memory;
  const struct gr_document *document;
  const struct gr_pipeline_options *options;
  struct gr_diagnostics *diagnostics;
  struct gr_pipeline *pipeline; /* in the making */
  bool is_out_of_memory;
  uint64_t invalid_count;
  uint64_t unsupported_count;
  struct gr_cut cut;

  struct gr_name_table param_names;
  struct gr_param *params;
  bool *param_is_known;
  uint32_t visible_params;

  struct gr_name_table kernel_names; /* of the user's own, which are not supported yet */

  struct gr_name_table buffer_names;
  struct gr_buffer *buffers;
  struct gr_buffer_state *buffer_states;

  struct gr_name_table node_names;
  struct gr_node *nodes;
  uint32_t *seen_after; /* [node_count], the last node (plus one) whose `after` named it */

  struct gr_growing after;
  struct gr_growing references;
  struct gr_growing accesses;
  struct gr_growing arguments;
};

/* What is being read, for messages; lives on the stack of the function that reads it. Shown as `node "a": copy.from: `
 */
struct gr_where {
  const struct gr_where *parent;
  const char *noun;    /* "buffer", "node", …: the name is shown in quotes; null: a field or a list's item */
  struct gr_view name; /* of a noun or a field */
  int64_t index;       /* of a list's item */
  bool is_item;
};
struct gr_where gr_where_noun(const char *noun, struct gr_view name);
struct gr_where gr_where_field(const struct gr_where *parent, const char *key);
struct gr_where gr_where_item(const struct gr_where *parent, int64_t index);

/* A diagnostic behind the text of `where` (null: none). */
__attribute__((format(printf, 4, 5))) void gr_reader_error(struct gr_reader *reader, const struct gr_where *where,
                                                           struct gr_mark mark, const char *format, ...);
__attribute__((format(printf, 4, 5))) void gr_reader_unsupported(struct gr_reader *reader, const struct gr_where *where,
                                                                 struct gr_mark mark, const char *format, ...);
__attribute__((format(printf, 4, 5))) void gr_reader_warning(struct gr_reader *reader, const struct gr_where *where,
                                                             struct gr_mark mark, const char *format, ...);

/* Will the next error be shown? Where not, nothing has to be worked out for its message. */
bool gr_reader_is_heard(const struct gr_reader *reader);
/* gr_name_table_nearest for the next message. */
struct gr_view gr_reader_nearest(const struct gr_reader *reader, const struct gr_name_table *table,
                                 struct gr_view name);

/* Remembers that memory ran out; returns whether `address` is not null. */
bool gr_reader_has(struct gr_reader *reader, const void *address);
/* Room for one more element behind `growing`; its address, or null without memory. */
void *gr_reader_push(struct gr_reader *reader, struct gr_growing *growing, size_t size_bytes);

static inline const struct gr_item *gr_reader_item(const struct gr_reader *reader, uint32_t item) {
  return gr_document_item(reader->document, item);
}

/* Walks the pairs of a map, and swallows those that are the rest of an expression which YAML's flow style cut at a
 * comma: that is said, and `is_cut` is set. */
struct gr_pairs {
  const struct gr_item *map;
  uint64_t next;
};
struct gr_pair {
  struct gr_view key;
  struct gr_mark key_mark;
  uint32_t value; /* item */
  bool is_cut;
};
struct gr_pairs gr_reader_pairs(const struct gr_reader *reader, uint32_t map);
bool gr_reader_next_pair(struct gr_reader *reader, const struct gr_where *where, struct gr_pairs *pairs,
                         struct gr_pair *pair);

/* The same for the elements of a list, or for a scalar that stands for a list of one. `is_single` says so. */
struct gr_elements {
  const struct gr_item *list; /* null: a single scalar */
  uint32_t single;
  uint64_t next;
  bool holds_expressions; /* only those are cut */
};
struct gr_element_item {
  uint32_t item;
  int64_t index;
  bool is_cut;
};
struct gr_elements gr_reader_elements(const struct gr_reader *reader, uint32_t item, bool holds_expressions);
bool gr_reader_next_element(struct gr_reader *reader, const struct gr_where *where, struct gr_elements *elements,
                            struct gr_element_item *element);

/* The values of a map's fields: an item, GR_NO_INDEX where the key is absent, GR_BAD_ITEM where a value is there but
 * wrong and that has been said. */
struct gr_fields {
  uint32_t values[GR_FIELDS_MAX];
  bool has_unknown; /* an unknown key was there, or one that was refused */
};
static inline bool gr_field_is_there(const struct gr_fields *fields, uint32_t field) {
  return fields->values[field] != GR_NO_INDEX;
}
/* There and fit to be read. */
static inline bool gr_field_is_usable(const struct gr_fields *fields, uint32_t field) {
  return fields->values[field] < GR_BAD_ITEM;
}
/* False where the item is no map. Unknown keys, missing ones and values of the wrong kind of item are said. */
bool gr_reader_fields(struct gr_reader *reader, const struct gr_where *where, uint32_t map,
                      const struct gr_field_set *set, struct gr_fields *fields);

/* Is the item a scalar, a list or a map as that kind wants it? What is wrong is said. */
bool gr_reader_takes(struct gr_reader *reader, const struct gr_where *where, uint32_t item, enum gr_field_kind kind);

/* One value each; false where it is wrong, which has been said. */
bool gr_reader_integer(struct gr_reader *reader, const struct gr_where *where, uint32_t item, int64_t least,
                       int64_t most, int64_t *value);
bool gr_reader_real(struct gr_reader *reader, const struct gr_where *where, uint32_t item, double *value);
/* A number of a buffer's type. `type` null: not known, then only the spelling is judged. For integer types `number` is
 * an integer, for float types the real before rounding; `element` may be null. */
bool gr_reader_value(struct gr_reader *reader, const struct gr_where *where, uint32_t item, const enum gr_type *type,
                     struct gr_number *number, struct gr_element *element);
/* Any expression of that kind. */
bool gr_reader_evaluate(struct gr_reader *reader, const struct gr_where *where, uint32_t item, struct gr_view text,
                        enum gr_value_kind kind, struct gr_number *number);
/* The index among `words`. */
bool gr_reader_word(struct gr_reader *reader, const struct gr_where *where, uint32_t item, const char *const *words,
                    uint32_t word_count, uint32_t *index);
/* One of `words` by a field's value, or its default. False where the value is wrong; then *index is the default. */
bool gr_reader_word_field(struct gr_reader *reader, const struct gr_where *where, const struct gr_fields *fields,
                          const struct gr_field_set *set, uint32_t field, const char *const *words, uint32_t word_count,
                          uint32_t *index);
/* The number that a field's default spells; 0 where it has none. */
struct gr_number gr_field_fallback(const struct gr_field_set *set, uint32_t field);
/* Is the name allowed? What is wrong is said. */
bool gr_reader_name(struct gr_reader *reader, const struct gr_where *where, struct gr_view name, struct gr_mark mark,
                    bool is_buffer);
/* A path with one of the known endings, copied into the pipeline; null where it is wrong. */
const char *gr_reader_path(struct gr_reader *reader, const struct gr_where *where, uint32_t item);
/* A terminated copy in the pipeline's arena; null without memory. */
const char *gr_reader_copy(struct gr_reader *reader, struct gr_view view);
/* A number as text for messages. */
struct gr_shown {
  char text[40];
};
struct gr_shown gr_reader_show_number(struct gr_reader *reader, struct gr_number number);

/* ---- reference.c ---- */

enum gr_lookup {
  GR_LOOKUP_FOUND,
  GR_LOOKUP_BAD, /* said */
};
/* Reads "name" or "name[a:b, …]" and checks it against the buffer. The buffer counts as used from now on. */
enum gr_lookup gr_reader_reference(struct gr_reader *reader, const struct gr_where *where, uint32_t item,
                                   struct gr_reference *reference);
/* Appends to the pipeline's references; GR_NO_INDEX without memory. */
uint32_t gr_reader_add_reference(struct gr_reader *reader, const struct gr_reference *reference);
/* "x" or "x[0:4, 2:8]" for messages. */
struct gr_shown_reference {
  char text[200];
};
struct gr_shown_reference gr_reference_show(const struct gr_buffer *buffers, const struct gr_reference *reference);

/* ---- box.c ---- */

/* False where the copy needs more than three dimensions. `box` may be null. */
bool gr_box_fold_copy(const struct gr_buffer *buffers, const struct gr_reference *from, const struct gr_reference *to,
                      struct gr_copy_box *box);
bool gr_box_fold_fill(const struct gr_buffer *buffers, const struct gr_reference *to, struct gr_fill_box *box);

/* ---- buffers.c, nodes.c, call.c: what a file holds; wrong parts are said and left out ---- */

void gr_reader_buffers(struct gr_reader *reader, uint32_t map);
void gr_reader_nodes(struct gr_reader *reader, uint32_t list);
/* Reads a kernel node's call. False where it is wrong. */
bool gr_reader_call(struct gr_reader *reader, const struct gr_where *where, const struct gr_fields *fields,
                    struct gr_node *node);
/* Appends to the pipeline's accesses, behind those that the node has already. */
void gr_reader_add_access(struct gr_reader *reader, struct gr_node *node, uint32_t reference_index,
                          enum gr_access access);

#endif
