/* Streams and events outside of captures; where a capture is under way, capture.c takes over. */
#include <stdlib.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

enum { STREAM_MAGIC = 0x57e1a, EVENT_MAGIC = 0xe7e27 };

/* All since the last reset, dead ones too: their handles can be recognised. */
static struct fake_list streams, events;

/* --- Streams --- */

struct CUstream_st *fake_stream_of(cudaStream_t handle) {
  if (handle == NULL) return &fake_state.devices[fake_current_device()].legacy;
  if (handle->magic != STREAM_MAGIC || handle->is_dead) {
    fake_complain("A call got a stream that is none, or was destroyed.");
    return NULL;
  }
  return handle;
}

void fake_stream_set_tail(struct CUstream_st *stream, struct fake_work *work) {
  struct fake_work *old = stream->tail;
  stream->tail = work != NULL ? fake_work_hold(work) : NULL;
  fake_work_drop(old);
}

void fake_stream_before(struct CUstream_st *stream, struct fake_list *before) {
  fake_list_add(before, stream->tail);
  if (!stream->is_blocking) return;
  if (!stream->is_legacy) {
    fake_list_add(before, fake_state.devices[stream->device].legacy.tail);
    return;
  }
  for (size_t i = 0; i < streams.count; i++) {
    const struct CUstream_st *other = streams.items[i];
    if (other->is_blocking && other->device == stream->device) fake_list_add(before, other->tail);
  }
}

cudaError_t fake_stream_add(struct CUstream_st *stream, struct fake_operation *operation) {
  struct fake_list before = {0};
  fake_stream_before(stream, &before);
  struct fake_work *work =
      fake_work_add(operation, stream->device, (struct fake_work *const *)before.items, before.count);
  fake_stream_set_tail(stream, work);
  fake_work_drop(work);
  fake_list_release(&before);
  return cudaSuccess;
}

static cudaError_t create_stream(cudaStream_t *handle, unsigned int flags) {
  if (handle == NULL || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  struct CUstream_st *stream = fake_allocate(sizeof *stream);
  stream->magic = STREAM_MAGIC;
  stream->is_blocking = flags == cudaStreamDefault;
  stream->device = fake_current_device();
  fake_list_add(&streams, stream);
  fake_state.live.streams++;
  *handle = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *handle) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, create_stream(handle, cudaStreamDefault));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *handle, unsigned int flags) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, create_stream(handle, flags));
}

/* Work in the stream goes on without it. */
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_RELEASES)) return call.code;
  struct CUstream_st *stream = handle != NULL ? fake_stream_of(handle) : NULL;
  if (stream == NULL) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  fake_capture_leave(stream);
  stream->is_dead = true;
  if (!stream->is_blocking) fake_stream_set_tail(stream, NULL);
  fake_state.live.streams--;
  return fake_leave(&call, cudaSuccess);
}

/* What forbids asking about a stream. */
static cudaError_t may_ask(struct CUstream_st *stream) {
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  struct fake_capture *capture = fake_capture_of(stream);
  if (capture != NULL) {
    fake_capture_invalidate(capture);
    return cudaErrorStreamCaptureUnsupported;
  }
  cudaError_t code = fake_capture_refuse_legacy(stream);
  if (code != cudaSuccess) return code;
  return fake_state.devices[stream->device].lost;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct CUstream_st *stream = fake_stream_of(handle);
  cudaError_t code = may_ask(stream);
  if (code == cudaSuccess) code = fake_capture_refuse_unsafe();
  if (code != cudaSuccess) return fake_leave(&call, code);
  fake_work_progress(stream->tail);
  if (fake_state.devices[stream->device].lost != cudaSuccess) code = fake_state.devices[stream->device].lost;
  else if (!fake_work_is_done(stream->tail)) code = cudaErrorNotReady;
  return fake_leave(&call, code);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct CUstream_st *stream = fake_stream_of(handle);
  cudaError_t code = may_ask(stream);
  if (code == cudaSuccess) code = fake_capture_refuse_unsafe();
  if (code != cudaSuccess) return fake_leave(&call, code);
  struct fake_list before = {0};
  if (stream->is_legacy) fake_stream_before(stream, &before);
  else fake_list_add(&before, stream->tail);
  for (size_t i = 0; i < before.count; i++) {
    if (before.items[i] != NULL) fake_work_hold(before.items[i]);
  }
  for (size_t i = 0; i < before.count; i++) {
    if (!fake_work_finish(before.items[i], call.function)) code = cudaErrorLaunchTimeout;
    fake_work_drop(before.items[i]);
  }
  fake_list_release(&before);
  if (fake_state.devices[stream->device].lost != cudaSuccess) code = fake_state.devices[stream->device].lost;
  return fake_leave(&call, code);
}

