/* Entries and their host twins: which kernel an entry belongs to, when a call of several launches does its work, what a
 * launch may be and which memory it may use. */
#include "engine/kernel.h"

#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/unit/fake_cuda/fixture.h"

/* --- A catalogue of two: `add`, with two launches a call, and `add_one` --- */

static const struct gr_kernel_parameter parameters[] = {
    {"x", GR_PARAMETER_BUFFER, GR_ACCESS_READ, true},
    {"out", GR_PARAMETER_BUFFER, GR_ACCESS_WRITE, false},
    {"by", GR_PARAMETER_INTEGER, GR_ACCESS_NONE, false},
};

static void add_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const int32_t *x = frame->arguments[0].data;
  int32_t *out = frame->arguments[1].data;
  uint64_t count = frame->arguments[0].rows * frame->arguments[0].columns;
  ck_assert_ptr_null(frame->scratch);
  for (uint64_t i = 0; i < count; i++) out[i] = x[i] + (int32_t)frame->arguments[2].integer;
}

static uint32_t add_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                             struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  uint32_t count = (uint32_t)(frame->arguments[0].rows * frame->arguments[0].columns);
  launches[0] = (struct gr_kernel_launch){"gr_add_first", {count, 1, 1}, {32, 1, 1}, 0};
  launches[1] = (struct gr_kernel_launch){"gr_add_second", {1, 1, 1}, {32, 1, 1}, 128};
  return 2;
}

static uint32_t one_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                             struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  (void)frame;
  launches[0] = (struct gr_kernel_launch){"gr_add_one_i32", {1, 1, 1}, {32, 1, 1}, 0};
  return 1;
}

static void one_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  *(int32_t *)frame->arguments[1].data = 1000;
}

static const struct gr_kernel kernels[] = {
    {.name = "add", .parameter_count = 3, .parameters = parameters, .host = add_host, .launches = add_launches},
    {.name = "add_one", .parameter_count = 3, .parameters = parameters, .host = one_host, .launches = one_launches},
};
static const struct gr_catalogue catalogue = {.kernel_count = 2, .kernels = kernels};

static cudaLibrary_t library;

static void set_up(void) {
  fixture_set_up();
  fake_cuda_set_catalogue(&catalogue);
  expect(cudaSuccess, cudaLibraryLoadData(&library, FAKE_CUDA_IMAGE("*\n"), NULL, NULL, 0, NULL, NULL, 0));
}

static void tear_down(void) {
  expect(cudaSuccess, cudaLibraryUnload(library));
  fixture_tear_down();
  ck_assert_uint_eq(fake_cuda_live_count(), 0);
  ck_assert_msg(fake_cuda_complaint_count() == 0, "%s", fake_cuda_complaint(0));
}

static struct gr_kernel_frame make_frame(void *x, void *out, uint64_t count) {
  struct gr_kernel_frame frame = {.argument_count = 3};
  for (int i = 0; i < 2; i++) {
    frame.arguments[i] = (struct gr_kernel_frame_argument){
        .data = i == 0 ? x : out, .rows = 1, .columns = count, .type = GR_TYPE_I32, .rank = 1};
  }
  frame.arguments[2].integer = 5;
  return frame;
}

/* Launches one of a kernel's launches as it asks for it. */
static cudaError_t launch_frame(const struct gr_kernel *kernel, struct gr_kernel_frame frame, uint32_t index) {
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX];
  cudaKernel_t function = NULL;
  kernel->launches(kernel, &frame, launches);
  frame.launch_index = index;
  const struct gr_kernel_launch *asked = &launches[index];
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

START_TEST(test_last_launch_does_the_work) {
  struct gr_kernel_frame frame = make_frame(fixture.device, fixture.mapped, 4);
  for (int i = 0; i < 4; i++) fixture.pinned[i] = i;
  fixture.mapped[3] = 0;
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.pinned, 16, cudaMemcpyHostToDevice, fixture.origin));
  frame.scratch = fixture.other;
  expect(cudaSuccess, launch_frame(&kernels[0], frame, 0));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(fixture.mapped[3], 0);
  expect(cudaSuccess, launch_frame(&kernels[0], frame, 1));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(fixture.mapped[3], 8);
  ck_assert_uint_eq(fake_cuda_kernel_count("gr_add_second"), 1);
}
END_TEST

