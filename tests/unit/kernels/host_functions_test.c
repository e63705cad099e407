/* The host functions, called without an engine, on every case of the conformance suite. */
#include <check.h>
#include <stdlib.h>

#include "tests/conformance/cases.h"
#include "tests/conformance/direct_target.h"

START_TEST(test_case) { conformance_cases[_i].run(&direct_target); }
END_TEST

int main(void) {
  int case_count = 0;
  while (conformance_cases[case_count].name != NULL) case_count++;
  Suite *suite = suite_create("kernels/host_functions");
  TCase *cases = tcase_create("cases");
  tcase_set_timeout(cases, 120);
  tcase_add_loop_test(cases, test_case, 0, case_count);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
