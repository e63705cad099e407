/* Buffers: every key, its values, and what is said of wrong ones. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

#define HEAD "graphrun: 1\nparams: {n: 16, a: 2.5}\nbuffers:\n  "
#define TAIL "\nnodes: [{id: b, barrier: {}}]\n"
#define UNUSED "4:3 warning: buffer \"x\": no node uses it\n"
#define INTEGERS "; allowed are integers (42, 0x2A, 4Ki), params, + - * / %, parentheses, min, max and ceil_div"

/* One buffer `x`, with what is in the braces; `said` without the common warning. */
static void expect(const char *fields, const char *said) {
  fixture_expect(HEAD "x: {@}" TAIL, fields, said[0] == '\0' ? UNUSED : said);
}

static void read_one(struct fixture *fixture, const char *fields) {
  char text[2000];
  snprintf(text, sizeof text, HEAD "x: {%s}" TAIL, fields);
  fixture_read(fixture, text);
  ck_assert_msg(fixture->status == GR_OK, "%s: %s", fields, fixture->said.bytes);
}

START_TEST(defaults_are_filled_in) {
  struct fixture fixture;
  read_one(&fixture, "type: f32, shape: [n, 4]");
  const struct gr_buffer *buffer = fixture_buffer(&fixture, "x");
  ck_assert_int_eq(buffer->type, GR_TYPE_F32);
  ck_assert_int_eq(buffer->place, GR_PLACE_DEVICE);
  ck_assert_uint_eq(buffer->device, 0);
  ck_assert_uint_eq(buffer->rank, 2);
  ck_assert_uint_eq(buffer->shape[0], 16);
  ck_assert_uint_eq(buffer->shape[1], 4);
  ck_assert_uint_eq(buffer->element_count, 64);
  ck_assert_uint_eq(buffer->size_bytes, 256);
  ck_assert_ptr_null(buffer->init);
  ck_assert_ptr_null(buffer->expect);
  ck_assert_ptr_null(buffer->save);
  ck_assert_uint_eq(buffer->mark.line, 4);
  ck_assert_uint_eq(buffer->mark.column, 3);
  ck_assert_str_eq(fixture.said.bytes, UNUSED);
  fixture_release(&fixture);
}
END_TEST

