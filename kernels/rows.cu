/* Kernels that work on the rows of a buffer of two dimensions. rows_host.c chooses an entry by the length of a row:
 * - short rows go through shared memory, where each thread has one for itself: nothing is exchanged, and loads and stores
 *   of the block touch adjacent addresses;
 * - a row that the registers of a warp hold belongs to a warp, one that a block's hold to a block, without barriers in the
 *   first case;
 * - longer ones are read twice, by a block. */
#include "kernels/device.cuh"
#include "kernels/number.h"

constexpr unsigned int ALL_LANES = 0xffffffffu;

/* --- Short rows: a block takes GR_SHORT_ROWS of them, in dynamic shared memory. --- */

/* An odd distance between rows keeps the threads in different banks. */
__device__ __forceinline__ unsigned int short_row_pitch(unsigned int columns) { return columns | 1u; }

/* Walks over the elements that a thread moves, as position in shared memory: no division in the loop. */
struct short_walk {
  unsigned int row, column, columns, row_step, column_step;

  __device__ __forceinline__ explicit short_walk(unsigned int columns_)
      : row(threadIdx.x / columns_),
        column(threadIdx.x % columns_),
        columns(columns_),
        row_step(GR_SHORT_ROWS / columns_),
        column_step(GR_SHORT_ROWS % columns_) {}
  __device__ __forceinline__ unsigned int position() const { return row * short_row_pitch(columns) + column; }
  __device__ __forceinline__ void advance() {
    row += row_step;
    column += column_step;
    if (column >= columns) {
      column -= columns;
      row++;
    }
  }
};

template <typename Type>
__device__ __forceinline__ void load_short_rows(const Type *x, unsigned int count, unsigned int columns, Type *shared) {
  constexpr int batch = 8;
  short_walk walk(columns);
#pragma unroll 1
  for (unsigned int start = threadIdx.x; start < count; start += batch * GR_SHORT_ROWS) {
    Type value[batch];
#pragma unroll
    for (int k = 0; k < batch; k++) {
      const unsigned int index = start + k * GR_SHORT_ROWS;
      value[k] = index < count ? x[index] : static_cast<Type>(0);
    }
#pragma unroll
    for (int k = 0; k < batch; k++) {
      if (start + k * GR_SHORT_ROWS < count) shared[walk.position()] = value[k];
      walk.advance();
    }
  }
}

template <typename Type>
__device__ __forceinline__ void store_short_rows(Type *out, unsigned int count, unsigned int columns,
                                                 const Type *shared) {
  short_walk walk(columns);
#pragma unroll 4
  for (unsigned int index = threadIdx.x; index < count; index += GR_SHORT_ROWS) {
    out[index] = shared[walk.position()];
    walk.advance();
  }
}

/* Rows of the block that starts at `first`. */
__device__ __forceinline__ unsigned int short_row_count(uint64_t first, uint64_t rows) {
  return rows - first < GR_SHORT_ROWS ? static_cast<unsigned int>(rows - first) : GR_SHORT_ROWS;
}

template <typename Type>
__device__ __forceinline__ Type *short_rows_memory() {
  extern __shared__ double short_rows[];
  return reinterpret_cast<Type *>(short_rows);
}

/* --- Groups of threads that have a row together --- */

template <typename Type>
struct sum_of {
  static __device__ __forceinline__ Type join(Type a, Type b) { return a + b; }
};
/* A NaN that is lost here makes every exponential of its row a NaN later on. */
template <typename Type>
struct max_of {
  static __device__ __forceinline__ Type join(Type a, Type b) { return fmax(a, b); }
};
__device__ __forceinline__ float largest_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return b > a || b != b ? b : a;
#endif
}
__device__ __forceinline__ double largest_or_nan(double a, double b) { return b > a || b != b ? b : a; }
template <typename Type>
struct largest_of {
  static __device__ __forceinline__ Type join(Type a, Type b) { return largest_or_nan(a, b); }
};
template <typename Type>
struct least_of {
  static __device__ __forceinline__ Type join(Type a, Type b) { return a < b ? a : b; }
};

