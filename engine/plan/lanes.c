#include "engine/plan/plan_internal.h"

/* Lanes by level. Within a level a lane serves one step; a step takes the lane of a predecessor that ends it, and only
 * when all such are placed do the others take what is left. There are never more lanes than the widest level has steps.
 * Under a lower cap a level is dealt out in rounds of as many steps as there are lanes.
 *
 * What is left is taken in this order: a lane that ends with a step that is ordered before this one anyhow and that
 * nobody follows any more; a new one; one that ends with any step that is ordered before; one that a predecessor is on,
 * though not at its end, which saves a wait; one whose last step nobody follows any more; one whose last step loses its
 * lane to this one. In each group the one that has rested longest, since its work has most likely ended. */
enum list { RESTING_FREE, RESTING_WANTED, LIST_COUNT, NOT_LISTED = LIST_COUNT };
enum { ORDERED_TRIES = 8 };

struct lane {
  uint32_t last; /* step */
  uint32_t next, previous;
  uint8_t list;
};

struct deal {
  struct gr_plan_draft *draft;
  struct lane *lanes;
  uint32_t lane_count, limit;
  uint32_t first[LIST_COUNT], last[LIST_COUNT];
  uint32_t *open_successors; /* of a step: not yet placed */
};

static void unlist(struct deal *deal, uint32_t index) {
  struct lane *lane = &deal->lanes[index];
  if (lane->list == NOT_LISTED) return;
  if (lane->previous == GR_PLAN_NONE) deal->first[lane->list] = lane->next;
  else deal->lanes[lane->previous].next = lane->next;
  if (lane->next == GR_PLAN_NONE) deal->last[lane->list] = lane->previous;
  else deal->lanes[lane->next].previous = lane->previous;
  lane->list = NOT_LISTED;
}

static void enlist(struct deal *deal, uint32_t index, uint8_t list) {
  struct lane *lane = &deal->lanes[index];
  lane->list = list;
  lane->next = GR_PLAN_NONE;
  lane->previous = deal->last[list];
  if (lane->previous == GR_PLAN_NONE) deal->first[list] = index;
  else deal->lanes[lane->previous].next = index;
  deal->last[list] = index;
}

static void place(struct deal *deal, uint32_t step, uint32_t index) {
  unlist(deal, index);
  deal->lanes[index].last = step;
  deal->draft->steps[step].lane = index;
}

/* The predecessor with the fewest successors first: it has the fewest other chances to hand its lane on. */
static uint32_t inherited_lane(const struct deal *deal, uint32_t step) {
  const struct gr_plan_draft *draft = deal->draft;
  uint32_t best = GR_PLAN_NONE;
  uint64_t best_degree = UINT64_MAX;
  for (uint64_t k = draft->before.begin[step]; k < draft->before.begin[step + 1]; k++) {
    uint32_t from = draft->before.items[k], index = draft->steps[from].lane;
    uint64_t degree = draft->after.begin[from + 1] - draft->after.begin[from];
    if (deal->lanes[index].last != from || deal->lanes[index].list == NOT_LISTED || degree >= best_degree) continue;
    best = index;
    best_degree = degree;
  }
  return best;
}

/* The resting lane of the predecessor that was issued last. */
static uint32_t lane_of_a_predecessor(const struct deal *deal, uint32_t step) {
  const struct gr_plan_draft *draft = deal->draft;
  for (uint64_t k = draft->before.begin[step + 1]; k-- > draft->before.begin[step];) {
    uint32_t index = draft->steps[draft->before.items[k]].lane;
    if (deal->lanes[index].list != NOT_LISTED) return index;
  }
  return GR_PLAN_NONE;
}

static uint32_t ordered_lane(const struct deal *deal, uint32_t step, enum list list) {
  uint32_t index = deal->first[list];
  for (uint32_t i = 0; i < ORDERED_TRIES && index != GR_PLAN_NONE; i++, index = deal->lanes[index].next) {
    if (gr_plan_is_ordered(deal->draft, deal->lanes[index].last, step)) return index;
  }
  return GR_PLAN_NONE;
}

