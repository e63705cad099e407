#include "engine/base/text.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gr_view gr_view_of(const char *terminated) {
  return (struct gr_view){terminated, terminated ? strlen(terminated) : 0};
}

bool gr_view_equal(struct gr_view a, struct gr_view b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

bool gr_view_is(struct gr_view view, const char *terminated) { return gr_view_equal(view, gr_view_of(terminated)); }

void gr_text_init(struct gr_text *text, struct gr_memory *memory) { *text = (struct gr_text){.memory = memory}; }

void gr_text_release(struct gr_text *text) {
  if (text->bytes) gr_memory_release(text->memory, text->bytes);
  gr_text_init(text, text->memory);
}

uint64_t gr_view_hash(struct gr_view view) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (size_t i = 0; i < view.length; i++) hash = (hash ^ (unsigned char)view.bytes[i]) * UINT64_C(0x100000001B3);
  return hash;
}

void gr_text_clear(struct gr_text *text) {
  text->length = 0;
  if (text->bytes) text->bytes[0] = '\0';
}

/* Room for `more` bytes and the terminator. */
static bool reserve(struct gr_text *text, size_t more) {
  if (text->failed) return false;
  size_t needed;
  if (__builtin_add_overflow(text->length, more, &needed) || needed > SIZE_MAX / 2) {
    text->failed = true;
    return false;
  }
  if (needed < text->capacity) return true;
  size_t capacity = text->capacity < 64 ? 64 : text->capacity * 2;
  if (capacity <= needed) capacity = needed + 1;
  char *bytes = gr_memory_resize(text->memory, text->bytes, capacity, 1);
  if (!bytes) {
    text->failed = true;
    return false;
  }
  text->bytes = bytes;
  text->capacity = capacity;
  return true;
}

void gr_text_append(struct gr_text *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return;
  if (length > 0) memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = '\0';
}

void gr_text_append_text(struct gr_text *text, const char *terminated) {
  gr_text_append(text, terminated, strlen(terminated));
}

void gr_text_append_format(struct gr_text *text, const char *format, ...) {
  va_list arguments;
  va_list again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) {
    text->failed = true;
  } else if (reserve(text, (size_t)length)) {
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

enum { SIGNIFICANT_DIGITS_MAX = 17 };

struct decimal {
  char digits[SIGNIFICANT_DIGITS_MAX + 1]; /* d1 d2 d3 …, meaning d1.d2d3… * 10^exponent */
  int count;
  int exponent;
};

/* "d.ddde+xx", as printf gives it in the C locale. */
static struct decimal read_scientific(const char *text) {
  struct decimal decimal = {.count = 0};
  const char *at = text;
  for (; *at && *at != 'e'; at++) {
    if (*at >= '0' && *at <= '9' && decimal.count < SIGNIFICANT_DIGITS_MAX) decimal.digits[decimal.count++] = *at;
  }
  if (*at == 'e') decimal.exponent = (int)strtol(at + 1, NULL, 10);
  while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0') decimal.count--;
  return decimal;
}

/* The fewest digits that read back as `magnitude`, which is finite and not negative. False where the C locale cannot be
 * had. The thread's own locale is put back: printf has no form that takes a locale. */
static bool shortest_decimal(double magnitude, struct decimal *decimal) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return false;
  locale_t before = uselocale(plain);
  char text[40];
  for (int digits = 1; digits <= SIGNIFICANT_DIGITS_MAX; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, magnitude);
    double back = strtod(text, NULL);
    if (!(back < magnitude) && !(back > magnitude)) break;
  }
  uselocale(before);
  freelocale(plain);
  *decimal = read_scientific(text);
  return true;
}

static void append_zeros(struct gr_text *text, int count) {
  for (int i = 0; i < count; i++) gr_text_append(text, "0", 1);
}

