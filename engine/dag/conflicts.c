/* Accesses of the same bytes: edges in file order for `order: data`, the race check for `order: explicit`, and for both
 * what is read before anything wrote it. The work on one buffer is done by frontier.c; here are the uses, the questions
 * and the words. */
#include <inttypes.h>
#include <string.h>

#include "engine/dag/dag_internal.h"

/* What one check may cost beyond a linear share: about a second each. */
static const uint64_t visit_budget = UINT64_C(1) << 27, reach_budget = UINT64_C(1) << 28;
static const uint64_t visits_per_use = 256;
static const size_t data_edges_max = (size_t)1 << 26;

/* Pairs of nodes that were told already, as an open hash table; 0 is a free place, so pairs are kept plus one. */
struct pair_set {
  uint64_t *places;
  size_t count, capacity; /* a power of two, or 0 */
};

struct pass {
  struct gr_memory *memory;
  const struct gr_pipeline *pipeline;
  const struct gr_dag *dag; /* null while edges are made */
  struct gr_diagnostics *diagnostics;
  struct gr_dag_edges *edges; /* null while races are looked for */
  uint32_t *last_to;          /* [node]: where its last edge goes, plus one; null while races are looked for */
  struct gr_reach *reach;
  struct gr_dag_use *uses; /* grouped by buffer */
  uint64_t *use_begin;     /* [buffer_count + 1] */
  uint32_t *class_of_node;
  uint32_t *classes; /* [class]: its present number */
  struct gr_frontier frontier;
  struct pair_set told;
  uint64_t pool; /* visits left for buffers that need more than their share */
  uint64_t unchecked_count;
  bool out_of_memory;
  bool has_too_many_edges;

  const struct gr_buffer *buffer; /* the one at work */
  bool has_undefined;             /* of the use at work: the first box, and all elements */
  uint64_t undefined_starts[GR_RANK_MAX], undefined_ends[GR_RANK_MAX];
  uint64_t undefined_count;
};

bool gr_dag_edges_add(struct gr_dag_edges *edges, uint32_t from, uint32_t to) {
  if (!gr_memory_grow(edges->memory, &edges->items, edges->count, &edges->capacity, sizeof *edges->items)) return false;
  edges->items[edges->count++] = (struct gr_dag_edge){from, to};
  return true;
}

void gr_dag_edges_release(struct gr_dag_edges *edges) {
  gr_memory_release(edges->memory, edges->items);
  edges->items = NULL;
  edges->count = edges->capacity = 0;
}

