/* The top level, params and what sets them from outside, statuses, warnings, and running out of memory. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

#define NODES "nodes:\n  - {id: b, barrier: {}}\n"

static void expect(const char *text, const char *said) { fixture_expect("@", text, said); }

START_TEST(defaults_of_the_top_level) {
  struct fixture fixture;
  fixture_read(&fixture, "graphrun: 1\n" NODES);
  const struct gr_pipeline *pipeline = fixture.pipeline;
  ck_assert_ptr_nonnull(pipeline);
  ck_assert_str_eq(pipeline->file, "graphs/test.yaml");
  ck_assert_str_eq(pipeline->folder, "graphs/");
  ck_assert_str_eq(pipeline->name, "test");
  ck_assert_int_eq(pipeline->order, GR_ORDER_EXPLICIT);
  ck_assert_int_eq(pipeline->races, GR_RACES_ERROR);
  ck_assert_int_eq(pipeline->policy, GR_POLICY_LEVELS);
  ck_assert_uint_eq(pipeline->stream_max, 0);
  ck_assert_uint_eq(pipeline->buffer_count, 0);
  ck_assert_uint_eq(pipeline->param_count, 0);
  ck_assert_uint_eq(pipeline->node_count, 1);
  fixture_release(&fixture);
}
END_TEST

START_TEST(the_top_level_is_read) {
  struct fixture fixture;
  fixture_read(&fixture,
               "graphrun: '1'\nname: 1e3\norder: data\nraces: allow\nstreams: {policy: chains, max: 2*n}\n"
               "params: {n: 4, a: 1.5, m: n*2, b: a*m}\n" NODES);
  const struct gr_pipeline *pipeline = fixture.pipeline;
  ck_assert_msg(pipeline != NULL, "%s", fixture.said.bytes);
  ck_assert_str_eq(pipeline->name, "1e3");
  ck_assert_int_eq(pipeline->order, GR_ORDER_DATA);
  ck_assert_int_eq(pipeline->races, GR_RACES_ALLOW);
  ck_assert_int_eq(pipeline->policy, GR_POLICY_CHAINS);
  ck_assert_uint_eq(pipeline->stream_max, 8);
  ck_assert_uint_eq(pipeline->param_count, 4);
  ck_assert_str_eq(pipeline->params[2].name, "m");
  ck_assert_uint_eq(pipeline->params[2].value.magnitude, 8);
  ck_assert(pipeline->params[3].value.is_real);
  ck_assert_double_eq(pipeline->params[3].value.real, 12);
  fixture_release(&fixture);
}
END_TEST

START_TEST(json_is_accepted) {
  struct fixture fixture;
  fixture_read(
      &fixture,
      "{\"graphrun\": 1, \"params\": {\"n\": 4}, \"buffers\": {\"x\": {\"type\": \"f32\", \"shape\": [\"n\"]}},\n"
      " \"nodes\": [{\"id\": \"f\", \"fill\": {\"buffer\": \"x[0:2]\", \"value\": -1.5e+0}}]}\n");
  ck_assert_str_eq(fixture.said.bytes, "");
  ck_assert_int_eq(fixture.status, GR_OK);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_top_levels) {
  expect("graphrun: 1\n", "1:1 error: \"nodes\" is missing\n");
  expect(NODES, "1:1 error: \"graphrun\" is missing\n");
  expect("graphrun: 2\nnodes: 7\n",
         "1:11 error: graphrun: format version 2 is not known here; this program reads version 1\n"
         "2:8 error: nodes: must be a list, not \"7\"\n");
  expect("graphrun: 2\nbuffers: {x: {}}\n" NODES,
         "1:11 error: graphrun: format version 2 is not known here; this program reads version 1\n");
  expect(
      "graphrun: one\n" NODES,
      "1:11 error: graphrun: \"one\" is no integer: there is no param \"one\"; allowed are integers (42, 0x2A, 4Ki), "
      "params, + - * / %, parentheses, min, max and ceil_div\n");
  expect("graphrun: 1\nnodes: []\n", "2:8 error: nodes: the list is empty; at least one node is needed\n");
  expect("graphrun: 1\nnodes: {}\n", "2:8 error: nodes: must be a list, not a map\n");
  expect("graphrun: 1\nnodes: ~\n", "2:8 error: nodes: must be a list, not \"~\"\n");
  expect("graphrun: 1\nbufers: {}\n" NODES, "2:1 error: unknown key \"bufers\"; did you mean \"buffers\"?\n");
  expect("graphrun: 1\nbuffers: [x]\n" NODES, "2:10 error: buffers: must be a map, not a list\n");
  expect(
      "graphrun: 1\nversion: 2\n" NODES,
      "2:1 error: unknown key \"version\"; allowed are graphrun, name, params, buffers, kernels, nodes, order, races, "
      "streams\n");
  expect("graphrun: 1\nname: ''\n" NODES, "2:7 error: name: the name \"\" is empty; a name has 1 to 256 bytes\n");
  expect("graphrun: 1\norder: expl\nraces: yes\n" NODES,
         "2:8 error: order: \"expl\" is none of explicit, data\n"
         "3:8 error: races: \"yes\" is none of error, warn, allow\n");
  expect("graphrun: 1\nstreams: {policy: serail, max: 0, min: 3}\n" NODES,
         "2:19 error: streams.policy: \"serail\" is none of levels, chains, tuned, serial; did you mean \"serial\"?\n"
         "2:32 error: streams.max: 0 is too small; the least is 1\n"
         "2:35 error: streams: unknown key \"min\"; allowed are policy, max\n");
  expect("graphrun: 1\nstreams: serial\n" NODES, "2:10 error: streams: must be a map, not \"serial\"\n");
}
END_TEST

START_TEST(wrong_params) {
  expect(
      "graphrun: 1\nparams: {9x: 1, min: 2, 'a b': 3, '': 4, é: 5}\n" NODES,
      "2:10 error: \"9x\" is no name for a param; it takes letters, digits and _, does not start with a digit, and has "
      "at most 256 bytes\n"
      "2:17 error: \"min\" is no name for a param; it is a function\n"
      "2:25 error: \"a b\" is no name for a param; it takes letters, digits and _, does not start with a digit, and "
      "has at most 256 bytes\n"
      "2:35 error: \"\" is no name for a param; it takes letters, digits and _, does not start with a digit, and has "
      "at most 256 bytes\n"
      "2:42 error: \"é\" is no name for a param; it takes letters, digits and _, does not start with a digit, and has "
      "at most 256 bytes\n");
  expect("graphrun: 1\nparams: {n: [1], m: , k: max(1, 2), l: 3}\n" NODES,
         "2:13 error: param \"n\": must be a number, not a list\n"
         "2:21 error: param \"m\": \"\" is no number: it is empty; allowed are integers (42, 0x2A, 4Ki), floats (1.5, "
         "1e3, "
         ".inf, .nan), params, + - * / %, parentheses, min, max and ceil_div\n"
         "2:26 error: params.k: \"max(1\" was cut at a comma: in YAML's flow style an expression with commas must be "
         "quoted, as in \"max(1, 2)\"\n");
}
END_TEST

/* ---- from outside ---- */

