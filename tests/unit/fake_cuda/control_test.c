/* What a test can order: failures, faults, hangs, missing drivers, limits; and what the double notices. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/unit/fake_cuda/fixture.h"

static void set_up(void) { fixture_set_up(); }

static void tear_down(void) {
  fixture_tear_down();
  ck_assert_uint_eq(fake_cuda_live_count(), 0);
  ck_assert_msg(fake_cuda_complaint_count() == 0, "%s", fake_cuda_complaint(0));
}

static void reset_all(void) { fake_cuda_reset(); }

/* --- Failures --- */

START_TEST(test_nth_call_fails) {
  void *memory = NULL;
  int device = 0;
  fake_cuda_fail_call(3, cudaErrorMemoryAllocation);
  expect(cudaSuccess, cudaGetDevice(&device));
  expect(cudaSuccess, cudaMalloc(&memory, 16));
  ck_assert_ptr_null(fake_cuda_failed_function());
  cudaEvent_t event = NULL;
  expect(cudaErrorMemoryAllocation, cudaEventCreateWithFlags(&event, 0));
  ck_assert_ptr_null(event);
  ck_assert_str_eq(fake_cuda_failed_function(), "cudaEventCreateWithFlags");
  expect(cudaErrorMemoryAllocation, cudaGetLastError());
  expect(cudaSuccess, cudaFree(memory));
}
END_TEST

START_TEST(test_nth_call_of_a_function_fails) {
  void *first = NULL;
  void *second = NULL;
  fake_cuda_fail_function("cudaMalloc", 2, cudaErrorMemoryAllocation);
  expect(cudaSuccess, cudaMalloc(&first, 16));
  expect(cudaSuccess, cudaStreamQuery(fixture.side));
  expect(cudaErrorMemoryAllocation, cudaMalloc(&second, 16));
  expect(cudaSuccess, cudaMalloc(&second, 16));
  expect(cudaSuccess, cudaFree(first));
  expect(cudaSuccess, cudaFree(second));
  ck_assert_uint_eq(fake_cuda_function_count("cudaStreamQuery"), 1);
  ck_assert_uint_ge(fake_cuda_call_count(), 8);
}
END_TEST

