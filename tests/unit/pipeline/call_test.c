/* Kernel nodes: arguments by name, places, the kernel's own check, overlaps. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

#define HEAD                                                                                                \
  "graphrun: 1\nparams: {n: 16, a: 2.5, x: 3}\nbuffers:\n"                                                  \
  "  x: {type: f32, shape: n}\n  y: {type: f32, shape: n}\n  d: {type: f64, shape: n, place: managed}\n"    \
  "  m: {type: f32, shape: [4, 4], place: mapped}\n  h: {type: f32, shape: n, place: host}\n"               \
  "  p: {type: f32, shape: n, place: pinned}\n  s: {type: f32, shape: [1]}\n  e: {type: f32, shape: [0]}\n" \
  "nodes:\n"                                                                                                \
  "  - {id: u1, copy: {from: x, to: y}}\n  - {id: u2, copy: {from: h, to: p}}\n"                            \
  "  - {id: u3, fill: {buffer: d, value: 0}}\n  - {id: u4, fill: {buffer: m, value: 0}}\n"                  \
  "  - {id: u5, fill: {buffer: s, value: 0}}\n  - {id: u6, fill: {buffer: e, value: 0}}\n"

/* One more node, on line 19. */
static void expect(const char *node, const char *said) { fixture_expect(HEAD "  - {id: k, @}\n", node, said); }

static void read_one(struct fixture *fixture, const char *node) {
  char text[2000];
  snprintf(text, sizeof text, HEAD "  - {id: k, %s}\n", node);
  fixture_read(fixture, text);
  ck_assert_msg(fixture->status == GR_OK && fixture->said.length == 0, "%s: %s", node, fixture->said.bytes);
}

START_TEST(arguments_come_in_the_kernels_order) {
  struct fixture fixture;
  read_one(&fixture, "kernel: axpy, args: {y: 'y[0:8]', a: 2*a, x: 'm[1:3, :]'}");
  const struct gr_pipeline *pipeline = fixture.pipeline;
  const struct gr_node *node = fixture_node(&fixture, "k");
  ck_assert_int_eq(node->kind, GR_NODE_KERNEL);
  ck_assert_str_eq(node->kernel.kernel->name, "axpy");
  const struct gr_argument *arguments = &pipeline->arguments[node->kernel.first_argument];
  ck_assert_uint_eq(arguments[0].reference_index, UINT32_MAX);
  ck_assert_double_eq(arguments[0].real, 5);
  const struct gr_reference *x = &pipeline->references[arguments[1].reference_index];
  const struct gr_reference *y = &pipeline->references[arguments[2].reference_index];
  ck_assert_str_eq(pipeline->buffers[x->buffer_index].name, "m");
  ck_assert_uint_eq(x->offset_bytes, 16);
  ck_assert_uint_eq(x->element_count, 8);
  ck_assert_str_eq(pipeline->buffers[y->buffer_index].name, "y");
  ck_assert_uint_eq(arguments[2].mark.column, 37);
  ck_assert_uint_eq(node->access_count, 2);
  ck_assert_uint_eq(pipeline->accesses[node->first_access].access, GR_ACCESS_READ);
  ck_assert_uint_eq(pipeline->accesses[node->first_access + 1].access, GR_ACCESS_UPDATE);
  ck_assert_uint_eq(node->kernel.scratch_bytes, 0);
  fixture_release(&fixture);
}
END_TEST

START_TEST(scalars_are_what_the_kernel_wants) {
  struct fixture fixture;
  read_one(&fixture, "kernel: busy, args: {ns: 4Ki*n}");
  const struct gr_node *node = fixture_node(&fixture, "k");
  ck_assert_int_eq(fixture.pipeline->arguments[node->kernel.first_argument].integer, 65536);
  ck_assert_uint_eq(node->access_count, 0);
  ck_assert(!node->is_no_op);
  fixture_release(&fixture);
  /* x is a param and a buffer: each where it fits. */
  read_one(&fixture, "kernel: axpy, args: {a: x, x: x, y: y}");
  node = fixture_node(&fixture, "k");
  ck_assert_double_eq(fixture.pipeline->arguments[node->kernel.first_argument].real, 3);
  fixture_release(&fixture);
}
END_TEST

