/* Stream capture. The rules are those that an H200 with driver 580 showed; each has its check in
 * tests/unit/fake_cuda/rules_test.c. */
#include <stdlib.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

/* Those that have begun and not ended. */
static struct fake_list captures;
static uint64_t next_id = 1;

uint64_t fake_capture_count(void) { return captures.count; }

struct fake_capture *fake_capture_of(const struct CUstream_st *stream) {
  return stream->member != NULL ? stream->member->capture : NULL;
}

/* From now on only cudaStreamEndCapture is of use; events that were recorded in it are good for nothing. */
void fake_capture_invalidate(struct fake_capture *capture) {
  if (capture->is_invalid) return;
  capture->is_invalid = true;
  fake_events_orphan(capture);
}

/* --- Calls that a capture forbids --- */

/* A capture forbids them to its own thread, a global one to all; a relaxed one to nobody. */
static bool forbids_unsafe(const struct fake_capture *capture) {
  if (capture->mode == cudaStreamCaptureModeGlobal) return true;
  return capture->mode == cudaStreamCaptureModeThreadLocal && pthread_equal(capture->thread, pthread_self());
}

cudaError_t fake_capture_refuse_unsafe(void) {
  cudaError_t code = cudaSuccess;
  for (size_t i = 0; i < captures.count; i++) {
    struct fake_capture *capture = captures.items[i];
    if (!forbids_unsafe(capture)) continue;
    fake_capture_invalidate(capture);
    code = cudaErrorStreamCaptureUnsupported;
  }
  return code;
}

cudaError_t fake_capture_refuse_device(int device) {
  cudaError_t code = cudaSuccess;
  for (size_t i = 0; i < captures.count; i++) {
    struct fake_capture *capture = captures.items[i];
    if (capture->origin->device != device) continue;
    fake_capture_invalidate(capture);
    code = cudaErrorStreamCaptureUnsupported;
  }
  return code;
}

static bool has_blocking_member(const struct fake_capture *capture, int device) {
  for (size_t i = 0; i < capture->members.count; i++) {
    const struct fake_member *member = capture->members.items[i];
    if (member->stream != NULL && member->stream->is_blocking && member->stream->device == device) return true;
  }
  return false;
}

bool fake_capture_uses_legacy(const struct CUstream_st *stream) {
  if (!stream->is_legacy) return false;
  for (size_t i = 0; i < captures.count; i++) {
    if (has_blocking_member(captures.items[i], stream->device)) return true;
  }
  return false;
}

cudaError_t fake_capture_refuse_legacy(const struct CUstream_st *stream) {
  if (!fake_capture_uses_legacy(stream)) return cudaSuccess;
  for (size_t i = 0; i < captures.count; i++) {
    if (has_blocking_member(captures.items[i], stream->device)) fake_capture_invalidate(captures.items[i]);
  }
  return cudaErrorStreamCaptureImplicit;
}

/* --- Members --- */

static struct fake_member *add_member(struct fake_capture *capture, struct CUstream_st *stream) {
  struct fake_member *member = fake_allocate(sizeof *member);
  member->capture = capture;
  member->stream = stream;
  stream->member = member;
  fake_list_add(&capture->members, member);
  return member;
}

/* Ends a capture in every sense but the graph's. */
static void close_capture(struct fake_capture *capture) {
  fake_events_orphan(capture);
  for (size_t i = 0; i < capture->members.count; i++) {
    struct fake_member *member = capture->members.items[i];
    if (member->stream != NULL) member->stream->member = NULL;
    fake_list_release(&member->nodes);
    free(member->edges);
    free(member);
  }
  fake_list_release(&capture->members);
  fake_list_remove(&captures, capture);
  if (capture->graph != NULL) capture->graph->capture = NULL;
  free(capture);
}

static void abort_capture(struct fake_capture *capture) {
  struct CUgraph_st *graph = capture->graph;
  close_capture(capture);
  fake_graph_free(graph);
}

/* A member stays without its stream: its work must be joined all the same. Without its origin the whole is over. */
void fake_capture_leave(struct CUstream_st *stream) {
  struct fake_capture *capture = fake_capture_of(stream);
  if (capture == NULL) return;
  if (capture->origin == stream) {
    abort_capture(capture);
    return;
  }
  stream->member->stream = NULL;
  stream->member = NULL;
}

/* --- Begin and end --- */

