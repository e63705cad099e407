/* gr_plan_verify finds every kind of broken plan: each field is damaged in turn, and must be missed nowhere. */
#include "tests/unit/plan/support.h"

/* Frozen arrays are only frozen by a const in the type. */
static struct gr_step *steps_of(const struct planned *planned) {
  return (struct gr_step *)(uintptr_t)planned->plan->steps;
}
static uint32_t *numbers_of(const uint32_t *frozen) { return (uint32_t *)(uintptr_t)frozen; }
static uint64_t *wide_numbers_of(const uint64_t *frozen) { return (uint64_t *)(uintptr_t)frozen; }
static struct gr_wait *waits_of(const struct planned *planned) {
  return (struct gr_wait *)(uintptr_t)planned->plan->waits;
}

static void expect_broken(struct planned *planned, const char *what) {
  struct gr_error error = {0};
  uint64_t live_count = planned->memory.live_count;
  enum gr_status status = gr_plan_verify(&planned->memory, planned->plan, &error);
  ck_assert_msg(status == GR_ERR_INTERNAL, "not found: %s (%s)", what, gr_status_name(status));
  ck_assert_msg(strncmp(error.message, "the plan is broken: ", 20) == 0, "%s: %s", what, error.message);
  ck_assert_uint_eq(planned->memory.live_count, live_count);
}

static void expect_whole(struct planned *planned) {
  struct gr_error error = {0};
  enum gr_status status = gr_plan_verify(&planned->memory, planned->plan, &error);
  ck_assert_msg(status == GR_OK, "%s", error.message);
}

static void break_number(struct planned *planned, uint32_t *number, uint32_t wrong, const char *what) {
  uint32_t kept = *number;
  *number = wrong;
  if (wrong != kept) expect_broken(planned, what);
  *number = kept;
}

static void break_wide(struct planned *planned, uint64_t *number, uint64_t wrong, const char *what) {
  uint64_t kept = *number;
  *number = wrong;
  if (wrong != kept) expect_broken(planned, what);
  *number = kept;
}

static void break_flag(struct planned *planned, bool *flag, const char *what) {
  *flag = !*flag;
  expect_broken(planned, what);
  *flag = !*flag;
}

static void break_steps(struct planned *planned) {
  const struct gr_plan *plan = planned->plan;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    struct gr_step *at = &steps_of(planned)[step];
    break_number(planned, &at->node_index, (at->node_index + 1) % plan->step_count, "node_index");
    break_number(planned, &at->node_index, plan->step_count, "node_index out of range");
    break_number(planned, &at->level, at->level + 1, "level");
    break_number(planned, &at->lane, plan->lane_count, "lane out of range");
    break_flag(planned, &at->is_recorded, "is_recorded");
    break_flag(planned, &at->lane_order_is_emitted, "lane_order_is_emitted");
    at->operation = (uint8_t)(at->operation ^ 1);
    expect_broken(planned, "operation");
    at->operation = (uint8_t)(at->operation ^ 1);
  }
}

/* A step on any other lane: some order is then lost, doubled or no longer as it was noted. */
static void break_lanes(struct planned *planned) {
  const struct gr_plan *plan = planned->plan;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    struct gr_step *at = &steps_of(planned)[step];
    for (uint32_t lane = 0; lane < plan->lane_count; lane++) break_number(planned, &at->lane, lane, "lane");
  }
}

static void break_edges(struct planned *planned) {
  const struct gr_plan *plan = planned->plan;
  for (uint64_t k = 0; k < plan->counts.emitted_edges; k++) {
    uint32_t *before = &numbers_of(plan->emitted)[k];
    for (uint32_t wrong = 0; wrong <= plan->step_count; wrong++) break_number(planned, before, wrong, "emitted");
  }
  for (uint32_t i = 0; i < plan->sink_count; i++) {
    break_number(planned, &numbers_of(plan->sinks)[i], plan->sinks[i] + 1, "sink");
  }
  for (uint32_t i = 0; i <= plan->step_count; i++) {
    break_wide(planned, &wide_numbers_of(plan->emitted_begin)[i], plan->emitted_begin[i] + 1, "emitted_begin");
  }
}

