/* The cases on the host back end. */
#include <check.h>
#include <stdlib.h>

#include "tests/conformance/engine_target.h"

static struct engine_target target;

static void set_up(void) { engine_target_init(&target, "host"); }
static void tear_down(void) { engine_target_release(&target); }

START_TEST(test_case) { conformance_cases[_i].run(&target.target); }
END_TEST

START_TEST(test_fill_boxes) { case_fill_boxes(&target); }
END_TEST

int main(void) {
  int case_count = 0;
  while (conformance_cases[case_count].name != NULL) case_count++;
  Suite *suite = suite_create("conformance/host");
  TCase *cases = tcase_create("cases");
  tcase_set_timeout(cases, 280);
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_loop_test(cases, test_case, 0, case_count);
  tcase_add_test(cases, test_fill_boxes);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
