/* Every allocation may fail: the call says so, nothing leaks, and nothing that was there before is harmed. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/engine/support.h"

/* An allocator whose n-th call fails, and all later ones. */
struct failing {
  _Atomic long live;
  _Atomic long calls;
  long fail_at; /* 0: never */
};

static bool must_fail(struct failing *failing) {
  long call = atomic_fetch_add(&failing->calls, 1) + 1;
  return failing->fail_at && call >= failing->fail_at;
}

static void *allocate(void *context, size_t size) {
  struct failing *failing = context;
  if (must_fail(failing)) return NULL;
  void *address = malloc(size);
  if (address) atomic_fetch_add(&failing->live, 1);
  return address;
}

static void *resize(void *context, void *address, size_t size) {
  struct failing *failing = context;
  if (must_fail(failing)) return NULL;
  void *moved = realloc(address, size);
  if (moved && !address) atomic_fetch_add(&failing->live, 1);
  return moved;
}

static void release(void *context, void *address) {
  struct failing *failing = context;
  atomic_fetch_sub(&failing->live, 1);
  free(address);
}

static const char pipeline[] =
    "graphrun: 1\n"
    "params: {n: 8}\n"
    "streams: {policy: chains}\n"
    "buffers:\n"
    "  a: &base {type: f32, shape: n, place: pinned, init: {iota: {start: 1, step: 1}}}\n"
    "  b: {type: f32, shape: n}\n"
    "  c: {type: f32, shape: n}\n"
    "  m: {type: f32, shape: [4, 4], init: {random: {seed: 3, low: 0, high: 1}}}\n"
    "  g: {type: f32, shape: [4, 4]}\n"
    "  s: {type: f32, shape: 1, place: mapped, expect: {sum: 72}}\n"
    "  out: {<<: *base, init: zeros, save: SAVE, expect: {equals: 9, atol: 8}}\n"
    "nodes:\n"
    "  - {id: up, copy: {from: a, to: b}}\n"
    "  - {id: twice, kernel: scale, args: {a: 2, x: b, out: c}, after: up}\n"
    "  - {id: sum, kernel: sum, args: {x: c, out: s}, after: twice}\n"
    "  - {id: product, kernel: gemm, args: {alpha: 1, a: m, b: m, beta: 0, c: g}}\n"
    "  - {id: tile, fill: {buffer: \"g[0:2, 1:3]\", value: 1}, after: product}\n"
    "  - {id: all, barrier: {}, after: [up, sum, tile, twice]}\n"
    "  - {id: down, copy: {from: c, to: out}, after: [all, twice]}\n";

static bool discard(void *context, const char *bytes, size_t length) {
  (void)bytes;
  *(size_t *)context += length;
  return true;
}

/* The whole walk, left at the first failure. */
static enum gr_status walk(struct gr_graph *graph, enum gr_mode mode, struct gr_error *error) {
  size_t written = 0;
  GR_RETURN_IF_FAILED(gr_graph_set_integer(graph, "n", 8, error));
  GR_RETURN_IF_FAILED(gr_graph_check(graph, error));
  GR_RETURN_IF_FAILED(gr_graph_show(graph, GR_SHOW_PIPELINE, discard, &written, error));
  GR_RETURN_IF_FAILED(gr_graph_show(graph, GR_SHOW_DOT, discard, &written, error));
  GR_RETURN_IF_FAILED(gr_graph_plan(graph, error));
  GR_RETURN_IF_FAILED(gr_graph_show(graph, GR_SHOW_PLAN_JSON, discard, &written, error));
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = "host", .mode = mode};
  GR_RETURN_IF_FAILED(gr_graph_build(graph, &options, error));
  struct gr_run_options run_options = {.struct_size = sizeof run_options, .repeat = 2, .warmup = 1};
  GR_RETURN_IF_FAILED(gr_graph_run(graph, &run_options, error));
  float value = 0;
  GR_RETURN_IF_FAILED(gr_graph_read(graph, "c", 4, &value, sizeof value, error));
  return gr_graph_report(graph, GR_REPORT_JSON, discard, &written, error);
}

