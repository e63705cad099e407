/* The walk: text, document, pipeline, dag, plan, executable, run, report. The only file that sees all the rooms; each
 * stage is one call, with a line that says why it comes now. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/backend/backend.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/knobs.h"
#include "engine/graphrun.h"
#include "engine/run/run.h"

/* Planning without a device supposes a CUDA device of usual limits, so that `graphrun plan` shows what a run would do. */
static const struct gr_limits usual_limits = {.lane_max = 128, .alignment_bytes = 256, .device_count = UINT32_MAX};

struct gr_engine {
  struct gr_memory memory;
  struct gr_engine_options options;
  struct gr_knobs knobs;
  _Atomic uint64_t graph_count;
  /* A device context that was lost stays lost for the process: the first cause is kept for everybody who comes later. */
  pthread_mutex_t lost_lock;
  bool is_lost;
  const struct gr_backend *lost_backend;
  struct gr_error lost_cause;
};

struct gr_graph {
  struct gr_engine *engine;
  atomic_flag busy;

  /* What was loaded. */
  char *name;
  char *folder;
  struct gr_bytes source;
  struct gr_override *overrides;
  size_t override_count, override_capacity;

  /* What was made of it, left to right; each is null until its stage has passed. */
  struct gr_diagnostics diagnostics;
  bool is_checked;
  struct gr_pipeline *pipeline;
  struct gr_dag *dag;
  struct gr_plan *plan;
  const struct gr_backend *backend;
  struct gr_device *device;
  struct gr_executable *executable;
  bool has_run;
  bool is_abandoned; /* a replay may still be running: nothing may be launched, read or written any more */

  struct gr_report report;
};

const char *gr_version(void) { return GR_VERSION; }

/* ---- options ---- */

/* Copies a caller's options over zeros, whatever version of the struct the caller knows. */
static enum gr_status read_options(void *own, size_t own_bytes, const void *given, struct gr_error *error) {
  memset(own, 0, own_bytes);
  if (!given) return GR_OK;
  size_t given_bytes;
  memcpy(&given_bytes, given, sizeof given_bytes);
  if (given_bytes < sizeof given_bytes) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "struct_size of the options is %zu; set it to sizeof the struct",
                        given_bytes);
  }
  const unsigned char *bytes = given;
  for (size_t i = own_bytes; i < given_bytes; i++) {
    if (bytes[i] != 0) {
      return gr_error_set(error, GR_ERR_ARGUMENT,
                          "the options have a field at byte %zu that this library (version " GR_VERSION
                          ") does not know",
                          i);
    }
  }
  memcpy(own, given, given_bytes < own_bytes ? given_bytes : own_bytes);
  return GR_OK;
}

static enum gr_status no_memory(struct gr_error *error) {
  return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory");
}

static enum gr_status null_argument(struct gr_error *error, const char *name) {
  return gr_error_set(error, GR_ERR_ARGUMENT, "%s is null", name);
}

__attribute__((format(printf, 3, 4))) static void log_message(struct gr_engine *engine, enum gr_log_level level,
                                                               const char *format, ...) {
  if (!engine->options.log) return;
  struct gr_text text;
  gr_text_init(&text, &engine->memory);
  va_list arguments;
  va_start(arguments, format);
  gr_text_append_arguments(&text, format, arguments);
  va_end(arguments);
  /* Talk is not worth a failure: without memory for it there is silence. */
  if (!text.failed && text.bytes) engine->options.log(engine->options.log_context, level, text.bytes);
  gr_text_release(&text);
}

/* ---- engine ---- */

enum gr_status gr_engine_create(const struct gr_engine_options *options, struct gr_engine **engine,
                                struct gr_error *error) {
  if (!engine) return null_argument(error, "engine");
  struct gr_engine_options own;
  GR_RETURN_IF_FAILED(read_options(&own, sizeof own, options, error));
  struct gr_knobs knobs;
  GR_RETURN_IF_FAILED(gr_knobs_read(&knobs, error));
  struct gr_memory memory;
  gr_memory_init(&memory, own.memory);
  struct gr_engine *made = gr_memory_allocate_zeroed(&memory, 1, sizeof *made);
  if (!made) return no_memory(error);
  gr_memory_init(&made->memory, own.memory);
  made->options = own;
  made->options.memory = NULL; /* copied; the caller's struct may be gone */
  made->knobs = knobs;
  pthread_mutex_init(&made->lost_lock, NULL);
  *engine = made;
  return GR_OK;
}

enum gr_status gr_engine_destroy(struct gr_engine *engine) {
  if (!engine) return GR_OK;
  if (atomic_load(&engine->graph_count) != 0) return GR_ERR_BUSY;
  pthread_mutex_destroy(&engine->lost_lock);
  struct gr_memory memory;
  gr_memory_init(&memory, &engine->memory.hooks);
  gr_memory_release(&memory, engine);
  return GR_OK;
}

