/* gr_plan_make as a whole: options, limits, errors, memory that runs out. */
#include "tests/unit/plan/support.h"

static enum gr_status make_with(struct planned *planned, const struct gr_plan_options *options,
                                const struct gr_limits *limits, struct gr_error *error) {
  gr_plan_destroy(planned->plan);
  planned->plan = NULL;
  memset(error, 0, sizeof *error);
  return gr_plan_make(&planned->memory, planned->pipeline, planned->dag, options, limits, &planned->plan, error);
}

START_TEST(the_lower_cap_counts) {
  static const struct {
    uint32_t own, theirs, lanes;
  } rows[] = {{0, 0, 6}, {4, 0, 4}, {0, 3, 3}, {4, 3, 3}, {2, 3, 2}, {100, 0, 6}, {0, 100, 6}, {1, 0, 1}};
  for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_TUNED; policy++) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      struct planned planned;
      planned_text(&planned, "a b c d e f", GR_POLICY_LEVELS, 0);
      struct gr_plan_options options = {.policy = (enum gr_policy)policy, .lane_max = rows[i].own};
      struct gr_limits limits = any_limits;
      struct gr_error error;
      limits.lane_max = rows[i].theirs;
      ck_assert_int_eq(make_with(&planned, &options, &limits, &error), GR_OK);
      ck_assert_uint_eq(planned.plan->lane_count, rows[i].lanes);
      ck_assert_int_eq(gr_plan_verify(&planned.memory, planned.plan, &error), GR_OK);
      planned_release(&planned);
    }
  }
}
END_TEST

START_TEST(tuned_falls_back) {
  struct planned planned;
  planned_text(&planned, "a>b,c>d", GR_POLICY_TUNED, 0);
  ck_assert_int_eq(planned.plan->policy, GR_POLICY_LEVELS);
  ck_assert_int_eq(planned.plan->options.policy, GR_POLICY_TUNED);
  planned_release(&planned);
}
END_TEST

/* No file gives such a pipeline, but generators may. */
START_TEST(nothing_at_all) {
  for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
    struct planned planned;
    struct gr_text text;
    planned_text(&planned, "", (enum gr_policy)policy, 0);
    ck_assert_uint_eq(planned.plan->lane_count, 1);
    ck_assert_uint_eq(planned.plan->sink_count, 0);
    gr_text_init(&text, &planned.memory);
    gr_plan_show(planned.plan, &text);
    gr_plan_show_json(planned.plan, &text);
    ck_assert(!text.failed);
    gr_text_release(&text);
    planned_release(&planned);
  }
}
END_TEST

static void expect_error(struct planned *planned, const struct gr_limits *limits, enum gr_status want,
                         const char *message, const char *node, uint32_t line) {
  struct gr_plan_options options = {.policy = GR_POLICY_LEVELS};
  struct gr_error error;
  enum gr_status status = make_with(planned, &options, limits, &error);
  ck_assert_int_eq(status, want);
  ck_assert_int_eq(error.status, want);
  ck_assert_str_eq(error.message, message);
  ck_assert_str_eq(error.node, node);
  ck_assert_str_eq(error.file, node[0] ? "graph.yaml" : "");
  ck_assert_uint_eq(error.line, line);
  ck_assert_ptr_null(planned->plan);
}

START_TEST(devices) {
  struct planned planned;
  planned_text(&planned, "a:w:x b:w:y c:w:z", GR_POLICY_LEVELS, 0);
  struct gr_buffer *buffers = (struct gr_buffer *)(uintptr_t)planned.pipeline->buffers;
  struct gr_limits limits = any_limits;
  for (uint32_t i = 0; i < 3; i++) buffers[i].device = 3;
  expect_error(&planned, &limits, GR_ERR_NO_DEVICE, "buffer \"x\" is on device 3, but devices go from 0 to 0", "x",
               100);
  limits.device_count = 4;
  struct gr_plan_options options = {.policy = GR_POLICY_LEVELS};
  struct gr_error error;
  ck_assert_int_eq(make_with(&planned, &options, &limits, &error), GR_OK);
  buffers[2].device = 1;
  expect_error(&planned, &limits, GR_ERR_NOT_SUPPORTED,
               "buffer \"z\" is on device 1 and buffer \"x\" on device 3: several devices in one pipeline are not "
               "supported yet",
               "z", 102);
  limits.device_count = 0;
  expect_error(&planned, &limits, GR_ERR_NO_DEVICE, "buffer \"x\" is on device 3, but there is no device", "x", 100);
  planned_release(&planned);
}
END_TEST

