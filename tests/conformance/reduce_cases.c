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

/* Runs one of the three and returns what it wrote. */
static double run_sum(const struct target *target, const char *kernel, enum gr_type type, void *x, void *y,
                      uint64_t count, uint64_t offset, uint32_t repeat) {
  struct call call = {.kernel = kernel, .repeat = repeat};
  double out = 0;
  uint32_t index = add_vector(&call, type, x, count);
  call.arguments[index].offset = offset;
  if (strcmp(kernel, "dot") == 0) add_vector(&call, type, y, count);
  add_vector(&call, type, &out, 1);
  fill_garbage(type, &out, 1);
  target->run(target->context, &call);
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
      for (uint32_t k = 0; k < 3; k++) {
        struct call call = {.kernel = kernels[k]}; /* for the message */
        add_vector(&call, type, x, count);
        double want = reference(kernels[k], type, x, y, count);
        double got = run_sum(target, kernels[k], type, x, y, count, 0, 1);
        expect_close(target, &call, 0, got, want, (type == GR_TYPE_F64 ? 1e-13 : 1e-7) * want);
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
  double got = run_sum(target, "sum", GR_TYPE_F32, x, x, COUNT, 0, 1);
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
        double first = run_sum(target, kernels[k], type, x, x, counts[c], 0, 1);
        /* Many replays of one executable, then other addresses that are not aligned to vectors. */
        double again = run_sum(target, kernels[k], type, x, x, counts[c], 0, 5);
        double moved = run_sum(target, kernels[k], type, x, x, counts[c], 1, 1);
        ck_assert_msg(memcmp(&first, &again, sizeof first) == 0, "%s: %s is %.17g, then %.17g", target->name,
                      kernels[k], first, again);
        ck_assert_msg(memcmp(&first, &moved, sizeof first) == 0, "%s: %s is %.17g, in a slice %.17g", target->name,
                      kernels[k], first, moved);
        free(x);
      }
}

static double run_extremum(const struct target *target, const char *kernel, enum gr_type type, void *x,
                           uint64_t count) {
  struct call call = {.kernel = kernel, .repeat = 2};
  double out = 0;
  add_vector(&call, type, x, count);
  add_vector(&call, type, &out, 1);
  fill_garbage(type, &out, 1);
  target->run(target->context, &call);
  return real_at(type, &out, 0);
}

static void expect_extrema(const struct target *target, enum gr_type type, void *x, uint64_t count) {
  double smallest = real_at(type, x, 0), largest = smallest;
  for (uint64_t i = 1; i < count; i++) {
    double value = real_at(type, x, i);
    if (isnan(value) || isnan(smallest)) smallest = largest = (double)NAN;
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
  }
  struct call call = {.kernel = "min or max"};
  add_vector(&call, type, x, count);
  expect_close(target, &call, 0, run_extremum(target, "min", type, x, count), smallest, 0);
  expect_close(target, &call, 0, run_extremum(target, "max", type, x, count), largest, 0);
}

void case_extrema(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t size = 1; size < SIZE_COUNT - 1; size++) {
      const enum gr_type type = real_types[t];
      struct randomness randomness = {size};
      void *x = allocate(sizes[size] * gr_type_size(type));
      fill_random(&randomness, type, x, sizes[size], -9, 9);
      expect_extrema(target, type, x, sizes[size]);
      set_real(type, x, sizes[size] - 1, -(double)INFINITY);
      expect_extrema(target, type, x, sizes[size]);
      set_real(type, x, random_bits(&randomness) % sizes[size], (double)NAN);
      expect_extrema(target, type, x, sizes[size]);
      free(x);
    }
  /* -0 is less than +0, in whatever order they come. */
  float zeros[3] = {0.0f, -0.0f, 0.0f};
  ck_assert_msg(signbit(run_extremum(target, "min", GR_TYPE_F32, zeros, 3)) != 0, "%s: min of zeros", target->name);
  ck_assert_msg(signbit(run_extremum(target, "max", GR_TYPE_F32, zeros, 3)) == 0, "%s: max of zeros", target->name);
}
