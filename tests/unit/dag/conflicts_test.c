#include <stdlib.h>

#include "tests/unit/dag/support.h"

static struct gr_memory memory;

static void set_up(void) { gr_memory_init(&memory, NULL); }
static void tear_down(void) { ck_assert_uint_eq(memory.live_count, 0); }

/* Builds and compares all messages, one a line: "line:column severity: message". */
static void expect_messages(struct gr_pipeline *pipeline, enum gr_status status, const char *expected) {
  struct outcome outcome = build_dag(&memory, pipeline);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_text_append_text(&text, "");
  for (uint32_t i = 0; i < outcome.diagnostics.kept_count; i++) {
    const struct gr_diagnostic *diagnostic = &outcome.diagnostics.kept[i];
    gr_text_append_format(&text, "%u:%u %s: %s\n", diagnostic->mark.line, diagnostic->mark.column,
                          diagnostic->severity == GR_SEVERITY_ERROR ? "error" : "warning", diagnostic->message);
  }
  ck_assert_str_eq(text.bytes ? text.bytes : "", expected);
  ck_assert_int_eq(outcome.status, status);
  ck_assert(!outcome.dag == (status != GR_OK));
  gr_text_release(&text);
  drop(&outcome);
  graph_destroy(pipeline);
}

static void expect_text(const char *text, enum gr_status status, const char *expected) {
  expect_messages(graph_from_text(&memory, text), status, expected);
}

START_TEST(write_and_write_is_a_race) {
  expect_text("x=[16]+init a:w:x b:w:x[8:16]", GR_ERR_INVALID,
              "2:1 error: race: \"a\" (line 1) writes x[0:16] and \"b\" (line 2) writes x[8:16] with no path between "
              "them; both touch x[8:16] (bytes 32 to 63); add \"a\" to the \"after\" of \"b\", or give the order that "
              "is meant in another way\n");
}
END_TEST

START_TEST(read_then_write_is_a_race) {
  expect_text("x=[16]+init a:r:x[0:9] b:w:x[8:16]", GR_ERR_INVALID,
              "2:1 error: race: \"a\" (line 1) reads x[0:9] and \"b\" (line 2) writes x[8:16] with no path between "
              "them; both touch x[8:9] (bytes 32 to 35); add \"a\" to the \"after\" of \"b\", or give the order that "
              "is meant in another way\n");
}
END_TEST

START_TEST(write_then_read_is_a_race) {
  expect_text("x=[2,4]+init a:u:x[0:2,0:2] b:r:x[1:2,1:4]", GR_ERR_INVALID,
              "2:1 error: race: \"a\" (line 1) updates x[0:2, 0:2] and \"b\" (line 2) reads x[1:2, 1:4] with no path "
              "between them; both touch x[1:2, 1:2] (bytes 20 to 23); add \"a\" to the \"after\" of \"b\", or give the "
              "order that is meant in another way\n");
}
END_TEST

START_TEST(a_path_is_order) {
  expect_text("x=[16]+init a>m>b a:w:x b:w:x", GR_OK, "");
  expect_text("x=[16]+init a>m>b a:w:x b:r:x c:r:x a>c", GR_OK, "");
}
END_TEST

START_TEST(reads_and_other_bytes_are_no_race) {
  expect_text("x=[16]+init a:r:x b:r:x", GR_OK, "");
  expect_text("x=[16]+init a:w:x[0:8] b:w:x[8:16]", GR_OK, "");
  /* columns interleave in memory, but no byte is common */
  expect_text("x=[4,4]+init a:w:x[0:4,0:2] b:w:x[0:4,2:4]", GR_OK, "");
  expect_text("x=[16]+init a:w:x[4:4] b:w:x", GR_OK, "");
  expect_text("x=[]+init a:r:x b:r:x", GR_OK, "");
}
END_TEST

START_TEST(a_scalar_has_no_range) {
  expect_text("x=[]+init a:r:x b:w:x", GR_ERR_INVALID,
              "2:1 error: race: \"a\" (line 1) reads x and \"b\" (line 2) writes x with no path between them; both "
              "touch x (bytes 0 to 3); add \"a\" to the \"after\" of \"b\", or give the order that is meant in another "
              "way\n");
}
END_TEST

/* One report for two nodes and a buffer, however many pieces their accesses fall into. */
START_TEST(a_pair_is_told_once) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[16]+init p>a p>b p:w:x[3:5] p:w:x[9:11] a:w:x b:w:x");
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_uint_eq(outcome.diagnostics.error_count, 1);
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

