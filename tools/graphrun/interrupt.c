#include "tools/graphrun/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "tools/graphrun/output.h"

static volatile sig_atomic_t is_heard;
static volatile sig_atomic_t arrived;
/* How often the run has asked whether it is cancelled: a sign of life for the watchdog. */
static atomic_uint questions;

static void on_signal(int number) {
  if (!is_heard || arrived) {
    output_remove_temporary();
    _exit(128 + number);
  }
  arrived = number;
}

void interrupt_install(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &ignore, NULL);
  sigaction(SIGXFSZ, &ignore, NULL);
}

void interrupt_hear(bool is_to_be_heard) { is_heard = is_to_be_heard; }

int interrupt_signal(void) { return arrived; }

bool interrupt_cancelled(void *context) {
  (void)context;
  atomic_fetch_add_explicit(&questions, 1, memory_order_relaxed);
  return arrived != 0;
}

/* ---- the watchdog ---- */

/* After the timeout the engine itself gives up and reports. It cannot where a call does not return: then it asks no
 * more questions. The time for reading inputs, comparing and saving is not limited, and they do ask. */
#define GRACE_NS UINT64_C(2000000000)

static struct watchdog {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  struct timespec deadline;
  bool is_running;
  bool is_done;
  void (*last_words)(void *context);
  void *context;
} watchdog = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_to(struct timespec *time, uint64_t nanoseconds) {
  uint64_t nanosecond = (uint64_t)time->tv_nsec + nanoseconds % 1000000000u;
  time->tv_sec += (time_t)(nanoseconds / 1000000000u + nanosecond / 1000000000u);
  time->tv_nsec = (long)(nanosecond % 1000000000u);
}

/* Whether the work was done before `deadline`. With the lock held. */
static bool is_done_by(const struct timespec *deadline) {
  int result = 0;
  while (!watchdog.is_done && result == 0) {
    result = pthread_cond_timedwait(&watchdog.changed, &watchdog.lock, deadline);
  }
  return watchdog.is_done;
}

static bool is_done_at_last(void) {
  if (is_done_by(&watchdog.deadline)) return true;
  for (;;) {
    unsigned before = atomic_load(&questions);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    add_to(&deadline, GRACE_NS);
    if (is_done_by(&deadline)) return true;
    if (atomic_load(&questions) == before) return false;
  }
}

static void *watch(void *unused) {
  (void)unused;
  pthread_mutex_lock(&watchdog.lock);
  bool is_done = is_done_at_last();
  pthread_mutex_unlock(&watchdog.lock);
  if (!is_done) {
    if (watchdog.last_words) watchdog.last_words(watchdog.context);
    output_remove_temporary();
    _exit(124);
  }
  return NULL;
}

/* Signals go to the thread that runs the pipeline, whose calls they interrupt. */
static bool start_without_signals(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = pthread_create(&watchdog.thread, NULL, watch, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_started;
}

bool interrupt_watch(uint64_t nanoseconds, void (*last_words)(void *context), void *context) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&watchdog.changed, &attributes);
  pthread_condattr_destroy(&attributes);
  clock_gettime(CLOCK_MONOTONIC, &watchdog.deadline);
  add_to(&watchdog.deadline, nanoseconds);
  watchdog.last_words = last_words;
  watchdog.context = context;
  watchdog.is_done = false;
  watchdog.is_running = start_without_signals();
  return watchdog.is_running;
}

void interrupt_unwatch(void) {
  if (!watchdog.is_running) return;
  pthread_mutex_lock(&watchdog.lock);
  watchdog.is_done = true;
  pthread_cond_signal(&watchdog.changed);
  pthread_mutex_unlock(&watchdog.lock);
  pthread_join(watchdog.thread, NULL);
  watchdog.is_running = false;
}
