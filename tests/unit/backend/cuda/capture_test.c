/* The captured graph has the plan's nodes and the plan's edges, and gives the dag's result in whatever order the device
 * takes what the edges leave open. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/backend/cuda/support.h"

static const char *const shapes[] = {
    "a",
    "a b c",
    "a>b a>c a>d e",                         /* leaves and a root that nobody joins by hand */
    "a>b,c>d",                               /* diamond */
    "a>b>c>d a>d",                           /* a redundant edge */
    "a>b b>c d>e e>c a>e f",                 /* edges across */
    "a:w:x a>b b:r:x b:w:y a>c c:r:x c:w:z", /* one writer, two readers */
    "a!no_op c!no_op a>b b>c c>d",
    "a,b,c>d,e,f d,e>g f>h,i,j",
};

static void check_graph(const struct bench *bench, const char *what) {
  struct gr_build_facts facts;
  cuda->facts(bench->executable, &facts);
  ck_assert_msg(facts.graph_nodes == bench->plan->step_count, "%s: %lu nodes", what, (unsigned long)facts.graph_nodes);
  ck_assert_msg(facts.graph_edges == bench->plan->counts.emitted_edges, "%s: %lu edges, plan %lu", what,
                (unsigned long)facts.graph_edges, (unsigned long)bench->plan->counts.emitted_edges);
  ck_assert_uint_eq(facts.stream_count, bench->plan->lane_count);
}

START_TEST(small_shapes) {
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    for (uint64_t seed = 0; seed < 8; seed++) {
      struct bench bench;
      bench_text(&bench, shapes[i], GR_MODE_GRAPH, seed);
      check_graph(&bench, shapes[i]);
      bench_run(&bench, 3);
      oracle_compare(&bench, 3, shapes[i]);
      ck_assert_int_eq(bench_state(&bench, "a"), i == 7 ? GR_NODE_NO_OP : GR_NODE_OK);
      bench_release(&bench);
    }
  }
}
END_TEST

static void one_pattern(const struct graph_spec *spec, enum gr_policy policy, uint32_t lane_max, uint64_t seed) {
  struct bench bench;
  double_start(seed);
  bench_init(&bench);
  bench_plan(&bench, graph_generate(&bench.memory, spec), policy, lane_max);
  bench_open(&bench);
  bench_build(&bench, GR_MODE_GRAPH);
  check_graph(&bench, graph_pattern_name(spec->pattern));
  bench_run(&bench, 2);
  oracle_compare(&bench, 2, graph_pattern_name(spec->pattern));
  bench_release(&bench);
}

START_TEST(every_pattern_policy_and_cap) {
  static const enum gr_policy policies[] = {GR_POLICY_LEVELS, GR_POLICY_CHAINS, GR_POLICY_SERIAL};
  static const uint32_t caps[] = {0, 1, 3};
  for (int pattern = 0; pattern < GRAPH_PATTERN_COUNT; pattern++) {
    for (int p = 0; p < 3; p++) {
      for (int c = 0; c < 3; c++) {
        struct graph_spec spec = {
            .pattern = (enum graph_pattern)pattern, .width = 6, .steps = 5, .seed = 7, .cell_elements = 3};
        one_pattern(&spec, policies[p], caps[c], (uint64_t)pattern * 9 + (uint64_t)p * 3 + (uint64_t)c + 1);
      }
    }
  }
}
END_TEST

START_TEST(random_graphs_under_many_orders) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct graph_spec spec = {
        .pattern = GRAPH_RANDOM, .width = 5, .steps = 8, .radix = 3, .seed = seed, .cell_elements = 2};
    one_pattern(&spec, GR_POLICY_LEVELS, (uint32_t)(seed % 5), seed);
  }
}
END_TEST

/* Wider than the back end's streams: lanes are shared, and no false edge comes of it. */
START_TEST(more_width_than_streams) {
  struct graph_spec spec = {
      .pattern = GRAPH_RANDOM_LAYERED, .width = 150, .steps = 3, .radix = 2, .seed = 3, .cell_elements = 1};
  one_pattern(&spec, GR_POLICY_LEVELS, 0, 5);
}
END_TEST

