/* gemm by cuBLAS, opened by name when the first pipeline with a gemm is built: so the program needs no cuBLAS to start,
 * and no toolkit to be built with. Where it cannot be opened, the built-in kernel does the work; the report says which.
 */
#include <stdio.h>
#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

enum { ALPHA, A, B, BETA, C };

/* BLAS does not read a and b where alpha is 0, so their NaNs would not count. */
bool gr_cuda_blas_fits(const struct gr_kernel_frame *frame) {
  const struct gr_kernel_frame_argument *argument = frame->arguments;
  bool is_f32 = argument[C].type == GR_TYPE_F32;
  double alpha = is_f32 ? (double)(float)argument[ALPHA].real : argument[ALPHA].real;
  return alpha != 0 && argument[A].columns > 0 && (is_f32 || argument[C].type == GR_TYPE_F64);
}

#ifdef FAKE_CUDA

/* The double has no cuBLAS, and a real one would open a real runtime. */
struct cuda_blas *gr_cuda_blas_create(struct gr_memory *memory) {
  (void)memory;
  return NULL;
}

void gr_cuda_blas_destroy(struct gr_memory *memory, struct cuda_blas *blas) { (void)memory, (void)blas; }

const char *gr_cuda_blas_name(const struct cuda_blas *blas) {
  (void)blas;
  return "none";
}

int gr_cuda_blas_gemm(struct cuda_blas *blas, const struct gr_kernel_frame *frame, void *workspace,
                      size_t workspace_bytes, cudaStream_t stream) {
  (void)blas, (void)frame, (void)workspace, (void)workspace_bytes, (void)stream;
  return -1;
}

#else

#include <dlfcn.h>
#include <pthread.h>

enum { RUNTIME_MAJOR = CUDART_VERSION / 1000 };

/* cublas_v2.h's, for the functions in use. */
typedef void *blas_handle;
enum { DEFAULT_MATH = 0, NO_TRANSPOSE = 0 };

/* Opened once and kept: it has state in the driver that outlives a handle. */
static struct {
  bool is_open;
  int (*create)(blas_handle *handle);
  int (*destroy)(blas_handle handle);
  int (*get_version)(blas_handle handle, int *version);
  int (*set_math_mode)(blas_handle handle, int mode);
  int (*set_stream)(blas_handle handle, cudaStream_t stream);
  int (*set_workspace)(blas_handle handle, void *workspace, size_t size_bytes);
  int (*f32)(blas_handle handle, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const float *alpha,
             const float *a, int64_t lda, const float *b, int64_t ldb, const float *beta, float *c, int64_t ldc);
  int (*f64)(blas_handle handle, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const double *alpha,
             const double *a, int64_t lda, const double *b, int64_t ldb, const double *beta, double *c, int64_t ldc);
} library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

struct cuda_blas {
  blas_handle handle;
  char name[32];
};

/* dlsym gives an object's address; C knows no way from there to a function but its bytes. */
static bool find_function(void *opened, const char *name, void *function_address) {
  void *address = dlsym(opened, name);
  if (!address) return false;
  memcpy(function_address, &address, sizeof address);
  return true;
}

static bool find_functions(void *opened) {
  return find_function(opened, "cublasCreate_v2", &library.create) &&
         find_function(opened, "cublasDestroy_v2", &library.destroy) &&
         find_function(opened, "cublasGetVersion_v2", &library.get_version) &&
         find_function(opened, "cublasSetMathMode", &library.set_math_mode) &&
         find_function(opened, "cublasSetStream_v2", &library.set_stream) &&
         find_function(opened, "cublasSetWorkspace_v2", &library.set_workspace) &&
         find_function(opened, "cublasSgemm_v2_64", &library.f32) &&
         find_function(opened, "cublasDgemm_v2_64", &library.f64);
}

/* Of the runtime's own major version. Where the loader does not know it, where a toolkit usually is. */
static void open_library(void) {
  char names[2][64];
  snprintf(names[0], sizeof names[0], "libcublas.so.%d", RUNTIME_MAJOR);
  snprintf(names[1], sizeof names[1], "/usr/local/cuda/lib64/libcublas.so.%d", RUNTIME_MAJOR);
  for (int i = 0; i < 2 && !library.is_open; i++) {
    void *opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!opened) continue;
    library.is_open = find_functions(opened);
    if (!library.is_open) dlclose(opened);
  }
}

struct cuda_blas *gr_cuda_blas_create(struct gr_memory *memory) {
  (void)pthread_once(&library_once, open_library);
  if (!library.is_open) return NULL;
  struct cuda_blas *blas = gr_memory_allocate_zeroed(memory, 1, sizeof *blas);
  if (!blas) return NULL;
  int version = 0;
  if (library.create(&blas->handle) != 0) {
    gr_memory_release(memory, blas);
    return NULL;
  }
  /* The default mode computes f32 in f32; TF32 would have to be asked for. */
  if (library.set_math_mode(blas->handle, DEFAULT_MATH) != 0 || library.get_version(blas->handle, &version) != 0) {
    gr_cuda_blas_destroy(memory, blas);
    return NULL;
  }
  snprintf(blas->name, sizeof blas->name, "cuBLAS %d.%d", version / 10000, version / 100 % 100);
  return blas;
}

void gr_cuda_blas_destroy(struct gr_memory *memory, struct cuda_blas *blas) {
  if (!blas) return;
  (void)library.destroy(blas->handle);
  gr_memory_release(memory, blas);
}

const char *gr_cuda_blas_name(const struct cuda_blas *blas) { return blas->name; }

/* cuBLAS thinks in columns: our rows are its columns, so c = a@b is its c' = b'@a'. */
int gr_cuda_blas_gemm(struct cuda_blas *blas, const struct gr_kernel_frame *frame, void *workspace,
                      size_t workspace_bytes, cudaStream_t stream) {
  const struct gr_kernel_frame_argument *argument = frame->arguments;
  int64_t rows = (int64_t)argument[A].rows, inner = (int64_t)argument[A].columns;
  int64_t columns = (int64_t)argument[B].columns;
  int status = library.set_stream(blas->handle, stream);
  /* After the stream, since setting that brings back a workspace of the library's own. */
  if (status == 0) status = library.set_workspace(blas->handle, workspace, workspace_bytes);
  if (status != 0) return status;
  if (argument[C].type == GR_TYPE_F32) {
    float alpha = (float)argument[ALPHA].real, beta = (float)argument[BETA].real;
    return library.f32(blas->handle, NO_TRANSPOSE, NO_TRANSPOSE, columns, rows, inner, &alpha, argument[B].data,
                       columns, argument[A].data, inner, &beta, argument[C].data, columns);
  }
  double alpha = argument[ALPHA].real, beta = argument[BETA].real;
  return library.f64(blas->handle, NO_TRANSPOSE, NO_TRANSPOSE, columns, rows, inner, &alpha, argument[B].data, columns,
                     argument[A].data, inner, &beta, argument[C].data, columns);
}

#endif