START_TEST(shapes_may_be_one_none_and_zero) {
  struct fixture fixture;
  read_one(&fixture, "type: f64, shape: n*2, place: managed, device: 3");
  const struct gr_buffer *buffer = fixture_buffer(&fixture, "x");
  ck_assert_uint_eq(buffer->rank, 1);
  ck_assert_uint_eq(buffer->size_bytes, 256);
  ck_assert_int_eq(buffer->place, GR_PLACE_MANAGED);
  ck_assert_uint_eq(buffer->device, 3);
  fixture_release(&fixture);
  read_one(&fixture, "type: f64, shape: []");
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->rank, 0);
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->size_bytes, 8);
  fixture_release(&fixture);
  read_one(&fixture, "type: f64, shape: [4, 0, 3]");
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->size_bytes, 0);
  fixture_release(&fixture);
  read_one(&fixture, "type: u8, shape: [1,2,1,2,1,2,1,2]");
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->size_bytes, 16);
  fixture_release(&fixture);
  read_one(&fixture, "type: u8, shape: 9223372036854775807");
  ck_assert_uint_eq(fixture_buffer(&fixture, "x")->size_bytes, INT64_MAX);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_types_shapes_and_places) {
  expect(
      "type: f23, shape: [4]",
      "4:13 error: buffer \"x\": type: \"f23\" is none of i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64; "
      "did you mean \"f32\"?\n");
  expect("type: , shape: [4]",
         "4:13 error: buffer \"x\": type: is empty; allowed are i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, "
         "f64\n");
  expect("type: [f32], shape: [4]", "4:13 error: buffer \"x\": type: must be a word, not a list\n");
  expect("type: f32", "4:6 error: buffer \"x\": \"shape\" is missing\n");
  expect("shape: 1", "4:6 error: buffer \"x\": \"type\" is missing\n");
  expect("type: f32, shape: {n: 4}",
         "4:25 error: buffer \"x\": shape: must be an integer or a list of integers, not a map\n");
  expect("type: f32, shape: [[4]]", "4:26 error: buffer \"x\": shape[0]: must be an integer, not a list\n");
  expect("type: f32, shape: [4, -1]", "4:29 error: buffer \"x\": shape[1]: -1 is too small; the least is 0\n");
  expect("type: f32, shape: [1,1,1,1,1,1,1,1,1]",
         "4:42 error: buffer \"x\": shape: a shape has at most 8 dimensions\n");
  expect("type: f64, shape: [4611686018427387904, 8]",
         "4:25 error: buffer \"x\": shape: size overflow: so many f64 elements do not fit 63 bits of bytes\n");
  expect("type: f64, shape: [1152921504606846976]",
         "4:25 error: buffer \"x\": shape: size overflow: so many f64 elements do not fit 63 bits of bytes\n");
  expect("type: f64, shape: [a]",
         "4:26 error: buffer \"x\": shape[0]: \"a\" is no integer: param \"a\" is a float, and an integer is "
         "expected" INTEGERS "\n");
  expect("type: f64, shape: [1e3]",
         "4:26 error: buffer \"x\": shape[0]: \"1e3\" is no integer: \"1e3\" is a float, and an integer is "
         "expected" INTEGERS "\n");
  expect("type: f64, shape: [4], place: pinnd",
         "4:37 error: buffer \"x\": place: \"pinnd\" is none of device, pinned, host, mapped, managed; did you mean "
         "\"pinned\"?\n");
  expect("type: f64, shape: [4], device: -1", "4:38 error: buffer \"x\": device: -1 is too small; the least is 0\n");
  expect("type: f64, shape: [4], device: 2147483648",
         "4:38 error: buffer \"x\": device: 2147483648 is too large; the most is 2147483647\n");
  expect("type: f64, shpe: [4]", "4:18 error: buffer \"x\": unknown key \"shpe\"; did you mean \"shape\"?\n");
  expect("type: f64, shape: [4], colour: red",
         "4:30 error: buffer \"x\": unknown key \"colour\"; allowed are type, shape, place, device, init, load, save, "
         "expect\n");
}
END_TEST

START_TEST(flow_style_that_cuts_an_expression_is_said) {
  expect(
      "type: f64, shape: min(n, 4)",
      "4:25 error: buffer \"x\": shape: \"min(n\" was cut at a comma: in YAML's flow style an expression with commas "
      "must be quoted, as in \"min(n, 4)\"\n");
  expect("type: f64, shape: [2, min(n, max(3, 4)), 2]",
         "4:29 error: buffer \"x\": shape[1]: \"min(n\" was cut at a comma: in YAML's flow style an expression with "
         "commas must be quoted, as in \"min(n, max(3, 4))\"\n");
  expect("type: f64, shape: [4], init: {fill: max(a, 1)}",
         "4:43 error: buffer \"x\": init.fill: \"max(a\" was cut at a comma: in YAML's flow style an expression with "
         "commas must be quoted, as in \"max(a, 1)\"\n");
  expect("type: f64, shape: [3], init: {values: [1, max(a, 1), 3]}",
         "4:49 error: buffer \"x\": init.values[1]: \"max(a\" was cut at a comma: in YAML's flow style an expression "
         "with commas must be quoted, as in \"max(a, 1)\"\n");
  /* What nothing completes is just a wrong expression. */
  expect("type: f64, shape: [(n, 4]",
         "4:26 error: buffer \"x\": shape[0]: \"(n\" is no integer: a \"(\" is not closed" INTEGERS "\n");
  fixture_expect(HEAD "x:\n    type: f64\n    shape: min(n, 4)" TAIL, "", UNUSED);
  expect("type: f64, shape: 'min(n, 4)'", "");
}
END_TEST

