/* The two handles: making and freeing them, one call at a time, loading, params, the start of a report. */
#include "engine/engine_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"

const char *gr_version(void) { return GR_VERSION; }

/* ---- options ---- */

/* Copies a caller's options over zeros, whatever version of the struct the caller knows. */
enum gr_status gr_engine_read_options(void *own, size_t own_bytes, const void *given, struct gr_error *error) {
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
      return gr_error_set(
          error, GR_ERR_ARGUMENT,
          "the options have a field at byte %zu that this library (version " GR_VERSION ") does not know", i);
    }
  }
  memcpy(own, given, given_bytes < own_bytes ? given_bytes : own_bytes);
  return GR_OK;
}

enum gr_status gr_engine_no_memory(struct gr_error *error) {
  return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory");
}

enum gr_status gr_engine_null_argument(struct gr_error *error, const char *name) {
  return gr_error_set(error, GR_ERR_ARGUMENT, "%s is null", name);
}

__attribute__((format(printf, 3, 4))) void gr_engine_log(struct gr_engine *engine, enum gr_log_level level,
                                                         const char *format, ...) {
  if (!engine->options.log) return;
  char message[GR_ERROR_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (length >= 0) engine->options.log(engine->options.log_context, level, message);
}

/* ---- engine ---- */

/* What a program got wrong in its own tables would show late and far away. */
static enum gr_status check_engine_options(const struct gr_engine_options *options, struct gr_error *error) {
  const struct gr_memory_hooks *memory = options->memory;
  if (memory && (!memory->allocate || !memory->resize || !memory->release) &&
      (memory->allocate || memory->resize || memory->release)) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "of the memory hooks all three are needed, or none");
  }
  if (options->worker_count > GR_KNOB_WORKERS_MAX) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "worker_count is %u; the most is %d", options->worker_count,
                        GR_KNOB_WORKERS_MAX);
  }
  const struct gr_catalogue *catalogue = options->catalogue;
  for (uint32_t i = 1; catalogue && i < catalogue->kernel_count; i++) {
    if (strcmp(catalogue->kernels[i - 1].name, catalogue->kernels[i].name) < 0) continue;
    return gr_error_set(error, GR_ERR_ARGUMENT, "the catalogue is not sorted by name: \"%s\" comes before \"%s\"",
                        catalogue->kernels[i - 1].name, catalogue->kernels[i].name);
  }
  return GR_OK;
}