/* 1234, 12.34, 0.001234; and d.ddde-7 or de20 where zeros would hide the size. */
static void append_decimal(struct gr_text *text, const struct decimal *decimal) {
  int whole = decimal->exponent + 1; /* digits before the point */
  size_t count = (size_t)decimal->count;
  if (decimal->exponent < -5 || decimal->exponent > 16) {
    gr_text_append(text, decimal->digits, 1);
    if (count > 1) gr_text_append(text, ".", 1);
    gr_text_append(text, decimal->digits + 1, count - 1);
    gr_text_append_format(text, "e%d", decimal->exponent);
  } else if (whole <= 0) {
    gr_text_append(text, "0.", 2);
    append_zeros(text, -whole);
    gr_text_append(text, decimal->digits, count);
  } else if (decimal->count <= whole) {
    gr_text_append(text, decimal->digits, count);
    append_zeros(text, whole - decimal->count);
  } else {
    gr_text_append(text, decimal->digits, (size_t)whole);
    gr_text_append(text, ".", 1);
    gr_text_append(text, decimal->digits + whole, count - (size_t)whole);
  }
}

void gr_text_append_double(struct gr_text *text, double value) {
  if (isnan(value)) {
    gr_text_append_text(text, "nan");
    return;
  }
  if (signbit(value)) gr_text_append(text, "-", 1);
  if (isinf(value)) {
    gr_text_append_text(text, "inf");
    return;
  }
  struct decimal decimal;
  if (shortest_decimal(fabs(value), &decimal)) {
    append_decimal(text, &decimal);
  } else {
    text->failed = true;
  }
}

void gr_text_append_json_double(struct gr_text *text, double value) {
  if (isfinite(value)) {
    gr_text_append_double(text, value);
  } else {
    gr_text_append_text(text, "null");
  }
}

