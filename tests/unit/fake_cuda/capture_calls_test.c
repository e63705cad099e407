/* Which calls a capture allows its own thread, what each says, and whether the capture survives it. Run on the double
 * and on a GPU. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/fake_cuda/fixture.h"

static void *out;
static cudaStream_t out_stream;
static cudaEvent_t out_event;
static cudaLibrary_t out_library;
static cudaKernel_t out_kernel;
static cudaGraphExec_t out_exec;
static size_t out_size[2];
static float out_float;
static int out_int;
static struct cudaFuncAttributes out_attributes;
static struct cudaDeviceProp out_properties;

static void do_nothing(void *data) { (void)data; }

/* A call in a capture: what it is, what it gives, the code of the end, nodes. What a row makes it leaves to
 * clean_up. */
struct row {
  const char *text;
  cudaError_t code;
  cudaError_t end;
  size_t nodes;
};

#define UNSAFE cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated, 0
#define FINE(nodes) cudaSuccess, cudaSuccess, nodes
#define REFUSED(code) code, cudaSuccess, 0
#define FATAL(code) code, cudaErrorStreamCaptureInvalidated, 0

#define F fixture.
#define CALLS(X)                                                                                                    \
  /* No allocation, no waiting, no asking, whatever stream or event it is about. */                                 \
  X(cudaMalloc(&out, 16), UNSAFE)                                                                                   \
  X(cudaFree(NULL), UNSAFE)                                                                                         \
  X(cudaFree(F other), UNSAFE)                                                                                      \
  X(cudaHostAlloc(&out, 16, 0), UNSAFE)                                                                             \
  X(cudaFreeHost(F pinned), UNSAFE)                                                                                 \
  X(cudaMallocManaged(&out, 16, cudaMemAttachGlobal), UNSAFE)                                                       \
  X(cudaDeviceSynchronize(), UNSAFE)                                                                                \
  X(cudaStreamQuery(F origin), UNSAFE)                                                                              \
  X(cudaStreamQuery(F side), UNSAFE)                                                                                \
  X(cudaStreamSynchronize(F origin), UNSAFE)                                                                        \
  X(cudaStreamSynchronize(F side), UNSAFE)                                                                          \
  X(cudaEventQuery(F old), UNSAFE)                                                                                  \
  X(cudaEventQuery(F never), UNSAFE)                                                                                \
  X(cudaEventSynchronize(F old), UNSAFE)                                                                            \
  X(cudaLibraryUnload(F library), UNSAFE)                                                                           \
  X(cudaGraphInstantiate(&out_exec, F graph, 0), UNSAFE)                                                            \
  X(cudaGraphExecDestroy(F exec), UNSAFE)                                                                           \
  X(cudaGraphUpload(F exec, F origin), UNSAFE)                                                                      \
  X(cudaGraphLaunch(F exec, F origin), UNSAFE)                                                                      \
  /* All of this goes on beside it. */                                                                              \
  X(cudaMemGetInfo(&out_size[0], &out_size[1]), FINE(0))                                                            \
  X(cudaMemset(F device, 0, 16), FINE(0))                                                                           \
  X(cudaMemsetAsync(F device, 0, 16, NULL), FINE(0))                                                                \
  X(cudaMemcpyAsync(F device, F pinned, 16, cudaMemcpyHostToDevice, NULL), FINE(0))                                 \
  X(launch(NULL), FINE(0))                                                                                          \
  X(launch(F blocking), FINE(0))                                                                                    \
  X(launch(F side), FINE(0))                                                                                        \
  X(cudaGraphUpload(F exec, F side), FINE(0))                                                                       \
  X(cudaGraphLaunch(F exec, F side), FINE(0))                                                                       \
  X(cudaEventElapsedTime(&out_float, F timed, F timed), FINE(0))                                                    \
  X(cudaEventRecord(F event, F side), FINE(0))                                                                      \
  X(cudaEventRecord(F event, NULL), FINE(0))                                                                        \
  X(cudaStreamWaitEvent(F side, F old, 0), FINE(0))                                                                 \
  X(cudaStreamWaitEvent(NULL, F old, 0), FINE(0))                                                                   \
  X(cudaStreamCreateWithFlags(&out_stream, cudaStreamNonBlocking), FINE(0))                                         \
  X(cudaEventCreateWithFlags(&out_event, cudaEventDisableTiming), FINE(0))                                          \
  X(cudaLibraryLoadData(&out_library, platform_image(), NULL, NULL, 0, NULL, NULL, 0), FINE(0))                     \
  X(cudaLibraryGetKernel(&out_kernel, F library, "rules_store"), FINE(0))                                           \
  X(cudaLibraryGetKernel(&out_kernel, F library, "none"), REFUSED(cudaErrorSymbolNotFound))                         \
  X(cudaFuncGetAttributes(&out_attributes, F store), FINE(0))                                                       \
  X(cudaSetDevice(0), FINE(0))                                                                                      \
  X(cudaGetDevice(&out_int), FINE(0))                                                                               \
  X(cudaGetDeviceCount(&out_int), FINE(0))                                                                          \
  X(cudaGetDeviceProperties(&out_properties, 0), FINE(0))                                                           \
  X(cudaHostGetDevicePointer(&out, F mapped, 0), FINE(0))                                                           \
  /* Kernels: a refused launch ends the capture. */                                                                 \
  X(launch(F origin), FINE(1))                                                                                      \
  X(launch_grid(F origin, 0, 1, 0), FATAL(cudaErrorInvalidValue))                                                   \
  X(launch_grid(F origin, 1, 2048, 0), FATAL(cudaErrorInvalidValue))                                                \
  X(launch_grid(F origin, 1, 1, 1 << 20), FATAL(cudaErrorInvalidValue))                                             \
  X(launch_tall(F origin), FATAL(cudaErrorInvalidValue))                                                            \
  X(launch_kernel(F origin, NULL, NULL), REFUSED(cudaErrorInvalidDeviceFunction))                                   \
  X(cudaLaunchHostFunc(F origin, do_nothing, NULL), FINE(1))                                                        \
  X(cudaLaunchHostFunc(F origin, NULL, NULL), REFUSED(cudaErrorInvalidValue))                                       \
  /* Copies: a refused one does not, so that who does not look at the code gets a graph without it. */              \
  X(cudaMemcpyAsync(F device, F pinned, 16, cudaMemcpyHostToDevice, F origin), FINE(1))                             \
  X(cudaMemcpyAsync(F device, fixture_pageable, 16, cudaMemcpyHostToDevice, F origin), FINE(1))                     \
  X(cudaMemcpyAsync(F device, F pinned, 0, cudaMemcpyHostToDevice, F origin), FINE(0))                              \
  X(cudaMemcpyAsync(F device, F pinned, 16, cudaMemcpyDefault, F origin), FINE(1))                                  \
  X(cudaMemcpyAsync(NULL, F pinned, 16, cudaMemcpyHostToDevice, F origin), REFUSED(cudaErrorInvalidValue))          \
  X(cudaMemcpyAsync(F device, F pinned, 1 << 20, cudaMemcpyHostToDevice, F origin), REFUSED(cudaErrorInvalidValue)) \
  X(cudaMemcpyAsync(F device, F pinned, 16, (enum cudaMemcpyKind)9, F origin),                                      \
    REFUSED(cudaErrorInvalidMemcpyDirection))                                                                       \
  X(cudaMemcpy2DAsync(F device, 32, F pinned, 32, 16, 3, cudaMemcpyHostToDevice, F origin), FINE(1))                \
  X(cudaMemcpy2DAsync(F device, 32, F pinned, 32, 16, 0, cudaMemcpyHostToDevice, F origin), FINE(0))                \
  X(cudaMemcpy2DAsync(F device, 8, F pinned, 8, 16, 2, cudaMemcpyHostToDevice, F origin),                           \
    REFUSED(cudaErrorInvalidPitchValue))                                                                            \
  /* Memsets are taken whatever the address; the instantiation looks at it. */                                      \
  X(cudaMemsetAsync(F device, 0, 16, F origin), FINE(1))                                                            \
  X(cudaMemsetAsync(F device, 0, 0, F origin), FINE(0))                                                             \
  X(cudaMemsetAsync(fixture_pageable, 0, 16, F origin), FINE(1))                                                    \
  X(cudaMemsetAsync(NULL, 0, 16, F origin), FINE(1))                                                                \
  X(cudaMemset2DAsync(F device, 16, 0, 0, 2, F origin), FINE(0))                                                    \
  X(cudaMemset2DAsync(F device, 8, 0, 16, 2, F origin), REFUSED(cudaErrorInvalidValue))                             \
  /* Events. */                                                                                                     \
  X(cudaEventRecord(F event, F origin), FINE(0))                                                                    \
  X(cudaEventRecordWithFlags(F event, F origin, cudaEventRecordExternal), FINE(1))                                  \
  X(cudaEventRecordWithFlags(F event, F side, cudaEventRecordExternal), REFUSED(cudaErrorIllegalState))             \
  X(cudaStreamWaitEvent(F origin, F old, 0), FATAL(cudaErrorStreamCaptureIsolation))                                \
  X(cudaStreamWaitEvent(F origin, F never, 0), FINE(0))                                                             \
  X(cudaStreamWaitEvent(F origin, F old, cudaEventWaitExternal), FINE(1))                                           \
  X(cudaStreamWaitEvent(F origin, F never, cudaEventWaitExternal), FINE(1))                                         \
  X(cudaStreamWaitEvent(F side, F old, cudaEventWaitExternal), REFUSED(cudaErrorIllegalState))                      \
  X(cudaStreamWaitEvent(F origin, F old, 7), REFUSED(cudaErrorInvalidValue))                                        \
  X(cudaStreamWaitEvent(F origin, F captured, 0), FATAL(cudaErrorInvalidValue))                                     \
  /* The capture itself. */                                                                                         \
  X(cudaStreamBeginCapture(F origin, cudaStreamCaptureModeThreadLocal), REFUSED(cudaErrorIllegalState))             \
  X(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeThreadLocal), REFUSED(cudaErrorStreamCaptureUnsupported))     \
  X(cudaStreamUpdateCaptureDependencies(F origin, NULL, NULL, 0, cudaStreamSetCaptureDependencies), FINE(0))        \
  X(cudaStreamUpdateCaptureDependencies(F side, NULL, NULL, 0, cudaStreamSetCaptureDependencies),                   \
    REFUSED(cudaErrorIllegalState))                                                                                 \
  X(cudaStreamUpdateCaptureDependencies(F origin, NULL, NULL, 2, cudaStreamSetCaptureDependencies),                 \
    REFUSED(cudaErrorInvalidValue))                                                                                 \
  X(cudaStreamUpdateCaptureDependencies(F origin, NULL, NULL, 0, 7), REFUSED(cudaErrorInvalidValue))

