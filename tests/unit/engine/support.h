/* What the tests of the public face share. */
#ifndef GRAPHRUN_TESTS_UNIT_ENGINE_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_ENGINE_SUPPORT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graphrun.h"
#include "kernels/catalogue.h"

static inline struct gr_engine *make_engine(uint32_t worker_count) {
  struct gr_engine_options options = {
      .struct_size = sizeof options, .catalogue = gr_builtin_catalogue(), .worker_count = worker_count};
  struct gr_engine *engine = NULL;
  struct gr_error error = {0};
  ck_assert_msg(gr_engine_create(&options, &engine, &error) == GR_OK, "%s", error.message);
  return engine;
}

static inline struct gr_graph *load(struct gr_engine *engine, const char *text) {
  struct gr_graph *graph = NULL;
  struct gr_error error = {0};
  ck_assert_msg(gr_graph_load_memory(engine, text, strlen(text), "test.yaml", "", &graph, &error) == GR_OK, "%s",
                error.message);
  return graph;
}

static inline void build_on_host(struct gr_graph *graph, enum gr_mode mode) {
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = "host", .mode = mode};
  struct gr_error error = {0};
  ck_assert_msg(gr_graph_build(graph, &options, &error) == GR_OK, "%s", error.message);
}

static inline void run(struct gr_graph *graph, uint64_t repeat) {
  struct gr_run_options options = {.struct_size = sizeof options, .repeat = repeat};
  struct gr_error error = {0};
  ck_assert_msg(gr_graph_run(graph, &options, &error) == GR_OK, "%s", error.message);
}

static inline int run_suite(TCase *cases, const char *name) {
  Suite *suite = suite_create(name);
  tcase_set_timeout(cases, 300);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
