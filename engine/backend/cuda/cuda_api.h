/* The one place where CUDA's runtime comes in: from the toolkit, or, with FAKE_CUDA, the declarations of the tests'
 * double, so that the back end also builds where there is no toolkit. */
#ifndef GRAPHRUN_ENGINE_BACKEND_CUDA_CUDA_API_H
#define GRAPHRUN_ENGINE_BACKEND_CUDA_CUDA_API_H

#ifdef FAKE_CUDA
#include "tests/support/fake_cuda/fake_cuda.h"
#else
#include <cuda_runtime_api.h>
#endif

/* Leaves the calling function with a described error when a call of the runtime did not succeed. Only where nothing has
 * to be released. What follows is printf's: what was being done. */
#define GR_CUDA_RETURN_IF_FAILED(device, call, error, ...)                                            \
  do {                                                                                                \
    cudaError_t code_of_call = (call);                                                                \
    if (code_of_call != cudaSuccess) return gr_cuda_failed(device, code_of_call, error, __VA_ARGS__); \
  } while (0)

#endif