uint32_t gr_backend_count(const struct gr_engine *engine) {
  (void)engine; /* the same for all engines today; a parameter, since a program may bring its own one day */
  uint32_t count = 0;
  while (gr_backends_builtin[count]) count++;
  return count;
}

enum gr_status gr_backend_describe(const struct gr_engine *engine, uint32_t index, struct gr_backend_info *info,
                                   struct gr_error *error) {
  if (!engine) return null_argument(error, "engine");
  if (!info) return null_argument(error, "info");
  if (index >= gr_backend_count(engine)) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "back end %u: there are %u", index, gr_backend_count(engine));
  }
  const struct gr_backend *backend = gr_backends_builtin[index];
  struct gr_probe probe = {0};
  backend->probe(&probe);
  memset(info, 0, sizeof *info);
  strncpy(info->name, backend->name, sizeof info->name - 1);
  info->device_count = probe.device_count;
  memcpy(info->reason, probe.reason, sizeof info->reason);
  memcpy(info->driver, probe.driver, sizeof info->driver);
  return GR_OK;
}

/* The back end of that name, or the reason why there is none. */
static enum gr_status find_backend(const char *name, const struct gr_backend **found, struct gr_error *error) {
  for (uint32_t i = 0; gr_backends_builtin[i]; i++) {
    if (strcmp(gr_backends_builtin[i]->name, name) == 0) {
      *found = gr_backends_builtin[i];
      return GR_OK;
    }
  }
  if (strcmp(name, "cuda") == 0) {
    return gr_error_set(error, GR_ERR_NO_BACKEND,
                        "the cuda back end is not in this program: it was built on a machine without the CUDA toolkit");
  }
  return gr_error_set(error, GR_ERR_NO_BACKEND, "there is no back end \"%s\"; there are auto, host and cuda", name);
}

enum gr_status gr_device_describe(const struct gr_engine *engine, const char *backend, uint32_t device_index,
                                  struct gr_device_info *info, struct gr_error *error) {
  if (!engine) return null_argument(error, "engine");
  if (!backend) return null_argument(error, "backend");
  if (!info) return null_argument(error, "info");
  const struct gr_backend *found;
  GR_RETURN_IF_FAILED(find_backend(backend, &found, error));
  return found->describe(device_index, info, error);
}

/* ---- one call at a time ---- */

static enum gr_status enter(struct gr_graph *graph, struct gr_error *error) {
  if (!graph) return null_argument(error, "graph");
  if (atomic_flag_test_and_set_explicit(&graph->busy, memory_order_acquire)) {
    return gr_error_set(error, GR_ERR_BUSY, "another call on this graph has not returned yet");
  }
  return GR_OK;
}

static enum gr_status leave(struct gr_graph *graph, enum gr_status status) {
  atomic_flag_clear_explicit(&graph->busy, memory_order_release);
  return status;
}

/* ---- loading ---- */

static void forget_build(struct gr_graph *graph) {
  /* The report points into the plan: it starts anew before the plan goes. */
  gr_report_release(&graph->report);
  gr_report_init(&graph->report, &graph->engine->memory);
  if (graph->backend) {
    graph->backend->destroy(graph->executable);
    graph->backend->close(graph->device);
  }
  graph->executable = NULL;
  graph->device = NULL;
  graph->backend = NULL;
  graph->has_run = false;
  graph->is_abandoned = false;
  gr_plan_destroy(graph->plan);
  graph->plan = NULL;
}

static void forget_check(struct gr_graph *graph) {
  forget_build(graph);
  gr_dag_destroy(graph->dag);
  gr_pipeline_destroy(graph->pipeline);
  graph->dag = NULL;
  graph->pipeline = NULL;
  graph->is_checked = false;
  gr_diagnostics_clear(&graph->diagnostics);
}

static void destroy_graph(struct gr_graph *graph) {
  struct gr_memory *memory = &graph->engine->memory;
  forget_check(graph);
  gr_report_release(&graph->report);
  gr_diagnostics_release(&graph->diagnostics);
  for (size_t i = 0; i < graph->override_count; i++) {
    gr_memory_release(memory, (void *)(uintptr_t)graph->overrides[i].name);
  }
  gr_memory_release(memory, graph->overrides);
  gr_bytes_release(&graph->source);
  gr_memory_release(memory, graph->folder);
  gr_memory_release(memory, graph->name);
  atomic_fetch_sub(&graph->engine->graph_count, 1);
  gr_memory_release(memory, graph);
}

static char *copy_string(struct gr_memory *memory, const char *bytes, size_t length) {
  char *copy = gr_memory_allocate(memory, length + 1);
  if (!copy) return NULL;
  memcpy(copy, bytes, length);
  copy[length] = '\0';
  return copy;
}

