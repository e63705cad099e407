/* Graphs as nodes and edges, and what is instantiated from them. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

enum { GRAPH_MAGIC = 0x64a94, EXEC_MAGIC = 0xe8ec };

struct CUgraphExec_st {
  uint32_t magic;
  bool is_dead;
  int device;
  size_t count;
  struct fake_operation **operations; /* in an order in which edges go forward */
  size_t **before;                    /* indexes of each one's predecessors */
  size_t *before_count;
  bool *has_after;
  struct fake_work *last; /* the end of the latest launch: launches of one exec never overlap */
};

/* All since the last reset, dead ones too. */
static struct fake_list graphs, execs;

struct CUgraph_st *fake_graph_make(void) {
  struct CUgraph_st *graph = fake_allocate(sizeof *graph);
  graph->magic = GRAPH_MAGIC;
  fake_list_add(&graphs, graph);
  fake_state.live.graphs++;
  return graph;
}

struct CUgraphNode_st *fake_graph_add(struct CUgraph_st *graph, struct fake_operation *operation,
                                      const struct fake_list *before) {
  struct CUgraphNode_st *node = fake_allocate(sizeof *node);
  node->graph = graph;
  node->operation = operation;
  node->index = graph->nodes.count;
  fake_list_copy(&node->before, before);
  for (size_t i = 0; i < before->count; i++) {
    struct CUgraphNode_st *other = before->items[i];
    fake_list_add(&other->after, node);
  }
  fake_list_add(&graph->nodes, node);
  return node;
}

uint64_t fake_graph_mark(const struct fake_list *nodes) {
  static uint64_t mark;
  mark++;
  for (size_t i = 0; i < nodes->count; i++) ((struct CUgraphNode_st *)nodes->items[i])->seen = mark;
  return mark;
}

static void clear(struct CUgraph_st *graph) {
  for (size_t i = 0; i < graph->nodes.count; i++) {
    struct CUgraphNode_st *node = graph->nodes.items[i];
    fake_operation_drop(node->operation);
    fake_list_release(&node->before);
    fake_list_release(&node->after);
    free(node);
  }
  fake_list_release(&graph->nodes);
}

void fake_graph_free(struct CUgraph_st *graph) {
  clear(graph);
  graph->is_dead = true;
  fake_state.live.graphs--;
}

bool fake_graph_is_valid(cudaGraph_t graph) {
  if (graph == NULL) return false;
  if (graph->magic == GRAPH_MAGIC && !graph->is_dead) return true;
  fake_complain("A call got a graph that is none, or was destroyed.");
  return false;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_RELEASES)) return call.code;
  if (!fake_graph_is_valid(graph)) return fake_leave(&call, cudaErrorInvalidValue);
  if (graph->capture != NULL) {
    fake_complain("A graph was destroyed while it was being captured.");
    return fake_leave(&call, cudaErrorInvalidValue);
  }
  fake_graph_free(graph);
  return fake_leave(&call, cudaSuccess);
}

/* --- Building and looking --- */

static cudaError_t add_empty(cudaGraphNode_t *made, cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count) {
  if (made == NULL || !fake_graph_is_valid(graph) || (count > 0 && nodes == NULL)) return cudaErrorInvalidValue;
  struct fake_list before = {0};
  cudaError_t code = cudaSuccess;
  uint64_t mark = fake_graph_mark(&before);
  for (size_t i = 0; code == cudaSuccess && i < count; i++) {
    /* Unlike a capture, this takes nothing twice. */
    if (nodes[i] == NULL || nodes[i]->graph != graph || nodes[i]->seen == mark) {
      code = cudaErrorInvalidValue;
    } else {
      nodes[i]->seen = mark;
      fake_list_add(&before, nodes[i]);
    }
  }
  if (code == cudaSuccess) *made = fake_graph_add(graph, fake_operation_make(FAKE_EMPTY), &before);
  fake_list_release(&before);
  return code;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *made, cudaGraph_t graph, const cudaGraphNode_t *nodes,
                                  size_t count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  return fake_leave(&call, add_empty(made, graph, nodes, count));
}

