/* Kernels that compute each element from the same element of their inputs. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tests/conformance/support.h"

/* x: the inputs, s: the scalars, rounded to the type already. Every operation rounds to the type. */
typedef double reference(enum gr_type type, const double *x, const double *s);

#define REFERENCE(NAME, EXPRESSION)                                              \
  static double NAME(enum gr_type type, const double *x, const double *s) {      \
    (void)type;                                                                  \
    (void)x;                                                                     \
    (void)s;                                                                     \
    return EXPRESSION;                                                           \
  }
#define R(VALUE) rounded_to(type, VALUE)
REFERENCE(of_abs, fabs(x[0]))
REFERENCE(of_add, R(x[0] + x[1]))
REFERENCE(of_sub, R(x[0] - x[1]))
REFERENCE(of_mul, R(x[0] * x[1]))
REFERENCE(of_div, R(x[0] / x[1]))
REFERENCE(of_neg, -x[0])
REFERENCE(of_square, R(x[0] * x[0]))
REFERENCE(of_sqrt, R(sqrt(x[0])))
REFERENCE(of_relu, isnan(x[0]) ? x[0] : x[0] > 0 ? x[0] : 0.0)
REFERENCE(of_minimum, isnan(x[0]) || isnan(x[1]) ? (double)NAN : x[0] < x[1] ? x[0] : x[1])
REFERENCE(of_maximum, isnan(x[0]) || isnan(x[1]) ? (double)NAN : x[0] > x[1] ? x[0] : x[1])
REFERENCE(of_axpy, R(R(s[0] * x[0]) + x[1]))
REFERENCE(of_scale, R(s[0] * x[0]))
REFERENCE(of_clamp, isnan(x[0]) ? x[0] : x[0] < s[0] ? s[0] : x[0] > s[1] ? s[1] : x[0])
REFERENCE(of_lerp, R(R(x[0] * x[1]) + R(R(1 - x[0]) * x[2])))
REFERENCE(of_exp, exp(x[0]))
REFERENCE(of_log, log(x[0]))
REFERENCE(of_hypot, hypot(x[0], x[1]))

struct row {
  const char *name;
  reference *compute;
  uint32_t inputs;
  uint32_t scalars;      /* they come first */
  bool updates;          /* the last input is the output */
  double units;          /* so many units in the last place are allowed */
};
static const struct row exact_rows[] = {
    {"abs", of_abs, 1, 0, false, 0},         {"add", of_add, 2, 0, false, 0},
    {"sub", of_sub, 2, 0, false, 0},         {"mul", of_mul, 2, 0, false, 0},
    {"div", of_div, 2, 0, false, 0},         {"neg", of_neg, 1, 0, false, 0},
    {"square", of_square, 1, 0, false, 0},   {"sqrt", of_sqrt, 1, 0, false, 0},
    {"relu", of_relu, 1, 0, false, 0},       {"minimum", of_minimum, 2, 0, false, 0},
    {"maximum", of_maximum, 2, 0, false, 0}, {"axpy", of_axpy, 2, 1, true, 0},
    {"scale", of_scale, 1, 1, false, 0},     {"clamp", of_clamp, 1, 2, false, 0},
    {"lerp", of_lerp, 3, 0, false, 0},
};
static const struct row rounded_rows[] = {
    {"exp", of_exp, 1, 0, false, 4}, {"log", of_log, 1, 0, false, 4}, {"hypot", of_hypot, 2, 0, false, 4}};
enum {
  EXACT_COUNT = sizeof exact_rows / sizeof exact_rows[0],
  ROUNDED_COUNT = sizeof rounded_rows / sizeof rounded_rows[0],
  INPUT_MAX = 3,
};
static const double scalars[] = {-0.75, 1.25};

/* How the call's buffers lie. */
struct layout {
  uint64_t offset;  /* of input i: i * offset, of the output: offset */
  uint32_t shared;  /* 1 + the input that is the output; 0: none */
};

/* An infinity where the tolerance reaches beyond the largest number. */
static bool is_overflow(enum gr_type type, double got, double want, double tolerance) {
  const double largest = type == GR_TYPE_F64 ? DBL_MAX : (double)FLT_MAX;
  return isinf(got) && got * want > 0 && fabs(want) >= largest - tolerance;
}

/* The values that the kernel sees in its inputs, whatever lies on top of what. */
static void compare(const struct target *target, const struct call *call, const struct row *row, enum gr_type type,
                    void *const *inputs, const void *got, uint64_t count) {
  double s[2] = {rounded_to(type, scalars[0]), rounded_to(type, scalars[1])};
  for (uint64_t i = 0; i < count; i++) {
    double x[INPUT_MAX] = {0};
    for (uint32_t k = 0; k < row->inputs; k++) x[k] = real_at(type, inputs[k], i);
    double want = row->compute(type, x, s);
    /* Below the smallest normal number a unit no longer shrinks. */
    double tolerance = row->units * (2 * epsilon_of(type) * fabs(want) + (type == GR_TYPE_F64 ? 0x1p-1074 : 0x1p-149));
    if (row->units > 0 && is_overflow(type, real_at(type, got, i), want, tolerance)) continue;
    expect_close(target, call, i, real_at(type, got, i), want, tolerance);
  }
}

