#include "engine/plan/plan_internal.h"

/* Every buffer has bytes of its own for the whole run: a replay starts from the state that the last one left, and after
 * the last one any buffer may be saved or compared, so no lifetime ever ends. Scratch is not shared either: a kernel
 * may rely on finding what its own last call left. */

/* Largest offset or size: what fits 63 bits, so that sums of two never wrap. */
static const uint64_t bytes_max = INT64_MAX;

static bool add_bytes(uint64_t *end, uint64_t alignment, uint64_t size_bytes, uint64_t *offset) {
  uint64_t start = *end;
  if (size_bytes > 0) {
    if (__builtin_add_overflow(start, alignment - 1, &start)) return false;
    start &= ~(alignment - 1);
  }
  uint64_t behind;
  if (__builtin_add_overflow(start, size_bytes, &behind) || behind > bytes_max) return false;
  *offset = start;
  *end = behind;
  return true;
}

static enum gr_status buffer_error(const struct gr_plan *plan, const struct gr_buffer *buffer, enum gr_status status,
                                   struct gr_error *error) {
  gr_error_node(error, buffer->name);
  gr_error_place(error, plan->pipeline->file, buffer->mark.line, buffer->mark.column);
  return status;
}

static enum gr_status check_device(const struct gr_plan *plan, const struct gr_buffer *buffer,
                                   const struct gr_limits *limits, struct gr_error *error) {
  const struct gr_buffer *first = plan->pipeline->buffers;
  struct gr_quote name = gr_view_quote(gr_view_of(buffer->name));
  if (limits->device_count == 0) {
    gr_error_set(error, GR_ERR_NO_DEVICE, "buffer %s is on device %u, but there is no device", name.text,
                 buffer->device);
    return buffer_error(plan, buffer, GR_ERR_NO_DEVICE, error);
  }
  if (buffer->device >= limits->device_count) {
    gr_error_set(error, GR_ERR_NO_DEVICE, "buffer %s is on device %u, but devices go from 0 to %u", name.text,
                 buffer->device, limits->device_count - 1);
    return buffer_error(plan, buffer, GR_ERR_NO_DEVICE, error);
  }
  if (buffer->device != first->device) {
    gr_error_set(error, GR_ERR_NOT_SUPPORTED,
                 "buffer %s is on device %u and buffer %s on device %u: several devices in one pipeline are not "
                 "supported yet",
                 name.text, buffer->device, gr_view_quote(gr_view_of(first->name)).text, first->device);
    return buffer_error(plan, buffer, GR_ERR_NOT_SUPPORTED, error);
  }
  return GR_OK;
}

static enum gr_status place_buffers(struct gr_plan *plan, const struct gr_limits *limits, uint64_t alignment,
                                    struct gr_error *error) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  struct gr_slot *slots = gr_arena_allocate_zeroed(&plan->arena, pipeline->buffer_count, sizeof *slots);
  if (!slots) return gr_plan_no_memory(error);
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &pipeline->buffers[i];
    GR_RETURN_IF_FAILED(check_device(plan, buffer, limits, error));
    slots[i].size_bytes = buffer->size_bytes;
    if (!add_bytes(&plan->region_bytes[buffer->place], alignment, buffer->size_bytes, &slots[i].offset_bytes)) {
      gr_error_set(error, GR_ERR_INVALID, "up to buffer %s the %s buffers take 2^63 bytes or more together",
                   gr_view_quote(gr_view_of(buffer->name)).text, gr_place_name(buffer->place));
      return buffer_error(plan, buffer, GR_ERR_INVALID, error);
    }
  }
  plan->slots = slots;
  return GR_OK;
}

static enum gr_status place_scratch(struct gr_plan *plan, uint64_t alignment, struct gr_error *error) {
  uint64_t *offsets = gr_arena_allocate_zeroed(&plan->arena, plan->step_count, sizeof *offsets);
  uint64_t end = plan->region_bytes[GR_PLACE_DEVICE];
  if (!offsets) return gr_plan_no_memory(error);
  plan->scratch_offset = end;
  bool is_first = true;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    const struct gr_node *node = &plan->pipeline->nodes[plan->steps[step].node_index];
    offsets[step] = UINT64_MAX;
    if (plan->steps[step].operation != GR_OPERATION_KERNEL || node->kernel.scratch_bytes == 0) continue;
    if (!add_bytes(&end, alignment, node->kernel.scratch_bytes, &offsets[step])) {
      return gr_plan_error(plan, step, error, GR_ERR_INVALID,
                           "up to this node device buffers and scratch take 2^63 bytes or more together");
    }
    if (is_first) plan->scratch_offset = offsets[step];
    is_first = false;
  }
  plan->scratch_of_step = offsets;
  plan->scratch_bytes = end - plan->scratch_offset;
  plan->region_bytes[GR_PLACE_DEVICE] = end;
  return GR_OK;
}

enum gr_status gr_plan_lay_out(struct gr_plan_draft *draft, const struct gr_limits *limits, struct gr_error *error) {
  uint64_t alignment = limits->alignment_bytes;
  if (alignment & (alignment - 1)) {
    return gr_error_set(error, GR_ERR_INVALID, "an alignment of %u bytes is no power of two", limits->alignment_bytes);
  }
  if (alignment < GR_PLAN_ALIGNMENT_BYTES) alignment = GR_PLAN_ALIGNMENT_BYTES;
  GR_RETURN_IF_FAILED(place_buffers(draft->plan, limits, alignment, error));
  return place_scratch(draft->plan, alignment, error);
}
