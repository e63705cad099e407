/* Which lane a step gets by level. */
#include "tests/unit/plan/support.h"

static void expect_lanes(const char *text, uint32_t lane_max, const char *nodes, const char *lanes) {
  struct planned planned;
  planned_text(&planned, text, GR_POLICY_LEVELS, lane_max);
  for (size_t i = 0; nodes[i]; i++) {
    char name[2] = {nodes[i], '\0'};
    uint32_t lane = lane_named(&planned, name);
    ck_assert_msg(lane == (uint32_t)(lanes[i] - '0'), "%s: %s is on lane %u, not %c", text, name, lane, lanes[i]);
  }
  planned_release(&planned);
}

START_TEST(a_step_takes_a_predecessors_lane) {
  expect_lanes("a>b>c", 0, "abc", "000");
  expect_lanes("a>c b>d", 0, "abcd", "0101");
  expect_lanes("a>d b>c", 0, "abdc", "0101"); /* whatever their order in the file */
  expect_lanes("a,b,c>d", 0, "abcd", "0120");
  expect_lanes("a>c a>d b>d", 0, "abcd", "0101"); /* b can only go on with d: then a is left for c */
  expect_lanes("a b d c a>c a>d b>d", 0, "abdc", "0110");
  expect_lanes("a>c b>c b>d", 0, "abcd", "0101");
}
END_TEST

/* b and c compete for a's lane; the one that comes too late must not take what d inherits. */
START_TEST(heirs_come_first) {
  expect_lanes("a>b a>c e>d", 0, "aebcd", "01021");
  expect_lanes("a>b a>c a>d e>f", 0, "aebcdf", "010231");
}
END_TEST

START_TEST(what_is_left) {
  /* c's lane is free for f: c has ended before, by way of d. No other order comes with it. */
  struct planned planned;
  planned_text(&planned, "a>b,c>d>e,f", GR_POLICY_LEVELS, 0);
  ck_assert_uint_eq(lane_named(&planned, "f"), lane_named(&planned, "c"));
  ck_assert_uint_eq(planned.plan->counts.false_edges_stream, 0);
  planned_release(&planned);
  /* a's other heir takes the lane of b, whom nobody follows, and leaves that of c, whom d follows. */
  planned_text(&planned, "a b c a>e,f>g c>d e>d", GR_POLICY_LEVELS, 0);
  ck_assert_uint_eq(lane_named(&planned, "f"), lane_named(&planned, "b"));
  ck_assert_uint_eq(planned.plan->counts.false_edges_stream, 1);
  ck_assert_uint_eq(planned.plan->lane_count, 3);
  planned_release(&planned);
}
END_TEST

/* As many on each lane, whatever the cap. */
START_TEST(a_cap_deals_evenly) {
  for (uint32_t cap = 1; cap <= 20; cap++) {
    struct graph_spec spec = {.pattern = GRAPH_STENCIL, .width = 16, .steps = 8};
    struct planned planned;
    planned_spec(&planned, &spec);
    planned_plan(&planned, GR_POLICY_LEVELS, cap, 0);
    uint32_t lanes = cap < 16 ? cap : 16, counts[20] = {0};
    ck_assert_uint_eq(planned.plan->lane_count, lanes);
    for (uint32_t step = 0; step < planned.plan->step_count; step++) {
      counts[planned.plan->steps[step].lane]++;
      if (step % 16 != 15) continue;
      for (uint32_t lane = 0; lane < lanes; lane++) {
        ck_assert_uint_ge(counts[lane], 16 / lanes);
        ck_assert_uint_le(counts[lane], (16 + lanes - 1) / lanes);
        counts[lane] = 0;
      }
    }
    planned_release(&planned);
  }
}
END_TEST

/* y may go behind b or c, which d both waits for; c is ordered before it, by way of e, so nothing is lost there. */
START_TEST(an_order_that_holds_anyhow) {
  struct planned planned;
  planned_text(&planned, "a r b c a>p>q>d r,c>e>x,y b,c>d", GR_POLICY_LEVELS, 0);
  ck_assert_uint_eq(planned.plan->lane_count, 4);
  ck_assert_uint_eq(planned.plan->counts.redundant_edges, 0);
  ck_assert_uint_eq(lane_named(&planned, "e"), lane_named(&planned, "r"));
  ck_assert_uint_eq(lane_named(&planned, "x"), lane_named(&planned, "r"));
  ck_assert_uint_eq(lane_named(&planned, "y"), lane_named(&planned, "c"));
  ck_assert_uint_eq(planned.plan->counts.false_edges_stream, 0);
  planned_release(&planned);
}
END_TEST

/* Neither b nor c is ordered before y, and d follows both: b's lane has rested longest. That e is there already does
 * not make c's lane free. */
START_TEST(a_lane_is_wanted_until_the_last_successor) {
  struct planned planned;
  planned_text(&planned, "a r b c a>p>q>d p>y r,c>e>x b,c>d", GR_POLICY_LEVELS, 0);
  ck_assert_uint_eq(planned.plan->lane_count, 4);
  ck_assert_uint_eq(lane_named(&planned, "q"), lane_named(&planned, "a"));
  ck_assert_uint_eq(lane_named(&planned, "y"), lane_named(&planned, "b"));
  ck_assert_uint_eq(planned.plan->counts.false_edges_stream, 1);
  planned_release(&planned);
}
END_TEST

/* d, e and f came between, and a's lane has rested longest; but on c's lane x needs no wait. */
START_TEST(a_cap_prefers_a_predecessors_lane) {
  expect_lanes("a b c d e f c>x a>y b>z", 3, "abcdefxyz", "012012201");
  struct planned planned;
  planned_text(&planned, "a b c d e f c>x a>y b>z", GR_POLICY_LEVELS, 3);
  ck_assert_uint_eq(planned.plan->counts.waits, 0);
  ck_assert_uint_eq(planned.plan->counts.emitted_edges, 3);
  planned_release(&planned);
}
END_TEST

START_TEST(steps_go_by_level_then_by_file) {
  struct planned planned;
  planned_text(&planned, "a>d b c>e>f b>e", GR_POLICY_LEVELS, 0);
  static const char *const order[] = {"a", "b", "c", "d", "e", "f"};
  static const uint32_t levels[] = {0, 0, 0, 1, 1, 2};
  for (uint32_t step = 0; step < 6; step++) {
    ck_assert_str_eq(gr_plan_node_name(planned.plan, step), order[step]);
    ck_assert_uint_eq(planned.plan->steps[step].level, levels[step]);
  }
  ck_assert_uint_eq(planned.plan->level_count, 3);
  ck_assert_uint_eq(planned.plan->width, 3);
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_step_takes_a_predecessors_lane,
                                heirs_come_first,
                                what_is_left,
                                a_cap_deals_evenly,
                                a_cap_prefers_a_predecessors_lane,
                                an_order_that_holds_anyhow,
                                a_lane_is_wanted_until_the_last_successor,
                                steps_go_by_level_then_by_file};
  return run_tests("lanes by level", tests, sizeof tests / sizeof *tests);
}
