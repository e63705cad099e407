/* One step as back ends see it. */
#include "tests/unit/plan/support.h"

START_TEST(what_a_step_is) {
  struct planned planned;
  planned_text(&planned, "f:w:x c:r:x c:w:y k:r:y k:u:x b n!no_op f>c>k>b>n", GR_POLICY_LEVELS, 0);
  static const struct {
    const char *name;
    enum gr_operation operation;
  } rows[] = {{"f", GR_OPERATION_FILL},
              {"c", GR_OPERATION_COPY},
              {"k", GR_OPERATION_KERNEL},
              {"b", GR_OPERATION_EMPTY},
              {"n", GR_OPERATION_EMPTY}};
  struct gr_node *nodes = (struct gr_node *)(uintptr_t)planned.pipeline->nodes;
  nodes[2].timeout_ns = 5;
  for (uint32_t i = 0; i < 5; i++) {
    uint32_t step = step_named(&planned, rows[i].name);
    ck_assert_int_eq(planned.plan->steps[step].operation, rows[i].operation);
    ck_assert_str_eq(gr_plan_node_name(planned.plan, step), rows[i].name);
    ck_assert_uint_eq(gr_plan_node_mark(planned.plan, step).line, i + 1);
    ck_assert_uint_eq(gr_plan_timeout_ns(planned.plan, step), i == 2 ? 5 : 0);
    ck_assert(gr_plan_is_no_op(planned.plan, step) == (i == 4));
    /* builders make a no_op a kernel that is never launched */
    const struct gr_kernel *kernel = gr_plan_kernel(planned.plan, step);
    ck_assert(nodes[i].kind == GR_NODE_KERNEL ? kernel == nodes[i].kernel.kernel : kernel == NULL);
  }
  ck_assert_uint_eq(planned.plan->counts.join_steps, 2);
  planned_release(&planned);
}
END_TEST

static void expect_box(const struct gr_box *box, uint32_t buffer_index, uint64_t offset_bytes) {
  ck_assert_uint_eq(box->buffer_index, buffer_index);
  ck_assert_uint_eq(box->offset_bytes, offset_bytes);
  ck_assert_uint_eq(box->pitch_bytes, 32);
}

START_TEST(boxes) {
  struct planned planned;
  planned_text(&planned, "x=[4,8] y=[4,8] f:w:x[1:3,2:6] c:r:x[1:3,2:6] c:w:y[0:2,0:4] f>c", GR_POLICY_LEVELS, 0);
  uint32_t x = graph_buffer(planned.pipeline, "x"), y = graph_buffer(planned.pipeline, "y");
  struct gr_copy_box copy;
  gr_plan_copy_box(planned.plan, step_named(&planned, "c"), &copy);
  expect_box(&copy.from, x, (8 + 2) * 4);
  expect_box(&copy.to, y, 0);
  ck_assert_uint_eq(copy.width_bytes, 16);
  ck_assert_uint_eq(copy.height, 2);
  ck_assert_uint_eq(copy.depth, 1);
  struct gr_fill_box fill;
  gr_plan_fill_box(planned.plan, step_named(&planned, "f"), &fill);
  expect_box(&fill.to, x, (8 + 2) * 4);
  ck_assert_uint_eq(fill.width_bytes, 16);
  ck_assert_uint_eq(fill.height, 2);
  ck_assert_uint_eq(fill.element_bytes, 4);
  ck_assert_uint_eq(fill.bits, 1); /* node index + 1 */
  planned_release(&planned);
}
END_TEST

