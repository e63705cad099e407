/* Kernels that work on the rows of a buffer of two dimensions. How many threads share a row depends on its length: a part
 * of a warp, a warp, or a block; rows_host.c chooses the entry. Entries for groups get the group's size, a power of two,
 * as blockDim.x; blockDim.x * blockDim.y is GR_ROWS_THREADS. */
#include "kernels/device.cuh"
#include "kernels/number.h"

constexpr unsigned int ALL_LANES = 0xffffffffu;

/* A group works on `Rows` rows at once, blockDim.y apart. A warp whose first row is there keeps all its lanes, since they
 * exchange values: so a loop runs while `warp_row` is there, for rows that are there or not. */
template <int Rows>
__device__ __forceinline__ uint64_t first_row() {
  return uint64_t(blockIdx.x) * Rows * blockDim.y + threadIdx.y;
}
template <int Rows>
__device__ __forceinline__ uint64_t row_step() {
  return uint64_t(gridDim.x) * Rows * blockDim.y;
}
__device__ __forceinline__ uint64_t warp_row(uint64_t row) { return row & ~uint64_t(32 / blockDim.x - 1); }

template <typename Type>
struct sum_of {
  static __device__ __forceinline__ Type join(Type a, Type b) { return a + b; }
};
/* A NaN that is lost here makes every exponential of its row a NaN later on. */
template <typename Type>
struct max_of {
  static __device__ __forceinline__ Type join(Type a, Type b) { return fmax(a, b); }
};

/* Over the `lanes` threads of a group; every thread gets the result. All lanes of the warp take part. */
template <typename Of, typename Type>
__device__ __forceinline__ Type reduce_group(Type value, unsigned int lanes) {
  for (unsigned int offset = lanes / 2; offset > 0; offset /= 2)
    value = Of::join(value, __shfl_xor_sync(ALL_LANES, value, offset));
  return value;
}

/* Over the whole block, `shared` holds one value for each warp. */
template <typename Of, typename Type>
__device__ __forceinline__ Type reduce_block(Type value, Type *shared) {
  value = reduce_group<Of>(value, 32);
  const unsigned int warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % 32 % warps];
  for (unsigned int offset = 1; offset < warps; offset *= 2)
    value = Of::join(value, __shfl_xor_sync(ALL_LANES, value, offset));
  __syncthreads();
  return value;
}

/* --- softmax_rows --- */

/* Rows that the registers of a group hold, `Items` elements a thread and row. */
template <int Items, int Rows, typename Type>
__device__ __forceinline__ void softmax_group(const struct gr_kernel_frame &frame) {
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  const Type *x = gr_data<const Type>(frame, 0);
  Type *out = gr_data<Type>(frame, 1);
  for (uint64_t start = first_row<Rows>(); warp_row(start) < rows; start += row_step<Rows>()) {
    Type value[Rows][Items];
#pragma unroll
    for (int r = 0; r < Rows; r++)
#pragma unroll
      for (int k = 0; k < Items; k++) {
        const uint64_t row = start + r * blockDim.y, column = k * blockDim.x + threadIdx.x;
        value[r][k] = column < columns && row < rows ? x[row * columns + column] : -static_cast<Type>(INFINITY);
      }
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      Type largest = value[r][0], sum = 0;
#pragma unroll
      for (int k = 1; k < Items; k++) largest = fmax(largest, value[r][k]);
      largest = reduce_group<max_of<Type>>(largest, blockDim.x);
#pragma unroll
      for (int k = 0; k < Items; k++) {
        value[r][k] = exp(value[r][k] - largest);
        sum += k * blockDim.x + threadIdx.x < columns ? value[r][k] : static_cast<Type>(0);
      }
      sum = reduce_group<sum_of<Type>>(sum, blockDim.x);
#pragma unroll
      for (int k = 0; k < Items; k++) {
        const uint64_t row = start + r * blockDim.y, column = k * blockDim.x + threadIdx.x;
        if (column < columns && row < rows) out[row * columns + column] = value[r][k] / sum;
      }
    }
  }
}

