/* Nodes of every kind: what they become, and what is said of wrong ones. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

#define HEAD                                                                                                 \
  "graphrun: 1\nparams: {n: 16, a: 2.5}\nbuffers:\n  x: {type: f32, shape: n}\n  y: {type: f32, shape: n}\n" \
  "  m: {type: f32, shape: [4, 4]}\n  d: {type: f64, shape: n}\n  h: {type: f32, shape: n, place: host}\n"   \
  "  e: {type: f32, shape: 0}\n  one: {type: u8, shape: [1]}\n"                                              \
  "nodes:\n"                                                                                                 \
  "  - {id: use, fill: {buffer: one, value: 0}, note: all are used}\n"                                       \
  "  - {id: used, kernel: add, args: {x: x, y: y, out: y}}\n  - {id: used2, copy: {from: m, to: 'h'}}\n"     \
  "  - {id: used3, fill: {buffer: d, value: 0}}\n  - {id: used4, fill: {buffer: e, value: 0}}\n"

/* One more node, on line 17. */
static void expect(const char *node, const char *said) { fixture_expect(HEAD "  - @\n", node, said); }

static void read_one(struct fixture *fixture, const char *node) {
  char text[2000];
  snprintf(text, sizeof text, HEAD "  - %s\n", node);
  fixture_read(fixture, text);
  ck_assert_msg(fixture->status == GR_OK && fixture->said.length == 0, "%s: %s", node, fixture->said.bytes);
}

START_TEST(a_copy_reads_and_writes) {
  struct fixture fixture;
  read_one(&fixture,
           "{id: c, copy: {from: 'x[2:n-2]', to: 'h[0:12]'}, after: [use, used, use], timeout: 0.5, note: hi}");
  const struct gr_pipeline *pipeline = fixture.pipeline;
  const struct gr_node *node = fixture_node(&fixture, "c");
  ck_assert_int_eq(node->kind, GR_NODE_COPY);
  ck_assert(!node->is_no_op);
  ck_assert_uint_eq(node->timeout_ns, 500000000);
  ck_assert_str_eq(node->note, "hi");
  ck_assert_uint_eq(node->mark.line, 17);
  ck_assert_uint_eq(node->mark.column, 5);
  ck_assert_uint_eq(node->after_count, 2); /* a repeated id counts once */
  ck_assert_uint_eq(pipeline->after[node->first_after].node_index, 0);
  ck_assert_uint_eq(pipeline->after[node->first_after + 1].node_index, 1);
  ck_assert_uint_eq(pipeline->after[node->first_after].mark.line, 17);
  ck_assert_uint_eq(node->access_count, 2);
  const struct gr_node_access *accesses = &pipeline->accesses[node->first_access];
  ck_assert_uint_eq(accesses[0].access, GR_ACCESS_READ);
  ck_assert_uint_eq(accesses[0].reference_index, node->copy.from);
  ck_assert_uint_eq(accesses[1].access, GR_ACCESS_WRITE);
  ck_assert_uint_eq(accesses[1].reference_index, node->copy.to);
  const struct gr_reference *from = &pipeline->references[node->copy.from];
  ck_assert_uint_eq(from->starts[0], 2);
  ck_assert_uint_eq(from->extents[0], 12);
  ck_assert_uint_eq(from->offset_bytes, 8);
  ck_assert_uint_eq(from->element_count, 12);
  ck_assert(from->is_contiguous);
  fixture_release(&fixture);
}
END_TEST

START_TEST(a_fill_holds_its_value) {
  struct fixture fixture;
  read_one(&fixture, "{id: f, fill: {buffer: 'm[1:3, 0:2]', value: -a}}");
  const struct gr_node *node = fixture_node(&fixture, "f");
  ck_assert_int_eq(node->kind, GR_NODE_FILL);
  ck_assert_uint_eq(node->fill.value.bits, 0xC0200000);
  ck_assert_uint_eq(node->access_count, 1);
  ck_assert_uint_eq(fixture.pipeline->accesses[node->first_access].access, GR_ACCESS_WRITE);
  const struct gr_reference *to = &fixture.pipeline->references[node->fill.to];
  ck_assert(!to->is_contiguous);
  ck_assert_uint_eq(to->offset_bytes, 16);
  ck_assert_uint_eq(node->timeout_ns, 0);
  ck_assert_ptr_null(node->note);
  fixture_release(&fixture);
}
END_TEST

