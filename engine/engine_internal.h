/* What the four files of the public face share: the two handles and how a call enters and leaves them. */
#ifndef GRAPHRUN_ENGINE_ENGINE_INTERNAL_H
#define GRAPHRUN_ENGINE_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/backend/backend.h"
#include "engine/base/file.h"
#include "engine/base/knobs.h"
#include "engine/graphrun.h"
#include "engine/run/run.h"

struct gr_engine {
  struct gr_memory memory;
  struct gr_engine_options options;
  struct gr_knobs knobs;
  _Atomic uint64_t graph_count;
  /* A device context that was lost stays lost for the process: the first cause is kept for everybody who comes later.
   */
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
  struct gr_file_bytes source;
  struct gr_override *overrides;
  size_t override_count, override_capacity;

  /* What was made of it, left to right; each is null until its stage has passed. */
  struct gr_diagnostics diagnostics;
  bool is_checked;
  struct gr_diagnostics_point checked; /* before the files were looked at */
  struct gr_pipeline *pipeline;
  struct gr_dag *dag;
  struct gr_plan *plan;
  const struct gr_backend *backend;
  struct gr_device *device;
  struct gr_executable *executable;
  uint32_t *buffers_by_name; /* indexes sorted by name, for look-ups; made by the check */
  uint32_t *nodes_by_name;
  bool is_abandoned; /* a replay may still be running: nothing may be launched, read or written any more */

  uint64_t load_ns;
  struct gr_report report;
};

/* Copies a caller's options over zeros, whatever version of the struct the caller knows. */
enum gr_status gr_engine_read_options(void *own, size_t own_bytes, const void *given, struct gr_error *error);
enum gr_status gr_engine_no_memory(struct gr_error *error);
enum gr_status gr_engine_null_argument(struct gr_error *error, const char *name);
__attribute__((format(printf, 3, 4))) void gr_engine_log(struct gr_engine *engine, enum gr_log_level level,
                                                         const char *format, ...);
/* The backend of that name, or the reason why there is none. */
enum gr_status gr_engine_find_backend(const char *name, const struct gr_backend **found, struct gr_error *error);

/* One call at a time: a second one gets GR_ERR_BUSY. `leave` returns `status`. Also for calls that only look: a graph
 * is never constant to the one who holds it. */
enum gr_status gr_graph_enter(const struct gr_graph *graph, struct gr_error *error);
enum gr_status gr_graph_leave(const struct gr_graph *graph, enum gr_status status);

/* Take back what build made (with plan and report); what check made besides, and its diagnostics. */
void gr_graph_forget_build(struct gr_graph *graph);
void gr_graph_forget_check(struct gr_graph *graph);
/* What a check made, but for its diagnostics; nothing is built of it. */
void gr_graph_drop_pipeline(struct gr_graph *graph);

/* The walk's stages, for calls that have entered. Each makes what is missing and keeps it. */
enum gr_status gr_graph_ensure_checked(struct gr_graph *graph, struct gr_error *error);
enum gr_status gr_graph_ensure_planned(struct gr_graph *graph, struct gr_error *error);
/* Turns the diagnostics, or a failure that left none, into an error. */
enum gr_status gr_graph_diagnosed(struct gr_graph *graph, enum gr_status status, struct gr_error *error);

/* Puts the outcome of a call into the report and into the caller's error. Returns `status`. */
enum gr_status gr_graph_report_outcome(struct gr_graph *graph, enum gr_status status, const struct gr_error *cause,
                                       struct gr_error *error);
/* What the report says of file and pipeline. */
void gr_graph_report_start(struct gr_graph *graph);
/* Replaces one of the report's owned texts. */
void gr_graph_report_text(struct gr_graph *graph, const char **slot, const char *text);

/* Sorts indexes 0 to count - 1 by name; null without memory. `name_of` gives the name of an index. */
typedef const char *gr_name_function(const void *context, uint32_t index);
uint32_t *gr_names_sort(struct gr_memory *memory, uint32_t count, gr_name_function *name_of, const void *context);
/* The index of that name among sorted ones, or UINT32_MAX. */
uint32_t gr_names_find(const uint32_t *sorted, uint32_t count, gr_name_function *name_of, const void *context,
                       const char *name);
const char *gr_name_of_buffer(const void *pipeline, uint32_t index);
const char *gr_name_of_node(const void *pipeline, uint32_t index);

/* GR_ERR_STATE where buffers cannot be touched nor replays started. */
enum gr_status gr_graph_refuse_if_unusable(const struct gr_graph *graph, struct gr_error *error);

/* After a failure: is it one that nobody in this process recovers from? Then every later call is told so. */
void gr_engine_remember_if_lost(struct gr_graph *graph);
enum gr_status gr_engine_refuse_if_lost(struct gr_engine *engine, const struct gr_backend *backend,
                                        struct gr_error *error);

#endif