/* --- Putting work into streams --- */

cudaError_t fake_may_issue(struct CUstream_st *stream) {
  struct fake_capture *capture = fake_capture_of(stream);
  if (capture != NULL) return capture->is_invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  cudaError_t code = fake_capture_refuse_legacy(stream);
  return code != cudaSuccess ? code : fake_state.devices[stream->device].lost;
}

cudaError_t fake_issue(cudaStream_t handle, struct fake_operation *operation) {
  struct CUstream_st *stream = fake_stream_of(handle);
  cudaError_t code = stream != NULL ? fake_may_issue(stream) : cudaErrorInvalidResourceHandle;
  if (code != cudaSuccess) {
    fake_operation_drop(operation);
    return code;
  }
  if (stream->member != NULL) return fake_capture_add(stream, operation);
  fake_stream_add(stream, operation);
  fake_work_drift();
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  if (function == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  struct fake_operation *operation = fake_operation_make(FAKE_HOST);
  operation->function = function;
  operation->function_data = data;
  return fake_leave(&call, fake_issue(stream, operation));
}

/* --- Events --- */

bool fake_event_is_valid(cudaEvent_t event) {
  if (event == NULL) return false;
  if (event->magic == EVENT_MAGIC && !event->is_dead) return true;
  fake_complain("A call got an event that is none, or was destroyed.");
  return false;
}

void fake_event_set_work(struct CUevent_st *event, struct fake_work *work) {
  struct fake_work *old = event->work;
  event->work = work != NULL ? fake_work_hold(work) : NULL;
  fake_work_drop(old);
  event->capture = NULL;
  event->is_orphan = false;
  event->nodes.count = 0;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *handle, unsigned int flags) {
  enum { BLOCKING_SYNC = 1, KNOWN = cudaEventDisableTiming | BLOCKING_SYNC };
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  if (handle == NULL || (flags & ~(unsigned)KNOWN) != 0) return fake_leave(&call, cudaErrorInvalidValue);
  struct CUevent_st *event = fake_allocate(sizeof *event);
  event->magic = EVENT_MAGIC;
  event->flags = flags;
  event->device = fake_current_device();
  fake_list_add(&events, event);
  fake_state.live.events++;
  *handle = event;
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_RELEASES)) return call.code;
  if (!fake_event_is_valid(event)) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  fake_event_set_work(event, NULL);
  fake_list_release(&event->nodes);
  event->is_dead = true;
  fake_state.live.events--;
  return fake_leave(&call, cudaSuccess);
}

static cudaError_t record(struct CUevent_st *event, struct CUstream_st *stream, unsigned int flags) {
  cudaError_t code = fake_may_issue(stream);
  if (code != cudaSuccess) return code;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  struct fake_operation *operation = NULL;
  if (stream->member != NULL) {
    if (flags == cudaEventDefault) return fake_capture_record(stream, event);
    operation = fake_operation_make(FAKE_RECORD);
    operation->event = event;
    return fake_capture_add(stream, operation);
  }
  if (flags == cudaEventRecordExternal) return cudaErrorIllegalState;
  fake_stream_add(stream, fake_operation_make(FAKE_RECORD));
  fake_event_set_work(event, stream->tail);
  fake_work_drift();
  return cudaSuccess;
}

static cudaError_t record_with_flags(cudaEvent_t event, cudaStream_t handle, unsigned int flags) {
  if (!fake_event_is_valid(event)) return cudaErrorInvalidResourceHandle;
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  if (flags > cudaEventRecordExternal) return cudaErrorInvalidValue;
  return record(event, stream, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, record_with_flags(event, stream, cudaEventDefault));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, record_with_flags(event, stream, flags));
}

