/* Environment variables: defaults, ranges, what is refused. */
#include "engine/base/knobs.h"

#include "tests/unit/base/support.h"

static void set_up(void) {
  size_t count;
  const struct gr_knob *rows = gr_knobs_rows(&count);
  for (size_t i = 0; i < count; i++) unsetenv(rows[i].name);
}

START_TEST(defaults_hold_when_unset_or_empty) {
  struct gr_knobs knobs;
  memset(&knobs, 0xFF, sizeof knobs);
  ck_assert_int_eq(gr_knobs_read(&knobs, NULL), GR_OK);
  ck_assert_uint_eq(knobs.workers, 0);
  ck_assert(!knobs.check);
  setenv("GRAPHRUN_WORKERS", "", 1);
  ck_assert_int_eq(gr_knobs_read(&knobs, NULL), GR_OK);
  ck_assert_uint_eq(knobs.workers, 0);
}
END_TEST

START_TEST(values_are_read) {
  struct gr_knobs knobs;
  setenv("GRAPHRUN_WORKERS", "1024", 1);
  setenv("GRAPHRUN_CHECK", "1", 1);
  ck_assert_int_eq(gr_knobs_read(&knobs, NULL), GR_OK);
  ck_assert_uint_eq(knobs.workers, 1024);
  ck_assert(knobs.check);
}
END_TEST

START_TEST(what_is_refused) {
  static const char *const values[] = {
      "1025", "-1", "+1", " 1", "1 ", "0x10", "1e3", "yes", "18446744073709551616", "99999999999999999999999", "4\x01"};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    struct gr_knobs knobs = {.workers = 77, .check = true};
    struct gr_error error;
    setenv("GRAPHRUN_WORKERS", values[i], 1);
    ck_assert_int_eq(gr_knobs_read(&knobs, &error), GR_ERR_ARGUMENT);
    char expected[256];
    snprintf(expected, sizeof expected,
             "the environment variable GRAPHRUN_WORKERS is %s, but must be a number from 0 to 1024",
             gr_view_quote(gr_view_of(values[i])).text);
    ck_assert_str_eq(error.message, expected);
    ck_assert_uint_eq(knobs.workers, 77);
    ck_assert(knobs.check);
  }
}
END_TEST

/* Each default must be allowed, and be named once. */
START_TEST(rows_are_sound) {
  size_t count;
  const struct gr_knob *rows = gr_knobs_rows(&count);
  ck_assert_uint_ge(count, 2);
  ck_assert_uint_lt(count, 10);
  for (size_t i = 0; i < count; i++) {
    ck_assert_int_eq(strncmp(rows[i].name, "GRAPHRUN_", 9), 0);
    unsigned long long fallback = strtoull(rows[i].fallback, NULL, 10);
    ck_assert_uint_ge(fallback, rows[i].least);
    ck_assert_uint_le(fallback, rows[i].greatest);
    ck_assert_uint_gt(strlen(rows[i].help), 0);
    for (size_t k = 0; k < i; k++) ck_assert_str_ne(rows[i].name, rows[k].name);
  }
}
END_TEST

START_TEST(the_table) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  setenv("GRAPHRUN_WORKERS", "3", 1);
  setenv("GRAPHRUN_CHECK", "a\x1B[2J", 1); /* must not reach the terminal */
  gr_knobs_show(&text);
  ck_assert_str_eq(text.bytes,
                   "variable             value    default  meaning\n"
                   "GRAPHRUN_WORKERS     3        0        worker threads of the host backend; 0: one a core\n"
                   "GRAPHRUN_CHECK       \"a\\x1B[2J\" 0        1: verify what each stage has made before the next one "
                   "starts\n");
  gr_text_release(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("base/knobs");
  TCase *cases = tcase_create("knobs");
  tcase_add_checked_fixture(cases, set_up, NULL);
  tcase_add_test(cases, defaults_hold_when_unset_or_empty);
  tcase_add_test(cases, values_are_read);
  tcase_add_test(cases, what_is_refused);
  tcase_add_test(cases, rows_are_sound);
  tcase_add_test(cases, the_table);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
