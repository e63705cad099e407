#include <stdlib.h>

#include "tests/unit/dag/support.h"

static struct gr_memory memory;

static void set_up(void) { gr_memory_init(&memory, NULL); }
static void tear_down(void) { ck_assert_uint_eq(memory.live_count, 0); }

typedef void show_function(const struct gr_dag *dag, const struct gr_pipeline *pipeline, struct gr_text *out);

static void expect_shown(struct gr_pipeline *pipeline, show_function *show, const char *expected) {
  struct outcome outcome = build_dag(&memory, pipeline);
  ck_assert_int_eq(outcome.status, GR_OK);
  struct gr_text text;
  gr_text_init(&text, &memory);
  show(outcome.dag, pipeline, &text);
  ck_assert(!text.failed);
  ck_assert_str_eq(text.bytes, expected);
  gr_text_release(&text);
  drop(&outcome);
  graph_destroy(pipeline);
}

START_TEST(edges_as_text) {
  expect_shown(graph_from_text(&memory, "a>b,c>d"), gr_dag_show,
               "dag: 4 nodes, 4 edges (4 declared), 3 levels\n"
               "  level 0  a -> b, c\n"
               "  level 1  b -> d\n"
               "  level 1  c -> d\n"
               "  level 2  d\n");
}
END_TEST

START_TEST(data_edges_are_not_declared) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[4]+init a:w:x b:r:x");
  pipeline->order = GR_ORDER_DATA;
  expect_shown(pipeline, gr_dag_show,
               "dag: 2 nodes, 1 edges (0 declared), 2 levels\n"
               "  level 0  a -> b\n"
               "  level 1  b\n");
}
END_TEST

static const char *const odd_names[] = {"a:b", "x y", "say \"hi\"", "end\\",           "node",
                                        "<b>", "{|}", "&lt;",       "\xf0\x9f\x98\x80"};
enum { ODD_COUNT = sizeof odd_names / sizeof *odd_names };

static struct gr_pipeline *odd_pipeline(void) {
  struct graph_builder *builder = graph_builder_create(&memory);
  for (uint32_t i = 0; i < ODD_COUNT; i++) graph_builder_node(builder, odd_names[i]);
  graph_builder_edge(builder, 0, 1);
  struct gr_pipeline *pipeline = graph_builder_finish(builder);
  pipeline->name = "\"\\N\"";
  return pipeline;
}

START_TEST(odd_names_as_text) {
  expect_shown(odd_pipeline(), gr_dag_show,
               "dag: 9 nodes, 1 edges (1 declared), 2 levels\n"
               "  level 0  \"a:b\" -> \"x y\"\n"
               "  level 1  \"x y\"\n"
               "  level 0  \"say \\\"hi\\\"\"\n"
               "  level 0  \"end\\\\\"\n"
               "  level 0  node\n"
               "  level 0  \"<b>\"\n"
               "  level 0  \"{|}\"\n"
               "  level 0  \"&lt;\"\n"
               "  level 0  \"\xf0\x9f\x98\x80\"\n");
}
END_TEST

START_TEST(odd_names_in_dot) {
  expect_shown(odd_pipeline(), gr_dag_show_dot,
               "digraph pipeline {\n"
               "  label=\"\\\"\\\\N\\\"\";\n"
               "  node [fontname=\"sans-serif\"];\n"
               "  n0 [shape=diamond, label=\"a:b\\nbarrier\"];\n"
               "  n1 [shape=diamond, label=\"x y\\nbarrier\"];\n"
               "  n2 [shape=diamond, label=\"say \\\"hi\\\"\\nbarrier\"];\n"
               "  n3 [shape=diamond, label=\"end\\\\\\nbarrier\"];\n"
               "  n4 [shape=diamond, label=\"node\\nbarrier\"];\n"
               "  n5 [shape=diamond, label=\"<b>\\nbarrier\"];\n"
               "  n6 [shape=diamond, label=\"{|}\\nbarrier\"];\n"
               "  n7 [shape=diamond, label=\"&amp;lt;\\nbarrier\"];\n"
               "  n8 [shape=diamond, label=\"\xf0\x9f\x98\x80\\nbarrier\"];\n"
               "  n0 -> n1;\n"
               "}\n");
}
END_TEST

START_TEST(kinds_in_dot) {
  expect_shown(graph_from_text(&memory, "x=[4] y=[4] a>b>c>d a:w:x b:r:x b:w:y c:u:y d!no_op"), gr_dag_show_dot,
               "digraph pipeline {\n"
               "  label=\"graph\";\n"
               "  node [fontname=\"sans-serif\"];\n"
               "  n0 [shape=note, label=\"a\\nfill\"];\n"
               "  n1 [shape=cds, label=\"b\\ncopy\"];\n"
               "  n2 [shape=box, label=\"c\\nmix\"];\n"
               "  n3 [shape=box, style=dashed, label=\"d\\nmix\"];\n"
               "  n0 -> n1;\n"
               "  n1 -> n2;\n"
               "  n2 -> n3;\n"
               "}\n");
}
END_TEST

START_TEST(nth_allocation_fails) {
  struct gr_pipeline *pipeline = odd_pipeline();
  struct outcome outcome = build_dag(&memory, pipeline);
  uint64_t live = memory.live_count;
  for (uint64_t n = 1;; n++) {
    struct gr_text text;
    gr_text_init(&text, &memory);
    memory.fail_at = memory.call_count + n;
    gr_dag_show(outcome.dag, pipeline, &text);
    gr_dag_show_dot(outcome.dag, pipeline, &text);
    bool has_failed = memory.call_count >= memory.fail_at;
    ck_assert_int_eq(text.failed, has_failed);
    memory.fail_at = 0;
    gr_text_release(&text);
    ck_assert_uint_eq(memory.live_count, live);
    if (!has_failed) break;
  }
  drop(&outcome);
  graph_destroy(pipeline);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("show");
  TCase *cases = tcase_create("show");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, edges_as_text);
  tcase_add_test(cases, data_edges_are_not_declared);
  tcase_add_test(cases, odd_names_as_text);
  tcase_add_test(cases, odd_names_in_dot);
  tcase_add_test(cases, kinds_in_dot);
  tcase_add_test(cases, nth_allocation_fails);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
