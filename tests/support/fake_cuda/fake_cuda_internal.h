/* What the files of the double share. All state is guarded by one lock, which every call of the runtime holds from
 * fake_enter to fake_leave; functions that are not part of the runtime's interface expect it held. */
#ifndef GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_FAKE_CUDA_INTERNAL_H
#define GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_FAKE_CUDA_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "tests/support/fake_cuda/fake_cuda_control.h"

/* --- Growing arrays; a test's program without memory ends. --- */

void *fake_allocate(size_t size_bytes); /* zeroed */
void *fake_resize(void *address, size_t size_bytes);

/* Pointers to anything. */
struct fake_list {
  void **items;
  size_t count, capacity;
};
void fake_list_add(struct fake_list *list, void *item);
bool fake_list_has(const struct fake_list *list, const void *item);
/* Keeps the order of the others. */
void fake_list_remove(struct fake_list *list, const void *item);
void fake_list_copy(struct fake_list *to, const struct fake_list *from);
void fake_list_release(struct fake_list *list);

/* --- Memory --- */

enum fake_memory_kind { FAKE_PAGEABLE, FAKE_DEVICE, FAKE_PINNED, FAKE_MAPPED, FAKE_MANAGED };

struct fake_allocation {
  uintptr_t base; /* the address that the program has */
  size_t size_bytes;
  size_t reserved_bytes;  /* of address space; device memory and aliases of mapped memory */
  unsigned char *backing; /* where the bytes are; null once freed */
  enum fake_memory_kind kind;
  int device;
  struct fake_allocation *alias_of; /* the device address of mapped memory, where the two differ */
};

/* The allocation that holds the address, freed device memory too; null: the program's own memory. */
struct fake_allocation *fake_memory_find(const void *address);
/* Where the bytes are; null and a complaint where they are not all in the one live allocation that the address is in.
 */
unsigned char *fake_memory_bytes(const void *address, size_t size_bytes);
bool fake_memory_is_range(const void *address, size_t size_bytes);
void fake_memory_reset(void);
void fake_kernel_reset(void);

/* --- Operations: what a piece of work or a node of a graph does --- */

enum fake_kind {
  FAKE_EMPTY,
  FAKE_KERNEL,
  FAKE_COPY,
  FAKE_SET,
  FAKE_HOST,
  FAKE_RECORD,
  FAKE_WAIT,
};

/* A box of `depth` slices of `height` rows of `width` bytes. */
struct fake_box {
  size_t width, height, depth;
};
/* Where the box's rows lie. */
struct fake_place {
  unsigned char *address;
  size_t row_pitch, slice_pitch;
};

struct CUkern_st {
  char *name;
  struct CUlib_st *library;
  const struct gr_kernel *builtin;       /* of the catalogue, or null */
  const struct fake_cuda_kernel *custom; /* a test's own, or null */
};

struct fake_operation {
  uint32_t references;
  enum fake_kind kind;
  struct fake_box box;
  struct fake_place to, from;
  unsigned char *staged; /* the bytes of a pageable source, taken when the copy was called or launched; owned */
  int value;
  struct CUkern_st *kernel;
  char *entry; /* owned */
  struct fake_cuda_geometry geometry;
  size_t argument_count;
  void **arguments; /* copies, owned */
  size_t *argument_bytes;
  cudaHostFn_t function;
  void *function_data;
  struct CUevent_st *event;
};

struct fake_operation *fake_operation_make(enum fake_kind kind);
struct fake_operation *fake_operation_hold(struct fake_operation *operation);
void fake_operation_drop(struct fake_operation *operation);
/* What one launch of a graph does in place of the node's operation; the caller gets a reference. */
struct fake_operation *fake_operation_at_launch(struct fake_operation *operation);

/* Does it; cudaSuccess, or the code of the fault that it ends in. Host functions are not for it. */
cudaError_t fake_operation_run(const struct fake_operation *operation, int device);
cudaError_t fake_kernel_run(const struct fake_operation *operation, int device);
/* What cudaGraphInstantiate asks of a memset node. */
bool fake_set_is_valid(const struct fake_operation *operation);

/* --- Work: an operation in a stream --- */

enum fake_work_state { FAKE_BLOCKED, FAKE_READY, FAKE_RUNNING, FAKE_HUNG, FAKE_DONE };

