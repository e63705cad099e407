#include <string.h>

#include "engine/dag/dag_internal.h"

/* Two depth-first walks, one with successors ascending and one descending, give each node the labels below. Both cuts
 * hold for either walk:
 *   yes: `to` lies below `from` in the walk's tree, since tree paths are paths;
 *   no: what a node reaches has post numbers in [low, post] of the node, so labels that do not nest exclude a path.
 * Two walks in opposite orders fail on different pairs. What is left open is searched from both ends at once, pruned by
 * the same cuts, so that a node with very many successors costs no more than the other side does. */
enum { WALK_COUNT = 2 };

struct label {
  uint32_t level;
  uint32_t pre[WALK_COUNT], post[WALK_COUNT], low[WALK_COUNT];
};

enum { FORWARD, BACKWARD, SIDE_COUNT };

struct side {
  const uint64_t *begin;
  const uint32_t *neighbours;
  uint32_t *queue;
  uint32_t *mark; /* the question in which the node was met from this side */
  uint32_t head, tail;
  uint64_t walked;
};

struct gr_reach {
  struct gr_memory *memory;
  const struct gr_dag *dag;
  struct label *labels;
  struct side sides[SIDE_COUNT];
  uint32_t question;
  uint64_t budget;
};

struct walk {
  uint32_t *path;
  uint64_t *next_edge; /* how many successors of a node on the path have been seen */
  uint32_t path_count;
  uint32_t pre_count, post_count;
};

static void walk_enter(struct gr_reach *reach, struct walk *walk, uint32_t which, uint32_t node) {
  reach->labels[node].pre[which] = ++walk->pre_count;
  reach->labels[node].low[which] = UINT32_MAX;
  walk->next_edge[node] = 0;
  walk->path[walk->path_count++] = node;
}

static void take_low(struct gr_reach *reach, uint32_t which, uint32_t into, uint32_t from) {
  uint32_t low = reach->labels[from].low[which];
  if (low < reach->labels[into].low[which]) reach->labels[into].low[which] = low;
}

static void walk_leave(struct gr_reach *reach, struct walk *walk, uint32_t which, uint32_t node) {
  struct label *label = &reach->labels[node];
  label->post[which] = ++walk->post_count;
  if (label->post[which] < label->low[which]) label->low[which] = label->post[which];
  walk->path_count--;
  if (walk->path_count > 0) take_low(reach, which, walk->path[walk->path_count - 1], node);
}

static void walk_from(struct gr_reach *reach, struct walk *walk, uint32_t which, uint32_t root) {
  const struct gr_dag *dag = reach->dag;
  walk_enter(reach, walk, which, root);
  while (walk->path_count > 0) {
    uint32_t node = walk->path[walk->path_count - 1];
    uint64_t degree = dag->successor_begin[node + 1] - dag->successor_begin[node];
    if (walk->next_edge[node] == degree) {
      walk_leave(reach, walk, which, node);
      continue;
    }
    uint64_t k = walk->next_edge[node]++;
    uint32_t to = dag->successors[dag->successor_begin[node] + (which == 0 ? k : degree - 1 - k)];
    if (reach->labels[to].pre[which] == 0) walk_enter(reach, walk, which, to);
    else take_low(reach, which, node, to); /* finished: there is no cycle */
  }
}

static bool fill_labels(struct gr_reach *reach) {
  uint32_t count = reach->dag->node_count;
  struct walk walk = {.path = gr_memory_allocate(reach->memory, (size_t)count * sizeof *walk.path),
                      .next_edge = gr_memory_allocate(reach->memory, (size_t)count * sizeof *walk.next_edge)};
  bool done = walk.path && walk.next_edge;
  for (uint32_t i = 0; done && i < count; i++) reach->labels[i].level = reach->dag->level[i];
  for (uint32_t which = 0; done && which < WALK_COUNT; which++) {
    walk.pre_count = walk.post_count = 0;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t node = which == 0 ? i : count - 1 - i;
      if (reach->dag->level[node] == 0) walk_from(reach, &walk, which, node);
    }
  }
  gr_memory_release(reach->memory, walk.path);
  gr_memory_release(reach->memory, walk.next_edge);
  return done;
}

struct gr_reach *gr_reach_create(struct gr_memory *memory, const struct gr_dag *dag, uint64_t budget) {
  struct gr_reach *reach = gr_memory_allocate_zeroed(memory, 1, sizeof *reach);
  if (!reach) return NULL;
  reach->memory = memory;
  reach->dag = dag;
  reach->budget = budget;
  reach->labels = gr_memory_allocate_zeroed(memory, dag->node_count, sizeof *reach->labels);
  if (!reach->labels) goto fail;
  for (uint32_t i = 0; i < SIDE_COUNT; i++) {
    struct side *side = &reach->sides[i];
    side->begin = i == FORWARD ? dag->successor_begin : dag->predecessor_begin;
    side->neighbours = i == FORWARD ? dag->successors : dag->predecessors;
    side->queue = gr_memory_allocate_zeroed(memory, dag->node_count, sizeof *side->queue);
    side->mark = gr_memory_allocate_zeroed(memory, dag->node_count, sizeof *side->mark);
    if (!side->queue || !side->mark) goto fail;
  }
  if (!fill_labels(reach)) goto fail;
  return reach;
fail:
  gr_reach_destroy(reach);
  return NULL;
}

