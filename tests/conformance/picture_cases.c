/* conv2d, black_scholes and busy. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "tests/conformance/support.h"

/* --- conv2d --- */

static uint64_t within(int64_t index, uint64_t extent) {
  return index < 0 ? 0 : (uint64_t)index >= extent ? extent - 1 : (uint64_t)index;
}

struct window {
  uint64_t rows, columns, height, width;
};

static void expect_pixel(const struct target *target, const struct call *call, const struct window *w,
                         enum gr_type type, uint64_t row, uint64_t column) {
  double sum = 0, size = 0;
  for (uint64_t i = 0; i < w->height; i++)
    for (uint64_t j = 0; j < w->width; j++) {
      uint64_t from_row = within((int64_t)(row + i) - (int64_t)(w->height / 2), w->rows);
      uint64_t from_column = within((int64_t)(column + j) - (int64_t)(w->width / 2), w->columns);
      double term = real_at(type, call->arguments[1].data, i * w->width + j) *
                    real_at(type, call->arguments[0].data, from_row * w->columns + from_column);
      sum += term;
      size += fabs(term);
    }
  double tolerance = epsilon_of(type) * (double)(w->height * w->width + 1) * size;
  expect_close(target, call, row * w->columns + column,
               real_at(type, call->arguments[2].data, row * w->columns + column), sum, tolerance);
}

static void run_conv2d(const struct target *target, enum gr_type type, const struct window *w, uint64_t offset) {
  struct randomness randomness = {w->rows + w->width};
  const size_t size = gr_type_size(type);
  void *x = allocate(w->rows * w->columns * size), *weights = allocate(w->height * w->width * size);
  void *out = allocate(w->rows * w->columns * size);
  fill_random(&randomness, type, x, w->rows * w->columns, 0, 1);
  fill_random(&randomness, type, weights, w->height * w->width, -1, 1);
  fill_garbage(type, out, w->rows * w->columns);
  struct call call = {.kernel = "conv2d"};
  call.arguments[add_matrix(&call, type, x, w->rows, w->columns)].offset = offset;
  add_matrix(&call, type, weights, w->height, w->width);
  add_matrix(&call, type, out, w->rows, w->columns);
  run_call(target, &call);
  for (uint64_t row = 0; row < w->rows; row++)
    for (uint64_t column = 0; column < w->columns; column++) expect_pixel(target, &call, w, type, row, column);
  free(x);
  free(weights);
  free(out);
}

void case_conv2d(const struct target *target) {
  static const struct window windows[] = {
      {1, 1, 3, 3},     {1, 1, 1, 1},    {5, 4, 3, 3},     {2, 300, 5, 5}, {300, 2, 7, 7},  {129, 131, 3, 3},
      {127, 260, 5, 5}, {70, 513, 7, 7}, {9, 9, 11, 11},   {40, 50, 1, 9}, {40, 50, 13, 1}, {33, 200, 3, 5},
      {0, 7, 3, 3},     {3, 2, 9, 5},    {128, 128, 1, 1}, {8, 128, 9, 9}, {17, 33, 15, 15}};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
      run_conv2d(target, real_types[t], &windows[i], i % 2);
}

/* --- black_scholes --- */

struct prices {
  double call, put;
};

static double normal_below(double x) { return erfc(-x / sqrt(2)) / 2; }

static struct prices priced(double spot, double strike, double years, double rate, double volatility) {
  double discounted = strike * exp(-rate * years), deviation = volatility * sqrt(years);
  if (deviation == 0) return (struct prices){fmax(spot - discounted, 0), fmax(discounted - spot, 0)};
  double d1 = (log(spot / strike) + (rate + volatility * volatility / 2) * years) / deviation, d2 = d1 - deviation;
  return (struct prices){spot * normal_below(d1) - discounted * normal_below(d2),
                         discounted * normal_below(-d2) - spot * normal_below(-d1)};
}

static void run_black_scholes(const struct target *target, enum gr_type type, uint64_t count, double rate,
                              double volatility, double last_year) {
  struct randomness randomness = {count};
  void *data[5];
  for (uint32_t i = 0; i < 5; i++) data[i] = allocate(count * gr_type_size(type));
  fill_random(&randomness, type, data[0], count, 5, 150);
  fill_random(&randomness, type, data[1], count, 5, 150);
  fill_random(&randomness, type, data[2], count, 0.25, last_year);
  for (uint64_t i = 0; i < count; i += 50) set_real(type, data[2], i, 0);
  struct call call = {.kernel = "black_scholes"};
  for (uint32_t i = 0; i < 3; i++) add_vector(&call, type, data[i], count);
  add_real(&call, rate);
  add_real(&call, volatility);
  for (uint32_t i = 3; i < 5; i++) {
    fill_garbage(type, data[i], count);
    add_vector(&call, type, data[i], count);
  }
  run_call(target, &call);
  for (uint64_t i = 0; i < count; i++) {
    double spot = real_at(type, data[0], i), strike = real_at(type, data[1], i);
    struct prices want =
        priced(spot, strike, real_at(type, data[2], i), rounded_to(type, rate), rounded_to(type, volatility));
    /* A price is a difference of numbers as large as spot and strike. */
    double tolerance = 16 * epsilon_of(type) * (spot + strike);
    expect_close(target, &call, i, real_at(type, data[3], i), want.call, tolerance);
    expect_close(target, &call, i, real_at(type, data[4], i), want.put, tolerance);
  }
  for (uint32_t i = 0; i < 5; i++) free(data[i]);
}

void case_black_scholes(const struct target *target) {
  for (uint32_t t = 0; t < 2; t++) {
    run_black_scholes(target, real_types[t], 1, 0.02, 0.3, 10);
    run_black_scholes(target, real_types[t], 200003, 0.02, 0.3, 10);
    run_black_scholes(target, real_types[t], 1000, -0.01, 0.05, 2);
    run_black_scholes(target, real_types[t], 1000, 0.03, 0, 2); /* nothing moves */
    run_black_scholes(target, real_types[t], 0, 0.03, 0.1, 2);
  }
}

/* --- busy --- */

static double now(void) {
  struct timespec time;
  ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &time), 0);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void case_busy(const struct target *target) {
  static const int64_t lengths[] = {0, 1, 20000000};
  for (uint32_t i = 0; i < 3; i++) {
    struct call call = {.kernel = "busy", .repeat = 2};
    add_integer(&call, lengths[i]);
    double start = now();
    run_call(target, &call);
    /* The two clocks need not agree to the last part in a thousand. */
    double least = 2 * 0.999e-9 * (double)lengths[i];
    ck_assert_msg(now() - start >= least, "%s: busy ended after %g s, before %g s", target->name, now() - start, least);
  }
}
