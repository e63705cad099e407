/* The command line: what is taken, and what is refused with which words. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/graphrun/support.h"
#include "tools/graphrun/arguments.h"

enum { WORD_MAX = 16 };

/* Splits a line at blanks ('' is an empty word) and reads it as a command line. */
static bool read_line(const char *line, struct arguments *arguments, char *problem, size_t problem_bytes) {
  static char copy[512];
  static char *words[WORD_MAX + 1];
  int count = 0;
  snprintf(copy, sizeof copy, "graphrun %s", line);
  for (char *word = strtok(copy, " "); word && count < WORD_MAX; word = strtok(NULL, " ")) {
    if (strcmp(word, "''") == 0) *word = '\0';
    words[count++] = word;
  }
  words[count] = NULL;
  return arguments_read(count, words, arguments, problem, problem_bytes);
}

static void assert_refused(const char *line, const char *want) {
  struct arguments arguments;
  char problem[512] = "";
  bool is_taken = read_line(line, &arguments, problem, sizeof problem);
  arguments_release(&arguments);
  ck_assert_msg(!is_taken, "`%s` was taken", line);
  ck_assert_str_eq(problem, want);
}

static struct arguments taken;
static void assert_taken(const char *line) {
  char problem[512] = "";
  bool is_taken = read_line(line, &taken, problem, sizeof problem);
  ck_assert_msg(is_taken, "`%s`: %s", line, problem);
}

START_TEST(test_values) {
  assert_taken("run f.yaml --backend cuda --mode=stream --device 3 --repeat 10 --warmup 2 --timeout 0.5");
  ck_assert_int_eq(taken.command, COMMAND_RUN);
  ck_assert_str_eq(taken.backend, "cuda");
  ck_assert_int_eq(taken.mode, GR_MODE_STREAM);
  ck_assert_uint_eq(taken.device_index, 3);
  ck_assert_uint_eq(taken.repeat, 10);
  ck_assert_uint_eq(taken.warmup, 2);
  ck_assert_uint_eq(taken.timeout_ns, 500000000);
  ck_assert_uint_eq(taken.operand_count, 1);
  ck_assert_str_eq(taken.operands[0], "f.yaml");
  arguments_release(&taken);

  assert_taken("run - --set n=4Ki --set x=-1.5 --report json --report-file=r.json");
  ck_assert_uint_eq(taken.setting_count, 2);
  ck_assert_str_eq(taken.settings[0].name, "n");
  ck_assert_str_eq(taken.settings[0].value, "4Ki");
  ck_assert_str_eq(taken.settings[1].value, "-1.5");
  ck_assert(taken.report_json);
  ck_assert_str_eq(taken.report_file, "r.json");
  ck_assert_str_eq(taken.operands[0], "-");
  arguments_release(&taken);

  assert_taken("check a.yaml b.yaml -- --odd-name");
  ck_assert_uint_eq(taken.operand_count, 3);
  ck_assert_str_eq(taken.operands[2], "--odd-name");
  arguments_release(&taken);

  assert_taken("run f.yaml");
  ck_assert_uint_eq(taken.repeat, 1);
  ck_assert_uint_eq(taken.timeout_ns, 0);
  ck_assert_ptr_null(taken.backend);
  arguments_release(&taken);
}
END_TEST

static const struct refusal {
  const char *line;
  const char *problem;
} refusals[] = {
    {"", "a command is missing; `graphrun help` lists them"},
    {"rum f", "unknown command \"rum\"; did you mean run?"},
    {"frobnicate", "unknown command \"frobnicate\"; `graphrun help` lists them"},
    {"bench f", "the command bench is not supported yet"},
    {"run", "graphrun run needs FILE"},
    {"run a b", "graphrun run does not take \"b\""},
    {"run f --repeat 0", "--repeat takes a whole number from 1 to 9223372036854775807, not \"0\""},
    {"run f --repeat -1", "--repeat takes a whole number from 1 to 9223372036854775807, not \"-1\""},
    {"run f --repeat 10x", "--repeat takes a whole number from 1 to 9223372036854775807, not \"10x\""},
    {"run f --repeat ''", "--repeat takes a whole number from 1 to 9223372036854775807, not \"\""},
    {"run f --repeat 1e3", "--repeat takes a whole number from 1 to 9223372036854775807, not \"1e3\""},
    {"run f --repeat=", "--repeat takes a whole number from 1 to 9223372036854775807, not \"\""},
    {"run f --repeat 99999999999999999999",
     "--repeat takes a whole number from 1 to 9223372036854775807, not \"99999999999999999999\""},
    {"run f --repeat", "--repeat needs a value: N"},
    {"run f --timeout -1", "--timeout takes seconds above 0, such as 3 or 0.5, not \"-1\""},
    {"run f --timeout 0", "--timeout takes seconds above 0, such as 3 or 0.5, not \"0\""},
    {"run f --timeout nan", "--timeout takes seconds above 0, such as 3 or 0.5, not \"nan\""},
    {"run f --timeout .", "--timeout takes seconds above 0, such as 3 or 0.5, not \".\""},
    {"run f --timeout 1e3", "--timeout takes seconds above 0, such as 3 or 0.5, not \"1e3\""},
    {"run f -r=5", "unknown option -r=5; options have two hyphens and a full name"},
    {"run f --repaet 5", "unknown option --repaet; did you mean --repeat?"},
    {"run f --backend gpu", "--backend takes one of auto, host, cuda, not \"gpu\""},
    {"run f --mode fast", "--mode takes one of graph, stream, serial, not \"fast\""},
    {"run f --set n", "--set takes NAME=VALUE, not \"n\""},
    {"run f --set =4", "--set takes NAME=VALUE, not \"=4\""},
    {"run f --report-file ''", "--report-file takes a file's name, not \"\""},
    {"check f --repeat 3", "--repeat does not go with the command check"},
    {"graph f --format svg", "--format svg is not supported yet; dot is"},
    {"graph f --format png", "--format takes one of dot, not \"png\""},
    {"version x", "graphrun version does not take \"x\""},
};

START_TEST(test_refusals) { assert_refused(refusals[_i].line, refusals[_i].problem); }
END_TEST

START_TEST(test_help_wherever_it_is_asked_for) {
  static const char *const lines[] = {"help", "--help", "-h", "run --help", "run f --repeat 3 -h", "help run"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    assert_taken(lines[i]);
    ck_assert_int_eq(taken.command, COMMAND_HELP);
    if (i >= 3) ck_assert_str_eq(taken.help_topic, "run");
    else ck_assert_ptr_null(taken.help_topic);
    arguments_release(&taken);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("arguments");
  TCase *cases = tcase_create("arguments");
  tcase_add_test(cases, test_values);
  tcase_add_loop_test(cases, test_refusals, 0, (int)(sizeof refusals / sizeof refusals[0]));
  tcase_add_test(cases, test_help_wherever_it_is_asked_for);
  return run_suite(suite, cases);
}