static uint32_t spare_lane(struct deal *deal, uint32_t step) {
  uint32_t index = ordered_lane(deal, step, RESTING_FREE);
  if (index != GR_PLAN_NONE) return index;
  if (deal->lane_count < deal->limit) {
    deal->lanes[deal->lane_count].list = NOT_LISTED;
    return deal->lane_count++;
  }
  index = ordered_lane(deal, step, RESTING_WANTED);
  if (index == GR_PLAN_NONE) index = lane_of_a_predecessor(deal, step);
  if (index == GR_PLAN_NONE) index = deal->first[RESTING_FREE];
  return index != GR_PLAN_NONE ? index : deal->first[RESTING_WANTED];
}

static bool deal_round(struct deal *deal, uint32_t first, uint32_t end) {
  struct gr_plan_draft *draft = deal->draft;
  for (uint32_t step = first; step < end; step++) {
    uint32_t index = inherited_lane(deal, step);
    if (index == GR_PLAN_NONE) draft->steps[step].lane = GR_PLAN_NONE;
    else place(deal, step, index);
  }
  for (uint32_t step = first; step < end; step++) {
    if (draft->steps[step].lane != GR_PLAN_NONE) continue;
    bool asks = deal->first[RESTING_FREE] != GR_PLAN_NONE || deal->lane_count == deal->limit;
    if (asks && !gr_plan_need_reach(draft)) return false;
    place(deal, step, spare_lane(deal, step));
  }
  for (uint32_t step = first; step < end; step++) {
    enlist(deal, draft->steps[step].lane, deal->open_successors[step] == 0 ? RESTING_FREE : RESTING_WANTED);
  }
  return true;
}

/* Steps whose last successor has just been placed leave their lanes free. */
static void close_level(struct deal *deal, uint32_t first, uint32_t end) {
  const struct gr_plan_draft *draft = deal->draft;
  for (uint32_t step = first; step < end; step++) {
    for (uint64_t k = draft->before.begin[step]; k < draft->before.begin[step + 1]; k++) {
      uint32_t from = draft->before.items[k], index = draft->steps[from].lane;
      if (--deal->open_successors[from] > 0 || deal->lanes[index].last != from) continue;
      unlist(deal, index);
      enlist(deal, index, RESTING_FREE);
    }
  }
}

static bool deal_all(struct deal *deal) {
  const struct gr_plan *plan = deal->draft->plan;
  for (uint32_t first = 0, end; first < plan->step_count; first = end) {
    for (end = first; end < plan->step_count && plan->steps[end].level == plan->steps[first].level;) end++;
    for (uint32_t start = first, size; start < end; start += size) {
      size = end - start < deal->limit ? end - start : deal->limit;
      if (!deal_round(deal, start, start + size)) return false;
    }
    close_level(deal, first, end);
  }
  return true;
}

bool gr_plan_lanes_by_level(struct gr_plan_draft *draft) {
  struct gr_plan *plan = draft->plan;
  struct deal deal = {.draft = draft, .limit = plan->width};
  if (draft->lane_limit > 0 && draft->lane_limit < deal.limit) deal.limit = draft->lane_limit;
  for (uint32_t i = 0; i < LIST_COUNT; i++) deal.first[i] = deal.last[i] = GR_PLAN_NONE;
  deal.lanes = gr_memory_allocate_zeroed(draft->memory, deal.limit, sizeof *deal.lanes);
  deal.open_successors = gr_memory_allocate_zeroed(draft->memory, plan->step_count, sizeof *deal.open_successors);
  bool done = deal.lanes && deal.open_successors;
  for (uint32_t i = 0; done && i < plan->step_count; i++) {
    deal.open_successors[i] = (uint32_t)(draft->after.begin[i + 1] - draft->after.begin[i]);
  }
  if (done) done = deal_all(&deal);
  plan->lane_count = deal.lane_count;
  gr_memory_release(draft->memory, deal.lanes);
  gr_memory_release(draft->memory, deal.open_successors);
  return done;
}
