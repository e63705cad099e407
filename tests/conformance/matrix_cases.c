/* gemm, transpose and spmv_csr. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/support.h"

/* --- gemm --- */

struct product {
  uint64_t rows, inner, columns;
  double alpha, beta;
};

/* Each of `inner` products and sums may lose half a unit of what has been added so far. */
static void expect_product(const struct target *target, const struct call *call, const struct product *p,
                           enum gr_type type, const void *before, const void *c) {
  const void *a = call->arguments[1].data, *b = call->arguments[2].data;
  for (uint64_t row = 0; row < p->rows; row++)
    for (uint64_t column = 0; column < p->columns; column++) {
      const uint64_t index = row * p->columns + column;
      double sum = 0, size = 0;
      for (uint64_t k = 0; k < p->inner; k++) {
        double term = real_at(type, a, row * p->inner + k) * real_at(type, b, k * p->columns + column);
        sum += term;
        size += fabs(term);
      }
      double old = p->beta == 0 ? 0 : p->beta * real_at(type, before, index);
      double tolerance = epsilon_of(type) * ((double)p->inner + 4) * (fabs(p->alpha) * size + fabs(old));
      expect_close(target, call, index, real_at(type, c, index), p->alpha * sum + old, tolerance);
    }
}

static void run_gemm(const struct target *target, enum gr_type type, const struct product *p, double poison) {
  struct randomness randomness = {p->rows * 7 + p->inner};
  const size_t size = gr_type_size(type);
  const uint64_t count = p->rows * p->columns;
  void *a = allocate(p->rows * p->inner * size), *b = allocate(p->inner * p->columns * size);
  void *before = allocate(count * size), *c = allocate(count * size);
  fill_random(&randomness, type, a, p->rows * p->inner, -1, 1);
  fill_random(&randomness, type, b, p->inner * p->columns, -1, 1);
  fill_random(&randomness, type, before, count, -1, 1);
  for (uint64_t i = 0; i < count && isnan(poison); i++) set_real(type, before, i, poison);
  if (p->alpha == 0 && p->inner > 0) set_real(type, a, 0, (double)NAN); /* counts */
  memcpy(c, before, count * size);
  struct call call = {.kernel = "gemm"};
  add_real(&call, p->alpha);
  add_matrix(&call, type, a, p->rows, p->inner);
  add_matrix(&call, type, b, p->inner, p->columns);
  add_real(&call, p->beta);
  add_matrix(&call, type, c, p->rows, p->columns);
  run_call(target, &call);
  expect_product(target, &call, p, type, before, c);
  free(a);
  free(b);
  free(before);
  free(c);
}

void case_gemm(const struct target *target) {
  static const struct product products[] = {{1, 1, 1, 1, 0},         {899, 64, 10, 1, 0},    {3, 5, 7, 2.5, -0.5},
                                            {32, 32, 32, 1, 1},      {33, 31, 65, -1, 0.25}, {128, 16, 128, 1, 0},
                                            {129, 17, 127, 1, 1},    {1, 1000, 1, 1, 0},     {300, 1, 200, 0.5, 2},
                                            {1500, 40, 1700, 1, 0},  {0, 4, 3, 1, 0},        {5, 4, 0, 1, 1},
                                            {1537, 33, 1409, 2, 0.5}};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < sizeof products / sizeof products[0]; i++)
      run_gemm(target, real_types[t], &products[i], 0);
}

void case_gemm_factors(const struct target *target) {
  static const struct product written[] = {{40, 30, 20, 1, 0}, {40, 0, 20, 1, 0}, {40, 30, 20, 0, 0}};
  static const struct product kept[] = {{40, 0, 20, 1, 0.5}, {40, 30, 20, 0, 0.5}, {40, 0, 20, 1, 1}};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < 3; i++) {
      run_gemm(target, real_types[t], &written[i], (double)NAN); /* old NaNs do not count */
      run_gemm(target, real_types[t], &kept[i], 0);
    }
}

/* --- transpose --- */

static void run_transpose(const struct target *target, enum gr_type type, uint64_t rows, uint64_t columns,
                          uint64_t offset) {
  const uint64_t count = rows * columns;
  void *x = allocate(count * gr_type_size(type)), *out = allocate(count * gr_type_size(type));
  for (uint64_t i = 0; i < count; i++) set_real(type, x, i, (double)i);
  fill_garbage(type, out, count);
  struct call call = {.kernel = "transpose"};
  call.arguments[add_matrix(&call, type, x, rows, columns)].offset = offset;
  add_matrix(&call, type, out, columns, rows);
  run_call(target, &call);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t row = i / rows, column = i % rows;
    expect_close(target, &call, i, real_at(type, out, i), (double)(column * columns + row), 0);
  }
  free(x);
  free(out);
}