void gr_reach_destroy(struct gr_reach *reach) {
  if (!reach) return;
  for (uint32_t i = 0; i < SIDE_COUNT; i++) {
    gr_memory_release(reach->memory, reach->sides[i].queue);
    gr_memory_release(reach->memory, reach->sides[i].mark);
  }
  gr_memory_release(reach->memory, reach->labels);
  gr_memory_release(reach->memory, reach);
}

/* What the labels alone say. */
static enum gr_reach_answer judge(const struct label *from, const struct label *to) {
  if (from->level >= to->level) return GR_REACH_NO;
  for (uint32_t i = 0; i < WALK_COUNT; i++) {
    if (to->post[i] > from->post[i] || to->low[i] < from->low[i]) return GR_REACH_NO;
  }
  for (uint32_t i = 0; i < WALK_COUNT; i++) {
    if (to->pre[i] >= from->pre[i] && to->post[i] <= from->post[i]) return GR_REACH_YES;
  }
  return GR_REACH_UNKNOWN;
}

bool gr_dag_is_listed(const uint32_t *ascending, uint64_t count, uint32_t value) {
  uint64_t low = 0, high = count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low < count && ascending[low] == value;
}

bool gr_dag_has_edge(const struct gr_dag *dag, uint32_t from, uint32_t to) {
  uint64_t out = dag->successor_begin[from + 1] - dag->successor_begin[from];
  uint64_t in = dag->predecessor_begin[to + 1] - dag->predecessor_begin[to];
  if (out < in) return gr_dag_is_listed(dag->successors + dag->successor_begin[from], out, to);
  return gr_dag_is_listed(dag->predecessors + dag->predecessor_begin[to], in, from);
}

static void start_side(struct gr_reach *reach, uint32_t which, uint32_t node) {
  struct side *side = &reach->sides[which];
  side->queue[0] = node;
  side->mark[node] = reach->question;
  side->head = 0;
  side->tail = 1;
  side->walked = 0;
}

/* Looks at the neighbours of one node. YES when that joins the two sides, UNKNOWN when the search has to go on. */
static enum gr_reach_answer expand(struct gr_reach *reach, uint32_t which, uint32_t goal) {
  struct side *side = &reach->sides[which], *other = &reach->sides[1 - which];
  uint32_t node = side->queue[side->head++];
  for (uint64_t k = side->begin[node]; k < side->begin[node + 1]; k++) {
    uint32_t next = side->neighbours[k];
    if (reach->budget > 0) reach->budget--;
    side->walked++;
    if (other->mark[next] == reach->question) return GR_REACH_YES;
    if (side->mark[next] == reach->question) continue;
    side->mark[next] = reach->question;
    const struct label *here = &reach->labels[next], *there = &reach->labels[goal];
    enum gr_reach_answer answer = which == FORWARD ? judge(here, there) : judge(there, here);
    if (answer == GR_REACH_YES) return GR_REACH_YES;
    if (answer == GR_REACH_UNKNOWN) side->queue[side->tail++] = next;
  }
  return GR_REACH_UNKNOWN;
}

static enum gr_reach_answer walk_both(struct gr_reach *reach, uint32_t from, uint32_t to) {
  if (++reach->question == 0) { /* the marks of 2^32 questions ago must not count */
    for (uint32_t i = 0; i < SIDE_COUNT; i++) {
      memset(reach->sides[i].mark, 0, (size_t)reach->dag->node_count * sizeof *reach->sides[i].mark);
    }
    reach->question = 1;
  }
  start_side(reach, FORWARD, from);
  start_side(reach, BACKWARD, to);
  struct side *forward = &reach->sides[FORWARD], *backward = &reach->sides[BACKWARD];
  while (forward->head < forward->tail && backward->head < backward->tail) {
    if (reach->budget == 0) return GR_REACH_UNKNOWN;
    /* The cheaper side goes on; what it is about to cost counts, or one large node would be paid before it is known. */
    uint32_t left = forward->queue[forward->head], right = backward->queue[backward->head];
    uint64_t forward_cost = forward->walked + forward->begin[left + 1] - forward->begin[left];
    uint64_t backward_cost = backward->walked + backward->begin[right + 1] - backward->begin[right];
    bool goes_forward = forward_cost <= backward_cost;
    enum gr_reach_answer answer = expand(reach, goes_forward ? FORWARD : BACKWARD, goes_forward ? to : from);
    if (answer == GR_REACH_YES) return GR_REACH_YES;
  }
  return GR_REACH_NO;
}

enum gr_reach_answer gr_reach_quick(const struct gr_reach *reach, uint32_t from, uint32_t to) {
  if (from == to) return GR_REACH_YES;
  enum gr_reach_answer answer = judge(&reach->labels[from], &reach->labels[to]);
  if (answer != GR_REACH_UNKNOWN) return answer;
  return gr_dag_has_edge(reach->dag, from, to) ? GR_REACH_YES : GR_REACH_UNKNOWN;
}

enum gr_reach_answer gr_reach_path(struct gr_reach *reach, uint32_t from, uint32_t to) {
  enum gr_reach_answer answer = gr_reach_quick(reach, from, to);
  return answer == GR_REACH_UNKNOWN ? walk_both(reach, from, to) : answer;
}
