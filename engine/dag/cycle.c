#include "engine/dag/dag_internal.h"

enum { SHOWN_FIRST = 20, SHOWN_LAST = 5 };

/* Tarjan's algorithm with its own stacks, since paths are as long as the user likes. */
struct search {
  const struct gr_dag *dag;
  uint32_t *number;    /* when the node was met, from 1; 0: not yet */
  uint32_t *low;       /* the earliest that it reaches on the stack; then, its component */
  uint32_t *stack;     /* nodes without a component yet */
  uint32_t *path;      /* the nodes between the root and here */
  uint64_t *next_edge; /* of each node on the path */
  uint32_t *size;      /* of each component */
  bool *is_placed;     /* has its component */
  uint32_t stack_count, path_count, met_count, component_count;
};

static void enter(struct search *search, uint32_t node) {
  search->number[node] = search->low[node] = ++search->met_count;
  search->stack[search->stack_count++] = node;
  search->path[search->path_count++] = node;
  search->next_edge[node] = search->dag->successor_begin[node];
}

static void leave(struct search *search, uint32_t node) {
  search->path_count--;
  if (search->path_count > 0) {
    uint32_t parent = search->path[search->path_count - 1];
    if (search->low[node] < search->low[parent]) search->low[parent] = search->low[node];
  }
  if (search->low[node] != search->number[node]) return;
  uint32_t component = search->component_count++, member;
  search->size[component] = 0;
  do {
    member = search->stack[--search->stack_count];
    search->is_placed[member] = true;
    search->low[member] = component;
    search->size[component]++;
  } while (member != node);
}

static void find_components(struct search *search) {
  const struct gr_dag *dag = search->dag;
  for (uint32_t root = 0; root < dag->node_count; root++) {
    if (search->number[root] != 0) continue;
    enter(search, root);
    while (search->path_count > 0) {
      uint32_t node = search->path[search->path_count - 1];
      if (search->next_edge[node] == dag->successor_begin[node + 1]) {
        leave(search, node);
        continue;
      }
      uint32_t to = dag->successors[search->next_edge[node]++];
      if (search->number[to] == 0) enter(search, to);
      else if (!search->is_placed[to] && search->number[to] < search->low[node]) search->low[node] = search->number[to];
    }
  }
}

/* Breadth first from `first` inside its component until an edge leads back: the shortest cycle through it. Reuses
 * arrays of the search that are free by now: `stack` as the queue, `number` as the parents, `path` for the result. */
static uint32_t find_cycle(struct search *search, uint32_t first) {
  const struct gr_dag *dag = search->dag;
  uint32_t head = 0, tail = 0, component = search->low[first];
  search->stack[tail++] = first;
  search->is_placed[first] = false;
  for (;;) {
    uint32_t node = search->stack[head++];
    for (uint64_t k = dag->successor_begin[node]; k < dag->successor_begin[node + 1]; k++) {
      uint32_t to = dag->successors[k];
      if (to == first) {
        uint32_t count = 1;
        for (uint32_t at = node; at != first; at = search->number[at]) count++;
        for (uint32_t i = count, at = node; i-- > 0; at = search->number[at]) search->path[i] = at;
        return count;
      }
      if (search->low[to] != component || !search->is_placed[to]) continue;
      search->is_placed[to] = false;
      search->number[to] = node;
      search->stack[tail++] = to;
    }
  }
}

static bool allocate(struct search *search) {
  struct gr_memory *memory = search->dag->arena.memory;
  size_t count = search->dag->node_count;
  search->number = gr_memory_allocate_zeroed(memory, count, sizeof *search->number);
  search->low = gr_memory_allocate_zeroed(memory, count, sizeof *search->low);
  search->stack = gr_memory_allocate_zeroed(memory, count, sizeof *search->stack);
  search->path = gr_memory_allocate_zeroed(memory, count, sizeof *search->path);
  search->next_edge = gr_memory_allocate_zeroed(memory, count, sizeof *search->next_edge);
  search->size = gr_memory_allocate_zeroed(memory, count, sizeof *search->size);
  search->is_placed = gr_memory_allocate_zeroed(memory, count, sizeof *search->is_placed);
  return search->number && search->low && search->stack && search->path && search->next_edge && search->size &&
         search->is_placed;
}

