/* What must hold for every plan, on many graphs: gr_plan_verify agrees, and a brute-force comparison of all pairs finds
 * that the captured graph orders exactly what the dag orders, that streams order at least that, and that no edge or
 * wait could be left out. */
#include "tests/unit/plan/support.h"

enum { SMALL_MAX = 64, RELATION_MAX = SMALL_MAX * SMALL_MAX };

struct closure {
  uint32_t count;
  bool reaches[SMALL_MAX][SMALL_MAX];
};

static void close_paths(struct closure *closure) {
  for (uint32_t k = 0; k < closure->count; k++) {
    for (uint32_t i = 0; i < closure->count; i++) {
      if (!closure->reaches[i][k]) continue;
      for (uint32_t j = 0; j < closure->count; j++) closure->reaches[i][j] |= closure->reaches[k][j];
    }
  }
}

static void close_dag(const struct gr_plan *plan, struct closure *closure) {
  const struct gr_dag *dag = plan->dag;
  *closure = (struct closure){.count = plan->step_count};
  for (uint32_t node = 0; node < dag->node_count; node++) {
    for (uint64_t k = dag->successor_begin[node]; k < dag->successor_begin[node + 1]; k++) {
      closure->reaches[plan->step_of_node[node]][plan->step_of_node[dag->successors[k]]] = true;
    }
  }
  close_paths(closure);
}

/* `skipped` is the index of an edge that is left out. */
static void close_emitted(const struct gr_plan *plan, uint64_t skipped, struct closure *closure) {
  *closure = (struct closure){.count = plan->step_count};
  for (uint32_t step = 0; step < plan->step_count; step++) {
    for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
      if (k != skipped) closure->reaches[plan->emitted[k]][step] = true;
    }
  }
  close_paths(closure);
}

static void close_streams(const struct gr_plan *plan, uint64_t skipped, struct closure *closure) {
  *closure = (struct closure){.count = plan->step_count};
  for (uint32_t step = 0; step < plan->step_count; step++) {
    for (uint32_t before = 0; before < step; before++) {
      closure->reaches[before][step] = plan->steps[before].lane == plan->steps[step].lane;
    }
    for (uint64_t k = plan->wait_begin[step]; k < plan->wait_begin[step + 1]; k++) {
      if (k != skipped) closure->reaches[plan->waits[k].for_step][step] = true;
    }
  }
  close_paths(closure);
}

static bool contains(const struct closure *whole, const struct closure *part) {
  for (uint32_t i = 0; i < part->count; i++) {
    for (uint32_t j = 0; j < part->count; j++) {
      if (part->reaches[i][j] && !whole->reaches[i][j]) return false;
    }
  }
  return true;
}

static uint64_t count_false(const struct gr_plan *plan, const struct closure *by_dag) {
  uint64_t count = 0;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t previous = step;
    while (previous-- > 0) {
      if (plan->steps[previous].lane != plan->steps[step].lane) continue;
      if (!by_dag->reaches[previous][step]) count++;
      break;
    }
  }
  return count;
}

static void check_all_pairs(const struct gr_plan *plan, const char *what) {
  static struct closure by_dag, by_graph, by_streams, without;
  ck_assert_uint_le(plan->step_count, SMALL_MAX);
  close_dag(plan, &by_dag);
  close_emitted(plan, UINT64_MAX, &by_graph);
  close_streams(plan, UINT64_MAX, &by_streams);
  ck_assert_msg(contains(&by_graph, &by_dag), "%s: an order is missing", what);
  bool is_serial = plan->policy == GR_POLICY_SERIAL;
  ck_assert_msg(is_serial || contains(&by_dag, &by_graph), "%s: an order is too much", what);
  ck_assert_msg(contains(&by_streams, &by_dag), "%s: the streams lack an order", what);
  if (!plan->counts.reduction_is_complete) return;
  ck_assert_msg(count_false(plan, &by_dag) == plan->counts.false_edges_stream, "%s: false edges", what);
  for (uint64_t k = 0; k < plan->counts.emitted_edges; k++) {
    close_emitted(plan, k, &without);
    ck_assert_msg(!contains(&without, &by_graph), "%s: edge %u could be left out", what, (unsigned)k);
  }
  for (uint64_t k = 0; k < plan->counts.waits; k++) {
    close_streams(plan, k, &without);
    ck_assert_msg(!contains(&without, &by_streams), "%s: wait %u could be left out", what, (unsigned)k);
  }
}