static void read_with(struct fixture *fixture, const char *text, const char *name, struct gr_number value) {
  struct gr_override override = {name, value};
  fixture_read_with(fixture, gr_view_of(text), &override, 1);
}

#define SIZED                                                                                        \
  "graphrun: 1\nparams: {size: 16, twice: size*2, a: 2.5}\nbuffers: {x: {type: u8, shape: twice}}\n" \
  "nodes:\n  - {id: f, fill: {buffer: x, value: 1}}\n"

START_TEST(a_param_can_be_set_from_outside) {
  struct fixture fixture;
  read_with(&fixture, SIZED, "size", (struct gr_number){.magnitude = 100});
  ck_assert_str_eq(fixture.said.bytes, "");
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->element_count, 200);
  ck_assert_uint_eq(fixture.pipeline->params[0].value.magnitude, 100);
  fixture_release(&fixture);
  read_with(&fixture, SIZED, "a", (struct gr_number){.magnitude = 3});
  ck_assert_str_eq(fixture.said.bytes, "");
  fixture_release(&fixture);
  struct gr_override two[] = {{"size", {.magnitude = 3}}, {"size", {.magnitude = 4}}};
  fixture_read_with(&fixture, gr_view_of(SIZED), two, 2);
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->element_count, 8);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_settings_from_outside) {
  struct fixture fixture;
  read_with(&fixture, SIZED, "siez", (struct gr_number){.magnitude = 100});
  ck_assert_str_eq(
      fixture.said.bytes,
      "0:0 error: the param \"siez\", set from outside (--set), is not in the file; did you mean \"size\"?\n");
  fixture_release(&fixture);
  read_with(&fixture, "graphrun: 1\n" NODES, "size", (struct gr_number){.magnitude = 100});
  ck_assert_str_eq(
      fixture.said.bytes,
      "0:0 error: the param \"size\", set from outside (--set), is not in the file, which has no params\n");
  fixture_release(&fixture);
  read_with(&fixture, SIZED, "weight", (struct gr_number){.magnitude = 100});
  ck_assert_str_eq(fixture.said.bytes,
                   "0:0 error: the param \"weight\", set from outside (--set), is not in the file; it has \"size\", "
                   "\"twice\", \"a\"\n");
  fixture_release(&fixture);
  read_with(&fixture, "graphrun: 1\nparams: {k: 1, n: 2}\n" NODES, "N", (struct gr_number){.magnitude = 100});
  ck_assert_str_eq(fixture.said.bytes,
                   "0:0 error: the param \"N\", set from outside (--set), is not in the file; did you mean \"n\"?\n");
  fixture_release(&fixture);
  read_with(&fixture, SIZED, "size", (struct gr_number){.is_negative = true, .magnitude = 1});
  ck_assert_str_eq(fixture.said.bytes,
                   "3:32 error: buffer \"x\": shape: \"twice\" is -2, which is too small; the least is 0\n");
  fixture_release(&fixture);
  read_with(&fixture, SIZED, "twice", (struct gr_number){.is_real = true, .real = 1.5});
  ck_assert_str_eq(
      fixture.said.bytes,
      "3:32 error: buffer \"x\": shape: \"twice\" is no integer: param \"twice\" is a float, and an integer "
      "is expected; allowed are integers (42, 0x2A, 4Ki), params, + - * / %, parentheses, min, max and "
      "ceil_div\n");
  fixture_release(&fixture);
  read_with(&fixture, SIZED, "size", (struct gr_number){.magnitude = UINT64_MAX});
  ck_assert_str_eq(fixture.said.bytes,
                   "2:10 error: param \"size\": is set from outside (--set) to 18446744073709551615, which does not "
                   "fit signed 64 bits\n");
  fixture_release(&fixture);
}
END_TEST

