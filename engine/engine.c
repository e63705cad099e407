/* The walk: text, document, pipeline, dag, plan, executable, run, report. Each stage is one call, with a line that says
 * why it comes now. Handles and loading are in handle.c, what can be looked at in view.c. */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"

/* Planning without a device supposes a usual CUDA device, so that `graphrun plan` shows what a run would do. */
static const struct gr_limits usual_limits = {.lane_max = 128, .alignment_bytes = 256, .device_count = UINT32_MAX};

/* ---- check ---- */

/* Cycles need only the names of nodes: they are found in the same pass also where something else is wrong. */
static enum gr_status check_flawed(struct gr_graph *graph, struct gr_pipeline *pipeline, enum gr_status status) {
  enum gr_status cycles = GR_OK;
  if (pipeline) cycles = gr_dag_check_cycles(&graph->engine->memory, pipeline, &graph->diagnostics);
  gr_pipeline_destroy(pipeline);
  return cycles == GR_OK ? status : cycles;
}

static enum gr_status parse_and_check(struct gr_graph *graph) {
  struct gr_memory *memory = &graph->engine->memory;
  struct gr_view source = {graph->source.bytes, graph->source.length};

  /* Text first: nothing can be said of a file that is no YAML. A flawed document goes on, to end as an error there. */
  struct gr_document *document = NULL;
  enum gr_status status = gr_document_parse(memory, graph->name, source, &graph->diagnostics, &document);
  if (!document) return status;

  /* Then types, names and sizes, so that everything after works on numbers. */
  struct gr_pipeline_options options = {
      .folder = graph->folder,
      .catalogue = graph->engine->options.catalogue,
      .overrides = graph->overrides,
      .override_count = (uint32_t)graph->override_count,
  };
  struct gr_pipeline *pipeline = NULL;
  status = gr_pipeline_read(memory, document, &options, &graph->diagnostics, &pipeline);
  gr_document_destroy(document); /* the pipeline holds all of it that is needed */
  if (status != GR_OK) return check_flawed(graph, pipeline, status);

  /* Last what needs the whole graph: cycles, races, reads of nothing. */
  struct gr_dag *dag = NULL;
  status = gr_dag_build(memory, pipeline, &graph->diagnostics, &dag);
  if (status != GR_OK) {
    gr_pipeline_destroy(pipeline);
    return status;
  }
  graph->pipeline = pipeline;
  graph->dag = dag;

  /* For everybody who asks by name later. */
  graph->buffers_by_name = gr_names_sort(memory, pipeline->buffer_count, gr_name_of_buffer, pipeline);
  graph->nodes_by_name = gr_names_sort(memory, pipeline->node_count, gr_name_of_node, pipeline);
  return graph->buffers_by_name && graph->nodes_by_name ? GR_OK : GR_ERR_NO_MEMORY;
}

/* Turns the diagnostics, or a failure that left none, into an error. What was said before memory ran out is not all. */
enum gr_status gr_graph_diagnosed(struct gr_graph *graph, enum gr_status status, struct gr_error *error) {
  if (status == GR_OK) return GR_OK;
  if (status == GR_ERR_NO_MEMORY || gr_diagnostics_to_error(&graph->diagnostics, error) == GR_OK) {
    return gr_error_set(error, status, "%s", gr_status_text(status));
  }
  if (error) error->status = status; /* of all errors, not of the first */
  return status;
}

enum gr_status gr_graph_ensure_checked(struct gr_graph *graph, struct gr_error *error) {
  if (!graph->is_checked) {
    uint64_t start_ns = gr_clock_now_ns();
    gr_graph_forget_check(graph);
    enum gr_status status = parse_and_check(graph);
    graph->report.check_ns = gr_clock_now_ns() - start_ns;
    if (status != GR_OK) {
      gr_graph_drop_pipeline(graph); /* nobody finds half of one */
      return gr_graph_diagnosed(graph, status, error);
    }
    graph->is_checked = true;
    graph->checked = gr_diagnostics_remember(&graph->diagnostics);
  }
  return GR_OK;
}

