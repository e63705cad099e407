/* The report as one strict JSON document. */
#include <inttypes.h>
#include <string.h>

#include "engine/run/run_internal.h"

/* An object being written: it knows whether a comma is due. */
struct object {
  struct gr_text *out;
  bool has_members;
};

static void key(struct object *object, const char *name) {
  gr_text_append_text(object->out, object->has_members ? ", " : "");
  gr_text_append_json(object->out, gr_view_of(name));
  gr_text_append_text(object->out, ": ");
  object->has_members = true;
}

static void put_text(struct object *object, const char *name, const char *text) {
  key(object, name);
  if (text && text[0]) gr_text_append_json(object->out, gr_view_of(text));
  else gr_text_append_text(object->out, "null");
}

static void put_number(struct object *object, const char *name, uint64_t number) {
  key(object, name);
  gr_text_append_format(object->out, "%" PRIu64, number);
}

static void put_real(struct object *object, const char *name, double value) {
  key(object, name);
  gr_text_append_json_double(object->out, value);
}

static void put_value(struct object *object, const char *name, struct gr_number number) {
  if (number.is_real) {
    put_real(object, name, number.real);
    return;
  }
  key(object, name);
  gr_text_append_format(object->out, "%s%" PRIu64, number.is_negative ? "-" : "", number.magnitude);
}

static void put_bool(struct object *object, const char *name, bool value) {
  key(object, name);
  gr_text_append_text(object->out, value ? "true" : "false");
}

static struct object open_object(struct gr_text *out) {
  gr_text_append_text(out, "{");
  return (struct object){out, false};
}

static struct object open_member(struct object *parent, const char *name) {
  key(parent, name);
  return open_object(parent->out);
}

static void close_object(struct object *object) { gr_text_append_text(object->out, "}"); }

/* An error's name is a node's where something ran or was to run. Before that, and where data come in or go out, it is a
 * buffer's, unless there is none of that name. */
static bool names_node(const struct gr_report *report) {
  switch (report->status) {
    case GR_ERR_NODE:
    case GR_ERR_TIMEOUT:
    case GR_ERR_CANCELLED:
    case GR_ERR_DEVICE_LOST:
    case GR_ERR_BACKEND:
      return true;
    default:
      break;
  }
  const struct gr_pipeline *pipeline = report->plan ? report->plan->pipeline : NULL;
  if (!pipeline || report->error.node[0] == '\0') return false;
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
    if (strcmp(pipeline->buffers[i].name, report->error.node) == 0) return false;
  }
  return true;
}

static void put_error(struct object *parent, const struct gr_report *report, bool is_there) {
  const struct gr_error *error = &report->error;
  if (!is_there) {
    key(parent, "error");
    gr_text_append_text(parent->out, "null");
    return;
  }
  bool is_node = names_node(report);
  struct object object = open_member(parent, "error");
  put_text(&object, "code", gr_status_name(report->status));
  put_text(&object, "name", error->backend_code);
  put_text(&object, "message", error->message[0] ? error->message : gr_status_text(report->status));
  put_text(&object, "file", error->file);
  put_number(&object, "line", error->line);
  put_number(&object, "column", error->column);
  put_text(&object, "node", is_node ? error->node : NULL);
  put_text(&object, "buffer", is_node ? NULL : error->node);
  close_object(&object);
}

static void put_device(struct object *parent, const struct gr_report *report) {
  const struct gr_device_info *device = &report->device;
  struct object object = open_member(parent, "device");
  put_text(&object, "name", device->name);
  put_number(&object, "memory_bytes", device->memory_bytes);
  put_number(&object, "compute_major", device->compute_major);
  put_number(&object, "compute_minor", device->compute_minor);
  put_number(&object, "units", device->unit_count);
  close_object(&object);
}

static void put_plan(struct object *parent, const struct gr_plan *plan) {
  if (!plan) {
    key(parent, "plan");
    gr_text_append_text(parent->out, "null");
    return;
  }
  const struct gr_plan_counts *counts = &plan->counts;
  struct object object = open_member(parent, "plan");
  put_text(&object, "policy", gr_policy_name(plan->policy));
  put_number(&object, "nodes", plan->step_count);
  put_number(&object, "levels", plan->level_count);
  put_number(&object, "streams", plan->lane_count);
  put_number(&object, "width", plan->width);
  put_number(&object, "declared_edges", counts->declared_edges);
  put_number(&object, "redundant_edges", counts->redundant_edges);
  put_number(&object, "emitted_edges", counts->emitted_edges);
  put_number(&object, "order_edges", counts->order_edges);
  put_number(&object, "false_edges_stream", counts->false_edges_stream);
  put_number(&object, "lane_edges", counts->lane_edges);
  put_number(&object, "waits", counts->waits);
  put_number(&object, "join_steps", counts->join_steps);
  put_bool(&object, "reduction_is_complete", counts->reduction_is_complete);
  put_number(&object, "sinks", plan->sink_count);
  put_number(&object, "scratch_bytes", plan->scratch_bytes);
  close_object(&object);
}

