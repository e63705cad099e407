/* c = alpha*a@b + beta*c, row-major. The product is the system's CBLAS where the program was built with its header and the
 * library can be opened; else loops of our own.
 *
 * As in the BLAS: with alpha 0, a and b are not looked at; with beta 0, c is not read. */
#include <limits.h>
#include <string.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

#ifdef GR_HAVE_CBLAS
#include <cblas.h>
#include <cblas_names.h>
#include <dlfcn.h>
#include <pthread.h>
#endif

enum { ALPHA, A, B, BETA, C };

bool gr_gemm_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                   struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_two_dimensions(&call, A) || !gr_check_two_dimensions(&call, B))
    return false;
  const uint64_t inner = arguments[A].shape[1], columns = arguments[B].shape[1];
  if (!gr_check_extents(&call, B, inner, columns, "as many rows as 'a' has columns") ||
      !gr_check_extents(&call, C, arguments[A].shape[0], columns, "the rows of 'a' and the columns of 'b'"))
    return false;
  gr_accept(&call, facts, arguments[C].element_count);
  if (arguments[BETA].real == 0) facts->access[C] = GR_ACCESS_WRITE;
  return true;
}

/* --- Our own loops: adds alpha*a@b to c, in pieces of b that stay in the cache --- */

enum { COLUMNS_AT_ONCE = 512, INNER_AT_ONCE = 64 };

static uint64_t at_most(uint64_t value, uint64_t high) { return value < high ? value : high; }

struct extents {
  uint64_t rows, columns, inner;
};

#define PRODUCT(TYPE, SUFFIX)                                                                                      \
  static void add_line_##SUFFIX(TYPE *c, const TYPE *b, TYPE factor, uint64_t columns) {                           \
    for (uint64_t column = 0; column < columns; column++) c[column] += factor * b[column];                         \
  }                                                                                                                \
  static void add_product_##SUFFIX(const struct extents *of, TYPE alpha, const TYPE *a, const TYPE *b, TYPE *c) {  \
    for (uint64_t column = 0; column < of->columns; column += COLUMNS_AT_ONCE)                                     \
      for (uint64_t first = 0; first < of->inner; first += INNER_AT_ONCE)                                          \
        for (uint64_t row = 0; row < of->rows; row++)                                                              \
          for (uint64_t k = first; k < at_most(first + INNER_AT_ONCE, of->inner); k++)                             \
            add_line_##SUFFIX(c + row * of->columns + column, b + k * of->columns + column,                        \
                              alpha * a[row * of->inner + k], at_most(COLUMNS_AT_ONCE, of->columns - column));     \
  }                                                                                                                \
  static void scale_##SUFFIX(TYPE *c, TYPE beta, uint64_t count) {                                                 \
    if (beta == 0) memset(c, 0, count * sizeof *c);                                                                \
    else if (beta != 1)                                                                                            \
      for (uint64_t i = 0; i < count; i++) c[i] *= beta;                                                           \
  }
PRODUCT(float, f32)
PRODUCT(double, f64)

/* --- The system's CBLAS --- */

#ifdef GR_HAVE_CBLAS
struct cblas {
  /* The one state that kernels keep: looked up once, the same for all threads, never given back. */
  void (*sgemm)(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, int, int, int, float, const float *, int,
                const float *, int, float, float *, int);
  void (*dgemm)(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, int, int, int, double, const double *,
                int, const double *, int, double, double *, int);
};
static struct cblas cblas;
static pthread_once_t cblas_once = PTHREAD_ONCE_INIT;

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the bits are the same. */
static void find_function(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
}

static void open_cblas(void) {
  static const char *const names[] = {GR_CBLAS_NAMES};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) continue;
    /* The engine's workers are the parallelism, and sums must not depend on the number of cores. */
    void (*set_threads)(int) = NULL;
    find_function(library, "openblas_set_num_threads", &set_threads);
    if (set_threads != NULL) set_threads(1);
    struct cblas found;
    find_function(library, "cblas_sgemm", &found.sgemm);
    find_function(library, "cblas_dgemm", &found.dgemm);
    if (found.sgemm != NULL && found.dgemm != NULL) {
      cblas = found;
      return;
    }
    (void)dlclose(library);
  }
}

static bool is_fit_for_cblas(const struct extents *of) {
  return of->rows <= INT_MAX && of->columns <= INT_MAX && of->inner <= INT_MAX &&
         pthread_once(&cblas_once, open_cblas) == 0 && cblas.sgemm != NULL;
}
#define CBLAS_PRODUCT(TYPE, SUFFIX, FUNCTION)                                                                       \
  static void product_##SUFFIX(const struct extents *of, TYPE alpha, const TYPE *a, const TYPE *b, TYPE *c) {       \
    if (!is_fit_for_cblas(of)) {                                                                                    \
      add_product_##SUFFIX(of, alpha, a, b, c);                                                                     \
      return;                                                                                                       \
    }                                                                                                               \
    const int rows = (int)of->rows, columns = (int)of->columns, inner = (int)of->inner;                             \
    cblas.FUNCTION(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, alpha, a, inner, b, columns, 1, \
                   c, columns);                                                                                     \
  }
CBLAS_PRODUCT(float, f32, sgemm)
CBLAS_PRODUCT(double, f64, dgemm)
#else
#define product_f32 add_product_f32
#define product_f64 add_product_f64
#endif

void gr_gemm_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const struct extents of = {frame->arguments[C].rows, frame->arguments[C].columns, frame->arguments[A].columns};
  const double alpha = frame->arguments[ALPHA].real, beta = frame->arguments[BETA].real;
  const void *a = frame->arguments[A].data, *b = frame->arguments[B].data;
  void *c = frame->arguments[C].data;
  if (gr_is_f64(frame, C)) {
    scale_f64(c, beta, of.rows * of.columns);
    if (alpha != 0 && of.inner > 0) product_f64(&of, alpha, a, b, c);
  } else {
    scale_f32(c, (float)beta, of.rows * of.columns);
    if ((float)alpha != 0 && of.inner > 0) product_f32(&of, (float)alpha, a, b, c);
  }
}

/* --- Launches --- */

static uint64_t tiles_of(const struct gr_kernel_frame_argument *c, uint64_t tile) {
  return ((c->rows + tile - 1) / tile) * ((c->columns + tile - 1) / tile);
}

uint32_t gr_gemm_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                          struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const struct gr_kernel_frame_argument *c = &frame->arguments[C];
  const bool is_f64 = gr_is_f64(frame, C);
  const uint64_t tiles = tiles_of(c, is_f64 ? GR_GEMM_TILE_F64 : GR_GEMM_TILE_F32);
  if (tiles >= GR_GEMM_TILES_ENOUGH)
    return gr_launch_blocks(launches, is_f64 ? "gr_gemm_f64" : "gr_gemm_f32", tiles, 1, GR_GEMM_THREADS);
  return gr_launch_blocks(launches, is_f64 ? "gr_gemm_f64_small" : "gr_gemm_f32_small", tiles_of(c, GR_GEMM_TILE_SMALL),
                          1, GR_GEMM_THREADS);
}
