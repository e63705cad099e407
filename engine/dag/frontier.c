/* Who touched which elements of a buffer last.
 *
 * The elements are a grid: the distinct starts and ends of all uses cut each dimension into cells, so that every use is
 * a box of whole cells (exactly its elements: slices that interleave without a common element have no common cell). The
 * grid is never stored. Zones are boxes of cells in a binary tree, split in the middle of a dimension and only where a
 * use's face runs through them, so that a use in one dimension is made of O(log n) zones, and a write that covers a
 * zone makes one leaf of all that lies below it again.
 *
 * A leaf knows its last writers, a zone the readers since then of all that lies below it. With both, asking only these
 * is exact: let u and v have common elements, one of them writing, u told before v. Either u is still in the zone's
 * lists when v comes, and the pair is asked about. Or a write w has replaced it, and only because u was ordered before
 * w; then w (or what replaced it in turn) is asked about with v, and u before w before v, or the question about w is
 * answered with no and a race is known. So if no question is answered with no, every conflicting pair is ordered. (Of
 * several races on the same elements those are found that are not behind another one.)
 *
 * Lists are immutable cells, shared between the zones of a split. Two kinds of marks keep fans from being asked about
 * in full, a thousand writers times a thousand readers behind one barrier: a list, or the writers of a zone, that was
 * found to be before some node is before every node with the same predecessors, too; such nodes are of one class. */
#include <inttypes.h>
#include <string.h>

#include "engine/dag/dag_internal.h"

struct gr_frontier_zone {
  uint32_t children; /* the first of a pair; 0: a leaf */
  uint32_t cut;      /* where the pair meets, an index into `cuts` */
  uint32_t dimension;
  uint32_t writers;     /* a leaf's, cells */
  uint32_t readers;     /* of everything below, cells */
  uint32_t cleared_for; /* the class whose nodes all writers below are before, everything below being written */
  uint32_t cleared_by;  /* a node that all writers below were found to be before; GR_NO_INDEX: none */
};

struct gr_frontier_cell {
  const struct gr_dag_use *use; /* null: only joins two lists */
  uint32_t next;
  uint32_t other;       /* another list, or none */
  uint32_t cleared_for; /* the class whose nodes this cell and all behind it are before */
};

enum { KEPT_RACES_MAX = 1000 };          /* on one buffer */
enum { HAS_READER = 1, IS_CLEARED = 2 }; /* what the zones above say of a zone that is walked */

void gr_frontier_init(struct gr_frontier *frontier, struct gr_memory *memory, const struct gr_pipeline *pipeline) {
  memset(frontier, 0, sizeof *frontier);
  frontier->memory = memory;
  frontier->pipeline = pipeline;
  frontier->next_class = 1;
}

void gr_frontier_release(struct gr_frontier *frontier) {
  for (uint32_t i = 0; i < GR_RANK_MAX; i++) gr_memory_release(frontier->memory, frontier->cuts[i]);
  gr_memory_release(frontier->memory, frontier->sort_scratch);
  gr_memory_release(frontier->memory, frontier->zones);
  gr_memory_release(frontier->memory, frontier->cells);
  gr_memory_release(frontier->memory, frontier->frames);
  gr_memory_release(frontier->memory, frontier->ropes);
}

static bool is_over(const struct gr_frontier *frontier) { return frontier->out_of_memory || frontier->is_exhausted; }

/* One zone or cell is looked at. False when the budget does not allow it. */
static bool spend(struct gr_frontier *frontier) {
  if (frontier->visits_left == 0) {
    frontier->is_exhausted = true;
    return false;
  }
  frontier->visits_left--;
  return !is_over(frontier);
}

static bool grow(struct gr_frontier *frontier, void *elements, size_t count, size_t *capacity, size_t size_bytes) {
  if (gr_memory_grow(frontier->memory, elements, count, capacity, size_bytes)) return true;
  frontier->out_of_memory = true;
  return false;
}

/* Bottom up, since qsort may allocate behind our back. */
static void merge_sort(uint64_t *items, uint64_t *scratch, size_t count) {
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin + width < count; begin += 2 * width) {
      size_t middle = begin + width, end = count - begin > 2 * width ? begin + 2 * width : count;
      if (items[middle - 1] <= items[middle]) continue;
      size_t left = begin, right = middle, at = 0;
      while (left < middle && right < end) {
        scratch[at++] = items[right] < items[left] ? items[right++] : items[left++];
      }
      while (left < middle) scratch[at++] = items[left++];
      memcpy(items + begin, scratch, at * sizeof *items);
    }
  }
}

