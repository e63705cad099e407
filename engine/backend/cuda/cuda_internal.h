/* What the files of this folder share. */
#ifndef GRAPHRUN_ENGINE_BACKEND_CUDA_CUDA_INTERNAL_H
#define GRAPHRUN_ENGINE_BACKEND_CUDA_CUDA_INTERNAL_H

#include <sys/types.h>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_api.h"

enum {
  CUDA_LANE_MAX = 128,
  CUDA_ALIGNMENT_BYTES = 256,
  CUDA_DEVICE_MAX = 64,
  CUDA_CODE_BYTES = 64,
  CUDA_FENCE_COUNT = 4, /* fences known not to be reached yet, at most */
  CUDA_NO_STEP = -1,
};

/* ---- the process: device contexts belong to it, whoever uses them (process.c) ---- */

/* Runs `work` with the device current (a negative index: whichever is), and leaves the calling thread's current device
 * and last error as they were. An error that the program left pending would be overwritten by one of ours; where there
 * is one and `may_move` is set, the work therefore runs on a thread of its own. Without it nothing is cleared. */
typedef enum gr_status (*cuda_work_function)(void *context);
enum gr_status gr_cuda_within(int device_index, bool may_move, cuda_work_function work, void *context);
/* For work that makes things: on the wrong device it would succeed unseen. GR_OK where the device is current. */
enum gr_status gr_cuda_require_current(struct gr_device *device, struct gr_error *error);

/* The first loss of a device's context is remembered for all handles. True when there was one before. */
bool gr_cuda_recall_loss(uint32_t device_index, struct gr_error *cause);
void gr_cuda_remember_loss(uint32_t device_index, const struct gr_error *cause);
/* How many executables of the process were broken off with something still running on the device. While there is one,
 * every call that frees or allocates might block for ever. */
void gr_cuda_count_stuck(uint32_t device_index, int change);
bool gr_cuda_has_stuck(uint32_t device_index);
/* The process that first used CUDA; a forked child can not. Returns false in such a child. */
bool gr_cuda_claim_process(void);

/* ---- errors (failure.c) ---- */

/* A code after which the context is of no use to anybody in the process. */
bool gr_cuda_is_loss(cudaError_t code);
/* Describes a failed call: what was being done, CUDA's words and its name for the code. Returns GR_ERR_DEVICE_MEMORY,
 * GR_ERR_NO_DEVICE, GR_ERR_DEVICE_LOST or GR_ERR_BACKEND. A loss is remembered. `device` may be null. */
__attribute__((format(printf, 4, 5))) enum gr_status gr_cuda_failed(struct gr_device *device, cudaError_t code,
                                                                    struct gr_error *error, const char *format, ...);
/* The same for a step that the device refused: GR_ERR_NODE, or what a loss gives. */
enum gr_status gr_cuda_step_failed(struct gr_device *device, const struct gr_plan *plan, uint32_t step,
                                   cudaError_t code, struct gr_error *error);
/* Remembers that the context is lost, with that cause, unless a cause is known already. */
void gr_cuda_lose(struct gr_device *device, const struct gr_error *cause);
/* GR_ERR_DEVICE_LOST with the first cause. */
enum gr_status gr_cuda_lost(const struct gr_device *device, struct gr_error *error);
void gr_cuda_set_code(struct gr_error *error, cudaError_t code);
enum gr_status gr_cuda_no_memory(struct gr_error *error, const char *doing);

/* ---- cuBLAS (library.c) ---- */

struct cuda_blas;
/* A handle for gemm on the current device, or null where cuBLAS cannot be opened or used. */
struct cuda_blas *gr_cuda_blas_create(struct gr_memory *memory);
void gr_cuda_blas_destroy(struct gr_memory *memory, struct cuda_blas *blas);
/* "cuBLAS 13.0" */
const char *gr_cuda_blas_name(const struct cuda_blas *blas);
/* Whether the library computes the call as the format demands. */
bool gr_cuda_blas_fits(const struct gr_kernel_frame *frame);
/* Queues the call. It uses nothing but the workspace given. 0, or cuBLAS' own code. */
int gr_cuda_blas_gemm(struct cuda_blas *blas, const struct gr_kernel_frame *frame, void *workspace,
                      size_t workspace_bytes, cudaStream_t stream);

/* ---- kernels (kernels.c) ---- */

