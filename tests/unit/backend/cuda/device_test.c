/* Which devices there are and why none; opening and closing; the process's own state; forks. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/backend/cuda/support.h"

START_TEST(probe_tells_three_cases_apart) {
  struct gr_probe probe;
  fake_cuda_reset();
  fake_cuda_set_device_count(3);
  cuda->probe(&probe);
  ck_assert_uint_eq(probe.device_count, 3);
  ck_assert_str_eq(probe.reason, "");
  ck_assert_str_eq(probe.driver, "driver for CUDA 13.0, runtime 13.0");
  fake_cuda_reset();
  fake_cuda_set_driver(FAKE_CUDA_DRIVER_MISSING);
  cuda->probe(&probe);
  ck_assert_uint_eq(probe.device_count, 0);
  ck_assert_str_eq(probe.reason, "there is no NVIDIA driver (libcuda.so.1) on this machine");
  fake_cuda_reset();
  fake_cuda_set_driver(FAKE_CUDA_DRIVER_TOO_OLD);
  cuda->probe(&probe);
  ck_assert_uint_eq(probe.device_count, 0);
  ck_assert_str_eq(probe.reason, "the NVIDIA driver is for CUDA 12.8, and this program needs one for 13.0 or later");
  fake_cuda_reset();
  fake_cuda_set_device_count(0);
  cuda->probe(&probe);
  ck_assert_uint_eq(probe.device_count, 0);
  ck_assert_str_eq(probe.reason, "the NVIDIA driver sees no device");
  ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
  double_end();
}
END_TEST

START_TEST(describe_and_limits) {
  fake_cuda_reset();
  fake_cuda_set_device_count(2);
  fake_cuda_properties(1)->totalGlobalMem = 12345678;
  struct gr_device_info info;
  struct gr_error error = {0};
  must(cuda->describe(1, &info, &error), &error);
  ck_assert_uint_eq(info.memory_bytes, 12345678);
  ck_assert_str_ne(info.name, "");
  ck_assert_int_eq(cuda->describe(2, &info, &error), GR_ERR_NO_DEVICE);
  ck_assert_str_eq(error.message, "there is no CUDA device 2: they are numbered 0 to 1");
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_device *device = NULL;
  struct gr_device_options options = {.device_index = 7};
  ck_assert_int_eq(cuda->open(&memory, &options, &device, &error), GR_ERR_NO_DEVICE);
  ck_assert_ptr_null(device);
  options.device_index = 1;
  must(cuda->open(&memory, &options, &device, &error), &error);
  struct gr_limits limits;
  cuda->limits(device, &limits);
  ck_assert_uint_eq(limits.lane_max, 128);
  ck_assert_uint_eq(limits.device_count, 2);
  ck_assert_uint_eq(limits.alignment_bytes, 256);
  ck_assert(!cuda->is_lost(device, &error));
  cuda->close(device);
  cuda->close(NULL);
  cuda->destroy(NULL);
  ck_assert_uint_eq(memory.live_count, 0);
  double_end();
}
END_TEST

START_TEST(the_table_is_whole) {
  struct gr_error error = {0};
  must(gr_backend_verify(cuda, &error), &error);
  ck_assert_str_eq(cuda->name, "cuda");
}
END_TEST

static const char chain_text[] = "a:w:x a>b b:u:x b:r:y c:w:z b,c>d d:r:x d:r:z d:w:y";

/* The caller's device is another one, and an error of the caller's is pending all along. */
START_TEST(the_callers_state_is_kept) {
  static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};
  for (int i = 0; i < 3; i++) {
    struct bench bench;
    double_start(2);
    fake_cuda_set_device_count(4);
    ck_assert_int_eq(cudaSetDevice(3), cudaSuccess);
    ck_assert_int_ne(cudaSetDevice(99), cudaSuccess);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    struct gr_probe probe;
    cuda->probe(&probe);
    bench_init(&bench);
    bench_plan(&bench, graph_from_text(&bench.memory, chain_text), GR_POLICY_LEVELS, 0);
    bench_open(&bench);
    /* A build that fails, and one that does not. */
    fake_cuda_fail_function("cudaLaunchKernelExC", 1, cudaErrorInvalidValue);
    struct gr_error error = {0};
    enum gr_status status = bench_try_build(&bench, modes[i], &error);
    ck_assert_int_eq(status, i == 0 ? GR_ERR_NODE : GR_OK);
    bench_unbuild(&bench);
    fake_cuda_fail_call(0, cudaSuccess);
    bench_build(&bench, modes[i]);
    bench_run(&bench, 3);
    oracle_compare(&bench, 3, "with a pending error");
    ck_assert_int_eq(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    int device = -1;
    ck_assert_int_eq(cudaGetDevice(&device), cudaSuccess);
    ck_assert_int_eq(device, 3);
    bench_close(&bench);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaGetDevice(&device), cudaSuccess);
    ck_assert_int_eq(device, 3);
    bench_release(&bench);
  }
}
END_TEST

/* In a child: clear words, and nothing of the parent's is touched. */
static int in_child(struct bench *bench) {
  struct gr_error error = {0};
  int wrong = 0;
  uint64_t calls = fake_cuda_call_count();
  wrong += cuda->launch(bench->executable, NULL, &error) != GR_ERR_STATE || !strstr(error.message, "forked");
  wrong += cuda->wait(bench->executable, NULL, &error) != GR_ERR_STATE || !strstr(error.message, "forked");
  uint32_t word = 0;
  wrong += cuda->read(bench->executable, 0, 0, &word, 4, &error) != GR_ERR_STATE || !strstr(error.message, "forked");
  struct gr_build_options build_options = {.mode = GR_MODE_GRAPH};
  struct gr_executable *executable = NULL;
  wrong += cuda->build(bench->device, bench->plan, &build_options, &executable, &error) != GR_ERR_STATE;
  wrong += fake_cuda_call_count() != calls;
  struct gr_device *device = NULL;
  struct gr_device_options options = {.catalogue = mix_catalogue()};
  wrong += cuda->open(&bench->memory, &options, &device, &error) != GR_ERR_STATE || !strstr(error.message, "forked");
  calls = fake_cuda_function_count("cudaFree") + fake_cuda_function_count("cudaFreeHost");
  cuda->destroy(bench->executable);
  cuda->close(bench->device);
  wrong += fake_cuda_function_count("cudaFree") + fake_cuda_function_count("cudaFreeHost") != calls;
  return wrong;
}

START_TEST(a_fork_is_noticed) {
  struct bench bench;
  bench_text(&bench, "p=[16]@pinned a:w:p a>b b:r:p b:w:x", GR_MODE_GRAPH, 1);
  bench_run(&bench, 1);
  pid_t child = fork();
  if (child == 0) _exit(in_child(&bench));
  int status = 1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  bench_run(&bench, 1);
  oracle_compare(&bench, 2, "after the fork, in the parent");
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *tests[] = {probe_tells_three_cases_apart, describe_and_limits, the_table_is_whole,
                          the_callers_state_is_kept, a_fork_is_noticed};
  return run_suite("backend/cuda/device", tests, sizeof tests / sizeof tests[0], 60);
}
