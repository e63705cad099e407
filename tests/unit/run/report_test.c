#include <ctype.h>
#include <math.h>

#include "tests/unit/run/support.h"

static struct gr_report report;

static char *own(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = gr_memory_allocate(&world.memory, size);
  memcpy(copy, text, size);
  return copy;
}

/* A run as it could have been, with round numbers. */
static void make_report(void) {
  add_vector("x", GR_TYPE_F32, 4);
  add_vector("y", GR_TYPE_F32, 4);
  make_plan();
  gr_report_init(&report, &world.memory);
  report.plan = world.plan;
  report.pipeline_file = own("dir/photo.yaml");
  report.pipeline_name = own("photo");
  report.backend_name = "fake";
  report.backend_reason = own("no usable GPU: no driver");
  strcpy(report.device.name, "Model \"7\"");
  report.device.memory_bytes = 1 << 20;
  report.device.unit_count = 2;
  report.states = gr_memory_allocate_zeroed(&world.memory, world.plan->step_count, sizeof *report.states);
  for (uint32_t i = 0; i < world.plan->step_count; i++) report.states[i] = GR_NODE_OK;
  report.facts = (struct gr_build_facts){.host_bytes = 32, .worker_count = 2, .gemm = "built-in", .allocate_ns = 7};
  report.times = (struct gr_replay_times){
      .replays = 4, .launch_min_ns = 1, .launch_max_ns = 5, .launch_total_ns = 12, .device_ns = 8000.0};
  report.repeat = report.replays_done = 4;
  report.warmup = 1;
  report.load_ns = 1;
  report.check_ns = 1000;
  report.plan_ns = 2000;
  report.replays_ns = 40000;
  report.total_ns = 5000000;
  report.expects = gr_memory_allocate_zeroed(&world.memory, 2, sizeof *report.expects);
  report.expect_count = 2;
  report.expects[0] = (struct gr_report_expect){.buffer_index = 0, .is_met = true, .largest_difference = 0.5};
  report.expects[1] = (struct gr_report_expect){.buffer_index = 1, .is_met = true};
  report.saved_count = 2;
}

static void fail_second(void) {
  gr_error_set(&report.error, GR_ERR_NODE, "node \"second\" failed");
  gr_error_place(&report.error, "dir/photo.yaml", 2, 5);
  gr_error_node(&report.error, "second");
  strcpy(report.error.backend_code, "cudaErrorIllegalAddress");
  report.status = GR_ERR_NODE;
  report.states[world.plan->step_of_node[1]] = GR_NODE_FAILED;
  report.replays_done = 3;
  report.expect_count = 0;
  report.saved_count = 0;
}

static struct gr_text show(void (*function)(const struct gr_report *report, struct gr_text *out)) {
  struct gr_text text;
  gr_text_init(&text, &world.memory);
  function(&report, &text);
  ck_assert(!text.failed);
  return text;
}

static void show_plain(const struct gr_report *shown, struct gr_text *out) { gr_report_show(shown, out, false); }
static void show_colored(const struct gr_report *shown, struct gr_text *out) { gr_report_show(shown, out, true); }

static void expect_shown(void (*function)(const struct gr_report *report, struct gr_text *out), const char *expected) {
  struct gr_text text = show(function);
  ck_assert_str_eq(text.bytes, expected);
  gr_text_release(&text);
}

START_TEST(a_good_run_for_people) {
  make_report();
  expect_shown(show_plain,
               "photo: ok, fake backend (Model \"7\"), mode graph, 4 of 4 replays\n"
               "  chosen: no usable GPU: no driver\n"
               "  node    kind     level  stream  state\n"
               "  first   barrier      0       0  ok\n"
               "  second  barrier      1       0  ok\n"
               "  expect x: met, largest difference 0.5\n"
               "  expect y: met, largest difference 0\n"
               "  saved 2 files\n"
               "  time: check 1.00 us, plan 2.00 us, replays 40.0 us, total 5.00 ms\n"
               "  a replay: 10.0 us on average, host call 3.00 ns, device 2.00 us\n");
  gr_report_release(&report);
}
END_TEST

