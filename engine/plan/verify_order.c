#include <string.h>

#include "engine/plan/plan_internal.h"

/* Who is ordered before whom: by the dag, by the captured graph, by streams with waits. For one step at a time its
 * ancestors in all three are marked, going through the steps backwards; the sets then tell whether the plan is right
 * for it. All steps are looked at as long as that visits at most visits_max steps and edges, else as many as fit,
 * spread evenly. */
static const uint64_t visits_max = UINT64_C(1) << 26;
enum { SAMPLES_LEAST = 16 };

enum relation { BY_DAG, BY_GRAPH, BY_STREAMS, RELATION_COUNT };
enum { DIRECT = 1, INDIRECT = 2 }; /* a predecessor; ordered before by a path of two edges or more */

struct look {
  const struct gr_plan *plan;
  uint32_t *lane_previous; /* step + 1; 0: none */
  uint8_t *marks[RELATION_COUNT];
  uint64_t false_count; /* of the steps looked at */
};

static void mark_before(struct look *look, enum relation relation, uint32_t step, uint8_t mark) {
  const struct gr_plan *plan = look->plan;
  uint8_t *marks = look->marks[relation];
  if (relation == BY_DAG) {
    uint32_t node = plan->steps[step].node_index;
    for (uint64_t k = plan->dag->predecessor_begin[node]; k < plan->dag->predecessor_begin[node + 1]; k++) {
      marks[plan->step_of_node[plan->dag->predecessors[k]]] |= mark;
    }
  } else if (relation == BY_GRAPH) {
    for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
      marks[plan->emitted[k]] |= mark;
    }
  } else {
    if (look->lane_previous[step] > 0) marks[look->lane_previous[step] - 1] |= mark;
    for (uint64_t k = plan->wait_begin[step]; k < plan->wait_begin[step + 1]; k++) {
      marks[plan->waits[k].for_step] |= mark;
    }
  }
}

static void mark_ancestors(struct look *look, enum relation relation, uint32_t step) {
  uint8_t *marks = look->marks[relation];
  memset(marks, 0, step);
  mark_before(look, relation, step, DIRECT);
  for (uint32_t at = step; at-- > 0;) {
    if (marks[at]) mark_before(look, relation, at, INDIRECT);
  }
}

static enum gr_status broken_pair(const struct look *look, uint32_t first, uint32_t second, const char *what,
                                  struct gr_error *error) {
  return gr_plan_error(look->plan, second, error, GR_ERR_INTERNAL, "the plan is broken: %s %s and %s", what,
                       gr_plan_node_name(look->plan, first), gr_plan_node_name(look->plan, second));
}

/* That the graph orders nothing more follows from its edges: all are the dag's, but for what the serial policy adds. */
static enum gr_status compare(const struct look *look, uint32_t step, struct gr_error *error) {
  for (uint32_t at = 0; at < step; at++) {
    if (!look->marks[BY_DAG][at]) continue;
    if (!look->marks[BY_GRAPH][at]) {
      return broken_pair(look, at, step, "the captured graph does not order", error);
    }
    if (!look->marks[BY_STREAMS][at]) return broken_pair(look, at, step, "the streams do not order", error);
  }
  return GR_OK;
}

static enum gr_status check_needed(const struct look *look, uint32_t step, struct gr_error *error) {
  const struct gr_plan *plan = look->plan;
  if (!plan->counts.reduction_is_complete) return GR_OK;
  for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
    if (look->marks[BY_GRAPH][plan->emitted[k]] & INDIRECT) {
      return broken_pair(look, plan->emitted[k], step, "another path enforces the edge between", error);
    }
  }
  for (uint64_t k = plan->wait_begin[step]; k < plan->wait_begin[step + 1]; k++) {
    if (look->marks[BY_STREAMS][plan->waits[k].for_step] & INDIRECT) {
      return broken_pair(look, plan->waits[k].for_step, step, "another path enforces the wait between", error);
    }
  }
  return GR_OK;
}

