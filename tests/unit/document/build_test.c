/* Keys, depth and aliases. */
#include "tests/unit/document/support.h"

START_TEST(a_key_given_twice) {
  expect_errors("a: 1\nb: 2\n\"a\": 3\n'a': 4\nc: {d: 1, d: 2}\nnodes:\n  - {id: x, copy: 1, id: y}\n",
                "5:11: the key \"d\" is given twice, first in line 5\n"
                "7:22: the key \"id\" is given twice, first in line 7\n"
                "3:1: the key \"a\" is given twice, first in line 1\n"
                "4:1: the key \"a\" is given twice, first in line 1\n");
  expect_errors("\"\": 1\n? \n: 2\n", "2:2: the key \"\" is given twice, first in line 1\n");
  expect_tree("a: 1\nA: 2\n\"a \": 3\n\xC3\xA9: 4\ne\xCC\x81: 5\n\"a\\0\": 6\n",
              "map of 6 1:1\n"
              "  \"a\": \"1\" plain 1:4\n"
              "  \"A\": \"2\" plain 2:4\n"
              "  \"a \": \"3\" plain 3:7\n"
              "  \"\xC3\xA9\": \"4\" plain 4:5\n"
              "  \"e\xCC\x81\": \"5\" plain 5:6\n"
              "  \"a\\u0000\": \"6\" plain 6:8\n");
}
END_TEST

START_TEST(keys_must_be_scalars) {
  expect_errors("? [a, b]\n: 1\n? {c: d}\n: 2\n{e: f}: 3\n[g]: 4\n",
                "1:3: a key must be a scalar; this one is a list\n"
                "3:3: a key must be a scalar; this one is a map\n"
                "5:1: a key must be a scalar; this one is a map\n"
                "6:1: a key must be a scalar; this one is a list\n");
  expect_errors("a: &l [1]\n*l : 2\n*l : 3\n",
                "2:1: a key must be a scalar; this one is a list\n"
                "3:1: a key must be a scalar; this one is a list\n");
  expect_tree("a: &k b\n*k : 2\n", "map of 2 1:1\n  \"a\": \"b\" plain 1:4\n  \"b\": \"2\" plain 2:6\n");
  expect_errors("a: &k a\n*k : 2\n", "2:1: the key \"a\" is given twice, first in line 1\n");
}
END_TEST

/* "a: " and that many lists around a scalar. */
static void nest(struct gr_text *text, const char *open, const char *close, int levels) {
  gr_text_append_text(text, "a: ");
  for (int i = 0; i < levels; i++) gr_text_append_text(text, open);
  gr_text_append_text(text, "x");
  for (int i = 0; i < levels; i++) gr_text_append_text(text, close);
}

START_TEST(depth_has_a_bound) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  nest(&text, "[", "]", GR_DOCUMENT_DEPTH_MAX - 1); /* the map is the first level */
  struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
  ck_assert_int_eq(parsed.status, GR_OK);
  gr_text_clear(&text);
  gr_document_show(parsed.document, &text);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\"x\" plain flow 1:67\n"));
  release(&parsed);
  static const char *const opens[] = {"[", "{a: ", "[{a: "};
  static const int columns[] = {67, 256, 160};
  for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
    gr_text_clear(&text);
    nest(&text, opens[i], "", 30000);
    char expected[96];
    snprintf(expected, sizeof expected, "1:%d: lists and maps are nested deeper than 64\n", columns[i]);
    expect_errors(text.bytes, expected);
  }
  gr_text_clear(&text);
  for (int i = 0; i < 30000; i++) gr_text_append_text(&text, "- ");
  expect_errors(text.bytes, "1:129: lists and maps are nested deeper than 64\n");
  gr_text_clear(&text);
  gr_text_append_text(&text, "a: 1\n---\n");
  for (int i = 0; i < 30000; i++) gr_text_append_text(&text, "[");
  expect_errors(text.bytes, "2:1: a second document starts here; a pipeline file holds one\n");
  gr_text_release(&text);
}
END_TEST

/* An alias brings the depth of what it names along. */
START_TEST(depth_counts_through_aliases) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  for (int outer = 31; outer <= 32; outer++) {
    gr_text_clear(&text);
    gr_text_append_text(&text, "a: &deep ");
    for (int i = 0; i < 32; i++) gr_text_append_text(&text, "[");
    for (int i = 0; i < 32; i++) gr_text_append_text(&text, "]");
    gr_text_append_text(&text, "\nb: ");
    for (int i = 0; i < outer; i++) gr_text_append_text(&text, "[");
    gr_text_append_text(&text, "*deep");
    for (int i = 0; i < outer; i++) gr_text_append_text(&text, "]");
    if (outer == 32) {
      expect_errors(text.bytes, "2:36: with what the alias \"deep\" names, lists and maps are nested deeper than 64\n");
      continue;
    }
    struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
    ck_assert_int_eq(parsed.status, GR_OK);
    struct gr_text shown;
    gr_text_init(&shown, &memory);
    gr_document_show(parsed.document, &shown);
    ck_assert(!shown.failed);
    gr_text_release(&shown);
    release(&parsed);
  }
  gr_text_release(&text);
}
END_TEST