enum gr_status gr_engine_create(const struct gr_engine_options *options, struct gr_engine **engine,
                                struct gr_error *error) {
  if (!engine) return gr_engine_null_argument(error, "engine");
  struct gr_engine_options own;
  GR_RETURN_IF_FAILED(gr_engine_read_options(&own, sizeof own, options, error));
  GR_RETURN_IF_FAILED(check_engine_options(&own, error));
  struct gr_knobs knobs;
  GR_RETURN_IF_FAILED(gr_knobs_read(&knobs, error));
  struct gr_memory memory;
  gr_memory_init(&memory, own.memory);
  struct gr_engine *made = gr_memory_allocate_zeroed(&memory, 1, sizeof *made);
  if (!made) return gr_engine_no_memory(error);
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
  if (!engine) return gr_engine_null_argument(error, "engine");
  if (!info) return gr_engine_null_argument(error, "info");
  if (index >= gr_backend_count(engine)) {
    return gr_error_set(error, GR_ERR_ARGUMENT, "backend %u: there are %u", index, gr_backend_count(engine));
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

/* The backend of that name, or the reason why there is none. */
enum gr_status gr_engine_find_backend(const char *name, const struct gr_backend **found, struct gr_error *error) {
  for (uint32_t i = 0; gr_backends_builtin[i]; i++) {
    if (strcmp(gr_backends_builtin[i]->name, name) == 0) {
      *found = gr_backends_builtin[i];
      return GR_OK;
    }
  }
  if (strcmp(name, "cuda") == 0) {
    return gr_error_set(error, GR_ERR_NO_BACKEND,
                        "the cuda backend is not in this program: it was built on a machine without the CUDA toolkit");
  }
  return gr_error_set(error, GR_ERR_NO_BACKEND, "there is no backend \"%s\"; there are auto, host and cuda", name);
}

enum gr_status gr_device_describe(const struct gr_engine *engine, const char *backend, uint32_t device_index,
                                  struct gr_device_info *info, struct gr_error *error) {
  if (!engine) return gr_engine_null_argument(error, "engine");
  if (!backend) return gr_engine_null_argument(error, "backend");
  if (!info) return gr_engine_null_argument(error, "info");
  const struct gr_backend *found = NULL;
  enum gr_status status = gr_engine_find_backend(backend, &found, error);
  return found ? found->describe(device_index, info, error) : status;
}

/* ---- one call at a time ---- */

static atomic_flag *flag_of(const struct gr_graph *graph) { return (atomic_flag *)(uintptr_t)&graph->busy; }

enum gr_status gr_graph_enter(const struct gr_graph *graph, struct gr_error *error) {
  if (!graph) return gr_engine_null_argument(error, "graph");
  if (atomic_flag_test_and_set_explicit(flag_of(graph), memory_order_acquire)) {
    return gr_error_set(error, GR_ERR_BUSY, "another call on this graph has not returned yet");
  }
  return GR_OK;
}

enum gr_status gr_graph_leave(const struct gr_graph *graph, enum gr_status status) {
  atomic_flag_clear_explicit(flag_of(graph), memory_order_release);
  return status;
}

/* ---- loading ---- */

void gr_graph_forget_build(struct gr_graph *graph) {
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
  graph->is_abandoned = false;
  gr_plan_destroy(graph->plan);
  graph->plan = NULL;
}

void gr_graph_drop_pipeline(struct gr_graph *graph) {
  gr_memory_release(&graph->engine->memory, graph->buffers_by_name);
  gr_memory_release(&graph->engine->memory, graph->nodes_by_name);
  graph->buffers_by_name = NULL;
  graph->nodes_by_name = NULL;
  gr_dag_destroy(graph->dag);
  gr_pipeline_destroy(graph->pipeline);
  graph->dag = NULL;
  graph->pipeline = NULL;
  graph->is_checked = false;
}

void gr_graph_forget_check(struct gr_graph *graph) {
  gr_graph_forget_build(graph);
  gr_graph_drop_pipeline(graph);
  gr_diagnostics_clear(&graph->diagnostics);
}

static void destroy_graph(struct gr_graph *graph) {
  struct gr_memory *memory = &graph->engine->memory;
  gr_graph_forget_check(graph);
  gr_report_release(&graph->report);
  gr_diagnostics_release(&graph->diagnostics);
  for (size_t i = 0; i < graph->override_count; i++) {
    gr_memory_release(memory, (void *)(uintptr_t)graph->overrides[i].name);
  }
  gr_memory_release(memory, graph->overrides);
  gr_file_bytes_release(&graph->source);
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

/* Takes over `folder` (null: there was no memory for it) and `source` in any case. */
static enum gr_status create_graph(struct gr_engine *engine, const char *name, char *folder,
                                   struct gr_file_bytes source, uint64_t start_ns, struct gr_graph **graph,
                                   struct gr_error *error) {
  struct gr_memory *memory = &engine->memory;
  struct gr_graph *made = gr_memory_allocate_zeroed(memory, 1, sizeof *made);
  if (!made) {
    gr_file_bytes_release(&source);
    gr_memory_release(memory, folder);
    return gr_engine_no_memory(error);
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
    return gr_engine_no_memory(error);
  }
  made->diagnostics.source = (struct gr_view){source.bytes, source.length};
  made->load_ns = gr_clock_now_ns() - start_ns;
  *graph = made;
  return GR_OK;
}

enum gr_status gr_graph_load_file(struct gr_engine *engine, const char *path, struct gr_graph **graph,
                                  struct gr_error *error) {
  if (!engine) return gr_engine_null_argument(error, "engine");
  if (!path) return gr_engine_null_argument(error, "path");
  if (!graph) return gr_engine_null_argument(error, "graph");
  uint64_t start_ns = gr_clock_now_ns();
  struct gr_file_bytes source;
  GR_RETURN_IF_FAILED(gr_file_read(&engine->memory, path, NULL, &source, error));
  char *folder = copy_string(&engine->memory, path, folder_length(path));
  return create_graph(engine, path, folder, source, start_ns, graph, error);
}

struct stream_reader {
  gr_read_function read;
  void *context;
};

/* The file room's way to say "failed" is -1 with errno. */
static int64_t read_piece(void *context, void *into, size_t capacity) {
  const struct stream_reader *reader = context;
  size_t length = reader->read(reader->context, into, capacity);
  if (length <= capacity) return (int64_t)length;
  errno = EIO;
  return -1;
}

enum gr_status gr_graph_load_stream(struct gr_engine *engine, gr_read_function read, void *context, const char *name,
                                    const char *folder, struct gr_graph **graph, struct gr_error *error) {
  if (!engine) return gr_engine_null_argument(error, "engine");
  if (!read) return gr_engine_null_argument(error, "read");
  if (!graph) return gr_engine_null_argument(error, "graph");
  if (!name) name = "<stream>";
  uint64_t start_ns = gr_clock_now_ns();
  struct stream_reader reader = {read, context};
  struct gr_file_bytes source = {0};
  GR_RETURN_IF_FAILED(gr_file_read_stream(&engine->memory, name, read_piece, &reader, 0, &source, error));
  return create_graph(engine, name, copy_folder(&engine->memory, folder), source, start_ns, graph, error);
}

enum gr_status gr_graph_load_memory(struct gr_engine *engine, const char *bytes, size_t length, const char *name,
                                    const char *folder, struct gr_graph **graph, struct gr_error *error) {
  if (!engine) return gr_engine_null_argument(error, "engine");
  if (!bytes && length > 0) return gr_engine_null_argument(error, "bytes");
  if (!graph) return gr_engine_null_argument(error, "graph");
  if (length > SIZE_MAX - 1) return gr_error_set(error, GR_ERR_ARGUMENT, "length does not fit");
  uint64_t start_ns = gr_clock_now_ns();
  char *copy = copy_string(&engine->memory, bytes ? bytes : "", length);
  if (!copy) return gr_engine_no_memory(error);
  struct gr_file_bytes source = {&engine->memory, copy, length};
  return create_graph(engine, name ? name : "<memory>", copy_folder(&engine->memory, folder), source, start_ns, graph,
                      error);
}

enum gr_status gr_graph_destroy(struct gr_graph *graph) {
  if (!graph) return GR_OK;
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, NULL));
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
    if (!copy) return gr_engine_no_memory(error);
    if (!gr_memory_grow(memory, &graph->overrides, graph->override_count, &graph->override_capacity,
                        sizeof *graph->overrides)) {
      gr_memory_release(memory, copy);
      return gr_engine_no_memory(error);
    }
    found = &graph->overrides[graph->override_count++];
    found->name = copy;
  }
  found->value = value;
  gr_graph_forget_check(graph);
  return GR_OK;
}

