/* Calls outside of captures: what they take and refuse, last errors, pending work. Run on the double and on a GPU. */
#include <string.h>

#include "tests/unit/fake_cuda/fixture.h"

#define F fixture.
#define H2D cudaMemcpyHostToDevice
#define D2H cudaMemcpyDeviceToHost
#define D2D cudaMemcpyDeviceToDevice
#define H2H cudaMemcpyHostToHost

static void *out;
static cudaStream_t out_stream;
static cudaEvent_t out_event;
static cudaKernel_t out_kernel;
static cudaLibrary_t out_library;
static float out_float;
static int out_int;
static struct cudaDeviceProp out_properties;
static struct cudaFuncAttributes out_attributes;
static const char *out_name;

static cudaError_t copy_box(struct cudaPitchedPtr to, struct cudaPitchedPtr from, size_t width, size_t height,
                            size_t depth, enum cudaMemcpyKind kind) {
  struct cudaMemcpy3DParms box;
  memset(&box, 0, sizeof box);
  box.srcPtr = from;
  box.dstPtr = to;
  box.extent = (struct cudaExtent){width, height, depth};
  box.kind = kind;
  return cudaMemcpy3DAsync(&box, fixture.origin);
}
#define AT(address, pitch, rows) ((struct cudaPitchedPtr){address, pitch, 16, rows})

struct row {
  const char *text;
  cudaError_t code;
};

