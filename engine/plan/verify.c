#include <string.h>

#include "engine/plan/plan_internal.h"

/* What each field must be, from dag, pipeline and the other fields. Linear. Who orders whom is verify_order.c's. */

static const char *name_of(const struct gr_plan *plan, uint32_t step) { return gr_plan_node_name(plan, step); }

static enum gr_status broken_count(struct gr_error *error, const char *what, uint64_t got, uint64_t want) {
  return gr_error_set(error, GR_ERR_INTERNAL, "the plan is broken: %s is %llu and should be %llu", what,
                      (unsigned long long)got, (unsigned long long)want);
}

static enum gr_status broken_step(const struct gr_plan *plan, uint32_t step, struct gr_error *error, const char *what) {
  return gr_plan_error(plan, step, error, GR_ERR_INTERNAL, "the plan is broken: %s of step %u (%s)", what, step,
                       name_of(plan, step));
}

static enum gr_status expect_count(struct gr_error *error, const char *what, uint64_t got, uint64_t want) {
  return got == want ? GR_OK : broken_count(error, what, got, want);
}

/* First of all, since everything else uses these as indexes. */
static enum gr_status check_numbering(const struct gr_plan *plan, struct gr_error *error) {
  GR_RETURN_IF_FAILED(expect_count(error, "the number of steps", plan->step_count, plan->dag->node_count));
  GR_RETURN_IF_FAILED(
      expect_count(error, "the number of the dag's nodes", plan->dag->node_count, plan->pipeline->node_count));
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t node = plan->steps[step].node_index;
    if (node >= plan->step_count) return broken_count(error, "a step's node", node, plan->step_count - 1);
    GR_RETURN_IF_FAILED(expect_count(error, "the step of a node", plan->step_of_node[node], step));
  }
  return GR_OK;
}

static enum gr_status check_levels(const struct gr_plan *plan, uint32_t *in_level, struct gr_error *error) {
  const struct gr_dag *dag = plan->dag;
  uint32_t level_count = 0, width = 0;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t node = plan->steps[step].node_index, level = 0;
    for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
      uint32_t before = plan->step_of_node[dag->predecessors[k]];
      if (before >= step) return broken_step(plan, step, error, "a predecessor is issued behind it; order");
      if (plan->steps[before].level + 1 > level) level = plan->steps[before].level + 1;
    }
    if (plan->steps[step].level != level) return broken_step(plan, step, error, "level");
    if (level + 1 > level_count) level_count = level + 1;
    if (++in_level[level] > width) width = in_level[level];
  }
  GR_RETURN_IF_FAILED(expect_count(error, "the number of levels", plan->level_count, level_count));
  GR_RETURN_IF_FAILED(expect_count(error, "the width", plan->width, width));
  return GR_OK;
}

static uint8_t operation_of(const struct gr_node *node) {
  if (node->is_no_op || node->kind == GR_NODE_BARRIER) return GR_OPERATION_EMPTY;
  if (node->kind == GR_NODE_COPY) return GR_OPERATION_COPY;
  if (node->kind == GR_NODE_LAUNCH) return GR_OPERATION_LAUNCH;
  if (node->kind == GR_NODE_HOST) return GR_OPERATION_HOST;
  return node->kind == GR_NODE_FILL ? GR_OPERATION_FILL : GR_OPERATION_KERNEL;
}

static enum gr_status check_steps(const struct gr_plan *plan, uint32_t *in_lane, struct gr_error *error) {
  uint64_t join_steps = 0;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    const struct gr_step *at = &plan->steps[step];
    if (at->lane >= plan->lane_count) return broken_step(plan, step, error, "lane");
    in_lane[at->lane]++;
    if (at->operation != operation_of(&plan->pipeline->nodes[at->node_index])) {
      return broken_step(plan, step, error, "operation");
    }
    join_steps += at->operation == GR_OPERATION_EMPTY;
  }
  for (uint32_t lane = 0; lane < plan->lane_count; lane++) {
    if (in_lane[lane] == 0 && plan->step_count > 0) return broken_count(error, "a lane without steps", lane, 0);
  }
  GR_RETURN_IF_FAILED(expect_count(error, "the number of join steps", plan->counts.join_steps, join_steps));
  if (plan->options.lane_max > 0 && plan->lane_count > plan->options.lane_max) {
    return broken_count(error, "the number of lanes", plan->lane_count, plan->options.lane_max);
  }
  return GR_OK;
}

