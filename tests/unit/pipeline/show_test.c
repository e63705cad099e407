/* The pipeline as text, whole. */
#include <check.h>

#include "tests/unit/pipeline/fixture.h"

static const char text[] =
    "graphrun: 1\n"
    "name: shown\n"
    "params: {n: 4, a: 2.5, low: -3, big: 1e300, whole: 2.0}\n"
    "races: warn\n"
    "streams: {policy: serial, max: 3}\n"
    "buffers:\n"
    "  x: {type: f32, shape: [n, 6], init: {iota: {start: 0, step: 0.5}}}\n"
    "  \"y \\\"q\\\"\": {type: f32, shape: [n, 6], place: mapped, init: zeros, save: out/y.npy}\n"
    "  s: {type: i8, shape: [], place: managed, device: 1, init: {fill: low}}\n"
    "  v: {type: i16, shape: 3, place: host, init: {values: [1, -2, 3]}, expect: {sum: 2, atol: 1}}\n"
    "  w: {type: f64, shape: 9, init: {values: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}\n"
    "  r: {type: u64, shape: 2, init: {random: {seed: 7, low: 0, high: 9}}, expect: {equals: 1}}\n"
    "  l: {type: u8, shape: 0, load: l.bin, expect: {load: g.bin}}\n"
    "  o: {type: f32, shape: 1}\n"
    "nodes:\n"
    "  - {id: cut, copy: {from: 'x[0:2, 1:4]', to: 'y \"q\"[2:4, 3:6]'}, timeout: 1.5}\n"
    "  - {id: flat, copy: {from: x, to: 'y \"q\"'}, after: cut}\n"
    "  - {id: f, fill: {buffer: s, value: 3}}\n"
    "  - {id: f2, fill: {buffer: 'w[0:1]', value: 2}}\n"
    "  - {id: none, fill: {buffer: l, value: 3}}\n"
    "  - {id: k, kernel: axpy, args: {a: a, x: x, y: 'y \"q\"'}, after: [flat, f]}\n"
    "  - {id: q, kernel: sum, args: {x: x, out: o}}\n"
    "  - {id: d, kernel: busy, args: {ns: 10}}\n"
    "  - {id: rv, fill: {buffer: r, value: 18446744073709551615}}\n"
    "  - {id: vv, fill: {buffer: v, value: -1}}\n"
    "  - {id: \"two\\u00e9\", barrier: {}, after: [k, q]}\n";

static const char shown[] =
    "pipeline \"shown\", order explicit, races warn, streams serial, at most 3\n"
    "param n = 4\n"
    "param a = 2.5\n"
    "param low = -3\n"
    "param big = 1e300\n"
    "param whole = 2.0\n"
    "buffer \"x\" f32 [4, 6] device device 0, 96 bytes\n"
    "  init iota from 0.0 step 0.5\n"
    "buffer \"y \\\"q\\\"\" f32 [4, 6] mapped device 0, 96 bytes\n"
    "  init zeros\n"
    "  save \"out/y.npy\"\n"
    "buffer \"s\" i8 [] managed device 1, 1 bytes\n"
    "  init fill -3\n"
    "buffer \"v\" i16 [3] host device 0, 6 bytes\n"
    "  init values [1, -2, 3]\n"
    "  expect sum 2 rtol 0 atol 1\n"
    "buffer \"w\" f64 [9] device device 0, 72 bytes\n"
    "  init values [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, …]\n"
    "buffer \"r\" u64 [2] device device 0, 16 bytes\n"
    "  init random seed 7 low 0 high 9\n"
    "  expect equals 1 rtol 0 atol 0\n"
    "buffer \"l\" u8 [0] device device 0, 0 bytes\n"
    "  init load \"l.bin\"\n"
    "  expect load \"g.bin\" rtol 0 atol 0\n"
    "buffer \"o\" f32 [1] device device 0, 4 bytes\n"
    "node \"cut\" copy \"x\"[0:2, 1:4] to \"y \\\"q\\\"\"[2:4, 3:6] as 12 bytes x 2, timeout 1500000000 ns\n"
    "  read \"x\"[0:2, 1:4], write \"y \\\"q\\\"\"[2:4, 3:6]\n"
    "node \"flat\" copy \"x\" to \"y \\\"q\\\"\" as 96 bytes\n"
    "  read \"x\", write \"y \\\"q\\\"\"\n"
    "  after \"cut\"\n"
    "node \"f\" fill \"s\" with 3 as 1 bytes\n"
    "  write \"s\"\n"
    "node \"f2\" fill \"w\"[0:1] with 2.0 as 8 bytes\n"
    "  write \"w\"[0:1]\n"
    "node \"none\" fill \"l\" with 3, no_op\n"
    "node \"k\" kernel axpy(a: 2.5, x: \"x\", y: \"y \\\"q\\\"\")\n"
    "  read \"x\", update \"y \\\"q\\\"\"\n"
    "  after \"flat\", \"f\"\n"
    "node \"q\" kernel sum(x: \"x\", out: \"o\") scratch 64 bytes\n"
    "  read \"x\", write \"o\"\n"
    "node \"d\" kernel busy(ns: 10)\n"
    "node \"rv\" fill \"r\" with 18446744073709551615 as 16 bytes\n"
    "  write \"r\"\n"
    "node \"vv\" fill \"v\" with -1 as 6 bytes\n"
    "  write \"v\"\n"
    "node \"two\xC3\xA9\" barrier\n"
    "  after \"k\", \"q\"\n";

START_TEST(everything_is_shown) {
  struct fixture fixture;
  fixture_read(&fixture, text);
  ck_assert_str_eq(fixture.said.bytes, "");
  struct gr_text out;
  gr_text_init(&out, &fixture.memory);
  gr_pipeline_show(fixture.pipeline, &out);
  ck_assert_str_eq(out.bytes, shown);
  gr_text_release(&out);
  fixture_release(&fixture);
}
END_TEST

START_TEST(words_are_those_of_the_format) {
  ck_assert_str_eq(gr_place_name(GR_PLACE_DEVICE), "device");
  ck_assert_str_eq(gr_place_name(GR_PLACE_PINNED), "pinned");
  ck_assert_str_eq(gr_place_name(GR_PLACE_HOST), "host");
  ck_assert_str_eq(gr_place_name(GR_PLACE_MAPPED), "mapped");
  ck_assert_str_eq(gr_place_name(GR_PLACE_MANAGED), "managed");
  ck_assert_str_eq(gr_node_kind_name(GR_NODE_COPY), "copy");
  ck_assert_str_eq(gr_node_kind_name(GR_NODE_BARRIER), "barrier");
  ck_assert_str_eq(gr_policy_name(GR_POLICY_TUNED), "tuned");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("show");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, everything_is_shown);
  tcase_add_test(rules, words_are_those_of_the_format);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
