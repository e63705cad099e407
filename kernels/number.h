/* Number types that C17 has no arithmetic for, and conversions that must come out the same on host and device: one text
 * for both, in C17 and CUDA C++. All rounding is to nearest, ties to even; the floating-point environment is the
 * default one. A NaN stays a NaN (its payload may change); as an integer it is 0. */
#ifndef GRAPHRUN_KERNELS_NUMBER_H
#define GRAPHRUN_KERNELS_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define GR_NUMBER_FUNCTION static __device__ __forceinline__
#else
#define GR_NUMBER_FUNCTION static inline
#endif

GR_NUMBER_FUNCTION uint32_t gr_bits_of_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

GR_NUMBER_FUNCTION float gr_f32_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

GR_NUMBER_FUNCTION uint64_t gr_bits_of_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

GR_NUMBER_FUNCTION double gr_f64_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* --- Minimum and maximum as in IEEE 754-2019: a NaN wins, and -0 is less than +0. So the result does not depend on the
 * order in which a tree of them is evaluated. Equal values have equal bits, but for the two zeros: there `or` finds the
 * sign, `and` loses it. --- */

GR_NUMBER_FUNCTION float gr_minimum_f32(float x, float y) {
  if (x < y) return x;
  if (y < x) return y;
  if (x == y) return gr_f32_of_bits(gr_bits_of_f32(x) | gr_bits_of_f32(y));
  return x + y;
}

GR_NUMBER_FUNCTION float gr_maximum_f32(float x, float y) {
  if (x > y) return x;
  if (y > x) return y;
  if (x == y) return gr_f32_of_bits(gr_bits_of_f32(x) & gr_bits_of_f32(y));
  return x + y;
}

GR_NUMBER_FUNCTION double gr_minimum_f64(double x, double y) {
  if (x < y) return x;
  if (y < x) return y;
  if (x == y) return gr_f64_of_bits(gr_bits_of_f64(x) | gr_bits_of_f64(y));
  return x + y;
}

GR_NUMBER_FUNCTION double gr_maximum_f64(double x, double y) {
  if (x > y) return x;
  if (y > x) return y;
  if (x == y) return gr_f64_of_bits(gr_bits_of_f64(x) & gr_bits_of_f64(y));
  return x + y;
}

/* With `low` above `high`, `high` wins. A NaN stays a NaN. */
GR_NUMBER_FUNCTION float gr_limit_f32(float value, float low, float high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}
GR_NUMBER_FUNCTION double gr_limit_f64(double value, double low, double high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

/* --- Half precision, held as its bits --- */

/* Exact. */
GR_NUMBER_FUNCTION float gr_f32_of_f16(uint16_t half) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  uint32_t sign = (half & 0x8000u) << 16;
  uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return gr_f32_of_bits(sign | 0x7f800000u | (magnitude & 0x03ffu) << 13);
  if (magnitude >= 0x0400u) return gr_f32_of_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
  /* Subnormal: a multiple of 2^-24. */
  float value = (float)magnitude * 0x1p-24f;
  return gr_f32_of_bits(sign | gr_bits_of_f32(value));
#endif
}

GR_NUMBER_FUNCTION uint16_t gr_f16_of_f32(float value) {
#ifdef __CUDA_ARCH__
  uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  uint32_t bits = gr_bits_of_f32(value);
  uint32_t sign = bits >> 16 & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) { /* 65520, half a step above the largest */
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) { /* 2^-14, the smallest normal one */
    magnitude += 0x0fffu + (magnitude >> 13 & 1u);
    half = (magnitude - ((127u - 15u) << 23)) >> 13;
  } else {
    /* Below 0.5 f32 has steps of 2^-24 just under 1: the addition rounds to subnormal steps. */
    half = gr_bits_of_f32(gr_f32_of_bits(magnitude) + 0.5f) - gr_bits_of_f32(0.5f);
  }
  return (uint16_t)(sign | half);
#endif
}

/* Exact. */
GR_NUMBER_FUNCTION float gr_f32_of_bf16(uint16_t half) { return gr_f32_of_bits((uint32_t)half << 16); }

