/* graphrun: describe a DAG of copies and kernels in YAML, check it, plan it, capture it into a cudaGraph, replay it.
 *
 * This is the whole public face, together with the headers that it includes: status codes and errors, shared types, and
 * engine/kernel.h for catalogues of kernels. All compile as C11 and as C++17. docs/embedding.md has a complete program.
 *
 *     engine -> graph (load, set params) -> check -> plan -> build -> write, run, read, report -> destroy
 *
 * Conventions
 * - Errors. Every function that can fail returns `enum gr_status` and takes a `struct gr_error *` last, which may be
 *   null and is untouched on success. Outputs come just before it and are set only on success. Nothing is ever
 *   printed, and the library never exits, aborts, changes the locale, or touches signal handlers, environment or
 *   working folder. A null handle where one is needed gives GR_ERR_ARGUMENT.
 * - Ownership. What `create` and `load` give is freed by the matching `destroy`, which accepts null. Strings and
 *   arrays passed in are copied unless a comment says otherwise. Texts are UTF-8. Nothing that the library returns is
 *   to be freed with free().
 * - Memory comes through the engine's memory hook. libyaml, which has no hook, uses malloc for the time of a parse;
 *   the CUDA runtime allocates for itself.
 * - Threads. An engine may be used by any number of threads. A graph serves one call at a time: a second one, from
 *   another thread or from within a callback, gets GR_ERR_BUSY and changes nothing. Two graphs are independent, also
 *   when they come from one file.
 * - Signals. A worker thread of the library takes none that is sent to the process. A program whose files may not grow
 *   without bound (RLIMIT_FSIZE) ignores SIGXFSZ, as it ignores SIGPIPE for pipes: such a save is then GR_ERR_IO.
 * - CUDA. The library uses its own non-blocking streams, captures in thread-local mode, leaves the calling thread's
 *   current device as it was, and judges its own calls by what they return: an error that the program left pending is
 *   neither reported nor cleared. A process must not fork between a build and the use of what was built.
 * - Options are structs whose first field is their size: `struct gr_run_options options = {.struct_size = sizeof
 *   options};`. Zero in a field always means its default, a null pointer means all defaults. A smaller struct (an
 *   older program) gets defaults for what it lacks; a larger one must be zero in what this library does not know, else
 *   GR_ERR_ARGUMENT.
 * - Stable: this header's names and numbers, the format, the JSON report's members. Fields are only appended.
 */
#ifndef GRAPHRUN_ENGINE_GRAPHRUN_H
#define GRAPHRUN_ENGINE_GRAPHRUN_H

#include "engine/base/status.h"
#include "engine/base/types.h"
#include "engine/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_VERSION "0.1.0"

/* A call whose status says whether its outputs are there, or whether the next step makes sense. */
#if defined(__GNUC__)
#define GR_MUST_USE __attribute__((warn_unused_result))
#else
#define GR_MUST_USE
#endif

struct gr_engine;
struct gr_graph;

/* The version of the library, "major.minor.patch"; a static string. */
const char *gr_version(void);

/* Receives pieces of a text in order; returns false to stop (the writer then gives GR_ERR_IO). */
typedef bool (*gr_write_function)(void *context, const char *bytes, size_t length);
/* Fills up to `capacity` bytes and returns how many; 0 at the end, SIZE_MAX on failure. */
typedef size_t (*gr_read_function)(void *context, char *bytes, size_t capacity);

enum gr_log_level {
  GR_LOG_INFO,    /* which back end and why */
  GR_LOG_WARNING, /* something that a person should know, such as a policy that fell back; and all that a compiler of
                     kernels says, line ends included */
};
typedef void (*gr_log_function)(void *context, enum gr_log_level level, const char *message);

/* ---- engine ---- */

