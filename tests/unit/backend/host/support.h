/* A pipeline from the graph builder, all the way to an executable on the host back end, and the bytes that it should
 * leave: those of a plain loop over the dag's order. */
#ifndef GRAPHRUN_TESTS_UNIT_BACKEND_HOST_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_BACKEND_HOST_SUPPORT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/host/host.h"
#include "engine/base/clock.h"
#include "tests/support/graph_builder.h"
#include "tests/support/oracle.h"

struct bench {
  struct gr_memory memory;
  struct gr_pipeline *pipeline; /* owned */
  struct gr_dag *dag;
  struct gr_plan *plan;
  struct gr_device *device;
  struct gr_executable *executable;
};

/* Fails the test with what the engine says. */
static inline void must(enum gr_status status, const struct gr_error *error) {
  ck_assert_msg(status == GR_OK, "%s: %s", gr_status_name(status), error->message);
}

/* A bench with memory only. */
static inline void bench_init(struct bench *bench) {
  memset(bench, 0, sizeof *bench);
  gr_memory_init(&bench->memory, NULL);
}

/* The device anew, with that many workers; nothing is built. */
static inline void bench_open(struct bench *bench, uint32_t worker_count) {
  struct gr_error error = {0};
  struct gr_device_options options = {.worker_count = worker_count};
  gr_backend_host.close(bench->device);
  must(gr_backend_host.open(&bench->memory, &options, &bench->device, &error), &error);
}

/* Opens the device and plans; consumes the pipeline. */
static inline void bench_plan(struct bench *bench, struct gr_pipeline *pipeline, enum gr_policy policy,
                              uint32_t worker_count) {
  struct gr_error error = {0};
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &bench->memory, pipeline->file));
  bench->pipeline = pipeline;
  pipeline->races = GR_RACES_ALLOW;
  ck_assert_msg(gr_dag_build(&bench->memory, pipeline, &diagnostics, &bench->dag) == GR_OK, "no dag");
  gr_diagnostics_release(&diagnostics);
  bench_open(bench, worker_count);
  struct gr_limits limits;
  gr_backend_host.limits(bench->device, &limits);
  struct gr_plan_options options = {.policy = policy};
  must(gr_plan_make(&bench->memory, pipeline, bench->dag, &options, &limits, &bench->plan, &error), &error);
}

static inline void bench_build(struct bench *bench, enum gr_mode mode) {
  struct gr_error error = {0};
  struct gr_build_options options = {.mode = mode};
  must(gr_backend_host.build(bench->device, bench->plan, &options, &bench->executable, &error), &error);
}

static inline void bench_unbuild(struct bench *bench) {
  gr_backend_host.destroy(bench->executable);
  bench->executable = NULL;
}

/* From the line of text to something that can be launched. */
static inline void bench_text(struct bench *bench, const char *text, enum gr_mode mode, uint32_t worker_count) {
  bench_init(bench);
  bench_plan(bench, graph_from_text(&bench->memory, text), GR_POLICY_LEVELS, worker_count);
  bench_build(bench, mode);
}

/* Frees all; nothing may be left. */
static inline void bench_release(struct bench *bench) {
  gr_backend_host.destroy(bench->executable);
  gr_backend_host.close(bench->device);
  gr_plan_destroy(bench->plan);
  gr_dag_destroy(bench->dag);
  graph_destroy(bench->pipeline);
  ck_assert_uint_eq(bench->memory.live_count, 0);
}

static inline void bench_run(struct bench *bench, uint32_t replays) {
  struct gr_error error = {0};
  for (uint32_t i = 0; i < replays; i++) must(gr_backend_host.launch(bench->executable, NULL, &error), &error);
  struct gr_wait_options options = {.deadline_ns = gr_clock_now_ns() + UINT64_C(100000000000)}; /* a step was lost */
  must(gr_backend_host.wait(bench->executable, &options, &error), &error);
}

static inline uint32_t bench_step(const struct bench *bench, const char *node) {
  return bench->plan->step_of_node[graph_node(bench->pipeline, node)];
}

static inline enum gr_node_state bench_state(const struct bench *bench, const char *node) {
  enum gr_node_state *states = calloc(bench->plan->step_count, sizeof *states);
  ck_assert_ptr_nonnull(states);
  gr_backend_host.states(bench->executable, states);
  enum gr_node_state state = states[bench_step(bench, node)];
  free(states);
  return state;
}

/* Changes a node of a pipeline that is not planned yet. */
static inline struct gr_node *bench_node(struct gr_pipeline *pipeline, const char *name) {
  struct gr_node *nodes;
  memcpy(&nodes, &pipeline->nodes, sizeof nodes);
  return &nodes[graph_node(pipeline, name)];
}

/* The executable's buffers have the oracle's bytes. */
static inline void oracle_compare(const struct bench *bench, unsigned char *const *buffers, const char *what) {
  for (uint32_t i = 0; i < bench->pipeline->buffer_count; i++) {
    uint64_t size = bench->pipeline->buffers[i].size_bytes;
    const void *got = gr_backend_host.address(bench->executable, i);
    ck_assert_msg(size == 0 || memcmp(got, buffers[i], size) == 0, "%s: buffer %s differs", what,
                  bench->pipeline->buffers[i].name);
  }
}

/* Runs a suite of one file; what main returns. */
static inline int run_suite(const char *name, const TTest *const *tests, size_t count, double timeout_s) {
  Suite *suite = suite_create(name);
  TCase *tcase = tcase_create(name);
  tcase_set_timeout(tcase, timeout_s);
  for (size_t i = 0; i < count; i++) tcase_add_test(tcase, tests[i]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