enum gr_status gr_graph_check(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = gr_graph_ensure_checked(graph, &cause);
  return gr_graph_leave(graph, gr_graph_report_outcome(graph, status, &cause, error));
}

enum gr_status gr_graph_check_files(struct gr_graph *graph, enum gr_unreadable unreadable, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = gr_graph_ensure_checked(graph, &cause);
  if (status == GR_OK) {
    gr_diagnostics_go_back(&graph->diagnostics, graph->checked); /* files are looked at anew */
    status = gr_run_check_files(&graph->engine->memory, graph->pipeline, unreadable, &graph->diagnostics);
    status = gr_graph_diagnosed(graph, status, &cause);
  }
  return gr_graph_leave(graph, gr_graph_report_outcome(graph, status, &cause, error));
}

/* ---- plan ---- */

static enum gr_status make_plan(struct gr_graph *graph, const struct gr_limits *limits, struct gr_plan **plan,
                                struct gr_error *error) {
  struct gr_engine *engine = graph->engine;
  uint64_t start_ns = gr_clock_now_ns();
  struct gr_plan_options options = {.policy = graph->pipeline->policy, .lane_max = graph->pipeline->stream_max};
  struct gr_plan *made = NULL;
  GR_RETURN_IF_FAILED(gr_plan_make(&engine->memory, graph->pipeline, graph->dag, &options, limits, &made, error));
  graph->report.plan_ns = gr_clock_now_ns() - start_ns;
  if (engine->knobs.check) {
    enum gr_status status = gr_plan_verify(&engine->memory, made, error);
    if (status != GR_OK) {
      gr_plan_destroy(made);
      return status;
    }
  }
  if (made->policy != options.policy) {
    gr_engine_log(engine, GR_LOG_WARNING, "%s: policy %s needs what is not here; planned with %s", graph->name,
                  gr_policy_name(options.policy), gr_policy_name(made->policy));
  }
  *plan = made;
  return GR_OK;
}

enum gr_status gr_graph_ensure_planned(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_ensure_checked(graph, error));
  if (graph->plan) return GR_OK;
  return make_plan(graph, &usual_limits, &graph->plan, error);
}

enum gr_status gr_graph_plan(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = gr_graph_ensure_planned(graph, &cause);
  return gr_graph_leave(graph, gr_graph_report_outcome(graph, status, &cause, error));
}

/* ---- build ---- */

/* The best backend with a device; says which and why, since nothing ever falls back in silence. */
static enum gr_status choose_backend(struct gr_graph *graph, const char *name, const struct gr_backend **chosen,
                                     struct gr_error *error) {
  if (name && strcmp(name, "auto") != 0) {
    const struct gr_backend *found = NULL;
    enum gr_status status = gr_engine_find_backend(name, &found, error);
    if (!found) return status;
    struct gr_probe probe = {0};
    found->probe(&probe);
    if (probe.device_count == 0) {
      return gr_error_set(error, GR_ERR_NO_DEVICE, "the %s backend has no device: %s", found->name, probe.reason);
    }
    *chosen = found;
    return GR_OK;
  }
  char why[320] = "";
  for (uint32_t i = 0; gr_backends_builtin[i]; i++) {
    struct gr_probe probe = {0};
    gr_backends_builtin[i]->probe(&probe);
    if (probe.device_count > 0) {
      if (why[0] == '\0') {
        snprintf(why, sizeof why, "%s",
                 i == 0 && gr_backends_builtin[1] ? "a usable GPU was found"
                                                  : "this program was built without the CUDA toolkit");
      }
      gr_graph_report_text(graph, &graph->report.backend_reason, why);
      gr_engine_log(graph->engine, GR_LOG_INFO, "running on the %s backend: %s", gr_backends_builtin[i]->name, why);
      *chosen = gr_backends_builtin[i];
      return GR_OK;
    }
    snprintf(why, sizeof why, "no usable GPU: %s", probe.reason);
  }
  return gr_error_set(error, GR_ERR_NO_DEVICE, "no backend has a device: %s", why);
}