static uint64_t spread_bits(uint64_t value) {
  value = (value ^ (value >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
  return value ^ (value >> 29);
}

static void place_pair(uint64_t *places, size_t capacity, uint64_t key) {
  size_t at = (size_t)spread_bits(key) & (capacity - 1);
  while (places[at] != 0) at = (at + 1) & (capacity - 1);
  places[at] = key;
}

static bool pair_set_has(const struct pair_set *set, uint64_t key) {
  if (set->capacity == 0) return false;
  size_t at = (size_t)spread_bits(key) & (set->capacity - 1);
  while (set->places[at] != 0 && set->places[at] != key) at = (at + 1) & (set->capacity - 1);
  return set->places[at] == key;
}

static bool pair_set_add(struct gr_memory *memory, struct pair_set *set, uint64_t key) {
  if (2 * set->count >= set->capacity) {
    size_t wider = set->capacity == 0 ? 64 : 2 * set->capacity;
    uint64_t *places = gr_memory_allocate_zeroed(memory, wider, sizeof *places);
    if (!places) return false;
    for (size_t i = 0; i < set->capacity; i++) {
      if (set->places[i] != 0) place_pair(places, wider, set->places[i]);
    }
    gr_memory_release(memory, set->places);
    set->places = places;
    set->capacity = wider;
  }
  place_pair(set->places, set->capacity, key);
  set->count++;
  return true;
}

static void forget_pairs(struct gr_memory *memory, struct pair_set *set) {
  if (set->count == 0) return;
  gr_memory_release(memory, set->places);
  *set = (struct pair_set){0};
}

/* ---- words ---- */

static void reference_box(const struct gr_reference *reference, uint64_t *starts, uint64_t *ends) {
  for (uint32_t i = 0; i < reference->rank; i++) {
    starts[i] = reference->starts ? reference->starts[i] : 0;
    ends[i] = starts[i] + reference->extents[i];
  }
}

/* "x[0:4] (bytes 0 to 15)": from the first byte of the box to its last. */
static void append_place(struct gr_text *text, const struct gr_buffer *buffer, const uint64_t *starts,
                         const uint64_t *ends) {
  uint64_t size = gr_type_size(buffer->type), stride = size, first = 0, last = 0;
  for (uint32_t i = buffer->rank; i-- > 0;) {
    first += starts[i] * stride;
    last += (ends[i] - 1) * stride;
    stride *= buffer->shape[i];
  }
  gr_dag_append_box(text, buffer, starts, ends);
  gr_text_append_format(text, " (bytes %" PRIu64 " to %" PRIu64 ")", first, last + size - 1);
}

static void append_use(struct gr_text *text, const struct pass *pass, const struct gr_dag_use *use) {
  static const char *const verbs[] = {"", "reads", "writes", "updates"};
  const struct gr_node *node = &pass->pipeline->nodes[use->node];
  uint64_t starts[GR_RANK_MAX], ends[GR_RANK_MAX];
  reference_box(&pass->pipeline->references[use->reference_index], starts, ends);
  gr_text_append_format(text, "%s (line %" PRIu32 ") %s ", gr_view_quote(gr_view_of(node->name)).text, node->mark.line,
                        verbs[use->access & GR_ACCESS_UPDATE]);
  gr_dag_append_box(text, pass->buffer, starts, ends);
}

static void report_race(struct pass *pass, const struct gr_dag_use *earlier, const struct gr_dag_use *later) {
  const struct gr_pipeline *pipeline = pass->pipeline;
  const struct gr_reference *later_reference = &pipeline->references[later->reference_index];
  uint64_t starts[GR_RANK_MAX] = {0}, ends[GR_RANK_MAX] = {0};
  uint64_t other_starts[GR_RANK_MAX] = {0}, other_ends[GR_RANK_MAX] = {0};
  reference_box(&pipeline->references[earlier->reference_index], starts, ends);
  reference_box(later_reference, other_starts, other_ends);
  for (uint32_t i = 0; i < pass->buffer->rank; i++) {
    if (other_starts[i] > starts[i]) starts[i] = other_starts[i];
    if (other_ends[i] < ends[i]) ends[i] = other_ends[i];
  }
  struct gr_text text;
  gr_text_init(&text, pass->memory);
  gr_text_append_text(&text, "race: ");
  append_use(&text, pass, earlier);
  gr_text_append_text(&text, " and ");
  append_use(&text, pass, later);
  gr_text_append_text(&text, " with no path between them; both touch ");
  append_place(&text, pass->buffer, starts, ends);
  gr_text_append_format(&text, "; add %s to the \"after\" of %s, or give the order that is meant in another way",
                        gr_view_quote(gr_view_of(pipeline->nodes[earlier->node].name)).text,
                        gr_view_quote(gr_view_of(pipeline->nodes[later->node].name)).text);
  if (text.failed) pass->out_of_memory = true;
  else if (pipeline->races == GR_RACES_WARN)
    gr_diagnostics_warning(pass->diagnostics, later_reference->mark, "%s", text.bytes);
  else gr_diagnostics_error(pass->diagnostics, later_reference->mark, "%s", text.bytes);
  gr_text_release(&text);
}

static void report_undefined(struct pass *pass, struct gr_mark mark, const char *what, const char *name,
                             const char *which) {
  if (!pass->has_undefined || pass->pipeline->is_flawed) return;
  struct gr_text text;
  uint64_t shown = 1;
  for (uint32_t i = 0; i < pass->buffer->rank; i++) shown *= pass->undefined_ends[i] - pass->undefined_starts[i];
  gr_text_init(&text, pass->memory);
  gr_text_append_format(&text, "%s %s ", gr_view_quote(gr_view_of(name)).text, what);
  append_place(&text, pass->buffer, pass->undefined_starts, pass->undefined_ends);
  if (shown < pass->undefined_count) {
    gr_text_append_format(&text, " and %" PRIu64 " more elements", pass->undefined_count - shown);
  }
  gr_text_append_text(&text, which);
  if (text.failed) pass->out_of_memory = true;
  else gr_diagnostics_warning(pass->diagnostics, mark, "%s", text.bytes);
  gr_text_release(&text);
}

/* ---- what the frontier asks ---- */

static bool fail(struct pass *pass) {
  pass->out_of_memory = true;
  pass->frontier.is_exhausted = true; /* ends the walk */
  return true;
}

static bool add_edge(void *context, const struct gr_dag_use *earlier, const struct gr_dag_use *later) {
  struct pass *pass = context;
  /* Two nodes may meet in many pieces. */
  if (pass->last_to[earlier->node] == later->node + 1) return true;
  pass->last_to[earlier->node] = later->node + 1;
  if (pass->edges->count >= data_edges_max) pass->frontier.is_exhausted = true;
  else if (!gr_dag_edges_add(pass->edges, earlier->node, later->node)) return fail(pass);
  return true;
}

static bool has_path(void *context, const struct gr_dag_use *earlier, const struct gr_dag_use *later) {
  struct pass *pass = context;
  uint64_t key = (((uint64_t)earlier->node << 32) | later->node) + 1;
  if (pair_set_has(&pass->told, key)) return false;
  enum gr_reach_answer answer = gr_reach_path(pass->reach, earlier->node, later->node);
  if (answer == GR_REACH_UNKNOWN) pass->unchecked_count++;
  if (answer != GR_REACH_NO) return true;
  report_race(pass, earlier, later);
  if (!pair_set_add(pass->memory, &pass->told, key)) fail(pass);
  return false;
}

static bool is_before(void *context, uint32_t node, uint32_t later) {
  const struct pass *pass = context;
  return gr_reach_quick(pass->reach, node, later) == GR_REACH_YES;
}

/* Boxes come in ascending order; one that continues the first in a single dimension is joined to it. */
static void note_undefined(void *context, const uint64_t *starts, const uint64_t *ends) {
  struct pass *pass = context;
  uint32_t rank = pass->buffer->rank, different = 0, dimension = 0;
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; i++) {
    count *= ends[i] - starts[i];
    if (starts[i] == pass->undefined_starts[i] && ends[i] == pass->undefined_ends[i]) continue;
    different++;
    dimension = i;
  }
  pass->undefined_count += count;
  if (!pass->has_undefined) {
    memcpy(pass->undefined_starts, starts, rank * sizeof *starts);
    memcpy(pass->undefined_ends, ends, rank * sizeof *ends);
    pass->has_undefined = true;
  } else if (different == 1 && starts[dimension] == pass->undefined_ends[dimension]) {
    pass->undefined_ends[dimension] = ends[dimension];
  }
}

/* ---- the uses of each buffer ---- */

static uint32_t node_at(const struct pass *pass, uint32_t place) { return pass->dag ? pass->dag->order[place] : place; }

/* Calls for every access with elements, in the order in which the frontier wants to be told: of a node, reads first. */
static void each_use(struct pass *pass, void (*tell)(struct pass *pass, uint32_t buffer, struct gr_dag_use use)) {
  const struct gr_pipeline *pipeline = pass->pipeline;
  for (uint32_t place = 0; place < pipeline->node_count; place++) {
    uint32_t index = node_at(pass, place);
    const struct gr_node *node = &pipeline->nodes[index];
    for (uint32_t turn = 0; turn < 2; turn++) {
      for (uint32_t i = 0; i < node->access_count; i++) {
        const struct gr_node_access *access = &pipeline->accesses[node->first_access + i];
        const struct gr_reference *reference = &pipeline->references[access->reference_index];
        bool is_read = access->access == GR_ACCESS_READ;
        if (reference->element_count == 0 || access->access == GR_ACCESS_NONE || is_read != (turn == 0)) continue;
        tell(pass, reference->buffer_index, (struct gr_dag_use){index, access->reference_index, access->access});
      }
    }
  }
}

static void count_use(struct pass *pass, uint32_t buffer, struct gr_dag_use use) {
  (void)use;
  pass->use_begin[buffer + 1]++;
}

static void place_use(struct pass *pass, uint32_t buffer, struct gr_dag_use use) {
  pass->uses[pass->use_begin[buffer + 1]++] = use;
}

/* A counting sort; use_begin[b + 1] is where the next use of buffer b goes while they are placed. */
static bool collect_uses(struct pass *pass) {
  uint32_t buffer_count = pass->pipeline->buffer_count;
  pass->use_begin = gr_memory_allocate_zeroed(pass->memory, (size_t)buffer_count + 2, sizeof *pass->use_begin);
  if (!pass->use_begin) return false;
  each_use(pass, count_use);
  uint64_t total = 0;
  for (uint32_t i = 0; i < buffer_count; i++) {
    uint64_t count = pass->use_begin[i + 1];
    pass->use_begin[i + 1] = total;
    total += count;
  }
  pass->uses = gr_memory_allocate_zeroed(pass->memory, (size_t)total, sizeof *pass->uses);
  if (!pass->uses) return false;
  each_use(pass, place_use);
  return true;
}

static uint64_t hash_predecessors(const struct gr_dag *dag, uint32_t node) {
  uint64_t hash = 1;
  for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
    hash = spread_bits(hash + dag->predecessors[k]);
  }
  return hash;
}

