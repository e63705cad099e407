/* The back end for CUDA devices. A plan becomes one captured graph that is replayed (GR_MODE_GRAPH), plain streams with
 * events (GR_MODE_STREAM), or one step at a time (GR_MODE_SERIAL).
 *
 * The runtime is linked statically and opens the driver at run time, so a program with this back end starts where there
 * is no driver; `probe` then says so. cuBLAS is opened by name when a pipeline with a gemm is built; the built-in
 * kernel is the other way.
 *
 * Not named cuda.h: that name is NVIDIA's. */
#ifndef GRAPHRUN_ENGINE_BACKEND_CUDA_CUDA_BACKEND_H
#define GRAPHRUN_ENGINE_BACKEND_CUDA_CUDA_BACKEND_H

#include "engine/backend/backend.h"

extern const struct gr_backend gr_backend_cuda;

#endif
