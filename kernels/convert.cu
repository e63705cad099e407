/* Conversion between any two number types. number.h has the rounding, for host and device. */
#include "kernels/device_map.cuh"
#include "kernels/number.h"

/* Half-precision types that the compiler tells apart from each other and from u16. */
struct gr_f16 {
  uint16_t bits;
};
struct gr_bf16 {
  uint16_t bits;
};

/* --- To f64: exact, but for 64-bit integers. The conversion instructions are slow, adding to 2^52 is not. --- */

__device__ __forceinline__ double f64_of(int32_t value) {
  return __hiloint2double(0x43300000, value ^ int32_t(0x80000000)) - (0x1p52 + 0x1p31);
}
__device__ __forceinline__ double f64_of(uint32_t value) {
  return __hiloint2double(0x43300000, int32_t(value)) - 0x1p52;
}
__device__ __forceinline__ double f64_of(int8_t value) { return f64_of(int32_t(value)); }
__device__ __forceinline__ double f64_of(int16_t value) { return f64_of(int32_t(value)); }
__device__ __forceinline__ double f64_of(uint8_t value) { return f64_of(uint32_t(value)); }
__device__ __forceinline__ double f64_of(uint16_t value) { return f64_of(uint32_t(value)); }
__device__ __forceinline__ double f64_of(int64_t value) { return static_cast<double>(value); }
__device__ __forceinline__ double f64_of(uint64_t value) { return static_cast<double>(value); }
__device__ __forceinline__ double f64_of(gr_f16 value) { return gr_f32_of_f16(value.bits); }
__device__ __forceinline__ double f64_of(gr_bf16 value) { return gr_f32_of_bf16(value.bits); }
__device__ __forceinline__ double f64_of(float value) { return value; }
__device__ __forceinline__ double f64_of(double value) { return value; }

/* --- From f64 and from 64-bit integers --- */

__device__ __forceinline__ double gr_f64_of_f64(double value) { return value; }

#define CONVERSIONS(NAME, TYPE)                                                                      \
  __device__ __forceinline__ void set(TYPE &out, double value) { out = gr_##NAME##_of_f64(value); }  \
  __device__ __forceinline__ void set(TYPE &out, int64_t value) { out = gr_##NAME##_of_i64(value); } \
  __device__ __forceinline__ void set(TYPE &out, uint64_t value) { out = gr_##NAME##_of_u64(value); }
#define HALF_CONVERSIONS(NAME, TYPE)                                                                      \
  __device__ __forceinline__ void set(TYPE &out, double value) { out.bits = gr_##NAME##_of_f64(value); }  \
  __device__ __forceinline__ void set(TYPE &out, int64_t value) { out.bits = gr_##NAME##_of_i64(value); } \
  __device__ __forceinline__ void set(TYPE &out, uint64_t value) { out.bits = gr_##NAME##_of_u64(value); }
CONVERSIONS(i8, int8_t)
CONVERSIONS(u8, uint8_t)
CONVERSIONS(i16, int16_t)
CONVERSIONS(u16, uint16_t)
CONVERSIONS(i32, int32_t)
CONVERSIONS(u32, uint32_t)
CONVERSIONS(i64, int64_t)
CONVERSIONS(u64, uint64_t)
HALF_CONVERSIONS(f16, gr_f16)
HALF_CONVERSIONS(bf16, gr_bf16)
CONVERSIONS(f32, float)
CONVERSIONS(f64, double)

/* f64 holds all of any other type: only these must not pass through it when there is no factor. */
template <typename Type>
struct is_wide {
  static constexpr bool value = false;
};
template <>
struct is_wide<int64_t> {
  static constexpr bool value = true;
};
template <>
struct is_wide<uint64_t> {
  static constexpr bool value = true;
};

/* Narrow integers times a factor that is not too large stay far inside i32: what saturates is then an integer, which is
 * cheaper to cut off than an f64. */
template <typename Type>
struct narrow {
  static constexpr bool is = false;
};
#define NARROW(TYPE, LOW, HIGH)           \
  template <>                             \
  struct narrow<TYPE> {                   \
    static constexpr bool is = true;      \
    static constexpr int32_t low = LOW;   \
    static constexpr int32_t high = HIGH; \
  };
NARROW(int8_t, INT8_MIN, INT8_MAX)
NARROW(uint8_t, 0, UINT8_MAX)
NARROW(int16_t, INT16_MIN, INT16_MAX)
NARROW(uint16_t, 0, UINT16_MAX)
constexpr double NARROW_SCALE_MAX = 32767; /* times 65535: below 2^31 */

template <typename Out>
__device__ __forceinline__ Out rounded_narrow(double value) {
  const int32_t integer = __double2loint(value + 0x1.8p52);
  return static_cast<Out>(max(narrow<Out>::low, min(narrow<Out>::high, integer)));
}

template <typename In, typename Out>
__device__ __forceinline__ void convert(const struct gr_kernel_frame &frame) {
  const gr_map_view<In, 1, Out, 1> view = {{gr_data<const In>(frame, 0)}, {gr_data<Out>(frame, 1)}, gr_count(frame, 0)};
  const double scale = frame.arguments[2].real;
  if constexpr (is_wide<In>::value) {
    if (scale == 1.0) {
      gr_map(view, [](const In(&x)[1], Out(&y)[1]) { set(y[0], x[0]); });
      return;
    }
  }
  if constexpr (narrow<In>::is && narrow<Out>::is) {
    if (fabs(scale) <= NARROW_SCALE_MAX) {
      gr_map(view, [=](const In(&x)[1], Out(&y)[1]) { y[0] = rounded_narrow<Out>(f64_of(x[0]) * scale); });
      return;
    }
  }
  gr_map(view, [=](const In(&x)[1], Out(&y)[1]) { set(y[0], f64_of(x[0]) * scale); });
}

#define ENTRY(FROM, IN, TO, OUT) \
  GR_ENTRY(gr_convert_##FROM##_##TO, GR_MAP_THREADS_MAX) { convert<IN, OUT>(frame); }
#define ENTRIES_FROM(FROM, IN)   \
  ENTRY(FROM, IN, i8, int8_t)    \
  ENTRY(FROM, IN, u8, uint8_t)   \
  ENTRY(FROM, IN, i16, int16_t)  \
  ENTRY(FROM, IN, u16, uint16_t) \
  ENTRY(FROM, IN, i32, int32_t)  \
  ENTRY(FROM, IN, u32, uint32_t) \
  ENTRY(FROM, IN, i64, int64_t)  \
  ENTRY(FROM, IN, u64, uint64_t) \
  ENTRY(FROM, IN, f16, gr_f16)   \
  ENTRY(FROM, IN, bf16, gr_bf16) \
  ENTRY(FROM, IN, f32, float)    \
  ENTRY(FROM, IN, f64, double)
ENTRIES_FROM(i8, int8_t)
ENTRIES_FROM(u8, uint8_t)
ENTRIES_FROM(i16, int16_t)
ENTRIES_FROM(u16, uint16_t)
ENTRIES_FROM(i32, int32_t)
ENTRIES_FROM(u32, uint32_t)
ENTRIES_FROM(i64, int64_t)
ENTRIES_FROM(u64, uint64_t)
ENTRIES_FROM(f16, gr_f16)
ENTRIES_FROM(bf16, gr_bf16)
ENTRIES_FROM(f32, float)
ENTRIES_FROM(f64, double)
