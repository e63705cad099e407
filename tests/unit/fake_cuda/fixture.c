#include "tests/unit/fake_cuda/fixture.h"

#include <string.h>

struct fixture fixture;
char fixture_pageable[FIXTURE_BYTES];

static void make_memory(void) {
  expect(cudaSuccess, cudaMalloc((void **)&fixture.device, FIXTURE_BYTES));
  expect(cudaSuccess, cudaMalloc((void **)&fixture.other, FIXTURE_BYTES));
  expect(cudaSuccess, cudaHostAlloc((void **)&fixture.pinned, FIXTURE_BYTES, 0));
  expect(cudaSuccess, cudaHostAlloc((void **)&fixture.mapped, FIXTURE_BYTES, cudaHostAllocMapped));
  expect(cudaSuccess, cudaMallocManaged((void **)&fixture.managed, FIXTURE_BYTES, cudaMemAttachGlobal));
}

static void make_streams(void) {
  enum { STREAMS = 3, EVENTS = 5 };
  cudaStream_t *const streams[STREAMS] = {&fixture.origin, &fixture.side, &fixture.third};
  cudaEvent_t *const events[EVENTS] = {&fixture.event, &fixture.second, &fixture.old, &fixture.never,
                                       &fixture.captured};
  for (size_t i = 0; i < STREAMS; i++) {
    expect(cudaSuccess, cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking));
  }
  expect(cudaSuccess, cudaStreamCreate(&fixture.blocking));
  for (size_t i = 0; i < EVENTS; i++) {
    expect(cudaSuccess, cudaEventCreateWithFlags(events[i], cudaEventDisableTiming));
  }
  expect(cudaSuccess, cudaEventCreateWithFlags(&fixture.timed, cudaEventDefault));
}

void fixture_set_up(void) {
  platform_reset();
  memset(&fixture, 0, sizeof fixture);
  expect(cudaSuccess, cudaLibraryLoadData(&fixture.library, platform_image(), NULL, NULL, 0, NULL, NULL, 0));
  expect(cudaSuccess, cudaLibraryGetKernel(&fixture.store, fixture.library, "rules_store"));
  expect(cudaSuccess, cudaLibraryGetKernel(&fixture.fault, fixture.library, "rules_fault"));
  expect(cudaSuccess, cudaLibraryGetKernel(&fixture.wait, fixture.library, "rules_wait"));
  make_memory();
  make_streams();
  begin(fixture.origin);
  expect(cudaSuccess, launch(fixture.origin));
  expect(cudaSuccess, cudaEventRecord(fixture.captured, fixture.origin));
  expect(cudaSuccess, cudaStreamEndCapture(fixture.origin, &fixture.graph));
  expect(cudaSuccess, cudaGraphInstantiate(&fixture.exec, fixture.graph, 0));
  expect(cudaSuccess, cudaEventRecord(fixture.old, fixture.side));
  expect(cudaSuccess, cudaEventRecord(fixture.timed, fixture.side));
  expect(cudaSuccess, cudaDeviceSynchronize());
}

void fixture_tear_down(void) {
  enum { STREAMS = 4, EVENTS = 6 };
  cudaStream_t const streams[STREAMS] = {fixture.origin, fixture.side, fixture.third, fixture.blocking};
  cudaEvent_t const events[EVENTS] = {fixture.event, fixture.second, fixture.old,
                                      fixture.never, fixture.timed,  fixture.captured};
  for (size_t i = 0; i < STREAMS; i++) {
    ck_assert_int_eq(status_of(streams[i]), cudaStreamCaptureStatusNone);
    expect(cudaSuccess, cudaStreamDestroy(streams[i]));
  }
  for (size_t i = 0; i < EVENTS; i++) expect(cudaSuccess, cudaEventDestroy(events[i]));
  expect(cudaSuccess, cudaGraphExecDestroy(fixture.exec));
  expect(cudaSuccess, cudaGraphDestroy(fixture.graph));
  expect(cudaSuccess, cudaFree(fixture.device));
  expect(cudaSuccess, cudaFree(fixture.other));
  expect(cudaSuccess, cudaFree(fixture.managed));
  expect(cudaSuccess, cudaFreeHost(fixture.pinned));
  expect(cudaSuccess, cudaFreeHost(fixture.mapped));
  expect(cudaSuccess, cudaLibraryUnload(fixture.library));
  expect(cudaSuccess, cudaDeviceSynchronize());
}

static cudaError_t launch_shaped(cudaStream_t stream, cudaKernel_t kernel, void **arguments, dim3 grid, dim3 block,
                                 size_t shared) {
  cudaLaunchConfig_t config;
  memset(&config, 0, sizeof config);
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

cudaError_t launch_kernel(cudaStream_t stream, cudaKernel_t kernel, void **arguments) {
  return launch_shaped(stream, kernel, arguments, (dim3){1, 1, 1}, (dim3){1, 1, 1}, 0);
}

cudaError_t launch_store(cudaStream_t stream, int *to, int value) {
  void *arguments[] = {&to, &value};
  return launch_kernel(stream, fixture.store, arguments);
}

cudaError_t launch(cudaStream_t stream) { return launch_store(stream, fixture.device, 7); }

cudaError_t launch_grid(cudaStream_t stream, unsigned grid, unsigned block, size_t shared) {
  int value = 7;
  void *arguments[] = {&fixture.device, &value};
  return launch_shaped(stream, fixture.store, arguments, (dim3){grid, 1, 1}, (dim3){block, 1, 1}, shared);
}

cudaError_t launch_tall(cudaStream_t stream) {
  int value = 7;
  void *arguments[] = {&fixture.device, &value};
  return launch_shaped(stream, fixture.store, arguments, (dim3){1, 70000, 1}, (dim3){1, 1, 1}, 0);
}

enum cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  expect(cudaSuccess, cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL));
  return status;
}

size_t dependencies_of(cudaStream_t stream, cudaGraphNode_t *first) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t *nodes = NULL;
  const cudaGraphEdgeData *edges = NULL;
  size_t count = 0;
  expect(cudaSuccess, cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &edges, &count));
  ck_assert_int_eq(status, cudaStreamCaptureStatusActive);
  if (first != NULL) *first = count > 0 ? nodes[0] : NULL;
  return count;
}

void begin(cudaStream_t stream) {
  expect(cudaSuccess, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

void end(cudaStream_t stream, cudaError_t code, size_t nodes, size_t edges) {
  cudaGraph_t graph = fixture.graph;
  size_t node_count = 0;
  size_t edge_count = 0;
  expect(code, cudaStreamEndCapture(stream, &graph));
  ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusNone);
  if (code != cudaSuccess) {
    ck_assert_ptr_null(graph);
    return;
  }
  ck_assert_ptr_nonnull(graph);
  expect(cudaSuccess, cudaGraphGetNodes(graph, NULL, &node_count));
  expect(cudaSuccess, cudaGraphGetEdges(graph, NULL, NULL, NULL, &edge_count));
  ck_assert_uint_eq(node_count, nodes);
  ck_assert_uint_eq(edge_count, edges);
  expect(cudaSuccess, cudaGraphDestroy(graph));
}

void join(cudaStream_t from, cudaStream_t to) {
  expect(cudaSuccess, cudaEventRecord(fixture.event, from));
  expect(cudaSuccess, cudaStreamWaitEvent(to, fixture.event, 0));
}