static void release(struct search *search) {
  struct gr_memory *memory = search->dag->arena.memory;
  gr_memory_release(memory, search->number);
  gr_memory_release(memory, search->low);
  gr_memory_release(memory, search->stack);
  gr_memory_release(memory, search->path);
  gr_memory_release(memory, search->next_edge);
  gr_memory_release(memory, search->size);
  gr_memory_release(memory, search->is_placed);
}

bool gr_dag_visit_cycles(const struct gr_dag *dag, const struct gr_dag_edges *edges, gr_dag_cycle_visitor *visit,
                         void *context) {
  struct search search = {.dag = dag};
  bool *has_self_edge = gr_memory_allocate_zeroed(dag->arena.memory, dag->node_count, sizeof *has_self_edge);
  bool going = allocate(&search) && has_self_edge;
  if (going) find_components(&search);
  for (size_t i = 0; going && i < edges->count; i++) {
    if (edges->items[i].from == edges->items[i].to) has_self_edge[edges->items[i].to] = true;
  }
  for (uint32_t node = 0; going && node < dag->node_count; node++) {
    uint32_t *size = &search.size[search.low[node]];
    if (has_self_edge[node]) going = visit(context, &node, 1);
    if (!going || *size < 2) continue;
    *size = 0; /* the component's first node speaks for it */
    uint32_t count = find_cycle(&search, node);
    going = visit(context, search.path, count);
  }
  gr_memory_release(dag->arena.memory, has_self_edge);
  release(&search);
  return going;
}

static void append_node(struct gr_text *text, const struct gr_pipeline *pipeline, uint32_t node, bool with_line) {
  if (!pipeline) gr_text_append_format(text, "%u", node);
  else if (!with_line) gr_text_append_text(text, pipeline->nodes[node].name);
  else gr_text_append_format(text, "%s (line %u)", pipeline->nodes[node].name, pipeline->nodes[node].mark.line);
}

const struct gr_after *gr_dag_find_after(const struct gr_pipeline *pipeline, uint32_t from, uint32_t to) {
  const struct gr_node *node = &pipeline->nodes[to];
  for (uint32_t i = 0; i < node->after_count; i++) {
    const struct gr_after *after = &pipeline->after[node->first_after + i];
    if (after->node_index == from) return after;
  }
  return NULL;
}

/* The first buffer of which both nodes touch the same elements, one of them writing; null: none. */
static const char *find_shared_buffer(const struct gr_pipeline *pipeline, uint32_t from, uint32_t to) {
  const struct gr_node *left = &pipeline->nodes[from], *right = &pipeline->nodes[to];
  for (uint32_t i = 0; i < left->access_count; i++) {
    const struct gr_node_access *first = &pipeline->accesses[left->first_access + i];
    for (uint32_t k = 0; k < right->access_count; k++) {
      const struct gr_node_access *second = &pipeline->accesses[right->first_access + k];
      const struct gr_reference *reference = &pipeline->references[first->reference_index];
      if (((first->access | second->access) & GR_ACCESS_WRITE) != 0 &&
          gr_reference_overlaps(reference, &pipeline->references[second->reference_index])) {
        return pipeline->buffers[reference->buffer_index].name;
      }
    }
  }
  return NULL;
}

static void append_edge(struct gr_text *text, const struct gr_pipeline *pipeline, uint32_t from, uint32_t to) {
  const char *buffer = NULL;
  if (pipeline && !gr_dag_find_after(pipeline, from, to)) buffer = find_shared_buffer(pipeline, from, to);
  if (buffer) gr_text_append_format(text, " -[data: %s]-> ", buffer);
  else gr_text_append_text(text, " -> ");
}

void gr_dag_append_cycle(struct gr_text *text, const struct gr_pipeline *pipeline, const uint32_t *nodes,
                         uint32_t count) {
  bool is_cut = count > SHOWN_FIRST + SHOWN_LAST + 1;
  for (uint32_t i = 0; i < count; i++) {
    if (is_cut && i == SHOWN_FIRST) {
      uint32_t left_out = count - SHOWN_FIRST - SHOWN_LAST;
      gr_text_append_format(text, "... %u more ... -> ", left_out);
      i += left_out;
    }
    append_node(text, pipeline, nodes[i], true);
    append_edge(text, pipeline, nodes[i], nodes[i + 1 < count ? i + 1 : 0]);
  }
  append_node(text, pipeline, nodes[0], false);
}
