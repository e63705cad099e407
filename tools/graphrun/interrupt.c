#include "tools/graphrun/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "tools/graphrun/output.h"

static volatile sig_atomic_t arrived;

static void on_signal(int number) {
  if (arrived) {
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

int interrupt_signal(void) { return arrived; }

bool interrupt_cancelled(void *context) {
  (void)context;
  return arrived != 0;
}

/* ---- the watchdog ---- */

/* After the timeout the engine itself gives up and reports; only when it cannot, this ends the process. */
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

static void *watch(void *unused) {
  (void)unused;
  pthread_mutex_lock(&watchdog.lock);
  int result = 0;
  while (!watchdog.is_done && result == 0) {
    result = pthread_cond_timedwait(&watchdog.changed, &watchdog.lock, &watchdog.deadline);
  }
  bool is_late = !watchdog.is_done;
  pthread_mutex_unlock(&watchdog.lock);
  if (is_late) {
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
  uint64_t late_ns;
  if (__builtin_add_overflow(nanoseconds, GRACE_NS, &late_ns)) late_ns = UINT64_MAX;
  uint64_t nanosecond = (uint64_t)watchdog.deadline.tv_nsec + late_ns % 1000000000u;
  watchdog.deadline.tv_sec += (time_t)(late_ns / 1000000000u + nanosecond / 1000000000u);
  watchdog.deadline.tv_nsec = (long)(nanosecond % 1000000000u);
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