START_TEST(sizes_that_overflow) {
  struct planned planned;
  planned_text(&planned, "a:w:x b:w:y c:r:x c:u:y a>c b>c", GR_POLICY_LEVELS, 0);
  struct gr_buffer *buffers = (struct gr_buffer *)(uintptr_t)planned.pipeline->buffers;
  struct gr_node *nodes = (struct gr_node *)(uintptr_t)planned.pipeline->nodes;
  struct gr_limits limits = any_limits;
  struct gr_plan_options options = {.policy = GR_POLICY_LEVELS};
  struct gr_error error;
  buffers[0].size_bytes = buffers[1].size_bytes = UINT64_C(1) << 62;
  expect_error(&planned, &limits, GR_ERR_INVALID,
               "up to buffer \"y\" the device buffers take 2^63 bytes or more together", "y", 101);
  buffers[1].place = GR_PLACE_PINNED; /* another region */
  ck_assert_int_eq(make_with(&planned, &options, &limits, &error), GR_OK);
  nodes[2].kernel.scratch_bytes = UINT64_C(1) << 62;
  expect_error(&planned, &limits, GR_ERR_INVALID,
               "up to this node device buffers and scratch take 2^63 bytes or more together", "c", 3);
  nodes[2].kernel.scratch_bytes = (UINT64_C(1) << 62) - 1; /* one byte less fits */
  ck_assert_int_eq(make_with(&planned, &options, &limits, &error), GR_OK);
  ck_assert_uint_eq(planned.plan->region_bytes[GR_PLACE_DEVICE], INT64_MAX);
  ck_assert_int_eq(gr_plan_verify(&planned.memory, planned.plan, &error), GR_OK);
  limits.alignment_bytes = 384;
  expect_error(&planned, &limits, GR_ERR_INVALID, "an alignment of 384 bytes is no power of two", "", 0);
  planned_release(&planned);
}
END_TEST

START_TEST(errors_may_go_nowhere) {
  struct planned planned;
  planned_text(&planned, "a:w:x", GR_POLICY_LEVELS, 0);
  struct gr_plan_options options = {.policy = GR_POLICY_LEVELS};
  struct gr_limits limits = {.device_count = 0};
  struct gr_plan *untouched = planned.plan;
  enum gr_status status =
      gr_plan_make(&planned.memory, planned.pipeline, planned.dag, &options, &limits, &untouched, NULL);
  ck_assert_int_eq(status, GR_ERR_NO_DEVICE);
  ck_assert_ptr_eq(untouched, planned.plan);
  planned.memory.fail_at = planned.memory.call_count + 1;
  status = gr_plan_make(&planned.memory, planned.pipeline, planned.dag, &options, &any_limits, &untouched, NULL);
  ck_assert_int_eq(status, GR_ERR_NO_MEMORY);
  ck_assert_ptr_eq(untouched, planned.plan);
  planned.memory.fail_at = 0;
  planned_release(&planned);
}
END_TEST

/* Redundant edges, false ones and buffers, so that every pass allocates. */
static void fail_allocations(const struct graph_spec *spec, enum gr_policy policy, uint32_t lane_max, uint64_t budget) {
  struct planned planned;
  planned_spec(&planned, spec);
  uint64_t before = planned.memory.live_count, n = 0;
  enum gr_status status = GR_ERR_NO_MEMORY;
  while (status != GR_OK) {
    struct gr_error error = {0};
    planned.memory.fail_at = planned.memory.call_count + ++n;
    status = planned_try(&planned, policy, lane_max, budget, &error);
    planned.memory.fail_at = 0;
    if (status == GR_OK) break;
    ck_assert_int_eq(status, GR_ERR_NO_MEMORY);
    ck_assert_str_eq(error.message, "out of host memory while planning");
    ck_assert_ptr_null(planned.plan);
    ck_assert_uint_eq(planned.memory.live_count, before);
  }
  ck_assert_uint_gt(n, 6);
  planned_release(&planned);
}

START_TEST(nth_allocation) {
  struct graph_spec spec = {.pattern = GRAPH_RANDOM, .width = 8, .steps = 5, .radix = 5, .seed = 5, .cell_elements = 4};
  for (uint32_t policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
    fail_allocations(&spec, (enum gr_policy)policy, 0, 0);
    fail_allocations(&spec, (enum gr_policy)policy, 3, 0);
    fail_allocations(&spec, (enum gr_policy)policy, 3, 40); /* too little for bit sets: the search allocates, too */
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {the_lower_cap_counts, tuned_falls_back,      nothing_at_all, devices,
                                sizes_that_overflow,  errors_may_go_nowhere, nth_allocation};
  return run_tests("plan", tests, sizeof tests / sizeof *tests);
}
