/* `<<`: own keys win, then the earlier map; shallow; bounded. */
#include "tests/unit/document/support.h"

START_TEST(own_keys_win_in_any_order) {
  expect_tree("d: &d {x: 1, y: 2}\nfirst: {<<: *d, x: 3}\nlast: {x: 3, <<: *d}\nblock:\n  <<: *d\n  z: 4\n",
              "map of 4 1:1\n"
              "  \"d\": map of 2 flow 1:4\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "    \"y\": \"2\" plain flow 1:17\n"
              "  \"first\": map of 2 flow 2:8\n"
              "    \"x\": \"3\" plain flow 2:20\n"
              "    \"y\": \"2\" plain flow 1:17\n"
              "  \"last\": map of 2 flow 3:7\n"
              "    \"x\": \"3\" plain flow 3:11\n"
              "    \"y\": \"2\" plain flow 1:17\n"
              "  \"block\": map of 3 5:3\n"
              "    \"z\": \"4\" plain 6:6\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "    \"y\": \"2\" plain flow 1:17\n");
}
END_TEST

START_TEST(earlier_maps_win_and_merging_is_shallow) {
  expect_tree("a: &a {p: {q: 1}, r: 2}\nb: &b {p: {s: 3}, t: 4}\nc: {<<: [*a, *b, {r: 5, u: 6}], t: 7}\n",
              "map of 3 1:1\n"
              "  \"a\": map of 2 flow 1:4\n"
              "    \"p\": map of 1 flow 1:11\n"
              "      \"q\": \"1\" plain flow 1:15\n"
              "    \"r\": \"2\" plain flow 1:22\n"
              "  \"b\": map of 2 flow 2:4\n"
              "    \"p\": map of 1 flow 2:11\n"
              "      \"s\": \"3\" plain flow 2:15\n"
              "    \"t\": \"4\" plain flow 2:22\n"
              "  \"c\": map of 4 flow 3:4\n"
              "    \"t\": \"7\" plain flow 3:36\n"
              "    \"p\": map of 1 flow 1:11\n"
              "      \"q\": \"1\" plain flow 1:15\n"
              "    \"r\": \"2\" plain flow 1:22\n"
              "    \"u\": \"6\" plain flow 3:28\n");
}
END_TEST

START_TEST(merged_maps_are_merged_on) {
  expect_tree("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\nl: &l [*b]\nm: {<<: *l}\ne: {<<: {}}\nf: {<<: []}\n",
              "map of 7 1:1\n"
              "  \"a\": map of 1 flow 1:4\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "  \"b\": map of 2 flow 2:4\n"
              "    \"y\": \"2\" plain flow 2:19\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "  \"c\": map of 2 flow 3:4\n"
              "    \"y\": \"2\" plain flow 2:19\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "  \"l\": list of 1 flow 4:4\n"
              "    map of 2 flow 4:8\n"
              "      \"y\": \"2\" plain flow 2:19\n"
              "      \"x\": \"1\" plain flow 1:11\n"
              "  \"m\": map of 2 flow 5:4\n"
              "    \"y\": \"2\" plain flow 2:19\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "  \"e\": map of 0 flow 6:4\n"
              "  \"f\": map of 0 flow 7:4\n");
}
END_TEST

/* A buffer may be called `<<`. */
START_TEST(a_quoted_merge_key_is_a_key) {
  expect_tree("a: &a {x: 1, \"<<\": 2}\nb: {<<: *a}\nc: {!!str <<: 3}\n",
              "map of 3 1:1\n"
              "  \"a\": map of 2 flow 1:4\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "    \"<<\": \"2\" plain flow 1:20\n"
              "  \"b\": map of 2 flow 2:4\n"
              "    \"x\": \"1\" plain flow 1:11\n"
              "    \"<<\": \"2\" plain flow 1:20\n"
              "  \"c\": map of 1 flow 3:4\n"
              "    \"<<\": \"3\" plain flow 3:15\n");
  expect_tree("{? &m << : {x: 1}, b: *m}\n",
              "map of 2 flow 1:1\n"
              "  \"b\": \"<<\" plain flow 1:23\n"
              "  \"x\": \"1\" plain flow 1:16\n");
}
END_TEST

START_TEST(what_cannot_be_merged) {
  expect_errors("a: {<<: 1}\nb: {<<: }\nc: {<<: [1, [2], {x: 1}]}\nd: {<<: *none}\n",
                "1:9: \"<<\" takes a map or a list of maps; this is a scalar\n"
                "2:9: \"<<\" takes a map or a list of maps; this is a scalar\n"
                "3:10: \"<<\" takes a map or a list of maps; this item of its list is a scalar\n"
                "3:13: \"<<\" takes a map or a list of maps; this item of its list is a list\n"
                "4:9: the alias \"none\" has no anchor before it; a text that starts with '*' needs quotes\n");
}
END_TEST

