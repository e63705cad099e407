/* Kernels that compute each element of their output from the same element of their inputs. The expressions round after
 * each operation, as elementwise.cu does, so both give the same bits (but for exp, log and hypot, whose last bits are
 * the mathematical library's). */
#include <tgmath.h>

#include "kernels/internal.h"
#include "kernels/number.h"

bool gr_elementwise_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                          struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0)) return false;
  uint32_t first = 0;
  while (kernel->parameters[first].kind != GR_PARAMETER_BUFFER) first++;
  for (uint32_t index = first + 1; index < kernel->parameter_count; index++)
    if (!gr_check_same_count(&call, index, first)) return false;
  return gr_accept(&call, facts, arguments[first].element_count);
}

bool gr_rescale_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                      struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_one_element(&call, 1) || !gr_check_one_element(&call, 2) ||
      !gr_check_same_count(&call, 3, 0))
    return false;
  return gr_accept(&call, facts, arguments[0].element_count);
}

bool gr_div_scalar_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                         struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_one_element(&call, 1) || !gr_check_same_count(&call, 2, 0))
    return false;
  return gr_accept(&call, facts, arguments[0].element_count);
}

/* Minimum and maximum of either type; tgmath.h has none that lets a NaN win. */
#define MINIMUM(x, y) _Generic((x), float : gr_minimum_f32, double : gr_minimum_f64)((x), (y))
#define MAXIMUM(x, y) _Generic((x), float : gr_maximum_f32, double : gr_maximum_f64)((x), (y))
#define LIMIT(x, lo, hi) _Generic((x), float : gr_limit_f32, double : gr_limit_f64)((x), (lo), (hi))

/* One kernel: OUT is the index of its output, PREPARE names its other arguments, EXPRESSION computes element i from
 * them, in the type `real`. */
#define INPUT(NAME, INDEX) const real *NAME = frame->arguments[INDEX].data;
#define ONE(NAME, INDEX) const real NAME = *(const real *)frame->arguments[INDEX].data;
#define SCALAR(NAME, INDEX) const real NAME = (real)frame->arguments[INDEX].real;
#define ELEMENTWISE_TYPED(NAME, TYPE, SUFFIX, OUT, PREPARE, EXPRESSION) \
  static void NAME##_##SUFFIX(const struct gr_kernel_frame *frame) {    \
    typedef TYPE real;                                                  \
    const uint64_t count = gr_element_count(frame, OUT);                \
    real *out = frame->arguments[OUT].data;                             \
    PREPARE                                                             \
    GR_INDEPENDENT_LOOP                                                 \
    for (uint64_t i = 0; i < count; i++) out[i] = EXPRESSION;           \
  }
#define ELEMENTWISE(NAME, OUT, PREPARE, EXPRESSION)                                                                \
  ELEMENTWISE_TYPED(NAME, float, f32, OUT, PREPARE, EXPRESSION)                                                    \
  ELEMENTWISE_TYPED(NAME, double, f64, OUT, PREPARE, EXPRESSION)                                                   \
  void gr_##NAME##_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {                     \
    (void)kernel;                                                                                                  \
    if (gr_is_f64(frame, OUT)) NAME##_f64(frame);                                                                  \
    else NAME##_f32(frame);                                                                                        \
  }                                                                                                                \
  uint32_t gr_##NAME##_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,               \
                                struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {                          \
    (void)kernel;                                                                                                  \
    const bool is_f64 = gr_is_f64(frame, OUT);                                                                     \
    return gr_launch_map(launches, is_f64 ? "gr_" #NAME "_f64" : "gr_" #NAME "_f32", gr_element_count(frame, OUT), \
                         is_f64 ? sizeof(double) : sizeof(float));                                                 \
  }

ELEMENTWISE(abs, 1, INPUT(x, 0), fabs(x[i]))
ELEMENTWISE(add, 2, INPUT(x, 0) INPUT(y, 1), x[i] + y[i])
ELEMENTWISE(axpy, 2, SCALAR(a, 0) INPUT(x, 1), a *x[i] + out[i])
ELEMENTWISE(clamp, 3, SCALAR(lo, 0) SCALAR(hi, 1) INPUT(x, 2), LIMIT(x[i], lo, hi))
ELEMENTWISE(div, 2, INPUT(x, 0) INPUT(y, 1), x[i] / y[i])
ELEMENTWISE(div_scalar, 2, INPUT(x, 0) ONE(s, 1), x[i] / s)
ELEMENTWISE(exp, 1, INPUT(x, 0), exp(x[i]))
ELEMENTWISE(hypot, 2, INPUT(x, 0) INPUT(y, 1), hypot(x[i], y[i]))
ELEMENTWISE(lerp, 3, INPUT(w, 0) INPUT(x, 1) INPUT(y, 2), w[i] * x[i] + (1 - w[i]) * y[i])
ELEMENTWISE(log, 1, INPUT(x, 0), log(x[i]))
ELEMENTWISE(maximum, 2, INPUT(x, 0) INPUT(y, 1), MAXIMUM(x[i], y[i]))
ELEMENTWISE(minimum, 2, INPUT(x, 0) INPUT(y, 1), MINIMUM(x[i], y[i]))
ELEMENTWISE(mul, 2, INPUT(x, 0) INPUT(y, 1), x[i] * y[i])
ELEMENTWISE(neg, 1, INPUT(x, 0), -x[i])
ELEMENTWISE(relu, 1, INPUT(x, 0), MAXIMUM(x[i], (real)0))
ELEMENTWISE(rescale, 3, INPUT(x, 0) ONE(lo, 1) ONE(hi, 2), LIMIT((x[i] - lo) / (hi - lo), (real)0, (real)1))
ELEMENTWISE(scale, 2, SCALAR(a, 0) INPUT(x, 1), a *x[i])
ELEMENTWISE(sqrt, 1, INPUT(x, 0), sqrt(x[i]))
ELEMENTWISE(square, 1, INPUT(x, 0), x[i] * x[i])
ELEMENTWISE(sub, 2, INPUT(x, 0) INPUT(y, 1), x[i] - y[i])
