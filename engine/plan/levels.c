#include "engine/plan/plan_internal.h"

/* Steps are numbered level by level, so that a back end that issues them in order starts first what may run first;
 * within a level in the dag's order, which is the file's. One lane needs no levels: there the file's order stays. */

static uint8_t operation_of(const struct gr_node *node) {
  if (node->is_no_op) return GR_OPERATION_EMPTY;
  switch ((enum gr_node_kind)node->kind) {
    case GR_NODE_COPY:
      return GR_OPERATION_COPY;
    case GR_NODE_FILL:
      return GR_OPERATION_FILL;
    case GR_NODE_KERNEL:
      return GR_OPERATION_KERNEL;
    case GR_NODE_LAUNCH:
      return GR_OPERATION_LAUNCH;
    case GR_NODE_HOST:
      return GR_OPERATION_HOST;
    case GR_NODE_BARRIER:
      break;
  }
  return GR_OPERATION_EMPTY;
}

static void number(struct gr_plan_draft *draft, uint32_t step, uint32_t node, uint32_t *step_of_node) {
  struct gr_plan *plan = draft->plan;
  step_of_node[node] = step;
  draft->steps[step].node_index = node;
  draft->steps[step].level = plan->dag->level[node];
  draft->steps[step].operation = operation_of(&plan->pipeline->nodes[node]);
  if (draft->steps[step].operation == GR_OPERATION_EMPTY) plan->counts.join_steps++;
}

bool gr_plan_number_steps(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  const struct gr_dag *dag = plan->dag;
  uint32_t *step_of_node = gr_arena_allocate_zeroed(&plan->arena, dag->node_count, sizeof *step_of_node);
  draft->steps = gr_arena_allocate_zeroed(&plan->arena, dag->node_count, sizeof *draft->steps);
  uint32_t *next = gr_memory_allocate_zeroed(draft->memory, (size_t)dag->level_count + 1, sizeof *next);
  if (!step_of_node || !draft->steps || !next) {
    gr_memory_release(draft->memory, next);
    return false;
  }
  plan->step_count = dag->node_count;
  plan->level_count = dag->level_count;
  plan->steps = draft->steps;
  plan->step_of_node = step_of_node;
  for (uint32_t i = 0; i < dag->node_count; i++) next[dag->level[i] + 1]++;
  for (uint32_t i = 0; i < dag->level_count; i++) {
    if (next[i + 1] > plan->width) plan->width = next[i + 1];
    next[i + 1] += next[i];
  }
  for (uint32_t i = 0; i < dag->node_count; i++) {
    uint32_t node = dag->order[i];
    number(draft, plan->policy == GR_POLICY_SERIAL ? i : next[dag->level[node]]++, node, step_of_node);
  }
  gr_memory_release(draft->memory, next);
  return true;
}
