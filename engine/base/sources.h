/* The files that a pipeline is made of besides its own: sub-pipelines, kernels' source text. Each is read once and
 * kept, so that whoever looks at it later sees what the check saw. */
#ifndef GRAPHRUN_ENGINE_BASE_SOURCES_H
#define GRAPHRUN_ENGINE_BASE_SOURCES_H

#include "engine/base/file.h"
#include "engine/base/text.h"

struct gr_sources;

/* Null without memory. */
struct gr_sources *gr_sources_create(struct gr_memory *memory);
/* Null is allowed. Every view that was given ends. */
void gr_sources_destroy(struct gr_sources *sources);
/* The bytes of a regular file of at most `limit_bytes`, read when the path is asked for the first time and the same
 * ever after, also where it could not be read. GR_ERR_IO (with the full path and the reason), GR_ERR_NO_MEMORY (not
 * remembered). *bytes stays valid until destroy, and is followed by a NUL that its length does not count. */
enum gr_status gr_sources_read(struct gr_sources *sources, const char *path, uint64_t limit_bytes,
                               struct gr_view *bytes, struct gr_error *error);

#endif
