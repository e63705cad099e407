/* Waits: how many on the graphs of which the least number is known, where they are, and what lane order does. */
#include "tests/unit/plan/support.h"

static void expect_waits(struct planned *planned, uint64_t edges, uint64_t minimum, uint64_t by_level) {
  const struct gr_plan *plan = planned_plan(planned, GR_POLICY_CHAINS, 0, 0);
  ck_assert_uint_eq(plan->counts.declared_edges, edges);
  ck_assert_uint_eq(plan->counts.wait_minimum, minimum);
  ck_assert_uint_eq(plan->counts.waits, minimum);
  ck_assert_uint_eq(plan->counts.false_edges_stream, 0);
  plan = planned_plan(planned, GR_POLICY_LEVELS, 0, 0);
  ck_assert_uint_eq(plan->counts.waits, by_level);
  ck_assert_uint_eq(plan->counts.wait_minimum, UINT64_MAX);
}

/* Task Bench's patterns, 8 wide and 16 steps long. The least number of waits is that of edges less a maximum matching,
 * and was counted by others for these graphs. */
START_TEST(task_bench) {
  static const struct {
    enum graph_pattern pattern;
    uint32_t radix, steps;
    uint64_t edges, minimum, by_level;
  } rows[] = {
      {GRAPH_TRIVIAL, 0, 16, 0, 0, 0},          {GRAPH_NO_COMM, 0, 16, 120, 0, 0},
      {GRAPH_STENCIL, 0, 16, 330, 210, 210},    {GRAPH_STENCIL_PERIODIC, 0, 16, 360, 240, 240},
      {GRAPH_FFT, 0, 16, 290, 170, 170},        {GRAPH_NEAREST, 5, 16, 510, 390, 390},
      {GRAPH_ALL_TO_ALL, 0, 16, 960, 840, 840}, {GRAPH_TREE, 0, 8, 46, 23, 23},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct graph_spec spec = {.pattern = rows[i].pattern, .width = 8, .steps = rows[i].steps, .radix = rows[i].radix};
    struct planned planned;
    planned_spec(&planned, &spec);
    expect_waits(&planned, rows[i].edges, rows[i].minimum, rows[i].by_level);
    planned_release(&planned);
  }
}
END_TEST

/* Spread with a period of 3: all but the first of the five predecessors move by the phase, and may then coincide. */
START_TEST(task_bench_spread) {
  struct planned planned;
  planned_init(&planned);
  struct graph_builder *builder = graph_builder_create(&planned.memory);
  for (uint32_t step = 0; step < 16; step++) {
    for (uint32_t i = 0; i < 8; i++) graph_builder_node(builder, "task");
    for (uint32_t i = 0; step > 0 && i < 8; i++) {
      for (uint32_t k = 0; k < 5; k++) {
        uint32_t from = (i + k * 8 / 5 + (k > 0 ? step % 3 : 0)) % 8;
        graph_builder_edge(builder, (step - 1) * 8 + from, step * 8 + i);
      }
    }
  }
  planned_dag(&planned, graph_builder_finish(builder));
  expect_waits(&planned, 560, 440, 440);
  planned_release(&planned);
}
END_TEST

/* GrCUDA's image pipeline, with the two edges that its data imply and others enforce. Hand-tuned code has 6 waits. */
START_TEST(image) {
  struct planned planned;
  planned_text(&planned,
               "b1,b2,b3 b1>s1 b2>s2 s2>max,min max>e min>e b3>u e>c1 u>c1 s1>c2 c1>c2 b2>c1 b1>c2 "
               "c1 c2",
               GR_POLICY_CHAINS, 0);
  ck_assert_uint_eq(planned.plan->counts.redundant_edges, 2);
  ck_assert_uint_eq(planned.plan->counts.emitted_edges, 11);
  ck_assert_uint_eq(planned.plan->counts.waits, 4);
  ck_assert_uint_eq(planned.plan->counts.wait_minimum, 4);
  planned_plan(&planned, GR_POLICY_LEVELS, 0, 0);
  ck_assert_uint_le(planned.plan->counts.waits, 4);
  ck_assert_uint_eq(planned.plan->lane_count, 3);
  planned_release(&planned);
}
END_TEST

/* GrCUDA's HITS: five rounds of two crossing chains of three and a reset. */
START_TEST(hits) {
  struct planned planned;
  planned_init(&planned);
  struct graph_builder *builder = graph_builder_create(&planned.memory);
  enum { A1, H1, A2, H2, A3, H3, R, ROUND };
  static const uint32_t edges[][2] = {{A1, A2}, {A2, A3}, {H1, H2}, {H2, H3}, {H1, A3}, {A1, H3}, {A3, R}, {H3, R}};
  for (uint32_t round = 0; round < 5; round++) {
    uint32_t first = round * ROUND;
    for (uint32_t i = 0; i < ROUND; i++) graph_builder_node(builder, "task");
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
      graph_builder_edge(builder, first + edges[i][0], first + edges[i][1]);
    }
    if (round > 0) graph_builder_edge(builder, first - ROUND + R, first + A1);
    if (round > 0) graph_builder_edge(builder, first - ROUND + R, first + H1);
  }
  planned_dag(&planned, graph_builder_finish(builder));
  expect_waits(&planned, 48, 19, 19);
  ck_assert_uint_eq(planned.plan->lane_count, 2);
  const struct gr_plan *plan = planned_plan(&planned, GR_POLICY_CHAINS, 0, 0);
  ck_assert_uint_eq(plan->lane_count, 2); /* six chains, and each lane serves the next one when its own has ended */
  planned_release(&planned);
}
END_TEST