/* ---- warnings and counts ---- */

START_TEST(unused_buffers_are_warnings_where_nothing_is_wrong) {
  expect("graphrun: 1\nbuffers:\n  x: {type: u8, shape: 4, save: x.npy}\n" NODES,
         "3:3 warning: buffer \"x\": no node uses it\n");
  expect("graphrun: 1\nbuffers:\n  x: {type: u8, shape: 4}\nnodes:\n  - {id: b, barrer: {}}\n",
         "5:13 error: node \"b\": unknown key \"barrer\"; did you mean \"barrier\"?\n");
}
END_TEST

START_TEST(twenty_are_kept_and_all_are_counted) {
  char text[4000];
  size_t used = (size_t)sprintf(text, "graphrun: 1\nnodes:\n");
  for (int i = 0; i < 50; i++) used += (size_t)sprintf(text + used, "  - {id: n%d}\n", i);
  struct fixture fixture;
  fixture_read(&fixture, text);
  ck_assert_uint_eq(fixture.diagnostics.error_count, 50);
  ck_assert_uint_eq(fixture.diagnostics.kept_count, 20);
  ck_assert_int_eq(fixture.status, GR_ERR_INVALID);
  fixture_release(&fixture);
}
END_TEST

/* ---- flawed ones ---- */

START_TEST(nodes_and_their_edges_outlive_errors) {
  struct fixture fixture;
  fixture_read(&fixture,
               "graphrun: 1\nordr: data\nnodes:\n"
               "  - {id: a, barrier: {}, after: [c, nobody]}\n  - {id: b, kernel: nothing, after: a}\n"
               "  - {id: \"c\\td\", barrier: {}, after: b}\n  - {id: a, barrier: {}, after: b}\n  - 3\n"
               "  - {id: c, after: a}\n");
  ck_assert_int_eq(fixture.status, GR_ERR_INVALID);
  ck_assert_ptr_nonnull(fixture.pipeline);
  const struct gr_pipeline *pipeline = fixture.pipeline;
  static const char *const names[] = {"a", "b", "\"c\\x09d\"", "a", "", "c"};
  static const uint32_t after[] = {5, 0, 1, 1, UINT32_MAX, 0};
  ck_assert(pipeline->is_flawed);
  ck_assert_uint_eq(pipeline->node_count, 6);
  for (uint32_t i = 0; i < 6; i++) {
    const struct gr_node *node = &pipeline->nodes[i];
    ck_assert_str_eq(node->name, names[i]);
    ck_assert_uint_eq(node->mark.line, 4 + i);
    ck_assert_uint_eq(node->after_count, after[i] != UINT32_MAX);
    if (node->after_count > 0) ck_assert_uint_eq(pipeline->after[node->first_after].node_index, after[i]);
  }
  fixture_release(&fixture);
}
END_TEST

