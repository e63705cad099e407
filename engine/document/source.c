/* The bytes of a file before any YAML: what they may be, and where a byte stands. libyaml knows neither well: it gives
 * no line for bad bytes, counts columns in characters, and ends lines at NEL, LS and PS, which no editor does. */
#include <inttypes.h>
#include <string.h>

#include "engine/document/document_internal.h"

static bool starts_with_bom(struct gr_view source) {
  return source.length >= 3 && memcmp(source.bytes, "\xEF\xBB\xBF", 3) == 0;
}

void gr_document_cursor_init(struct gr_document_cursor *cursor, struct gr_view source) {
  size_t start = starts_with_bom(source) ? 3 : 0;
  *cursor = (struct gr_document_cursor){.source = source, .offset = start, .line_offset = start, .line = 1};
}

static size_t length_by_lead(unsigned char lead) { return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

/* The CR of a CR LF ends no line: its LF does. */
static bool ends_line(struct gr_view source, size_t offset) {
  char byte = source.bytes[offset];
  if (byte == '\n') return true;
  return byte == '\r' && !(offset + 1 < source.length && source.bytes[offset + 1] == '\n');
}

void gr_document_cursor_move(struct gr_document_cursor *cursor, size_t character) {
  struct gr_view source = cursor->source;
  if (character < cursor->character) {
    if (character < cursor->line_character) {
      gr_document_cursor_init(cursor, source);
    } else {
      cursor->offset = cursor->line_offset;
      cursor->character = cursor->line_character;
    }
  }
  size_t offset = cursor->offset;
  size_t at = cursor->character;
  for (; at < character && offset < source.length; at++) {
    bool line_ends = ends_line(source, offset);
    offset += length_by_lead((unsigned char)source.bytes[offset]);
    if (!line_ends) continue;
    cursor->line++;
    cursor->line_offset = offset;
    cursor->line_character = at + 1;
  }
  cursor->offset = offset;
  cursor->character = at;
}

struct gr_mark gr_document_cursor_mark(const struct gr_document_cursor *cursor) {
  return (struct gr_mark){cursor->line, (uint32_t)(cursor->offset - cursor->line_offset + 1)};
}

struct gr_mark gr_document_place(struct gr_view source, size_t character) {
  struct gr_document_cursor cursor;
  gr_document_cursor_init(&cursor, source);
  gr_document_cursor_move(&cursor, character);
  return gr_document_cursor_mark(&cursor);
}

/* The name of another encoding that the first bytes show, or null. ASCII is all that starts a pipeline file, so that
 * zeros among the first bytes tell width and byte order also without a BOM. */
static const char *foreign_encoding(struct gr_view source) {
  static const struct {
    const char *name;
    size_t length;
    const char *bytes;
  } marks[] = {
      {"UTF-32 (big-endian)", 4, "\0\0\xFE\xFF"},
      {"UTF-32 (little-endian)", 4, "\xFF\xFE\0\0"},
      {"UTF-16 (big-endian)", 2, "\xFE\xFF"},
      {"UTF-16 (little-endian)", 2, "\xFF\xFE"},
  };
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    if (source.length >= marks[i].length && memcmp(source.bytes, marks[i].bytes, marks[i].length) == 0)
      return marks[i].name;
  }
  if (source.length < 4) return NULL;
  unsigned zeros = 0; /* one bit a byte, the first in front */
  for (size_t i = 0; i < 4; i++) zeros = zeros << 1 | (source.bytes[i] == 0);
  switch (zeros) {
    case 0xE:
      return "UTF-32 (big-endian)";
    case 0x7:
      return "UTF-32 (little-endian)";
    case 0xA:
      return "UTF-16 (big-endian)";
    case 0x5:
      return "UTF-16 (little-endian)";
    default:
      return NULL;
  }
}

static void report_point(struct gr_diagnostics *diagnostics, struct gr_mark mark, uint32_t point) {
  if (point == 0) {
    gr_diagnostics_error(diagnostics, mark, "a NUL byte is not allowed: this is no text file, or a damaged one");
  } else if (point < 0xA0 && point != 0x85) {
    gr_diagnostics_error(diagnostics, mark,
                         "the control character U+%04" PRIX32
                         " is not allowed; inside double quotes it can be written "
                         "as \\x%02" PRIX32,
                         point, point);
  } else if (point == 0xFEFF) {
    gr_diagnostics_error(
        diagnostics, mark,
        "a byte order mark (U+FEFF, invisible) is allowed only as the very first character of the file");
  } else if (point >= 0xFFFE) {
    gr_diagnostics_error(diagnostics, mark, "the character U+%04" PRIX32 " is not allowed", point);
  } else {
    /* libyaml would end a line, and a comment, where no editor shows it. */
    gr_diagnostics_error(diagnostics, mark,
                         "the line separator U+%04" PRIX32
                         " (invisible) is not allowed; inside double quotes it can be "
                         "written as \\u%04" PRIX32,
                         point, point);
  }
}

static bool is_allowed(uint32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
  if (point >= 0x7F && point < 0xA0) return false;
  return point != 0x2028 && point != 0x2029 && point != 0xFEFF && point != 0xFFFE && point != 0xFFFF;
}

/* One problem a line: a picture named pipeline.yaml need not be described byte by byte. */
static bool check_characters(struct gr_view source, struct gr_diagnostics *diagnostics) {
  bool is_good = true;
  uint32_t line = 1;
  uint32_t reported_line = 0;
  size_t offset = starts_with_bom(source) ? 3 : 0;
  size_t line_offset = offset;
  while (offset < source.length) {
    unsigned char byte = (unsigned char)source.bytes[offset];
    if (byte >= 0x20 && byte < 0x7F) {
      offset++;
      continue;
    }
    struct gr_mark mark = {line, (uint32_t)(offset - line_offset + 1)};
    size_t length = gr_utf8_length((struct gr_view){source.bytes + offset, source.length - offset});
    uint32_t point = length > 0 ? gr_utf8_decode(source.bytes + offset, length) : 0;
    if (length == 0 || !is_allowed(point)) {
      is_good = false;
      if (line != reported_line && length > 0) report_point(diagnostics, mark, point);
      if (line != reported_line && length == 0)
        gr_diagnostics_error(diagnostics, mark, "the byte \\x%02X is not UTF-8; pipeline files are read as UTF-8 only",
                             (unsigned)byte);
      reported_line = line;
    }
    bool line_ends = ends_line(source, offset);
    offset += length > 0 ? length : 1;
    if (line_ends) {
      line++;
      line_offset = offset;
    }
  }
  return is_good;
}

bool gr_document_check_bytes(struct gr_view source, struct gr_diagnostics *diagnostics) {
  struct gr_mark start = {1, 1};
  if (source.length > GR_DOCUMENT_BYTES_MAX) {
    gr_diagnostics_error(diagnostics, (struct gr_mark){0, 0}, "the file has %zu bytes; at most %d are read",
                         source.length, GR_DOCUMENT_BYTES_MAX);
    return false;
  }
  const char *encoding = foreign_encoding(source);
  if (encoding) {
    gr_diagnostics_error(diagnostics, start, "the file is %s; only UTF-8 is read: save it as UTF-8", encoding);
    return false;
  }
  return check_characters(source, diagnostics);
}
