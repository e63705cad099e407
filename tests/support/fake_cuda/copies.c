/* Copies and memsets: what is refused when called, what is done when the work runs. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

/* A copy or memset as it was called. */
struct transfer {
  struct fake_box box;
  struct fake_place to, from;
  enum cudaMemcpyKind kind;
};

static bool is_empty(const struct fake_box *box) { return box->width == 0 || box->height == 0 || box->depth == 0; }

/* Bytes from the first to behind the last of the box; SIZE_MAX where that overflows. */
static size_t extent_of(const struct fake_box *box, const struct fake_place *place) {
  size_t rows = 0, slices = 0, sum = 0;
  if (__builtin_mul_overflow(box->height - 1, place->row_pitch, &rows) ||
      __builtin_mul_overflow(box->depth - 1, place->slice_pitch, &slices) ||
      __builtin_add_overflow(rows, slices, &sum) || __builtin_add_overflow(sum, box->width, &sum)) {
    return SIZE_MAX;
  }
  return sum;
}

static bool is_inside_allocation(const struct fake_box *box, const struct fake_place *place) {
  size_t extent = extent_of(box, place);
  return place->address != NULL && extent != SIZE_MAX && fake_memory_is_range(place->address, extent);
}

/* A pitch matters only where there is a second row. */
static bool has_good_pitch(const struct fake_box *box, const struct fake_place *place) {
  if (box->height == 1 && box->depth == 1) return true;
  size_t limit = fake_state.devices[fake_current_device()].properties.memPitch;
  return place->row_pitch >= box->width && place->row_pitch <= limit &&
         (box->depth == 1 || place->slice_pitch / (place->row_pitch > 0 ? place->row_pitch : 1) >= box->height);
}

static enum fake_memory_kind kind_of(const void *address) {
  const struct fake_allocation *allocation = fake_memory_find(address);
  return allocation == NULL ? FAKE_PAGEABLE : allocation->kind;
}

/* CUDA knows where an address lies, and so refuses only what the kind says of pageable memory; the rest is a complaint.
 */
