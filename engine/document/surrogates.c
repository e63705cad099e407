/* JSON's way to write a character beyond U+FFFF: `"\ud83d\ude00"`, one escape for each half of a surrogate pair, which
 * libyaml refuses. It is given `"\uE03D\uE600"` in its place, two private-use characters, equally long, so that every
 * place stays what it is; the values that it makes of them are set right when they arrive. Which characters of a value
 * stand for a pair, and which are private-use characters of the file's own, is told by their order: the text in the
 * file is walked beside the value. Nothing is kept for that: a pair is recognised wherever it is met. */
#include <string.h>

#include "engine/document/document_internal.h"

enum { ESCAPE_BYTES = 6 };

/* 16 where it is no digit. */
static unsigned hexadecimal_digit(char byte) {
  if (byte >= '0' && byte <= '9') return (unsigned)(byte - '0');
  if (byte >= 'a' && byte <= 'f') return (unsigned)(byte - 'a' + 10);
  if (byte >= 'A' && byte <= 'F') return (unsigned)(byte - 'A' + 10);
  return 16;
}

/* Of `count` digits; UINT32_MAX where there are not so many. */
static uint32_t hexadecimal(struct gr_view text, size_t offset, size_t count) {
  uint32_t value = 0;
  if (count > text.length || offset > text.length - count) return UINT32_MAX;
  for (size_t i = 0; i < count; i++) {
    unsigned digit = hexadecimal_digit(text.bytes[offset + i]);
    if (digit == 16) return UINT32_MAX;
    value = value << 4 | digit;
  }
  return value;
}

/* What the escape with four digits at that place names; UINT32_MAX where there is none. */
static uint32_t short_escape(struct gr_view text, size_t offset) {
  if (offset + ESCAPE_BYTES > text.length || text.bytes[offset] != '\\' || text.bytes[offset + 1] != 'u')
    return UINT32_MAX;
  return hexadecimal(text, offset + 2, 4);
}

enum gr_document_half gr_document_half_at(struct gr_view text, size_t offset) {
  uint32_t unit = short_escape(text, offset);
  if (unit >= 0xD800 && unit <= 0xDBFF) return GR_DOCUMENT_HIGH_HALF;
  return unit >= 0xDC00 && unit <= 0xDFFF ? GR_DOCUMENT_LOW_HALF : GR_DOCUMENT_NO_HALF;
}

static bool is_pair(struct gr_view text, size_t offset) {
  return gr_document_half_at(text, offset) == GR_DOCUMENT_HIGH_HALF &&
         gr_document_half_at(text, offset + ESCAPE_BYTES) == GR_DOCUMENT_LOW_HALF;
}

/* Backslashes are read two by two from the first of a row: behind an even number of them, a `\u` is an escape. */
size_t gr_document_find_pair(struct gr_view source, size_t from) {
  while (from < source.length) {
    const char *found = memchr(source.bytes + from, '\\', source.length - from);
    if (!found) break;
    size_t offset = (size_t)(found - source.bytes);
    if (is_pair(source, offset)) return offset;
    from = offset + (offset + 1 < source.length && source.bytes[offset + 1] == '\\' ? 2 : 1);
  }
  return source.length;
}

void gr_document_hide_pair(struct gr_view source, size_t pair, unsigned char *piece, size_t piece_offset,
                           size_t piece_length) {
  for (size_t i = 0; i < GR_DOCUMENT_PAIR_BYTES; i++) {
    size_t digit = i % ESCAPE_BYTES; /* D8.. to DF.. become E0.. to E7.. */
    if ((digit != 2 && digit != 3) || pair + i < piece_offset || pair + i - piece_offset >= piece_length) continue;
    unsigned value = hexadecimal_digit(source.bytes[pair + i]);
    piece[pair + i - piece_offset] = digit == 2 ? 'E' : (unsigned char)('0' + (value - 8));
  }
}

/* Where the text itself starts, which an anchor, a tag and comments may come before. */
static size_t skip_properties(struct gr_view source, size_t offset) {
  while (offset < source.length) {
    char byte = source.bytes[offset];
    bool is_comment = byte == '#';
    bool is_property = byte == '&' || byte == '!';
    if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r' && !is_comment && !is_property) break;
    offset++;
    if (!is_comment && !is_property) continue;
    const char *ends = is_comment ? "\r\n" : " \t\r\n";
    while (offset < source.length && !strchr(ends, source.bytes[offset])) offset++;
  }
  return offset;
}

