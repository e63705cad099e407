/* The tree as text. */
#include "tests/unit/document/support.h"

START_TEST(every_kind_of_item) {
  expect_tree(
      "# a pipeline\ngraphrun: 1\nempty:\n\"quo\\x74ed\": 'x \"y\"'\nlist: [1, [], {}]\nnodes:\n  - id: a\n    after: "
      "[]\n  - b\n",
      "map of 5 2:1\n"
      "  \"graphrun\": \"1\" plain 2:11\n"
      "  \"empty\": \"\" plain 3:7\n"
      "  \"quoted\": \"x \\\"y\\\"\" 4:14\n"
      "  \"list\": list of 3 flow 5:7\n"
      "    \"1\" plain flow 5:8\n"
      "    list of 0 flow 5:11\n"
      "    map of 0 flow 5:15\n"
      "  \"nodes\": list of 2 7:3\n"
      "    map of 2 7:5\n"
      "      \"id\": \"a\" plain 7:9\n"
      "      \"after\": list of 0 flow 8:12\n"
      "    \"b\" plain 9:5\n");
}
END_TEST

START_TEST(out_of_memory_stops) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed = parse(&memory, gr_view_of("a: [1, 2, 3]\n"));
  struct gr_text text;
  gr_text_init(&text, &memory);
  memory.fail_at = memory.call_count + 1;
  gr_document_show(parsed.document, &text);
  ck_assert(text.failed);
  gr_text_release(&text);
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/show");
  TCase *cases = tcase_create("show");
  tcase_add_test(cases, every_kind_of_item);
  tcase_add_test(cases, out_of_memory_stops);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
