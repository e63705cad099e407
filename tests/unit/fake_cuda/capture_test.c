/* The shape of captures: forks, joins, dependencies set by hand, captures that end badly, several threads. Run on the
 * double and on a GPU. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/fake_cuda/fixture.h"

#define S fixture.origin
#define T fixture.side
#define U fixture.third

static cudaError_t set_dependency(cudaStream_t stream, cudaGraphNode_t node, unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, &node, NULL, node != NULL ? 1 : 0, flags);
}

static cudaGraphNode_t newest(cudaStream_t stream) {
  cudaGraphNode_t node = NULL;
  ck_assert_uint_eq(dependencies_of(stream, &node), 1);
  return node;
}

/* --- Fork and join --- */

START_TEST(test_a_line_is_a_line) {
  begin(S);
  ck_assert_uint_eq(dependencies_of(S, NULL), 0);
  for (int i = 0; i < 5; i++) expect(cudaSuccess, launch(S));
  end(S, cudaSuccess, 5, 4);
}
END_TEST

START_TEST(test_fork_without_work_needs_no_join) {
  begin(S);
  join(S, T);
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusActive);
  end(S, cudaSuccess, 0, 0);
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusNone);
  begin(S);
  expect(cudaSuccess, launch(S));
  join(S, T);
  end(S, cudaSuccess, 1, 0);
}
END_TEST

START_TEST(test_unjoined_work_ends_the_capture) {
  begin(S);
  expect(cudaSuccess, launch(S));
  join(S, T);
  expect(cudaSuccess, launch(T));
  end(S, cudaErrorStreamCaptureUnjoined, 0, 0);
  /* Both streams are as before. */
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, cudaStreamSynchronize(T));
  begin(S);
  join(S, T);
  expect(cudaSuccess, launch(T));
  join(T, S);
  expect(cudaSuccess, launch(T));
  end(S, cudaErrorStreamCaptureUnjoined, 0, 0);
}
END_TEST

START_TEST(test_fork_and_join) {
  begin(S);
  join(S, T);
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, launch(S));
  join(T, S);
  ck_assert_uint_eq(dependencies_of(S, NULL), 2);
  expect(cudaSuccess, launch(S));
  end(S, cudaSuccess, 3, 2);
}
END_TEST

START_TEST(test_join_through_another_stream) {
  begin(S);
  join(S, T);
  join(S, U);
  expect(cudaSuccess, launch(T));
  join(T, U);
  expect(cudaSuccess, launch(U));
  join(U, S);
  end(S, cudaSuccess, 2, 1);
  begin(S);
  join(S, T);
  join(S, U);
  expect(cudaSuccess, launch(T));
  join(T, U);
  end(S, cudaErrorStreamCaptureUnjoined, 0, 0);
}
END_TEST

START_TEST(test_same_wait_twice_is_one_edge) {
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaEventRecord(fixture.event, S));
  expect(cudaSuccess, cudaStreamWaitEvent(S, fixture.event, 0));
  ck_assert_uint_eq(dependencies_of(S, NULL), 1);
  expect(cudaSuccess, cudaStreamWaitEvent(T, fixture.event, 0));
  expect(cudaSuccess, cudaStreamWaitEvent(T, fixture.event, 0));
  ck_assert_uint_eq(dependencies_of(T, NULL), 1);
  expect(cudaSuccess, launch(T));
  /* An edge that another path implies is kept. */
  expect(cudaSuccess, cudaStreamWaitEvent(T, fixture.event, 0));
  ck_assert_uint_eq(dependencies_of(T, NULL), 2);
  expect(cudaSuccess, launch(T));
  join(T, S);
  ck_assert_uint_eq(dependencies_of(S, NULL), 2);
  expect(cudaSuccess, launch(S));
  end(S, cudaSuccess, 4, 5);
}
END_TEST