/* ---- init ---- */

static void expect_fill(const char *type, const char *value, uint64_t bits) {
  struct fixture fixture;
  char fields[200];
  snprintf(fields, sizeof fields, "type: %s, shape: [4], init: {fill: %s}", type, value);
  read_one(&fixture, fields);
  const struct gr_init *init = fixture_buffer(&fixture, "x")->init;
  ck_assert_int_eq(init->kind, GR_INIT_FILL);
  ck_assert_msg(init->value.bits == bits, "%s in %s", value, type);
  fixture_release(&fixture);
}

START_TEST(fills_are_exact) {
  expect_fill("u8", "255", 255);
  expect_fill("i8", "-1", 255);
  expect_fill("u64", "18446744073709551615", UINT64_MAX);
  expect_fill("i64", "-9223372036854775808", UINT64_C(1) << 63);
  expect_fill("i32", "2.0", 2);
  expect_fill("i32", "n*2", 32);
  expect_fill("f32", "n", 0x41800000);
  expect_fill("f32", "a", 0x40200000);
  expect_fill("f32", "1/2", 0x3F000000);
  expect_fill("f32", "'a'", 0x40200000);
  expect_fill("f16", ".inf", 0x7C00);
  expect_fill("f64", "-.inf", 0xFFF0000000000000);
  expect_fill("bf16", ".nan", 0x7FC0);
  expect_fill("f64", "100000000000000000000000000", 0x4554ADF4B7320335);
}
END_TEST

START_TEST(values_that_do_not_fit_are_refused) {
  expect("type: u8, shape: [4], init: {fill: 256}",
         "4:42 error: buffer \"x\": init.fill: 256 does not fit u8, which holds integers from 0 to 255\n");
  expect("type: u8, shape: [4], init: {fill: n*16}",
         "4:42 error: buffer \"x\": init.fill: \"n*16\" is 256, which does not fit u8, which holds integers from 0 to "
         "255\n");
  expect("type: i32, shape: [4], init: {fill: 2.5}",
         "4:43 error: buffer \"x\": init.fill: 2.5 does not fit i32, which holds integers from -2147483648 to "
         "2147483647\n");
  expect("type: u64, shape: [4], init: {fill: 18446744073709551616}",
         "4:43 error: buffer \"x\": init.fill: \"18446744073709551616\" is no integer: it does not fit 64 bits" INTEGERS
         "\n");
  expect("type: i32, shape: [4], init: {fill: .nan}",
         "4:43 error: buffer \"x\": init.fill: \".nan\" is nan, which does not fit i32, which holds integers from "
         "-2147483648 to 2147483647\n");
  expect("type: i32, shape: [4], init: {fill: a}",
         "4:43 error: buffer \"x\": init.fill: \"a\" is no integer: param \"a\" is a float, and an integer is "
         "expected" INTEGERS "\n");
  expect("type: f16, shape: [4], init: {fill: 65520}",
         "4:43 error: buffer \"x\": init.fill: 65520 does not fit f16, which holds finite values up to "
         "65504\n");
  expect("type: f32, shape: [4], init: {fill: 1e39}",
         "4:43 error: buffer \"x\": init.fill: 1e39 does not fit f32, which holds finite values up to "
         "3.4028235e38\n");
}
END_TEST