/* A row that the registers of a block hold. */
template <typename Type>
__device__ __forceinline__ void softmax_block(const struct gr_kernel_frame &frame) {
  __shared__ Type shared[32];
  constexpr int items = GR_SOFTMAX_BLOCK_ITEMS;
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  for (uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Type *x = gr_data<const Type>(frame, 0) + row * columns;
    Type *out = gr_data<Type>(frame, 1) + row * columns;
    Type value[items];
    Type largest = -static_cast<Type>(INFINITY);
#pragma unroll
    for (int k = 0; k < items; k++) {
      const uint64_t column = k * blockDim.x + threadIdx.x;
      value[k] = column < columns ? x[column] : -static_cast<Type>(INFINITY);
    }
#pragma unroll
    for (int k = 0; k < items; k++) largest = fmax(largest, value[k]);
    largest = reduce_block<max_of<Type>>(largest, shared);
    Type sum = 0;
#pragma unroll
    for (int k = 0; k < items; k++) {
      value[k] = exp(value[k] - largest);
      sum += k * blockDim.x + threadIdx.x < columns ? value[k] : static_cast<Type>(0);
    }
    sum = reduce_block<sum_of<Type>>(sum, shared);
#pragma unroll
    for (int k = 0; k < items; k++) {
      const uint64_t column = k * blockDim.x + threadIdx.x;
      if (column < columns) out[column] = value[k] / sum;
    }
  }
}

/* A row of any length, read three times. */
template <typename Type>
__device__ __forceinline__ void softmax_long(const struct gr_kernel_frame &frame) {
  __shared__ Type shared[32];
  __shared__ double shared_sums[32];
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  for (uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Type *x = gr_data<const Type>(frame, 0) + row * columns;
    Type *out = gr_data<Type>(frame, 1) + row * columns;
    Type largest = -static_cast<Type>(INFINITY);
#pragma unroll 8
    for (uint64_t column = threadIdx.x; column < columns; column += blockDim.x) largest = fmax(largest, x[column]);
    largest = reduce_block<max_of<Type>>(largest, shared);
    double sum = 0;
#pragma unroll 8
    for (uint64_t column = threadIdx.x; column < columns; column += blockDim.x) sum += exp(x[column] - largest);
    const Type total = static_cast<Type>(reduce_block<sum_of<double>>(sum, shared_sums));
#pragma unroll 8
    for (uint64_t column = threadIdx.x; column < columns; column += blockDim.x)
      out[column] = exp(x[column] - largest) / total;
  }
}

#define SOFTMAX_ENTRIES(TYPE, SUFFIX, MANY)                                                                         \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_2, GR_ROWS_THREADS) {                                                   \
    softmax_group<2, GR_ROWS_AT_ONCE, TYPE>(frame);                                                           \
  }                                                                                                           \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_8, GR_ROWS_THREADS) { softmax_group<8, 1, TYPE>(frame); }               \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_##MANY, GR_ROWS_THREADS) { softmax_group<MANY, 1, TYPE>(frame); }       \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_block, 1024) { softmax_block<TYPE>(frame); }                            \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_long, 1024) { softmax_long<TYPE>(frame); }
SOFTMAX_ENTRIES(float, f32, 32)
SOFTMAX_ENTRIES(double, f64, 16)

/* --- argmax_rows --- */

template <typename Type>
struct candidate {
  Type value;
  int32_t column; /* -1: none yet */
};

/* True when the first is larger: NaN is larger than all numbers, and among equals the first column is. */
template <typename Type>
__device__ __forceinline__ bool is_better(candidate<Type> a, candidate<Type> b) {
  if (a.column < 0 || b.column < 0) return b.column < 0;
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (!a_is_nan && a.value != b.value) return a.value > b.value;
  return a.column < b.column;
}

template <typename Type>
__device__ __forceinline__ candidate<Type> argmax_group(candidate<Type> best, unsigned int lanes) {
  for (unsigned int offset = lanes / 2; offset > 0; offset /= 2) {
    const candidate<Type> other = {__shfl_xor_sync(ALL_LANES, best.value, offset),
                                   __shfl_xor_sync(ALL_LANES, best.column, offset)};
    if (is_better(other, best)) best = other;
  }
  return best;
}

/* Loads `Batch` elements of a row, then compares them. In ascending columns: so an equal value never replaces an earlier
 * one. */
