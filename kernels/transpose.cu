/* out = x with rows and columns exchanged. Tiles go through shared memory, so that reading and writing both touch adjacent
 * addresses. Where one extent is small there is nothing to tile: a thread then walks along it. */
#include "kernels/device.cuh"

template <int Tile, typename Type>
__device__ __forceinline__ void transpose_tiles(const struct gr_kernel_frame &frame) {
  /* One column more keeps the accesses of a warp in different banks. */
  __shared__ Type tile[Tile][Tile + 1];
  constexpr int lines = GR_TRANSPOSE_THREADS / 32; /* a warp moves a line of a tile */
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  const Type *x = gr_data<const Type>(frame, 0);
  Type *out = gr_data<Type>(frame, 1);
  const uint64_t tiles_across = gr_ceil_div(columns, Tile);
  const uint64_t tile_count = tiles_across * gr_ceil_div(rows, Tile);
  const unsigned int lane = threadIdx.x % 32, line = threadIdx.x / 32;
#pragma unroll 1
  for (uint64_t index = blockIdx.x; index < tile_count; index += gridDim.x) {
    const uint64_t row = index / tiles_across * Tile;
    const uint64_t column = index % tiles_across * Tile;
#pragma unroll
    for (int i = 0; i < Tile; i += lines)
#pragma unroll
      for (int j = 0; j < Tile; j += 32)
        if (row + line + i < rows && column + lane + j < columns)
          tile[line + i][lane + j] = x[(row + line + i) * columns + column + lane + j];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile; i += lines)
#pragma unroll
      for (int j = 0; j < Tile; j += 32)
        if (column + line + i < columns && row + lane + j < rows)
          out[(column + line + i) * rows + row + lane + j] = tile[lane + j][line + i];
    __syncthreads();
  }
}

/* The thin side's lines lie in the cache while the threads of a block walk along them. */
template <typename Type>
__device__ __forceinline__ void transpose_thin(const struct gr_kernel_frame &frame) {
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  const bool is_tall = rows > columns;
  const uint64_t length = is_tall ? rows : columns;
  const unsigned int thin = static_cast<unsigned int>(is_tall ? columns : rows);
  const Type *x = gr_data<const Type>(frame, 0);
  Type *out = gr_data<Type>(frame, 1);
  /* Neighbours along the long side, and along the thin one, in x and in out. */
  const uint64_t x_long = is_tall ? columns : 1, x_thin = is_tall ? 1 : columns;
  const uint64_t out_long = is_tall ? 1 : rows, out_thin = is_tall ? rows : 1;
  const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < length; i += step) {
    Type value[GR_TRANSPOSE_THIN_MAX];
#pragma unroll
    for (unsigned int k = 0; k < GR_TRANSPOSE_THIN_MAX; k++)
      if (k < thin) value[k] = x[i * x_long + k * x_thin];
#pragma unroll
    for (unsigned int k = 0; k < GR_TRANSPOSE_THIN_MAX; k++)
      if (k < thin) out[i * out_long + k * out_thin] = value[k];
  }
}

GR_ENTRY(gr_transpose_f32, GR_TRANSPOSE_THREADS) { transpose_tiles<GR_TRANSPOSE_TILE_F32, float>(frame); }
GR_ENTRY(gr_transpose_f64, GR_TRANSPOSE_THREADS) { transpose_tiles<GR_TRANSPOSE_TILE_F64, double>(frame); }
GR_ENTRY(gr_transpose_f32_thin, GR_TRANSPOSE_THREADS) { transpose_thin<float>(frame); }
GR_ENTRY(gr_transpose_f64_thin, GR_TRANSPOSE_THREADS) { transpose_thin<double>(frame); }