START_TEST(a_failed_run_for_people) {
  make_report();
  fail_second();
  report.times.replays = 0;
  expect_shown(show_plain,
               "photo: a node failed, fake backend (Model \"7\"), mode graph, 3 of 4 replays\n"
               "  chosen: no usable GPU: no driver\n"
               "  error: dir/photo.yaml:2:5: node \"second\" failed (cudaErrorIllegalAddress)\n"
               "  node    kind     level  stream  state\n"
               "  first   barrier      0       0  ok\n"
               "  second  barrier      1       0  failed\n"
               "  time: check 1.00 us, plan 2.00 us, replays 40.0 us, total 5.00 ms\n");
  struct gr_text text = show(show_colored);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\033[31mfailed\033[0m\n"));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

START_TEST(a_run_that_never_began) {
  gr_report_init(&report, &world.memory);
  report.pipeline_file = own("a.yaml");
  report.status = gr_error_set(&report.error, GR_ERR_INVALID, "unknown key \"nodez\"");
  expect_shown(show_plain,
               "a.yaml: the pipeline is invalid\n"
               "  error: unknown key \"nodez\"\n");
  gr_report_release(&report);
  gr_report_release(&report);
}
END_TEST

/* A large graph: the first nodes, those that are at fault, some that were not reached, and how many more there are. */
START_TEST(a_large_graph_is_cut) {
  struct gr_pipeline *pipeline =
      graph_generate(&world.memory, &(struct graph_spec){.pattern = GRAPH_CHAIN, .width = 1, .steps = 1000});
  graph_destroy(world.nodes);
  world.nodes = pipeline;
  world.pipeline = *pipeline;
  world.pipeline.buffers = world.buffers;
  make_report();
  for (uint32_t i = 0; i < 1000; i++) report.states[i] = i < 500 ? GR_NODE_OK : GR_NODE_NOT_RUN;
  report.states[500] = GR_NODE_FAILED;
  report.status = gr_error_set(&report.error, GR_ERR_NODE, "node \"n500\" failed");
  struct gr_text text = show(show_plain);
  uint32_t lines = 0;
  for (const char *at = text.bytes; *at; at++) lines += *at == '\n';
  ck_assert_uint_eq(lines, 3 + 1 + 20 + 1 + 50 + 1 + 3 + 2);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  n500  barrier    500       0  failed\n"));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  n501  barrier    501       0  not_run\n"));
  ck_assert_ptr_null(strstr(text.bytes, "\n  n20 "));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  ... and 929 more nodes\n"));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

START_TEST(names_of_any_length) {
  static const char wide[] = "\xc3\xa9\xc3\xa9\xc3\xa9";
  static const char long_name[] =
      "0123456789012345678901234567\xc3\xa9"
      "9abcdef";
  struct gr_node nodes[2] = {world.nodes->nodes[0], world.nodes->nodes[1]};
  nodes[0].name = wide;
  nodes[1].name = long_name;
  world.pipeline.nodes = nodes;
  make_report();
  struct gr_text text = show(show_plain);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  \xc3\xa9\xc3\xa9\xc3\xa9                               barrier "));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  0123456789012345678901234567\xc3\xa9...  barrier "));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

/* A character may take two columns or none; a failed node far down is as readable as the first ones. */
START_TEST(names_of_any_width) {
  static char names[30][16];
  struct gr_pipeline *pipeline =
      graph_generate(&world.memory, &(struct graph_spec){.pattern = GRAPH_CHAIN, .width = 1, .steps = 30});
  graph_destroy(world.nodes);
  world.nodes = pipeline;
  world.pipeline = *pipeline;
  world.pipeline.buffers = world.buffers;
  struct gr_node nodes[30];
  for (int i = 0; i < 30; i++) {
    snprintf(names[i], sizeof names[i], "n%d", i);
    nodes[i] = pipeline->nodes[i];
    nodes[i].name = names[i];
  }
  nodes[0].name = "\xe5\x9b\xb3\xe5\x9b\xb3";
  nodes[1].name = "e\xcc\x81";
  nodes[2].name =
      "\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3"
      "\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3\xe5\x9b\xb3";
  nodes[25].name = "the_one_that_has_failed";
  world.pipeline.nodes = nodes;
  make_report();
  report.states[world.plan->step_of_node[25]] = GR_NODE_FAILED;
  struct gr_text text = show(show_plain);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  \xe5\x9b\xb3\xe5\x9b\xb3                              barrier "));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  e\xcc\x81                                 barrier "));
  /* Fourteen of two columns, the dots, and one that is left over. */
  ck_assert_ptr_nonnull(strstr(text.bytes, "\xe5\x9b\xb3\xe5\x9b\xb3...   barrier "));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  the_one_that_has_failed           barrier     25       0  failed\n"));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

