/* The kernels in the box, run by the double. */
#include "engine/kernel.h"

#include <string.h>

#include "kernels/catalogue.h"
#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/unit/fake_cuda/fixture.h"

static cudaLibrary_t library;

static void set_up(void) {
  fixture_set_up();
  fake_cuda_set_catalogue(gr_builtin_catalogue());
  expect(cudaSuccess, cudaLibraryLoadData(&library, FAKE_CUDA_IMAGE("*\n"), NULL, NULL, 0, NULL, NULL, 0));
}

/* Launches a call as its kernel asks for it. */
static cudaError_t launch_frame(const struct gr_kernel *kernel, struct gr_kernel_frame frame) {
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX];
  cudaKernel_t function = NULL;
  kernel->launches(kernel, &frame, launches);
  const struct gr_kernel_launch *asked = &launches[0];
  expect(cudaSuccess, cudaLibraryGetKernel(&function, library, asked->entry));
  cudaLaunchConfig_t config;
  memset(&config, 0, sizeof config);
  config.gridDim = (dim3){asked->grid[0], asked->grid[1], asked->grid[2]};
  config.blockDim = (dim3){asked->block[0], asked->block[1], asked->block[2]};
  config.dynamicSmemBytes = asked->shared_bytes;
  config.stream = fixture.origin;
  void *arguments[] = {&frame};
  return cudaLaunchKernelExC(&config, function, arguments);
}

START_TEST(test_built_in_kernel) {
  const struct gr_catalogue *box = gr_builtin_catalogue();
  const struct gr_kernel *axpy = gr_catalogue_find(box, "axpy", 4);
  ck_assert_ptr_nonnull(axpy);
  float *x = (float *)fixture.managed;
  float *y = (float *)fixture.mapped;
  for (int i = 0; i < 10; i++) {
    x[i] = (float)i;
    y[i] = 1;
  }
  struct gr_kernel_frame frame = {.argument_count = 3};
  frame.arguments[0].real = 2;
  for (int i = 1; i < 3; i++) {
    frame.arguments[i] = (struct gr_kernel_frame_argument){
        .data = i == 1 ? x : y, .rows = 1, .columns = 10, .type = GR_TYPE_F32, .rank = 1};
  }
  expect(cudaSuccess, launch_frame(axpy, frame));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  for (int i = 0; i < 10; i++) ck_assert(y[i] == 2 * (float)i + 1);
}
END_TEST

START_TEST(test_built_in_fill) {
  const struct gr_catalogue *box = gr_builtin_catalogue();
  struct gr_kernel_frame frame = {.argument_count = GR_FILL_ARGUMENT_COUNT};
  frame.arguments[GR_FILL_DATA].data = fixture.mapped;
  frame.arguments[GR_FILL_DATA].type = GR_TYPE_I32;
  frame.arguments[GR_FILL_VALUE_BITS].integer = 9;
  frame.arguments[GR_FILL_WIDTH].integer = 3;
  frame.arguments[GR_FILL_HEIGHT].integer = 2;
  frame.arguments[GR_FILL_DEPTH].integer = 1;
  frame.arguments[GR_FILL_ROW_PITCH].integer = 16;
  memset(fixture.mapped, 0, 64);
  expect(cudaSuccess, launch_frame(box->fill, frame));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  const int filled[] = {9, 9, 9, 0, 9, 9, 9, 0};
  ck_assert_mem_eq(fixture.mapped, filled, sizeof filled);
  /* Two rows that reach beyond the allocation. */
  frame.arguments[GR_FILL_ROW_PITCH].integer = FIXTURE_BYTES - 8;
  expect(cudaSuccess, launch_frame(box->fill, frame));
  expect(cudaErrorIllegalAddress, cudaStreamSynchronize(fixture.origin));
}
END_TEST

/* A whole catalogue lists at least one entry for each of its kernels. */
START_TEST(test_listing_of_the_box) {
  enum { ROOM = 1024 };
  static cudaKernel_t functions[ROOM];
  const struct gr_catalogue *box = gr_builtin_catalogue();
  unsigned count = 0;
  expect(cudaSuccess, cudaLibraryGetKernelCount(&count, library));
  ck_assert_uint_le(count, ROOM);
  expect(cudaSuccess, cudaLibraryEnumerateKernels(functions, ROOM, library));
  for (uint32_t i = 0; i < box->kernel_count; i++) {
    size_t length = strlen(box->kernels[i].name);
    bool is_there = false;
    for (unsigned k = 0; k < count; k++) {
      const char *name = NULL;
      expect(cudaSuccess, cudaFuncGetName(&name, functions[k]));
      is_there |= strncmp(name + 3, box->kernels[i].name, length) == 0 && name[3 + length] == '_';
    }
    ck_assert_msg(is_there, "no entry of %s", box->kernels[i].name);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builtin");
  TCase *box = tcase_create("box");
  tcase_add_checked_fixture(box, set_up, fake_cuda_reset);
  tcase_set_timeout(box, 120);
  tcase_add_test(box, test_built_in_kernel);
  tcase_add_test(box, test_built_in_fill);
  tcase_add_test(box, test_listing_of_the_box);
  suite_add_tcase(suite, box);
  return platform_run(suite);
}
