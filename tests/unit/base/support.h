/* What the tests of this room share. */
#ifndef GRAPHRUN_TESTS_UNIT_BASE_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_BASE_SUPPORT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/text.h"

/* A text literal that may hold NULs. */
#define VIEW(literal) ((struct gr_view){literal, sizeof(literal) - 1})

static inline int run_suite(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
