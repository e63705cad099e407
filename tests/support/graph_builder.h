/* Pipelines made by hand, for tests of everything behind the reader: from one line of text, from a pattern, or piece by
 * piece. What is built keeps the invariants of pipeline.h. A mistake in the text is a mistake in the test: it is
 * printed and the program aborts; so is running out of memory. */
#ifndef GRAPHRUN_TESTS_SUPPORT_GRAPH_BUILDER_H
#define GRAPHRUN_TESTS_SUPPORT_GRAPH_BUILDER_H

#include "engine/pipeline/pipeline.h"

/* Words between blanks, in any order:
 *   a            a node
 *   a>b  b,c>d   edges; `a,b>c,d>e` is every pair from one group to the next
 *   a:w:x        an access: r, w or u (update), of buffer x or of a slice of it, `b:r:x[0:4]`, `c:u:y[0:2,1:3]`
 *   x=[4,8]      a buffer's shape; `[]` is a scalar. Buffers that are only accessed have the shape [16]
 *   x=[8]+init+save+expect@pinned    what else it has: init is zeros, save a file, expect `equals: 0`; the place
 *   a!no_op      the node does nothing (it must have no access)
 * Nodes and buffers are numbered as they first occur. Node i stands on line i + 1, column 1, its n-th `after` in column
 * 10 + n of that line; buffer i on line 100 + i. Elements are u32.
 *
 * Kinds follow from the accesses: none: barrier; one w: fill (with node index + 1); one r and one w of equally many
 * elements in different buffers: copy; anything else: a kernel `mix` made for it (see graph_mix_host). */
struct gr_pipeline *graph_from_text(struct gr_memory *memory, const char *text);
/* For pipelines from here only. Null is allowed. */
void graph_destroy(struct gr_pipeline *pipeline);
/* The index of the node or buffer of that name; aborts where there is none. */
uint32_t graph_node(const struct gr_pipeline *pipeline, const char *name);
uint32_t graph_buffer(const struct gr_pipeline *pipeline, const char *name);

/* Patterns: `steps` times `width` tasks. Named as in Task Bench; predecessors are tasks of the step before. */
enum graph_pattern {
  GRAPH_TRIVIAL,          /* no edges */
  GRAPH_NO_COMM,          /* itself: `width` chains */
  GRAPH_STENCIL,          /* itself and its neighbours */
  GRAPH_STENCIL_PERIODIC, /* the same, wrapping */
  GRAPH_SWEEP,            /* itself and its left neighbour, in a diamond of active tasks */
  GRAPH_TREE,             /* i / 2, twice as wide in every step up to `width` */
  GRAPH_FFT,              /* i - 2^d, i, i + 2^d */
  GRAPH_NEAREST,          /* `radix` around it */
  GRAPH_SPREAD,           /* `radix` far apart */
  GRAPH_ALL_TO_ALL,
  GRAPH_RANDOM_LAYERED, /* up to `radix` random tasks of the three steps before, at least one */
  GRAPH_RANDOM,         /* steps * width nodes; up to `radix` random earlier nodes; file order shuffled */
  GRAPH_FAN_OUT,        /* one node, then steps * width that follow it */
  GRAPH_FAN_IN,         /* the reverse */
  GRAPH_CHAIN,          /* steps * width nodes in one line */
  GRAPH_PATTERN_COUNT,
};
const char *graph_pattern_name(enum graph_pattern pattern);

struct graph_spec {
  enum graph_pattern pattern;
  uint32_t width; /* 0 counts as 1 */
  uint32_t steps;
  uint32_t radix; /* 0: 3 */
  uint64_t seed;
  /* Each task is a `mix` kernel that reads its predecessors' cells (the first 6) and writes a cell of its own of so
   * many elements, in one buffer `cells`; the bytes of all cells then tell whether the order was kept. 0: barriers. */
  uint32_t cell_elements;
};
struct gr_pipeline *graph_generate(struct gr_memory *memory, const struct graph_spec *spec);

/* What the kernel `mix` computes: argument 0 is an integer (the node's index), the others are buffers of u32. Every
 * element that it writes depends on the integer, on its own index and (for update) old value, and on every element of
 * every buffer that is read. */
void graph_mix_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame);

/* Piece by piece. Indexes count from 0 in the order of the calls. */
struct graph_builder;
struct graph_builder *graph_builder_create(struct gr_memory *memory);
uint32_t graph_builder_buffer(struct graph_builder *builder, const char *name, uint32_t rank, const uint64_t *shape);
uint32_t graph_builder_node(struct graph_builder *builder, const char *name); /* names are copied, and not compared */
void graph_builder_edge(struct graph_builder *builder, uint32_t from, uint32_t to);
/* `starts` null: the whole buffer. */
void graph_builder_access(struct graph_builder *builder, uint32_t node, enum gr_access access, uint32_t buffer,
                          const uint64_t *starts, const uint64_t *extents);
void graph_builder_no_op(struct graph_builder *builder, uint32_t node);
void graph_builder_init(struct graph_builder *builder, uint32_t buffer);   /* zeros */
void graph_builder_save(struct graph_builder *builder, uint32_t buffer);   /* NAME.npy */
void graph_builder_expect(struct graph_builder *builder, uint32_t buffer); /* equals: 0 */
void graph_builder_place(struct graph_builder *builder, uint32_t buffer, enum gr_place place);
/* Consumes the builder. order: explicit, races: error, policy: levels; the fields of the result may be changed. */
struct gr_pipeline *graph_builder_finish(struct graph_builder *builder);

/* The next number of a seeded sequence (splitmix64), and one below `bound` (not 0). */
uint64_t graph_random(uint64_t *state);
uint32_t graph_random_below(uint64_t *state, uint32_t bound);

#endif
