/* Page-locked memory from a jemalloc arena whose extents come from the CUDA runtime. */
#ifndef GRAPHRUN_TOOLS_GRAPHRUN_PINNED_H
#define GRAPHRUN_TOOLS_GRAPHRUN_PINNED_H

#include "engine/graphrun.h"

/* The hooks, or null where this program is built without jemalloc (under sanitizers): the library's own pool serves. */
const struct gr_pinned_hooks *pinned_hooks(void);

#endif
