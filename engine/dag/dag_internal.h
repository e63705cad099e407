/* What the files of this room share. */
#ifndef GRAPHRUN_ENGINE_DAG_DAG_INTERNAL_H
#define GRAPHRUN_ENGINE_DAG_DAG_INTERNAL_H

#include "engine/dag/dag.h"

#define GR_NO_INDEX UINT32_MAX

/* Edges as they are found: in any order, repeated ones and self edges allowed. */
struct gr_dag_edge {
  uint32_t from, to;
};
struct gr_dag_edges {
  struct gr_memory *memory;
  struct gr_dag_edge *items;
  size_t count, capacity;
};
/* False without memory. */
bool gr_dag_edges_add(struct gr_dag_edges *edges, uint32_t from, uint32_t to);
void gr_dag_edges_release(struct gr_dag_edges *edges);

/* Fills `order`, `level` and `level_count`. *ordered_count is below node_count where there is a cycle; the nodes of
 * cycles and those behind them are then missing in `order`. False without memory. */
bool gr_dag_fill_order(struct gr_dag *dag, uint32_t *ordered_count);

/* Called with the nodes of a cycle in edge direction, the first in file order first; false ends the search. */
typedef bool gr_dag_cycle_visitor(void *context, const uint32_t *nodes, uint32_t count);
/* One shortest cycle through the first node of every strongly connected component, in file order of these nodes, and
 * one for every self edge among `edges`. False without memory or when the visitor ended it. */
bool gr_dag_visit_cycles(const struct gr_dag *dag, const struct gr_dag_edges *edges, gr_dag_cycle_visitor *visit,
                         void *context);
/* "a (line 4) -[data: x]-> b (line 5) -> a", the middle left out where it is long; edges that no `after` declares have
 * the buffer that they come from. Without a pipeline nodes are numbers. */
void gr_dag_append_cycle(struct gr_text *text, const struct gr_pipeline *pipeline, const uint32_t *nodes,
                         uint32_t count);

/* Where `to` is told to come after `from`; null for an edge of `order: data`. */
const struct gr_after *gr_dag_find_after(const struct gr_pipeline *pipeline, uint32_t from, uint32_t to);

/* Adds the edges that follow from reads and writes in file order, and warns about bytes that nothing wrote. False
 * without memory; too many edges are an error in `diagnostics`. */
bool gr_dag_add_data_edges(const struct gr_pipeline *pipeline, struct gr_diagnostics *diagnostics,
                           struct gr_dag_edges *edges);
/* The race check (unless `races: allow`) and the same warnings. Sets *unchecked_pair_count. False without memory. */
bool gr_dag_check_conflicts(const struct gr_dag *dag, const struct gr_pipeline *pipeline,
                            struct gr_diagnostics *diagnostics, uint64_t *unchecked_pair_count);

/* What can be said without a walk; costs no budget. */
enum gr_reach_answer gr_reach_quick(const struct gr_reach *reach, uint32_t from, uint32_t to);

/* One access of bytes, as the frontier sees it. */
struct gr_dag_use {
  uint32_t node;
  uint32_t reference_index;
  uint32_t access; /* enum gr_access */
};

/* frontier.c: who touched which elements of one buffer last. */
struct gr_frontier_rules {
  /* `earlier` and `later` are uses of two nodes with common elements, one of them writing. True if they are ordered (or
   * are so from now on). Null: nobody asks. */
  bool (*meet)(void *context, const struct gr_dag_use *earlier, const struct gr_dag_use *later);
  /* A path from one node to another, where that can be said at once; only saves questions. Null: it never can. */
  bool (*is_before)(void *context, uint32_t node, uint32_t later);
  /* Elements that are read and that nothing wrote. Null: of no interest. */
  void (*undefined)(void *context, const uint64_t *starts, const uint64_t *ends);
  void *context;
};
struct gr_frontier {
  struct gr_memory *memory;
  struct gr_frontier_rules rules;
  const struct gr_pipeline *pipeline;
  const struct gr_dag_use *uses;
  uint32_t rank;
  bool is_clean;        /* every answer so far, on this buffer, was 'ordered' */
  bool out_of_memory;   /* after this or the next nothing here is meaningful any more */
  bool is_exhausted;    /* the budget is spent, or a rule ended the walk by setting this */
  uint64_t visits_left; /* the budget */
  uint32_t kept_races;  /* writes that did not replace what was there, on this buffer */
  uint32_t next_class;  /* see gr_frontier_write */

  uint64_t *cuts[GR_RANK_MAX]; /* the distinct starts and ends along a dimension, ascending */
  size_t cut_capacity[GR_RANK_MAX];
  uint32_t cut_count[GR_RANK_MAX];
  uint64_t *sort_scratch;
  size_t sort_capacity;
  struct gr_frontier_zone *zones;
  size_t zone_count, zone_capacity;
  uint32_t free_zones; /* pairs that were given back */
  struct gr_frontier_cell *cells;
  size_t cell_count, cell_capacity;
  uint32_t *frames; /* zones still to walk, with their ranges */
  size_t frame_count, frame_capacity;
  uint32_t *ropes; /* cells still to walk */
  size_t rope_count, rope_capacity;
};
void gr_frontier_init(struct gr_frontier *frontier, struct gr_memory *memory, const struct gr_pipeline *pipeline);
void gr_frontier_release(struct gr_frontier *frontier);
/* Starts a buffer, whose uses are uses[0] to uses[use_count - 1]; all have elements. */
void gr_frontier_begin(struct gr_frontier *frontier, uint32_t buffer_index, const struct gr_dag_use *uses,
                       uint32_t use_count);
/* Uses are told in an order in which no later one has a path to an earlier one; of one node, reads before writes.
 * `class` points to a number that nodes with the same predecessors share, or is null. */
void gr_frontier_read(struct gr_frontier *frontier, uint32_t use_index, uint32_t *class);
void gr_frontier_write(struct gr_frontier *frontier, uint32_t use_index, uint32_t *class);
/* The `undefined` half of a read alone, for updates. */
void gr_frontier_peek(struct gr_frontier *frontier, uint32_t use_index);
/* Calls rules.undefined for all elements of the buffer that nothing wrote. */
void gr_frontier_unwritten(struct gr_frontier *frontier);

/* "x[0:4, 2:8]"; "x" for a scalar. */
void gr_dag_append_box(struct gr_text *text, const struct gr_buffer *buffer, const uint64_t *starts,
                       const uint64_t *ends);

#endif