START_TEST(iota_fits_to_its_last_element) {
  struct fixture fixture;
  read_one(&fixture, "type: u8, shape: [4, 64], init: {iota: {start: 255, step: -1}}");
  const struct gr_init *init = fixture_buffer(&fixture, "x")->init;
  ck_assert_int_eq(init->kind, GR_INIT_IOTA);
  ck_assert_uint_eq(init->start.magnitude, 255);
  ck_assert(init->step.is_negative && init->step.magnitude == 1 && !init->step.is_real);
  fixture_release(&fixture);
  read_one(&fixture, "type: f32, shape: [4], init: {iota: {start: 0, step: 0.1}}");
  init = fixture_buffer(&fixture, "x")->init;
  ck_assert(init->start.is_real && init->step.is_real);
  ck_assert_double_eq(init->step.real, 0.1);
  fixture_release(&fixture);
  expect("type: u8, shape: [257], init: {iota: {start: 0, step: 1}}",
         "4:44 error: buffer \"x\": init.iota: the last of 257 elements does not fit u8\n");
  expect("type: u8, shape: [257], init: {iota: {start: 255, step: -1}}",
         "4:44 error: buffer \"x\": init.iota: the last of 257 elements does not fit u8\n");
  expect("type: i64, shape: [4], init: {iota: {start: 9223372036854775807, step: 9223372036854775807}}",
         "4:43 error: buffer \"x\": init.iota: the last of 4 elements does not fit i64\n");
  expect("type: f16, shape: [3], init: {iota: {start: 0, step: 65504}}",
         "4:43 error: buffer \"x\": init.iota: the last of 3 elements does not fit f16\n");
  expect("type: u8, shape: [4], init: {iota: {start: 0}}",
         "4:42 error: buffer \"x\": init.iota: \"step\" is missing\n");
  expect("type: u8, shape: [4], init: {iota: {start: -1, step: 1, stop: 4}}",
         "4:50 error: buffer \"x\": init.iota.start: -1 does not fit u8, which holds integers from 0 to 255\n"
         "4:63 error: buffer \"x\": init.iota: unknown key \"stop\"; did you mean \"step\"?\n");
}
END_TEST

START_TEST(random_has_an_order) {
  struct fixture fixture;
  read_one(&fixture, "type: f32, shape: [4], init: {random: {seed: 18446744073709551615, low: -1, high: 1}}");
  const struct gr_init *init = fixture_buffer(&fixture, "x")->init;
  ck_assert_int_eq(init->kind, GR_INIT_RANDOM);
  ck_assert_uint_eq(init->seed, UINT64_MAX);
  ck_assert_double_eq(init->low.real, -1);
  ck_assert_double_eq(init->high.real, 1);
  fixture_release(&fixture);
  expect("type: f32, shape: [4], init: {random: {seed: 1, low: 2, high: 1}}",
         "4:45 error: buffer \"x\": init.random: low is 2 and high is 1; low may not be larger\n");
  expect("type: f32, shape: [4], init: {random: {seed: -1, low: 1, high: 1}}",
         "4:52 error: buffer \"x\": init.random.seed: \"-1\" is negative; a seed is 0 to 18446744073709551615\n");
  expect("type: f32, shape: [4], init: {random: {seed: 1, low: 0, high: .inf}}",
         "4:45 error: buffer \"x\": init.random: low, high and what lies between them must be finite\n");
  expect("type: u8, shape: [4], init: {random: {seed: 1, low: 0, high: 256}}",
         "4:68 error: buffer \"x\": init.random.high: 256 does not fit u8, which holds integers from 0 to 255\n");
  expect("type: u8, shape: [4], init: {random: {}}",
         "4:44 error: buffer \"x\": init.random: \"seed\" is missing\n"
         "4:44 error: buffer \"x\": init.random: \"low\" is missing\n"
         "4:44 error: buffer \"x\": init.random: \"high\" is missing\n");
}
END_TEST