struct fake_work {
  uint32_t references;
  enum fake_work_state state;
  struct fake_operation *operation;
  int device;
  uint64_t sequence;              /* order of issue */
  uint64_t key;                   /* order among those that are ready */
  uint64_t done_ns;               /* on the device's clock */
  size_t missing;                 /* predecessors not done */
  struct fake_list before, after; /* `before` is held until done */
  uint64_t seen;                  /* mark of the walk that visited it last */
  size_t next_before;             /* of that walk */
  bool was_released;              /* of a hang */
};

/* Puts work behind what `before` names (null and done entries are fine); the caller gets a reference. */
struct fake_work *fake_work_add(struct fake_operation *operation, int device, struct fake_work *const *before,
                                size_t before_count);
struct fake_work *fake_work_hold(struct fake_work *work);
void fake_work_drop(struct fake_work *work);          /* null is fine */
bool fake_work_is_done(const struct fake_work *work); /* of null: true */
/* Lets some work run that need not, as a real device would while the host goes on. */
void fake_work_drift(void);
/* Runs what `work` needs; returns when it is done, its device is lost, or patience is over (false). May let go of the
 * lock for a while. */
bool fake_work_finish(struct fake_work *work, const char *caller);
/* Runs a part of it, at least one piece where one can run. */
void fake_work_progress(struct fake_work *work);
/* Finishes all that is pending on a device. */
bool fake_work_finish_device(int device, const char *caller);
/* Forgets what is pending on a device that is lost. */
void fake_work_abandon(int device);
void fake_work_reset(void);

/* --- Streams and events --- */

struct fake_member;
struct fake_capture;

struct CUstream_st {
  uint32_t magic;
  bool is_dead;
  bool is_blocking; /* waits for the legacy stream and it for this one */
  bool is_legacy;
  int device;
  struct fake_work *tail;
  struct fake_member *member; /* of a capture, or null */
};

struct CUevent_st {
  uint32_t magic;
  bool is_dead;
  unsigned int flags;
  int device;
  struct fake_work *work;       /* behind which it was recorded last; null: never */
  struct fake_capture *capture; /* recorded in this live capture … */
  bool is_orphan;               /* … or in one that has ended */
  struct fake_list nodes;       /* behind these nodes of it */
};

/* The stream of a handle: 0 is the current device's legacy stream. Null for a dead one, with a complaint. */
struct CUstream_st *fake_stream_of(cudaStream_t handle);
/* Adds work to a stream that does not capture. */
cudaError_t fake_stream_add(struct CUstream_st *stream, struct fake_operation *operation);
/* What new work in the stream comes after, as list entries. */
void fake_stream_before(struct CUstream_st *stream, struct fake_list *before);
void fake_stream_set_tail(struct CUstream_st *stream, struct fake_work *work);
void fake_event_set_work(struct CUevent_st *event, struct fake_work *work);
bool fake_event_is_valid(cudaEvent_t event);
/* The capture is invalid or over: events that were recorded in it are of no more use until recorded again. */
void fake_events_orphan(const struct fake_capture *capture);
void fake_streams_reset(void);

/* --- Capture --- */

/* A stream's part in a capture. */
struct fake_member {
  struct fake_capture *capture;
  struct CUstream_st *stream; /* null once destroyed */
  struct fake_list nodes;     /* what the stream's next node depends on */
  cudaGraphEdgeData *edges;   /* zeros, for cudaStreamGetCaptureInfo */
};

struct fake_capture {
  uint64_t id;
  enum cudaStreamCaptureMode mode;
  pthread_t thread;
  bool is_invalid;
  struct CUstream_st *origin;
  struct CUgraph_st *graph;
  struct fake_list members;
};

/* The capture that the stream is part of, or null. */
struct fake_capture *fake_capture_of(const struct CUstream_st *stream);
void fake_capture_invalidate(struct fake_capture *capture);
/* For calls that a capture forbids its thread: cudaErrorStreamCaptureUnsupported, and the captures are invalid. */
cudaError_t fake_capture_refuse_unsafe(void);
/* For calls that a capture of any thread forbids. */
cudaError_t fake_capture_refuse_device(int device);
/* For calls on the legacy stream while a blocking stream captures. */
cudaError_t fake_capture_refuse_legacy(const struct CUstream_st *stream);
/* The same without harm to the capture. */
bool fake_capture_uses_legacy(const struct CUstream_st *stream);
/* Adds a node to the stream's capture. */
cudaError_t fake_capture_add(struct CUstream_st *stream, struct fake_operation *operation);
cudaError_t fake_capture_record(struct CUstream_st *stream, struct CUevent_st *event);
cudaError_t fake_capture_wait(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags);
/* The stream is being destroyed. */
void fake_capture_leave(struct CUstream_st *stream);
uint64_t fake_capture_count(void);
void fake_capture_reset(void);

