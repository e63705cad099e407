/* Kernels that make one number of an array. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/support.h"

static const uint64_t sizes[] = {0, 1, 2, 5, 255, 4096, 4097, 8191, 100003, (1 << 20) + 1, 9000001};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

/* A sum that loses nothing worth mentioning. */
struct exact_sum {
  double sum, lost;
};
static void add_to(struct exact_sum *sum, double value) {
  double total = sum->sum + value;
  sum->lost += fabs(sum->sum) >= fabs(value) ? (sum->sum - total) + value : (value - total) + sum->sum;
  sum->sum = total;
}

static double reference(const char *kernel, enum gr_type type, const void *x, const void *y, uint64_t count) {
  struct exact_sum sum = {0, 0};
  for (uint64_t i = 0; i < count; i++) {
    double a = real_at(type, x, i), b = real_at(type, y, i);
    add_to(&sum, strcmp(kernel, "sum") == 0 ? a : strcmp(kernel, "dot") == 0 ? a * b : a * a);
  }
  double value = sum.sum + sum.lost;
  return strcmp(kernel, "norm2") == 0 ? sqrt(value) : value;
}

static void add_sum(struct call *call, const char *kernel, enum gr_type type, void *x, void *y, uint64_t count,
                    double *out) {
  *call = (struct call){.kernel = kernel};
  add_vector(call, type, x, count);
  if (strcmp(kernel, "dot") == 0) add_vector(call, type, y, count);
  add_vector(call, type, out, 1);
  fill_garbage(type, out, 1);
}

/* Runs one of the three and returns what it wrote. */
static double run_sum(const struct target *target, const char *kernel, enum gr_type type, void *x, uint64_t count,
                      uint64_t offset, uint32_t repeat) {
  struct call call;
  double out = 0;
  add_sum(&call, kernel, type, x, x, count, &out);
  call.arguments[0].offset = offset;
  call.repeat = repeat;
  run_call(target, &call);
  return real_at(type, &out, 0);
}

static const char *const kernels[] = {"sum", "dot", "norm2"};

void case_sums(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t size = 0; size < SIZE_COUNT; size++) {
      const enum gr_type type = real_types[t];
      const uint64_t count = sizes[size];
      struct randomness randomness = {count};
      void *x = allocate(count * gr_type_size(type)), *y = allocate(count * gr_type_size(type));
      fill_random(&randomness, type, x, count, 0, 1);
      fill_random(&randomness, type, y, count, 0, 1);
      struct call calls[3];
      double out[3];
      for (uint32_t k = 0; k < 3; k++) add_sum(&calls[k], kernels[k], type, x, y, count, &out[k]);
      target->run(target->context, calls, 3);
      for (uint32_t k = 0; k < 3; k++) {
        double want = reference(kernels[k], type, x, y, count);
        expect_close(target, &calls[k], 0, real_at(type, &out[k], 0), want,
                     (type == GR_TYPE_F64 ? 1e-13 : 1e-7) * want);
      }
      free(x);
      free(y);
    }
}

/* What remains is a small part of what was added: sums in f32 would miss it altogether. */
void case_sums_cancel(const struct target *target) {
  enum { COUNT = 300000 };
  struct randomness randomness = {7};
  float *x = allocate(COUNT * sizeof *x);
  for (uint32_t i = 0; i < COUNT; i += 3) {
    x[i] = (float)random_between(&randomness, 1e6, 2e6);
    x[i + 1] = (float)random_between(&randomness, 0, 1e-3);
    x[i + 2] = -x[i];
  }
  double want = reference("sum", GR_TYPE_F32, x, x, COUNT);
  double got = run_sum(target, "sum", GR_TYPE_F32, x, COUNT, 0, 1);
  struct call call = {.kernel = "sum"};
  expect_close(target, &call, 0, got, want, 1e-6 * want);
  free(x);
}