static cudaError_t check_kind(const struct transfer *copy) {
  if ((unsigned)copy->kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (copy->kind == cudaMemcpyDefault) return cudaSuccess;
  bool to_device = copy->kind == cudaMemcpyHostToDevice || copy->kind == cudaMemcpyDeviceToDevice;
  bool from_device = copy->kind == cudaMemcpyDeviceToHost || copy->kind == cudaMemcpyDeviceToDevice;
  enum fake_memory_kind to = kind_of(copy->to.address);
  enum fake_memory_kind from = kind_of(copy->from.address);
  if ((to_device && to == FAKE_PAGEABLE) || (from_device && from == FAKE_PAGEABLE)) return cudaErrorInvalidValue;
  if (to_device ? to == FAKE_PINNED : to == FAKE_DEVICE) {
    fake_complain("A copy of kind %d has a target in %s memory.", (int)copy->kind, to_device ? "host" : "device");
  }
  if (from_device ? from == FAKE_PINNED : from == FAKE_DEVICE) {
    fake_complain("A copy of kind %d has a source in %s memory.", (int)copy->kind, from_device ? "host" : "device");
  }
  return cudaSuccess;
}

static struct fake_operation *operation_of(enum fake_kind kind, const struct transfer *transfer) {
  struct fake_operation *operation = fake_operation_make(kind);
  operation->box = transfer->box;
  operation->to = transfer->to;
  operation->from = transfer->from;
  return operation;
}

/* The source's bytes as they are now, packed, in place of the source. */
static void stage(struct fake_operation *operation) {
  const struct fake_box *box = &operation->box;
  size_t slice = box->width * box->height;
  operation->staged = fake_allocate(slice * box->depth);
  for (size_t z = 0; z < box->depth; z++) {
    for (size_t y = 0; y < box->height; y++) {
      memcpy(operation->staged + z * slice + y * box->width,
             operation->from.address + z * operation->from.slice_pitch + y * operation->from.row_pitch, box->width);
    }
  }
  operation->from = (struct fake_place){operation->staged, box->width, slice};
}

/* A copy in a graph from pageable memory to the device: its bytes are those at the time of the launch, whatever the
 * nodes before it still write there. */
struct fake_operation *fake_operation_at_launch(struct fake_operation *operation) {
  bool is_taken = operation->kind == FAKE_COPY && kind_of(operation->from.address) == FAKE_PAGEABLE &&
                  kind_of(operation->to.address) == FAKE_DEVICE;
  if (!is_taken) return fake_operation_hold(operation);
  struct transfer copy = {.box = operation->box, .to = operation->to, .from = operation->from};
  struct fake_operation *taken = operation_of(FAKE_COPY, &copy);
  stage(taken);
  return taken;
}

/* A copy outside a capture. From pageable memory the bytes have been taken when the call returns, after the stream's
 * earlier work; to pageable memory they have arrived. */
static cudaError_t issue_copy(struct CUstream_st *stream, cudaStream_t handle, const struct transfer *copy,
                              const char *caller) {
  struct fake_operation *operation = operation_of(FAKE_COPY, copy);
  if (stream->member != NULL) return fake_issue(handle, operation);
  bool from_pageable = kind_of(copy->from.address) == FAKE_PAGEABLE;
  bool to_pageable = kind_of(copy->to.address) == FAKE_PAGEABLE;
  bool in_time = true;
  if (from_pageable) {
    in_time = fake_work_finish(stream->tail, caller);
    if (in_time) stage(operation);
  }
  if (!in_time) {
    fake_operation_drop(operation);
    return cudaErrorLaunchTimeout;
  }
  cudaError_t code = fake_issue(handle, operation);
  if (code == cudaSuccess && to_pageable && !fake_work_finish(stream->tail, caller)) code = cudaErrorLaunchTimeout;
  cudaError_t lost = fake_state.devices[stream->device].lost;
  return code == cudaSuccess ? lost : code;
}

static cudaError_t copy(cudaStream_t handle, const struct transfer *transfer, const char *caller) {
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  cudaError_t code = fake_may_issue(stream);
  if (code != cudaSuccess) return code;
  if (is_empty(&transfer->box)) return cudaSuccess;
  if ((unsigned)transfer->kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (!has_good_pitch(&transfer->box, &transfer->to) || !has_good_pitch(&transfer->box, &transfer->from)) {
    return cudaErrorInvalidPitchValue;
  }
  if (!is_inside_allocation(&transfer->box, &transfer->to) || !is_inside_allocation(&transfer->box, &transfer->from)) {
    return cudaErrorInvalidValue;
  }
  code = check_kind(transfer);
  if (code != cudaSuccess) return code;
  return issue_copy(stream, handle, transfer, caller);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct transfer transfer = {.box = {count, 1, 1},
                              .to = {to, count, count},
                              .from = {(unsigned char *)(uintptr_t)from, count, count},
                              .kind = kind};
  return fake_leave(&call, copy(stream, &transfer, call.function));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct transfer transfer = {.box = {width, height, 1},
                              .to = {to, to_pitch, 0},
                              .from = {(unsigned char *)(uintptr_t)from, from_pitch, 0},
                              .kind = kind};
  /* One row that is longer than a pitch is refused all the same, with another code. */
  if (height == 1 && (width > to_pitch || width > from_pitch)) return fake_leave(&call, cudaErrorInvalidValue);
  return fake_leave(&call, copy(stream, &transfer, call.function));
}

static struct fake_place place_of(const struct cudaPitchedPtr *pointer) {
  size_t slice_pitch = 0;
  if (__builtin_mul_overflow(pointer->pitch, pointer->ysize, &slice_pitch)) slice_pitch = SIZE_MAX;
  return (struct fake_place){pointer->ptr, pointer->pitch, slice_pitch};
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  if (p == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  struct transfer transfer = {.box = {p->extent.width, p->extent.height, p->extent.depth},
                              .to = place_of(&p->dstPtr),
                              .from = place_of(&p->srcPtr),
                              .kind = p->kind};
  return fake_leave(&call, copy(stream, &transfer, call.function));
}

/* --- Memsets --- */

static bool is_settable(const struct fake_box *box, const struct fake_place *to) {
  return is_inside_allocation(box, to) && kind_of(to->address) != FAKE_PAGEABLE;
}

static cudaError_t set(cudaStream_t handle, const struct transfer *transfer, int value) {
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  cudaError_t code = fake_may_issue(stream);
  if (code != cudaSuccess) return code;
  if (is_empty(&transfer->box)) return cudaSuccess;
  if (!has_good_pitch(&transfer->box, &transfer->to)) return cudaErrorInvalidValue;
  /* A capture takes any address; cudaGraphInstantiate looks at it. */
  if (stream->member == NULL && !is_settable(&transfer->box, &transfer->to)) return cudaErrorInvalidValue;
  struct fake_operation *operation = operation_of(FAKE_SET, transfer);
  operation->value = value;
  return fake_issue(handle, operation);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct transfer transfer = {.box = {count, 1, 1}, .to = {to, count, count}};
  return fake_leave(&call, set(stream, &transfer, value));
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct transfer transfer = {.box = {width, height, 1}, .to = {to, pitch, 0}};
  return fake_leave(&call, set(stream, &transfer, value));
}

/* On the legacy stream. Only for memory that the host sees it is done when the call returns. */
cudaError_t cudaMemset(void *to, int value, size_t count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct transfer transfer = {.box = {count, 1, 1}, .to = {to, count, count}};
  cudaError_t code = set(NULL, &transfer, value);
  struct fake_device *device = &fake_state.devices[fake_current_device()];
  if (code == cudaSuccess && count > 0 && kind_of(to) != FAKE_DEVICE) {
    if (!fake_work_finish(device->legacy.tail, call.function)) code = cudaErrorLaunchTimeout;
    if (device->lost != cudaSuccess) code = device->lost;
  }
  return fake_leave(&call, code);
}

/* --- When the work runs --- */

/* Where the box's bytes are; null where they are not all reachable. */
static unsigned char *bytes_of(const struct fake_operation *operation, const struct fake_place *place) {
  if (operation->staged != NULL && place == &operation->from) return operation->staged;
  return fake_memory_bytes(place->address, extent_of(&operation->box, place));
}

static cudaError_t run_transfer(const struct fake_operation *operation) {
  const struct fake_box *box = &operation->box;
  bool is_copy = operation->kind == FAKE_COPY;
  unsigned char *to = bytes_of(operation, &operation->to);
  const unsigned char *from = is_copy ? bytes_of(operation, &operation->from) : to;
  if (to == NULL || from == NULL) return cudaErrorIllegalAddress;
  for (size_t z = 0; z < box->depth; z++) {
    for (size_t y = 0; y < box->height; y++) {
      unsigned char *row = to + z * operation->to.slice_pitch + y * operation->to.row_pitch;
      const unsigned char *source = from + z * operation->from.slice_pitch + y * operation->from.row_pitch;
      if (is_copy) memmove(row, source, box->width);
      else memset(row, operation->value, box->width);
    }
  }
  return cudaSuccess;
}

cudaError_t fake_operation_run(const struct fake_operation *operation, int device) {
  switch (operation->kind) {
    case FAKE_COPY:
    case FAKE_SET:
      return run_transfer(operation);
    case FAKE_KERNEL:
      return fake_kernel_run(operation, device);
    default:
      return cudaSuccess;
  }
}

/* What cudaGraphInstantiate asks of a memset node. */
bool fake_set_is_valid(const struct fake_operation *operation) { return is_settable(&operation->box, &operation->to); }
