/* gemm by a CBLAS that is opened by name when the first pipeline with a gemm is built. Where none was found at build
 * time, or none can be opened, the built-in kernel does the work; the report says which. */
#include "engine/backend/host/host_internal.h"

#ifdef GR_HAVE_CBLAS

#include <cblas.h>
#include <cblas_names.h>
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

enum { ALPHA, A, B, BETA, C };

/* Opened once and kept: a library that has started threads cannot be closed again. */
static struct {
  bool is_open;
  void (*f32)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, float, const float *, int, const float *,
              int, float, float *, int);
  void (*f64)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, double, const double *, int,
              const double *, int, double, double *, int);
} library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* dlsym gives an object's address; C knows no way from there to a function but its bytes. */
static bool find_function(void *handle, const char *name, void *function_address) {
  void *address = dlsym(handle, name);
  if (!address) return false;
  memcpy(function_address, &address, sizeof address);
  return true;
}

static void open_library(void) {
  static const char *const names[] = {GR_CBLAS_NAMES};
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !library.is_open; i++) {
    void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle) continue;
    /* The workers are the parallelism, and the sums must not depend on how many cores there are. */
    void (*set_threads)(int);
    if (find_function(handle, "openblas_set_num_threads", &set_threads)) set_threads(1);
    library.is_open =
        find_function(handle, "cblas_sgemm", &library.f32) && find_function(handle, "cblas_dgemm", &library.f64);
    if (!library.is_open) dlclose(handle);
  }
}

bool gr_host_gemm_open(void) {
  (void)pthread_once(&library_once, open_library);
  return library.is_open;
}

/* BLAS does not read a and b where alpha is 0, so their NaNs would not count; and it has 32-bit sizes. */
bool gr_host_gemm_fits(const struct gr_kernel_frame *frame) {
  const struct gr_kernel_frame_argument *argument = frame->arguments;
  bool is_f32 = argument[C].type == GR_TYPE_F32;
  double alpha = is_f32 ? (double)(float)argument[ALPHA].real : argument[ALPHA].real;
  if (alpha == 0 || argument[A].columns == 0) return false;
  if (argument[A].rows > INT_MAX || argument[A].columns > INT_MAX || argument[B].columns > INT_MAX) return false;
  return is_f32 || argument[C].type == GR_TYPE_F64;
}

void gr_host_gemm(const struct host_call *call) {
  const struct gr_kernel_frame_argument *argument = call->arguments;
  int rows = (int)argument[A].rows, inner = (int)argument[A].columns, columns = (int)argument[B].columns;
  double alpha = argument[ALPHA].real, beta = argument[BETA].real;
  if (argument[C].type == GR_TYPE_F32) {
    library.f32(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, (float)alpha, argument[A].data, inner,
                argument[B].data, columns, (float)beta, argument[C].data, columns);
  } else {
    library.f64(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, alpha, argument[A].data, inner,
                argument[B].data, columns, beta, argument[C].data, columns);
  }
}

#else

bool gr_host_gemm_open(void) { return false; }

bool gr_host_gemm_fits(const struct gr_kernel_frame *frame) {
  (void)frame;
  return false;
}

/* Never reached: no task is of that kind where the library cannot be opened. */
void gr_host_gemm(const struct host_call *call) { (void)call; }

#endif
