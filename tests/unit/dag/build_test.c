#include <stdlib.h>

#include "tests/unit/dag/support.h"

static struct gr_memory memory;

static void set_up(void) { gr_memory_init(&memory, NULL); }
static void tear_down(void) { ck_assert_uint_eq(memory.live_count, 0); }

static bool ascends(const uint32_t *items, uint64_t begin, uint64_t end) {
  for (uint64_t k = begin + 1; k < end; k++) {
    if (items[k - 1] >= items[k]) return false;
  }
  return true;
}

/* Everything that dag.h promises of a node's edges and of its level. `place` is where the nodes stand in the order,
 * plus one. */
static bool is_right(const struct gr_dag *dag, uint32_t node, const uint32_t *place) {
  uint32_t level = 0;
  for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
    uint32_t from = dag->predecessors[k];
    if (place[from] >= place[node]) return false;
    if (dag->level[from] + 1 > level) level = dag->level[from] + 1;
  }
  return dag->level[node] == level && place[node] > 0 &&
         ascends(dag->predecessors, dag->predecessor_begin[node], dag->predecessor_begin[node + 1]) &&
         ascends(dag->successors, dag->successor_begin[node], dag->successor_begin[node + 1]);
}

static void verify(const struct gr_dag *dag) {
  uint32_t *place = gr_memory_allocate_zeroed(&memory, dag->node_count, sizeof *place);
  uint32_t level_count = 0, wrong = 0;
  ck_assert_uint_eq(dag->successor_begin[0], 0);
  ck_assert_uint_eq(dag->predecessor_begin[0], 0);
  ck_assert_uint_eq(dag->successor_begin[dag->node_count], dag->edge_count);
  ck_assert_uint_eq(dag->predecessor_begin[dag->node_count], dag->edge_count);
  for (uint32_t i = 0; i < dag->node_count; i++) place[dag->order[i]] = i + 1;
  for (uint32_t i = 0; i < dag->node_count; i++) {
    wrong += !is_right(dag, i, place);
    if (dag->level[i] + 1 > level_count) level_count = dag->level[i] + 1;
  }
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(dag->level_count, level_count);
  gr_memory_release(&memory, place);
}

/* Among the nodes that are ready the first in the file comes first: what a slow and simple search finds. */
static void verify_file_order(const struct gr_dag *dag) {
  bool is_done[SMALL_MAX] = {false};
  for (uint32_t p = 0; p < dag->node_count; p++) {
    uint32_t node = 0;
    for (;; node++) {
      bool is_ready = !is_done[node];
      for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
        is_ready &= is_done[dag->predecessors[k]];
      }
      if (is_ready) break;
    }
    if (dag->order[p] != node) ck_abort_msg("place %u", p);
    is_done[node] = true;
  }
}

static void expect_errors(struct gr_pipeline *pipeline, const char *expected) {
  struct outcome outcome = build_dag(&memory, pipeline);
  struct gr_text text;
  gr_text_init(&text, &memory);
  for (uint32_t i = 0; i < outcome.diagnostics.kept_count; i++) {
    const struct gr_diagnostic *diagnostic = &outcome.diagnostics.kept[i];
    gr_text_append_format(&text, "%u:%u %s\n", diagnostic->mark.line, diagnostic->mark.column, diagnostic->message);
  }
  ck_assert_int_eq(outcome.status, GR_ERR_INVALID);
  ck_assert_ptr_null(outcome.dag);
  ck_assert_str_eq(text.bytes, expected);
  gr_text_release(&text);
  drop(&outcome);
  graph_destroy(pipeline);
}

START_TEST(a_diamond) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "a>b,c>d a>d");
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_OK);
  ck_assert_uint_eq(outcome.dag->edge_count, 5);
  ck_assert_uint_eq(outcome.dag->declared_edge_count, 5);
  ck_assert_uint_eq(outcome.dag->level_count, 3);
  ck_assert_uint_eq(outcome.dag->level[graph_node(pipeline, "d")], 2);
  verify(outcome.dag);
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

START_TEST(only_the_cycle_is_told) {
  expect_errors(graph_from_text(&memory, "d>a>b>c>a c>e"),
                "2:11 nodes in a cycle: a (line 2) -> b (line 3) -> c (line 4) -> a\n");
}
END_TEST

