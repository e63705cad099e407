/* Numbers: spelling, exact decimal to binary against the C library, and elements of every type. */
#include <check.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

static struct gr_number integer(int64_t value) {
  return (struct gr_number){.is_negative = value < 0, .magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
}
static struct gr_number real(double value) { return (struct gr_number){.is_real = true, .real = value}; }

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void expect_integer(const char *text, bool is_negative, uint64_t magnitude) {
  struct gr_number number;
  ck_assert_msg(gr_number_parse(gr_view_of(text), &number), "%s is refused", text);
  ck_assert_msg(!number.is_real && number.is_negative == is_negative && number.magnitude == magnitude,
                "%s gives %d %" PRIu64, text, number.is_negative, number.magnitude);
}

START_TEST(integers_are_exact_to_the_limits) {
  expect_integer("0", false, 0);
  expect_integer("-0", false, 0);
  expect_integer("42", false, 42);
  expect_integer("0x2A", false, 42);
  expect_integer("0xfF", false, 255);
  expect_integer("0x00ff", false, 255);
  expect_integer("4Ki", false, 4096);
  expect_integer("3Mi", false, 3 << 20);
  expect_integer("-2Gi", true, UINT64_C(2) << 30);
  expect_integer("0x10Ki", false, 16384);
  expect_integer("9223372036854775807", false, INT64_MAX);
  expect_integer("9223372036854775808", false, UINT64_C(1) << 63);
  expect_integer("18446744073709551615", false, UINT64_MAX);
  expect_integer("0xFFFFFFFFFFFFFFFF", false, UINT64_MAX);
  expect_integer("-9223372036854775808", true, UINT64_C(1) << 63);
  expect_integer("17179869183Gi", false, UINT64_C(17179869183) << 30);
}
END_TEST

START_TEST(other_spellings_are_refused) {
  static const char *const texts[] = {"",
                                      "-",
                                      "+16",
                                      " 16",
                                      "16 ",
                                      "1_024",
                                      "4K",
                                      "4k",
                                      "4ki",
                                      "4KiB",
                                      "02000",
                                      "0o2000",
                                      "00",
                                      "-01",
                                      "0X10",
                                      "0x",
                                      "0xg",
                                      "-0x",
                                      "1,024",
                                      "1:30",
                                      "yes",
                                      "true",
                                      "~",
                                      "null",
                                      "1e",
                                      "1e+",
                                      "1.",
                                      ".5",
                                      "1.5Ki",
                                      "1e3Ki",
                                      "1.5.5",
                                      "01.5",
                                      "00.5",
                                      "inf",
                                      "nan",
                                      ".Inf",
                                      ".NaN",
                                      "+.inf",
                                      "-.nan",
                                      "1e3.5",
                                      "--1",
                                      "- 1",
                                      "1f",
                                      "0x1p3",
                                      "1d3",
                                      "infinity",
                                      "\xD9\xA3",
                                      "1\xC2\xA0",
                                      "16#",
                                      "1e400",
                                      "-1e400",
                                      "18446744073709551616",
                                      "99999999999999999999999",
                                      "-9223372036854775809",
                                      "0x10000000000000000",
                                      "17179869184Gi",
                                      "9007199254740993Mi9",
                                      "1e5000000000000000000000"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct gr_number number;
    ck_assert_msg(!gr_number_parse(gr_view_of(texts[i]), &number), "\"%s\" is taken", texts[i]);
  }
  struct gr_number number;
  ck_assert(!gr_number_parse((struct gr_view){"1\0", 2}, &number));
  ck_assert(!gr_number_parse((struct gr_view){"1\0002", 3}, &number));
}
END_TEST

static void expect_real(const char *text, double value) {
  struct gr_number number;
  ck_assert_msg(gr_number_parse(gr_view_of(text), &number), "%s is refused", text);
  ck_assert_msg(number.is_real && bits_of(number.real) == bits_of(value), "%s gives %a, not %a", text, number.real,
                value);
}

START_TEST(floats_are_rounded_to_nearest_even) {
  expect_real("1.5", 1.5);
  expect_real("1e3", 1000);
  expect_real("1E3", 1000);
  expect_real("1e+3", 1000);
  expect_real("1.0e03", 1000);
  expect_real("-2.5e-4", -2.5e-4);
  expect_real("0.0", 0.0);
  expect_real("-0.0", -0.0);
  expect_real("0e999999999999999999999999", 0.0);
  expect_real(".inf", (double)INFINITY);
  expect_real("-.inf", -(double)INFINITY);
  expect_real("1e-99999999999999999999999", 0.0);
  expect_real("1.7976931348623157e308", 0x1.fffffffffffffp+1023);
  expect_real("1.7976931348623158e308", 0x1.fffffffffffffp+1023);
  expect_real("2.2250738585072011e-308", 0x0.fffffffffffffp-1022); /* the number that hung PHP and Java */
  expect_real("4.9e-324", 0x1p-1074);
  expect_real("2.4703282292062327e-324", 0.0); /* just below half of the least */
  expect_real("2.4703282292062328e-324", 0x1p-1074);
  expect_real("9007199254740993.0", 9007199254740992.0); /* a tie, to even */
  expect_real("9007199254740993.00000000000000000000000000001", 9007199254740994.0);
  expect_real("9007199254740995.0", 9007199254740996.0);
  struct gr_number number;
  ck_assert(!gr_number_parse(gr_view_of("1.7976931348623159e308"), &number));
  ck_assert(gr_number_parse(gr_view_of(".nan"), &number));
  ck_assert(number.is_real && isnan(number.real));
}
END_TEST

/* Half of a decimal text "0.ddd": one more digit. */
static size_t halve(char *text, size_t length) {
  unsigned carry = 0;
  for (size_t i = 2; i < length; i++) {
    unsigned digit = (unsigned)(text[i] - '0') + 10 * carry;
    text[i] = (char)('0' + digit / 2);
    carry = digit & 1;
  }
  text[length] = (char)('0' + 5 * carry);
  text[length + 1] = '\0';
  return length + 1;
}

/* The midpoint of two neighbours has up to 770 digits; only a digit behind all of them decides. */
START_TEST(a_digit_far_behind_decides_a_tie) {
  uint64_t state = 5;
  for (int i = 0; i < 200; i++) {
    uint64_t unit = fixture_random(&state) >> (13 + fixture_random(&state) % 51); /* below 2^51 */
    uint64_t doubled = 2 * unit + 1; /* so many halves of the least subnormal */
    double value;
    memcpy(&value, &doubled, sizeof value);
    char text[1200];
    size_t length = halve(text, (size_t)snprintf(text, sizeof text - 8, "%.1074f", value));
    struct gr_number number;
    ck_assert(gr_number_parse((struct gr_view){text, length}, &number));
    ck_assert_uint_eq(bits_of(number.real), unit + (unit & 1));
    memcpy(text + length, "0001", 4);
    ck_assert(gr_number_parse((struct gr_view){text, length + 4}, &number));
    ck_assert_uint_eq(bits_of(number.real), unit + 1);
    text[length - 1] = '4';
    ck_assert(gr_number_parse((struct gr_view){text, length + 4}, &number));
    ck_assert_uint_eq(bits_of(number.real), unit);
  }
}
END_TEST

START_TEST(huge_texts_are_read_in_linear_time) {
  enum { LENGTH = 1 << 22 };
  char *text = malloc(LENGTH);
  ck_assert_ptr_nonnull(text);
  memset(text, '0', LENGTH);
  memcpy(text, "0.", 2);
  memcpy(text + LENGTH - 10, "1e+4194294", 10);
  /* 0.000…1 times a power of ten that brings it back: 4,194,292 places, 10^4194294 */
  struct gr_number number;
  ck_assert(gr_number_parse((struct gr_view){text, LENGTH}, &number));
  ck_assert(number.is_real && number.real >= 1 && number.real <= 1e6);
  free(text);
}
END_TEST

static void compare_with_strtod(const char *text) {
  struct gr_number number;
  double expected = strtod(text, NULL);
  bool is_taken = gr_number_parse(gr_view_of(text), &number);
  ck_assert_msg(is_taken == isfinite(expected), "%s: taken %d, strtod gives %a", text, is_taken, expected);
  if (is_taken) ck_assert_msg(bits_of(number.real) == bits_of(expected), "%s: %a, not %a", text, number.real, expected);
}

START_TEST(random_decimals_agree_with_strtod) {
  uint64_t state = 1;
  for (int i = 0; i < 100000; i++) {
    char text[128];
    int length = snprintf(text, sizeof text, "%" PRIu64, fixture_random(&state) >> (fixture_random(&state) & 63));
    if (text[0] == '0') text[0] = '7'; /* no leading zero */
    uint64_t shape = fixture_random(&state);
    if (shape & 1) length += snprintf(text + length, sizeof text - (size_t)length, ".%" PRIu64, fixture_random(&state));
    if ((shape & 6) == 6) {
      length +=
          snprintf(text + length, sizeof text - (size_t)length, "%019" PRIu64, fixture_random(&state) % 1000000000);
      if (!(shape & 1)) length += snprintf(text + length, sizeof text - (size_t)length, ".0");
    }
    snprintf(text + length, sizeof text - (size_t)length, "e%d", (int)(fixture_random(&state) % 700) - 360);
    compare_with_strtod(text);
  }
}
END_TEST

/* Every kind of double, in the shortest and in the longest form, and one unit beside it. */
START_TEST(random_doubles_survive) {
  uint64_t state = 2;
  for (int i = 0; i < 100000; i++) {
    uint64_t bits = fixture_random(&state);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    char text[64];
    snprintf(text, sizeof text, "%.*e", (int)(fixture_random(&state) % 40), value);
    compare_with_strtod(text);
    snprintf(text, sizeof text, "%.16e", value);
    struct gr_number number;
    ck_assert(gr_number_parse(gr_view_of(text), &number));
    ck_assert_uint_eq(bits_of(number.real), bits);
  }
}
END_TEST

START_TEST(random_integers_agree_with_128_bits) {
  __extension__ typedef unsigned __int128 wide;
  uint64_t state = 3;
  static const char *const suffixes[] = {"", "Ki", "Mi", "Gi"};
  for (int i = 0; i < 100000; i++) {
    uint64_t value = fixture_random(&state) >> (fixture_random(&state) & 63);
    unsigned suffix = (unsigned)(fixture_random(&state) & 3);
    bool is_hex = (fixture_random(&state) & 1) != 0;
    bool is_negative = (fixture_random(&state) & 1) != 0;
    char text[64];
    char digits[32];
    snprintf(digits, sizeof digits, is_hex ? "0x%" PRIX64 : "%" PRIu64, value);
    snprintf(text, sizeof text, "%s%s%s", is_negative ? "-" : "", digits, suffixes[suffix]);
    wide exact = (wide)value << (10 * suffix);
    bool fits = exact <= (is_negative ? (wide)1 << 63 : (wide)UINT64_MAX);
    struct gr_number number;
    ck_assert_msg(gr_number_parse(gr_view_of(text), &number) == fits, "%s", text);
    if (fits) ck_assert_msg(number.magnitude == (uint64_t)exact && !number.is_real, "%s", text);
  }
}
END_TEST

/* ---- elements ---- */

static void expect_element(struct gr_number number, enum gr_type type, uint64_t bits) {
  struct gr_element element = {0};
  ck_assert_msg(gr_number_to_element(number, type, &element), "refused in %s", gr_type_name(type));
  ck_assert_msg(element.bits == bits, "%" PRIx64 " in %s, not %" PRIx64, element.bits, gr_type_name(type), bits);
}
static void refuse_element(struct gr_number number, enum gr_type type) {
  struct gr_element element = {.bits = 77};
  ck_assert_msg(!gr_number_to_element(number, type, &element), "taken in %s", gr_type_name(type));
  ck_assert_uint_eq(element.bits, 77);
}

START_TEST(integer_elements_keep_their_range) {
  expect_element(integer(-128), GR_TYPE_I8, 0x80);
  expect_element(integer(127), GR_TYPE_I8, 0x7F);
  refuse_element(integer(-129), GR_TYPE_I8);
  refuse_element(integer(128), GR_TYPE_I8);
  expect_element(integer(255), GR_TYPE_U8, 0xFF);
  refuse_element(integer(256), GR_TYPE_U8);
  refuse_element(integer(-1), GR_TYPE_U8);
  expect_element(integer(-1), GR_TYPE_I16, 0xFFFF);
  refuse_element(integer(65536), GR_TYPE_U16);
  expect_element(integer(INT32_MIN), GR_TYPE_I32, 0x80000000);
  refuse_element(integer(INT64_C(2147483648)), GR_TYPE_I32);
  expect_element(integer(UINT32_MAX), GR_TYPE_U32, UINT32_MAX);
  expect_element(integer(INT64_MIN), GR_TYPE_I64, UINT64_C(1) << 63);
  struct gr_number large = {.magnitude = UINT64_MAX};
  expect_element(large, GR_TYPE_U64, UINT64_MAX);
  refuse_element(large, GR_TYPE_I64);
  expect_element(real(2.0), GR_TYPE_I32, 2);
  expect_element(real(-0.0), GR_TYPE_U8, 0);
  refuse_element(real(2.5), GR_TYPE_I32);
  refuse_element(real((double)NAN), GR_TYPE_I32);
  refuse_element(real((double)INFINITY), GR_TYPE_I64);
  refuse_element(real(9223372036854775808.0), GR_TYPE_I64);
  expect_element(real(9223372036854775808.0), GR_TYPE_U64, UINT64_C(1) << 63);
  refuse_element(real(18446744073709551616.0), GR_TYPE_U64);
}
END_TEST

START_TEST(float_elements_are_rounded_once) {
  expect_element(real(1.0), GR_TYPE_F16, 0x3C00);
  expect_element(real(65504), GR_TYPE_F16, 0x7BFF);
  expect_element(real(65519.99), GR_TYPE_F16, 0x7BFF);
  refuse_element(real(65520), GR_TYPE_F16);
  expect_element(real((double)INFINITY), GR_TYPE_F16, 0x7C00);
  expect_element(real(-(double)INFINITY), GR_TYPE_F16, 0xFC00);
  expect_element(real((double)NAN), GR_TYPE_F16, 0x7E00);
  expect_element(real(0x1p-24), GR_TYPE_F16, 1);
  expect_element(real(0x1p-25), GR_TYPE_F16, 0); /* a tie, to even */
  expect_element(real(0x1.0000000001p-25), GR_TYPE_F16, 1);
  expect_element(real(0x1.ffcp-15), GR_TYPE_F16, 0x0400); /* rounds up into the normal ones */
  expect_element(real(-0.0), GR_TYPE_F16, 0x8000);
  expect_element(real(1.0), GR_TYPE_BF16, 0x3F80);
  expect_element(real(0x1.02p0), GR_TYPE_BF16, 0x3F81);
  expect_element(real(0x1.01p0), GR_TYPE_BF16, 0x3F80); /* a tie, to even */
  expect_element(real(0x1.03p0), GR_TYPE_BF16, 0x3F82); /* likewise */
  refuse_element(real(3.4e38), GR_TYPE_BF16);
  /* Through f64 this integer would become a tie and round down. */
  struct gr_number odd = {.magnitude = (UINT64_C(1) << 63) + (UINT64_C(1) << 55) + 1};
  expect_element(odd, GR_TYPE_BF16, 0x5F01);
  expect_element(integer(16777217), GR_TYPE_F32, 0x4B800000);
  refuse_element(real(3.5e38), GR_TYPE_F32);
  expect_element(real(1e-60), GR_TYPE_F32, 0);
  expect_element(integer(-1), GR_TYPE_F64, 0xBFF0000000000000);
}
END_TEST

START_TEST(f32_agrees_with_the_compiler) {
  uint64_t state = 4;
  for (int i = 0; i < 100000; i++) {
    uint64_t bits = fixture_random(&state);
    /* Exponents around those of f32. */
    bits = (bits & UINT64_C(0x800FFFFFFFFFFFFF)) | (1023 - 160 + bits % 290) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    float narrow = (float)value;
    uint32_t expected;
    memcpy(&expected, &narrow, sizeof expected);
    if (isinf(narrow)) {
      refuse_element(real(value), GR_TYPE_F32);
    } else {
      expect_element(real(value), GR_TYPE_F32, expected);
    }
  }
}
END_TEST

START_TEST(all_small_floats_survive) {
  static const enum gr_type types[] = {GR_TYPE_F16, GR_TYPE_BF16};
  for (int t = 0; t < 2; t++) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
      uint16_t element = (uint16_t)bits;
      double value = gr_element_to_double(types[t], &element);
      if (isnan(value)) continue;
      expect_element(real(value), types[t], bits);
    }
  }
}
END_TEST

