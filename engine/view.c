/* What a program can look at: diagnostics, stages as text, buffers, the report. */
#include "engine/engine_internal.h"

#include <string.h>

/* ---- texts ---- */

/* Hands a finished text to a caller's function and frees it. */
static enum gr_status write_text(struct gr_text *text, gr_write_function write, void *context, struct gr_error *error) {
  enum gr_status status = GR_OK;
  if (text->failed) status = gr_engine_no_memory(error);
  else if (text->length > 0 && !write(context, text->bytes, text->length)) {
    status = gr_error_set(error, GR_ERR_IO, "the text was not written: its receiver stopped");
  }
  gr_text_release(text);
  return status;
}

enum gr_status gr_graph_diagnostics(struct gr_graph *graph, gr_write_function write, void *context, bool color,
                                    struct gr_error *error) {
  if (!write) return gr_engine_null_argument(error, "write");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  struct gr_text text;
  gr_text_init(&text, &graph->engine->memory);
  gr_diagnostics_render(&graph->diagnostics, &text, color);
  return gr_graph_leave(graph, write_text(&text, write, context, error));
}

void gr_graph_problems(const struct gr_graph *graph, uint64_t *errors, uint64_t *warnings) {
  if (errors) *errors = graph ? graph->diagnostics.error_count : 0;
  if (warnings) *warnings = graph ? graph->diagnostics.warning_count : 0;
}

/* The document is not kept after a check: it is parsed again for those who want to see it. */
static enum gr_status show_document(struct gr_graph *graph, struct gr_text *text, struct gr_error *error) {
  struct gr_view source = {graph->source.bytes, graph->source.length};
  struct gr_document *document = NULL;
  gr_graph_forget_check(graph);
  enum gr_status status =
      gr_document_parse(&graph->engine->memory, graph->name, source, &graph->diagnostics, &document);
  if (status == GR_OK) gr_document_show(document, text);
  gr_document_destroy(document); /* a flawed one is not shown */
  return gr_graph_diagnosed(graph, status, error);
}

static enum gr_status show(struct gr_graph *graph, enum gr_show what, struct gr_text *text, struct gr_error *error) {
  switch (what) {
    case GR_SHOW_DOCUMENT:
      if (graph->executable) return gr_error_set(error, GR_ERR_STATE, "the graph is built; reset it first");
      return show_document(graph, text, error);
    case GR_SHOW_PIPELINE:
      GR_RETURN_IF_FAILED(gr_graph_ensure_checked(graph, error));
      gr_pipeline_show(graph->pipeline, text);
      return GR_OK;
    case GR_SHOW_DAG:
      GR_RETURN_IF_FAILED(gr_graph_ensure_checked(graph, error));
      gr_dag_show(graph->dag, graph->pipeline, text);
      return GR_OK;
    case GR_SHOW_DOT:
      GR_RETURN_IF_FAILED(gr_graph_ensure_checked(graph, error));
      gr_dag_show_dot(graph->dag, graph->pipeline, text);
      return GR_OK;
    case GR_SHOW_PLAN:
      GR_RETURN_IF_FAILED(gr_graph_ensure_planned(graph, error));
      gr_plan_show(graph->plan, text);
      return GR_OK;
    case GR_SHOW_PLAN_JSON:
      GR_RETURN_IF_FAILED(gr_graph_ensure_planned(graph, error));
      gr_plan_show_json(graph->plan, text);
      return GR_OK;
  }
  return gr_error_set(error, GR_ERR_ARGUMENT, "%d is no gr_show", (int)what);
}

enum gr_status gr_graph_show(struct gr_graph *graph, enum gr_show what, gr_write_function write, void *context,
                             struct gr_error *error) {
  if (!write) return gr_engine_null_argument(error, "write");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  struct gr_text text;
  gr_text_init(&text, &graph->engine->memory);
  struct gr_error cause = {0};
  enum gr_status status = show(graph, what, &text, &cause);
  if (status != GR_OK) {
    gr_text_release(&text);
    return gr_graph_leave(graph, gr_graph_report_outcome(graph, status, &cause, error));
  }
  return gr_graph_leave(graph, write_text(&text, write, context, error));
}

/* ---- buffers ---- */

uint32_t gr_graph_buffer_count(const struct gr_graph *graph) {
  return graph && graph->pipeline ? graph->pipeline->buffer_count : 0;
}

static enum gr_status find_buffer(const struct gr_graph *graph, const char *name, uint32_t *index,
                                  struct gr_error *error) {
  uint32_t found =
      gr_names_find(graph->buffers_by_name, gr_graph_buffer_count(graph), gr_name_of_buffer, graph->pipeline, name);
  if (found != UINT32_MAX) {
    *index = found;
    return GR_OK;
  }
  return gr_error_set(error, GR_ERR_ARGUMENT, "%s has no buffer \"%s\"", graph->name, name);
}

static enum gr_status describe_buffer(const struct gr_graph *graph, uint32_t index, struct gr_buffer_info *info,
                                      struct gr_error *error) {
  if (index >= gr_graph_buffer_count(graph)) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "buffer %u: %s has %u%s", index, graph->name,
                        gr_graph_buffer_count(graph), graph->pipeline ? "" : ", since it is not checked yet");
  }
  const struct gr_buffer *buffer = &graph->pipeline->buffers[index];
  *info = (struct gr_buffer_info){
      .name = buffer->name,
      .type = buffer->type,
      .place = buffer->place,
      .rank = buffer->rank,
      .shape = buffer->shape,
      .element_count = buffer->element_count,
      .size_bytes = buffer->size_bytes,
  };
  return GR_OK;
}