/* What every call that puts work into a stream does: into its capture, or behind its work. Takes the operation. */
cudaError_t fake_issue(cudaStream_t handle, struct fake_operation *operation);
/* cudaSuccess where work could be issued into the stream now. */
cudaError_t fake_may_issue(struct CUstream_st *stream);

/* --- Graphs --- */

struct CUgraphNode_st {
  struct CUgraph_st *graph;
  struct fake_operation *operation;
  size_t index;
  uint64_t seen;   /* mark of the search that met it last */
  bool is_dropped; /* a stream was moved away from it by hand */
  struct fake_list before, after;
};

struct CUgraph_st {
  uint32_t magic;
  bool is_dead;
  struct fake_capture *capture; /* being captured into */
  struct fake_list nodes;
};

struct CUgraph_st *fake_graph_make(void);
struct CUgraphNode_st *fake_graph_add(struct CUgraph_st *graph, struct fake_operation *operation,
                                      const struct fake_list *before);
void fake_graph_free(struct CUgraph_st *graph);
/* Puts a new mark on nodes, so that being among them can be seen at once. */
uint64_t fake_graph_mark(const struct fake_list *nodes);
bool fake_graph_is_valid(cudaGraph_t graph);
void fake_graphs_reset(void);

/* --- The whole --- */

struct fake_device {
  struct cudaDeviceProp properties;
  cudaError_t lost; /* cudaSuccess: not */
  size_t used_bytes;
  struct CUstream_st legacy;
};

struct fake_state {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t generation; /* of resets */
  pid_t process;       /* that used CUDA first; 0: none yet */
  int device_count;
  struct fake_device devices[FAKE_CUDA_DEVICE_MAX];
  enum fake_cuda_driver driver;
  size_t pinned_limit, pinned_bytes;
  bool mapped_apart;
  uint64_t seed, random;
  uint64_t patience_ms;
  struct fake_cuda_live live;
  const struct gr_catalogue *catalogue;
};
extern struct fake_state fake_state;

void fake_lock(void);
void fake_unlock(void);

/* A number from the seed. */
uint64_t fake_random(void);
__attribute__((format(printf, 1, 2))) void fake_complain(const char *format, ...);
/* The process uses CUDA. True where a parent of it did before: it cannot, then. */
bool fake_use_process(void);
/* The thread's current device. */
int fake_current_device(void);
/* True, and runtime calls are refused, while the thread is inside a kernel or a host function. */
void fake_set_inside(bool inside);
bool fake_is_inside(void);
/* Loses a device: all of its work is forgotten. */
void fake_lose(int device, cudaError_t code);
bool fake_code_is_sticky(cudaError_t code);
/* Counts a run of work; the code of the fault that a test ordered for it. */
cudaError_t fake_fault_for(const struct fake_operation *operation);
bool fake_hangs(const struct fake_operation *operation);
void fake_faults_reset(void);

enum fake_call_flags {
  FAKE_NEEDS_CONTEXT = 1,  /* says the sticky code once the device is lost */
  FAKE_IS_UNSAFE = 2,      /* forbidden while the thread captures */
  FAKE_RELEASES = 4,       /* does its work also where it is made to fail */
  FAKE_NEEDS_NOTHING = 8,  /* works without driver and devices, and is not counted */
  FAKE_SURVIVES_FORK = 16, /* works in a child of a process that has used CUDA */
};

/* One call of the runtime. */
struct fake_call {
  const char *function;
  cudaError_t code; /* what the call says, where it was decided beforehand */
};

/* True: do the work, then fake_leave. False: the call is over, return call->code. */
bool fake_enter(struct fake_call *call, const char *function, unsigned int flags);
/* Sets the thread's last error; gives what the call returns. */
cudaError_t fake_leave(struct fake_call *call, cudaError_t code);
/* The failure that is due for this call, and counts it; faults.c. */
cudaError_t fake_failure_for(const char *function);

#endif
