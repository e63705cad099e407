/* 2-D correlation with weights of odd extents; outside of the picture its edge is repeated. A thread computes several
 * outputs one below the other: each row of the picture that it reads serves all outputs whose window holds the row. */
#include "kernels/device.cuh"

__device__ __forceinline__ int64_t within(int64_t index, int64_t extent) {
  return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

/* Where a block's outputs begin. Blocks have `width` columns and `height` rows and are numbered along the rows. */
struct place {
  int64_t row, column;
};
__device__ __forceinline__ place place_of(uint64_t block, int64_t columns, int width, int height) {
  const uint64_t across = gr_ceil_div(columns, width);
  if (((block | across) >> 32) == 0) { /* the 64-bit division is a subroutine */
    const uint32_t row = uint32_t(block) / uint32_t(across);
    return {int64_t(row) * height, int64_t(uint32_t(block) - row * uint32_t(across)) * width};
  }
  return {int64_t(block / across) * height, int64_t(block % across) * width};
}

/* The piece of the picture that a block's windows touch, in shared memory. All of a thread's loads are under way before
 * it stores the first. */
template <int Size, typename Type>
struct piece {
  static constexpr int reach = Size / 2;
  static constexpr int width = GR_CONV2D_THREADS * GR_CONV2D_COLUMNS;
  static constexpr int height = sizeof(Type) == sizeof(float) ? GR_CONV2D_ROWS_F32 : GR_CONV2D_ROWS;
  static constexpr int rows = height + Size - 1;
  Type pixel[rows][width + Size - 1];

  __device__ __forceinline__ void load(const Type *x, int64_t row, int64_t column, int64_t x_rows, int64_t x_columns) {
    Type value[rows][GR_CONV2D_COLUMNS], halo[rows];
    int64_t from[GR_CONV2D_COLUMNS];
#pragma unroll
    for (int c = 0; c < GR_CONV2D_COLUMNS; c++)
      from[c] = within(column - reach + c * GR_CONV2D_THREADS + threadIdx.x, x_columns);
    const int64_t from_halo = within(column - reach + width + threadIdx.x, x_columns);
    const bool is_inside = row >= reach && row - reach + rows <= x_rows;
    const Type *line = x + within(row - reach, x_rows) * x_columns;
#pragma unroll
    for (int i = 0; i < rows; i++) {
      if (!is_inside) line = x + within(row - reach + i, x_rows) * x_columns;
#pragma unroll
      for (int c = 0; c < GR_CONV2D_COLUMNS; c++) value[i][c] = line[from[c]];
      if (threadIdx.x < Size - 1) halo[i] = line[from_halo];
      line += x_columns;
    }
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
      for (int c = 0; c < GR_CONV2D_COLUMNS; c++) pixel[i][c * GR_CONV2D_THREADS + threadIdx.x] = value[i][c];
      if (threadIdx.x < Size - 1) pixel[i][width + threadIdx.x] = halo[i];
    }
  }
};