/* The length of the well-formed UTF-8 sequence at `bytes`, 1 to 4; 0 where there is none. */
static size_t sequence_length(const char *bytes, size_t available) {
  const unsigned char *at = (const unsigned char *)bytes;
  if (available == 0) return 0;
  if (at[0] < 0x80) return 1;
  size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
  if (at[0] < 0xC2 || at[0] > 0xF4 || available < length) return 0;
  /* The second byte also keeps out overlong forms, surrogates and what lies above U+10FFFF. */
  unsigned char low = at[0] == 0xE0 ? 0xA0 : at[0] == 0xF0 ? 0x90 : 0x80;
  unsigned char high = at[0] == 0xED ? 0x9F : at[0] == 0xF4 ? 0x8F : 0xBF;
  if (at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

size_t gr_utf8_length(struct gr_view view) { return sequence_length(view.bytes, view.length); }

bool gr_utf8_valid(struct gr_view view, size_t *bad_offset) {
  size_t offset = 0;
  while (offset < view.length) {
    uint64_t word;
    if (view.length - offset >= sizeof word) {
      memcpy(&word, view.bytes + offset, sizeof word);
      if ((word & UINT64_C(0x8080808080808080)) == 0) {
        offset += sizeof word;
        continue;
      }
    }
    size_t length = sequence_length(view.bytes + offset, view.length - offset);
    if (length == 0) {
      if (bad_offset) *bad_offset = offset;
      return false;
    }
    offset += length;
  }
  return true;
}

static void append_json_byte(struct gr_text *text, char byte) {
  switch (byte) {
    case '"':
      gr_text_append_text(text, "\\\"");
      break;
    case '\\':
      gr_text_append_text(text, "\\\\");
      break;
    case '\n':
      gr_text_append_text(text, "\\n");
      break;
    case '\r':
      gr_text_append_text(text, "\\r");
      break;
    case '\t':
      gr_text_append_text(text, "\\t");
      break;
    default:
      gr_text_append_format(text, "\\u%04x", (unsigned)(unsigned char)byte);
  }
}

static bool is_plain_in_json(char byte) {
  return (unsigned char)byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
}

void gr_text_append_json(struct gr_text *text, struct gr_view view) {
  gr_text_append(text, "\"", 1);
  size_t plain_start = 0;
  size_t offset = 0;
  while (offset < view.length) {
    size_t length = sequence_length(view.bytes + offset, view.length - offset);
    if (length > 0 && is_plain_in_json(view.bytes[offset])) {
      offset += length;
      continue;
    }
    gr_text_append(text, view.bytes + plain_start, offset - plain_start);
    if (length == 0) {
      gr_text_append_text(text, "\xEF\xBF\xBD");
    } else {
      append_json_byte(text, view.bytes[offset]);
    }
    offset++;
    plain_start = offset;
  }
  gr_text_append(text, view.bytes + plain_start, offset - plain_start);
  gr_text_append(text, "\"", 1);
}

void gr_text_append_bytes(struct gr_text *text, uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    gr_text_append_format(text, "%" PRIu64 " B", bytes);
    return;
  }
  unsigned unit = 1;
  while (unit < 6 && bytes >> (10 * (unit + 1)) != 0) unit++;
  uint64_t whole = bytes >> (10 * unit);
  /* Ten bits below the point are enough for two digits. */
  uint64_t fraction = bytes >> (10 * (unit - 1)) & 1023;
  uint64_t hundredths = (fraction * 100 + 512) / 1024;
  whole += hundredths / 100;
  hundredths %= 100;
  if (whole == 1024 && unit < 6) {
    whole = 1;
    unit++;
  }
  gr_text_append_format(text, "%" PRIu64 ".%02" PRIu64 " %s", whole, hundredths, units[unit]);
}

/* Three significant digits of thousandths < 1,000,000, such as 1234 -> "1.23" and 45600 -> "45.6". */
static void append_three_digits(struct gr_text *text, uint64_t thousandths) {
  unsigned whole = (unsigned)(thousandths / 1000);
  unsigned rest = (unsigned)(thousandths % 1000);
  if (whole >= 100) {
    gr_text_append_format(text, "%u", whole);
  } else if (whole >= 10) {
    gr_text_append_format(text, "%u.%u", whole, rest / 100);
  } else {
    gr_text_append_format(text, "%u.%02u", whole, rest / 10);
  }
}

void gr_text_append_duration(struct gr_text *text, double nanoseconds) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  if (!isfinite(nanoseconds)) {
    gr_text_append_double(text, nanoseconds);
    return;
  }
  if (nanoseconds < 0) gr_text_append(text, "-", 1);
  double value = fabs(nanoseconds);
  unsigned unit = 0;
  /* 999.5 would be shown as 1000. */
  while (unit < 3 && value >= 999.5) {
    value /= 1000;
    unit++;
  }
  if (value >= 999.5) { /* seconds only */
    gr_text_append_format(text, value < 1e15 ? "%.0f s" : "%.0e s", value);
    return;
  }
  /* Rounded at the last digit that is shown. */
  double half = value >= 99.95 ? 500 : value >= 9.995 ? 50 : 5;
  append_three_digits(text, (uint64_t)(value * 1000 + half));
  gr_text_append_format(text, " %s", units[unit]);
}

uint32_t gr_utf8_decode(const char *bytes, size_t length) {
  const unsigned char *at = (const unsigned char *)bytes;
  if (length == 1) return at[0];
  uint32_t point = at[0] & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) point = point << 6 | (at[i] & 0x3Fu);
  return point;
}

