#include <inttypes.h>

#include "engine/plan/plan_internal.h"

/* One strict JSON document. Counts that are not known are null. */

static void append_key(struct gr_text *out, const char *key) { gr_text_append_format(out, "\"%s\": ", key); }

static void append_string(struct gr_text *out, const char *key, const char *value) {
  append_key(out, key);
  gr_text_append_json(out, gr_view_of(value));
}

static void append_number(struct gr_text *out, const char *key, uint64_t value) {
  append_key(out, key);
  if (value == UINT64_MAX) gr_text_append_text(out, "null");
  else gr_text_append_format(out, "%" PRIu64, value);
}

static void append_comma(struct gr_text *out) { gr_text_append_text(out, ", "); }

/* Before each row of a list but the first. */
static void start_row(struct gr_text *out, bool *is_first) {
  gr_text_append_text(out, *is_first ? "\n    {" : ",\n    {");
  *is_first = false;
}

static void end_list(struct gr_text *out, bool is_empty) { gr_text_append_text(out, is_empty ? "]" : "\n  ]"); }

static void append_head(const struct gr_plan *plan, struct gr_text *out) {
  gr_text_append_text(out, "{\n  ");
  append_string(out, "name", plan->pipeline->name);
  gr_text_append_text(out, ",\n  ");
  append_string(out, "policy", gr_policy_name(plan->policy));
  append_comma(out);
  append_string(out, "policy_asked", gr_policy_name(plan->options.policy));
  gr_text_append_text(out, ",\n  ");
  append_number(out, "levels", plan->level_count);
  append_comma(out);
  append_number(out, "width", plan->width);
  append_comma(out);
  append_number(out, "streams", plan->lane_count);
}

static void append_edges(const struct gr_plan *plan, struct gr_text *out) {
  const struct gr_plan_counts *counts = &plan->counts;
  gr_text_append_text(out, ",\n  \"edges\": {");
  append_number(out, "declared", counts->declared_edges);
  append_comma(out);
  append_number(out, "redundant", counts->redundant_edges);
  append_comma(out);
  append_number(out, "added", counts->order_edges);
  append_comma(out);
  append_number(out, "emitted", counts->emitted_edges);
  append_comma(out);
  append_number(out, "by_stream_order", counts->lane_edges);
  append_comma(out);
  append_number(out, "false", counts->false_edges_stream);
  append_comma(out);
  append_number(out, "waits", counts->waits);
  append_comma(out);
  append_number(out, "waits_minimum", counts->wait_minimum);
  append_comma(out);
  append_number(out, "joins", counts->join_steps);
  append_comma(out);
  append_key(out, "reduction_complete");
  gr_text_append_text(out, counts->reduction_is_complete ? "true}" : "false}");
}

static void append_steps(const struct gr_plan *plan, struct gr_text *out) {
  bool is_first = true;
  gr_text_append_text(out, ",\n  \"steps\": [");
  for (uint32_t step = 0; step < plan->step_count; step++) {
    const struct gr_kernel *kernel = gr_plan_kernel(plan, step);
    start_row(out, &is_first);
    append_string(out, "id", gr_plan_node_name(plan, step));
    append_comma(out);
    append_number(out, "level", plan->steps[step].level);
    append_comma(out);
    append_number(out, "stream", plan->steps[step].lane);
    append_comma(out);
    append_string(out, "operation", gr_plan_operation_name(plan->steps[step].operation));
    if (kernel) append_comma(out);
    if (kernel) append_string(out, "kernel", kernel->name);
    append_comma(out);
    append_number(out, "scratch_offset", plan->scratch_of_step[step]);
    gr_text_append_text(out, ", \"after\": [");
    for (uint64_t k = plan->emitted_begin[step]; k < plan->emitted_begin[step + 1]; k++) {
      if (k > plan->emitted_begin[step]) append_comma(out);
      gr_text_append_json(out, gr_view_of(gr_plan_node_name(plan, plan->emitted[k])));
    }
    gr_text_append_text(out, "]}");
  }
  end_list(out, is_first);
}

static bool append_waits(const struct gr_plan *plan, const struct gr_plan_reasons *reasons, struct gr_text *out) {
  bool is_first = true;
  struct gr_text why;
  gr_text_init(&why, plan->arena.memory);
  gr_text_append_text(out, ",\n  \"waits\": [");
  for (uint64_t k = 0; k < plan->counts.waits; k++) {
    const struct gr_wait *wait = &plan->waits[k];
    gr_text_clear(&why);
    gr_plan_append_reason(plan, reasons, k, &why);
    start_row(out, &is_first);
    append_string(out, "id", gr_plan_node_name(plan, wait->step));
    append_comma(out);
    append_string(out, "for", gr_plan_node_name(plan, wait->for_step));
    append_comma(out);
    append_key(out, "why");
    gr_text_append_json(out, (struct gr_view){why.bytes, why.length});
    gr_text_append_text(out, "}");
  }
  end_list(out, is_first);
  bool done = !why.failed;
  gr_text_release(&why);
  return done;
}

static void append_false(const struct gr_plan *plan, const struct gr_plan_reasons *reasons, struct gr_text *out) {
  bool is_first = true;
  gr_text_append_text(out, ",\n  \"false_edges\": [");
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (reasons->lane_previous[step] == GR_PLAN_NONE) continue;
    start_row(out, &is_first);
    append_string(out, "id", gr_plan_node_name(plan, step));
    append_comma(out);
    append_string(out, "behind", gr_plan_node_name(plan, reasons->lane_previous[step]));
    append_comma(out);
    append_number(out, "stream", plan->steps[step].lane);
    gr_text_append_text(out, "}");
  }
  end_list(out, is_first);
}

static void append_memory(const struct gr_plan *plan, struct gr_text *out) {
  bool is_first = true;
  gr_text_append_text(out, ",\n  \"memory\": {");
  for (uint32_t place = 0; place < GR_PLACE_COUNT; place++) {
    append_number(out, gr_place_name((enum gr_place)place), plan->region_bytes[place]);
    append_comma(out);
  }
  append_number(out, "scratch", plan->scratch_bytes);
  gr_text_append_text(out, "},\n  \"buffers\": [");
  for (uint32_t i = 0; i < plan->pipeline->buffer_count; i++) {
    start_row(out, &is_first);
    append_string(out, "name", plan->pipeline->buffers[i].name);
    append_comma(out);
    append_string(out, "place", gr_place_name(plan->pipeline->buffers[i].place));
    append_comma(out);
    append_number(out, "offset", plan->slots[i].offset_bytes);
    append_comma(out);
    append_number(out, "size", plan->slots[i].size_bytes);
    gr_text_append_text(out, "}");
  }
  end_list(out, is_first);
}

void gr_plan_show_json(const struct gr_plan *plan, struct gr_text *out) {
  struct gr_memory *memory = plan->arena.memory;
  struct gr_plan_reasons reasons;
  if (!gr_plan_find_reasons(plan, memory, &reasons)) {
    out->failed = true;
    return;
  }
  append_head(plan, out);
  append_edges(plan, out);
  append_steps(plan, out);
  if (!append_waits(plan, &reasons, out)) out->failed = true;
  append_false(plan, &reasons, out);
  append_memory(plan, out);
  gr_text_append_text(out, "\n}\n");
  gr_plan_release_reasons(memory, &reasons);
}