/* What was found out for one node holds for another with the same predecessors, but not beyond a write in between. */
START_TEST(a_write_between_two_equal_readers) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[16]+init p>a>w p>b p:w:x a:r:x w:w:x[0:4] b:r:x");
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_uint_eq(outcome.diagnostics.error_count, 1);
  ck_assert_ptr_nonnull(strstr(outcome.diagnostics.kept[0].message, "\"w\" (line 3) writes x[0:4] and \"b\" (line 4)"));
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

/* A node is in order with itself, which says nothing of others with the same predecessors. */
START_TEST(a_reader_that_writes_elsewhere) {
  struct gr_pipeline *pipeline =
      graph_from_text(&memory, "x=[16]+init p q>v q>s p:r:x[12:16] q:r:x[0:8] v:r:x v:w:x[0:4] s:w:x[4:8]");
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_uint_eq(outcome.diagnostics.error_count, 1);
  ck_assert_ptr_nonnull(strstr(outcome.diagnostics.kept[0].message, "\"s\" (line 4) writes x[4:8]"));
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

/* All races of one pass: neither of the two writers hides the other from the reader. */
START_TEST(races_do_not_hide_each_other) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[16]+init a:w:x b:w:x[0:8] c:r:x");
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_uint_eq(outcome.diagnostics.error_count, 3);
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

START_TEST(races_may_be_warnings_or_allowed) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[16]+init a:w:x b:w:x");
  pipeline->races = GR_RACES_WARN;
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_OK);
  ck_assert_uint_eq(outcome.diagnostics.warning_count, 1);
  drop(&outcome);
  pipeline->races = GR_RACES_ALLOW;
  expect_messages(pipeline, GR_OK, "");
}
END_TEST

START_TEST(reads_of_unwritten_bytes_are_warnings) {
  expect_text(
      "x=[16] a>b a:w:x[4:8] b:r:x", GR_OK,
      "2:1 warning: \"b\" reads x[0:4] (bytes 0 to 15) and 8 more elements, which nothing has written before\n");
  expect_text("x=[16] a:u:x[2:4]", GR_OK,
              "1:1 warning: \"a\" reads x[2:4] (bytes 8 to 15), which nothing has written before\n");
  expect_text("x=[16] a>b a:w:x[0:8] b:r:x[4:8]", GR_OK, "");
  expect_text("x=[16] a>b a:r:x[0:0] b:w:x", GR_OK, "");
}
END_TEST

START_TEST(unwritten_bytes_are_told_with_races_allowed) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[16] a>b a:w:x[0:12] b:r:x");
  pipeline->races = GR_RACES_ALLOW;
  expect_messages(pipeline, GR_OK,
                  "2:1 warning: \"b\" reads x[12:16] (bytes 48 to 63), which nothing has written before\n");
}
END_TEST

START_TEST(outputs_that_nothing_writes_are_warnings) {
  expect_text("x=[16]+save a:w:x[0:12]", GR_OK,
              "100:3 warning: \"x\" is saved, but nothing writes x[12:16] (bytes 48 to 63)\n");
  expect_text("x=[16]+expect b", GR_OK,
              "100:3 warning: \"x\" has an expectation, but nothing writes x[0:16] (bytes 0 to 63)\n");
  expect_text("x=[16]+save+init a", GR_OK, "");
  expect_text("x=[0]+save a", GR_OK, "");
}
END_TEST

START_TEST(data_order_follows_the_file) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[16] a:w:x b:r:x c:r:x[0:4] d:w:x[0:2] e:r:x");
  pipeline->order = GR_ORDER_DATA;
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_OK);
  struct gr_text text;
  gr_text_init(&text, &memory);
  for (uint32_t i = 0; i < outcome.dag->node_count; i++) {
    for (uint64_t k = outcome.dag->successor_begin[i]; k < outcome.dag->successor_begin[i + 1]; k++) {
      gr_text_append_format(&text, "%s>%s ", pipeline->nodes[i].name, pipeline->nodes[outcome.dag->successors[k]].name);
    }
  }
  ck_assert_str_eq(text.bytes, "a>b a>c a>e b>d c>d d>e ");
  ck_assert_uint_eq(outcome.dag->declared_edge_count, 0);
  gr_text_release(&text);
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

