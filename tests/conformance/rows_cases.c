/* Kernels that work on rows. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tests/conformance/support.h"

/* Every way that the launches cut rows, and the sizes beside them. */
static const uint64_t shapes[][2] = {{1, 1},    {899, 10},  {5, 31},    {5, 32},    {7, 33},    {130, 64}, {9, 65},
                                     {3, 256},  {3, 257},   {2, 512},   {5, 513},   {2, 1024},  {3, 1025}, {2, 2048},
                                     {3, 2049}, {2, 16384}, {2, 16385}, {1, 70001}, {50001, 3}, {0, 5},    {1, 0}};
enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

/* --- softmax_rows --- */

static void run_softmax(const struct target *target, struct call *call, enum gr_type type, void *x, void *out,
                        uint64_t rows, uint64_t columns) {
  *call = (struct call){.kernel = "softmax_rows"};
  fill_garbage(type, out, rows * columns);
  add_matrix(call, type, x, rows, columns);
  add_matrix(call, type, out, rows, columns);
  run_call(target, call);
}

/* Of the error, the difference x - largest brings its own half unit, which the exponential multiplies. */
static void expect_softmax(const struct target *target, const struct call *call, enum gr_type type, const void *x,
                           const void *out, uint64_t row, uint64_t columns) {
  double largest = -(double)INFINITY;
  long double sum = 0; /* so that f64 can be compared, too */
  for (uint64_t i = 0; i < columns; i++) largest = fmax(largest, real_at(type, x, row * columns + i));
  for (uint64_t i = 0; i < columns; i++) sum += (long double)exp(real_at(type, x, row * columns + i) - largest);
  for (uint64_t i = 0; i < columns; i++) {
    double distance = largest - real_at(type, x, row * columns + i);
    double want = exp(-distance) / (double)sum;
    double tolerance = epsilon_of(type) * (40 + distance) * want + 0x1p-140;
    expect_close(target, call, row * columns + i, real_at(type, out, row * columns + i), want, tolerance);
  }
}

void case_softmax_rows(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t shape = 0; shape < SHAPE_COUNT; shape++) {
      const uint64_t rows = shapes[shape][0], columns = shapes[shape][1], count = rows * columns;
      const enum gr_type type = real_types[t];
      struct randomness randomness = {shape};
      void *x = allocate(count * gr_type_size(type)), *out = allocate(count * gr_type_size(type));
      /* Without taking off the largest first, exp(700) is more than f32 holds. */
      fill_random(&randomness, type, x, count, 690, 710);
      struct call call;
      run_softmax(target, &call, type, x, out, rows, columns);
      for (uint64_t row = 0; row < rows; row++) expect_softmax(target, &call, type, x, out, row, columns);
      free(x);
      free(out);
    }
}

void case_softmax_specials(const struct target *target) {
  const float infinity = INFINITY;
  /* A row with a NaN, one with +infinity, one of negative infinities only, and one with some. */
  float x[4][3] = {{1, NAN, 2}, {1, infinity, 2}, {-infinity, -infinity, -infinity}, {-infinity, 0, 0}};
  float out[4][3];
  struct call call;
  run_softmax(target, &call, GR_TYPE_F32, x, out, 4, 3);
  for (uint64_t row = 0; row < 3; row++)
    for (uint64_t i = 0; i < 3; i++) expect_close(target, &call, row * 3 + i, (double)out[row][i], (double)NAN, 0);
  expect_close(target, &call, 9, (double)out[3][0], 0, 0);
  expect_close(target, &call, 10, (double)out[3][1], 0.5, 0);
  expect_close(target, &call, 11, (double)out[3][2], 0.5, 0);
}

/* --- argmax_rows --- */

static int32_t first_of_largest(enum gr_type type, const void *x, uint64_t row, uint64_t columns) {
  uint64_t best = 0;
  for (uint64_t i = 1; i < columns; i++) {
    double value = real_at(type, x, row * columns + i), largest = real_at(type, x, row * columns + best);
    if (!isnan(largest) && (isnan(value) || value > largest)) best = i;
  }
  return (int32_t)best;
}

