/* What the files of the host back end share: tasks (what a worker knows of a step), the queues that hold ready ones,
 * the pool that runs them, and facts about the machine.
 *
 * Nothing here is locked while a replay runs. A ready step lies in exactly one of: the roots (a cursor over a constant
 * list), a worker's deque, or the shared overflow ring. A worker that finds none of them filled spins for a bounded
 * time and then sleeps on a futex. No atomic_thread_fence is used: the thread sanitizer does not know it. */
#ifndef GRAPHRUN_ENGINE_BACKEND_HOST_HOST_INTERNAL_H
#define GRAPHRUN_ENGINE_BACKEND_HOST_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "engine/backend/backend.h"

enum {
  HOST_LINE_BYTES = 128,      /* two lines: x86 fetches them in pairs */
  HOST_ALIGNMENT_BYTES = 256, /* of buffers, as on a CUDA device, so that plans look the same */
  HOST_DEQUE_CAPACITY = 1024, /* a power of two */
  HOST_WORKERS_MAX = 1024,
  HOST_QUEUE_MAX = 64, /* replays that may be queued; more would make "launched" say little about "done" */
};
#define HOST_NO_STEP UINT32_MAX

/* ---- tasks ---- */

enum host_task_kind {
  HOST_TASK_NOTHING, /* joins what comes before it */
  HOST_TASK_COPY,
  HOST_TASK_FILL,
  HOST_TASK_KERNEL,
  HOST_TASK_GEMM, /* by a CBLAS */
};

/* A box to copy, with addresses. */
struct host_copy {
  const char *from;
  char *to;
  uint64_t from_pitch, from_plane;
  uint64_t to_pitch, to_plane;
  uint64_t width, height, depth; /* bytes, rows, planes */
};

struct host_fill {
  char *to;
  uint64_t pitch, plane;
  uint64_t width, height, depth;
  uint64_t bits;
  uint32_t element_bytes;
};

/* A kernel call: only the arguments that there are, which is a third of a whole frame for most kernels. */
struct host_call {
  const struct gr_kernel *kernel;
  uint32_t argument_count;
  struct gr_kernel_frame_argument arguments[];
};

/* All that a worker touches of a step, in one place. It owns copies of what it needs: after a timeout a step may still
 * run when the plan is gone already. */
struct host_task {
  _Atomic uint32_t remaining; /* predecessors that have not ended in this replay; reset by who brings it to 0 */
  uint32_t predecessor_count;
  uint64_t successor_begin;
  uint32_t successor_count;
  _Atomic uint32_t done_in; /* the replay in which it ended last; 0: none */
  uint64_t timeout_ns;      /* 0: none */
  const void *work;         /* struct host_copy, host_fill or host_call */
  enum host_task_kind kind;
};

/* Does the task's work. `frame` is the worker's own room for a call. */
void gr_host_work(const struct host_task *task, struct gr_kernel_frame *frame);
void gr_host_copy(const struct host_copy *copy);
void gr_host_fill(const struct host_fill *fill);

/* ---- gemm by a CBLAS, where one was found at build time and can be opened now ---- */

/* Opens it once for the process; false where there is none. */
bool gr_host_gemm_open(void);
/* Whether a call is one that the CBLAS computes as the built-in kernel does. */
bool gr_host_gemm_fits(const struct gr_kernel_frame *frame);
void gr_host_gemm(const struct host_call *call);

/* ---- the machine ---- */

/* Cores that the calling thread may run on, by affinity and by its control group's quota; at least 1. */
uint32_t gr_host_core_count(void);
/* What the text of a control group's cpu.max comes to, rounded up; UINT32_MAX: no quota. */
uint32_t gr_host_quota_cores(const char *text);
/* Of the machine, or of the control group where that has less; 0: not known. */
uint64_t gr_host_memory_bytes(void);
/* What can be had without pushing a program out, and with the swap space besides; 0: not known. */
void gr_host_free_memory(uint64_t *free_bytes, uint64_t *with_swap_bytes);
void gr_host_machine(struct gr_device_info *info);

/* ---- deques ---- */

/* A bounded Chase-Lev deque: one owner pushes and pops at the bottom, anybody steals at the top. The sequentially
 * consistent operations stand where the paper (Le et al., PPoPP 2013) has fences. */
