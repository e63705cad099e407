/* The cases on the CUDA back end, and buffers that 32 bits do not count. Where there is no GPU, one line says so. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/engine_target.h"

/* One for all tests: a context takes a third of a second. */
static struct engine_target target;

static void set_up(void) { engine_target_init(&target, "cuda"); }
/* After a failure a graph may still be there. */
static void tear_down(void) { (void)gr_engine_destroy(target.engine); }

START_TEST(test_case) { conformance_cases[_i].run(&target.target); }
END_TEST

START_TEST(test_fill_boxes) { case_fill_boxes(&target); }
END_TEST

/* --- More elements than 32 bits count --- */

/* Every element of every output ends up in a sum; what was not written still holds -100. The sums are exact in f64 and
 * rounded once. Sizes are no multiple of anything. */
static const char large_pipeline[] =
    "graphrun: 1\n"
    "params: {n: 4294971757, rows: 53687, columns: 80001}\n"
    "buffers:\n"
    "  x: {type: f32, shape: [n]}\n"
    "  y: {type: f32, shape: [n]}\n"
    "  out: {type: f32, shape: [n]}\n"
    "  bytes: {type: u8, shape: [n]}\n"
    "  grid: {type: f32, shape: [rows, columns]}\n"
    "  turned: {type: f32, shape: [columns, rows]}\n"
    "  filtered_grid: {type: f32, shape: [rows, columns]}\n"
    "  first: {type: i32, shape: [rows]}\n"
    "  weights: {type: f32, shape: [3, 3], init: {fill: 1}}\n"
    "  added: {type: f32, shape: [1]}\n"
    "  scaled: {type: f32, shape: [1]}\n"
    "  converted: {type: f32, shape: [1]}\n"
    "  smallest: {type: f32, shape: [1]}\n"
    "  transposed: {type: f32, shape: [1]}\n"
    "  filtered: {type: f32, shape: [1]}\n"
    "order: data\n"
    "nodes:\n"
    "  - {id: fill_x, fill: {buffer: x, value: 1}}\n"
    "  - {id: fill_y, fill: {buffer: y, value: 2}}\n"
    "  - {id: spoil, fill: {buffer: out, value: -100}}\n"
    "  - {id: add, kernel: add, args: {x: x, y: y, out: out}}\n"
    "  - {id: sum_added, kernel: sum, args: {x: out, out: added}}\n"
    "  - {id: scale, kernel: scale, args: {a: 0.5, x: \"out[1:]\", out: \"x[1:]\"}}\n"
    "  - {id: sum_scaled, kernel: sum, args: {x: x, out: scaled}}\n"
    "  - {id: smallest, kernel: min, args: {x: x, out: smallest}}\n"
    "  - {id: to_bytes, kernel: convert, args: {x: out, out: bytes, scale: 2}}\n"
    "  - {id: spoil_again, fill: {buffer: out, value: -100}}\n"
    "  - {id: from_bytes, kernel: convert, args: {x: bytes, out: out, scale: 1}}\n"
    "  - {id: sum_converted, kernel: sum, args: {x: out, out: converted}}\n"
    "  - {id: fill_grid, fill: {buffer: grid, value: 0}}\n"
    "  - {id: mark, fill: {buffer: \"grid[rows-2:rows-1, columns-3:columns-2]\", value: 8}}\n"
    "  - {id: find, kernel: argmax_rows, args: {x: grid, out: first}}\n"
    "  - {id: spoil_turned, fill: {buffer: turned, value: -100}}\n"
    "  - {id: transpose, kernel: transpose, args: {x: grid, out: turned}}\n"
    "  - {id: sum_transposed, kernel: sum, args: {x: turned, out: transposed}}\n"
    "  - {id: filter, kernel: conv2d, args: {x: grid, weights: weights, out: filtered_grid}}\n"
    "  - {id: sum_filtered, kernel: sum, args: {x: filtered_grid, out: filtered}}\n";

static void expect_number(struct gr_graph *graph, const char *buffer, double want) {
  float got = 0;
  struct gr_error error;
  EXPECT_OK(gr_graph_read(graph, buffer, 0, &got, sizeof got, &error), error);
  ck_assert_msg(fabs((double)got - want) <= 1e-7 * fabs(want), "%s is %.9g, not %.9g", buffer, (double)got, want);
}

START_TEST(test_large) {
  struct gr_error error;
  struct gr_graph *graph = NULL;
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = "cuda"};
  EXPECT_OK(gr_graph_load_memory(target.engine, large_pipeline, strlen(large_pipeline), "large", NULL, &graph, &error),
            error);
  enum gr_status status = gr_graph_build(graph, &options, &error);
  if (status == GR_ERR_DEVICE_MEMORY) {
    printf("skipped: buffers of over 2^32 elements: %s\n", error.message);
    ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
    return;
  }
  ck_assert_msg(status == GR_OK, "%s", error.message);
  struct gr_run_options run = {.struct_size = sizeof run, .repeat = 2};
  EXPECT_OK(gr_graph_run(graph, &run, &error), error);
  const double n = 4294971757.0;
  expect_number(graph, "added", 3 * n);
  expect_number(graph, "scaled", 1.5 * (n - 1) + 1);
  expect_number(graph, "smallest", 1);
  expect_number(graph, "converted", 6 * n);
  expect_number(graph, "transposed", 8);
  expect_number(graph, "filtered", 72);
  int32_t column = 0;
  EXPECT_OK(gr_graph_read(graph, "first", (53687 - 2) * sizeof column, &column, sizeof column, &error), error);
  ck_assert_int_eq(column, 80001 - 3);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}
END_TEST

int main(void) {
  char reason[512];
  enum readiness readiness = engine_target_readiness("cuda", reason, sizeof reason);
  if (readiness != TARGET_READY) {
    printf("%s: %s\n", readiness == TARGET_UNAVAILABLE ? "skipped" : "broken", reason);
    return readiness == TARGET_UNAVAILABLE ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  int case_count = 0;
  while (conformance_cases[case_count].name != NULL) case_count++;
  Suite *suite = suite_create("conformance/cuda");
  TCase *cases = tcase_create("cases");
  tcase_add_unchecked_fixture(cases, set_up, tear_down);
  tcase_add_loop_test(cases, test_case, 0, case_count);
  tcase_add_test(cases, test_fill_boxes);
  tcase_add_test(cases, test_large);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  /* A process in which CUDA has run must not fork. */
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
