/* Kernels that work on the rows of a buffer of two dimensions. */
#include <math.h>
#include <string.h>
#include <tgmath.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

/* --- softmax_rows: exp(x - largest) / sum of those. A NaN, an infinity of the largest, and a row of nothing but
 * negative infinities make the row NaN --- */

bool gr_softmax_rows_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                           struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_two_dimensions(&call, 0) || !gr_check_same_count(&call, 1, 0))
    return false;
  return gr_accept(&call, facts, arguments[1].element_count);
}

/* The sum is taken in pieces: of a long row, a single f64 would lose more than the exponentials do. */
enum { SUM_PIECE = 128 };
#define SOFTMAX_ROW(TYPE, SUFFIX)                                                     \
  static void softmax_row_##SUFFIX(const TYPE *x, TYPE *out, uint64_t columns) {      \
    TYPE largest = x[0];                                                              \
    for (uint64_t i = 1; i < columns; i++) largest = x[i] > largest ? x[i] : largest; \
    double sum = 0;                                                                   \
    for (uint64_t first = 0; first < columns; first += SUM_PIECE) {                   \
      const uint64_t end = columns - first < SUM_PIECE ? columns : first + SUM_PIECE; \
      double piece = 0;                                                               \
      for (uint64_t i = first; i < end; i++) {                                        \
        out[i] = exp(x[i] - largest);                                                 \
        piece += (double)out[i];                                                      \
      }                                                                               \
      sum += piece;                                                                   \
    }                                                                                 \
    const TYPE total = (TYPE)sum;                                                     \
    for (uint64_t i = 0; i < columns; i++) out[i] /= total;                           \
  }
SOFTMAX_ROW(float, f32)
SOFTMAX_ROW(double, f64)

void gr_softmax_rows_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const uint64_t rows = frame->arguments[0].rows, columns = frame->arguments[0].columns;
  const void *x = frame->arguments[0].data;
  void *out = frame->arguments[1].data;
  for (uint64_t row = 0; row < rows; row++)
    if (gr_is_f64(frame, 0)) softmax_row_f64((const double *)x + row * columns, (double *)out + row * columns, columns);
    else softmax_row_f32((const float *)x + row * columns, (float *)out + row * columns, columns);
}

/* --- argmax_rows --- */

bool gr_argmax_rows_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                          struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 1u << 1) || !gr_check_two_dimensions(&call, 0) ||
      !gr_check_type(&call, 1, GR_TYPE_I32))
    return false;
  const uint64_t rows = arguments[0].shape[0], columns = arguments[0].shape[1];
  if (!gr_check_count(&call, 1, rows, "one for each row of 'x'")) return false;
  if (rows > 0 && columns == 0)
    return gr_refuse(&call, 0, "the rows of 'x' have no elements, and nothing has no largest");
  if (columns > (uint64_t)INT32_MAX + 1)
    return gr_refuse(&call, 0, "the rows of 'x' have more elements than the i32 of 'out' can number");
  return gr_accept(&call, facts, rows);
}

#define ARGMAX_ROW(TYPE, SUFFIX)                                        \
  static int32_t argmax_row_##SUFFIX(const TYPE *x, uint64_t columns) { \
    uint64_t best = 0;                                                  \
    for (uint64_t i = 0; i < columns; i++) {                            \
      if (x[i] != x[i]) return (int32_t)i;                              \
      if (x[i] > x[best]) best = i;                                     \
    }                                                                   \
    return (int32_t)best;                                               \
  }
ARGMAX_ROW(float, f32)
ARGMAX_ROW(double, f64)

void gr_argmax_rows_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const uint64_t rows = frame->arguments[0].rows, columns = frame->arguments[0].columns;
  const void *x = frame->arguments[0].data;
  int32_t *out = frame->arguments[1].data;
  for (uint64_t row = 0; row < rows; row++)
    out[row] = gr_is_f64(frame, 0) ? argmax_row_f64((const double *)x + row * columns, columns)
                                   : argmax_row_f32((const float *)x + row * columns, columns);
}

/* --- add_row --- */

bool gr_add_row_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                      struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0)) return false;
  if (arguments[0].rank == 0) return gr_refuse(&call, 0, "'x' has no dimensions, and so no rows");
  const uint64_t columns = arguments[0].shape[arguments[0].rank - 1];
  if (!gr_check_count(&call, 1, columns, "one for each column of 'x'") || !gr_check_same_count(&call, 2, 0))
    return false;
  return gr_accept(&call, facts, arguments[2].element_count);
}

#define ADD_ROW(TYPE, SUFFIX)                                                                 \
  static void add_row_##SUFFIX(const TYPE *x, const TYPE *row, TYPE *out, uint64_t columns) { \
    GR_INDEPENDENT_LOOP                                                                       \
    for (uint64_t i = 0; i < columns; i++) out[i] = x[i] + row[i];                            \
  }
ADD_ROW(float, f32)
ADD_ROW(double, f64)

