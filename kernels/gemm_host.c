/* c = alpha*a@b + beta*c, row-major: the way that needs no library. A back end that can open a BLAS calls that instead.
 *
 * With beta 0, c is not read: what it holds does not count. With alpha 0, a and b are read: a NaN there counts. */
#include <string.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

enum { ALPHA, A, B, BETA, C };

bool gr_gemm_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                   struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_two_dimensions(&call, A) || !gr_check_two_dimensions(&call, B))
    return false;
  const uint64_t inner = arguments[A].shape[1], columns = arguments[B].shape[1];
  if (!gr_check_extents(&call, B, inner, columns, "as many rows as 'a' has columns") ||
      !gr_check_extents(&call, C, arguments[A].shape[0], columns, "the rows of 'a' and the columns of 'b'"))
    return false;
  gr_accept(&call, facts, arguments[C].element_count);
  if (arguments[BETA].real == 0) facts->access[C] = GR_ACCESS_WRITE;
  return true;
}

/* --- Adds alpha*a@b to c, in pieces of b that stay in the cache --- */

enum { COLUMNS_AT_ONCE = 512, INNER_AT_ONCE = 64 };

static uint64_t at_most(uint64_t value, uint64_t high) { return value < high ? value : high; }

struct extents {
  uint64_t rows, columns, inner;
};

#define PRODUCT(TYPE, SUFFIX)                                                                                     \
  static void add_line_##SUFFIX(TYPE *c, const TYPE *b, TYPE factor, uint64_t columns) {                          \
    for (uint64_t column = 0; column < columns; column++) c[column] += factor * b[column];                        \
  }                                                                                                               \
  static void add_product_##SUFFIX(const struct extents *of, TYPE alpha, const TYPE *a, const TYPE *b, TYPE *c) { \
    for (uint64_t column = 0; column < of->columns; column += COLUMNS_AT_ONCE)                                    \
      for (uint64_t first = 0; first < of->inner; first += INNER_AT_ONCE)                                         \
        for (uint64_t row = 0; row < of->rows; row++)                                                             \
          for (uint64_t k = first; k < at_most(first + INNER_AT_ONCE, of->inner); k++)                            \
            add_line_##SUFFIX(c + row * of->columns + column, b + k * of->columns + column,                       \
                              alpha * a[row * of->inner + k], at_most(COLUMNS_AT_ONCE, of->columns - column));    \
  }                                                                                                               \
  static void scale_##SUFFIX(TYPE *c, TYPE beta, uint64_t count) {                                                \
    if (beta == 0) memset(c, 0, count * sizeof *c);                                                               \
    else if (beta != 1)                                                                                           \
      for (uint64_t i = 0; i < count; i++) c[i] *= beta;                                                          \
  }
PRODUCT(float, f32)
PRODUCT(double, f64)

void gr_gemm_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const struct extents of = {frame->arguments[C].rows, frame->arguments[C].columns, frame->arguments[A].columns};
  const double alpha = frame->arguments[ALPHA].real, beta = frame->arguments[BETA].real;
  const void *a = frame->arguments[A].data, *b = frame->arguments[B].data;
  void *c = frame->arguments[C].data;
  if (gr_is_f64(frame, C)) {
    scale_f64(c, beta, of.rows * of.columns);
    add_product_f64(&of, alpha, a, b, c);
  } else {
    scale_f32(c, (float)beta, of.rows * of.columns);
    add_product_f32(&of, (float)alpha, a, b, c);
  }
}

/* --- Launches --- */

static uint64_t tiles_of(const struct gr_kernel_frame_argument *c, uint64_t tile) {
  return ((c->rows + tile - 1) / tile) * ((c->columns + tile - 1) / tile);
}

uint32_t gr_gemm_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                          struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const struct gr_kernel_frame_argument *c = &frame->arguments[C];
  const bool is_f64 = gr_is_f64(frame, C);
  const uint64_t tiles = tiles_of(c, is_f64 ? GR_GEMM_TILE_F64 : GR_GEMM_TILE_F32);
  if (tiles >= GR_GEMM_TILES_ENOUGH)
    return gr_launch_blocks(launches, is_f64 ? "gr_gemm_f64" : "gr_gemm_f32", tiles, 1, GR_GEMM_THREADS);
  return gr_launch_blocks(launches, is_f64 ? "gr_gemm_f64_small" : "gr_gemm_f32_small", tiles_of(c, GR_GEMM_TILE_SMALL),
                          1, GR_GEMM_THREADS);
}