/* The part of a path up to and with its last slash: where relative paths of that file start. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* A folder as the pipeline wants it: empty or with a slash at its end. */
static char *copy_folder(struct gr_memory *memory, const char *folder) {
  size_t length = folder ? strlen(folder) : 0;
  char *copy = gr_memory_allocate(memory, length + 2);
  if (!copy) return NULL;
  if (length > 0) memcpy(copy, folder, length);
  if (length > 0 && copy[length - 1] != '/') copy[length++] = '/';
  copy[length] = '\0';
  return copy;
}

/* Takes over `source` in any case. */
static enum gr_status create_graph(struct gr_engine *engine, const char *name, char *folder, struct gr_bytes source,
                                   struct gr_graph **graph, struct gr_error *error) {
  struct gr_memory *memory = &engine->memory;
  struct gr_graph *made = gr_memory_allocate_zeroed(memory, 1, sizeof *made);
  if (!made) {
    gr_bytes_release(&source);
    gr_memory_release(memory, folder);
    return no_memory(error);
  }
  made->engine = engine;
  atomic_flag_clear(&made->busy);
  atomic_fetch_add(&engine->graph_count, 1);
  made->source = source;
  made->folder = folder;
  made->name = copy_string(memory, name, strlen(name));
  gr_report_init(&made->report, memory);
  bool is_ready = gr_diagnostics_init(&made->diagnostics, memory, name);
  if (!is_ready || !made->folder || !made->name) {
    destroy_graph(made);
    return no_memory(error);
  }
  made->diagnostics.source = (struct gr_view){source.bytes, source.length};
  *graph = made;
  return GR_OK;
}

enum gr_status gr_graph_load_file(struct gr_engine *engine, const char *path, struct gr_graph **graph,
                                  struct gr_error *error) {
  if (!engine) return null_argument(error, "engine");
  if (!path) return null_argument(error, "path");
  if (!graph) return null_argument(error, "graph");
  struct gr_bytes source;
  GR_RETURN_IF_FAILED(gr_file_read(&engine->memory, path, &source, error));
  char *folder = copy_string(&engine->memory, path, folder_length(path));
  return create_graph(engine, path, folder, source, graph, error);
}

/* The whole of a stream, in a buffer that grows. */
static enum gr_status read_stream(struct gr_memory *memory, gr_read_function read, void *context,
                                  struct gr_bytes *source, struct gr_error *error) {
  enum { PIECE_BYTES = 64 << 10 };
  struct gr_text text;
  gr_text_init(&text, memory);
  char *piece = gr_memory_allocate(memory, PIECE_BYTES);
  enum gr_status status = piece ? GR_OK : no_memory(error);
  while (status == GR_OK) {
    size_t length = read(context, piece, PIECE_BYTES);
    if (length == 0) break;
    if (length > PIECE_BYTES) {
      status = gr_error_set(error, GR_ERR_IO, "the pipeline cannot be read from its stream");
      break;
    }
    gr_text_append(&text, piece, length);
    if (text.failed) status = no_memory(error);
  }
  gr_memory_release(memory, piece);
  if (status == GR_OK) *source = (struct gr_bytes){memory, text.bytes, text.length};
  else gr_text_release(&text);
  return status;
}

enum gr_status gr_graph_load_stream(struct gr_engine *engine, gr_read_function read, void *context, const char *name,
                                    const char *folder, struct gr_graph **graph, struct gr_error *error) {
  if (!engine) return null_argument(error, "engine");
  if (!read) return null_argument(error, "read");
  if (!graph) return null_argument(error, "graph");
  struct gr_bytes source = {0};
  GR_RETURN_IF_FAILED(read_stream(&engine->memory, read, context, &source, error));
  return create_graph(engine, name ? name : "<stream>", copy_folder(&engine->memory, folder), source, graph, error);
}

enum gr_status gr_graph_load_memory(struct gr_engine *engine, const char *bytes, size_t length, const char *name,
                                    const char *folder, struct gr_graph **graph, struct gr_error *error) {
  if (!engine) return null_argument(error, "engine");
  if (!bytes && length > 0) return null_argument(error, "bytes");
  if (!graph) return null_argument(error, "graph");
  if (length > SIZE_MAX - 1) return gr_error_set(error, GR_ERR_ARGUMENT, "length does not fit");
  char *copy = copy_string(&engine->memory, bytes ? bytes : "", length);
  if (!copy) return no_memory(error);
  struct gr_bytes source = {&engine->memory, copy, length};
  return create_graph(engine, name ? name : "<memory>", copy_folder(&engine->memory, folder), source, graph, error);
}

