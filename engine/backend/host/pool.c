/* The worker pool: how ready steps reach idle workers, how replays follow each other, and how both are waited for.
 *
 * Who makes steps ready wakes sleepers only while nobody searches already; the last searcher that finds something wakes
 * the next. A worker goes to sleep by counting itself among the sleepers, leaving the searchers, and looking once more:
 * with sequentially consistent operations either it sees the new step or the pusher sees the sleeper. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/backend/host/host_internal.h"
#include "engine/base/clock.h"

enum {
  PAUSES_A_ROUND = 4,
  YIELD_ROUNDS = 4,
  AWAIT_PAUSES = 400,
  STACK_BYTES = 1 << 20,
};
#define SLICE_NS UINT64_C(5000000)   /* between two looks at the caller's `cancelled` and at steps' own timeouts */
#define GRACE_NS UINT64_C(100000000) /* for steps that still run when everything is to go */

/* ---- words to sleep on ---- */

static void sleep_on(_Atomic uint32_t *word, uint32_t expected, uint64_t at_most_ns) {
  struct timespec bound = {.tv_sec = (time_t)(at_most_ns / 1000000000u), .tv_nsec = (long)(at_most_ns % 1000000000u)};
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, at_most_ns == UINT64_MAX ? NULL : &bound, NULL, 0);
}

static void wake_word(_Atomic uint32_t *word, uint32_t count) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- halting ---- */

static uint64_t halt_of(struct host_pool *pool) { return atomic_load_explicit(&pool->halt, memory_order_acquire); }

static void notify_end(struct host_pool *pool) {
  atomic_fetch_add(&pool->end_word, 1);
  wake_word(&pool->end_word, 1);
}

static void halt(struct host_pool *pool, enum host_halt reason, uint32_t step) {
  uint64_t none = 0;
  atomic_compare_exchange_strong(&pool->halt, &none, (uint64_t)reason << 32 | step);
  if (atomic_load(&pool->is_awaited)) notify_end(pool);
}

/* ---- waking ---- */

static bool has_work(struct host_pool *pool) {
  if (halt_of(pool) != 0) return false;
  if (atomic_load(&pool->next_root) < pool->root_count) return true;
  if (pool->ring.capacity > 0 && atomic_load(&pool->ring.head) < atomic_load(&pool->ring.tail)) return true;
  for (uint32_t i = 0; i < pool->worker_count; i++) {
    if (!gr_host_deque_is_empty(&pool->workers[i].deque)) return true;
  }
  return false;
}

static void wake(struct host_pool *pool, uint32_t count) {
  if (atomic_load(&pool->sleepers) == 0) return;
  atomic_fetch_add(&pool->wake_word, 1);
  wake_word(&pool->wake_word, count);
}

/* ---- replays ---- */

static void begin_replay(struct host_pool *pool) {
  uint32_t replay = atomic_load_explicit(&pool->replay, memory_order_relaxed) + 1;
  atomic_store_explicit(&pool->replay, replay ? replay : 1, memory_order_relaxed);
  atomic_store_explicit(&pool->steps_left, pool->task_count, memory_order_relaxed);
  if (atomic_load_explicit(&pool->first_start_ns, memory_order_relaxed) == 0) {
    atomic_store_explicit(&pool->first_start_ns, gr_clock_now_ns(), memory_order_relaxed);
  }
  /* Publishes all of the above: whoever takes a root sees it. */
  atomic_store(&pool->next_root, 0);
  uint32_t useful = (pool->root_count + pool->root_chunk - 1) / pool->root_chunk;
  uint32_t searching = atomic_load(&pool->searchers);
  if (useful > searching) wake(pool, useful - searching);
}

/* By the worker that ended the last step. */
static void end_replay(struct host_pool *pool) {
  atomic_store_explicit(&pool->last_end_ns, gr_clock_now_ns(), memory_order_relaxed);
  uint64_t completed = atomic_load_explicit(&pool->completed, memory_order_relaxed) + 1;
  atomic_store(&pool->completed, completed);
  if (atomic_fetch_sub(&pool->pending, 1) > 1) begin_replay(pool);
  if (atomic_load(&pool->is_awaited) && completed >= atomic_load(&pool->wake_at)) notify_end(pool);
}

void gr_host_pool_launch(struct host_pool *pool) {
  pool->requested++;
  if (pool->task_count == 0) {
    atomic_fetch_add(&pool->completed, 1);
  } else if (atomic_fetch_add(&pool->pending, 1) == 0) {
    begin_replay(pool);
  }
}

/* ---- one worker ---- */

