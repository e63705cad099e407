#include "engine/plan/plan_internal.h"

/* Edges that reduction and matching may walk each, where the caller sets no budget: some passes over the graph, and
 * enough for hard small ones. About a third of a second at most. */
enum { BUDGET_PASSES = 16, BUDGET_BASE = 16 << 20 };

enum gr_status gr_plan_no_memory(struct gr_error *error) {
  return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while planning");
}

static uint32_t lane_limit(const struct gr_plan_options *options, const struct gr_limits *limits) {
  uint32_t own = options->lane_max, theirs = limits->lane_max;
  if (own == 0 || (theirs > 0 && theirs < own)) return theirs;
  return own;
}

static void one_lane(struct gr_plan *plan) { plan->lane_count = 1; /* the steps' lane is 0 already */ }

static bool schedule(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  /* The order of issue first: everything after speaks of steps. */
  if (!gr_plan_number_steps(draft)) return false;
  /* Then what has to be ordered at all, so that lanes and waits care for nothing else. */
  if (!gr_plan_emit(draft)) return false;
  /* Lanes take as many of these edges as they can. */
  bool done = true;
  if (plan->policy == GR_POLICY_SERIAL) one_lane(plan);
  else if (plan->policy == GR_POLICY_CHAINS) done = gr_plan_lanes_by_chain(draft);
  else done = gr_plan_lanes_by_level(draft);
  if (!done) return false;
  if (plan->lane_count == 0) plan->lane_count = 1; /* a graph without nodes still has an origin */
  /* What is left are waits. */
  return gr_plan_join_lanes(draft);
}

static struct gr_plan *plan_create(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                   const struct gr_dag *dag, const struct gr_plan_options *options) {
  struct gr_plan *plan = gr_memory_allocate_zeroed(memory, 1, sizeof *plan);
  if (!plan) return NULL;
  gr_arena_init(&plan->arena, memory);
  plan->pipeline = pipeline;
  plan->dag = dag;
  plan->options = *options;
  /* `tuned` needs measured times, and there are none. */
  plan->policy = options->policy == GR_POLICY_TUNED ? GR_POLICY_LEVELS : options->policy;
  plan->counts.wait_minimum = UINT64_MAX;
  return plan;
}

enum gr_status gr_plan_make(struct gr_memory *memory, const struct gr_pipeline *pipeline, const struct gr_dag *dag,
                            const struct gr_plan_options *options, const struct gr_limits *limits,
                            struct gr_plan **plan, struct gr_error *error) {
  struct gr_plan_draft draft = {.memory = memory, .plan = plan_create(memory, pipeline, dag, options)};
  if (!draft.plan) return gr_plan_no_memory(error);
  draft.lane_limit = lane_limit(options, limits);
  draft.budget = options->reduction_budget;
  if (draft.budget == 0) draft.budget = BUDGET_PASSES * (dag->node_count + dag->edge_count) + BUDGET_BASE;
  enum gr_status status = schedule(&draft) ? GR_OK : gr_plan_no_memory(error);
  /* Memory last: scratch belongs to steps. */
  if (status == GR_OK) status = gr_plan_lay_out(&draft, limits, error);
  gr_reach_destroy(draft.reach);
  gr_memory_release(memory, draft.after.begin);
  gr_memory_release(memory, draft.after.items);
  gr_memory_release(memory, draft.lane_previous);
  if (status == GR_OK) *plan = draft.plan;
  else gr_plan_destroy(draft.plan);
  return status;
}

void gr_plan_destroy(struct gr_plan *plan) {
  if (!plan) return;
  struct gr_memory *memory = plan->arena.memory;
  gr_arena_release(&plan->arena);
  gr_memory_release(memory, plan);
}