enum gr_status gr_graph_destroy(struct gr_graph *graph) {
  if (!graph) return GR_OK;
  GR_RETURN_IF_FAILED(enter(graph, NULL));
  destroy_graph(graph);
  return GR_OK;
}

/* ---- params ---- */

static enum gr_status set_param(struct gr_graph *graph, const char *name, struct gr_number value,
                                struct gr_error *error) {
  if (graph->executable) {
    return gr_error_set(error, GR_ERR_STATE, "param %s cannot be set: the graph is already built; reset it first",
                        name);
  }
  struct gr_memory *memory = &graph->engine->memory;
  struct gr_override *found = NULL;
  for (size_t i = 0; i < graph->override_count && !found; i++) {
    if (strcmp(graph->overrides[i].name, name) == 0) found = &graph->overrides[i];
  }
  if (!found) {
    char *copy = copy_string(memory, name, strlen(name));
    if (!copy) return no_memory(error);
    if (!gr_memory_grow(memory, &graph->overrides, graph->override_count, &graph->override_capacity,
                        sizeof *graph->overrides)) {
      gr_memory_release(memory, copy);
      return no_memory(error);
    }
    found = &graph->overrides[graph->override_count++];
    found->name = copy;
  }
  found->value = value;
  forget_check(graph);
  return GR_OK;
}

static enum gr_status enter_and_set(struct gr_graph *graph, const char *name, struct gr_number value,
                                    struct gr_error *error) {
  if (!name) return null_argument(error, "name");
  GR_RETURN_IF_FAILED(enter(graph, error));
  return leave(graph, set_param(graph, name, value, error));
}

enum gr_status gr_graph_set_integer(struct gr_graph *graph, const char *name, int64_t value, struct gr_error *error) {
  struct gr_number number = {.is_negative = value < 0,
                             .magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
  return enter_and_set(graph, name, number, error);
}

enum gr_status gr_graph_set_real(struct gr_graph *graph, const char *name, double value, struct gr_error *error) {
  struct gr_number number = {.is_real = true, .real = value};
  return enter_and_set(graph, name, number, error);
}

enum gr_status gr_graph_set_text(struct gr_graph *graph, const char *name, const char *text, struct gr_error *error) {
  if (!name) return null_argument(error, "name");
  if (!text) return null_argument(error, "text");
  struct gr_number number;
  if (!gr_number_parse(gr_view_of(text), &number)) {
    return gr_error_set(error, GR_ERR_ARGUMENT,
                        "param %s: \"%s\" is no number; allowed are 42, 0x2A, 4Ki, 1.5, 1e3, .inf and .nan", name,
                        text);
  }
  return enter_and_set(graph, name, number, error);
}

/* ---- report ---- */

static void report_text(struct gr_graph *graph, const char **slot, const char *text) {
  struct gr_memory *memory = &graph->engine->memory;
  gr_memory_release(memory, (void *)(uintptr_t)*slot);
  *slot = copy_string(memory, text, strlen(text)); /* a report without a name is still a report */
}

/* Begins a new report of everything up to the build; a run adds to it. */
static void report_start(struct gr_graph *graph) {
  if (!graph->report.pipeline_file) report_text(graph, &graph->report.pipeline_file, graph->name);
  if (graph->pipeline && !graph->report.pipeline_name) {
    report_text(graph, &graph->report.pipeline_name, graph->pipeline->name);
  }
  graph->report.plan = graph->plan;
}

static enum gr_status report_outcome(struct gr_graph *graph, enum gr_status status, const struct gr_error *cause,
                                     struct gr_error *error) {
  report_start(graph);
  graph->report.status = status;
  memset(&graph->report.error, 0, sizeof graph->report.error);
  if (status != GR_OK) {
    graph->report.error = *cause;
    if (error) *error = *cause;
  }
  return status;
}

/* ---- check ---- */

static enum gr_status parse_and_check(struct gr_graph *graph) {
  struct gr_memory *memory = &graph->engine->memory;
  struct gr_view source = {graph->source.bytes, graph->source.length};

  /* Text first: nothing can be said of a file that is no YAML. */
  struct gr_document *document = NULL;
  GR_RETURN_IF_FAILED(gr_document_parse(memory, graph->name, source, &graph->diagnostics, &document));

  /* Then types, names and sizes, so that everything after works on numbers. */
  struct gr_pipeline_options options = {
      .folder = graph->folder,
      .catalogue = graph->engine->options.catalogue,
      .overrides = graph->overrides,
      .override_count = (uint32_t)graph->override_count,
  };
  struct gr_pipeline *pipeline = NULL;
  enum gr_status status = gr_pipeline_read(memory, document, &options, &graph->diagnostics, &pipeline);
  gr_document_destroy(document); /* the pipeline holds all of it that is needed */
  if (status != GR_OK) return status;

