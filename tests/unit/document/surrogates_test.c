/* JSON's surrogate pairs in every style of text, and what else JSON allows where YAML is stricter. */
#include "tests/unit/document/support.h"

#define PAIR "\\ud83d\\ude00"
#define FACE "\xF0\x9F\x98\x80"
/* What libyaml is given for the pair, as a file's own text. */
#define OWN "\xEE\x80\xBD\xEE\x98\x80"
#define OWN_ESCAPES "\\uE03D\\uE600"

static struct gr_view child_text(const struct gr_document *document, uint64_t n) {
  const struct gr_item *root = gr_document_item(document, document->root);
  return gr_item_text(gr_document_item(document, gr_document_child(document, root, n)));
}

/* The first key of the file and its value. */
static void expect_pair_in(struct gr_view source, struct gr_view key, struct gr_view value) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed = parse(&memory, source);
  ck_assert_int_eq(parsed.status, GR_OK);
  ck_assert_msg(gr_view_equal(child_text(parsed.document, 0), key), "key of %.*s", (int)source.length, source.bytes);
  ck_assert_msg(gr_view_equal(child_text(parsed.document, 1), value), "value of %.*s", (int)source.length,
                source.bytes);
  ck_assert(gr_view_equal(parsed.document->source, source));
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}

static void expect_value(const char *source, const char *value) {
  expect_pair_in(gr_view_of(source), gr_view_of("a"), gr_view_of(value));
}

static const struct {
  const char *source, *value;
} values[] = {
    {"a: \"" PAIR "\"\n", FACE},
    {"{\"a\": \"" PAIR "\"}", FACE},
    {"a: \"\\uD83D\\uDE00 \\uD83d\\uDe00x\"\n", FACE " " FACE "x"},
    {"a: \"" PAIR PAIR "\\n" PAIR "\"\n", FACE FACE "\n" FACE},
    {"a: \"\\ud800\\udc00\\udbff\\udfff\"\n", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    {"a: \"one " PAIR "\n  two\\\n  " PAIR "\"\n", "one " FACE " two" FACE},
    /* Behind what may come before a text. */
    {"a: &b # " OWN_ESCAPES "\n  !!str # \"" PAIR "\n  \"" PAIR "\"\n", FACE},
    {"a: &b # \\ud83e\\udd80\n  '" PAIR "'\n", PAIR},
    {"# " PAIR "\na: &b \"" PAIR "\" # " PAIR "\n", FACE},
    /* Private-use characters of the file's own, in every form and order. */
    {"a: \"" OWN PAIR OWN "\"\n", OWN FACE OWN},
    {"a: \"" OWN_ESCAPES PAIR OWN_ESCAPES "\"\n", OWN FACE OWN},
    {"a: \"\\U0000e03d\\U0000E600" PAIR "\\ue03d\\ue600\"\n", OWN FACE OWN},
    {"a: \"\\U0001e03d\\ue03d\\\\ue03d" PAIR "\\x41\\uf03d\"\n",
     "\xF0\x9E\x80\xBD\xEE\x80\xBD\\ue03d" FACE "A\xEF\x80\xBD"},
    {"a: \"\xEE\x80\x80\xEE\x8F\xBF\xEE\x90\x80\xEE\x9F\xBF" PAIR "\xEE\x80\x80\"\n",
     "\xEE\x80\x80\xEE\x8F\xBF\xEE\x90\x80\xEE\x9F\xBF" FACE "\xEE\x80\x80"},
    /* Backslashes that are text. */
    {"a: \"\\\\ud83d\\\\ude00" PAIR "\"\n", "\\ud83d\\ude00" FACE},
    {"a: \"\\\\\\ud83d\\ude00\\\\\"\n", "\\" FACE "\\"},
    {"a: \"\\\"" PAIR "\\\"\\ue03d\"\n", "\"" FACE "\"\xEE\x80\xBD"},
    /* In other texts a backslash is only a backslash. */
    {"a: " PAIR "\nb: \"" PAIR "\"\n", PAIR},
    {"a: &x !!str " PAIR "x" OWN_ESCAPES "\n  " OWN_ESCAPES " \\uD83D\\uDE00\n",
     PAIR "x" OWN_ESCAPES " " OWN_ESCAPES " \\uD83D\\uDE00"},
    {"a: '" OWN_ESCAPES PAIR "''\\\\ud83d\\ude00\\" PAIR "'\n", OWN_ESCAPES PAIR "'\\\\ud83d\\ude00\\" PAIR},
    {"a: '\\\\" PAIR "\\" PAIR "'\n", "\\\\" PAIR "\\" PAIR},
    {"a: | # " PAIR OWN_ESCAPES "\n  " OWN_ESCAPES PAIR "\n  \"" PAIR "\"\n", OWN_ESCAPES PAIR "\n\"" PAIR "\"\n"},
    {"a: &b >- # " OWN_ESCAPES "\n  " PAIR OWN "\n  x " PAIR PAIR "\nb: \"\\ud83e\\udd80\"\n",
     PAIR OWN " x " PAIR PAIR},
    {"a: 'one " PAIR "\n\n  " PAIR "'\n", "one " PAIR "\n" PAIR},
    /* Halves without the other outside double quotes. */
    {"a: '\\ude00" PAIR "\\ud83d'\nb: \\ude00\\ud83d\n", "\\ude00" PAIR "\\ud83d"},
    {"a: \nb: \"" PAIR "\"\n", ""},
    {"a: &b\n# " PAIR "\nb: \"" PAIR "\"\n", ""},
};

START_TEST(each_style) { expect_value(values[_i].source, values[_i].value); }
END_TEST

START_TEST(a_nul_beside_a_pair) {
  expect_pair_in(VIEW("\"\\0" PAIR "\\u0000\": \"" PAIR "\\0" OWN "\"\n"), VIEW("\0" FACE "\0"), VIEW(FACE "\0" OWN));
}
END_TEST

/* The pieces that libyaml asks for end anywhere in a pair. */
START_TEST(pairs_over_the_edge_of_a_piece) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text source, expected;
  gr_text_init(&source, &memory);
  gr_text_init(&expected, &memory);
  for (int shift = 0; shift < 12; shift++) {
    gr_text_clear(&source);
    gr_text_clear(&expected);
    gr_text_append_text(&source, "a: \"");
    gr_text_append(&source, "xxxxxxxxxxxx", (size_t)shift);
    gr_text_append(&expected, "xxxxxxxxxxxx", (size_t)shift);
    for (int i = 0; i < 20000; i++) gr_text_append_text(&source, PAIR);
    for (int i = 0; i < 20000; i++) gr_text_append_text(&expected, FACE);
    gr_text_append_text(&source, "\"\n");
    expect_pair_in((struct gr_view){source.bytes, source.length}, VIEW("a"),
                   (struct gr_view){expected.bytes, expected.length});
  }
  gr_text_release(&source);
  gr_text_release(&expected);
}
END_TEST

