/* Views, growing texts, numbers for people and machines, UTF-8, quotes, the nearest word. */
#include "engine/base/text.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>

#include "tests/unit/base/support.h"

static struct gr_memory memory;
static struct gr_text text;

static void set_up(void) {
  gr_memory_init(&memory, NULL);
  gr_text_init(&text, &memory);
}
static void tear_down(void) {
  gr_text_release(&text);
  ck_assert_uint_eq(memory.live_count, 0);
}

START_TEST(views) {
  ck_assert_uint_eq(gr_view_of(NULL).length, 0);
  ck_assert_uint_eq(gr_view_of("abc").length, 3);
  ck_assert(gr_view_is(VIEW("abc"), "abc"));
  ck_assert(!gr_view_is(VIEW("abc"), "ab"));
  ck_assert(!gr_view_is(VIEW("ab"), "abc"));
  ck_assert(!gr_view_equal(VIEW("a\0b"), VIEW("a\0c")));
  ck_assert(gr_view_equal((struct gr_view){NULL, 0}, VIEW("")));
}
END_TEST

START_TEST(appending) {
  ck_assert_ptr_null(text.bytes);
  gr_text_append(&text, NULL, 0);
  ck_assert_str_eq(text.bytes, "");
  gr_text_append_text(&text, "ab");
  gr_text_append(&text, "c\0d", 3);
  gr_text_append_format(&text, "%d-%s", 42, "x");
  ck_assert_uint_eq(text.length, 9);
  ck_assert_int_eq(memcmp(text.bytes, "abc\0d42-x", 10), 0);
  gr_text_clear(&text);
  ck_assert_str_eq(text.bytes, "");
  for (int i = 0; i < 10000; i++) gr_text_append_format(&text, "%d,", i % 10);
  ck_assert_uint_eq(text.length, 20000);
  ck_assert(!text.failed);
  ck_assert_uint_le(memory.call_count, 20);
}
END_TEST

/* The n-th growth fails: the text says so, keeps what it had, and stays failed. */
START_TEST(no_memory) {
  gr_text_append_text(&text, "kept");
  memory.fail_at = memory.call_count + 1;
  for (int i = 0; i < 100; i++) gr_text_append_text(&text, "more");
  ck_assert(text.failed);
  ck_assert_int_eq(strncmp(text.bytes, "keptmore", 8), 0);
  memory.fail_at = 0;
  size_t length = text.length;
  gr_text_append_text(&text, "x");
  gr_text_append_format(&text, "%d", 1);
  gr_text_append_double(&text, 1);
  gr_text_append_json(&text, VIEW("y"));
  ck_assert_uint_eq(text.length, length);
  gr_text_release(&text);
  ck_assert(!text.failed);
  gr_text_append(&text, "x", SIZE_MAX);
  ck_assert(text.failed);
}
END_TEST

static void expect_double(double value, const char *expected) {
  gr_text_clear(&text);
  gr_text_append_double(&text, value);
  ck_assert_str_eq(text.bytes, expected);
}

START_TEST(doubles) {
  expect_double(0, "0");
  expect_double(-0.0, "-0");
  expect_double(1, "1");
  expect_double(-1.5, "-1.5");
  expect_double(0.1, "0.1");
  expect_double(100, "100");
  expect_double(1234.5, "1234.5");
  expect_double(1e16, "10000000000000000");
  expect_double(1e17, "1e17");
  expect_double(0.00001, "0.00001");
  expect_double(0.000001, "1e-6");
  expect_double(1.5e-7, "1.5e-7");
  expect_double(1.0 / 3, "0.3333333333333333");
  expect_double(0.1 + 0.2, "0.30000000000000004");
  expect_double(DBL_MAX, "1.7976931348623157e308");
  expect_double(5e-324, "5e-324");
  expect_double(9007199254740993.0, "9007199254740992");
  expect_double((double)NAN, "nan");
  expect_double(-(double)NAN, "nan");
  expect_double((double)INFINITY, "inf");
  expect_double(-(double)INFINITY, "-inf");
}
END_TEST

