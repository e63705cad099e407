#include "tests/support/oracle.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The address of an element of a reference, by its multi-dimensional index: slow and plain. */
static unsigned char *element_at(const struct gr_pipeline *pipeline, const struct gr_reference *reference,
                                 unsigned char *const *buffers, uint64_t element) {
  const struct gr_buffer *buffer = &pipeline->buffers[reference->buffer_index];
  uint64_t flat = 0, scale = 1;
  for (uint32_t d = reference->rank; d-- > 0;) {
    uint64_t start = reference->starts ? reference->starts[d] : 0;
    flat += (start + element % reference->extents[d]) * scale;
    element /= reference->extents[d];
    scale *= buffer->shape[d];
  }
  return buffers[reference->buffer_index] + flat * gr_type_size(buffer->type);
}

static void run_node(const struct gr_plan *plan, uint32_t index, unsigned char *const *buffers) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  const struct gr_node *node = &pipeline->nodes[index];
  if (node->is_no_op) return;
  if (node->kind == GR_NODE_KERNEL) {
    struct gr_kernel_frame frame;
    gr_plan_frame(plan, plan->step_of_node[index], (void *const *)buffers, NULL, &frame);
    node->kernel.kernel->host(node->kernel.kernel, &frame);
  }
  if (node->kind != GR_NODE_COPY && node->kind != GR_NODE_FILL) return;
  const struct gr_reference *to = &pipeline->references[node->kind == GR_NODE_COPY ? node->copy.to : node->fill.to];
  size_t size = gr_type_size(pipeline->buffers[to->buffer_index].type);
  for (uint64_t i = 0; i < to->element_count; i++) {
    const void *from = &node->fill.value.bits;
    if (node->kind == GR_NODE_COPY) {
      from = element_at(pipeline, &pipeline->references[node->copy.from], buffers, i);
    }
    memcpy(element_at(pipeline, to, buffers, i), from, size);
  }
}

unsigned char **oracle_run(const struct gr_plan *plan, uint32_t replays) {
  unsigned char **buffers = calloc(plan->pipeline->buffer_count + 1, sizeof *buffers);
  ck_assert_ptr_nonnull(buffers);
  for (uint32_t i = 0; i < plan->pipeline->buffer_count; i++) {
    buffers[i] = calloc(plan->pipeline->buffers[i].size_bytes + 1, 1);
    ck_assert_ptr_nonnull(buffers[i]);
  }
  for (uint32_t replay = 0; replay < replays; replay++) {
    for (uint32_t i = 0; i < plan->dag->node_count; i++) run_node(plan, plan->dag->order[i], buffers);
  }
  return buffers;
}

void oracle_release(const struct gr_plan *plan, unsigned char **buffers) {
  for (uint32_t i = 0; i < plan->pipeline->buffer_count; i++) free(buffers[i]);
  free(buffers);
}
