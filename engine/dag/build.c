#include <inttypes.h>
#include <string.h>

#include "engine/dag/dag_internal.h"

/* Where each node's edges begin: counts at [node + 1] become sums. */
static void sum_up(uint64_t *begin, uint32_t node_count) {
  for (uint32_t i = 0; i < node_count; i++) begin[i + 1] += begin[i];
}

/* By the first node of each pair, in the order of the pairs. `begin` has node_count + 2 places: while the edges are
 * placed, begin[node + 1] is where the node's next one goes. */
struct grouped {
  uint64_t *begin;
  uint32_t *other;
};

static bool group_by_from(struct gr_memory *memory, uint32_t node_count, const struct gr_dag_edges *edges,
                          struct grouped *grouped) {
  grouped->begin = gr_memory_allocate_zeroed(memory, (size_t)node_count + 2, sizeof *grouped->begin);
  grouped->other = gr_memory_allocate_zeroed(memory, edges->count, sizeof *grouped->other);
  if (!grouped->begin || !grouped->other) return false;
  for (size_t i = 0; i < edges->count; i++) {
    if (edges->items[i].from != edges->items[i].to) grouped->begin[edges->items[i].from + 2]++;
  }
  sum_up(grouped->begin + 1, node_count);
  for (size_t i = 0; i < edges->count; i++) {
    const struct gr_dag_edge *edge = &edges->items[i];
    if (edge->from != edge->to) grouped->other[grouped->begin[edge->from + 1]++] = edge->to;
  }
  return true;
}

/* Predecessors in ascending order, since edges are looked at by ascending `from`; repeated ones side by side, so that
 * only the first counts. Fills `begin` (counts first) or, once `lists` is there, the lists. */
static void fill_predecessors(uint32_t node_count, const struct grouped *grouped, uint32_t *last_from, uint64_t *begin,
                              uint32_t *lists) {
  memset(last_from, 0xff, (size_t)node_count * sizeof *last_from);
  for (uint32_t from = 0; from < node_count; from++) {
    for (uint64_t k = grouped->begin[from]; k < grouped->begin[from + 1]; k++) {
      uint32_t to = grouped->other[k];
      if (last_from[to] == from) continue;
      last_from[to] = from;
      if (lists) lists[begin[to + 1]] = from;
      begin[to + (lists ? 1 : 2)]++;
    }
  }
}

static void fill_successors(const struct gr_dag *dag, uint64_t *begin, uint32_t *lists) {
  for (uint64_t k = 0; k < dag->edge_count; k++) begin[dag->predecessors[k] + 2]++;
  sum_up(begin + 1, dag->node_count);
  for (uint32_t to = 0; to < dag->node_count; to++) {
    for (uint64_t k = dag->predecessor_begin[to]; k < dag->predecessor_begin[to + 1]; k++) {
      lists[begin[dag->predecessors[k] + 1]++] = to;
    }
  }
}

/* Both directions, each list ascending, nothing twice, no self edges: counting sorts only. */
static bool fill_edges(struct gr_dag *dag, const struct gr_dag_edges *edges) {
  struct gr_memory *memory = dag->arena.memory;
  uint32_t node_count = dag->node_count;
  struct grouped grouped = {0};
  uint32_t *last_from = gr_memory_allocate_zeroed(memory, node_count, sizeof *last_from);
  uint64_t *before = gr_arena_allocate_zeroed(&dag->arena, (size_t)node_count + 2, sizeof *before);
  uint64_t *behind = gr_arena_allocate_zeroed(&dag->arena, (size_t)node_count + 2, sizeof *behind);
  bool done = last_from && before && behind && group_by_from(memory, node_count, edges, &grouped);
  if (done) {
    fill_predecessors(node_count, &grouped, last_from, before, NULL);
    sum_up(before + 1, node_count);
    dag->edge_count = before[node_count + 1];
    uint32_t *predecessors = gr_arena_allocate(&dag->arena, dag->edge_count, sizeof *predecessors);
    uint32_t *successors = gr_arena_allocate(&dag->arena, dag->edge_count, sizeof *successors);
    done = predecessors && successors;
    if (done) {
      fill_predecessors(node_count, &grouped, last_from, before, predecessors);
      dag->predecessor_begin = before;
      dag->predecessors = predecessors;
      fill_successors(dag, behind, successors);
      dag->successor_begin = behind;
      dag->successors = successors;
    }
  }
  gr_memory_release(memory, grouped.begin);
  gr_memory_release(memory, grouped.other);
  gr_memory_release(memory, last_from);
  return done;
}