static enum gr_status enter_and_set(struct gr_graph *graph, const char *name, struct gr_number value,
                                    struct gr_error *error) {
  if (!name) return gr_engine_null_argument(error, "name");
  GR_RETURN_IF_FAILED(gr_graph_enter(graph, error));
  return gr_graph_leave(graph, set_param(graph, name, value, error));
}

enum gr_status gr_graph_set_integer(struct gr_graph *graph, const char *name, int64_t value, struct gr_error *error) {
  struct gr_number number = {.is_negative = value < 0, .magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
  return enter_and_set(graph, name, number, error);
}

enum gr_status gr_graph_set_real(struct gr_graph *graph, const char *name, double value, struct gr_error *error) {
  struct gr_number number = {.is_real = true, .real = value};
  return enter_and_set(graph, name, number, error);
}

enum gr_status gr_graph_set_text(struct gr_graph *graph, const char *name, const char *text, struct gr_error *error) {
  if (!name) return gr_engine_null_argument(error, "name");
  if (!text) return gr_engine_null_argument(error, "text");
  struct gr_number number;
  if (!gr_number_parse(gr_view_of(text), &number)) {
    return gr_error_set(error, GR_ERR_ARGUMENT,
                        "param %s: \"%s\" is no number; allowed are 42, 0x2A, 4Ki, 1.5, 1e3, .inf and .nan", name,
                        text);
  }
  return enter_and_set(graph, name, number, error);
}

/* ---- report ---- */

void gr_graph_report_text(struct gr_graph *graph, const char **slot, const char *text) {
  struct gr_memory *memory = &graph->engine->memory;
  gr_memory_release(memory, (void *)(uintptr_t)*slot);
  *slot = copy_string(memory, text, strlen(text)); /* a report without a name is still a report */
}

/* Begins a new report of everything up to the build; a run adds to it. */
void gr_graph_report_start(struct gr_graph *graph) {
  if (!graph->report.pipeline_file) gr_graph_report_text(graph, &graph->report.pipeline_file, graph->name);
  if (graph->pipeline && !graph->report.pipeline_name) {
    gr_graph_report_text(graph, &graph->report.pipeline_name, graph->pipeline->name);
  }
  graph->report.plan = graph->plan;
  graph->report.load_ns = graph->load_ns;
}

static uint64_t sum_of_times(const struct gr_report *report) {
  return report->load_ns + report->check_ns + report->plan_ns + report->open_ns + report->build_ns + report->inputs_ns +
         report->warmup_ns + report->replays_ns + report->outputs_ns;
}

enum gr_status gr_graph_report_outcome(struct gr_graph *graph, enum gr_status status, const struct gr_error *cause,
                                       struct gr_error *error) {
  gr_graph_report_start(graph);
  graph->report.status = status;
  graph->report.total_ns = sum_of_times(&graph->report);
  memset(&graph->report.error, 0, sizeof graph->report.error);
  if (status != GR_OK) {
    graph->report.error = *cause;
    if (error) *error = *cause;
  }
  return status;
}
