/* Codes, their texts, and the error that goes with one. */
#include "engine/base/status.h"

#include "tests/unit/base/support.h"

START_TEST(every_code_has_a_name_a_text_and_an_exit_status) {
  static const struct {
    enum gr_status status;
    int number;
    const char *name;
    const char *text;
    int exit_status;
  } rows[] = {
#define X(name, number, text, exit_status) {name, number, #name, text, exit_status},
      GR_STATUS_LIST(X)
#undef X
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_int_eq((int)rows[i].status, rows[i].number);
    ck_assert_int_eq(rows[i].number, (int)i); /* only appended */
    ck_assert_str_eq(gr_status_name(rows[i].status), rows[i].name);
    ck_assert_str_eq(gr_status_text(rows[i].status), rows[i].text);
    ck_assert_int_eq(gr_status_exit(rows[i].status), rows[i].exit_status);
  }
}
END_TEST

/* These are part of the contract with scripts. */
START_TEST(exit_statuses) {
  ck_assert_int_eq(gr_status_exit(GR_OK), 0);
  ck_assert_int_eq(gr_status_exit(GR_ERR_NODE), 1);
  ck_assert_int_eq(gr_status_exit(GR_ERR_EXPECT), 1);
  ck_assert_int_eq(gr_status_exit(GR_ERR_ARGUMENT), 2);
  ck_assert_int_eq(gr_status_exit(GR_ERR_INVALID), 3);
  ck_assert_int_eq(gr_status_exit(GR_ERR_NOT_SUPPORTED), 3);
  ck_assert_int_eq(gr_status_exit(GR_ERR_NO_BACKEND), 4);
  ck_assert_int_eq(gr_status_exit(GR_ERR_NO_MEMORY), 4);
  ck_assert_int_eq(gr_status_exit(GR_ERR_IO), 4);
  ck_assert_int_eq(gr_status_exit(GR_ERR_INTERNAL), 70);
  ck_assert_int_eq(gr_status_exit(GR_ERR_TIMEOUT), 124);
  ck_assert_int_eq(gr_status_exit(GR_ERR_CANCELLED), 130);
}
END_TEST

START_TEST(numbers_that_are_no_code) {
  ck_assert_str_eq(gr_status_name((enum gr_status)999), "GR_ERR_UNKNOWN");
  ck_assert_str_eq(gr_status_text((enum gr_status)999), "unknown status");
  ck_assert_int_eq(gr_status_exit((enum gr_status)999), 70);
}
END_TEST

START_TEST(setting_clears_the_rest) {
  struct gr_error error;
  memset(&error, 'x', sizeof error);
  ck_assert_int_eq(gr_error_set(&error, GR_ERR_IO, "%s %d", "line", 7), GR_ERR_IO);
  ck_assert_int_eq(error.status, GR_ERR_IO);
  ck_assert_str_eq(error.message, "line 7");
  ck_assert_str_eq(error.file, "");
  ck_assert_str_eq(error.node, "");
  ck_assert_str_eq(error.backend_code, "");
  ck_assert_uint_eq(error.line, 0);
  gr_error_place(&error, "a.yaml", 3, 4);
  gr_error_node(&error, "blur");
  ck_assert_str_eq(error.file, "a.yaml");
  ck_assert_uint_eq(error.line, 3);
  ck_assert_uint_eq(error.column, 4);
  ck_assert_str_eq(error.node, "blur");
  ck_assert_str_eq(error.message, "line 7");
  gr_error_place(&error, NULL, 0, 0);
  gr_error_node(&error, NULL);
  ck_assert_str_eq(error.file, "");
  ck_assert_str_eq(error.node, "");
}
END_TEST

START_TEST(null_is_tolerated) {
  ck_assert_int_eq(gr_error_set(NULL, GR_ERR_BUSY, "%s", "x"), GR_ERR_BUSY);
  gr_error_place(NULL, "a", 1, 1);
  gr_error_node(NULL, "a");
}
END_TEST

START_TEST(a_message_may_be_put_into_a_longer_one) {
  struct gr_error error;
  gr_error_set(&error, GR_ERR_IO, "no such file");
  gr_error_set(&error, error.status, "node a: %s", error.message);
  ck_assert_str_eq(error.message, "node a: no such file");
}
END_TEST

/* Whatever byte of a character falls on the border. */
START_TEST(long_texts_are_cut_at_a_character) {
  static const char *const characters[] = {"x", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
  for (size_t c = 0; c < 4; c++) {
    for (size_t shift = 0; shift < 4; shift++) {
      char text[3000] = "aaa";
      size_t step = strlen(characters[c]);
      for (size_t at = shift; at < 2000; at += step) memcpy(text + at, characters[c], step + 1);
      struct gr_error error;
      gr_error_set(&error, GR_ERR_IO, "%s", text);
      gr_error_place(&error, text, 1, 1);
      gr_error_node(&error, text);
      const char *const cut[] = {error.message, error.file, error.node};
      const size_t sizes[] = {sizeof error.message, sizeof error.file, sizeof error.node};
      for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(cut[i]);
        ck_assert_uint_ge(length, sizes[i] - 4);
        ck_assert_uint_lt(length, sizes[i]);
        ck_assert(gr_utf8_valid((struct gr_view){cut[i], length}, NULL));
        ck_assert_int_eq(strncmp(cut[i], text, length), 0);
      }
    }
  }
}
END_TEST

static enum gr_status leave_early(enum gr_status status, int *reached) {
  GR_RETURN_IF_FAILED(status);
  (*reached)++;
  return GR_OK;
}

START_TEST(returning_if_failed) {
  int reached = 0;
  ck_assert_int_eq(leave_early(GR_ERR_STATE, &reached), GR_ERR_STATE);
  ck_assert_int_eq(reached, 0);
  ck_assert_int_eq(leave_early(GR_OK, &reached), GR_OK);
  ck_assert_int_eq(reached, 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("base/status");
  TCase *cases = tcase_create("status");
  tcase_add_test(cases, every_code_has_a_name_a_text_and_an_exit_status);
  tcase_add_test(cases, exit_statuses);
  tcase_add_test(cases, numbers_that_are_no_code);
  tcase_add_test(cases, setting_clears_the_rest);
  tcase_add_test(cases, null_is_tolerated);
  tcase_add_test(cases, a_message_may_be_put_into_a_longer_one);
  tcase_add_test(cases, long_texts_are_cut_at_a_character);
  tcase_add_test(cases, returning_if_failed);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