/* A failing release still releases, so that only the program's own leaks count. */
START_TEST(test_failing_releases_release) {
  cudaStream_t stream = NULL;
  void *memory = NULL;
  uint64_t before = fake_cuda_live_count();
  expect(cudaSuccess, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  expect(cudaSuccess, cudaMalloc(&memory, 16));
  fake_cuda_fail_function("cudaStreamDestroy", 1, cudaErrorUnknown);
  expect(cudaErrorUnknown, cudaStreamDestroy(stream));
  fake_cuda_fail_function("cudaFree", 1, cudaErrorUnknown);
  expect(cudaErrorUnknown, cudaFree(memory));
  ck_assert_uint_eq(fake_cuda_live_count(), before);
  cudaGraph_t graph = NULL;
  begin(fixture.origin);
  expect(cudaSuccess, launch(fixture.origin));
  fake_cuda_fail_function("cudaStreamEndCapture", 1, cudaErrorUnknown);
  expect(cudaErrorUnknown, cudaStreamEndCapture(fixture.origin, &graph));
  ck_assert_ptr_null(graph);
  ck_assert_uint_eq(fake_cuda_live_count(), before);
}
END_TEST

/* The capture goes on, one node short: who does not look at codes must count nodes. */
START_TEST(test_failed_call_leaves_the_capture) {
  begin(fixture.origin);
  fake_cuda_fail_function("cudaLaunchKernelExC", 2, cudaErrorLaunchOutOfResources);
  expect(cudaSuccess, launch(fixture.origin));
  expect(cudaErrorLaunchOutOfResources, launch(fixture.origin));
  expect(cudaSuccess, launch(fixture.origin));
  end(fixture.origin, cudaSuccess, 2, 1);
}
END_TEST

/* --- Leaks, limits --- */

START_TEST(test_live_things_are_counted) {
  struct fake_cuda_live before;
  struct fake_cuda_live live;
  cudaStream_t stream = NULL;
  cudaEvent_t event = NULL;
  void *memory = NULL;
  void *pinned = NULL;
  fake_cuda_get_live(&before);
  ck_assert_uint_eq(before.pending, 0);
  expect(cudaSuccess, cudaStreamCreate(&stream));
  expect(cudaSuccess, cudaEventCreateWithFlags(&event, 0));
  expect(cudaSuccess, cudaMalloc(&memory, 100));
  expect(cudaSuccess, cudaHostAlloc(&pinned, 50, 0));
  begin(fixture.origin);
  expect(cudaSuccess, launch(fixture.side));
  fake_cuda_get_live(&live);
  ck_assert_uint_eq(live.streams, before.streams + 1);
  ck_assert_uint_eq(live.events, before.events + 1);
  ck_assert_uint_eq(live.device_allocations, before.device_allocations + 1);
  ck_assert_uint_eq(live.device_bytes, before.device_bytes + 100);
  ck_assert_uint_eq(live.pinned_bytes, before.pinned_bytes + 50);
  ck_assert_uint_eq(live.captures, 1);
  ck_assert_uint_eq(live.graphs, before.graphs + 1);
  ck_assert_uint_eq(live.execs, 1);
  ck_assert_uint_eq(live.libraries, 1);
  ck_assert_uint_eq(live.pending, 1);
  end(fixture.origin, cudaSuccess, 0, 0);
  expect(cudaSuccess, cudaStreamDestroy(stream));
  expect(cudaSuccess, cudaEventDestroy(event));
  expect(cudaSuccess, cudaFree(memory));
  expect(cudaSuccess, cudaFreeHost(pinned));
}
END_TEST

START_TEST(test_memory_limits) {
  void *memory = NULL;
  size_t left = 0;
  size_t total = 0;
  fake_cuda_properties(0)->totalGlobalMem = 1 << 20;
  expect(cudaSuccess, cudaMemGetInfo(&left, &total));
  ck_assert_uint_eq(total, 1 << 20);
  expect(cudaErrorMemoryAllocation, cudaMalloc(&memory, left + 1));
  expect(cudaErrorMemoryAllocation, cudaMallocManaged(&memory, left + 1, cudaMemAttachGlobal));
  expect(cudaSuccess, cudaMalloc(&memory, left));
  expect(cudaSuccess, cudaMemGetInfo(&left, &total));
  ck_assert_uint_eq(left, 0);
  expect(cudaSuccess, cudaFree(memory));
  fake_cuda_set_pinned_limit(3 * FIXTURE_BYTES);
  expect(cudaErrorMemoryAllocation, cudaHostAlloc(&memory, FIXTURE_BYTES + 1, 0));
  expect(cudaSuccess, cudaHostAlloc(&memory, FIXTURE_BYTES, 0));
  expect(cudaSuccess, cudaFreeHost(memory));
  fake_cuda_properties(0)->managedMemory = 0;
  expect(cudaErrorNotSupported, cudaMallocManaged(&memory, 16, cudaMemAttachGlobal));
}
END_TEST

/* --- Driver and devices --- */

START_TEST(test_no_driver) {
  int number = -1;
  void *memory = NULL;
  fake_cuda_set_driver(_i == 0 ? FAKE_CUDA_DRIVER_MISSING : FAKE_CUDA_DRIVER_TOO_OLD);
  expect(cudaSuccess, cudaDriverGetVersion(&number));
  ck_assert_int_eq(number, _i == 0 ? 0 : 12080);
  expect(cudaSuccess, cudaRuntimeGetVersion(&number));
  ck_assert_int_eq(number, CUDART_VERSION);
  expect(cudaErrorInsufficientDriver, cudaGetDeviceCount(&number));
  ck_assert_int_eq(number, 0);
  expect(cudaErrorInsufficientDriver, cudaMalloc(&memory, 16));
  expect(cudaErrorInsufficientDriver, cudaGetLastError());
}
END_TEST

START_TEST(test_no_device) {
  int number = -1;
  cudaStream_t stream = NULL;
  fake_cuda_set_device_count(0);
  expect(cudaErrorNoDevice, cudaGetDeviceCount(&number));
  ck_assert_int_eq(number, 0);
  expect(cudaErrorNoDevice, cudaStreamCreate(&stream));
  expect(cudaErrorNoDevice, cudaSetDevice(0));
}
END_TEST

static void *ask_device(void *device) {
  cudaGetDevice(device);
  return NULL;
}

START_TEST(test_devices_are_a_threads_own) {
  pthread_t thread;
  int device = -1;
  int number = 0;
  fake_cuda_set_device_count(3);
  expect(cudaSuccess, cudaGetDeviceCount(&number));
  ck_assert_int_eq(number, 3);
  expect(cudaSuccess, cudaSetDevice(2));
  ck_assert_int_eq(pthread_create(&thread, NULL, ask_device, &device), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_int_eq(device, 0);
  expect(cudaSuccess, cudaGetDevice(&device));
  ck_assert_int_eq(device, 2);
  /* Streams and events belong to a device. */
  expect(cudaErrorInvalidResourceHandle, launch(fixture.origin));
  cudaStream_t stream = NULL;
  expect(cudaSuccess, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  expect(cudaErrorInvalidResourceHandle, cudaEventRecord(fixture.event, stream));
  expect(cudaSuccess, cudaStreamWaitEvent(stream, fixture.old, 0));
  expect(cudaSuccess, cudaStreamDestroy(stream));
  expect(cudaSuccess, cudaSetDevice(0));
}
END_TEST

/* --- Faults --- */

START_TEST(test_fault_at_a_kernel) {
  fixture_set_up();
  fixture.mapped[0] = fixture.mapped[1] = 0;
  fake_cuda_fault_at_kernel("rules_store", 2, cudaErrorMisalignedAddress);
  expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped, 1));
  expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped + 1, 1));
  expect(cudaErrorMisalignedAddress, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(fixture.mapped[0], 1);
  ck_assert_int_eq(fixture.mapped[1], 0);
  expect(cudaErrorMisalignedAddress, cudaEventQuery(fixture.old));
  struct fake_cuda_live live;
  fake_cuda_get_live(&live);
  ck_assert_uint_eq(live.pending, 0);
}
END_TEST

