/* A pipeline from the graph builder, all the way to an executable of the CUDA back end on the double of the runtime,
 * and the bytes that it should leave: those of a plain loop over the dag's order. */
#ifndef GRAPHRUN_TESTS_UNIT_BACKEND_CUDA_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_BACKEND_CUDA_SUPPORT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/cuda/cuda_backend.h"
#include "kernels/catalogue.h"
#include "tests/support/fake_cuda/fake_cuda_control.h"
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

static const struct gr_backend *const cuda = &gr_backend_cuda;

/* ---- the double's kernels ---- */

/* Whose nodes the kernel `mix` belongs to: its first argument is the node's index. */
static struct gr_pipeline *mix_pipeline;

static inline void run_mix(void *const *arguments, const struct fake_cuda_geometry *geometry, void *context) {
  (void)geometry, (void)context;
  struct gr_kernel_frame frame;
  memcpy(&frame, arguments[0], sizeof frame);
  for (uint32_t i = 1; i < frame.argument_count; i++) {
    struct gr_kernel_frame_argument *argument = &frame.arguments[i];
    argument->data = fake_cuda_at(argument->data, argument->rows * argument->columns * sizeof(uint32_t));
    if (!argument->data) return;
  }
  const struct gr_kernel *kernel = mix_pipeline->nodes[frame.arguments[0].integer].kernel.kernel;
  graph_mix_host(kernel, &frame);
}

static const char image_bytes[] = FAKE_CUDA_IMAGE("mix\ngr_fill_8\ngr_fill_16\ngr_fill_32\ngr_fill_64\n");
static const char other_image_bytes[] = FAKE_CUDA_IMAGE("gr_other_f32\n");

/* The built-in fill, and `mix`, in the second of two images. */
static inline const struct gr_catalogue *mix_catalogue(void) {
  static struct gr_kernel_image images[2];
  static struct gr_catalogue catalogue;
  images[0] = (struct gr_kernel_image){.name = "other.cu",
                                       .begin = (const unsigned char *)other_image_bytes,
                                       .end = (const unsigned char *)other_image_bytes + sizeof other_image_bytes};
  images[1] = (struct gr_kernel_image){.name = "mix.cu",
                                       .begin = (const unsigned char *)image_bytes,
                                       .end = (const unsigned char *)image_bytes + sizeof image_bytes};
  catalogue = *gr_builtin_catalogue();
  catalogue.image_count = 2;
  catalogue.images = images;
  return &catalogue;
}

/* A fresh runtime with those kernels. */
static inline void double_start(uint64_t seed) {
  static const size_t frame_bytes = sizeof(struct gr_kernel_frame);
  fake_cuda_reset();
  fake_cuda_set_seed(seed);
  fake_cuda_set_catalogue(gr_builtin_catalogue());
  struct fake_cuda_kernel mix = {.name = "mix", .parameter_count = 1, .parameter_bytes = &frame_bytes, .run = run_mix};
  fake_cuda_add_kernel(&mix);
}

/* Nothing was used in a way that the double saw to be wrong, and nothing is left. */
static inline void double_end(void) {
  ck_assert_msg(fake_cuda_complaint_count() == 0, "complaint: %s", fake_cuda_complaint(0));
  struct fake_cuda_live live;
  fake_cuda_get_live(&live);
  ck_assert_msg(
      fake_cuda_live_count() == 0,
      "left: %lu streams, %lu events, %lu graphs, %lu execs, %lu libraries, %lu captures, %lu device, %lu pinned, "
      "%lu managed allocations",
      (unsigned long)live.streams, (unsigned long)live.events, (unsigned long)live.graphs, (unsigned long)live.execs,
      (unsigned long)live.libraries, (unsigned long)live.captures, (unsigned long)live.device_allocations,
      (unsigned long)live.pinned_allocations, (unsigned long)live.managed_allocations);
}

/* ---- from text to an executable ---- */

static inline void must(enum gr_status status, const struct gr_error *error) {
  ck_assert_msg(status == GR_OK, "%s: %s", gr_status_name(status), error->message);
}

