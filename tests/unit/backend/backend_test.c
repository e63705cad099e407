/* Names, the check of a table, and what an optional member means when it is not there. */
#include "engine/backend/backend.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(names_are_those_of_the_report) {
  ck_assert_str_eq(gr_mode_name(GR_MODE_GRAPH), "graph");
  ck_assert_str_eq(gr_mode_name(GR_MODE_STREAM), "stream");
  ck_assert_str_eq(gr_mode_name(GR_MODE_SERIAL), "serial");
  ck_assert_str_eq(gr_mode_name((enum gr_mode)99), "unknown");
  static const char *const names[] = {"not_run", "ok", "failed", "suspect", "timeout", "skipped", "no_op"};
  for (int state = GR_NODE_NOT_RUN; state <= GR_NODE_NO_OP; state++) {
    ck_assert_str_eq(gr_node_state_name((enum gr_node_state)state), names[state]);
  }
  ck_assert_str_eq(gr_node_state_name((enum gr_node_state)99), "unknown");
}
END_TEST

/* The table's members are its name and functions; each is set to something that is not null, without a call. */
static struct gr_backend full_table(void) {
  struct gr_backend table;
  memset(&table, 0x5a, sizeof table);
  table.name = "full";
  table.is_lost = NULL;
  return table;
}

static void expect_missing(const struct gr_backend *table, const char *message) {
  struct gr_error error = {0};
  ck_assert_int_eq(gr_backend_verify(table, &error), GR_ERR_INTERNAL);
  ck_assert_str_eq(error.message, message);
  ck_assert_int_eq(gr_backend_verify(table, NULL), GR_ERR_INTERNAL);
}

START_TEST(a_table_without_a_member_is_refused) {
  struct gr_backend table = full_table();
  struct gr_error error = {0};
  ck_assert_int_eq(gr_backend_verify(&table, &error), GR_OK);
  ck_assert_int_eq(error.status, GR_OK);
#define WITHOUT(member)                                                        \
  do {                                                                         \
    table = full_table();                                                      \
    table.member = NULL;                                                       \
    expect_missing(&table, "the backend full lacks the member '" #member "'"); \
  } while (0)
  WITHOUT(probe);
  WITHOUT(describe);
  WITHOUT(open);
  WITHOUT(close);
  WITHOUT(limits);
  WITHOUT(build);
  WITHOUT(destroy);
  WITHOUT(write);
  WITHOUT(read);
  WITHOUT(address);
  WITHOUT(launch);
  WITHOUT(wait);
  WITHOUT(states);
  WITHOUT(facts);
  WITHOUT(times);
  WITHOUT(reset_times);
  table = full_table();
  table.name = NULL;
  expect_missing(&table, "the backend without a name lacks the member 'name'");
}
END_TEST

static bool is_lost_for_ever(const struct gr_device *device, struct gr_error *cause) {
  (void)device;
  (void)gr_error_set(cause, GR_ERR_DEVICE_LOST, "lost");
  return true;
}

START_TEST(a_back_end_without_is_lost_is_never_lost) {
  struct gr_backend table = full_table();
  struct gr_error cause = {0};
  ck_assert(!gr_backend_is_lost(&table, NULL, &cause));
  ck_assert_int_eq(cause.status, GR_OK);
  table.is_lost = is_lost_for_ever;
  ck_assert(gr_backend_is_lost(&table, NULL, &cause));
  ck_assert_int_eq(cause.status, GR_ERR_DEVICE_LOST);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("backend");
  TCase *tcase = tcase_create("backend");
  tcase_add_test(tcase, names_are_those_of_the_report);
  tcase_add_test(tcase, a_table_without_a_member_is_refused);
  tcase_add_test(tcase, a_back_end_without_is_lost_is_never_lost);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
