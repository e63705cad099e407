/* convert between all number types. The reference goes through long double, which holds every value of every type, and
 * rounds once. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/support.h"

/* --- Reference --- */

/* A half-precision value of so many exponent and mantissa bits. */
static long double half_value(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  long double value;
  if (exponent == (1 << exponent_bits) - 1) value = mantissa != 0 ? (long double)NAN : (long double)INFINITY;
  else if (exponent == 0) value = ldexpl(mantissa, 1 - bias - mantissa_bits);
  else value = ldexpl(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return bits >> 15 != 0 ? -value : value;
}

static long double value_at(enum gr_type type, const void *data, uint64_t index) {
  switch (type) {
    case GR_TYPE_I8:
      return ((const int8_t *)data)[index];
    case GR_TYPE_U8:
      return ((const uint8_t *)data)[index];
    case GR_TYPE_I16:
      return ((const int16_t *)data)[index];
    case GR_TYPE_U16:
      return ((const uint16_t *)data)[index];
    case GR_TYPE_I32:
      return ((const int32_t *)data)[index];
    case GR_TYPE_U32:
      return ((const uint32_t *)data)[index];
    case GR_TYPE_I64:
      return ((const int64_t *)data)[index];
    case GR_TYPE_U64:
      return ((const uint64_t *)data)[index];
    case GR_TYPE_F16:
      return half_value(((const uint16_t *)data)[index], 5, 10);
    case GR_TYPE_BF16:
      return half_value(((const uint16_t *)data)[index], 8, 7);
    case GR_TYPE_F32:
      return ((const float *)data)[index];
    case GR_TYPE_F64:
      return ((const double *)data)[index];
  }
  return 0;
}

/* To so many bits, in the range of a type whose smallest multiple is 2^lowest and whose values stay below 2^top. */
static long double rounded(long double value, int bits, int lowest, int top) {
  if (isnan(value) || isinf(value) || value == 0) return value;
  int exponent;
  frexpl(value, &exponent);
  const int quantum = exponent - bits < lowest ? lowest : exponent - bits;
  long double result = ldexpl(rintl(ldexpl(value, -quantum)), quantum);
  return fabsl(result) >= ldexpl(1, top) ? copysignl((long double)INFINITY, value) : result;
}

static long double saturated(long double value, long double low, long double high) {
  if (isnan(value)) return 0;
  value = rintl(value);
  return value < low ? low : value > high ? high : value;
}

static long double as(enum gr_type type, long double value) {
  switch (type) {
    case GR_TYPE_I8:
      return saturated(value, INT8_MIN, INT8_MAX);
    case GR_TYPE_U8:
      return saturated(value, 0, UINT8_MAX);
    case GR_TYPE_I16:
      return saturated(value, INT16_MIN, INT16_MAX);
    case GR_TYPE_U16:
      return saturated(value, 0, UINT16_MAX);
    case GR_TYPE_I32:
      return saturated(value, INT32_MIN, INT32_MAX);
    case GR_TYPE_U32:
      return saturated(value, 0, UINT32_MAX);
    case GR_TYPE_I64:
      return saturated(value, (long double)INT64_MIN, (long double)INT64_MAX);
    case GR_TYPE_U64:
      return saturated(value, 0, (long double)UINT64_MAX);
    case GR_TYPE_F16:
      return rounded(value, 11, -24, 16);
    case GR_TYPE_BF16:
      return rounded(value, 8, -133, 128);
    case GR_TYPE_F32:
      return rounded(value, 24, -149, 128);
    case GR_TYPE_F64:
      return (long double)(double)value;
  }
  return 0;
}

static bool is_same(long double got, long double want) {
  if (isnan(want)) return isnan(got);
  return got == want && !signbit(got) == !signbit(want);
}

/* --- Calls --- */

static void add_convert(struct call *call, enum gr_type from, enum gr_type to, void *x, uint64_t count, double scale,
                        uint64_t offset) {
  void *out = allocate(count * gr_type_size(to));
  *call = (struct call){.kernel = "convert"};
  fill_garbage(to, out, count);
  call->arguments[add_vector(call, from, x, count)].offset = offset;
  add_vector(call, to, out, count);
  add_real(call, scale);
}

/* Judges a call, and frees its output. */
static void compare(const struct target *target, const struct call *call) {
  const struct call_argument *x = &call->arguments[0], *out = &call->arguments[1];
  const double scale = call->arguments[2].real;
  for (uint64_t i = 0; i < x->shape[0]; i++) {
    long double value = value_at(x->type, x->data, i);
    /* The product is an f64's; without a factor there is none, and 64-bit integers stay whole. */
    if (scale != 1) value = (double)value * scale;
    long double want = as(out->type, value), got = value_at(out->type, out->data, i);
    /* An integer has no negative zero. */
    if (!gr_type_is_float(out->type)) want += 0.0L;
    ck_assert_msg(is_same(got, want),
                  "%s: convert %s to %s times %g: element %" PRIu64 ", %.21Lg, became %.21Lg, not %.21Lg", target->name,
                  gr_type_name(x->type), gr_type_name(out->type), scale, i, value_at(x->type, x->data, i), got, want);
  }
  free(out->data);
}

static void run_converts(const struct target *target, const struct call *calls, uint32_t call_count) {
  target->run(target->context, calls, call_count);
  for (uint32_t i = 0; i < call_count; i++) compare(target, &calls[i]);
}

/* Random bits: of a float, all exponents. */
static void fill_bits(struct randomness *randomness, enum gr_type type, void *data, uint64_t count) {
  unsigned char *bytes = data;
  for (uint64_t i = 0; i < count * gr_type_size(type); i++) bytes[i] = (unsigned char)random_bits(randomness);
}

/* Floats near the range of integers, where rounding and saturation happen. */
static void fill_near_integers(struct randomness *randomness, enum gr_type type, void *data, uint64_t count) {
  for (uint64_t i = 0; i < count; i += 2) {
    double value = ldexp(random_between(randomness, -1, 1), (int)(random_bits(randomness) % 70));
    if (random_bits(randomness) % 2 == 0) value = rint(value) + 0.5; /* a tie */
    if (type == GR_TYPE_F32) ((float *)data)[i] = (float)value;
    if (type == GR_TYPE_F64) ((double *)data)[i] = value;
  }
}

void case_convert_all_types(const struct target *target) {
  static const double scales[] = {1, 0.375, -3};
  enum { COUNT = 1037 };
  for (uint32_t from = 0; from < GR_TYPE_COUNT; from++) {
    struct randomness randomness = {from};
    void *x = allocate(COUNT * sizeof(uint64_t));
    fill_bits(&randomness, (enum gr_type)from, x, COUNT);
    fill_near_integers(&randomness, (enum gr_type)from, x, COUNT);
    struct call calls[2 * GR_TYPE_COUNT];
    for (uint32_t to = 0; to < GR_TYPE_COUNT; to++) {
      add_convert(&calls[2 * to], (enum gr_type)from, (enum gr_type)to, x, COUNT, scales[(from + to) % 3], 0);
      add_convert(&calls[2 * to + 1], (enum gr_type)from, (enum gr_type)to, x, COUNT, scales[(from + to + 1) % 3],
                  to % 2);
    }
    run_converts(target, calls, 2 * GR_TYPE_COUNT);
    free(x);
  }
}

void case_convert_sizes(const struct target *target) {
  static const uint64_t sizes[] = {0, 1, 7, 255, 4097, (1 << 20) + 3};
  static const enum gr_type pairs[][2] = {{GR_TYPE_U8, GR_TYPE_F32},  {GR_TYPE_F32, GR_TYPE_U8},
                                          {GR_TYPE_I64, GR_TYPE_U8},  {GR_TYPE_U8, GR_TYPE_U8},
                                          {GR_TYPE_F64, GR_TYPE_F16}, {GR_TYPE_BF16, GR_TYPE_F64}};
  enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };
  for (uint32_t pair = 0; pair < sizeof pairs / sizeof pairs[0]; pair++) {
    struct call calls[SIZE_COUNT];
    for (uint32_t size = 0; size < SIZE_COUNT; size++) {
      struct randomness randomness = {size};
      void *x = allocate(sizes[size] * gr_type_size(pairs[pair][0]));
      fill_bits(&randomness, pairs[pair][0], x, sizes[size]);
      add_convert(&calls[size], pairs[pair][0], pairs[pair][1], x, sizes[size], pair % 2 == 0 ? 0.25 : 1, size % 3);
    }
    run_converts(target, calls, SIZE_COUNT);
    for (uint32_t size = 0; size < SIZE_COUNT; size++) free(calls[size].arguments[0].data);
  }
}