#define ROW(call, ...) {#call, __VA_ARGS__},
static const struct row rows[] = {CALLS(ROW)};
#undef ROW

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static cudaError_t call_row(int row) {
  int at = 0;
#define TRY(call, ...) \
  if (row == at++) return call;
  CALLS(TRY)
#undef TRY
  return cudaErrorUnknown;
}

static void clean_up(void) {
  if (out_stream != NULL) expect(cudaSuccess, cudaStreamDestroy(out_stream));
  if (out_event != NULL) expect(cudaSuccess, cudaEventDestroy(out_event));
  if (out_library != NULL) expect(cudaSuccess, cudaLibraryUnload(out_library));
  out_stream = NULL;
  out_event = NULL;
  out_library = NULL;
}

START_TEST(test_call_in_capture) {
  const struct row *row = &rows[_i];
  begin(fixture.origin);
  cudaError_t code = call_row(_i);
  ck_assert_msg(code == row->code, "%s gave %s, not %s", row->text, cudaGetErrorName(code),
                cudaGetErrorName(row->code));
  expect(row->code, cudaGetLastError());
  bool is_over = row->end == cudaErrorStreamCaptureInvalidated;
  ck_assert_msg(
      status_of(fixture.origin) == (is_over ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive),
      "%s left the capture otherwise", row->text);
  end(fixture.origin, row->end, row->nodes, 0);
  cudaGetLastError();
  clean_up();
}
END_TEST

