/* What the tests of this room share: brute force on small graphs. */
#ifndef GRAPHRUN_TESTS_UNIT_DAG_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_DAG_SUPPORT_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "engine/dag/dag.h"
#include "tests/support/graph_builder.h"

enum { SMALL_MAX = 64 };

/* reaches[a][b]: there is a path of at least one edge. */
struct closure {
  bool reaches[SMALL_MAX][SMALL_MAX];
};

static inline void close_paths(struct closure *closure, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    for (uint32_t i = 0; i < count; i++) {
      for (uint32_t j = 0; j < count; j++) {
        if (closure->reaches[i][k] && closure->reaches[k][j]) closure->reaches[i][j] = true;
      }
    }
  }
}

static inline void closure_of_dag(const struct gr_dag *dag, struct closure *closure) {
  memset(closure, 0, sizeof *closure);
  for (uint32_t i = 0; i < dag->node_count; i++) {
    for (uint64_t k = dag->successor_begin[i]; k < dag->successor_begin[i + 1]; k++) {
      closure->reaches[i][dag->successors[k]] = true;
    }
  }
  close_paths(closure, dag->node_count);
}

static inline void closure_of_after(const struct gr_pipeline *pipeline, struct closure *closure) {
  memset(closure, 0, sizeof *closure);
  for (uint32_t i = 0; i < pipeline->node_count; i++) {
    for (uint32_t k = 0; k < pipeline->nodes[i].after_count; k++) {
      closure->reaches[pipeline->after[pipeline->nodes[i].first_after + k].node_index][i] = true;
    }
  }
  close_paths(closure, pipeline->node_count);
}

static inline bool share_elements(const struct gr_pipeline *pipeline, uint32_t a, uint32_t b) {
  const struct gr_reference *left = &pipeline->references[a], *right = &pipeline->references[b];
  if (left->buffer_index != right->buffer_index) return false;
  for (uint32_t i = 0; i < left->rank; i++) {
    uint64_t first = left->starts ? left->starts[i] : 0, second = right->starts ? right->starts[i] : 0;
    if (first >= second + right->extents[i] || second >= first + left->extents[i]) return false;
  }
  return left->element_count > 0 && right->element_count > 0;
}

/* Two different nodes touch the same elements of some buffer, one of them writing. */
static inline bool conflict(const struct gr_pipeline *pipeline, uint32_t a, uint32_t b) {
  const struct gr_node *left = &pipeline->nodes[a], *right = &pipeline->nodes[b];
  for (uint32_t i = 0; a != b && i < left->access_count; i++) {
    for (uint32_t k = 0; k < right->access_count; k++) {
      const struct gr_node_access *first = &pipeline->accesses[left->first_access + i];
      const struct gr_node_access *second = &pipeline->accesses[right->first_access + k];
      if (((first->access | second->access) & GR_ACCESS_WRITE) &&
          share_elements(pipeline, first->reference_index, second->reference_index)) {
        return true;
      }
    }
  }
  return false;
}

/* A graph of few nodes with many accesses of few elements, in up to three dimensions. File order is no topological
 * order unless `is_ascending`. */
static inline struct gr_pipeline *random_pipeline(struct gr_memory *memory, uint64_t seed, bool is_ascending) {
  uint64_t state = seed * 2 + 1;
  struct graph_builder *builder = graph_builder_create(memory);
  uint32_t node_count = 2 + graph_random_below(&state, 9), buffer_count = 1 + graph_random_below(&state, 2);
  uint64_t shapes[2][3];
  uint32_t ranks[2], place[SMALL_MAX];
  char name[16];
  for (uint32_t i = 0; i < buffer_count; i++) {
    ranks[i] = graph_random_below(&state, 4);
    for (uint32_t k = 0; k < ranks[i]; k++) shapes[i][k] = 1 + graph_random_below(&state, 5);
    snprintf(name, sizeof name, "b%u", i);
    graph_builder_buffer(builder, name, ranks[i], shapes[i]);
    if (graph_random_below(&state, 2)) graph_builder_init(builder, i);
  }
  for (uint32_t i = 0; i < node_count; i++) {
    snprintf(name, sizeof name, "n%u", i);
    graph_builder_node(builder, name);
    uint32_t other = graph_random_below(&state, i + 1);
    place[i] = i;
    if (is_ascending) continue;
    place[i] = place[other];
    place[other] = i;
  }
  uint32_t density = 1 + graph_random_below(&state, 5);
  for (uint32_t i = 0; i < node_count; i++) {
    for (uint32_t k = i + 1; k < node_count; k++) {
      if (graph_random_below(&state, 6) < density) graph_builder_edge(builder, place[i], place[k]);
    }
    uint32_t access_count = graph_random_below(&state, 3);
    for (uint32_t k = 0; k < access_count; k++) {
      uint64_t starts[3] = {0}, extents[3] = {0};
      uint32_t buffer = graph_random_below(&state, buffer_count);
      for (uint32_t d = 0; d < ranks[buffer]; d++) {
        starts[d] = graph_random_below(&state, (uint32_t)shapes[buffer][d]);
        extents[d] = graph_random_below(&state, (uint32_t)(shapes[buffer][d] - starts[d]) + 1);
      }
      bool is_whole = graph_random_below(&state, 4) == 0;
      graph_builder_access(builder, i, (enum gr_access)(1 + graph_random_below(&state, 3)), buffer,
                           is_whole ? NULL : starts, extents);
    }
  }
  return graph_builder_finish(builder);
}

struct outcome {
  enum gr_status status;
  struct gr_dag *dag;
  struct gr_diagnostics diagnostics;
};

static inline struct outcome build_dag(struct gr_memory *memory, const struct gr_pipeline *pipeline) {
  struct outcome outcome = {0};
  ck_assert(gr_diagnostics_init(&outcome.diagnostics, memory, "graph.yaml"));
  outcome.status = gr_dag_build(memory, pipeline, &outcome.diagnostics, &outcome.dag);
  return outcome;
}

static inline void drop(struct outcome *outcome) {
  gr_dag_destroy(outcome->dag);
  gr_diagnostics_release(&outcome->diagnostics);
}

#endif