struct gr_engine_options {
  size_t struct_size;
  const struct gr_memory_hooks *memory; /* null: malloc, realloc, free; copied */
  const struct gr_catalogue *catalogue; /* the kernels that pipelines may name; null: none; must outlive the engine */
  const struct gr_pinned_hooks *pinned; /* page-locked memory; null: whole cudaHostAlloc blocks, reused; must outlive
                                           the engine */
  gr_log_function log;                  /* null: silence; called on the thread of the call that it concerns */
  void *log_context;
  uint32_t worker_count;     /* of the host back end; 0: GRAPHRUN_WORKERS, else one a core */
  const char *cache_folder;  /* of compiled kernels; null: $XDG_CACHE_HOME/graphrun, else ~/.cache/graphrun; copied */
  bool no_cache;             /* compile anew, and keep nothing */
  bool host_sanitize;        /* on the host back end .cu kernels run under the address sanitizer, in a process of their
                                own; an access outside a buffer is GR_ERR_NODE with the source's file and line */
  const char *host_compiler; /* of C++, for .cu kernels on the host back end: a name on the PATH or a path; null:
                                GRAPHRUN_CXX, else c++, g++ or clang++; copied */
};

/* GR_ERR_ARGUMENT, GR_ERR_NO_MEMORY. Touches no device. */
GR_MUST_USE enum gr_status gr_engine_create(const struct gr_engine_options *options, struct gr_engine **engine,
                                            struct gr_error *error);
/* GR_ERR_BUSY while graphs of it exist; the engine then stays as it is. */
enum gr_status gr_engine_destroy(struct gr_engine *engine);

/* The environment variables that an engine reads, as a table: name, value now, default, help. Needs no engine and works
 * whatever they hold. GR_ERR_IO when `write` stops, GR_ERR_NO_MEMORY. */
enum gr_status gr_knobs_write(gr_write_function write, void *context, struct gr_error *error);

/* A kernel or a function that is in the program itself, so that nothing needs to be a file. */
struct gr_kernel_registration {
  size_t struct_size;
  const char *name;                               /* what pipelines call it; a valid name */
  const struct gr_declared_parameter *parameters; /* [parameter_count], in the order of the kernel's own */
  uint32_t parameter_count;
  gr_host_function *host; /* the version for the host back end, and what a host node without a library runs; null: none
                           */
  void *host_context;     /* given to it in each call */
  enum gr_cuda_handle_kind handle_kind; /* the version for the CUDA back end, or GR_CUDA_HANDLE_NONE */
  const void *handle; /* valid on the device that graphs are built for, as long as they exist; a handle of another
                         device or context is refused by the build */
};
/* Makes a kernel known to all graphs that are checked from now on; `kernels:` of a file may have one of the same name,
 * which then counts there. Everything but the two pointers is copied. GR_ERR_ARGUMENT (no name or not a valid one, a
 * name that was registered before, a parameter without name or with the type of none, no version at all),
 * GR_ERR_BUSY while graphs of the engine exist, GR_ERR_NO_MEMORY. */
GR_MUST_USE enum gr_status gr_kernel_register(struct gr_engine *engine, const struct gr_kernel_registration *kernel,
                                              struct gr_error *error);

struct gr_backend_info {
  char name[16];
  uint32_t device_count;
  char reason[256]; /* why there is no device; empty where there is one */
  char driver[64];  /* versions, for people */
};
/* How many back ends this build has; the best comes first. */
uint32_t gr_backend_count(const struct gr_engine *engine);
/* Looks for devices, without making a context. GR_ERR_ARGUMENT: no such index. */
enum gr_status gr_backend_describe(const struct gr_engine *engine, uint32_t index, struct gr_backend_info *info,
                                   struct gr_error *error);
/* Describes a device of that back end. GR_ERR_NO_BACKEND, GR_ERR_NO_DEVICE, GR_ERR_BACKEND. */
enum gr_status gr_device_describe(const struct gr_engine *engine, const char *backend, uint32_t device_index,
                                  struct gr_device_info *info, struct gr_error *error);

/* ---- graph: a pipeline on its way from text to replay ---- */

/* Reads the file's bytes; nothing is judged yet. Relative paths in it start from its folder. GR_ERR_IO (with the path
 * tried and the reason), GR_ERR_NO_MEMORY. */
GR_MUST_USE enum gr_status gr_graph_load_file(struct gr_engine *engine, const char *path, struct gr_graph **graph,
                                              struct gr_error *error);
/* The same from memory. `name` is what messages call it (null: "<memory>"); `folder` is where relative paths start
 * (null or "": the working folder). */
