/* What libyaml cannot read, in words and with the place where a person has to look. */
#include "tests/unit/document/support.h"

static const struct {
  const char *source;
  const char *expected;
} cases[] = {
    {"nodes:\n\t- id: a\n", "2:1: a tab is used for indentation here; YAML allows only spaces\n"},
    {"nodes:\n  - id: a\n  \tnote: b\n", "3:3: a tab is used for indentation here; YAML allows only spaces\n"},
    {"a: b\n\tc: d\n", "2:1: a tab is used for indentation here; YAML allows only spaces\n"},
    {"a: |\n\tb\n", "2:1: a tab is used for indentation here; YAML allows only spaces\n"},
    {"x: 1\ny: 2\na: [1, 2\nb: 3\n",
     "4:2: expected ',' or ']' here, as the list that starts in line 3, column 4 is not closed yet; a text with commas "
     "or brackets needs quotes\n"},
    {"a: {b: 1, c: 2]\n",
     "1:15: expected ',' or '}' here, as the map that starts in line 1, column 4 is not closed yet; a text with commas "
     "or brackets needs quotes\n"},
    {"a: [1, 2\n\n# end\n", "1:4: this list is not closed: there is no ']' up to the end of the file\n"},
    {"a: {b: 1\n", "1:4: this map is not closed: there is no '}' up to the end of the file\n"},
    {"a: {b: [\n", "1:8: this list is not closed: there is no ']' up to the end of the file\n"},
    {"c: {from: hx[0:4], to: y}\n",
     "1:13: a '[' cannot stand here: inside [ ] and { } a slice needs quotes, as in \"x[0:4]\"\n"},
    {"c: {from: hx[2:], to: y}\n",
     "1:13: a '[' cannot stand here: inside [ ] and { } a slice needs quotes, as in \"x[0:4]\"\n"},
    {"c: {from: hx[a:b, 2:], to: y}\n",
     "1:13: a '[' cannot stand here: inside [ ] and { } a slice needs quotes, as in \"x[0:4]\"\n"},
    {"c: [hx[:, 2:3]]\n", "1:7: a '[' cannot stand here: inside [ ] and { } a slice needs quotes, as in \"x[0:4]\"\n"},
    {"a: {b: [x[2:], y]}\n",
     "1:12: a ':' cannot stand here: inside [ ] and { } a slice needs quotes, as in \"x[0:4]\"\n"},
    {"a: 1\nfoo\nb: 2\n", "2:1: expected \"key: value\" here, but there is no ':' behind this text\n"},
    {"a: b: c\n",
     "1:5: a ':' cannot stand here: either the line is indented too far, or a text with ': ' in it needs quotes\n"},
    {"a: 1\n  b: 2\n",
     "2:4: a ':' cannot stand here: either the line is indented too far, or a text with ': ' in it needs quotes\n"},
    {"a:\n    b: 1\n  c: 2\n",
     "3:3: expected a key of the map that starts in line 1, column 1; is the line indented like the others?\n"},
    {"a:\n  - b\n  c: 2\n",
     "3:3: expected a '-' of the list that starts in line 2, column 3; is the line indented like the others?\n"},
    {"  a: 1\n b: 2\n", "2:2: the document has ended before this; is the line indented like the first one?\n"},
    {"a: 1\n...\njunk\n", "3:1: the document has ended before this; a pipeline file holds one document\n"},
    {"a: 'x' y\n",
     "1:8: the value before this has ended; put quotes around the whole text, or this on a line of its own\n"},
    {"a: \"b\"c\n",
     "1:7: the value before this has ended; put quotes around the whole text, or this on a line of its own\n"},
    {"a: &x &y 1\n",
     "1:7: the value before this has ended; put quotes around the whole text, or this on a line of its own\n"},
    {"k: v # c\n  more: x\n",
     "2:3: expected a key of the map that starts in line 1, column 1; is the line indented like the others?\n"},
    {"{a: 1} b\n", "1:8: the document has ended before this; put quotes around a text that holds quotes or brackets\n"},
    {"{a: 1}}\n", "1:7: there is no '{' that this '}' could close\n"},
    {"a: ]\n", "1:4: there is no '[' that this ']' could close\n"},
    {"a: [1]]\n", "1:7: there is no '[' that this ']' could close\n"},
    {"a: @x\n", "1:4: a text cannot start with \"@\" unless it is in quotes\n"},
    {"a: `x`\n", "1:4: a text cannot start with \"`\" unless it is in quotes\n"},
    {"a: %x\n", "1:4: a text cannot start with \"%\" unless it is in quotes\n"},
    {"a: \"x\n  y\nb: 1\n", "1:4: this quoted text has no closing quote\n"},
    {"a: 'x\n", "1:4: this quoted text has no closing quote\n"},
    {"a: \"x\n---\n", "1:4: this quoted text has no closing quote before the document marker in line 2\n"},
    {"a: \"C:\\dir\"\n",
     "1:7: there is no such escape sequence; inside single quotes a backslash is only a backslash\n"},
    {"a: \"\\x4\"\n",
     "1:7: this escape sequence needs more hexadecimal digits: two after \\x, four after \\u, eight after \\U\n"},
    {"a: \"\\U00110000\"\n", "1:7: this escape sequence names no Unicode character\n"},
    {"a: [,]\n", "1:5: expected a value before \",\"\n"},
    {"a: [1, }\n", "1:8: expected a value before \"}\"\n"},
    {"a: - b\n", "1:4: a '-' cannot start a list here: the list has to start on a line of its own\n"},
    {"a: ? b\n", "1:4: a '?' cannot start a key here; a text that starts with '?' needs quotes\n"},
    {"a: [b:]\n",
     "1:6: a ':' right before one of , ? [ ] { } is read neither as text nor as the end of a key: put the text in "
     "quotes, "
     "or a space behind the ':'\n"},
    {"a: *\n",
     "1:4: a '*' starts an alias, whose name has only letters, digits, '-' and '_'; a text that starts with '*' needs "
     "quotes\n"},
    {"a: & b\n",
     "1:4: an '&' starts an anchor, whose name has only letters, digits, '-' and '_'; a text that starts with '&' "
     "needs "
     "quotes\n"},
    {"a: | x\n",
     "1:4: after '|' or '>' the text has to start on the next line; a text that starts with one of them needs "
     "quotes\n"},
    {"a: >0\n  x\n", "1:4: the indentation after '|' or '>' must be 1 to 9\n"},
    {"a: !x!y 1\n", "1:4: this tag is not known; only !!str, !!int, !!float, !!map and !!seq are\n"},
    {"a: !<x y\n", "1:4: a '!' starts a tag, and this one is malformed; a text that starts with '!' needs quotes\n"},
    {"a: !%zz y\n", "1:4: a '!' starts a tag, and this one is malformed; a text that starts with '!' needs quotes\n"},
    {"%FOO\n---\na: 1\n", "1:1: a line that starts with '%' is a YAML directive, but none that is known\n"},
    {"%YAML 1\n---\na: 1\n", "1:1: this %YAML directive is malformed; %YAML 1.2 is a good one\n"},
    {"%YAML 2.0\n---\na: 1\n", "1:1: only YAML 1.1 and 1.2 are read\n"},
    {"%YAML 1.2\n%YAML 1.2\n---\na: 1\n", "2:1: there is a second %YAML directive\n"},
    {"%TAG ! x\n%TAG ! y\n---\na: 1\n", "2:1: there is a second %TAG directive for this handle\n"},
    {"%TAG x\n---\na: 1\n", "1:1: this %TAG directive is malformed\n"},
    {"%YAML 1.2\na: 1\n", "2:1: after lines that start with '%' the document has to start with '---'\n"},
};

