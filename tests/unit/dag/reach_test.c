#include <stdlib.h>

#include "tests/unit/dag/support.h"

static struct gr_memory memory;

static void set_up(void) { gr_memory_init(&memory, NULL); }
static void tear_down(void) { ck_assert_uint_eq(memory.live_count, 0); }

/* A random dag whose file order is shuffled. */
static struct gr_dag *random_dag(uint64_t seed, uint32_t count, uint32_t edge_count) {
  uint64_t state = seed;
  uint32_t *edges = gr_memory_allocate_zeroed(&memory, 2 * (size_t)edge_count, sizeof *edges);
  uint32_t *place = gr_memory_allocate_zeroed(&memory, count, sizeof *place);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t k = graph_random_below(&state, i + 1);
    place[i] = place[k];
    place[k] = i;
  }
  for (uint32_t i = 0; i < edge_count; i++) {
    uint32_t a = graph_random_below(&state, count - 1), b = a + 1 + graph_random_below(&state, count - 1 - a);
    edges[2 * i] = place[a];
    edges[2 * i + 1] = place[b];
  }
  struct gr_dag *dag = NULL;
  ck_assert_int_eq(gr_dag_from_edges(&memory, count, edges, edge_count, &dag, NULL), GR_OK);
  gr_memory_release(&memory, edges);
  gr_memory_release(&memory, place);
  return dag;
}

START_TEST(answers_are_those_of_brute_force) {
  for (uint64_t seed = 0; seed < 1500; seed++) {
    uint64_t state = seed + 1;
    uint32_t count = 2 + graph_random_below(&state, SMALL_MAX - 2);
    struct gr_dag *dag = random_dag(seed, count, graph_random_below(&state, 3 * count));
    struct gr_reach *reach = gr_reach_create(&memory, dag, UINT64_MAX);
    struct closure closure;
    closure_of_dag(dag, &closure);
    for (uint32_t a = 0; a < count; a++) {
      for (uint32_t b = 0; b < count; b++) {
        enum gr_reach_answer expected = a == b || closure.reaches[a][b] ? GR_REACH_YES : GR_REACH_NO;
        if (gr_reach_path(reach, a, b) != expected) ck_abort_msg("seed %u: from %u to %u", (unsigned)seed, a, b);
      }
    }
    gr_reach_destroy(reach);
    gr_dag_destroy(dag);
  }
}
END_TEST

/* With any budget an answer is right or 'unknown', and with none some answers are unknown. */
START_TEST(a_spent_budget_never_lies) {
  uint64_t unknown_count = 0, known_count = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct gr_dag *dag = random_dag(seed, SMALL_MAX, 2 * SMALL_MAX);
    struct gr_reach *reach = gr_reach_create(&memory, dag, seed % 50);
    struct closure closure;
    closure_of_dag(dag, &closure);
    for (uint32_t a = 0; a < SMALL_MAX; a++) {
      for (uint32_t b = 0; b < SMALL_MAX; b++) {
        enum gr_reach_answer answer = gr_reach_path(reach, a, b);
        if (answer == GR_REACH_UNKNOWN) {
          unknown_count++;
          continue;
        }
        bool expected = a == b || closure.reaches[a][b];
        if ((answer == GR_REACH_YES) != expected) ck_abort_msg("seed %u: from %u to %u", (unsigned)seed, a, b);
        known_count++;
      }
    }
    gr_reach_destroy(reach);
    gr_dag_destroy(dag);
  }
  ck_assert_uint_gt(unknown_count, 0);
  ck_assert_uint_gt(known_count, 2 * unknown_count);
}
END_TEST

START_TEST(long_chains_and_wide_fans_need_no_walk) {
  uint32_t count = 200000;
  uint32_t *edges = gr_memory_allocate_zeroed(&memory, 2 * (size_t)count, sizeof *edges);
  for (uint32_t shape = 0; shape < 2; shape++) {
    for (uint32_t i = 0; i + 1 < count; i++) {
      edges[2 * i] = shape == 0 ? i : 0;
      edges[2 * i + 1] = i + 1;
    }
    struct gr_dag *dag = NULL;
    ck_assert_int_eq(gr_dag_from_edges(&memory, count, edges, count - 1, &dag, NULL), GR_OK);
    struct gr_reach *reach = gr_reach_create(&memory, dag, 0);
    uint32_t wrong = 0;
    for (uint32_t i = 1; i + 1 < count; i++) {
      wrong += gr_reach_path(reach, 0, i) != GR_REACH_YES;
      wrong += gr_reach_path(reach, i, 0) != GR_REACH_NO;
      wrong += gr_reach_path(reach, i, i + 1) != (shape == 0 ? GR_REACH_YES : GR_REACH_NO);
    }
    ck_assert_uint_eq(wrong, 0);
    gr_reach_destroy(reach);
    gr_dag_destroy(dag);
  }
  gr_memory_release(&memory, edges);
}
END_TEST

START_TEST(edges_are_found) {
  struct gr_dag *dag = random_dag(7, 20, 60);
  uint64_t found = 0;
  for (uint32_t from = 0; from < dag->node_count; from++) {
    for (uint32_t to = 0; to < dag->node_count; to++) {
      bool is_there = false;
      for (uint64_t k = dag->predecessor_begin[to]; k < dag->predecessor_begin[to + 1]; k++) {
        is_there |= dag->predecessors[k] == from;
      }
      ck_assert_int_eq(gr_dag_has_edge(dag, from, to), is_there);
      found += is_there;
    }
  }
  ck_assert_uint_eq(found, dag->edge_count);
  ck_assert(!gr_dag_is_listed(NULL, 0, 3));
  gr_dag_destroy(dag);
}
END_TEST

START_TEST(nth_allocation_fails) {
  struct gr_dag *dag = random_dag(1, 20, 40);
  uint64_t live = memory.live_count;
  struct gr_reach *reach = NULL;
  for (uint64_t n = 1; !reach; n++) {
    memory.fail_at = memory.call_count + n;
    reach = gr_reach_create(&memory, dag, 100);
    if (!reach) ck_assert_uint_eq(memory.live_count, live);
    ck_assert(reach || memory.call_count >= memory.fail_at);
    memory.fail_at = 0;
  }
  gr_reach_destroy(reach);
  gr_reach_destroy(NULL);
  gr_dag_destroy(dag);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reach");
  TCase *cases = tcase_create("reach");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, answers_are_those_of_brute_force);
  tcase_add_test(cases, a_spent_budget_never_lies);
  tcase_add_test(cases, long_chains_and_wide_fans_need_no_walk);
  tcase_add_test(cases, edges_are_found);
  tcase_add_test(cases, nth_allocation_fails);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