#define OK cudaSuccess
#define BAD cudaErrorInvalidValue
#define CALLS(X)                                                                                                \
  /* CUDA knows where an address lies; what the kind says counts only for pageable memory. */                   \
  X(OK, cudaMemcpyAsync(F device, F pinned, 16, H2D, F origin))                                                 \
  X(OK, cudaMemcpyAsync(F device, F other, 16, D2D, F origin))                                                  \
  X(OK, cudaMemcpyAsync(F pinned, F device, 16, D2H, F origin))                                                 \
  X(OK, cudaMemcpyAsync(F device, fixture_pageable, 16, H2D, F origin))                                         \
  X(OK, cudaMemcpyAsync(fixture_pageable, F device, 16, D2H, F origin))                                         \
  X(OK, cudaMemcpyAsync(fixture_pageable, F pinned, 16, H2H, F origin))                                         \
  X(OK, cudaMemcpyAsync(F managed, F device, 16, D2H, F origin))                                                \
  X(OK, cudaMemcpyAsync(F managed, F device, 16, D2D, F origin))                                                \
  X(OK, cudaMemcpyAsync(F mapped, F device, 16, cudaMemcpyDefault, F origin))                                   \
  X(BAD, cudaMemcpyAsync(fixture_pageable, fixture_pageable + 64, 16, D2D, F origin))                           \
  X(BAD, cudaMemcpyAsync(fixture_pageable, fixture_pageable + 64, 16, H2D, F origin))                           \
  X(BAD, cudaMemcpyAsync(F device, fixture_pageable, 16, D2H, F origin))                                        \
  X(cudaErrorInvalidMemcpyDirection, cudaMemcpyAsync(F device, F pinned, 16, (enum cudaMemcpyKind)7, F origin)) \
  X(BAD, cudaMemcpyAsync(NULL, F pinned, 16, H2D, F origin))                                                    \
  X(OK, cudaMemcpyAsync(NULL, NULL, 0, H2D, F origin))                                                          \
  X(BAD, cudaMemcpyAsync(F device, F pinned, 1 << 24, H2D, F origin))                                           \
  X(BAD, cudaMemcpyAsync(F device, F other, 1 << 30, D2D, F origin))                                            \
  /* Boxes: a pitch matters from the second row on. */                                                          \
  X(OK, cudaMemcpy2DAsync(F device, 16, F pinned, 16, 16, 4, H2D, F origin))                                    \
  X(cudaErrorInvalidPitchValue, cudaMemcpy2DAsync(F device, 8, F pinned, 16, 16, 2, H2D, F origin))             \
  X(cudaErrorInvalidPitchValue, cudaMemcpy2DAsync(F device, 16, F pinned, 8, 16, 2, H2D, F origin))             \
  X(BAD, cudaMemcpy2DAsync(F device, 8, F pinned, 8, 16, 1, H2D, F origin))                                     \
  X(OK, cudaMemcpy2DAsync(F device, 8, F pinned, 8, 16, 0, H2D, F origin))                                      \
  X(OK, cudaMemcpy2DAsync(F device, (size_t)1 << 32, F pinned, 16, 16, 1, H2D, F origin))                       \
  X(OK, copy_box(AT(F device, 16, 2), AT(F pinned, 16, 2), 16, 2, 2, H2D))                                      \
  X(cudaErrorInvalidPitchValue, copy_box(AT(F device, 16, 2), AT(F pinned, 8, 2), 16, 2, 2, H2D))               \
  X(cudaErrorInvalidPitchValue, copy_box(AT(F device, 16, 2), AT(F pinned, 16, 1), 16, 2, 2, H2D))              \
  X(OK, copy_box(AT(F device, 16, 2), AT(F pinned, 16, 2), 16, 2, 0, H2D))                                      \
  X(OK, copy_box(AT(F device, 16, 2), AT(NULL, 16, 2), 16, 2, 0, H2D))                                          \
  X(BAD, cudaMemcpy3DAsync(NULL, F origin))                                                                     \
  X(OK, cudaMemsetAsync(F device, 0, 16, F origin))                                                             \
  X(OK, cudaMemsetAsync(F pinned, 0, 16, F origin))                                                             \
  X(BAD, cudaMemsetAsync(fixture_pageable, 0, 16, F origin))                                                    \
  X(BAD, cudaMemsetAsync(NULL, 0, 16, F origin))                                                                \
  X(BAD, cudaMemsetAsync(F device, 0, 1 << 24, F origin))                                                       \
  X(OK, cudaMemset(F device, 0, 16))                                                                            \
  X(BAD, cudaMemset(fixture_pageable, 0, 16))                                                                   \
  X(BAD, cudaMemset2DAsync(F device, 8, 0, 16, 2, F origin))                                                    \
  X(OK, cudaMemset2DAsync(F device, 8, 0, 16, 1, F origin))                                                     \
  X(OK, cudaMemset2DAsync(F device, 8, 0, 0, 2, F origin))                                                      \
  /* Memory. */                                                                                                 \
  X(BAD, cudaFree(fixture_pageable))                                                                            \
  X(BAD, cudaFree(F pinned))                                                                                    \
  X(BAD, cudaFree((char *)F device + 256))                                                                      \
  X(OK, cudaFree(NULL))                                                                                         \
  X(BAD, cudaFreeHost(F device))                                                                                \
  X(BAD, cudaFreeHost(fixture_pageable))                                                                        \
  X(BAD, cudaFreeHost((char *)F pinned + 8))                                                                    \
  X(OK, cudaFreeHost(NULL))                                                                                     \
  X(OK, cudaMalloc(&out, 0))                                                                                    \
  X(OK, cudaHostAlloc(&out, 0, 0))                                                                              \
  X(cudaErrorMemoryAllocation, cudaMalloc(&out, (size_t)1 << 50))                                               \
  X(cudaErrorMemoryAllocation, cudaHostAlloc(&out, (size_t)1 << 50, 0))                                         \
  X(BAD, cudaMalloc(NULL, 16))                                                                                  \
  X(BAD, cudaHostAlloc(&out, 16, 0x100))                                                                        \
  X(BAD, cudaMallocManaged(&out, 16, 0))                                                                        \
  X(OK, cudaHostGetDevicePointer(&out, F mapped, 0))                                                            \
  X(BAD, cudaHostGetDevicePointer(&out, F mapped, 1))                                                           \
  X(BAD, cudaHostGetDevicePointer(&out, fixture_pageable, 0))                                                   \
  X(BAD, cudaHostGetDevicePointer(&out, F device, 0))                                                           \
  X(BAD, cudaHostGetDevicePointer(&out, F managed, 0))                                                          \
  /* Kernels and libraries. */                                                                                  \
  X(OK, launch(F origin))                                                                                       \
  X(BAD, launch_grid(F origin, 0, 1, 0))                                                                        \
  X(BAD, launch_grid(F origin, 1, 2048, 0))                                                                     \
  X(BAD, launch_grid(F origin, 1, 1, 1 << 20))                                                                  \
  X(BAD, launch_tall(F origin))                                                                                 \
  X(cudaErrorInvalidDeviceFunction, launch_kernel(F origin, NULL, NULL))                                        \
  X(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&out_kernel, F library, "none"))                              \
  X(BAD, cudaLibraryGetKernel(NULL, F library, "rules_store"))                                                  \
  X(cudaErrorInvalidResourceHandle, cudaLibraryUnload(NULL))                                                    \
  X(BAD, cudaLibraryLoadData(&out_library, NULL, NULL, NULL, 0, NULL, NULL, 0))                                 \
  X(OK, cudaFuncGetAttributes(&out_attributes, F store))                                                        \
  X(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&out_attributes, NULL))                               \
  X(OK, cudaFuncGetName(&out_name, F store))                                                                    \
  /* Devices. */                                                                                                \
  X(cudaErrorInvalidDevice, cudaSetDevice(99))                                                                  \
  X(cudaErrorInvalidDevice, cudaSetDevice(-1))                                                                  \
  X(cudaErrorInvalidDevice, cudaGetDeviceProperties(&out_properties, 99))                                       \
  X(OK, cudaGetDevice(&out_int))                                                                                \
  /* Streams and events. */                                                                                     \
  X(BAD, cudaStreamCreateWithFlags(&out_stream, 9))                                                             \
  X(BAD, cudaEventCreateWithFlags(&out_event, 0x80))                                                            \
  X(cudaErrorInvalidResourceHandle, cudaStreamDestroy(NULL))                                                    \
  X(cudaErrorInvalidResourceHandle, cudaEventDestroy(NULL))                                                     \
  X(cudaErrorInvalidResourceHandle, cudaEventRecord(NULL, F origin))                                            \
  X(cudaErrorInvalidResourceHandle, cudaEventQuery(NULL))                                                       \
  X(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(F origin, NULL, 0))                                     \
  X(BAD, cudaStreamWaitEvent(F origin, F old, 9))                                                               \
  X(BAD, cudaEventRecordWithFlags(F event, F origin, 9))                                                        \
  X(OK, cudaEventQuery(F never))                                                                                \
  X(OK, cudaEventSynchronize(F never))                                                                          \
  X(OK, cudaStreamWaitEvent(F origin, F never, 0))                                                              \
  X(OK, cudaEventElapsedTime(&out_float, F timed, F timed))                                                     \
  X(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&out_float, F never, F never))                         \
  X(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&out_float, F old, F timed))                           \
  X(OK, cudaGraphUpload(F exec, NULL))                                                                          \
  X(OK, cudaGraphLaunch(F exec, NULL))