static size_t drop_repeated(uint64_t *items, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || items[kept - 1] != items[i]) items[kept++] = items[i];
  }
  return kept;
}

static bool add_cut(struct gr_frontier *frontier, uint32_t dimension, size_t *count, uint64_t value) {
  uint64_t *cuts = frontier->cuts[dimension];
  if (*count > 0 && cuts[*count - 1] == value) return true;
  if (!grow(frontier, &frontier->cuts[dimension], *count, &frontier->cut_capacity[dimension], sizeof *cuts)) {
    return false;
  }
  frontier->cuts[dimension][(*count)++] = value;
  return true;
}

static bool collect_cuts(struct gr_frontier *frontier, const struct gr_buffer *buffer, uint32_t dimension,
                         uint32_t use_count) {
  size_t count = 0;
  if (!add_cut(frontier, dimension, &count, 0)) return false;
  for (uint32_t i = 0; i < use_count; i++) {
    const struct gr_reference *reference = &frontier->pipeline->references[frontier->uses[i].reference_index];
    if (!reference->starts) continue; /* the whole buffer, which is cut anyway */
    uint64_t start = reference->starts[dimension];
    if (!add_cut(frontier, dimension, &count, start)) return false;
    if (!add_cut(frontier, dimension, &count, start + reference->extents[dimension])) return false;
  }
  if (!add_cut(frontier, dimension, &count, buffer->shape[dimension])) return false;
  while (frontier->sort_capacity < count) {
    if (!grow(frontier, &frontier->sort_scratch, frontier->sort_capacity, &frontier->sort_capacity, sizeof(uint64_t))) {
      return false;
    }
  }
  merge_sort(frontier->cuts[dimension], frontier->sort_scratch, count);
  frontier->cut_count[dimension] = (uint32_t)drop_repeated(frontier->cuts[dimension], count);
  return true;
}

static const struct gr_frontier_zone empty_zone = {
    .writers = GR_NO_INDEX, .readers = GR_NO_INDEX, .cleared_by = GR_NO_INDEX};

void gr_frontier_begin(struct gr_frontier *frontier, uint32_t buffer_index, const struct gr_dag_use *uses,
                       uint32_t use_count) {
  const struct gr_buffer *buffer = &frontier->pipeline->buffers[buffer_index];
  frontier->uses = uses;
  frontier->rank = buffer->rank;
  frontier->is_clean = true;
  frontier->kept_races = 0;
  frontier->zone_count = 0;
  frontier->cell_count = 0;
  frontier->free_zones = 0;
  for (uint32_t i = 0; i < buffer->rank; i++) {
    if (!collect_cuts(frontier, buffer, i, use_count)) return;
  }
  if (!grow(frontier, &frontier->zones, 0, &frontier->zone_capacity, sizeof *frontier->zones)) return;
  frontier->zones[0] = empty_zone; /* the root; index 0 is nobody's child */
  frontier->zone_count = 1;
}

static uint32_t add_cell(struct gr_frontier *frontier, const struct gr_dag_use *use, uint32_t next, uint32_t other) {
  if (frontier->cell_count == GR_NO_INDEX) frontier->out_of_memory = true;
  if (frontier->out_of_memory ||
      !grow(frontier, &frontier->cells, frontier->cell_count, &frontier->cell_capacity, sizeof *frontier->cells)) {
    return GR_NO_INDEX;
  }
  frontier->cells[frontier->cell_count] = (struct gr_frontier_cell){use, next, other, 0};
  return (uint32_t)frontier->cell_count++;
}

static uint32_t take_pair(struct gr_frontier *frontier) {
  uint32_t pair = frontier->free_zones;
  if (pair != 0) {
    frontier->free_zones = frontier->zones[pair].children;
    return pair;
  }
  for (uint32_t i = 0; i < 2; i++) {
    if (!grow(frontier, &frontier->zones, frontier->zone_count + i, &frontier->zone_capacity,
              sizeof *frontier->zones)) {
      return 0;
    }
  }
  pair = (uint32_t)frontier->zone_count;
  frontier->zone_count += 2;
  return pair;
}