/* Parts that mean the same whatever stands beside them: as they are written, what they mean in double quotes, and in
 * single ones. */
static const struct {
  const char *written, *quoted, *single;
} parts[] = {
    {PAIR, FACE, PAIR},
    {"\\uD83E\\uDD80", "\xF0\x9F\xA6\x80", "\\uD83E\\uDD80"},
    {OWN_ESCAPES, OWN, OWN_ESCAPES},
    {OWN, OWN, OWN},
    {"\\ue03d", "\xEE\x80\xBD", "\\ue03d"},
    {"\\U0000E03d", "\xEE\x80\xBD", "\\U0000E03d"},
    {"\\\\", "\\", "\\\\"},
    {"uE03D", "uE03D", "uE03D"},
    {"ud83d", "ud83d", "ud83d"},
    {"ude00", "ude00", "ude00"},
    {"\\x75", "u", "\\x75"},
    {"''", "''", "'"},
    {"\n\n", "\n", "\n"},
    {"\xEE\x90\x80", "\xEE\x90\x80", "\xEE\x90\x80"},
};

static uint64_t next_number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* The same texts in every run. */
START_TEST(parts_in_any_order) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text source, expected;
  gr_text_init(&source, &memory);
  gr_text_init(&expected, &memory);
  uint64_t state = 7;
  for (int round = 0; round < 4000; round++) {
    bool is_single = round % 2 == 1;
    gr_text_clear(&source);
    gr_text_clear(&expected);
    gr_text_append_text(&source, is_single ? "a: '" : "a: \"");
    size_t count = 1 + next_number(&state) % 12;
    for (size_t i = 0; i < count; i++) {
      size_t part = next_number(&state) % (sizeof parts / sizeof *parts);
      /* Breaks in a row would fold together. */
      if (*parts[part].written == '\n' && source.bytes[source.length - 1] == '\n') continue;
      gr_text_append_text(&source, parts[part].written);
      gr_text_append_text(&expected, is_single ? parts[part].single : parts[part].quoted);
    }
    gr_text_append_text(&source, is_single ? "'\n" : "\"\n");
    struct parsed parsed = parse(&memory, (struct gr_view){source.bytes, source.length});
    ck_assert_int_eq(parsed.status, GR_OK);
    ck_assert_msg(gr_view_equal(child_text(parsed.document, 1), (struct gr_view){expected.bytes, expected.length}),
                  "%s", source.bytes);
    release(&parsed);
  }
  gr_text_release(&source);
  gr_text_release(&expected);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

