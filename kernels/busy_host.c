/* Spins for so many nanoseconds. */
#include <time.h>

#include "kernels/internal.h"

bool gr_busy_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                   struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (arguments[0].integer < 0) return gr_refuse(&call, 0, "'ns' is negative");
  /* It writes nothing, and yet is no no_op: an empty node has its uses. */
  return gr_accept(&call, facts, 1);
}

static int64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void gr_busy_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const int64_t ns = frame->arguments[0].integer;
  if (ns == 0) return;
  const int64_t start = now_ns();
  while (now_ns() - start < ns) {
  }
}

uint32_t gr_busy_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                          struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  (void)frame;
  return gr_launch_blocks(launches, "gr_busy_spin", 1, 1, 1);
}
