/* Collecting, counting, the first error, and how all of it is shown. */
#include "engine/base/diagnostic.h"

#include <inttypes.h>

#include "tests/unit/base/support.h"

static struct gr_memory memory;
static struct gr_diagnostics diagnostics;
static struct gr_text text;

static void set_up(void) {
  gr_memory_init(&memory, NULL);
  gr_text_init(&text, &memory);
  ck_assert(gr_diagnostics_init(&diagnostics, &memory, "a.yaml"));
}
static void tear_down(void) {
  gr_text_release(&text);
  gr_diagnostics_release(&diagnostics);
  ck_assert_uint_eq(memory.live_count, 0);
}

static struct gr_mark at(uint32_t line, uint32_t column) { return (struct gr_mark){line, column}; }

/* All that was collected, over that source. */
static void expect_shown(struct gr_view source, const char *expected) {
  diagnostics.source = source;
  gr_text_clear(&text);
  gr_diagnostics_render(&diagnostics, &text, false);
  ck_assert_str_eq(text.bytes, expected);
  ck_assert(gr_utf8_valid((struct gr_view){text.bytes, text.length}, NULL));
}

/* One error at a place of a source. */
static void expect_place(struct gr_view source, uint32_t line, uint32_t column, const char *expected) {
  gr_diagnostics_clear(&diagnostics);
  gr_diagnostics_error(&diagnostics, at(line, column), "m");
  char head[64];
  snprintf(head, sizeof head, "a.yaml:%" PRIu32 ":%" PRIu32 ": error: m\n", line, column);
  char all[1024];
  snprintf(all, sizeof all, "%s%s", head, expected);
  expect_shown(source, all);
}

START_TEST(nothing_is_fine) {
  ck_assert_int_eq(gr_diagnostics_status(&diagnostics), GR_OK);
  struct gr_error error = {.status = GR_ERR_BUSY};
  ck_assert_int_eq(gr_diagnostics_to_error(&diagnostics, &error), GR_OK);
  ck_assert_int_eq(error.status, GR_ERR_BUSY); /* untouched */
  gr_diagnostics_warning(&diagnostics, at(1, 1), "only a warning");
  ck_assert_int_eq(gr_diagnostics_status(&diagnostics), GR_OK);
  ck_assert_uint_eq(diagnostics.warning_count, 1);
}
END_TEST

START_TEST(in_file_order_errors_first) {
  gr_diagnostics_warning(&diagnostics, at(1, 1), "w");
  gr_diagnostics_error(&diagnostics, at(3, 1), "%s", "third");
  gr_diagnostics_error(&diagnostics, at(2, 3), "second");
  gr_diagnostics_error(&diagnostics, at(2, 1), "first");
  gr_diagnostics_error(&diagnostics, at(0, 0), "nowhere");
  expect_shown(VIEW("one\ntwo\nthree\n"),
               "a.yaml: error: nowhere\n"
               "a.yaml:2:1: error: first\n    2 | two\n      | ^\n"
               "a.yaml:2:3: error: second\n    2 | two\n      |   ^\n"
               "a.yaml:3:1: error: third\n    3 | three\n      | ^\n"
               "a.yaml:1:1: warning: w\n    1 | one\n      | ^\n"
               "4 errors, 1 warning\n");
}
END_TEST

START_TEST(colors_do_not_change_the_words) {
  gr_diagnostics_error(&diagnostics, at(1, 2), "e");
  gr_diagnostics_warning(&diagnostics, at(1, 1), "w");
  diagnostics.source = VIEW("abc");
  gr_diagnostics_render(&diagnostics, &text, true);
  char plain[512] = "";
  size_t length = 0;
  for (const char *from = text.bytes; *from; from++) {
    if (*from == '\033') {
      from = strchr(from, 'm');
    } else {
      plain[length++] = *from;
    }
  }
  ck_assert_uint_lt(length, text.length);
  expect_shown(diagnostics.source, plain);
}
END_TEST

START_TEST(twenty_of_each_are_kept) {
  for (uint32_t i = 0; i < 30; i++) gr_diagnostics_error(&diagnostics, at(i + 1, 1), "e%" PRIu32, i);
  for (uint32_t i = 0; i < 21; i++) gr_diagnostics_warning(&diagnostics, at(i + 1, 1), "w%" PRIu32, i);
  ck_assert_uint_eq(diagnostics.kept_count, 40);
  diagnostics.source = VIEW("");
  gr_diagnostics_render(&diagnostics, &text, false);
  ck_assert_ptr_nonnull(strstr(text.bytes, "error: e19\n"));
  ck_assert_ptr_null(strstr(text.bytes, "error: e20\n"));
  ck_assert_ptr_nonnull(strstr(text.bytes, "warning: w19\n"));
  ck_assert_ptr_nonnull(strstr(text.bytes, "30 errors (20 shown), 21 warnings (20 shown)\n"));
  gr_diagnostics_clear(&diagnostics);
  ck_assert_uint_eq(diagnostics.kept_count + diagnostics.error_count + diagnostics.warning_count, 0);
  ck_assert_str_eq(diagnostics.file, "a.yaml");
}
END_TEST