  /* Last what needs the whole graph: cycles, races, reads of nothing. */
  struct gr_dag *dag = NULL;
  status = gr_dag_build(memory, pipeline, &graph->diagnostics, &dag);
  if (status != GR_OK) {
    gr_pipeline_destroy(pipeline);
    return status;
  }
  graph->pipeline = pipeline;
  graph->dag = dag;
  return GR_OK;
}

/* Turns the diagnostics, or a failure that left none, into an error. */
static enum gr_status diagnosed(struct gr_graph *graph, enum gr_status status, struct gr_error *error) {
  if (status == GR_OK) return GR_OK;
  if (gr_diagnostics_to_error(&graph->diagnostics, error) != GR_OK) return status;
  return gr_error_set(error, status, "%s", gr_status_text(status));
}

static enum gr_status check(struct gr_graph *graph, struct gr_error *error) {
  if (!graph->is_checked) {
    uint64_t start_ns = gr_clock_now();
    gr_diagnostics_clear(&graph->diagnostics);
    enum gr_status status = parse_and_check(graph);
    graph->report.check_ns = gr_clock_now() - start_ns;
    if (status != GR_OK) return diagnosed(graph, status, error);
    graph->is_checked = true;
  }
  return GR_OK;
}

enum gr_status gr_graph_check(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = check(graph, &cause);
  return leave(graph, report_outcome(graph, status, &cause, error));
}

enum gr_status gr_graph_check_files(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = check(graph, &cause);
  if (status == GR_OK) {
    status = gr_run_check_files(&graph->engine->memory, graph->pipeline, &graph->diagnostics);
    status = diagnosed(graph, status, &cause);
  }
  return leave(graph, report_outcome(graph, status, &cause, error));
}

/* Hands a finished text to a caller's function and frees it. */
static enum gr_status write_text(struct gr_text *text, gr_write_function write, void *context,
                                 struct gr_error *error) {
  enum gr_status status = GR_OK;
  if (text->failed) status = no_memory(error);
  else if (text->length > 0 && !write(context, text->bytes, text->length)) {
    status = gr_error_set(error, GR_ERR_IO, "the text was not written: its receiver stopped");
  }
  gr_text_release(text);
  return status;
}

enum gr_status gr_graph_diagnostics(struct gr_graph *graph, gr_write_function write, void *context, bool color,
                                    struct gr_error *error) {
  if (!write) return null_argument(error, "write");
  GR_RETURN_IF_FAILED(enter(graph, error));
  struct gr_text text;
  gr_text_init(&text, &graph->engine->memory);
  gr_diagnostics_render(&graph->diagnostics, &text, color);
  return leave(graph, write_text(&text, write, context, error));
}

void gr_graph_problems(const struct gr_graph *graph, uint64_t *errors, uint64_t *warnings) {
  if (errors) *errors = graph ? graph->diagnostics.error_count : 0;
  if (warnings) *warnings = graph ? graph->diagnostics.warning_count : 0;
}

/* ---- plan ---- */

static enum gr_status make_plan(struct gr_graph *graph, const struct gr_limits *limits, struct gr_plan **plan,
                                struct gr_error *error) {
  struct gr_engine *engine = graph->engine;
  uint64_t start_ns = gr_clock_now();
  struct gr_plan_options options = {.policy = graph->pipeline->policy, .lane_max = graph->pipeline->stream_max};
  struct gr_plan *made = NULL;
  GR_RETURN_IF_FAILED(
      gr_plan_make(&engine->memory, graph->pipeline, graph->dag, &options, limits, &made, error));
  graph->report.plan_ns = gr_clock_now() - start_ns;
  if (engine->knobs.check) {
    enum gr_status status = gr_plan_verify(&engine->memory, made, error);
    if (status != GR_OK) {
      gr_plan_destroy(made);
      return status;
    }
  }
  if (made->policy != options.policy) {
    log_message(engine, GR_LOG_WARNING, "%s: policy %s needs what is not here; planned with %s", graph->name,
                gr_policy_name(options.policy), gr_policy_name(made->policy));
  }
  *plan = made;
  return GR_OK;
}

static enum gr_status plan(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check(graph, error));
  if (graph->plan) return GR_OK;
  return make_plan(graph, &usual_limits, &graph->plan, error);
}

enum gr_status gr_graph_plan(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = plan(graph, &cause);
  return leave(graph, report_outcome(graph, status, &cause, error));
}

/* The document is not kept after a check: it is parsed again for those who want to see it. */
static enum gr_status show_document(struct gr_graph *graph, struct gr_text *text, struct gr_error *error) {
  struct gr_view source = {graph->source.bytes, graph->source.length};
  struct gr_document *document = NULL;
  forget_check(graph);
  enum gr_status status =
      gr_document_parse(&graph->engine->memory, graph->name, source, &graph->diagnostics, &document);
  if (status != GR_OK) return diagnosed(graph, status, error);
  gr_document_show(document, text);
  gr_document_destroy(document);
  return GR_OK;
}

