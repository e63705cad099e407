/* Every built-in kernel, one row each, sorted by name as strcmp sorts. The parameters are named lists in catalogue.c;
 * NAME stands for the functions gr_NAME_host and gr_NAME_launches.
 *
 * ROW(NAME, summary, PARAMETERS, LIBRARY, CHECK) */
#ifndef GRAPHRUN_KERNELS_LIST_H
#define GRAPHRUN_KERNELS_LIST_H

#define GR_KERNEL_LIST(ROW)                                                                                        \
  ROW(abs, "out = |x|", x_out, NONE, gr_elementwise_check)                                                         \
  ROW(add, "out = x + y", x_y_out, NONE, gr_elementwise_check)                                                     \
  ROW(add_row, "adds row to every row of x", x_row_out, NONE, gr_add_row_check)                                    \
  ROW(argmax_rows, "index of the largest value in each row, the first of equals; NaN counts as largest", rows_out, \
      NONE, gr_argmax_rows_check)                                                                                  \
  ROW(axpy, "y = a*x + y", a_x_y, NONE, gr_elementwise_check)                                                      \
  ROW(black_scholes, "prices of European calls and puts", black_scholes, NONE, gr_black_scholes_check)             \
  ROW(busy, "spins for ns nanoseconds", busy, NONE, gr_busy_check)                                                 \
  ROW(clamp, "out = x, but at least lo and at most hi", lo_hi_x_out, NONE, gr_elementwise_check)                   \
  ROW(conv2d, "2-D correlation with odd-sized weights, edge pixel repeated", conv2d, NONE, gr_conv2d_check)        \
  ROW(convert, "out = x*scale in out's type; to integers rounded to nearest even and saturated", convert, NONE,    \
      gr_convert_check)                                                                                            \
  ROW(div, "out = x / y", x_y_out, NONE, gr_elementwise_check)                                                     \
  ROW(div_scalar, "out = x / s, with s a buffer of one element", x_s_out, NONE, gr_div_scalar_check)               \
  ROW(dot, "out = sum of x*y", x_y_one, NONE, gr_dot_check)                                                        \
  ROW(exp, "out = e to the x", x_out, NONE, gr_elementwise_check)                                                  \
  ROW(gemm, "c = alpha*a@b + beta*c", gemm, GEMM, gr_gemm_check)                                                   \
  ROW(hypot, "out = sqrt(x*x + y*y)", x_y_out, NONE, gr_elementwise_check)                                         \
  ROW(lerp, "out = w*x + (1-w)*y", w_x_y_out, NONE, gr_elementwise_check)                                          \
  ROW(log, "out = natural logarithm of x", x_out, NONE, gr_elementwise_check)                                      \
  ROW(max, "largest element; NaN if there is one", x_one, NONE, gr_extremum_check)                                 \
  ROW(maximum, "out = the larger of x and y; NaN if one is", x_y_out, NONE, gr_elementwise_check)                  \
  ROW(min, "smallest element; NaN if there is one", x_one, NONE, gr_extremum_check)                                \
  ROW(minimum, "out = the smaller of x and y; NaN if one is", x_y_out, NONE, gr_elementwise_check)                 \
  ROW(mul, "out = x * y", x_y_out, NONE, gr_elementwise_check)                                                     \
  ROW(neg, "out = -x", x_out, NONE, gr_elementwise_check)                                                          \
  ROW(norm2, "square root of the sum of squares", x_one, NONE, gr_sum_check)                                       \
  ROW(relu, "out = the larger of x and 0", x_out, NONE, gr_elementwise_check)                                      \
  ROW(rescale, "out = clamp((x-lo)/(hi-lo), 0, 1), with lo and hi buffers of one element", x_lo_hi_out, NONE,      \
      gr_rescale_check)                                                                                            \
  ROW(scale, "out = a*x", a_x_out, NONE, gr_elementwise_check)                                                     \
  ROW(softmax_rows, "softmax of each row", rows_out, NONE, gr_softmax_rows_check)                                  \
  ROW(spmv_csr, "y = A@x with A a sparse matrix in CSR", spmv_csr, NONE, gr_spmv_csr_check)                        \
  ROW(sqrt, "out = square root of x", x_out, NONE, gr_elementwise_check)                                           \
  ROW(square, "out = x * x", x_out, NONE, gr_elementwise_check)                                                    \
  ROW(sub, "out = x - y", x_y_out, NONE, gr_elementwise_check)                                                     \
  ROW(sum, "sum of all elements", x_one, NONE, gr_sum_check)                                                       \
  ROW(transpose, "out = x with rows and columns exchanged", x_out_apart, NONE, gr_transpose_check)

#endif
