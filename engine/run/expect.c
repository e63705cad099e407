/* Buffers against what they should be. Integers are compared and summed exactly, floats as f64. Two NaNs are equal, a
 * NaN and a number never are; an infinity matches only itself (unless the tolerance is infinite), since |got - want|
 * says nothing of it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/run/run_internal.h"

enum { BLOCK_ELEMENTS = GR_COMPARE_BLOCK };

static double nan_value(void) { return (double)NAN; }

void gr_compare_begin(struct gr_comparison *comparison, const struct gr_buffer *buffer,
                      struct gr_report_expect *result) {
  const struct gr_expect *expect = buffer->expect;
  memset(comparison, 0, sizeof *comparison);
  comparison->buffer = buffer;
  comparison->result = result;
  result->is_met = true;
  result->different_count = 0;
  if (expect->kind == GR_EXPECT_LOAD) return;
  comparison->want = expect->value;
  struct gr_element element;
  if (expect->kind != GR_EXPECT_EQUALS || !gr_number_to_element(expect->value, buffer->type, &element)) return;
  size_t size = gr_type_size(buffer->type);
  for (size_t i = 0; i < BLOCK_ELEMENTS; i++) memcpy(comparison->pattern + i * size, &element.bits, size);
  comparison->has_pattern = true;
  /* 0.1 means the f32 nearest to it where the buffer is f32: what a fill with 0.1 writes. */
  if (gr_type_is_float(buffer->type)) {
    comparison->want = (struct gr_number){.is_real = true, .real = gr_element_to_double(buffer->type, &element.bits)};
  }
}

static struct gr_number real(double value) { return (struct gr_number){.is_real = true, .real = value}; }

static struct gr_number integer_at(enum gr_type type, const void *bytes) {
  bool is_signed = type == GR_TYPE_I8 || type == GR_TYPE_I16 || type == GR_TYPE_I32 || type == GR_TYPE_I64;
  uint32_t unused = 64 - 8 * (uint32_t)gr_type_size(type);
  uint64_t bits = 0;
  memcpy(&bits, bytes, gr_type_size(type));
  if (!is_signed) return (struct gr_number){.magnitude = bits};
  int64_t value = (int64_t)(bits << unused) >> unused; /* the sign bit comes along */
  return (struct gr_number){.is_negative = value < 0, .magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
}

/* A sum as a number: exact where it has 64 bits. */
static struct gr_number number_of(gr_int128 value) {
  gr_int128 magnitude = value < 0 ? -value : value;
  if (magnitude > (gr_int128)UINT64_MAX) return real((double)value);
  return (struct gr_number){.is_negative = value < 0, .magnitude = (uint64_t)magnitude};
}

static gr_int128 value_of(struct gr_number integer) {
  return integer.is_negative ? -(gr_int128)integer.magnitude : (gr_int128)integer.magnitude;
}

static double tolerance(const struct gr_expect *expect, double want) {
  double relative = expect->rtol == 0.0 ? 0.0 : expect->rtol * fabs(want); /* 0 times infinity is no number */
  return expect->atol + relative;
}

static bool reals_match(const struct gr_expect *expect, double got, double want, double *difference) {
  if (isnan(got) || isnan(want)) {
    *difference = isnan(got) && isnan(want) ? 0.0 : nan_value();
    return isnan(got) && isnan(want);
  }
  *difference = got == want ? 0.0 : fabs(got - want);
  if (got == want) return true;
  if (isinf(got) || isinf(want)) return isinf(expect->atol) && expect->atol > 0.0;
  return *difference <= tolerance(expect, want);
}

/* The difference is an integer below 2^128: with the tolerance rounded down the comparison is exact. */
static bool integers_match(const struct gr_expect *expect, gr_int128 got, gr_int128 want, double *difference) {
  gr_int128 distance = got > want ? got - want : want - got;
  double allowed = floor(tolerance(expect, (double)want));
  *difference = (double)distance;
  if (distance == 0) return true;
  return allowed >= 0x1p126 || (allowed > 0.0 && distance <= (gr_int128)allowed);
}

static void note(struct gr_comparison *comparison, uint64_t index, struct gr_number got, struct gr_number want,
                 bool is_match, double difference) {
  struct gr_report_expect *result = comparison->result;
  bool is_nan = isnan(difference);
  if (is_nan || (!isnan(result->largest_difference) && difference > result->largest_difference)) {
    result->largest_difference = difference;
  }
  if (is_match) return;
  if (result->different_count++ == 0) {
    result->is_met = false;
    result->first_index = index;
    result->first_got = got;
    result->first_want = want;
  }
  bool is_worse = !comparison->has_worst || is_nan || difference > comparison->worst_difference;
  if (comparison->is_worst_nan || !is_worse) return;
  comparison->has_worst = true;
  comparison->is_worst_nan = is_nan;
  comparison->worst_difference = difference;
  result->worst_index = index;
  result->worst_got = got;
  result->worst_want = want;
}

/* A tight loop a type, since this is where the time of a large comparison goes. */
static void to_doubles(enum gr_type type, const unsigned char *bytes, uint32_t count, double *values) {
  size_t size = gr_type_size(type);
  if (type == GR_TYPE_F64) {
    memcpy(values, bytes, count * sizeof *values);
  } else if (type == GR_TYPE_F32) {
    float singles[BLOCK_ELEMENTS];
    memcpy(singles, bytes, count * sizeof *singles);
    for (uint32_t i = 0; i < count; i++) values[i] = (double)singles[i];
  } else {
    for (uint32_t i = 0; i < count; i++) values[i] = gr_element_to_double(type, bytes + i * size);
  }
}

/* Neumaier's sum: the error of each addition is kept apart. Once infinite, the plain sum says it all. */
static void add_reals(struct gr_comparison *comparison, const double *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    double sum = comparison->sum + values[i];
    double lost = fabs(comparison->sum) >= fabs(values[i]) ? (comparison->sum - sum) + values[i]
                                                           : (values[i] - sum) + comparison->sum;
    comparison->compensation += lost;
    comparison->sum = sum;
  }
}