START_TEST(test_destroyed_side_stream_keeps_its_debt) {
  cudaStream_t gone = NULL;
  expect(cudaSuccess, cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
  begin(S);
  join(S, gone);
  expect(cudaSuccess, launch(gone));
  expect(cudaSuccess, cudaStreamDestroy(gone));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusActive);
  end(S, cudaErrorStreamCaptureUnjoined, 0, 0);
  expect(cudaSuccess, cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
  begin(S);
  join(S, gone);
  expect(cudaSuccess, launch(gone));
  join(gone, S);
  expect(cudaSuccess, cudaStreamDestroy(gone));
  end(S, cudaSuccess, 1, 0);
}
END_TEST

START_TEST(test_destroyed_origin_ends_all) {
  cudaStream_t gone = NULL;
  void *memory = NULL;
  expect(cudaSuccess, cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
  begin(gone);
  expect(cudaSuccess, launch(gone));
  join(gone, T);
  expect(cudaSuccess, cudaStreamDestroy(gone));
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusNone);
  expect(cudaSuccess, cudaMalloc(&memory, 16));
  expect(cudaSuccess, cudaFree(memory));
}
END_TEST

/* --- Dependencies by hand --- */

START_TEST(test_set_dependencies_instead_of_events) {
  begin(S);
  join(S, T);
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, set_dependency(S, newest(T), cudaStreamSetCaptureDependencies));
  end(S, cudaSuccess, 1, 0);
}
END_TEST

START_TEST(test_add_dependencies) {
  begin(S);
  expect(cudaSuccess, launch(S));
  join(S, T);
  expect(cudaSuccess, launch(T));
  cudaGraphNode_t node = newest(T);
  expect(cudaSuccess, set_dependency(S, node, cudaStreamAddCaptureDependencies));
  expect(cudaSuccess, set_dependency(S, node, cudaStreamAddCaptureDependencies));
  ck_assert_uint_eq(dependencies_of(S, NULL), 2);
  cudaGraphNode_t twice[] = {node, node};
  expect(cudaSuccess, cudaStreamUpdateCaptureDependencies(S, twice, NULL, 2, cudaStreamSetCaptureDependencies));
  ck_assert_uint_eq(dependencies_of(S, NULL), 1);
  expect(cudaSuccess, launch(S));
  end(S, cudaSuccess, 3, 2);
}
END_TEST

START_TEST(test_dropped_leaves_are_no_debt) {
  begin(S);
  expect(cudaSuccess, launch(S));
  join(S, T);
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, set_dependency(T, NULL, cudaStreamSetCaptureDependencies));
  ck_assert_uint_eq(dependencies_of(T, NULL), 0);
  end(S, cudaSuccess, 2, 1);
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, set_dependency(S, NULL, cudaStreamSetCaptureDependencies));
  end(S, cudaSuccess, 2, 1);
  begin(S);
  join(S, T);
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, set_dependency(S, newest(T), cudaStreamAddCaptureDependencies));
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, set_dependency(S, NULL, cudaStreamSetCaptureDependencies));
  end(S, cudaSuccess, 2, 1);
}
END_TEST

/* What has to be joined are nodes without successor at which a stream stands; but not those that any stream, not only
 * the origin, was moved away from by hand. */
START_TEST(test_what_counts_as_joined) {
  begin(S);
  join(S, T);
  join(S, U);
  expect(cudaSuccess, launch(T));
  join(T, U);
  expect(cudaSuccess, launch(U));
  expect(cudaSuccess, set_dependency(U, NULL, cudaStreamSetCaptureDependencies));
  end(S, cudaSuccess, 2, 1);
  cudaStream_t const streams[] = {S, T, U};
  for (int i = 0; i < 3; i++) {
    begin(S);
    join(S, T);
    join(S, U);
    expect(cudaSuccess, launch(T));
    join(T, i == 0 ? S : U);
    expect(cudaSuccess, set_dependency(streams[i], NULL, cudaStreamSetCaptureDependencies));
    end(S, cudaSuccess, 1, 0);
  }
}
END_TEST

START_TEST(test_set_on_origin_replaces) {
  begin(S);
  join(S, T);
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, launch(S));
  cudaGraphNode_t own = newest(S);
  join(T, S);
  expect(cudaSuccess, set_dependency(S, own, cudaStreamSetCaptureDependencies));
  expect(cudaSuccess, launch(S));
  end(S, cudaSuccess, 3, 1);
}
END_TEST

