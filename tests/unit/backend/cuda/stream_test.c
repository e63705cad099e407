/* Plain streams with events, and one step at a time: the dag's result in whatever order the device takes. */
#include "tests/unit/backend/cuda/support.h"

static void one(const struct graph_spec *spec, enum gr_mode mode, enum gr_policy policy, uint32_t lane_max,
                uint64_t seed) {
  struct bench bench;
  double_start(seed);
  bench_init(&bench);
  bench_plan(&bench, graph_generate(&bench.memory, spec), policy, lane_max);
  bench_open(&bench);
  bench_build(&bench, mode);
  bench_run(&bench, 3);
  oracle_compare(&bench, 3, graph_pattern_name(spec->pattern));
  bench_run(&bench, 1);
  oracle_compare(&bench, 4, graph_pattern_name(spec->pattern));
  struct gr_build_facts facts;
  cuda->facts(bench.executable, &facts);
  ck_assert_uint_eq(facts.graph_nodes, 0);
  ck_assert_uint_eq(facts.stream_count, mode == GR_MODE_SERIAL ? 1 : bench.plan->lane_count);
  bench_release(&bench);
}

START_TEST(every_pattern) {
  static const enum gr_policy policies[] = {GR_POLICY_LEVELS, GR_POLICY_CHAINS, GR_POLICY_SERIAL};
  for (int pattern = 0; pattern < GRAPH_PATTERN_COUNT; pattern++) {
    for (int p = 0; p < 3; p++) {
      for (uint32_t cap = 0; cap < 4; cap++) {
        struct graph_spec spec = {
            .pattern = (enum graph_pattern)pattern, .width = 5, .steps = 5, .seed = 11, .cell_elements = 2};
        one(&spec, GR_MODE_STREAM, policies[p], cap, (uint64_t)(pattern * 12 + p * 4) + cap + 1);
      }
    }
    struct graph_spec spec = {
        .pattern = (enum graph_pattern)pattern, .width = 5, .steps = 5, .seed = 12, .cell_elements = 2};
    one(&spec, GR_MODE_SERIAL, GR_POLICY_LEVELS, 0, (uint64_t)pattern + 1);
  }
}
END_TEST

START_TEST(random_graphs_under_many_orders) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct graph_spec spec = {
        .pattern = GRAPH_RANDOM, .width = 5, .steps = 8, .radix = 3, .seed = seed, .cell_elements = 2};
    one(&spec, GR_MODE_STREAM, seed % 2 ? GR_POLICY_LEVELS : GR_POLICY_CHAINS, (uint32_t)(seed % 5), seed);
  }
}
END_TEST

/* Longer than what may lie in a stream ahead of the device. */
START_TEST(long_chain_of_many_batches) {
  struct graph_spec spec = {.pattern = GRAPH_CHAIN, .width = 1, .steps = 1500, .cell_elements = 1};
  one(&spec, GR_MODE_STREAM, GR_POLICY_LEVELS, 0, 3);
  struct graph_spec wide = {.pattern = GRAPH_NO_COMM, .width = 30, .steps = 60, .cell_elements = 1};
  one(&wide, GR_MODE_STREAM, GR_POLICY_LEVELS, 0, 4);
}
END_TEST

/* Replays of one executable do not overlap, however many are queued. */
START_TEST(many_replays_in_flight) {
  static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};
  for (int i = 0; i < 3; i++) {
    struct bench bench;
    bench_text(&bench, "a:u:x a>b b:r:x b:u:y a>c c:r:x c:u:z b,c>d d:r:y d:r:z d:u:x", modes[i], 9);
    bench_run(&bench, 700);
    oracle_compare(&bench, 700, gr_mode_name(modes[i]));
    struct gr_replay_times times;
    cuda->times(bench.executable, &times);
    ck_assert_uint_eq(times.replays, 700);
    ck_assert(times.launch_min_ns <= times.launch_max_ns && times.launch_total_ns >= 700 * times.launch_min_ns);
    cuda->reset_times(bench.executable);
    cuda->times(bench.executable, &times);
    ck_assert_uint_eq(times.replays + times.launch_total_ns + times.launch_max_ns, 0);
    bench_run(&bench, 5);
    cuda->times(bench.executable, &times);
    ck_assert_uint_eq(times.replays, 5);
    bench_release(&bench);
  }
}
END_TEST

/* A lane that has nothing to wait for within a replay must still not run ahead into what the last one reads. */
START_TEST(replays_do_not_run_into_each_other) {
  static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};
  static const char *const texts[] = {"a:u:x c:u:y a,c>b b:r:x b:r:y b:u:z b>d d:r:z d:u:x",
                                      "a:u:x b:u:y c:u:z a>d b>d d:r:x d:r:y d:u:w c>e e:r:z e:u:v d,e>f f:r:v f:u:x"};
  for (int i = 0; i < 6; i++) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
      struct bench bench;
      bench_text(&bench, texts[i / 3], modes[i % 3], seed);
      bench_run(&bench, 6);
      oracle_compare(&bench, 6, texts[i / 3]);
      bench_release(&bench);
    }
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {every_pattern, random_graphs_under_many_orders, long_chain_of_many_batches,
                          many_replays_in_flight, replays_do_not_run_into_each_other};
  return run_suite("backend/cuda/stream", tests, sizeof tests / sizeof tests[0], 120);
}
