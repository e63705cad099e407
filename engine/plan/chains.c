#include "engine/plan/plan_internal.h"

/* Lanes by chains, after Nimble (Kwon, Yu, Jeong, Chun: "Nimble: Lightweight and Parallel GPU Task Scheduling for Deep
 * Learning", NeurIPS 2020). In the bipartite graph that has every step once on the left and once on the right and every
 * needed edge u -> v between left u and right v, a matching picks for each step at most one successor that follows it
 * on its lane. Each edge that is not picked costs a wait, so a maximum matching gives the fewest waits that any
 * assignment needs in which unordered steps never share a lane. Nimble searches it with plain augmenting paths in a
 * matrix; here it is Hopcroft and Karp's algorithm (1973) on the edges themselves, from a greedy start, a phase at a
 * time while the budget lasts. A lane whose chain has ended serves a later chain that is ordered behind it, which costs
 * no wait. */
enum { ORDERED_TRIES = 16 };

struct matching {
  const struct gr_plan_draft *draft;
  uint32_t step_count;
  uint32_t *successor_of, *predecessor_of; /* GR_PLAN_NONE: not matched */
  uint32_t *distance;                      /* of a left step from an unmatched one */
  uint32_t *queue;                         /* of the search, then the path of an augmentation */
  uint64_t *next_edge;
  uint64_t pair_count;
  uint64_t budget;
  bool is_maximum;
};

static void match(struct matching *matching, uint32_t from, uint32_t to) {
  matching->successor_of[from] = to;
  matching->predecessor_of[to] = from;
}

/* Those predecessors first that have the fewest successors to choose from. */
static void match_greedily(struct matching *matching) {
  const struct gr_plan_links *before = &matching->draft->before, *after = &matching->draft->after;
  for (uint32_t step = 0; step < matching->step_count; step++) {
    uint32_t best = GR_PLAN_NONE;
    uint64_t best_degree = UINT64_MAX;
    for (uint64_t k = before->begin[step]; k < before->begin[step + 1]; k++) {
      uint32_t from = before->items[k];
      uint64_t degree = after->begin[from + 1] - after->begin[from];
      if (matching->successor_of[from] != GR_PLAN_NONE || degree >= best_degree) continue;
      best = from;
      best_degree = degree;
    }
    if (best == GR_PLAN_NONE) continue;
    match(matching, best, step);
    matching->pair_count++;
  }
}

/* Breadth first along alternating paths. True if some path ends at a step that nobody precedes yet. */
static bool measure(struct matching *matching) {
  const struct gr_plan_links *after = &matching->draft->after;
  uint32_t head = 0, tail = 0;
  bool found = false;
  for (uint32_t step = 0; step < matching->step_count; step++) {
    matching->distance[step] = GR_PLAN_NONE;
    matching->next_edge[step] = after->begin[step];
    if (matching->successor_of[step] != GR_PLAN_NONE) continue;
    matching->distance[step] = 0;
    matching->queue[tail++] = step;
  }
  while (head < tail) {
    uint32_t from = matching->queue[head++];
    for (uint64_t k = after->begin[from]; k < after->begin[from + 1]; k++) {
      uint32_t rival = matching->predecessor_of[after->items[k]];
      if (rival == GR_PLAN_NONE) found = true;
      else if (matching->distance[rival] == GR_PLAN_NONE) {
        matching->distance[rival] = matching->distance[from] + 1;
        matching->queue[tail++] = rival;
      }
    }
  }
  return found;
}

/* Flips the path that ends with the edge under the last step's cursor. */
static void flip(struct matching *matching, uint32_t length) {
  const struct gr_plan_links *after = &matching->draft->after;
  for (uint32_t i = length; i-- > 0;) {
    uint32_t from = matching->queue[i];
    match(matching, from, after->items[matching->next_edge[from]++]);
  }
  matching->pair_count++;
}

/* Depth first from an unmatched step, one level of distance at a time; each edge is looked at once a phase. */
static void augment(struct matching *matching, uint32_t root) {
  const struct gr_plan_links *after = &matching->draft->after;
  uint32_t length = 0;
  matching->queue[length++] = root;
  while (length > 0) {
    uint32_t from = matching->queue[length - 1];
    if (matching->next_edge[from] == after->begin[from + 1]) {
      length--;
      if (length > 0) matching->next_edge[matching->queue[length - 1]]++;
      continue;
    }
    uint32_t rival = matching->predecessor_of[after->items[matching->next_edge[from]]];
    if (rival == GR_PLAN_NONE) {
      flip(matching, length);
      return;
    }
    if (matching->distance[rival] == matching->distance[from] + 1) matching->queue[length++] = rival;
    else matching->next_edge[from]++;
  }
}

static void match_fully(struct matching *matching) {
  uint64_t phase_cost = (uint64_t)matching->step_count + matching->draft->plan->counts.emitted_edges;
  match_greedily(matching);
  while (matching->budget >= phase_cost) {
    matching->budget -= phase_cost;
    if (!measure(matching)) {
      matching->is_maximum = true;
      return;
    }
    for (uint32_t step = 0; step < matching->step_count; step++) {
      if (matching->successor_of[step] == GR_PLAN_NONE) augment(matching, step);
    }
  }
}

