/* The tables that a build may hold. Each is defined in the folder of its back end. */
#ifndef GRAPHRUN_ENGINE_BACKEND_BUILTIN_H
#define GRAPHRUN_ENGINE_BACKEND_BUILTIN_H

#include "engine/backend/backend.h"

extern const struct gr_backend gr_backend_cuda; /* where a CUDA toolkit was found */
extern const struct gr_backend gr_backend_host;

#endif