START_TEST(each_has_its_words) { expect_errors(cases[_i].source, cases[_i].expected); }
END_TEST

/* A key of that many characters, in quotes or not, in a map of that form. */
static void expect_key(size_t length, const char *before, const char *after, const char *expected) {
  size_t capacity = length + 64;
  char *source = malloc(capacity);
  ck_assert(source);
  int start = snprintf(source, capacity, "%s", before);
  memset(source + start, 'k', length);
  snprintf(source + start + (int)length, capacity - (size_t)start - length, "%s", after);
  if (expected) {
    expect_errors(source, expected);
  } else {
    struct gr_memory memory;
    gr_memory_init(&memory, NULL);
    struct parsed parsed = parse(&memory, gr_view_of(source));
    ck_assert_int_eq(parsed.status, GR_OK);
    release(&parsed);
  }
  free(source);
}

START_TEST(keys_have_a_greatest_length) {
  expect_key(1024, "", ": 1\n", NULL);
  expect_key(1024, "{", ": 1}\n", NULL);
  expect_key(1025, "", ": 1\n", "1:1026: a key may have at most 1024 characters\n");
  expect_key(5000, "a: 1\n", ": 1\n", "2:1: a key may have at most 1024 characters\n");
  expect_key(5000, "{a: 1, ", ": 1}\n", "1:5008: a key may have at most 1024 characters\n");
}
END_TEST

START_TEST(problems_before_the_syntax_error_are_reported_too) {
  expect_errors("a: 1\na: 2\nb: *c\nd: !x 1\n? [e]\n: f\n\t\n  - x\ng: [\n",
                "3:4: the alias \"c\" has no anchor before it; a text that starts with '*' needs quotes\n"
                "4:4: the tag \"!x\" is not allowed; only !!str, !!int, !!float, !!map and !!seq are\n"
                "5:3: a key must be a scalar; this one is a list\n"
                "7:1: a tab is used for indentation here; YAML allows only spaces\n");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/syntax");
  TCase *words = tcase_create("words");
  tcase_add_loop_test(words, each_has_its_words, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(words, keys_have_a_greatest_length);
  tcase_add_test(words, problems_before_the_syntax_error_are_reported_too);
  suite_add_tcase(suite, words);
  return run_suite(suite);
}