static void put_build(struct object *parent, const struct gr_build_facts *facts) {
  struct object object = open_member(parent, "build");
  put_number(&object, "graph_nodes", facts->graph_nodes);
  put_number(&object, "graph_edges", facts->graph_edges);
  put_number(&object, "streams", facts->stream_count);
  put_number(&object, "corrected_steps", facts->corrected_steps);
  put_number(&object, "workers", facts->worker_count);
  put_text(&object, "gemm", facts->gemm);
  close_object(&object);
  struct object memory = open_member(parent, "memory");
  put_number(&memory, "device_bytes", facts->device_bytes);
  put_number(&memory, "pinned_bytes", facts->pinned_bytes);
  put_number(&memory, "host_bytes", facts->host_bytes);
  put_number(&memory, "mapped_bytes", facts->mapped_bytes);
  put_number(&memory, "managed_bytes", facts->managed_bytes);
  close_object(&memory);
}

static void put_times(struct object *parent, const struct gr_report *report) {
  const struct gr_build_facts *facts = &report->facts;
  struct object object = open_member(parent, "times_ns");
  put_number(&object, "load", report->load_ns);
  put_number(&object, "check", report->check_ns);
  put_number(&object, "plan", report->plan_ns);
  put_number(&object, "open", report->open_ns);
  put_number(&object, "build", report->build_ns);
  put_number(&object, "build_allocate", facts->allocate_ns);
  put_number(&object, "build_load_kernels", facts->load_kernels_ns);
  put_number(&object, "build_capture", facts->capture_ns);
  put_number(&object, "build_instantiate", facts->instantiate_ns);
  put_number(&object, "build_upload", facts->upload_ns);
  put_number(&object, "inputs", report->inputs_ns);
  put_number(&object, "warmup", report->warmup_ns);
  put_number(&object, "replays", report->replays_ns);
  put_number(&object, "outputs", report->outputs_ns);
  put_number(&object, "total", report->total_ns);
  close_object(&object);
}

static void put_replays(struct object *parent, const struct gr_report *report) {
  const struct gr_replay_times *times = &report->times;
  struct object object = open_member(parent, "replays");
  put_number(&object, "asked", report->repeat);
  put_number(&object, "warmup", report->warmup);
  put_number(&object, "done", report->replays_done);
  put_number(&object, "launch_min_ns", times->launch_min_ns);
  put_number(&object, "launch_max_ns", times->launch_max_ns);
  put_number(&object, "launch_total_ns", times->launch_total_ns);
  put_real(&object, "device_ns", times->device_ns);
  close_object(&object);
}

static void put_expect(struct gr_text *out, const struct gr_report *report, const struct gr_report_expect *expect) {
  struct object object = open_object(out);
  put_text(&object, "buffer", report->plan->pipeline->buffers[expect->buffer_index].name);
  put_bool(&object, "met", expect->is_met);
  put_number(&object, "different", expect->different_count);
  put_real(&object, "largest_difference", expect->largest_difference);
  if (!expect->is_met) {
    struct object first = open_member(&object, "first");
    put_number(&first, "index", expect->first_index);
    put_value(&first, "got", expect->first_got);
    put_value(&first, "want", expect->first_want);
    close_object(&first);
    struct object worst = open_member(&object, "worst");
    put_number(&worst, "index", expect->worst_index);
    put_value(&worst, "got", expect->worst_got);
    put_value(&worst, "want", expect->worst_want);
    close_object(&worst);
  }
  close_object(&object);
}

static void put_node(struct gr_text *out, const struct gr_report *report, uint32_t node) {
  const struct gr_plan *plan = report->plan;
  uint32_t step = plan->step_of_node[node];
  struct object object = open_object(out);
  put_text(&object, "id", plan->pipeline->nodes[node].name);
  put_text(&object, "kind", gr_report_kind(report, step));
  const struct gr_kernel *kernel = gr_plan_kernel(plan, step);
  if (kernel) put_text(&object, "kernel", kernel->name);
  put_text(&object, "state", gr_node_state_name(gr_report_state(report, step)));
  put_error(&object, report, gr_report_error_is_of(report, step));
  put_number(&object, "level", plan->steps[step].level);
  put_number(&object, "stream", plan->steps[step].lane);
  put_number(&object, "line", plan->pipeline->nodes[node].mark.line);
  close_object(&object);
}

/* One item a line, so that a long list can be read and compared. */
static void begin_item(struct gr_text *out, uint32_t index) { gr_text_append_text(out, index == 0 ? "\n  " : ",\n  "); }

void gr_report_show_json(const struct gr_report *report, struct gr_text *out) {
  const struct gr_plan *plan = report->plan;
  struct object object = open_object(out);
  put_number(&object, "graphrun_report", 1);
  put_text(&object, "name", report->pipeline_name);
  put_text(&object, "file", report->pipeline_file);
  put_text(&object, "status", report->status == GR_OK ? "ok" : gr_status_name(report->status));
  put_error(&object, report, report->status != GR_OK);
  put_text(&object, "backend", report->backend_name);
  put_text(&object, "backend_reason", report->backend_reason);
  put_text(&object, "mode", gr_mode_name(report->mode));
  put_device(&object, report);
  put_replays(&object, report);
  put_plan(&object, plan);
  put_build(&object, &report->facts);
  put_times(&object, report);
  key(&object, "expects");
  gr_text_append_text(out, "[");
  for (uint32_t i = 0; plan && i < report->expect_count; i++) {
    begin_item(out, i);
    put_expect(out, report, &report->expects[i]);
  }
  gr_text_append_text(out, "]");
  put_number(&object, "saved", report->saved_count);
  key(&object, "nodes");
  gr_text_append_text(out, "[");
  for (uint32_t i = 0; plan && i < plan->step_count; i++) {
    begin_item(out, i);
    put_node(out, report, i);
  }
  gr_text_append_text(out, "]");
  close_object(&object);
  gr_text_append_text(out, "\n");
}
