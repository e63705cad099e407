/* Prices of European calls and puts by Black and Scholes, without dividends. Where the price does not move any more (no
 * time left, or no volatility), a price is what exercising is worth. All arithmetic is in the buffers' type. */
#include <tgmath.h>

#include "kernels/internal.h"

enum { SPOT, STRIKE, YEARS, RATE, VOLATILITY, CALL, PUT };

bool gr_black_scholes_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                            struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_same_count(&call, STRIKE, SPOT) ||
      !gr_check_same_count(&call, YEARS, SPOT) || !gr_check_same_count(&call, CALL, SPOT) ||
      !gr_check_same_count(&call, PUT, SPOT))
    return false;
  return gr_accept(&call, facts, arguments[SPOT].element_count);
}

/* A NaN anywhere ends up in both prices: no comparison may swallow it. */
#define BLACK_SCHOLES(TYPE, SUFFIX)                                                                                   \
  static void price_##SUFFIX(TYPE spot, TYPE strike, TYPE years, TYPE rate, TYPE volatility, TYPE *call, TYPE *put) { \
    const TYPE half = (TYPE)0.5, root_half = (TYPE)0.70710678118654752440;                                            \
    const TYPE discounted = strike * exp(-rate * years);                                                              \
    const TYPE deviation = volatility * sqrt(years);                                                                  \
    if (deviation == 0) {                                                                                             \
      const TYPE gain = spot - discounted;                                                                            \
      *call = gain > 0 ? gain : gain < 0 ? 0 : gain;                                                                  \
      *put = gain < 0 ? -gain : gain > 0 ? 0 : gain;                                                                  \
      return;                                                                                                         \
    }                                                                                                                 \
    const TYPE d1 = (log(spot / strike) + (rate + half * volatility * volatility) * years) / deviation;               \
    const TYPE d2 = d1 - deviation;                                                                                   \
    const TYPE tail1 = half * erfc(fabs(d1) * root_half), tail2 = half * erfc(fabs(d2) * root_half);                  \
    *call = spot * (d1 > 0 ? 1 - tail1 : tail1) - discounted * (d2 > 0 ? 1 - tail2 : tail2);                          \
    *put = discounted * (d2 > 0 ? tail2 : 1 - tail2) - spot * (d1 > 0 ? tail1 : 1 - tail1);                           \
  }                                                                                                                   \
  static void black_scholes_##SUFFIX(const struct gr_kernel_frame *frame) {                                           \
    const TYPE *spot = frame->arguments[SPOT].data, *strike = frame->arguments[STRIKE].data;                          \
    const TYPE *years = frame->arguments[YEARS].data;                                                                 \
    TYPE *call = frame->arguments[CALL].data, *put = frame->arguments[PUT].data;                                      \
    const TYPE rate = (TYPE)frame->arguments[RATE].real, volatility = (TYPE)frame->arguments[VOLATILITY].real;        \
    const uint64_t count = gr_element_count(frame, SPOT);                                                             \
    for (uint64_t i = 0; i < count; i++) {                                                                            \
      TYPE call_price, put_price; /* an output may be an input */                                                     \
      price_##SUFFIX(spot[i], strike[i], years[i], rate, volatility, &call_price, &put_price);                        \
      call[i] = call_price;                                                                                           \
      put[i] = put_price;                                                                                             \
    }                                                                                                                 \
  }
BLACK_SCHOLES(float, f32)
BLACK_SCHOLES(double, f64)

void gr_black_scholes_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  if (gr_is_f64(frame, SPOT)) black_scholes_f64(frame);
  else black_scholes_f32(frame);
}

uint32_t gr_black_scholes_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                                   struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const bool is_f64 = gr_is_f64(frame, SPOT);
  return gr_launch_map(launches, is_f64 ? "gr_black_scholes_f64" : "gr_black_scholes_f32",
                       gr_element_count(frame, SPOT), is_f64 ? sizeof(double) : sizeof(float));
}