START_TEST(small_ones) {
  static const struct {
    const char *text;
    uint64_t waits;
    uint32_t lanes[2]; /* by level, by chain */
  } rows[] = {
      {"a", 0, {1, 1}},
      {"a b c", 0, {3, 3}},
      {"a>b>c>d", 0, {1, 1}},
      {"x>r y>r", 1, {2, 2}},                         /* VEC */
      {"a>b,c>d", 2, {2, 2}},                         /* diamond: out to one, in from one */
      {"1>3>6>9>10 2>4>5>7>8>10 2>5 2>7", 1, {2, 2}}, /* ML, with two edges that others enforce */
      {"1>3>5>7 2>4>6>7>8", 1, {2, 2}},               /* DL */
      {"a>b a>c a>d e", 2, {3, 4}},                   /* leaves, and a root of its own */
      {"a,b>j>c,d j!no_op", 2, {2, 2}},               /* a join */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_CHAINS; policy++) {
      struct planned planned;
      const struct gr_plan *plan = planned_text(&planned, rows[i].text, (enum gr_policy)policy, 0);
      ck_assert_msg(plan->counts.waits == rows[i].waits, "%s: %u waits", rows[i].text, (unsigned)plan->counts.waits);
      ck_assert_msg(plan->lane_count == rows[i].lanes[policy], "%s: %u lanes", rows[i].text, plan->lane_count);
      planned_release(&planned);
    }
  }
}
END_TEST

/* Two lanes for three: one of b, c, d goes behind another, and e, which follows all, waits only for what ends a lane.
 */
START_TEST(a_false_edge_enforces_a_wait) {
  struct planned planned;
  const struct gr_plan *plan = planned_text(&planned, "a>b,c,d>e", GR_POLICY_LEVELS, 2);
  ck_assert_uint_eq(plan->lane_count, 2);
  ck_assert_uint_eq(plan->counts.false_edges_stream, 1);
  ck_assert_uint_eq(plan->counts.emitted_edges, 6);
  ck_assert_uint_eq(plan->counts.waits, 2);
  uint32_t shared = plan->lane_count;
  for (uint32_t step = 1; step < plan->step_count; step++) {
    const struct gr_step *at = &plan->steps[step];
    if (!at->lane_order_is_emitted && at->lane == 0) shared = step;
  }
  ck_assert_str_eq(gr_plan_node_name(plan, shared), "d");
  /* e is on one lane and waits for the other's last step, not for both of the lane that was dealt twice. */
  uint32_t e = step_named(&planned, "e");
  ck_assert_uint_eq(plan->wait_begin[e + 1] - plan->wait_begin[e], 1);
  ck_assert_uint_eq(plan->emitted_begin[e + 1] - plan->emitted_begin[e], 3);
  planned_release(&planned);
}
END_TEST

START_TEST(flags_and_sinks) {
  struct planned planned;
  const struct gr_plan *plan = planned_text(&planned, "a>b,c>d a>e", GR_POLICY_LEVELS, 0);
  uint32_t a = step_named(&planned, "a"), b = step_named(&planned, "b"), c = step_named(&planned, "c");
  uint32_t d = step_named(&planned, "d"), e = step_named(&planned, "e");
  ck_assert_uint_eq(lane_named(&planned, "a"), lane_named(&planned, "b"));
  ck_assert(plan->steps[a].is_recorded);
  ck_assert(plan->steps[a].lane_order_is_emitted); /* the first of its lane, behind nothing */
  ck_assert(plan->steps[b].lane_order_is_emitted);
  ck_assert(!plan->steps[c].lane_order_is_emitted); /* the first of its lane, behind something */
  ck_assert_uint_eq(plan->sink_count, 2);
  ck_assert_uint_eq(plan->sinks[0], e);
  ck_assert_uint_eq(plan->sinks[1], d);
  ck_assert_uint_eq(plan->counts.lane_edges, 2);
  ck_assert_uint_eq(plan->counts.waits, 3);
  ck_assert_uint_eq(plan->waits[plan->wait_begin[c]].for_step, a);
  planned_release(&planned);
}
END_TEST

START_TEST(serial) {
  struct planned planned;
  const struct gr_plan *plan = planned_text(&planned, "c>a b d>b", GR_POLICY_SERIAL, 0);
  /* file order c, a, b, d; b has to wait for d */
  static const char *const order[] = {"c", "a", "d", "b"};
  for (uint32_t step = 0; step < 4; step++) ck_assert_str_eq(gr_plan_node_name(plan, step), order[step]);
  ck_assert_uint_eq(plan->lane_count, 1);
  ck_assert_uint_eq(plan->counts.declared_edges, 2);
  ck_assert_uint_eq(plan->counts.redundant_edges, 0);
  ck_assert_uint_eq(plan->counts.emitted_edges, 3);
  ck_assert_uint_eq(plan->counts.order_edges, 1); /* a before d */
  ck_assert_uint_eq(plan->counts.false_edges_stream, 1);
  ck_assert_uint_eq(plan->counts.waits, 0);
  ck_assert_uint_eq(plan->sink_count, 1);
  planned_plan(&planned, GR_POLICY_LEVELS, 1, 0);
  ck_assert_uint_eq(planned.plan->lane_count, 1);
  ck_assert_uint_eq(planned.plan->counts.emitted_edges, 2); /* a cap adds nothing to the captured graph */
  ck_assert_uint_eq(planned.plan->counts.waits, 0);
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      task_bench, task_bench_spread, image, hits, small_ones, a_false_edge_enforces_a_wait, flags_and_sinks, serial};
  return run_tests("waits", tests, sizeof tests / sizeof *tests);
}