/* U+E000 to U+E3FF in UTF-8. */
static bool is_private_at(struct gr_view text, size_t offset) {
  if (text.length < 3 || offset > text.length - 3) return false;
  return (unsigned char)text.bytes[offset] == 0xEE && (unsigned char)text.bytes[offset + 1] < 0x90;
}

static bool is_private(uint32_t point) { return point >= 0xE000 && point <= 0xE3FF; }

/* The next place inside double quotes that gives one of these characters: as it is, escaped, or as a pair. */
static size_t next_quoted(struct gr_view source, size_t offset) {
  for (; offset < source.length; offset++) {
    if (is_private_at(source, offset)) break;
    if (source.bytes[offset] != '\\' || offset + 1 == source.length) continue;
    char kind = source.bytes[offset + 1];
    if (is_pair(source, offset) || is_private(short_escape(source, offset))) break;
    if (kind == 'U' && is_private(hexadecimal(source, offset + 2, 8))) break;
    offset++; /* what follows the backslash starts nothing */
  }
  return offset;
}

static void encode_pair(struct gr_view source, size_t pair, char *bytes) {
  uint32_t high = short_escape(source, pair) - 0xD800;
  uint32_t low = short_escape(source, pair + ESCAPE_BYTES) - 0xDC00;
  uint32_t point = 0x10000 + (high << 10 | low);
  bytes[0] = (char)(0xF0 | point >> 18);
  bytes[1] = (char)(0x80 | (point >> 12 & 0x3F));
  bytes[2] = (char)(0x80 | (point >> 6 & 0x3F));
  bytes[3] = (char)(0x80 | (point & 0x3F));
}

size_t gr_document_join_pairs(struct gr_view source, size_t start, char *value, size_t length) {
  struct gr_view view = {value, length};
  size_t at = skip_properties(source, start) + 1;
  size_t kept = 0;
  for (size_t i = 0; i < length;) {
    if (!is_private_at(view, i)) {
      value[kept++] = value[i++];
      continue;
    }
    at = next_quoted(source, at);
    if (at < source.length && is_pair(source, at)) {
      encode_pair(source, at, value + kept); /* four bytes where six are: the rest of the value is still ahead */
      kept += 4;
      i += 6;
      at += GR_DOCUMENT_PAIR_BYTES;
    } else {
      memmove(value + kept, value + i, 3);
      kept += 3;
      i += 3;
      at++;
    }
  }
  return kept;
}

/* The next place outside double quotes that libyaml was given as `\uE0` to `\uE3`; on its way it reads backslashes as
 * gr_document_find_pair does. They stand in a row in the value if they do in the file, so both are read alike. */
static size_t next_literal(struct gr_view text, size_t offset) {
  while (offset < text.length) {
    const char *found = memchr(text.bytes + offset, '\\', text.length - offset);
    if (!found) break;
    offset = (size_t)(found - text.bytes);
    if (is_pair(text, offset)) return offset;
    if (text.length - offset >= 4 && memcmp(found, "\\uE", 3) == 0 && found[3] >= '0' && found[3] <= '3') return offset;
    offset += offset + 1 < text.length && found[1] == '\\' ? 2 : 1;
  }
  return text.length;
}

void gr_document_restore_pairs(struct gr_view source, size_t start, bool is_block, char *value, size_t length) {
  struct gr_view view = {value, length};
  size_t at = skip_properties(source, start);
  /* A comment may stand behind the `|`. */
  while (is_block && at < source.length && source.bytes[at] != '\n' && source.bytes[at] != '\r') at++;
  for (size_t i = next_literal(view, 0); i < length; i = next_literal(view, i + 1)) {
    at = next_literal(source, at);
    if (at >= source.length) return;
    if (is_pair(source, at)) memcpy(value + i, source.bytes + at, GR_DOCUMENT_PAIR_BYTES);
    at++;
    if (is_pair(view, i)) {
      i += GR_DOCUMENT_PAIR_BYTES - 1;
      at += GR_DOCUMENT_PAIR_BYTES - 1;
    }
  }
}
