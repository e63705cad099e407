#include <math.h>

#include "engine/run/run_internal.h"
#include "tests/unit/run/support.h"

static struct gr_report_expect result;
static struct gr_buffer *buffer;
static struct gr_expect *expect;

static void want(enum gr_type type, uint64_t count, enum gr_expect_kind kind, struct gr_number value) {
  world.pipeline.buffer_count = 0;
  buffer = add_vector("x", type, count);
  expect = give_expect(buffer, kind);
  expect->value = value;
}

/* Compares in pieces of `step` elements; the message goes to `message`. */
static char message[512];
static bool matches_in_steps(const void *got, const void *wanted, uint64_t step) {
  struct gr_comparison comparison;
  struct gr_text text;
  size_t size = gr_type_size(buffer->type);
  memset(&result, 0, sizeof result);
  gr_compare_begin(&comparison, buffer, &result);
  for (uint64_t done = 0; done < buffer->element_count; done += step) {
    uint64_t count = buffer->element_count - done < step ? buffer->element_count - done : step;
    gr_compare_elements(&comparison, done, count, (const char *)got + done * size,
                        wanted ? (const char *)wanted + done * size : NULL);
  }
  gr_compare_end(&comparison);
  gr_text_init(&text, &world.memory);
  gr_compare_explain(&comparison, &text);
  snprintf(message, sizeof message, "%s", text.bytes);
  gr_text_release(&text);
  ck_assert_int_eq(result.is_met, result.different_count == 0);
  return result.is_met;
}

static bool matches(const void *got, const void *wanted) { return matches_in_steps(got, wanted, 1000); }

START_TEST(equal_numbers) {
  want(GR_TYPE_F32, 3, GR_EXPECT_EQUALS, integer_number(2));
  ck_assert(matches((float[]){2, 2, 2}, NULL));
  ck_assert_double_eq(result.largest_difference, 0);
  ck_assert(!matches((float[]){2, 2.5f, -1}, NULL));
  ck_assert_uint_eq(result.different_count, 2);
  ck_assert_uint_eq(result.first_index, 1);
  ck_assert_uint_eq(result.worst_index, 2);
  ck_assert_double_eq(gr_number_to_double(result.first_got), 2.5);
  ck_assert_double_eq(gr_number_to_double(result.worst_got), -1);
  ck_assert_double_eq(gr_number_to_double(result.worst_want), 2);
  ck_assert_double_eq(result.largest_difference, 3);
  ck_assert_str_eq(message,
                   "buffer \"x\" is not as expected: 2 of 3 elements differ; the first, [1] is 2.5, not 2; the worst, "
                   "[2] is -1, not 2");
}
END_TEST

/* 0.1 is no f32: what is meant is the f32 that a fill with 0.1 writes. */
START_TEST(equal_to_what_the_type_can_hold) {
  want(GR_TYPE_F32, 1, GR_EXPECT_EQUALS, real_number(0.1));
  ck_assert(matches((float[]){0.1f}, NULL));
  want(GR_TYPE_F64, 1, GR_EXPECT_EQUALS, real_number(0.1));
  ck_assert(matches((double[]){0.1}, NULL));
  ck_assert(!matches((double[]){(double)0.1f}, NULL));
  want(GR_TYPE_I32, 1, GR_EXPECT_EQUALS, real_number(0.5));
  expect->atol = 0.5;
  ck_assert(matches((int32_t[]){1}, NULL));
  ck_assert(!matches((int32_t[]){2}, NULL));
}
END_TEST

START_TEST(tolerances) {
  want(GR_TYPE_F64, 2, GR_EXPECT_LOAD, (struct gr_number){0});
  expect->atol = 0.5;
  expect->rtol = 0.25;
  static const double wanted[] = {8, -8};
  ck_assert(matches((double[]){10.5, -10.5}, wanted)); /* 0.5 + 0.25 * 8, the limit is inside */
  ck_assert_double_eq(result.largest_difference, 2.5);
  ck_assert(!matches((double[]){10.5, -10.625}, wanted));
  ck_assert_uint_eq(result.first_index, 1);
  ck_assert_str_eq(message,
                   "buffer \"x\" is not as expected: 1 of 2 elements differ; the first, [1] is -10.625, not -8 (atol "
                   "0.5, rtol 0.25)");
}
END_TEST

