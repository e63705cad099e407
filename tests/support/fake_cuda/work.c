/* Work and when it runs: every piece waits for those before it; which of the others comes next, and when, the seed
 * says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

/* Those that could run, a heap by key; entries that ran in the meantime are skipped. Each is held. */
static struct fake_list ready;
static struct fake_list hung;
static uint64_t pending_of[FAKE_CUDA_DEVICE_MAX];
static struct fake_list pending; /* all that is not done, in no order; held */
static uint64_t next_sequence, clock_ns, walk;

/* --- Operations --- */

struct fake_operation *fake_operation_make(enum fake_kind kind) {
  struct fake_operation *operation = fake_allocate(sizeof *operation);
  operation->references = 1;
  operation->kind = kind;
  return operation;
}

struct fake_operation *fake_operation_hold(struct fake_operation *operation) {
  operation->references++;
  return operation;
}

void fake_operation_drop(struct fake_operation *operation) {
  if (operation == NULL || --operation->references > 0) return;
  for (size_t i = 0; i < operation->argument_count; i++) free(operation->arguments[i]);
  free(operation->arguments);
  free(operation->argument_bytes);
  free(operation->staged);
  free(operation->entry);
  free(operation);
}

/* --- Work --- */

struct fake_work *fake_work_hold(struct fake_work *work) {
  work->references++;
  return work;
}

/* Done work holds no other work, so this never goes deeper than one. */
void fake_work_drop(struct fake_work *work) {
  if (work == NULL || --work->references > 0) return;
  fake_operation_drop(work->operation);
  fake_list_release(&work->before);
  fake_list_release(&work->after);
  free(work);
}

bool fake_work_is_done(const struct fake_work *work) { return work == NULL || work->state == FAKE_DONE; }

static bool comes_first(const void *a, const void *b) {
  const struct fake_work *one = a;
  const struct fake_work *other = b;
  return one->key < other->key || (one->key == other->key && one->sequence < other->sequence);
}

static void swap(size_t i, size_t k) {
  void *kept = ready.items[i];
  ready.items[i] = ready.items[k];
  ready.items[k] = kept;
}

static void push_ready(struct fake_work *work) {
  work->state = FAKE_READY;
  work->key = fake_state.seed == 0 ? work->sequence : fake_random();
  fake_list_add(&ready, fake_work_hold(work));
  for (size_t i = ready.count - 1; i > 0 && comes_first(ready.items[i], ready.items[(i - 1) / 2]); i = (i - 1) / 2) {
    swap(i, (i - 1) / 2);
  }
}

/* The next ready entry, held; null: none. */
static struct fake_work *pop_ready(void) {
  if (ready.count == 0) return NULL;
  struct fake_work *work = ready.items[0];
  ready.items[0] = ready.items[--ready.count];
  for (size_t i = 0;;) {
    size_t least = i;
    for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < ready.count; child++) {
      if (comes_first(ready.items[child], ready.items[least])) least = child;
    }
    if (least == i) break;
    swap(i, least);
    i = least;
  }
  return work;
}

struct fake_work *fake_work_add(struct fake_operation *operation, int device, struct fake_work *const *before,
                                size_t before_count) {
  struct fake_work *work = fake_allocate(sizeof *work);
  work->references = 2; /* the caller's and that of `pending` */
  work->operation = operation;
  work->device = device;
  work->sequence = next_sequence++;
  for (size_t i = 0; i < before_count; i++) {
    struct fake_work *other = before[i];
    if (fake_work_is_done(other)) continue;
    fake_list_add(&work->before, fake_work_hold(other));
    fake_list_add(&other->after, fake_work_hold(work));
    work->missing++;
  }
  pending_of[device]++;
  fake_state.live.pending++;
  fake_list_add(&pending, work);
  if (work->missing == 0) push_ready(work);
  return work;
}

/* Drops what is done from the list of all, when that is most of it. */
static void tidy_pending(void) {
  if (pending.count < 64 || pending.count / 2 < fake_state.live.pending) return;
  size_t kept = 0;
  for (size_t i = 0; i < pending.count; i++) {
    struct fake_work *work = pending.items[i];
    if (work->state == FAKE_DONE) fake_work_drop(work);
    else pending.items[kept++] = work;
  }
  pending.count = kept;
}

