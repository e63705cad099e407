/* Time for measuring: never set back, no relation to the calendar. */
#ifndef GRAPHRUN_ENGINE_BASE_CLOCK_H
#define GRAPHRUN_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment before the process began. Any thread. */
static inline uint64_t gr_clock_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