static bool has_self_edge(const struct gr_dag_edges *edges) {
  for (size_t i = 0; i < edges->count; i++) {
    if (edges->items[i].from == edges->items[i].to) return true;
  }
  return false;
}

/* Null without memory. *is_cyclic: only the edges of the result are of use then. */
static struct gr_dag *make_dag(struct gr_memory *memory, uint32_t node_count, const struct gr_dag_edges *edges,
                               bool *is_cyclic) {
  struct gr_dag *dag = gr_memory_allocate_zeroed(memory, 1, sizeof *dag);
  if (!dag) return NULL;
  gr_arena_init(&dag->arena, memory);
  dag->node_count = node_count;
  uint32_t ordered_count;
  if (!fill_edges(dag, edges) || !gr_dag_fill_order(dag, &ordered_count)) {
    gr_dag_destroy(dag);
    return NULL;
  }
  *is_cyclic = ordered_count < node_count || has_self_edge(edges);
  return dag;
}

void gr_dag_destroy(struct gr_dag *dag) {
  if (!dag) return;
  struct gr_memory *memory = dag->arena.memory;
  gr_arena_release(&dag->arena);
  gr_memory_release(memory, dag);
}

static bool add_declared_edges(const struct gr_pipeline *pipeline, struct gr_dag_edges *edges) {
  for (uint32_t i = 0; i < pipeline->node_count; i++) {
    const struct gr_node *node = &pipeline->nodes[i];
    for (uint32_t k = 0; k < node->after_count; k++) {
      if (!gr_dag_edges_add(edges, pipeline->after[node->first_after + k].node_index, i)) return false;
    }
  }
  return true;
}

struct cycle_report {
  const struct gr_pipeline *pipeline;
  struct gr_diagnostics *diagnostics;
};

static bool has_data_edge(const struct gr_pipeline *pipeline, const uint32_t *nodes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (!gr_dag_find_after(pipeline, nodes[i], nodes[(i + 1) % count])) return true;
  }
  return false;
}

static bool report_cycle(void *context, const uint32_t *nodes, uint32_t count) {
  const struct cycle_report *report = context;
  struct gr_text text;
  gr_text_init(&text, report->diagnostics->memory);
  gr_text_append_text(&text, count == 1 ? "a node that comes after itself: " : "nodes in a cycle: ");
  gr_dag_append_cycle(&text, report->pipeline, nodes, count);
  if (has_data_edge(report->pipeline, nodes, count)) {
    gr_text_append_text(&text, "; by \"order: data\" nodes that touch the same bytes keep the order of the file");
  }
  bool done = !text.failed;
  const struct gr_after *closing = gr_dag_find_after(report->pipeline, nodes[count - 1], nodes[0]);
  struct gr_mark mark = closing ? closing->mark : report->pipeline->nodes[nodes[0]].mark;
  if (done) gr_diagnostics_error(report->diagnostics, mark, "%s", text.bytes);
  gr_text_release(&text);
  return done;
}

static bool check(struct gr_dag *dag, const struct gr_pipeline *pipeline, const struct gr_dag_edges *edges,
                  bool is_cyclic, struct gr_diagnostics *diagnostics) {
  if (is_cyclic) {
    struct cycle_report report = {pipeline, diagnostics};
    return gr_dag_visit_cycles(dag, edges, report_cycle, &report);
  }
  /* `order: data` has put all conflicting accesses in order, and given its warnings. */
  if (pipeline->order == GR_ORDER_DATA) return true;
  return gr_dag_check_conflicts(dag, pipeline, diagnostics, &dag->unchecked_pair_count);
}

