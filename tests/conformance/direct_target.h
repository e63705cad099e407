/* A target that calls the kernels' host functions without an engine. */
#ifndef GRAPHRUN_TESTS_CONFORMANCE_DIRECT_TARGET_H
#define GRAPHRUN_TESTS_CONFORMANCE_DIRECT_TARGET_H

#include "tests/conformance/cases.h"

extern const struct target direct_target;

/* A call as `check` and the host function want it. Offsets and sharing play no part. */
void call_describe(const struct call *call, struct gr_kernel_argument arguments[GR_KERNEL_ARGUMENT_MAX]);
void call_frame(const struct call *call, struct gr_kernel_frame *frame);

#endif
