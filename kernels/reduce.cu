/* Kernels that make one number of an array, in one launch: every block reduces its share, and the block that ends last
 * reduces what the blocks found. Which elements meet in which order depends on the number of elements alone: not on
 * addresses, and not on which block ends last. */
#include "kernels/device.cuh"
#include "kernels/number.h"

/* --- What is computed: `load` makes a part of elements, `join` makes one part of two, `finish` the result --- */

template <typename Type>
struct sum_of {
  typedef double part;
  static constexpr int inputs = 1;
  static __device__ __forceinline__ part none() { return 0.0; }
  static __device__ __forceinline__ part load(Type x, Type) { return x; }
  static __device__ __forceinline__ part join(part a, part b) { return a + b; }
  static __device__ __forceinline__ Type finish(part a) { return static_cast<Type>(a); }
};

template <typename Type>
struct dot_of : sum_of<Type> {
  static constexpr int inputs = 2;
  static __device__ __forceinline__ double load(Type x, Type y) {
    return static_cast<double>(x) * static_cast<double>(y);
  }
};

template <typename Type>
struct norm2_of : sum_of<Type> {
  static __device__ __forceinline__ double load(Type x, Type) {
    return static_cast<double>(x) * static_cast<double>(x);
  }
  static __device__ __forceinline__ Type finish(double a) { return static_cast<Type>(sqrt(a)); }
};

__device__ __forceinline__ float minimum(float a, float b) { return gr_minimum_f32(a, b); }
__device__ __forceinline__ double minimum(double a, double b) { return gr_minimum_f64(a, b); }
__device__ __forceinline__ float maximum(float a, float b) { return gr_maximum_f32(a, b); }
__device__ __forceinline__ double maximum(double a, double b) { return gr_maximum_f64(a, b); }

template <typename Type>
struct min_of {
  typedef Type part;
  static constexpr int inputs = 1;
  static __device__ __forceinline__ part none() { return static_cast<Type>(INFINITY); }
  static __device__ __forceinline__ part load(Type x, Type) { return x; }
  static __device__ __forceinline__ part join(part a, part b) { return minimum(a, b); }
  static __device__ __forceinline__ Type finish(part a) { return a; }
};

template <typename Type>
struct max_of : min_of<Type> {
  static __device__ __forceinline__ Type none() { return static_cast<Type>(-INFINITY); }
  static __device__ __forceinline__ Type join(Type a, Type b) { return maximum(a, b); }
};

/* --- How --- */

