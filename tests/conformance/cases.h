/* What every built-in kernel must compute, once for all back ends. A case makes calls, hands each to a target, which is
 * one way to run a kernel, and compares what comes back with a reference computed in f64. Failures are Check's. */
#ifndef GRAPHRUN_TESTS_CONFORMANCE_CASES_H
#define GRAPHRUN_TESTS_CONFORMANCE_CASES_H

#include "engine/kernel.h"

enum { CALL_RANK_MAX = 3 };

struct call_argument {
  enum gr_parameter_kind kind;
  double real;
  int64_t integer;
  /* Of a buffer. */
  enum gr_type type;
  uint32_t rank;
  uint64_t shape[CALL_RANK_MAX];
  void *data;      /* its elements before the call; where the kernel writes it, after the call too */
  uint64_t offset; /* so many elements (rows, with two dimensions) of the buffer lie before the argument */
  uint32_t shares; /* 1 + the index of an earlier argument that lies on the same bytes, of which this one's `data` tells
                      what they hold; 0: none */
};

struct call {
  const char *kernel;
  uint32_t repeat; /* the call is replayed so often; 0 counts as 1 */
  uint32_t argument_count;
  struct call_argument arguments[GR_KERNEL_ARGUMENT_MAX];
};

/* Runs calls that have nothing to do with one another, in any order or at once: making one ready may take a tenth of a
 * second, many at once hardly more. A failure to run them is the target's to report. */
struct target {
  const char *name;
  void *context;
  void (*run)(void *context, const struct call *calls, uint32_t call_count);
};

struct conformance_case {
  const char *name;
  void (*run)(const struct target *target);
};

/* Ended by a null name. */
extern const struct conformance_case conformance_cases[];

#endif
