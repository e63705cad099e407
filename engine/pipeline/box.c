/* Copies and fills as boxes: neighbouring dimensions that lie side by side on both sides become one, and at most three
 * may remain. */
#include "engine/pipeline/pipeline_internal.h"

enum { BOX_DIMENSIONS_MAX = 3 };

/* Of bytes; [0] is the run of bytes that lie side by side. */
struct dimension {
  uint64_t extent;
  uint64_t from_stride;
  uint64_t to_stride;
};

struct fold {
  struct dimension dimensions[GR_RANK_MAX + 1];
  uint32_t count;
};

static void add_dimension(struct fold *fold, uint64_t extent, uint64_t from_stride, uint64_t to_stride) {
  if (extent == 1) return;
  struct dimension *inner = &fold->dimensions[fold->count - 1];
  if (from_stride == inner->extent * inner->from_stride && to_stride == inner->extent * inner->to_stride) {
    inner->extent *= extent;
    return;
  }
  fold->dimensions[fold->count++] = (struct dimension){extent, from_stride, to_stride};
}

/* Both of one shape, with at least one element. Strides and products stay below the buffers' sizes. */
static void fold_shape(struct fold *fold, const struct gr_buffer *from_buffer, const struct gr_buffer *to_buffer,
                       const struct gr_reference *shape) {
  uint64_t size = gr_type_size(from_buffer->type);
  fold->dimensions[0] = (struct dimension){size, 1, 1};
  fold->count = 1;
  uint64_t from_stride = size;
  uint64_t to_stride = size;
  for (uint32_t i = shape->rank; i-- > 0;) {
    add_dimension(fold, shape->extents[i], from_stride, to_stride);
    from_stride *= from_buffer->shape[i];
    to_stride *= to_buffer->shape[i];
  }
}

static struct gr_box box_of(const struct fold *fold, const struct gr_reference *reference, bool is_from) {
  struct gr_box box = {.buffer_index = reference->buffer_index, .offset_bytes = reference->offset_bytes};
  const struct dimension *dimensions = fold->dimensions;
  box.pitch_bytes = dimensions[0].extent;
  if (fold->count > 1) box.pitch_bytes = is_from ? dimensions[1].from_stride : dimensions[1].to_stride;
  box.plane_bytes = box.pitch_bytes * (fold->count > 1 ? dimensions[1].extent : 1);
  if (fold->count > 2) box.plane_bytes = is_from ? dimensions[2].from_stride : dimensions[2].to_stride;
  return box;
}

static uint64_t extent_of(const struct fold *fold, uint32_t dimension) {
  return dimension < fold->count ? fold->dimensions[dimension].extent : 1;
}

bool gr_box_fold_copy(const struct gr_buffer *buffers, const struct gr_reference *from, const struct gr_reference *to,
                      struct gr_copy_box *box) {
  struct fold fold = {.count = 1};
  uint64_t size = gr_type_size(buffers[from->buffer_index].type);
  if (from->is_contiguous && to->is_contiguous) {
    fold.dimensions[0] = (struct dimension){from->element_count * size, 1, 1};
  } else {
    fold_shape(&fold, &buffers[from->buffer_index], &buffers[to->buffer_index], from);
  }
  if (fold.count > BOX_DIMENSIONS_MAX) return false;
  if (box) {
    *box = (struct gr_copy_box){.from = box_of(&fold, from, true),
                                .to = box_of(&fold, to, false),
                                .width_bytes = fold.dimensions[0].extent,
                                .height = extent_of(&fold, 1),
                                .depth = extent_of(&fold, 2)};
  }
  return true;
}

bool gr_box_fold_fill(const struct gr_buffer *buffers, const struct gr_reference *to, struct gr_fill_box *box) {
  struct gr_copy_box copy;
  if (!gr_box_fold_copy(buffers, to, to, &copy)) return false;
  if (box) {
    *box = (struct gr_fill_box){.to = copy.to,
                                .width_bytes = copy.width_bytes,
                                .height = copy.height,
                                .depth = copy.depth,
                                .element_bytes = (uint32_t)gr_type_size(buffers[to->buffer_index].type)};
  }
  return true;
}

void gr_pipeline_copy_box(const struct gr_pipeline *pipeline, uint32_t node_index, struct gr_copy_box *box) {
  const struct gr_node *node = &pipeline->nodes[node_index];
  (void)gr_box_fold_copy(pipeline->buffers, &pipeline->references[node->copy.from],
                         &pipeline->references[node->copy.to], box); /* folded once already, when it was read */
}

void gr_pipeline_fill_box(const struct gr_pipeline *pipeline, uint32_t node_index, struct gr_fill_box *box) {
  const struct gr_node *node = &pipeline->nodes[node_index];
  (void)gr_box_fold_fill(pipeline->buffers, &pipeline->references[node->fill.to], box); /* likewise */
  box->bits = node->fill.value.bits;
}
