/* The end of each main here: runs a suite of one case; the exit status. */
#ifndef GRAPHRUN_TESTS_UNIT_GRAPHRUN_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_GRAPHRUN_SUPPORT_H

#include <check.h>
#include <stdlib.h>

static inline int run_suite(Suite *suite, TCase *cases) {
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