START_TEST(the_first_error_in_file_order_counts) {
  gr_diagnostics_error(&diagnostics, at(9, 1), "later");
  gr_diagnostics_error_status(&diagnostics, GR_ERR_NOT_SUPPORTED, at(4, 2), "earlier %d", 7);
  struct gr_error error;
  ck_assert_int_eq(gr_diagnostics_to_error(&diagnostics, &error), GR_ERR_NOT_SUPPORTED);
  ck_assert_int_eq(error.status, GR_ERR_NOT_SUPPORTED);
  ck_assert_str_eq(error.message, "earlier 7 (and 1 more error)");
  ck_assert_str_eq(error.file, "a.yaml");
  ck_assert_uint_eq(error.line, 4);
  ck_assert_uint_eq(error.column, 2);
  gr_diagnostics_error(&diagnostics, at(9, 1), "later");
  ck_assert_int_eq(gr_diagnostics_to_error(&diagnostics, &error), GR_ERR_NOT_SUPPORTED);
  ck_assert_str_eq(error.message, "earlier 7 (and 2 more errors)");
  ck_assert_int_eq(gr_diagnostics_to_error(&diagnostics, NULL), GR_ERR_NOT_SUPPORTED);
}
END_TEST

START_TEST(without_memory) {
  memory.fail_at = memory.call_count + 1;
  gr_diagnostics_error(&diagnostics, at(1, 1), "lost");
  struct gr_diagnostics other;
  ck_assert(!gr_diagnostics_init(&other, &memory, "b.yaml"));
  memory.fail_at = 0;
  ck_assert_int_eq(gr_diagnostics_status(&diagnostics), GR_ERR_NO_MEMORY);
  struct gr_error error;
  ck_assert_int_eq(gr_diagnostics_to_error(&diagnostics, &error), GR_ERR_NO_MEMORY);
  ck_assert_str_eq(error.message, "out of host memory");
  expect_shown(VIEW(""), "a.yaml: error: out of host memory\n");
  gr_diagnostics_release(&other);
  struct gr_diagnostics zeroed;
  memset(&zeroed, 0, sizeof zeroed);
  gr_diagnostics_release(&zeroed);
}
END_TEST

START_TEST(lines_of_every_kind) {
  struct gr_view source = VIEW(
      "\xEF\xBB\xBF"
      "one\r\ntwo\rthree\n\nfive");
  expect_place(source, 1, 1, "    1 | one\n      | ^\n");
  expect_place(source, 2, 3, "    2 | two\n      |   ^\n");
  expect_place(source, 3, 5, "    3 | three\n      |     ^\n");
  expect_place(source, 4, 1, "    4 | \n      | ^\n");
  expect_place(source, 5, 5, "    5 | five\n      |     ^\n");
  expect_place(source, 5, 99, "    5 | five\n      |     ^\n");
  expect_place(source, 6, 1, "");
  expect_place(source, UINT32_MAX, UINT32_MAX, "");
  expect_place((struct gr_view){NULL, 0}, 1, 1, "");
}
END_TEST

START_TEST(the_caret_stands_right) {
  expect_place(VIEW("a\tb"), 1, 3, "    1 | a       b\n      |         ^\n");
  expect_place(VIEW("\t\tb"), 1, 3, "    1 |                 b\n      |                 ^\n");
  expect_place(VIEW("\xC3\xA9\xE2\x82\xAC"
                    "b"),
               1, 6,
               "    1 | \xC3\xA9\xE2\x82\xAC"
               "b\n      |   ^\n");
  expect_place(VIEW("\xC3\xA9"
                    "b"),
               1, 2,
               "    1 | \xC3\xA9"
               "b\n      | ^\n"); /* within a character */
  expect_place(VIEW("e\xCC\x81"
                    "b"),
               1, 4,
               "    1 | e\xCC\x81"
               "b\n      |  ^\n");
  expect_place(VIEW("\xE6\x97\xA5\xE6\x9C\xAC"
                    "b"),
               1, 7,
               "    1 | \xE6\x97\xA5\xE6\x9C\xAC"
               "b\n      |     ^\n");
  expect_place(VIEW("\xF0\x9F\x98\x80"
                    "b"),
               1, 5,
               "    1 | \xF0\x9F\x98\x80"
               "b\n      |   ^\n");
}
END_TEST