START_TEST(test_refused_dependencies_change_nothing) {
  cudaGraphNode_t foreign = NULL;
  size_t one = 1;
  cudaGraphEdgeData data;
  memset(&data, 0, sizeof data);
  expect(cudaSuccess, cudaGraphGetNodes(fixture.graph, &foreign, &one));
  begin(S);
  expect(cudaSuccess, launch(S));
  cudaGraphNode_t node = newest(S);
  expect(cudaErrorInvalidValue, set_dependency(S, foreign, cudaStreamSetCaptureDependencies));
  expect(cudaSuccess, cudaStreamUpdateCaptureDependencies(S, &node, &data, 1, cudaStreamSetCaptureDependencies));
  data.reserved[1] = 3;
  expect(cudaErrorInvalidValue,
         cudaStreamUpdateCaptureDependencies(S, &node, &data, 1, cudaStreamSetCaptureDependencies));
  data.reserved[1] = 0;
  data.from_port = 9;
  expect(cudaErrorInvalidValue,
         cudaStreamUpdateCaptureDependencies(S, &node, &data, 1, cudaStreamSetCaptureDependencies));
  ck_assert_ptr_eq(newest(S), node);
  end(S, cudaSuccess, 1, 0);
}
END_TEST

START_TEST(test_empty_nodes_join_a_capture) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = NULL;
  cudaGraphNode_t empty = NULL;
  begin(S);
  expect(cudaSuccess, launch(S));
  cudaGraphNode_t node = newest(S);
  expect(cudaSuccess, cudaStreamGetCaptureInfo(S, &status, NULL, &graph, NULL, NULL, NULL));
  cudaGraphNode_t twice[] = {node, node};
  expect(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&empty, graph, twice, 2));
  expect(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&empty, graph, NULL, 1));
  expect(cudaErrorInvalidValue, cudaGraphAddEmptyNode(NULL, graph, NULL, 0));
  expect(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&empty, NULL, NULL, 0));
  expect(cudaSuccess, cudaGraphAddEmptyNode(&empty, graph, &node, 1));
  expect(cudaSuccess, set_dependency(S, empty, cudaStreamSetCaptureDependencies));
  expect(cudaSuccess, launch(S));
  end(S, cudaSuccess, 3, 2);
}
END_TEST

/* Every node with its dependencies set, on two streams: exactly the edges that were declared. */
START_TEST(test_exact_capture) {
  enum { COUNT = 40 };
  cudaGraphNode_t nodes[COUNT], sinks[COUNT];
  bool has_successor[COUNT] = {false};
  size_t edges = 0;
  begin(S);
  join(S, T);
  for (int i = 0; i < COUNT; i++) {
    cudaGraphNode_t before[2];
    size_t count = 0;
    for (int k = 0; k < 2; k++) {
      int other = (i * (k + 3) + k) % COUNT;
      if (other >= i || (count == 1 && nodes[other] == before[0])) continue;
      before[count++] = nodes[other];
      has_successor[other] = true;
    }
    cudaStream_t stream = i % 2 == 0 ? S : T;
    expect(cudaSuccess,
           cudaStreamUpdateCaptureDependencies(stream, before, NULL, count, cudaStreamSetCaptureDependencies));
    expect(cudaSuccess, launch(stream));
    nodes[i] = newest(stream);
    edges += count;
  }
  size_t sink_count = 0;
  for (int i = 0; i < COUNT; i++) {
    if (!has_successor[i]) sinks[sink_count++] = nodes[i];
  }
  expect(cudaSuccess, cudaStreamUpdateCaptureDependencies(S, sinks, NULL, sink_count, 1));
  end(S, cudaSuccess, COUNT, edges);
}
END_TEST

/* --- What a stream says --- */

START_TEST(test_capture_info) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  unsigned long long id = 77;
  cudaGraph_t graph = NULL;
  const cudaGraphNode_t *nodes = NULL;
  const cudaGraphEdgeData *edges = NULL;
  size_t count = 99;
  expect(cudaSuccess, cudaStreamGetCaptureInfo(S, &status, &id, &graph, &nodes, &edges, &count));
  ck_assert_int_eq(status, cudaStreamCaptureStatusNone);
  ck_assert_uint_eq(count, 99);
  begin(S);
  expect(cudaSuccess, launch(S));
  join(S, T);
  expect(cudaSuccess, cudaStreamGetCaptureInfo(S, &status, &id, &graph, &nodes, &edges, &count));
  unsigned long long other = 0;
  cudaGraph_t same = NULL;
  expect(cudaSuccess, cudaStreamGetCaptureInfo(T, &status, &other, &same, NULL, NULL, NULL));
  ck_assert_uint_eq(id, other);
  ck_assert_ptr_eq(graph, same);
  ck_assert_uint_eq(count, 1);
  ck_assert_ptr_nonnull(nodes);
  ck_assert_ptr_nonnull(edges);
  ck_assert_int_eq(edges[0].type, 0);
  void *memory = NULL;
  expect(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 1));
  count = 99;
  expect(cudaSuccess, cudaStreamGetCaptureInfo(S, &status, NULL, NULL, NULL, NULL, &count));
  ck_assert_int_eq(status, cudaStreamCaptureStatusInvalidated);
  ck_assert_uint_eq(count, 99);
  expect(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(S, &graph));
}
END_TEST