GR_MUST_USE enum gr_status gr_graph_load_memory(struct gr_engine *engine, const char *bytes, size_t length,
                                                const char *name, const char *folder, struct gr_graph **graph,
                                                struct gr_error *error);
/* The same from a stream, read to its end. GR_ERR_IO when `read` fails. */
GR_MUST_USE enum gr_status gr_graph_load_stream(struct gr_engine *engine, gr_read_function read, void *context,
                                                const char *name, const char *folder, struct gr_graph **graph,
                                                struct gr_error *error);
/* GR_ERR_BUSY while another call on the graph goes on, also from within a callback of its own; the graph then stays.
 * After a timeout or a lost context what cannot be freed is left to the end of the process, and nothing blocks. */
enum gr_status gr_graph_destroy(struct gr_graph *graph);

/* Overrides a param of the file; checked when the file is. Once the graph is built the call is refused with
 * GR_ERR_STATE (scalars and shapes are fixed then): reset it first. `text` is a number as a file spells it
 * ("4Ki", "0x10", "2.5"), no expression. */
GR_MUST_USE enum gr_status gr_graph_set_integer(struct gr_graph *graph, const char *name, int64_t value,
                                                struct gr_error *error);
GR_MUST_USE enum gr_status gr_graph_set_real(struct gr_graph *graph, const char *name, double value,
                                             struct gr_error *error);
GR_MUST_USE enum gr_status gr_graph_set_text(struct gr_graph *graph, const char *name, const char *text,
                                             struct gr_error *error);

/* Parses, types and checks the pipeline, cycle and race checks included; touches no device. All problems are found in
 * one pass: `error` has the first and says how many there are, gr_graph_diagnostics shows them. GR_ERR_INVALID,
 * GR_ERR_NOT_SUPPORTED, GR_ERR_NO_MEMORY. Called by itself where plan or build need it; the result is kept. */
GR_MUST_USE enum gr_status gr_graph_check(struct gr_graph *graph, struct gr_error *error);
/* Besides: opens every file that the pipeline loads or expects and compares its type and shape. A file that cannot be
 * read is GR_ERR_IO, or a warning among the diagnostics. */
GR_MUST_USE enum gr_status gr_graph_check_files(struct gr_graph *graph, enum gr_unreadable unreadable,
                                                struct gr_error *error);
/* Errors and warnings of the last check, each with file:line:col, the source line and a caret; the first 20 of each,
 * all counted. GR_ERR_IO when `write` stops. */
enum gr_status gr_graph_diagnostics(struct gr_graph *graph, gr_write_function write, void *context, bool color,
                                    struct gr_error *error);
/* Counts of the last check; not while another call on the graph goes on. Null pointers are allowed. */
void gr_graph_problems(const struct gr_graph *graph, uint64_t *errors, uint64_t *warnings);

enum gr_show {
  GR_SHOW_DOCUMENT,
  GR_SHOW_PIPELINE,
  GR_SHOW_DAG,
  GR_SHOW_DOT,
  GR_SHOW_PLAN,
  GR_SHOW_PLAN_JSON,
};
/* One stage as stable text; checks and plans where needed. */
enum gr_status gr_graph_show(struct gr_graph *graph, enum gr_show what, gr_write_function write, void *context,
                             struct gr_error *error);

struct gr_graph_options {
  size_t struct_size;
  const char *backend; /* "host", "cuda", or null and "auto": the best one with a device; the log says which and why */
  uint32_t device_index;
  enum gr_mode mode; /* default: GR_MODE_GRAPH */
};
/* Plans without a device, for a CUDA device of usual limits. GR_ERR_NO_MEMORY, GR_ERR_NOT_SUPPORTED, and check's codes.
 */
GR_MUST_USE enum gr_status gr_graph_plan(struct gr_graph *graph, struct gr_error *error);
/* Opens the device, plans for it, allocates all memory, captures and instantiates. Builds again if it was built before
 * (buffers then start anew). GR_ERR_NO_BACKEND, GR_ERR_NO_DEVICE, GR_ERR_DEVICE_MEMORY, GR_ERR_NODE (a node that the
 * device refuses), GR_ERR_DEVICE_LOST, GR_ERR_BACKEND, GR_ERR_INTERNAL, and plan's codes. On failure nothing stays
 * built. */
