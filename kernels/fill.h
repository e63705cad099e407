/* The box of a fill, for host and device: rows that lie one behind the other become one. */
#ifndef GRAPHRUN_KERNELS_FILL_H
#define GRAPHRUN_KERNELS_FILL_H

#include "engine/kernel.h"

#ifdef __CUDACC__
#define GR_FILL_FUNCTION static __device__ __forceinline__
#else
#define GR_FILL_FUNCTION static inline
#endif

struct gr_fill_box {
  uint64_t width, height, depth; /* elements, rows, slices */
  uint64_t row_pitch_bytes, slice_pitch_bytes;
};

GR_FILL_FUNCTION struct gr_fill_box gr_fill_box_of(const struct gr_kernel_frame *frame, uint64_t element_bytes) {
  struct gr_fill_box box;
  box.width = (uint64_t)frame->arguments[GR_FILL_WIDTH].integer;
  box.height = (uint64_t)frame->arguments[GR_FILL_HEIGHT].integer;
  box.depth = (uint64_t)frame->arguments[GR_FILL_DEPTH].integer;
  box.row_pitch_bytes = (uint64_t)frame->arguments[GR_FILL_ROW_PITCH].integer;
  box.slice_pitch_bytes = (uint64_t)frame->arguments[GR_FILL_SLICE_PITCH].integer;
  /* A box of slices with one row each is one slice of rows. */
  if (box.height == 1) {
    box.height = box.depth;
    box.row_pitch_bytes = box.slice_pitch_bytes;
    box.depth = 1;
  }
  if (box.height == 1 || box.row_pitch_bytes != box.width * element_bytes) return box;
  if (box.depth > 1 && box.slice_pitch_bytes != box.height * box.row_pitch_bytes) {
    /* Slices without gaps, apart from one another: each is a row. */
    box.width *= box.height;
    box.height = box.depth;
    box.row_pitch_bytes = box.slice_pitch_bytes;
    box.depth = 1;
    return box;
  }
  box.width *= box.height * box.depth;
  box.height = box.depth = 1;
  return box;
}

#endif