START_TEST(many_expectations_are_cut) {
  enum { COUNT = 1000 };
  make_report();
  gr_memory_release(&world.memory, report.expects);
  report.expects = gr_memory_allocate_zeroed(&world.memory, COUNT, sizeof *report.expects);
  report.expect_count = COUNT;
  for (uint32_t i = 0; i < COUNT; i++) report.expects[i].is_met = i != 777;
  struct gr_text text = show(show_plain);
  uint32_t lines = 0;
  for (const char *at = text.bytes; (at = strstr(at, "\n  expect x: ")); at++) lines++;
  ck_assert_uint_eq(lines, 20 + 1);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  expect x: not met, "));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\n  ... and 979 more expectations\n"));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

/* ---- JSON ---- */

/* A strict reader: what it accepts, every reader accepts. */
static const char *skip_value(const char *at);

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t\r\n"); }

static const char *skip_string(const char *at) {
  if (*at++ != '"') return NULL;
  while (*at != '"') {
    if ((unsigned char)*at < 0x20) return NULL;
    if (*at++ != '\\') continue;
    if (*at == 'u') {
      for (int i = 1; i <= 4; i++) {
        if (!isxdigit((unsigned char)at[i])) return NULL;
      }
      at += 4;
    } else if (*at == '\0' || !strchr("\"\\/bfnrt", *at)) {
      return NULL;
    }
    at++;
  }
  return at + 1;
}

static const char *skip_number(const char *at) {
  if (*at == '-') at++;
  if (!isdigit((unsigned char)*at)) return NULL;
  if (*at == '0' && isdigit((unsigned char)at[1])) return NULL;
  at += strspn(at, "0123456789");
  if (*at == '.') {
    if (!isdigit((unsigned char)*++at)) return NULL;
    at += strspn(at, "0123456789");
  }
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-') at++;
    if (!isdigit((unsigned char)*at)) return NULL;
    at += strspn(at, "0123456789");
  }
  return at;
}

static const char *skip_members(const char *at, char end, bool has_keys) {
  at = skip_blanks(at + 1);
  if (*at == end) return at + 1;
  for (;;) {
    if (has_keys) {
      at = skip_string(skip_blanks(at));
      if (!at) return NULL;
      at = skip_blanks(at);
      if (*at++ != ':') return NULL;
    }
    at = skip_value(at);
    if (!at) return NULL;
    at = skip_blanks(at);
    if (*at == end) return at + 1;
    if (*at++ != ',') return NULL;
  }
}

static const char *skip_value(const char *at) {
  at = skip_blanks(at);
  if (*at == '{') return skip_members(at, '}', true);
  if (*at == '[') return skip_members(at, ']', false);
  if (*at == '"') return skip_string(at);
  if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0) return at + 4;
  if (strncmp(at, "false", 5) == 0) return at + 5;
  return skip_number(at);
}

static bool is_json(const char *text) {
  const char *end = skip_value(text);
  return end && *skip_blanks(end) == '\0';
}

