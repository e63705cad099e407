/* Kernels that work on the rows of a buffer of two dimensions. rows_host.c chooses an entry by the length of a row:
 * - short rows: a part of a warp has several rows at once, one access of each thread for each row;
 * - a row that the registers of a warp hold belongs to a warp, one that a block's hold to a block, without barriers in
 * the first case;
 * - longer ones are read twice, by a block. */
#include "kernels/device.cuh"
#include "kernels/number.h"

constexpr unsigned int ALL_LANES = 0xffffffffu;

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

/* --- Short rows. `Lanes` adjacent threads have `Rows` rows at once, each thread GR_FEW_ITEMS elements of each. --- */

template <int Lanes, typename Of, typename Type>
__device__ __forceinline__ Type reduce_lanes(Type value) {
#pragma unroll
  for (unsigned int offset = Lanes / 2; offset > 0; offset /= 2)
    value = Of::join(value, __shfl_xor_sync(ALL_LANES, value, offset));
  return value;
}

template <int Lanes, int Rows, int Width, typename Type>
struct few_rows {
  typedef gr_vector<Type, Width> vector;
  static constexpr int vectors = GR_FEW_ITEMS / Width;
  static constexpr int groups = GR_ROWS_THREADS / Lanes;
  uint64_t rows;
  unsigned int columns, lane, group;
  vector value[Rows][vectors];

  __device__ __forceinline__ few_rows(uint64_t rows_, unsigned int columns_)
      : rows(rows_), columns(columns_), lane(threadIdx.x % Lanes), group(threadIdx.x / Lanes) {}
  __device__ __forceinline__ uint64_t row(uint64_t first, int r) const { return first + r * groups + group; }
  /* Of the row's vectors, the k-th of this thread. */
  __device__ __forceinline__ unsigned int index(int k) const { return k * Lanes + lane; }
  __device__ __forceinline__ bool is_there(int k) const { return index(k) < columns / Width; }

  /* What lies behind the end of a row is `none`. Behind the last row it comes again, since all lanes of a warp exchange
   * values. */
  __device__ __forceinline__ void load(const Type *x, uint64_t first, Type none) {
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      const uint64_t from = row(first, r) < rows ? row(first, r) : rows - 1;
#pragma unroll
      for (int k = 0; k < vectors; k++) {
        if (is_there(k)) value[r][k] = reinterpret_cast<const vector *>(x + from * columns)[index(k)];
        else
#pragma unroll
          for (int e = 0; e < Width; e++) value[r][k].element[e] = none;
      }
    }
  }
};

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

