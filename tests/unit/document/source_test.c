/* Bytes that are no text, other encodings, and where a byte stands. */
#include "tests/unit/document/support.h"

START_TEST(a_leading_bom_changes_nothing) {
  const char *tree =
      "map of 1 1:1\n"
      "  \"a\": \"1\" plain 1:4\n";
  expect_tree("a: 1\n", tree);
  expect_tree(
      "\xEF\xBB\xBF"
      "a: 1\n",
      tree);
  expect_errors(
      "\xEF\xBB\xBF"
      "a: [\n",
      "1:4: this list is not closed: there is no ']' up to the end of the file\n");
}
END_TEST

START_TEST(other_boms_are_refused) {
  const char *words =
      ": a byte order mark (U+FEFF, invisible) is allowed only as the very first character of the file\n";
  char expected[256];
  snprintf(expected, sizeof expected, "1:1%s", words);
  expect_errors(
      "\xEF\xBB\xBF\xEF\xBB\xBF"
      "a: 1\n",
      expected);
  snprintf(expected, sizeof expected, "2:1%s", words);
  expect_errors(
      "# first\n\xEF\xBB\xBF"
      "a: 1\n",
      expected);
}
END_TEST

START_TEST(other_encodings_are_refused_by_name) {
  const struct {
    struct gr_view source;
    const char *name;
  } cases[] = {
      {VIEW("\xFF\xFE"
            "a\0:\0 \0"
            "1\0"),
       "UTF-16 (little-endian)"},
      {VIEW("\xFE\xFF\0a\0:\0 \0"
            "1"),
       "UTF-16 (big-endian)"},
      {VIEW("\xFF\xFE\0\0a\0\0\0"), "UTF-32 (little-endian)"},
      {VIEW("\0\0\xFE\xFF\0\0\0a"), "UTF-32 (big-endian)"},
      {VIEW("a\0:\0 \0"
            "1\0"),
       "UTF-16 (little-endian)"},
      {VIEW("\0a\0:\0 \0"
            "1"),
       "UTF-16 (big-endian)"},
      {VIEW("a\0\0\0:\0\0\0"), "UTF-32 (little-endian)"},
      {VIEW("\0\0\0a\0\0\0:"), "UTF-32 (big-endian)"},
      {VIEW("\xFF\xFE"), "UTF-16 (little-endian)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[160];
    snprintf(expected, sizeof expected, "1:1: the file is %s; only UTF-8 is read: save it as UTF-8\n", cases[i].name);
    expect_errors_in(cases[i].source, expected);
  }
}
END_TEST

START_TEST(bytes_that_are_no_text_have_their_line) {
  expect_errors_in(VIEW("a: 1\nb: \xE9 \xFF\n\nc: \xC0\xAF\nd: \xED\xA0\x80\ne: \xE2\x82"),
                   "2:4: the byte \\xE9 is not UTF-8; pipeline files are read as UTF-8 only\n"
                   "4:4: the byte \\xC0 is not UTF-8; pipeline files are read as UTF-8 only\n"
                   "5:4: the byte \\xED is not UTF-8; pipeline files are read as UTF-8 only\n"
                   "6:4: the byte \\xE2 is not UTF-8; pipeline files are read as UTF-8 only\n");
}
END_TEST

START_TEST(control_characters_have_their_line) {
  expect_errors_in(
      VIEW("abc: \0\r\nb: \x1B[0m\rc: \x7F\nd: \xC2\x9B\ne: \xEF\xBF\xBF\nf: x\xE2\x80\xA8y\n# \xC2\x85\n"),
      "1:6: a NUL byte is not allowed: this is no text file, or a damaged one\n"
      "2:4: the control character U+001B is not allowed; inside double quotes it can be written as \\x1B\n"
      "3:4: the control character U+007F is not allowed; inside double quotes it can be written as \\x7F\n"
      "4:4: the control character U+009B is not allowed; inside double quotes it can be written as \\x9B\n"
      "5:4: the character U+FFFF is not allowed\n"
      "6:5: the line separator U+2028 (invisible) is not allowed; inside double quotes it can be written as \\u2028\n"
      "7:3: the line separator U+0085 (invisible) is not allowed; inside double quotes it can be written as \\u0085\n");
}
END_TEST

START_TEST(a_binary_file_gives_one_message_a_line) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  char bytes[4096];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7 % 256 == '\n' ? 'x' : i * 7);
  struct parsed parsed = parse(&memory, (struct gr_view){bytes, sizeof bytes});
  ck_assert_uint_le(parsed.diagnostics.error_count, 1 + sizeof bytes / 256); /* a CR each 256 bytes */
  release(&parsed);
}
END_TEST

/* The bytes are not even looked at. */
START_TEST(a_file_beyond_the_bound_is_refused) {
  expect_errors_in((struct gr_view){"a: 1\n", (size_t)INT32_MAX + 1},
                   "0:0: the file has 2147483648 bytes; at most 2147483647 are read\n");
}
END_TEST

START_TEST(columns_count_bytes_and_lines_end_as_editors_end_them) {
  expect_tree("\xC3\xA9: \xC3\xA9\r\n\r\nb: [\xE2\x82\xAC, x]\rc: \"\xF0\x9F\x98\x80\" # \xC3\xA9\n\nd: y",
              "map of 4 1:1\n"
              "  \"\xC3\xA9\": \"\xC3\xA9\" plain 1:5\n"
              "  \"b\": list of 2 flow 3:4\n"
              "    \"\xE2\x82\xAC\" plain flow 3:5\n"
              "    \"x\" plain flow 3:10\n"
              "  \"c\": \"\xF0\x9F\x98\x80\" 4:4\n"
              "  \"d\": \"y\" plain 6:4\n");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/source");
  TCase *cases = tcase_create("bytes");
  tcase_add_test(cases, a_leading_bom_changes_nothing);
  tcase_add_test(cases, other_boms_are_refused);
  tcase_add_test(cases, other_encodings_are_refused_by_name);
  tcase_add_test(cases, bytes_that_are_no_text_have_their_line);
  tcase_add_test(cases, control_characters_have_their_line);
  tcase_add_test(cases, a_binary_file_gives_one_message_a_line);
  tcase_add_test(cases, a_file_beyond_the_bound_is_refused);
  tcase_add_test(cases, columns_count_bytes_and_lines_end_as_editors_end_them);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
