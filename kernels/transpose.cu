/* out = x with rows and columns exchanged. Tiles go through shared memory, so that reading and writing both touch
 * adjacent addresses. Where one extent is small there is nothing to tile: a thread then walks along it. */
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

/* The thin side's lines lie in the cache while the threads of a block walk along them. `Thin` is the most that there
 * are of them; the thinner, the more places along the long side a thread has under way. */
template <int Thin, typename Type>
__device__ __forceinline__ void transpose_thin(const struct gr_kernel_frame &frame) {
  constexpr int places = GR_TRANSPOSE_THIN_ITEMS / Thin;
  const uint64_t rows = frame.arguments[0].rows;
  const uint64_t columns = frame.arguments[0].columns;
  const bool is_tall = rows > columns;
  const uint64_t length = is_tall ? rows : columns;
  const int thin = static_cast<int>(is_tall ? columns : rows);
  const Type *x = gr_data<const Type>(frame, 0);
  Type *out = gr_data<Type>(frame, 1);
  /* Neighbours along the long side, and along the thin one, in x and in out. */
  const uint64_t x_long = is_tall ? columns : 1, x_thin = is_tall ? 1 : columns;
  const uint64_t out_long = is_tall ? 1 : rows, out_thin = is_tall ? rows : 1;
  const uint64_t tile = uint64_t(places) * blockDim.x;
#pragma unroll 1
  for (uint64_t start = blockIdx.x * tile + threadIdx.x; start < length; start += gridDim.x * tile) {
    Type value[places][Thin];
#pragma unroll
    for (int p = 0; p < places; p++)
#pragma unroll
      for (int k = 0; k < Thin; k++) {
        const uint64_t place = start + uint64_t(p) * blockDim.x;
        if (k < thin && place < length) value[p][k] = x[place * x_long + k * x_thin];
      }
#pragma unroll
    for (int p = 0; p < places; p++)
#pragma unroll
      for (int k = 0; k < Thin; k++) {
        const uint64_t place = start + uint64_t(p) * blockDim.x;
        if (k < thin && place < length) out[place * out_long + k * out_thin] = value[p][k];
      }
  }
}

GR_ENTRY(gr_transpose_f32, GR_TRANSPOSE_THREADS) { transpose_tiles<GR_TRANSPOSE_TILE_F32, float>(frame); }
GR_ENTRY(gr_transpose_f64, GR_TRANSPOSE_THREADS) { transpose_tiles<GR_TRANSPOSE_TILE_F64, double>(frame); }
#define THIN_ENTRIES(TYPE, SUFFIX)                                                              \
  GR_ENTRY(gr_transpose_##SUFFIX##_2, GR_TRANSPOSE_THREADS) { transpose_thin<2, TYPE>(frame); } \
  GR_ENTRY(gr_transpose_##SUFFIX##_4, GR_TRANSPOSE_THREADS) { transpose_thin<4, TYPE>(frame); } \
  GR_ENTRY(gr_transpose_##SUFFIX##_16, GR_TRANSPOSE_THREADS) { transpose_thin<16, TYPE>(frame); }
THIN_ENTRIES(float, f32)
THIN_ENTRIES(double, f64)