START_TEST(doubles_read_back) {
  uint64_t state = 5;
  for (int i = 0; i < 20000; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t bits = state ^ state >> 29;
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    gr_text_clear(&text);
    gr_text_append_double(&text, value);
    double back = strtod(text.bytes, NULL);
    uint64_t back_bits;
    memcpy(&back_bits, &back, sizeof back_bits);
    ck_assert_uint_eq(back_bits, bits);
  }
}
END_TEST

/* Where there is a locale with another point, numbers and quotes come out the same and the locale stays. */
START_TEST(the_locale_plays_no_part) {
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!setlocale(LC_ALL, names[i])) continue;
    expect_double(-1234.5, "-1234.5");
    expect_double(1.5e-7, "1.5e-7");
    ck_assert_str_eq(gr_view_quote(VIEW("\xC3\xA9")).text, "\"\xC3\xA9\"");
    gr_text_clear(&text);
    gr_text_append_duration(&text, 1234567);
    ck_assert_str_eq(text.bytes, "1.23 ms");
    ck_assert_str_eq(setlocale(LC_ALL, NULL), names[i]);
  }
  setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(json) {
  gr_text_append_json(&text, VIEW("a\"b\\c/\n\r\t\x01\x7F\0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  ck_assert_str_eq(text.bytes, "\"a\\\"b\\\\c/\\n\\r\\t\\u0001\\u007f\\u0000\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  gr_text_clear(&text);
  gr_text_append_json(&text, VIEW("x\xFFy\xC3"));
  ck_assert_str_eq(text.bytes, "\"x\xEF\xBF\xBDy\xEF\xBF\xBD\"");
  gr_text_clear(&text);
  gr_text_append_json(&text, (struct gr_view){NULL, 0});
  gr_text_append_json_double(&text, 0.5);
  gr_text_append_json_double(&text, (double)NAN);
  gr_text_append_json_double(&text, -(double)INFINITY);
  ck_assert_str_eq(text.bytes, "\"\"0.5nullnull");
}
END_TEST

START_TEST(sizes) {
  static const struct {
    uint64_t bytes;
    const char *expected;
  } rows[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.00 KiB"},
      {1536, "1.50 KiB"},
      {1048575, "1.00 MiB"},
      {1048576, "1.00 MiB"},
      {UINT64_C(3) << 29, "1.50 GiB"},
      {(UINT64_C(1) << 40) - 1, "1.00 TiB"},
      {UINT64_MAX, "16.00 EiB"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    gr_text_clear(&text);
    gr_text_append_bytes(&text, rows[i].bytes);
    ck_assert_str_eq(text.bytes, rows[i].expected);
  }
}
END_TEST

START_TEST(durations) {
  static const struct {
    double nanoseconds;
    const char *expected;
  } rows[] = {
      {0, "0.00 ns"},       {1, "1.00 ns"},      {12.34, "12.3 ns"},  {123.4, "123 ns"},
      {999.4, "999 ns"},    {999.6, "1.00 us"},  {45600, "45.6 us"},  {1234567, "1.23 ms"},
      {9.996e6, "10.0 ms"}, {99.96e6, "100 ms"}, {999.6e6, "1.00 s"}, {1.5e9, "1.50 s"},
      {59.99e9, "60.0 s"},  {3600e9, "3600 s"},  {1e27, "1e+18 s"},   {-1500, "-1.50 us"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    gr_text_clear(&text);
    gr_text_append_duration(&text, rows[i].nanoseconds);
    ck_assert_str_eq(text.bytes, rows[i].expected);
  }
  gr_text_clear(&text);
  gr_text_append_duration(&text, (double)NAN);
  ck_assert_str_eq(text.bytes, "nan");
}
END_TEST

/* Every sequence of up to three bytes against the definition, and the borders of four. */
START_TEST(utf8) {
  for (uint32_t point = 0; point <= 0x110000; point += point < 0x3000 ? 1 : 7) {
    char bytes[4];
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1;) bytes[i] = (char)(0x80 | (point >> (6 * (length - 1 - i)) & 0x3F));
    uint32_t lead = point >> (6 * (length - 1));
    bytes[0] = (char)(length == 1 ? lead : lead | (0xF00u >> length & 0xFFu));
    bool is_good = point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
    ck_assert_uint_eq(gr_utf8_length((struct gr_view){bytes, length}), is_good ? length : 0);
    if (is_good) ck_assert_uint_eq(gr_utf8_decode(bytes, length), point);
    if (length > 1) ck_assert_uint_eq(gr_utf8_length((struct gr_view){bytes, length - 1}), 0);
  }
}
END_TEST

START_TEST(bad_utf8) {
  static const struct {
    struct gr_view view;
    size_t bad_offset;
  } rows[] = {
      {{"\x80", 1}, 0},
      {{"abcdefgh\xC0\x80", 10}, 8},
      {{"abcdefghij\xC1\xBF", 12}, 10},
      {{"\xE0\x80\x80", 3}, 0},
      {{"\xED\xA0\x80", 3}, 0},
      {{"\xF0\x80\x80\x80", 4}, 0},
      {{"\xF4\x90\x80\x80", 4}, 0},
      {{"\xF5\x80\x80\x80", 4}, 0},
      {{"\xC3\xA9\xE2\x82", 4}, 2},
      {{"a\xE2\x28\xA1", 4}, 1},
      {{"abcdefg\xFF", 8}, 7},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t bad = 99;
    ck_assert(!gr_utf8_valid(rows[i].view, &bad));
    ck_assert_uint_eq(bad, rows[i].bad_offset);
    ck_assert(!gr_utf8_valid(rows[i].view, NULL));
  }
  size_t untouched = 99;
  ck_assert(gr_utf8_valid(VIEW("abcdefgh\xC3\xA9 \0 \xF4\x8F\xBF\xBF"), &untouched));
  ck_assert_uint_eq(untouched, 99);
  ck_assert(gr_utf8_valid((struct gr_view){NULL, 0}, NULL));
  ck_assert_uint_eq(gr_utf8_length((struct gr_view){NULL, 0}), 0);
}
END_TEST

START_TEST(quotes) {
  ck_assert_str_eq(gr_view_quote(VIEW("")).text, "\"\"");
  ck_assert_str_eq(gr_view_quote(VIEW("a b")).text, "\"a b\"");
  ck_assert_str_eq(gr_view_quote(VIEW("a\0\x1B[1m\x7F\n")).text, "\"a\\x00\\x1B[1m\\x7F\\x0A\"");
  ck_assert_str_eq(gr_view_quote(VIEW("\xFF\xC3")).text, "\"\\xFF\\xC3\"");
  ck_assert_str_eq(gr_view_quote(VIEW("caf\xC3\xA9 \xF0\x9F\x98\x80")).text, "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
}
END_TEST

/* A no-break space behind a key looks like the key itself, and a C1 control may steer a terminal. */
START_TEST(quotes_show_what_is_invisible) {
  ck_assert_str_eq(gr_view_quote(VIEW("dst\xC2\xA0")).text, "\"dst\\u00A0\"");
  ck_assert_str_eq(gr_view_quote(VIEW("\xEF\xBB\xBFnodes")).text, "\"\\uFEFFnodes\"");
  ck_assert_str_eq(gr_view_quote(VIEW("a\xE2\x80\x8B"
                                      "b\xE2\x80\xAE"))
                       .text,
                   "\"a\\u200Bb\\u202E\"");
  ck_assert_str_eq(gr_view_quote(VIEW("\xC2\x9B"
                                      "31m"))
                       .text,
                   "\"\\u009B31m\"");
  ck_assert_str_eq(gr_view_quote(VIEW("\xF3\xA0\x80\x81")).text, "\"\\uE0001\"");
  ck_assert_str_eq(gr_view_quote(VIEW("\xE2\x80\xA6\xE2\x82\xAC")).text, "\"\xE2\x80\xA6\xE2\x82\xAC\"");
}
END_TEST

START_TEST(long_quotes_are_cut) {
  static const char *const pieces[] = {
      "x", "\x01", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF3\xA0\x80\x81", "\xFF"};
  for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
    for (size_t shift = 0; shift < 8; shift++) {
      gr_text_clear(&text);
      for (size_t i = 0; i < shift; i++) gr_text_append_text(&text, "a");
      for (int i = 0; i < 300; i++) gr_text_append_text(&text, pieces[p]);
      struct gr_quote quote = gr_view_quote((struct gr_view){text.bytes, text.length});
      size_t length = strlen(quote.text);
      ck_assert_uint_lt(length, GR_QUOTE_BYTES);
      ck_assert_uint_ge(length, GR_QUOTE_BYTES - 16);
      ck_assert_str_eq(quote.text + length - 4, "\xE2\x80\xA6\"");
      ck_assert(gr_utf8_valid((struct gr_view){quote.text, length}, NULL));
    }
  }
}
END_TEST

/* Published values of FNV-1a. */
START_TEST(the_hash_of_a_view) {
  ck_assert_uint_eq(gr_view_hash(VIEW("")), UINT64_C(0xCBF29CE484222325));
  ck_assert_uint_eq(gr_view_hash(VIEW("a")), UINT64_C(0xAF63DC4C8601EC8C));
  ck_assert_uint_eq(gr_view_hash(VIEW("foobar")), UINT64_C(0x85944171F73967E8));
}
END_TEST

START_TEST(the_nearest_word) {
  const struct gr_view words[] = {VIEW("after"), VIEW("kernel"), VIEW("copy"), VIEW("timeout"), VIEW("id"), VIEW("")};
  size_t count = sizeof words / sizeof *words;
  ck_assert_uint_eq(gr_text_nearest(VIEW("afer"), words, count), 0);
  ck_assert_uint_eq(gr_text_nearest(VIEW("afetr"), words, count), 0); /* a swap counts once */
  ck_assert_uint_eq(gr_text_nearest(VIEW("Kernel"), words, count), 1);
  ck_assert_uint_eq(gr_text_nearest(VIEW("kerne1s"), words, count), 1);
  ck_assert_uint_eq(gr_text_nearest(VIEW("cop"), words, count), 2);
  ck_assert_uint_eq(gr_text_nearest(VIEW("timeuot"), words, count), 3);
  ck_assert_uint_eq(gr_text_nearest(VIEW("ids"), words, count), 4);
  /* Another case is nearer than another letter. */
  const struct gr_view types[] = {VIEW("i32"), VIEW("f32")};
  ck_assert_uint_eq(gr_text_nearest(VIEW("F32"), types, 2), 1);
  ck_assert_uint_eq(gr_text_nearest(VIEW("stream"), words, count), SIZE_MAX);
  ck_assert_uint_eq(gr_text_nearest(VIEW("cxxy"), words, count), SIZE_MAX);
  ck_assert_uint_eq(gr_text_nearest(VIEW(""), words, count), SIZE_MAX);
  ck_assert_uint_eq(gr_text_nearest(VIEW("after"), words, 0), SIZE_MAX);
  const struct gr_view equal[] = {VIEW("aab"), VIEW("aac"), VIEW("aaa")};
  ck_assert_uint_eq(gr_text_nearest(VIEW("aad"), equal, 3), 0); /* the first of the nearest */
  ck_assert_uint_eq(gr_text_nearest(VIEW("aaa"), equal, 3), 2);
}
END_TEST

START_TEST(words_too_long_are_never_near) {
  char long_word[70];
  memset(long_word, 'a', sizeof long_word);
  struct gr_view longest = {long_word, 64};
  struct gr_view too_long = {long_word, 65};
  ck_assert_uint_eq(gr_text_nearest(longest, &longest, 1), 0);
  ck_assert_uint_eq(gr_text_nearest(longest, &too_long, 1), SIZE_MAX);
  ck_assert_uint_eq(gr_text_nearest(too_long, &longest, 1), SIZE_MAX);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("base/text");
  TCase *cases = tcase_create("text");
  tcase_set_timeout(cases, 60);
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, views);
  tcase_add_test(cases, appending);
  tcase_add_test(cases, no_memory);
  tcase_add_test(cases, doubles);
  tcase_add_test(cases, doubles_read_back);
  tcase_add_test(cases, the_locale_plays_no_part);
  tcase_add_test(cases, json);
  tcase_add_test(cases, sizes);
  tcase_add_test(cases, durations);
  tcase_add_test(cases, utf8);
  tcase_add_test(cases, bad_utf8);
  tcase_add_test(cases, quotes);
  tcase_add_test(cases, quotes_show_what_is_invisible);
  tcase_add_test(cases, long_quotes_are_cut);
  tcase_add_test(cases, the_hash_of_a_view);
  tcase_add_test(cases, the_nearest_word);
  tcase_add_test(cases, words_too_long_are_never_near);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