static bool same_predecessors(const struct gr_dag *dag, uint32_t a, uint32_t b) {
  uint64_t count = dag->predecessor_begin[a + 1] - dag->predecessor_begin[a];
  if (count != dag->predecessor_begin[b + 1] - dag->predecessor_begin[b]) return false;
  return count == 0 || memcmp(&dag->predecessors[dag->predecessor_begin[a]],
                              &dag->predecessors[dag->predecessor_begin[b]], count * sizeof *dag->predecessors) == 0;
}

/* Nodes with the same predecessors are of one class; without a dag every node is a class of its own. */
static bool find_classes(struct pass *pass) {
  uint32_t node_count = pass->pipeline->node_count, class_count = 0;
  size_t capacity = 4;
  while (capacity / 2 < node_count) capacity *= 2;
  uint64_t *hashes = gr_memory_allocate_zeroed(pass->memory, pass->dag ? capacity : 1, sizeof *hashes);
  uint32_t *firsts = gr_memory_allocate_zeroed(pass->memory, pass->dag ? capacity : 1, sizeof *firsts); /* plus one */
  pass->class_of_node = gr_memory_allocate_zeroed(pass->memory, node_count, sizeof *pass->class_of_node);
  pass->classes = gr_memory_allocate_zeroed(pass->memory, node_count, sizeof *pass->classes);
  bool done = hashes && firsts && pass->class_of_node && pass->classes;
  for (uint32_t i = 0; done && i < node_count; i++) {
    uint64_t hash = pass->dag ? hash_predecessors(pass->dag, i) : 0;
    size_t at = (size_t)hash & (capacity - 1);
    while (pass->dag && firsts[at] != 0 && !(hashes[at] == hash && same_predecessors(pass->dag, firsts[at] - 1, i))) {
      at = (at + 1) & (capacity - 1);
    }
    if (pass->dag && firsts[at] != 0) {
      pass->class_of_node[i] = pass->class_of_node[firsts[at] - 1];
      continue;
    }
    if (pass->dag) {
      firsts[at] = i + 1;
      hashes[at] = hash;
    }
    pass->class_of_node[i] = class_count;
    pass->classes[class_count++] = pass->frontier.next_class++;
  }
  gr_memory_release(pass->memory, hashes);
  gr_memory_release(pass->memory, firsts);
  return done;
}