static void give_pair(struct gr_frontier *frontier, uint32_t pair) {
  frontier->zones[pair].children = frontier->free_zones;
  frontier->free_zones = pair;
}

/* A frame: the zone, what is known from above, then lo and hi of every dimension. */
static uint32_t *push_frame(struct gr_frontier *frontier, uint32_t zone, uint32_t known) {
  size_t words = 2 + 2 * (size_t)frontier->rank;
  while (frontier->frame_capacity < frontier->frame_count + words) {
    if (!grow(frontier, &frontier->frames, frontier->frame_capacity, &frontier->frame_capacity,
              sizeof *frontier->frames)) {
      return NULL;
    }
  }
  uint32_t *frame = frontier->frames + frontier->frame_count;
  frontier->frame_count += words;
  frame[0] = zone;
  frame[1] = known;
  return frame;
}

struct box {
  uint32_t lo[GR_RANK_MAX], hi[GR_RANK_MAX]; /* indexes into cuts: cells lo to hi - 1 */
};
struct frame {
  uint32_t zone, known;
  struct box box;
};

static struct frame pop_frame(struct gr_frontier *frontier) {
  struct frame popped;
  frontier->frame_count -= 2 + 2 * (size_t)frontier->rank;
  const uint32_t *words = frontier->frames + frontier->frame_count;
  popped.zone = words[0];
  popped.known = words[1];
  for (uint32_t i = 0; i < frontier->rank; i++) {
    popped.box.lo[i] = words[2 + 2 * i];
    popped.box.hi[i] = words[3 + 2 * i];
  }
  return popped;
}

static void push_box(struct gr_frontier *frontier, uint32_t zone, uint32_t known, const struct box *box) {
  uint32_t *words = push_frame(frontier, zone, known);
  if (!words) return;
  for (uint32_t i = 0; i < frontier->rank; i++) {
    words[2 + 2 * i] = box->lo[i];
    words[3 + 2 * i] = box->hi[i];
  }
}

/* The second child first, so that the first one is walked first and boxes come in ascending order. */
static void push_children(struct gr_frontier *frontier, const struct frame *frame, uint32_t known) {
  const struct gr_frontier_zone *zone = &frontier->zones[frame->zone];
  uint32_t pair = zone->children, dimension = zone->dimension, cut = zone->cut;
  struct box half = frame->box;
  half.lo[dimension] = cut;
  push_box(frontier, pair + 1, known, &half);
  half.lo[dimension] = frame->box.lo[dimension];
  half.hi[dimension] = cut;
  push_box(frontier, pair, known, &half);
}

