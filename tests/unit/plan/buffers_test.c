/* Where buffers and scratch lie. */
#include "tests/unit/plan/support.h"

static void expect_slot(const struct planned *planned, const char *name, uint64_t offset, uint64_t size) {
  const struct gr_slot *slot = &planned->plan->slots[graph_buffer(planned->pipeline, name)];
  ck_assert_msg(slot->offset_bytes == offset && slot->size_bytes == size, "%s lies at %llu, %llu bytes", name,
                (unsigned long long)slot->offset_bytes, (unsigned long long)slot->size_bytes);
}

START_TEST(every_place_is_a_region) {
  struct planned planned;
  planned_text(&planned,
               "x=[100] h=[3]@host y=[1] z=[0] p=[64]@pinned w=[65] q=[2,3]@pinned m=[]@mapped g=[5]@managed "
               "a:w:x b:w:h c:w:p d:w:q e:w:m f:w:g i:w:y j:w:w",
               GR_POLICY_LEVELS, 0);
  expect_slot(&planned, "x", 0, 400);
  expect_slot(&planned, "y", 512, 4);
  expect_slot(&planned, "z", 516, 0); /* nothing needs no place of its own */
  expect_slot(&planned, "w", 768, 260);
  expect_slot(&planned, "h", 0, 12);
  expect_slot(&planned, "p", 0, 256);
  expect_slot(&planned, "q", 256, 24);
  expect_slot(&planned, "m", 0, 4);
  expect_slot(&planned, "g", 0, 20);
  static const uint64_t sizes[GR_PLACE_COUNT] = {[GR_PLACE_DEVICE] = 1028,
                                                 [GR_PLACE_HOST] = 12,
                                                 [GR_PLACE_PINNED] = 280,
                                                 [GR_PLACE_MAPPED] = 4,
                                                 [GR_PLACE_MANAGED] = 20};
  ck_assert_mem_eq(planned.plan->region_bytes, sizes, sizeof sizes);
  ck_assert_uint_eq(planned.plan->scratch_bytes, 0);
  ck_assert_uint_eq(planned.plan->scratch_offset, 1028);
  planned_release(&planned);
}
END_TEST

START_TEST(scratch_is_each_kernels_own) {
  struct planned planned;
  /* three kernels (each reads one buffer and updates another), a fill and one that does nothing */
  planned_text(&planned, "x=[10] y=[10] a:r:x a:u:y b:r:y b:u:x c:r:x c:u:y f:w:x n!no_op f>a>b>c>n", GR_POLICY_LEVELS,
               0);
  struct gr_node *nodes = (struct gr_node *)(uintptr_t)planned.pipeline->nodes;
  nodes[graph_node(planned.pipeline, "a")].kernel.scratch_bytes = 1;
  nodes[graph_node(planned.pipeline, "c")].kernel.scratch_bytes = 300;
  nodes[graph_node(planned.pipeline, "n")].kernel.scratch_bytes = 1000;
  planned_plan(&planned, GR_POLICY_LEVELS, 0, 0);
  const uint64_t *scratch = planned.plan->scratch_of_step;
  ck_assert_uint_eq(scratch[step_named(&planned, "a")], 512);
  ck_assert_uint_eq(scratch[step_named(&planned, "b")], UINT64_MAX);
  ck_assert_uint_eq(scratch[step_named(&planned, "c")], 768);
  ck_assert_uint_eq(scratch[step_named(&planned, "f")], UINT64_MAX);
  ck_assert_uint_eq(scratch[step_named(&planned, "n")], UINT64_MAX);
  ck_assert_uint_eq(planned.plan->scratch_offset, 512);
  ck_assert_uint_eq(planned.plan->scratch_bytes, 556);
  ck_assert_uint_eq(planned.plan->region_bytes[GR_PLACE_DEVICE], 1068);
  planned_release(&planned);
}
END_TEST

START_TEST(alignment) {
  static const struct {
    uint32_t asked;
    uint64_t got;
  } rows[] = {{0, 256}, {1, 256}, {64, 256}, {256, 256}, {512, 512}, {4096, 4096}, {1u << 31, UINT64_C(1) << 31}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct planned planned;
    planned_text(&planned, "a:w:x b:w:y", GR_POLICY_LEVELS, 0);
    struct gr_limits limits = {.alignment_bytes = rows[i].asked, .device_count = 1};
    struct gr_plan_options options = {.policy = GR_POLICY_LEVELS};
    struct gr_plan *plan = NULL;
    struct gr_error error = {0};
    ck_assert_int_eq(gr_plan_make(&planned.memory, planned.pipeline, planned.dag, &options, &limits, &plan, &error),
                     GR_OK);
    ck_assert_uint_eq(plan->slots[1].offset_bytes, rows[i].got);
    gr_plan_destroy(plan);
    planned_release(&planned);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_place_is_a_region, scratch_is_each_kernels_own, alignment};
  return run_tests("memory", tests, sizeof tests / sizeof *tests);
}