START_TEST(elements_have_their_value) {
  const int8_t i8 = -5;
  const uint16_t u16 = 65535;
  const int64_t i64 = INT64_MIN;
  const uint64_t u64 = UINT64_MAX;
  const float f32 = 0.1f;
  const double f64 = -0.3;
  ck_assert_double_eq(gr_element_to_double(GR_TYPE_I8, &i8), -5);
  ck_assert_double_eq(gr_element_to_double(GR_TYPE_U16, &u16), 65535);
  ck_assert_double_eq(gr_element_to_double(GR_TYPE_I64, &i64), -9223372036854775808.0);
  ck_assert_double_eq(gr_element_to_double(GR_TYPE_U64, &u64), 18446744073709551616.0);
  ck_assert_double_eq(gr_element_to_double(GR_TYPE_F32, &f32), (double)0.1f);
  ck_assert_double_eq(gr_element_to_double(GR_TYPE_F64, &f64), -0.3);
  ck_assert_double_eq(gr_number_to_double(integer(-7)), -7);
  ck_assert_double_eq(gr_number_to_double((struct gr_number){.magnitude = UINT64_MAX}), 18446744073709551616.0);
}
END_TEST

START_TEST(the_locale_plays_no_part) {
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
  for (size_t i = 0; i < 3 && strcmp(localeconv()->decimal_point, ",") != 0; i++) setlocale(LC_ALL, locales[i]);
  struct gr_number number;
  ck_assert(gr_number_parse(gr_view_of("54.12"), &number));
  ck_assert_uint_eq(bits_of(number.real), 0x404B0F5C28F5C28F);
  ck_assert(!gr_number_parse(gr_view_of("54,12"), &number));
  setlocale(LC_ALL, "C");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("number");
  TCase *spelling = tcase_create("spelling");
  tcase_add_test(spelling, integers_are_exact_to_the_limits);
  tcase_add_test(spelling, other_spellings_are_refused);
  tcase_add_test(spelling, floats_are_rounded_to_nearest_even);
  tcase_add_test(spelling, a_digit_far_behind_decides_a_tie);
  tcase_add_test(spelling, huge_texts_are_read_in_linear_time);
  tcase_add_test(spelling, the_locale_plays_no_part);
  suite_add_tcase(suite, spelling);
  TCase *properties = tcase_create("properties");
  tcase_set_timeout(properties, 280);
  tcase_add_test(properties, random_decimals_agree_with_strtod);
  tcase_add_test(properties, random_doubles_survive);
  tcase_add_test(properties, random_integers_agree_with_128_bits);
  suite_add_tcase(suite, properties);
  TCase *elements = tcase_create("elements");
  tcase_set_timeout(elements, 280);
  tcase_add_test(elements, integer_elements_keep_their_range);
  tcase_add_test(elements, float_elements_are_rounded_once);
  tcase_add_test(elements, f32_agrees_with_the_compiler);
  tcase_add_test(elements, all_small_floats_survive);
  tcase_add_test(elements, elements_have_their_value);
  suite_add_tcase(suite, elements);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
