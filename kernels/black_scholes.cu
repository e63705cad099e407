/* Prices of European calls and puts, as black_scholes_host.c has them. */
#include "kernels/device_map.cuh"

template <typename Type>
__device__ __forceinline__ void price(Type spot, Type strike, Type years, Type rate, Type volatility, Type &call,
                                      Type &put) {
  const Type half = static_cast<Type>(0.5), root_half = static_cast<Type>(0.70710678118654752440);
  const Type discounted = strike * exp(-rate * years);
  const Type deviation = volatility * sqrt(years);
  if (deviation == 0) {
    const Type gain = spot - discounted;
    call = gain > 0 ? gain : gain < 0 ? static_cast<Type>(0) : gain;
    put = gain < 0 ? -gain : gain > 0 ? static_cast<Type>(0) : gain;
    return;
  }
  const Type d1 = (log(spot / strike) + (rate + half * volatility * volatility) * years) / deviation;
  const Type d2 = d1 - deviation;
  /* The smaller tail is the accurate one, the larger follows from it. */
  const Type tail1 = half * erfc(fabs(d1) * root_half), tail2 = half * erfc(fabs(d2) * root_half);
  const Type above1 = d1 > 0 ? 1 - tail1 : tail1, below1 = d1 > 0 ? tail1 : 1 - tail1;
  const Type above2 = d2 > 0 ? 1 - tail2 : tail2, below2 = d2 > 0 ? tail2 : 1 - tail2;
  call = spot * above1 - discounted * above2;
  put = discounted * below2 - spot * below1;
}

template <typename Type>
__device__ __forceinline__ void black_scholes(const struct gr_kernel_frame &frame) {
  const Type rate = static_cast<Type>(frame.arguments[3].real);
  const Type volatility = static_cast<Type>(frame.arguments[4].real);
  const gr_map_view<Type, 3, Type, 2> view = {
      {gr_data<const Type>(frame, 0), gr_data<const Type>(frame, 1), gr_data<const Type>(frame, 2)},
      {gr_data<Type>(frame, 5), gr_data<Type>(frame, 6)},
      gr_count(frame, 0)};
  gr_map(view, [=](const Type(&x)[3], Type(&y)[2]) { price(x[0], x[1], x[2], rate, volatility, y[0], y[1]); });
}

GR_ENTRY(gr_black_scholes_f32, GR_MAP_THREADS_MAX) { black_scholes<float>(frame); }
GR_ENTRY(gr_black_scholes_f64, GR_MAP_THREADS_MAX) { black_scholes<double>(frame); }