START_TEST(two_merge_keys) {
  expect_errors(
      "a: &a {x: 1}\nb:\n  <<: *a\n  y: 1\n  <<: {z: 1}\n",
      "5:3: the key \"<<\" is given twice, first in line 3; to merge several maps give it a list: <<: [*a, *b]\n");
}
END_TEST

START_TEST(own_keys_must_still_be_unique) {
  expect_errors("a: &a {x: 1}\nb: {x: 1, <<: *a, x: 2}\n", "2:19: the key \"x\" is given twice, first in line 2\n");
}
END_TEST

/* As many levels as lists and maps may have, the map that merges at the second. */
START_TEST(depth_counts_without_the_merge_key) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  for (int levels = 62; levels <= 63; levels++) {
    gr_text_clear(&text);
    gr_text_append_text(&text, "a: &a {x: ");
    for (int i = 0; i < 62; i++) gr_text_append_text(&text, "[");
    for (int i = 0; i < 62; i++) gr_text_append_text(&text, "]");
    gr_text_append_text(&text,
                        levels == 62 ? "}\nb: {<<: *a}\nc: {<<: [*a]}\n" : "}\nb: [{<<: *a}]\nc: [{<<: [*a]}]\n");
    if (levels == 63) {
      expect_errors(text.bytes,
                    "2:10: with what the alias \"a\" names, lists and maps are nested deeper than 64\n"
                    "3:11: with what the alias \"a\" names, lists and maps are nested deeper than 64\n");
      continue;
    }
    struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
    ck_assert_int_eq(parsed.status, GR_OK);
    release(&parsed);
  }
  gr_text_release(&text);
}
END_TEST

static void append_large_map(struct gr_text *text, int count) {
  gr_text_append_text(text, "d: &d {");
  for (int i = 0; i < count; i++) gr_text_append_format(text, "k%d: 1, ", i);
  gr_text_append_text(text, "}\n");
}

START_TEST(what_merges_add_is_bounded) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  append_large_map(&text, 100000);
  gr_text_append_text(&text, "n:\n");
  for (int i = 0; i < 10000; i++) gr_text_append_text(&text, "- {<<: *d}\n");
  expect_errors(text.bytes, "86:8: aliases and merge keys add more than 16777216 items up to here\n");
  gr_text_release(&text);
}
END_TEST

/* Nothing is added, but each pair would be looked at. */
START_TEST(what_merges_look_at_is_bounded) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  append_large_map(&text, 100000);
  gr_text_append_text(&text, "n: {<<: [");
  for (int i = 0; i < 100000; i++) gr_text_append_text(&text, "*d,");
  gr_text_append_text(&text, "]}\n");
  expect_errors(text.bytes, "2:259: aliases and merge keys add more than 16777216 items up to here\n");
  gr_text_release(&text);
}
END_TEST

/* A million items by merges are well within the bound, also where keys are overridden. */
START_TEST(many_nodes_with_defaults) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_text_append_text(&text, "d: &d {kernel: axpy, a: 1, b: 2, note: x, timeout: 5}\nnodes:\n");
  for (int i = 0; i < 100000; i++) gr_text_append_format(&text, "- {id: n%d, <<: *d, note: y}\n", i);
  struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
  ck_assert_int_eq(parsed.status, GR_OK);
  /* Each node: itself, two keys and values of its own, four merged. */
  ck_assert_uint_eq(parsed.document->expanded_count, 1 + 12 + 2 + UINT64_C(100000) * (1 + 4 + 8));
  release(&parsed);
  gr_text_release(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/merge");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, own_keys_win_in_any_order);
  tcase_add_test(rules, earlier_maps_win_and_merging_is_shallow);
  tcase_add_test(rules, merged_maps_are_merged_on);
  tcase_add_test(rules, a_quoted_merge_key_is_a_key);
  tcase_add_test(rules, what_cannot_be_merged);
  tcase_add_test(rules, two_merge_keys);
  tcase_add_test(rules, own_keys_must_still_be_unique);
  suite_add_tcase(suite, rules);
  TCase *bounds = tcase_create("bounds");
  tcase_set_timeout(bounds, 120);
  tcase_add_test(bounds, depth_counts_without_the_merge_key);
  tcase_add_test(bounds, what_merges_add_is_bounded);
  tcase_add_test(bounds, what_merges_look_at_is_bounded);
  tcase_add_test(bounds, many_nodes_with_defaults);
  suite_add_tcase(suite, bounds);
  return run_suite(suite);
}