/* Square windows of a size that is known here: the weights lie in registers, loops are unrolled. */
template <int Size, typename Type>
__device__ __forceinline__ void conv2d_square(const struct gr_kernel_frame &frame) {
  typedef gr_vector<Type, GR_CONV2D_COLUMNS> vector;
  constexpr int lines = piece<Size, Type>::height, across = GR_CONV2D_COLUMNS;
  constexpr int span = Size - 1 + across; /* pixels of a row that a thread's windows touch */
  __shared__ alignas(GR_VECTOR_BYTES) piece<Size, Type> shared;
  const int64_t rows = frame.arguments[0].rows, columns = frame.arguments[0].columns;
  const Type *weights = gr_data<const Type>(frame, 1);
  Type *out = gr_data<Type>(frame, 2);
  const bool is_aligned = columns % across == 0 && gr_is_aligned(out, sizeof(vector));
  const uint64_t blocks = gr_ceil_div(columns, piece<Size, Type>::width) * gr_ceil_div(rows, lines);
#pragma unroll 1
  for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const place at = place_of(block, columns, piece<Size, Type>::width, lines);
    shared.load(gr_data<const Type>(frame, 0), at.row, at.column, rows, columns);
    Type weight[Size][Size];
#pragma unroll
    for (int i = 0; i < Size; i++)
#pragma unroll
      for (int j = 0; j < Size; j++) weight[i][j] = weights[i * Size + j];
    __syncthreads();
    Type sum[lines][across] = {};
#pragma unroll
    for (int i = 0; i < lines + Size - 1; i++) {
      Type value[span];
#pragma unroll
      for (int j = 0; j < span; j += across) {
        const vector pair = *reinterpret_cast<const vector *>(&shared.pixel[i][across * threadIdx.x + j]);
#pragma unroll
        for (int e = 0; e < across; e++) value[j + e] = pair.element[e];
      }
#pragma unroll
      for (int r = 0; r < lines; r++)
        if (i - r >= 0 && i - r < Size)
#pragma unroll
          for (int j = 0; j < Size; j++)
#pragma unroll
            for (int e = 0; e < across; e++) sum[r][e] += weight[i - r][j] * value[j + e];
    }
    const int64_t column = at.column + across * threadIdx.x;
#pragma unroll
    for (int r = 0; r < lines; r++) {
      if (at.row + r >= rows || column >= columns) break;
      Type *target = out + (at.row + r) * columns + column;
      if (is_aligned) *reinterpret_cast<vector *>(target) = {sum[r][0], sum[r][1]};
      else
#pragma unroll
        for (int e = 0; e < across; e++)
          if (column + e < columns) target[e] = sum[r][e];
    }
    __syncthreads();
  }
}

/* Windows of any size. Going down a column, each pixel serves the windows of all of a thread's outputs. */
template <typename Type>
__device__ __forceinline__ void conv2d_general(const struct gr_kernel_frame &frame) {
  constexpr int lines = GR_CONV2D_ROWS;
  const int64_t rows = frame.arguments[0].rows, columns = frame.arguments[0].columns;
  const int64_t height = frame.arguments[1].rows, width = frame.arguments[1].columns;
  const Type *x = gr_data<const Type>(frame, 0);
  const Type *weights = gr_data<const Type>(frame, 1);
  Type *out = gr_data<Type>(frame, 2);
  const uint64_t blocks = gr_ceil_div(columns, GR_CONV2D_THREADS) * gr_ceil_div(rows, lines);
#pragma unroll 1
  for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const place at = place_of(block, columns, GR_CONV2D_THREADS, lines);
    const int64_t top = at.row - height / 2, column = at.column + threadIdx.x;
    if (column >= columns) continue;
    Type sum[lines] = {};
#pragma unroll 1
    for (int64_t j = 0; j < width; j++) {
      const Type *line = x + within(column + j - width / 2, columns);
      Type value[lines];
#pragma unroll
      for (int r = 0; r < lines - 1; r++) value[r] = line[within(top + r, rows) * columns];
#pragma unroll 4
      for (int64_t i = 0; i < height; i++) {
        const Type weight = weights[i * width + j];
        value[lines - 1] = line[within(top + i + lines - 1, rows) * columns];
#pragma unroll
        for (int r = 0; r < lines; r++) sum[r] += weight * value[r];
#pragma unroll
        for (int r = 0; r < lines - 1; r++) value[r] = value[r + 1];
      }
    }
#pragma unroll
    for (int r = 0; r < lines; r++)
      if (at.row + r < rows) out[(at.row + r) * columns + column] = sum[r];
  }
}

#define ENTRIES(TYPE, SUFFIX)                                                            \
  GR_ENTRY(gr_conv2d_##SUFFIX##_3, GR_CONV2D_THREADS) { conv2d_square<3, TYPE>(frame); } \
  GR_ENTRY(gr_conv2d_##SUFFIX##_5, GR_CONV2D_THREADS) { conv2d_square<5, TYPE>(frame); } \
  GR_ENTRY(gr_conv2d_##SUFFIX##_7, GR_CONV2D_THREADS) { conv2d_square<7, TYPE>(frame); } \
  GR_ENTRY(gr_conv2d_##SUFFIX, GR_CONV2D_THREADS) { conv2d_general<TYPE>(frame); }
ENTRIES(float, f32)
ENTRIES(double, f64)