START_TEST(not_a_number) {
  want(GR_TYPE_F64, 3, GR_EXPECT_LOAD, (struct gr_number){0});
  expect->atol = (double)INFINITY;
  double nan = (double)NAN;
  ck_assert(matches((double[]){nan, 1, 2}, (double[]){nan, 5, 2}));
  ck_assert(!matches((double[]){nan, 1, 2}, (double[]){0, 1, 2}));
  ck_assert(isnan(result.largest_difference));
  ck_assert(!matches((double[]){0, 1, 2}, (double[]){0, nan, 2}));
  ck_assert_uint_eq(result.worst_index, 1);
  expect->atol = 0;
  ck_assert(!matches((double[]){9, nan, 100}, (double[]){0, 1, 2}));
  ck_assert_uint_eq(result.different_count, 3);
  ck_assert_uint_eq(result.worst_index, 1); /* worse than any number */
  ck_assert_ptr_nonnull(strstr(message, "the worst, [1] is nan, not 1"));
  ck_assert(!matches((double[]){nan, 50, nan}, (double[]){0, 1, 2}));
  ck_assert_uint_eq(result.worst_index, 0);
}
END_TEST

START_TEST(infinities) {
  double infinite = (double)INFINITY;
  want(GR_TYPE_F64, 2, GR_EXPECT_LOAD, (struct gr_number){0});
  expect->rtol = 0.5;
  ck_assert(matches((double[]){infinite, -infinite}, (double[]){infinite, -infinite}));
  ck_assert_double_eq(result.largest_difference, 0);
  ck_assert(!matches((double[]){1, 1}, (double[]){infinite, 1}));
  ck_assert(!matches((double[]){infinite, 1}, (double[]){1, 1}));
  ck_assert(!matches((double[]){infinite, 1}, (double[]){-infinite, 1}));
  expect->rtol = 0;
  expect->atol = infinite;
  ck_assert(matches((double[]){infinite, 1}, (double[]){-infinite, 1e300}));
}
END_TEST

/* Messages show the few digits that make a number of the type, not the many of the f64 that it is compared as. */
START_TEST(messages_have_few_digits) {
  static const struct {
    float got;
    const char *text;
  } numbers[] = {
      {0.1f, "[0] is 0.1, not 0"},
      {-0.30186027f, "[0] is -0.30186027, not 0"},
      {16777216.0f, "[0] is 16777216, not 0"},
      {1.17549435e-38f, "[0] is 1.1754943508222875e-38, not 0"},
      {3.4028235e38f, "[0] is 3.4028234663852886e38, not 0"},
      {1e-10f, "[0] is 1e-10, not 0"},
      {1e10f, "[0] is 10000000000, not 0"},
      {123456.79f, "[0] is 123456.79, not 0"},
      {0.333333343f, "[0] is 0.33333334, not 0"},
  };
  want(GR_TYPE_F32, 1, GR_EXPECT_EQUALS, integer_number(0));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    ck_assert(!matches(&numbers[i].got, NULL));
    ck_assert_msg(strstr(message, numbers[i].text) != NULL, "%s: %s", numbers[i].text, message);
  }
}
END_TEST

START_TEST(half_precision) {
  want(GR_TYPE_F16, 2, GR_EXPECT_LOAD, (struct gr_number){0});
  ck_assert(matches((uint16_t[]){0x3c00, 0x8000}, (uint16_t[]){0x3c00, 0x0000})); /* -0 is 0 */
  ck_assert(!matches((uint16_t[]){0x3c00, 0}, (uint16_t[]){0x3c01, 0}));
  want(GR_TYPE_BF16, 1, GR_EXPECT_EQUALS, integer_number(1));
  ck_assert(matches((uint16_t[]){0x3f80}, NULL));
  ck_assert(!matches((uint16_t[]){0x3f81}, NULL));
}
END_TEST

