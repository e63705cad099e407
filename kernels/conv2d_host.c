/* 2-D correlation with weights of odd extents; outside of the picture its edge is repeated. The products of an output
 * are added in the buffers' type, window row by window row. */
#include <string.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

bool gr_conv2d_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                     struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_real_buffers(&call, 0) || !gr_check_two_dimensions(&call, 0) || !gr_check_two_dimensions(&call, 1))
    return false;
  const uint64_t *window = arguments[1].shape;
  if (window[0] % 2 == 0 || window[1] % 2 == 0)
    return gr_refuse(&call, 1, "'weights' has an even extent, and so no middle; conv2d takes odd extents");
  if (!gr_check_extents(&call, 2, arguments[0].shape[0], arguments[0].shape[1], "the shape of 'x'")) return false;
  return gr_accept(&call, facts, arguments[2].element_count);
}

static int64_t within(int64_t index, int64_t extent) { return index < 0 ? 0 : index >= extent ? extent - 1 : index; }

/* Adds weight * line, moved by `shift` columns, to a row of outputs. */
#define CONV2D(TYPE, SUFFIX)                                                                                   \
  static void add_shifted_##SUFFIX(TYPE *out, const TYPE *line, TYPE weight, int64_t shift, int64_t columns) { \
    const int64_t begin = within(-shift, columns + 1), end = within(columns - shift, columns + 1);             \
    for (int64_t c = 0; c < begin; c++) out[c] += weight * line[0];                                            \
    for (int64_t c = begin; c < end; c++) out[c] += weight * line[c + shift];                                  \
    for (int64_t c = end > begin ? end : begin; c < columns; c++) out[c] += weight * line[columns - 1];        \
  }                                                                                                            \
  static void conv2d_##SUFFIX(const struct gr_kernel_frame *frame) {                                           \
    const int64_t rows = (int64_t)frame->arguments[0].rows, columns = (int64_t)frame->arguments[0].columns;    \
    const int64_t height = (int64_t)frame->arguments[1].rows, width = (int64_t)frame->arguments[1].columns;    \
    const TYPE *x = frame->arguments[0].data, *weights = frame->arguments[1].data;                             \
    for (int64_t row = 0; row < rows; row++) {                                                                 \
      TYPE *out = (TYPE *)frame->arguments[2].data + row * columns;                                            \
      memset(out, 0, (size_t)columns * sizeof *out);                                                           \
      for (int64_t i = 0; i < height; i++)                                                                     \
        for (int64_t j = 0; j < width; j++)                                                                    \
          add_shifted_##SUFFIX(out, x + within(row + i - height / 2, rows) * columns, weights[i * width + j],  \
                               j - width / 2, columns);                                                        \
    }                                                                                                          \
  }
CONV2D(float, f32)
CONV2D(double, f64)

void gr_conv2d_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  if (gr_is_f64(frame, 0)) conv2d_f64(frame);
  else conv2d_f32(frame);
}

/* The entry for a square window, or null where there is none for its size. */
static const char *entry_for_window(bool is_f64, uint64_t height, uint64_t width) {
  if (height != width) return NULL;
  switch (height) {
    case 3:
      return is_f64 ? "gr_conv2d_f64_3" : "gr_conv2d_f32_3";
    case 5:
      return is_f64 ? "gr_conv2d_f64_5" : "gr_conv2d_f32_5";
    case 7:
      return is_f64 ? "gr_conv2d_f64_7" : "gr_conv2d_f32_7";
    default:
      return NULL;
  }
}

uint32_t gr_conv2d_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                            struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
  const struct gr_kernel_frame_argument *x = &frame->arguments[0], *weights = &frame->arguments[1];
  const bool is_f64 = gr_is_f64(frame, 0);
  const char *entry = entry_for_window(is_f64, weights->rows, weights->columns);
  const uint64_t width = entry != NULL ? GR_CONV2D_THREADS * GR_CONV2D_COLUMNS : GR_CONV2D_THREADS;
  const uint64_t height = entry != NULL && !is_f64 ? GR_CONV2D_ROWS_F32 : GR_CONV2D_ROWS;
  if (entry == NULL) entry = is_f64 ? "gr_conv2d_f64" : "gr_conv2d_f32";
  const uint64_t across = (x->columns + width - 1) / width, down = (x->rows + height - 1) / height;
  return gr_launch_blocks(launches, entry, across * down, 1, GR_CONV2D_THREADS);
}