/* What is refused in a capture works outside. */
START_TEST(test_same_outside) {
  expect(cudaSuccess, cudaMalloc(&out, 16));
  expect(cudaSuccess, cudaFree(out));
  expect(cudaSuccess, cudaStreamQuery(fixture.side));
  expect(cudaSuccess, cudaEventQuery(fixture.old));
  cudaGraph_t graph = fixture.graph;
  expect(cudaErrorIllegalState, cudaStreamEndCapture(fixture.origin, &graph));
  ck_assert_ptr_null(graph);
  expect(cudaErrorIllegalState, cudaStreamUpdateCaptureDependencies(fixture.origin, NULL, NULL, 0, 1));
  expect(cudaErrorIllegalState, cudaEventRecordWithFlags(fixture.event, fixture.origin, cudaEventRecordExternal));
  expect(cudaErrorIllegalState, cudaStreamWaitEvent(fixture.origin, fixture.old, cudaEventWaitExternal));
  expect(cudaErrorInvalidValue, cudaStreamBeginCapture(fixture.origin, (enum cudaStreamCaptureMode)9));
}
END_TEST

int main(void) {
  if (!platform_is_ready()) return 0;
  Suite *suite = suite_create("capture_calls");
  TCase *calls = tcase_create("calls");
  tcase_add_checked_fixture(calls, fixture_set_up, fixture_tear_down);
  tcase_set_timeout(calls, 60);
  tcase_add_loop_test(calls, test_call_in_capture, 0, ROW_COUNT);
  tcase_add_test(calls, test_same_outside);
  suite_add_tcase(suite, calls);
  return platform_run(suite);
}