static void break_waits(struct planned *planned) {
  const struct gr_plan *plan = planned->plan;
  for (uint64_t k = 0; k < plan->counts.waits; k++) {
    struct gr_wait *wait = &waits_of(planned)[k];
    break_number(planned, &wait->step, wait->step - 1, "the step of a wait");
    for (uint32_t wrong = 0; wrong <= plan->step_count; wrong++) {
      break_number(planned, &wait->for_step, wrong, "for_step");
    }
  }
  for (uint32_t i = 0; plan->counts.waits > 0 && i <= plan->step_count; i++) {
    break_wide(planned, &wide_numbers_of(plan->wait_begin)[i], plan->wait_begin[i] + 1, "wait_begin");
  }
}

static void break_counts(struct planned *planned) {
  struct gr_plan_counts *counts = &planned->plan->counts;
  uint64_t *const numbers[] = {&counts->declared_edges, &counts->redundant_edges,   &counts->emitted_edges,
                               &counts->order_edges,    &counts->join_steps,        &counts->lane_edges,
                               &counts->waits,          &counts->false_edges_stream};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    break_wide(planned, numbers[i], *numbers[i] + 1, "a count");
    if (*numbers[i] > 0) break_wide(planned, numbers[i], *numbers[i] - 1, "a count");
  }
  /* Without false edges the plan itself proves the number. */
  if (counts->wait_minimum != UINT64_MAX && counts->false_edges_stream == 0) {
    break_wide(planned, &counts->wait_minimum, counts->wait_minimum + 1, "wait_minimum");
  }
  struct gr_plan *plan = planned->plan;
  break_number(planned, &plan->step_count, plan->step_count - 1, "step_count");
  break_number(planned, &plan->lane_count, plan->lane_count + 1, "lane_count");
  break_number(planned, &plan->lane_count, 0, "lane_count");
  break_number(planned, &plan->level_count, plan->level_count + 1, "level_count");
  break_number(planned, &plan->width, plan->width + 1, "width");
  if (plan->sink_count > 0) break_number(planned, &plan->sink_count, plan->sink_count - 1, "sink_count");
  if (plan->lane_count > 1) break_number(planned, &plan->options.lane_max, plan->lane_count - 1, "the cap");
}

static void break_memory(struct planned *planned) {
  struct gr_plan *plan = planned->plan;
  for (uint32_t i = 0; i < planned->pipeline->buffer_count; i++) {
    struct gr_slot *slot = (struct gr_slot *)(uintptr_t)&plan->slots[i];
    break_wide(planned, &slot->offset_bytes, slot->offset_bytes + 4, "an offset that is not aligned");
    break_wide(planned, &slot->offset_bytes, slot->offset_bytes + 256, "the last offset, or one that overlaps");
    break_wide(planned, &slot->offset_bytes, UINT64_MAX - 255, "an offset that overflows");
    break_wide(planned, &slot->size_bytes, slot->size_bytes + 1, "a size");
  }
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint64_t *scratch = &wide_numbers_of(plan->scratch_of_step)[step];
    break_wide(planned, scratch, 0, "scratch at the start of the region");
    break_wide(planned, scratch, *scratch + 256, "scratch elsewhere");
  }
  for (uint32_t place = 0; place < GR_PLACE_COUNT; place++) {
    break_wide(planned, &plan->region_bytes[place], plan->region_bytes[place] + 1, "a region's size");
  }
  break_wide(planned, &plan->scratch_offset, plan->scratch_offset + 256, "scratch_offset");
  break_wide(planned, &plan->scratch_bytes, plan->scratch_bytes + 256, "scratch_bytes");
}

static void break_all(struct planned *planned) {
  expect_whole(planned);
  break_steps(planned);
  break_lanes(planned);
  break_edges(planned);
  break_waits(planned);
  break_counts(planned);
  expect_whole(planned);
}

START_TEST(every_field) {
  static const char *const texts[] = {
      "a>b,c>d a>d b>d",
      "a>b,c,d>e>f a>f",
      "1>4 2>5 5>6 5>7 6>8 7>8 3>9 8>10 9>10 4>11 10>11",
      "a>b>c>d a>c b>d e>d e>f",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
      for (uint32_t cap = 0; cap <= 2; cap += 2) {
        struct planned planned;
        planned_text(&planned, texts[i], (enum gr_policy)policy, cap);
        break_all(&planned);
        planned_release(&planned);
      }
    }
  }
}
END_TEST