/* What is missing because something else is wrong is not said. */
START_TEST(nothing_follows_from_what_was_refused) {
  static const char *const texts[][2] = {
      {"buffers: [x]\nnodes: [{id: a, fill: {buffer: x, value: 1}}]\n",
       "2:10 error: buffers: must be a map, not a list\n"},
      {"bufers: {x: {type: u8, shape: 1}}\nnodes: [{id: a, fill: {buffer: x, value: 1}}]\n",
       "2:1 error: unknown key \"bufers\"; did you mean \"buffers\"?\n"},
      {"params: 3\nbuffers: {x: {type: u8, shape: n*2, save: x.npy}}\nnodes: [{id: a, fill: {buffer: x, value: n}}]\n",
       "2:9 error: params: must be a map, not \"3\"\n"},
      {"kernels: [own]\nnodes: [{id: a, kernel: own, args: {q: 1}, launch: {elements: 3}}]\n",
       "2:10 error: kernels: must be a map, not a list\n"},
      {"kernels: {own: {source: own.cu}}\nnodes: [{id: a, kernel: own, args: {q: 1}, launch: {elements: 3}}]\n",
       "2:11 error: kernels: kernels of the user's own are not supported yet\n"},
      {"buffers: {x: {<<: *base, shape: 1}, y: *base}\n"
       "nodes: [{id: a, fill: {buffer: x, value: 1}}, {id: b, fill: {buffer: y, value: 1}}]\n",
       "2:19 error: the alias \"base\" has no anchor before it; a text that starts with '*' needs quotes\n"
       "2:40 error: the alias \"base\" has no anchor before it; a text that starts with '*' needs quotes\n"},
      {"buffers: {x: {type: u8, shape: [*m, 2], save: x.npy, init: {values: [1, *m]}}}\n"
       "nodes: [{id: a, fill: {buffer: x, value: *m}}, {<<: *m}, {id: c, barrier: {}, after: [b, *m, a]}]\n",
       "2:33 error: the alias \"m\" has no anchor before it; a text that starts with '*' needs quotes\n"
       "2:73 error: the alias \"m\" has no anchor before it; a text that starts with '*' needs quotes\n"
       "3:42 error: the alias \"m\" has no anchor before it; a text that starts with '*' needs quotes\n"
       "3:53 error: the alias \"m\" has no anchor before it; a text that starts with '*' needs quotes\n"
       "3:90 error: the alias \"m\" has no anchor before it; a text that starts with '*' needs quotes\n"},
      {"nodes: [{id: a, kernel: busy, args: {<<: 3}}]\n",
       "2:42 error: \"<<\" takes a map or a list of maps; this is a scalar\n"},
      {"nodes: [{id: a, barrier: {}}]\nnodes: 3\n", "3:1 error: the key \"nodes\" is given twice, first in line 2\n"},
      {"? [x]\n: 1\n", "2:3 error: a key must be a scalar; this one is a list\n"},
      {"nodes: !list [{id: a, barier: {}}]\n",
       "2:8 error: the tag \"!list\" is not allowed; only !!str, !!int, !!float, !!map and !!seq are\n"
       "2:23 error: node \"a\": unknown key \"barier\"; did you mean \"barrier\"?\n"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    fixture_expect("graphrun: 1\n@", texts[i][0], texts[i][1]);
  }
}
END_TEST

/* ---- running out of memory ---- */

static const char right[] =
    "graphrun: 1\nname: all\nparams: {n: 16, a: 2.5, m: n*2}\n"
    "buffers:\n  x: {type: f32, shape: [n, 2], init: {values: "
    "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,1,2,3,4,5,6,7,8,9,"
    "10,11,12,13,14,15,16]}}\n"
    "  y: {type: f32, shape: m, load: y.npy, save: z.npy, expect: {load: g.npy, rtol: 0.1}}\n"
    "  z: {type: u8, shape: 4, init: {random: {seed: 1, low: 0, high: 4}}, save: zz.npy}\n"
    "nodes:\n  - {id: c, copy: {from: 'x[0:8, 1:2]', to: 'x[8:16, 0:1]'}, note: why}\n"
    "  - {id: k, kernel: axpy, args: {a: a, x: x, y: y}, after: [c], timeout: 1.5}\n"
    "  - {id: b, barrier: {}, after: [c, k]}\n";

static const char wrong[] =
    "graphrun: 1\nparams: {n: 16, m: 4K}\nordr: data\n"
    "buffers:\n  x: {type: f33, shape: [n, 2]}\n  y: {type: u8, shape: 4, init: {fill: 256}, expect: {equals: 1e999}}\n"
    "kernels: {own: {}}\n? [x]\n: y\n"
    "nodes:\n  - {id: c, copy: {from: 'y[0:8]', to: yy}, after: [d, e]}\n  - {id: c, kernel: axpi, args: {a: n}}\n"
    "  - {id: f, kernel: axpy, args: {b: n}}\n  - {id: g, kernel: add, args: {x: y, y: y, out: max(1, 2)}}\n";

/* Reads with the n-th allocation failing. */
static bool read_failing_at(const char *text, uint64_t n, enum gr_status expected) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &memory, "t.yaml"));
  struct gr_document *document = NULL;
  (void)gr_document_parse(&memory, "t.yaml", gr_view_of(text), &diagnostics, &document); /* may be flawed */
  ck_assert_ptr_nonnull(document);
  gr_diagnostics_clear(&diagnostics);
  uint64_t live = memory.live_count;
  memory.fail_at = memory.call_count + n;
  struct gr_pipeline_options options = {.folder = "d/", .catalogue = &fixture_catalogue};
  struct gr_pipeline *const untouched = (struct gr_pipeline *)&memory;
  struct gr_pipeline *pipeline = untouched;
  enum gr_status status = gr_pipeline_read(&memory, document, &options, &diagnostics, &pipeline);
  bool is_over = memory.call_count < memory.fail_at;
  ck_assert_msg(status == (is_over ? expected : GR_ERR_NO_MEMORY), "allocation %d gives %s", (int)n,
                gr_status_name(status));
  memory.fail_at = 0;
  if (pipeline != untouched) {
    ck_assert_int_ne(status, GR_ERR_NO_MEMORY);
    ck_assert_int_eq(pipeline->is_flawed, status != GR_OK);
    gr_pipeline_destroy(pipeline);
  } else {
    ck_assert_int_ne(status, GR_OK);
  }
  gr_diagnostics_clear(&diagnostics);
  ck_assert_uint_eq(memory.live_count, live);
  gr_document_destroy(document);
  gr_diagnostics_release(&diagnostics);
  ck_assert_uint_eq(memory.live_count, 0);
  return is_over;
}