START_TEST(values_are_as_many_as_the_shape_has) {
  struct fixture fixture;
  read_one(&fixture, "type: i16, shape: [2, 2], init: {values: [1, -2, n, 4.0]}");
  const struct gr_init *init = fixture_buffer(&fixture, "x")->init;
  ck_assert_int_eq(init->kind, GR_INIT_VALUES);
  static const unsigned char bytes[] = {1, 0, 0xFE, 0xFF, 16, 0, 4, 0};
  ck_assert_mem_eq(init->values, bytes, sizeof bytes);
  fixture_release(&fixture);
  read_one(&fixture, "type: i16, shape: [0], init: {values: []}");
  fixture_release(&fixture);
  expect("type: i16, shape: [4], init: {values: [1, 2]}",
         "4:45 error: buffer \"x\": init.values: there are 2 values, and the shape has 4 elements\n");
  expect("type: i16, shape: [2, 1], init: {values: [[1], 2]}",
         "4:49 error: buffer \"x\": init.values[0]: must be a number, not a list\n");
  expect("type: i16, shape: [2], init: {values: 1}",
         "4:45 error: buffer \"x\": init.values: must be a list, not \"1\"\n");
  expect("type: i16, shape: [2], init: {values: [40000, 4K]}",
         "4:46 error: buffer \"x\": init.values[0]: 40000 does not fit i16, which holds integers from -32768 to 32767\n"
         "4:53 error: buffer \"x\": init.values[1]: \"4K\" is no integer: the suffixes are Ki, Mi and Gi" INTEGERS
         "\n");
}
END_TEST

START_TEST(init_is_one_thing) {
  struct fixture fixture;
  read_one(&fixture, "type: i16, shape: [2], init: zeros");
  ck_assert_int_eq(fixture_buffer(&fixture, "x")->init->kind, GR_INIT_ZEROS);
  fixture_release(&fixture);
  expect(
      "type: i16, shape: [2], init: zero",
      "4:36 error: buffer \"x\": init: \"zero\" is none of zeros, {fill: v}, {iota: …}, {random: …}, {values: […]}\n");
  expect("type: i16, shape: [2], init: {}",
         "4:36 error: buffer \"x\": init: exactly one of fill, iota, random and values is needed, and none is there\n");
  expect(
      "type: i16, shape: [2], init: {fill: 1, values: [1, 2]}",
      "4:36 error: buffer \"x\": init: exactly one of fill, iota, random and values is needed, and more are there\n");
  expect("type: i16, shape: [2], init: {fil: 1}",
         "4:37 error: buffer \"x\": init: unknown key \"fil\"; did you mean \"fill\"?\n");
  expect("type: i16, shape: [2], init: [1, 2]",
         "4:36 error: buffer \"x\": init: must be a word or a map, not a list\n");
  expect("type: i16, shape: [2], init: zeros, load: x.npy",
         "4:3 error: buffer \"x\": has both \"init\" and \"load\"; one of them is to be left out\n");
}
END_TEST

/* ---- files and expectations ---- */

START_TEST(paths_are_taken_literally) {
  struct fixture fixture;
  read_one(&fixture, "type: f32, shape: [2], load: ../d/x.npy, save: '${HOME}/~ *.bin', expect: {load: /g.npy}");
  const struct gr_buffer *buffer = fixture_buffer(&fixture, "x");
  ck_assert_int_eq(buffer->init->kind, GR_INIT_LOAD);
  ck_assert_str_eq(buffer->init->path, "../d/x.npy");
  ck_assert_uint_eq(buffer->init->mark.column, 36);
  ck_assert_str_eq(buffer->save, "${HOME}/~ *.bin");
  ck_assert_int_eq(buffer->expect->kind, GR_EXPECT_LOAD);
  ck_assert_str_eq(buffer->expect->path, "/g.npy");
  char *path = gr_pipeline_path(fixture.pipeline, &fixture.memory, buffer->init->path);
  ck_assert_str_eq(path, "graphs/../d/x.npy");
  gr_memory_release(&fixture.memory, path);
  path = gr_pipeline_path(fixture.pipeline, &fixture.memory, buffer->expect->path);
  ck_assert_str_eq(path, "/g.npy");
  gr_memory_release(&fixture.memory, path);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_paths) {
  expect("type: f32, shape: [2], load: x.txt",
         "4:36 error: buffer \"x\": load: the path \"x.txt\" ends in neither .npy nor .bin\n");
  expect("type: f32, shape: [2], save: .npy",
         "4:36 error: buffer \"x\": save: the path \".npy\" ends in neither .npy nor .bin\n");
  expect("type: f32, shape: [2], save: ''", "4:36 error: buffer \"x\": save: the path is empty\n");
  expect("type: f32, shape: [2], save: \"a\\0.npy\"",
         "4:36 error: buffer \"x\": save: the path \"a\\x00.npy\" has a zero byte in it\n");
  expect("type: f32, shape: [2], load: [x.npy]", "4:36 error: buffer \"x\": load: must be a path, not a list\n");
  fixture_expect(HEAD "x: {type: u8, shape: 1, save: o.npy}\n  y: {type: u8, shape: 1, save: o.npy}" TAIL, "",
                 "5:33 error: buffer \"y\": saves to \"o.npy\", and so does buffer \"x\" on line 4; only one of them "
                 "would stay\n");
}
END_TEST