GR_NUMBER_FUNCTION uint16_t gr_bf16_of_f32(float value) {
  uint32_t bits = gr_bits_of_f32(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x0040u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* To f32 with rounding to odd: what is not exact gets an odd last bit. Rounding that once more, to a type with at least
 * two bits less, gives what one rounding of `value` would have given. */
GR_NUMBER_FUNCTION float gr_f32_odd_of_f64(double value) {
  float nearest = (float)value;
  uint32_t bits = gr_bits_of_f32(nearest);
  if ((double)nearest == value || value != value) return nearest;
  if (fabs((double)nearest) > fabs(value)) bits--;
  return gr_f32_of_bits(bits | 1u);
}

GR_NUMBER_FUNCTION uint16_t gr_f16_of_f64(double value) {
#ifdef __CUDA_ARCH__
  /* Rounded to odd at 21 bits, which f32 holds unless the value is far below what f16 tells from zero. Conversions to
   * and from f64 are slow: one instead of the two of gr_f32_odd_of_f64. */
  int high = __double2hiint(value) | (__double2loint(value) != 0 ? 1 : 0);
  return gr_f16_of_f32((float)__hiloint2double(high, 0));
#else
  return gr_f16_of_f32(gr_f32_odd_of_f64(value));
#endif
}
GR_NUMBER_FUNCTION uint16_t gr_bf16_of_f64(double value) { return gr_bf16_of_f32(gr_f32_odd_of_f64(value)); }
GR_NUMBER_FUNCTION float gr_f32_of_f64(double value) { return (float)value; }

/* --- Floating point to integers: rounded, saturated --- */

/* `low` and `high` are integers that i32 holds. Rounding is monotone, so cutting off first gives the same. */
GR_NUMBER_FUNCTION int32_t gr_i32_within_of_f64(double value, double low, double high) {
  if (value != value) return 0;
  value = value < low ? low : value;
  value = value > high ? high : value;
#ifdef __CUDA_ARCH__
  return __double2loint(value + 0x1.8p52); /* as __double2int_rn, at the rate of an addition */
#else
  return (int32_t)rint(value);
#endif
}

GR_NUMBER_FUNCTION int8_t gr_i8_of_f64(double value) { return (int8_t)gr_i32_within_of_f64(value, -128.0, 127.0); }
GR_NUMBER_FUNCTION uint8_t gr_u8_of_f64(double value) { return (uint8_t)gr_i32_within_of_f64(value, 0.0, 255.0); }
GR_NUMBER_FUNCTION int16_t gr_i16_of_f64(double value) {
  return (int16_t)gr_i32_within_of_f64(value, -32768.0, 32767.0);
}
GR_NUMBER_FUNCTION uint16_t gr_u16_of_f64(double value) { return (uint16_t)gr_i32_within_of_f64(value, 0.0, 65535.0); }
GR_NUMBER_FUNCTION int32_t gr_i32_of_f64(double value) {
  return gr_i32_within_of_f64(value, -2147483648.0, 2147483647.0);
}
GR_NUMBER_FUNCTION uint32_t gr_u32_of_f64(double value) {
  if (value != value) return 0;
  value = value < 0.0 ? 0.0 : value;
  value = value > 4294967295.0 ? 4294967295.0 : value;
#ifdef __CUDA_ARCH__
  return (uint32_t)__double2loint(value + 0x1.8p52);
#else
  return (uint32_t)rint(value);
#endif
}
/* The largest 64-bit integers are no f64: from 2^63 and 2^64 on, all is saturated. */
GR_NUMBER_FUNCTION int64_t gr_i64_of_f64(double value) {
  if (value != value) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value <= -0x1p63) return INT64_MIN;
#ifdef __CUDA_ARCH__
  return __double2ll_rn(value);
#else
  return (int64_t)rint(value);
#endif
}
GR_NUMBER_FUNCTION uint64_t gr_u64_of_f64(double value) {
  if (!(value > 0.0)) return 0;
  if (value >= 0x1p64) return UINT64_MAX;
#ifdef __CUDA_ARCH__
  return __double2ull_rn(value);
#else
  return (uint64_t)rint(value);
#endif
}

/* --- Integers to floating point, rounded once --- */

/* Integers beyond f64's 53 bits get what the others say by one odd bit, far below what a half-precision type keeps. */
GR_NUMBER_FUNCTION double gr_f64_odd_of_u64(uint64_t value) {
  if (value >> 53 != 0) value = (value & ~(uint64_t)0x7ff) | ((value & 0x7ff) != 0 ? 0x800u : 0u);
  return (double)value;
}
GR_NUMBER_FUNCTION double gr_f64_odd_of_i64(int64_t value) {
  return value < 0 ? -gr_f64_odd_of_u64(0 - (uint64_t)value) : gr_f64_odd_of_u64((uint64_t)value);
}

GR_NUMBER_FUNCTION double gr_f64_of_i64(int64_t value) { return (double)value; }
GR_NUMBER_FUNCTION float gr_f32_of_i64(int64_t value) { return (float)value; }
GR_NUMBER_FUNCTION uint16_t gr_f16_of_i64(int64_t value) { return gr_f16_of_f64(gr_f64_odd_of_i64(value)); }
GR_NUMBER_FUNCTION uint16_t gr_bf16_of_i64(int64_t value) { return gr_bf16_of_f64(gr_f64_odd_of_i64(value)); }
GR_NUMBER_FUNCTION double gr_f64_of_u64(uint64_t value) { return (double)value; }
GR_NUMBER_FUNCTION float gr_f32_of_u64(uint64_t value) { return (float)value; }
GR_NUMBER_FUNCTION uint16_t gr_f16_of_u64(uint64_t value) { return gr_f16_of_f64(gr_f64_odd_of_u64(value)); }
GR_NUMBER_FUNCTION uint16_t gr_bf16_of_u64(uint64_t value) { return gr_bf16_of_f64(gr_f64_odd_of_u64(value)); }

/* --- Integers to integers, saturated --- */

GR_NUMBER_FUNCTION int64_t gr_i64_within(int64_t value, int64_t low, int64_t high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}
GR_NUMBER_FUNCTION uint64_t gr_u64_up_to(uint64_t value, uint64_t high) { return value > high ? high : value; }

GR_NUMBER_FUNCTION int8_t gr_i8_of_i64(int64_t value) { return (int8_t)gr_i64_within(value, INT8_MIN, INT8_MAX); }
GR_NUMBER_FUNCTION uint8_t gr_u8_of_i64(int64_t value) { return (uint8_t)gr_i64_within(value, 0, UINT8_MAX); }
GR_NUMBER_FUNCTION int16_t gr_i16_of_i64(int64_t value) { return (int16_t)gr_i64_within(value, INT16_MIN, INT16_MAX); }
GR_NUMBER_FUNCTION uint16_t gr_u16_of_i64(int64_t value) { return (uint16_t)gr_i64_within(value, 0, UINT16_MAX); }
GR_NUMBER_FUNCTION int32_t gr_i32_of_i64(int64_t value) { return (int32_t)gr_i64_within(value, INT32_MIN, INT32_MAX); }
GR_NUMBER_FUNCTION uint32_t gr_u32_of_i64(int64_t value) { return (uint32_t)gr_i64_within(value, 0, UINT32_MAX); }
GR_NUMBER_FUNCTION int64_t gr_i64_of_i64(int64_t value) { return value; }
GR_NUMBER_FUNCTION uint64_t gr_u64_of_i64(int64_t value) { return value < 0 ? 0 : (uint64_t)value; }

GR_NUMBER_FUNCTION int8_t gr_i8_of_u64(uint64_t value) { return (int8_t)gr_u64_up_to(value, INT8_MAX); }
GR_NUMBER_FUNCTION uint8_t gr_u8_of_u64(uint64_t value) { return (uint8_t)gr_u64_up_to(value, UINT8_MAX); }
GR_NUMBER_FUNCTION int16_t gr_i16_of_u64(uint64_t value) { return (int16_t)gr_u64_up_to(value, INT16_MAX); }
GR_NUMBER_FUNCTION uint16_t gr_u16_of_u64(uint64_t value) { return (uint16_t)gr_u64_up_to(value, UINT16_MAX); }
GR_NUMBER_FUNCTION int32_t gr_i32_of_u64(uint64_t value) { return (int32_t)gr_u64_up_to(value, INT32_MAX); }
GR_NUMBER_FUNCTION uint32_t gr_u32_of_u64(uint64_t value) { return (uint32_t)gr_u64_up_to(value, UINT32_MAX); }
GR_NUMBER_FUNCTION int64_t gr_i64_of_u64(uint64_t value) { return (int64_t)gr_u64_up_to(value, INT64_MAX); }
GR_NUMBER_FUNCTION uint64_t gr_u64_of_u64(uint64_t value) { return value; }

#endif
