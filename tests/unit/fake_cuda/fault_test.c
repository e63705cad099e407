/* A kernel that breaks its context: what every call says from then on. One test, since the context is gone for good.
 * Run on the double and on a GPU. */
#include <string.h>
#include <time.h>

#include "tests/unit/fake_cuda/fixture.h"

#define F fixture.

static void *out;
static size_t out_size[2];
static cudaStream_t out_stream;
static cudaEvent_t out_event;
static cudaGraph_t out_graph;
static cudaGraphExec_t out_exec;
static cudaKernel_t out_kernel;
static cudaLibrary_t out_library;
static struct cudaFuncAttributes out_attributes;
static struct cudaDeviceProp out_properties;
static enum cudaStreamCaptureStatus out_status;
static float out_float;
static int out_int;

#define LOST cudaErrorIllegalAddress
#define FINE cudaSuccess
#define CALLS(X)                                                                             \
  X(FINE, cudaGetDevice(&out_int))                                                           \
  X(FINE, cudaSetDevice(0))                                                                  \
  X(FINE, cudaGetDeviceCount(&out_int))                                                      \
  X(FINE, cudaDriverGetVersion(&out_int))                                                    \
  X(FINE, cudaGetDeviceProperties(&out_properties, 0))                                       \
  X(LOST, cudaStreamQuery(F side))                                                           \
  X(LOST, cudaStreamSynchronize(F side))                                                     \
  X(LOST, cudaDeviceSynchronize())                                                           \
  /* Also for what was over long before, or never was. */                                    \
  X(LOST, cudaEventQuery(F old))                                                             \
  X(LOST, cudaEventQuery(F never))                                                           \
  X(LOST, cudaEventSynchronize(F old))                                                       \
  X(LOST, cudaEventElapsedTime(&out_float, F timed, F timed))                                \
  X(LOST, cudaEventCreateWithFlags(&out_event, cudaEventDisableTiming))                      \
  X(LOST, cudaStreamCreateWithFlags(&out_stream, cudaStreamNonBlocking))                     \
  X(LOST, cudaEventRecord(F event, F side))                                                  \
  X(LOST, cudaMalloc(&out, 16))                                                              \
  X(LOST, cudaHostAlloc(&out, 16, 0))                                                        \
  X(LOST, cudaHostGetDevicePointer(&out, F mapped, 0))                                       \
  X(LOST, cudaMemGetInfo(&out_size[0], &out_size[1]))                                        \
  X(LOST, cudaMemcpyAsync(F device, F pinned, 16, cudaMemcpyHostToDevice, F side))           \
  X(LOST, launch(F side))                                                                    \
  X(LOST, cudaStreamBeginCapture(F side, cudaStreamCaptureModeThreadLocal))                  \
  X(LOST, cudaStreamGetCaptureInfo(F side, &out_status, NULL, NULL, NULL, NULL, NULL))       \
  X(LOST, cudaStreamEndCapture(F side, &out_graph))                                          \
  X(FINE, cudaLibraryGetKernel(&out_kernel, F library, "rules_store"))                       \
  X(FINE, cudaLibraryLoadData(&out_library, platform_image(), NULL, NULL, 0, NULL, NULL, 0)) \
  X(LOST, cudaFuncGetAttributes(&out_attributes, F store))                                   \
  X(LOST, cudaGraphLaunch(F exec, F side))                                                   \
  X(LOST, cudaGraphInstantiate(&out_exec, F graph, 0))                                       \
  /* Nothing can be given back in order; nothing waits either. */                            \
  X(FINE, cudaGraphExecDestroy(F exec))                                                      \
  X(FINE, cudaGraphDestroy(F graph))                                                         \
  X(LOST, cudaEventDestroy(F event))                                                         \
  X(LOST, cudaStreamDestroy(F side))                                                         \
  X(LOST, cudaStreamDestroy(F origin))                                                       \
  X(LOST, cudaFree(F other))                                                                 \
  X(LOST, cudaFreeHost(F pinned))                                                            \
  X(FINE, cudaLibraryUnload(F library))                                                      \
  X(FINE, cudaGetDevice(&out_int))

static void check_all_calls(void) {
  cudaError_t code;
#define CHECK(expected, call)                                                                                         \
  code = call;                                                                                                        \
  ck_assert_msg(code == (expected), "%s gave %s, not %s", #call, cudaGetErrorName(code), cudaGetErrorName(expected)); \
  expect(code, cudaGetLastError());                                                                                   \
  expect(cudaSuccess, cudaGetLastError());
  CALLS(CHECK)
#undef CHECK
}

/* Nobody says so before somebody asks. */
START_TEST(test_after_a_fault) {
  fixture_set_up();
  F mapped[0] = 0;
  expect(cudaSuccess, launch_store(F origin, F mapped, 41));
  expect(cudaSuccess, launch_kernel(F origin, F fault, NULL));
  expect(cudaSuccess, launch_store(F origin, F mapped + 1, 42));
  expect(cudaSuccess, cudaGetLastError());
  expect(LOST, cudaStreamSynchronize(F origin));
  expect(LOST, cudaGetLastError());
  expect(cudaSuccess, cudaGetLastError());
  /* What ran before it is there. */
  ck_assert_int_eq(F mapped[0], 41);
  ck_assert_int_ne(F mapped[1], 42);
  check_all_calls();
}
END_TEST

int main(void) {
  if (!platform_is_ready()) return 0;
  Suite *suite = suite_create("fault");
  TCase *fault = tcase_create("fault");
  tcase_set_timeout(fault, 60);
  tcase_add_test(fault, test_after_a_fault);
  suite_add_tcase(suite, fault);
  return platform_run(suite);
}
