/* Every key of the format, one row each: FIELD(map, symbol, key, kind, required, default, meaning). What the reader
 * accepts, what it calls for and what stands where a key is left out comes from here.
 *
 * `default` is the text that would mean the same, null where leaving the key out means "none". */
#ifndef GRAPHRUN_ENGINE_PIPELINE_FIELDS_H
#define GRAPHRUN_ENGINE_PIPELINE_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

enum gr_field_kind {
  GR_FIELD_INTEGER,   /* an integer expression */
  GR_FIELD_REAL,      /* an expression in f64 */
  GR_FIELD_VALUE,     /* a number of the buffer's type */
  GR_FIELD_WORD,      /* one of a list of words */
  GR_FIELD_NAME,      /* any scalar, byte for byte */
  GR_FIELD_TEXT,      /* any scalar */
  GR_FIELD_PATH,      /* a file */
  GR_FIELD_REFERENCE, /* a buffer or a slice of one */
  GR_FIELD_MAP,
  GR_FIELD_LIST,
  GR_FIELD_INTEGERS,    /* one integer or a list of them */
  GR_FIELD_NAMES,       /* one id or a list of them */
  GR_FIELD_WORD_OR_MAP, /* `init` */
};

struct gr_field {
  const char *key;
  enum gr_field_kind kind;
  bool is_required;
  const char *fallback;
  const char *meaning;
};

#define GR_FIELDS_TOP(FIELD)                                                                      \
  FIELD(TOP, VERSION, "graphrun", INTEGER, true, NULL, "format version, 1")                       \
  FIELD(TOP, NAME, "name", NAME, false, NULL, "shown in reports; the file's stem where left out") \
  FIELD(TOP, PARAMS, "params", MAP, false, NULL, "name to integer or float")                      \
  FIELD(TOP, BUFFERS, "buffers", MAP, false, NULL, "name to buffer")                              \
  FIELD(TOP, KERNELS, "kernels", MAP, false, NULL, "name to a kernel of the user's own")          \
  FIELD(TOP, NODES, "nodes", LIST, true, NULL, "what is to be done, at least one node")           \
  FIELD(TOP, ORDER, "order", WORD, false, "explicit", "where the edges come from")                \
  FIELD(TOP, RACES, "races", WORD, false, "error", "what a race is")                              \
  FIELD(TOP, STREAMS, "streams", MAP, false, NULL, "how nodes are spread over streams")

#define GR_FIELDS_STREAMS(FIELD)                                                               \
  FIELD(STREAMS, POLICY, "policy", WORD, false, "levels", "how nodes are spread over streams") \
  FIELD(STREAMS, MAX, "max", INTEGER, false, NULL, "at most so many streams")

#define GR_FIELDS_BUFFER(FIELD)                                                                   \
  FIELD(BUFFER, TYPE, "type", WORD, true, NULL, "element type")                                   \
  FIELD(BUFFER, SHAPE, "shape", INTEGERS, true, NULL, "extents, row-major; 0 is allowed")         \
  FIELD(BUFFER, PLACE, "place", WORD, false, "device", "where the buffer lives")                  \
  FIELD(BUFFER, DEVICE, "device", INTEGER, false, "0", "which GPU")                               \
  FIELD(BUFFER, INIT, "init", WORD_OR_MAP, false, NULL, "first values; undefined where left out") \
  FIELD(BUFFER, LOAD, "load", PATH, false, NULL, "first values from a .npy or .bin file")         \
  FIELD(BUFFER, SAVE, "save", PATH, false, NULL, "written once the last replay has succeeded")    \
  FIELD(BUFFER, EXPECT, "expect", MAP, false, NULL, "checked after the last replay")

#define GR_FIELDS_INIT(FIELD)                                                                   \
  FIELD(INIT, FILL, "fill", VALUE, false, NULL, "every element")                                \
  FIELD(INIT, IOTA, "iota", MAP, false, NULL, "start, start + step, …")                         \
  FIELD(INIT, RANDOM, "random", MAP, false, NULL, "counter-based: the same bytes in every run") \
  FIELD(INIT, VALUES, "values", LIST, false, NULL, "flat, row-major, as many as the shape has")

#define GR_FIELDS_IOTA(FIELD)                                         \
  FIELD(IOTA, START, "start", VALUE, true, NULL, "the first element") \
  FIELD(IOTA, STEP, "step", VALUE, true, NULL, "from one element to the next")

#define GR_FIELDS_RANDOM(FIELD)                                   \
  FIELD(RANDOM, SEED, "seed", INTEGER, true, NULL, "0 to 2^64-1") \
  FIELD(RANDOM, LOW, "low", VALUE, true, NULL, "the least value") \
  FIELD(RANDOM, HIGH, "high", VALUE, true, NULL, "the bound above")

