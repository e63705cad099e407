/* What all device code shares: access to a call's arguments, and vectors of elements. */
#ifndef GRAPHRUN_KERNELS_DEVICE_CUH
#define GRAPHRUN_KERNELS_DEVICE_CUH

#include <stdint.h>

#include "engine/kernel.h"
#include "kernels/geometry.h"

/* Head of an entry. At most THREADS in a block. */
#define GR_ENTRY(NAME, THREADS) \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(const __grid_constant__ struct gr_kernel_frame frame)

/* The same, and so many blocks on a multiprocessor will do: more registers, where the compiler would spill instead. */
#define GR_ENTRY_BLOCKS(NAME, THREADS, BLOCKS)                  \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) \
      NAME(const __grid_constant__ struct gr_kernel_frame frame)

template <typename Type>
__device__ __forceinline__ Type *gr_data(const struct gr_kernel_frame &frame, int index) {
  return static_cast<Type *>(frame.arguments[index].data);
}

__device__ __forceinline__ uint64_t gr_count(const struct gr_kernel_frame &frame, int index) {
  return frame.arguments[index].rows * frame.arguments[index].columns;
}

__device__ __forceinline__ bool gr_is_aligned(const void *data, uint64_t bytes) {
  return (reinterpret_cast<uintptr_t>(data) & (bytes - 1)) == 0;
}

__device__ __forceinline__ uint64_t gr_ceil_div(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

/* Adjacent elements that one access moves. */
template <typename Type, int Width>
struct alignas(sizeof(Type) * Width) gr_vector {
  Type element[Width];
};

#endif
