#include <string.h>

#include "engine/dag/dag_internal.h"

/* A binary heap of node indexes: the smallest is the first in the file. */
struct heap {
  uint32_t *items;
  uint32_t count;
};

static void heap_push(struct heap *heap, uint32_t node) {
  uint32_t at = heap->count++;
  while (at > 0 && heap->items[(at - 1) / 2] > node) {
    heap->items[at] = heap->items[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap->items[at] = node;
}

static uint32_t heap_pop(struct heap *heap) {
  uint32_t top = heap->items[0];
  uint32_t last = heap->items[--heap->count];
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= heap->count) break;
    if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child]) child++;
    if (heap->items[child] >= last) break;
    heap->items[at] = heap->items[child];
    at = child;
  }
  heap->items[at] = last;
  return top;
}

static bool file_order_serves(const struct gr_dag *dag) {
  for (uint32_t i = 0; i < dag->node_count; i++) {
    uint64_t end = dag->predecessor_begin[i + 1];
    /* predecessors ascend, so the last is the largest */
    if (end > dag->predecessor_begin[i] && dag->predecessors[end - 1] >= i) return false;
  }
  return true;
}

/* Kahn's algorithm; the heap makes it take the first of the ready nodes in file order. */
static bool sort_nodes(const struct gr_dag *dag, uint32_t *order, uint32_t *ordered_count) {
  struct gr_memory *memory = dag->arena.memory;
  uint32_t *open_count = gr_memory_allocate(memory, (size_t)dag->node_count * sizeof *open_count);
  struct heap heap = {gr_memory_allocate(memory, (size_t)dag->node_count * sizeof *heap.items), 0};
  bool done = open_count && heap.items;
  uint32_t count = 0;
  for (uint32_t i = 0; done && i < dag->node_count; i++) {
    open_count[i] = (uint32_t)(dag->predecessor_begin[i + 1] - dag->predecessor_begin[i]);
    if (open_count[i] == 0) heap_push(&heap, i);
  }
  while (heap.count > 0) {
    uint32_t node = heap_pop(&heap);
    order[count++] = node;
    for (uint64_t k = dag->successor_begin[node]; k < dag->successor_begin[node + 1]; k++) {
      if (--open_count[dag->successors[k]] == 0) heap_push(&heap, dag->successors[k]);
    }
  }
  *ordered_count = count;
  gr_memory_release(memory, open_count);
  gr_memory_release(memory, heap.items);
  return done;
}

static uint32_t fill_levels(const struct gr_dag *dag, const uint32_t *order, uint32_t *level) {
  uint32_t count = 0;
  memset(level, 0, (size_t)dag->node_count * sizeof *level);
  for (uint32_t i = 0; i < dag->node_count; i++) {
    uint32_t node = order[i];
    if (level[node] + 1 > count) count = level[node] + 1;
    for (uint64_t k = dag->successor_begin[node]; k < dag->successor_begin[node + 1]; k++) {
      uint32_t to = dag->successors[k];
      if (level[to] < level[node] + 1) level[to] = level[node] + 1;
    }
  }
  return count;
}

bool gr_dag_fill_order(struct gr_dag *dag, uint32_t *ordered_count) {
  uint32_t *order = gr_arena_allocate(&dag->arena, dag->node_count, sizeof *order);
  uint32_t *level = gr_arena_allocate(&dag->arena, dag->node_count, sizeof *level);
  if (!order || !level) return false;
  dag->order = order;
  dag->level = level;
  if (file_order_serves(dag)) {
    for (uint32_t i = 0; i < dag->node_count; i++) order[i] = i;
    *ordered_count = dag->node_count;
  } else if (!sort_nodes(dag, order, ordered_count)) {
    return false;
  }
  if (*ordered_count == dag->node_count) dag->level_count = fill_levels(dag, order, level);
  return true;
}