static void run_row(const struct target *target, const struct row *row, enum gr_type type, uint64_t count,
                    struct layout layout, bool specials) {
  struct randomness randomness = {count * 31 + type};
  struct call call = {.kernel = row->name};
  void *inputs[INPUT_MAX] = {NULL};
  const uint64_t bytes = count * gr_type_size(type);
  for (uint32_t s = 0; s < row->scalars; s++) add_real(&call, scalars[s]);
  for (uint32_t i = 0; i < row->inputs; i++) {
    inputs[i] = allocate(bytes);
    fill_random(&randomness, type, inputs[i], count, -2, 2);
    if (specials) strew_specials(&randomness, type, inputs[i], count);
    if (!row->updates || i + 1 < row->inputs) {
      uint32_t index = add_vector(&call, type, inputs[i], count);
      call.arguments[index].offset = i * layout.offset;
    }
  }
  void *out = allocate(bytes);
  uint32_t index = add_vector(&call, type, out, count);
  call.arguments[index].offset = layout.offset;
  if (layout.shared > 0) {
    call.arguments[index].shares = row->scalars + layout.shared;
    call.arguments[index].offset = call.arguments[row->scalars + layout.shared - 1].offset;
  }
  const void *before = row->updates ? inputs[row->inputs - 1] : layout.shared > 0 ? inputs[layout.shared - 1] : NULL;
  if (before == NULL) fill_garbage(type, out, count);
  else
    for (uint64_t i = 0; i < count; i++) set_real(type, out, i, real_at(type, before, i));
  target->run(target->context, &call);
  compare(target, &call, row, type, inputs, out, count);
  for (uint32_t i = 0; i < row->inputs; i++) free(inputs[i]);
  free(out);
}

/* Nothing, single ones, around a vector, around a block, several blocks of every size that launches use. */
static const uint64_t sizes[] = {0, 1, 3, 4, 63, 1023, 1025, 4099, 70001, (1 << 20) + 5};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static void run_rows(const struct target *target, const struct row *rows, uint32_t row_count) {
  for (uint32_t row = 0; row < row_count; row++)
    for (uint32_t t = 0; t < 2; t++) {
      run_row(target, &rows[row], real_types[t], 2500, (struct layout){0, 0}, true);
      /* All sizes for one kernel with each number of inputs, the others with one size of each kind. */
      for (uint32_t size = 0; size < SIZE_COUNT; size++)
        if (row % 5 == 0 || size % 4 == row % 4)
          run_row(target, &rows[row], real_types[t], sizes[size], (struct layout){0, 0}, false);
    }
}

void case_exact_elementwise(const struct target *target) { run_rows(target, exact_rows, EXACT_COUNT); }

void case_rounded_elementwise(const struct target *target) { run_rows(target, rounded_rows, ROUNDED_COUNT); }

void case_elementwise_sharing(const struct target *target) {
  for (uint32_t row = 0; row < EXACT_COUNT; row++)
    for (uint32_t shared = 1; shared <= exact_rows[row].inputs; shared++)
      if (!exact_rows[row].updates)
        for (uint32_t t = 0; t < 2; t++)
          run_row(target, &exact_rows[row], real_types[t], 5003, (struct layout){shared % 2, shared}, true);
}

void case_elementwise_slices(const struct target *target) {
  for (uint32_t row = 0; row < EXACT_COUNT; row++)
    for (uint32_t t = 0; t < 2; t++) {
      run_row(target, &exact_rows[row], real_types[t], 9001, (struct layout){1, 0}, true);
      if (row % 4 == 0) run_row(target, &exact_rows[row], real_types[t], (1 << 20) + 7, (struct layout){3, 0}, false);
    }
}

/* --- rescale and div_scalar --- */

static double rescaled(enum gr_type type, double x, double lo, double hi) {
  double value = R(R(x - lo) / R(hi - lo));
  return isnan(value) ? value : value < 0 ? 0 : value > 1 ? 1 : value;
}

static void run_with_one(const struct target *target, enum gr_type type, uint64_t count, double lo, double hi) {
  struct randomness randomness = {count + type};
  void *x = allocate(count * gr_type_size(type)), *out = allocate(count * gr_type_size(type));
  double one[2];
  fill_random(&randomness, type, x, count, -3, 3);
  strew_specials(&randomness, type, x, count);
  set_real(type, &one[0], 0, lo);
  set_real(type, &one[1], 0, hi);
  lo = rounded_to(type, lo);
  hi = rounded_to(type, hi);
  struct call rescale = {.kernel = "rescale"}, div_scalar = {.kernel = "div_scalar"};
  add_vector(&rescale, type, x, count);
  add_vector(&rescale, type, &one[0], 1);
  add_vector(&rescale, type, &one[1], 1);
  add_vector(&rescale, type, out, count);
  fill_garbage(type, out, count);
  target->run(target->context, &rescale);
  for (uint64_t i = 0; i < count; i++)
    expect_close(target, &rescale, i, real_at(type, out, i), rescaled(type, real_at(type, x, i), lo, hi), 0);
  add_vector(&div_scalar, type, x, count);
  add_vector(&div_scalar, type, &one[1], 1);
  add_vector(&div_scalar, type, out, count);
  fill_garbage(type, out, count);
  target->run(target->context, &div_scalar);
  for (uint64_t i = 0; i < count; i++)
    expect_close(target, &div_scalar, i, real_at(type, out, i), R(real_at(type, x, i) / hi), 0);
  free(x);
  free(out);
}

void case_elementwise_with_buffers_of_one(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++) {
    run_with_one(target, real_types[t], 3001, -0.3, 1.7);
    run_with_one(target, real_types[t], 1, 0.5, 0.25);
    run_with_one(target, real_types[t], 77, 2, 2); /* an empty range: infinities are cut off, 0/0 is NaN */
    run_with_one(target, real_types[t], 1 << 20, 0, 1);
    run_with_one(target, real_types[t], 0, 0, 1);
  }
}