void case_transpose(const struct target *target) {
  static const uint64_t shapes[][2] = {{1, 1},   {1, 5000},  {5000, 1}, {3, 70001},   {70001, 3},  {16, 999}, {999, 16},
                                       {17, 17}, {17, 1000}, {64, 64},  {65, 63},     {1000, 100}, {0, 4},    {4, 0},
                                       {31, 33}, {16, 16},   {15, 2},   {1025, 1027}, {128, 32}};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
      run_transpose(target, real_types[t], shapes[i][0], shapes[i][1], i % 2);
}

/* --- spmv_csr --- */

struct sparse {
  uint64_t rows, columns, count;
  int32_t *indptr, *indices;
  void *values;
};

/* Rows of 0 to 2 * average elements, now and then a long one. */
static struct sparse random_sparse(struct randomness *randomness, enum gr_type type, uint64_t rows, uint64_t columns,
                                   uint64_t average) {
  struct sparse a = {.rows = rows, .columns = columns, .indptr = allocate((rows + 1) * sizeof(int32_t))};
  a.indptr[0] = 0;
  for (uint64_t row = 0; row < rows; row++) {
    uint64_t length = random_bits(randomness) % (2 * average + 1);
    if (random_bits(randomness) % 97 == 0) length += 500;
    a.indptr[row + 1] = a.indptr[row] + (int32_t)length;
  }
  a.count = (uint64_t)a.indptr[rows];
  a.indices = allocate(a.count * sizeof(int32_t));
  a.values = allocate(a.count * gr_type_size(type));
  for (uint64_t i = 0; i < a.count; i++) a.indices[i] = (int32_t)(random_bits(randomness) % columns);
  fill_random(randomness, type, a.values, a.count, -1, 1);
  return a;
}

static void release_sparse(struct sparse *a) {
  free(a->indptr);
  free(a->indices);
  free(a->values);
}

static void call_spmv(const struct target *target, struct call *call, const struct sparse *a, enum gr_type type,
                      void *x, void *y) {
  *call = (struct call){.kernel = "spmv_csr"};
  fill_garbage(type, y, a->rows);
  add_vector(call, GR_TYPE_I32, a->indptr, a->rows + 1);
  add_vector(call, GR_TYPE_I32, a->indices, a->count);
  add_vector(call, type, a->values, a->count);
  add_vector(call, type, x, a->columns);
  add_vector(call, type, y, a->rows);
  run_call(target, call);
}

static void run_spmv(const struct target *target, enum gr_type type, uint64_t rows, uint64_t columns,
                     uint64_t average) {
  struct randomness randomness = {rows + average};
  struct sparse a = random_sparse(&randomness, type, rows, columns, average);
  void *x = allocate(columns * gr_type_size(type)), *y = allocate(rows * gr_type_size(type));
  fill_random(&randomness, type, x, columns, -1, 1);
  struct call call;
  call_spmv(target, &call, &a, type, x, y);
  for (uint64_t row = 0; row < rows; row++) {
    double sum = 0, size = 0;
    for (int32_t i = a.indptr[row]; i < a.indptr[row + 1]; i++) {
      double term = real_at(type, a.values, (uint64_t)i) * real_at(type, x, (uint64_t)a.indices[i]);
      sum += term;
      size += fabs(term);
    }
    double tolerance = epsilon_of(type) * fabs(sum) + 1e-13 * size;
    expect_close(target, &call, row, real_at(type, y, row), sum, tolerance);
  }
  release_sparse(&a);
  free(x);
  free(y);
}

void case_spmv_csr(const struct target *target) {
  static const uint64_t shapes[][3] = {{34, 34, 5},    {1, 1, 1},       {1000, 7, 0},      {5000, 3000, 1},
                                       {777, 900, 12}, {300, 4000, 40}, {20, 100000, 900}, {0, 5, 1}};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
      run_spmv(target, real_types[t], shapes[i][0], shapes[i][1], shapes[i][2]);
}

/* A matrix that points out of its arrays spoils its own rows, and nothing else. */
void case_spmv_csr_broken(const struct target *target) {
  int32_t indptr[] = {0, 2, 1, 3, 900000000, -5, 4, 4};
  int32_t indices[] = {0, 1, -1, 2000000000};
  float values[] = {1, 2, 3, 4}, x[] = {10, 20}, y[7];
  struct sparse a = {.rows = 7, .columns = 2, .count = 4, .indptr = indptr, .indices = indices, .values = values};
  const double nan = (double)NAN;
  /* Rows: whole; descending; column -1; beyond the end; descending from there; from below 0; empty. */
  const double want[] = {50, nan, nan, nan, nan, nan, 0};
  struct call call;
  call_spmv(target, &call, &a, GR_TYPE_F32, x, y);
  for (uint64_t row = 0; row < 7; row++) expect_close(target, &call, row, (double)y[row], want[row], 0);
}