/* Marks work as done and makes ready what waited only for it. */
static void finish(struct fake_work *work) {
  work->state = FAKE_DONE;
  work->done_ns = clock_ns += 1000;
  pending_of[work->device]--;
  fake_state.live.pending--;
  for (size_t i = 0; i < work->before.count; i++) fake_work_drop(work->before.items[i]);
  fake_list_release(&work->before);
  struct fake_list after = work->after;
  work->after = (struct fake_list){0};
  for (size_t i = 0; i < after.count; i++) {
    struct fake_work *other = after.items[i];
    if (--other->missing == 0 && other->state == FAKE_BLOCKED) push_ready(other);
    fake_work_drop(other);
  }
  fake_list_release(&after);
  fake_operation_drop(work->operation);
  work->operation = NULL;
  tidy_pending();
  pthread_cond_broadcast(&fake_state.changed);
}

/* The function may take long and wait for other threads, so it runs without the lock. */
static void run_host_function(struct fake_work *work) {
  struct fake_operation *operation = fake_operation_hold(work->operation);
  work->state = FAKE_RUNNING;
  fake_set_inside(true);
  fake_unlock();
  operation->function(operation->function_data);
  fake_lock();
  fake_set_inside(false);
  fake_operation_drop(operation);
  if (work->state == FAKE_RUNNING) finish(work);
}

/* Runs ready work of a device that is not lost. */
static void run(struct fake_work *work) {
  fake_work_hold(work);
  cudaError_t fault = cudaSuccess;
  if (!work->was_released && fake_hangs(work->operation)) {
    work->state = FAKE_HUNG;
    fake_list_add(&hung, fake_work_hold(work));
    fake_work_drop(work);
    return;
  }
  fault = fake_fault_for(work->operation);
  if (fault == cudaSuccess && work->operation->kind == FAKE_HOST) {
    run_host_function(work);
  } else {
    if (fault == cudaSuccess) fault = fake_operation_run(work->operation, work->device);
    if (fault != cudaSuccess) fake_lose(work->device, fault);
    else finish(work);
  }
  fake_work_drop(work);
}

/* Runs one ready piece, whichever the seed puts first. False: none is ready. */
static bool run_any(void) {
  struct fake_work *work = pop_ready();
  while (work != NULL && work->state != FAKE_READY) {
    fake_work_drop(work);
    work = pop_ready();
  }
  if (work == NULL) return false;
  run(work);
  /* The heap's reference, which is still counted whatever the run dropped. */
  fake_work_drop(work); /* NOLINT(clang-analyzer-unix.Malloc) */
  return true;
}

void fake_work_drift(void) {
  if (fake_state.seed == 0) return;
  /* A third of the seeds wait until they are asked, a third run some work early, a third nearly all. */
  uint64_t manner = fake_state.seed % 3;
  if (manner == 1 || (manner == 2 && fake_random() % 2 == 0)) return;
  uint64_t budget = manner == 0 ? UINT64_MAX : fake_random() % 3;
  while (budget-- > 0 && run_any()) continue;
}

/* --- Running what a piece of work needs, and no more --- */

/* One walk back from a target: a stack of work, each with the position of the next one before it. All held. */
struct walk_back {
  struct fake_list stack;
  uint64_t id;
  uint64_t budget;
  uint64_t ran;
};

static void enter(struct walk_back *back, struct fake_work *work) {
  work->seen = back->id;
  work->next_before = 0;
  /* The order among predecessors is anyone's. */
  if (fake_state.seed != 0) {
    for (size_t i = work->before.count; i > 1; i--) {
      size_t k = fake_random() % i;
      void *kept = work->before.items[i - 1];
      work->before.items[i - 1] = work->before.items[k];
      work->before.items[k] = kept;
    }
  }
  fake_list_add(&back->stack, fake_work_hold(work));
}

/* One move: deeper, or the top is run or left. */
static void step_back(struct walk_back *back) {
  struct fake_work *top = back->stack.items[back->stack.count - 1];
  while (top->state != FAKE_DONE && top->next_before < top->before.count) {
    struct fake_work *other = top->before.items[top->next_before++];
    if (other->state != FAKE_DONE && other->seen != back->id) {
      enter(back, other);
      return;
    }
  }
  back->stack.count--;
  if (top->state == FAKE_READY) {
    run(top);
    back->ran++;
  }
  fake_work_drop(top);
}

/* Runs up to `budget` pieces of what `work` needs and itself, in an order that respects all edges. How many ran. */
static uint64_t run_back(struct fake_work *work, uint64_t budget) {
  struct walk_back back = {.id = ++walk, .budget = budget};
  if (work->state == FAKE_DONE) return 0;
  enter(&back, work);
  while (back.stack.count > 0 && back.ran < back.budget) step_back(&back);
  for (size_t i = 0; i < back.stack.count; i++) fake_work_drop(back.stack.items[i]);
  fake_list_release(&back.stack);
  return back.ran;
}

