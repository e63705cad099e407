#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/plan/plan_internal.h"

/* One step as back ends see it. */

static const struct gr_node *node_of(const struct gr_plan *plan, uint32_t step) {
  return &plan->pipeline->nodes[plan->steps[step].node_index];
}

const char *gr_plan_node_name(const struct gr_plan *plan, uint32_t step) { return node_of(plan, step)->name; }

struct gr_mark gr_plan_node_mark(const struct gr_plan *plan, uint32_t step) {
  return node_of(plan, step)->mark;
}

const struct gr_kernel *gr_plan_kernel(const struct gr_plan *plan, uint32_t step) {
  const struct gr_node *node = node_of(plan, step);
  return node->kind == GR_NODE_KERNEL ? node->kernel.kernel : NULL;
}

bool gr_plan_is_no_op(const struct gr_plan *plan, uint32_t step) { return node_of(plan, step)->is_no_op; }

uint64_t gr_plan_timeout_ns(const struct gr_plan *plan, uint32_t step) { return node_of(plan, step)->timeout_ns; }

void gr_plan_copy_box(const struct gr_plan *plan, uint32_t step, struct gr_copy_box *box) {
  gr_pipeline_copy_box(plan->pipeline, plan->steps[step].node_index, box);
}

void gr_plan_fill_box(const struct gr_plan *plan, uint32_t step, struct gr_fill_box *box) {
  gr_pipeline_fill_box(plan->pipeline, plan->steps[step].node_index, box);
}

/* Two dimensions: the last one, and all others together. */
static void fold_shape(const struct gr_reference *reference, struct gr_kernel_frame_argument *argument) {
  argument->rank = reference->rank;
  argument->rows = 1;
  argument->columns = 1;
  if (reference->rank == 0) return;
  argument->columns = reference->extents[reference->rank - 1];
  for (uint32_t i = 0; i + 1 < reference->rank; i++) argument->rows *= reference->extents[i];
}

static void fill_buffer_argument(const struct gr_plan *plan, const struct gr_argument *from,
                                 void *const *buffer_addresses, struct gr_kernel_frame_argument *argument) {
  const struct gr_reference *reference = &plan->pipeline->references[from->reference_index];
  argument->type = plan->pipeline->buffers[reference->buffer_index].type;
  fold_shape(reference, argument);
  if (!buffer_addresses) return;
  char *base = buffer_addresses[reference->buffer_index];
  argument->data = base ? base + reference->offset_bytes : NULL;
}

void gr_plan_frame(const struct gr_plan *plan, uint32_t step, void *const *buffer_addresses, void *device_region,
                   struct gr_kernel_frame *frame) {
  const struct gr_node *node = node_of(plan, step);
  const struct gr_kernel *kernel = node->kernel.kernel;
  memset(frame, 0, sizeof *frame);
  frame->argument_count = kernel->parameter_count;
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    const struct gr_argument *from = &plan->pipeline->arguments[node->kernel.first_argument + i];
    if (kernel->parameters[i].kind == GR_PARAMETER_BUFFER) {
      fill_buffer_argument(plan, from, buffer_addresses, &frame->arguments[i]);
    } else if (kernel->parameters[i].kind == GR_PARAMETER_REAL) {
      frame->arguments[i].real = from->real;
    } else {
      frame->arguments[i].integer = from->integer;
    }
  }
  if (device_region && plan->scratch_of_step[step] != UINT64_MAX) {
    frame->scratch = (char *)device_region + plan->scratch_of_step[step];
  }
}

const struct gr_declared_kernel *gr_plan_declared(const struct gr_plan *plan, uint32_t step) {
  const struct gr_node *node = node_of(plan, step);
  return node->kind == GR_NODE_LAUNCH ? node->launch.kernel : NULL;
}

const struct gr_launch *gr_plan_launch(const struct gr_plan *plan, uint32_t step) {
  const struct gr_node *node = node_of(plan, step);
  return node->kind == GR_NODE_LAUNCH ? node->launch.launch : NULL;
}

const struct gr_function *gr_plan_function(const struct gr_plan *plan, uint32_t step) {
  const struct gr_node *node = node_of(plan, step);
  return node->kind == GR_NODE_HOST ? node->host.function : NULL;
}

uint32_t gr_plan_argument_count(const struct gr_plan *plan, uint32_t step) {
  const struct gr_node *node = node_of(plan, step);
  if (node->kind == GR_NODE_HOST) return node->host.parameter_count;
  return node->kind == GR_NODE_LAUNCH ? node->launch.kernel->parameter_count : 0;
}

void gr_plan_argument(const struct gr_plan *plan, uint32_t step, uint32_t index, void *const *buffer_addresses,
                      struct gr_call_argument *argument) {
  const struct gr_node *node = node_of(plan, step);
  bool is_host = node->kind == GR_NODE_HOST;
  uint32_t first = is_host ? node->host.first_argument : node->launch.first_argument;
  const struct gr_declared_parameter *parameters = is_host ? node->host.parameters : node->launch.kernel->parameters;
  const struct gr_argument *from = &plan->pipeline->arguments[first + index];
  *argument = (struct gr_call_argument){
      .parameter = &parameters[index], .bits = from->element, .element_count = 1, .buffer_index = UINT32_MAX};
  if (parameters[index].access == GR_ACCESS_NONE) return;
  const struct gr_reference *reference = &plan->pipeline->references[from->reference_index];
  argument->bits = (struct gr_element){0};
  argument->element_count = reference->element_count;
  argument->rank = reference->rank;
  argument->shape = reference->extents;
  argument->buffer_index = reference->buffer_index;
  argument->offset_bytes = reference->offset_bytes;
  char *base = buffer_addresses ? buffer_addresses[reference->buffer_index] : NULL;
  argument->data = base ? base + reference->offset_bytes : NULL;
}

enum gr_status gr_plan_error(const struct gr_plan *plan, uint32_t step, struct gr_error *error, enum gr_status status,
                             const char *format, ...) {
  if (!error) return status;
  char message[GR_ERROR_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  const struct gr_node *node = node_of(plan, step);
  gr_error_set(error, status, "%s", message);
  gr_error_node(error, node->name);
  gr_error_place(error, plan->pipeline->file, node->mark.line, node->mark.column);
  return status;
}