START_TEST(a_node_after_itself) {
  expect_errors(graph_from_text(&memory, "a b b>b b>c"), "2:10 a node that comes after itself: b (line 2) -> b\n");
}
END_TEST

START_TEST(each_cycle_once) {
  expect_errors(graph_from_text(&memory, "a>b>a x>y>z>x b>x"),
                "1:10 nodes in a cycle: a (line 1) -> b (line 2) -> a\n"
                "3:10 nodes in a cycle: x (line 3) -> y (line 4) -> z (line 5) -> x\n");
}
END_TEST

/* Of a knot the shortest way round its first node. */
START_TEST(the_shortest_cycle) {
  expect_errors(graph_from_text(&memory, "a>b>c>d>a c>a"),
                "1:11 nodes in a cycle: a (line 1) -> b (line 2) -> c (line 3) -> a\n");
}
END_TEST

START_TEST(a_long_cycle_is_cut) {
  struct graph_builder *builder = graph_builder_create(&memory);
  uint32_t count = 200000;
  for (uint32_t i = 0; i < count; i++) graph_builder_node(builder, "n");
  for (uint32_t i = 0; i < count; i++) graph_builder_edge(builder, i, (i + 1) % count);
  struct gr_pipeline *pipeline = graph_builder_finish(builder);
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_ERR_INVALID);
  const char *message = outcome.diagnostics.kept[0].message;
  ck_assert_ptr_nonnull(strstr(message, "n (line 20) -> ... 199975 more ... -> n (line 199996)"));
  ck_assert_str_eq(message + strlen(message) - strlen("n (line 200000) -> n"), "n (line 200000) -> n");
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

START_TEST(bare_edges) {
  static const uint32_t edges[] = {3, 1, 1, 0, 3, 0, 3, 1, 2, 0};
  struct gr_dag *dag = NULL;
  struct gr_error error = {0};
  ck_assert_int_eq(gr_dag_from_edges(&memory, 4, edges, 5, &dag, &error), GR_OK);
  ck_assert_uint_eq(dag->edge_count, 4);
  ck_assert_uint_eq(dag->order[0], 2);
  verify(dag);
  verify_file_order(dag);
  gr_dag_destroy(dag);
  ck_assert_int_eq(gr_dag_from_edges(&memory, 0, NULL, 0, &dag, &error), GR_OK);
  ck_assert_uint_eq(dag->level_count, 0);
  gr_dag_destroy(dag);
  gr_dag_destroy(NULL);
}
END_TEST

START_TEST(bare_edges_may_be_wrong) {
  struct gr_dag *dag = NULL;
  struct gr_error error = {0};
  ck_assert_int_eq(gr_dag_from_edges(&memory, 3, (uint32_t[]){0, 1, 1, 2, 2, 1}, 3, &dag, &error), GR_ERR_INVALID);
  ck_assert_str_eq(error.message, "the edges form a cycle: 1 -> 2 -> 1");
  ck_assert_int_eq(gr_dag_from_edges(&memory, 3, (uint32_t[]){0, 1, 2, 2}, 2, &dag, &error), GR_ERR_INVALID);
  ck_assert_str_eq(error.message, "the edges form a cycle: 2 -> 2");
  ck_assert_int_eq(gr_dag_from_edges(&memory, 3, (uint32_t[]){0, 1, 1, 3}, 2, &dag, &error), GR_ERR_INVALID);
  ck_assert_str_eq(error.message, "edge 1 goes from 1 to 3, but there are 3 nodes");
  ck_assert_int_eq(gr_dag_from_edges(&memory, 3, (uint32_t[]){0, 1, 1, 3}, 2, &dag, NULL), GR_ERR_INVALID);
  ck_assert_ptr_null(dag);
}
END_TEST

