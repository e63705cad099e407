/* What a file holds as a whole, tags, texts and flags, and inputs that libyaml alone would be slow on. */
#include "tests/unit/document/support.h"

START_TEST(files_without_a_map) {
  const char *empty = "1:1: the file is empty; a pipeline starts with \"graphrun: 1\" and has \"nodes\"\n";
  const char *blank =
      "1:1: the file is empty but for blanks and comments; a pipeline starts with \"graphrun: 1\" and has \"nodes\"\n";
  const char *words = "the file must be a map with keys such as \"graphrun\" and \"nodes\", but is";
  char expected[160];
  expect_errors("", empty);
  expect_errors("# nothing\n\n  # here\n", blank);
  expect_errors("\xEF\xBB\xBF", blank);
  snprintf(expected, sizeof expected, "1:1: %s a scalar\n", words);
  expect_errors("~\n", expected);
  snprintf(expected, sizeof expected, "2:3: %s a list\n", words);
  expect_errors("# c\n  - a\n", expected);
  snprintf(expected, sizeof expected, "2:1: %s an empty document\n", words);
  expect_errors("---\n", expected);
}
END_TEST

START_TEST(a_null_view_is_an_empty_file) {
  expect_errors_in((struct gr_view){NULL, 0},
                   "1:1: the file is empty; a pipeline starts with \"graphrun: 1\" and has \"nodes\"\n");
}
END_TEST

START_TEST(one_document_only) {
  const char *words = ": a second document starts here; a pipeline file holds one\n";
  char expected[256];
  snprintf(expected, sizeof expected, "2:1%s", words);
  expect_errors("a: 1\n---\nb: 2\n", expected);
  expect_errors("a: 1\n---\n", expected);
  expect_errors("a: 1\n---\n- [*x, {a: 1, a: 2}]\n---\nc: 3\n", expected);
  snprintf(expected, sizeof expected, "3:1%s", words);
  expect_errors("a: 1\n...\n--- b\n", expected);
  snprintf(expected, sizeof expected, "2:1%s4:3: a tab is used for indentation here; YAML allows only spaces\n", words);
  expect_errors("a: 1\n---\nb:\n  \t- c\n", expected);
  expect_tree("%YAML 1.2\n---\na: 1\n...\n# end\n...\n", "map of 1 3:1\n  \"a\": \"1\" plain 3:4\n");
}
END_TEST

START_TEST(tags) {
  expect_tree(
      "a: !!str ~\nb: !!int 5\nc: !!float 1\nd: !!map {}\ne: !!seq []\nf: !<tag:yaml.org,2002:int> 1\ng: !!str\n",
      "map of 7 1:1\n"
      "  \"a\": \"~\" 1:4\n"
      "  \"b\": \"5\" plain 2:4\n"
      "  \"c\": \"1\" plain 3:4\n"
      "  \"d\": map of 0 flow 4:4\n"
      "  \"e\": list of 0 flow 5:4\n"
      "  \"f\": \"1\" plain 6:4\n"
      "  \"g\": \"\" 7:4\n");
  const char *refused = "is not allowed; only !!str, !!int, !!float, !!map and !!seq are";
  char expected[1024];
  snprintf(expected, sizeof expected,
           "1:4: the tag \"!!bool\" %s\n2:4: the tag \"!!null\" %s\n3:4: the tag \"!mine\" %s\n4:4: the tag \"!\" %s\n"
           "5:4: the tag \"!!binary\" %s\n6:4: the tag \"!!set\" %s\n7:1: the tag \"!!merge\" %s\n",
           refused, refused, refused, refused, refused, refused, refused);
  expect_errors("a: !!bool yes\nb: !!null ~\nc: !mine [1]\nd: ! x\ne: !!binary aGk=\nf: !!set {}\n!!merge <<: {}\n",
                expected);
  expect_errors("a: !!map x\nb: !!seq {}\nc: !!str [1]\nd: !!int {}\n",
                "1:4: the tag \"!!map\" does not fit a scalar\n"
                "2:4: the tag \"!!seq\" does not fit a map\n"
                "3:4: the tag \"!!str\" does not fit a list\n"
                "4:4: the tag \"!!int\" does not fit a map\n");
}
END_TEST