struct cuda_entry {
  const char *name; /* the library's */
  cudaKernel_t kernel;
  const struct gr_kernel_image *image;
  bool is_on_device;
};

/* The catalogue's images, loaded in its order until an entry that is looked for is found, and kept until the device is
 * closed. */
struct cuda_kernels {
  cudaLibrary_t *libraries; /* [image_count] */
  uint32_t loaded_count;
  struct cuda_entry *entries; /* of the loaded ones, by name */
  size_t entry_count;
};

/* Finds an entry and makes sure that its code is on the device, since loading it later would break a capture. */
enum gr_status gr_cuda_kernels_find(struct gr_device *device, const char *entry, cudaKernel_t *kernel,
                                    struct gr_error *error);
void gr_cuda_kernels_release(struct gr_device *device);

/* ---- device (device.c) ---- */

struct gr_device {
  struct gr_memory *memory;
  uint32_t device_index;
  uint32_t device_count;
  pid_t process;
  const struct gr_catalogue *catalogue;
  struct gr_pinned_source source;
  const struct gr_pinned_hooks *pinned;
  void *pool; /* made when it is first needed */
  struct cuda_kernels kernels;
  struct cuda_blas *blas; /* made when the first gemm is built */
  bool blas_was_tried;
  char name[128];
  size_t pitch_max;
  int compute_major, compute_minor;
  bool has_managed;
  bool is_lost;
  struct gr_error cause;
};

/* The pool of page-locked memory; null when it cannot be made. */
void *gr_cuda_device_pool(struct gr_device *device);
/* GR_ERR_STATE in a forked child, GR_ERR_DEVICE_LOST after a loss. */
enum gr_status gr_cuda_device_check(const struct gr_device *device, struct gr_error *error);
/* Whether calls that free may be made: in this process, and nothing hangs on the device. */
bool gr_cuda_device_is_free(const struct gr_device *device);

void gr_cuda_probe(struct gr_probe *probe);
enum gr_status gr_cuda_describe(uint32_t device_index, struct gr_device_info *info, struct gr_error *error);
enum gr_status gr_cuda_open(struct gr_memory *memory, const struct gr_device_options *options,
                            struct gr_device **device, struct gr_error *error);
void gr_cuda_close(struct gr_device *device);

/* ---- steps (step.c) ---- */

enum cuda_work_kind {
  CUDA_WORK_NOTHING,
  CUDA_WORK_COPY,      /* struct cuda_copy */
  CUDA_WORK_HOST_COPY, /* struct cuda_copy, by a function on the host */
  CUDA_WORK_KERNEL,    /* struct cuda_call */
  CUDA_WORK_GEMM,      /* struct cuda_call, by cuBLAS */
};

struct cuda_box {
  void *address;
  uint64_t pitch, plane;
};

struct cuda_copy {
  struct cuda_box to, from;
  uint64_t width, height, depth;
  enum cudaMemcpyKind kind;
};

struct cuda_launch {
  cudaKernel_t kernel;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
};

struct cuda_call {
  struct gr_kernel_frame frame;
  void *workspace; /* of a gemm by cuBLAS */
  uint32_t launch_count;
  struct cuda_launch launches[];
};

struct cuda_work {
  enum cuda_work_kind kind;
  void *work;
};

/* Addresses must be set. */
enum gr_status gr_cuda_works_make(struct gr_executable *executable, struct gr_error *error);
/* Queues one step. */
enum gr_status gr_cuda_step_issue(struct gr_executable *executable, uint32_t step, cudaStream_t stream,
                                  struct gr_error *error);

/* ---- executable ---- */

/* How far a lane is filled ahead of the device. */
struct cuda_lane {
  cudaEvent_t end;
  cudaEvent_t fences[2];
  uint32_t fill; /* calls since the last fence */
  uint64_t fence_count;
};

enum cuda_end {
  CUDA_END_NONE,
  CUDA_END_FAILED,    /* the context is lost */
  CUDA_END_TIMEOUT,   /* broken off, something still runs */
  CUDA_END_CANCELLED, /* likewise */
};

struct gr_executable {
  struct gr_memory *memory;
  struct gr_device *device;
  const struct gr_plan *plan;
  enum gr_mode mode;
  struct gr_arena arena;
  struct gr_build_facts facts;