static uint32_t cut_index(const struct gr_frontier *frontier, uint32_t dimension, uint64_t value) {
  const uint64_t *cuts = frontier->cuts[dimension];
  uint32_t low = 0, high = frontier->cut_count[dimension];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (cuts[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct box whole_box(const struct gr_frontier *frontier) {
  struct box box;
  for (uint32_t i = 0; i < frontier->rank; i++) {
    box.lo[i] = 0;
    box.hi[i] = frontier->cut_count[i] - 1;
  }
  return box;
}

static struct box box_of(const struct gr_frontier *frontier, const struct gr_dag_use *use) {
  const struct gr_reference *reference = &frontier->pipeline->references[use->reference_index];
  if (!reference->starts) return whole_box(frontier);
  struct box box;
  for (uint32_t i = 0; i < frontier->rank; i++) {
    box.lo[i] = cut_index(frontier, i, reference->starts[i]);
    box.hi[i] = cut_index(frontier, i, reference->starts[i] + reference->extents[i]);
  }
  return box;
}

/* One use on its way through the tree. */
struct passage {
  struct gr_frontier *frontier;
  const struct gr_dag_use *use;
  uint32_t *class; /* null: no marks */
  void (*cover)(struct passage *passage, const struct frame *frame);
};

static void mark_undefined(const struct gr_frontier *frontier, const struct box *box) {
  uint64_t starts[GR_RANK_MAX], ends[GR_RANK_MAX];
  if (!frontier->rules.undefined) return;
  for (uint32_t i = 0; i < frontier->rank; i++) {
    starts[i] = frontier->cuts[i][box->lo[i]];
    ends[i] = frontier->cuts[i][box->hi[i]];
  }
  frontier->rules.undefined(frontier->rules.context, starts, ends);
}

/* Asks about every use of a list. */
static bool meet_list(const struct passage *passage, uint32_t head) {
  struct gr_frontier *frontier = passage->frontier;
  bool all_ordered = true, has_marked = false, is_spoilt = false;
  uint32_t cell = head;
  frontier->rope_count = 0;
  for (;;) {
    while (cell == GR_NO_INDEX && frontier->rope_count > 0) cell = frontier->ropes[--frontier->rope_count];
    if (cell == GR_NO_INDEX || !spend(frontier)) break;
    struct gr_frontier_cell *at = &frontier->cells[cell];
    cell = at->next;
    if (passage->class && at->cleared_for == *passage->class) {
      cell = GR_NO_INDEX;
      continue;
    }
    if (at->use && at->use->node == passage->use->node) {
      /* A node is in order with itself, but not with others of its class: cells that lead here must not be marked. */
      is_spoilt = has_marked;
    } else {
      if (at->use && !frontier->rules.meet(frontier->rules.context, at->use, passage->use)) all_ordered = false;
      if (passage->class) at->cleared_for = *passage->class;
      has_marked = true;
    }
    if (at->other == GR_NO_INDEX) continue;
    if (!grow(frontier, &frontier->ropes, frontier->rope_count, &frontier->rope_capacity, sizeof *frontier->ropes)) {
      break;
    }
    frontier->ropes[frontier->rope_count++] = at->other;
  }
  if (!all_ordered) frontier->is_clean = false;
  /* Marks were set before the list was known to be in order: a new number for the class makes them void. */
  if (passage->class && (!all_ordered || is_spoilt)) *passage->class = frontier->next_class++;
  return all_ordered;
}

static void forget_cleared(struct gr_frontier_zone *zone) {
  zone->cleared_for = 0;
  zone->cleared_by = GR_NO_INDEX;
}

/* All writers below are known to be before the use's node: as for another node of its class, or since they are before a
 * node that is before it. So a chain of readers of many pieces asks about the pieces once. */
static bool is_cleared(const struct passage *passage, const struct gr_frontier_zone *zone) {
  const struct gr_frontier_rules *rules = &passage->frontier->rules;
  if (!passage->class) return false;
  if (zone->cleared_for == *passage->class) return true;
  return zone->cleared_by != GR_NO_INDEX && rules->is_before &&
         rules->is_before(rules->context, zone->cleared_by, passage->use->node);
}

/* Everything below a zone that a read covers. */
static void cover_read(struct passage *passage, const struct frame *top) {
  struct gr_frontier *frontier = passage->frontier;
  size_t base = frontier->frame_count;
  bool is_clear = true;
  bool asks = frontier->rules.meet && passage->use->access == GR_ACCESS_READ;
  push_box(frontier, top->zone, 0, &top->box);
  while (frontier->frame_count > base && !is_over(frontier)) {
    struct frame frame = pop_frame(frontier);
    const struct gr_frontier_zone *zone = &frontier->zones[frame.zone];
    if (!spend(frontier)) return;
    if (is_cleared(passage, zone)) continue;
    if (zone->children != 0) {
      push_children(frontier, &frame, 0);
    } else if (zone->writers == GR_NO_INDEX) {
      mark_undefined(frontier, &frame.box);
      is_clear = false;
    } else if (asks && !meet_list(passage, zone->writers)) {
      is_clear = false;
    }
  }
  struct gr_frontier_zone *zone = &frontier->zones[top->zone];
  if (is_clear && passage->class && (asks || !frontier->rules.meet)) {
    zone->cleared_for = *passage->class;
    zone->cleared_by = passage->use->node;
  }
  if (asks) {
    uint32_t cell = add_cell(frontier, passage->use, zone->readers, GR_NO_INDEX);
    zone->readers = cell;
  }
}

/* Asks about all that a write covers, and gives the zones below back. */
static bool meet_below(struct passage *passage, const struct frame *top) {
  struct gr_frontier *frontier = passage->frontier;
  size_t base = frontier->frame_count;
  bool all_ordered = true;
  push_box(frontier, top->zone, 0, &top->box);
  while (frontier->frame_count > base && !is_over(frontier)) {
    struct frame frame = pop_frame(frontier);
    const struct gr_frontier_zone *zone = &frontier->zones[frame.zone];
    uint32_t known = frame.known;
    if (!spend(frontier)) return false;
    if (is_cleared(passage, zone)) known |= IS_CLEARED;
    if (zone->readers != GR_NO_INDEX) {
      known |= HAS_READER;
      if (!meet_list(passage, zone->readers)) all_ordered = false;
      zone = &frontier->zones[frame.zone];
    }
    /* A reader came after the writers, and this use comes after the reader: no need to ask about the writers. That is
     * so only while every answer was 'ordered'. */
    bool follows = (known & IS_CLEARED) || ((known & HAS_READER) && frontier->is_clean);
    if (zone->children != 0) push_children(frontier, &frame, known);
    else if (!follows && !meet_list(passage, zone->writers)) all_ordered = false;
  }
  return all_ordered;
}

static void push_rope(struct gr_frontier *frontier, uint32_t word) {
  if (word == 0) return;
  if (!grow(frontier, &frontier->ropes, frontier->rope_count, &frontier->rope_capacity, sizeof *frontier->ropes))
    return;
  frontier->ropes[frontier->rope_count++] = word;
}

/* Makes a leaf of a zone. */
static void free_below(struct gr_frontier *frontier, uint32_t zone) {
  frontier->rope_count = 0;
  push_rope(frontier, frontier->zones[zone].children);
  frontier->zones[zone].children = 0;
  while (frontier->rope_count > 0 && !frontier->out_of_memory) {
    uint32_t pair = frontier->ropes[--frontier->rope_count];
    push_rope(frontier, frontier->zones[pair].children);
    push_rope(frontier, frontier->zones[pair + 1].children);
    give_pair(frontier, pair);
  }
}

/* After a race both sides are kept, so that races of either with later uses are found in the same pass. */
static void add_writer_below(struct passage *passage, const struct frame *top) {
  struct gr_frontier *frontier = passage->frontier;
  size_t base = frontier->frame_count;
  frontier->kept_races++;
  push_box(frontier, top->zone, 0, &top->box);
  while (frontier->frame_count > base && !is_over(frontier)) {
    struct frame frame = pop_frame(frontier);
    if (!spend(frontier)) return;
    forget_cleared(&frontier->zones[frame.zone]);
    if (frontier->zones[frame.zone].children != 0) {
      push_children(frontier, &frame, 0);
      continue;
    }
    uint32_t cell = add_cell(frontier, passage->use, frontier->zones[frame.zone].writers, GR_NO_INDEX);
    frontier->zones[frame.zone].writers = cell;
  }
}

static void cover_write(struct passage *passage, const struct frame *top) {
  struct gr_frontier *frontier = passage->frontier;
  bool all_ordered = !frontier->rules.meet || meet_below(passage, top);
  if (is_over(frontier)) return;
  if (!all_ordered && frontier->kept_races < KEPT_RACES_MAX) {
    add_writer_below(passage, top);
    return;
  }
  free_below(frontier, top->zone);
  uint32_t cell = add_cell(frontier, passage->use, GR_NO_INDEX, GR_NO_INDEX);
  struct gr_frontier_zone *zone = &frontier->zones[top->zone];
  zone->writers = cell;
  zone->readers = GR_NO_INDEX;
  forget_cleared(zone);
}

enum overlap { APART, PARTIAL, COVERED };

static enum overlap overlap_of(const struct gr_frontier *frontier, const struct box *zone, const struct box *target) {
  enum overlap overlap = COVERED;
  for (uint32_t i = 0; i < frontier->rank; i++) {
    if (zone->hi[i] <= target->lo[i] || target->hi[i] <= zone->lo[i]) return APART;
    if (zone->lo[i] < target->lo[i] || target->hi[i] < zone->hi[i]) overlap = PARTIAL;
  }
  return overlap;
}

static void split(struct gr_frontier *frontier, const struct frame *frame, const struct box *target) {
  uint32_t dimension = 0, longest = 0;
  for (uint32_t i = 0; i < frontier->rank; i++) {
    uint32_t lo = frame->box.lo[i], hi = frame->box.hi[i];
    bool is_crossed = (lo < target->lo[i] && target->lo[i] < hi) || (lo < target->hi[i] && target->hi[i] < hi);
    if (!is_crossed || hi - lo <= longest) continue;
    longest = hi - lo;
    dimension = i;
  }
  uint32_t pair = take_pair(frontier);
  if (pair == 0) return;
  struct gr_frontier_zone *zone = &frontier->zones[frame->zone];
  for (uint32_t i = 0; i < 2; i++) {
    frontier->zones[pair + i] = empty_zone;
    frontier->zones[pair + i].writers = zone->writers;
    frontier->zones[pair + i].cleared_for = zone->cleared_for;
    frontier->zones[pair + i].cleared_by = zone->cleared_by;
  }
  zone->children = pair;
  zone->dimension = dimension;
  zone->cut = frame->box.lo[dimension] + longest / 2;
}

/* A write may replace what only a part of a zone's elements have in common, so the zone's readers become those of its
 * halves. What was found out about all writers below does not hold for the new one. */
static void push_readers_down(struct gr_frontier *frontier, uint32_t index) {
  uint32_t readers = frontier->zones[index].readers, pair = frontier->zones[index].children;
  forget_cleared(&frontier->zones[index]);
  if (readers == GR_NO_INDEX) return;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t own = frontier->zones[pair + i].readers;
    uint32_t joined = own == GR_NO_INDEX ? readers : add_cell(frontier, NULL, readers, own);
    frontier->zones[pair + i].readers = joined;
  }
  frontier->zones[index].readers = GR_NO_INDEX;
}

static void walk(struct passage *passage, bool is_write) {
  struct gr_frontier *frontier = passage->frontier;
  if (is_over(frontier)) return;
  struct box target = box_of(frontier, passage->use), whole = whole_box(frontier);
  frontier->frame_count = 0;
  push_box(frontier, 0, 0, &whole);
  while (frontier->frame_count > 0 && !is_over(frontier)) {
    struct frame frame = pop_frame(frontier);
    enum overlap overlap = overlap_of(frontier, &frame.box, &target);
    if (overlap == APART || !spend(frontier)) continue;
    if (overlap == COVERED) {
      passage->cover(passage, &frame);
      continue;
    }
    if (frontier->zones[frame.zone].children == 0) split(frontier, &frame, &target);
    if (frontier->out_of_memory) return;
    if (is_write) push_readers_down(frontier, frame.zone);
    push_children(frontier, &frame, 0);
  }
}

void gr_frontier_read(struct gr_frontier *frontier, uint32_t use_index, uint32_t *class) {
  struct passage passage = {frontier, &frontier->uses[use_index], class, cover_read};
  walk(&passage, false);
}

void gr_frontier_write(struct gr_frontier *frontier, uint32_t use_index, uint32_t *class) {
  struct passage passage = {frontier, &frontier->uses[use_index], class, cover_write};
  walk(&passage, true);
}

void gr_frontier_peek(struct gr_frontier *frontier, uint32_t use_index) {
  struct passage passage = {frontier, &frontier->uses[use_index], NULL, cover_read};
  walk(&passage, false);
}

void gr_frontier_unwritten(struct gr_frontier *frontier) {
  struct box whole = whole_box(frontier);
  frontier->frame_count = 0;
  if (is_over(frontier)) return;
  push_box(frontier, 0, 0, &whole);
  while (frontier->frame_count > 0 && !is_over(frontier)) {
    struct frame frame = pop_frame(frontier);
    const struct gr_frontier_zone *zone = &frontier->zones[frame.zone];
    if (!spend(frontier)) return;
    if (zone->children != 0) push_children(frontier, &frame, 0);
    else if (zone->writers == GR_NO_INDEX) mark_undefined(frontier, &frame.box);
  }
}

void gr_dag_append_box(struct gr_text *text, const struct gr_buffer *buffer, const uint64_t *starts,
                       const uint64_t *ends) {
  struct gr_view name = gr_view_of(buffer->name);
  gr_text_append(text, name.bytes, name.length);
  for (uint32_t i = 0; i < buffer->rank; i++) {
    gr_text_append_format(text, "%s%" PRIu64 ":%" PRIu64, i == 0 ? "[" : ", ", starts[i], ends[i]);
  }
  if (buffer->rank > 0) gr_text_append_text(text, "]");
}
