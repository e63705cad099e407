/* What the tests of CUDA's rules run on: the double, or a GPU. The same checks on both keep the double honest. */
#ifndef GRAPHRUN_TESTS_UNIT_FAKE_CUDA_PLATFORM_H
#define GRAPHRUN_TESTS_UNIT_FAKE_CUDA_PLATFORM_H

#include <check.h>
#include <stdbool.h>

#include "tests/support/fake_cuda/fake_cuda.h"

/* False, with the reason on stdout, where there is nothing to run on. Called once, first. */
bool platform_is_ready(void);
/* Before each test: everything as in a new process as far as the platform can. */
void platform_reset(void);
/* For cudaLibraryLoadData: rules_store(int *to, int value), rules_fault(void), rules_wait(const int *flag). */
const void *platform_image(void);
/* Runs `body` while rules_wait hangs, and lets it go behind it. `flag` is mapped memory. */
void platform_let_go(int *flag);
/* True: the double, where no work runs before it is asked for. */
bool platform_is_double(void);

/* Runs the suite; the exit status. */
int platform_run(Suite *suite);

#endif
