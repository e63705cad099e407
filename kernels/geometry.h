/* How work is cut into blocks: what host files decide and device code relies on, in C17 and CUDA C++. */
#ifndef GRAPHRUN_KERNELS_GEOMETRY_H
#define GRAPHRUN_KERNELS_GEOMETRY_H

enum {
  GR_VECTOR_BYTES = 16, /* the widest access of a thread */

  /* Element-wise kernels: a thread handles this many vectors, all loaded before the first is used, so that enough bytes
   * are under way to fill the memory's latency. */
  GR_MAP_VECTORS = 4,

  /* Reductions: the number of threads is fixed by the number of elements alone, and so is the order of additions. */
  GR_REDUCE_THREADS = 256,
  GR_REDUCE_ITEMS = 16,                                    /* elements that a thread has under way */
  GR_REDUCE_BLOCKS_MAX = 2048,                             /* partial results that the last block adds up */
  GR_REDUCE_SCRATCH_BYTES = 16 + 8 * GR_REDUCE_BLOCKS_MAX, /* the count of finished blocks, then the partial results */

  GR_ROWS_THREADS = 256,
  GR_FEW_ITEMS = 4,        /* elements of a thread, where rows are short */
  GR_SOFTMAX_FEW_ROWS = 2, /* rows of a group of threads, where rows are short */
  GR_ARGMAX_FEW_ROWS = 4,
  GR_SOFTMAX_WARP_BYTES_MAX = 4096, /* a row that the registers of a warp hold */
  GR_SOFTMAX_BLOCK_ITEMS = 16,      /* elements a thread keeps in registers, where a block works on one row */
  GR_SOFTMAX_BLOCK_BYTES_MAX = 64 * 1024,
  GR_ARGMAX_WARP_COLUMNS_MAX = 2048, /* a warp's row, however few there are */
  GR_ARGMAX_ROWS_MANY = 4096,        /* with so many rows a warp each keeps the GPU busy */
  GR_ADD_ROW_ITEMS = 16,

  GR_TRANSPOSE_TILE_F32 = 64,
  GR_TRANSPOSE_TILE_F64 = 32,
  GR_TRANSPOSE_THIN_MAX = 16,   /* up to this extent a thread walks along it */
  GR_TRANSPOSE_THIN_ITEMS = 16, /* elements that it then has under way */
  GR_TRANSPOSE_THREADS = 256,

  GR_SPMV_THREADS = 256,

  GR_CONV2D_THREADS = 128,
  GR_CONV2D_COLUMNS = 2,   /* adjacent columns of a thread, where the weights' size is known when compiled */
  GR_CONV2D_ROWS = 8,      /* adjacent rows of a thread */
  GR_CONV2D_ROWS_F32 = 16, /* of f32, and with a window of known size */

  GR_GEMM_THREADS = 256,
  GR_GEMM_TILE_F32 = 128,
  GR_GEMM_TILE_F64 = 64,
  GR_GEMM_TILE_SMALL = 32,
  GR_GEMM_TILES_ENOUGH = 128, /* with fewer large tiles than this, small ones keep more of the GPU busy */

  GR_FILL_THREADS = 256,
  GR_FILL_SEGMENT_BYTES = 16 * 1024, /* a row longer than this is shared by several blocks */
};

#endif
