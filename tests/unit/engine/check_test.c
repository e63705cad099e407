/* A check finds every error of a file in one pass: in the document, in the pipeline and in the graph; and each of its
 * allocations may fail without a leak, also where what it works on is flawed. */
#include "tests/unit/engine/support.h"

/* Only the n-th call fails, so that what comes after a failure is seen, too. */
struct failing {
  long live;
  long calls;
  long fail_at; /* 0: never */
};

static bool must_fail(struct failing *failing) { return ++failing->calls == failing->fail_at; }

static void *allocate(void *context, size_t size) {
  struct failing *failing = context;
  void *address = must_fail(failing) ? NULL : malloc(size);
  failing->live += address != NULL;
  return address;
}

static void *resize(void *context, void *address, size_t size) {
  struct failing *failing = context;
  void *moved = must_fail(failing) ? NULL : realloc(address, size);
  failing->live += moved && !address;
  return moved;
}

static void release(void *context, void *address) {
  struct failing *failing = context;
  failing->live--;
  free(address);
}

static const struct {
  const char *text;
  uint64_t errors;
  enum gr_status status;
} cases[] = {
    /* a duplicate key, an unknown alias, an unknown type, a cycle by `after` */
    {"graphrun: 1\nname: a\nname: b\nbuffers:\n  x: {type: f31, shape: *n}\nnodes:\n"
     "  - {id: a, fill: {buffer: x, value: 1}, after: b}\n  - {id: b, barrier: {}, after: a}\n",
     4, GR_ERR_INVALID},
    /* an unknown place, a cycle by `after` and data */
    {"graphrun: 1\norder: data\nbuffers:\n  x: {type: f32, shape: 4}\n  y: {type: f32, shape: 4, place: here}\nnodes:\n"
     "  - {id: a, fill: {buffer: x, value: 1}, after: b}\n  - {id: b, kernel: sqrt, args: {x: x, out: x}}\n",
     2, GR_ERR_INVALID},
    /* only what is not supported; then with a cycle */
    {"graphrun: 1\nkernels: {k: {}}\nnodes:\n  - {id: a, kernel: k, launch: {}}\n", 1, GR_ERR_NOT_SUPPORTED},
    {"graphrun: 1\nkernels: {k: {}}\nnodes:\n  - {id: a, kernel: k, launch: {}, after: a}\n", 2, GR_ERR_INVALID},
    /* a document without nodes; one whose tree is not whole */
    {"graphrun: 1\n? [x]\n: y\n", 1, GR_ERR_INVALID},
    {"graphrun: 1\nname: a\nname: b\nnodes: [\n", 1, GR_ERR_INVALID},
};

static enum gr_status check(struct failing *failing, const char *text, uint64_t *errors, struct gr_error *error) {
  struct gr_memory_hooks hooks = {allocate, resize, release, failing};
  struct gr_engine_options options = {
      .struct_size = sizeof options, .memory = &hooks, .catalogue = gr_builtin_catalogue(), .worker_count = 1};
  struct gr_engine *engine = NULL;
  struct gr_graph *graph = NULL;
  enum gr_status status = gr_engine_create(&options, &engine, error);
  if (status == GR_OK) status = gr_graph_load_memory(engine, text, strlen(text), "test.yaml", "", &graph, error);
  if (status == GR_OK) status = gr_graph_check(graph, error);
  gr_graph_problems(graph, errors, NULL);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  ck_assert_int_eq(gr_engine_destroy(engine), GR_OK);
  ck_assert_msg(failing->live == 0, "allocation %ld: %ld blocks leaked", failing->fail_at, failing->live);
  return status;
}

START_TEST(every_error_in_one_pass) {
  struct failing failing = {0};
  uint64_t errors = 0;
  struct gr_error error = {0};
  ck_assert_int_eq(check(&failing, cases[_i].text, &errors, &error), cases[_i].status);
  ck_assert_uint_eq(errors, cases[_i].errors);
}
END_TEST

START_TEST(every_allocation_may_fail) {
  long failures = 0;
  for (long n = 1;; n++) {
    struct failing failing = {.fail_at = n};
    uint64_t errors = 0;
    struct gr_error error = {0};
    enum gr_status status = check(&failing, cases[_i].text, &errors, &error);
    if (failing.calls < n) break; /* nothing failed any more */
    failures += status == GR_ERR_NO_MEMORY;
    /* Some memory is only to make things smaller or quicker. */
    ck_assert_msg(status == GR_ERR_NO_MEMORY || status == cases[_i].status, "allocation %ld: %s: %s", n,
                  gr_status_name(status), error.message);
    ck_assert_int_eq(error.status, status);
    if (status != GR_ERR_NO_MEMORY) ck_assert_uint_eq(errors, cases[_i].errors);
  }
  ck_assert_int_gt(failures, 5);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("check");
  int count = (int)(sizeof cases / sizeof *cases);
  tcase_add_loop_test(tests, every_error_in_one_pass, 0, count);
  tcase_add_loop_test(tests, every_allocation_may_fail, 0, count);
  return run_suite(tests, "check");
}