void gr_add_row_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const uint64_t rows = frame->arguments[0].rows, columns = frame->arguments[0].columns;
  const void *x = frame->arguments[0].data, *row = frame->arguments[1].data;
  void *out = frame->arguments[2].data;
  for (uint64_t first = 0; first < rows * columns; first += columns)
    if (gr_is_f64(frame, 0)) add_row_f64((const double *)x + first, row, (double *)out + first, columns);
    else add_row_f32((const float *)x + first, row, (float *)out + first, columns);
}

/* --- Launches --- */

enum { WARP = 32, BLOCK_THREADS_MAX = 1024 };

/* The least power of two that is not below the value, between `low` and `high`, which are powers of two. */
static uint32_t power_of_two_from(uint64_t value, uint32_t low, uint32_t high) {
  uint32_t power = low;
  while (power < value && power < high) power *= 2;
  return power;
}

/* The least number of lanes, as a power of two, whose elements hold a row: 2 to 32; its entry is entries[log2 - 1]. */
static uint32_t launch_few(struct gr_kernel_launch *launch, const char *const entries[5],
                           const struct gr_kernel_frame_argument *x, uint32_t rows_at_once) {
  uint32_t lanes = 2, entry = 0;
  for (; lanes * GR_FEW_ITEMS < x->columns; lanes *= 2) entry++;
  return gr_launch_blocks(launch, entries[entry], x->rows, (uint64_t)GR_ROWS_THREADS / lanes * rows_at_once,
                          GR_ROWS_THREADS);
}
#define FEW(NAME) \
  { NAME "_few_2", NAME "_few_4", NAME "_few_8", NAME "_few_16", NAME "_few_32" }

/* A warp for each row. */
static uint32_t launch_warps(struct gr_kernel_launch *launch, const char *entry, uint64_t rows) {
  gr_launch_blocks(launch, entry, rows, GR_ROWS_THREADS / WARP, WARP);
  launch->block[1] = GR_ROWS_THREADS / WARP;
  return 1;
}

uint32_t gr_softmax_rows_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                                  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const struct gr_kernel_frame_argument *x = &frame->arguments[0];
  const bool is_f64 = gr_is_f64(frame, 0);
  const size_t element_bytes = is_f64 ? sizeof(double) : sizeof(float);
  static const char *const few[2][5] = {FEW("gr_softmax_rows_f32"), FEW("gr_softmax_rows_f64")};
  if (x->columns <= WARP * GR_FEW_ITEMS) return launch_few(launches, few[is_f64], x, GR_SOFTMAX_FEW_ROWS);
  if (x->columns <= WARP * 8)
    return launch_warps(launches, is_f64 ? "gr_softmax_rows_f64_8" : "gr_softmax_rows_f32_8", x->rows);
  if (x->columns <= GR_SOFTMAX_WARP_BYTES_MAX / element_bytes)
    return launch_warps(launches, is_f64 ? "gr_softmax_rows_f64_many" : "gr_softmax_rows_f32_many", x->rows);
  if (x->columns <= GR_SOFTMAX_BLOCK_BYTES_MAX / element_bytes)
    return gr_launch_blocks(
        launches, is_f64 ? "gr_softmax_rows_f64_block" : "gr_softmax_rows_f32_block", x->rows, 1,
        power_of_two_from((x->columns + GR_SOFTMAX_BLOCK_ITEMS - 1) / GR_SOFTMAX_BLOCK_ITEMS, WARP, BLOCK_THREADS_MAX));
  return gr_launch_blocks(launches, is_f64 ? "gr_softmax_rows_f64_long" : "gr_softmax_rows_f32_long", x->rows, 1,
                          BLOCK_THREADS_MAX);
}

uint32_t gr_argmax_rows_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                                 struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const struct gr_kernel_frame_argument *x = &frame->arguments[0];
  const bool is_f64 = gr_is_f64(frame, 0);
  static const char *const few[2][5] = {FEW("gr_argmax_rows_f32"), FEW("gr_argmax_rows_f64")};
  if (x->columns <= WARP * GR_FEW_ITEMS) return launch_few(launches, few[is_f64], x, GR_ARGMAX_FEW_ROWS);
  if (x->columns <= WARP * 8)
    return launch_warps(launches, is_f64 ? "gr_argmax_rows_f64_1" : "gr_argmax_rows_f32_1", x->rows);
  if (x->columns <= GR_ARGMAX_WARP_COLUMNS_MAX || x->rows >= GR_ARGMAX_ROWS_MANY)
    return launch_warps(launches, is_f64 ? "gr_argmax_rows_f64_4" : "gr_argmax_rows_f32_4", x->rows);
  return gr_launch_blocks(launches, is_f64 ? "gr_argmax_rows_f64_block" : "gr_argmax_rows_f32_block", x->rows, 1,
                          power_of_two_from(x->columns / 64, WARP, BLOCK_THREADS_MAX));
}

uint32_t gr_add_row_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                             struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  return gr_launch_blocks(launches, gr_is_f64(frame, 0) ? "gr_add_row_f64" : "gr_add_row_f32",
                          gr_element_count(frame, 0), GR_ROWS_THREADS * GR_ADD_ROW_ITEMS, GR_ROWS_THREADS);
}