/* Random graphs, one in two with a cycle: refused exactly then, and the path that is told is a cycle. */
START_TEST(cycles_are_those_of_brute_force) {
  for (uint64_t seed = 0; seed < 6000; seed++) {
    uint64_t state = seed;
    uint32_t count = 1 + graph_random_below(&state, 10), edge_count = graph_random_below(&state, 2 * count);
    uint32_t edges[64] = {0}, from, first, next;
    int at = 0;
    struct closure direct = {0}, closed;
    struct gr_dag *dag = NULL;
    struct gr_error error = {0};
    bool has_cycle = false;
    for (uint32_t i = 0; i < 2 * edge_count; i++) edges[i] = graph_random_below(&state, count);
    for (uint32_t i = 0; i < edge_count; i++) direct.reaches[edges[2 * i]][edges[2 * i + 1]] = true;
    closed = direct;
    close_paths(&closed, count);
    for (uint32_t i = 0; i < count; i++) has_cycle |= closed.reaches[i][i];
    enum gr_status status = gr_dag_from_edges(&memory, count, edges, edge_count, &dag, &error);
    ck_assert_int_eq(status, has_cycle ? GR_ERR_INVALID : GR_OK);
    if (!has_cycle) {
      struct closure got;
      verify(dag);
      verify_file_order(dag);
      closure_of_dag(dag, &got);
      ck_assert_int_eq(memcmp(&got, &closed, sizeof got), 0);
      gr_dag_destroy(dag);
      continue;
    }
    const char *path = error.message + strlen("the edges form a cycle: ");
    ck_assert_int_eq(sscanf(path, "%u%n", &first, &at), 1);
    for (from = first, path += at; *path; from = next, path += at) {
      ck_assert_int_eq(sscanf(path, " -> %u%n", &next, &at), 1);
      ck_assert(direct.reaches[from][next]);
    }
    ck_assert_uint_eq(from, first);
  }
}
END_TEST