static enum gr_status show(struct gr_graph *graph, enum gr_show what, struct gr_text *text, struct gr_error *error) {
  switch (what) {
    case GR_SHOW_DOCUMENT:
      if (graph->executable) return gr_error_set(error, GR_ERR_STATE, "the graph is built; reset it first");
      return show_document(graph, text, error);
    case GR_SHOW_PIPELINE:
      GR_RETURN_IF_FAILED(check(graph, error));
      gr_pipeline_show(graph->pipeline, text);
      return GR_OK;
    case GR_SHOW_DAG:
      GR_RETURN_IF_FAILED(check(graph, error));
      gr_dag_show(graph->dag, graph->pipeline, text);
      return GR_OK;
    case GR_SHOW_DOT:
      GR_RETURN_IF_FAILED(check(graph, error));
      gr_dag_show_dot(graph->dag, graph->pipeline, text);
      return GR_OK;
    case GR_SHOW_PLAN:
      GR_RETURN_IF_FAILED(plan(graph, error));
      gr_plan_show(graph->plan, text);
      return GR_OK;
    case GR_SHOW_PLAN_JSON:
      GR_RETURN_IF_FAILED(plan(graph, error));
      gr_plan_show_json(graph->plan, text);
      return GR_OK;
  }
  return gr_error_set(error, GR_ERR_ARGUMENT, "%d is no gr_show", (int)what);
}

enum gr_status gr_graph_show(struct gr_graph *graph, enum gr_show what, gr_write_function write, void *context,
                             struct gr_error *error) {
  if (!write) return null_argument(error, "write");
  GR_RETURN_IF_FAILED(enter(graph, error));
  struct gr_text text;
  gr_text_init(&text, &graph->engine->memory);
  struct gr_error cause = {0};
  enum gr_status status = show(graph, what, &text, &cause);
  if (status != GR_OK) {
    gr_text_release(&text);
    return leave(graph, report_outcome(graph, status, &cause, error));
  }
  return leave(graph, write_text(&text, write, context, error));
}

/* ---- build ---- */

/* The best back end with a device; says which and why, since nothing ever falls back in silence. */
static enum gr_status choose_backend(struct gr_graph *graph, const char *name, const struct gr_backend **chosen,
                                     struct gr_error *error) {
  if (name && strcmp(name, "auto") != 0) {
    const struct gr_backend *found;
    GR_RETURN_IF_FAILED(find_backend(name, &found, error));
    struct gr_probe probe = {0};
    found->probe(&probe);
    if (probe.device_count == 0) {
      return gr_error_set(error, GR_ERR_NO_DEVICE, "the %s back end has no device: %s", found->name, probe.reason);
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
        snprintf(why, sizeof why, "%s", i == 0 && gr_backends_builtin[1] ? "a usable GPU was found"
                                                                         : "this program has no other back end");
      }
      report_text(graph, &graph->report.backend_reason, why);
      log_message(graph->engine, GR_LOG_INFO, "running on the %s back end: %s", gr_backends_builtin[i]->name, why);
      *chosen = gr_backends_builtin[i];
      return GR_OK;
    }
    snprintf(why, sizeof why, "no usable GPU: %s", probe.reason);
  }
  return gr_error_set(error, GR_ERR_NO_DEVICE, "no back end has a device: %s", why);
}

