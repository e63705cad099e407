#include <inttypes.h>

#include "engine/plan/plan_internal.h"

static void append_step(struct gr_text *out, const struct gr_plan *plan, uint32_t step) {
  gr_pipeline_append_name(out, gr_plan_node_name(plan, step));
}

static void show_head(const struct gr_plan *plan, struct gr_text *out) {
  const struct gr_plan_counts *counts = &plan->counts;
  gr_text_append_text(out, "plan of ");
  gr_pipeline_append_name(out, plan->pipeline->name);
  gr_text_append_format(out, "\n  policy   %s", gr_policy_name(plan->policy));
  if (plan->policy != plan->options.policy) {
    gr_text_append_format(out, " (%s was asked for; it needs measured times, and there are none)",
                          gr_policy_name(plan->options.policy));
  }
  gr_text_append_format(out, "\n  steps    %" PRIu32 "\n  levels   %" PRIu32 " (widest %" PRIu32 ")\n",
                        plan->step_count, plan->level_count, plan->width);
  gr_text_append_format(out, "  joins    %" PRIu64 "\n", counts->join_steps);
  gr_text_append_format(out, "  streams  %" PRIu32 "\n", plan->lane_count);
  gr_text_append_format(out,
                        "  edges    declared %" PRIu64 ", redundant %" PRIu64 ", added %" PRIu64 ", emitted %" PRIu64
                        " (%" PRIu64 " by stream order)\n",
                        counts->declared_edges, counts->redundant_edges, counts->order_edges, counts->emitted_edges,
                        counts->lane_edges);
  gr_text_append_format(out, "  false    %" PRIu64 "\n", counts->false_edges_stream);
  gr_text_append_format(out, "  waits    %" PRIu64, counts->waits);
  if (counts->wait_minimum != UINT64_MAX) {
    gr_text_append_format(out, " (at full concurrency at least %" PRIu64 ")", counts->wait_minimum);
  }
  gr_text_append_text(out, "\n");
  if (!counts->reduction_is_complete) {
    gr_text_append_text(out, "  The search for redundant edges stopped at its budget: some may be left.\n");
  }
}

static void show_operation(const struct gr_plan *plan, uint32_t step, struct gr_text *out) {
  const struct gr_node *node = &plan->pipeline->nodes[plan->steps[step].node_index];
  gr_text_append_text(out, gr_node_kind_name((enum gr_node_kind)node->kind));
  if (node->kind == GR_NODE_KERNEL) gr_text_append_format(out, " %s", node->kernel.kernel->name);
  if (node->kind == GR_NODE_LAUNCH) gr_text_append_format(out, " %s", node->launch.kernel->name);
  if (node->kind == GR_NODE_HOST) gr_text_append_format(out, " %s", node->host.function->entry);
  if (node->is_no_op) gr_text_append_text(out, " (no_op)");
}

/* Steps of one level lie side by side, but for the serial policy, where each line is a step in order of issue. */
static void show_levels(const struct gr_plan *plan, struct gr_text *out) {
  gr_text_append_text(out, "levels\n");
  for (uint32_t step = 0; step < plan->step_count; step++) {
    gr_text_append_format(out, "  %" PRIu32 "  stream %" PRIu32 "  ", plan->steps[step].level, plan->steps[step].lane);
    append_step(out, plan, step);
    gr_text_append_text(out, "  ");
    show_operation(plan, step, out);
    for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
      gr_text_append_text(out, k == plan->emitted_begin[step] ? "  after " : ", ");
      append_step(out, plan, plan->emitted[k]);
    }
    gr_text_append_text(out, "\n");
  }
}

/* Steps by lane: a counting sort. */
static bool show_streams(const struct gr_plan *plan, struct gr_memory *memory, struct gr_text *out) {
  uint32_t *begin = gr_memory_allocate_zeroed(memory, (size_t)plan->lane_count + 2, sizeof *begin);
  uint32_t *steps = gr_memory_allocate_zeroed(memory, plan->step_count, sizeof *steps);
  bool done = begin && steps;
  if (done) {
    for (uint32_t step = 0; step < plan->step_count; step++) begin[plan->steps[step].lane + 2]++;
    for (uint32_t lane = 0; lane < plan->lane_count; lane++) begin[lane + 2] += begin[lane + 1];
    for (uint32_t step = 0; step < plan->step_count; step++) steps[begin[plan->steps[step].lane + 1]++] = step;
    gr_text_append_text(out, "streams\n");
    for (uint32_t lane = 0; lane < plan->lane_count; lane++) {
      gr_text_append_format(out, "  %" PRIu32 "  ", lane);
      for (uint32_t i = begin[lane]; i < begin[lane + 1]; i++) {
        if (i > begin[lane]) gr_text_append_text(out, ", ");
        append_step(out, plan, steps[i]);
      }
      gr_text_append_text(out, "\n");
    }
  }
  gr_memory_release(memory, begin);
  gr_memory_release(memory, steps);
  return done;
}