/* A call that is refused without breaking the capture would leave a graph that lacks a node (and ends well). */
START_TEST(a_refused_copy_ends_the_build) {
  struct bench bench;
  double_start(1);
  bench_init(&bench);
  bench_plan(&bench, graph_from_text(&bench.memory, "x=[8]@pinned y=[8] z=[8] a:w:x a>b b:r:x b:w:y b>c c:r:y c:w:z"),
             GR_POLICY_LEVELS, 0);
  bench_open(&bench);
  for (uint64_t nth = 1; nth <= 2; nth++) {
    struct gr_error error = {0};
    fake_cuda_fail_function("cudaMemcpyAsync", nth, cudaErrorInvalidValue);
    ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_NODE);
    ck_assert_str_eq(error.node, nth == 1 ? "b" : "c");
    ck_assert_str_eq(error.backend_code, "cudaErrorInvalidValue");
    ck_assert_uint_eq(error.line, nth == 1 ? 2 : 3);
    ck_assert_ptr_null(bench.executable);
    ck_assert_uint_eq(fake_cuda_function_count("cudaStreamBeginCapture"),
                      fake_cuda_function_count("cudaStreamEndCapture"));
    fake_cuda_fail_call(0, cudaSuccess);
    bench_build(&bench, GR_MODE_GRAPH);
    bench_run(&bench, 1);
    oracle_compare(&bench, 1, "after a refused copy");
    bench_unbuild(&bench);
  }
  bench_release(&bench);
}
END_TEST

/* Two hundred broken captures, and the next graph runs all the same. */
START_TEST(broken_captures_leave_nothing) {
  struct bench bench;
  bench_text(&bench, "a:w:x a>b b:r:x b:w:y c:w:z b,c>d d:r:y d:u:z", GR_MODE_GRAPH, 1);
  bench_unbuild(&bench);
  struct fake_cuda_live before, after;
  fake_cuda_get_live(&before);
  for (uint64_t round = 0; round < 200; round++) {
    struct gr_error error = {0};
    fake_cuda_fail_function("cudaLaunchKernelExC", 1 + round % 3, cudaErrorStreamCaptureInvalidated);
    ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_NODE);
  }
  fake_cuda_fail_call(0, cudaSuccess);
  fake_cuda_get_live(&after);
  ck_assert(memcmp(&before, &after, sizeof before) == 0);
  bench_build(&bench, GR_MODE_GRAPH);
  bench_run(&bench, 2);
  oracle_compare(&bench, 2, "after broken captures");
  bench_release(&bench);
}
END_TEST

static atomic_bool stop;

static void *use_the_device(void *context) {
  (void)context;
  void *memory = NULL;
  while (!atomic_load(&stop)) {
    if (cudaMalloc(&memory, 64) == cudaSuccess) (void)cudaMemset(memory, 1, 64);
    (void)cudaFree(memory);
  }
  return NULL;
}

/* Another thread of the program allocates and uses the legacy stream: no capture of ours minds. */
START_TEST(other_threads_break_no_capture) {
  struct bench bench;
  double_start(1);
  bench_init(&bench);
  struct graph_spec spec = {.pattern = GRAPH_STENCIL, .width = 8, .steps = 12, .cell_elements = 1};
  bench_plan(&bench, graph_generate(&bench.memory, &spec), GR_POLICY_LEVELS, 0);
  bench_open(&bench);
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, use_the_device, NULL), 0);
  for (int round = 0; round < 100; round++) {
    bench_build(&bench, GR_MODE_GRAPH);
    bench_run(&bench, 1);
    bench_unbuild(&bench);
  }
  atomic_store(&stop, true);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *tests[] = {small_shapes,
                          every_pattern_policy_and_cap,
                          random_graphs_under_many_orders,
                          more_width_than_streams,
                          a_refused_copy_ends_the_build,
                          broken_captures_leave_nothing,
                          other_threads_break_no_capture};
  return run_suite("backend/cuda/capture", tests, sizeof tests / sizeof tests[0], 120);
}
