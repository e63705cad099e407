/* The contract between the engine and what runs a plan: one const table of whole-plan operations.
 *
 * A back end sees a frozen plan and turns it into an executable that owns everything it needs: memory for all buffers,
 * streams, events, a captured graph. It knows plan.h, base and engine/kernel.h; it knows neither YAML nor the program.
 *
 * Threads: operations on one device handle or on one of its executables are never called at the same time by two
 * threads (run/ sees to it); different device handles are independent.
 *
 * Errors: a function that does not return GR_OK has filled `error` (where not null) with one sentence, node and place
 * where it knows them, the API's own name for the code in backend_code, and has left its outputs untouched. `destroy`
 * and `close` accept null, and what a failed build or open had made is gone when it returns. */
#ifndef GRAPHRUN_ENGINE_BACKEND_BACKEND_H
#define GRAPHRUN_ENGINE_BACKEND_BACKEND_H

#include "engine/base/cache.h"
#include "engine/base/types.h"
#include "engine/plan/plan.h"

/* The library's default: whole blocks from the source, kept and reused when a block of about that size is asked for
 * again. `context` must point to a struct gr_memory. */
extern const struct gr_pinned_hooks gr_pinned_default;

/* Why there is no device, or which there are; never an error for 'none here'. */
struct gr_probe {
  uint32_t device_count;
  char reason[256]; /* one sentence without a final stop where device_count is 0 */
  char driver[64];  /* versions, for people */
};

/* How kernels of the user's own become code. All pointers outlive the device handle. */
struct gr_compile_options {
  struct gr_cache *cache;    /* of compiled code; null: nothing is kept */
  const char *host_compiler; /* of C++, for the CPU: a name on the PATH or a path; null: c++, g++ or clang++ */
  bool host_sanitize;        /* kernels run on the CPU under the address sanitizer, in a process of their own */
  void (*log)(void *context, const char *text); /* whatever a compiler says, whole, warnings too; may be null */
  void *log_context;
};

struct gr_device_options {
  uint32_t device_index;
  uint32_t worker_count; /* host: 0 means one a core */
  const struct gr_catalogue *catalogue;
  const struct gr_pinned_hooks *pinned; /* null: the default */
  struct gr_compile_options compile;
};

struct gr_build_options {
  enum gr_mode mode;
};

/* Facts about what was built and what it cost. */
struct gr_build_facts {
  uint64_t graph_nodes; /* counted in the captured graph after building; 0 where there is no graph */
  uint64_t graph_edges;
  uint64_t stream_count;
  uint64_t corrected_steps; /* steps whose dependency set was set by hand during capture */
  uint64_t device_bytes, pinned_bytes, host_bytes, mapped_bytes, managed_bytes;
  uint64_t allocate_ns, load_kernels_ns, capture_ns, instantiate_ns, upload_ns;
  uint32_t worker_count; /* host */
  const char *gemm;      /* "cuBLAS 13.0", "built-in", "CBLAS"; null where no gemm occurs */
};

/* Times of replays since the executable was built or since the last `reset_times`. */
struct gr_replay_times {
  uint64_t replays;
  uint64_t launch_min_ns, launch_max_ns, launch_total_ns; /* the host call */
  double device_ns; /* first start to last end on the device's clock; 0 where there is none */
};

/* How a wait ends early. `cancelled` may be null. */
struct gr_wait_options {
  uint64_t deadline_ns; /* of gr_clock_now; 0: none */
  bool (*cancelled)(void *context);
  void *context;
};

struct gr_device;     /* a back end's own */
struct gr_executable; /* a back end's own */

struct gr_backend {
  const char *name; /* "host", "cuda" */

  /* Looks for devices. Must not create a context, may open libraries; may be called before fork. Cheap. */
  void (*probe)(struct gr_probe *probe);
  /* Describes one device without leaving a context behind where that is possible. */
  enum gr_status (*describe)(uint32_t device_index, struct gr_device_info *info, struct gr_error *error);

  /* Makes a device ready. May block for as long as a context takes. The options' pointers outlive the handle. */
  enum gr_status (*open)(struct gr_memory *memory, const struct gr_device_options *options, struct gr_device **device,
                         struct gr_error *error);
  /* After all of the device's executables are destroyed. Never blocks for ever after a timeout or a lost context: what
   * cannot be freed then is left to the end of the process. */
  void (*close)(struct gr_device *device);
  void (*limits)(const struct gr_device *device, struct gr_limits *limits);

  /* Allocates everything, then makes the plan ready to launch. The plan outlives the executable. All memory, modules
   * and events exist before a capture begins. Buffers hold undefined bytes, scratch is zero. */
  enum gr_status (*build)(struct gr_device *device, const struct gr_plan *plan, const struct gr_build_options *options,
                          struct gr_executable **executable, struct gr_error *error);
  void (*destroy)(struct gr_executable *executable);

  /* Copies bytes between the caller's memory and a buffer of any place, at once and whole; blocks. Not while replays
   * are in flight. offset + size lie inside the buffer (checked by the caller). */
  enum gr_status (*write)(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                          const void *from, uint64_t size_bytes, struct gr_error *error);
  enum gr_status (*read)(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes, void *to,
                         uint64_t size_bytes, struct gr_error *error);
  /* The buffer's address where the host may touch it directly (pinned, host, mapped; on the host back end all); else
   * null. Only while nothing is in flight. */
  void *(*address)(struct gr_executable *executable, uint32_t buffer_index);

  /* Starts one replay. Queues behind earlier ones; replays of one executable never overlap. May block while too many
   * are queued, then `wait`'s options bound it. Nothing is allocated. In serial mode, and on the host, it may run the
   * replay to its end. */
  enum gr_status (*launch)(struct gr_executable *executable, const struct gr_wait_options *options,
                           struct gr_error *error);
  /* Waits for all launched replays. GR_ERR_TIMEOUT, GR_ERR_CANCELLED: something still runs, and only `states`, `times`
   * and (with no promise to free everything) destroy and close may be called from then on. GR_ERR_NODE: a node failed;
   * the error names it where that is known for certain. */
  enum gr_status (*wait)(struct gr_executable *executable, const struct gr_wait_options *options,
                         struct gr_error *error);

  /* The state of each step after the last replay or failure; `states` has plan->step_count entries. */
  void (*states)(const struct gr_executable *executable, enum gr_node_state *states);
  void (*facts)(const struct gr_executable *executable, struct gr_build_facts *facts);
  void (*times)(const struct gr_executable *executable, struct gr_replay_times *times);
  void (*reset_times)(struct gr_executable *executable);

  /* Optional (null: never). True when the device's context is lost for the rest of the process; `cause` then gets the
   * first failure. */
  bool (*is_lost)(const struct gr_device *device, struct gr_error *cause);
};

/* GR_ERR_INTERNAL, naming the member, for a table that lacks one which is not optional. In every build: a table may
 * come from elsewhere. */
enum gr_status gr_backend_verify(const struct gr_backend *backend, struct gr_error *error);
/* The optional member, or what it means when it is not there. */
bool gr_backend_is_lost(const struct gr_backend *backend, const struct gr_device *device, struct gr_error *cause);

/* The back ends in this build, best first, ended by null. Defined in builtin.c, which only engine.c's target links. */
extern const struct gr_backend *const gr_backends_builtin[];

#endif