START_TEST(nothing_to_do_is_a_no_op) {
  static const char *const nodes[] = {
      "{id: k, copy: {from: e, to: 'x[3:3]'}}", "{id: k, fill: {buffer: 'x[16:]', value: 1}}",
      "{id: k, fill: {buffer: 'm[1:1, 0:2]', value: 1}}", "{id: k, copy: {from: 'x[4:4]', to: 'x[4:4]'}}",
      "{id: k, kernel: add, args: {x: e, y: e, out: e}}"};
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
    struct fixture fixture;
    read_one(&fixture, nodes[i]);
    ck_assert_msg(fixture_node(&fixture, "k")->is_no_op, "%s", nodes[i]);
    ck_assert_uint_eq(fixture_node(&fixture, "k")->access_count, 0);
    fixture_release(&fixture);
  }
  struct fixture fixture;
  read_one(&fixture, "{id: k, barrier: {}}");
  ck_assert(!fixture_node(&fixture, "k")->is_no_op);
  ck_assert_int_eq(fixture_node(&fixture, "k")->kind, GR_NODE_BARRIER);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_copies) {
  expect("{id: c, copy: {from: x, to: d}}",
         "17:19 error: node \"c\": copy: \"x\" is f32, but \"d\" is f64; a copy does not convert, the kernel convert "
         "does\n");
  expect("{id: c, copy: {from: x, to: 'y[0:15]'}}",
         "17:19 error: node \"c\": copy: \"x\" has 16 elements, but \"y[0:15]\" has 15\n");
  expect("{id: c, copy: {from: x, to: x}}", "17:19 error: node \"c\": copy: source \"x\" and target \"x\" overlap\n");
  expect("{id: c, copy: {from: 'x[0:8]', to: 'x[7:15]'}}",
         "17:19 error: node \"c\": copy: source \"x[0:8]\" and target \"x[7:15]\" overlap\n");
  expect("{id: c, copy: {from: 'm[0:2, 0:3]', to: 'm[1:3, 2:4]'}}",
         "17:19 error: node \"c\": copy: \"m[0:2, 0:3]\" has 6 elements, but \"m[1:3, 2:4]\" has 4\n");
  expect("{id: c, copy: {from: 'm[0:2, 0:3]', to: 'm[1:3, 1:4]'}}",
         "17:19 error: node \"c\": copy: source \"m[0:2, 0:3]\" and target \"m[1:3, 1:4]\" overlap\n");
  expect("{id: c, copy: {from: 'm[0:2, 0:2]', to: 'x[0:4]'}}",
         "17:19 error: node \"c\": copy: \"m[0:2, 0:2]\" and \"x[0:4]\" have equally many elements in different "
         "shapes, and \"m[0:2, 0:2]\" does not lie side by side\n");
  expect("{id: c, copy: {from: x}}", "17:19 error: node \"c\": copy: \"to\" is missing\n");
  expect("{id: c, copy: {frm: x, to: y}}",
         "17:20 error: node \"c\": copy: unknown key \"frm\"; did you mean \"from\"?\n");
  expect("{id: c, copy: [x, y]}", "17:19 error: node \"c\": copy: must be a map, not a list\n");
  expect("{id: c, copy: {from: [x], to: y}}",
         "17:26 error: node \"c\": copy.from: must be a buffer or a slice such as x[0:4], not a list\n");
}
END_TEST

