/* Views of bytes and a growing text. No function here depends on the locale. */
#ifndef GRAPHRUN_ENGINE_BASE_TEXT_H
#define GRAPHRUN_ENGINE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/memory.h"

/* Bytes that somebody else owns; not terminated. */
struct gr_view {
  const char *bytes;
  size_t length;
};

/* The bytes up to the NUL; lives as long as they do. */
struct gr_view gr_view_of(const char *terminated);
/* The same bytes, byte for byte; no locale, no normal form. */
bool gr_view_equal(struct gr_view a, struct gr_view b);
bool gr_view_is(struct gr_view view, const char *terminated);
/* FNV-1a (Fowler, Noll, Vo), 64 bits; the low bits of similar texts are alike. Linear. */
uint64_t gr_view_hash(struct gr_view view);

/* A text that grows. Once memory ran out `failed` stays set, and appending does nothing: test it once, at the end. */
struct gr_text {
  struct gr_memory *memory;
  char *bytes; /* terminated once anything was appended; null before */
  size_t length;
  size_t capacity;
  bool failed;
};

/* An empty text; allocates nothing yet. Release makes it so again. */
void gr_text_init(struct gr_text *text, struct gr_memory *memory);
void gr_text_release(struct gr_text *text);
/* Empty again; keeps its memory, and stays failed if it was. */
void gr_text_clear(struct gr_text *text);
/* Linear in what is appended, amortised. `bytes` may not lie in the text itself. */
void gr_text_append(struct gr_text *text, const char *bytes, size_t length);
void gr_text_append_text(struct gr_text *text, const char *terminated);
/* printf's format. Use it for integers and strings only: floats go through gr_text_append_double. */
__attribute__((format(printf, 2, 3))) void gr_text_append_format(struct gr_text *text, const char *format, ...);
/* The shortest decimal form that reads back as the same double; "nan", "inf", "-inf"; a point whatever the locale. */
void gr_text_append_double(struct gr_text *text, double value);
/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void gr_text_append_json(struct gr_text *text, struct gr_view view);
/* A number as JSON allows it: nan and infinities become null. */
void gr_text_append_json_double(struct gr_text *text, double value);
/* "1.50 MiB", "812 B"; and "1.23 ms", "45.6 us", for people. */
void gr_text_append_bytes(struct gr_text *text, uint64_t bytes);
void gr_text_append_duration(struct gr_text *text, double nanoseconds);

/* Strict UTF-8: no overlong forms, no surrogates, at most U+10FFFF. `*bad_offset` is where it first fails. */
bool gr_utf8_valid(struct gr_view view, size_t *bad_offset);
/* The bytes of the well-formed sequence that the view starts with, 1 to 4; 0 where there is none. */
size_t gr_utf8_length(struct gr_view view);

/* The code point of a well-formed sequence of that many bytes. */
uint32_t gr_utf8_decode(const char *bytes, size_t length);
/* False for what a terminal would obey, or show as nothing or as a blank: controls, zero-width and direction
 * characters, byte order marks, separators, every blank but the space. */
bool gr_utf8_is_visible(uint32_t point);
/* Columns that it takes on a terminal: none for marks that sit on the character before, two for East Asian ones and
 * pictures. */
unsigned gr_utf8_width(uint32_t point);

/* What a user wrote, fit for a message: in double quotes, bytes that are no visible character as \x07 or \u00A0, long
 * texts cut.
 * Use it as an argument: `"unknown key %s", gr_view_quote(key).text`. */
enum { GR_QUOTE_BYTES = 112 };
struct gr_quote {
  char text[GR_QUOTE_BYTES];
};
struct gr_quote gr_view_quote(struct gr_view view);

/* The candidate nearest to `word`, for "did you mean": index, or SIZE_MAX when none is near. One that differs in the
 * case of letters only is the nearest. Else near means a Damerau-Levenshtein distance (restricted: optimal string
 * alignment) of at most a third of the length, at least 1. The caller bounds the number of candidates. Words over 64
 * bytes are never near. */
size_t gr_text_nearest(struct gr_view word, const struct gr_view *candidates, size_t candidate_count);

#endif