#define ROW(code, call) {#call, code},
static const struct row rows[] = {CALLS(ROW)};
#undef ROW
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static cudaError_t call_row(int row) {
  int at = 0;
#define TRY(code, call) \
  if (row == at++) return call;
  CALLS(TRY)
#undef TRY
  return cudaErrorUnknown;
}

START_TEST(test_call) {
  cudaError_t code = call_row(_i);
  ck_assert_msg(code == rows[_i].code, "%s gave %s, not %s", rows[_i].text, cudaGetErrorName(code),
                cudaGetErrorName(rows[_i].code));
  expect(code, cudaPeekAtLastError());
  expect(code, cudaGetLastError());
  expect(cudaSuccess, cudaGetLastError());
  expect(cudaSuccess, cudaDeviceSynchronize());
}
END_TEST

START_TEST(test_sizes_of_zero_give_null) {
  out = &out;
  expect(cudaSuccess, cudaMalloc(&out, 0));
  ck_assert_ptr_null(out);
  out = &out;
  expect(cudaSuccess, cudaHostAlloc(&out, 0, 0));
  ck_assert_ptr_null(out);
}
END_TEST

START_TEST(test_freed_twice) {
  expect(cudaSuccess, cudaMalloc(&out, 64));
  expect(cudaSuccess, cudaFree(out));
  expect(cudaErrorInvalidValue, cudaFree(out));
  cudaGetLastError();
}
END_TEST

/* The last failure stays until it is fetched; later successes do not clear it. "Not ready" is no failure. */
START_TEST(test_last_error) {
  expect(cudaErrorMemoryAllocation, cudaMalloc(&out, (size_t)1 << 50));
  expect(cudaSuccess, cudaGetDevice(&out_int));
  expect(cudaErrorInvalidDevice, cudaSetDevice(99));
  expect(cudaSuccess, cudaStreamQuery(fixture.side));
  expect(cudaErrorInvalidDevice, cudaPeekAtLastError());
  expect(cudaErrorInvalidDevice, cudaGetLastError());
  expect(cudaSuccess, cudaGetLastError());
}
END_TEST

/* A kernel that does not end: queries go on, other streams too, and nothing is destroyed for ever. */
START_TEST(test_pending_work) {
  cudaStream_t stream = NULL;
  cudaEvent_t event = NULL;
  void *arguments[] = {&fixture.mapped};
  fixture.mapped[0] = 0;
  expect(cudaSuccess, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  expect(cudaSuccess, cudaEventCreateWithFlags(&event, cudaEventDefault));
  expect(cudaSuccess, launch_kernel(stream, fixture.wait, arguments));
  expect(cudaSuccess, cudaEventRecord(event, stream));
  for (int i = 0; i < 3; i++) {
    expect(cudaErrorNotReady, cudaStreamQuery(stream));
    expect(cudaErrorNotReady, cudaEventQuery(event));
    expect(cudaErrorNotReady, cudaEventElapsedTime(&out_float, event, event));
  }
  expect(cudaSuccess, cudaPeekAtLastError());
  expect(cudaSuccess, launch_store(fixture.side, fixture.device, 3));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.side));
  expect(cudaSuccess, cudaStreamWaitEvent(fixture.side, event, 0));
  expect(cudaErrorNotReady, cudaStreamQuery(fixture.side));
  expect(cudaSuccess, cudaEventDestroy(event));
  expect(cudaSuccess, cudaStreamDestroy(stream));
  platform_let_go(fixture.mapped);
  expect(cudaSuccess, cudaStreamSynchronize(fixture.side));
}
END_TEST