/* `reduce` gives its result to every thread of the group. */
struct warp_group {
  static constexpr unsigned int threads = 32;
  unsigned int thread;
  __device__ __forceinline__ warp_group() : thread(threadIdx.x) {}
  __device__ __forceinline__ uint64_t first() const { return uint64_t(blockIdx.x) * blockDim.y + threadIdx.y; }
  __device__ __forceinline__ uint64_t step() const { return uint64_t(gridDim.x) * blockDim.y; }
  template <typename Of, typename Type>
  __device__ __forceinline__ Type reduce(Type value) const {
#pragma unroll
    for (unsigned int offset = 16; offset > 0; offset /= 2)
      value = Of::join(value, __shfl_xor_sync(ALL_LANES, value, offset));
    return value;
  }
};

struct block_group {
  unsigned int thread, threads;
  __device__ __forceinline__ block_group() : thread(threadIdx.x), threads(blockDim.x) {}
  __device__ __forceinline__ uint64_t first() const { return blockIdx.x; }
  __device__ __forceinline__ uint64_t step() const { return gridDim.x; }
  template <typename Of, typename Type>
  __device__ __forceinline__ Type reduce(Type value) const {
    __shared__ Type of_warp[32];
    const unsigned int warps = blockDim.x / 32;
    value = warp_group().reduce<Of>(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[threadIdx.x % warps];
    for (unsigned int offset = 1; offset < warps; offset *= 2)
      value = Of::join(value, __shfl_xor_sync(ALL_LANES, value, offset));
    __syncthreads(); /* before the next one writes there */
    return value;
  }
};

template <typename Type>
__device__ __forceinline__ bool rows_are_aligned(const struct gr_kernel_frame &frame, int arguments) {
  constexpr int width = GR_VECTOR_BYTES / sizeof(Type);
  bool is_aligned = frame.arguments[0].columns % width == 0;
  for (int i = 0; i < arguments; i++) is_aligned &= gr_is_aligned(frame.arguments[i].data, GR_VECTOR_BYTES);
  return is_aligned;
}

/* --- softmax_rows --- */

/* A row that the registers of the group hold, `Items` elements a thread. */
template <int Items, int Width, typename Group, typename Type>
__device__ __forceinline__ void softmax_row(const Group &group, const Type *x, Type *out, unsigned int columns) {
  typedef gr_vector<Type, Width> vector;
  constexpr int vectors = Items / Width;
  const unsigned int count = columns / Width;
  vector value[vectors];
#pragma unroll
  for (int k = 0; k < vectors; k++) {
    const unsigned int index = k * group.threads + group.thread;
    if (index < count) value[k] = reinterpret_cast<const vector *>(x)[index];
    else
#pragma unroll
      for (int e = 0; e < Width; e++) value[k].element[e] = -static_cast<Type>(INFINITY);
  }
  Type largest = value[0].element[0], sum = 0;
#pragma unroll
  for (int k = 0; k < vectors; k++)
#pragma unroll
    for (int e = 0; e < Width; e++) largest = fmax(largest, value[k].element[e]);
  largest = group.template reduce<max_of<Type>>(largest);
#pragma unroll
  for (int k = 0; k < vectors; k++)
#pragma unroll
    for (int e = 0; e < Width; e++) {
      /* What is not there is -infinity, and adds 0; in a row of nothing else, all is NaN anyway. */
      value[k].element[e] = exp(value[k].element[e] - largest);
      sum += value[k].element[e];
    }
  const Type factor = 1 / group.template reduce<sum_of<Type>>(sum);
#pragma unroll
  for (int k = 0; k < vectors; k++) {
    const unsigned int index = k * group.threads + group.thread;
#pragma unroll
    for (int e = 0; e < Width; e++) value[k].element[e] *= factor;
    if (index < count) reinterpret_cast<vector *>(out)[index] = value[k];
  }
}

template <int Items, typename Group, typename Type>
__device__ __forceinline__ void softmax_rows(const struct gr_kernel_frame &frame) {
  constexpr int width = GR_VECTOR_BYTES / sizeof(Type);
  const Group group;
  const uint64_t rows = frame.arguments[0].rows;
  const unsigned int columns = static_cast<unsigned int>(frame.arguments[0].columns);
  const bool is_aligned = rows_are_aligned<Type>(frame, 2);
#pragma unroll 1
  for (uint64_t row = group.first(); row < rows; row += group.step()) {
    const Type *x = gr_data<const Type>(frame, 0) + row * columns;
    Type *out = gr_data<Type>(frame, 1) + row * columns;
    if (is_aligned) softmax_row<Items, width>(group, x, out, columns);
    else softmax_row<Items, 1>(group, x, out, columns);
  }
}

template <typename Type>
__device__ __forceinline__ void softmax_short(const struct gr_kernel_frame &frame) {
  Type *shared = short_rows_memory<Type>();
  const uint64_t rows = frame.arguments[0].rows;
  const unsigned int columns = static_cast<unsigned int>(frame.arguments[0].columns);
  const uint64_t step = uint64_t(gridDim.x) * GR_SHORT_ROWS;
#pragma unroll 1
  for (uint64_t first = uint64_t(blockIdx.x) * GR_SHORT_ROWS; first < rows; first += step) {
    const unsigned int here = short_row_count(first, rows);
    load_short_rows(gr_data<const Type>(frame, 0) + first * columns, here * columns, columns, shared);
    __syncthreads();
    if (threadIdx.x < here) {
      Type *row = shared + threadIdx.x * short_row_pitch(columns);
      Type largest = row[0], sum = 0;
#pragma unroll 4
      for (unsigned int i = 1; i < columns; i++) largest = fmax(largest, row[i]);
#pragma unroll 4
      for (unsigned int i = 0; i < columns; i++) {
        row[i] = exp(row[i] - largest);
        sum += row[i];
      }
      const Type factor = 1 / sum;
#pragma unroll 4
      for (unsigned int i = 0; i < columns; i++) row[i] *= factor;
    }
    __syncthreads();
    store_short_rows(gr_data<Type>(frame, 1) + first * columns, here * columns, columns, shared);
    __syncthreads();
  }
}

/* A row of any length, read twice: the largest element and the sum are found in one pass, where the sum is made smaller
 * whenever a larger element turns up. */
template <typename Type>
__device__ __forceinline__ void softmax_long(const struct gr_kernel_frame &frame) {
  constexpr int batch = 8;
  const block_group group;
  const uint64_t rows = frame.arguments[0].rows, columns = frame.arguments[0].columns;
#pragma unroll 1
  for (uint64_t row = group.first(); row < rows; row += group.step()) {
    const Type *x = gr_data<const Type>(frame, 0) + row * columns;
    Type *out = gr_data<Type>(frame, 1) + row * columns;
    Type seen = -static_cast<Type>(INFINITY); /* the largest of this thread so far */
    double sum = 0;
    bool has_nan = false;
#pragma unroll 1
    for (uint64_t start = group.thread; start < columns; start += uint64_t(batch) * group.threads) {
      Type value[batch], largest = seen, part = 0;
#pragma unroll
      for (int k = 0; k < batch; k++) {
        const uint64_t column = start + uint64_t(k) * group.threads;
        value[k] = column < columns ? x[column] : -static_cast<Type>(INFINITY);
      }
#pragma unroll
      for (int k = 0; k < batch; k++) largest = fmax(largest, value[k]);
      /* Nothing but -infinity so far: nothing to add, and no difference to take. */
      if (largest == -static_cast<Type>(INFINITY)) {
#pragma unroll
        for (int k = 0; k < batch; k++) has_nan |= value[k] != value[k];
        continue;
      }
#pragma unroll
      for (int k = 0; k < batch; k++) part += exp(value[k] - largest);
      if (largest > seen) sum *= static_cast<double>(exp(seen - largest));
      sum += static_cast<double>(part);
      seen = largest;
    }
    const Type largest = group.reduce<max_of<Type>>(seen);
    if (seen < largest) sum *= static_cast<double>(exp(seen - largest));
    if (has_nan) sum = static_cast<double>(NAN);
    const Type factor = 1 / static_cast<Type>(group.reduce<sum_of<double>>(sum));
#pragma unroll 8
    for (uint64_t column = group.thread; column < columns; column += group.threads)
      out[column] = exp(x[column] - largest) * factor;
  }
}

#define SOFTMAX_ENTRIES(TYPE, SUFFIX, MANY)                                                                  \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_short, GR_SHORT_ROWS) { softmax_short<TYPE>(frame); }                  \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_4, GR_ROWS_THREADS) { softmax_rows<4, warp_group, TYPE>(frame); }      \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_8, GR_ROWS_THREADS) { softmax_rows<8, warp_group, TYPE>(frame); }      \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_many, GR_ROWS_THREADS) { softmax_rows<MANY, warp_group, TYPE>(frame); } \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_block, GR_SOFTMAX_BLOCK_BYTES_MAX / GR_SOFTMAX_BLOCK_ITEMS / sizeof(TYPE)) { \
    softmax_rows<GR_SOFTMAX_BLOCK_ITEMS, block_group, TYPE>(frame);                                          \
  }                                                                                                          \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_long, 1024) { softmax_long<TYPE>(frame); }