#define GR_FIELDS_EXPECT(FIELD)                                                           \
  FIELD(EXPECT, LOAD, "load", PATH, false, NULL, "the elements that are expected")        \
  FIELD(EXPECT, EQUALS, "equals", VALUE, false, NULL, "what every element is")            \
  FIELD(EXPECT, SUM, "sum", VALUE, false, NULL, "the sum of all elements")                \
  FIELD(EXPECT, RTOL, "rtol", REAL, false, "0", "tolerance relative to what is expected") \
  FIELD(EXPECT, ATOL, "atol", REAL, false, "0", "absolute tolerance")

#define GR_FIELDS_NODE(FIELD)                                                                     \
  FIELD(NODE, ID, "id", NAME, true, NULL, "unique")                                               \
  FIELD(NODE, AFTER, "after", NAMES, false, NULL, "the nodes that come before this one")          \
  FIELD(NODE, TIMEOUT, "timeout", REAL, false, NULL, "seconds")                                   \
  FIELD(NODE, NOTE, "note", TEXT, false, NULL, "for people")                                      \
  FIELD(NODE, COPY, "copy", MAP, false, NULL, "between any two places")                           \
  FIELD(NODE, FILL, "fill", MAP, false, NULL, "one value for all elements")                       \
  FIELD(NODE, KERNEL, "kernel", NAME, false, NULL, "a kernel's name")                             \
  FIELD(NODE, ARGS, "args", MAP, false, NULL, "a kernel's arguments")                             \
  FIELD(NODE, LAUNCH, "launch", MAP, false, NULL, "grid and block of a kernel of the user's own") \
  FIELD(NODE, HOST, "host", MAP, false, NULL, "a function run on the CPU")                        \
  FIELD(NODE, BARRIER, "barrier", MAP, false, NULL, "joins what comes before it")

#define GR_FIELDS_COPY(FIELD)                                    \
  FIELD(COPY, FROM, "from", REFERENCE, true, NULL, "the source") \
  FIELD(COPY, TO, "to", REFERENCE, true, NULL, "the target")

#define GR_FIELDS_FILL(FIELD)                                        \
  FIELD(FILL, BUFFER, "buffer", REFERENCE, true, NULL, "the target") \
  FIELD(FILL, VALUE, "value", VALUE, true, NULL, "representable in the buffer's type")

#define GR_FIELD_AS_INDEX(map, symbol, key, kind, required, fallback, meaning) GR_##map##_FIELD_##symbol,
enum gr_top_field { GR_FIELDS_TOP(GR_FIELD_AS_INDEX) GR_TOP_FIELD_COUNT };
enum gr_streams_field { GR_FIELDS_STREAMS(GR_FIELD_AS_INDEX) GR_STREAMS_FIELD_COUNT };
enum gr_buffer_field { GR_FIELDS_BUFFER(GR_FIELD_AS_INDEX) GR_BUFFER_FIELD_COUNT };
enum gr_init_field { GR_FIELDS_INIT(GR_FIELD_AS_INDEX) GR_INIT_FIELD_COUNT };
enum gr_iota_field { GR_FIELDS_IOTA(GR_FIELD_AS_INDEX) GR_IOTA_FIELD_COUNT };
enum gr_random_field { GR_FIELDS_RANDOM(GR_FIELD_AS_INDEX) GR_RANDOM_FIELD_COUNT };
enum gr_expect_field { GR_FIELDS_EXPECT(GR_FIELD_AS_INDEX) GR_EXPECT_FIELD_COUNT };
enum gr_node_field { GR_FIELDS_NODE(GR_FIELD_AS_INDEX) GR_NODE_FIELD_COUNT };
enum gr_copy_field { GR_FIELDS_COPY(GR_FIELD_AS_INDEX) GR_COPY_FIELD_COUNT };
enum gr_fill_field { GR_FIELDS_FILL(GR_FIELD_AS_INDEX) GR_FILL_FIELD_COUNT };

enum { GR_FIELDS_MAX = 12 }; /* of one map */

/* The rows of one map. */
struct gr_field_set {
  const struct gr_field *fields;
  uint32_t count;
};
extern const struct gr_field_set gr_top_fields;
extern const struct gr_field_set gr_streams_fields;
extern const struct gr_field_set gr_buffer_fields;
extern const struct gr_field_set gr_init_fields;
extern const struct gr_field_set gr_iota_fields;
extern const struct gr_field_set gr_random_fields;
extern const struct gr_field_set gr_expect_fields;
extern const struct gr_field_set gr_node_fields;
extern const struct gr_field_set gr_copy_fields;
extern const struct gr_field_set gr_fill_fields;

#endif