/* Tells the pool how many steps this worker has ended since it last did: once a stretch of work, not once a step. */
static void flush_done(struct host_worker *worker) {
  uint32_t count = worker->done_count;
  if (count == 0) return;
  worker->done_count = 0;
  if (atomic_fetch_sub_explicit(&worker->pool->steps_left, count, memory_order_acq_rel) == count) {
    end_replay(worker->pool);
  }
}

/* Counts the step off its successors. One that becomes ready is returned, to be run next by this worker, the others
 * are offered to all. */
static uint32_t release_successors(struct host_worker *worker, const struct host_task *task) {
  struct host_pool *pool = worker->pool;
  const uint32_t *successor = pool->successors + task->successor_begin;
  uint32_t next = HOST_NO_STEP, offered = 0;
  for (uint32_t i = 0; i < task->successor_count; i++) {
    struct host_task *after = &pool->tasks[successor[i]];
    if (after->predecessor_count > 1) {
      if (atomic_fetch_sub_explicit(&after->remaining, 1, memory_order_acq_rel) != 1) continue;
      atomic_store_explicit(&after->remaining, after->predecessor_count, memory_order_relaxed);
    }
    if (next == HOST_NO_STEP) {
      next = successor[i];
      continue;
    }
    if (!gr_host_deque_push(&worker->deque, successor[i])) gr_host_ring_push(&pool->ring, successor[i]);
    offered++;
    /* A first one early, so that others start while a wide fan is still being counted off. */
    if (offered == 1 && atomic_load(&pool->searchers) == 0) wake(pool, 1);
  }
  if (offered > 1) {
    uint32_t searching = atomic_load(&pool->searchers);
    if (offered > searching) wake(pool, offered - searching);
  }
  return next;
}

static void start_watch(struct host_worker *worker, const struct host_task *task, uint32_t step) {
  /* Releases the cleared deadline of the step before: who watches must not hold it against this one. */
  atomic_store_explicit(&worker->running, step + 1, memory_order_release);
  if (task->timeout_ns == 0) return;
  uint64_t deadline_ns;
  if (__builtin_add_overflow(gr_clock_now_ns(), task->timeout_ns, &deadline_ns)) deadline_ns = UINT64_MAX;
  atomic_store_explicit(&worker->deadline_ns, deadline_ns, memory_order_release);
}

/* A step that was too slow has failed even if nobody watched it. */
static void end_watch(struct host_worker *worker, const struct host_task *task, uint32_t step) {
  if (task->timeout_ns == 0) return;
  uint64_t deadline_ns = atomic_load_explicit(&worker->deadline_ns, memory_order_relaxed);
  if (gr_clock_now_ns() > deadline_ns) halt(worker->pool, HOST_HALT_STEP, step);
  atomic_store_explicit(&worker->deadline_ns, 0, memory_order_release);
}

/* Runs a step and all that follows from it on this worker. What ran when the pool was halted is left as `running`, and
 * counts as not ended: the states then stay what they were. */
static void run_from(struct host_worker *worker, uint32_t step) {
  struct host_pool *pool = worker->pool;
  uint32_t replay = atomic_load_explicit(&pool->replay, memory_order_relaxed);
  while (step != HOST_NO_STEP) {
    if (halt_of(pool) != 0) return;
    struct host_task *task = &pool->tasks[step];
    start_watch(worker, task, step);
    gr_host_work(task, &worker->frame);
    end_watch(worker, task, step);
    if (halt_of(pool) != 0) return;
    atomic_store_explicit(&worker->running, 0, memory_order_relaxed);
    atomic_store_explicit(&task->done_in, replay, memory_order_relaxed);
    worker->done_count++;
    step = release_successors(worker, task);
    if (step == HOST_NO_STEP) step = gr_host_deque_pop(&worker->deque);
  }
  flush_done(worker);
}

static uint32_t take_roots(struct host_worker *worker) {
  struct host_pool *pool = worker->pool;
  if (atomic_load(&pool->next_root) >= pool->root_count) return HOST_NO_STEP;
  uint64_t begin = atomic_fetch_add(&pool->next_root, pool->root_chunk);
  if (begin >= pool->root_count) return HOST_NO_STEP;
  uint64_t end = begin + pool->root_chunk;
  if (end > pool->root_count) end = pool->root_count;
  for (uint64_t i = end - 1; i > begin; i--) {
    if (!gr_host_deque_push(&worker->deque, pool->roots[i])) gr_host_ring_push(&pool->ring, pool->roots[i]);
  }
  return pool->roots[begin];
}

static uint64_t next_random(struct host_worker *worker) {
  uint64_t x = worker->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return worker->random = x;
}