static void run_argmax(const struct target *target, enum gr_type type, void *x, uint64_t rows, uint64_t columns) {
  struct call call = {.kernel = "argmax_rows"};
  int32_t *out = allocate(rows * sizeof *out);
  fill_garbage(GR_TYPE_I32, out, rows);
  add_matrix(&call, type, x, rows, columns);
  add_vector(&call, GR_TYPE_I32, out, rows);
  run_call(target, &call);
  for (uint64_t row = 0; row < rows; row++)
    expect_close(target, &call, row, out[row], first_of_largest(type, x, row, columns), 0);
  free(out);
}

void case_argmax_rows(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t shape = 0; shape < SHAPE_COUNT; shape++) {
      const uint64_t rows = shapes[shape][0], columns = shapes[shape][1], count = rows * columns;
      struct randomness randomness = {shape};
      if (columns == 0) continue;
      void *x = allocate(count * gr_type_size(real_types[t]));
      fill_random(&randomness, real_types[t], x, count, -1, 1);
      run_argmax(target, real_types[t], x, rows, columns);
      free(x);
    }
}

/* Few different values, so that every row has many largest ones; then NaN among them. */
void case_argmax_ties(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t shape = 0; shape < SHAPE_COUNT; shape++) {
      const uint64_t rows = shapes[shape][0], columns = shapes[shape][1], count = rows * columns;
      const enum gr_type type = real_types[t];
      struct randomness randomness = {shape};
      if (count == 0) continue;
      void *x = allocate(count * gr_type_size(type));
      for (uint64_t i = 0; i < count; i++)
        set_real(type, x, i, random_bits(&randomness) % 3 == 0 ? -0.0 : -(double)(random_bits(&randomness) % 2));
      run_argmax(target, type, x, rows, columns);
      for (uint64_t i = 0; i < count; i++) set_real(type, x, i, -(double)INFINITY);
      run_argmax(target, type, x, rows, columns);
      for (uint64_t row = 0; row < rows; row++)
        for (uint32_t k = 0; k < 2; k++)
          set_real(type, x, row * columns + random_bits(&randomness) % columns, (double)NAN);
      run_argmax(target, type, x, rows, columns);
      free(x);
    }
}

/* --- add_row --- */

static void run_add_row(const struct target *target, enum gr_type type, uint64_t rows, uint64_t columns, bool shares,
                        uint64_t offset) {
  const uint64_t count = rows * columns;
  struct randomness randomness = {count};
  struct call call = {.kernel = "add_row"};
  void *x = allocate(count * gr_type_size(type)), *row = allocate(columns * gr_type_size(type));
  void *out = allocate(count * gr_type_size(type));
  fill_random(&randomness, type, x, count, -1, 1);
  fill_random(&randomness, type, row, columns, -1, 1);
  for (uint64_t i = 0; i < count; i++) set_real(type, out, i, shares ? real_at(type, x, i) : 12345);
  call.arguments[add_matrix(&call, type, x, rows, columns)].offset = offset;
  add_vector(&call, type, row, columns);
  call.arguments[add_matrix(&call, type, out, rows, columns)].offset = shares ? offset : 0;
  call.arguments[2].shares = shares ? 1 : 0;
  run_call(target, &call);
  for (uint64_t i = 0; i < count; i++)
    expect_close(target, &call, i, real_at(type, out, i),
                 rounded_to(type, real_at(type, x, i) + real_at(type, row, i % columns)), 0);
  free(x);
  free(row);
  free(out);
}

void case_add_row(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++) {
    for (uint32_t shape = 0; shape < SHAPE_COUNT; shape++)
      run_add_row(target, real_types[t], shapes[shape][0], shapes[shape][1], shape % 2 == 0, 0);
    run_add_row(target, real_types[t], 1001, 37, false, 1);
    run_add_row(target, real_types[t], 1001, 64, true, 3);
    run_add_row(target, real_types[t], 300, 4096, false, 0);
  }
}