static const uint32_t caps[] = {0, 1, 2, 3, 5, 8};
static const uint64_t budgets[] = {0, 1, 20, 200};

static void check_policies(struct planned *planned, const char *what) {
  for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
    if (policy == GR_POLICY_TUNED) continue; /* levels again */
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
      for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        if (i > 1 && k > 0) continue; /* budgets and caps have little to do with each other */
        const struct gr_plan *plan = planned_plan(planned, (enum gr_policy)policy, caps[i], budgets[k]);
        if (plan->step_count <= SMALL_MAX) check_all_pairs(plan, what);
        if (caps[i] > 0) ck_assert_uint_le(plan->lane_count, caps[i]);
        if (plan->policy == GR_POLICY_LEVELS) ck_assert_uint_le(plan->lane_count, plan->width);
        if (plan->policy == GR_POLICY_SERIAL) ck_assert_uint_eq(plan->lane_count, 1);
        if (plan->policy == GR_POLICY_CHAINS && caps[i] == 0 && plan->counts.reduction_is_complete) {
          ck_assert_uint_eq(plan->counts.false_edges_stream, 0);
        }
      }
    }
  }
}

START_TEST(patterns_small) {
  for (uint32_t pattern = 0; pattern < GRAPH_PATTERN_COUNT; pattern++) {
    for (uint32_t width = 1; width <= 8; width = width < 4 ? width + 1 : width + 2) {
      struct graph_spec spec = {.pattern = (enum graph_pattern)pattern, .width = width, .steps = 5, .radix = 3};
      struct planned planned;
      spec.seed = pattern * 100 + width;
      planned_spec(&planned, &spec);
      check_policies(&planned, graph_pattern_name(spec.pattern));
      planned_release(&planned);
    }
  }
}
END_TEST

START_TEST(random_small) {
  for (uint64_t seed = 0; seed < 60; seed++) {
    struct graph_spec spec = {.pattern = seed % 2 ? GRAPH_RANDOM : GRAPH_RANDOM_LAYERED, .seed = seed};
    spec.width = 1 + (uint32_t)seed % 6;
    spec.steps = 2 + (uint32_t)(seed / 6) % 5;
    spec.radix = 1 + (uint32_t)seed % 5;
    struct planned planned;
    planned_spec(&planned, &spec);
    check_policies(&planned, graph_pattern_name(spec.pattern));
    planned_release(&planned);
  }
}
END_TEST

/* Beyond what pairs can be compared for, gr_plan_verify judges alone. */
START_TEST(patterns_larger) {
  for (uint32_t pattern = 0; pattern < GRAPH_PATTERN_COUNT; pattern++) {
    struct graph_spec spec = {.pattern = (enum graph_pattern)pattern, .width = 20, .steps = 12, .radix = 5, .seed = 7};
    struct planned planned;
    planned_spec(&planned, &spec);
    check_policies(&planned, graph_pattern_name(spec.pattern));
    planned_release(&planned);
  }
}
END_TEST

/* The same input gives the same plan, byte for byte where it is shown. */
START_TEST(pure) {
  struct graph_spec spec = {.pattern = GRAPH_RANDOM, .width = 10, .steps = 10, .radix = 4, .seed = 3};
  struct planned first, second;
  planned_spec(&first, &spec);
  planned_spec(&second, &spec);
  for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
    struct gr_text left, right;
    gr_text_init(&left, &first.memory);
    gr_text_init(&right, &second.memory);
    gr_plan_show(planned_plan(&first, (enum gr_policy)policy, 4, 0), &left);
    gr_plan_show(planned_plan(&second, (enum gr_policy)policy, 4, 0), &right);
    ck_assert_str_eq(left.bytes, right.bytes);
    gr_text_release(&left);
    gr_text_release(&right);
  }
  planned_release(&first);
  planned_release(&second);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {patterns_small, random_small, patterns_larger, pure};
  return run_tests("plan properties", tests, sizeof tests / sizeof *tests);
}