START_TEST(test_bytes_arrive) {
  int *const pinned = fixture.pinned;
  for (int i = 0; i < 64; i++) pinned[i] = i;
  memset(fixture_pageable, 0, sizeof fixture_pageable);
  /* Pageable: taken when the call returns, arrived when the call returns. */
  fixture_pageable[0] = 5;
  expect(cudaSuccess, cudaMemcpyAsync(fixture.other, fixture_pageable, 4, H2D, fixture.origin));
  fixture_pageable[0] = 6;
  expect(cudaSuccess, cudaMemcpyAsync(fixture_pageable + 8, fixture.other, 4, D2H, fixture.origin));
  ck_assert_int_eq(fixture_pageable[8], 5);
  /* A box of 3 x 2 x 2 out of 4 x 3 x 2, twice through the device. */
  expect(cudaSuccess, cudaMemsetAsync(fixture.device, 0, 256, fixture.origin));
  expect(cudaSuccess, copy_box(AT(fixture.device, 16, 3), AT(pinned, 16, 3), 12, 2, 2, H2D));
  expect(cudaSuccess, cudaMemcpy2DAsync(pinned + 64, 8, fixture.device, 16, 8, 3, D2H, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(pinned + 100, fixture.device, 96, D2H, fixture.origin));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  const int box[] = {0, 1, 2, 0, 4, 5, 6, 0, 0, 0, 0, 0, 12, 13, 14, 0, 16, 17, 18, 0, 0, 0, 0, 0};
  ck_assert_mem_eq(pinned + 100, box, sizeof box);
  const int plane[] = {0, 1, 4, 5, 0, 0};
  ck_assert_mem_eq(pinned + 64, plane, sizeof plane);
  expect(cudaSuccess, cudaMemset2DAsync(fixture.device, 16, 1, 8, 2, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(pinned, fixture.device, 32, D2H, fixture.origin));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  const int set[] = {0x01010101, 0x01010101, 2, 0, 0x01010101, 0x01010101, 6, 0};
  ck_assert_mem_eq(pinned, set, sizeof set);
}
END_TEST

START_TEST(test_kernels_of_a_library) {
  cudaKernel_t kernels[8] = {0};
  unsigned count = 0;
  int seen = 0;
  expect(cudaSuccess, cudaLibraryGetKernelCount(&count, fixture.library));
  ck_assert_uint_eq(count, 3);
  expect(cudaSuccess, cudaLibraryEnumerateKernels(kernels, 8, fixture.library));
  for (unsigned i = 0; i < count; i++) {
    expect(cudaSuccess, cudaFuncGetName(&out_name, kernels[i]));
    seen |= strcmp(out_name, "rules_store") == 0 ? 1 : strcmp(out_name, "rules_fault") == 0 ? 2 : 4;
  }
  ck_assert_int_eq(seen, 7);
  ck_assert_ptr_null(kernels[3]);
  expect(cudaSuccess, cudaFuncGetAttributes(&out_attributes, fixture.store));
  ck_assert_int_eq(out_attributes.maxThreadsPerBlock, 1024);
}
END_TEST

static int calls_of_function;
static cudaError_t code_inside;
static void count_call(void *data) {
  calls_of_function++;
  code_inside = cudaGetDevice(data);
}

/* Such a function must not use the runtime; cudaGetDevice is the mildest case of it, which a GPU lets pass. */
START_TEST(test_host_function) {
  calls_of_function = 0;
  expect(cudaSuccess, cudaLaunchHostFunc(fixture.origin, count_call, &out_int));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(calls_of_function, 1);
  if (platform_is_double()) expect(cudaErrorNotPermitted, code_inside);
}
END_TEST

int main(void) {
  if (!platform_is_ready()) return 0;
  Suite *suite = suite_create("calls");
  TCase *calls = tcase_create("calls");
  tcase_add_checked_fixture(calls, fixture_set_up, fixture_tear_down);
  tcase_set_timeout(calls, 60);
  tcase_add_loop_test(calls, test_call, 0, ROW_COUNT);
  tcase_add_test(calls, test_sizes_of_zero_give_null);
  tcase_add_test(calls, test_freed_twice);
  tcase_add_test(calls, test_last_error);
  tcase_add_test(calls, test_pending_work);
  tcase_add_test(calls, test_bytes_arrive);
  tcase_add_test(calls, test_kernels_of_a_library);
  tcase_add_test(calls, test_host_function);
  suite_add_tcase(suite, calls);
  return platform_run(suite);
}