START_TEST(test_fault_at_any_work) {
  fixture_set_up();
  fake_cuda_fault_at_work(1, cudaErrorECCUncorrectable);
  expect(cudaSuccess, cudaGraphLaunch(fixture.exec, fixture.origin));
  expect(cudaErrorECCUncorrectable, cudaDeviceSynchronize());
  fake_cuda_reset();
  fixture_set_up();
  fake_cuda_lose_device(0, cudaErrorLaunchFailure);
  expect(cudaErrorLaunchFailure, cudaStreamQuery(fixture.origin));
}
END_TEST

/* Two devices: the other one goes on, also where it waited for the lost one. */
START_TEST(test_other_devices_go_on) {
  cudaStream_t stream = NULL;
  cudaEvent_t event = NULL;
  fixture_set_up();
  fake_cuda_set_device_count(2);
  fake_cuda_fault_at_kernel("rules_store", 1, cudaErrorLaunchFailure);
  expect(cudaSuccess, launch(fixture.origin));
  expect(cudaSuccess, cudaEventRecord(fixture.event, fixture.origin));
  expect(cudaSuccess, cudaSetDevice(1));
  expect(cudaSuccess, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  expect(cudaSuccess, cudaEventCreateWithFlags(&event, 0));
  expect(cudaSuccess, cudaStreamWaitEvent(stream, fixture.event, 0));
  expect(cudaSuccess, cudaEventRecord(event, stream));
  expect(cudaSuccess, cudaStreamSynchronize(stream));
  expect(cudaSuccess, cudaDeviceSynchronize());
  expect(cudaSuccess, cudaSetDevice(0));
  expect(cudaErrorLaunchFailure, cudaDeviceSynchronize());
}
END_TEST

/* Freed under the work's feet. */
START_TEST(test_work_on_freed_memory) {
  void *memory = NULL;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  fixture_set_up();
  expect(cudaSuccess, cudaMalloc(&memory, 64));
  begin(fixture.origin);
  expect(cudaSuccess, cudaMemcpyAsync(memory, fixture.pinned, 64, cudaMemcpyHostToDevice, fixture.origin));
  expect(cudaSuccess, cudaStreamEndCapture(fixture.origin, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  expect(cudaSuccess, cudaFree(memory));
  expect(cudaSuccess, cudaGraphLaunch(exec, fixture.origin));
  expect(cudaErrorIllegalAddress, cudaStreamSynchronize(fixture.origin));
  ck_assert_uint_eq(fake_cuda_complaint_count(), 1);
}
END_TEST

START_TEST(test_kernel_on_host_memory) {
  fixture_set_up();
  expect(cudaSuccess, launch_store(fixture.origin, (int *)fixture_pageable, 1));
  expect(cudaErrorIllegalAddress, cudaStreamSynchronize(fixture.origin));
}
END_TEST

/* Its addresses are good for nothing but calls and kernels; asked of the kernel, since the plain way ends the program.
 */
START_TEST(test_host_cannot_touch_device_memory) {
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], fixture.mapped, 4), 4);
  ck_assert_int_eq(write(ends[1], fixture.device, 4), -1);
  ck_assert_int_eq(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
}
END_TEST

/* --- Hangs --- */

START_TEST(test_hang_and_patience) {
  void *arguments[] = {&fixture.mapped};
  fake_cuda_set_patience_ms(20);
  expect(cudaSuccess, launch_kernel(fixture.origin, fixture.wait, arguments));
  expect(cudaErrorNotReady, cudaStreamQuery(fixture.origin));
  ck_assert_uint_eq(fake_cuda_hung_count(), 1);
  expect(cudaErrorLaunchTimeout, cudaStreamSynchronize(fixture.origin));
  ck_assert_uint_eq(fake_cuda_complaint_count(), 1);
  ck_assert_str_eq(fake_cuda_complaint(0), "cudaStreamSynchronize would have waited for ever for a kernel that hangs.");
  expect(cudaErrorLaunchTimeout, cudaFree(fixture.other));
  ck_assert_uint_eq(fake_cuda_complaint_count(), 2);
}
END_TEST

static void *synchronize(void *code) {
  *(cudaError_t *)code = cudaStreamSynchronize(fixture.origin);
  return NULL;
}

START_TEST(test_release_wakes_the_waiting) {
  pthread_t thread;
  cudaError_t code = cudaErrorUnknown;
  void *arguments[] = {&fixture.mapped};
  expect(cudaSuccess, launch_kernel(fixture.origin, fixture.wait, arguments));
  expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped, 8));
  ck_assert_int_eq(pthread_create(&thread, NULL, synchronize, &code), 0);
  while (fake_cuda_hung_count() == 0) continue;
  fake_cuda_release_hung();
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  expect(cudaSuccess, code);
  ck_assert_int_eq(fixture.mapped[0], 8);
}
END_TEST

