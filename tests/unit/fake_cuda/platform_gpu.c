#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/fake_cuda/platform.h"

extern const unsigned char rules_fatbin_begin[];

bool platform_is_ready(void) {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return true;
  printf("skipped: no GPU (%s)\n", cudaGetErrorName(code));
  return false;
}

bool platform_is_double(void) { return false; }

void platform_reset(void) { cudaGetLastError(); }

const void *platform_image(void) { return rules_fatbin_begin; }

void platform_let_go(int *flag) { *(volatile int *)flag = 1; }

/* A process in which CUDA has run must not fork. */
int platform_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