/* After the failure: what can be asked is answered, and with memory the same graph goes all the way. */
static void go_on(struct gr_graph *graph, struct failing *failing, enum gr_mode mode) {
  struct gr_buffer_info info;
  enum gr_node_state state;
  enum gr_status named = gr_graph_buffer_named(graph, "c", &info, NULL);
  ck_assert_int_eq(named == GR_OK, gr_graph_buffer_count(graph) == 7);
  (void)gr_graph_node_state(graph, "sum", &state, NULL);
  failing->fail_at = 0;
  struct gr_error error = {0};
  ck_assert_int_eq(gr_graph_reset(graph, &error), GR_OK);
  ck_assert_msg(walk(graph, mode, &error) == GR_OK, "with memory again: %s", error.message);
}

static enum gr_status whole_life(struct gr_memory_hooks *hooks, const char *text, enum gr_mode mode,
                                 struct gr_error *error) {
  struct gr_engine_options options = {
      .struct_size = sizeof options, .memory = hooks, .catalogue = gr_builtin_catalogue(), .worker_count = 2};
  struct gr_engine *engine = NULL;
  GR_RETURN_IF_FAILED(gr_engine_create(&options, &engine, error));
  struct gr_graph *graph = NULL;
  enum gr_status status = gr_graph_load_memory(engine, text, strlen(text), "test.yaml", "", &graph, error);
  if (status == GR_OK) status = walk(graph, mode, error);
  /* A report can be had whatever happened, or the lack of memory for it is said. */
  size_t written = 0;
  if (graph) {
    enum gr_status report = gr_graph_report(graph, GR_REPORT_TEXT, discard, &written, NULL);
    ck_assert_msg(report == GR_OK || report == GR_ERR_NO_MEMORY, "%s", gr_status_name(report));
  }
  if (graph && status != GR_OK) go_on(graph, hooks->context, mode);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  ck_assert_int_eq(gr_engine_destroy(engine), GR_OK);
  return status;
}

START_TEST(test_every_allocation_fails_once) {
  char save[512], text[sizeof pipeline + sizeof save];
  snprintf(save, sizeof save, "%s/memory_test_%d_%d.npy", getenv("TEST_TMPDIR") ? getenv("TEST_TMPDIR") : ".",
           (int)getpid(), _i);
  const char *place = strstr(pipeline, "SAVE");
  snprintf(text, sizeof text, "%.*s%s%s", (int)(place - pipeline), pipeline, save, place + strlen("SAVE"));

  long failures = 0;
  for (long n = 1;; n++) {
    ck_assert_msg(n < 100000, "more allocations than can be");
    unlink(save);
    struct failing failing = {.fail_at = n};
    struct gr_memory_hooks hooks = {allocate, resize, release, &failing};
    struct gr_error error = {0};
    enum gr_status status = whole_life(&hooks, text, (enum gr_mode)_i, &error);
    ck_assert_msg(failing.live == 0, "allocation %ld: %ld blocks leaked", n, (long)failing.live);
    if (status == GR_OK) {
      ck_assert_int_eq(access(save, F_OK), 0);
      if (failing.calls < n) break; /* nothing failed any more */
      continue;                     /* something that is not worth a failure, such as a report's text */
    }
    failures++;
    ck_assert_msg(status == GR_ERR_NO_MEMORY || status == GR_ERR_DEVICE_MEMORY, "allocation %ld: %s: %s", n,
                  gr_status_name(status), error.message);
    ck_assert_int_eq(error.status, status);
    ck_assert_int_ne(error.message[0], '\0');
  }
  ck_assert_int_gt(failures, 50);
  unlink(save);
}
END_TEST

int main(void) {
  TCase *cases = tcase_create("memory");
  tcase_add_loop_test(cases, test_every_allocation_fails_once, GR_MODE_GRAPH, GR_MODE_SERIAL + 1);
  return run_suite(cases, "memory");
}
