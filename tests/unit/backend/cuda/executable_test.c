/* Every call of the runtime failing in turn, and every allocation: the right error, nothing left, and the same handles
 * go on afterwards. */
#include "tests/unit/backend/cuda/support.h"

/* All places, 1-D to 3-D copies, fills, kernels, a barrier, several lanes. */
static const char pipeline_text[] =
    "p=[4,4,4]@pinned h=[4,4,4]@host m=[64]@mapped g=[64]@managed d=[4,4,4] e=[64] o=[64]@pinned q=[64]@host "
    "fp:w:p fh:w:h fm:w:m fg:w:g cp:r:p[0:2,1:3,0:2] cp:w:d[0:2,1:3,2:4] ch:r:h[2:4,0:2,0:2] ch:w:d[2:4,2:4,0:2] "
    "mix1:r:d mix1:r:m mix1:u:g mix1:w:e out:r:e out:w:o bar back:r:e back:w:q "
    "fp>cp fh>ch cp,ch,fm,fg>mix1 mix1>out mix1>bar bar>back";

static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};

static void plan_it(struct bench *bench) {
  bench_init(bench);
  struct gr_pipeline *pipeline = graph_from_text(&bench->memory, pipeline_text);
  bench_plan(bench, pipeline, GR_POLICY_LEVELS, 0);
}

START_TEST(the_pipeline_is_right) {
  for (int i = 0; i < 3; i++) {
    for (uint64_t seed = 0; seed < 12; seed++) {
      struct bench bench;
      double_start(seed);
      plan_it(&bench);
      bench_open(&bench);
      bench_build(&bench, modes[i]);
      bench_run(&bench, 3);
      oracle_compare(&bench, 3, gr_mode_name(modes[i]));
      bench_release(&bench);
    }
  }
}
END_TEST

/* ---- calls ---- */

static enum gr_status walk(struct bench *bench, enum gr_mode mode, struct gr_error *error) {
  GR_RETURN_IF_FAILED(bench_try_open(bench, error));
  GR_RETURN_IF_FAILED(bench_try_build(bench, mode, error));
  uint32_t value = 5;
  GR_RETURN_IF_FAILED(cuda->write(bench->executable, graph_buffer(bench->pipeline, "e"), 0, &value, 4, error));
  GR_RETURN_IF_FAILED(cuda->launch(bench->executable, NULL, error));
  GR_RETURN_IF_FAILED(cuda->launch(bench->executable, NULL, error));
  GR_RETURN_IF_FAILED(cuda->wait(bench->executable, NULL, error));
  return cuda->read(bench->executable, graph_buffer(bench->pipeline, "e"), 0, &value, 4, error);
}

static void close_up(struct bench *bench) {
  cuda->destroy(bench->executable);
  cuda->close(bench->device);
  bench->executable = NULL;
  bench->device = NULL;
}

static bool is_about_a_step(const char *function) {
  static const char *const names[] = {"cudaMemcpyAsync",     "cudaMemcpy2DAsync",  "cudaMemcpy3DAsync",
                                      "cudaLaunchKernelExC", "cudaLaunchHostFunc", "cudaGraphAddEmptyNode"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(function, names[i]) == 0) return true;
  }
  return false;
}

/* Failures that the back end may pass over: it then works all the same. */
static bool may_pass(const char *function) {
  static const char *const names[] = {
      "cudaGetDevice",        /* calls with a stream do not need the current device */
      "cudaSetDevice",        /* likewise; or the caller's cannot be brought back */
      "cudaEventElapsedTime", /* a time is missing in the report */
      "cudaHostAlloc",        /* the pool tries again */
      "cudaFree",
      "cudaFreeHost",
      "cudaStreamDestroy",
      "cudaEventDestroy",
      "cudaGraphDestroy",
      "cudaGraphExecDestroy",
      "cudaLibraryUnload",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(function, names[i]) == 0) return true;
  }
  return false;
}

/* The caller's device is another one, or the same. */
static void start_on(int device) {
  double_start(1);
  fake_cuda_set_device_count(4);
  ck_assert_int_eq(cudaSetDevice(device), cudaSuccess);
}

static void is_still_on(int device) {
  int current = -1;
  ck_assert_int_eq(cudaGetDevice(&current), cudaSuccess);
  ck_assert_int_eq(current, device);
}

static void every_call(enum gr_mode mode, int device) {
  struct bench bench;
  double_start(1);
  plan_it(&bench);
  uint64_t failures = 0, named = 0;
  for (uint64_t nth = 1;; nth++) {
    start_on(device);
    fake_cuda_fail_call(nth, cudaErrorInvalidValue);
    struct gr_error error = {0};
    enum gr_status status = walk(&bench, mode, &error);
    const char *function = fake_cuda_failed_function();
    if (!function && status == GR_OK) {
      close_up(&bench);
      break;
    }
    if (function && status == GR_OK) {
      ck_assert_msg(may_pass(function), "call %lu, %s, failed unseen", (unsigned long)nth, function);
    }
    if (status != GR_OK) {
      failures++;
      ck_assert_msg(error.status == status && error.message[0], "call %lu, %s: no error", (unsigned long)nth, function);
      ck_assert_msg(status == GR_ERR_BACKEND || status == GR_ERR_NODE || status == GR_ERR_NO_DEVICE ||
                        status == GR_ERR_DEVICE_MEMORY,
                    "call %lu, %s: %s (%s)", (unsigned long)nth, function, gr_status_name(status), error.message);
      if (status == GR_ERR_NODE && is_about_a_step(function)) {
        named++;
        ck_assert_msg(error.node[0], "call %lu, %s: no node named (%s)", (unsigned long)nth, function, error.message);
      }
    }
    ck_assert_msg(cudaPeekAtLastError() == cudaSuccess, "call %lu, %s: an error is left pending", (unsigned long)nth,
                  function);
    close_up(&bench);
    double_end();
    if (!function || strcmp(function, "cudaSetDevice") != 0) is_still_on(device);
  }
  ck_assert_uint_gt(failures, 30);
  ck_assert_uint_ge(named, 7);
  double_end();
  bench_release(&bench);
}

