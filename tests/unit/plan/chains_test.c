/* Lanes by chains: the matching is maximum, and lanes are used again where that orders nothing anew. */
#include "tests/unit/plan/support.h"

enum { STEP_MAX = 128 };

/* Plain augmenting paths over the emitted edges, as an opinion of its own. */
struct kuhn {
  const struct gr_plan *plan;
  uint32_t matched_to[STEP_MAX]; /* of a right step: the left one, plus one */
  bool is_seen[STEP_MAX];
};

static bool finds_place(struct kuhn *kuhn, uint32_t from) {
  const struct gr_plan *plan = kuhn->plan;
  for (uint32_t to = from + 1; to < plan->step_count; to++) {
    bool has_edge = false;
    for (uint64_t k = plan->emitted_begin[to]; k < plan->emitted_begin[to + 1]; k++) {
      has_edge |= plan->emitted[k] == from;
    }
    if (!has_edge || kuhn->is_seen[to]) continue;
    kuhn->is_seen[to] = true;
    if (kuhn->matched_to[to] && !finds_place(kuhn, kuhn->matched_to[to] - 1)) continue;
    kuhn->matched_to[to] = from + 1;
    return true;
  }
  return false;
}

static uint64_t maximum_matching(const struct gr_plan *plan) {
  struct kuhn kuhn = {.plan = plan};
  uint64_t count = 0;
  for (uint32_t from = 0; from < plan->step_count; from++) {
    memset(kuhn.is_seen, 0, sizeof kuhn.is_seen);
    if (finds_place(&kuhn, from)) count++;
  }
  return count;
}

START_TEST(the_matching_is_maximum) {
  uint64_t gained = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    struct graph_spec spec = {.pattern = seed % 3 ? GRAPH_RANDOM : GRAPH_RANDOM_LAYERED, .seed = seed};
    spec.width = 2 + (uint32_t)seed % 7;
    spec.steps = 2 + (uint32_t)seed % 8;
    spec.radix = 2 + (uint32_t)(seed / 3) % 4;
    struct planned planned;
    planned_spec(&planned, &spec);
    const struct gr_plan *plan = planned_plan(&planned, GR_POLICY_CHAINS, 0, 0);
    uint64_t minimum = plan->counts.emitted_edges - maximum_matching(plan);
    ck_assert_uint_eq(plan->counts.wait_minimum, minimum);
    ck_assert_uint_eq(plan->counts.waits, minimum);
    ck_assert_uint_eq(plan->counts.lane_edges, plan->counts.emitted_edges - minimum);
    plan = planned_plan(&planned, GR_POLICY_CHAINS, 0, 1); /* no phase: what the greedy start finds */
    if (plan->counts.reduction_is_complete) gained += plan->counts.waits - minimum;
    planned_release(&planned);
  }
  ck_assert_uint_gt(gained, 0); /* or the phases were never needed */
}
END_TEST

/* Each right step has two left ones and takes the first, until the last one has only the very first: then all of them
 * have to move on by one. */
START_TEST(a_long_augmenting_path) {
  struct planned planned;
  planned_init(&planned);
  struct graph_builder *builder = graph_builder_create(&planned.memory);
  enum { LAST = 1000, RIGHT = LAST + 1 };
  for (uint32_t i = 0; i < 2 * RIGHT; i++) graph_builder_node(builder, "n");
  for (uint32_t i = 0; i < LAST; i++) {
    graph_builder_edge(builder, i, RIGHT + i);
    graph_builder_edge(builder, i + 1, RIGHT + i);
  }
  graph_builder_edge(builder, 0, RIGHT + LAST);
  planned_dag(&planned, graph_builder_finish(builder));
  const struct gr_plan *plan = planned_plan(&planned, GR_POLICY_CHAINS, 0, 0);
  ck_assert_uint_eq(plan->counts.wait_minimum, LAST);
  ck_assert_uint_eq(plan->lane_count, RIGHT);
  plan = planned_plan(&planned, GR_POLICY_CHAINS, 0, 1);
  ck_assert_uint_eq(plan->counts.waits, LAST + 1); /* the greedy start alone */
  ck_assert_uint_eq(plan->counts.wait_minimum, UINT64_MAX);
  planned_release(&planned);
}
END_TEST