/* --- Complaints: what a GPU lets pass --- */

static void expect_complaint(const char *text) {
  ck_assert_uint_eq(fake_cuda_complaint_count(), 1);
  ck_assert_msg(strstr(fake_cuda_complaint(0), text) != NULL, "%s", fake_cuda_complaint(0));
}

START_TEST(test_wrong_kinds) {
  fixture_set_up();
  static const enum cudaMemcpyKind wrong[] = {cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyHostToHost};
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.pinned, 16, wrong[_i], fixture.origin));
  ck_assert_uint_ge(fake_cuda_complaint_count(), 1);
}
END_TEST

START_TEST(test_right_kinds) {
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.mapped, 16, cudaMemcpyDeviceToDevice, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.mapped, 16, cudaMemcpyHostToDevice, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.managed, fixture.pinned, 16, cudaMemcpyHostToHost, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.managed, fixture.pinned, 16, cudaMemcpyHostToDevice, fixture.origin));
}
END_TEST

START_TEST(test_used_after_the_end) {
  cudaStream_t stream = NULL;
  cudaEvent_t event = NULL;
  fixture_set_up();
  expect(cudaSuccess, cudaStreamCreate(&stream));
  expect(cudaSuccess, cudaStreamDestroy(stream));
  expect(cudaErrorInvalidResourceHandle, cudaStreamQuery(stream));
  expect_complaint("stream");
  expect(cudaSuccess, cudaEventCreateWithFlags(&event, 0));
  expect(cudaSuccess, cudaEventDestroy(event));
  expect(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
  expect(cudaSuccess, cudaGraphExecDestroy(fixture.exec));
  expect(cudaErrorInvalidValue, cudaGraphLaunch(fixture.exec, fixture.origin));
  expect(cudaSuccess, cudaLibraryUnload(fixture.library));
  expect(cudaErrorInvalidResourceHandle, launch(fixture.origin));
  ck_assert_uint_eq(fake_cuda_complaint_count(), 4);
}
END_TEST

START_TEST(test_kernel_on_pinned_memory) {
  fixture_set_up();
  expect(cudaSuccess, launch_store(fixture.origin, fixture.pinned, 1));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  expect_complaint("page-locked");
}
END_TEST

START_TEST(test_mapped_apart) {
  void *address = NULL;
  fake_cuda_set_mapped_apart(true);
  expect(cudaSuccess, cudaHostGetDevicePointer(&address, fixture.mapped + 2, 0));
  ck_assert_ptr_ne(address, fixture.mapped + 2);
  expect(cudaSuccess, launch_store(fixture.origin, address, 77));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(fixture.mapped[2], 77);
  ck_assert_uint_eq(fake_cuda_complaint_count(), 0);
  fake_cuda_set_mapped_apart(false);
}
END_TEST

START_TEST(test_peek) {
  expect(cudaSuccess, cudaMemset(fixture.device, 3, 8));
  expect(cudaSuccess, cudaDeviceSynchronize());
  const unsigned char *bytes = fake_cuda_peek(fixture.device);
  ck_assert_ptr_nonnull(bytes);
  ck_assert_int_eq(bytes[7], 3);
  ck_assert_ptr_null(fake_cuda_peek(fixture_pageable));
  ck_assert_ptr_null(fake_cuda_peek(fixture.pinned));
}
END_TEST

START_TEST(test_nodes_can_be_read) {
  cudaGraphNode_t node = NULL;
  size_t count = 1;
  int value = 0;
  int *to = NULL;
  expect(cudaSuccess, cudaGraphGetNodes(fixture.graph, &node, &count));
  ck_assert_str_eq(fake_cuda_node_kind(node), "kernel");
  ck_assert_str_eq(fake_cuda_node_entry(node), "rules_store");
  ck_assert(fake_cuda_node_argument(node, 1, &value, sizeof value));
  ck_assert(fake_cuda_node_argument(node, 0, &to, sizeof to));
  ck_assert(!fake_cuda_node_argument(node, 2, &to, sizeof to));
  ck_assert(!fake_cuda_node_argument(node, 1, &to, sizeof to));
  ck_assert_int_eq(value, 7);
  ck_assert_ptr_eq(to, fixture.device);
}
END_TEST

START_TEST(test_images) {
  static const char junk[64] = "junk";
  cudaLibrary_t library = NULL;
  cudaKernel_t kernel = NULL;
  unsigned count = 0;
  expect(cudaSuccess, cudaLibraryLoadData(&library, junk, NULL, NULL, 0, NULL, NULL, 0));
  expect(cudaErrorInvalidKernelImage, cudaLibraryGetKernel(&kernel, library, "rules_store"));
  expect(cudaErrorInvalidKernelImage, cudaLibraryGetKernelCount(&count, library));
  expect(cudaSuccess, cudaLibraryUnload(library));
  expect(cudaSuccess, cudaLibraryLoadData(&library, FAKE_CUDA_IMAGE("*"), NULL, NULL, 0, NULL, NULL, 0));
  expect(cudaSuccess, cudaLibraryGetKernel(&kernel, library, "rules_store"));
  expect(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "rules_none"));
  expect(cudaSuccess, cudaLibraryGetKernelCount(&count, library));
  ck_assert_uint_eq(count, 3);
  expect(cudaSuccess, cudaLibraryUnload(library));
  /* A list of entries has those, and no others that are known. */
  expect(cudaSuccess, cudaLibraryLoadData(&library, FAKE_CUDA_IMAGE("rules_wait"), NULL, NULL, 0, NULL, NULL, 0));
  expect(cudaSuccess, cudaLibraryGetKernel(&kernel, library, "rules_wait"));
  expect(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "rules_store"));
  expect(cudaSuccess, cudaLibraryUnload(library));
}
END_TEST