SOFTMAX_ENTRIES(float, f32, 32)
SOFTMAX_ENTRIES(double, f64, 16)

/* --- argmax_rows: first how large, then where. Of its elements a thread remembers only in which batch the largest first
 * was; only where it is the row's largest, the batch is read again. --- */

template <typename Type>
__device__ __forceinline__ bool is_larger(Type a, Type b) {
  return a > b || (a != a && b == b);
}
template <typename Type>
__device__ __forceinline__ bool is_equal(Type a, Type b) {
  return a == b || (a != a && b != b);
}

template <typename Type>
__device__ __forceinline__ void argmax_short(const struct gr_kernel_frame &frame) {
  Type *shared = short_rows_memory<Type>();
  const uint64_t rows = frame.arguments[0].rows;
  const unsigned int columns = static_cast<unsigned int>(frame.arguments[0].columns);
  const uint64_t step = uint64_t(gridDim.x) * GR_SHORT_ROWS;
#pragma unroll 1
  for (uint64_t first = uint64_t(blockIdx.x) * GR_SHORT_ROWS; first < rows; first += step) {
    const unsigned int here = short_row_count(first, rows);
    load_short_rows(gr_data<const Type>(frame, 0) + first * columns, here * columns, columns, shared);
    __syncthreads();
    if (threadIdx.x < here) {
      const Type *row = shared + threadIdx.x * short_row_pitch(columns);
      Type best = row[0];
      unsigned int column = 0;
#pragma unroll 4
      for (unsigned int i = 1; i < columns; i++)
        if (is_larger(row[i], best)) {
          best = row[i];
          column = i;
        }
      gr_data<int32_t>(frame, 1)[first + threadIdx.x] = static_cast<int32_t>(column);
    }
    __syncthreads();
  }
}