static void compare_reals(struct gr_comparison *comparison, uint64_t first, uint32_t count, const unsigned char *got,
                          const unsigned char *want) {
  const struct gr_expect *expect = comparison->buffer->expect;
  double got_values[BLOCK_ELEMENTS], want_values[BLOCK_ELEMENTS];
  double one = gr_number_to_double(comparison->want);
  to_doubles(comparison->buffer->type, got, count, got_values);
  if (expect->kind == GR_EXPECT_SUM) {
    add_reals(comparison, got_values, count);
    return;
  }
  if (want) to_doubles(comparison->buffer->type, want, count, want_values);
  for (uint32_t i = 0; i < count; i++) {
    double difference, wanted = want ? want_values[i] : one;
    bool is_match = reals_match(expect, got_values[i], wanted, &difference);
    if (is_match && difference == 0.0) continue;
    note(comparison, first + i, real(got_values[i]), real(wanted), is_match, difference);
  }
}

static void compare_integers(struct gr_comparison *comparison, uint64_t first, uint32_t count, const unsigned char *got,
                             const unsigned char *want) {
  const struct gr_expect *expect = comparison->buffer->expect;
  enum gr_type type = comparison->buffer->type;
  size_t size = gr_type_size(type);
  for (uint32_t i = 0; i < count; i++) {
    struct gr_number value = integer_at(type, got + i * size), wanted = comparison->want;
    double difference;
    if (expect->kind == GR_EXPECT_SUM) {
      comparison->integer_sum += value_of(value);
      continue;
    }
    if (want) wanted = integer_at(type, want + i * size);
    bool is_match = wanted.is_real ? reals_match(expect, gr_number_to_double(value), wanted.real, &difference)
                                   : integers_match(expect, value_of(value), value_of(wanted), &difference);
    if (is_match && difference == 0.0) continue;
    note(comparison, first + i, value, wanted, is_match, difference);
  }
}

/* One block. `want` is null where one number stands for all. */
typedef void compare_function(struct gr_comparison *comparison, uint64_t first, uint32_t count,
                              const unsigned char *got, const unsigned char *want);

void gr_compare_elements(struct gr_comparison *comparison, uint64_t first, uint64_t count, const void *got,
                         const void *want) {
  size_t size = gr_type_size(comparison->buffer->type);
  compare_function *compare = gr_type_is_float(comparison->buffer->type) ? compare_reals : compare_integers;
  const unsigned char *got_bytes = got, *want_bytes = want;
  for (uint64_t done = 0; done < count;) {
    uint32_t block = count - done < BLOCK_ELEMENTS ? (uint32_t)(count - done) : BLOCK_ELEMENTS;
    const unsigned char *wanted = want_bytes                ? want_bytes + done * size
                                  : comparison->has_pattern ? comparison->pattern
                                                            : NULL;
    /* The same bytes are equal, NaN or not: the usual case, and a quick one. */
    bool is_same = wanted && memcmp(got_bytes + done * size, wanted, block * size) == 0;
    if (!is_same) compare(comparison, first + done, block, got_bytes + done * size, wanted);
    done += block;
  }
}