void fake_work_progress(struct fake_work *work) {
  if (fake_work_is_done(work)) return;
  fake_work_hold(work);
  fake_work_drift();
  if (!fake_work_is_done(work)) run_back(work, 1 + fake_random() % (fake_state.live.pending / 2 + 1));
  fake_work_drop(work);
}

static void deadline_after(uint64_t milliseconds, struct timespec *deadline) {
  clock_gettime(CLOCK_REALTIME, deadline);
  deadline->tv_sec += (time_t)(milliseconds / 1000);
  deadline->tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (deadline->tv_nsec >= 1000000000) {
    deadline->tv_sec++;
    deadline->tv_nsec -= 1000000000;
  }
}

/* Waits for another thread: one that runs a host function, or one that releases what hangs. False: for too long. */
static bool wait_for_change(const struct timespec *deadline, const char *caller) {
  if (pthread_cond_timedwait(&fake_state.changed, &fake_state.lock, deadline) != ETIMEDOUT) return true;
  fake_complain("%s would have waited for ever for a kernel that hangs.", caller);
  return false;
}

bool fake_work_finish(struct fake_work *work, const char *caller) {
  if (fake_work_is_done(work)) return true;
  fake_work_hold(work);
  fake_work_drift();
  struct timespec deadline;
  deadline_after(fake_state.patience_ms, &deadline);
  bool in_time = true;
  while (in_time && !fake_work_is_done(work)) {
    /* In the order of issue, everything before it runs, needed or not. */
    bool ran = fake_state.seed == 0 ? run_any() : run_back(work, UINT64_MAX) > 0;
    if (!ran && !fake_work_is_done(work)) in_time = wait_for_change(&deadline, caller);
  }
  fake_work_drop(work);
  return in_time;
}

bool fake_work_finish_device(int device, const char *caller) {
  struct timespec deadline;
  deadline_after(fake_state.patience_ms, &deadline);
  bool in_time = true;
  while (in_time && pending_of[device] > 0) {
    if (!run_any()) in_time = wait_for_change(&deadline, caller);
  }
  return in_time;
}

/* --- Faults and hangs --- */

static void drop_all(struct fake_list *list) {
  for (size_t i = 0; i < list->count; i++) fake_work_drop(list->items[i]);
  fake_list_release(list);
}

/* What a lost device had to do is over, without having been done. Work of other devices that waited for it goes on. */
void fake_work_abandon(int device) {
  for (size_t i = 0; i < pending.count; i++) {
    struct fake_work *work = pending.items[i];
    if (work->device != device || work->state == FAKE_DONE) continue;
    /* Not ready any more: finishing others must not start it. */
    work->state = FAKE_RUNNING;
  }
  struct fake_list all = {0};
  fake_list_copy(&all, &pending);
  for (size_t i = 0; i < all.count; i++) fake_work_hold(all.items[i]);
  for (size_t i = 0; i < all.count; i++) {
    struct fake_work *work = all.items[i];
    if (work->device == device && work->state != FAKE_DONE) finish(work);
  }
  drop_all(&all);
}

void fake_cuda_release_hung(void) {
  fake_lock();
  for (size_t i = 0; i < hung.count; i++) {
    struct fake_work *work = hung.items[i];
    work->was_released = true;
    if (work->state == FAKE_HUNG) push_ready(work);
    fake_work_drop(work);
  }
  hung.count = 0;
  pthread_cond_broadcast(&fake_state.changed);
  fake_unlock();
}

uint32_t fake_cuda_hung_count(void) {
  uint32_t count = 0;
  fake_lock();
  for (size_t i = 0; i < hung.count; i++) count += ((struct fake_work *)hung.items[i])->state == FAKE_HUNG;
  fake_unlock();
  return count;
}

void fake_work_reset(void) {
  for (int i = 0; i < FAKE_CUDA_DEVICE_MAX; i++) fake_work_abandon(i);
  for (int i = 0; i < FAKE_CUDA_DEVICE_MAX; i++) fake_stream_set_tail(&fake_state.devices[i].legacy, NULL);
  drop_all(&ready);
  drop_all(&hung);
  drop_all(&pending);
  memset(pending_of, 0, sizeof pending_of);
  next_sequence = clock_ns = 0;
}
