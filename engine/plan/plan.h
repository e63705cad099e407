/* The schedule of a dag: steps in the order of issue, each on a lane (a logical stream), the waits between lanes, what
 * the captured graph must order, and where every buffer lies in memory. A pure function of pipeline, dag, options and
 * limits; made once by gr_plan_make, then only read.
 *
 * Words: a *step* is a node in the plan (same count, own numbering: steps are numbered in the order of issue); a *lane*
 * is a logical stream, and the CUDA back end gives each lane one stream; a *wait* makes a step wait for a step of
 * another lane; an *emitted edge* is one that the captured graph holds.
 *
 * Invariants (gr_plan_verify re-derives them): every emitted edge goes to a later step; the emitted edges order exactly
 * the pairs that the dag orders (plus, under a policy that adds order edges, those that its lane order adds, counted in
 * order_edge_count); lane order and waits together order at least those pairs; with redundant edges reduced within the
 * budget, no wait is implied by lane order and the other waits; buffers of one region do not overlap. */
#ifndef GRAPHRUN_ENGINE_PLAN_PLAN_H
#define GRAPHRUN_ENGINE_PLAN_PLAN_H

#include "engine/dag/dag.h"

/* What a back end can do; an input of planning, so that planning needs no device. */
struct gr_limits {
  uint32_t lane_max;        /* streams that it can serve; 0: any number */
  uint32_t alignment_bytes; /* of buffers in a region; a power of two */
  uint32_t device_count;
};

struct gr_plan_options {
  enum gr_policy policy;
  uint32_t lane_max;         /* the user's cap; 0: none */
  uint64_t reduction_budget; /* edges that the search for redundant edges may walk; 0: the default */
};

enum gr_operation {
  GR_OPERATION_COPY,
  GR_OPERATION_FILL,
  GR_OPERATION_KERNEL,
  GR_OPERATION_EMPTY,  /* barriers and no_ops: one empty node that joins what comes before it */
  GR_OPERATION_LAUNCH, /* a kernel of the user's own */
  GR_OPERATION_HOST,   /* a function on the CPU */
};

struct gr_step {
  uint32_t node_index;
  uint32_t lane;
  uint32_t level;
  uint8_t operation;          /* enum gr_operation */
  bool is_recorded;           /* an event is recorded behind it, since a step of another lane waits for it */
  bool lane_order_is_emitted; /* the lane's previous step is among the emitted predecessors (or it is the lane's first
                                 step and has none). Where not, a captured graph must set the dependencies itself, and
                                 plain streams get a false edge */
};

struct gr_wait {
  uint32_t step;     /* waits … */
  uint32_t for_step; /* … for this one, of another lane, issued earlier */
};

struct gr_slot {
  uint64_t offset_bytes; /* in the region of its place */
  uint64_t size_bytes;
};

struct gr_plan_counts {
  uint64_t declared_edges;     /* of the dag */
  uint64_t redundant_edges;    /* left out, since another path enforces them */
  uint64_t emitted_edges;      /* of the captured graph */
  uint64_t order_edges;        /* emitted edges that the dag does not order, added by a policy on purpose */
  uint64_t false_edges_stream; /* orders between consecutive steps of a lane in stream mode that the dag lacks */
  uint64_t join_steps;         /* EMPTY steps */
  uint64_t lane_edges;         /* emitted edges that lane order gives */
  uint64_t waits;
  bool reduction_is_complete; /* false: the budget ran out, redundant edges may remain */
  uint64_t wait_minimum;      /* the proven minimum of waits at full concurrency where the policy computes it (chains);
                                 UINT64_MAX where unknown */
};

struct gr_plan {
  struct gr_arena arena;
  const struct gr_pipeline *pipeline; /* outlives the plan */
  const struct gr_dag *dag;           /* likewise */
  struct gr_plan_options options;
  enum gr_policy policy; /* the one that was used */

  uint32_t step_count;
  const struct gr_step *steps;
  const uint32_t *step_of_node; /* [step_count] */
  uint32_t lane_count;          /* at least 1 */
  uint32_t level_count;
  uint32_t width; /* most steps in one level */

  const uint64_t *emitted_begin; /* [step_count + 1], into `emitted` */
  const uint32_t *emitted;       /* predecessor steps in the captured graph, ascending */
  const uint32_t *sinks;         /* steps without an emitted successor, ascending: what the origin joins */
  uint32_t sink_count;

  /* What plain streams wait for. A captured graph needs `emitted` instead: a wait that a false edge of lane order
   * enforces already is left out here, and such an edge is not in the graph. */
  const uint64_t *wait_begin;  /* [step_count + 1], into `waits` */
  const struct gr_wait *waits; /* grouped by step */

