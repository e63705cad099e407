/* The header of .npy files, versions 1 to 3: a Python dictionary of three entries, read strictly. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/run/run_internal.h"

static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
enum { MAGIC_BYTES = sizeof magic, VERSION_1_PREFIX_BYTES = 10, ALIGNMENT = 64 };

__attribute__((format(printf, 2, 3))) static bool fail(struct gr_npy_problem *problem, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem->text, sizeof problem->text, format, arguments);
  va_end(arguments);
  return false;
}

bool gr_npy_parse_prefix(const unsigned char *bytes, size_t length, size_t *text_begin, size_t *text_length,
                         struct gr_npy_problem *problem) {
  if (length < VERSION_1_PREFIX_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0) {
    return fail(problem, "it does not start as a .npy file does");
  }
  unsigned major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0) {
    return fail(problem, "version %u.%u of the .npy format is not known; 1.0, 2.0 and 3.0 are", major, minor);
  }
  size_t begin = major == 1 ? VERSION_1_PREFIX_BYTES : GR_NPY_PREFIX_BYTES;
  if (length < begin) return fail(problem, "it ends inside the header");
  size_t size = bytes[8] | (size_t)bytes[9] << 8;
  if (major > 1) size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (size > GR_NPY_HEADER_MAX) return fail(problem, "its header of %zu bytes is too long", size);
  *text_begin = begin;
  *text_length = size;
  return true;
}

struct reader {
  const char *at;
  const char *end;
  struct gr_npy_problem *problem;
};

static void skip_blanks(struct reader *reader) {
  while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n')) reader->at++;
}

static bool take(struct reader *reader, char c) {
  skip_blanks(reader);
  if (reader->at == reader->end || *reader->at != c) return false;
  reader->at++;
  return true;
}

static bool need(struct reader *reader, char c) {
  if (take(reader, c)) return true;
  struct gr_view rest = {reader->at, (size_t)(reader->end - reader->at)};
  return fail(reader->problem, "its header is damaged: '%c' is missing before %s", c, gr_view_quote(rest).text);
}

static bool take_word(struct reader *reader, const char *word) {
  size_t length = strlen(word);
  skip_blanks(reader);
  if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
  reader->at += length;
  return true;
}

/* A Python string without escapes: names and types have none. */
static bool read_string(struct reader *reader, struct gr_view *string) {
  skip_blanks(reader);
  char quote = reader->at < reader->end ? *reader->at : '\0';
  if (quote != '\'' && quote != '"') return false;
  const char *begin = ++reader->at;
  while (reader->at < reader->end && *reader->at != quote && *reader->at != '\\') reader->at++;
  if (reader->at == reader->end || *reader->at != quote) return false;
  *string = (struct gr_view){begin, (size_t)(reader->at - begin)};
  reader->at++;
  return true;
}

/* A decimal number; Python 2 wrote an L behind large ones. */
static bool read_extent(struct reader *reader, uint64_t *extent) {
  skip_blanks(reader);
  const char *begin = reader->at;
  *extent = 0;
  while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
    uint64_t digit = (uint64_t)(*reader->at++ - '0');
    if (__builtin_mul_overflow(*extent, UINT64_C(10), extent) || __builtin_add_overflow(*extent, digit, extent)) {
      return fail(reader->problem, "its header has an extent that does not fit 64 bits");
    }
  }
  if (reader->at == begin) return fail(reader->problem, "its header is damaged: an extent is no number");
  if (reader->at < reader->end && *reader->at == 'L') reader->at++;
  return true;
}

static bool read_shape(struct reader *reader, struct gr_npy_header *header) {
  if (!need(reader, '(')) return false;
  header->rank = 0;
  while (!take(reader, ')')) {
    uint64_t extent;
    if (!read_extent(reader, &extent)) return false;
    if (header->rank == GR_RANK_MAX) return fail(reader->problem, "it has more than %d dimensions", GR_RANK_MAX);
    header->shape[header->rank++] = extent;
    if (take(reader, ',')) continue;
    /* In Python (3) is a number, (3,) is a shape. */
    if (header->rank == 1) return need(reader, ',');
    return need(reader, ')');
  }
  return true;
}

struct type_name {
  const char *name; /* without the byte order */
  enum gr_type type;
};
/* NumPy knows no bf16: what writes it with the ml_dtypes package calls it two bytes of anything. */
static const struct type_name type_names[] = {
    {"i1", GR_TYPE_I8},  {"u1", GR_TYPE_U8},   {"i2", GR_TYPE_I16}, {"u2", GR_TYPE_U16},
    {"i4", GR_TYPE_I32}, {"u4", GR_TYPE_U32},  {"i8", GR_TYPE_I64}, {"u8", GR_TYPE_U64},
    {"f2", GR_TYPE_F16}, {"V2", GR_TYPE_BF16}, {"f4", GR_TYPE_F32}, {"f8", GR_TYPE_F64},
};
enum { TYPE_NAME_COUNT = sizeof type_names / sizeof *type_names };