/* --- Captures that end badly --- */

START_TEST(test_invalid_until_its_end) {
  void *memory = NULL;
  cudaGraph_t graph = NULL;
  begin(S);
  join(S, T);
  expect(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 1));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusInvalidated);
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusInvalidated);
  expect(cudaErrorStreamCaptureInvalidated, launch(S));
  expect(cudaErrorStreamCaptureInvalidated, launch(T));
  expect(cudaErrorStreamCaptureInvalidated, cudaEventRecord(fixture.second, S));
  expect(cudaErrorStreamCaptureInvalidated, cudaStreamWaitEvent(S, fixture.never, 0));
  expect(cudaErrorInvalidValue, cudaStreamWaitEvent(U, fixture.event, 0));
  ck_assert_int_eq(status_of(U), cudaStreamCaptureStatusNone);
  expect(cudaErrorStreamCaptureInvalidated, cudaStreamUpdateCaptureDependencies(S, NULL, NULL, 0, 1));
  expect(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(S));
  expect(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(T));
  expect(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 1));
  expect(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
  expect(cudaErrorIllegalState, cudaStreamBeginCapture(S, cudaStreamCaptureModeThreadLocal));
  expect(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(T, &graph));
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusNone);
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, cudaDeviceSynchronize());
}
END_TEST

START_TEST(test_end_and_begin_on_a_side_stream) {
  cudaGraph_t graph = NULL;
  begin(S);
  join(S, T);
  expect(cudaErrorIllegalState, cudaStreamBeginCapture(T, cudaStreamCaptureModeThreadLocal));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusActive);
  expect(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(T, &graph));
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

START_TEST(test_captures_do_not_merge) {
  begin(S);
  begin(T);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, launch(T));
  expect(cudaSuccess, cudaEventRecord(fixture.event, S));
  expect(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(T, fixture.event, 0));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusInvalidated);
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusInvalidated);
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
  end(T, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

START_TEST(test_two_captures_of_one_thread) {
  void *memory = NULL;
  begin(S);
  begin(T);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, launch(T));
  end(T, cudaSuccess, 1, 0);
  end(S, cudaSuccess, 1, 0);
  begin(S);
  begin(T);
  expect(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 1));
  end(T, cudaErrorStreamCaptureInvalidated, 0, 0);
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

/* --- Events of a capture --- */

START_TEST(test_captured_event_says_nothing) {
  float milliseconds = 0;
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaEventRecord(fixture.timed, S));
  expect(cudaErrorCapturedEvent, cudaEventElapsedTime(&milliseconds, fixture.timed, fixture.timed));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusActive);
  expect(cudaErrorCapturedEvent, cudaEventQuery(fixture.timed));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusInvalidated);
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

/* Recorded in a capture that is over, an event is of no use before it is recorded again. */
START_TEST(test_event_of_a_finished_capture) {
  float milliseconds = 0;
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaEventRecord(fixture.timed, S));
  end(S, cudaSuccess, 1, 0);
  expect(cudaErrorInvalidValue, cudaEventQuery(fixture.timed));
  expect(cudaErrorInvalidValue, cudaEventSynchronize(fixture.timed));
  expect(cudaErrorInvalidValue, cudaEventElapsedTime(&milliseconds, fixture.timed, fixture.timed));
  expect(cudaErrorInvalidValue, cudaStreamWaitEvent(T, fixture.timed, 0));
  expect(cudaErrorInvalidValue, cudaStreamWaitEvent(NULL, fixture.timed, 0));
  expect(cudaErrorInvalidValue, cudaStreamWaitEvent(T, fixture.timed, cudaEventWaitExternal));
  expect(cudaSuccess, cudaEventRecord(fixture.timed, T));
  expect(cudaSuccess, cudaEventSynchronize(fixture.timed));
  expect(cudaSuccess, cudaEventElapsedTime(&milliseconds, fixture.timed, fixture.timed));
}
END_TEST