static enum gr_status check_emitted_of(const struct gr_plan *plan, uint32_t step, uint64_t *order_edges,
                                       struct gr_error *error) {
  for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
    uint32_t before = plan->emitted[k];
    if (before >= step) return broken_step(plan, step, error, "an emitted predecessor");
    if (k > plan->emitted_begin[step] && plan->emitted[k - 1] >= before) {
      return broken_step(plan, step, error, "the emitted predecessors do not ascend; those");
    }
    if (gr_dag_has_edge(plan->dag, plan->steps[before].node_index, plan->steps[step].node_index)) continue;
    if (plan->policy != GR_POLICY_SERIAL || before + 1 != step) {
      return broken_step(plan, step, error, "an emitted predecessor that the dag lacks");
    }
    ++*order_edges;
  }
  return GR_OK;
}

static enum gr_status check_emitted(const struct gr_plan *plan, struct gr_error *error) {
  const struct gr_plan_counts *counts = &plan->counts;
  uint64_t order_edges = 0;
  GR_RETURN_IF_FAILED(expect_count(error, "the first emitted edge", plan->emitted_begin[0], 0));
  GR_RETURN_IF_FAILED(
      expect_count(error, "the number of emitted edges", counts->emitted_edges, plan->emitted_begin[plan->step_count]));
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (plan->emitted_begin[step] > plan->emitted_begin[step + 1]) return broken_step(plan, step, error, "edges");
  }
  for (uint32_t step = 0; step < plan->step_count; step++) {
    GR_RETURN_IF_FAILED(check_emitted_of(plan, step, &order_edges, error));
  }
  GR_RETURN_IF_FAILED(expect_count(error, "the number of order edges", counts->order_edges, order_edges));
  GR_RETURN_IF_FAILED(
      expect_count(error, "the number of declared edges", counts->declared_edges, plan->dag->edge_count));
  GR_RETURN_IF_FAILED(expect_count(error, "the number of redundant edges", counts->redundant_edges,
                                   counts->declared_edges + order_edges - counts->emitted_edges));
  return GR_OK;
}

/* `is_followed` is zeroed. */
static enum gr_status check_sinks(const struct gr_plan *plan, uint8_t *is_followed, struct gr_error *error) {
  uint32_t count = 0;
  for (uint64_t k = 0; k < plan->counts.emitted_edges; k++) is_followed[plan->emitted[k]] = 1;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (is_followed[step]) continue;
    if (count >= plan->sink_count || plan->sinks[count] != step) {
      return broken_step(plan, step, error, "nothing follows it and it is no sink; edges");
    }
    count++;
  }
  GR_RETURN_IF_FAILED(expect_count(error, "the number of sinks", plan->sink_count, count));
  return GR_OK;
}

/* `is_waited_for` is zeroed. */
static enum gr_status check_waits(const struct gr_plan *plan, uint8_t *is_waited_for, struct gr_error *error) {
  GR_RETURN_IF_FAILED(expect_count(error, "the first wait", plan->wait_begin[0], 0));
  GR_RETURN_IF_FAILED(
      expect_count(error, "the number of waits", plan->counts.waits, plan->wait_begin[plan->step_count]));
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (plan->wait_begin[step] > plan->wait_begin[step + 1]) return broken_step(plan, step, error, "waits");
    for (uint64_t k = plan->wait_begin[step]; k < plan->wait_begin[step + 1]; k++) {
      const struct gr_wait *wait = &plan->waits[k];
      if (wait->step != step || wait->for_step >= step || plan->steps[wait->for_step].lane == plan->steps[step].lane) {
        return broken_step(plan, step, error, "a wait");
      }
      if (k > plan->wait_begin[step] && plan->waits[k - 1].for_step >= wait->for_step) {
        return broken_step(plan, step, error, "the waits do not ascend; those");
      }
      is_waited_for[wait->for_step] = 1;
    }
  }
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (plan->steps[step].is_recorded != (is_waited_for[step] != 0)) {
      return broken_step(plan, step, error, "is_recorded");
    }
  }
  return GR_OK;
}

/* `previous` is zeroed, with an entry for every lane. */
static enum gr_status check_lane_order(const struct gr_plan *plan, uint32_t *previous, struct gr_error *error) {
  uint64_t lane_edges = 0;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t *last = &previous[plan->steps[step].lane]; /* step + 1, 0 where there is none */
    bool is_emitted = *last == 0 && plan->emitted_begin[step] == plan->emitted_begin[step + 1];
    for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
      if (plan->emitted[k] + 1 != *last) continue;
      is_emitted = true;
      lane_edges++;
    }
    if (plan->steps[step].lane_order_is_emitted != is_emitted) {
      return broken_step(plan, step, error, "lane_order_is_emitted");
    }
    *last = step + 1;
  }
  GR_RETURN_IF_FAILED(expect_count(error, "the number of lane edges", plan->counts.lane_edges, lane_edges));
  return GR_OK;
}