/* Neighbours above 2^53, which f64 cannot tell apart. */
START_TEST(integers_are_compared_exactly) {
  want(GR_TYPE_U64, 2, GR_EXPECT_LOAD, (struct gr_number){0});
  ck_assert(!matches((uint64_t[]){UINT64_MAX, 0}, (uint64_t[]){UINT64_MAX - 1, 0}));
  ck_assert_str_eq(message,
                   "buffer \"x\" is not as expected: 1 of 2 elements differ; the first, [0] is 18446744073709551615, "
                   "not 18446744073709551614");
  expect->atol = 1;
  ck_assert(matches((uint64_t[]){UINT64_MAX, 0}, (uint64_t[]){UINT64_MAX - 1, 1}));
  expect->atol = 1.999;
  ck_assert(!matches((uint64_t[]){5, 0}, (uint64_t[]){7, 0}));
  expect->atol = 0.5;
  ck_assert(!matches((uint64_t[]){5, 0}, (uint64_t[]){6, 0}));
  want(GR_TYPE_I64, 1, GR_EXPECT_EQUALS, (struct gr_number){.is_negative = true, .magnitude = UINT64_C(1) << 63});
  ck_assert(matches((int64_t[]){INT64_MIN}, NULL));
  ck_assert(!matches((int64_t[]){INT64_MIN + 1}, NULL));
  ck_assert(!matches((int64_t[]){INT64_MAX}, NULL));
  ck_assert_ptr_nonnull(strstr(message, "[0] is 9223372036854775807, not -9223372036854775808"));
  expect->atol = 1e300;
  ck_assert(matches((int64_t[]){INT64_MAX}, NULL));
  want(GR_TYPE_I8, 3, GR_EXPECT_EQUALS, integer_number(-128));
  ck_assert(matches((int8_t[]){-128, -128, -128}, NULL));
  want(GR_TYPE_U8, 1, GR_EXPECT_EQUALS, integer_number(200));
  ck_assert(matches((uint8_t[]){200}, NULL));
}
END_TEST

/* No 64-bit sum would hold this. */
START_TEST(sums_of_integers) {
  want(GR_TYPE_U64, 3, GR_EXPECT_SUM, (struct gr_number){.magnitude = 1});
  uint64_t large[] = {UINT64_MAX, UINT64_MAX, 3}; /* 2^65 + 1: wrapped it would be 1 */
  ck_assert(!matches(large, NULL));
  ck_assert_str_eq(message, "buffer \"x\" is not as expected: its sum is 36893488147419103233, not 1");
  want(GR_TYPE_I64, 3, GR_EXPECT_SUM, integer_number(-5));
  ck_assert(matches((int64_t[]){INT64_MIN, INT64_MAX, -4}, NULL));
  ck_assert(!matches((int64_t[]){INT64_MIN, INT64_MIN, 0}, NULL));
  ck_assert_ptr_nonnull(strstr(message, "its sum is -18446744073709551616, not -5"));
  want(GR_TYPE_I32, 2, GR_EXPECT_SUM, integer_number(10));
  expect->atol = 2;
  ck_assert(matches((int32_t[]){5, 7}, NULL));
  ck_assert(!matches((int32_t[]){5, 8}, NULL));
  want(GR_TYPE_U8, 0, GR_EXPECT_SUM, integer_number(0));
  ck_assert(matches("", NULL));
}
END_TEST