/* The pipeline's folder is graphs/. */
START_TEST(two_spellings_of_one_file) {
  static const char *const same[][2] = {
      {"o.npy", "./o.npy"},
      {"a/../o.npy", "o.npy"},
      {"a//b/./../o.npy", "a/o.npy"},
      {"../graphs/o.npy", "o.npy"},
      {"../../o.npy", "a/../../../o.npy"},
      {"/a/b/../o.npy", "/../a//o.npy"},
      {"../../../x/o.npy", "../../../x/o.npy"},
  };
  static const char *const different[][2] = {
      {"o.npy", "o.bin"},     {"o.npy", "/o.npy"}, {"../o.npy", "o.npy"}, {"../../o.npy", "../../../o.npy"},
      {"a/o.npy", "b/o.npy"},
  };
  char text[400];
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    snprintf(text, sizeof text, HEAD "x: {type: u8, shape: 1, save: %s}\n  y: {type: u8, shape: 1, save: %s}" TAIL,
             same[i][0], same[i][1]);
    struct fixture fixture;
    fixture_read(&fixture, text);
    ck_assert_msg(fixture.diagnostics.error_count == 1, "%s", text);
    ck_assert_ptr_nonnull(strstr(fixture.said.bytes, "and so does buffer \"x\" on line 4"));
    fixture_release(&fixture);
  }
  for (size_t i = 0; i < sizeof different / sizeof *different; i++) {
    snprintf(text, sizeof text, HEAD "x: {type: u8, shape: 1, save: %s}\n  y: {type: u8, shape: 1, save: %s}" TAIL,
             different[i][0], different[i][1]);
    struct fixture fixture;
    fixture_read(&fixture, text);
    ck_assert_msg(fixture.status == GR_OK, "%s", text);
    fixture_release(&fixture);
  }
}
END_TEST

START_TEST(nothing_is_never_too_large) {
  struct fixture fixture;
  fixture_read(&fixture,
               "graphrun: 1\nbuffers:\n"
               "  x: {type: f64, shape: [0, 9223372036854775807, 9223372036854775807]}\n"
               "  y: {type: f64, shape: [9223372036854775807, 9223372036854775807, 0]}\n"
               "nodes:\n  - {id: a, copy: {from: 'x[0:0, 1:4, 9223372036854775806:]', to: y}}\n"
               "  - {id: b, fill: {buffer: 'y[5:9, 9223372036854775800:9223372036854775806, :]', value: 1}}\n");
  ck_assert_str_eq(fixture.said.bytes, "");
  const struct gr_buffer *buffer = fixture_buffer(&fixture, "x");
  ck_assert_uint_eq(buffer->size_bytes, 0);
  ck_assert_uint_eq(buffer->element_count, 0);
  const struct gr_node *node = fixture_node(&fixture, "b");
  const struct gr_reference *reference = &fixture.pipeline->references[node->fill.to];
  ck_assert(node->is_no_op && reference->is_contiguous);
  ck_assert_uint_eq(reference->element_count, 0);
  ck_assert_uint_eq(reference->offset_bytes, 0);
  fixture_release(&fixture);
}
END_TEST