/* The layout keeps the order of the file, so a buffer that starts behind the end of the one before overlaps nothing. */
static enum gr_status check_slots(const struct gr_plan *plan, uint64_t ends[GR_PLACE_COUNT], struct gr_error *error) {
  for (uint32_t i = 0; i < plan->pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &plan->pipeline->buffers[i];
    const struct gr_slot *slot = &plan->slots[i];
    uint64_t *end = &ends[buffer->place];
    bool is_aligned = slot->size_bytes == 0 || slot->offset_bytes % GR_PLAN_ALIGNMENT_BYTES == 0;
    if (slot->size_bytes != buffer->size_bytes || slot->offset_bytes < *end || !is_aligned ||
        __builtin_add_overflow(slot->offset_bytes, slot->size_bytes, end) || *end > INT64_MAX) {
      gr_error_set(error, GR_ERR_INTERNAL, "the plan is broken: the slot of buffer %s", buffer->name);
      gr_error_node(error, buffer->name);
      return GR_ERR_INTERNAL;
    }
  }
  return GR_OK;
}

static uint64_t scratch_wanted(const struct gr_plan *plan, uint32_t step) {
  const struct gr_node *node = &plan->pipeline->nodes[plan->steps[step].node_index];
  return node->kind == GR_NODE_KERNEL && !node->is_no_op ? node->kernel.scratch_bytes : 0;
}

static enum gr_status check_memory(const struct gr_plan *plan, struct gr_error *error) {
  uint64_t ends[GR_PLACE_COUNT] = {0};
  GR_RETURN_IF_FAILED(check_slots(plan, ends, error));
  uint64_t *end = &ends[GR_PLACE_DEVICE];
  uint64_t start = plan->scratch_offset;
  if (start < *end) return broken_count(error, "the offset of the scratch", start, *end);
  if (plan->scratch_bytes > 0) *end = start;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint64_t wanted = scratch_wanted(plan, step), offset = plan->scratch_of_step[step];
    if ((wanted == 0) != (offset == UINT64_MAX)) return broken_step(plan, step, error, "scratch");
    if (wanted == 0) continue;
    if (offset % GR_PLAN_ALIGNMENT_BYTES != 0 || offset < *end || __builtin_add_overflow(offset, wanted, end)) {
      return broken_step(plan, step, error, "the place of scratch");
    }
  }
  GR_RETURN_IF_FAILED(expect_count(error, "the size of the scratch", plan->scratch_bytes, *end - start));
  for (uint32_t place = 0; place < GR_PLACE_COUNT; place++) {
    GR_RETURN_IF_FAILED(
        expect_count(error, gr_place_name((enum gr_place)place), plan->region_bytes[place], ends[place]));
  }
  return GR_OK;
}

static enum gr_status check_fields(const struct gr_plan *plan, uint32_t *scratch, size_t scratch_bytes,
                                   struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_levels(plan, scratch, error));
  memset(scratch, 0, scratch_bytes);
  GR_RETURN_IF_FAILED(check_steps(plan, scratch, error));
  GR_RETURN_IF_FAILED(check_emitted(plan, error));
  memset(scratch, 0, scratch_bytes);
  GR_RETURN_IF_FAILED(check_sinks(plan, (uint8_t *)scratch, error));
  memset(scratch, 0, scratch_bytes);
  GR_RETURN_IF_FAILED(check_waits(plan, (uint8_t *)scratch, error));
  memset(scratch, 0, scratch_bytes);
  GR_RETURN_IF_FAILED(check_lane_order(plan, scratch, error));
  return check_memory(plan, error);
}

enum gr_status gr_plan_verify(struct gr_memory *memory, const struct gr_plan *plan, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_numbering(plan, error));
  uint32_t lanes_most = plan->step_count > 0 ? plan->step_count : 1;
  if (plan->lane_count == 0 || plan->lane_count > lanes_most) {
    return broken_count(error, "the number of lanes", plan->lane_count, lanes_most);
  }
  size_t entries = (size_t)plan->step_count + 1; /* enough for steps, levels and lanes */
  uint32_t *scratch = gr_memory_allocate_zeroed(memory, entries, sizeof *scratch);
  if (!scratch) return gr_plan_no_memory(error);
  enum gr_status status = check_fields(plan, scratch, entries * sizeof *scratch, error);
  gr_memory_release(memory, scratch);
  return status == GR_OK ? gr_plan_verify_order(memory, plan, error) : status;
}