START_TEST(test_external_record_leaves_the_event_alone) {
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaEventRecordWithFlags(fixture.never, S, cudaEventRecordExternal));
  expect(cudaSuccess, cudaStreamWaitEvent(S, fixture.never, cudaEventWaitExternal));
  expect(cudaSuccess, cudaStreamWaitEvent(T, fixture.never, 0));
  ck_assert_int_eq(status_of(T), cudaStreamCaptureStatusNone);
  expect(cudaSuccess, cudaStreamWaitEvent(S, fixture.never, 0));
  end(S, cudaSuccess, 3, 2);
  expect(cudaSuccess, cudaEventQuery(fixture.never));
}
END_TEST

START_TEST(test_destroyed_event_leaves_the_capture_alone) {
  cudaEvent_t gone = NULL;
  expect(cudaSuccess, cudaEventCreateWithFlags(&gone, cudaEventDisableTiming));
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaEventRecord(gone, S));
  expect(cudaSuccess, cudaStreamWaitEvent(T, gone, 0));
  expect(cudaSuccess, cudaEventDestroy(gone));
  end(S, cudaSuccess, 1, 0);
}
END_TEST

/* --- The legacy stream --- */

START_TEST(test_legacy_stream_cannot_join) {
  begin(S);
  expect(cudaSuccess, cudaEventRecord(fixture.event, S));
  expect(cudaErrorStreamCaptureImplicit, cudaStreamWaitEvent(NULL, fixture.event, 0));
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

static cudaError_t use_legacy(int how) {
  switch (how) {
    case 0:
      return launch(NULL);
    case 1:
      return cudaMemset(fixture.device, 0, 4);
    case 2:
      return cudaStreamSynchronize(NULL);
    case 3:
      return cudaStreamQuery(NULL);
    case 4:
      return cudaEventRecord(fixture.event, NULL);
    case 5:
      return cudaStreamWaitEvent(NULL, fixture.old, 0);
    case 6:
      return cudaMemcpyAsync(fixture.device, fixture.pinned, 4, cudaMemcpyHostToDevice, NULL);
    default:
      return cudaGraphLaunch(fixture.exec, NULL);
  }
}

/* While a stream that waits for it captures, it is not to be used; as a side stream such a stream is no better. */
START_TEST(test_legacy_stream_and_blocking_streams) {
  begin(fixture.blocking);
  expect(cudaErrorStreamCaptureImplicit, use_legacy(_i));
  ck_assert_int_eq(status_of(fixture.blocking), cudaStreamCaptureStatusInvalidated);
  end(fixture.blocking, cudaErrorStreamCaptureInvalidated, 0, 0);
  begin(S);
  expect(cudaSuccess, use_legacy(0));
  join(S, fixture.blocking);
  expect(cudaErrorStreamCaptureImplicit, use_legacy(_i));
  end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

START_TEST(test_asking_for_the_legacy_streams_state) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  begin(fixture.blocking);
  expect(cudaErrorStreamCaptureImplicit, cudaStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL));
  end(fixture.blocking, cudaSuccess, 0, 0);
}
END_TEST

/* --- Threads and modes --- */

enum deed { ALLOCATE, FREE, SYNCHRONIZE_SIDE, SYNCHRONIZE_DEVICE, SYNCHRONIZE_ORIGIN, MEMSET, LAUNCH, END, DEED_COUNT };

static cudaError_t do_deed(enum deed deed) {
  void *memory = NULL;
  cudaGraph_t graph = NULL;
  cudaError_t code = cudaSuccess;
  switch (deed) {
    case ALLOCATE:
      code = cudaMalloc(&memory, 16);
      if (code == cudaSuccess) cudaFree(memory);
      return code;
    case FREE:
      return cudaFree(NULL);
    case SYNCHRONIZE_SIDE:
      return cudaStreamSynchronize(T);
    case SYNCHRONIZE_DEVICE:
      return cudaDeviceSynchronize();
    case SYNCHRONIZE_ORIGIN:
      return cudaStreamSynchronize(S);
    case MEMSET:
      return cudaMemset(fixture.device, 0, 16);
    case LAUNCH:
      return launch(S);
    default:
      return cudaStreamEndCapture(S, &graph);
  }
}

