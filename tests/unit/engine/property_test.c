/* The result of a pipeline does not depend on policy, stream cap, mode or the number of workers. */
#include <stdio.h>

#include "tests/support/pipeline_maker.h"
#include "tests/unit/engine/support.h"

enum { SEED_COUNT = 60, NODE_MAX = 40, STATE_COUNT = MAKER_BUFFER_COUNT * MAKER_ELEMENT_COUNT };

static void read_state(struct gr_graph *graph, double state[STATE_COUNT]) {
  for (uint32_t i = 0; i < MAKER_BUFFER_COUNT; i++) {
    char name[8];
    snprintf(name, sizeof name, "b%u", i);
    struct gr_error error = {0};
    enum gr_status status =
        gr_graph_read(graph, name, 0, &state[i * MAKER_ELEMENT_COUNT], MAKER_ELEMENT_COUNT * sizeof(double), &error);
    ck_assert_msg(status == GR_OK, "%s", error.message);
  }
}

static void compute(struct gr_engine *engine, const struct maker_options *options, enum gr_mode mode,
                    double state[STATE_COUNT]) {
  char *text = maker_pipeline(options);
  struct gr_graph *graph = load(engine, text);
  build_on_host(graph, mode);
  run(graph, 3);
  read_state(graph, state);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  free(text);
}

/* One node after another, in file order, by one worker: what all others must come to. */
static void compute_reference(struct gr_engine *engine, struct maker_options options, double state[STATE_COUNT]) {
  options.streams = "{policy: serial}";
  compute(engine, &options, GR_MODE_SERIAL, state);
}

START_TEST(test_result_is_one) {
  static const char *const streams[] = {NULL,
                                        "{policy: levels, max: 1}",
                                        "{policy: levels, max: 3}",
                                        "{policy: chains}",
                                        "{policy: chains, max: 2}",
                                        "{policy: tuned}",
                                        "{policy: serial}"};
  static const uint32_t workers[] = {1, 2, 7};
  for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
    struct gr_engine *engine = make_engine(workers[w]);
    for (uint64_t seed = (uint64_t)_i; seed < SEED_COUNT; seed += 4) {
      struct maker_options options = {
          .seed = seed, .node_count = 1 + (uint32_t)(seed * 7 % NODE_MAX), .order_data = seed % 3 == 0};
      double want[STATE_COUNT], got[STATE_COUNT];
      compute_reference(engine, options, want);
      for (size_t s = 0; s < sizeof streams / sizeof streams[0]; s++) {
        options.streams = streams[s];
        for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
          compute(engine, &options, (enum gr_mode)mode, got);
          ck_assert_msg(memcmp(want, got, sizeof want) == 0, "seed %llu, streams %s, mode %s, %u workers",
                        (unsigned long long)seed, streams[s] ? streams[s] : "default", gr_mode_name((enum gr_mode)mode),
                        workers[w]);
        }
      }
    }
    ck_assert_int_eq(gr_engine_destroy(engine), GR_OK);
  }
}
END_TEST

int main(void) {
  TCase *cases = tcase_create("property");
  tcase_add_loop_test(cases, test_result_is_one, 0, 4);
  return run_suite(cases, "property");
}
