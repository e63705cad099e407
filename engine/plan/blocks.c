#include <string.h>

#include "engine/plan/plan_internal.h"

/* Reduction by bit sets, for graphs with many edges that could be redundant. The nodes that such edges leave, the
 * sources, are taken in blocks of as many as one row has bits; for each block one pass over the steps behind it, up to
 * the last that such an edge enters, says which steps have which sources among their ancestors. An edge u -> v is
 * redundant when u is an ancestor of another predecessor of v. What that costs is known beforehand; rows take 64 bytes
 * a node, however large the graph. */
enum { ROW_WORDS = 8, ROW_BITS = ROW_WORDS * 64 };

struct row {
  uint64_t words[ROW_WORDS];
};

struct source {
  uint32_t position;
  uint32_t last_target; /* position */
};

struct blocks {
  const struct gr_dag *dag;
  uint8_t *is_redundant;
  uint32_t *node_at;   /* [position], by level */
  uint32_t *position;  /* [node] */
  uint32_t *source_of; /* [position], index into sources or GR_PLAN_NONE */
  struct source *sources;
  uint32_t source_count;
  uint64_t *edges_before; /* [position + 1] */
  struct row *rows;       /* [position], proper ancestors in the block */
};

static bool sort_by_level(struct gr_memory *memory, struct blocks *blocks) {
  const struct gr_dag *dag = blocks->dag;
  uint32_t *next = gr_memory_allocate_zeroed(memory, (size_t)dag->level_count + 1, sizeof *next);
  if (!next) return false;
  for (uint32_t node = 0; node < dag->node_count; node++) next[dag->level[node] + 1]++;
  for (uint32_t level = 0; level < dag->level_count; level++) next[level + 1] += next[level];
  for (uint32_t node = 0; node < dag->node_count; node++) {
    blocks->position[node] = next[dag->level[node]]++;
    blocks->node_at[blocks->position[node]] = node;
  }
  gr_memory_release(memory, next);
  return true;
}

static void find_sources(struct blocks *blocks) {
  const struct gr_dag *dag = blocks->dag;
  for (uint32_t at = 0; at < dag->node_count; at++) {
    uint32_t node = blocks->node_at[at];
    struct source source = {.position = at, .last_target = 0};
    for (uint64_t k = dag->successor_begin[node]; k < dag->successor_begin[node + 1]; k++) {
      uint32_t target = blocks->position[dag->successors[k]];
      if (target > source.last_target && gr_plan_may_be_redundant(dag, node, dag->successors[k])) {
        source.last_target = target;
      }
    }
    blocks->edges_before[at + 1] =
        blocks->edges_before[at] + dag->predecessor_begin[node + 1] - dag->predecessor_begin[node];
    blocks->source_of[at] = source.last_target > 0 ? blocks->source_count : GR_PLAN_NONE;
    if (source.last_target > 0) blocks->sources[blocks->source_count++] = source;
  }
}

/* The last position that a block has to look at. */
static uint32_t window_end(const struct blocks *blocks, uint32_t first, uint32_t end) {
  uint32_t last = 0;
  for (uint32_t i = first; i < end; i++) {
    if (blocks->sources[i].last_target > last) last = blocks->sources[i].last_target;
  }
  return last;
}

static uint32_t block_end(const struct blocks *blocks, uint32_t first) {
  return blocks->source_count - first < ROW_BITS ? blocks->source_count : first + ROW_BITS;
}

static uint64_t cost(const struct blocks *blocks) {
  uint64_t total = 0;
  for (uint32_t first = 0, end; first < blocks->source_count; first = end) {
    end = block_end(blocks, first);
    uint32_t start = blocks->sources[first].position, last = window_end(blocks, first, end);
    total += last - start + blocks->edges_before[last + 1] - blocks->edges_before[start];
  }
  return total;
}

/* The row of one position, and the edges into it that turn out redundant. */
static void look_at(struct blocks *blocks, uint32_t at, uint32_t first, uint32_t end) {
  const struct gr_dag *dag = blocks->dag;
  uint32_t node = blocks->node_at[at], start = blocks->sources[first].position;
  struct row behind = {{0}}, direct = {{0}};
  for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
    uint32_t from = blocks->position[dag->predecessors[k]];
    if (from < start) continue;
    for (uint32_t i = 0; i < ROW_WORDS; i++) behind.words[i] |= blocks->rows[from].words[i];
    uint32_t source = blocks->source_of[from];
    if (source >= first && source < end) direct.words[(source - first) / 64] |= UINT64_C(1) << (source - first) % 64;
  }
  uint64_t both = 0;
  for (uint32_t i = 0; i < ROW_WORDS; i++) {
    both |= behind.words[i] & direct.words[i];
    blocks->rows[at].words[i] = behind.words[i] | direct.words[i];
  }
  for (uint64_t k = dag->predecessor_begin[node]; both && k < dag->predecessor_begin[node + 1]; k++) {
    uint32_t source = blocks->source_of[blocks->position[dag->predecessors[k]]];
    if (source < first || source >= end) continue;
    if (behind.words[(source - first) / 64] >> (source - first) % 64 & 1) blocks->is_redundant[k] = 1;
  }
}

static void look_at_all(struct blocks *blocks) {
  for (uint32_t first = 0, end; first < blocks->source_count; first = end) {
    end = block_end(blocks, first);
    uint32_t start = blocks->sources[first].position, last = window_end(blocks, first, end);
    for (uint32_t at = start; at <= last; at++) look_at(blocks, at, first, end);
  }
}

static bool allocate(struct gr_memory *memory, struct blocks *blocks) {
  size_t count = blocks->dag->node_count;
  blocks->node_at = gr_memory_allocate_zeroed(memory, count, sizeof *blocks->node_at);
  blocks->position = gr_memory_allocate_zeroed(memory, count, sizeof *blocks->position);
  blocks->source_of = gr_memory_allocate_zeroed(memory, count, sizeof *blocks->source_of);
  blocks->sources = gr_memory_allocate_zeroed(memory, count, sizeof *blocks->sources);
  blocks->edges_before = gr_memory_allocate_zeroed(memory, count + 1, sizeof *blocks->edges_before);
  return blocks->node_at && blocks->position && blocks->source_of && blocks->sources && blocks->edges_before;
}

bool gr_plan_reduce_by_blocks(struct gr_memory *memory, const struct gr_dag *dag, uint64_t budget,
                              uint8_t *is_redundant, bool *is_affordable) {
  struct blocks blocks = {.dag = dag, .is_redundant = is_redundant};
  bool done = allocate(memory, &blocks) && sort_by_level(memory, &blocks);
  if (done) {
    find_sources(&blocks);
    *is_affordable = cost(&blocks) <= budget;
    if (*is_affordable) {
      blocks.rows = gr_memory_allocate_zeroed(memory, dag->node_count, sizeof *blocks.rows);
      done = blocks.rows != NULL;
      if (done) look_at_all(&blocks);
    }
  }
  gr_memory_release(memory, blocks.node_at);
  gr_memory_release(memory, blocks.position);
  gr_memory_release(memory, blocks.source_of);
  gr_memory_release(memory, blocks.sources);
  gr_memory_release(memory, blocks.edges_before);
  gr_memory_release(memory, blocks.rows);
  return done;
}
