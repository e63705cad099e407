/* y = A@x with A a sparse matrix in CSR: row r holds the elements indptr[r] to indptr[r + 1] of `indices` and `values`.
 * Sums are taken in f64, in the order of the elements.
 *
 * `check` sees no data, and data must never lead out of the buffers: a row whose bounds are not inside the arrays or
 * descend, and one with a column outside of x, becomes NaN. */
#include <math.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

enum { INDPTR, INDICES, VALUES, X, Y };

bool gr_spmv_csr_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                       struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 1u << INDPTR | 1u << INDICES) || !gr_check_type(&call, INDPTR, GR_TYPE_I32) ||
      !gr_check_type(&call, INDICES, GR_TYPE_I32) || !gr_check_same_count(&call, INDICES, VALUES))
    return false;
  if (arguments[VALUES].element_count > INT32_MAX)
    return gr_refuse(&call, VALUES, "'values' has more elements than the i32 of 'indptr' can number");
  if (!gr_check_count(&call, INDPTR, arguments[Y].element_count + 1, "one for each element of 'y', and the end"))
    return false;
  return gr_accept(&call, facts, arguments[Y].element_count);
}

#define ROW_SUM(TYPE, SUFFIX)                                                                       \
  static double row_sum_##SUFFIX(const struct gr_kernel_frame *frame, int64_t begin, int64_t end) { \
    const int32_t *indices = frame->arguments[INDICES].data;                                        \
    const TYPE *values = frame->arguments[VALUES].data;                                             \
    const TYPE *x = frame->arguments[X].data;                                                       \
    const uint64_t columns = gr_element_count(frame, X);                                            \
    double sum = 0;                                                                                 \
    for (int64_t i = begin; i < end; i++) {                                                         \
      if (indices[i] < 0 || (uint64_t)indices[i] >= columns) return (double)NAN;                    \
      sum += (double)values[i] * (double)x[indices[i]];                                             \
    }                                                                                               \
    return sum;                                                                                     \
  }
ROW_SUM(float, f32)
ROW_SUM(double, f64)

void gr_spmv_csr_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const int32_t *indptr = frame->arguments[INDPTR].data;
  void *y = frame->arguments[Y].data;
  const bool is_f64 = gr_is_f64(frame, Y);
  const uint64_t rows = gr_element_count(frame, Y);
  const int64_t count = (int64_t)gr_element_count(frame, VALUES);
  for (uint64_t row = 0; row < rows; row++) {
    const int64_t begin = indptr[row], end = indptr[row + 1];
    double sum = (double)NAN;
    if (begin >= 0 && begin <= end && end <= count)
      sum = is_f64 ? row_sum_f64(frame, begin, end) : row_sum_f32(frame, begin, end);
    if (is_f64) ((double *)y)[row] = sum;
    else ((float *)y)[row] = (float)sum;
  }
}

uint32_t gr_spmv_csr_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                              struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const uint64_t rows = gr_element_count(frame, Y);
  const uint64_t average = gr_element_count(frame, VALUES) / rows;
  uint32_t lanes = 1;
  while (lanes < 32 && lanes * 8 < average) lanes *= 2; /* some eight elements for each lane */
  gr_launch_blocks(launches, gr_is_f64(frame, Y) ? "gr_spmv_csr_f64" : "gr_spmv_csr_f32", rows, GR_SPMV_THREADS / lanes,
                   lanes);
  launches->block[1] = GR_SPMV_THREADS / lanes;
  return 1;
}
