/* The back end that needs no GPU: a plan's steps run on a pool of worker threads, buffers of every place are ordinary
 * memory. It is the oracle for the others: a kernel here is its plain C twin, and a step is computed by one worker, so
 * that the bytes are the same whatever the number of workers.
 *
 * All modes are accepted. GR_MODE_GRAPH and GR_MODE_STREAM run the plan's emitted edges; GR_MODE_SERIAL runs one step
 * at a time in the order of issue, on one worker. */
#ifndef GRAPHRUN_ENGINE_BACKEND_HOST_HOST_H
#define GRAPHRUN_ENGINE_BACKEND_HOST_HOST_H

#include "engine/backend/backend.h"

extern const struct gr_backend gr_backend_host;

#endif