START_TEST(the_kernel_narrows_accesses_and_asks_for_scratch) {
  struct fixture fixture;
  read_one(&fixture, "kernel: mix, args: {beta: 0, c: x}");
  const struct gr_node *node = fixture_node(&fixture, "k");
  ck_assert_uint_eq(fixture.pipeline->accesses[node->first_access].access, GR_ACCESS_WRITE);
  fixture_release(&fixture);
  read_one(&fixture, "kernel: mix, args: {beta: 1, c: x}");
  node = fixture_node(&fixture, "k");
  ck_assert_uint_eq(fixture.pipeline->accesses[node->first_access].access, GR_ACCESS_UPDATE);
  fixture_release(&fixture);
  /* The sum of nothing writes, but reads no byte. */
  read_one(&fixture, "kernel: sum, args: {x: e, out: s}");
  node = fixture_node(&fixture, "k");
  ck_assert(!node->is_no_op);
  ck_assert_uint_eq(node->kernel.scratch_bytes, 64);
  ck_assert_uint_eq(node->access_count, 1);
  ck_assert_uint_eq(fixture.pipeline->accesses[node->first_access].access, GR_ACCESS_WRITE);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_arguments) {
  expect("kernel: axpi, args: {a: 1}",
         "19:21 error: node \"k\": kernel: there is no kernel \"axpi\"; did you mean \"axpy\"?\n");
  expect("kernel: '', args: {}", "19:21 error: node \"k\": kernel: there is no kernel \"\"\n");
  expect("kernel: \"ad\\0d\", args: {}",
         "19:21 error: node \"k\": kernel: there is no kernel \"ad\\x00d\"; did you mean \"add\"?\n");
  expect("kernel: [add]", "19:21 error: node \"k\": kernel: must be a name, not a list\n");
  expect("kernel: add", "19:21 error: node \"k\": add lacks the arguments x, y, out\n");
  expect("kernel: add, args: {x: x, out: y}", "19:21 error: node \"k\": add lacks the argument y\n");
  expect("kernel: add, args: {x: x, y: y, otu: y}",
         "19:45 error: node \"k\": args: add has no argument \"otu\"; it takes x, y, out; did you mean \"out\"?\n");
  expect("kernel: add, args: {x: x, y: y, out: y, z: y}",
         "19:53 error: node \"k\": args: add has no argument \"z\"; it takes x, y, out\n");
  expect("kernel: add, args: {x: 2.5, y: [y], out: nowhere}",
         "19:36 error: node \"k\": args.x: \"2.5\" is a number, and a buffer is expected\n"
         "19:44 error: node \"k\": args.y: must be a buffer or a slice such as x[0:4], not a list\n"
         "19:54 error: node \"k\": args.out: there is no buffer \"nowhere\"\n");
  expect("kernel: axpy, args: {a: y, x: x, y: y}",
         "19:37 error: node \"k\": args.a: \"y\" is a buffer, and a number is expected\n");
  expect("kernel: busy, args: {ns: d}",
         "19:38 error: node \"k\": args.ns: \"d\" is a buffer, and an integer is expected\n");
  expect("kernel: busy, args: {ns: a}",
         "19:38 error: node \"k\": args.ns: \"a\" is no integer: param \"a\" is a float, and an integer is expected; "
         "allowed are integers (42, 0x2A, 4Ki), params, + - * / %, parentheses, min, max and ceil_div\n");
  expect(
      "kernel: busy, args: {ns: max(n, 1)}",
      "19:38 error: node \"k\": args.ns: \"max(n\" was cut at a comma: in YAML's flow style an expression with commas "
      "must be quoted, as in \"max(n, 1)\"\n");
  expect("kernel: busy, args: [1]", "19:33 error: node \"k\": args: must be a map, not a list\n");
  expect(
      "kernel: busy, args: {ns: 1}, launch: {elements: 4}",
      "19:50 error: node \"k\": \"launch\" belongs to kernels of the user's own, which are not supported yet; busy is "
      "built in and takes none\n");
}
END_TEST

START_TEST(kernels_reach_three_places) {
  expect("kernel: add, args: {x: h, y: p, out: 'y'}",
         "19:36 error: node \"k\": args.x: buffer \"h\" is in host memory, which kernels do not reach; allowed are "
         "device, "
         "mapped and managed\n"
         "19:42 error: node \"k\": args.y: buffer \"p\" is in pinned memory, which kernels do not reach; allowed are "
         "device, mapped and managed\n");
  expect("kernel: add, args: {x: x, y: m, out: m}", "");
  expect("kernel: apart, args: {x: d, out: d}",
         "19:46 error: node \"k\": args.out: \"d\" is written and overlaps \"d\", which is read, as x; they must be "
         "apart\n");
}
END_TEST