START_TEST(memory_layout) {
  struct planned planned;
  /* Every place twice, so that no buffer stands alone in its region; two kernels with scratch. */
  planned_init(&planned);
  planned_dag(&planned,
              graph_from_text(&planned.memory,
                              "x=[100] y=[100] hx=[8]@pinned hy=[8]@pinned px=[8]@host py=[8]@host mx=[8]@mapped "
                              "my=[8]@mapped gx=[8]@managed gy=[8]@managed a:r:x a:u:y b:r:y b:u:x a>b"));
  struct gr_node *nodes = (struct gr_node *)(uintptr_t)planned.pipeline->nodes;
  for (uint32_t i = 0; i < 2; i++) {
    ck_assert_uint_eq(nodes[i].kind, GR_NODE_KERNEL);
    nodes[i].kernel.scratch_bytes = 300;
  }
  planned_plan(&planned, GR_POLICY_LEVELS, 0, 0);
  break_memory(&planned);
  expect_whole(&planned);
  planned_release(&planned);
}
END_TEST

/* A plan that is right in itself, but of another graph: an edge added on purpose, one dropped, a wait dropped. */
START_TEST(what_is_ordered) {
  struct planned planned, other;
  planned_text(&planned, "a,b>c>d", GR_POLICY_LEVELS, 0);
  planned_text(&other, "a,b>c>d a>d", GR_POLICY_LEVELS, 0);
  const struct gr_dag *kept = planned.plan->dag;
  planned.plan->dag = other.dag; /* the same order, one redundant edge more */
  expect_broken(&planned, "declared edges");
  planned.plan->counts.declared_edges++;
  planned.plan->counts.redundant_edges++;
  expect_whole(&planned);
  planned.plan->counts.declared_edges--;
  planned.plan->counts.redundant_edges--;
  planned.plan->dag = kept;

  /* The same number of edges and the same levels, but b -> c is a -> c twice removed. */
  struct planned third;
  planned_text(&third, "a>c>d b>d", GR_POLICY_LEVELS, 0);
  planned.plan->dag = third.dag;
  planned.plan->pipeline = third.pipeline;
  expect_broken(&planned, "another graph's order");
  planned.plan->dag = kept;
  planned.plan->pipeline = planned.pipeline;

  /* Without its one wait the streams no longer order b before c. */
  uint32_t c = step_named(&planned, "c");
  ck_assert_uint_eq(planned.plan->counts.waits, 1);
  struct gr_step *waited = &steps_of(&planned)[planned.plan->waits[0].for_step];
  waited->is_recorded = false;
  planned.plan->counts.waits = 0;
  for (uint32_t i = c + 1; i <= planned.plan->step_count; i++) wide_numbers_of(planned.plan->wait_begin)[i] = 0;
  expect_broken(&planned, "a wait that is missing");
  planned_release(&planned);
  planned_release(&other);
  planned_release(&third);
}
END_TEST

/* Large plans are sampled; damage everywhere is then found all the same. */
START_TEST(large) {
  struct graph_spec spec = {.pattern = GRAPH_STENCIL, .width = 100, .steps = 200};
  struct planned planned;
  planned_spec(&planned, &spec);
  planned_plan(&planned, GR_POLICY_CHAINS, 0, 0);
  uint32_t step_count = planned.plan->step_count;
  struct gr_step *steps = steps_of(&planned);
  for (uint32_t step = 0; step < step_count; step++) steps[step].is_recorded = false;
  for (uint32_t step = 0; step <= step_count; step++) wide_numbers_of(planned.plan->wait_begin)[step] = 0;
  planned.plan->counts.waits = 0;
  planned.plan->counts.wait_minimum = UINT64_MAX;
  expect_broken(&planned, "no waits at all");
  planned_release(&planned);
}
END_TEST

START_TEST(nth_allocation) {
  struct planned planned;
  planned_text(&planned, "a>b,c>d a>d", GR_POLICY_LEVELS, 0);
  enum gr_status status = GR_ERR_NO_MEMORY;
  uint64_t n = 0;
  while (status != GR_OK) {
    struct gr_error error = {0};
    uint64_t live_count = planned.memory.live_count;
    planned.memory.fail_at = planned.memory.call_count + ++n;
    status = gr_plan_verify(&planned.memory, planned.plan, &error);
    planned.memory.fail_at = 0;
    ck_assert_uint_eq(planned.memory.live_count, live_count);
    ck_assert(status == GR_OK || (status == GR_ERR_NO_MEMORY && error.status == GR_ERR_NO_MEMORY));
  }
  ck_assert_uint_gt(n, 4);
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_field, memory_layout, what_is_ordered, large, nth_allocation};
  return run_tests("verify", tests, sizeof tests / sizeof *tests);
}
