/* What the tests of the rules have at hand: streams, events, memory of each kind, kernels. */
#ifndef GRAPHRUN_TESTS_UNIT_FAKE_CUDA_FIXTURE_H
#define GRAPHRUN_TESTS_UNIT_FAKE_CUDA_FIXTURE_H

#include "tests/unit/fake_cuda/platform.h"

enum { FIXTURE_BYTES = 4096 };

struct fixture {
  cudaLibrary_t library;
  cudaKernel_t store, fault, wait;
  int *device, *other, *pinned, *mapped, *managed;
  cudaStream_t origin, side, third, blocking;
  cudaEvent_t event, second, old, never, timed, captured; /* old and timed were recorded outside and are over */
  cudaGraph_t graph;                                      /* one kernel */
  cudaGraphExec_t exec;
};
extern struct fixture fixture;
extern char fixture_pageable[FIXTURE_BYTES];

void fixture_set_up(void);
/* Checks that nothing is left over. */
void fixture_tear_down(void);

cudaError_t launch_grid(cudaStream_t stream, unsigned grid, unsigned block, size_t shared);
/* The same with more rows than a grid may have. */
cudaError_t launch_tall(cudaStream_t stream);
/* Launches rules_store(to, value). */
cudaError_t launch_store(cudaStream_t stream, int *to, int value);
/* The same with some target. */
cudaError_t launch(cudaStream_t stream);
cudaError_t launch_kernel(cudaStream_t stream, cudaKernel_t kernel, void **arguments);

enum cudaStreamCaptureStatus status_of(cudaStream_t stream);
/* Dependencies of the stream's next node; the first of them. */
size_t dependencies_of(cudaStream_t stream, cudaGraphNode_t *first);
/* Begins on a stream, thread-local. */
void begin(cudaStream_t stream);
/* Ends, expects that code, and that many nodes and edges where it is cudaSuccess. */
void end(cudaStream_t stream, cudaError_t code, size_t nodes, size_t edges);
/* Makes `to` wait for `from`. */
void join(cudaStream_t from, cudaStream_t to);

#define expect(code, call) ck_assert_str_eq(cudaGetErrorName(call), cudaGetErrorName(code))

#endif
