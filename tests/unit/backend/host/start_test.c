/* A system that has no room for another thread. Apart from the others, and without sanitizers, whose own memory knows
 * no such bound. */
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/backend/host/support.h"

enum { WORKERS = 400 };

static uint64_t used_bytes(void) {
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%llu", &pages), 1);
  fclose(file);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

START_TEST(threads_that_cannot_be_started_are_an_error) {
  struct bench bench;
  bench_init(&bench);
  struct graph_spec spec = {.pattern = GRAPH_TRIVIAL, .width = 1, .steps = 2 * WORKERS};
  bench_plan(&bench, graph_generate(&bench.memory, &spec), GR_POLICY_LEVELS, WORKERS);
  uint64_t live = bench.memory.live_count;
  struct rlimit before, bound;
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
  bound = before;
  bound.rlim_cur = used_bytes() + (64 << 20); /* for some of them */
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &bound), 0);
  struct gr_error error = {0};
  struct gr_build_options options = {.mode = GR_MODE_GRAPH};
  enum gr_status status = gr_backend_host.build(bench.device, bench.plan, &options, &bench.executable, &error);
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
  ck_assert_int_eq(status, GR_ERR_BACKEND);
  unsigned number = 0;
  char end[64] = "";
  ck_assert_int_eq(sscanf(error.message, "worker thread %u of 400 %63[^\n]", &number, end), 2);
  ck_assert_str_eq(end, "cannot be started");
  ck_assert_uint_gt(number, 1);
  ck_assert_uint_le(number, WORKERS);
  ck_assert_str_eq(error.backend_code, "EAGAIN");
  ck_assert_ptr_null(bench.executable);
  ck_assert_uint_eq(bench.memory.live_count, live);
  bench_build(&bench, GR_MODE_GRAPH); /* nothing stands in the way of a second attempt */
  bench_run(&bench, 3);
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {threads_that_cannot_be_started_are_an_error};
  return run_suite("host_start", tests, sizeof tests / sizeof tests[0], 60);
}