static enum gr_status refuse_if_lost(struct gr_engine *engine, const struct gr_backend *backend,
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
static void remember_if_lost(struct gr_graph *graph) {
  struct gr_error cause;
  memset(&cause, 0, sizeof cause);
  if (!graph->device || !graph->backend->is_lost || !graph->backend->is_lost(graph->device, &cause)) return;
  struct gr_engine *engine = graph->engine;
  pthread_mutex_lock(&engine->lost_lock);
  if (!engine->is_lost) {
    engine->is_lost = true;
    engine->lost_backend = graph->backend;
    engine->lost_cause = cause;
  }
  pthread_mutex_unlock(&engine->lost_lock);
}

static enum gr_status open_device(struct gr_graph *graph, const struct gr_graph_options *options,
                                  struct gr_error *error) {
  const struct gr_engine *engine = graph->engine;
  const struct gr_backend *backend;
  GR_RETURN_IF_FAILED(choose_backend(graph, options->backend, &backend, error));
  GR_RETURN_IF_FAILED(refuse_if_lost(graph->engine, backend, error));
  struct gr_device_options device_options = {
      .device_index = options->device_index,
      .worker_count = engine->options.worker_count ? engine->options.worker_count : engine->knobs.workers,
      .catalogue = engine->options.catalogue,
      .pinned = engine->options.pinned,
  };
  uint64_t start_ns = gr_clock_now();
  GR_RETURN_IF_FAILED(
      backend->open(&graph->engine->memory, &device_options, &graph->device, error));
  graph->backend = backend;
  graph->report.open_ns = gr_clock_now() - start_ns;
  graph->report.backend_name = backend->name;
  /* Only for the report: a device that cannot describe itself still runs. */
  (void)backend->describe(options->device_index, &graph->report.device, NULL);
  return GR_OK;
}

static enum gr_status build(struct gr_graph *graph, const struct gr_graph_options *options, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check(graph, error));

  /* The device comes before the plan: its limits are an input of planning. */
  GR_RETURN_IF_FAILED(open_device(graph, options, error));
  graph->report.mode = options->mode;
  struct gr_limits limits;
  graph->backend->limits(graph->device, &limits);
  gr_plan_destroy(graph->plan);
  graph->plan = NULL;
  GR_RETURN_IF_FAILED(make_plan(graph, &limits, &graph->plan, error));

  /* From here on nothing is decided any more: the back end does what the plan says. */
  struct gr_build_options build_options = {.mode = options->mode};
  uint64_t start_ns = gr_clock_now();
  enum gr_status status =
      graph->backend->build(graph->device, graph->plan, &build_options, &graph->executable, error);
  graph->report.build_ns = gr_clock_now() - start_ns;
  if (status != GR_OK) {
    remember_if_lost(graph);
    return status;
  }
  graph->backend->facts(graph->executable, &graph->report.facts);
  return GR_OK;
}

static enum gr_status read_graph_options(const struct gr_graph_options *given, struct gr_graph_options *own,
                                         struct gr_error *error) {
  GR_RETURN_IF_FAILED(read_options(own, sizeof *own, given, error));
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
  forget_build(graph);
  graph->report.check_ns = check_ns;
  struct gr_error cause = {0};
  enum gr_status status = build(graph, options, &cause);
  if (status != GR_OK) close_build(graph);
  return report_outcome(graph, status, &cause, error);
}

enum gr_status gr_graph_build(struct gr_graph *graph, const struct gr_graph_options *options,
                              struct gr_error *error) {
  struct gr_graph_options own;
  GR_RETURN_IF_FAILED(read_graph_options(options, &own, error));
  GR_RETURN_IF_FAILED(enter(graph, error));
  return leave(graph, build_reported(graph, &own, error));
}

enum gr_status gr_graph_reset(struct gr_graph *graph, struct gr_error *error) {
  GR_RETURN_IF_FAILED(enter(graph, error));
  forget_build(graph);
  return leave(graph, GR_OK);
}

/* ---- buffers ---- */

uint32_t gr_graph_buffer_count(const struct gr_graph *graph) {
  return graph && graph->pipeline ? graph->pipeline->buffer_count : 0;
}

static enum gr_status find_buffer(const struct gr_graph *graph, const char *name, uint32_t *index,
                                  struct gr_error *error) {
  for (uint32_t i = 0; i < gr_graph_buffer_count(graph); i++) {
    if (strcmp(graph->pipeline->buffers[i].name, name) == 0) {
      *index = i;
      return GR_OK;
    }
  }
  return gr_error_set(error, GR_ERR_ARGUMENT, "%s has no buffer \"%s\"", graph->name, name);
}

