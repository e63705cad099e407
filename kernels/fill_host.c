/* Gives every element of a box one value: what fill nodes are made of. */
#include "kernels/fill.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

/* A box is the engine's work, not a person's: what is wrong here is told by the argument's name alone. */
bool gr_fill_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                   struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  const int64_t element_bytes = (int64_t)gr_type_size(arguments[GR_FILL_DATA].type);
  for (uint32_t index = GR_FILL_WIDTH; index < GR_FILL_ARGUMENT_COUNT; index++)
    if (arguments[index].integer < 0)
      return gr_refuse(&call, (int32_t)index, "'%s' is negative", kernel->parameters[index].name);
  for (uint32_t index = GR_FILL_ROW_PITCH; index <= GR_FILL_SLICE_PITCH; index++)
    if (arguments[index - GR_FILL_ROW_PITCH + GR_FILL_HEIGHT].integer > 1 &&
        arguments[index].integer % element_bytes != 0)
      return gr_refuse(&call, (int32_t)index, "'%s' is no multiple of the element's %" PRId64 " bytes",
                       kernel->parameters[index].name, element_bytes);
  int64_t count = arguments[GR_FILL_WIDTH].integer;
  if (__builtin_mul_overflow(count, arguments[GR_FILL_HEIGHT].integer, &count) ||
      __builtin_mul_overflow(count, arguments[GR_FILL_DEPTH].integer, &count))
    return gr_refuse(&call, -1, "the box has more than 2^63-1 elements");
  return gr_accept(&call, facts, (uint64_t)count);
}

#define FILL_ROW(TYPE, SUFFIX)                                             \
  static void fill_row_##SUFFIX(void *row, uint64_t width, int64_t bits) { \
    TYPE *elements = row;                                                  \
    const TYPE value = (TYPE)bits;                                         \
    for (uint64_t i = 0; i < width; i++) elements[i] = value;              \
  }
FILL_ROW(uint16_t, 16)
FILL_ROW(uint32_t, 32)
FILL_ROW(uint64_t, 64)
static void fill_row_8(void *row, uint64_t width, int64_t bits) { memset(row, (int)(uint8_t)bits, width); }

void gr_fill_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const size_t element_bytes = gr_type_size((enum gr_type)frame->arguments[GR_FILL_DATA].type);
  const struct gr_fill_box box = gr_fill_box_of(frame, element_bytes);
  const int64_t bits = frame->arguments[GR_FILL_VALUE_BITS].integer;
  char *data = frame->arguments[GR_FILL_DATA].data;
  for (uint64_t slice = 0; slice < box.depth; slice++)
    for (uint64_t row = 0; row < box.height; row++) {
      char *start = data + slice * box.slice_pitch_bytes + row * box.row_pitch_bytes;
      switch (element_bytes) {
        case 1:
          fill_row_8(start, box.width, bits);
          break;
        case 2:
          fill_row_16(start, box.width, bits);
          break;
        case 4:
          fill_row_32(start, box.width, bits);
          break;
        default:
          fill_row_64(start, box.width, bits);
          break;
      }
    }
}

uint32_t gr_fill_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                          struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const size_t element_bytes = gr_type_size((enum gr_type)frame->arguments[GR_FILL_DATA].type);
  const struct gr_fill_box box = gr_fill_box_of(frame, element_bytes);
  const uint64_t segment = GR_FILL_SEGMENT_BYTES / element_bytes;
  const uint64_t items = (box.width / segment + (box.width % segment != 0)) * box.height * box.depth;
  uint32_t lanes = 1;
  while (lanes < GR_FILL_THREADS && lanes < box.width) lanes *= 2;
  const char *entry = element_bytes == 1   ? "gr_fill_8"
                      : element_bytes == 2 ? "gr_fill_16"
                      : element_bytes == 4 ? "gr_fill_32"
                                           : "gr_fill_64";
  gr_launch_blocks(launches, entry, items, GR_FILL_THREADS / lanes, lanes);
  launches->block[1] = GR_FILL_THREADS / lanes;
  return 1;
}