static void *run_deed(void *argument) {
  cudaError_t *code = argument;
  *code = do_deed((enum deed) * code);
  return NULL;
}

static cudaError_t elsewhere(enum deed deed) {
  pthread_t thread;
  cudaError_t code = (cudaError_t)deed;
  ck_assert_int_eq(pthread_create(&thread, NULL, run_deed, &code), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  return code;
}

struct mode_row {
  enum cudaStreamCaptureMode mode;
  bool is_elsewhere;
  cudaError_t codes[DEED_COUNT];
};
#define UNSUPPORTED cudaErrorStreamCaptureUnsupported
static const struct mode_row mode_rows[] = {
    {cudaStreamCaptureModeThreadLocal,
     true,
     {[SYNCHRONIZE_DEVICE] = UNSUPPORTED,
      [SYNCHRONIZE_ORIGIN] = UNSUPPORTED,
      [END] = cudaErrorStreamCaptureWrongThread}},
    {cudaStreamCaptureModeGlobal,
     true,
     {UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, [END] = cudaErrorStreamCaptureWrongThread}},
    {cudaStreamCaptureModeGlobal, false, {UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED}},
    {cudaStreamCaptureModeThreadLocal, false, {UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED}},
    {cudaStreamCaptureModeRelaxed, false, {[SYNCHRONIZE_DEVICE] = UNSUPPORTED, [SYNCHRONIZE_ORIGIN] = UNSUPPORTED}},
    {cudaStreamCaptureModeRelaxed, true, {[SYNCHRONIZE_DEVICE] = UNSUPPORTED, [SYNCHRONIZE_ORIGIN] = UNSUPPORTED}},
};
enum { MODE_COUNT = sizeof mode_rows / sizeof *mode_rows };

START_TEST(test_modes_and_threads) {
  const struct mode_row *row = &mode_rows[_i / DEED_COUNT];
  enum deed deed = (enum deed)(_i % DEED_COUNT);
  expect(cudaSuccess, cudaStreamBeginCapture(S, row->mode));
  cudaError_t code = row->is_elsewhere ? elsewhere(deed) : do_deed(deed);
  ck_assert_msg(code == row->codes[deed], "deed %d in mode %d gave %s", (int)deed, (int)row->mode,
                cudaGetErrorName(code));
  /* An end ends it whatever it says. */
  if (deed == END) {
    ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusNone);
    return;
  }
  if (code == cudaSuccess) end(S, cudaSuccess, deed == LAUNCH ? 1 : 0, 0);
  else end(S, cudaErrorStreamCaptureInvalidated, 0, 0);
}
END_TEST

/* --- What becomes of a graph --- */

START_TEST(test_memset_of_pageable_memory_shows_when_instantiated) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  begin(S);
  expect(cudaSuccess, cudaMemsetAsync(fixture_pageable, 0, 16, S));
  expect(cudaSuccess, cudaStreamEndCapture(S, &graph));
  expect(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

static void add_one(void *byte) { ++*(char *)byte; }

/* Not those at its turn, behind the function. */
START_TEST(test_copy_of_pageable_memory_takes_its_bytes_at_launch) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  memset(fixture_pageable, 0, sizeof fixture_pageable);
  fixture_pageable[0] = 3;
  begin(S);
  expect(cudaSuccess, cudaLaunchHostFunc(S, add_one, fixture_pageable));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.other, fixture_pageable, 4, cudaMemcpyHostToDevice, S));
  expect(cudaSuccess, cudaStreamEndCapture(S, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  fixture_pageable[0] = 5;
  for (char launch = 0; launch < 3; launch++) {
    expect(cudaSuccess, cudaGraphLaunch(exec, S));
    expect(cudaSuccess, cudaStreamSynchronize(S));
    ck_assert_int_eq(fixture_pageable[0], 6 + launch);
    expect(cudaSuccess, cudaMemcpyAsync(fixture_pageable + 8, fixture.other, 4, cudaMemcpyDeviceToHost, S));
    expect(cudaSuccess, cudaStreamSynchronize(S));
    ck_assert_int_eq(fixture_pageable[8], 5 + launch);
  }
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

START_TEST(test_empty_graph) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  begin(S);
  expect(cudaSuccess, cudaStreamEndCapture(S, &graph));
  expect(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 1024));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  expect(cudaSuccess, cudaGraphUpload(exec, S));
  expect(cudaSuccess, cudaGraphLaunch(exec, S));
  expect(cudaSuccess, cudaStreamSynchronize(S));
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

START_TEST(test_end_without_a_place_for_the_graph) {
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaStreamEndCapture(S, NULL));
  ck_assert_int_eq(status_of(S), cudaStreamCaptureStatusNone);
}
END_TEST