static void show_waits(const struct gr_plan *plan, const struct gr_plan_reasons *reasons, struct gr_text *out) {
  if (plan->counts.waits == 0) return;
  gr_text_append_text(out, "waits\n");
  for (uint64_t k = 0; k < plan->counts.waits; k++) {
    const struct gr_wait *wait = &plan->waits[k];
    gr_text_append_text(out, "  ");
    append_step(out, plan, wait->step);
    gr_text_append_format(out, " (stream %" PRIu32 ") waits for ", plan->steps[wait->step].lane);
    append_step(out, plan, wait->for_step);
    gr_text_append_format(out, " (stream %" PRIu32 "): ", plan->steps[wait->for_step].lane);
    gr_plan_append_reason(plan, reasons, k, out);
    gr_text_append_text(out, "\n");
  }
}

static void show_false(const struct gr_plan *plan, const struct gr_plan_reasons *reasons, struct gr_text *out) {
  if (plan->counts.false_edges_stream == 0) return;
  gr_text_append_text(out, plan->policy == GR_POLICY_SERIAL
                               ? "false edges, in every mode, since one stream was asked for\n"
                               : "false edges, of plain streams only: the captured graph does not have them\n");
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (reasons->lane_previous[step] == GR_PLAN_NONE) continue;
    gr_text_append_text(out, "  ");
    append_step(out, plan, step);
    gr_text_append_text(out, " stands behind ");
    append_step(out, plan, reasons->lane_previous[step]);
    gr_text_append_format(out, " on stream %" PRIu32 "\n", plan->steps[step].lane);
  }
}

static void show_redundant(const struct gr_plan *plan, struct gr_text *out) {
  const struct gr_dag *dag = plan->dag;
  if (plan->counts.redundant_edges == 0) return;
  gr_text_append_text(out, "redundant edges, left out since other paths enforce them\n");
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint32_t node = plan->steps[step].node_index;
    uint64_t first = plan->emitted_begin[step], count = plan->emitted_begin[step + 1] - first;
    for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
      uint32_t from = plan->step_of_node[dag->predecessors[k]];
      if (gr_dag_is_listed(plan->emitted + first, count, from)) continue;
      gr_text_append_text(out, "  ");
      append_step(out, plan, from);
      gr_text_append_text(out, " -> ");
      append_step(out, plan, step);
      gr_text_append_text(out, "\n");
    }
  }
}

static void show_slot(const char *name, uint64_t offset_bytes, uint64_t size_bytes, struct gr_text *out) {
  gr_text_append_text(out, "    ");
  gr_pipeline_append_name(out, name);
  gr_text_append_format(out, "  at %" PRIu64 ", ", offset_bytes);
  gr_text_append_bytes(out, size_bytes);
  gr_text_append_text(out, "\n");
}

static void show_memory(const struct gr_plan *plan, struct gr_text *out) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  gr_text_append_text(out, pipeline->buffer_count > 0 ? "memory\n" : "memory\n  none\n");
  for (uint32_t place = 0; place < GR_PLACE_COUNT; place++) {
    bool has_any = plan->region_bytes[place] > 0;
    for (uint32_t i = 0; !has_any && i < pipeline->buffer_count; i++) has_any = pipeline->buffers[i].place == place;
    if (!has_any) continue;
    gr_text_append_format(out, "  %s  ", gr_place_name((enum gr_place)place));
    gr_text_append_bytes(out, plan->region_bytes[place]);
    gr_text_append_text(out, "\n");
    for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
      if (pipeline->buffers[i].place != place) continue;
      show_slot(pipeline->buffers[i].name, plan->slots[i].offset_bytes, plan->slots[i].size_bytes, out);
    }
    if (place == GR_PLACE_DEVICE && plan->scratch_bytes > 0) {
      gr_text_append_format(out, "    scratch of kernels at %" PRIu64 ", ", plan->scratch_offset);
      gr_text_append_bytes(out, plan->scratch_bytes);
      gr_text_append_text(out, "\n");
    }
  }
}

void gr_plan_show(const struct gr_plan *plan, struct gr_text *out) {
  struct gr_memory *memory = plan->arena.memory;
  struct gr_plan_reasons reasons;
  if (!gr_plan_find_reasons(plan, memory, &reasons)) {
    out->failed = true;
    return;
  }
  show_head(plan, out);
  show_levels(plan, out);
  if (!show_streams(plan, memory, out)) out->failed = true;
  show_waits(plan, &reasons, out);
  show_false(plan, &reasons, out);
  show_redundant(plan, out);
  show_memory(plan, out);
  gr_plan_release_reasons(memory, &reasons);
}