START_TEST(every_allocation_may_fail_in_a_right_file) {
  uint64_t n = 1;
  while (!read_failing_at(right, n, GR_OK)) n++;
  ck_assert_uint_gt(n, 20);
}
END_TEST

START_TEST(every_allocation_may_fail_in_a_wrong_file) {
  uint64_t n = 1;
  while (!read_failing_at(wrong, n, GR_ERR_INVALID)) n++;
  ck_assert_uint_gt(n, 40);
}
END_TEST

START_TEST(the_right_file_is_right_and_the_wrong_one_wrong) {
  fixture_expect("@", right, "7:3 warning: buffer \"z\": no node uses it\n");
  struct fixture fixture;
  fixture_read(&fixture, wrong);
  ck_assert_uint_eq(fixture.diagnostics.error_count, 16);
  fixture_release(&fixture);
}
END_TEST

START_TEST(destroying_nothing_is_fine) { gr_pipeline_destroy(NULL); }
END_TEST

int main(void) {
  Suite *suite = suite_create("read");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 280);
  tcase_add_test(rules, defaults_of_the_top_level);
  tcase_add_test(rules, the_top_level_is_read);
  tcase_add_test(rules, json_is_accepted);
  tcase_add_test(rules, wrong_top_levels);
  tcase_add_test(rules, wrong_params);
  tcase_add_test(rules, a_param_can_be_set_from_outside);
  tcase_add_test(rules, wrong_settings_from_outside);
  tcase_add_test(rules, unused_buffers_are_warnings_where_nothing_is_wrong);
  tcase_add_test(rules, twenty_are_kept_and_all_are_counted);
  tcase_add_test(rules, nodes_and_their_edges_outlive_errors);
  tcase_add_test(rules, nothing_follows_from_what_was_refused);
  tcase_add_test(rules, every_allocation_may_fail_in_a_right_file);
  tcase_add_test(rules, every_allocation_may_fail_in_a_wrong_file);
  tcase_add_test(rules, the_right_file_is_right_and_the_wrong_one_wrong);
  tcase_add_test(rules, destroying_nothing_is_fine);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