void case_sums_same_bits(const struct target *target) {
  const uint64_t counts[] = {3, 5000, 1234567};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t c = 0; c < 3; c++)
      for (uint32_t k = 0; k < 3; k++) {
        const enum gr_type type = real_types[t];
        struct randomness randomness = {c};
        void *x = allocate(counts[c] * gr_type_size(type));
        fill_random(&randomness, type, x, counts[c], -1, 1);
        double first = run_sum(target, kernels[k], type, x, counts[c], 0, 1);
        /* Many replays of one executable, then other addresses that are not aligned to vectors. */
        double again = run_sum(target, kernels[k], type, x, counts[c], 0, 5);
        double moved = run_sum(target, kernels[k], type, x, counts[c], 1, 1);
        ck_assert_msg(memcmp(&first, &again, sizeof first) == 0, "%s: %s is %.17g, then %.17g", target->name,
                      kernels[k], first, again);
        ck_assert_msg(memcmp(&first, &moved, sizeof first) == 0, "%s: %s is %.17g, in a slice %.17g", target->name,
                      kernels[k], first, moved);
        free(x);
      }
}

/* A NaN if there is one, else the smallest (sign 1) or the largest (sign -1). */
static double extremum(enum gr_type type, const void *x, uint64_t count, double sign) {
  double best = real_at(type, x, 0);
  for (uint64_t i = 1; i < count; i++) {
    double value = real_at(type, x, i);
    if (isnan(value) || (!isnan(best) && sign * value < sign * best)) best = value;
  }
  return best;
}

static void add_extremum(struct call *call, const char *kernel, enum gr_type type, void *x, uint64_t count,
                         double *out) {
  *call = (struct call){.kernel = kernel, .repeat = 2};
  add_vector(call, type, x, count);
  add_vector(call, type, out, 1);
  fill_garbage(type, out, 1);
}

/* Numbers, then an infinity among them, then a NaN. */
static void expect_extrema(const struct target *target, enum gr_type type, uint64_t count) {
  enum { KINDS = 3 };
  struct randomness randomness = {count};
  struct call calls[2 * KINDS];
  double out[2 * KINDS];
  for (uint32_t kind = 0; kind < KINDS; kind++) {
    void *x = allocate(count * gr_type_size(type));
    fill_random(&randomness, type, x, count, -9, 9);
    if (kind == 1) set_real(type, x, count - 1, -(double)INFINITY);
    if (kind == 2) set_real(type, x, random_bits(&randomness) % count, (double)NAN);
    add_extremum(&calls[2 * kind], "min", type, x, count, &out[2 * kind]);
    add_extremum(&calls[2 * kind + 1], "max", type, x, count, &out[2 * kind + 1]);
  }
  target->run(target->context, calls, 2 * KINDS);
  for (uint32_t i = 0; i < 2 * KINDS; i++)
    expect_close(target, &calls[i], 0, real_at(type, &out[i], 0),
                 extremum(type, calls[i].arguments[0].data, count, i % 2 == 0 ? 1 : -1), 0);
  for (uint32_t i = 0; i < 2 * KINDS; i += 2) free(calls[i].arguments[0].data);
}

void case_extrema(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t size = 1; size < SIZE_COUNT - 1; size++) expect_extrema(target, real_types[t], sizes[size]);
  /* -0 is less than +0, in whatever order they come. */
  float zeros[3] = {0.0f, -0.0f, 0.0f};
  double out[2];
  struct call calls[2];
  add_extremum(&calls[0], "min", GR_TYPE_F32, zeros, 3, &out[0]);
  add_extremum(&calls[1], "max", GR_TYPE_F32, zeros, 3, &out[1]);
  target->run(target->context, calls, 2);
  ck_assert_msg(signbit(real_at(GR_TYPE_F32, &out[0], 0)) != 0, "%s: min of zeros", target->name);
  ck_assert_msg(signbit(real_at(GR_TYPE_F32, &out[1], 0)) == 0, "%s: max of zeros", target->name);
}