START_TEST(what_cannot_be_shown_is_spelled) {
  expect_place(VIEW("a\x1B[2Jb"), 1, 6, "    1 | a\\x1B[2Jb\n      |         ^\n");
  expect_place(VIEW("\xFF"
                    "b"),
               1, 2,
               "    1 | \\xFF"
               "b\n      |     ^\n");
  expect_place(VIEW("a\xA9\xA9"
                    "b"),
               1, 3,
               "    1 | a\\xA9\\xA9"
               "b\n      |      ^\n"); /* the second stray byte */
  expect_place(VIEW("\xC2\xA0\xE2\x80\xAE"
                    "b"),
               1, 6,
               "    1 | \\u00A0\\u202E"
               "b\n      |             ^\n");
}
END_TEST

START_TEST(messages_of_several_lines) {
  gr_diagnostics_error(&diagnostics, at(1, 1), "a cycle\na -> b\nb -> a\x1B\t\xC2\x9B");
  expect_shown(VIEW("x"), "a.yaml:1:1: error: a cycle\n  a -> b\n  b -> a\\x1B \\u009B\n    1 | x\n      | ^\n");
}
END_TEST

/* The column's character is in the middle, and the caret under it, wherever it is. */
START_TEST(long_lines_are_cut) {
  static char line[200000];
  for (uint32_t column = 1; column <= sizeof line; column += column < 300 ? 7 : 19991) {
    memset(line, '.', sizeof line);
    line[column - 1] = '!';
    gr_diagnostics_clear(&diagnostics);
    gr_diagnostics_error(&diagnostics, at(1, column), "m");
    diagnostics.source = (struct gr_view){line, sizeof line};
    gr_text_clear(&text);
    gr_diagnostics_render(&diagnostics, &text, false);
    const char *shown = strstr(text.bytes, " | ");
    const char *below = strstr(shown + 3, " | ");
    ck_assert_uint_lt(strcspn(shown, "\n"), 120);
    /* The mark that text is left out is one column wide and three bytes long. */
    size_t cut = strncmp(shown + 3, "\xE2\x80\xA6", 3) == 0 ? 2 : 0;
    ck_assert_uint_eq((size_t)(strchr(shown, '!') - shown) - cut, (size_t)(strchr(below, '^') - below));
    ck_assert_int_eq(cut > 0, column > 51);
  }
}
END_TEST

/* Random bytes and places: the text is UTF-8, has no controls, and the caret's line is not longer than a screen. */
START_TEST(any_bytes_can_be_shown) {
  uint64_t state = 3;
  static char bytes[3000];
  for (int round = 0; round < 3000; round++) {
    size_t length = 1 + (size_t)(state >> 33) % (round % 2 ? 60 : sizeof bytes);
    for (size_t i = 0; i < length; i++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      uint64_t choice = state >> 33;
      bytes[i] = choice % 4 == 0 ? "\xE2\x82\xAC\xC3\xA9\xF0\x9F\t\n"[choice / 4 % 9] : (char)(choice >> 5);
    }
    gr_diagnostics_clear(&diagnostics);
    for (int k = 0; k < 3; k++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      gr_diagnostics_error(&diagnostics, at(1 + (uint32_t)(state >> 33) % 5, 1 + (uint32_t)(state >> 40) % 3000), "m");
    }
    diagnostics.source = (struct gr_view){bytes, length};
    gr_text_clear(&text);
    gr_diagnostics_render(&diagnostics, &text, false);
    ck_assert(gr_utf8_valid((struct gr_view){text.bytes, text.length}, NULL));
    size_t clean = 0;
    while (clean < text.length &&
           (text.bytes[clean] == '\n' || ((unsigned char)text.bytes[clean] >= 0x20 && text.bytes[clean] != 0x7F)))
      clean++;
    ck_assert_uint_eq(clean, text.length);
  }
}
END_TEST

START_TEST(rendering_without_memory) {
  gr_diagnostics_error(&diagnostics, at(1, 1), "m");
  diagnostics.source = VIEW("abc");
  memory.fail_at = memory.call_count + 1;
  gr_diagnostics_render(&diagnostics, &text, false);
  ck_assert(text.failed);
  memory.fail_at = 0;
}
END_TEST

int main(void) {
  Suite *suite = suite_create("base/diagnostic");
  TCase *cases = tcase_create("diagnostic");
  tcase_set_timeout(cases, 60);
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, nothing_is_fine);
  tcase_add_test(cases, in_file_order_errors_first);
  tcase_add_test(cases, colors_do_not_change_the_words);
  tcase_add_test(cases, twenty_of_each_are_kept);
  tcase_add_test(cases, the_first_error_in_file_order_counts);
  tcase_add_test(cases, without_memory);
  tcase_add_test(cases, lines_of_every_kind);
  tcase_add_test(cases, the_caret_stands_right);
  tcase_add_test(cases, what_cannot_be_shown_is_spelled);
  tcase_add_test(cases, messages_of_several_lines);
  tcase_add_test(cases, long_lines_are_cut);
  tcase_add_test(cases, any_bytes_can_be_shown);
  tcase_add_test(cases, rendering_without_memory);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