START_TEST(copies_that_lie_apart_are_right) {
  static const char *const nodes[] = {
      "{id: c, copy: {from: 'x[0:8]', to: 'x[8:16]'}}",          "{id: c, copy: {from: 'm[0:4, 0:2]', to: 'm[:, 2:]'}}",
      "{id: c, copy: {from: 'm[0:2, 0:2]', to: 'm[2:4, 2:4]'}}", "{id: c, copy: {from: 'm', to: x}}",
      "{id: c, copy: {from: 'm[1:3, :]', to: 'x[4:12]'}}",       "{id: c, copy: {from: 'm[1:2, 1:3]', to: 'x[4:6]'}}",
  };
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
    struct fixture fixture;
    read_one(&fixture, nodes[i]);
    fixture_release(&fixture);
  }
}
END_TEST

START_TEST(a_key_with_a_strange_blank_is_said) {
  expect("{id: c, copy: {from: x, to\xC2\xA0: y}}",
         "17:19 error: node \"c\": copy: \"to\" is missing\n"
         "17:29 error: node \"c\": copy: unknown key \"to\\u00A0\"; allowed are from, to\n");
  expect("{id: c, copy: {from\xC2\xA0: x, to: y}}",
         "17:20 error: node \"c\": copy: unknown key \"from\\u00A0\"; did you mean \"from\"?\n");
}
END_TEST

START_TEST(a_wrong_id_is_still_known) {
  fixture_expect(
      "graphrun: 1\nnodes:\n  - {id: \"a\\tb\", barrier: {}}\n  - {id: c, barrier: {}, after: [\"a\\tb\"]}\n", "",
      "3:10 error: nodes[0]: the name \"a\\x09b\" has a control character in it\n");
}
END_TEST

START_TEST(wrong_fills) {
  expect("{id: f, fill: {buffer: one, value: 256}}",
         "17:40 error: node \"f\": fill.value: 256 does not fit u8, which holds integers from 0 to 255\n");
  expect("{id: f, fill: {buffer: one, value: -1}}",
         "17:40 error: node \"f\": fill.value: -1 does not fit u8, which holds integers from 0 to 255\n");
  expect("{id: f, fill: {buffer: one, value: 0.5}}",
         "17:40 error: node \"f\": fill.value: 0.5 does not fit u8, which holds integers from 0 to 255\n");
  expect("{id: f, fill: {buffer: x, value: 1e39}}",
         "17:38 error: node \"f\": fill.value: 1e39 does not fit f32, which holds finite values up to 3.4028235e38\n");
  expect("{id: f, fill: {buffer: x}}", "17:19 error: node \"f\": fill: \"value\" is missing\n");
  expect("{id: f, fill: {buffer: z, value: 4K}}",
         "17:28 error: node \"f\": fill.buffer: there is no buffer \"z\"\n"
         "17:38 error: node \"f\": fill.value: \"4K\" is no number: the suffixes are Ki, Mi and Gi; allowed are "
         "integers (42, 0x2A, 4Ki), floats (1.5, 1e3, .inf, .nan), params, + - * / %, parentheses, min, max and "
         "ceil_div\n");
}
END_TEST

START_TEST(a_node_is_one_thing) {
  expect("{id: k}",
         "17:5 error: node \"k\": exactly one of copy, fill, kernel, host and barrier is needed, and none is there\n");
  expect("{id: k, barrier: {}, kernel: busy}",
         "17:5 error: node \"k\": exactly one of copy, fill, kernel, host and barrier is needed, and both kernel and "
         "barrier are there\n");
  expect("{id: k, kernal: busy}", "17:13 error: node \"k\": unknown key \"kernal\"; did you mean \"kernel\"?\n");
  expect("{id: k, barrier: {x: 1}}", "17:22 error: node \"k\": a barrier has nothing in it; write barrier: {}\n");
  expect("{id: k, barrier: }", "17:22 error: node \"k\": barrier: must be a map, but is empty\n");
  expect("{id: k, barrier: {}, args: {x: 1}, launch: {}}",
         "17:32 error: node \"k\": \"args\" belongs to kernel nodes, and this is a barrier node\n"
         "17:48 error: node \"k\": \"launch\" belongs to kernel nodes, and this is a barrier node\n");
  expect("{id: k, barrier: {}, afer: use}", "17:26 error: node \"k\": unknown key \"afer\"; did you mean \"after\"?\n");
  expect("just text", "17:5 error: nodes[5]: must be a map, not \"just text\"\n");
  expect("[a, b]", "17:5 error: nodes[5]: must be a map, not a list\n");
  expect("", "17:4 error: nodes[5]: must be a map, but is empty\n");
}
END_TEST