/* The part of the whole block, in thread 0. */
template <typename Of>
__device__ __forceinline__ typename Of::part reduce_block(typename Of::part value) {
  __shared__ typename Of::part warps[GR_REDUCE_THREADS / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = Of::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < GR_REDUCE_THREADS / 32 ? warps[threadIdx.x] : Of::none();
#pragma unroll
    for (int offset = GR_REDUCE_THREADS / 64; offset > 0; offset /= 2)
      value = Of::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

/* `Width` adjacent elements, which vectors may load in one access. */
template <int Width, typename Type>
__device__ __forceinline__ gr_vector<Type, Width> load_vector(const Type *x, uint64_t index, bool is_aligned) {
  if (is_aligned) return *reinterpret_cast<const gr_vector<Type, Width> *>(x + index);
  gr_vector<Type, Width> vector;
#pragma unroll
  for (int e = 0; e < Width; e++) vector.element[e] = x[index + e];
  return vector;
}

/* The part of one thread. It has one part for each place in a vector, and joins them last. */
template <typename Of, typename Type>
__device__ __forceinline__ typename Of::part reduce_thread(const Type *x, const Type *y, uint64_t count) {
  constexpr int width = GR_VECTOR_BYTES / sizeof(Type);
  constexpr int vectors = GR_REDUCE_ITEMS / width;
  constexpr uint64_t tile = uint64_t(GR_REDUCE_THREADS) * GR_REDUCE_ITEMS;
  typename Of::part part[width];
#pragma unroll
  for (int e = 0; e < width; e++) part[e] = Of::none();
  const bool is_aligned = gr_is_aligned(x, GR_VECTOR_BYTES) && gr_is_aligned(y, GR_VECTOR_BYTES);
  uint64_t first = blockIdx.x * tile;
#pragma unroll 1
  for (; first < count && count - first >= tile; first += gridDim.x * tile) {
    gr_vector<Type, width> in_x[vectors], in_y[vectors];
#pragma unroll
    for (int k = 0; k < vectors; k++) {
      const uint64_t index = first + uint64_t(k * GR_REDUCE_THREADS + threadIdx.x) * width;
      in_x[k] = load_vector<width>(x, index, is_aligned);
      if (Of::inputs == 2) in_y[k] = load_vector<width>(y, index, is_aligned);
    }
#pragma unroll
    for (int k = 0; k < vectors; k++)
#pragma unroll
      for (int e = 0; e < width; e++)
        part[e] = Of::join(part[e], Of::load(in_x[k].element[e], Of::inputs == 2 ? in_y[k].element[e] : Type()));
  }
  /* The last, broken tile belongs to the block whose turn it is. */
  for (uint64_t index = first + threadIdx.x; index < count; index += GR_REDUCE_THREADS)
    part[0] = Of::join(part[0], Of::load(x[index], y[index]));
#pragma unroll
  for (int half = width / 2; half > 0; half /= 2)
#pragma unroll
    for (int e = 0; e < half; e++) part[e] = Of::join(part[e], part[e + half]);
  return part[0];
}

/* Adds the block to those that are done; true in the last one. The count goes back to 0, ready for the next replay. */
__device__ __forceinline__ bool is_last_block(unsigned int *done) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

template <typename Of, typename Type>
__device__ __forceinline__ void reduce(const struct gr_kernel_frame &frame, const Type *x, const Type *y, Type *out) {
  typedef typename Of::part part_type;
  part_type part = reduce_block<Of>(reduce_thread<Of>(x, y, gr_count(frame, 0)));
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *out = Of::finish(part);
    return;
  }
  unsigned int *done = static_cast<unsigned int *>(frame.scratch);
  part_type *parts = reinterpret_cast<part_type *>(static_cast<char *>(frame.scratch) + 16);
  if (threadIdx.x == 0) parts[blockIdx.x] = part;
  if (!is_last_block(done)) return;
  /* All loads first: a chain of them would take longer than the sum of a small array. */
  part_type loaded[GR_REDUCE_BLOCKS_MAX / GR_REDUCE_THREADS];
#pragma unroll
  for (int k = 0; k < GR_REDUCE_BLOCKS_MAX / GR_REDUCE_THREADS; k++) {
    const unsigned int index = k * GR_REDUCE_THREADS + threadIdx.x;
    loaded[k] = index < gridDim.x ? __ldcg(parts + index) : Of::none();
  }
  part = loaded[0];
#pragma unroll
  for (int k = 1; k < GR_REDUCE_BLOCKS_MAX / GR_REDUCE_THREADS; k++) part = Of::join(part, loaded[k]);
  part = reduce_block<Of>(part);
  if (threadIdx.x == 0) *out = Of::finish(part);
}

#define ENTRY(NAME, TYPE, SUFFIX, Y, OUT)                                                        \
  GR_ENTRY(gr_##NAME##_##SUFFIX, GR_REDUCE_THREADS) {                                            \
    reduce<NAME##_of<TYPE>>(frame, gr_data<const TYPE>(frame, 0), gr_data<const TYPE>(frame, Y), \
                            gr_data<TYPE>(frame, OUT));                                          \
  }
#define REDUCTION(NAME, Y, OUT)   \
  ENTRY(NAME, float, f32, Y, OUT) \
  ENTRY(NAME, double, f64, Y, OUT)
REDUCTION(sum, 0, 1)
REDUCTION(dot, 1, 2)
REDUCTION(norm2, 0, 1)
REDUCTION(min, 0, 1)
REDUCTION(max, 0, 1)
