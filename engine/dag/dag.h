/* The dependency graph of a pipeline: checked, compact, with a topological order. Made once by gr_dag_build, then only
 * read. Node indexes are the pipeline's.
 *
 * Invariants: no cycle; no duplicate edge, no self edge; successors and predecessors of a node ascend; `order` is a
 * topological order that keeps file order among nodes that are ready at the same time; with `races: error`, any two
 * accesses of the same bytes of which one writes lie on a path. */
#ifndef GRAPHRUN_ENGINE_DAG_DAG_H
#define GRAPHRUN_ENGINE_DAG_DAG_H

#include "engine/pipeline/pipeline.h"

struct gr_dag {
  struct gr_arena arena;
  uint32_t node_count;
  uint64_t edge_count;
  uint64_t declared_edge_count;    /* from `after`; the others follow from `order: data` */
  const uint64_t *successor_begin; /* [node_count + 1], into `successors` */
  const uint32_t *successors;
  const uint64_t *predecessor_begin; /* [node_count + 1], into `predecessors` */
  const uint32_t *predecessors;
  const uint32_t *order; /* [node_count], a topological order */
  const uint32_t *level; /* [node_count], the longest path from a root, in edges; roots are 0 */
  uint32_t level_count;
  uint64_t unchecked_pair_count; /* conflicting accesses whose order could not be decided within the budget; 0 but for
                                    monstrous graphs, and then a warning says so */
};

/* Edges from `after`, and from reads and writes in file order where `order: data`; then the cycle check (one diagnostic
 * a cycle: the path in edge direction, each node with its line, nothing but the cycle), the race check, and the
 * warnings about bytes that are read before anything wrote them. Errors give GR_ERR_INVALID or GR_ERR_NO_MEMORY and
 * leave *dag untouched. */
enum gr_status gr_dag_build(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                            struct gr_diagnostics *diagnostics, struct gr_dag **dag);
void gr_dag_destroy(struct gr_dag *dag);

/* The cycle check alone, for flawed pipelines too: of the nodes, edges and accesses that are right in them, so that
 * every cycle found is one. Says nothing of races, nor of what nothing wrote, since what is wrong may have been the
 * order or the write. GR_ERR_INVALID where there are cycles, GR_ERR_NO_MEMORY; errors that `diagnostics` held before
 * make no difference. */
enum gr_status gr_dag_check_cycles(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                   struct gr_diagnostics *diagnostics);

/* Builds a dag from bare edges, for tests, benches and generators: `edges` holds edge_count pairs (from, to), in any
 * order, duplicates allowed. GR_ERR_INVALID on a cycle or an index out of range. */
enum gr_status gr_dag_from_edges(struct gr_memory *memory, uint32_t node_count, const uint32_t *edges,
                                 uint64_t edge_count, struct gr_dag **dag, struct gr_error *error);

/* Is that edge there? By bisection of the shorter list. */
bool gr_dag_has_edge(const struct gr_dag *dag, uint32_t from, uint32_t to);
/* The same of any ascending list. */
bool gr_dag_is_listed(const uint32_t *ascending, uint64_t count, uint32_t value);

/* Answers 'is there a path from a to b' with precomputed labels and a bounded search. Not thread-safe (it holds marks).
 */
struct gr_reach;
enum gr_reach_answer { GR_REACH_NO, GR_REACH_YES, GR_REACH_UNKNOWN };
/* `budget`: edges that all questions together may walk; past it answers that need a walk are UNKNOWN. Null without
 * memory. The dag outlives it. */
struct gr_reach *gr_reach_create(struct gr_memory *memory, const struct gr_dag *dag, uint64_t budget);
void gr_reach_destroy(struct gr_reach *reach);
/* a == b gives YES. */
enum gr_reach_answer gr_reach_path(struct gr_reach *reach, uint32_t from, uint32_t to);

/* Edges as stable text; and the picture in DOT (ids are generated, names only occur as escaped labels). `pipeline`
 * gives the names. */
void gr_dag_show(const struct gr_dag *dag, const struct gr_pipeline *pipeline, struct gr_text *out);
void gr_dag_show_dot(const struct gr_dag *dag, const struct gr_pipeline *pipeline, struct gr_text *out);

#endif