enum gr_status gr_engine_refuse_if_lost(struct gr_engine *engine, const struct gr_backend *backend,
                                        struct gr_error *error) {
  pthread_mutex_lock(&engine->lost_lock);
  bool is_lost = engine->is_lost && engine->lost_backend == backend;
  if (is_lost) {
    gr_error_set(error, GR_ERR_DEVICE_LOST,
                 "the device context was lost in an earlier run; restart the process (the first cause: %s)",
                 engine->lost_cause.message);
    if (error) memcpy(error->backend_code, engine->lost_cause.backend_code, sizeof error->backend_code);
  }
  pthread_mutex_unlock(&engine->lost_lock);
  return is_lost ? GR_ERR_DEVICE_LOST : GR_OK;
}

/* After a failure: is it one that nobody in this process recovers from? */
void gr_engine_remember_if_lost(struct gr_graph *graph) {
  struct gr_error cause;
  memset(&cause, 0, sizeof cause);
  if (!graph->device || !gr_backend_is_lost(graph->backend, graph->device, &cause)) return;
  struct gr_engine *engine = graph->engine;
  pthread_mutex_lock(&engine->lost_lock);
  if (!engine->is_lost) {
    engine->is_lost = true;
    engine->lost_backend = graph->backend;
    engine->lost_cause = cause;
  }
  pthread_mutex_unlock(&engine->lost_lock);
}

/* The device that the file's buffers are on; one that is asked for besides may not be another one. What the machine
 * does not have is refused by the plan, which knows the buffer. */
static enum gr_status choose_device(const struct gr_graph *graph, const struct gr_backend *backend, uint32_t asked,
                                    uint32_t *chosen, struct gr_error *error) {
  const struct gr_pipeline *pipeline = graph->pipeline;
  uint32_t wanted = pipeline->buffer_count > 0 ? pipeline->buffers[0].device : 0;
  struct gr_probe probe = {0};
  if (wanted > 0) backend->probe(&probe);
  if (wanted >= probe.device_count) wanted = 0;
  if (wanted > 0 && asked > 0 && wanted != asked) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "device %u is asked for, but the buffers of %s are on device %u", asked,
                        graph->name, wanted);
  }
  *chosen = wanted > 0 ? wanted : asked;
  return GR_OK;
}

static enum gr_status open_device(struct gr_graph *graph, const struct gr_graph_options *options,
                                  struct gr_error *error) {
  const struct gr_engine *engine = graph->engine;
  const struct gr_backend *backend = NULL;
  enum gr_status status = choose_backend(graph, options->backend, &backend, error);
  if (!backend) return status;
  GR_RETURN_IF_FAILED(gr_backend_verify(backend, error));
  GR_RETURN_IF_FAILED(gr_engine_refuse_if_lost(graph->engine, backend, error));
  uint32_t device_index = 0;
  GR_RETURN_IF_FAILED(choose_device(graph, backend, options->device_index, &device_index, error));
  struct gr_device_options device_options = {
      .device_index = device_index,
      .worker_count = engine->options.worker_count ? engine->options.worker_count : engine->knobs.workers,
      .catalogue = engine->options.catalogue,
      .pinned = engine->options.pinned,
  };
  uint64_t start_ns = gr_clock_now_ns();
  GR_RETURN_IF_FAILED(backend->open(&graph->engine->memory, &device_options, &graph->device, error));
  graph->backend = backend;
  graph->report.open_ns = gr_clock_now_ns() - start_ns;
  graph->report.backend_name = backend->name;
  /* Only for the report: a device that cannot describe itself still runs. */
  (void)backend->describe(device_index, &graph->report.device, NULL);
  return GR_OK;
}