  uint32_t buffer_count;
  void *regions[GR_PLACE_COUNT];
  void **addresses;        /* [buffer_count], for copies and, but for device memory, for the host */
  void **kernel_addresses; /* [buffer_count], as kernels see them; null where they cannot */
  void *workspaces;        /* of all gemm steps by cuBLAS, on the device */
  size_t workspace_bytes;  /* of each */
  struct cuda_work *works; /* [step_count] */
  uint64_t timeouts_ns;    /* what the nodes' timeouts allow one replay; 0: any time */

  cudaStream_t *streams; /* [stream_count]; the first is the origin */
  uint32_t stream_count;

  cudaGraph_t graph; /* kept, since node handles belong to it */
  cudaGraphExec_t instance;

  /* Plain streams. */
  cudaEvent_t *events;   /* [step_count]; null where nobody waits */
  uint64_t *recorded_in; /* [step_count], the replay that an event was last recorded in */
  cudaEvent_t fork;
  struct cuda_lane *lanes; /* [stream_count] */
  uint32_t lane_batch;

  cudaEvent_t fences[CUDA_FENCE_COUNT]; /* behind every fence_every-th launch, round and round */
  uint64_t fence_every;
  uint64_t fence_last;     /* the number of the one that was recorded last; 0: none */
  cudaEvent_t first, last; /* timed: before the first replay, behind the last */
  cudaEvent_t once;        /* behind the first replay since `reset_times` */
  uint64_t once_behind;    /* that replay's number; 0: not recorded yet */
  bool first_is_recorded;
  double device_ns;

  uint64_t launched, completed; /* replays */
  uint64_t launched_before;     /* as `reset_times` found it */
  uint64_t waiting_since_ns;    /* the first launch after all was complete */
  uint64_t launch_count, launch_min_ns, launch_max_ns, launch_total_ns;

  enum cuda_end end;
  int64_t end_step;     /* the step that is known to be the cause, or CUDA_NO_STEP */
  uint32_t serial_done; /* serial mode: steps that ended in this replay */
};

/* memory.c */
enum gr_status gr_cuda_memory_make(struct gr_executable *executable, struct gr_error *error);
enum gr_status gr_cuda_memory_clear(struct gr_executable *executable, struct gr_error *error);
void gr_cuda_memory_release(struct gr_executable *executable);
enum gr_status gr_cuda_memory_copy(struct gr_executable *executable, void *to, const void *from, uint64_t size_bytes,
                                   enum cudaMemcpyKind kind, struct gr_error *error);

/* capture.c: sets graph, and the facts about it. */
enum gr_status gr_cuda_capture(struct gr_executable *executable, struct gr_error *error);

/* stream.c */
enum gr_status gr_cuda_streams_make(struct gr_executable *executable, struct gr_error *error);
void gr_cuda_streams_release(struct gr_executable *executable);
enum gr_status gr_cuda_streams_replay(struct gr_executable *executable, const struct gr_wait_options *options,
                                      struct gr_error *error);
enum gr_status gr_cuda_serial_replay(struct gr_executable *executable, const struct gr_wait_options *options,
                                     struct gr_error *error);

/* wait.c */
/* Polls the event. On anything but success the executable's end is set and described. `step` is the one that alone can
 * be the cause, or CUDA_NO_STEP; its timeout counts from `since_ns`. */
enum gr_status gr_cuda_wait_event(struct gr_executable *executable, cudaEvent_t event, int64_t step, uint64_t since_ns,
                                  const struct gr_wait_options *options, struct gr_error *error);
/* A call inside a replay gave that code: the replay has failed. */
enum gr_status gr_cuda_replay_failed(struct gr_executable *executable, cudaError_t code, int64_t step,
                                     struct gr_error *error);
void gr_cuda_states(const struct gr_executable *executable, enum gr_node_state *states);

/* executable.c */
enum gr_status gr_cuda_build(struct gr_device *device, const struct gr_plan *plan,
                             const struct gr_build_options *options, struct gr_executable **executable,
                             struct gr_error *error);
void gr_cuda_destroy(struct gr_executable *executable);
enum gr_status gr_cuda_launch(struct gr_executable *executable, const struct gr_wait_options *options,
                              struct gr_error *error);
enum gr_status gr_cuda_wait(struct gr_executable *executable, const struct gr_wait_options *options,
                            struct gr_error *error);

#endif
