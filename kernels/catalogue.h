/* The kernels in the box. */
#ifndef GRAPHRUN_KERNELS_CATALOGUE_H
#define GRAPHRUN_KERNELS_CATALOGUE_H

#include "engine/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The built-in kernels of docs/format.md. Constant, the same on every call, never null. It has images where the program
 * was built with a CUDA toolkit; everything else of it is there in every build.
 *
 * Beyond what engine/kernel.h promises: each call is one launch, whose entry is named `gr_KERNEL_VARIANT`, such as
 * `gr_add_f32` (for `fill`: `gr_fill_32`). So whoever stands in for a device finds the host twin of an entry: it is the
 * kernel with the longest name for which `gr_NAME_` begins the entry. */
const struct gr_catalogue *gr_builtin_catalogue(void);

#ifdef __cplusplus
}
#endif
#endif