START_TEST(host_nodes_are_not_supported_yet) {
  struct fixture fixture;
  fixture_read(&fixture, HEAD "  - {id: k, host: {library: l.so, entry: f}, args: {}}\n");
  ck_assert_str_eq(fixture.said.bytes, "17:19 error: node \"k\": host nodes are not supported yet\n");
  ck_assert_int_eq(fixture.status, GR_ERR_NOT_SUPPORTED);
  fixture_release(&fixture);
  fixture_read(&fixture, HEAD "  - {id: k, host: {library: l.so, entry: f}}\n  - {id: l}\n");
  ck_assert_int_eq(fixture.status, GR_ERR_INVALID);
  fixture_release(&fixture);
}
END_TEST

START_TEST(timeouts_are_above_zero_and_bounded) {
  static const char *const texts[] = {"0", "-1", ".nan", ".inf", "1e10", "-0.0", "1000000001"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char node[100];
    char said[300];
    snprintf(node, sizeof node, "{id: k, barrier: {}, timeout: %s}", texts[i]);
    snprintf(said, sizeof said,
             "17:35 error: node \"k\": timeout: \"%s\" is no timeout; allowed are seconds above 0 up to 1000000000\n",
             texts[i]);
    expect(node, said);
  }
  expect(
      "{id: k, barrier: {}, timeout: 5s}",
      "17:35 error: node \"k\": timeout: \"5s\" is no number: it goes on with something that belongs to no number; "
      "allowed are floats (1.5, 1e3, .inf, .nan), integers, params, + - * / %, parentheses, min, max and ceil_div\n");
  struct fixture fixture;
  read_one(&fixture, "{id: k, barrier: {}, timeout: 1e-12}");
  ck_assert_uint_eq(fixture_node(&fixture, "k")->timeout_ns, 1); /* 0 would be none */
  fixture_release(&fixture);
  read_one(&fixture, "{id: k, barrier: {}, timeout: 1000000000}");
  ck_assert_uint_eq(fixture_node(&fixture, "k")->timeout_ns, UINT64_C(1000000000000000000));
  fixture_release(&fixture);
  read_one(&fixture, "{id: k, barrier: {}, timeout: n/32}");
  ck_assert_uint_eq(fixture_node(&fixture, "k")->timeout_ns, 500000000);
  fixture_release(&fixture);
}
END_TEST

START_TEST(after_takes_ids) {
  expect("{id: k, barrier: {}, after: use}", "");
  expect("{id: k, barrier: {}, after: []}", "");
  expect("{id: k, barrier: {}, after: [k]}", ""); /* a cycle, which the next stage says */
  expect("{id: k, barrier: {}, after: [uesd2, x, one, nowhere, used]}",
         "17:34 error: node \"k\": after[0]: there is no node \"uesd2\"; did you mean \"used2\"?\n"
         "17:41 error: node \"k\": after[1]: \"x\" is a buffer, and a node is expected\n"
         "17:44 error: node \"k\": after[2]: \"one\" is a buffer, and a node is expected\n"
         "17:49 error: node \"k\": after[3]: there is no node \"nowhere\"\n");
  expect("{id: k, barrier: {}, after: [[use]]}", "17:34 error: node \"k\": after[0]: must be a name, not a list\n");
  expect("{id: k, barrier: {}, after: {use: 1}}",
         "17:33 error: node \"k\": after: must be an id or a list of ids, not a map\n");
  expect("{id: k, barrier: {}, after: }", "17:33 error: node \"k\": after: is empty; write [] or leave it out\n");
  expect("{id: k, barrier: {}, after: ~}", "17:33 error: node \"k\": after: there is no node \"~\"\n");
  expect("{id: k, copy: {from: use, to: n}}",
         "17:26 error: node \"k\": copy.from: \"use\" is a node, and a buffer is expected\n"
         "17:35 error: node \"k\": copy.to: \"n\" is a param, and a buffer is expected\n");
}
END_TEST