START_TEST(data_order_against_after_is_a_cycle) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "a:w:x b:r:x b>a");
  pipeline->order = GR_ORDER_DATA;
  expect_messages(
      pipeline, GR_ERR_INVALID,
      "1:10 error: nodes in a cycle: a (line 1) -[data: x]-> b (line 2) -> a; by \"order: data\" nodes that "
      "touch the same bytes keep the order of the file\n");
  pipeline = graph_from_text(&memory, "a:w:x[0:4] a:w:y b:r:x[4:8] b:w:z c:r:z c:r:y b>c d:r:y c>a");
  pipeline->order = GR_ORDER_DATA;
  expect_messages(
      pipeline, GR_ERR_INVALID,
      "2:1 warning: \"b\" reads x[4:8] (bytes 16 to 31), which nothing has written before\n"
      "1:10 error: nodes in a cycle: a (line 1) -[data: y]-> c (line 3) -> a; by \"order: data\" nodes that "
      "touch the same bytes keep the order of the file\n");
}
END_TEST

static bool is_racing(const struct gr_pipeline *pipeline, const struct closure *closure, uint32_t a, uint32_t b) {
  return !closure->reaches[a][b] && !closure->reaches[b][a] && conflict(pipeline, a, b);
}

/* Exactly the graphs with a race are refused, and each message names a pair that races. */
START_TEST(races_are_those_of_brute_force) {
  for (uint64_t seed = (uint64_t)_i * 6000; seed < (uint64_t)(_i + 1) * 6000; seed++) {
    struct gr_pipeline *pipeline = random_pipeline(&memory, seed, seed % 2 == 0);
    struct closure closure;
    uint64_t racing_count = 0;
    closure_of_after(pipeline, &closure);
    for (uint32_t i = 0; i < pipeline->node_count; i++) {
      for (uint32_t k = 0; k < i; k++) racing_count += is_racing(pipeline, &closure, i, k);
    }
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_msg((racing_count > 0) == (outcome.status == GR_ERR_INVALID), "seed %lu", (unsigned long)seed);
    ck_assert_msg(outcome.diagnostics.error_count <= 2 * racing_count, "seed %lu", (unsigned long)seed);
    for (uint32_t i = 0; i < outcome.diagnostics.kept_count; i++) {
      unsigned a, b, line;
      const char *message = outcome.diagnostics.kept[i].message;
      if (outcome.diagnostics.kept[i].severity != GR_SEVERITY_ERROR) continue;
      ck_assert_int_eq(sscanf(message, "race: \"n%u\" (line %u)", &a, &line), 2);
      ck_assert_int_eq(sscanf(strstr(message, " and \"n"), " and \"n%u\"", &b), 1);
      ck_assert_msg(is_racing(pipeline, &closure, a, b), "seed %lu: %s", (unsigned long)seed, message);
    }
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

/* Marks what a node does to every element of every buffer, as if nodes ran in `order`; counts accesses that read
 * something unwritten. */
static uint64_t count_undefined(const struct gr_pipeline *pipeline, const uint32_t *order) {
  static bool written[2][125];
  uint64_t count = 0;
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
    memset(written[i], pipeline->buffers[i].init != NULL, sizeof written[i]);
  }
  for (uint32_t i = 0; i < 2 * pipeline->node_count; i++) {
    const struct gr_node *node = &pipeline->nodes[order[i / 2]];
    for (uint32_t k = 0; k < node->access_count; k++) {
      const struct gr_node_access *access = &pipeline->accesses[node->first_access + k];
      const struct gr_reference *reference = &pipeline->references[access->reference_index];
      const uint64_t *shape = pipeline->buffers[reference->buffer_index].shape;
      if ((access->access == GR_ACCESS_READ) != (i % 2 == 0)) continue;
      bool is_undefined = false;
      for (uint64_t element = 0; element < pipeline->buffers[reference->buffer_index].element_count; element++) {
        uint64_t rest = element;
        bool is_inside = true;
        for (uint32_t d = reference->rank; d-- > 0; rest /= shape[d]) {
          uint64_t at = rest % shape[d], start = reference->starts ? reference->starts[d] : 0;
          is_inside &= start <= at && at < start + reference->extents[d];
        }
        if (!is_inside) continue;
        if ((access->access & GR_ACCESS_READ) && !written[reference->buffer_index][element]) is_undefined = true;
        if (access->access & GR_ACCESS_WRITE) written[reference->buffer_index][element] = true;
      }
      count += is_undefined;
    }
  }
  return count;
}

START_TEST(undefined_reads_are_those_of_brute_force) {
  for (uint64_t seed = (uint64_t)_i * 1000; seed < (uint64_t)(_i + 1) * 1000; seed++) {
    struct gr_pipeline *pipeline = random_pipeline(&memory, seed, seed % 3 == 0);
    pipeline->races = GR_RACES_ALLOW;
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_int_eq(outcome.status, GR_OK);
    uint64_t expected = count_undefined(pipeline, outcome.dag->order);
    ck_assert_msg(outcome.diagnostics.warning_count == expected, "seed %lu", (unsigned long)seed);
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

/* `order: data` orders exactly what file order demands. */
START_TEST(data_order_is_that_of_brute_force) {
  for (uint64_t seed = (uint64_t)_i * 2000; seed < (uint64_t)(_i + 1) * 2000; seed++) {
    struct gr_pipeline *pipeline = random_pipeline(&memory, seed, true);
    struct closure expected, got;
    pipeline->order = GR_ORDER_DATA;
    closure_of_after(pipeline, &expected);
    for (uint32_t i = 0; i < pipeline->node_count; i++) {
      for (uint32_t k = i + 1; k < pipeline->node_count; k++) {
        if (conflict(pipeline, i, k)) expected.reaches[i][k] = true;
      }
    }
    close_paths(&expected, pipeline->node_count);
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_int_eq(outcome.status, GR_OK);
    closure_of_dag(outcome.dag, &got);
    ck_assert_msg(memcmp(&expected, &got, sizeof got) == 0, "seed %lu", (unsigned long)seed);
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

/* Every allocation fails once: no memory, no leak, the output as it was. */
START_TEST(nth_allocation_fails) {
  for (uint64_t seed = 0; seed < 40; seed++) {
    struct gr_pipeline *pipeline = random_pipeline(&memory, seed, true);
    pipeline->order = seed % 2 ? GR_ORDER_DATA : GR_ORDER_EXPLICIT;
    uint64_t live = memory.live_count;
    for (uint64_t n = 1;; n++) {
      struct gr_diagnostics diagnostics;
      struct gr_dag *dag = NULL;
      ck_assert(gr_diagnostics_init(&diagnostics, &memory, "graph.yaml"));
      memory.fail_at = memory.call_count + n;
      enum gr_status status = gr_dag_build(&memory, pipeline, &diagnostics, &dag);
      bool has_failed = memory.call_count >= memory.fail_at;
      memory.fail_at = 0;
      if (has_failed) ck_assert_int_eq(status, GR_ERR_NO_MEMORY);
      ck_assert(!dag == (status != GR_OK));
      gr_dag_destroy(dag);
      gr_diagnostics_release(&diagnostics);
      ck_assert_uint_eq(memory.live_count, live);
      if (!has_failed) break;
    }
    graph_destroy(pipeline);
  }
}
END_TEST

enum { MANY = 200000 };

/* A line of nodes that all update the same buffer, and a fan that reads it and is joined by a writer. */
START_TEST(long_chains_and_wide_fans) {
  for (uint32_t shape = 0; shape < 2; shape++) {
    for (uint32_t order = 0; order < 2; order++) {
      struct graph_builder *builder = graph_builder_create(&memory);
      uint32_t x = graph_builder_buffer(builder, "x", 1, &(uint64_t){4});
      for (uint32_t i = 0; i < MANY; i++) graph_builder_node(builder, "n");
      graph_builder_access(builder, 0, GR_ACCESS_WRITE, x, NULL, NULL);
      for (uint32_t i = 1; i < MANY; i++) {
        bool is_last = i == MANY - 1;
        graph_builder_access(builder, i, shape == 0 || is_last ? GR_ACCESS_UPDATE : GR_ACCESS_READ, x, NULL, NULL);
        if (shape == 0) graph_builder_edge(builder, i - 1, i);
        else if (!is_last) graph_builder_edge(builder, 0, i), graph_builder_edge(builder, i, MANY - 1);
      }
      struct gr_pipeline *pipeline = graph_builder_finish(builder);
      pipeline->order = order ? GR_ORDER_DATA : GR_ORDER_EXPLICIT;
      struct outcome outcome = build_dag(&memory, pipeline);
      ck_assert_int_eq(outcome.status, GR_OK);
      ck_assert_uint_eq(outcome.diagnostics.warning_count, 0);
      ck_assert_uint_eq(outcome.dag->unchecked_pair_count, 0);
      ck_assert_uint_eq(outcome.dag->level_count, shape == 0 ? MANY : 3);
      drop(&outcome);
      graph_destroy(pipeline);
    }
  }
}
END_TEST

/* Writers of one slice each, a barrier, readers of everything, a barrier, and writers again: no pair is asked about on
 * its own. With `is_broken` one edge to the first barrier is missing. */
static struct gr_pipeline *phases(uint32_t width, bool is_broken) {
  struct graph_builder *builder = graph_builder_create(&memory);
  uint64_t one = 1;
  uint32_t x = graph_builder_buffer(builder, "x", 1, &(uint64_t){width});
  for (uint32_t phase = 0; phase < 3; phase++) {
    for (uint32_t i = 0; i < width; i++) {
      uint32_t node = graph_builder_node(builder, "n");
      uint64_t start = i;
      if (phase == 1) graph_builder_access(builder, node, GR_ACCESS_READ, x, NULL, NULL);
      else graph_builder_access(builder, node, GR_ACCESS_WRITE, x, &start, &one);
      if (phase > 0) graph_builder_edge(builder, phase * (width + 1) - 1, node);
      if (phase < 2 && !(is_broken && node == width / 2)) {
        graph_builder_edge(builder, node, (phase + 1) * (width + 1) - 1);
      }
    }
    if (phase < 2) graph_builder_node(builder, "barrier");
  }
  return graph_builder_finish(builder);
}

START_TEST(phases_behind_barriers) {
  struct gr_pipeline *pipeline = phases(MANY / 3, false);
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_OK);
  ck_assert_uint_eq(outcome.diagnostics.warning_count, 0);
  ck_assert_uint_eq(outcome.dag->unchecked_pair_count, 0);
  drop(&outcome);
  graph_destroy(pipeline);
  pipeline = phases(1000, true);
  outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_ERR_INVALID);
  ck_assert_uint_ge(outcome.diagnostics.error_count, 1000); /* every reader, and the writer after */
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

/* One piece each for many writers, and then a long line of nodes that all read everything: each piece is asked about
 * for the first of them only. */
START_TEST(a_chain_of_readers_of_many_pieces) {
  struct graph_builder *builder = graph_builder_create(&memory);
  uint32_t width = 20000, barrier, x = graph_builder_buffer(builder, "x", 1, &(uint64_t){width});
  uint64_t one = 1;
  for (uint64_t i = 0; i < width; i++) {
    graph_builder_access(builder, graph_builder_node(builder, "n"), GR_ACCESS_WRITE, x, &i, &one);
  }
  barrier = graph_builder_node(builder, "barrier");
  for (uint32_t i = 0; i < width; i++) graph_builder_edge(builder, i, barrier);
  for (uint32_t i = 0; i < width; i++) {
    uint32_t node = graph_builder_node(builder, "n");
    graph_builder_edge(builder, node - 1, node);
    graph_builder_access(builder, node, GR_ACCESS_READ, x, NULL, NULL);
  }
  struct gr_pipeline *pipeline = graph_builder_finish(builder);
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_OK);
  ck_assert_uint_eq(outcome.diagnostics.warning_count, 0);
  ck_assert_uint_eq(outcome.dag->unchecked_pair_count, 0);
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

/* Rectangles of any size and place: in a line there is nothing to ask; in file order there is one edge for two nodes,
 * however many pieces they have in common. */
START_TEST(rectangles_of_any_size) {
  for (uint32_t order = 0; order < 2; order++) {
    struct graph_builder *builder = graph_builder_create(&memory);
    uint64_t state = 11, shape[2] = {10000, 10000};
    uint32_t count = order ? 1500 : 20000, x = graph_builder_buffer(builder, "x", 2, shape);
    graph_builder_init(builder, x);
    for (uint32_t i = 0; i < count; i++) {
      uint64_t starts[2], extents[2];
      for (uint32_t d = 0; d < 2; d++) {
        starts[d] = graph_random_below(&state, 10000);
        extents[d] = 1 + graph_random_below(&state, (uint32_t)(10000 - starts[d]));
      }
      graph_builder_node(builder, "n");
      graph_builder_access(builder, i, i % 3 ? GR_ACCESS_READ : GR_ACCESS_UPDATE, x, starts, extents);
      if (order == 0 && i > 0) graph_builder_edge(builder, i - 1, i);
    }
    struct gr_pipeline *pipeline = graph_builder_finish(builder);
    pipeline->order = order ? GR_ORDER_DATA : GR_ORDER_EXPLICIT;
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_int_eq(outcome.status, GR_OK);
    ck_assert_uint_eq(outcome.diagnostics.warning_count, 0);
    ck_assert_uint_eq(outcome.dag->unchecked_pair_count, 0);
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

/* Nothing is ordered: the check ends, and says no. */
START_TEST(a_crowd_without_any_order) {
  struct graph_builder *builder = graph_builder_create(&memory);
  uint32_t x = graph_builder_buffer(builder, "x", 1, &(uint64_t){4});
  for (uint32_t i = 0; i < MANY; i++) {
    graph_builder_access(builder, graph_builder_node(builder, "n"), GR_ACCESS_WRITE, x, NULL, NULL);
  }
  struct gr_pipeline *pipeline = graph_builder_finish(builder);
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_ERR_INVALID);
  ck_assert_uint_ge(outcome.diagnostics.error_count, MANY - 1);
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

/* Many slices, each with its own chain, in one buffer: neighbours do not touch. */
START_TEST(many_slices_of_one_buffer) {
  for (uint32_t order = 0; order < 2; order++) {
    struct graph_builder *builder = graph_builder_create(&memory);
    uint32_t chains = 300, steps = 300;
    uint64_t extents[2] = {1, 1};
    uint32_t x = graph_builder_buffer(builder, "x", 2, (uint64_t[]){20, 15});
    for (uint32_t step = 0; step < steps; step++) {
      for (uint32_t i = 0; i < chains; i++) {
        uint32_t node = graph_builder_node(builder, "n");
        uint64_t starts[2] = {i / 15, i % 15};
        graph_builder_access(builder, node, step == 0 ? GR_ACCESS_WRITE : GR_ACCESS_UPDATE, x, starts, extents);
        if (step > 0) graph_builder_edge(builder, node - chains, node);
      }
    }
    struct gr_pipeline *pipeline = graph_builder_finish(builder);
    pipeline->order = order ? GR_ORDER_DATA : GR_ORDER_EXPLICIT;
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_int_eq(outcome.status, GR_OK);
    ck_assert_uint_eq(outcome.diagnostics.warning_count, 0);
    ck_assert_uint_eq(outcome.dag->edge_count, (steps - 1) * chains);
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("conflicts");
  TCase *words = tcase_create("words");
  tcase_add_checked_fixture(words, set_up, tear_down);
  tcase_add_test(words, write_and_write_is_a_race);
  tcase_add_test(words, read_then_write_is_a_race);
  tcase_add_test(words, write_then_read_is_a_race);
  tcase_add_test(words, a_path_is_order);
  tcase_add_test(words, reads_and_other_bytes_are_no_race);
  tcase_add_test(words, a_scalar_has_no_range);
  tcase_add_test(words, a_pair_is_told_once);
  tcase_add_test(words, a_reader_that_writes_elsewhere);
  tcase_add_test(words, a_write_between_two_equal_readers);
  tcase_add_test(words, races_do_not_hide_each_other);
  tcase_add_test(words, races_may_be_warnings_or_allowed);
  tcase_add_test(words, reads_of_unwritten_bytes_are_warnings);
  tcase_add_test(words, unwritten_bytes_are_told_with_races_allowed);
  tcase_add_test(words, outputs_that_nothing_writes_are_warnings);
  tcase_add_test(words, data_order_follows_the_file);
  tcase_add_test(words, data_order_against_after_is_a_cycle);
  suite_add_tcase(suite, words);
  TCase *properties = tcase_create("properties");
  tcase_add_checked_fixture(properties, set_up, tear_down);
  tcase_set_timeout(properties, 120);
  tcase_add_loop_test(properties, races_are_those_of_brute_force, 0, 4);
  tcase_add_loop_test(properties, undefined_reads_are_those_of_brute_force, 0, 4);
  tcase_add_loop_test(properties, data_order_is_that_of_brute_force, 0, 4);
  tcase_add_test(properties, nth_allocation_fails);
  suite_add_tcase(suite, properties);
  TCase *large = tcase_create("large");
  tcase_add_checked_fixture(large, set_up, tear_down);
  tcase_set_timeout(large, 120);
  tcase_add_test(large, long_chains_and_wide_fans);
  tcase_add_test(large, phases_behind_barriers);
  tcase_add_test(large, a_chain_of_readers_of_many_pieces);
  tcase_add_test(large, rectangles_of_any_size);
  tcase_add_test(large, a_crowd_without_any_order);
  tcase_add_test(large, many_slices_of_one_buffer);
  suite_add_tcase(suite, large);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