/* `!!` can be given another meaning: then it is another tag. */
START_TEST(tag_directives) {
  expect_errors("%TAG !! tag:example.org,2000:\n---\na: !!int 1\n",
                "3:4: the tag \"tag:example.org,2000:int\" is not allowed; only !!str, !!int, !!float, !!map and !!seq "
                "are\n");
  expect_tree("%TAG !y! tag:yaml.org,2002:\n---\na: !y!int 1\n", "map of 1 3:1\n  \"a\": \"1\" plain 3:4\n");
}
END_TEST

START_TEST(scalars_are_kept_byte_for_byte) {
  expect_tree("no: on\n010: 1e3\n~: null\n0x10: 02000\n1.0: '~'\nyes: \"\"\ny:\n? k\n: v\n",
              "map of 8 1:1\n"
              "  \"no\": \"on\" plain 1:5\n"
              "  \"010\": \"1e3\" plain 2:6\n"
              "  \"~\": \"null\" plain 3:4\n"
              "  \"0x10\": \"02000\" plain 4:7\n"
              "  \"1.0\": \"~\" 5:6\n"
              "  \"yes\": \"\" 6:6\n"
              "  \"y\": \"\" plain 7:3\n"
              "  \"k\": \"v\" plain 9:3\n");
}
END_TEST

START_TEST(scalars_that_are_not_as_in_the_file) {
  expect_tree(
      "a: \"x\\0y\\u00e9\"\nb: |\n  one\n\n  two\nc: >-\n  one\n  two\nd: 'it''s'\ne: one\n  two\nf: \"a \\\n  b\"\n",
      "map of 6 1:1\n"
      "  \"a\": \"x\\u0000y\xC3\xA9\" 1:4\n"
      "  \"b\": \"one\\n\\ntwo\\n\" 2:4\n"
      "  \"c\": \"one two\" 6:4\n"
      "  \"d\": \"it's\" 9:4\n"
      "  \"e\": \"one two\" plain 10:4\n"
      "  \"f\": \"a b\" 12:4\n");
}
END_TEST

START_TEST(a_nul_in_a_scalar_counts) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed = parse(&memory, gr_view_of("\"a\\0b\": 1\n\"a\\0c\": 2\n"));
  ck_assert_int_eq(parsed.status, GR_OK);
  const struct gr_item *root = gr_document_item(parsed.document, parsed.document->root);
  const struct gr_item *key = gr_document_item(parsed.document, gr_document_child(parsed.document, root, 0));
  ck_assert_uint_eq(root->count, 2);
  ck_assert(gr_view_equal(gr_item_text(key), VIEW("a\0b")));
  release(&parsed);
}
END_TEST

START_TEST(json) {
  expect_tree("{\"a\": [1, {\"b\": true}],\n\t\"c\": null, \"d\":\"\\/\\u0041\"}\n",
              "map of 3 flow 1:1\n"
              "  \"a\": list of 2 flow 1:7\n"
              "    \"1\" plain flow 1:8\n"
              "    map of 1 flow 1:11\n"
              "      \"b\": \"true\" plain flow 1:17\n"
              "  \"c\": \"null\" plain flow 2:7\n"
              "  \"d\": \"/A\" flow 2:17\n");
}
END_TEST

/* The document outlives the text and the diagnostics that it was made with. */
START_TEST(a_document_keeps_its_own_source) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  char source[] = "name: first\n";
  char file[] = "a.yaml";
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &memory, file));
  struct gr_document *document = NULL;
  ck_assert_int_eq(gr_document_parse(&memory, file, gr_view_of(source), &diagnostics, &document), GR_OK);
  gr_diagnostics_release(&diagnostics);
  memset(source, 'x', sizeof source - 1);
  memset(file, 'x', sizeof file - 1);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_document_show(document, &text);
  ck_assert_str_eq(text.bytes, "map of 1 1:1\n  \"name\": \"first\" plain 1:7\n");
  ck_assert_str_eq(document->file, "a.yaml");
  ck_assert(gr_view_is(document->source, "name: first\n"));
  ck_assert_uint_eq(document->expanded_count, 3);
  ck_assert_uint_eq(document->item_count, 3);
  gr_text_release(&text);
  gr_document_destroy(document);
  gr_document_destroy(NULL);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