void gr_compare_end(struct gr_comparison *comparison) {
  const struct gr_expect *expect = comparison->buffer->expect;
  if (expect->kind != GR_EXPECT_SUM) return;
  struct gr_number want = comparison->want, got;
  double difference;
  bool is_match;
  if (gr_type_is_float(comparison->buffer->type)) {
    double corrected = comparison->sum + comparison->compensation;
    got = real(isfinite(comparison->sum) ? corrected : comparison->sum);
    is_match = reals_match(expect, got.real, gr_number_to_double(want), &difference);
  } else {
    gr_int128 sum = comparison->integer_sum;
    got = number_of(sum);
    is_match = want.is_real ? reals_match(expect, (double)sum, want.real, &difference)
                            : integers_match(expect, sum, value_of(want), &difference);
  }
  note(comparison, 0, got, want, is_match, difference);
}

static void append_integer(struct gr_text *text, gr_int128 value) {
  char digits[48];
  size_t at = sizeof digits;
  bool is_negative = value < 0;
  digits[--at] = '\0';
  do {
    int digit = (int)(value % 10);
    digits[--at] = (char)('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (is_negative) digits[--at] = '-';
  gr_text_append_text(text, digits + at);
}

/* The f32 0.1 is 0.10000000149011612 as f64. Of the numbers that round to the same f32, one with the fewest digits: an
 * integer of at most nine digits times or by an exact power of ten, so that the result is the f64 nearest to it. */
static double shortest_single(double value) {
  enum { DIGITS = 9, EXACT_POWER = 22 };
  if (value == 0.0 || !isfinite(value)) return value;
  int exponent = (int)floor(log10(fabs(value)));
  for (int digits = 1; digits <= DIGITS; digits++) {
    int power = digits - 1 - exponent;
    double scale = 1.0;
    if (power > EXACT_POWER || power < -EXACT_POWER) return value;
    for (int i = 0; i < (power < 0 ? -power : power); i++) scale *= 10.0;
    double candidate = power >= 0 ? rint(value * scale) / scale : rint(value / scale) * scale;
    if ((float)candidate == (float)value) return candidate;
  }
  return value;
}

static void append_number(struct gr_text *text, enum gr_type type, struct gr_number number) {
  bool is_single = gr_type_is_float(type) && type != GR_TYPE_F64;
  if (!number.is_real) append_integer(text, value_of(number));
  else gr_text_append_double(text, is_single ? shortest_single(number.real) : number.real);
}

static void append_index(struct gr_text *text, const struct gr_buffer *buffer, uint64_t flat) {
  uint64_t index[GR_RANK_MAX];
  for (uint32_t i = buffer->rank; i-- > 0; flat /= buffer->shape[i]) index[i] = flat % buffer->shape[i];
  gr_text_append_text(text, "[");
  for (uint32_t i = 0; i < buffer->rank; i++) gr_text_append_format(text, "%s%" PRIu64, i > 0 ? ", " : "", index[i]);
  gr_text_append_text(text, "]");
}

static void append_element(struct gr_text *text, const struct gr_buffer *buffer, uint64_t index, struct gr_number got,
                           struct gr_number want) {
  append_index(text, buffer, index);
  gr_text_append_text(text, " is ");
  append_number(text, buffer->type, got);
  gr_text_append_text(text, ", not ");
  append_number(text, buffer->type, want);
}

void gr_compare_explain(const struct gr_comparison *comparison, struct gr_text *text) {
  const struct gr_buffer *buffer = comparison->buffer;
  const struct gr_report_expect *result = comparison->result;
  const struct gr_expect *expect = buffer->expect;
  gr_text_append_format(text, "buffer %s is not as expected: ", gr_view_quote(gr_view_of(buffer->name)).text);
  if (expect->kind == GR_EXPECT_SUM) {
    gr_text_append_text(text, "its sum is ");
    if (gr_type_is_float(buffer->type)) append_number(text, GR_TYPE_F64, result->first_got);
    else append_integer(text, comparison->integer_sum);
    gr_text_append_text(text, ", not ");
    append_number(text, GR_TYPE_F64, comparison->want);
  } else {
    gr_text_append_format(text, "%" PRIu64 " of %" PRIu64 " elements differ; the first, ", result->different_count,
                          buffer->element_count);
    append_element(text, buffer, result->first_index, result->first_got, result->first_want);
    if (result->worst_index != result->first_index) {
      gr_text_append_text(text, "; the worst, ");
      append_element(text, buffer, result->worst_index, result->worst_got, result->worst_want);
    }
  }
  if (expect->atol == 0.0 && expect->rtol == 0.0) return;
  gr_text_append_text(text, " (atol ");
  gr_text_append_double(text, expect->atol);
  gr_text_append_text(text, ", rtol ");
  gr_text_append_double(text, expect->rtol);
  gr_text_append_text(text, ")");
}
