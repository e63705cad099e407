/* Large graphs: in time that grows with their size, and on a small stack. */
#include <sys/resource.h>

#include "tests/unit/plan/support.h"

/* No recursion over the graph: a stack of 256 KiB serves any. */
START_TEST(two_hundred_thousand) {
  static const struct graph_spec specs[] = {
      {.pattern = GRAPH_CHAIN, .width = 200000, .steps = 1},
      {.pattern = GRAPH_FAN_OUT, .width = 200000, .steps = 1},
      {.pattern = GRAPH_FAN_IN, .width = 200000, .steps = 1},
      {.pattern = GRAPH_TRIVIAL, .width = 200000, .steps = 1},
      {.pattern = GRAPH_STENCIL, .width = 200, .steps = 1000},
      {.pattern = GRAPH_RANDOM, .width = 200000, .steps = 1, .seed = 1},
      {.pattern = GRAPH_RANDOM_LAYERED, .width = 1000, .steps = 200, .seed = 1},
  };
  ck_assert_int_eq(setrlimit(RLIMIT_STACK, &(struct rlimit){256 << 10, 256 << 10}), 0);
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    struct planned planned;
    planned_spec(&planned, &specs[i]);
    for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
      if (policy == GR_POLICY_TUNED) continue; /* levels again */
      planned_plan(&planned, (enum gr_policy)policy, 128, 0);
      ck_assert_uint_le(planned.plan->lane_count, 128);
      ck_assert(specs[i].pattern == GRAPH_RANDOM || planned.plan->counts.reduction_is_complete);
    }
    planned_release(&planned);
  }
}
END_TEST

/* An edge from the first of a chain to each of the others: quadratic for whoever walks the chain each time. */
START_TEST(a_hub_before_a_long_chain) {
  struct planned planned;
  planned_init(&planned);
  struct graph_builder *builder = graph_builder_create(&planned.memory);
  for (uint32_t i = 0; i < 100000; i++) {
    graph_builder_node(builder, "n");
    if (i > 0) graph_builder_edge(builder, 0, i);
    if (i > 1) graph_builder_edge(builder, i - 1, i);
  }
  planned_dag(&planned, graph_builder_finish(builder));
  planned_plan(&planned, GR_POLICY_LEVELS, 0, 0);
  ck_assert(planned.plan->counts.reduction_is_complete);
  ck_assert_uint_eq(planned.plan->counts.redundant_edges, 99998);
  ck_assert_uint_eq(planned.plan->lane_count, 1);
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {two_hundred_thousand, a_hub_before_a_long_chain};
  return run_tests("scale", tests, sizeof tests / sizeof *tests);
}
