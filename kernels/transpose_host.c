/* out = x with rows and columns exchanged. */
#include "kernels/geometry.h"
#include "kernels/internal.h"

enum { TILE = 32 /* lines of both sides of a tile stay in the first cache */ };

bool gr_transpose_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                        struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_two_dimensions(&call, 0) ||
      !gr_check_extents(&call, 1, arguments[0].shape[1], arguments[0].shape[0], "the shape of 'x', exchanged"))
    return false;
  return gr_accept(&call, facts, arguments[1].element_count);
}

static uint64_t at_most(uint64_t value, uint64_t high) { return value < high ? value : high; }

#define TRANSPOSE(TYPE, SUFFIX)                                                                                \
  static void transpose_tile_##SUFFIX(const TYPE *x, TYPE *out, uint64_t rows, uint64_t columns, uint64_t row, \
                                      uint64_t column) {                                                       \
    const uint64_t row_end = at_most(row + TILE, rows), column_end = at_most(column + TILE, columns);          \
    for (uint64_t c = column; c < column_end; c++)                                                             \
      for (uint64_t r = row; r < row_end; r++) out[c * rows + r] = x[r * columns + c];                         \
  }                                                                                                            \
  static void transpose_##SUFFIX(const TYPE *x, TYPE *out, uint64_t rows, uint64_t columns) {                  \
    for (uint64_t row = 0; row < rows; row += TILE)                                                            \
      for (uint64_t column = 0; column < columns; column += TILE)                                              \
        transpose_tile_##SUFFIX(x, out, rows, columns, row, column);                                           \
  }
TRANSPOSE(float, f32)
TRANSPOSE(double, f64)

void gr_transpose_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const uint64_t rows = frame->arguments[0].rows, columns = frame->arguments[0].columns;
  const void *x = frame->arguments[0].data;
  void *out = frame->arguments[1].data;
  if (gr_is_f64(frame, 0)) transpose_f64(x, out, rows, columns);
  else transpose_f32(x, out, rows, columns);
}

/* One extent is small: each thread takes so many places along the other that its elements are enough. */
static uint32_t launch_thin(struct gr_kernel_launch *launch, bool is_f64, uint64_t rows, uint64_t columns) {
  const uint64_t thin = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
  const uint64_t most = thin <= 2 ? 2 : thin <= 4 ? 4 : GR_TRANSPOSE_THIN_MAX;
  const char *entry = most == 2   ? (is_f64 ? "gr_transpose_f64_2" : "gr_transpose_f32_2")
                      : most == 4 ? (is_f64 ? "gr_transpose_f64_4" : "gr_transpose_f32_4")
                                  : (is_f64 ? "gr_transpose_f64_16" : "gr_transpose_f32_16");
  return gr_launch_blocks(launch, entry, length, GR_TRANSPOSE_THREADS * (GR_TRANSPOSE_THIN_ITEMS / most),
                          GR_TRANSPOSE_THREADS);
}

uint32_t gr_transpose_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                               struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const uint64_t rows = frame->arguments[0].rows, columns = frame->arguments[0].columns;
  const bool is_f64 = gr_is_f64(frame, 0);
  if (rows <= GR_TRANSPOSE_THIN_MAX || columns <= GR_TRANSPOSE_THIN_MAX)
    return launch_thin(launches, is_f64, rows, columns);
  const uint64_t tile = is_f64 ? GR_TRANSPOSE_TILE_F64 : GR_TRANSPOSE_TILE_F32;
  const uint64_t tiles = ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile);
  return gr_launch_blocks(launches, is_f64 ? "gr_transpose_f64" : "gr_transpose_f32", tiles, 1, GR_TRANSPOSE_THREADS);
}