static uint32_t look_around(struct host_worker *worker) {
  struct host_pool *pool = worker->pool;
  if (halt_of(pool) != 0) return HOST_NO_STEP;
  uint32_t step = take_roots(worker);
  if (step == HOST_NO_STEP && pool->ring.capacity > 0) step = gr_host_ring_pop(&pool->ring);
  if (step != HOST_NO_STEP || pool->worker_count == 1) return step;
  uint32_t first = (uint32_t)(next_random(worker) % pool->worker_count);
  for (uint32_t i = 0; i < pool->worker_count && step == HOST_NO_STEP; i++) {
    uint32_t victim = first + i < pool->worker_count ? first + i : first + i - pool->worker_count;
    if (victim != worker->index) step = gr_host_deque_steal(&pool->workers[victim].deque);
  }
  return step;
}

static void sleep_until_woken(struct host_pool *pool) {
  uint32_t word = atomic_load(&pool->wake_word);
  atomic_fetch_add(&pool->sleepers, 1);
  atomic_fetch_sub(&pool->searchers, 1);
  if (!has_work(pool) && !atomic_load(&pool->quit)) sleep_on(&pool->wake_word, word, UINT64_MAX);
  atomic_fetch_add(&pool->searchers, 1);
  atomic_fetch_sub(&pool->sleepers, 1);
}

/* HOST_NO_STEP: the worker is to end. */
static uint32_t find_step(struct host_worker *worker) {
  struct host_pool *pool = worker->pool;
  uint32_t step = HOST_NO_STEP;
  atomic_fetch_add(&pool->searchers, 1);
  for (uint32_t round = 0; !atomic_load_explicit(&pool->quit, memory_order_acquire); round++) {
    step = look_around(worker);
    if (step != HOST_NO_STEP) break;
    if (round < pool->spin_rounds) {
      for (int i = 0; i < PAUSES_A_ROUND; i++) pause_core();
    } else if (round < pool->spin_rounds + YIELD_ROUNDS) {
      sched_yield();
    } else {
      sleep_until_woken(pool);
      round = 0;
    }
  }
  if (atomic_fetch_sub(&pool->searchers, 1) == 1 && atomic_load(&pool->sleepers) > 0 && has_work(pool)) wake(pool, 1);
  return step;
}

static void *worker_main(void *argument) {
  struct host_worker *worker = argument;
  for (uint32_t step = find_step(worker); step != HOST_NO_STEP; step = find_step(worker)) run_from(worker, step);
  atomic_fetch_add(&worker->pool->exited, 1);
  wake_word(&worker->pool->exited, UINT32_MAX / 2);
  return NULL;
}

/* ---- start ---- */

/* Threads with a stack of their own size, whatever `ulimit -s` says. Signals that somebody sends are not let through:
 * the program's handlers run on the program's threads. Those that a thread's own instructions raise are, or a handler
 * that reports crashes would never hear of one. */
static int start_thread(struct host_worker *worker) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  pthread_attr_t attributes;
  int code = pthread_attr_init(&attributes);
  if (code != 0) return code;
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&blocked, own[i]);
  code = pthread_attr_setstacksize(&attributes, STACK_BYTES);
  if (code == 0) code = pthread_attr_setsigmask_np(&attributes, &blocked);
  if (code == 0) code = pthread_create(&worker->thread, &attributes, worker_main, worker);
  (void)pthread_attr_destroy(&attributes);
  if (code != 0) return code;
  char name[16];
  (void)snprintf(name, sizeof name, "graphrun-%u", worker->index % 100000);
  (void)pthread_setname_np(worker->thread, name);
  return 0;
}

enum gr_status gr_host_pool_start(struct host_pool *pool, struct gr_error *error) {
  uint32_t wanted = pool->worker_count;
  uint32_t cores = gr_host_core_count();
  pool->process = getpid();
  /* Spinning next to the worker that has the work helps only where it has a core of its own. */
  pool->spin_rounds = wanted <= cores ? 200 : 0;
  pool->root_chunk = pool->root_count / (wanted * 4);
  if (pool->root_chunk > 32) pool->root_chunk = 32;
  if (pool->root_chunk == 0) pool->root_chunk = 1;
  atomic_store(&pool->next_root, pool->root_count);
  for (uint32_t i = 0; i < wanted; i++) {
    int code = start_thread(&pool->workers[i]);
    if (code == 0) continue;
    /* The threads that run read worker_count: it stays as it is, and only those that there are get joined. */
    atomic_store(&pool->quit, true);
    atomic_fetch_add(&pool->wake_word, 1);
    wake_word(&pool->wake_word, UINT32_MAX / 2);
    for (uint32_t k = 0; k < i; k++) (void)pthread_join(pool->workers[k].thread, NULL);
    enum gr_status status =
        gr_error_set(error, GR_ERR_BACKEND, "worker thread %u of %u cannot be started", i + 1, wanted);
    const char *code_name = strerrorname_np(code);
    if (error && code_name) (void)snprintf(error->backend_code, sizeof error->backend_code, "%s", code_name);
    return status;
  }
  return GR_OK;
}

