/* Kernels that compute each element of their output from the same element of their inputs. Compiled without fused
 * multiply-add, so that each operation rounds as in elementwise_host.c. */
#include "kernels/device_map.cuh"
#include "kernels/number.h"

/* One expression for both types. */
#define OVERLOADS(NAME)                                                                     \
  __device__ __forceinline__ float NAME(float x, float y) { return gr_##NAME##_f32(x, y); } \
  __device__ __forceinline__ double NAME(double x, double y) { return gr_##NAME##_f64(x, y); }
OVERLOADS(minimum)
OVERLOADS(maximum)
__device__ __forceinline__ float limit(float x, float lo, float hi) { return gr_limit_f32(x, lo, hi); }
__device__ __forceinline__ double limit(double x, double lo, double hi) { return gr_limit_f64(x, lo, hi); }

/* One kernel: arguments X, Y, Z are its inputs (as many as INPUTS says), OUT its output; PREPARE names its other
 * arguments; EXPRESSION computes an element from x, y, z in the type `real`. */
#define SCALAR(NAME, INDEX) const real NAME = static_cast<real>(frame.arguments[INDEX].real);
#define ONE(NAME, INDEX) const real NAME = *gr_data<const real>(frame, INDEX);
#define INPUT_1(X) \
  { gr_data<const real>(frame, X) }
#define INPUT_2(X, Y) \
  { gr_data<const real>(frame, X), gr_data<const real>(frame, Y) }
#define INPUT_3(X, Y, Z) \
  { gr_data<const real>(frame, X), gr_data<const real>(frame, Y), gr_data<const real>(frame, Z) }
#define NAME_1 const real x = element[0];
#define NAME_2 NAME_1 const real y = element[1];
#define NAME_3 NAME_2 const real z = element[2];
#define ENTRY(NAME, TYPE, SUFFIX, INPUTS, ARGUMENTS, OUT, PREPARE, EXPRESSION)                                   \
  GR_ENTRY(gr_##NAME##_##SUFFIX, GR_MAP_THREADS_MAX) {                                                           \
    typedef TYPE real;                                                                                           \
    PREPARE                                                                                                      \
    const gr_map_view<real, INPUTS, real, 1> view = {                                                            \
        INPUT_##INPUTS ARGUMENTS, {gr_data<real>(frame, OUT)}, gr_count(frame, OUT)};                            \
    gr_map(view, [=](const real(&element)[INPUTS], real(&result)[1]) { NAME_##INPUTS result[0] = EXPRESSION; }); \
  }
#define ELEMENTWISE(NAME, INPUTS, ARGUMENTS, OUT, PREPARE, EXPRESSION) \
  ENTRY(NAME, float, f32, INPUTS, ARGUMENTS, OUT, PREPARE, EXPRESSION) \
  ENTRY(NAME, double, f64, INPUTS, ARGUMENTS, OUT, PREPARE, EXPRESSION)

ELEMENTWISE(abs, 1, (0), 1, , fabs(x))
ELEMENTWISE(add, 2, (0, 1), 2, , x + y)
ELEMENTWISE(axpy, 2, (1, 2), 2, SCALAR(a, 0), a *x + y)
ELEMENTWISE(clamp, 1, (2), 3, SCALAR(lo, 0) SCALAR(hi, 1), limit(x, lo, hi))
ELEMENTWISE(div, 2, (0, 1), 2, , x / y)
ELEMENTWISE(div_scalar, 1, (0), 2, ONE(s, 1), x / s)
ELEMENTWISE(exp, 1, (0), 1, , exp(x))
ELEMENTWISE(hypot, 2, (0, 1), 2, , hypot(x, y))
ELEMENTWISE(lerp, 3, (0, 1, 2), 3, , x *y + (1 - x) * z)
ELEMENTWISE(log, 1, (0), 1, , log(x))
ELEMENTWISE(maximum, 2, (0, 1), 2, , maximum(x, y))
ELEMENTWISE(minimum, 2, (0, 1), 2, , minimum(x, y))
ELEMENTWISE(mul, 2, (0, 1), 2, , x *y)
ELEMENTWISE(neg, 1, (0), 1, , -x)
ELEMENTWISE(relu, 1, (0), 1, , maximum(x, static_cast<real>(0)))
ELEMENTWISE(rescale, 1, (0), 3, ONE(lo, 1) ONE(hi, 2),
            limit((x - lo) / (hi - lo), static_cast<real>(0), static_cast<real>(1)))
ELEMENTWISE(scale, 1, (1), 2, SCALAR(a, 0), a *x)
ELEMENTWISE(sqrt, 1, (0), 1, , sqrt(x))
ELEMENTWISE(square, 1, (0), 1, , x *x)
ELEMENTWISE(sub, 2, (0, 1), 2, , x - y)
