#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/internal.h"

bool gr_refuse(const struct gr_call *call, int32_t index, const char *format, ...) {
  va_list values;
  va_start(values, format);
  (void)vsnprintf(call->problem->text, sizeof call->problem->text, format, values);
  va_end(values);
  call->problem->argument_index = index;
  return false;
}

static bool is_buffer(const struct gr_call *call, uint32_t index) {
  return call->kernel->parameters[index].kind == GR_PARAMETER_BUFFER;
}

static const char *name_of(const struct gr_call *call, uint32_t index) { return call->kernel->parameters[index].name; }

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

bool gr_check_real_buffers(const struct gr_call *call, uint32_t exempt) {
  const struct gr_kernel *kernel = call->kernel;
  uint32_t first = kernel->parameter_count;
  for (uint32_t index = 0; index < kernel->parameter_count; index++) {
    if (!is_buffer(call, index) || (exempt >> index & 1u) != 0) continue;
    enum gr_type type = call->arguments[index].type;
    if (type != GR_TYPE_F32 && type != GR_TYPE_F64)
      return gr_refuse(call, (int32_t)index, "'%s' is %s, but %s takes f32 or f64 here", name_of(call, index),
                       gr_type_name(type), kernel->name);
    if (first == kernel->parameter_count) first = index;
    enum gr_type expected = call->arguments[first].type;
    if (type != expected)
      return gr_refuse(call, (int32_t)index, "'%s' is %s, but '%s' is %s; they must have the same type",
                       name_of(call, index), gr_type_name(type), name_of(call, first), gr_type_name(expected));
  }
  return true;
}

bool gr_check_type(const struct gr_call *call, uint32_t index, enum gr_type type) {
  if (call->arguments[index].type == type) return true;
  return gr_refuse(call, (int32_t)index, "'%s' is %s, but %s takes %s here", name_of(call, index),
                   gr_type_name(call->arguments[index].type), call->kernel->name, gr_type_name(type));
}

bool gr_check_same_count(const struct gr_call *call, uint32_t index, uint32_t reference) {
  uint64_t count = call->arguments[index].element_count;
  uint64_t expected = call->arguments[reference].element_count;
  if (count == expected) return true;
  return gr_refuse(call, (int32_t)index, "'%s' has %" PRIu64 " element%s, but '%s' has %" PRIu64, name_of(call, index),
                   count, plural(count), name_of(call, reference), expected);
}

bool gr_check_one_element(const struct gr_call *call, uint32_t index) {
  uint64_t count = call->arguments[index].element_count;
  if (count == 1) return true;
  return gr_refuse(call, (int32_t)index, "'%s' has %" PRIu64 " elements, but %s takes exactly 1 here",
                   name_of(call, index), count, call->kernel->name);
}

bool gr_check_two_dimensions(const struct gr_call *call, uint32_t index) {
  uint32_t rank = call->arguments[index].rank;
  if (rank == 2) return true;
  return gr_refuse(call, (int32_t)index, "'%s' has %" PRIu32 " dimension%s, but %s takes 2 here", name_of(call, index),
                   rank, plural(rank), call->kernel->name);
}

bool gr_check_extents(const struct gr_call *call, uint32_t index, uint64_t rows, uint64_t columns, const char *why) {
  if (!gr_check_two_dimensions(call, index)) return false;
  const uint64_t *shape = call->arguments[index].shape;
  if (shape[0] == rows && shape[1] == columns) return true;
  return gr_refuse(call, (int32_t)index,
                   "'%s' is [%" PRIu64 ", %" PRIu64 "], but must be [%" PRIu64 ", %" PRIu64 "]: %s",
                   name_of(call, index), shape[0], shape[1], rows, columns, why);
}

bool gr_check_count(const struct gr_call *call, uint32_t index, uint64_t expected, const char *why) {
  uint64_t count = call->arguments[index].element_count;
  if (count == expected) return true;
  return gr_refuse(call, (int32_t)index, "'%s' has %" PRIu64 " element%s, but must have %" PRIu64 ": %s",
                   name_of(call, index), count, plural(count), expected, why);
}

bool gr_accept(const struct gr_call *call, struct gr_kernel_facts *facts, uint64_t output_element_count) {
  memset(facts, 0, sizeof *facts);
  for (uint32_t index = 0; index < call->kernel->parameter_count; index++)
    if (is_buffer(call, index)) facts->access[index] = call->kernel->parameters[index].access;
  facts->output_element_count = output_element_count;
  return true;
}
