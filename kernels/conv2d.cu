/* 2-D correlation with weights of odd extents; outside of the picture its edge is repeated. A thread computes several
 * outputs one below the other: each row of the picture that it reads serves all outputs whose window holds the row. */
#include "kernels/device.cuh"

/* A block has GR_CONV2D_THREADS adjacent columns and `Rows` adjacent rows. Blocks are numbered along the rows. */
template <int Rows>
struct place {
  int64_t row, column;
};
template <int Rows>
__device__ __forceinline__ place<Rows> place_of(uint64_t block, int64_t columns) {
  const uint64_t across = gr_ceil_div(columns, GR_CONV2D_THREADS);
  return {int64_t(block / across) * Rows, int64_t(block % across) * GR_CONV2D_THREADS + threadIdx.x};
}

__device__ __forceinline__ int64_t within(int64_t index, int64_t extent) {
  return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

/* Square windows of a size that is known here: the weights lie in registers, loops are unrolled. */
template <int Size, typename Type>
__device__ __forceinline__ void conv2d_square(const struct gr_kernel_frame &frame) {
  constexpr int reach = Size / 2;
  constexpr int lines = GR_CONV2D_ROWS;
  const int64_t rows = frame.arguments[0].rows, columns = frame.arguments[0].columns;
  const Type *x = gr_data<const Type>(frame, 0);
  const Type *weights = gr_data<const Type>(frame, 1);
  Type *out = gr_data<Type>(frame, 2);
  Type weight[Size][Size];
#pragma unroll
  for (int i = 0; i < Size; i++)
#pragma unroll
    for (int j = 0; j < Size; j++) weight[i][j] = weights[i * Size + j];
  const uint64_t blocks = gr_ceil_div(columns, GR_CONV2D_THREADS) * gr_ceil_div(rows, lines);
#pragma unroll 1
  for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const place<lines> at = place_of<lines>(block, columns);
    if (at.column >= columns) continue;
    /* Away from the edges the neighbours are at fixed distances. */
    const bool is_inside = at.column >= reach && at.column + reach < columns;
    int64_t left[Size];
#pragma unroll
    for (int j = 0; j < Size; j++) left[j] = is_inside ? at.column + j - reach : within(at.column + j - reach, columns);
    Type sum[lines];
#pragma unroll
    for (int r = 0; r < lines; r++) sum[r] = 0;
#pragma unroll
    for (int i = 0; i < lines + Size - 1; i++) {
      const Type *line = x + within(at.row + i - reach, rows) * columns;
      Type value[Size];
      if (is_inside) {
        const Type *center = line + at.column;
#pragma unroll
        for (int j = 0; j < Size; j++) value[j] = center[j - reach];
      } else {
#pragma unroll
        for (int j = 0; j < Size; j++) value[j] = line[left[j]];
      }
#pragma unroll
      for (int r = 0; r < lines; r++)
        if (i - r >= 0 && i - r < Size)
#pragma unroll
          for (int j = 0; j < Size; j++) sum[r] += weight[i - r][j] * value[j];
    }
#pragma unroll
    for (int r = 0; r < lines; r++)
      if (at.row + r < rows) out[(at.row + r) * columns + at.column] = sum[r];
  }
}

/* Windows of any size. */
template <typename Type>
__device__ __forceinline__ void conv2d_general(const struct gr_kernel_frame &frame) {
  constexpr int lines = GR_CONV2D_GENERAL_ROWS;
  const int64_t rows = frame.arguments[0].rows, columns = frame.arguments[0].columns;
  const int64_t height = frame.arguments[1].rows, width = frame.arguments[1].columns;
  const Type *x = gr_data<const Type>(frame, 0);
  const Type *weights = gr_data<const Type>(frame, 1);
  Type *out = gr_data<Type>(frame, 2);
  const uint64_t blocks = gr_ceil_div(columns, GR_CONV2D_THREADS) * gr_ceil_div(rows, lines);
#pragma unroll 1
  for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const place<lines> at = place_of<lines>(block, columns);
    if (at.column >= columns) continue;
    Type sum[lines];
#pragma unroll
    for (int r = 0; r < lines; r++) sum[r] = 0;
#pragma unroll 1
    for (int64_t i = 0; i < height + lines - 1; i++) {
      const Type *line = x + within(at.row + i - height / 2, rows) * columns;
#pragma unroll 2
      for (int64_t j = 0; j < width; j++) {
        const Type value = line[within(at.column + j - width / 2, columns)];
#pragma unroll
        for (int r = 0; r < lines; r++)
          if (i - r >= 0 && i - r < height) sum[r] += weights[(i - r) * width + j] * value;
      }
    }
#pragma unroll
    for (int r = 0; r < lines; r++)
      if (at.row + r < rows) out[(at.row + r) * columns + at.column] = sum[r];
  }
}

#define ENTRIES(TYPE, SUFFIX)                                                                   \
  GR_ENTRY(gr_conv2d_##SUFFIX##_3, GR_CONV2D_THREADS) { conv2d_square<3, TYPE>(frame); }        \
  GR_ENTRY(gr_conv2d_##SUFFIX##_5, GR_CONV2D_THREADS) { conv2d_square<5, TYPE>(frame); }        \
  GR_ENTRY(gr_conv2d_##SUFFIX##_7, GR_CONV2D_THREADS) { conv2d_square<7, TYPE>(frame); }        \
  GR_ENTRY(gr_conv2d_##SUFFIX, GR_CONV2D_THREADS) { conv2d_general<TYPE>(frame); }
ENTRIES(float, f32)
ENTRIES(double, f64)