/* ---- waiting ---- */

static bool is_over(struct host_pool *pool, uint64_t replays) {
  return atomic_load(&pool->completed) >= replays || halt_of(pool) != 0;
}

/* Halts the pool when a step runs longer than it may. `now_ns` was read before: a step that still has its deadline set
 * after that, and the deadline lies before, is late for certain. */
static void watch_steps(struct host_pool *pool, uint64_t now_ns) {
  for (uint32_t i = 0; i < pool->worker_count; i++) {
    struct host_worker *worker = &pool->workers[i];
    uint64_t deadline_ns = atomic_load_explicit(&worker->deadline_ns, memory_order_acquire);
    if (deadline_ns == 0 || now_ns <= deadline_ns) continue;
    uint32_t running = atomic_load(&worker->running);
    if (atomic_load(&worker->deadline_ns) != deadline_ns || running == 0) continue;
    halt(pool, HOST_HALT_STEP, running - 1);
    return;
  }
}

/* One look at everything that ends a wait early; the longest time until the next. */
static uint64_t check_bounds(struct host_pool *pool, const struct gr_wait_options *options) {
  bool asks = options && options->cancelled;
  if (asks && options->cancelled(options->context)) halt(pool, HOST_HALT_CANCELLED, 0);
  uint64_t deadline_ns = options ? options->deadline_ns : 0;
  uint64_t slice_ns = asks || pool->has_timeouts ? SLICE_NS : UINT64_MAX;
  if (deadline_ns == 0 && !pool->has_timeouts) return slice_ns;
  uint64_t now_ns = gr_clock_now_ns();
  if (pool->has_timeouts) watch_steps(pool, now_ns);
  if (deadline_ns == 0) return slice_ns;
  if (now_ns >= deadline_ns) {
    halt(pool, HOST_HALT_DEADLINE, 0);
    return 0;
  }
  return deadline_ns - now_ns < slice_ns ? deadline_ns - now_ns : slice_ns;
}

bool gr_host_pool_wait(struct host_pool *pool, uint64_t replays, const struct gr_wait_options *options) {
  for (uint32_t i = 0; i < AWAIT_PAUSES && pool->spin_rounds > 0 && !is_over(pool, replays); i++) pause_core();
  while (!is_over(pool, replays)) {
    uint64_t slice_ns = check_bounds(pool, options);
    if (is_over(pool, replays)) break;
    atomic_store(&pool->wake_at, replays);
    atomic_store(&pool->is_awaited, 1);
    uint32_t word = atomic_load(&pool->end_word);
    if (!is_over(pool, replays)) sleep_on(&pool->end_word, word, slice_ns);
    atomic_store(&pool->is_awaited, 0);
  }
  return halt_of(pool) == 0;
}

/* ---- stop ---- */

bool gr_host_pool_stop(struct host_pool *pool) {
  if (pool->process != getpid()) return true; /* a forked child: the threads are the parent's */
  bool is_busy = halt_of(pool) != 0 || atomic_load(&pool->completed) < pool->requested;
  if (is_busy) halt(pool, HOST_HALT_STOPPED, 0);
  atomic_store(&pool->quit, true);
  atomic_fetch_add(&pool->wake_word, 1);
  wake_word(&pool->wake_word, UINT32_MAX / 2);
  uint64_t give_up_ns = gr_clock_now_ns() + GRACE_NS;
  for (;;) {
    uint32_t exited = atomic_load(&pool->exited);
    if (exited == pool->worker_count) break;
    uint64_t now_ns = gr_clock_now_ns();
    if (is_busy && now_ns >= give_up_ns) break;
    sleep_on(&pool->exited, exited, is_busy ? give_up_ns - now_ns : UINT64_MAX);
  }
  bool all = atomic_load(&pool->exited) == pool->worker_count;
  for (uint32_t i = 0; i < pool->worker_count; i++) {
    if (all) (void)pthread_join(pool->workers[i].thread, NULL);
    else (void)pthread_detach(pool->workers[i].thread);
  }
  return all;
}