START_TEST(expectations) {
  struct fixture fixture;
  read_one(&fixture, "type: f32, shape: [2], expect: {equals: 0.1, rtol: 1e-3, atol: a/100}");
  const struct gr_expect *expected = fixture_buffer(&fixture, "x")->expect;
  ck_assert_int_eq(expected->kind, GR_EXPECT_EQUALS);
  ck_assert(expected->value.is_real);
  ck_assert_double_eq(expected->value.real, (double)0.1f); /* as a fill would be */
  ck_assert_double_eq(expected->rtol, 1e-3);
  ck_assert_double_eq(expected->atol, 0.025);
  fixture_release(&fixture);
  read_one(&fixture, "type: u64, shape: [2], expect: {equals: 18446744073709551615}");
  expected = fixture_buffer(&fixture, "x")->expect;
  ck_assert(!expected->value.is_real && expected->value.magnitude == UINT64_MAX);
  ck_assert_double_eq(expected->rtol, 0);
  fixture_release(&fixture);
  read_one(&fixture, "type: i32, shape: [2], expect: {equals: 2.5, atol: 0.5}");
  expected = fixture_buffer(&fixture, "x")->expect;
  ck_assert(expected->value.is_real);
  ck_assert_double_eq(expected->value.real, 2.5);
  fixture_release(&fixture);
  read_one(&fixture, "type: i8, shape: [2], expect: {sum: 254}");
  expected = fixture_buffer(&fixture, "x")->expect;
  ck_assert_int_eq(expected->kind, GR_EXPECT_SUM);
  ck_assert(!expected->value.is_real && expected->value.magnitude == 254);
  fixture_release(&fixture);
  read_one(&fixture, "type: f32, shape: [2], expect: {sum: 3}");
  ck_assert(fixture_buffer(&fixture, "x")->expect->value.is_real);
  fixture_release(&fixture);
}
END_TEST

START_TEST(wrong_expectations) {
  expect("type: f32, shape: [2], expect: {atol: 1}",
         "4:38 error: buffer \"x\": expect: exactly one of load, equals and sum is needed, and none is there\n");
  expect("type: f32, shape: [2], expect: {equals: 1, sum: 2}",
         "4:38 error: buffer \"x\": expect: exactly one of load, equals and sum is needed, and more are there\n");
  expect("type: f32, shape: [2], expect: {equals: 1, atol: -1, rtol: .nan}",
         "4:56 error: buffer \"x\": expect.atol: \"-1\" is no tolerance; it must be finite and at least 0\n"
         "4:66 error: buffer \"x\": expect.rtol: \".nan\" is no tolerance; it must be finite and at least 0\n");
  expect("type: f32, shape: [2], expect: golden.npy",
         "4:38 error: buffer \"x\": expect: must be a map, not \"golden.npy\"\n");
  expect("type: u8, shape: [2], expect: {equals: 300}",
         "4:46 error: buffer \"x\": expect.equals: 300 does not fit u8, which holds integers from 0 to 255\n");
  expect("type: u8, shape: [2], expect: {equals: 1, tol: 2}",
         "4:49 error: buffer \"x\": expect: unknown key \"tol\"; did you mean \"rtol\"?\n");
}
END_TEST

/* ---- names ---- */

START_TEST(names_are_kept_byte_for_byte) {
  static const char *const names[] = {"no",  "on",  "y",   "null", "~",   "true",   "1.0",    "0x10",
                                      "010", "1e3", "a b", "é",    "(x)", "\"a \"", "''' '''"};
  static const char *const kept[] = {"no",  "on",  "y",   "null", "~",   "true", "1.0", "0x10",
                                     "010", "1e3", "a b", "é",    "(x)", "a ",   "' '"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "graphrun: 1\nbuffers:\n  %s: {type: u8, shape: 4}\nnodes:\n  - id: f\n    fill:\n      buffer: %s\n"
             "      value: 0\n",
             names[i], names[i]);
    struct fixture fixture;
    fixture_read(&fixture, text);
    ck_assert_msg(fixture.status == GR_OK, "%s: %s", names[i], fixture.said.bytes);
    ck_assert_str_eq(fixture.pipeline->buffers[0].name, kept[i]);
    ck_assert_str_eq(fixture.said.bytes, "");
    fixture_release(&fixture);
  }
}
END_TEST