enum gr_status gr_graph_buffer(const struct gr_graph *graph, uint32_t index, struct gr_buffer_info *info,
                               struct gr_error *error) {
  if (!graph) return null_argument(error, "graph");
  if (!info) return null_argument(error, "info");
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

enum gr_status gr_graph_buffer_named(const struct gr_graph *graph, const char *name, struct gr_buffer_info *info,
                                     struct gr_error *error) {
  if (!graph) return null_argument(error, "graph");
  if (!name) return null_argument(error, "name");
  uint32_t index;
  GR_RETURN_IF_FAILED(find_buffer(graph, name, &index, error));
  return gr_graph_buffer(graph, index, info, error);
}

static enum gr_status refuse_if_unusable(const struct gr_graph *graph, struct gr_error *error) {
  if (!graph->executable) return gr_error_set(error, GR_ERR_STATE, "%s is not built", graph->name);
  if (graph->is_abandoned) {
    return gr_error_set(error, GR_ERR_STATE, "%s: an earlier run was left while it ran; destroy the graph",
                        graph->name);
  }
  return GR_OK;
}

static enum gr_status find_range(const struct gr_graph *graph, const char *name, uint64_t offset_bytes,
                                 uint64_t size_bytes, uint32_t *index, struct gr_error *error) {
  GR_RETURN_IF_FAILED(refuse_if_unusable(graph, error));
  GR_RETURN_IF_FAILED(find_buffer(graph, name, index, error));
  uint64_t have_bytes = graph->pipeline->buffers[*index].size_bytes;
  if (offset_bytes > have_bytes || size_bytes > have_bytes - offset_bytes) {
    return gr_error_set(error, GR_ERR_ARGUMENT,
                        "%llu bytes at offset %llu do not lie inside buffer %s, which has %llu bytes",
                        (unsigned long long)size_bytes, (unsigned long long)offset_bytes, name,
                        (unsigned long long)have_bytes);
  }
  return GR_OK;
}

enum gr_status gr_graph_write(struct gr_graph *graph, const char *buffer, uint64_t offset_bytes, const void *from,
                              uint64_t size_bytes, struct gr_error *error) {
  if (!buffer) return null_argument(error, "buffer");
  if (!from && size_bytes > 0) return null_argument(error, "from");
  GR_RETURN_IF_FAILED(enter(graph, error));
  uint32_t index;
  enum gr_status status = find_range(graph, buffer, offset_bytes, size_bytes, &index, error);
  if (status == GR_OK && size_bytes > 0) {
    status = graph->backend->write(graph->executable, index, offset_bytes, from, size_bytes, error);
    if (status != GR_OK) remember_if_lost(graph);
  }
  return leave(graph, status);
}

enum gr_status gr_graph_read(struct gr_graph *graph, const char *buffer, uint64_t offset_bytes, void *to,
                             uint64_t size_bytes, struct gr_error *error) {
  if (!buffer) return null_argument(error, "buffer");
  if (!to && size_bytes > 0) return null_argument(error, "to");
  GR_RETURN_IF_FAILED(enter(graph, error));
  uint32_t index;
  enum gr_status status = find_range(graph, buffer, offset_bytes, size_bytes, &index, error);
  if (status == GR_OK && size_bytes > 0) {
    status = graph->backend->read(graph->executable, index, offset_bytes, to, size_bytes, error);
    if (status != GR_OK) remember_if_lost(graph);
  }
  return leave(graph, status);
}

/* ---- run ---- */

static enum gr_status run(struct gr_graph *graph, const struct gr_run_options *options, struct gr_error *error) {
  if (!graph->executable) {
    struct gr_graph_options defaults = {0};
    GR_RETURN_IF_FAILED(build_reported(graph, &defaults, error));
  }
  GR_RETURN_IF_FAILED(refuse_if_unusable(graph, error));
  GR_RETURN_IF_FAILED(refuse_if_lost(graph->engine, graph->backend, error));
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
  report_start(graph);
  enum gr_status status = gr_run(&graph->engine->memory, graph->backend, graph->executable, graph->plan, &settings,
                                 &graph->report, error);
  graph->has_run = true;
  if (status == GR_ERR_TIMEOUT || status == GR_ERR_CANCELLED) graph->is_abandoned = true;
  if (status != GR_OK) remember_if_lost(graph);
  return status;
}

enum gr_status gr_graph_run(struct gr_graph *graph, const struct gr_run_options *options, struct gr_error *error) {
  struct gr_run_options own;
  GR_RETURN_IF_FAILED(read_options(&own, sizeof own, options, error));
  GR_RETURN_IF_FAILED(enter(graph, error));
  struct gr_error cause = {0};
  enum gr_status status = run(graph, &own, &cause);
  return leave(graph, report_outcome(graph, status, &cause, error));
}

enum gr_status gr_graph_report(struct gr_graph *graph, enum gr_report_format format, gr_write_function write,
                               void *context, struct gr_error *error) {
  if (!write) return null_argument(error, "write");
  GR_RETURN_IF_FAILED(enter(graph, error));
  report_start(graph);
  struct gr_text text;
  gr_text_init(&text, &graph->engine->memory);
  if (format == GR_REPORT_JSON) gr_report_show_json(&graph->report, &text);
  else gr_report_show(&graph->report, &text, format == GR_REPORT_TEXT_COLOR);
  return leave(graph, write_text(&text, write, context, error));
}

enum gr_status gr_graph_node_state(const struct gr_graph *graph, const char *node, enum gr_node_state *state,
                                   struct gr_error *error) {
  if (!graph) return null_argument(error, "graph");
  if (!node) return null_argument(error, "node");
  if (!state) return null_argument(error, "state");
  if (!graph->report.states || !graph->plan) {
    return gr_error_set(error, GR_ERR_STATE, "%s has not run yet", graph->name);
  }
  for (uint32_t step = 0; step < graph->plan->step_count; step++) {
    if (strcmp(gr_plan_node_name(graph->plan, step), node) == 0) {
      *state = graph->report.states[step];
      return GR_OK;
    }
  }
  return gr_error_set(error, GR_ERR_ARGUMENT, "%s has no node \"%s\"", graph->name, node);
}