/* ---- one buffer ---- */

static void tell_use(struct pass *pass, uint32_t use_index) {
  const struct gr_dag_use *use = &pass->frontier.uses[use_index];
  uint32_t *class = &pass->classes[pass->class_of_node[use->node]];
  pass->has_undefined = false;
  pass->undefined_count = 0;
  if (use->access == GR_ACCESS_READ) gr_frontier_read(&pass->frontier, use_index, class);
  if (use->access == GR_ACCESS_UPDATE && pass->frontier.rules.undefined) gr_frontier_peek(&pass->frontier, use_index);
  report_undefined(pass, pass->pipeline->references[use->reference_index].mark, "reads",
                   pass->pipeline->nodes[use->node].name, ", which nothing has written before");
  if (use->access != GR_ACCESS_READ) gr_frontier_write(&pass->frontier, use_index, class);
}

static void report_unwritten(struct pass *pass) {
  const struct gr_buffer *buffer = pass->buffer;
  pass->has_undefined = false;
  pass->undefined_count = 0;
  gr_frontier_unwritten(&pass->frontier);
  if (buffer->save) {
    report_undefined(pass, buffer->save_mark, "is saved, but nothing writes", buffer->name, "");
  } else {
    report_undefined(pass, buffer->expect->mark, "has an expectation, but nothing writes", buffer->name, "");
  }
}

static void report_exhausted(struct pass *pass, const struct gr_dag_use *last, uint64_t uses_left) {
  const struct gr_buffer *buffer = pass->buffer;
  if (pass->edges) {
    pass->has_too_many_edges = true;
    gr_diagnostics_error(pass->diagnostics, buffer->mark,
                         "the accesses of %s overlap in too many ways to put them in file order; order the nodes with "
                         "\"after\" and \"order: explicit\"",
                         gr_view_quote(gr_view_of(buffer->name)).text);
    return;
  }
  pass->unchecked_count += uses_left;
  gr_diagnostics_warning(
      pass->diagnostics, buffer->mark,
      "the accesses of %s are too many to check them all: races from the access by %s on are not found",
      gr_view_quote(gr_view_of(buffer->name)).text,
      gr_view_quote(gr_view_of(pass->pipeline->nodes[last->node].name)).text);
}