START_TEST(test_names) {
  ck_assert_str_eq(cudaGetErrorName(cudaErrorStreamCaptureUnjoined), "cudaErrorStreamCaptureUnjoined");
  ck_assert_str_eq(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
  ck_assert_str_eq(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}
END_TEST

static TCase *add_case(Suite *suite, const char *name, SFun before, SFun after) {
  TCase *one = tcase_create(name);
  tcase_add_checked_fixture(one, before, after);
  tcase_set_timeout(one, 60);
  suite_add_tcase(suite, one);
  return one;
}

static void add_orders(TCase *orders) {
  tcase_add_test(orders, test_nth_call_fails);
  tcase_add_test(orders, test_nth_call_of_a_function_fails);
  tcase_add_test(orders, test_failing_releases_release);
  tcase_add_test(orders, test_failed_call_leaves_the_capture);
  tcase_add_test(orders, test_live_things_are_counted);
  tcase_add_test(orders, test_memory_limits);
  tcase_add_test(orders, test_devices_are_a_threads_own);
  tcase_add_test(orders, test_release_wakes_the_waiting);
  tcase_add_test(orders, test_right_kinds);
  tcase_add_test(orders, test_mapped_apart);
  tcase_add_test(orders, test_host_cannot_touch_device_memory);
  tcase_add_test(orders, test_peek);
  tcase_add_test(orders, test_nodes_can_be_read);
  tcase_add_test(orders, test_images);
}

/* These leave something behind that only a reset clears. */
static void add_wrecks(TCase *wrecks) {
  tcase_add_loop_test(wrecks, test_no_driver, 0, 2);
  tcase_add_test(wrecks, test_no_device);
  tcase_add_test(wrecks, test_fault_at_a_kernel);
  tcase_add_test(wrecks, test_fault_at_any_work);
  tcase_add_test(wrecks, test_other_devices_go_on);
  tcase_add_test(wrecks, test_work_on_freed_memory);
  tcase_add_test(wrecks, test_kernel_on_host_memory);
  tcase_add_loop_test(wrecks, test_wrong_kinds, 0, 3);
  tcase_add_test(wrecks, test_used_after_the_end);
  tcase_add_test(wrecks, test_kernel_on_pinned_memory);
  tcase_add_test(wrecks, test_names);
}

int main(void) {
  Suite *suite = suite_create("control");
  add_orders(add_case(suite, "orders", set_up, tear_down));
  add_wrecks(add_case(suite, "wrecks", reset_all, reset_all));
  TCase *hangs = add_case(suite, "hangs", set_up, reset_all);
  tcase_add_test(hangs, test_hang_and_patience);
  return platform_run(suite);
}
