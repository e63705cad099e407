/* The C ABI between graphrun and functions of your own that run on the CPU: host versions of kernels (`host:` of a
 * kernel in `kernels:`), host nodes (`host:` of a node), and functions that a program registers.
 *
 * One header, which includes nothing of the engine, and compiles as C99 and as C++98. A function is written as
 *
 *     #include <graphrun/kernel.h>
 *     int scale2(const struct gr_host_call *call) {
 *       const float *x = (const float *)call->arguments[0].data;
 *       float *y = (float *)call->arguments[1].data;
 *       float factor = *(const float *)call->arguments[2].data;
 *       for (uint64_t i = 0; i < call->arguments[0].element_count; i++) y[i] = factor * x[i];
 *       return 0;
 *     }
 *
 * and built with `cc -shared -fPIC -o libscale.so scale.c`. In C++ it is declared extern "C".
 *
 * It is called once in each replay, on a thread of the engine's or of the CUDA driver's, maybe at the same time as
 * other functions and as itself for another node. It may block as long as the node's timeout allows. It must not call
 * CUDA (the driver forbids it there, and a replay would hang), must not throw, and must not leave by longjmp. Calls of
 * graphrun's own functions on the graph that is running give GR_ERR_BUSY. What it is given is valid during the call
 * only; addresses of buffers are the same in each replay of one build.
 *
 * The header may grow: members are only appended, and `abi` says what the engine knows. */
#ifndef GRAPHRUN_KERNEL_H
#define GRAPHRUN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GR_KERNEL_ABI 1

/* Element types, in the order of the format's list. */
enum gr_type {
  GR_TYPE_I8,
  GR_TYPE_U8,
  GR_TYPE_I16,
  GR_TYPE_U16,
  GR_TYPE_I32,
  GR_TYPE_U32,
  GR_TYPE_I64,
  GR_TYPE_U64,
  GR_TYPE_F16,
  GR_TYPE_BF16,
  GR_TYPE_F32,
  GR_TYPE_F64
};
enum { GR_TYPE_COUNT = GR_TYPE_F64 + 1 };

/* What a call does to a buffer. */
enum gr_access {
  GR_ACCESS_NONE = 0,
  GR_ACCESS_READ = 1,
  GR_ACCESS_WRITE = 2, /* written whole without being read */
  GR_ACCESS_UPDATE = 3 /* read and written */
};

/* One argument, in the declared order (for a host node without declared arguments: in the order of the file). */
struct gr_host_argument {
  const char *name;
  void *data;             /* of a buffer: its first element, aligned to the element; of a scalar: its value in `type` */
  uint64_t element_count; /* 1 for a scalar */
  const uint64_t *shape;  /* [rank]; of a slice: the slice's extents */
  uint32_t rank;          /* 0 for a scalar */
  uint32_t type;          /* enum gr_type */
  uint32_t access;        /* enum gr_access; NONE for a scalar */
  uint32_t reserved;
};

struct gr_host_call {
  uint32_t abi; /* GR_KERNEL_ABI of the engine */
  uint32_t argument_count;
  const struct gr_host_argument *arguments;
  const char *node;      /* its id */
  uint32_t grid[3];      /* of a kernel's launch, blocks; 0 for host nodes */
  uint32_t block[3];     /* threads */
  uint64_t shared_bytes; /* dynamic shared memory */
  uint64_t replay;       /* 0 for the first since the build, warm-up included */
  uint32_t *status;      /* 0 when called; anything else afterwards means that the node failed */
  char *error;           /* room for a text that says why; empty when called; UTF-8, terminated */
  size_t error_bytes;    /* of that room; at least 256 */
  void *context;         /* what was registered with the function; null for one of a shared object */
};

/* Returns 0 where all is well; any other number means that the node failed, as a status word that is not 0 does. The
 * number and the text are in the error and in the report. */
typedef int gr_host_function(const struct gr_host_call *call);

/* Puts a text into the call's room for one, cut where it does not fit. Returns 1, so that a function can end with
 * `return gr_host_fail(call, "the matrix is singular");`. */
static inline int gr_host_fail(const struct gr_host_call *call, const char *text) {
  size_t i = 0;
  for (; text[i] != '\0' && i + 1 < call->error_bytes; i++) call->error[i] = text[i];
  if (call->error_bytes > 0) call->error[i] = '\0';
  return 1;
}

#ifdef __cplusplus
}
#endif
#endif