START_TEST(ids_are_unique) {
  expect("{id: used, barrier: {}}", "17:10 error: the id \"used\" is taken: the node on line 13 has it\n");
  expect("{id: \"used \", barrier: {}}", "");
  expect("{id: Used, barrier: {}}", "");
  expect("{id: 'a[0]:,', barrier: {}}", "");
  expect("{barrier: {}}", "17:5 error: nodes[5]: \"id\" is missing\n");
  expect("{id: , barrier: {}}", "17:10 error: nodes[5]: the name \"\" is empty; a name has 1 to 256 bytes\n");
  expect("{id: [a], barrier: {}}", "17:10 error: nodes[5].id: must be a name, not a list\n");
  expect("{id: \"a\\nb\", barrier: {}}", "17:10 error: nodes[5]: the name \"a\\x0Ab\" has a control character in it\n");
  expect("{id: n, barrier: {}, note: \"a\\0b\"}", "17:32 error: node \"n\": note: the note has a zero byte in it\n");
}
END_TEST

START_TEST(ids_are_no_expressions) {
  struct fixture fixture;
  fixture_read(
      &fixture,
      "graphrun: 1\nnodes: [{id: f(a, barrier: {}}, {id: b), barrier: {}}, {id: c, barrier: {}, after: [f(a, b)]}]\n");
  ck_assert_str_eq(fixture.said.bytes, "");
  ck_assert_uint_eq(fixture_node(&fixture, "c")->after_count, 2);
  fixture_release(&fixture);
}
END_TEST

START_TEST(ids_of_the_norway_family_stay_what_they_are) {
  struct fixture fixture;
  fixture_read(&fixture,
               "graphrun: 1\nnodes:\n  - {id: no, barrier: {}}\n  - {id: on, barrier: {}}\n  - {id: ~, barrier: {}}\n"
               "  - {id: 010, barrier: {}}\n  - {id: 8, barrier: {}}\n  - {id: 1.0, barrier: {}}\n"
               "  - {id: 1, barrier: {}, after: [no, on, ~, '010', 8, 1.0]}\n");
  ck_assert_str_eq(fixture.said.bytes, "");
  ck_assert_uint_eq(fixture_node(&fixture, "1")->after_count, 6);
  fixture_release(&fixture);
}
END_TEST

/* ---- scale ---- */

/* A chain in which each node also comes after up to `radix` others, most of them named twice. */
static char *make_chain(uint32_t count, uint32_t radix, size_t *length) {
  size_t capacity = 200 + (size_t)count * (90 + 18 * (size_t)radix);
  char *text = malloc(capacity);
  ck_assert_ptr_nonnull(text);
  size_t used = (size_t)sprintf(text, "graphrun: 1\nbuffers:\n  x: {type: f32, shape: [%u, 4]}\nnodes:\n", count);
  for (uint32_t i = 0; i < count; i++) {
    used += (size_t)sprintf(text + used, "  - {id: node_%u, fill: {buffer: 'x[%u:%u, 0:4]', value: %u}, after: [", i, i,
                            i + 1, i);
    for (uint32_t k = 0; k < radix && i > 0; k++)
      used += (size_t)sprintf(text + used, "%snode_%u", k ? ", " : "", (i * 7 + k / 2) % i);
    used += (size_t)sprintf(text + used, "]}\n");
  }
  ck_assert_uint_lt(used, capacity);
  *length = used;
  return text;
}

