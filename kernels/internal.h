/* What the host files of the kernels share: prototypes, the parts that checks and launches are made of. */
#ifndef GRAPHRUN_KERNELS_INTERNAL_H
#define GRAPHRUN_KERNELS_INTERNAL_H

#include "engine/kernel.h"
#include "kernels/list.h"

/* Loops over elements where the output may be exactly an input: iterations do not depend on one another, which the
 * compiler cannot see and must not test for, since its test would take the exact overlap for a dependence. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that call the mathematical library stay as they are */
#define GR_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GR_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif

#define GR_KERNEL_PROTOTYPES(NAME, SUMMARY, PARAMETERS, LIBRARY, CHECK)                              \
  bool CHECK(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,             \
             struct gr_kernel_facts *facts, struct gr_kernel_problem *problem);                      \
  void gr_##NAME##_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame);        \
  uint32_t gr_##NAME##_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame, \
                                struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls" /* kernels share checks */
GR_KERNEL_LIST(GR_KERNEL_PROTOTYPES)
#pragma GCC diagnostic pop
#undef GR_KERNEL_PROTOTYPES

bool gr_fill_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                   struct gr_kernel_facts *facts, struct gr_kernel_problem *problem);
void gr_fill_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame);
uint32_t gr_fill_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                          struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]);

/* --- Parts of checks: each returns true, or fills `problem` and returns false. Indexes are of arguments. --- */

/* One call under judgement. */
struct gr_call {
  const struct gr_kernel *kernel;
  const struct gr_kernel_argument *arguments;
  struct gr_kernel_problem *problem;
};

__attribute__((format(printf, 3, 4))) bool gr_refuse(const struct gr_call *call, int32_t index, const char *format,
                                                     ...);
/* All buffers are f32, or all are f64; the arguments whose bits are set in `exempt` are not looked at. */
bool gr_check_real_buffers(const struct gr_call *call, uint32_t exempt);
bool gr_check_type(const struct gr_call *call, uint32_t index, enum gr_type type);
bool gr_check_same_count(const struct gr_call *call, uint32_t index, uint32_t reference);
bool gr_check_one_element(const struct gr_call *call, uint32_t index);
bool gr_check_two_dimensions(const struct gr_call *call, uint32_t index);
/* The extents of a buffer of two dimensions are those; `why` ends the message. */
bool gr_check_extents(const struct gr_call *call, uint32_t index, uint64_t rows, uint64_t columns, const char *why);
/* The buffer has so many elements, in whatever shape. */
bool gr_check_count(const struct gr_call *call, uint32_t index, uint64_t expected, const char *why);
/* Fills `facts` with what the parameters say and no scratch; true. */
bool gr_accept(const struct gr_call *call, struct gr_kernel_facts *facts, uint64_t output_element_count);

/* --- Parts of launches and of host functions --- */

static inline uint64_t gr_element_count(const struct gr_kernel_frame *frame, uint32_t index) {
  return frame->arguments[index].rows * frame->arguments[index].columns;
}

static inline bool gr_is_f64(const struct gr_kernel_frame *frame, uint32_t index) {
  return frame->arguments[index].type == GR_TYPE_F64;
}

/* Fills launches[0] with a one-dimensional grid that gives each block `items_per_block` of `item_count` items, cut off
 * at CUDA's limit: device code loops until the items are done. Returns 1, the number of launches. */
uint32_t gr_launch_blocks(struct gr_kernel_launch *launch, const char *entry, uint64_t item_count,
                          uint64_t items_per_block, uint32_t threads);
/* The same for kernels/device_map.cuh: `element_bytes` of the widest type. */
uint32_t gr_launch_map(struct gr_kernel_launch *launch, const char *entry, uint64_t element_count,
                       uint64_t element_bytes);

#endif