/* The elements of a batch, in ascending columns; beyond the end, the row's last element once more. */
template <int Batch, int Width, typename Group, typename Type>
__device__ __forceinline__ void load_batch(const Group &group, const Type *x, unsigned int start, unsigned int count,
                                           gr_vector<Type, Width> (&value)[Batch]) {
#pragma unroll
  for (int k = 0; k < Batch; k++) {
    const unsigned int index = start + k * group.threads;
    value[k] = reinterpret_cast<const gr_vector<Type, Width> *>(x)[index < count ? index : count - 1];
  }
}

template <int Batch, int Width, typename Group, typename Type>
__device__ __forceinline__ unsigned int argmax_row(const Group &group, const Type *x, unsigned int columns) {
  const unsigned int count = columns / Width;
  constexpr unsigned int nowhere = 0xffffffffu;
  gr_vector<Type, Width> value[Batch];
  Type best = -static_cast<Type>(INFINITY);
  unsigned int best_start = nowhere;
#pragma unroll 1
  for (unsigned int start = group.thread; start < count; start += Batch * group.threads) {
    load_batch<Batch, Width>(group, x, start, count, value);
    Type largest = value[0].element[0];
#pragma unroll
    for (int k = 0; k < Batch; k++)
#pragma unroll
      for (int e = 0; e < Width; e++) largest = largest_or_nan(largest, value[k].element[e]);
    if (best_start == nowhere || is_larger(largest, best)) {
      best = largest;
      best_start = start;
    }
  }
  const Type largest = group.template reduce<largest_of<Type>>(best);
  unsigned int column = nowhere;
  if (best_start != nowhere && is_equal(best, largest)) {
    load_batch<Batch, Width>(group, x, best_start, count, value);
#pragma unroll
    for (int k = Batch - 1; k >= 0; k--)
#pragma unroll
      for (int e = Width - 1; e >= 0; e--) {
        const unsigned int index = best_start + k * group.threads;
        if (index < count && is_equal(value[k].element[e], largest)) column = index * Width + e;
      }
  }
  return group.template reduce<least_of<unsigned int>>(column);
}