/* Ties, the last values inside and the first outside, and 64-bit integers that f64 does not hold. */
void case_convert_edges(const struct target *target) {
  double reals[] = {
      0.5, 1.5, 2.5, -0.5, -1.5, 254.5, 255.5, 127.5, -128.5, -129, 32767.5, 65535.5, 65520, 65519.999, 65504, 0x1p31,
      -0x1p31, 2147483647.5, 0x1p32, 0x1p63, -0x1p63, 0x1p64, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-133, 0x1p-134, 0x1p-149,
      0x1p-150, 0x1.8p-150, 3.4e38, 3.5e38, 1e308, (double)NAN, (double)INFINITY, -(double)INFINITY,
      /* Rounding to f32 first would make ties of these. */
      1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8 - 0x1p-40, 0x1p-134 + 0x1p-170, 0x1p-25 + 0x1p-60};
  int64_t integers[] = {INT64_MAX,
                        INT64_MIN,
                        INT64_MAX - 1,
                        (INT64_C(1) << 53) + 1,
                        -(INT64_C(1) << 53) - 1,
                        (INT64_C(1) << 24) + 1,
                        (INT64_C(1) << 61) + (INT64_C(1) << 37) + 1,
                        0,
                        -1,
                        256};
  for (uint32_t to = 0; to < GR_TYPE_COUNT; to++) {
    struct call calls[3];
    add_convert(&calls[0], GR_TYPE_F64, (enum gr_type)to, reals, sizeof reals / sizeof reals[0], 1, 0);
    add_convert(&calls[1], GR_TYPE_I64, (enum gr_type)to, integers, sizeof integers / sizeof integers[0], 1, 0);
    add_convert(&calls[2], GR_TYPE_U64, (enum gr_type)to, integers, sizeof integers / sizeof integers[0], 1, 0);
    run_converts(target, calls, 3);
  }
}