static bool read_type(struct reader *reader, struct gr_npy_header *header) {
  struct gr_view name;
  skip_blanks(reader);
  if (reader->at < reader->end && *reader->at == '[') {
    return fail(reader->problem, "its elements are records; arrays of plain numbers can be loaded");
  }
  if (!read_string(reader, &name)) return fail(reader->problem, "its header is damaged: 'descr' is no string");
  for (uint32_t i = 0; name.length == 3 && i < TYPE_NAME_COUNT; i++) {
    if (memcmp(name.bytes + 1, type_names[i].name, 2) != 0) continue;
    char order = name.bytes[0];
    bool is_single = gr_type_size(type_names[i].type) == 1;
    if (order == '>' && !is_single && type_names[i].type != GR_TYPE_BF16) {
      return fail(reader->problem, "its elements are big-endian (%s); save them as little-endian (\"<%s\")",
                  gr_view_quote(name).text, type_names[i].name);
    }
    if (order != '<' && order != '|' && !(is_single && order == '>')) break;
    if (order == '|' && !is_single && type_names[i].type != GR_TYPE_BF16) break;
    header->type = type_names[i].type;
    return true;
  }
  return fail(reader->problem, "its elements are of type %s, which no buffer has", gr_view_quote(name).text);
}

enum entry { DESCR = 1, FORTRAN_ORDER = 2, SHAPE = 4, ALL_ENTRIES = 7 };

static bool read_entry(struct reader *reader, struct gr_npy_header *header, unsigned *seen) {
  struct gr_view key;
  if (!read_string(reader, &key)) return fail(reader->problem, "its header is damaged: a key is no string");
  unsigned entry = gr_view_is(key, "descr")           ? DESCR
                   : gr_view_is(key, "fortran_order") ? FORTRAN_ORDER
                   : gr_view_is(key, "shape")         ? SHAPE
                                                      : 0;
  if (entry == 0 || (*seen & entry)) {
    return fail(reader->problem, "its header has the key %s%s", gr_view_quote(key).text,
                entry == 0 ? ", which is not known" : " twice");
  }
  *seen |= entry;
  if (!need(reader, ':')) return false;
  if (entry == DESCR) return read_type(reader, header);
  if (entry == SHAPE) return read_shape(reader, header);
  header->is_column_major = take_word(reader, "True");
  if (header->is_column_major || take_word(reader, "False")) return true;
  return fail(reader->problem, "its header is damaged: 'fortran_order' is neither True nor False");
}

bool gr_npy_parse_text(struct gr_view text, struct gr_npy_header *header, struct gr_npy_problem *problem) {
  struct reader reader = {text.bytes, text.bytes + text.length, problem};
  unsigned seen = 0;
  if (!need(&reader, '{')) return false;
  while (!take(&reader, '}')) {
    if (!read_entry(&reader, header, &seen)) return false;
    if (take(&reader, ',')) continue;
    if (!need(&reader, '}')) return false;
    break;
  }
  skip_blanks(&reader);
  if (reader.at != reader.end) return fail(problem, "its header is damaged: something follows the dictionary");
  if (seen != ALL_ENTRIES) return fail(problem, "its header lacks 'descr', 'fortran_order' or 'shape'");
  uint32_t long_count = 0;
  bool is_empty = false;
  for (uint32_t i = 0; i < header->rank; i++) {
    if (header->shape[i] > 1) long_count++;
    if (header->shape[i] == 0) is_empty = true;
  }
  if (long_count < 2 || is_empty) header->is_column_major = false; /* both orders are the same */
  return true;
}

static const char *type_name_of(enum gr_type type) {
  for (uint32_t i = 0; i < TYPE_NAME_COUNT; i++) {
    if (type_names[i].type == type) return type_names[i].name;
  }
  return "";
}

size_t gr_npy_write_header(const struct gr_buffer *buffer, unsigned char bytes[GR_NPY_WRITTEN_BYTES_MAX]) {
  char *text = (char *)bytes + VERSION_1_PREFIX_BYTES;
  size_t room = GR_NPY_WRITTEN_BYTES_MAX - VERSION_1_PREFIX_BYTES;
  char order = gr_type_size(buffer->type) == 1 || buffer->type == GR_TYPE_BF16 ? '|' : '<';
  size_t length = (size_t)snprintf(text, room, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                                   type_name_of(buffer->type));
  for (uint32_t i = 0; i < buffer->rank; i++) {
    length += (size_t)snprintf(text + length, room - length, "%s%" PRIu64, i > 0 ? ", " : "", buffer->shape[i]);
  }
  length += (size_t)snprintf(text + length, room - length, "%s), }", buffer->rank == 1 ? "," : "");
  /* Spaces and a line end, so that the data begin at a multiple of 64. */
  size_t size = (VERSION_1_PREFIX_BYTES + length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  size_t text_length = size - VERSION_1_PREFIX_BYTES;
  memset(text + length, ' ', text_length - length);
  text[text_length - 1] = '\n';
  memcpy(bytes, magic, MAGIC_BYTES);
  bytes[6] = 1;
  bytes[7] = 0;
  bytes[8] = (unsigned char)(text_length & 0xff);
  bytes[9] = (unsigned char)(text_length >> 8);
  return size;
}