static enum gr_status build(struct gr_graph *graph, const struct gr_graph_options *options, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_ensure_checked(graph, error));

  /* The device comes before the plan: its limits are an input of planning. */
  GR_RETURN_IF_FAILED(open_device(graph, options, error));
  graph->report.mode = options->mode;
  struct gr_limits limits;
  graph->backend->limits(graph->device, &limits);
  gr_plan_destroy(graph->plan);
  graph->plan = NULL;
  GR_RETURN_IF_FAILED(make_plan(graph, &limits, &graph->plan, error));

  /* From here on nothing is decided any more: the backend does what the plan says. */
  struct gr_build_options build_options = {.mode = options->mode};
  uint64_t start_ns = gr_clock_now_ns();
  enum gr_status status = graph->backend->build(graph->device, graph->plan, &build_options, &graph->executable, error);
  graph->report.build_ns = gr_clock_now_ns() - start_ns;
  if (status != GR_OK) {
    gr_engine_remember_if_lost(graph);
    return status;
  }
  graph->backend->facts(graph->executable, &graph->report.facts);
  return GR_OK;
}

static enum gr_status read_graph_options(const struct gr_graph_options *given, struct gr_graph_options *own,
                                         struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_engine_read_options(own, sizeof *own, given, error));
  if ((unsigned)own->mode > GR_MODE_SERIAL) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "%d is no gr_mode", (int)own->mode);
  }
  return GR_OK;
}

/* What a failed build made is closed, but what the report says of it stays. */
static void close_build(struct gr_graph *graph) {
  if (graph->backend) {
    graph->backend->destroy(graph->executable);
    graph->backend->close(graph->device);
  }
  graph->executable = NULL;
  graph->device = NULL;
  graph->backend = NULL;
}

static enum gr_status build_reported(struct gr_graph *graph, const struct gr_graph_options *options,
                                     struct gr_error *error) {
  uint64_t check_ns = graph->report.check_ns;
  gr_graph_forget_build(graph);
  graph->report.check_ns = check_ns;
  struct gr_error cause = {0};
  enum gr_status status = build(graph, options, &cause);
  if (status != GR_OK) close_build(graph);
  return gr_graph_report_outcome(graph, status, &cause, error);
}

enum gr_status gr_graph_build(struct gr_graph *graph, const struct gr_graph_options *options, struct gr_error *error) {
  struct gr_graph_options own;
  GR_RETURN_IF_FAILED(read_graph_options(options, &own, error));
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  return gr_graph_leave(graph, build_reported(graph, &own, error));
}

enum gr_status gr_graph_reset(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  gr_graph_forget_build(graph);
  return gr_graph_leave(graph, GR_OK);
}

/* ---- run ---- */

static enum gr_status run(struct gr_graph *graph, const struct gr_run_options *options, struct gr_error *error) {
  if (!graph->executable) {
    struct gr_graph_options defaults = {0};
    GR_RETURN_IF_FAILED(build_reported(graph, &defaults, error));
  }
  GR_RETURN_IF_FAILED(gr_graph_refuse_if_unusable(graph, error));
  GR_RETURN_IF_FAILED(gr_engine_refuse_if_lost(graph->engine, graph->backend, error));
  struct gr_run_settings settings = {
      .repeat = options->repeat ? options->repeat : 1,
      .warmup = options->warmup,
      .timeout_ns = options->timeout_ns,
      .cancelled = options->cancelled,
      .cancelled_context = options->cancelled_context,
      .progress = options->progress,
      .progress_context = options->progress_context,
      .keep_state = options->keep_state,
      .no_outputs = options->no_outputs,
  };
  gr_graph_report_start(graph);
  enum gr_status status =
      gr_run(&graph->engine->memory, graph->backend, graph->executable, graph->plan, &settings, &graph->report, error);
  if (status == GR_ERR_TIMEOUT || status == GR_ERR_CANCELLED) graph->is_abandoned = true;
  if (status != GR_OK) gr_engine_remember_if_lost(graph);
  return status;
}

enum gr_status gr_graph_run(struct gr_graph *graph, const struct gr_run_options *options, struct gr_error *error) {
  struct gr_run_options own;
  GR_RETURN_IF_FAILED(gr_engine_read_options(&own, sizeof own, options, error));
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = run(graph, &own, &cause);
  return gr_graph_leave(graph, gr_graph_report_outcome(graph, status, &cause, error));
}