START_TEST(elements_lie_side_by_side) {
  expect("kernel: apart, args: {x: 'm[0:2, 0:2]', out: 'y[0:4]'}",
         "19:38 error: node \"k\": args.x: the elements of \"m[0:2, 0:2]\" do not lie side by side, and a kernel takes "
         "only those that do; copy them to a buffer of their own first\n");
  expect("kernel: apart, args: {x: 'm[1:2, 1:3]', out: 'y[0:2]'}", "");
  expect("kernel: apart, args: {x: 'm[1:3, 0:4]', out: 'y[0:8]'}", "");
  expect("kernel: apart, args: {x: 'm[0:4, 1:1]', out: 'y[0:0]'}", "");
}
END_TEST

START_TEST(the_kernel_judges_the_call) {
  expect("kernel: add, args: {x: x, y: d, out: y}", "19:42 error: node \"k\": add: the types differ\n");
  expect("kernel: add, args: {x: 'x[0:3]', y: y, out: y}", "19:36 error: node \"k\": add: the counts differ\n");
  expect("kernel: busy, args: {ns: -1}", "19:38 error: node \"k\": busy: 'ns' is negative\n");
  expect("kernel: mix, args: {beta: -1, c: x}", "19:21 error: node \"k\": mix: it does not like this call\n");
  expect("kernel: sum, args: {x: x, out: y}", "19:44 error: node \"k\": sum: 'out' has more than 1 element\n");
}
END_TEST

START_TEST(outputs_share_bytes_only_element_by_element) {
  expect("kernel: add, args: {x: x, y: y, out: x}", "");
  expect("kernel: add, args: {x: x, y: x, out: x}", "");
  expect("kernel: axpy, args: {a: 1, x: x, y: x}", "");
  expect("kernel: add, args: {x: 'x[0:8]', y: 'y[0:8]', out: 'x[8:16]'}", "");
  expect(
      "kernel: add, args: {x: 'x[0:8]', y: 'y[0:8]', out: 'x[4:12]'}",
      "19:64 error: node \"k\": args.out: \"x[4:12]\" is written and overlaps \"x[0:8]\", which is read, as x; the two "
      "may be exactly the same, or apart\n");
  expect("kernel: sum, args: {x: 'x', out: 'x[15:16]'}",
         "19:46 error: node \"k\": args.out: \"x[15:16]\" is written and overlaps \"x\", which is read, as x; they "
         "must be "
         "apart\n");
  expect("kernel: two, args: {first: x, second: x}",
         "19:40 error: node \"k\": args.first: \"x\" is written and overlaps \"x\", which is also written, as second; "
         "they "
         "must be apart\n");
  expect("kernel: two, args: {first: 'x[0:8]', second: 'x[8:16]'}", "");
}
END_TEST

START_TEST(kernels_of_the_users_own_are_not_supported_yet) {
  struct fixture fixture;
  fixture_read(&fixture,
               "graphrun: 1\nkernels:\n  scale2: {source: s.cu}\n  other: {}\nbuffers: {x: {type: f32, shape: 4}}\n"
               "nodes:\n  - {id: a, kernel: scale2, args: {x: x, factor: 2}, launch: {elements: 4}}\n");
  ck_assert_int_eq(fixture.status, GR_ERR_NOT_SUPPORTED);
  ck_assert_str_eq(fixture.said.bytes, "3:3 error: kernels: kernels of the user's own are not supported yet\n");
  fixture_release(&fixture);
  fixture_read(&fixture, "graphrun: 1\nkernels: {}\nnodes:\n  - {id: a, barrier: {}}\n");
  ck_assert_int_eq(fixture.status, GR_OK);
  fixture_release(&fixture);
  fixture_read(&fixture, "graphrun: 1\nkernels: {scale2: {}}\nnodes:\n  - {id: a, kernel: scael2, args: {}}\n");
  ck_assert_int_eq(fixture.status, GR_ERR_INVALID);
  ck_assert_str_eq(fixture.said.bytes,
                   "2:11 error: kernels: kernels of the user's own are not supported yet\n"
                   "4:21 error: node \"a\": kernel: there is no kernel \"scael2\"; did you mean \"scale2\"?\n");
  fixture_release(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("call");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, arguments_come_in_the_kernels_order);
  tcase_add_test(rules, scalars_are_what_the_kernel_wants);
  tcase_add_test(rules, the_kernel_narrows_accesses_and_asks_for_scratch);
  tcase_add_test(rules, wrong_arguments);
  tcase_add_test(rules, kernels_reach_three_places);
  tcase_add_test(rules, elements_lie_side_by_side);
  tcase_add_test(rules, the_kernel_judges_the_call);
  tcase_add_test(rules, outputs_share_bytes_only_element_by_element);
  tcase_add_test(rules, kernels_of_the_users_own_are_not_supported_yet);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
