/* What one step does, on one thread. Large copies and kernels are not split over workers: the bits would then depend on
 * how many there are, or every kernel would have to promise that they do not. */
#include <string.h>

#include "engine/backend/host/host_internal.h"

void gr_host_copy(const struct host_copy *copy) {
  if (copy->width == 0) return;
  for (uint64_t plane = 0; plane < copy->depth; plane++) {
    const char *from = copy->from + plane * copy->from_plane;
    char *to = copy->to + plane * copy->to_plane;
    for (uint64_t row = 0; row < copy->height; row++) {
      memcpy(to, from, copy->width);
      from += copy->from_pitch;
      to += copy->to_pitch;
    }
  }
}

/* Doubles what is filled already: memcpy is as fast as memory, for every element size. */
static void fill_row(char *to, uint64_t width, uint64_t bits, uint32_t element_bytes) {
  enum { STRETCH_BYTES = 4096 }; /* stays in the first cache */
  if (element_bytes == 1) {
    memset(to, (int)(bits & 0xff), width);
    return;
  }
  memcpy(to, &bits, element_bytes); /* little-endian, as everything here */
  uint64_t filled = element_bytes;
  while (filled < width) {
    uint64_t next = filled < STRETCH_BYTES ? filled : STRETCH_BYTES / element_bytes * element_bytes;
    if (next > width - filled) next = width - filled;
    memcpy(to + filled, to, next);
    filled += next;
  }
}

void gr_host_fill(const struct host_fill *fill) {
  if (fill->width == 0) return;
  for (uint64_t plane = 0; plane < fill->depth; plane++) {
    char *to = fill->to + plane * fill->plane;
    for (uint64_t row = 0; row < fill->height; row++) {
      fill_row(to, fill->width, fill->bits, fill->element_bytes);
      to += fill->pitch;
    }
  }
}

static void call_kernel(const struct host_call *call, struct gr_kernel_frame *frame) {
  memcpy(frame->arguments, call->arguments, call->argument_count * sizeof call->arguments[0]);
  frame->argument_count = call->argument_count;
  call->kernel->host(call->kernel, frame);
}

void gr_host_work(const struct host_task *task, struct gr_kernel_frame *frame) {
  switch (task->kind) {
    case HOST_TASK_NOTHING:
      break;
    case HOST_TASK_COPY:
      gr_host_copy(task->work);
      break;
    case HOST_TASK_FILL:
      gr_host_fill(task->work);
      break;
    case HOST_TASK_KERNEL:
      call_kernel(task->work, frame);
      break;
    case HOST_TASK_GEMM:
      gr_host_gemm(task->work);
      break;
  }
}
