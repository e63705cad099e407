/* What a kernel is, for those who write kernels and for those who call them.
 *
 * A leaf: it includes graphrun/kernel.h (element types, and the ABI of functions on the CPU) and no CUDA header, and it
 * compiles as C17 and as CUDA C++, so that a kernel's device code, its plain C twin and both back ends share one
 * description of a call.
 *
 * A built-in kernel is a row of a catalogue: its parameters, a check of one call's types and shapes, a plain C function
 * that computes the call on the host, and a function that says which device entries compute it and with which grids.
 * Host function and device entries receive the same struct, `gr_kernel_frame`, and must give the same result (beyond
 * the rounding that kernels/README.md states). All functions here are pure or write only to the buffers of their call;
 * they may run on several threads at once; none allocates, blocks, prints or keeps state.
 */
#ifndef GRAPHRUN_ENGINE_KERNEL_H
#define GRAPHRUN_ENGINE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graphrun/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of one element; 1, 2, 4 or 8. */
size_t gr_type_size(enum gr_type type);
/* The format's word for it, such as "f32"; a static string. */
const char *gr_type_name(enum gr_type type);
/* True for f16, bf16, f32 and f64. */
bool gr_type_is_float(enum gr_type type);

enum {
  GR_RANK_MAX = 8,            /* dimensions of a buffer */
  GR_KERNEL_ARGUMENT_MAX = 8, /* arguments of a built-in kernel */
  GR_KERNEL_LAUNCH_MAX = 4,   /* device launches that one call may need */
};

enum gr_parameter_kind {
  GR_PARAMETER_BUFFER,
  GR_PARAMETER_REAL,    /* a scalar, taken as f64 and rounded by the kernel to the buffers' type */
  GR_PARAMETER_INTEGER, /* a scalar, i64 */
};

struct gr_kernel_parameter {
  const char *name;
  enum gr_parameter_kind kind;
  enum gr_access access; /* of a buffer; what `check` may narrow (gemm's c with beta 0 is only written) */
  bool may_alias_output; /* of a buffer that is read: the kernel is element-wise in it, so it may be exactly the bytes
                            of one output. Every other overlap of an output with another argument is refused */
};

/* One argument as `check` sees it: types, shapes and scalar values, no addresses. */
struct gr_kernel_argument {
  enum gr_type type; /* of a buffer */
  uint32_t rank;
  const uint64_t *shape; /* [rank]; of a slice: the slice's extents */
  uint64_t element_count;
  double real;     /* of a real scalar */
  int64_t integer; /* of an integer scalar */
};

/* What `check` finds out about a call that is right. */
struct gr_kernel_facts {
  enum gr_access access[GR_KERNEL_ARGUMENT_MAX]; /* NONE for scalars */
  uint64_t output_element_count;                 /* 0: the call does nothing and is not launched (a no_op) */
  uint64_t scratch_bytes;                        /* device scratch that each call needs for itself, zeroed once
                                                    before the first replay; a call leaves it fit for the next one */
};

/* What is wrong with a call, in one sentence without a final stop, for a person who reads the pipeline file. */
struct gr_kernel_problem {
  int32_t argument_index; /* -1: the call as a whole */
  char text[240];
};

/* One argument of a call as host functions and device entries see it. Shapes are folded to two dimensions: `columns` is
 * the last extent, `rows` the product of the others (1 for a vector), so rows * columns is the element count; a
 * buffer of rank 0 is one element. A scalar has `real` or `integer` and no data. 32 bytes on every machine. */
struct gr_kernel_frame_argument {
  union {
    void *data; /* host address in a host call, device address in a launch; aligned to the element; never null
                   where the element count is above 0 */
    double real;
    int64_t integer;
  };
  uint64_t rows;
  uint64_t columns;
  uint32_t type; /* enum gr_type; fixed width, since device code reads it too */
  uint32_t rank;
};

/* A whole call, passed by value as the one parameter of a device entry, by pointer to a host function. 272 bytes. */
struct gr_kernel_frame {
  struct gr_kernel_frame_argument arguments[GR_KERNEL_ARGUMENT_MAX];
  void *scratch;         /* device scratch of this call, aligned to 16 bytes; null for host functions and where none was
                            asked for */
  uint32_t launch_index; /* which of the call's launches this is */
  uint32_t argument_count;
};

/* One device launch: `extern "C" __global__ void ENTRY(const __grid_constant__ struct gr_kernel_frame)`. */
struct gr_kernel_launch {
  const char *entry; /* a static string */
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes; /* dynamic, at most 48 KiB */
};