/* What others reported before is not this file's fault. */
START_TEST(earlier_errors_do_not_count) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &memory, "a.yaml"));
  gr_diagnostics_error(&diagnostics, (struct gr_mark){0, 0}, "earlier");
  struct gr_document *document = NULL;
  ck_assert_int_eq(gr_document_parse(&memory, "a.yaml", gr_view_of("a: 1"), &diagnostics, &document), GR_OK);
  gr_document_destroy(document);
  gr_diagnostics_release(&diagnostics);
}
END_TEST

/* `head`, `blanks` spaces, `unit` repeated, `tail`. */
static void make_source(struct gr_text *source, const char *head, size_t blanks, const char *unit, size_t count,
                        const char *tail) {
  gr_text_clear(source);
  gr_text_append_text(source, head);
  for (size_t i = 0; i < blanks; i++) gr_text_append(source, " ", 1);
  for (size_t i = 0; i < count; i++) gr_text_append_text(source, unit);
  gr_text_append_text(source, tail);
  ck_assert(!source->failed);
}

/* libyaml would clear a megabyte for each of the words behind the run. */
START_TEST(long_runs_of_blanks_in_long_texts) {
  static const struct {
    const char *head, *unit, *tail, *expected;
  } rows[] = {
      {"a: \"", "x ", "\"\n",
       "1:1015807: a run of 1000000 blanks or blank lines lies within a long text, which takes too long to read\n"},
      {"a: x", "x ", "\n",
       "1:1015807: a run of 1000000 blanks or blank lines lies within a long text, which takes too long to read\n"},
  };
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text source;
  gr_text_init(&source, &memory);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    make_source(&source, rows[i].head, 1000000, rows[i].unit, 500000, rows[i].tail);
    expect_errors_in((struct gr_view){source.bytes, source.length}, rows[i].expected);
  }
  gr_text_release(&source);
}
END_TEST

/* The run lies in the very piece of the file in which the text starts. */
START_TEST(a_run_at_the_start_of_a_very_long_text) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text source;
  gr_text_init(&source, &memory);
  make_source(&source, "a: \"", 15000, "x ", 3000000, "\"\n");
  struct parsed parsed = parse(&memory, (struct gr_view){source.bytes, source.length});
  ck_assert_int_eq(parsed.status, GR_ERR_INVALID);
  ck_assert_str_eq(parsed.diagnostics.kept[0].message,
                   "a run of 15000 blanks or blank lines lies within a long text, which takes too long to read");
  release(&parsed);
  gr_text_release(&source);
}
END_TEST

START_TEST(long_runs_of_blanks_elsewhere_do_no_harm) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text source;
  gr_text_init(&source, &memory);
  make_source(&source, "a: 1\n", 0, "\n", 1000000, "# c\nb: 2\n");
  expect_tree_of((struct gr_view){source.bytes, source.length},
                 "map of 2 1:1\n  \"a\": \"1\" plain 1:4\n  \"b\": \"2\" plain 1000003:4\n");
  gr_text_release(&source);
}
END_TEST

START_TEST(many_tag_directives) {
  struct gr_text text;
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  gr_text_init(&text, &memory);
  for (int i = 0; i < 100000; i++) gr_text_append_format(&text, "%%TAG !a%d! x\n", i);
  gr_text_append_text(&text, "---\na: 1\n");
  expect_errors_in((struct gr_view){text.bytes, text.length}, "1167:5: there are more than 64 %TAG directives\n");
  gr_text_clear(&text);
  for (int i = 0; i < 65; i++) gr_text_append_format(&text, "%%TAG !a%d! x\n", i);
  gr_text_append_text(&text, "---\na: 1\n");
  expect_errors_in((struct gr_view){text.bytes, text.length}, "66:4: there are more than 64 %TAG directives\n");
  gr_text_release(&text);
}
END_TEST