enum gr_status gr_dag_build(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                            struct gr_diagnostics *diagnostics, struct gr_dag **dag) {
  struct gr_dag_edges edges = {.memory = memory};
  struct gr_dag *made = NULL;
  bool is_cyclic = false;
  bool done = add_declared_edges(pipeline, &edges);
  uint64_t declared_count = edges.count;
  if (done && pipeline->order == GR_ORDER_DATA) done = gr_dag_add_data_edges(pipeline, diagnostics, &edges);
  if (done) {
    made = make_dag(memory, pipeline->node_count, &edges, &is_cyclic);
    done = made && check(made, pipeline, &edges, is_cyclic, diagnostics);
  }
  gr_dag_edges_release(&edges);
  enum gr_status status = done ? gr_diagnostics_status(diagnostics) : GR_ERR_NO_MEMORY;
  if (status == GR_OK) {
    made->declared_edge_count = declared_count;
    *dag = made;
  } else {
    gr_dag_destroy(made);
  }
  return status;
}

enum gr_status gr_dag_check_cycles(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                   struct gr_diagnostics *diagnostics) {
  uint64_t errors_before = diagnostics->error_count;
  struct gr_dag_edges edges = {.memory = memory};
  struct gr_dag *dag = NULL;
  bool is_cyclic = false;
  bool done = add_declared_edges(pipeline, &edges);
  if (done && pipeline->order == GR_ORDER_DATA) done = gr_dag_add_data_edges(pipeline, diagnostics, &edges);
  if (done) {
    dag = make_dag(memory, pipeline->node_count, &edges, &is_cyclic);
    struct cycle_report report = {pipeline, diagnostics};
    done = dag && (!is_cyclic || gr_dag_visit_cycles(dag, &edges, report_cycle, &report));
  }
  gr_dag_edges_release(&edges);
  gr_dag_destroy(dag);
  if (!done || diagnostics->out_of_memory) return GR_ERR_NO_MEMORY;
  return diagnostics->error_count > errors_before ? GR_ERR_INVALID : GR_OK;
}

/* The first cycle is enough. */
static bool tell_cycle(void *context, const uint32_t *nodes, uint32_t count) {
  struct gr_text *text = context;
  gr_dag_append_cycle(text, NULL, nodes, count);
  return false;
}

static enum gr_status refuse_cycle(const struct gr_dag *dag, const struct gr_dag_edges *edges, struct gr_error *error) {
  struct gr_text text;
  gr_text_init(&text, dag->arena.memory);
  (void)gr_dag_visit_cycles(dag, edges, tell_cycle,
                            &text); /* ended by tell_cycle, or by want of memory: no text then */
  enum gr_status status = text.failed || text.length == 0
                              ? gr_error_set(error, GR_ERR_NO_MEMORY, "out of memory while a cycle was looked for")
                              : gr_error_set(error, GR_ERR_INVALID, "the edges form a cycle: %s", text.bytes);
  gr_text_release(&text);
  return status;
}

enum gr_status gr_dag_from_edges(struct gr_memory *memory, uint32_t node_count, const uint32_t *edges,
                                 uint64_t edge_count, struct gr_dag **dag, struct gr_error *error) {
  struct gr_dag_edges pairs = {.memory = memory};
  struct gr_dag *made = NULL;
  bool is_cyclic = false;
  enum gr_status status = GR_OK;
  for (uint64_t i = 0; status == GR_OK && i < edge_count; i++) {
    uint32_t from = edges[2 * i], to = edges[2 * i + 1];
    if (from >= node_count || to >= node_count) {
      status = gr_error_set(error, GR_ERR_INVALID,
                            "edge %" PRIu64 " goes from %" PRIu32 " to %" PRIu32 ", but there are %" PRIu32 " nodes", i,
                            from, to, node_count);
    } else if (!gr_dag_edges_add(&pairs, from, to)) {
      status = gr_error_set(error, GR_ERR_NO_MEMORY, "out of memory for %" PRIu64 " edges", edge_count);
    }
  }
  if (status == GR_OK) {
    made = make_dag(memory, node_count, &pairs, &is_cyclic);
    if (!made)
      status = gr_error_set(error, GR_ERR_NO_MEMORY, "out of memory for a graph of %" PRIu32 " nodes", node_count);
    else if (is_cyclic) status = refuse_cycle(made, &pairs, error);
  }
  gr_dag_edges_release(&pairs);
  if (status != GR_OK) {
    gr_dag_destroy(made);
    return status;
  }
  made->declared_edge_count = made->edge_count;
  *dag = made;
  return GR_OK;
}