START_TEST(test_counts_and_arrays) {
  enum { ROOM = 8 };
  cudaGraph_t graph = NULL;
  cudaGraphNode_t nodes[ROOM], from[ROOM], to[ROOM];
  cudaGraphEdgeData edges[ROOM];
  size_t count = ROOM;
  begin(S);
  for (int i = 0; i < 3; i++) expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaStreamEndCapture(S, &graph));
  expect(cudaErrorInvalidValue, cudaGraphGetNodes(graph, NULL, NULL));
  expect(cudaSuccess, cudaGraphGetNodes(graph, nodes, &count));
  ck_assert_uint_eq(count, 3);
  ck_assert_ptr_null(nodes[3]);
  count = ROOM;
  expect(cudaErrorInvalidValue, cudaGraphGetEdges(graph, from, NULL, NULL, &count));
  expect(cudaSuccess, cudaGraphGetEdges(graph, from, to, edges, &count));
  ck_assert_uint_eq(count, 2);
  for (size_t i = 0; i < count; i++) {
    ck_assert_ptr_eq(from[i], nodes[i]);
    ck_assert_ptr_eq(to[i], nodes[i + 1]);
    ck_assert_int_eq(edges[i].type, 0);
  }
  count = 1;
  expect(cudaSuccess, cudaGraphGetEdges(graph, from, to, NULL, &count));
  ck_assert_uint_eq(count, 1);
  count = ROOM;
  expect(cudaSuccess, cudaGraphNodeGetDependencies(nodes[2], to, edges, &count));
  ck_assert_uint_eq(count, 1);
  ck_assert_ptr_eq(to[0], nodes[1]);
  expect(cudaErrorInvalidValue, cudaGraphDestroy(NULL));
  expect(cudaErrorInvalidValue, cudaGraphExecDestroy(NULL));
  expect(cudaErrorInvalidValue, cudaGraphLaunch(NULL, S));
  expect(cudaErrorInvalidValue, cudaGraphUpload(NULL, S));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

/* The executable needs neither the graph nor what was passed by address when it was captured. */
START_TEST(test_replays) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  begin(S);
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.pinned, 4, cudaMemcpyHostToDevice, S));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.other, fixture.device, 4, cudaMemcpyDeviceToDevice, S));
  for (int i = 0; i < 3; i++) expect(cudaSuccess, launch_store(S, fixture.other + 1 + i, 10 + i));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.pinned + 16, fixture.other, 16, cudaMemcpyDeviceToHost, S));
  expect(cudaSuccess, cudaStreamEndCapture(S, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  expect(cudaSuccess, cudaGraphDestroy(graph));
  for (int round = 0; round < 3; round++) {
    fixture.pinned[0] = 100 + round;
    expect(cudaSuccess, cudaGraphLaunch(exec, round == 1 ? T : S));
    expect(cudaSuccess, cudaDeviceSynchronize());
    ck_assert_int_eq(fixture.pinned[16], 100 + round);
    ck_assert_int_eq(fixture.pinned[19], 12);
  }
  expect(cudaSuccess, cudaGraphLaunch(exec, S));
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaStreamSynchronize(S));
}
END_TEST