template <int Batch, typename Group, typename Type>
__device__ __forceinline__ void argmax_rows(const struct gr_kernel_frame &frame) {
  constexpr int width = GR_VECTOR_BYTES / sizeof(Type);
  const Group group;
  const uint64_t rows = frame.arguments[0].rows;
  const unsigned int columns = static_cast<unsigned int>(frame.arguments[0].columns);
  const bool is_aligned = rows_are_aligned<Type>(frame, 1);
#pragma unroll 1
  for (uint64_t row = group.first(); row < rows; row += group.step()) {
    const Type *x = gr_data<const Type>(frame, 0) + row * columns;
    unsigned int column;
    if (is_aligned) column = argmax_row<Batch, width>(group, x, columns);
    else column = argmax_row<Batch * width, 1>(group, x, columns);
    if (group.thread == 0) gr_data<int32_t>(frame, 1)[row] = static_cast<int32_t>(column);
  }
}

#define ARGMAX_ENTRIES(TYPE, SUFFIX)                                                                       \
  GR_ENTRY(gr_argmax_rows_##SUFFIX##_short, GR_SHORT_ROWS) { argmax_short<TYPE>(frame); }                  \
  GR_ENTRY(gr_argmax_rows_##SUFFIX##_1, GR_ROWS_THREADS) { argmax_rows<1, warp_group, TYPE>(frame); }      \
  GR_ENTRY(gr_argmax_rows_##SUFFIX##_4, GR_ROWS_THREADS) { argmax_rows<4, warp_group, TYPE>(frame); }      \
  GR_ENTRY(gr_argmax_rows_##SUFFIX##_block, 1024) { argmax_rows<4, block_group, TYPE>(frame); }
ARGMAX_ENTRIES(float, f32)
ARGMAX_ENTRIES(double, f64)

/* --- add_row: by elements, not by rows, so that short rows cost no more than long ones --- */

/* The position in the row after a step, with neither division nor loop. Both are below `columns`. */
__device__ __forceinline__ uint64_t advance(uint64_t column, uint64_t step, uint64_t columns) {
  column += step;
  return column >= columns ? column - columns : column;
}

template <int Width, typename Type>
__device__ __forceinline__ void add_row(const struct gr_kernel_frame &frame) {
  typedef gr_vector<Type, Width> vector;
  constexpr int items = GR_ADD_ROW_ITEMS / Width;
  const uint64_t columns = frame.arguments[1].columns * frame.arguments[1].rows / Width;
  const uint64_t count = gr_count(frame, 0) / Width;
  const vector *x = gr_data<const vector>(frame, 0);
  const vector *row = gr_data<const vector>(frame, 1);
  vector *out = gr_data<vector>(frame, 2);
  const uint64_t step = blockDim.x % columns;
  const uint64_t tile = uint64_t(items) * blockDim.x;
#pragma unroll 1
  for (uint64_t start = blockIdx.x * tile + threadIdx.x; start < count; start += gridDim.x * tile) {
    vector value[items], addend[items];
    /* The 64-bit remainder is a subroutine. */
    uint64_t column = (start | columns) >> 32 == 0 ? uint32_t(start) % uint32_t(columns) : start % columns;
#pragma unroll
    for (int k = 0; k < items; k++) {
      const uint64_t index = start + uint64_t(k) * blockDim.x;
      if (index < count) {
        value[k] = x[index];
        addend[k] = row[column];
      }
      column = advance(column, step, columns);
    }
#pragma unroll
    for (int k = 0; k < items; k++) {
      const uint64_t index = start + uint64_t(k) * blockDim.x;
      if (index >= count) break;
#pragma unroll
      for (int e = 0; e < Width; e++) value[k].element[e] += addend[k].element[e];
      out[index] = value[k];
    }
  }
}

template <typename Type>
__device__ __forceinline__ void add_row_any(const struct gr_kernel_frame &frame) {
  constexpr int width = GR_VECTOR_BYTES / sizeof(Type);
  bool is_aligned = frame.arguments[1].columns * frame.arguments[1].rows % width == 0;
#pragma unroll
  for (int i = 0; i < 3; i++) is_aligned &= gr_is_aligned(frame.arguments[i].data, GR_VECTOR_BYTES);
  if (is_aligned) add_row<width, Type>(frame);
  else add_row<1, Type>(frame);
}
GR_ENTRY(gr_add_row_f32, GR_ROWS_THREADS) { add_row_any<float>(frame); }
GR_ENTRY(gr_add_row_f64, GR_ROWS_THREADS) { add_row_any<double>(frame); }