START_TEST(frames) {
  struct planned planned;
  planned_text(&planned, "x=[4,8] y=[2,3,5] s=[] k:r:x[1:3,0:8] k:r:s k:u:y m:r:x m:r:y m:u:s k>m", GR_POLICY_LEVELS,
               0);
  struct gr_node *nodes = (struct gr_node *)(uintptr_t)planned.pipeline->nodes;
  uint32_t k = step_named(&planned, "k");
  nodes[planned.plan->steps[k].node_index].kernel.scratch_bytes = 64;
  planned_plan(&planned, GR_POLICY_LEVELS, 0, 0);
  char memory[3][256], region[4096];
  void *addresses[] = {memory[0], memory[1], memory[2]};
  struct gr_kernel_frame frame;
  gr_plan_frame(planned.plan, k, addresses, region, &frame);
  ck_assert_uint_eq(frame.argument_count, 4);
  ck_assert_uint_eq(frame.launch_index, 0);
  ck_assert_int_eq(frame.arguments[0].integer, 0); /* the node's index */
  ck_assert_ptr_eq(frame.arguments[1].data, memory[0] + 32);
  ck_assert_uint_eq(frame.arguments[1].rows, 2);
  ck_assert_uint_eq(frame.arguments[1].columns, 8);
  ck_assert_uint_eq(frame.arguments[1].rank, 2);
  ck_assert_uint_eq(frame.arguments[1].type, GR_TYPE_U32);
  ck_assert_ptr_eq(frame.arguments[2].data, memory[2]);
  ck_assert_uint_eq(frame.arguments[2].rows, 1); /* a scalar is one element */
  ck_assert_uint_eq(frame.arguments[2].columns, 1);
  ck_assert_uint_eq(frame.arguments[2].rank, 0);
  ck_assert_ptr_eq(frame.arguments[3].data, memory[1]);
  ck_assert_uint_eq(frame.arguments[3].rows, 6);
  ck_assert_uint_eq(frame.arguments[3].columns, 5);
  ck_assert_ptr_eq(frame.scratch, region + planned.plan->scratch_of_step[k]);
  gr_plan_frame(planned.plan, k, addresses, NULL, &frame);
  ck_assert_ptr_null(frame.scratch);
  gr_plan_frame(planned.plan, k, NULL, NULL, &frame);
  for (uint32_t i = 1; i < 4; i++) ck_assert_ptr_null(frame.arguments[i].data);
  ck_assert_uint_eq(frame.arguments[3].rows, 6);
  gr_plan_frame(planned.plan, step_named(&planned, "m"), addresses, region, &frame);
  ck_assert_ptr_null(frame.scratch); /* it asks for none */
  ck_assert_int_eq(frame.arguments[0].integer, 1);
  planned_release(&planned);
}
END_TEST

START_TEST(real_scalars) {
  struct planned planned;
  planned_text(&planned, "k:r:x k:u:y", GR_POLICY_LEVELS, 0);
  struct gr_kernel_parameter *parameters =
      (struct gr_kernel_parameter *)(uintptr_t)gr_plan_kernel(planned.plan, 0)->parameters;
  struct gr_argument *arguments = (struct gr_argument *)(uintptr_t)planned.pipeline->arguments;
  parameters[0].kind = GR_PARAMETER_REAL;
  arguments[0].real = -2.5;
  struct gr_kernel_frame frame;
  gr_plan_frame(planned.plan, 0, NULL, NULL, &frame);
  ck_assert_double_eq(frame.arguments[0].real, -2.5);
  planned_release(&planned);
}
END_TEST

START_TEST(errors_name_the_node) {
  struct planned planned;
  planned_text(&planned, "a>b", GR_POLICY_LEVELS, 0);
  struct gr_error error = {0};
  uint32_t b = step_named(&planned, "b");
  ck_assert_int_eq(gr_plan_error(planned.plan, b, &error, GR_ERR_NODE, "it failed %d times", 3), GR_ERR_NODE);
  ck_assert_int_eq(error.status, GR_ERR_NODE);
  ck_assert_str_eq(error.message, "it failed 3 times");
  ck_assert_str_eq(error.node, "b");
  ck_assert_str_eq(error.file, "graph.yaml");
  ck_assert_uint_eq(error.line, 2);
  ck_assert_uint_eq(error.column, 1);
  /* context around what it says already */
  gr_plan_error(planned.plan, b, &error, GR_ERR_BACKEND, "again: %s", error.message);
  ck_assert_str_eq(error.message, "again: it failed 3 times");
  ck_assert_int_eq(gr_plan_error(planned.plan, b, NULL, GR_ERR_NODE, "nobody listens"), GR_ERR_NODE);
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {what_a_step_is, boxes, frames, real_scalars, errors_name_the_node};
  return run_tests("steps", tests, sizeof tests / sizeof *tests);
}