START_TEST(keys_compare_after_joining) {
  expect_pair_in(VIEW("\"" PAIR "\": 1\n"), VIEW(FACE), VIEW("1"));
  expect_errors("{\"" PAIR "\": 1, \"\\uD83D\\uDE00\": 2, \"" FACE "\": 3, " FACE ": 4, \"" OWN "\": 5}\n",
                "1:21: the key \"" FACE
                "\" is given twice, first in line 1\n"
                "1:40: the key \"" FACE
                "\" is given twice, first in line 1\n"
                "1:51: the key \"" FACE "\" is given twice, first in line 1\n");
}
END_TEST

START_TEST(anchors_and_merges) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed =
      parse(&memory, gr_view_of("x: &x \"" PAIR "\"\ny: *x\nz: {<<: {\"" PAIR "\": a, b: c}, " FACE ": own}\n"));
  ck_assert_int_eq(parsed.status, GR_OK);
  const struct gr_item *root = gr_document_item(parsed.document, parsed.document->root);
  ck_assert(gr_view_is(child_text(parsed.document, 3), FACE));
  const struct gr_item *merged = gr_document_item(parsed.document, gr_document_child(parsed.document, root, 5));
  ck_assert_uint_eq(merged->count, 2);
  const struct gr_item *own = gr_document_item(parsed.document, gr_document_child(parsed.document, merged, 1));
  ck_assert(gr_view_is(gr_item_text(own), "own"));
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

static const struct {
  const char *source, *expected;
} errors[] = {
    {"a: \"" PAIR " \\ud83d\"\n",
     "1:20: \\ud83d is the first half of a surrogate pair; the second, one of \\udc00 to \\udfff, has to come right "
     "behind it\n"},
    {"a: \"\\uD83Dx\\ude00\"\n",
     "1:7: \\uD83D is the first half of a surrogate pair; the second, one of \\udc00 to \\udfff, has to come right "
     "behind it\n"},
    {"a: \"\\ud83d\\ud83d\\ude00\"\n",
     "1:7: \\ud83d is the first half of a surrogate pair; the second, one of \\udc00 to \\udfff, has to come right "
     "behind it\n"},
    {"a: \"\\ud83d\\\\ude00\"\n",
     "1:7: \\ud83d is the first half of a surrogate pair; the second, one of \\udc00 to \\udfff, has to come right "
     "behind it\n"},
    {"a: \"\\ude00\\ud83d\"\n",
     "1:7: \\ude00 is the second half of a surrogate pair; the first, one of \\ud800 to \\udbff, has to come right "
     "before it\n"},
    {"a: \"" PAIR "\\ude00\"\n",
     "1:19: \\ude00 is the second half of a surrogate pair; the first, one of \\ud800 to \\udbff, has to come right "
     "before it\n"},
    {"a: \"\\\\" PAIR "\\\\\\ude00\"\n",
     "1:23: \\ude00 is the second half of a surrogate pair; the first, one of \\ud800 to \\udbff, has to come right "
     "before it\n"},
    {"a: \"\\U0000d83d\"\n", "1:7: this escape sequence names no Unicode character\n"},
    /* Places behind pairs are those of the file. */
    {"{\"" PAIR "\": [\"" PAIR "\", *n]}\n",
     "1:35: the alias \"n\" has no anchor before it; a text that starts with '*' needs quotes\n"},
    {"{a: " PAIR ", b: '" PAIR "', b: 1}\n", "1:38: the key \"b\" is given twice, first in line 1\n"},
    {"a: \"" PAIR "\" x\n",
     "1:19: the value before this has ended; put quotes around the whole text, or this on a line of its own\n"},
    {"a: !!b \"" PAIR "\"\n", "1:4: the tag \"!!b\" is not allowed; only !!str, !!int, !!float, !!map and !!seq are\n"},
};