struct host_deque {
  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t top;
  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t bottom;
  _Atomic uint32_t *items; /* [HOST_DEQUE_CAPACITY] */
};

/* Owner only. False when full. */
static inline bool gr_host_deque_push(struct host_deque *deque, uint32_t step) {
  uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
  uint64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
  if (bottom - top >= HOST_DEQUE_CAPACITY) return false;
  atomic_store_explicit(&deque->items[bottom % HOST_DEQUE_CAPACITY], step, memory_order_relaxed);
  /* Sequentially consistent: the pusher looks for sleepers next, and a sleeper looks here last. */
  atomic_store(&deque->bottom, bottom + 1);
  return true;
}

/* Owner only. HOST_NO_STEP when empty. */
static inline uint32_t gr_host_deque_pop(struct host_deque *deque) {
  uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
  /* Only the owner adds, so what looks empty to it is empty: no need to write. */
  if (bottom == atomic_load_explicit(&deque->top, memory_order_relaxed)) return HOST_NO_STEP;
  bottom--;
  atomic_store(&deque->bottom, bottom);
  uint64_t top = atomic_load(&deque->top);
  if ((int64_t)(bottom - top) > 0) {
    return atomic_load_explicit(&deque->items[bottom % HOST_DEQUE_CAPACITY], memory_order_relaxed);
  }
  uint32_t step = HOST_NO_STEP;
  if (bottom == top) {
    uint32_t last = atomic_load_explicit(&deque->items[bottom % HOST_DEQUE_CAPACITY], memory_order_relaxed);
    if (atomic_compare_exchange_strong(&deque->top, &top, top + 1)) step = last;
  }
  atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
  return step;
}

/* Anybody. HOST_NO_STEP when empty or when somebody else was faster. */
static inline uint32_t gr_host_deque_steal(struct host_deque *deque) {
  uint64_t top = atomic_load(&deque->top);
  uint64_t bottom = atomic_load(&deque->bottom);
  if ((int64_t)(bottom - top) <= 0) return HOST_NO_STEP;
  uint32_t step = atomic_load_explicit(&deque->items[top % HOST_DEQUE_CAPACITY], memory_order_relaxed);
  if (!atomic_compare_exchange_strong(&deque->top, &top, top + 1)) return HOST_NO_STEP;
  return step;
}

static inline bool gr_host_deque_is_empty(struct host_deque *deque) {
  uint64_t top = atomic_load(&deque->top);
  return (int64_t)(atomic_load(&deque->bottom) - top) <= 0;
}

/* A ring for what a full deque cannot hold. It has room for every step of a plan, and a step is in it at most once a
 * replay, so it never overflows. A slot holds the low half of its position + 1 above the step, so that a popper
 * knows whether the pusher has written already. */
struct host_ring {
  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t head;
  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t tail;
  _Atomic uint64_t *slots;
  uint64_t capacity; /* a power of two; 0: the plan fits a deque, nothing is ever pushed */
};

static inline void gr_host_ring_push(struct host_ring *ring, uint32_t step) {
  uint64_t position = atomic_fetch_add(&ring->tail, 1);
  uint64_t tag = (uint32_t)(position + 1);
  atomic_store(&ring->slots[position & (ring->capacity - 1)], tag << 32 | step);
}

/* HOST_NO_STEP when empty, when the next pusher has not written yet, or when somebody else was faster. */
static inline uint32_t gr_host_ring_pop(struct host_ring *ring) {
  uint64_t position = atomic_load(&ring->head);
  if (position >= atomic_load(&ring->tail)) return HOST_NO_STEP;
  uint64_t slot = atomic_load(&ring->slots[position & (ring->capacity - 1)]);
  if (slot >> 32 != (uint32_t)(position + 1)) return HOST_NO_STEP;
  if (!atomic_compare_exchange_strong(&ring->head, &position, position + 1)) return HOST_NO_STEP;
  return (uint32_t)slot;
}

/* ---- pool ---- */

/* Why no further step is started. The first reason stays. */
enum host_halt {
  HOST_HALT_NONE,
  HOST_HALT_STEP, /* a step took longer than its own timeout */
  HOST_HALT_DEADLINE,
  HOST_HALT_CANCELLED,
  HOST_HALT_STOPPED, /* destroyed while replays were in flight */
};