/* A replay that hangs: events recorded by nodes tell what is over, what runs and what waits. */
START_TEST(test_events_in_a_graph_that_hangs) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  void *arguments[] = {&fixture.mapped};
  fixture.mapped[0] = 0;
  begin(S);
  expect(cudaSuccess, launch(S));
  expect(cudaSuccess, cudaEventRecordWithFlags(fixture.event, S, cudaEventRecordExternal));
  expect(cudaSuccess, launch_kernel(S, fixture.wait, arguments));
  expect(cudaSuccess, cudaEventRecordWithFlags(fixture.second, S, cudaEventRecordExternal));
  expect(cudaSuccess, cudaStreamEndCapture(S, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  expect(cudaSuccess, cudaGraphLaunch(exec, S));
  while (cudaEventQuery(fixture.event) == cudaErrorNotReady) continue;
  expect(cudaSuccess, cudaEventQuery(fixture.event));
  expect(cudaErrorNotReady, cudaEventQuery(fixture.second));
  expect(cudaErrorNotReady, cudaStreamQuery(S));
  platform_let_go(fixture.mapped);
  expect(cudaSuccess, cudaStreamSynchronize(S));
  expect(cudaSuccess, cudaEventQuery(fixture.second));
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

static TCase *add_case(Suite *suite, const char *name) {
  TCase *one = tcase_create(name);
  tcase_add_checked_fixture(one, fixture_set_up, fixture_tear_down);
  tcase_set_timeout(one, 60);
  suite_add_tcase(suite, one);
  return one;
}

static void add_shapes(Suite *suite) {
  TCase *shapes = add_case(suite, "shapes");
  tcase_add_test(shapes, test_a_line_is_a_line);
  tcase_add_test(shapes, test_fork_without_work_needs_no_join);
  tcase_add_test(shapes, test_unjoined_work_ends_the_capture);
  tcase_add_test(shapes, test_fork_and_join);
  tcase_add_test(shapes, test_join_through_another_stream);
  tcase_add_test(shapes, test_same_wait_twice_is_one_edge);
  tcase_add_test(shapes, test_destroyed_side_stream_keeps_its_debt);
  tcase_add_test(shapes, test_destroyed_origin_ends_all);
  tcase_add_test(shapes, test_set_dependencies_instead_of_events);
  tcase_add_test(shapes, test_add_dependencies);
  tcase_add_test(shapes, test_dropped_leaves_are_no_debt);
  tcase_add_test(shapes, test_what_counts_as_joined);
  tcase_add_test(shapes, test_set_on_origin_replaces);
  tcase_add_test(shapes, test_refused_dependencies_change_nothing);
  tcase_add_test(shapes, test_empty_nodes_join_a_capture);
  tcase_add_test(shapes, test_exact_capture);
  tcase_add_test(shapes, test_capture_info);
}

static void add_states(Suite *suite) {
  TCase *states = add_case(suite, "states");
  tcase_add_test(states, test_invalid_until_its_end);
  tcase_add_test(states, test_end_and_begin_on_a_side_stream);
  tcase_add_test(states, test_captures_do_not_merge);
  tcase_add_test(states, test_two_captures_of_one_thread);
  tcase_add_test(states, test_captured_event_says_nothing);
  tcase_add_test(states, test_event_of_a_finished_capture);
  tcase_add_test(states, test_external_record_leaves_the_event_alone);
  tcase_add_test(states, test_destroyed_event_leaves_the_capture_alone);
  tcase_add_test(states, test_legacy_stream_cannot_join);
  tcase_add_loop_test(states, test_legacy_stream_and_blocking_streams, 0, 8);
  tcase_add_test(states, test_asking_for_the_legacy_streams_state);
  tcase_add_loop_test(states, test_modes_and_threads, 0, MODE_COUNT * DEED_COUNT);
}

static void add_graphs(Suite *suite) {
  TCase *graphs = add_case(suite, "graphs");
  tcase_add_test(graphs, test_memset_of_pageable_memory_shows_when_instantiated);
  tcase_add_test(graphs, test_copy_of_pageable_memory_takes_its_bytes_at_launch);
  tcase_add_test(graphs, test_empty_graph);
  tcase_add_test(graphs, test_end_without_a_place_for_the_graph);
  tcase_add_test(graphs, test_counts_and_arrays);
  tcase_add_test(graphs, test_replays);
  tcase_add_test(graphs, test_events_in_a_graph_that_hangs);
}

int main(void) {
  if (!platform_is_ready()) return 0;
  Suite *suite = suite_create("capture");
  add_shapes(suite);
  add_states(suite);
  add_graphs(suite);
  return platform_run(suite);
}