/* Errors that leave the tree whole: "line:column: message" of each, then the tree. */
START_TEST(flawed_documents) {
  expect_tree("a: 1\na: [2]\nb: !!bool yes\n? [x]\n: y\nc: *none\nd: {? {} : 1}\n",
              "3:4: the tag \"!!bool\" is not allowed; only !!str, !!int, !!float, !!map and !!seq are\n"
              "4:3: a key must be a scalar; this one is a list\n"
              "6:4: the alias \"none\" has no anchor before it; a text that starts with '*' needs quotes\n"
              "7:7: a key must be a scalar; this one is a map\n"
              "2:1: the key \"a\" is given twice, first in line 1\n"
              "map of 4 1:1\n"
              "  \"a\": \"1\" plain 1:4\n"
              "  \"b\": \"yes\" plain 3:4\n"
              "  \"c\": refused 6:4\n"
              "  \"d\": map of 0 flow 7:4\n");
  expect_tree(
      "m: &m {x: 1, x: 2}\nn: {<<: *m, <<: [3, *q], x: 4, y: 5}\n--- 3\n",
      "1:14: the key \"x\" is given twice, first in line 1\n"
      "2:13: the key \"<<\" is given twice, first in line 2; to merge several maps give it a list: <<: [*a, *b]\n"
      "2:21: the alias \"q\" has no anchor before it; a text that starts with '*' needs quotes\n"
      "2:18: \"<<\" takes a map or a list of maps; this item of its list is a scalar\n"
      "3:1: a second document starts here; a pipeline file holds one\n"
      "map of 2 1:1\n"
      "  \"m\": map of 1 flow 1:4\n"
      "    \"x\": \"1\" plain flow 1:11\n"
      "  \"n\": map of 2 flow 2:4\n"
      "    \"x\": \"4\" plain flow 2:29\n"
      "    \"y\": \"5\" plain flow 2:35\n");
}
END_TEST

/* Large maps, whose equal keys are found in another way. */
START_TEST(the_first_of_equal_keys_stays) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed = parse(&memory, gr_view_of("a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\nh: 1\ni: 1\nj: 1\nk: 1\n"
                                                   "a: 2\nl: 1\na: 3\nm: 1\nc: 2\n"));
  ck_assert_int_eq(parsed.status, GR_ERR_INVALID);
  ck_assert_uint_eq(parsed.diagnostics.error_count, 3);
  const struct gr_item *root = gr_document_item(parsed.document, parsed.document->root);
  ck_assert_uint_eq(root->count, 13);
  for (uint64_t i = 0; i < 13; i++) {
    const struct gr_item *value =
        gr_document_item(parsed.document, gr_document_child(parsed.document, root, 2 * i + 1));
    ck_assert(gr_view_is(gr_item_text(value), "1"));
  }
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

START_TEST(no_document_where_the_tree_is_not_whole) {
  static const char *const texts[] = {"a: 1\na: 2\nb: [\n", "a: \"\xFF\"\n", "- 1\n", "", "!x 3\n", "*a\n",
                                      "a: 1\n--- [\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct gr_memory memory;
    gr_memory_init(&memory, NULL);
    struct parsed parsed = parse(&memory, gr_view_of(texts[i]));
    ck_assert_int_eq(parsed.status, GR_ERR_INVALID);
    ck_assert_ptr_null(parsed.document);
    release(&parsed);
    ck_assert_uint_eq(memory.live_count, 0);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/parse");
  TCase *files = tcase_create("files");
  tcase_add_test(files, files_without_a_map);
  tcase_add_test(files, flawed_documents);
  tcase_add_test(files, the_first_of_equal_keys_stays);
  tcase_add_test(files, no_document_where_the_tree_is_not_whole);
  tcase_add_test(files, a_null_view_is_an_empty_file);
  tcase_add_test(files, one_document_only);
  tcase_add_test(files, a_document_keeps_its_own_source);
  tcase_add_test(files, earlier_errors_do_not_count);
  suite_add_tcase(suite, files);
  TCase *values = tcase_create("values");
  tcase_add_test(values, tags);
  tcase_add_test(values, tag_directives);
  tcase_add_test(values, scalars_are_kept_byte_for_byte);
  tcase_add_test(values, scalars_that_are_not_as_in_the_file);
  tcase_add_test(values, a_nul_in_a_scalar_counts);
  tcase_add_test(values, json);
  suite_add_tcase(suite, values);
  TCase *slow_inputs = tcase_create("slow inputs");
  tcase_set_timeout(slow_inputs, 60);
  tcase_add_test(slow_inputs, long_runs_of_blanks_in_long_texts);
  tcase_add_test(slow_inputs, a_run_at_the_start_of_a_very_long_text);
  tcase_add_test(slow_inputs, long_runs_of_blanks_elsewhere_do_no_harm);
  tcase_add_test(slow_inputs, many_tag_directives);
  suite_add_tcase(suite, slow_inputs);
  return run_suite(suite);
}
