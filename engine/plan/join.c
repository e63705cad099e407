#include "engine/plan/plan_internal.h"

/* What lanes do to the order: which edges they give, which they give too much, and where waits remain. */

bool gr_plan_need_reach(struct gr_plan_draft *draft) {
  if (!draft->reach) draft->reach = gr_reach_create(draft->memory, draft->plan->dag, draft->budget);
  return draft->reach != NULL;
}

static enum gr_reach_answer reach(const struct gr_plan_draft *draft, uint32_t from_step, uint32_t to_step) {
  const struct gr_step *steps = draft->plan->steps;
  return gr_reach_path(draft->reach, steps[from_step].node_index, steps[to_step].node_index);
}

bool gr_plan_is_ordered(const struct gr_plan_draft *draft, uint32_t from_step, uint32_t to_step) {
  return reach(draft, from_step, to_step) == GR_REACH_YES;
}

static bool find_lane_order(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  uint32_t *last = gr_memory_allocate_zeroed(draft->memory, plan->lane_count, sizeof *last);
  draft->lane_previous = gr_memory_allocate_zeroed(draft->memory, plan->step_count, sizeof *draft->lane_previous);
  if (!last || !draft->lane_previous) {
    gr_memory_release(draft->memory, last);
    return false;
  }
  for (uint32_t i = 0; i < plan->lane_count; i++) last[i] = GR_PLAN_NONE;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t previous = last[plan->steps[step].lane];
    draft->lane_previous[step] = previous;
    last[plan->steps[step].lane] = step;
  }
  gr_memory_release(draft->memory, last);
  return true;
}

/* Counts what lane order gives, and what it gives beyond the dag. */
static bool judge_lane_order(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t previous = draft->lane_previous[step];
    const uint32_t *before = draft->before.items + draft->before.begin[step];
    uint64_t before_count = draft->before.begin[step + 1] - draft->before.begin[step];
    if (previous == GR_PLAN_NONE) {
      draft->steps[step].lane_order_is_emitted = before_count == 0;
    } else if (gr_dag_is_listed(before, before_count, previous)) {
      draft->steps[step].lane_order_is_emitted = true;
      plan->counts.lane_edges++;
    } else {
      if (!gr_plan_need_reach(draft)) return false;
      enum gr_reach_answer answer = reach(draft, previous, step);
      if (answer != GR_REACH_YES) plan->counts.false_edges_stream++;
      if (answer == GR_REACH_UNKNOWN) plan->counts.reduction_is_complete = false;
    }
  }
  /* What a policy adds on purpose is among the emitted edges, and yet more than the dag asks for. */
  plan->counts.false_edges_stream += plan->counts.order_edges;
  return true;
}

/* Lane order and the edges between lanes as a dag of its own, whose reduction says which waits are needed. */
static struct gr_dag *order_of_streams(const struct gr_plan_draft *draft) {
  const struct gr_plan *plan = draft->plan;
  uint64_t count = 0, at = 0;
  struct gr_dag *dag = NULL;
  for (uint32_t step = 0; step < plan->step_count; step++) count += draft->lane_previous[step] != GR_PLAN_NONE;
  count += plan->counts.emitted_edges;
  uint32_t *edges = gr_memory_allocate_zeroed(draft->memory, count, 2 * sizeof *edges);
  if (!edges) return NULL;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (draft->lane_previous[step] != GR_PLAN_NONE) {
      edges[at++] = draft->lane_previous[step];
      edges[at++] = step;
    }
    for (uint64_t k = draft->before.begin[step]; k < draft->before.begin[step + 1]; k++) {
      if (plan->steps[draft->before.items[k]].lane == plan->steps[step].lane) continue;
      edges[at++] = draft->before.items[k];
      edges[at++] = step;
    }
  }
  /* All edges ascend, so only memory can be short. */
  (void)gr_dag_from_edges(draft->memory, plan->step_count, edges, at / 2, &dag, NULL);
  gr_memory_release(draft->memory, edges);
  return dag;
}

/* Freezes the waits: edges of `begin` and `items` between lanes, without those that are marked. */
static bool freeze_waits(struct gr_plan_draft *draft, const uint64_t *begin, const uint32_t *items,
                         const uint8_t *is_redundant) {
  struct gr_plan *plan = draft->plan;
  uint64_t count = 0;
  uint64_t *wait_begin = gr_arena_allocate_zeroed(&plan->arena, (size_t)plan->step_count + 1, sizeof *wait_begin);
  if (!wait_begin) return false;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    for (uint64_t k = begin[step]; k < begin[step + 1]; k++) {
      bool is_needed = plan->steps[items[k]].lane != plan->steps[step].lane && !(is_redundant && is_redundant[k]);
      if (is_needed) count++;
    }
    wait_begin[step + 1] = count;
  }
  struct gr_wait *waits = gr_arena_allocate_zeroed(&plan->arena, count, sizeof *waits);
  if (!waits) return false;
  plan->counts.waits = count;
  count = 0;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    for (uint64_t k = begin[step]; k < begin[step + 1]; k++) {
      if (plan->steps[items[k]].lane == plan->steps[step].lane || (is_redundant && is_redundant[k])) continue;
      waits[count++] = (struct gr_wait){.step = step, .for_step = items[k]};
      draft->steps[items[k]].is_recorded = true;
    }
  }
  plan->wait_begin = wait_begin;
  plan->waits = waits;
  return true;
}

/* A needed edge between lanes can only be enforced by another path if that path goes along a false edge: where there is
 * none, every such edge is a wait. */
static bool find_waits(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  if (plan->lane_count == 1 || (plan->counts.false_edges_stream == 0 && plan->counts.reduction_is_complete)) {
    return freeze_waits(draft, draft->before.begin, draft->before.items, NULL);
  }
  struct gr_dag *dag = order_of_streams(draft);
  if (!dag) return false;
  uint8_t *is_redundant = gr_memory_allocate_zeroed(draft->memory, dag->edge_count, 1);
  bool done = is_redundant &&
              gr_plan_reduce(draft->memory, dag, draft->budget, is_redundant, &plan->counts.reduction_is_complete);
  if (done) done = freeze_waits(draft, dag->predecessor_begin, dag->predecessors, is_redundant);
  gr_memory_release(draft->memory, is_redundant);
  gr_dag_destroy(dag);
  return done;
}

static bool find_sinks(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  uint8_t *is_followed = gr_memory_allocate_zeroed(draft->memory, plan->step_count, 1);
  if (!is_followed) return false;
  for (uint64_t k = 0; k < plan->counts.emitted_edges; k++) is_followed[draft->before.items[k]] = 1;
  for (uint32_t step = 0; step < plan->step_count; step++) plan->sink_count += !is_followed[step];
  uint32_t *sinks = gr_arena_allocate_zeroed(&plan->arena, plan->sink_count, sizeof *sinks);
  uint32_t count = 0;
  for (uint32_t step = 0; sinks && step < plan->step_count; step++) {
    if (!is_followed[step]) sinks[count++] = step;
  }
  plan->sinks = sinks;
  gr_memory_release(draft->memory, is_followed);
  return sinks != NULL;
}

bool gr_plan_join_lanes(struct gr_plan_draft *draft) {
  return find_lane_order(draft) && judge_lane_order(draft) && find_waits(draft) && find_sinks(draft);
}