/* Each use has a path to the next one: then all are in order, and in how many pieces they overlap is of no interest. */
static bool is_line(const struct pass *pass, const struct gr_dag_use *uses, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    if (gr_reach_quick(pass->reach, uses[i - 1].node, uses[i].node) != GR_REACH_YES) return false;
  }
  return true;
}

static void check_buffer(struct pass *pass, uint32_t index, bool asks) {
  const struct gr_buffer *buffer = &pass->pipeline->buffers[index];
  struct gr_frontier *frontier = &pass->frontier;
  const struct gr_dag_use *uses = pass->uses + pass->use_begin[index];
  uint32_t count = (uint32_t)(pass->use_begin[index + 1] - pass->use_begin[index]), accesses = 0, told = 0;
  for (uint32_t i = 0; i < count; i++) accesses |= uses[i].access;
  bool is_kept = buffer->save || buffer->expect;
  bool has_meetings = asks && count > 1 && (accesses & GR_ACCESS_WRITE);
  bool may_be_undefined = !buffer->init && buffer->element_count > 0 && (is_kept || (accesses & GR_ACCESS_READ));
  if (has_meetings && pass->dag && is_line(pass, uses, count)) has_meetings = false;
  if (!has_meetings && !may_be_undefined) return;
  pass->buffer = buffer;
  forget_pairs(pass->memory, &pass->told);
  frontier->rules.context = pass;
  frontier->rules.meet = !has_meetings ? NULL : pass->edges ? add_edge : has_path;
  frontier->rules.is_before = frontier->rules.meet == has_path ? is_before : NULL;
  frontier->rules.undefined = may_be_undefined ? note_undefined : NULL;
  frontier->is_exhausted = false;
  frontier->visits_left = pass->pool + (count + 1) * visits_per_use;
  gr_frontier_begin(frontier, index, uses, count);
  while (told < count && !frontier->is_exhausted && !frontier->out_of_memory) tell_use(pass, told++);
  if (may_be_undefined && is_kept) report_unwritten(pass);
  if (frontier->out_of_memory) pass->out_of_memory = true;
  if (frontier->is_exhausted && !pass->out_of_memory && told > 0) {
    report_exhausted(pass, &uses[told - 1], count - told + 1);
  }
  if (frontier->visits_left < pass->pool) pass->pool = frontier->visits_left;
}

static bool check_buffers(struct pass *pass, bool asks) {
  gr_frontier_init(&pass->frontier, pass->memory, pass->pipeline);
  bool done = collect_uses(pass) && find_classes(pass);
  pass->pool = visit_budget;
  for (uint32_t i = 0; done && i < pass->pipeline->buffer_count; i++) {
    check_buffer(pass, i, asks);
    done = !pass->out_of_memory;
    if (pass->has_too_many_edges) break;
  }
  gr_frontier_release(&pass->frontier);
  gr_memory_release(pass->memory, pass->uses);
  gr_memory_release(pass->memory, pass->use_begin);
  gr_memory_release(pass->memory, pass->class_of_node);
  gr_memory_release(pass->memory, pass->classes);
  gr_memory_release(pass->memory, pass->told.places);
  return done;
}

bool gr_dag_add_data_edges(const struct gr_pipeline *pipeline, struct gr_diagnostics *diagnostics,
                           struct gr_dag_edges *edges) {
  struct pass pass = {.memory = edges->memory, .pipeline = pipeline, .diagnostics = diagnostics, .edges = edges};
  pass.last_to = gr_memory_allocate_zeroed(edges->memory, pipeline->node_count, sizeof *pass.last_to);
  bool done = pass.last_to && check_buffers(&pass, true);
  gr_memory_release(edges->memory, pass.last_to);
  return done;
}

bool gr_dag_check_conflicts(const struct gr_dag *dag, const struct gr_pipeline *pipeline,
                            struct gr_diagnostics *diagnostics, uint64_t *unchecked_pair_count) {
  struct pass pass = {.memory = dag->arena.memory, .pipeline = pipeline, .dag = dag, .diagnostics = diagnostics};
  bool asks = pipeline->races != GR_RACES_ALLOW;
  if (asks) {
    pass.reach = gr_reach_create(pass.memory, dag, reach_budget);
    if (!pass.reach) return false;
  }
  bool done = check_buffers(&pass, asks);
  gr_reach_destroy(pass.reach);
  if (done) *unchecked_pair_count = pass.unchecked_count;
  return done;
}