GR_MUST_USE enum gr_status gr_graph_build(struct gr_graph *graph, const struct gr_graph_options *options,
                                          struct gr_error *error);
/* Frees what build made, so that params can be set again. */
enum gr_status gr_graph_reset(struct gr_graph *graph, struct gr_error *error);

struct gr_buffer_info {
  const char *name; /* valid until the graph is reset, checked anew or destroyed; so is `shape` */
  enum gr_type type;
  enum gr_place place;
  uint32_t rank;
  const uint64_t *shape; /* [rank], row-major */
  uint64_t element_count;
  uint64_t size_bytes;
};
/* Buffers in file order, once checked. GR_ERR_ARGUMENT: no such index or name. The count: not while another call on the
 * graph goes on. */
uint32_t gr_graph_buffer_count(const struct gr_graph *graph);
enum gr_status gr_graph_buffer(const struct gr_graph *graph, uint32_t index, struct gr_buffer_info *info,
                               struct gr_error *error);
enum gr_status gr_graph_buffer_named(const struct gr_graph *graph, const char *name, struct gr_buffer_info *info,
                                     struct gr_error *error);

/* Copies bytes into or out of a buffer of any place, between runs; blocks. The range lies inside the buffer, or
 * GR_ERR_ARGUMENT. Only once built: GR_ERR_STATE otherwise. The caller's memory is not used after the call. What was
 * written holds for a run with keep_state; a run without starts from the file's init and load. */
GR_MUST_USE enum gr_status gr_graph_write(struct gr_graph *graph, const char *buffer, uint64_t offset_bytes,
                                          const void *from, uint64_t size_bytes, struct gr_error *error);
GR_MUST_USE enum gr_status gr_graph_read(struct gr_graph *graph, const char *buffer, uint64_t offset_bytes, void *to,
                                         uint64_t size_bytes, struct gr_error *error);

struct gr_run_options {
  size_t struct_size;
  uint64_t repeat;     /* replays; 0: 1 */
  uint64_t warmup;     /* replays before, after which init and load are applied again */
  uint64_t timeout_ns; /* for warm-up and replays together; 0: none. On GR_ERR_TIMEOUT something still runs on the
                          device: the graph can only be reported on, reset and destroyed, and a new build is refused
                          with GR_ERR_STATE as long as the device needs its memory */
  bool keep_state;     /* do not apply init and load: go on with the buffers as they are */
  bool no_outputs;     /* neither expectations nor saves */
  bool (*cancelled)(void *context); /* asked often from the calling thread; true ends the run with GR_ERR_CANCELLED,
                                       and leaves the graph as after a timeout */
  void *cancelled_context;
  void (*progress)(void *context, uint64_t replays_done, uint64_t replays); /* at most ten times a second */
  void *progress_context;
};
/* Replays, checks expectations, saves. Builds with default options where that was not done. Outputs are written under
 * temporary names and renamed when all are complete, and not at all after a failure. GR_ERR_NODE, GR_ERR_EXPECT,
 * GR_ERR_IO, GR_ERR_INVALID (a file of other type or shape), GR_ERR_TIMEOUT, GR_ERR_CANCELLED, GR_ERR_DEVICE_LOST. */
GR_MUST_USE enum gr_status gr_graph_run(struct gr_graph *graph, const struct gr_run_options *options,
                                        struct gr_error *error);

enum gr_report_format { GR_REPORT_TEXT, GR_REPORT_TEXT_COLOR, GR_REPORT_JSON };
/* What the last call of check, plan, build or run came to: status, error, nodes, plan figures, memory, times. One
 * strict JSON document with GR_REPORT_JSON, also after a failure. Works on any graph at any time. GR_ERR_IO when
 * `write` stops. */
enum gr_status gr_graph_report(struct gr_graph *graph, enum gr_report_format format, gr_write_function write,
                               void *context, struct gr_error *error);
/* The state of a node after a run. GR_ERR_STATE before one, GR_ERR_ARGUMENT for an unknown id. */
enum gr_status gr_graph_node_state(const struct gr_graph *graph, const char *node, enum gr_node_state *state,
                                   struct gr_error *error);

#ifdef __cplusplus
}
#endif

#endif
