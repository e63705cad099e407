#include <string.h>

#include "engine/plan/plan_internal.h"

/* Why a plan is as it is: found anew when somebody asks, so that plans do not carry it. */

static const uint64_t reach_budget = UINT64_C(1) << 24;

const char *gr_plan_operation_name(uint8_t operation) {
  switch ((enum gr_operation)operation) {
    case GR_OPERATION_COPY:
      return "copy";
    case GR_OPERATION_FILL:
      return "fill";
    case GR_OPERATION_KERNEL:
    case GR_OPERATION_LAUNCH:
      return "kernel";
    case GR_OPERATION_HOST:
      return "host";
    case GR_OPERATION_EMPTY:
      break;
  }
  return "empty";
}

/* `listed_by` is zeroed, with an entry for every node. */
static void find_declared(const struct gr_plan *plan, uint32_t *listed_by, uint8_t *is_declared) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (plan->wait_begin[step] == plan->wait_begin[step + 1]) continue;
    const struct gr_node *node = &pipeline->nodes[plan->steps[step].node_index];
    for (uint32_t i = 0; i < node->after_count; i++) {
      listed_by[pipeline->after[node->first_after + i].node_index] = step + 1;
    }
    for (uint64_t k = plan->wait_begin[step]; k < plan->wait_begin[step + 1]; k++) {
      is_declared[k] = listed_by[plan->steps[plan->waits[k].for_step].node_index] == step + 1;
    }
  }
}

/* Keeps of the lanes' orders those that the dag lacks. */
static bool keep_false(const struct gr_plan *plan, struct gr_memory *memory, uint32_t *lane_previous) {
  struct gr_reach *reach = NULL;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (plan->steps[step].lane_order_is_emitted) lane_previous[step] = GR_PLAN_NONE;
    if (lane_previous[step] == GR_PLAN_NONE) continue;
    if (!reach) reach = gr_reach_create(memory, plan->dag, reach_budget);
    if (!reach) return false;
    uint32_t from = plan->steps[lane_previous[step]].node_index, to = plan->steps[step].node_index;
    if (gr_reach_path(reach, from, to) == GR_REACH_YES) lane_previous[step] = GR_PLAN_NONE;
  }
  gr_reach_destroy(reach);
  return true;
}

/* Under the serial policy lane order is emitted on purpose; what it orders beyond the dag is shown all the same. */
static void keep_added(const struct gr_plan *plan, uint32_t *lane_previous) {
  for (uint32_t step = 1; step < plan->step_count; step++) {
    uint32_t from = plan->steps[step - 1].node_index, to = plan->steps[step].node_index;
    if (gr_dag_has_edge(plan->dag, from, to)) lane_previous[step] = GR_PLAN_NONE;
  }
}

static bool find_false(const struct gr_plan *plan, struct gr_memory *memory, uint32_t *last, uint32_t *lane_previous) {
  memset(last, 0, (size_t)plan->lane_count * sizeof *last);
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t *of_lane = &last[plan->steps[step].lane];
    lane_previous[step] = *of_lane == 0 ? GR_PLAN_NONE : *of_lane - 1;
    *of_lane = step + 1;
  }
  if (plan->policy != GR_POLICY_SERIAL) return keep_false(plan, memory, lane_previous);
  keep_added(plan, lane_previous);
  return true;
}

bool gr_plan_find_reasons(const struct gr_plan *plan, struct gr_memory *memory, struct gr_plan_reasons *reasons) {
  size_t entries = (size_t)plan->step_count + 1;
  uint32_t *scratch = gr_memory_allocate_zeroed(memory, entries, sizeof *scratch);
  reasons->is_declared = gr_memory_allocate_zeroed(memory, plan->counts.waits, 1);
  reasons->lane_previous = gr_memory_allocate_zeroed(memory, entries, sizeof *reasons->lane_previous);
  bool done = scratch && reasons->is_declared && reasons->lane_previous;
  if (done) {
    find_declared(plan, scratch, reasons->is_declared);
    done = find_false(plan, memory, scratch, reasons->lane_previous);
  }
  gr_memory_release(memory, scratch);
  if (!done) gr_plan_release_reasons(memory, reasons);
  return done;
}

void gr_plan_release_reasons(struct gr_memory *memory, struct gr_plan_reasons *reasons) {
  gr_memory_release(memory, reasons->is_declared);
  gr_memory_release(memory, reasons->lane_previous);
  memset(reasons, 0, sizeof *reasons);
}

/* The first conflict between two nodes, as (how the later one uses it, how the earlier one does, buffer). */
static bool find_conflict(const struct gr_plan *plan, const struct gr_node *later, const struct gr_node *earlier,
                          uint32_t use[2], const char **buffer) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  for (uint32_t i = 0; i < later->access_count; i++) {
    const struct gr_node_access *a = &pipeline->accesses[later->first_access + i];
    for (uint32_t k = 0; k < earlier->access_count; k++) {
      const struct gr_node_access *b = &pipeline->accesses[earlier->first_access + k];
      if (!((a->access | b->access) & GR_ACCESS_WRITE)) continue;
      const struct gr_reference *reference = &pipeline->references[a->reference_index];
      if (!gr_reference_overlaps(reference, &pipeline->references[b->reference_index])) continue;
      use[0] = a->access;
      use[1] = b->access;
      *buffer = pipeline->buffers[reference->buffer_index].name;
      return true;
    }
  }
  return false;
}

static const char *use_name(uint32_t access) {
  if (access == GR_ACCESS_READ) return "reads";
  return access == GR_ACCESS_WRITE ? "writes" : "updates";
}

void gr_plan_append_reason(const struct gr_plan *plan, const struct gr_plan_reasons *reasons, uint64_t wait_index,
                           struct gr_text *out) {
  const struct gr_wait *wait = &plan->waits[wait_index];
  const struct gr_node *later = &plan->pipeline->nodes[plan->steps[wait->step].node_index];
  const struct gr_node *earlier = &plan->pipeline->nodes[plan->steps[wait->for_step].node_index];
  const char *buffer = "";
  uint32_t use[2] = {0, 0};
  bool conflicts = find_conflict(plan, later, earlier, use, &buffer);
  bool is_declared = reasons->is_declared[wait_index];
  if (is_declared) gr_text_append_text(out, "listed in after");
  if (is_declared && conflicts) gr_text_append_text(out, "; ");
  if (conflicts) {
    gr_text_append_format(out, "%s ", use_name(use[0]));
    gr_pipeline_append_name(out, buffer);
    gr_text_append_text(out, ", which ");
    gr_pipeline_append_name(out, earlier->name);
    gr_text_append_format(out, " %s", use_name(use[1]));
  }
  if (!is_declared && !conflicts) gr_text_append_text(out, "an edge of the graph");
}
