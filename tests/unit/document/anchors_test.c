/* Many anchors: each alias finds its own, whatever the names have in common. */
#include "tests/unit/document/support.h"

/* A small generator, so that every run is the same. */
static uint64_t next_number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

enum { ANCHORS = 4000 };

/* Names over two letters, most of them beginnings of others, some given twice. */
static void make_names(char names[ANCHORS][16]) {
  uint64_t state = 1;
  for (int i = 0; i < ANCHORS; i++) {
    int length = 1 + (int)(next_number(&state) % 14);
    for (int k = 0; k < length; k++) names[i][k] = next_number(&state) % 2 ? 'a' : 'b';
    names[i][length] = '\0';
  }
}

START_TEST(every_alias_finds_the_last_anchor_of_its_name) {
  static char names[ANCHORS][16];
  make_names(names);
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_text_append_text(&text, "a:\n");
  for (int i = 0; i < ANCHORS; i++) gr_text_append_format(&text, "- &%s %d\n", names[i], i);
  gr_text_append_text(&text, "b:\n");
  for (int i = 0; i < ANCHORS; i++) gr_text_append_format(&text, "- *%s\n", names[i]);
  struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
  ck_assert_int_eq(parsed.status, GR_OK);
  const struct gr_document *document = parsed.document;
  const struct gr_item *root = gr_document_item(document, document->root);
  const struct gr_item *list = gr_document_item(document, gr_document_child(document, root, 3));
  for (int i = 0; i < ANCHORS; i++) {
    int last = ANCHORS - 1;
    while (strcmp(names[last], names[i]) != 0) last--;
    char expected[16];
    snprintf(expected, sizeof expected, "%d", last);
    const struct gr_item *item = gr_document_item(document, gr_document_child(document, list, (uint64_t)i));
    ck_assert(gr_view_is(gr_item_text(item), expected));
    ck_assert_uint_eq(item->line, (uint32_t)(ANCHORS + 3 + i));
  }
  release(&parsed);
  gr_text_release(&text);
}
END_TEST

START_TEST(names_that_are_not_there_are_not_found) {
  expect_errors("a: [&ab 1, &abc 2, &abcdefgh 3, &b 4]\nb: [*a, *abcd, *abcdefghi, *B]\n",
                "2:5: the alias \"a\" has no anchor before it; a text that starts with '*' needs quotes\n"
                "2:9: the alias \"abcd\" has no anchor before it; did you mean \"abc\"?\n"
                "2:16: the alias \"abcdefghi\" has no anchor before it; did you mean \"abcdefgh\"?\n"
                "2:28: the alias \"B\" has no anchor before it; a text that starts with '*' needs quotes\n");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/anchors");
  TCase *cases = tcase_create("anchors");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, every_alias_finds_the_last_anchor_of_its_name);
  tcase_add_test(cases, names_that_are_not_there_are_not_found);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