START_TEST(every_call_fails) { every_call(modes[_i % 3], _i < 3 ? 0 : 3); }
END_TEST

/* What would be made on the caller's device is not made at all. */
START_TEST(a_device_that_cannot_be_made_current) {
  static const char *const functions[] = {"cudaSetDevice", "cudaGetDevice"};
  for (int i = 0; i < 2; i++) {
    struct bench bench;
    double_start(1);
    plan_it(&bench);
    start_on(3);
    bench_open(&bench);
    fake_cuda_fail_function(functions[i], 1, cudaErrorInvalidValue);
    struct gr_error error = {0};
    ck_assert_int_eq(bench_try_build(&bench, modes[_i], &error), GR_ERR_BACKEND);
    ck_assert_str_eq(error.message, "CUDA device 0 could not be made the current one");
    ck_assert_ptr_null(bench.executable);
    is_still_on(3);
    bench_build(&bench, modes[_i]);
    bench_run(&bench, 2);
    oracle_compare(&bench, 2, functions[i]);
    is_still_on(3);
    bench_release(&bench);
  }
}
END_TEST

/* Releases that fail leave an error pending for nobody. */
START_TEST(every_call_of_the_end_fails) {
  for (uint64_t nth = 1;; nth++) {
    struct bench bench;
    double_start(1);
    plan_it(&bench);
    bench_open(&bench);
    bench_build(&bench, GR_MODE_STREAM);
    bench_run(&bench, 1);
    fake_cuda_fail_call(nth, cudaErrorInvalidValue);
    close_up(&bench);
    bool is_over = fake_cuda_failed_function() == NULL;
    ck_assert(cudaPeekAtLastError() == cudaSuccess);
    double_end();
    bench_release(&bench);
    if (is_over) break;
  }
}
END_TEST

/* ---- allocations ---- */

START_TEST(every_allocation_fails) {
  struct bench bench;
  double_start(1);
  plan_it(&bench);
  uint64_t live_before = bench.memory.live_count;
  uint64_t failures = 0;
  for (uint64_t nth = 1;; nth++) {
    double_start(1);
    atomic_store(&bench.memory.call_count, 0);
    atomic_store(&bench.memory.fail_at, nth);
    struct gr_error error = {0};
    enum gr_status status = walk(&bench, modes[_i], &error);
    atomic_store(&bench.memory.fail_at, 0);
    bool is_over = status == GR_OK;
    if (!is_over) {
      failures++;
      /* Page-locked memory comes from a pool, which only says that it gave none. */
      ck_assert_msg(status == GR_ERR_NO_MEMORY || status == GR_ERR_DEVICE_MEMORY, "allocation %lu: %s (%s)",
                    (unsigned long)nth, gr_status_name(status), error.message);
      ck_assert_ptr_null(bench.executable);
    }
    close_up(&bench);
    double_end();
    ck_assert_uint_eq(bench.memory.live_count, live_before);
    if (is_over) break;
  }
  ck_assert_uint_gt(failures, 8);
  bench_release(&bench);
}
END_TEST

/* A replay allocates nothing. */
START_TEST(launches_allocate_nothing) {
  struct bench bench;
  double_start(1);
  plan_it(&bench);
  bench_open(&bench);
  bench_build(&bench, modes[_i]);
  uint64_t calls = bench.memory.call_count, mallocs = fake_cuda_function_count("cudaMalloc");
  bench_run(&bench, 50);
  ck_assert_uint_eq(bench.memory.call_count, calls);
  ck_assert_uint_eq(fake_cuda_function_count("cudaMalloc"), mallocs);
  bench_release(&bench);
}
END_TEST

/* One call of the runtime starts a replay of a graph, and one in 64 of them is followed by a fence. */
START_TEST(a_launch_is_one_call) {
  struct bench bench;
  double_start(1);
  plan_it(&bench);
  bench_open(&bench);
  bench_build(&bench, GR_MODE_GRAPH);
  bench_run(&bench, 1);
  struct gr_error error = {0};
  uint64_t records = fake_cuda_function_count("cudaEventRecord");
  uint64_t launches = fake_cuda_function_count("cudaGraphLaunch");
  for (int i = 0; i < 60; i++) must(cuda->launch(bench.executable, NULL, &error), &error);
  ck_assert_uint_eq(fake_cuda_function_count("cudaEventRecord"), records);
  ck_assert_uint_eq(fake_cuda_function_count("cudaGraphLaunch"), launches + 60);
  must(cuda->wait(bench.executable, NULL, &error), &error);
  bench_release(&bench);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("backend/cuda/executable");
  TCase *tcase = tcase_create("executable");
  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, the_pipeline_is_right);
  tcase_add_loop_test(tcase, every_call_fails, 0, 6);
  tcase_add_loop_test(tcase, a_device_that_cannot_be_made_current, 0, 3);
  tcase_add_test(tcase, every_call_of_the_end_fails);
  tcase_add_loop_test(tcase, every_allocation_fails, 0, 3);
  tcase_add_loop_test(tcase, launches_allocate_nothing, 0, 3);
  tcase_add_test(tcase, a_launch_is_one_call);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
