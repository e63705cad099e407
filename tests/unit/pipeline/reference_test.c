/* References and slices, seen through copies and fills. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

#define TEXT                                                                                              \
  "graphrun: 1\nparams: {n: 6, a: 2.5}\nbuffers:\n  x: {type: u16, shape: [n, 8]}\n"                      \
  "  vec: {type: u16, shape: 9}\n  scalar: {type: u16, shape: []}\n  a b: {type: u16, shape: 2}\n"        \
  "nodes:\n  - {id: u1, fill: {buffer: vec, value: 0}}\n  - {id: u2, fill: {buffer: scalar, value: 0}}\n" \
  "  - {id: u3, fill: {buffer: a b, value: 0}}\n  - {id: u4, fill: {buffer: x, value: 0}}\n"

struct row {
  const char *text;
  uint64_t starts[2];
  uint64_t extents[2];
  uint64_t offset_bytes;
  bool is_contiguous;
  bool is_whole;
};

START_TEST(slices_follow_the_rules) {
  static const struct row rows[] = {
      {"x", {0, 0}, {6, 8}, 0, true, true},
      {"x[0:6, 0:8]", {0, 0}, {6, 8}, 0, true, true},
      {"x[:,:]", {0, 0}, {6, 8}, 0, true, true},
      {"x[ : , : ]", {0, 0}, {6, 8}, 0, true, true},
      {"x[1:3, :]", {1, 0}, {2, 8}, 16, true, false},
      {"x[1:3, 0:4]", {1, 0}, {2, 4}, 16, false, false},
      {"x[:n/2, 7:]", {0, 7}, {3, 1}, 14, false, false},
      {"x[5:6, 2:5]", {5, 2}, {1, 3}, 84, true, false},
      {"x[n-1:n, min(2, 3):max(5, n - 1)]", {5, 2}, {1, 3}, 84, true, false},
      {"x[ 2 : 2, 1:3 ]", {2, 1}, {0, 2}, 34, true, false},
      {"x[6:, 8:]", {6, 8}, {0, 0}, 112, true, false},
      {"x[-1+1:(n), 0x0:8]", {0, 0}, {6, 8}, 0, true, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[1000];
    snprintf(text, sizeof text, TEXT "  - {id: k, fill: {buffer: '%s', value: 1}}\n", rows[i].text);
    struct fixture fixture;
    fixture_read(&fixture, text);
    ck_assert_msg(fixture.status == GR_OK, "%s: %s", rows[i].text, fixture.said.bytes);
    const struct gr_reference *reference = &fixture.pipeline->references[fixture_node(&fixture, "k")->fill.to];
    ck_assert_uint_eq(reference->rank, 2);
    ck_assert_msg((reference->starts == NULL) == rows[i].is_whole, "%s", rows[i].text);
    for (int k = 0; k < 2; k++) {
      if (reference->starts) ck_assert_uint_eq(reference->starts[k], rows[i].starts[k]);
      ck_assert_uint_eq(reference->extents[k], rows[i].extents[k]);
    }
    ck_assert_uint_eq(reference->element_count, rows[i].extents[0] * rows[i].extents[1]);
    ck_assert_msg(reference->offset_bytes == rows[i].offset_bytes, "%s: %" PRIu64, rows[i].text,
                  reference->offset_bytes);
    ck_assert_msg(reference->is_contiguous == rows[i].is_contiguous, "%s", rows[i].text);
    ck_assert_uint_eq(reference->mark.line, 13);
    fixture_release(&fixture);
  }
}
END_TEST

/* The wrong reference stands in line 13, column 28. */
static void expect(const char *reference, const char *said) {
  char whole[600];
  whole[0] = '\0';
  if (said[0]) snprintf(whole, sizeof whole, "13:28 error: node \"k\": fill.buffer: %s\n", said);
  fixture_expect(TEXT "  - {id: k, fill: {buffer: \"@\", value: 1}}\n", reference, whole);
}

START_TEST(wrong_references) {
  expect("a b", "");
  expect("scalar", "");
  expect("vce", "there is no buffer \"vce\"; did you mean \"vec\"?");
  expect("", "no buffer is named; it takes a buffer or a slice such as x[0:4]");
  expect("scalar[]", "\"scalar[]\" has 1 range, but \"scalar\" has 0 dimensions");
  expect("x[]", "\"x[]\" has 1 range, but \"x\" has 2 dimensions");
  expect("x[0:1]", "\"x[0:1]\" has 1 range, but \"x\" has 2 dimensions");
  expect("vec[0:1,0:1]", "\"vec[0:1,0:1]\" has 2 ranges, but \"vec\" has 1 dimension");
  expect("vec[0:1,]", "\"vec[0:1,]\" has 2 ranges, but \"vec\" has 1 dimension");
  expect("vec[3]", "\"3\" is no range; a range is \"a:b\", where either end may be left out");
  expect("vec[0:4", "\"vec[0:4\" has no \"]\" at its end");
  expect("vec[0:4] ", "\"vec[0:4] \" has no \"]\" at its end");
  expect("vec]", "there is no buffer \"vec]\"; did you mean \"vec\"?");
  expect("vec[0:10]", "the range 0:10 does not fit dimension 0 of \"vec\", which goes from 0 to 9");
  expect("x[0:6, 7:9]", "the range 7:9 does not fit dimension 1 of \"x\", which goes from 0 to 8");
  expect("vec[-1:4]", "the range -1:4 does not fit dimension 0 of \"vec\", which goes from 0 to 9");
  expect("vec[5:4]",
         "the range 5:4 does not fit dimension 0 of \"vec\", which goes from 0 to 9; it ends before it starts");
  expect("vec[10:]",
         "the range 10:9 does not fit dimension 0 of \"vec\", which goes from 0 to 9; it ends before it starts");
  expect(
      "vec[9223372036854775807:9223372036854775807]",
      "the range 9223372036854775807:9223372036854775807 does not fit dimension 0 of \"vec\", which goes from 0 to 9");
  expect(
      "vec[0:a]",
      "\"a\" is no integer: param \"a\" is a float, and an integer is expected; allowed are integers (42, 0x2A, 4Ki), "
      "params, + - * / %, parentheses, min, max and ceil_div");
  expect("vec[0:4:2]",
         "\"4:2\" is no integer: \":\" has no place here; allowed are integers (42, 0x2A, 4Ki), params, + - * / %, "
         "parentheses, min, max and ceil_div");
  expect("n", "\"n\" is a param, and a buffer is expected");
  expect("u1", "\"u1\" is a node, and a buffer is expected");
  expect("7", "\"7\" is a number, and a buffer is expected");
}
END_TEST

START_TEST(both_ends_are_judged) {
  fixture_expect(
      TEXT "  - {id: k, fill: {buffer: \"x[0:7, q:9]\", value: 1}}\n", "",
      "13:28 error: node \"k\": fill.buffer: the range 0:7 does not fit dimension 0 of \"x\", which goes from "
      "0 to 6\n"
      "13:28 error: node \"k\": fill.buffer: \"q\" is no integer: there is no param \"q\"; allowed are "
      "integers (42, 0x2A, 4Ki), params, + - * / %, parentheses, min, max and ceil_div\n");
}
END_TEST

START_TEST(block_style_needs_no_quotes) {
  fixture_expect(TEXT "  - id: k\n    copy:\n      from: x[0:4, 1:3]\n      to: x[0:4, min(4, n):6]\n", "", "");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reference");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, slices_follow_the_rules);
  tcase_add_test(rules, wrong_references);
  tcase_add_test(rules, both_ends_are_judged);
  tcase_add_test(rules, block_style_needs_no_quotes);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