START_TEST(wrong_names) {
  const char *text = HEAD "@: {type: u8, shape: 4}" TAIL;
  fixture_expect(text, "\"\"", "4:3 error: the name \"\" is empty; a name has 1 to 256 bytes\n");
  fixture_expect(text, "a[0]",
                 "4:3 error: the name \"a[0]\" has one of [ ] : , in it, which a buffer's name may not have\n");
  fixture_expect(text, "a:b",
                 "4:3 error: the name \"a:b\" has one of [ ] : , in it, which a buffer's name may not have\n");
  fixture_expect(text, "'a,b'",
                 "4:3 error: the name \"a,b\" has one of [ ] : , in it, which a buffer's name may not have\n");
  fixture_expect(text, "\"a\\0b\"", "4:3 error: the name \"a\\x00b\" has a control character in it\n");
  fixture_expect(text, "\"a\\tb\"", "4:3 error: the name \"a\\x09b\" has a control character in it\n");
  fixture_expect(text, "\"a\\x7f\"", "4:3 error: the name \"a\\x7F\" has a control character in it\n");
  fixture_expect(text, "\"a\\x85\"", "4:3 error: the name \"a\\u0085\" has a control character in it\n");
  char longest[258];
  memset(longest, 'x', sizeof longest);
  longest[256] = '\0';
  fixture_expect(
      HEAD "? @\n  : {type: u8, shape: 4}" TAIL, longest,
      "4:5 warning: buffer \""
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\": no node "
      "uses it\n");
  longest[256] = 'x';
  longest[257] = '\0';
  fixture_expect(
      HEAD "? @\n  : {type: u8, shape: 4}" TAIL, longest,
      "4:5 error: the name \""
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\" is too "
      "long; a name has 1 to 256 bytes\n");
}
END_TEST

START_TEST(a_wrong_buffer_is_still_known) {
  fixture_expect(HEAD
                 "x: {type: f23, shape: 4}\n  y: 3\n  z: {type: u8, shape: 4}\n"
                 "nodes:\n"
                 "  - {id: a, copy: {from: x, to: y}}\n"
                 "  - {id: b, copy: {from: 'x[0:9]', to: z}}\n"
                 "  - {id: c, kernel: add, args: {x: x, y: y, out: z}}\n"
                 "  - {id: d, fill: {buffer: y, value: 1e99}}\n",
                 "",
                 "4:13 error: buffer \"x\": type: \"f23\" is none of i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, "
                 "f32, f64; did you mean \"f32\"?\n"
                 "5:6 error: buffer \"y\": must be a map, not \"3\"\n");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("buffers");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, defaults_are_filled_in);
  tcase_add_test(rules, shapes_may_be_one_none_and_zero);
  tcase_add_test(rules, wrong_types_shapes_and_places);
  tcase_add_test(rules, flow_style_that_cuts_an_expression_is_said);
  tcase_add_test(rules, fills_are_exact);
  tcase_add_test(rules, values_that_do_not_fit_are_refused);
  tcase_add_test(rules, iota_fits_to_its_last_element);
  tcase_add_test(rules, random_has_an_order);
  tcase_add_test(rules, values_are_as_many_as_the_shape_has);
  tcase_add_test(rules, init_is_one_thing);
  tcase_add_test(rules, paths_are_taken_literally);
  tcase_add_test(rules, wrong_paths);
  tcase_add_test(rules, two_spellings_of_one_file);
  tcase_add_test(rules, nothing_is_never_too_large);
  tcase_add_test(rules, expectations);
  tcase_add_test(rules, wrong_expectations);
  tcase_add_test(rules, names_are_kept_byte_for_byte);
  tcase_add_test(rules, wrong_names);
  tcase_add_test(rules, a_wrong_buffer_is_still_known);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