START_TEST(a_good_run_as_json) {
  make_report();
  expect_shown(
      gr_report_show_json,
      "{\"graphrun_report\": 1, \"name\": \"photo\", \"file\": \"dir/photo.yaml\", \"status\": \"ok\", "
      "\"error\": null, \"backend\": \"fake\", \"backend_reason\": \"no usable GPU: no driver\", \"mode\": \"graph\", "
      "\"device\": {\"name\": \"Model \\\"7\\\"\", \"memory_bytes\": 1048576, \"compute_major\": 0, "
      "\"compute_minor\": 0, \"units\": 2}, "
      "\"replays\": {\"asked\": 4, \"warmup\": 1, \"done\": 4, \"launch_min_ns\": 1, \"launch_max_ns\": 5, "
      "\"launch_total_ns\": 12, \"device_ns\": 8000}, "
      "\"plan\": {\"policy\": \"levels\", \"nodes\": 2, \"levels\": 2, \"streams\": 1, \"width\": 1, "
      "\"declared_edges\": 1, \"redundant_edges\": 0, \"emitted_edges\": 1, \"order_edges\": 0, "
      "\"false_edges_stream\": 0, \"lane_edges\": 1, \"waits\": 0, \"join_steps\": 2, "
      "\"reduction_is_complete\": true, \"sinks\": 1, \"scratch_bytes\": 0}, "
      "\"build\": {\"graph_nodes\": 0, \"graph_edges\": 0, \"streams\": 0, \"corrected_steps\": 0, \"workers\": 2, "
      "\"gemm\": \"built-in\"}, "
      "\"memory\": {\"device_bytes\": 0, \"pinned_bytes\": 0, \"host_bytes\": 32, \"mapped_bytes\": 0, "
      "\"managed_bytes\": 0}, "
      "\"times_ns\": {\"load\": 1, \"check\": 1000, \"plan\": 2000, \"open\": 0, \"build\": 0, \"build_allocate\": 7, "
      "\"build_load_kernels\": 0, \"build_capture\": 0, \"build_instantiate\": 0, \"build_upload\": 0, "
      "\"inputs\": 0, \"warmup\": 0, \"replays\": 40000, \"outputs\": 0, \"total\": 5000000}, "
      "\"expects\": [\n"
      "  {\"buffer\": \"x\", \"met\": true, \"different\": 0, \"largest_difference\": 0.5},\n"
      "  {\"buffer\": \"y\", \"met\": true, \"different\": 0, \"largest_difference\": 0}], \"saved\": 2, "
      "\"nodes\": [\n"
      "  {\"id\": \"first\", \"kind\": \"barrier\", \"state\": \"ok\", \"error\": null, \"level\": 0, \"stream\": 0, "
      "\"line\": 1},\n"
      "  {\"id\": \"second\", \"kind\": \"barrier\", \"state\": \"ok\", \"error\": null, \"level\": 1, \"stream\": 0, "
      "\"line\": 2}]}\n");
  struct gr_text text = show(gr_report_show_json);
  ck_assert(is_json(text.bytes));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

/* The error stands where the run's is, and at its node, and at no other. */
START_TEST(a_failed_run_as_json) {
  static const char error[] =
      "\"error\": {\"code\": \"GR_ERR_NODE\", \"name\": \"cudaErrorIllegalAddress\", \"message\": \"node "
      "\\\"second\\\" failed\", \"file\": \"dir/photo.yaml\", \"line\": 2, \"column\": 5, \"node\": \"second\", "
      "\"buffer\": null}";
  make_report();
  fail_second();
  report.states[world.plan->step_of_node[0]] = GR_NODE_FAILED; /* too, but what is known is of the other */
  struct gr_text text = show(gr_report_show_json);
  ck_assert(is_json(text.bytes));
  const char *first = strstr(text.bytes, error);
  ck_assert_ptr_nonnull(first);
  ck_assert_ptr_nonnull(strstr(text.bytes, "\"status\": \"GR_ERR_NODE\", "));
  ck_assert_ptr_nonnull(
      strstr(text.bytes, "\"id\": \"first\", \"kind\": \"barrier\", \"state\": \"failed\", \"error\": null"));
  const char *second = strstr(text.bytes, "\"id\": \"second\", \"kind\": \"barrier\", \"state\": \"failed\", ");
  ck_assert_ptr_nonnull(second);
  ck_assert_ptr_eq(strstr(first + 1, error), strstr(second, error));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

START_TEST(a_mismatch_as_json) {
  make_report();
  report.status = gr_error_set(&report.error, GR_ERR_EXPECT, "no");
  gr_error_node(&report.error, "y");
  report.expects[1] = (struct gr_report_expect){.buffer_index = 1,
                                                .different_count = 3,
                                                .first_index = 1,
                                                .worst_index = 2,
                                                .first_got = {.is_real = true, .real = 1.5},
                                                .first_want = {.magnitude = UINT64_MAX},
                                                .worst_got = {.is_real = true, .real = (double)NAN},
                                                .worst_want = {.is_real = true, .real = -1e300},
                                                .largest_difference = (double)NAN};
  struct gr_text text = show(gr_report_show_json);
  ck_assert(is_json(text.bytes));
  ck_assert_ptr_nonnull(strstr(text.bytes,
                               "{\"buffer\": \"y\", \"met\": false, \"different\": 3, \"largest_difference\": null, "
                               "\"first\": {\"index\": 1, \"got\": 1.5, \"want\": 18446744073709551615}, "
                               "\"worst\": {\"index\": 2, \"got\": null, \"want\": -1e"));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\"node\": null, \"buffer\": \"y\"}"));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

START_TEST(json_of_nothing) {
  gr_report_init(&report, &world.memory);
  struct gr_text text = show(gr_report_show_json);
  ck_assert(is_json(text.bytes));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\"plan\": null"));
  ck_assert_ptr_nonnull(strstr(text.bytes, "\"nodes\": []"));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