START_TEST(two_hundred_thousand_nodes) {
  size_t length;
  char *text = make_chain(200000, 4, &length);
  struct fixture fixture;
  fixture_read_with(&fixture, (struct gr_view){text, length}, NULL, 0);
  ck_assert_str_eq(fixture.said.bytes, "");
  ck_assert_uint_eq(fixture.pipeline->node_count, 200000);
  ck_assert_str_eq(fixture.pipeline->nodes[199999].name, "node_199999");
  ck_assert_uint_eq(fixture.pipeline->nodes[199999].after_count, 2);
  fixture_release(&fixture);
  free(text);
}
END_TEST

/* Every node is wrong, and each has its nearest name looked for: only the first twenty are. */
START_TEST(two_hundred_thousand_errors_end_soon) {
  enum { COUNT = 200000 };
  char *text = malloc(100 + COUNT * 60);
  ck_assert_ptr_nonnull(text);
  size_t used = (size_t)sprintf(text, "graphrun: 1\nnodes:\n");
  for (uint32_t i = 0; i < COUNT; i++)
    used += (size_t)sprintf(text + used, "  - {id: node_%u, barrier: {}, after: [nod_%u]}\n", i, i);
  struct fixture fixture;
  fixture_read_with(&fixture, (struct gr_view){text, used}, NULL, 0);
  ck_assert_uint_eq(fixture.diagnostics.error_count, COUNT);
  ck_assert_uint_eq(fixture.diagnostics.kept_count, 20);
  fixture_release(&fixture);
  free(text);
}
END_TEST

START_TEST(one_long_list_of_predecessors) {
  enum { COUNT = 100000 };
  char *text = malloc(100 + COUNT * 60);
  ck_assert_ptr_nonnull(text);
  size_t used = (size_t)sprintf(text, "graphrun: 1\nnodes:\n");
  for (uint32_t i = 0; i < COUNT; i++) used += (size_t)sprintf(text + used, "  - {id: node_%u, barrier: {}}\n", i);
  used += (size_t)sprintf(text + used, "  - {id: last, barrier: {}, after: [node_0");
  for (uint32_t i = 1; i < COUNT; i++) used += (size_t)sprintf(text + used, ", node_%u", i);
  used += (size_t)sprintf(text + used, "]}\n");
  struct fixture fixture;
  fixture_read_with(&fixture, (struct gr_view){text, used}, NULL, 0);
  ck_assert_uint_eq(fixture_node(&fixture, "last")->after_count, COUNT);
  fixture_release(&fixture);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("nodes");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, a_copy_reads_and_writes);
  tcase_add_test(rules, a_fill_holds_its_value);
  tcase_add_test(rules, nothing_to_do_is_a_no_op);
  tcase_add_test(rules, wrong_copies);
  tcase_add_test(rules, copies_that_lie_apart_are_right);
  tcase_add_test(rules, a_key_with_a_strange_blank_is_said);
  tcase_add_test(rules, a_wrong_id_is_still_known);
  tcase_add_test(rules, wrong_fills);
  tcase_add_test(rules, a_node_is_one_thing);
  tcase_add_test(rules, host_nodes_are_not_supported_yet);
  tcase_add_test(rules, timeouts_are_above_zero_and_bounded);
  tcase_add_test(rules, after_takes_ids);
  tcase_add_test(rules, ids_are_unique);
  tcase_add_test(rules, ids_are_no_expressions);
  tcase_add_test(rules, ids_of_the_norway_family_stay_what_they_are);
  suite_add_tcase(suite, rules);
  TCase *scale = tcase_create("scale");
  tcase_set_timeout(scale, 280);
  tcase_add_test(scale, two_hundred_thousand_nodes);
  tcase_add_test(scale, two_hundred_thousand_errors_end_soon);
  tcase_add_test(scale, one_long_list_of_predecessors);
  suite_add_tcase(suite, scale);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