START_TEST(test_longest_name_wins) {
  struct gr_kernel_frame frame = make_frame(fixture.device, fixture.mapped, 1);
  expect(cudaSuccess, launch_frame(&kernels[1], frame, 0));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(fixture.mapped[0], 1000);
}
END_TEST

/* The frame counts as it was when it was launched. */
START_TEST(test_frames_are_copied) {
  cudaKernel_t function = NULL;
  struct gr_kernel_frame frame = make_frame(fixture.device, fixture.mapped, 1);
  void *arguments[] = {&frame};
  cudaLaunchConfig_t config;
  memset(&config, 0, sizeof config);
  config.gridDim = (dim3){1, 1, 1};
  config.blockDim = (dim3){32, 1, 1};
  config.stream = fixture.origin;
  expect(cudaSuccess, cudaLibraryGetKernel(&function, library, "gr_add_one_i32"));
  expect(cudaSuccess, cudaLaunchKernelExC(&config, function, arguments));
  memset(&frame, 0, sizeof frame);
  fixture.mapped[0] = 0;
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(fixture.mapped[0], 1000);
}
END_TEST

START_TEST(test_other_geometry_is_noticed) {
  struct gr_kernel_frame frame = make_frame(fixture.device, fixture.mapped, 1);
  cudaKernel_t function = NULL;
  void *arguments[] = {&frame};
  expect(cudaSuccess, cudaLibraryGetKernel(&function, library, "gr_add_one_i32"));
  expect(cudaSuccess, launch_kernel(fixture.origin, function, arguments));
  ck_assert_str_eq(fake_cuda_complaint(0), "Entry gr_add_one_i32 was launched otherwise than its kernel asks for.");
}
END_TEST

struct bad_row {
  size_t offset_bytes;
  uint64_t count;
  bool is_pageable;
  cudaError_t code;
};

static const struct bad_row bad_rows[] = {
    {0, FIXTURE_BYTES / 4, false, cudaSuccess}, {0, FIXTURE_BYTES / 4 + 1, false, cudaErrorIllegalAddress},
    {FIXTURE_BYTES - 4, 1, false, cudaSuccess}, {FIXTURE_BYTES - 4, 2, false, cudaErrorIllegalAddress},
    {2, 1, false, cudaErrorMisalignedAddress},  {0, 1, true, cudaErrorIllegalAddress},
};

START_TEST(test_memory_of_a_launch) {
  const struct bad_row *row = &bad_rows[_i];
  char *base = row->is_pageable ? fixture_pageable : (char *)fixture.device;
  struct gr_kernel_frame frame = make_frame(base + row->offset_bytes, fixture.other, 1);
  frame.arguments[0].columns = row->count;
  expect(cudaSuccess, launch_frame(&kernels[1], frame, 0));
  expect(row->code, cudaStreamSynchronize(fixture.origin));
}
END_TEST

static void reset_all(void) { fake_cuda_reset(); }

int main(void) {
  Suite *suite = suite_create("kernels");
  TCase *good = tcase_create("good");
  tcase_add_checked_fixture(good, set_up, tear_down);
  tcase_set_timeout(good, 120);
  tcase_add_test(good, test_last_launch_does_the_work);
  tcase_add_test(good, test_longest_name_wins);
  tcase_add_test(good, test_frames_are_copied);
  suite_add_tcase(suite, good);
  TCase *bad = tcase_create("bad");
  tcase_add_checked_fixture(bad, set_up, reset_all);
  tcase_set_timeout(bad, 60);
  tcase_add_test(bad, test_other_geometry_is_noticed);
  tcase_add_loop_test(bad, test_memory_of_a_launch, 0, (int)(sizeof bad_rows / sizeof *bad_rows));
  suite_add_tcase(suite, bad);
  return platform_run(suite);
}
