/* Kernels that make one number of an array. Sums are taken in f64, in blocks with a fixed number of lanes, the blocks
 * in a binary tree: the order depends on the number of elements alone. */
#include <math.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"
#include "kernels/number.h"

enum {
  LANES = 16, /* independent sums, so that the compiler may use vectors */
  BLOCK = 4096,
  LEVELS = 64,
};

bool gr_sum_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                  struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_one_element(&call, 1)) return false;
  gr_accept(&call, facts, 1);
  facts->scratch_bytes = GR_REDUCE_SCRATCH_BYTES;
  return true;
}

bool gr_dot_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                  struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_same_count(&call, 1, 0) || !gr_check_one_element(&call, 2))
    return false;
  gr_accept(&call, facts, 1);
  facts->scratch_bytes = GR_REDUCE_SCRATCH_BYTES;
  return true;
}

bool gr_extremum_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                       struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (arguments[0].element_count == 0)
    return gr_refuse(&call, 0, "'%s' has no elements, and nothing has no %s", kernel->parameters[0].name, kernel->name);
  return gr_sum_check(kernel, arguments, facts, problem);
}

/* --- Sums --- */

#define SUM_BLOCK(NAME, TYPE, SUFFIX, EXPRESSION)                                          \
  static double NAME##_block_##SUFFIX(const TYPE *x, const TYPE *y, uint64_t count) {      \
    (void)y;                                                                               \
    double lanes[LANES] = {0};                                                             \
    uint64_t i = 0;                                                                        \
    for (; i + LANES <= count; i += LANES)                                                 \
      for (uint64_t lane = 0; lane < LANES; lane++) lanes[lane] += EXPRESSION(i + lane);   \
    for (uint64_t lane = 0; i + lane < count; lane++) lanes[lane] += EXPRESSION(i + lane); \
    for (uint64_t half = LANES / 2; half > 0; half /= 2)                                   \
      for (uint64_t lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];      \
    return lanes[0];                                                                       \
  }                                                                                        \
  static double NAME##_##SUFFIX(const TYPE *x, const TYPE *y, uint64_t count) {            \
    /* levels[l] is the sum of 2^l blocks where bit l of the number of blocks is set. */   \
    double levels[LEVELS];                                                                 \
    uint64_t blocks = 0;                                                                   \
    for (uint64_t first = 0; first < count; first += BLOCK, blocks++) {                    \
      uint64_t size = count - first < BLOCK ? count - first : BLOCK;                       \
      double sum = NAME##_block_##SUFFIX(x + first, y + first, size);                      \
      uint32_t level = 0;                                                                  \
      for (; (blocks >> level & 1) != 0; level++) sum = levels[level] + sum;               \
      levels[level] = sum;                                                                 \
    }                                                                                      \
    double sum = 0;                                                                        \
    for (uint32_t level = 0; blocks >> level != 0; level++)                                \
      if ((blocks >> level & 1) != 0) sum += levels[level];                                \
    return sum;                                                                            \
  }
#define SUM_KERNEL(NAME, Y, OUT, EXPRESSION, FINISH)                                           \
  SUM_BLOCK(NAME, float, f32, EXPRESSION)                                                      \
  SUM_BLOCK(NAME, double, f64, EXPRESSION)                                                     \
  void gr_##NAME##_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) { \
    (void)kernel;                                                                              \
    const void *x = frame->arguments[0].data;                                                  \
    const void *y = frame->arguments[Y].data;                                                  \
    uint64_t count = gr_element_count(frame, 0);                                               \
    void *out = frame->arguments[OUT].data;                                                    \
    if (gr_is_f64(frame, 0)) *(double *)out = FINISH(NAME##_f64(x, y, count));                 \
    else *(float *)out = (float)FINISH(NAME##_f32(x, y, count));                               \
  }
#define ELEMENT(i) ((double)x[i])
#define PRODUCT(i) ((double)x[i] * (double)y[i])
#define SQUARE(i) ((double)x[i] * (double)x[i])
SUM_KERNEL(sum, 0, 1, ELEMENT, )
SUM_KERNEL(dot, 1, 2, PRODUCT, )
SUM_KERNEL(norm2, 0, 1, SQUARE, sqrt)

/* --- Extrema: exact in any order --- */

#define EXTREMUM_TYPED(NAME, TYPE, SUFFIX, BETTER)                             \
  static TYPE NAME##_##SUFFIX(const TYPE *x, uint64_t count) {                 \
    TYPE best = x[0];                                                          \
    for (uint64_t i = 1; i < count; i++) best = BETTER##_##SUFFIX(best, x[i]); \
    return best;                                                               \
  }
#define EXTREMUM(NAME, BETTER)                                                                 \
  EXTREMUM_TYPED(NAME, float, f32, BETTER)                                                     \
  EXTREMUM_TYPED(NAME, double, f64, BETTER)                                                    \
  void gr_##NAME##_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) { \
    (void)kernel;                                                                              \
    const void *x = frame->arguments[0].data;                                                  \
    void *out = frame->arguments[1].data;                                                      \
    uint64_t count = gr_element_count(frame, 0);                                               \
    if (gr_is_f64(frame, 0)) *(double *)out = NAME##_f64(x, count);                            \
    else *(float *)out = NAME##_f32(x, count);                                                 \
  }
EXTREMUM(min, gr_minimum)
EXTREMUM(max, gr_maximum)

/* --- Launches --- */

static uint32_t reduce_launch(const struct gr_kernel_frame *frame, struct gr_kernel_launch *launch, const char *f32,
                              const char *f64) {
  uint64_t count = gr_element_count(frame, 0);
  gr_launch_blocks(launch, gr_is_f64(frame, 0) ? f64 : f32, count, GR_REDUCE_THREADS * GR_REDUCE_ITEMS,
                   GR_REDUCE_THREADS);
  /* The sum of nothing has to be written, too. */
  if (launch->grid[0] == 0) launch->grid[0] = 1;
  if (launch->grid[0] > GR_REDUCE_BLOCKS_MAX) launch->grid[0] = GR_REDUCE_BLOCKS_MAX;
  return 1;
}

#define REDUCE_LAUNCHES(NAME)                                                                        \
  uint32_t gr_##NAME##_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame, \
                                struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {            \
    (void)kernel;                                                                                    \
    return reduce_launch(frame, launches, "gr_" #NAME "_f32", "gr_" #NAME "_f64");                   \
  }
REDUCE_LAUNCHES(sum)
REDUCE_LAUNCHES(dot)
REDUCE_LAUNCHES(norm2)
REDUCE_LAUNCHES(min)
REDUCE_LAUNCHES(max)