static void matching_release(struct matching *matching) {
  struct gr_memory *memory = matching->draft->memory;
  gr_memory_release(memory, matching->successor_of);
  gr_memory_release(memory, matching->predecessor_of);
  gr_memory_release(memory, matching->distance);
  gr_memory_release(memory, matching->queue);
  gr_memory_release(memory, matching->next_edge);
}

static bool matching_init(struct matching *matching, const struct gr_plan_draft *draft) {
  struct gr_memory *memory = draft->memory;
  size_t count = draft->plan->step_count;
  *matching = (struct matching){.draft = draft, .step_count = draft->plan->step_count, .budget = draft->budget};
  matching->successor_of = gr_memory_allocate_zeroed(memory, count, sizeof *matching->successor_of);
  matching->predecessor_of = gr_memory_allocate_zeroed(memory, count, sizeof *matching->predecessor_of);
  matching->distance = gr_memory_allocate_zeroed(memory, count, sizeof *matching->distance);
  matching->queue = gr_memory_allocate_zeroed(memory, count, sizeof *matching->queue);
  matching->next_edge = gr_memory_allocate_zeroed(memory, count, sizeof *matching->next_edge);
  if (!matching->successor_of || !matching->predecessor_of || !matching->distance || !matching->queue ||
      !matching->next_edge) {
    return false;
  }
  for (size_t i = 0; i < count; i++) matching->successor_of[i] = matching->predecessor_of[i] = GR_PLAN_NONE;
  return true;
}

struct lane {
  uint32_t last;        /* the step that ends it */
  uint32_t next;        /* among the idle lanes, by the time when they became idle */
  uint32_t chain_count; /* chains that go on on it: 1, and more only when lanes are short */
};

struct assignment {
  struct gr_plan_draft *draft;
  struct lane *lanes;
  uint32_t lane_count, limit;
  uint32_t first_idle, last_idle;
  uint32_t turn; /* of the lane that takes in the next chain when none is idle */
};

static void take_idle(struct assignment *assignment, uint32_t index, uint32_t before) {
  uint32_t next = assignment->lanes[index].next;
  if (before == GR_PLAN_NONE) assignment->first_idle = next;
  else assignment->lanes[before].next = next;
  if (next == GR_PLAN_NONE) assignment->last_idle = before;
}

static void add_idle(struct assignment *assignment, uint32_t index) {
  assignment->lanes[index].next = GR_PLAN_NONE;
  if (assignment->last_idle == GR_PLAN_NONE) assignment->first_idle = index;
  else assignment->lanes[assignment->last_idle].next = index;
  assignment->last_idle = index;
}

/* The lane of a step that starts a chain. */
static uint32_t lane_for_chain(struct assignment *assignment, uint32_t step) {
  uint32_t before = GR_PLAN_NONE, index = assignment->first_idle;
  for (uint32_t i = 0; i < ORDERED_TRIES && index != GR_PLAN_NONE; i++) {
    if (gr_plan_is_ordered(assignment->draft, assignment->lanes[index].last, step)) {
      take_idle(assignment, index, before);
      return index;
    }
    before = index;
    index = assignment->lanes[index].next;
  }
  if (assignment->limit == 0 || assignment->lane_count < assignment->limit) return assignment->lane_count++;
  index = assignment->first_idle;
  if (index != GR_PLAN_NONE) {
    take_idle(assignment, index, GR_PLAN_NONE);
    return index;
  }
  index = assignment->turn;
  assignment->turn = index + 1 < assignment->limit ? index + 1 : 0;
  return index;
}

static bool assign(struct assignment *assignment, const struct matching *matching) {
  struct gr_plan_draft *draft = assignment->draft;
  for (uint32_t step = 0; step < matching->step_count; step++) {
    uint32_t from = matching->predecessor_of[step];
    if (from == GR_PLAN_NONE && assignment->first_idle != GR_PLAN_NONE && !gr_plan_need_reach(draft)) return false;
    uint32_t index = from != GR_PLAN_NONE ? draft->steps[from].lane : lane_for_chain(assignment, step);
    struct lane *lane = &assignment->lanes[index];
    if (from == GR_PLAN_NONE) lane->chain_count++;
    lane->last = step;
    draft->steps[step].lane = index;
    if (matching->successor_of[step] == GR_PLAN_NONE && --lane->chain_count == 0) add_idle(assignment, index);
  }
  return true;
}

bool gr_plan_lanes_by_chain(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  struct matching matching;
  struct assignment assignment = {.draft = draft, .first_idle = GR_PLAN_NONE, .last_idle = GR_PLAN_NONE};
  bool done = matching_init(&matching, draft);
  if (done) {
    match_fully(&matching);
    uint64_t chain_count = matching.step_count - matching.pair_count;
    assignment.limit = draft->lane_limit;
    assignment.lanes = gr_memory_allocate_zeroed(draft->memory, chain_count, sizeof *assignment.lanes);
    done = assignment.lanes && assign(&assignment, &matching);
    if (matching.is_maximum && plan->counts.reduction_is_complete) {
      plan->counts.wait_minimum = plan->counts.emitted_edges - matching.pair_count;
    }
  }
  plan->lane_count = assignment.lane_count;
  gr_memory_release(draft->memory, assignment.lanes);
  matching_release(&matching);
  return done;
}
