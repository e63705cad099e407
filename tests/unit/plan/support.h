/* What the tests of this room share: from a text or a pattern to a plan in one call. */
#ifndef GRAPHRUN_TESTS_UNIT_PLAN_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_PLAN_SUPPORT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/diagnostic.h"
#include "engine/plan/plan.h"
#include "tests/support/graph_builder.h"

/* Holds all stages; start it with planned_init, end it with planned_release, which checks that nothing leaks. */
struct planned {
  struct gr_memory memory;
  struct gr_pipeline *pipeline;
  struct gr_dag *dag;
  struct gr_plan *plan;
};

static const struct gr_limits any_limits = {.lane_max = 0, .alignment_bytes = 256, .device_count = 1};

static inline void planned_init(struct planned *planned) {
  memset(planned, 0, sizeof *planned);
  gr_memory_init(&planned->memory, NULL);
}

/* Takes the pipeline over. */
static inline void planned_dag(struct planned *planned, struct gr_pipeline *pipeline) {
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &planned->memory, "graph.yaml"));
  planned->pipeline = pipeline;
  enum gr_status status = gr_dag_build(&planned->memory, pipeline, &diagnostics, &planned->dag);
  ck_assert_msg(status == GR_OK, "the dag: %s", gr_status_name(status));
  gr_diagnostics_release(&diagnostics);
}

static inline enum gr_status planned_try(struct planned *planned, enum gr_policy policy, uint32_t lane_max,
                                         uint64_t budget, struct gr_error *error) {
  struct gr_plan_options options = {.policy = policy, .lane_max = lane_max, .reduction_budget = budget};
  gr_plan_destroy(planned->plan);
  planned->plan = NULL;
  return gr_plan_make(&planned->memory, planned->pipeline, planned->dag, &options, &any_limits, &planned->plan, error);
}

/* Plans anew, and verifies. */
static inline const struct gr_plan *planned_plan(struct planned *planned, enum gr_policy policy, uint32_t lane_max,
                                                 uint64_t budget) {
  struct gr_error error = {0};
  enum gr_status status = planned_try(planned, policy, lane_max, budget, &error);
  ck_assert_msg(status == GR_OK, "plan: %s", error.message);
  status = gr_plan_verify(&planned->memory, planned->plan, &error);
  ck_assert_msg(status == GR_OK, "verify: %s", error.message);
  return planned->plan;
}

static inline const struct gr_plan *planned_text(struct planned *planned, const char *text, enum gr_policy policy,
                                                 uint32_t lane_max) {
  planned_init(planned);
  planned_dag(planned, graph_from_text(&planned->memory, text));
  return planned_plan(planned, policy, lane_max, 0);
}

static inline void planned_spec(struct planned *planned, const struct graph_spec *spec) {
  planned_init(planned);
  planned_dag(planned, graph_generate(&planned->memory, spec));
}

static inline void planned_release(struct planned *planned) {
  gr_plan_destroy(planned->plan);
  gr_dag_destroy(planned->dag);
  graph_destroy(planned->pipeline);
  ck_assert_uint_eq(planned->memory.live_count, 0);
}

static inline uint32_t step_named(const struct planned *planned, const char *name) {
  return planned->plan->step_of_node[graph_node(planned->pipeline, name)];
}

static inline uint32_t lane_named(const struct planned *planned, const char *name) {
  return planned->plan->steps[step_named(planned, name)].lane;
}

/* Runs a suite's tests; the exit status. */
static inline int run_tests(const char *name, const TTest *const *tests, size_t count) {
  Suite *suite = suite_create(name);
  TCase *tcase = tcase_create(name);
  tcase_set_timeout(tcase, 0); /* Bazel keeps the time */
  for (size_t i = 0; i < count; i++) tcase_add_test(tcase, tests[i]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