static cudaError_t begin(cudaStream_t handle, enum cudaStreamCaptureMode mode) {
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (stream->is_legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->member != NULL) return cudaErrorIllegalState;
  struct fake_capture *capture = fake_allocate(sizeof *capture);
  capture->id = next_id++;
  capture->mode = mode;
  capture->thread = pthread_self();
  capture->origin = stream;
  capture->graph = fake_graph_make();
  capture->graph->capture = capture;
  fake_list_add(&captures, capture);
  add_member(capture, stream);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, begin(stream, mode));
}

/* Adds those that are not there yet. */
static void add_nodes(struct fake_list *to, const struct fake_list *nodes) {
  uint64_t mark = fake_graph_mark(to);
  for (size_t i = 0; i < nodes->count; i++) {
    struct CUgraphNode_st *node = nodes->items[i];
    if (node->seen == mark) continue;
    node->seen = mark;
    fake_list_add(to, node);
  }
}

/* A stream is joined where each node that its next one would depend on has a successor, or was dropped by hand, or is
 * among what the origin's next one would depend on. */
static bool is_joined(const struct fake_capture *capture) {
  const struct fake_member *origin = capture->origin->member;
  uint64_t mark = fake_graph_mark(&origin->nodes);
  for (size_t i = 0; i < capture->members.count; i++) {
    const struct fake_member *member = capture->members.items[i];
    for (size_t k = 0; member != origin && k < member->nodes.count; k++) {
      const struct CUgraphNode_st *node = member->nodes.items[k];
      if (node->after.count == 0 && !node->is_dropped && node->seen != mark) return false;
    }
  }
  return true;
}

static cudaError_t end(struct CUstream_st *stream, cudaGraph_t *graph) {
  struct fake_capture *capture = fake_capture_of(stream);
  if (capture == NULL) return cudaErrorIllegalState;
  if (capture->origin != stream) {
    fake_capture_invalidate(capture);
    return cudaErrorStreamCaptureUnmatched;
  }
  cudaError_t code = cudaSuccess;
  if (capture->is_invalid) code = cudaErrorStreamCaptureInvalidated;
  else if (capture->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(capture->thread, pthread_self())) {
    code = cudaErrorStreamCaptureWrongThread;
  } else if (!is_joined(capture)) {
    code = cudaErrorStreamCaptureUnjoined;
  }
  struct CUgraph_st *made = capture->graph;
  close_capture(capture);
  if (code == cudaSuccess && graph != NULL) *graph = made;
  else fake_graph_free(made);
  return code;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
  struct fake_call call;
  if (graph != NULL) *graph = NULL;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_RELEASES)) return call.code;
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  /* Made to fail, it ends the capture and gives no graph. */
  cudaError_t code = end(stream, call.code == cudaSuccess ? graph : NULL);
  return fake_leave(&call, code);
}

/* --- Nodes --- */

cudaError_t fake_capture_add(struct CUstream_st *stream, struct fake_operation *operation) {
  struct fake_capture *capture = fake_capture_of(stream);
  struct fake_member *member = stream->member;
  struct CUgraphNode_st *node = fake_graph_add(capture->graph, operation, &member->nodes);
  member->nodes.count = 0;
  fake_list_add(&member->nodes, node);
  return cudaSuccess;
}

cudaError_t fake_capture_record(struct CUstream_st *stream, struct CUevent_st *event) {
  fake_event_set_work(event, NULL);
  event->capture = fake_capture_of(stream);
  fake_list_copy(&event->nodes, &stream->member->nodes);
  return cudaSuccess;
}

/* A stream, capturing or not, waits for an event that was recorded in a capture. */
static cudaError_t wait_for_captured(struct CUstream_st *stream, struct CUevent_st *event) {
  struct fake_capture *capture = fake_capture_of(stream);
  if (stream->is_legacy) {
    fake_capture_invalidate(event->capture);
    return cudaErrorStreamCaptureImplicit;
  }
  if (capture != NULL && capture != event->capture) {
    fake_capture_invalidate(capture);
    fake_capture_invalidate(event->capture);
    return cudaErrorStreamCaptureMerge;
  }
  if (capture == NULL) add_member(event->capture, stream);
  add_nodes(&stream->member->nodes, &event->nodes);
  return cudaSuccess;
}

