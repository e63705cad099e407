/* Half precision, exhaustively, against the definition of the formats; rounding to integers at the edges. */
#include "kernels/number.h"

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

struct format {
  int exponent_bits, mantissa_bits;
};
static const struct format f16 = {5, 10}, bf16 = {8, 7};

/* By the definition: sign, biased exponent, mantissa. Every value is an f64 exactly. */
static double value_of(struct format format, uint32_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = (int)(bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int mantissa = (int)bits & ((1 << format.mantissa_bits) - 1);
  double value = exponent == 0 ? ldexp(mantissa, 1 - bias - format.mantissa_bits)
                               : ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
  if (exponent == (1 << format.exponent_bits) - 1) value = mantissa != 0 ? (double)NAN : (double)INFINITY;
  return bits >> 15 != 0 ? -value : value;
}

START_TEST(test_half_to_f32_is_exact) {
  for (uint32_t bits = 0; bits <= 0xffff; bits++) {
    double from_f16 = (double)gr_f32_of_f16((uint16_t)bits), from_bf16 = (double)gr_f32_of_bf16((uint16_t)bits);
    double want_f16 = value_of(f16, bits), want_bf16 = value_of(bf16, bits);
    if (isnan(want_f16) ? !isnan(from_f16) : gr_bits_of_f64(from_f16) != gr_bits_of_f64(want_f16))
      ck_abort_msg("f16 %#" PRIx32 " is %g, not %g", bits, from_f16, want_f16);
    if (isnan(want_bf16) ? !isnan(from_bf16) : gr_bits_of_f64(from_bf16) != gr_bits_of_f64(want_bf16))
      ck_abort_msg("bf16 %#" PRIx32 " is %g, not %g", bits, from_bf16, want_bf16);
  }
}
END_TEST

START_TEST(test_half_comes_back) {
  for (uint32_t bits = 0; bits <= 0xffff; bits++) {
    uint16_t half = (uint16_t)bits;
    if (!isnan(value_of(f16, bits)) && gr_f16_of_f32(gr_f32_of_f16(half)) != half)
      ck_abort_msg("f16 %#" PRIx32 " becomes %#x", bits, gr_f16_of_f32(gr_f32_of_f16(half)));
    if (!isnan(value_of(bf16, bits)) && gr_bf16_of_f32(gr_f32_of_bf16(half)) != half)
      ck_abort_msg("bf16 %#" PRIx32 " becomes %#x", bits, gr_bf16_of_f32(gr_f32_of_bf16(half)));
  }
}
END_TEST

/* Between each value and the next larger one: the middle goes to the even one, what is beside the middle to its side.
 */
static void expect_rounding(struct format format, uint16_t (*of_f32)(float), uint16_t (*of_f64)(double)) {
  const uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  for (uint32_t bits = 0; bits < infinity; bits++) {
    double low = value_of(format, bits), high = value_of(format, bits + 1);
    /* Infinity stands for the value that would come next. */
    if (isinf(high)) high = 2 * low - value_of(format, bits - 1);
    double middle = (low + high) / 2;
    uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    double below = nextafter(middle, low), above = nextafter(middle, high);
    if (of_f64(middle) != even || of_f64(below) != bits || of_f64(above) != bits + 1)
      ck_abort_msg("f64 beside %g: %#x %#x %#x", middle, of_f64(below), of_f64(middle), of_f64(above));
    if (of_f64(-middle) != (even | 0x8000) || of_f64(-above) != ((bits + 1) | 0x8000))
      ck_abort_msg("f64 beside %g: %#x %#x", -middle, of_f64(-middle), of_f64(-above));
    float middle_f32 = (float)middle;
    if ((double)middle_f32 != middle) continue; /* bf16's smallest are f32's smallest, too */
    float below_f32 = nextafterf(middle_f32, -1), above_f32 = nextafterf(middle_f32, INFINITY);
    if (of_f32(middle_f32) != even || (middle != 0 && of_f32(below_f32) != bits) || of_f32(above_f32) != bits + 1)
      ck_abort_msg("f32 beside %g: %#x %#x %#x", middle, of_f32(below_f32), of_f32(middle_f32), of_f32(above_f32));
  }
  ck_assert_uint_eq(of_f32(INFINITY), infinity);
  ck_assert_uint_eq(of_f64(-(double)INFINITY), infinity | 0x8000);
  ck_assert_uint_eq(of_f64(1e300), infinity);
  ck_assert_uint_eq(of_f64(1e-300), 0);
  ck_assert_uint_eq(of_f64(-1e-300), 0x8000);
  ck_assert_msg(isnan(value_of(format, of_f32(NAN))), "NaN of f32");
  ck_assert_msg(isnan(value_of(format, of_f64((double)NAN))), "NaN of f64");
}

START_TEST(test_f16_rounds_to_nearest_even) { expect_rounding(f16, gr_f16_of_f32, gr_f16_of_f64); }
END_TEST
START_TEST(test_bf16_rounds_to_nearest_even) { expect_rounding(bf16, gr_bf16_of_f32, gr_bf16_of_f64); }
END_TEST

/* A NaN whose payload lies in the bits that are cut off must not become an infinity. */
START_TEST(test_every_nan_stays_one) {
  for (uint32_t shift = 0; shift < 23; shift++) {
    float nan = gr_f32_of_bits(0x7f800000u | 1u << shift);
    ck_assert_msg(isnan(value_of(f16, gr_f16_of_f32(nan))), "f16 of a NaN with bit %" PRIu32, shift);
    ck_assert_msg(isnan(value_of(bf16, gr_bf16_of_f32(nan))), "bf16 of a NaN with bit %" PRIu32, shift);
  }
}
END_TEST

/* Rounding to f32 on the way would make a tie of what lies just beside one. */
START_TEST(test_64_bit_integers_round_once) {
  int64_t beside = (INT64_C(1) << 40) + (INT64_C(1) << 29) + 1; /* f16 is infinite there, bf16 is not */
  ck_assert_uint_eq(gr_bf16_of_i64((INT64_C(1) << 40) + (INT64_C(1) << 32)), gr_bf16_of_f64(0x1p40));
  ck_assert_uint_eq(gr_bf16_of_i64((INT64_C(1) << 40) + (INT64_C(1) << 32) + 1), gr_bf16_of_f64(0x1p40) + 1);
  ck_assert_uint_eq(gr_f16_of_i64(beside), 0x7c00);
  ck_assert_uint_eq(gr_f16_of_i64(-beside), 0xfc00);
  ck_assert_uint_eq(gr_f16_of_i64(2049), gr_f16_of_f64(2048));
  ck_assert_uint_eq(gr_f16_of_u64(2051), gr_f16_of_f64(2052));
  /* 2^63 + 2^55 is the middle of two bf16; f64 does not hold the 1 behind it. */
  uint64_t middle = (UINT64_C(1) << 63) + (UINT64_C(1) << 55);
  ck_assert_uint_eq(gr_bf16_of_u64(middle), gr_bf16_of_f64(0x1p63));
  ck_assert_uint_eq(gr_bf16_of_u64(middle + 1), gr_bf16_of_f64(0x1p63) + 1);
  ck_assert_msg(gr_f32_of_u64(UINT64_MAX) == 0x1p64f, "f32 of the largest u64");
}
END_TEST

START_TEST(test_integers_saturate) {
  ck_assert_int_eq(gr_i8_of_f64(127.5), 127);
  ck_assert_int_eq(gr_i8_of_f64(-128.5), -128);
  ck_assert_int_eq(gr_i8_of_f64(-1e300), -128);
  ck_assert_int_eq(gr_u8_of_f64(254.5), 254);
  ck_assert_int_eq(gr_u8_of_f64(253.5), 254);
  ck_assert_int_eq(gr_u8_of_f64(-0.6), 0);
  ck_assert_int_eq(gr_i16_of_f64((double)INFINITY), 32767);
  ck_assert_int_eq(gr_u16_of_f64(65535.4), 65535);
  ck_assert_int_eq(gr_i32_of_f64(2147483647.4), INT32_MAX);
  ck_assert_int_eq(gr_i32_of_f64(-2147483649.0), INT32_MIN);
  ck_assert_uint_eq(gr_u32_of_f64(4294967295.5), UINT32_MAX);
  ck_assert_int_eq(gr_i64_of_f64(0x1p63), INT64_MAX);
  ck_assert_int_eq(gr_i64_of_f64(-0x1p63), INT64_MIN);
  ck_assert_int_eq(gr_i64_of_f64(0x1.fffffffffffffp62), INT64_C(0x7ffffffffffffc00));
  ck_assert_uint_eq(gr_u64_of_f64(0x1p64), UINT64_MAX);
  ck_assert_uint_eq(gr_u64_of_f64(-1), 0);
  ck_assert_uint_eq(gr_u64_of_i64(-5), 0);
  ck_assert_int_eq(gr_i64_of_u64(UINT64_MAX), INT64_MAX);
  ck_assert_int_eq(gr_i8_of_u64(300), 127);
  ck_assert_int_eq(gr_i16_of_i64(INT64_MIN), INT16_MIN);
}
END_TEST

START_TEST(test_nan_is_zero_as_an_integer) {
  const double nan = (double)NAN;
  ck_assert_int_eq(gr_i8_of_f64(nan), 0);
  ck_assert_int_eq(gr_u8_of_f64(nan), 0);
  ck_assert_int_eq(gr_i16_of_f64(nan), 0);
  ck_assert_int_eq(gr_u16_of_f64(nan), 0);
  ck_assert_int_eq(gr_i32_of_f64(nan), 0);
  ck_assert_uint_eq(gr_u32_of_f64(nan), 0);
  ck_assert_int_eq(gr_i64_of_f64(nan), 0);
  ck_assert_uint_eq(gr_u64_of_f64(nan), 0);
}
END_TEST

/* Any order gives the same bits, NaN and the zeros included. */
START_TEST(test_extrema_do_not_depend_on_order) {
  const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, 0x1p-149f, -0x1p-149f};
  enum { COUNT = sizeof values / sizeof values[0] };
  for (uint32_t i = 0; i < COUNT; i++) {
    ck_assert_msg(isnan(gr_minimum_f32(values[i], NAN)) && isnan(gr_minimum_f32(NAN, values[i])), "minimum of NaN");
    ck_assert_msg(isnan(gr_maximum_f64((double)values[i], (double)NAN)), "maximum of NaN");
    for (uint32_t k = 0; k < COUNT; k++) {
      float least = gr_minimum_f32(values[i], values[k]), most = gr_maximum_f32(values[i], values[k]);
      ck_assert_uint_eq(gr_bits_of_f32(least), gr_bits_of_f32(gr_minimum_f32(values[k], values[i])));
      ck_assert_uint_eq(gr_bits_of_f32(most), gr_bits_of_f32(gr_maximum_f32(values[k], values[i])));
      ck_assert_msg(least <= most, "%g and %g", (double)values[i], (double)values[k]);
    }
  }
  ck_assert_msg(signbit(gr_minimum_f32(0.0f, -0.0f)) != 0 && signbit(gr_maximum_f64(-0.0, 0.0)) == 0, "zeros");
  ck_assert_msg(isnan(gr_limit_f32(NAN, 0, 1)) && gr_limit_f64(5, 0, 1) == 1 && gr_limit_f64(-5, 0, 1) == 0, "limit");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels/number");
  TCase *numbers = tcase_create("numbers");
  tcase_set_timeout(numbers, 60);
  tcase_add_test(numbers, test_half_to_f32_is_exact);
  tcase_add_test(numbers, test_half_comes_back);
  tcase_add_test(numbers, test_f16_rounds_to_nearest_even);
  tcase_add_test(numbers, test_bf16_rounds_to_nearest_even);
  tcase_add_test(numbers, test_every_nan_stays_one);
  tcase_add_test(numbers, test_64_bit_integers_round_once);
  tcase_add_test(numbers, test_integers_saturate);
  tcase_add_test(numbers, test_nan_is_zero_as_an_integer);
  tcase_add_test(numbers, test_extrema_do_not_depend_on_order);
  suite_add_tcase(suite, numbers);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