START_TEST(lanes_serve_again) {
  struct planned planned;
  /* Two forks one after the other: the second one's branches go on where the first one's ended. */
  planned_text(&planned, "a>b,c,d>e>f,g,h>i", GR_POLICY_CHAINS, 0);
  ck_assert_uint_eq(planned.plan->lane_count, 3);
  ck_assert_uint_eq(planned.plan->counts.false_edges_stream, 0);
  ck_assert_uint_eq(planned.plan->counts.waits, 8);
  planned_release(&planned);
  /* Two graphs side by side share nothing. */
  planned_text(&planned, "a>b>c d>e>f g", GR_POLICY_CHAINS, 0);
  ck_assert_uint_eq(planned.plan->lane_count, 3);
  ck_assert_uint_eq(planned.plan->counts.waits, 0);
  planned_release(&planned);
}
END_TEST

/* c shares the lane of a's chain and ends at once. That lane is not idle, so d, which starts later, is folded in turn.
 */
START_TEST(a_shared_lane_is_not_idle) {
  struct planned planned;
  planned_text(&planned, "a1 b1 c a1>a2>a3>a4 b1>b2>b3>b4 b1>d", GR_POLICY_CHAINS, 2);
  ck_assert_uint_eq(lane_named(&planned, "c"), lane_named(&planned, "a1"));
  ck_assert_uint_eq(lane_named(&planned, "a4"), lane_named(&planned, "a1"));
  ck_assert_uint_eq(lane_named(&planned, "b4"), lane_named(&planned, "b1"));
  ck_assert_uint_eq(lane_named(&planned, "d"), lane_named(&planned, "b1"));
  planned_release(&planned);
}
END_TEST

/* p's lane rests longest, b2's is one that f2 is ordered behind; f3 then gets p's. */
START_TEST(a_later_idle_lane_may_fit_better) {
  struct planned planned;
  planned_text(&planned, "p a>b1,b2>e>f1,f2,f3", GR_POLICY_CHAINS, 3);
  ck_assert_uint_eq(planned.plan->lane_count, 3);
  ck_assert_uint_eq(lane_named(&planned, "f1"), lane_named(&planned, "e"));
  ck_assert_uint_eq(lane_named(&planned, "f2"), lane_named(&planned, "b2"));
  ck_assert_uint_eq(lane_named(&planned, "f3"), lane_named(&planned, "p"));
  ck_assert_uint_eq(planned.plan->counts.false_edges_stream, 1);
  planned_release(&planned);
}
END_TEST

START_TEST(a_cap_folds_chains) {
  for (uint32_t cap = 1; cap <= 6; cap++) {
    struct graph_spec spec = {.pattern = GRAPH_NO_COMM, .width = 5, .steps = 6};
    struct planned planned;
    planned_spec(&planned, &spec);
    const struct gr_plan *plan = planned_plan(&planned, GR_POLICY_CHAINS, cap, 0);
    ck_assert_uint_eq(plan->lane_count, cap < 5 ? cap : 5);
    ck_assert_uint_eq(plan->counts.waits, 0); /* a chain stays together */
    ck_assert_uint_eq(plan->counts.wait_minimum, 0);
    ck_assert_uint_eq(plan->counts.emitted_edges, 25);
    planned_release(&planned);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {the_matching_is_maximum, a_long_augmenting_path,    lanes_serve_again,
                                a_cap_folds_chains,      a_shared_lane_is_not_idle, a_later_idle_lane_may_fit_better};
  return run_tests("lanes by chains", tests, sizeof tests / sizeof *tests);
}