template <int Lanes, int Width, typename Type>
__device__ __forceinline__ void softmax_few(const struct gr_kernel_frame &frame) {
  constexpr int at_once = GR_SOFTMAX_FEW_ROWS;
  typedef few_rows<Lanes, at_once, Width, Type> rows_type;
  rows_type here(frame.arguments[0].rows, static_cast<unsigned int>(frame.arguments[0].columns));
  const uint64_t tile = at_once * rows_type::groups;
#pragma unroll 1
  for (uint64_t first = blockIdx.x * tile; first < here.rows; first += gridDim.x * tile) {
    here.load(gr_data<const Type>(frame, 0), first, -static_cast<Type>(INFINITY));
#pragma unroll
    for (int r = 0; r < at_once; r++) {
      Type largest = here.value[r][0].element[0], sum = 0;
#pragma unroll
      for (int i = 1; i < GR_FEW_ITEMS; i++) largest = fmax(largest, here.value[r][i / Width].element[i % Width]);
      largest = reduce_lanes<Lanes, max_of<Type>>(largest);
#pragma unroll
      for (int i = 0; i < GR_FEW_ITEMS; i++) {
        Type &value = here.value[r][i / Width].element[i % Width];
        value = exp(value - largest);
        sum += value;
      }
      const Type factor = 1 / reduce_lanes<Lanes, sum_of<Type>>(sum);
#pragma unroll
      for (int k = 0; k < rows_type::vectors; k++) {
#pragma unroll
        for (int e = 0; e < Width; e++) here.value[r][k].element[e] *= factor;
        if (here.is_there(k) && here.row(first, r) < here.rows)
          reinterpret_cast<typename rows_type::vector *>(
              gr_data<Type>(frame, 1) + here.row(first, r) * here.columns)[here.index(k)] = here.value[r][k];
      }
    }
  }
}
template <int Lanes, typename Type>
__device__ __forceinline__ void softmax_few(const struct gr_kernel_frame &frame) {
  if (rows_are_aligned<Type>(frame, 2)) softmax_few<Lanes, GR_VECTOR_BYTES / sizeof(Type), Type>(frame);
  else softmax_few<Lanes, 1, Type>(frame);
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

#define FEW_ENTRIES(NAME, FUNCTION, TYPE, SUFFIX)                                         \
  GR_ENTRY(gr_##NAME##_##SUFFIX##_few_2, GR_ROWS_THREADS) { FUNCTION<2, TYPE>(frame); }   \
  GR_ENTRY(gr_##NAME##_##SUFFIX##_few_4, GR_ROWS_THREADS) { FUNCTION<4, TYPE>(frame); }   \
  GR_ENTRY(gr_##NAME##_##SUFFIX##_few_8, GR_ROWS_THREADS) { FUNCTION<8, TYPE>(frame); }   \
  GR_ENTRY(gr_##NAME##_##SUFFIX##_few_16, GR_ROWS_THREADS) { FUNCTION<16, TYPE>(frame); } \
  GR_ENTRY(gr_##NAME##_##SUFFIX##_few_32, GR_ROWS_THREADS) { FUNCTION<32, TYPE>(frame); }
FEW_ENTRIES(softmax_rows, softmax_few, float, f32)
FEW_ENTRIES(softmax_rows, softmax_few, double, f64)

#define SOFTMAX_ENTRIES(TYPE, SUFFIX, MANY)                                                                        \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_8, GR_ROWS_THREADS) { softmax_rows<8, warp_group, TYPE>(frame); }            \
  GR_ENTRY_BLOCKS(gr_softmax_rows_##SUFFIX##_many, GR_ROWS_THREADS, 2) {                                           \
    softmax_rows<MANY, warp_group, TYPE>(frame);                                                                   \
  }                                                                                                                \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_block, GR_SOFTMAX_BLOCK_BYTES_MAX / GR_SOFTMAX_BLOCK_ITEMS / sizeof(TYPE)) { \
    softmax_rows<GR_SOFTMAX_BLOCK_ITEMS, block_group, TYPE>(frame);                                                \
  }                                                                                                                \
  GR_ENTRY(gr_softmax_rows_##SUFFIX##_long, 1024) { softmax_long<TYPE>(frame); }
SOFTMAX_ENTRIES(float, f32, 32)
SOFTMAX_ENTRIES(double, f64, 16)

/* --- argmax_rows: first how large, then where. Of its elements a thread remembers only in which batch the largest
 * first was; only where it is the row's largest, the batch is read again. --- */

template <typename Type>
__device__ __forceinline__ bool is_larger(Type a, Type b) {
  return a > b || (a != a && b == b);
}
template <typename Type>
__device__ __forceinline__ bool is_equal(Type a, Type b) {
  return a == b || (a != a && b != b);
}

template <int Lanes, int Width, typename Type>
__device__ __forceinline__ void argmax_few(const struct gr_kernel_frame &frame) {
  constexpr int at_once = GR_ARGMAX_FEW_ROWS;
  typedef few_rows<Lanes, at_once, Width, Type> rows_type;
  rows_type here(frame.arguments[0].rows, static_cast<unsigned int>(frame.arguments[0].columns));
  const uint64_t tile = at_once * rows_type::groups;
#pragma unroll 1
  for (uint64_t first = blockIdx.x * tile; first < here.rows; first += gridDim.x * tile) {
    here.load(gr_data<const Type>(frame, 0), first, -static_cast<Type>(INFINITY));
#pragma unroll
    for (int r = 0; r < at_once; r++) {
      Type largest = here.value[r][0].element[0];
#pragma unroll
      for (int i = 1; i < GR_FEW_ITEMS; i++)
        largest = largest_or_nan(largest, here.value[r][i / Width].element[i % Width]);
      largest = reduce_lanes<Lanes, largest_of<Type>>(largest);
      /* What is not there may equal the largest, but comes behind what is. A NaN that is there is the largest. */
      unsigned int column = 0xffffffffu;
#pragma unroll
      for (int i = GR_FEW_ITEMS - 1; i >= 0; i--) {
        const Type value = here.value[r][i / Width].element[i % Width];
        if (value == largest || value != value) column = here.index(i / Width) * Width + i % Width;
      }
      column = reduce_lanes<Lanes, least_of<unsigned int>>(column);
      if (here.lane == 0 && here.row(first, r) < here.rows)
        gr_data<int32_t>(frame, 1)[here.row(first, r)] = static_cast<int32_t>(column);
    }
  }
}
template <int Lanes, typename Type>
__device__ __forceinline__ void argmax_few(const struct gr_kernel_frame &frame) {
  if (rows_are_aligned<Type>(frame, 1)) argmax_few<Lanes, GR_VECTOR_BYTES / sizeof(Type), Type>(frame);
  else argmax_few<Lanes, 1, Type>(frame);
}
FEW_ENTRIES(argmax_rows, argmax_few, float, f32)
FEW_ENTRIES(argmax_rows, argmax_few, double, f64)

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

#define ARGMAX_ENTRIES(TYPE, SUFFIX)                                                                  \
  GR_ENTRY(gr_argmax_rows_##SUFFIX##_1, GR_ROWS_THREADS) { argmax_rows<1, warp_group, TYPE>(frame); } \
  GR_ENTRY(gr_argmax_rows_##SUFFIX##_4, GR_ROWS_THREADS) { argmax_rows<4, warp_group, TYPE>(frame); } \
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
