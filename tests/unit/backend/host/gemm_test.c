/* gemm by a CBLAS, against three loops in double. Skipped, visibly, where there is no CBLAS. */
#include <math.h>

#include "engine/backend/host/host_internal.h"
#include "tests/unit/backend/host/support.h"

static struct gr_kernel_frame make_frame(enum gr_type type, uint64_t rows, uint64_t inner, uint64_t columns,
                                         double alpha, double beta) {
  struct gr_kernel_frame frame = {.argument_count = 5};
  struct gr_kernel_frame_argument *argument = frame.arguments;
  argument[0].real = alpha;
  argument[1] = (struct gr_kernel_frame_argument){.rows = rows, .columns = inner, .type = type, .rank = 2};
  argument[2] = (struct gr_kernel_frame_argument){.rows = inner, .columns = columns, .type = type, .rank = 2};
  argument[3].real = beta;
  argument[4] = (struct gr_kernel_frame_argument){.rows = rows, .columns = columns, .type = type, .rank = 2};
  return frame;
}

/* What a CBLAS computes otherwise than the built-in kernel does is not given to it. */
START_TEST(only_calls_that_mean_the_same_fit) {
  struct gr_kernel_frame frame = make_frame(GR_TYPE_F32, 3, 4, 5, 1, 0);
  bool fits = gr_host_gemm_fits(&frame);
#ifndef GR_HAVE_CBLAS
  ck_assert(!fits && !gr_host_gemm_open());
#else
  ck_assert(fits);
  frame = make_frame(GR_TYPE_F64, 3, 4, 5, -2.5, 1);
  ck_assert(gr_host_gemm_fits(&frame));
  frame = make_frame(GR_TYPE_F64, 3, 4, 5, 1e-300, 1);
  ck_assert(gr_host_gemm_fits(&frame));
#endif
  frame = make_frame(GR_TYPE_F32, 3, 4, 5, 1e-300, 1); /* 0 as a float */
  ck_assert(!gr_host_gemm_fits(&frame));
  frame = make_frame(GR_TYPE_F64, 3, 4, 5, 0, 1);
  ck_assert(!gr_host_gemm_fits(&frame));
  frame = make_frame(GR_TYPE_F64, 3, 0, 5, 1, 1);
  ck_assert(!gr_host_gemm_fits(&frame));
  frame = make_frame(GR_TYPE_F32, 3, UINT64_C(1) << 31, 5, 1, 1);
  ck_assert(!gr_host_gemm_fits(&frame));
  frame = make_frame(GR_TYPE_I32, 3, 4, 5, 1, 1);
  ck_assert(!gr_host_gemm_fits(&frame));
}
END_TEST

static double element(enum gr_type type, const void *data, uint64_t index) {
  return type == GR_TYPE_F32 ? (double)((const float *)data)[index] : ((const double *)data)[index];
}

static void *random_matrix(enum gr_type type, uint64_t count, uint64_t *random) {
  void *data = calloc(count, gr_type_size(type));
  ck_assert_ptr_nonnull(data);
  for (uint64_t i = 0; i < count; i++) {
    double value = (double)graph_random_below(random, 2001) / 1000 - 1;
    if (type == GR_TYPE_F32) ((float *)data)[i] = (float)value;
    else ((double *)data)[i] = value;
  }
  return data;
}

static void check_call(enum gr_type type, uint64_t rows, uint64_t inner, uint64_t columns, double alpha, double beta,
                       uint64_t *random) {
  struct gr_kernel_frame frame = make_frame(type, rows, inner, columns, alpha, beta);
  struct gr_kernel_frame_argument *argument = frame.arguments;
  argument[1].data = random_matrix(type, rows * inner, random);
  argument[2].data = random_matrix(type, inner * columns, random);
  argument[4].data = random_matrix(type, rows * columns, random);
  double *wanted = calloc(rows * columns, sizeof *wanted);
  struct host_call *call = calloc(1, sizeof *call + 5 * sizeof call->arguments[0]);
  ck_assert(wanted && call);
  for (uint64_t i = 0; i < rows * columns; i++) {
    double sum = 0;
    for (uint64_t k = 0; k < inner; k++) {
      sum += element(type, argument[1].data, i / columns * inner + k) *
             element(type, argument[2].data, k * columns + i % columns);
    }
    wanted[i] = alpha * sum + (beta == 0 ? 0 : beta * element(type, argument[4].data, i));
  }
  if (beta == 0) memset(argument[4].data, 0xff, rows * columns * gr_type_size(type)); /* NaNs that must not count */
  call->argument_count = 5;
  memcpy(call->arguments, argument, 5 * sizeof argument[0]);
  ck_assert(gr_host_gemm_fits(&frame));
  gr_host_gemm(call);
  for (uint64_t i = 0; i < rows * columns; i++) {
    double got = element(type, argument[4].data, i);
    double bound = (type == GR_TYPE_F32 ? 1e-5 : 1e-13) * (double)(inner + 1);
    ck_assert_msg(fabs(got - wanted[i]) <= bound, "%u x %u x %u at %u: %g, wanted %g", (unsigned)rows, (unsigned)inner,
                  (unsigned)columns, (unsigned)i, got, wanted[i]);
  }
  free(argument[1].data);
  free(argument[2].data);
  free(argument[4].data);
  free(wanted);
  free(call);
}

START_TEST(products_are_right) {
  uint64_t random = 5;
  if (!gr_host_gemm_open()) {
    printf("skipped: no CBLAS can be opened here\n");
    return;
  }
  for (int type = GR_TYPE_F32; type <= GR_TYPE_F64; type++) {
    for (uint64_t size = 1; size <= 40; size += 3) {
      check_call((enum gr_type)type, size, size % 7 + 1, 41 - size, 1, 0, &random);
      check_call((enum gr_type)type, size % 5 + 1, size, size, -0.5, 1, &random);
      check_call((enum gr_type)type, size, 2 * size, size % 3 + 1, 2, -1.25, &random);
    }
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {only_calls_that_mean_the_same_fit, products_are_right};
  return run_suite("host_gemm", tests, sizeof tests / sizeof tests[0], 60);
}
