/* Types that the public face and the rooms share. Part of the public face: engine/graphrun.h includes this. */
#ifndef GRAPHRUN_ENGINE_BASE_TYPES_H
#define GRAPHRUN_ENGINE_BASE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a buffer lives. */
enum gr_place {
  GR_PLACE_DEVICE,
  GR_PLACE_PINNED,
  GR_PLACE_HOST,
  GR_PLACE_MAPPED,
  GR_PLACE_MANAGED,
};
enum { GR_PLACE_COUNT = GR_PLACE_MANAGED + 1 };

enum gr_mode {
  GR_MODE_GRAPH,  /* one captured graph, replayed */
  GR_MODE_STREAM, /* plain streams with events */
  GR_MODE_SERIAL, /* one node at a time, each waited for */
};
/* "graph", "stream" or "serial"; a static string. */
const char *gr_mode_name(enum gr_mode mode);

/* What became of a node; names as in the JSON report. */
enum gr_node_state {
  GR_NODE_NOT_RUN,
  GR_NODE_OK,
  GR_NODE_FAILED,
  GR_NODE_SUSPECT, /* could be the one that failed */
  GR_NODE_TIMEOUT,
  GR_NODE_SKIPPED, /* a predecessor failed */
  GR_NODE_NO_OP,
};
/* "ok", "failed", …; a static string. */
const char *gr_node_state_name(enum gr_node_state state);

/* What a data file that cannot be read is to a check: today's error, or a warning, since the pipeline itself is right.
 */
enum gr_unreadable {
  GR_UNREADABLE_ERROR,
  GR_UNREADABLE_WARNING,
};

/* What a back end says of one device. */
struct gr_device_info {
  char name[128];
  uint64_t memory_bytes;
  uint64_t free_bytes; /* 0: not known without opening it */
  uint32_t compute_major, compute_minor;
  uint32_t unit_count; /* multiprocessors, or cores */
};

/* A program's own allocator. All three or none: with none the C library's malloc, realloc and free serve. They may be
 * called from any thread at once. Alignment as malloc's. `resize` is realloc. `release` is never given null. */
struct gr_memory_hooks {
  void *(*allocate)(void *context, size_t size_bytes);
  void *(*resize)(void *context, void *address, size_t size_bytes);
  void (*release)(void *context, void *address);
  void *context;
};

/* Raw page-locked blocks, as the CUDA runtime gives them. Both may be called from any thread, never during a capture.
 */
struct gr_pinned_source {
  void *(*take)(void *context, size_t size_bytes); /* page-aligned; null when refused */
  void (*give_back)(void *context, void *address); /* exactly an address that `take` gave */
  void *context;
};

/* A pool of page-locked memory that a program supplies. `create` gets the source, which outlives the pool; null fails.
 * Allocations are at least 256-byte aligned. Everything is released before `destroy`. One pool serves one device
 * handle; never called by two threads at once. */
struct gr_pinned_hooks {
  void *(*create)(void *context, const struct gr_pinned_source *source);
  void *(*allocate)(void *pool, size_t size_bytes);
  void (*release)(void *pool, void *address);
  void (*destroy)(void *pool);
  void *context;
};

#ifdef __cplusplus
}
#endif

#endif