/* The stream's next work comes after the event's, and after its own. */
static cudaError_t wait_for(struct CUstream_st *stream, const struct CUevent_st *event) {
  struct fake_list before = {0};
  if (fake_work_is_done(event->work)) return cudaSuccess;
  fake_stream_before(stream, &before);
  fake_list_add(&before, event->work);
  struct fake_work *work = fake_work_add(fake_operation_make(FAKE_WAIT), stream->device,
                                         (struct fake_work *const *)before.items, before.count);
  fake_stream_set_tail(stream, work);
  fake_work_drop(work);
  fake_list_release(&before);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  if (!fake_event_is_valid(event)) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  if (flags > cudaEventWaitExternal) return fake_leave(&call, cudaErrorInvalidValue);
  if (stream->member != NULL || event->capture != NULL || event->is_orphan) {
    return fake_leave(&call, fake_capture_wait(stream, event, flags));
  }
  cudaError_t code = fake_may_issue(stream);
  if (code == cudaSuccess && flags == cudaEventWaitExternal) code = cudaErrorIllegalState;
  if (code != cudaSuccess) return fake_leave(&call, code);
  return fake_leave(&call, wait_for(stream, event));
}

/* What forbids asking about an event. */
static cudaError_t may_ask_event(struct CUevent_st *event) {
  if (!fake_event_is_valid(event)) return cudaErrorInvalidResourceHandle;
  if (event->is_orphan) return cudaErrorInvalidValue;
  if (event->capture != NULL) {
    fake_capture_invalidate(event->capture);
    return cudaErrorCapturedEvent;
  }
  cudaError_t code = fake_capture_refuse_unsafe();
  return code != cudaSuccess ? code : fake_state.devices[event->device].lost;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  cudaError_t code = may_ask_event(event);
  if (code != cudaSuccess) return fake_leave(&call, code);
  fake_work_progress(event->work);
  if (fake_state.devices[event->device].lost != cudaSuccess) code = fake_state.devices[event->device].lost;
  else if (!fake_work_is_done(event->work)) code = cudaErrorNotReady;
  return fake_leave(&call, code);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  cudaError_t code = may_ask_event(event);
  if (code != cudaSuccess) return fake_leave(&call, code);
  if (!fake_work_finish(event->work, call.function)) code = cudaErrorLaunchTimeout;
  if (fake_state.devices[event->device].lost != cudaSuccess) code = fake_state.devices[event->device].lost;
  return fake_leave(&call, code);
}

static cudaError_t elapsed(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end) {
  if (!fake_event_is_valid(start) || !fake_event_is_valid(end)) return cudaErrorInvalidResourceHandle;
  if (milliseconds == NULL || start->is_orphan || end->is_orphan) return cudaErrorInvalidValue;
  if (start->capture != NULL || end->capture != NULL) return cudaErrorCapturedEvent;
  if (((start->flags | end->flags) & cudaEventDisableTiming) != 0) return cudaErrorInvalidResourceHandle;
  if (start->work == NULL || end->work == NULL) return cudaErrorInvalidResourceHandle;
  if (!fake_work_is_done(start->work) || !fake_work_is_done(end->work)) return cudaErrorNotReady;
  *milliseconds = (float)((double)(int64_t)(end->work->done_ns - start->work->done_ns) / 1e6);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, elapsed(milliseconds, start, end));
}

void fake_events_orphan(const struct fake_capture *capture) {
  for (size_t i = 0; i < events.count; i++) {
    struct CUevent_st *event = events.items[i];
    if (event->capture != capture) continue;
    event->capture = NULL;
    event->is_orphan = true;
    event->nodes.count = 0;
  }
}

void fake_streams_reset(void) {
  for (size_t i = 0; i < streams.count; i++) {
    fake_stream_set_tail(streams.items[i], NULL);
    free(streams.items[i]);
  }
  fake_list_release(&streams);
  for (size_t i = 0; i < events.count; i++) {
    struct CUevent_st *event = events.items[i];
    fake_event_set_work(event, NULL);
    fake_list_release(&event->nodes);
    free(event);
  }
  fake_list_release(&events);
}