/* Kernels that a back end may hand to a vendor's library where it can open one at run time. The launches below stay the
 * documented other way. */
enum gr_kernel_library {
  GR_KERNEL_LIBRARY_NONE,
  GR_KERNEL_LIBRARY_GEMM, /* arguments alpha, a, b, beta, c as `gemm` has them */
};

struct gr_kernel {
  const char *name;
  const char *summary; /* one line, for `graphrun kernels` */
  uint32_t parameter_count;
  const struct gr_kernel_parameter *parameters;
  enum gr_kernel_library library;

  /* Judges one call. Called with all arguments there, of the right kind, and element counts that fit 63 bits. On true
   * `facts` is filled whole, on false `problem` is. `parameter_count` arguments. */
  bool (*check)(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                struct gr_kernel_facts *facts, struct gr_kernel_problem *problem);

  /* Computes the call on the calling thread, buffers in host memory. Cannot fail: `check` has passed. Gives the same
   * bits on every call with the same input. Never called for a no_op. */
  void (*host)(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame);

  /* Writes the device launches that compute the call, in order, and returns how many (1 to GR_KERNEL_LAUNCH_MAX).
   * Count, entries and grids depend on types, shapes and scalars only, not on addresses, which may be null here. Plain
   * C that needs no toolkit: present also where the catalogue has no images. Never called for a no_op. Grids stay
   * inside CUDA's limits for any element count. */
  uint32_t (*launches)(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                       struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]);
};

/* ---- kernels that are declared rather than built in: by a file's `kernels:` or by a program ---- */

/* A parameter of a declared kernel, or of a host node's function. */
struct gr_declared_parameter {
  const char *name;
  enum gr_type type;
  enum gr_access access; /* of a buffer; NONE: a scalar, passed by value */
};

/* What a program hands over where the code is in the program itself. */
enum gr_cuda_handle_kind {
  GR_CUDA_HANDLE_NONE,
  GR_CUDA_HANDLE_FUNCTION, /* a cudaFunction_t (CUfunction) */
  GR_CUDA_HANDLE_KERNEL,   /* a cudaKernel_t (CUkernel) */
  GR_CUDA_HANDLE_SYMBOL,   /* the address of a __global__ function in CUDA C++ */
};

/* A fat binary with device code, embedded in the program. */
struct gr_kernel_image {
  const char *name; /* the source file, for messages */
  const unsigned char *begin;
  const unsigned char *end;
};

/* The arguments of a catalogue's `fill`: a box of at most three dimensions in which every element gets one value. The
 * box is `depth` slices of `height` rows of `width` adjacent elements; rows start `row_pitch_bytes` apart, slices
 * `slice_pitch_bytes`. All sizes are at least 0 (0 anywhere: nothing to do); a pitch is a multiple of the element's
 * size, not negative, and plays no part where its extent is 1 or less. */
enum gr_fill_argument {
  GR_FILL_DATA, /* buffer, written: `data` is the box's first element, `type` gives the element's size; rows, columns
                   and rank play no part, in `check` neither do shape and element_count */
  GR_FILL_VALUE_BITS,  /* integer: the element's bits in the low bytes; the others play no part */
  GR_FILL_WIDTH,       /* integer, elements */
  GR_FILL_HEIGHT,      /* integer, rows */
  GR_FILL_DEPTH,       /* integer, slices */
  GR_FILL_ROW_PITCH,   /* integer, bytes */
  GR_FILL_SLICE_PITCH, /* integer, bytes */
};
enum { GR_FILL_ARGUMENT_COUNT = GR_FILL_SLICE_PITCH + 1 };

/* The kernels that a program hands to an engine; lives as long as the engine; constant. `kernels` is sorted by name
 * (strcmp), names are unique. Each entry name occurs in exactly one image. */
struct gr_catalogue {
  uint32_t kernel_count;
  const struct gr_kernel *kernels;
  const struct gr_kernel *fill; /* not among `kernels`, so that no pipeline can name it; what fill nodes are made of */
  uint32_t image_count;         /* 0 where the program was built without a CUDA toolkit */
  const struct gr_kernel_image *images;
};

/* The kernel of that name (length bytes, not necessarily terminated), or null. Binary search. */
const struct gr_kernel *gr_catalogue_find(const struct gr_catalogue *catalogue, const char *name, size_t length);

#ifdef __cplusplus
}
#endif
#endif