struct host_worker {
  struct host_deque deque;
  /* Written by the worker, read by who waits: the step that runs + 1, and when it must have ended. */
  _Alignas(HOST_LINE_BYTES) _Atomic uint32_t running;
  _Atomic uint64_t deadline_ns;
  /* The worker's own. */
  _Alignas(HOST_LINE_BYTES) struct host_pool *pool;
  uint32_t index;
  uint32_t done_count; /* steps that it has ended and not yet taken off steps_left */
  uint64_t random;
  pthread_t thread;
  struct gr_kernel_frame frame;
};

struct host_pool {
  /* Constant while replays run. */
  struct host_task *tasks;
  uint32_t task_count;
  const uint32_t *successors;
  const uint32_t *roots; /* tasks without predecessor */
  uint32_t root_count;
  uint32_t root_chunk; /* roots that a worker takes at once */
  bool has_timeouts;
  struct host_worker *workers;
  uint32_t worker_count;
  uint32_t spin_rounds; /* before a worker without work sleeps */
  pid_t process;        /* that the threads live in */

  struct host_ring ring;

  /* Read by every worker before every step, written once. The reason above the step. */
  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t halt;
  _Atomic bool quit;
  _Atomic uint32_t replay; /* number of the replay that runs or ran last; never 0 once there was one */

  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t next_root;
  _Alignas(HOST_LINE_BYTES) _Atomic uint32_t steps_left;

  /* Who looks for work, who sleeps, and the word that sleepers sleep on. */
  _Alignas(HOST_LINE_BYTES) _Atomic uint32_t searchers;
  _Atomic uint32_t sleepers;
  _Atomic uint32_t wake_word;
  _Atomic uint32_t exited;

  /* Replays asked for, not ended, ended; and the word that the waiting thread sleeps on. */
  _Alignas(HOST_LINE_BYTES) _Atomic uint64_t pending;
  _Atomic uint64_t completed;
  _Atomic uint64_t wake_at;
  _Atomic uint32_t is_awaited;
  _Atomic uint32_t end_word;
  _Atomic uint64_t first_start_ns, last_end_ns;
  uint64_t requested; /* the launching thread's own */
};

/* The reason and the step of a halt word. */
static inline enum host_halt gr_host_halt_reason(uint64_t halt) { return (enum host_halt)(halt >> 32); }
static inline uint32_t gr_host_halt_step(uint64_t halt) { return (uint32_t)halt; }

/* Starts the threads of a pool whose constant part and queues are set. GR_ERR_BACKEND when one cannot be started; none
 * runs then. */
enum gr_status gr_host_pool_start(struct host_pool *pool, struct gr_error *error);
/* Queues one replay. */
void gr_host_pool_launch(struct host_pool *pool);
/* Waits until so many replays have ended in all. False when the pool was halted, by a bound of `options` or by a step.
 */
bool gr_host_pool_wait(struct host_pool *pool, uint64_t replays, const struct gr_wait_options *options);
/* Ends the threads. False when one still runs a step after a short time: the pool and all that its tasks touch must
 * then stay for ever. */
bool gr_host_pool_stop(struct host_pool *pool);

/* ---- executable ---- */

struct gr_device {
  struct gr_memory *memory;
  uint32_t worker_count;
};

/* Frozen but for the pool's queues and the times. */
struct gr_executable {
  struct gr_memory *memory;
  const struct gr_plan *plan; /* not touched by workers */
  struct gr_arena arena;      /* tasks, queues, workers */
  void *buffers;              /* one block for the buffers of all places */
  void **addresses;           /* [buffer_count] */
  uint32_t buffer_count;
  struct host_pool pool;
  struct gr_build_facts facts;
  uint64_t launches, launch_min_ns, launch_max_ns, launch_total_ns;
  uint64_t replays_before; /* completed when the times were reset */
  uint32_t replay_before;  /* the pool's number then */
};

/* Fills a zeroed executable that has memory, plan and an initialised arena: buffers, tasks and queues, for that many
 * workers at most. On failure what was made hangs on the executable still. */
enum gr_status gr_host_executable_make(struct gr_executable *executable, enum gr_mode mode, uint32_t worker_count,
                                       struct gr_error *error);
/* Why the pool was halted, as an error. Returns its status. */
enum gr_status gr_host_executable_failure(struct gr_executable *executable, struct gr_error *error);
void gr_host_executable_states(const struct gr_executable *executable, enum gr_node_state *states);

#endif