/* Gives the list's entries as CUDA does: only their number where there is no array, else as many as fit and nulls. */
static void give(const struct fake_list *list, cudaGraphNode_t *array, size_t *count) {
  if (array == NULL) {
    *count = list->count;
    return;
  }
  size_t given = *count < list->count ? *count : list->count;
  for (size_t i = 0; i < *count; i++) array[i] = i < given ? list->items[i] : NULL;
  *count = given;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  if (!fake_graph_is_valid(graph) || count == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  give(&graph->nodes, nodes, count);
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                              size_t *count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  if (!fake_graph_is_valid(graph) || count == NULL || (from == NULL) != (to == NULL)) {
    return fake_leave(&call, cudaErrorInvalidValue);
  }
  struct fake_list starts = {0};
  struct fake_list ends = {0};
  for (size_t i = 0; i < graph->nodes.count; i++) {
    struct CUgraphNode_st *node = graph->nodes.items[i];
    for (size_t k = 0; k < node->after.count; k++) {
      fake_list_add(&starts, node);
      fake_list_add(&ends, node->after.items[k]);
    }
  }
  size_t capacity = *count;
  give(&starts, from, count);
  if (to != NULL) give(&ends, to, &capacity);
  if (from != NULL && edges != NULL) memset(edges, 0, *count * sizeof *edges);
  fake_list_release(&starts);
  fake_list_release(&ends);
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                                         size_t *count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  if (node == NULL || count == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  give(&node->before, nodes, count);
  if (nodes != NULL && edges != NULL) memset(edges, 0, *count * sizeof *edges);
  return fake_leave(&call, cudaSuccess);
}

const char *fake_cuda_node_kind(cudaGraphNode_t node) {
  static const char *const names[] = {
      [FAKE_EMPTY] = "empty", [FAKE_KERNEL] = "kernel",       [FAKE_COPY] = "memcpy",     [FAKE_SET] = "memset",
      [FAKE_HOST] = "host",   [FAKE_RECORD] = "event record", [FAKE_WAIT] = "event wait",
  };
  fake_lock();
  const char *name = names[node->operation->kind];
  fake_unlock();
  return name;
}

const char *fake_cuda_node_entry(cudaGraphNode_t node) {
  fake_lock();
  const char *entry = node->operation->entry;
  fake_unlock();
  return entry;
}

bool fake_cuda_node_argument(cudaGraphNode_t node, size_t index, void *value, size_t size_bytes) {
  fake_lock();
  const struct fake_operation *operation = node->operation;
  bool fits = index < operation->argument_count && operation->argument_bytes[index] == size_bytes;
  if (fits) memcpy(value, operation->arguments[index], size_bytes);
  fake_unlock();
  return fits;
}

/* --- Instantiation --- */

static void free_exec(struct CUgraphExec_st *exec) {
  for (size_t i = 0; i < exec->count; i++) {
    fake_operation_drop(exec->operations[i]);
    free(exec->before[i]);
  }
  free(exec->operations);
  free(exec->before);
  free(exec->before_count);
  free(exec->has_after);
  exec->count = 0;
  fake_work_drop(exec->last);
  exec->last = NULL;
}

static cudaError_t check_graph(const struct CUgraph_st *graph) {
  for (size_t i = 0; i < graph->nodes.count; i++) {
    const struct CUgraphNode_st *node = graph->nodes.items[i];
    const struct fake_operation *operation = node->operation;
    if (operation->kind == FAKE_SET && !fake_set_is_valid(operation)) return cudaErrorInvalidValue;
    if (operation->kind != FAKE_KERNEL || operation->kernel->library != NULL) continue;
    fake_complain("A graph with kernel %s is instantiated after the kernel's library was unloaded.", operation->entry);
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

static struct CUgraphExec_st *make_exec(const struct CUgraph_st *graph) {
  struct CUgraphExec_st *exec = fake_allocate(sizeof *exec);
  exec->magic = EXEC_MAGIC;
  exec->device = fake_current_device();
  exec->count = graph->nodes.count;
  exec->operations = fake_allocate(exec->count * sizeof(void *));
  exec->before = fake_allocate(exec->count * sizeof *exec->before);
  exec->before_count = fake_allocate(exec->count * sizeof *exec->before_count);
  exec->has_after = fake_allocate(exec->count * sizeof *exec->has_after);
  for (size_t i = 0; i < exec->count; i++) {
    const struct CUgraphNode_st *node = graph->nodes.items[i];
    exec->operations[i] = fake_operation_hold(node->operation);
    exec->before_count[i] = node->before.count;
    exec->before[i] = fake_allocate(node->before.count * sizeof **exec->before);
    for (size_t k = 0; k < node->before.count; k++) {
      exec->before[i][k] = ((const struct CUgraphNode_st *)node->before.items[k])->index;
    }
    exec->has_after[i] = node->after.count > 0;
  }
  fake_list_add(&execs, exec);
  fake_state.live.execs++;
  return exec;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags) {
  enum { KNOWN_FLAGS = 15 };
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE)) return call.code;
  bool is_good = made != NULL && fake_graph_is_valid(graph) && graph->capture == NULL && flags <= KNOWN_FLAGS;
  cudaError_t code = is_good ? check_graph(graph) : cudaErrorInvalidValue;
  if (code == cudaSuccess) *made = make_exec(graph);
  return fake_leave(&call, code);
}

static bool is_valid_exec(cudaGraphExec_t exec) {
  if (exec == NULL) return false;
  if (exec->magic == EXEC_MAGIC && !exec->is_dead) return true;
  fake_complain("A call got an executable graph that is none, or was destroyed.");
  return false;
}

/* While it runs, this waits. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_IS_UNSAFE | FAKE_RELEASES)) return call.code;
  if (!is_valid_exec(exec)) return fake_leave(&call, cudaErrorInvalidValue);
  if (!fake_work_finish(exec->last, call.function)) return fake_leave(&call, cudaErrorLaunchTimeout);
  free_exec(exec);
  exec->is_dead = true;
  fake_state.live.execs--;
  return fake_leave(&call, cudaSuccess);
}

/* --- Launch --- */

/* What keeps a graph from going into a stream. */
static cudaError_t may_launch(cudaGraphExec_t exec, struct CUstream_st *stream) {
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  if (!is_valid_exec(exec)) return cudaErrorInvalidValue;
  struct fake_capture *capture = fake_capture_of(stream);
  if (capture != NULL) {
    fake_capture_invalidate(capture);
    return cudaErrorStreamCaptureUnsupported;
  }
  return fake_may_issue(stream);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, may_launch(exec, fake_stream_of(stream)));
}

/* The work of node `i`, behind that of its predecessors or the start. */
static struct fake_work *add_node(const struct CUgraphExec_st *exec, size_t i, struct fake_work *const *nodes,
                                  struct fake_work *start) {
  struct fake_operation *operation = exec->operations[i];
  struct fake_list before = {0};
  for (size_t k = 0; k < exec->before_count[i]; k++) fake_list_add(&before, nodes[exec->before[i][k]]);
  if (before.count == 0) fake_list_add(&before, start);
  if (operation->kind == FAKE_WAIT) fake_list_add(&before, operation->event->work);
  struct fake_work *work = fake_work_add(fake_operation_at_launch(operation), exec->device,
                                         (struct fake_work *const *)before.items, before.count);
  if (operation->kind == FAKE_RECORD) fake_event_set_work(operation->event, work);
  fake_list_release(&before);
  return work;
}

static void launch(struct CUgraphExec_st *exec, struct CUstream_st *stream) {
  struct fake_list before = {0};
  fake_stream_before(stream, &before);
  fake_list_add(&before, exec->last);
  struct fake_work *start = fake_work_add(fake_operation_make(FAKE_EMPTY), exec->device,
                                          (struct fake_work *const *)before.items, before.count);
  struct fake_work **nodes = fake_allocate(exec->count * sizeof(void *));
  before.count = 0;
  fake_list_add(&before, start);
  for (size_t i = 0; i < exec->count; i++) {
    nodes[i] = add_node(exec, i, nodes, start);
    if (!exec->has_after[i]) fake_list_add(&before, nodes[i]);
  }
  struct fake_work *end = fake_work_add(fake_operation_make(FAKE_EMPTY), exec->device,
                                        (struct fake_work *const *)before.items, before.count);
  fake_stream_set_tail(stream, end);
  fake_work_drop(exec->last);
  exec->last = end;
  for (size_t i = 0; i < exec->count; i++) fake_work_drop(nodes[i]);
  fake_work_drop(start);
  free(nodes);
  fake_list_release(&before);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct CUstream_st *stream = fake_stream_of(handle);
  cudaError_t code = may_launch(exec, stream);
  if (code != cudaSuccess) return fake_leave(&call, code);
  launch(exec, stream);
  fake_work_drift();
  return fake_leave(&call, cudaSuccess);
}

void fake_graphs_reset(void) {
  for (size_t i = 0; i < graphs.count; i++) {
    clear(graphs.items[i]);
    free(graphs.items[i]);
  }
  fake_list_release(&graphs);
  for (size_t i = 0; i < execs.count; i++) {
    struct CUgraphExec_st *exec = execs.items[i];
    if (!exec->is_dead) free_exec(exec);
    free(exec);
  }
  fake_list_release(&execs);
}