enum gr_status gr_graph_buffer(const struct gr_graph *graph, uint32_t index, struct gr_buffer_info *info,
                               struct gr_error *error) {
  if (!info) return gr_engine_null_argument(error, "info");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  return gr_graph_leave(graph, describe_buffer(graph, index, info, error));
}

enum gr_status gr_graph_buffer_named(const struct gr_graph *graph, const char *name, struct gr_buffer_info *info,
                                     struct gr_error *error) {
  if (!name) return gr_engine_null_argument(error, "name");
  if (!info) return gr_engine_null_argument(error, "info");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  uint32_t index = UINT32_MAX;
  enum gr_status status = find_buffer(graph, name, &index, error);
  if (status == GR_OK) status = describe_buffer(graph, index, info, error);
  return gr_graph_leave(graph, status);
}

enum gr_status gr_graph_refuse_if_unusable(const struct gr_graph *graph, struct gr_error *error) {
  if (!graph->executable) return gr_error_set(error, GR_ERR_STATE, "%s is not built", graph->name);
  if (graph->is_abandoned) {
    return gr_error_set(error, GR_ERR_STATE, "%s: an earlier run was left while it ran; destroy the graph",
                        graph->name);
  }
  return GR_OK;
}

static enum gr_status find_range(const struct gr_graph *graph, const char *name, uint64_t offset_bytes,
                                 uint64_t size_bytes, uint32_t *index, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_refuse_if_unusable(graph, error));
  GR_RETURN_IF_FAILED(find_buffer(graph, name, index, error));
  uint64_t have_bytes = graph->pipeline->buffers[*index].size_bytes;
  if (offset_bytes > have_bytes || size_bytes > have_bytes - offset_bytes) {
    return gr_error_set(
        error, GR_ERR_ARGUMENT, "%llu bytes at offset %llu do not lie inside buffer %s, which has %llu bytes",
        (unsigned long long)size_bytes, (unsigned long long)offset_bytes, name, (unsigned long long)have_bytes);
  }
  return GR_OK;
}

enum gr_status gr_graph_write(struct gr_graph *graph, const char *buffer, uint64_t offset_bytes, const void *from,
                              uint64_t size_bytes, struct gr_error *error) {
  if (!buffer) return gr_engine_null_argument(error, "buffer");
  if (!from && size_bytes > 0) return gr_engine_null_argument(error, "from");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  uint32_t index = UINT32_MAX;
  enum gr_status status = find_range(graph, buffer, offset_bytes, size_bytes, &index, error);
  if (status == GR_OK && size_bytes > 0) {
    status = graph->backend->write(graph->executable, index, offset_bytes, from, size_bytes, error);
    if (status != GR_OK) gr_engine_remember_if_lost(graph);
  }
  return gr_graph_leave(graph, status);
}

enum gr_status gr_graph_read(struct gr_graph *graph, const char *buffer, uint64_t offset_bytes, void *to,
                             uint64_t size_bytes, struct gr_error *error) {
  if (!buffer) return gr_engine_null_argument(error, "buffer");
  if (!to && size_bytes > 0) return gr_engine_null_argument(error, "to");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  uint32_t index = UINT32_MAX;
  enum gr_status status = find_range(graph, buffer, offset_bytes, size_bytes, &index, error);
  if (status == GR_OK && size_bytes > 0) {
    status = graph->backend->read(graph->executable, index, offset_bytes, to, size_bytes, error);
    if (status != GR_OK) gr_engine_remember_if_lost(graph);
  }
  return gr_graph_leave(graph, status);
}

enum gr_status gr_knobs_write(gr_write_function write, void *context, struct gr_error *error) {
  if (!write) return gr_engine_null_argument(error, "write");
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_knobs_show(&text);
  return write_text(&text, write, context, error);
}

/* ---- report ---- */

enum gr_status gr_graph_report(struct gr_graph *graph, enum gr_report_format format, gr_write_function write,
                               void *context, struct gr_error *error) {
  if (!write) return gr_engine_null_argument(error, "write");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  gr_graph_report_start(graph);
  struct gr_text text;
  gr_text_init(&text, &graph->engine->memory);
  if (format == GR_REPORT_JSON) gr_report_show_json(&graph->report, &text);
  else gr_report_show(&graph->report, &text, format == GR_REPORT_TEXT_COLOR);
  return gr_graph_leave(graph, write_text(&text, write, context, error));
}

static enum gr_status find_state(const struct gr_graph *graph, const char *node, enum gr_node_state *state,
                                 struct gr_error *error) {
  if (!graph->report.states || !graph->plan) {
    return gr_error_set(error, GR_ERR_STATE, "%s has not run yet", graph->name);
  }
  uint32_t index =
      gr_names_find(graph->nodes_by_name, graph->pipeline->node_count, gr_name_of_node, graph->pipeline, node);
  if (index == UINT32_MAX) return gr_error_set(error, GR_ERR_ARGUMENT, "%s has no node \"%s\"", graph->name, node);
  *state = graph->report.states[graph->plan->step_of_node[index]];
  return GR_OK;
}

enum gr_status gr_graph_node_state(const struct gr_graph *graph, const char *node, enum gr_node_state *state,
                                   struct gr_error *error) {
  if (!node) return gr_engine_null_argument(error, "node");
  if (!state) return gr_engine_null_argument(error, "state");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  return gr_graph_leave(graph, find_state(graph, node, state, error));
}