static enum gr_status look_at(struct look *look, uint32_t step, struct gr_error *error) {
  for (uint32_t relation = 0; relation < RELATION_COUNT; relation++) {
    mark_ancestors(look, (enum relation)relation, step);
  }
  uint32_t previous = look->lane_previous[step];
  if (previous > 0 && !look->marks[BY_DAG][previous - 1]) look->false_count++;
  GR_RETURN_IF_FAILED(compare(look, step, error));
  return check_needed(look, step, error);
}

static enum gr_status check_false(const struct look *look, struct gr_error *error) {
  const struct gr_plan_counts *counts = &look->plan->counts;
  bool is_right = counts->reduction_is_complete ? counts->false_edges_stream == look->false_count
                                                : counts->false_edges_stream >= look->false_count;
  if (is_right) return GR_OK;
  return gr_error_set(error, GR_ERR_INTERNAL, "the plan is broken: %llu false edges are counted, %llu were found",
                      (unsigned long long)counts->false_edges_stream, (unsigned long long)look->false_count);
}

static enum gr_status look_at_all(struct look *look, struct gr_error *error) {
  const struct gr_plan *plan = look->plan;
  uint32_t count = plan->step_count;
  uint64_t cost = (uint64_t)count + plan->dag->edge_count + plan->counts.emitted_edges + plan->counts.waits;
  uint64_t samples = visits_max / (cost + 1);
  if (samples < SAMPLES_LEAST) samples = SAMPLES_LEAST;
  bool is_exact = samples >= count;
  if (is_exact) samples = count;
  for (uint64_t i = 1; i <= samples; i++) {
    uint32_t step = (uint32_t)(i * count / samples) - 1; /* always the last one, too */
    GR_RETURN_IF_FAILED(look_at(look, step, error));
  }
  if (!is_exact) return GR_OK;
  GR_RETURN_IF_FAILED(check_false(look, error));
  bool is_minimal = plan->counts.wait_minimum != UINT64_MAX && plan->counts.reduction_is_complete;
  if (is_minimal && look->false_count == 0 && plan->counts.waits != plan->counts.wait_minimum) {
    return gr_error_set(error, GR_ERR_INTERNAL, "the plan is broken: %llu waits, and the minimum is said to be %llu",
                        (unsigned long long)plan->counts.waits, (unsigned long long)plan->counts.wait_minimum);
  }
  return GR_OK;
}

static bool find_lane_order(struct look *look, struct gr_memory *memory) {
  const struct gr_plan *plan = look->plan;
  uint32_t *last = gr_memory_allocate_zeroed(memory, plan->lane_count, sizeof *last);
  for (uint32_t step = 0; last && step < plan->step_count; step++) {
    look->lane_previous[step] = last[plan->steps[step].lane];
    last[plan->steps[step].lane] = step + 1;
  }
  gr_memory_release(memory, last);
  return last != NULL;
}

enum gr_status gr_plan_verify_order(struct gr_memory *memory, const struct gr_plan *plan, struct gr_error *error) {
  struct look look = {.plan = plan};
  look.lane_previous = gr_memory_allocate_zeroed(memory, plan->step_count, sizeof *look.lane_previous);
  bool done = look.lane_previous != NULL;
  for (uint32_t i = 0; i < RELATION_COUNT; i++) {
    look.marks[i] = gr_memory_allocate_zeroed(memory, plan->step_count, 1);
    if (!look.marks[i]) done = false;
  }
  if (done) done = find_lane_order(&look, memory);
  enum gr_status status = done ? look_at_all(&look, error) : gr_plan_no_memory(error);
  gr_memory_release(memory, look.lane_previous);
  for (uint32_t i = 0; i < RELATION_COUNT; i++) gr_memory_release(memory, look.marks[i]);
  return status;
}
