/* Results go to files that are whole or absent, whatever they are called. */
#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/graphrun/support.h"
#include "tools/graphrun/output.h"

static char folder[256];
static char path[1024];

static void set_up(void) {
  const char *root = getenv("TEST_TMPDIR");
  snprintf(folder, sizeof folder, "%s/graphrun-output-XXXXXX", root ? root : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(folder));
}

static uint32_t count_and_remove_files(void) {
  uint32_t count = 0;
  DIR *list = opendir(folder);
  for (struct dirent *entry; (entry = readdir(list));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    ck_assert_int_eq(unlinkat(dirfd(list), entry->d_name, 0), 0);
    count++;
  }
  closedir(list);
  return count;
}

static void tear_down(void) {
  (void)count_and_remove_files();
  (void)rmdir(folder);
}

static const char *name_file(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void assert_content(const char *name, const char *want) {
  char bytes[256] = "";
  FILE *file = fopen(name, "r");
  ck_assert_ptr_nonnull(file);
  size_t length = fread(bytes, 1, sizeof bytes - 1, file);
  fclose(file);
  bytes[length] = '\0';
  ck_assert_str_eq(bytes, want);
}

START_TEST(a_file_appears_when_it_is_whole) {
  struct output output;
  ck_assert(output_open(&output, name_file("a.txt")));
  output_format(&output, "%d and ", 1);
  output_text(&output, "two");
  ck_assert_int_ne(access(path, F_OK), 0);
  ck_assert(output_close(&output));
  assert_content(path, "1 and two");
  ck_assert_uint_eq(count_and_remove_files(), 1);
}
END_TEST

START_TEST(an_abandoned_file_never_was) {
  struct output output;
  ck_assert(output_open(&output, name_file("a.txt")));
  output_text(&output, "half");
  output_abandon(&output);
  ck_assert_uint_eq(count_and_remove_files(), 0);
}
END_TEST

/* A signal handler removes what is being written. */
START_TEST(a_temporary_file_can_be_removed_at_any_time) {
  struct output output;
  ck_assert(output_open(&output, name_file("a.txt")));
  output_remove_temporary();
  ck_assert_uint_eq(count_and_remove_files(), 0);
  output_abandon(&output);
  output_remove_temporary();
}
END_TEST

/* As long as the system allows. */
START_TEST(long_names) {
  char name[256];
  memset(name, 'x', 255);
  name[255] = '\0';
  struct output output;
  ck_assert(output_open(&output, name_file(name)));
  output_text(&output, "text");
  ck_assert(output_close(&output));
  assert_content(path, "text");
}
END_TEST

/* What the link points to is replaced, not the link. */
START_TEST(links_are_followed) {
  char target[512];
  struct output output;
  struct stat facts;
  snprintf(target, sizeof target, "%s/target.txt", folder);
  FILE *file = fopen(target, "w");
  ck_assert_ptr_nonnull(file);
  fclose(file);
  ck_assert_int_eq(symlink(target, name_file("link.txt")), 0);
  ck_assert(output_open(&output, path));
  output_text(&output, "text");
  ck_assert(output_close(&output));
  assert_content(target, "text");
  ck_assert_int_eq(lstat(path, &facts), 0);
  ck_assert(S_ISLNK(facts.st_mode));
}
END_TEST

START_TEST(strings_of_json) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"", "\"\""},
      {"a \"b\" \\", "\"a \\\"b\\\" \\\\\""},
      {"\x01\n", "\"\\u0001\\u000a\""},
      {"\xc3\xa9 \xe5\x9b\xb3 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe5\x9b\xb3 \xf0\x9f\x98\x80\""},
      {"\xff.yaml", "\"\xef\xbf\xbd.yaml\""},
      {"cut \xe5\x9b", "\"cut \xef\xbf\xbd\xef\xbf\xbd\""},
      {"long form \xc0\xaf", "\"long form \xef\xbf\xbd\xef\xbf\xbd\""},
      {"surrogate \xed\xa0\x80", "\"surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
      {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct output output;
    ck_assert(output_open(&output, name_file("a.json")));
    output_json_string(&output, cases[i].text);
    ck_assert(output_close(&output));
    assert_content(path, cases[i].want);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("output");
  TCase *cases = tcase_create("output");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, a_file_appears_when_it_is_whole);
  tcase_add_test(cases, an_abandoned_file_never_was);
  tcase_add_test(cases, a_temporary_file_can_be_removed_at_any_time);
  tcase_add_test(cases, long_names);
  tcase_add_test(cases, links_are_followed);
  tcase_add_test(cases, strings_of_json);
  return run_suite(suite, cases);
}