template <int Batch, typename Type>
__device__ __forceinline__ void argmax_batch(const Type *x, uint64_t start, uint64_t columns, candidate<Type> &best) {
  Type value[Batch];
#pragma unroll
  for (int k = 0; k < Batch; k++) {
    const uint64_t column = start + uint64_t(k) * blockDim.x;
    value[k] = column < columns ? x[column] : static_cast<Type>(0);
  }
#pragma unroll
  for (int k = 0; k < Batch; k++) {
    const uint64_t column = start + uint64_t(k) * blockDim.x;
    const bool is_larger =
        best.column < 0 || value[k] > best.value || (value[k] != value[k] && best.value == best.value);
    if (column < columns && is_larger) best = {value[k], static_cast<int32_t>(column)};
  }
}

/* What one thread sees of a row. */
template <int Batch, typename Type>
__device__ __forceinline__ candidate<Type> argmax_thread(const Type *x, uint64_t columns) {
  candidate<Type> best = {0, -1};
#pragma unroll 1
  for (uint64_t start = threadIdx.x; start < columns; start += uint64_t(Batch) * blockDim.x)
    argmax_batch<Batch>(x, start, columns, best);
  return best;
}

/* Rows so short that the group loads each at once. */
template <typename Type>
__device__ __forceinline__ void argmax_short_rows(const struct gr_kernel_frame &frame) {
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  for (uint64_t start = first_row<GR_ROWS_AT_ONCE>(); warp_row(start) < rows; start += row_step<GR_ROWS_AT_ONCE>()) {
    candidate<Type> best[GR_ROWS_AT_ONCE];
#pragma unroll
    for (int r = 0; r < GR_ROWS_AT_ONCE; r++) {
      const uint64_t row = start + r * blockDim.y;
      best[r] = {0, -1};
      argmax_batch<2>(gr_data<const Type>(frame, 0) + row * columns, threadIdx.x, row < rows ? columns : 0, best[r]);
    }
#pragma unroll
    for (int r = 0; r < GR_ROWS_AT_ONCE; r++) {
      const uint64_t row = start + r * blockDim.y;
      best[r] = argmax_group(best[r], blockDim.x);
      if (threadIdx.x == 0 && row < rows) gr_data<int32_t>(frame, 1)[row] = best[r].column;
    }
  }
}

template <typename Type>
__device__ __forceinline__ void argmax_group_rows(const struct gr_kernel_frame &frame) {
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  for (uint64_t row = first_row<1>(); warp_row(row) < rows; row += row_step<1>()) {
    candidate<Type> best = argmax_thread<8>(gr_data<const Type>(frame, 0) + row * columns, row < rows ? columns : 0);
    best = argmax_group(best, blockDim.x);
    if (threadIdx.x == 0 && row < rows) gr_data<int32_t>(frame, 1)[row] = best.column;
  }
}

template <typename Type>
__device__ __forceinline__ void argmax_block_rows(const struct gr_kernel_frame &frame) {
  __shared__ candidate<Type> shared[32];
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  const unsigned int warps = blockDim.x / 32;
  for (uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    candidate<Type> best = argmax_thread<8>(gr_data<const Type>(frame, 0) + row * columns, columns);
    best = argmax_group(best, 32);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x < 32) {
      best = shared[threadIdx.x % warps];
      best = argmax_group(best, 32);
      if (threadIdx.x == 0) gr_data<int32_t>(frame, 1)[row] = best.column;
    }
    __syncthreads();
  }
}

GR_ENTRY(gr_argmax_rows_f32_short, GR_ROWS_THREADS) { argmax_short_rows<float>(frame); }
GR_ENTRY(gr_argmax_rows_f64_short, GR_ROWS_THREADS) { argmax_short_rows<double>(frame); }
GR_ENTRY(gr_argmax_rows_f32, GR_ROWS_THREADS) { argmax_group_rows<float>(frame); }
GR_ENTRY(gr_argmax_rows_f64, GR_ROWS_THREADS) { argmax_group_rows<double>(frame); }
GR_ENTRY(gr_argmax_rows_f32_block, 1024) { argmax_block_rows<float>(frame); }
GR_ENTRY(gr_argmax_rows_f64_block, 1024) { argmax_block_rows<double>(frame); }

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
