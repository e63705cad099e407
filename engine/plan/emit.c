#include <string.h>

#include "engine/plan/plan_internal.h"

/* Which edges the captured graph holds: the dag's without redundant ones; under the serial policy one line instead. */

/* Turns counts in begin[1..] into starts; filling then moves each start to its end, and `settle` moves them back. */
static void sum_up(uint64_t *begin, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) begin[i + 1] += begin[i];
}

static void settle(uint64_t *begin, uint32_t count) {
  memmove(begin + 1, begin, count * sizeof *begin);
  begin[0] = 0;
}

/* Filled by ascending target, so the successors of each step ascend. */
static void fill_after(struct gr_plan_draft *draft, const uint8_t *is_redundant) {
  const struct gr_plan *plan = draft->plan;
  const struct gr_dag *dag = plan->dag;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t node = plan->steps[step].node_index;
    for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
      if (is_redundant[k]) continue;
      uint32_t from = plan->step_of_node[dag->predecessors[k]];
      draft->after.items[draft->after.begin[from]++] = step;
    }
  }
  settle(draft->after.begin, plan->step_count);
}

static void fill_before(struct gr_plan_draft *draft) {
  uint32_t count = draft->plan->step_count;
  for (uint32_t step = 0; step < count; step++) {
    for (uint64_t k = draft->after.begin[step]; k < draft->after.begin[step + 1]; k++) {
      uint32_t to = draft->after.items[k];
      draft->before.items[draft->before.begin[to]++] = step;
    }
  }
  settle(draft->before.begin, count);
}

static bool allocate_links(struct gr_plan_draft *draft, uint64_t edge_count) {
  struct gr_arena *arena = &draft->plan->arena;
  size_t entries = (size_t)draft->plan->step_count + 1;
  draft->before.begin = gr_arena_allocate_zeroed(arena, entries, sizeof *draft->before.begin);
  draft->before.items = gr_arena_allocate_zeroed(arena, edge_count, sizeof *draft->before.items);
  draft->plan->emitted_begin = draft->before.begin;
  draft->plan->emitted = draft->before.items;
  draft->plan->counts.emitted_edges = edge_count;
  return draft->before.begin && draft->before.items;
}

static bool emit_needed(struct gr_plan_draft *draft, const uint8_t *is_redundant) {
  struct gr_plan *plan = draft->plan;
  const struct gr_dag *dag = plan->dag;
  uint64_t redundant = 0;
  for (uint64_t k = 0; k < dag->edge_count; k++) redundant += is_redundant[k];
  uint64_t needed = dag->edge_count - redundant;
  plan->counts.redundant_edges = redundant;
  draft->after.begin = gr_memory_allocate_zeroed(draft->memory, (size_t)plan->step_count + 1, sizeof(uint64_t));
  draft->after.items = gr_memory_allocate_zeroed(draft->memory, needed, sizeof(uint32_t));
  if (!draft->after.begin || !draft->after.items || !allocate_links(draft, needed)) return false;
  for (uint32_t node = 0; node < plan->step_count; node++) {
    for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
      if (is_redundant[k]) continue;
      draft->after.begin[plan->step_of_node[dag->predecessors[k]] + 1]++;
      draft->before.begin[plan->step_of_node[node] + 1]++;
    }
  }
  sum_up(draft->after.begin, plan->step_count);
  sum_up(draft->before.begin, plan->step_count);
  fill_after(draft, is_redundant);
  fill_before(draft);
  return true;
}

static bool emit_line(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  uint32_t count = plan->step_count;
  if (!allocate_links(draft, count > 0 ? count - 1 : 0)) return false;
  for (uint32_t step = 1; step < count; step++) {
    draft->before.begin[step + 1] = step;
    draft->before.items[step - 1] = step - 1;
    /* Neighbours in a topological order are ordered by the dag exactly when there is an edge between them. */
    bool is_edge = gr_dag_has_edge(plan->dag, plan->steps[step - 1].node_index, plan->steps[step].node_index);
    if (!is_edge) plan->counts.order_edges++;
  }
  plan->counts.redundant_edges = plan->dag->edge_count + plan->counts.order_edges - plan->counts.emitted_edges;
  return true;
}

bool gr_plan_emit(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  plan->counts.declared_edges = plan->dag->edge_count;
  plan->counts.reduction_is_complete = true;
  if (plan->policy == GR_POLICY_SERIAL) return emit_line(draft);
  uint8_t *is_redundant = gr_memory_allocate_zeroed(draft->memory, plan->dag->edge_count, 1);
  bool done = is_redundant && gr_plan_reduce(draft->memory, plan->dag, draft->budget, is_redundant,
                                             &plan->counts.reduction_is_complete);
  if (done) done = emit_needed(draft, is_redundant);
  gr_memory_release(draft->memory, is_redundant);
  return done;
}