  const struct gr_slot *slots; /* [buffer_count] */
  uint64_t region_bytes[GR_PLACE_COUNT];
  uint64_t scratch_offset; /* the kernels' scratch, at the end of the device region, included in its bytes */
  uint64_t scratch_bytes;
  const uint64_t *scratch_of_step; /* [step_count], offset in the device region; UINT64_MAX: none */

  struct gr_plan_counts counts;
};

/* Linear but for reduction and matching, which stop at their budgets. GR_ERR_NO_MEMORY, GR_ERR_INVALID (sizes that
 * overflow 63 bits together, an alignment that is no power of two), GR_ERR_NO_DEVICE (a buffer's device is not among
 * limits->device_count; the error names the buffer and the range), GR_ERR_NOT_SUPPORTED (buffers of several devices).
 * *plan is set only on success. */
enum gr_status gr_plan_make(struct gr_memory *memory, const struct gr_pipeline *pipeline, const struct gr_dag *dag,
                            const struct gr_plan_options *options, const struct gr_limits *limits,
                            struct gr_plan **plan, struct gr_error *error);
void gr_plan_destroy(struct gr_plan *plan);

/* Re-derives the invariants above; exact for graphs up to some thousand nodes, sampled beyond. GR_ERR_INTERNAL with
 * what does not hold. */
enum gr_status gr_plan_verify(struct gr_memory *memory, const struct gr_plan *plan, struct gr_error *error);

/* What a back end needs of one step, so that it sees no pipeline. */
const char *gr_plan_node_name(const struct gr_plan *plan, uint32_t step);
struct gr_mark gr_plan_node_mark(const struct gr_plan *plan, uint32_t step);
const struct gr_kernel *gr_plan_kernel(const struct gr_plan *plan, uint32_t step); /* null: not a kernel */
bool gr_plan_is_no_op(const struct gr_plan *plan, uint32_t step);
uint64_t gr_plan_timeout_ns(const struct gr_plan *plan, uint32_t step);
void gr_plan_copy_box(const struct gr_plan *plan, uint32_t step, struct gr_copy_box *box);
void gr_plan_fill_box(const struct gr_plan *plan, uint32_t step, struct gr_fill_box *box);
/* Fills `frame` for a kernel step. `buffer_addresses` has the address of every buffer as the callee sees it; null gives
 * a frame without addresses (to count launches). `scratch` is the base of the device region or null. */
void gr_plan_frame(const struct gr_plan *plan, uint32_t step, void *const *buffer_addresses, void *device_region,
                   struct gr_kernel_frame *frame);

/* One argument of a launch or of a host function. */
struct gr_call_argument {
  const struct gr_declared_parameter *parameter;
  void *data;             /* of a buffer: its address, from the addresses given; null for a scalar */
  struct gr_element bits; /* of a scalar, in the parameter's type */
  uint64_t element_count; /* 1 for a scalar */
  const uint64_t *shape;  /* [rank] */
  uint32_t rank;
  uint32_t buffer_index; /* UINT32_MAX for a scalar */
  uint64_t offset_bytes; /* of the first element in its buffer */
};
/* Null unless the step is a launch. */
const struct gr_declared_kernel *gr_plan_declared(const struct gr_plan *plan, uint32_t step);
const struct gr_launch *gr_plan_launch(const struct gr_plan *plan, uint32_t step);
/* Null unless the step is a host function. */
const struct gr_function *gr_plan_function(const struct gr_plan *plan, uint32_t step);
/* Of a launch or a host function. `buffer_addresses` as for gr_plan_frame; null gives none. */
uint32_t gr_plan_argument_count(const struct gr_plan *plan, uint32_t step);
void gr_plan_argument(const struct gr_plan *plan, uint32_t step, uint32_t index, void *const *buffer_addresses,
                      struct gr_call_argument *argument);

/* A gr_error with node, file and line of a step. Returns `status`. */
__attribute__((format(printf, 5, 6))) enum gr_status gr_plan_error(const struct gr_plan *plan, uint32_t step,
                                                                   struct gr_error *error, enum gr_status status,
                                                                   const char *format, ...);

/* `graphrun plan`: levels, lanes, waits and why each exists, edges counted, the memory plan. Stable text; JSON too. */
void gr_plan_show(const struct gr_plan *plan, struct gr_text *out);
void gr_plan_show_json(const struct gr_plan *plan, struct gr_text *out);

#endif
