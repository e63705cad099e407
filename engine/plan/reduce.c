#include <string.h>

#include "engine/plan/plan_internal.h"

/* Transitive reduction. An edge u -> v is redundant when u reaches another predecessor of v. Three cuts leave few edges
 * to look at: the longest path from u to v must have two edges at least, u must have a second successor, v a second
 * predecessor. Of those, the few of one node are asked one by one, from both ends (gr_reach); many at once are settled
 * by one walk backwards from v, along edges that are known to be needed, no deeper than the lowest of them.
 *
 * A dag has exactly one reduction, so edges may be judged in any order and dropped together. */
enum { ASK_MAX = 4 };

struct reduction {
  struct gr_memory *memory;
  const struct gr_dag *dag;
  struct gr_reach *reach;
  uint8_t *is_redundant;
  uint64_t budget;
  bool is_complete;
  uint32_t *mark; /* the node for which it was last met */
  uint32_t *stack;
  uint64_t *candidates; /* positions in dag->predecessors */
  uint64_t candidate_count;
};

static uint64_t degree(const uint64_t *begin, uint32_t node) { return begin[node + 1] - begin[node]; }

bool gr_plan_may_be_redundant(const struct gr_dag *dag, uint32_t from, uint32_t to) {
  return dag->level[to] - dag->level[from] >= 2 && degree(dag->successor_begin, from) >= 2 &&
         degree(dag->predecessor_begin, to) >= 2;
}

static void find_candidates(struct reduction *reduction, uint32_t node) {
  const struct gr_dag *dag = reduction->dag;
  reduction->candidate_count = 0;
  for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
    if (gr_plan_may_be_redundant(dag, dag->predecessors[k], node))
      reduction->candidates[reduction->candidate_count++] = k;
  }
}

static void ask(struct reduction *reduction, uint32_t node, uint64_t edge) {
  const struct gr_dag *dag = reduction->dag;
  uint32_t from = dag->predecessors[edge];
  for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
    uint32_t other = dag->predecessors[k];
    if (dag->level[other] <= dag->level[from]) continue;
    if (reduction->budget == 0) {
      reduction->is_complete = false;
      return;
    }
    reduction->budget--;
    enum gr_reach_answer answer = gr_reach_path(reduction->reach, from, other);
    if (answer == GR_REACH_UNKNOWN) reduction->is_complete = false;
    if (answer != GR_REACH_YES) continue;
    reduction->is_redundant[edge] = 1;
    return;
  }
}

static uint32_t lowest_level(const struct reduction *reduction) {
  uint32_t lowest = UINT32_MAX;
  for (uint64_t i = 0; i < reduction->candidate_count; i++) {
    uint32_t level = reduction->dag->level[reduction->dag->predecessors[reduction->candidates[i]]];
    if (level < lowest) lowest = level;
  }
  return lowest;
}

/* Marks the needed predecessors of `at` that may be, or have behind them, a candidate of `node`. */
static uint32_t step_back(struct reduction *reduction, uint32_t node, uint32_t at, uint32_t lowest, uint32_t count) {
  const struct gr_dag *dag = reduction->dag;
  for (uint64_t k = dag->predecessor_begin[at]; k < dag->predecessor_begin[at + 1]; k++) {
    uint32_t before = dag->predecessors[k];
    if (reduction->budget > 0) reduction->budget--;
    if (reduction->is_redundant[k] || dag->level[before] < lowest) continue;
    if (reduction->mark[before] == node + 1) continue;
    reduction->mark[before] = node + 1;
    if (dag->level[before] > lowest) reduction->stack[count++] = before;
  }
  return count;
}

static void walk_back(struct reduction *reduction, uint32_t node) {
  const struct gr_dag *dag = reduction->dag;
  uint32_t lowest = lowest_level(reduction), count = 0;
  for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1] && reduction->budget > 0; k++) {
    if (dag->level[dag->predecessors[k]] > lowest) {
      count = step_back(reduction, node, dag->predecessors[k], lowest, count);
    }
  }
  while (count > 0 && reduction->budget > 0) {
    uint32_t at = reduction->stack[--count];
    count = step_back(reduction, node, at, lowest, count);
  }
  if (reduction->budget == 0) reduction->is_complete = false;
  for (uint64_t i = 0; i < reduction->candidate_count; i++) {
    uint64_t edge = reduction->candidates[i];
    if (reduction->mark[dag->predecessors[edge]] == node + 1) reduction->is_redundant[edge] = 1;
  }
}

static void reduce_all(struct reduction *reduction) {
  const struct gr_dag *dag = reduction->dag;
  for (uint32_t i = 0; i < dag->node_count; i++) {
    uint32_t node = dag->order[i];
    find_candidates(reduction, node);
    if (reduction->candidate_count > ASK_MAX) {
      walk_back(reduction, node);
      continue;
    }
    for (uint64_t k = 0; k < reduction->candidate_count; k++) ask(reduction, node, reduction->candidates[k]);
  }
}

/* How many candidates one node has at most; 0: there is nothing to do. */
static uint64_t most_candidates(const struct gr_dag *dag) {
  uint64_t most = 0;
  for (uint32_t node = 0; node < dag->node_count; node++) {
    uint64_t count = 0;
    for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
      if (gr_plan_may_be_redundant(dag, dag->predecessors[k], node)) count++;
    }
    if (count > most) most = count;
  }
  return most;
}

/* `most`: as most_candidates counts them, not 0. */
static bool search(struct gr_memory *memory, const struct gr_dag *dag, uint64_t most, uint64_t budget,
                   uint8_t *is_redundant, bool *is_complete) {
  struct reduction reduction = {.memory = memory, .dag = dag, .is_redundant = is_redundant, .is_complete = true};
  reduction.budget = budget;
  reduction.reach = gr_reach_create(memory, dag, budget);
  reduction.mark = gr_memory_allocate_zeroed(memory, dag->node_count, sizeof *reduction.mark);
  reduction.stack = gr_memory_allocate_zeroed(memory, dag->node_count, sizeof *reduction.stack);
  reduction.candidates = gr_memory_allocate_zeroed(memory, most, sizeof *reduction.candidates);
  bool done = reduction.reach && reduction.mark && reduction.stack && reduction.candidates;
  if (done) reduce_all(&reduction);
  gr_reach_destroy(reduction.reach);
  gr_memory_release(memory, reduction.mark);
  gr_memory_release(memory, reduction.stack);
  gr_memory_release(memory, reduction.candidates);
  if (!reduction.is_complete) *is_complete = false;
  return done;
}

bool gr_plan_reduce(struct gr_memory *memory, const struct gr_dag *dag, uint64_t budget, uint8_t *is_redundant,
                    bool *is_complete) {
  memset(is_redundant, 0, dag->edge_count);
  uint64_t most = most_candidates(dag);
  if (most == 0) return true;
  bool is_affordable = false;
  if (!gr_plan_reduce_by_blocks(memory, dag, budget, is_redundant, &is_affordable)) return false;
  return is_affordable || search(memory, dag, most, budget, is_redundant, is_complete);
}