START_TEST(aliases) {
  expect_tree("a: &x {p: [1, 2]}\nb: *x\nc: &y text\nd: [*y, *x]\n",
              "map of 4 1:1\n"
              "  \"a\": map of 1 flow 1:4\n"
              "    \"p\": list of 2 flow 1:11\n"
              "      \"1\" plain flow 1:12\n"
              "      \"2\" plain flow 1:15\n"
              "  \"b\": map of 1 flow 2:4\n"
              "    \"p\": list of 2 flow 1:11\n"
              "      \"1\" plain flow 1:12\n"
              "      \"2\" plain flow 1:15\n"
              "  \"c\": \"text\" plain 3:4\n"
              "  \"d\": list of 2 flow 4:4\n"
              "    \"text\" plain 4:5\n"
              "    map of 1 flow 4:9\n"
              "      \"p\": list of 2 flow 1:11\n"
              "        \"1\" plain flow 1:12\n"
              "        \"2\" plain flow 1:15\n");
}
END_TEST

START_TEST(a_later_anchor_takes_the_name_over) {
  expect_tree("a: &x 1\nb: &y [&x 2, *x]\nc: *x\nd: &x {e: &x 3}\nf: *x\n",
              "map of 5 1:1\n"
              "  \"a\": \"1\" plain 1:4\n"
              "  \"b\": list of 2 flow 2:4\n"
              "    \"2\" plain flow 2:8\n"
              "    \"2\" plain flow 2:14\n"
              "  \"c\": \"2\" plain flow 3:4\n"
              "  \"d\": map of 1 flow 4:4\n"
              "    \"e\": \"3\" plain flow 4:11\n"
              "  \"f\": \"3\" plain flow 5:4\n");
}
END_TEST

START_TEST(aliases_that_name_nothing) {
  expect_errors("a: *b\nc: &b 1\nd: *nodes\nanchor: &node 1\ne: *nodes\n*q : *r\n",
                "1:4: the alias \"b\" has no anchor before it; a text that starts with '*' needs quotes\n"
                "3:4: the alias \"nodes\" has no anchor before it; a text that starts with '*' needs quotes\n"
                "5:4: the alias \"nodes\" has no anchor before it; did you mean \"node\"?\n"
                "6:1: the alias \"q\" has no anchor before it; a text that starts with '*' needs quotes\n"
                "6:6: the alias \"r\" has no anchor before it; a text that starts with '*' needs quotes\n");
}
END_TEST

START_TEST(aliases_within_what_they_name) {
  expect_errors("nodes: &n [*n]\na: &a {b: *a, c: {d: [*a]}}\ne: &e\n  <<: *e\n",
                "1:12: the alias \"n\" stands inside the list that it names, which would have no end\n"
                "2:11: the alias \"a\" stands inside the map that it names, which would have no end\n"
                "2:23: the alias \"a\" stands inside the map that it names, which would have no end\n"
                "4:7: the alias \"e\" stands inside the map that it names, which would have no end\n");
}
END_TEST

START_TEST(an_alias_bomb) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_text_append_text(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
  for (int i = 1; i < 40; i++) {
    gr_text_append_format(&text, "a%d: &a%d [", i, i);
    for (int k = 0; k < 9; k++) gr_text_append_format(&text, "%s*a%d", k ? ", " : "", i - 1);
    gr_text_append_text(&text, "]\n");
  }
  expect_errors(text.bytes, "8:15: aliases and merge keys add more than 16777216 items up to here\n");
  gr_text_release(&text);
}
END_TEST

/* 4,096 times a list of 4,095 is exactly what may be added; one scalar more is not. */
START_TEST(the_bound_on_aliases_is_exact) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_text_append_text(&text, "a: &a [");
  for (int i = 0; i < 4095; i++) gr_text_append_text(&text, "x,");
  gr_text_append_text(&text, "]\nc: &c x\nb:\n");
  for (int i = 0; i < 4096; i++) gr_text_append_text(&text, "- *a\n");
  struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
  ck_assert_int_eq(parsed.status, GR_OK);
  ck_assert_uint_eq(parsed.document->expanded_count, 1 + 2 + 4095 + 2 + 2 + GR_DOCUMENT_ALIAS_ITEMS_MAX);
  release(&parsed);
  gr_text_append_text(&text, "- *c\n");
  expect_errors(text.bytes, "4100:3: aliases and merge keys add more than 16777216 items up to here\n");
  gr_text_release(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/build");
  TCase *keys = tcase_create("keys");
  tcase_add_test(keys, a_key_given_twice);
  tcase_add_test(keys, keys_must_be_scalars);
  suite_add_tcase(suite, keys);
  TCase *depth = tcase_create("depth");
  tcase_add_test(depth, depth_has_a_bound);
  tcase_add_test(depth, depth_counts_through_aliases);
  suite_add_tcase(suite, depth);
  TCase *alias = tcase_create("aliases");
  tcase_add_test(alias, aliases);
  tcase_add_test(alias, a_later_anchor_takes_the_name_over);
  tcase_add_test(alias, aliases_that_name_nothing);
  tcase_add_test(alias, aliases_within_what_they_name);
  tcase_add_test(alias, an_alias_bomb);
  tcase_add_test(alias, the_bound_on_aliases_is_exact);
  suite_add_tcase(suite, alias);
  return run_suite(suite);
}