/* Names of every kind stay one string each. */
START_TEST(json_of_odd_names) {
  struct gr_node nodes[2] = {world.nodes->nodes[0], world.nodes->nodes[1]};
  nodes[0].name = "say \"hi\"\\";
  nodes[1].name = "\xf0\x9f\x98\x80, {}";
  world.pipeline.nodes = nodes;
  make_report();
  struct gr_text text = show(gr_report_show_json);
  ck_assert(is_json(text.bytes));
  ck_assert_ptr_nonnull(strstr(text.bytes, "{\"id\": \"say \\\"hi\\\"\\\\\", "));
  ck_assert_ptr_nonnull(strstr(text.bytes, "{\"id\": \"\xf0\x9f\x98\x80, {}\", "));
  gr_text_release(&text);
  gr_report_release(&report);
}
END_TEST

START_TEST(nth_allocation_fails) {
  make_report();
  for (uint64_t n = 1;; n++) {
    struct gr_text text;
    gr_text_init(&text, &world.memory);
    uint64_t live = world.memory.live_count;
    world.memory.fail_at = world.memory.call_count + n;
    gr_report_show(&report, &text, true);
    gr_report_show_json(&report, &text);
    bool has_failed = world.memory.call_count >= world.memory.fail_at;
    world.memory.fail_at = 0;
    ck_assert_int_eq(text.failed, has_failed);
    gr_text_release(&text);
    ck_assert_uint_eq(world.memory.live_count, live);
    if (!has_failed) break;
  }
  gr_report_release(&report);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("report");
  TCase *cases = tcase_create("report");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, a_good_run_for_people);
  tcase_add_test(cases, a_failed_run_for_people);
  tcase_add_test(cases, a_run_that_never_began);
  tcase_add_test(cases, a_large_graph_is_cut);
  tcase_add_test(cases, names_of_any_length);
  tcase_add_test(cases, names_of_any_width);
  tcase_add_test(cases, many_expectations_are_cut);
  tcase_add_test(cases, a_good_run_as_json);
  tcase_add_test(cases, a_failed_run_as_json);
  tcase_add_test(cases, a_mismatch_as_json);
  tcase_add_test(cases, json_of_nothing);
  tcase_add_test(cases, json_of_odd_names);
  tcase_add_test(cases, nth_allocation_fails);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
