#include "tests/conformance/direct_target.h"

#include <check.h>
#include <string.h>

#include "kernels/catalogue.h"

void call_describe(const struct call *call, struct gr_kernel_argument arguments[GR_KERNEL_ARGUMENT_MAX]) {
  memset(arguments, 0, GR_KERNEL_ARGUMENT_MAX * sizeof *arguments);
  for (uint32_t i = 0; i < call->argument_count; i++) {
    const struct call_argument *from = &call->arguments[i];
    arguments[i] = (struct gr_kernel_argument){
        .type = from->type, .rank = from->rank, .shape = from->shape, .real = from->real, .integer = from->integer};
    arguments[i].element_count = from->kind == GR_PARAMETER_BUFFER ? 1 : 0;
    for (uint32_t k = 0; k < from->rank; k++) arguments[i].element_count *= from->shape[k];
  }
}

void call_frame(const struct call *call, struct gr_kernel_frame *frame) {
  memset(frame, 0, sizeof *frame);
  frame->argument_count = call->argument_count;
  for (uint32_t i = 0; i < call->argument_count; i++) {
    const struct call_argument *from = &call->arguments[i];
    struct gr_kernel_frame_argument *to = &frame->arguments[i];
    to->type = (uint32_t)from->type;
    to->rank = from->rank;
    to->rows = to->columns = 1;
    for (uint32_t k = 0; k < from->rank; k++) *(k + 1 == from->rank ? &to->columns : &to->rows) *= from->shape[k];
    if (from->kind == GR_PARAMETER_REAL) to->real = from->real;
    else if (from->kind == GR_PARAMETER_INTEGER) to->integer = from->integer;
    else to->data = from->data;
    if (from->shares > 0) frame->arguments[from->shares - 1].data = from->data;
  }
}

static void run_call_directly(const struct call *call) {
  const struct gr_kernel *kernel = gr_catalogue_find(gr_builtin_catalogue(), call->kernel, strlen(call->kernel));
  ck_assert_msg(kernel != NULL, "there is no kernel '%s'", call->kernel);
  ck_assert_uint_eq(kernel->parameter_count, call->argument_count);
  struct gr_kernel_argument arguments[GR_KERNEL_ARGUMENT_MAX];
  struct gr_kernel_facts facts;
  struct gr_kernel_problem problem = {0};
  call_describe(call, arguments);
  ck_assert_msg(kernel->check(kernel, arguments, &facts, &problem), "%s refuses the call: %s", call->kernel,
                problem.text);
  if (facts.output_element_count == 0) return;
  struct gr_kernel_frame frame;
  call_frame(call, &frame);
  for (uint32_t replay = 0; replay < (call->repeat > 0 ? call->repeat : 1); replay++) kernel->host(kernel, &frame);
}

static void run(void *context, const struct call *calls, uint32_t call_count) {
  (void)context;
  for (uint32_t i = 0; i < call_count; i++) run_call_directly(&calls[i]);
}

const struct target direct_target = {.name = "host function", .run = run};