START_TEST(sums_of_reals) {
  want(GR_TYPE_F64, 4, GR_EXPECT_SUM, integer_number(2));
  ck_assert(matches((double[]){1, 1e100, 1, -1e100}, NULL)); /* a plain sum is 0 */
  want(GR_TYPE_F32, 2, GR_EXPECT_SUM, real_number(2e38 * 3));
  expect->rtol = 1e-6;
  ck_assert(matches((float[]){3e38f, 3e38f}, NULL)); /* in f64, where this is finite */
  want(GR_TYPE_F64, 2, GR_EXPECT_SUM, real_number((double)INFINITY));
  ck_assert(matches((double[]){1, (double)INFINITY}, NULL));
  ck_assert(!matches((double[]){1, 2}, NULL));
  ck_assert_str_eq(message, "buffer \"x\" is not as expected: its sum is 3, not inf");
  want(GR_TYPE_F64, 2, GR_EXPECT_SUM, integer_number(3));
  ck_assert(!matches((double[]){1, (double)NAN}, NULL));
}
END_TEST

START_TEST(places_in_many_dimensions) {
  world.pipeline.buffer_count = 0;
  buffer = add_buffer("x", GR_TYPE_U8, 3, (uint64_t[]){2, 3, 4});
  expect = give_expect(buffer, GR_EXPECT_EQUALS);
  unsigned char bytes[24] = {0};
  bytes[1 * 12 + 2 * 4 + 3] = 7;
  ck_assert(!matches(bytes, NULL));
  ck_assert_ptr_nonnull(strstr(message, "the first, [1, 2, 3] is 7, not 0"));
  ck_assert_uint_eq(result.first_index, 23);
  world.pipeline.buffer_count = 0;
  buffer = add_buffer("x", GR_TYPE_U8, 0, NULL);
  expect = give_expect(buffer, GR_EXPECT_EQUALS);
  ck_assert(!matches("\x07", NULL));
  ck_assert_ptr_nonnull(strstr(message, "1 of 1 elements differ; the first, [] is 7, not 0"));
}
END_TEST

/* Random data with random errors: the same result whatever the pieces, and that of a simple loop. */
START_TEST(pieces_give_the_same_result) {
  static double got[3000], wanted[3000];
  uint64_t state = 7;
  for (uint32_t round = 0; round < 20; round++) {
    want(GR_TYPE_F64, 3000, GR_EXPECT_LOAD, (struct gr_number){0});
    expect->atol = 0.5;
    uint64_t different = 0, first = 0, worst = 0;
    double largest = -1;
    for (uint64_t i = 0; i < 3000; i++) {
      wanted[i] = (double)graph_random_below(&state, 1000);
      bool is_off = graph_random_below(&state, 400) == 0;
      got[i] = wanted[i] + (is_off ? (double)graph_random_below(&state, 1000) - 500 : 0.25);
      double difference = fabs(got[i] - wanted[i]);
      if (difference <= 0.5) continue;
      if (different++ == 0) first = i;
      if (difference > largest) largest = difference, worst = i;
    }
    for (uint64_t step = 1; step < 4000; step = step * 3 + 1) {
      ck_assert_int_eq(matches_in_steps(got, wanted, step), different == 0);
      ck_assert_uint_eq(result.different_count, different);
      if (different == 0) continue;
      ck_assert_uint_eq(result.first_index, first);
      ck_assert_uint_eq(result.worst_index, worst);
      ck_assert_double_eq(result.largest_difference, largest);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("expect");
  TCase *cases = tcase_create("expect");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, equal_numbers);
  tcase_add_test(cases, equal_to_what_the_type_can_hold);
  tcase_add_test(cases, tolerances);
  tcase_add_test(cases, not_a_number);
  tcase_add_test(cases, infinities);
  tcase_add_test(cases, messages_have_few_digits);
  tcase_add_test(cases, half_precision);
  tcase_add_test(cases, integers_are_compared_exactly);
  tcase_add_test(cases, sums_of_integers);
  tcase_add_test(cases, sums_of_reals);
  tcase_add_test(cases, places_in_many_dimensions);
  tcase_add_test(cases, pieces_give_the_same_result);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