START_TEST(patterns_keep_the_promises) {
  for (uint32_t pattern = 0; pattern < GRAPH_PATTERN_COUNT; pattern++) {
    struct graph_spec spec = {
        .pattern = (enum graph_pattern)pattern, .width = 9, .steps = 12, .seed = 5, .cell_elements = 2};
    struct gr_pipeline *pipeline = graph_generate(&memory, &spec);
    pipeline->races = GR_RACES_ALLOW; /* cells beyond the first six predecessors are not read */
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_int_eq(outcome.status, GR_OK);
    verify(outcome.dag);
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

START_TEST(chains_and_fans_of_200000) {
  static const enum graph_pattern patterns[] = {GRAPH_CHAIN, GRAPH_FAN_OUT, GRAPH_FAN_IN, GRAPH_RANDOM, GRAPH_TRIVIAL};
  for (uint32_t i = 0; i < 5; i++) {
    struct graph_spec spec = {.pattern = patterns[i], .width = 1, .steps = 200000, .cell_elements = 1};
    struct gr_pipeline *pipeline = graph_generate(&memory, &spec);
    struct outcome outcome = build_dag(&memory, pipeline);
    ck_assert_int_eq(outcome.status, GR_OK);
    verify(outcome.dag);
    drop(&outcome);
    graph_destroy(pipeline);
  }
}
END_TEST

/* The last node of the file comes first: the heap, not file order, finds the way. */
START_TEST(a_chain_in_reversed_file_order) {
  uint32_t count = 200000;
  uint32_t *edges = gr_memory_allocate_zeroed(&memory, 2 * (size_t)count, sizeof *edges);
  for (uint32_t i = 0; i + 1 < count; i++) {
    edges[2 * i] = i + 1;
    edges[2 * i + 1] = i;
  }
  struct gr_dag *dag = NULL;
  ck_assert_int_eq(gr_dag_from_edges(&memory, count, edges, count - 1, &dag, NULL), GR_OK);
  ck_assert_uint_eq(dag->order[0], count - 1);
  ck_assert_uint_eq(dag->level[0], count - 1);
  gr_dag_destroy(dag);
  gr_memory_release(&memory, edges);
}
END_TEST

/* The check of cycles alone: nothing of races and of what nothing wrote, whatever was said before. */
START_TEST(cycles_alone) {
  static const struct {
    const char *text;
    enum gr_order order;
    enum gr_status status;
    const char *message;
  } cases[] = {
      {"a:w:x b:w:x", GR_ORDER_EXPLICIT, GR_OK, NULL},
      {"a>b>c>a d>a", GR_ORDER_EXPLICIT, GR_ERR_INVALID,
       "nodes in a cycle: a (line 1) -> b (line 2) -> c (line 3) -> a"},
      {"a:r:x b:w:x", GR_ORDER_DATA, GR_OK, NULL},
      {"a:r:x b:w:x b>a", GR_ORDER_DATA, GR_ERR_INVALID,
       "nodes in a cycle: a (line 1) -[data: x]-> b (line 2) -> a; by \"order: data\" nodes that touch the same bytes "
       "keep the order of the file"},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct gr_pipeline *pipeline = graph_from_text(&memory, cases[i].text);
    pipeline->order = cases[i].order;
    pipeline->is_flawed = true;
    uint64_t live = memory.live_count;
    for (uint64_t n = 1;; n++) {
      struct gr_diagnostics diagnostics;
      ck_assert(gr_diagnostics_init(&diagnostics, &memory, "graph.yaml"));
      gr_diagnostics_error(&diagnostics, (struct gr_mark){1, 1}, "said before");
      memory.fail_at = memory.call_count + n;
      enum gr_status status = gr_dag_check_cycles(&memory, pipeline, &diagnostics);
      bool has_failed = memory.call_count >= memory.fail_at;
      memory.fail_at = 0;
      ck_assert_int_eq(status, has_failed ? GR_ERR_NO_MEMORY : cases[i].status);
      if (!has_failed) {
        ck_assert_uint_eq(diagnostics.kept_count, cases[i].message ? 2 : 1);
        if (cases[i].message) ck_assert_str_eq(diagnostics.kept[1].message, cases[i].message);
      }
      gr_diagnostics_release(&diagnostics);
      ck_assert_uint_eq(memory.live_count, live);
      if (!has_failed) break;
    }
    graph_destroy(pipeline);
  }
}
END_TEST

START_TEST(nth_allocation_fails) {
  static const char *const texts[] = {"a>b,c>d", "a>b>c>a x>x", "b>a c>b a>d"};
  for (uint32_t t = 0; t < 3; t++) {
    struct gr_pipeline *pipeline = graph_from_text(&memory, texts[t]);
    uint64_t live = memory.live_count;
    for (uint64_t n = 1;; n++) {
      struct gr_diagnostics diagnostics;
      struct gr_dag *dag = NULL;
      ck_assert(gr_diagnostics_init(&diagnostics, &memory, "graph.yaml"));
      memory.fail_at = memory.call_count + n;
      enum gr_status status = gr_dag_build(&memory, pipeline, &diagnostics, &dag);
      bool has_failed = memory.call_count >= memory.fail_at;
      memory.fail_at = 0;
      ck_assert_int_eq(status, has_failed ? GR_ERR_NO_MEMORY : t == 1 ? GR_ERR_INVALID : GR_OK);
      gr_dag_destroy(dag);
      gr_diagnostics_release(&diagnostics);
      ck_assert_uint_eq(memory.live_count, live);
      if (!has_failed) break;
    }
    graph_destroy(pipeline);
  }
}
END_TEST

START_TEST(nth_allocation_fails_with_bare_edges) {
  static const uint32_t edges[][6] = {{2, 1, 1, 0, 2, 0}, {2, 1, 1, 2, 0, 1}};
  for (uint32_t t = 0; t < 2; t++) {
    for (uint64_t n = 1;; n++) {
      struct gr_dag *dag = NULL;
      struct gr_error error = {0};
      memory.fail_at = memory.call_count + n;
      enum gr_status status = gr_dag_from_edges(&memory, 3, edges[t], 3, &dag, &error);
      bool has_failed = memory.call_count >= memory.fail_at;
      memory.fail_at = 0;
      ck_assert_int_eq(status, has_failed ? GR_ERR_NO_MEMORY : t == 1 ? GR_ERR_INVALID : GR_OK);
      ck_assert_int_eq(error.status, status);
      gr_dag_destroy(dag);
      ck_assert_uint_eq(memory.live_count, 0);
      if (!has_failed) break;
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("build");
  TCase *cases = tcase_create("build");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, a_diamond);
  tcase_add_test(cases, only_the_cycle_is_told);
  tcase_add_test(cases, a_node_after_itself);
  tcase_add_test(cases, each_cycle_once);
  tcase_add_test(cases, the_shortest_cycle);
  tcase_add_test(cases, a_long_cycle_is_cut);
  tcase_add_test(cases, bare_edges);
  tcase_add_test(cases, bare_edges_may_be_wrong);
  tcase_add_test(cases, cycles_are_those_of_brute_force);
  tcase_add_test(cases, patterns_keep_the_promises);
  tcase_add_test(cases, chains_and_fans_of_200000);
  tcase_add_test(cases, a_chain_in_reversed_file_order);
  tcase_add_test(cases, cycles_alone);
  tcase_add_test(cases, nth_allocation_fails);
  tcase_add_test(cases, nth_allocation_fails_with_bare_edges);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