START_TEST(errors_keep_their_place) { expect_errors(errors[_i].source, errors[_i].expected); }
END_TEST

START_TEST(tabs_of_json) {
  static const struct {
    const char *source, *root, *first, *second;
  } rows[] = {
      {"\t{\t\"a\"\t:\t1\t,\n\t\"b\":\t[\t\n\t]\n\t}\t\n\t\r\n\t", "1:2", "1:10", "2:7"},
      {"\n \t\n{\n\t\"a\": 1\n\t,\n\t\"b\":\n\t[]}", "3:1", "4:7", "7:2"},
      {"\xEF\xBB\xBF\t\n\t{\"a\": 1, \"b\": []}\n\t\t", "2:2", "2:8", "2:16"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char expected[256];
    snprintf(expected, sizeof expected, "map of 2 flow %s\n  \"a\": \"1\" plain flow %s\n  \"b\": list of 0 flow %s\n",
             rows[i].root, rows[i].first, rows[i].second);
    expect_tree(rows[i].source, expected);
  }
  expect_errors("\ta: {}\n", "1:1: a tab is used for indentation here; YAML allows only spaces\n");
  expect_errors("a: {}\n\t\n\tb: 1\n", "2:1: a tab is used for indentation here; YAML allows only spaces\n");
  expect_value("a: |+\n  x\n  \t\n", "x\n\t\n");
}
END_TEST

START_TEST(values_of_json) {
  expect_tree("{\"\":-0.0,\"b\":1E5,\"c\":1e+5,\"d\":[null,true,-1],\"e\":\"\\b\\f\\n\\r\\t\\\"\\\\\\/\",\"<<\":\"\"}",
              "map of 6 flow 1:1\n"
              "  \"\": \"-0.0\" plain flow 1:5\n"
              "  \"b\": \"1E5\" plain flow 1:14\n"
              "  \"c\": \"1e+5\" plain flow 1:22\n"
              "  \"d\": list of 3 flow 1:31\n"
              "    \"null\" plain flow 1:32\n"
              "    \"true\" plain flow 1:37\n"
              "    \"-1\" plain flow 1:42\n"
              "  \"e\": \"\\u0008\\u000c\\n\\r\\t\\\"\\\\/\" flow 1:50\n"
              "  \"<<\": \"\" flow 1:74\n");
}
END_TEST

START_TEST(a_colon_below_its_key) {
  expect_errors("{\"a\"\n: 1}\n", "2:1: this ':' has to be in the same line as its key\n");
  expect_errors("{\"a\": 1,\n\"b\"\r\n\t : 1}\n", "3:3: this ':' has to be in the same line as its key\n");
  expect_tree("{\"a\":\n1}", "map of 1 flow 1:1\n  \"a\": \"1\" plain flow 2:1\n");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/surrogates");
  TCase *pairs = tcase_create("pairs");
  tcase_set_timeout(pairs, 60);
  tcase_add_loop_test(pairs, each_style, 0, (int)(sizeof values / sizeof *values));
  tcase_add_test(pairs, a_nul_beside_a_pair);
  tcase_add_test(pairs, pairs_over_the_edge_of_a_piece);
  tcase_add_test(pairs, parts_in_any_order);
  tcase_add_test(pairs, keys_compare_after_joining);
  tcase_add_test(pairs, anchors_and_merges);
  tcase_add_loop_test(pairs, errors_keep_their_place, 0, (int)(sizeof errors / sizeof *errors));
  suite_add_tcase(suite, pairs);
  TCase *json = tcase_create("json");
  tcase_add_test(json, tabs_of_json);
  tcase_add_test(json, values_of_json);
  tcase_add_test(json, a_colon_below_its_key);
  suite_add_tcase(suite, json);
  return run_suite(suite);
}
