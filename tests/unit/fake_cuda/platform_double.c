#include <stdlib.h>

#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/unit/fake_cuda/platform.h"

static void store(void *const *arguments, const struct fake_cuda_geometry *geometry, void *context) {
  (void)geometry;
  (void)context;
  int *to = fake_cuda_at(*(int *const *)arguments[0], sizeof *to);
  if (to != NULL) *to = *(const int *)arguments[1];
}

static void fault(void *const *arguments, const struct fake_cuda_geometry *geometry, void *context) {
  (void)arguments;
  (void)geometry;
  (void)context;
  fake_cuda_at((const void *)(uintptr_t)16, 4);
}

static void nothing(void *const *arguments, const struct fake_cuda_geometry *geometry, void *context) {
  (void)arguments;
  (void)geometry;
  (void)context;
}

bool platform_is_ready(void) { return true; }

bool platform_is_double(void) { return true; }

void platform_reset(void) {
  static const size_t store_bytes[] = {sizeof(int *), sizeof(int)};
  static const size_t wait_bytes[] = {sizeof(const int *)};
  static const struct fake_cuda_kernel kernels[] = {
      {"rules_store", 2, store_bytes, store, NULL},
      {"rules_fault", 0, NULL, fault, NULL},
      {"rules_wait", 1, wait_bytes, nothing, NULL},
  };
  fake_cuda_reset();
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) fake_cuda_add_kernel(&kernels[i]);
  fake_cuda_hang_kernel("rules_wait");
}

const void *platform_image(void) { return FAKE_CUDA_IMAGE("rules_store\nrules_fault\nrules_wait\n"); }

void platform_let_go(int *flag) {
  *flag = 1;
  fake_cuda_release_hung();
}

int platform_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
