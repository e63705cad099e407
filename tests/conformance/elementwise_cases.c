/* Kernels that compute each element from the same element of their inputs. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/support.h"

/* x: the inputs, s: the scalars, rounded to the type already. Every operation rounds to the type. */
typedef double reference(enum gr_type type, const double *x, const double *s);

#define REFERENCE(NAME, EXPRESSION)                                         \
  static double NAME(enum gr_type type, const double *x, const double *s) { \
    (void)type;                                                             \
    (void)x;                                                                \
    (void)s;                                                                \
    return EXPRESSION;                                                      \
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
REFERENCE(of_clamp, isnan(x[0]) ? x[0] : x[0]<s[0] ? s[0] : x[0]> s[1] ? s[1] : x[0])
REFERENCE(of_lerp, R(R(x[0] * x[1]) + R(R(1 - x[0]) * x[2])))
REFERENCE(of_exp, exp(x[0]))
REFERENCE(of_log, log(x[0]))
REFERENCE(of_hypot, hypot(x[0], x[1]))

struct row {
  const char *name;
  reference *compute;
  uint32_t inputs;
  uint32_t scalars; /* they come first */
  bool updates;     /* the last input is the output */
  double units;     /* so many units in the last place are allowed */
};
static const struct row exact_rows[] = {
    {"abs", of_abs, 1, 0, false, 0},         {"add", of_add, 2, 0, false, 0},         {"sub", of_sub, 2, 0, false, 0},
    {"mul", of_mul, 2, 0, false, 0},         {"div", of_div, 2, 0, false, 0},         {"neg", of_neg, 1, 0, false, 0},
    {"square", of_square, 1, 0, false, 0},   {"sqrt", of_sqrt, 1, 0, false, 0},       {"relu", of_relu, 1, 0, false, 0},
    {"minimum", of_minimum, 2, 0, false, 0}, {"maximum", of_maximum, 2, 0, false, 0}, {"axpy", of_axpy, 2, 1, true, 0},
    {"scale", of_scale, 1, 1, false, 0},     {"clamp", of_clamp, 1, 2, false, 0},     {"lerp", of_lerp, 3, 0, false, 0},
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
  uint64_t offset; /* of input i: i * offset, of the output: offset */
  uint32_t shared; /* 1 + the input that is the output; 0: none */
};

/* An infinity where the tolerance reaches beyond the largest number. */
static bool is_overflow(enum gr_type type, double got, double want, double tolerance) {
  const double largest = type == GR_TYPE_F64 ? DBL_MAX : (double)FLT_MAX;
  return isinf(got) && got * want > 0 && fabs(want) >= largest - tolerance;
}

/* One call of a batch, and what is needed to judge it. */
struct trial {
  const struct row *row;
  enum gr_type type;
  uint64_t count;
  void *inputs[INPUT_MAX]; /* the values that the kernel sees, whatever lies on top of what */
  void *out;
};

struct batch {
  uint32_t count;
  struct call calls[BATCH_MAX];
  struct trial trials[BATCH_MAX];
};

static void compare(const struct target *target, const struct call *call, const struct trial *trial) {
  const struct row *row = trial->row;
  const enum gr_type type = trial->type;
  double s[2] = {rounded_to(type, scalars[0]), rounded_to(type, scalars[1])};
  for (uint64_t i = 0; i < trial->count; i++) {
    double x[INPUT_MAX] = {0};
    for (uint32_t k = 0; k < row->inputs; k++) x[k] = real_at(type, trial->inputs[k], i);
    double want = row->compute(type, x, s), got = real_at(type, trial->out, i);
    /* Below the smallest normal number a unit no longer shrinks. */
    double tolerance = row->units * (2 * epsilon_of(type) * fabs(want) + (type == GR_TYPE_F64 ? 0x1p-1074 : 0x1p-149));
    if (row->units > 0 && is_overflow(type, got, want, tolerance)) continue;
    expect_close(target, call, i, got, want, tolerance);
  }
}

static void run_batch(const struct target *target, struct batch *batch) {
  if (batch->count > 0) target->run(target->context, batch->calls, batch->count);
  for (uint32_t i = 0; i < batch->count; i++) {
    struct trial *trial = &batch->trials[i];
    compare(target, &batch->calls[i], trial);
    for (uint32_t k = 0; k < trial->row->inputs; k++) free(trial->inputs[k]);
    free(trial->out);
  }
  batch->count = 0;
}

/* Lays the arguments out as `layout` says, the output over garbage or over what it shares. */
static void add_arguments(struct call *call, struct trial *trial, struct layout layout) {
  const struct row *row = trial->row;
  for (uint32_t s = 0; s < row->scalars && s < sizeof scalars / sizeof *scalars; s++) add_real(call, scalars[s]);
  for (uint32_t i = 0; i < row->inputs; i++)
    if (!row->updates || i + 1 < row->inputs)
      call->arguments[add_vector(call, trial->type, trial->inputs[i], trial->count)].offset = i * layout.offset;
  struct call_argument *out = &call->arguments[add_vector(call, trial->type, trial->out, trial->count)];
  out->offset = layout.offset;
  const void *before = row->updates ? trial->inputs[row->inputs - 1] : NULL;
  if (layout.shared > 0) {
    out->shares = row->scalars + layout.shared;
    before = trial->inputs[layout.shared - 1];
  }
  if (before == NULL) fill_garbage(trial->type, trial->out, trial->count);
  else if (trial->count > 0) memcpy(trial->out, before, trial->count * gr_type_size(trial->type));
}

static void add_trial(struct batch *batch, const struct row *row, enum gr_type type, uint64_t count,
                      struct layout layout, bool specials) {
  ck_assert_uint_lt(batch->count, BATCH_MAX);
  struct randomness randomness = {count * 31 + type};
  struct trial *trial = &batch->trials[batch->count];
  struct call *call = &batch->calls[batch->count++];
  *trial = (struct trial){.row = row, .type = type, .count = count, .out = allocate(count * gr_type_size(type))};
  *call = (struct call){.kernel = row->name};
  for (uint32_t i = 0; i < row->inputs; i++) {
    trial->inputs[i] = allocate(count * gr_type_size(type));
    fill_random(&randomness, type, trial->inputs[i], count, -2, 2);
    if (specials) strew_specials(&randomness, type, trial->inputs[i], count);
  }
  add_arguments(call, trial, layout);
}

/* Nothing, single ones, around a vector, around a block, several blocks of every size that launches use. */
static const uint64_t sizes[] = {0, 1, 3, 4, 63, 1023, 1025, 4099, 70001, (1 << 20) + 5};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static void run_rows(const struct target *target, const struct row *rows, uint32_t row_count) {
  static struct batch batch;
  for (uint32_t row = 0; row < row_count; row++) {
    for (uint32_t t = 0; t < 2; t++) {
      add_trial(&batch, &rows[row], real_types[t], 2500, (struct layout){0, 0}, true);
      /* All sizes for one kernel with each number of inputs, the others with one size of each kind. */
      for (uint32_t size = 0; size < SIZE_COUNT; size++)
        if (row % 5 == 0 || size % 4 == row % 4)
          add_trial(&batch, &rows[row], real_types[t], sizes[size], (struct layout){0, 0}, false);
    }
    run_batch(target, &batch);
  }
}

void case_exact_elementwise(const struct target *target) { run_rows(target, exact_rows, EXACT_COUNT); }

void case_rounded_elementwise(const struct target *target) { run_rows(target, rounded_rows, ROUNDED_COUNT); }

void case_elementwise_sharing(const struct target *target) {
  static struct batch batch;
  for (uint32_t row = 0; row < EXACT_COUNT; row++) {
    for (uint32_t shared = 1; shared <= exact_rows[row].inputs && !exact_rows[row].updates; shared++)
      for (uint32_t t = 0; t < 2; t++)
        add_trial(&batch, &exact_rows[row], real_types[t], 5003, (struct layout){shared % 2, shared}, true);
    run_batch(target, &batch);
  }
}

void case_elementwise_slices(const struct target *target) {
  static struct batch batch;
  for (uint32_t row = 0; row < EXACT_COUNT; row++) {
    for (uint32_t t = 0; t < 2; t++) {
      add_trial(&batch, &exact_rows[row], real_types[t], 9001, (struct layout){1, 0}, true);
      if (row % 4 == 0) add_trial(&batch, &exact_rows[row], real_types[t], (1 << 20) + 7, (struct layout){3, 0}, false);
    }
    run_batch(target, &batch);
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
  run_call(target, &rescale);
  for (uint64_t i = 0; i < count; i++)
    expect_close(target, &rescale, i, real_at(type, out, i), rescaled(type, real_at(type, x, i), lo, hi), 0);
  add_vector(&div_scalar, type, x, count);
  add_vector(&div_scalar, type, &one[1], 1);
  add_vector(&div_scalar, type, out, count);
  fill_garbage(type, out, count);
  run_call(target, &div_scalar);
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