bool gr_utf8_is_visible(uint32_t point) {
  static const uint32_t invisible[][2] = {
      {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},     {0x1680, 0x1680}, {0x2000, 0x200F},   {0x2028, 0x202F},
      {0x205F, 0x206F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
  };
  for (size_t i = 0; i < sizeof invisible / sizeof *invisible; i++) {
    if (point >= invisible[i][0] && point <= invisible[i][1]) return false;
  }
  return true;
}

unsigned gr_utf8_width(uint32_t point) {
  static const struct {
    uint32_t first, last;
    unsigned width;
  } ranges[] = {
      {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x1DC0, 0x1DFF, 0}, {0x20D0, 0x20FF, 0},
      {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2}, {0xFE00, 0xFE0F, 0},
      {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF01, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1F64F, 2},
      {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
  };
  if (point < 0x0300) return 1;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (point >= ranges[i].first && point <= ranges[i].last) return ranges[i].width;
  }
  return 1;
}

enum { QUOTE_ESCAPE_BYTES = 10 }; /* "\uE0001" and the end */

/* The character at `from` as it is shown in a quote; how many bytes that are. */
static size_t quote_character(char *to, const char *from, size_t length) {
  uint32_t point = length > 0 ? gr_utf8_decode(from, length) : 0;
  int written;
  if (length > 0 && gr_utf8_is_visible(point)) {
    memcpy(to, from, length);
    return length;
  }
  if (length <= 1) {
    written = snprintf(to, QUOTE_ESCAPE_BYTES, "\\x%02X", (unsigned)(unsigned char)*from);
  } else {
    written = snprintf(to, QUOTE_ESCAPE_BYTES, "\\u%04" PRIX32, point);
  }
  return (size_t)written;
}

struct gr_quote gr_view_quote(struct gr_view view) {
  struct gr_quote quote;
  size_t used = 0;
  size_t offset = 0;
  quote.text[used++] = '"';
  while (offset < view.length && used < GR_QUOTE_BYTES - 16) {
    size_t length = sequence_length(view.bytes + offset, view.length - offset);
    used += quote_character(quote.text + used, view.bytes + offset, length);
    offset += length > 0 ? length : 1;
  }
  const char *end = offset < view.length ? "\xE2\x80\xA6\"" : "\"";
  memcpy(quote.text + used, end, strlen(end) + 1);
  return quote;
}

enum { NEAREST_WORD_BYTES_MAX = 64 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment: insert, delete, replace and the swap of two neighbours cost 1 each. */
static size_t edit_distance(struct gr_view a, struct gr_view b) {
  size_t rows[3][NEAREST_WORD_BYTES_MAX + 1];
  size_t *before_last = rows[0];
  size_t *last = rows[1];
  size_t *row = rows[2];
  for (size_t j = 0; j <= b.length; j++) last[j] = before_last[j] = j;
  for (size_t i = 1; i <= a.length; i++) {
    row[0] = i;
    for (size_t j = 1; j <= b.length; j++) {
      size_t replace = last[j - 1] + (a.bytes[i - 1] != b.bytes[j - 1]);
      row[j] = least(replace, least(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a.bytes[i - 1] == b.bytes[j - 2] && a.bytes[i - 2] == b.bytes[j - 1])
        row[j] = least(row[j], before_last[j - 2] + 1);
    }
    size_t *free_row = before_last;
    before_last = last;
    last = row;
    row = free_row;
  }
  return last[b.length];
}

static unsigned char lower(char byte) {
  unsigned char code = (unsigned char)byte;
  return code >= 'A' && code <= 'Z' ? (unsigned char)(code + 'a' - 'A') : code;
}

static bool equal_but_for_case(struct gr_view a, struct gr_view b) {
  if (a.length != b.length) return false;
  for (size_t i = 0; i < a.length; i++) {
    if (lower(a.bytes[i]) != lower(b.bytes[i])) return false;
  }
  return true;
}

size_t gr_text_nearest(struct gr_view word, const struct gr_view *candidates, size_t candidate_count) {
  if (word.length == 0 || word.length > NEAREST_WORD_BYTES_MAX) return SIZE_MAX;
  size_t allowed = word.length < 3 ? 1 : word.length / 3;
  size_t best_index = SIZE_MAX;
  for (size_t i = 0; i < candidate_count; i++) {
    size_t length = candidates[i].length;
    size_t apart = length > word.length ? length - word.length : word.length - length;
    if (length > NEAREST_WORD_BYTES_MAX || apart > allowed) continue;
    if (equal_but_for_case(word, candidates[i])) return i;
    size_t distance = edit_distance(word, candidates[i]);
    if (distance > allowed) continue;
    best_index = i;
    allowed = distance - 1; /* only a nearer one replaces it */
  }
  return best_index;
}
