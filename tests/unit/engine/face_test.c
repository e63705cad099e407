/* The public face: arguments, states, threads, callbacks, options of other versions. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/engine/support.h"

static const char good[] =
    "graphrun: 1\n"
    "params: {n: 8, v: 3}\n"
    "buffers:\n"
    "  a: {type: f32, shape: [2, n], place: pinned, init: zeros}\n"
    "  b: {type: f32, shape: [2, n]}\n"
    "nodes:\n"
    "  - {id: set, fill: {buffer: b, value: v}}\n"
    "  - {id: down, copy: {from: b, to: a}, after: set}\n";

static struct gr_engine *engine;
static struct gr_graph *graph;
static struct gr_error error;

static void setup(void) {
  memset(&error, 0, sizeof error);
  engine = make_engine(2);
  graph = load(engine, good);
}

static void teardown(void) {
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  ck_assert_int_eq(gr_engine_destroy(engine), GR_OK);
}

START_TEST(test_null_arguments_are_refused) {
  struct gr_graph *other;
  struct gr_backend_info backend;
  struct gr_device_info device;
  struct gr_buffer_info buffer;
  enum gr_node_state state;
  char byte = 0;
  ck_assert_int_eq(gr_engine_create(NULL, NULL, NULL), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_backend_describe(NULL, 0, &backend, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_backend_describe(engine, 0, NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_backend_describe(engine, 99, &backend, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_device_describe(engine, NULL, 0, &device, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_load_file(NULL, "x", &other, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_load_file(engine, NULL, &other, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_load_file(engine, "x", NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_load_memory(engine, NULL, 4, NULL, NULL, &other, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_load_stream(engine, NULL, NULL, NULL, NULL, &other, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_set_integer(NULL, "n", 1, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_set_integer(graph, NULL, 1, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_set_text(graph, "n", NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_check(NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_check_files(NULL, GR_UNREADABLE_ERROR, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_plan(NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_build(NULL, NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_run(NULL, NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_reset(NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_diagnostics(graph, NULL, NULL, false, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_show(graph, GR_SHOW_DAG, NULL, NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_report(graph, GR_REPORT_JSON, NULL, NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_buffer(graph, 0, &buffer, &error), GR_ERR_ARGUMENT); /* not checked yet */
  ck_assert_int_eq(gr_graph_buffer_named(graph, "a", NULL, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_write(graph, NULL, 0, &byte, 1, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_write(graph, "a", 0, NULL, 1, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_read(graph, "a", 0, NULL, 1, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_node_state(graph, NULL, &state, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_destroy(NULL), GR_OK);
  ck_assert_int_eq(gr_engine_destroy(NULL), GR_OK);
  gr_graph_problems(NULL, NULL, NULL);
  ck_assert_uint_eq(gr_graph_buffer_count(NULL), 0);
  /* No error wanted is no crash either. */
  ck_assert_int_eq(gr_graph_load_file(engine, "/no/such/file", &other, NULL), GR_ERR_IO);
}
END_TEST

START_TEST(test_states) {
  float value = 7;
  enum gr_node_state state;
  ck_assert_int_eq(gr_graph_read(graph, "a", 0, &value, sizeof value, &error), GR_ERR_STATE);
  ck_assert_int_eq(gr_graph_node_state(graph, "set", &state, &error), GR_ERR_STATE);
  build_on_host(graph, GR_MODE_GRAPH);
  ck_assert_int_eq(gr_graph_set_integer(graph, "n", 9, &error), GR_ERR_STATE);
  ck_assert_ptr_nonnull(strstr(error.message, "already built"));
  run(graph, 1);
  ck_assert_int_eq(gr_graph_node_state(graph, "set", &state, &error), GR_OK);
  ck_assert_int_eq(state, GR_NODE_OK);
  ck_assert_int_eq(gr_graph_node_state(graph, "sett", &state, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_read(graph, "a", 60, &value, sizeof value, &error), GR_OK);
  ck_assert(value == 3.0f);
  ck_assert_int_eq(gr_graph_read(graph, "a", 61, &value, sizeof value, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_read(graph, "a", UINT64_MAX, &value, sizeof value, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_graph_read(graph, "zz", 0, &value, sizeof value, &error), GR_ERR_ARGUMENT);
  ck_assert_int_eq(gr_engine_destroy(engine), GR_ERR_BUSY);
  ck_assert_int_eq(gr_graph_reset(graph, &error), GR_OK);
  ck_assert_int_eq(gr_graph_set_text(graph, "v", "-4.5", &error), GR_OK);
  run(graph, 1); /* builds by itself, on whatever is here */
  ck_assert_int_eq(gr_graph_read(graph, "a", 0, &value, sizeof value, &error), GR_OK);
  ck_assert(value == -4.5f);
}
END_TEST

START_TEST(test_buffers_are_described_and_written) {
  build_on_host(graph, GR_MODE_STREAM);
  ck_assert_uint_eq(gr_graph_buffer_count(graph), 2);
  struct gr_buffer_info info;
  ck_assert_int_eq(gr_graph_buffer_named(graph, "b", &info, &error), GR_OK);
  ck_assert_str_eq(info.name, "b");
  ck_assert_uint_eq(info.rank, 2);
  ck_assert_uint_eq(info.shape[1], 8);
  ck_assert_uint_eq(info.size_bytes, 64);
  ck_assert_int_eq(info.place, GR_PLACE_DEVICE);
  float ones[16], got[16];
  for (int i = 0; i < 16; i++) ones[i] = (float)i;
  ck_assert_int_eq(gr_graph_write(graph, "a", 0, ones, sizeof ones, &error), GR_OK);
  ck_assert_int_eq(gr_graph_read(graph, "a", 0, got, sizeof got, &error), GR_OK);
  ck_assert_int_eq(memcmp(ones, got, sizeof got), 0);
}
END_TEST

static enum gr_status status_in_callback[6];
static struct gr_graph *graph_of_callback;

static bool use_graph_while_it_runs(void *context) {
  (void)context;
  status_in_callback[0] = gr_graph_destroy(graph_of_callback);
  status_in_callback[1] = gr_graph_run(graph_of_callback, NULL, NULL);
  status_in_callback[2] = gr_graph_check(graph_of_callback, NULL);
  struct gr_buffer_info info;
  enum gr_node_state state;
  status_in_callback[3] = gr_graph_buffer(graph_of_callback, 0, &info, NULL);
  status_in_callback[4] = gr_graph_buffer_named(graph_of_callback, "a", &info, NULL);
  status_in_callback[5] = gr_graph_node_state(graph_of_callback, "a", &state, NULL);
  return false;
}

START_TEST(test_calls_from_a_callback_are_busy) {
  build_on_host(graph, GR_MODE_GRAPH);
  graph_of_callback = graph;
  struct gr_run_options options = {.struct_size = sizeof options, .repeat = 5, .cancelled = use_graph_while_it_runs};
  ck_assert_int_eq(gr_graph_run(graph, &options, &error), GR_OK);
  for (int i = 0; i < 6; i++) ck_assert_int_eq(status_in_callback[i], GR_ERR_BUSY);
}
END_TEST

/* Files come and go: each look at them counts for itself, and what is wrong with them does not stay. */
START_TEST(test_files_are_checked_anew) {
  char path[512], text[1024];
  snprintf(path, sizeof path, "%s/face_test_%d.bin", getenv("TEST_TMPDIR") ? getenv("TEST_TMPDIR") : "/tmp",
           (int)getpid());
  snprintf(text, sizeof text,
           "graphrun: 1\nbuffers: {x: {type: u8, shape: 4, place: host, load: %s}}\n"
           "nodes: [{id: fill, fill: {buffer: x, value: 7}}]\n",
           path);
  struct gr_graph *loading = load(engine, text);
  uint64_t errors = 0, warnings = 0, first_warnings = 0;
  for (int round = 0; round < 3; round++) {
    ck_assert_int_eq(gr_graph_check_files(loading, GR_UNREADABLE_WARNING, &error), GR_OK);
    gr_graph_problems(loading, &errors, &warnings);
    if (round == 0) first_warnings = warnings;
    ck_assert_uint_eq(errors, 0);
    ck_assert_uint_ge(warnings, 1);
    ck_assert_uint_eq(warnings, first_warnings);
    ck_assert_int_eq(gr_graph_check_files(loading, GR_UNREADABLE_ERROR, &error), GR_ERR_IO);
    gr_graph_problems(loading, &errors, NULL);
    ck_assert_uint_eq(errors, 1);
  }
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs("1234", file);
  fclose(file);
  ck_assert_int_eq(gr_graph_check_files(loading, GR_UNREADABLE_ERROR, &error), GR_OK);
  gr_graph_problems(loading, &errors, &warnings);
  ck_assert_uint_eq(errors, 0);
  ck_assert_uint_eq(warnings, first_warnings - 1);
  unlink(path);
  gr_graph_destroy(loading);
}
END_TEST

static bool stop_at_once(void *context) {
  ++*(int *)context;
  return true;
}

START_TEST(test_cancelled_run) {
  build_on_host(graph, GR_MODE_GRAPH);
  int asked = 0;
  struct gr_run_options options = {
      .struct_size = sizeof options, .repeat = 1000000, .cancelled = stop_at_once, .cancelled_context = &asked};
  ck_assert_int_eq(gr_graph_run(graph, &options, &error), GR_ERR_CANCELLED);
  ck_assert_int_ge(asked, 1);
  ck_assert_int_eq(gr_graph_run(graph, NULL, &error), GR_ERR_STATE);
}
END_TEST

START_TEST(test_options_of_other_versions) {
  struct {
    struct gr_run_options options;
    unsigned char tail[16];
  } larger;
  memset(&larger, 0, sizeof larger);
  build_on_host(graph, GR_MODE_GRAPH);
  larger.options.struct_size = sizeof larger;
  ck_assert_int_eq(gr_graph_run(graph, &larger.options, &error), GR_OK);
  larger.tail[5] = 1;
  ck_assert_int_eq(gr_graph_run(graph, &larger.options, &error), GR_ERR_ARGUMENT);
  /* An older program: only the size and `repeat`; what lies behind is not the library's. */
  memset(&larger, 0xFF, sizeof larger);
  larger.options.struct_size = sizeof(size_t) + sizeof(uint64_t);
  larger.options.repeat = 2;
  ck_assert_int_eq(gr_graph_run(graph, &larger.options, &error), GR_OK);
  larger.options.struct_size = 0;
  ck_assert_int_eq(gr_graph_run(graph, &larger.options, &error), GR_ERR_ARGUMENT);
  struct gr_graph_options bad_mode = {.struct_size = sizeof bad_mode, .mode = (enum gr_mode)17};
  ck_assert_int_eq(gr_graph_build(graph, &bad_mode, &error), GR_ERR_ARGUMENT);
}
END_TEST

/* Eight threads with one engine, each with its own bad file: messages never mix. */
struct bad_file {
  int number;
  const char *failure;
};

static void *check_bad_file(void *context) {
  struct bad_file *file = context;
  int number = file->number;
  char text[256], want[64];
  snprintf(want, sizeof want, "\"missing_%d\"", number);
  snprintf(text, sizeof text,
           "graphrun: 1\nbuffers:\n  a: {type: f32, shape: 4}\nnodes:\n  - {id: n, copy: {from: missing_%d, to: a}}\n",
           number);
  for (int i = 0; i < 500; i++) {
    struct gr_graph *own;
    struct gr_error own_error = {0};
    if (gr_graph_load_memory(engine, text, strlen(text), "bad.yaml", "", &own, &own_error) != GR_OK)
      return file->failure = "load", NULL;
    if (gr_graph_check(own, &own_error) != GR_ERR_INVALID) return file->failure = "check", NULL;
    gr_graph_destroy(own);
    if (!strstr(own_error.message, want)) return file->failure = "message", NULL;
  }
  return NULL;
}

START_TEST(test_threads_have_their_own_errors) {
  enum { THREAD_COUNT = 8 };
  pthread_t threads[THREAD_COUNT];
  struct bad_file files[THREAD_COUNT] = {0};
  for (int i = 0; i < THREAD_COUNT; i++) {
    files[i].number = i;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, check_bad_file, &files[i]), 0);
  }
  for (int i = 0; i < THREAD_COUNT; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_msg(!files[i].failure, "%s", files[i].failure);
  }
}
END_TEST

static void collect(void *context, enum gr_log_level level, const char *message) {
  (void)level;
  snprintf(context, 256, "%s", message);
}

START_TEST(test_log_says_which_backend_and_why) {
  char message[256] = "";
  struct gr_engine_options options = {
      .struct_size = sizeof options, .catalogue = gr_builtin_catalogue(), .log = collect, .log_context = message};
  struct gr_engine *talking;
  ck_assert_int_eq(gr_engine_create(&options, &talking, &error), GR_OK);
  struct gr_graph *own = load(talking, good);
  ck_assert_int_eq(gr_graph_build(own, NULL, &error), GR_OK);
  ck_assert_msg(strncmp(message, "running on the ", 15) == 0, "%s", message);
  gr_graph_destroy(own);
  gr_engine_destroy(talking);
}
END_TEST

static void *refuse_memory(void *context, size_t size) {
  (void)context, (void)size;
  return NULL;
}

/* The program's own tables, when they are wrong. */
START_TEST(test_options_that_cannot_be_meant) {
  struct gr_memory_hooks hooks = {.allocate = NULL, .resize = NULL, .release = NULL};
  struct gr_engine_options options = {.struct_size = sizeof options, .memory = &hooks};
  struct gr_engine *other = NULL;
  ck_assert_int_eq(gr_engine_create(&options, &other, &error), GR_OK); /* none of the three: the C library's */
  ck_assert_int_eq(gr_engine_destroy(other), GR_OK);
  hooks.allocate = refuse_memory;
  ck_assert_int_eq(gr_engine_create(&options, &other, &error), GR_ERR_ARGUMENT);
  options = (struct gr_engine_options){.struct_size = sizeof options, .worker_count = 100000};
  ck_assert_int_eq(gr_engine_create(&options, &other, &error), GR_ERR_ARGUMENT);
  struct gr_kernel kernels[] = {{.name = "b"}, {.name = "a"}};
  struct gr_catalogue unsorted = {.kernel_count = 2, .kernels = kernels};
  options = (struct gr_engine_options){.struct_size = sizeof options, .catalogue = &unsorted};
  ck_assert_int_eq(gr_engine_create(&options, &other, &error), GR_ERR_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "\"b\" comes before \"a\""));
}
END_TEST

struct text_source {
  const char *text;
  size_t at;
  bool fails;
};

static size_t read_three_bytes(void *context, char *bytes, size_t capacity) {
  struct text_source *source = context;
  if (source->fails && source->at > 40) return SIZE_MAX;
  size_t left = strlen(source->text) - source->at;
  size_t length = left < 3 ? left : 3;
  if (length > capacity) length = capacity;
  memcpy(bytes, source->text + source->at, length);
  source->at += length;
  return length;
}

START_TEST(test_stream) {
  struct text_source source = {.text = good};
  struct gr_graph *own;
  ck_assert_int_eq(gr_graph_load_stream(engine, read_three_bytes, &source, NULL, NULL, &own, &error), GR_OK);
  ck_assert_int_eq(gr_graph_check(own, &error), GR_OK);
  gr_graph_destroy(own);
  source = (struct text_source){.text = good, .fails = true};
  ck_assert_int_eq(gr_graph_load_stream(engine, read_three_bytes, &source, NULL, NULL, &own, &error), GR_ERR_IO);
}
END_TEST

int main(void) {
  TCase *cases = tcase_create("face");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_add_test(cases, test_null_arguments_are_refused);
  tcase_add_test(cases, test_states);
  tcase_add_test(cases, test_buffers_are_described_and_written);
  tcase_add_test(cases, test_calls_from_a_callback_are_busy);
  tcase_add_test(cases, test_files_are_checked_anew);
  tcase_add_test(cases, test_cancelled_run);
  tcase_add_test(cases, test_options_of_other_versions);
  tcase_add_test(cases, test_threads_have_their_own_errors);
  tcase_add_test(cases, test_log_says_which_backend_and_why);
  tcase_add_test(cases, test_options_that_cannot_be_meant);
  tcase_add_test(cases, test_stream);
  return run_suite(cases, "face");
}