/* Plans for a device of the CUDA back end's usual limits; consumes the pipeline. */
static inline void bench_plan(struct bench *bench, struct gr_pipeline *pipeline, enum gr_policy policy,
                              uint32_t lane_max) {
  struct gr_error error = {0};
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &bench->memory, pipeline->file));
  bench->pipeline = pipeline;
  mix_pipeline = pipeline;
  pipeline->races = GR_RACES_ALLOW;
  ck_assert_msg(gr_dag_build(&bench->memory, pipeline, &diagnostics, &bench->dag) == GR_OK, "no dag");
  gr_diagnostics_release(&diagnostics);
  struct gr_limits limits = {.lane_max = 128, .alignment_bytes = 256, .device_count = 1};
  struct gr_plan_options options = {.policy = policy, .lane_max = lane_max};
  must(gr_plan_make(&bench->memory, pipeline, bench->dag, &options, &limits, &bench->plan, &error), &error);
}

static inline enum gr_status bench_try_open(struct bench *bench, struct gr_error *error) {
  struct gr_device_options options = {.catalogue = mix_catalogue()};
  return cuda->open(&bench->memory, &options, &bench->device, error);
}

static inline enum gr_status bench_try_build(struct bench *bench, enum gr_mode mode, struct gr_error *error) {
  struct gr_build_options options = {.mode = mode};
  return cuda->build(bench->device, bench->plan, &options, &bench->executable, error);
}

static inline void bench_open(struct bench *bench) {
  struct gr_error error = {0};
  must(bench_try_open(bench, &error), &error);
}

static inline void bench_build(struct bench *bench, enum gr_mode mode) {
  struct gr_error error = {0};
  must(bench_try_build(bench, mode, &error), &error);
}

static inline void bench_unbuild(struct bench *bench) {
  cuda->destroy(bench->executable);
  bench->executable = NULL;
}

static inline void bench_init(struct bench *bench) {
  memset(bench, 0, sizeof *bench);
  gr_memory_init(&bench->memory, NULL);
}

/* A fresh double, and everything up to something that can be launched. */
static inline void bench_text(struct bench *bench, const char *text, enum gr_mode mode, uint64_t seed) {
  double_start(seed);
  bench_init(bench);
  bench_plan(bench, graph_from_text(&bench->memory, text), GR_POLICY_LEVELS, 0);
  bench_open(bench);
  bench_build(bench, mode);
}

/* Frees what is the device's; nothing may be left there. */
static inline void bench_close(struct bench *bench) {
  bench_unbuild(bench);
  cuda->close(bench->device);
  bench->device = NULL;
  double_end();
}

static inline void bench_release(struct bench *bench) {
  if (bench->device) bench_close(bench);
  gr_plan_destroy(bench->plan);
  gr_dag_destroy(bench->dag);
  graph_destroy(bench->pipeline);
  ck_assert_uint_eq(bench->memory.live_count, 0);
}

static inline void bench_run(struct bench *bench, uint32_t replays) {
  struct gr_error error = {0};
  for (uint32_t i = 0; i < replays; i++) must(cuda->launch(bench->executable, NULL, &error), &error);
  must(cuda->wait(bench->executable, NULL, &error), &error);
}

static inline enum gr_node_state bench_state(const struct bench *bench, const char *node) {
  enum gr_node_state *states = calloc(bench->plan->step_count, sizeof *states);
  ck_assert_ptr_nonnull(states);
  cuda->states(bench->executable, states);
  enum gr_node_state state = states[bench->plan->step_of_node[graph_node(bench->pipeline, node)]];
  free(states);
  return state;
}

/* Changes a node of a pipeline that is not planned yet. */
static inline struct gr_node *bench_node(struct gr_pipeline *pipeline, const char *name) {
  struct gr_node *nodes;
  memcpy(&nodes, &pipeline->nodes, sizeof nodes);
  return &nodes[graph_node(pipeline, name)];
}

/* ---- the oracle ---- */

/* The executable's buffers have the bytes of so many replays. */
static inline void oracle_compare(const struct bench *bench, uint32_t replays, const char *what) {
  unsigned char **buffers = oracle_run(bench->plan, replays);
  struct gr_error error = {0};
  for (uint32_t i = 0; i < bench->pipeline->buffer_count; i++) {
    uint64_t size = bench->pipeline->buffers[i].size_bytes;
    unsigned char *got = malloc(size + 1);
    ck_assert_ptr_nonnull(got);
    must(cuda->read(bench->executable, i, 0, got, size, &error), &error);
    ck_assert_msg(memcmp(got, buffers[i], size) == 0, "%s: buffer %s differs", what, bench->pipeline->buffers[i].name);
    free(got);
  }
  oracle_release(bench->plan, buffers);
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