cudaError_t fake_capture_wait(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags) {
  struct fake_capture *capture = fake_capture_of(stream);
  if (event->is_orphan || (event->capture != NULL && flags == cudaEventWaitExternal)) {
    bool was_invalid = capture != NULL && capture->is_invalid;
    if (capture != NULL) fake_capture_invalidate(capture);
    return was_invalid ? cudaErrorStreamCaptureInvalidated : cudaErrorInvalidValue;
  }
  if (capture != NULL && capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (event->capture != NULL) return wait_for_captured(stream, event);
  if (flags == cudaEventWaitExternal) {
    struct fake_operation *operation = fake_operation_make(FAKE_WAIT);
    operation->event = event;
    return fake_capture_add(stream, operation);
  }
  if (event->work == NULL) return cudaSuccess;
  fake_capture_invalidate(capture);
  return cudaErrorStreamCaptureIsolation;
}

/* --- What a program may see and change --- */

static cudaError_t get_info(struct CUstream_st *stream, unsigned long long *id, cudaGraph_t *graph,
                            const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges, size_t *count) {
  const struct fake_capture *capture = fake_capture_of(stream);
  struct fake_member *member = stream->member;
  if (id != NULL) *id = capture->id;
  if (graph != NULL) *graph = capture->graph;
  if (nodes != NULL) *nodes = member->nodes.count > 0 ? (const cudaGraphNode_t *)member->nodes.items : NULL;
  if (count != NULL) *count = member->nodes.count;
  if (edges == NULL) return cudaSuccess;
  free(member->edges);
  member->edges = member->nodes.count > 0 ? fake_allocate(member->nodes.count * sizeof *member->edges) : NULL;
  *edges = member->edges;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                                     size_t *count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  if (status == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  if (fake_capture_uses_legacy(stream)) return fake_leave(&call, cudaErrorStreamCaptureImplicit);
  const struct fake_capture *capture = fake_capture_of(stream);
  *status = capture == NULL       ? cudaStreamCaptureStatusNone
            : capture->is_invalid ? cudaStreamCaptureStatusInvalidated
                                  : cudaStreamCaptureStatusActive;
  if (*status != cudaStreamCaptureStatusActive) return fake_leave(&call, cudaSuccess);
  return fake_leave(&call, get_info(stream, id, graph, nodes, edges, count));
}

static bool is_plain(const cudaGraphEdgeData *edge) {
  unsigned sum = edge->from_port | edge->to_port | edge->type;
  for (size_t i = 0; i < sizeof edge->reserved; i++) sum |= edge->reserved[i];
  return sum == 0;
}

/* Ports and programmatic edges are not for this double. */
static cudaError_t check_nodes(const struct fake_capture *capture, const cudaGraphNode_t *nodes,
                               const cudaGraphEdgeData *edges, size_t count) {
  if (count > 0 && nodes == NULL) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; i++) {
    if (nodes[i] == NULL || nodes[i]->graph != capture->graph) return cudaErrorInvalidValue;
    if (edges != NULL && !is_plain(&edges[i])) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t *nodes,
                                                const cudaGraphEdgeData *edges, size_t count, unsigned int flags) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct CUstream_st *stream = fake_stream_of(handle);
  if (stream == NULL) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  struct fake_capture *capture = fake_capture_of(stream);
  if (capture == NULL) return fake_leave(&call, cudaErrorIllegalState);
  if (capture->is_invalid) return fake_leave(&call, cudaErrorStreamCaptureInvalidated);
  if (flags > cudaStreamSetCaptureDependencies) return fake_leave(&call, cudaErrorInvalidValue);
  cudaError_t code = check_nodes(capture, nodes, edges, count);
  if (code != cudaSuccess) return fake_leave(&call, code);
  struct fake_list *list = &stream->member->nodes;
  /* The new set may be given as the pointer that cudaStreamGetCaptureInfo gave. */
  struct fake_list wanted = {0};
  for (size_t i = 0; i < count; i++) fake_list_add(&wanted, nodes[i]);
  if (flags == cudaStreamSetCaptureDependencies) {
    for (size_t i = 0; i < list->count; i++) ((struct CUgraphNode_st *)list->items[i])->is_dropped = true;
    list->count = 0;
  }
  for (size_t i = 0; i < count; i++) ((struct CUgraphNode_st *)wanted.items[i])->is_dropped = false;
  add_nodes(list, &wanted);
  fake_list_release(&wanted);
  return fake_leave(&call, cudaSuccess);
}

void fake_capture_reset(void) {
  while (captures.count > 0) abort_capture(captures.items[0]);
  fake_list_release(&captures);
}
