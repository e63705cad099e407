/* Gives every element of a box one value. A group of threads takes a segment of a row; long rows have several, short
 * rows leave room for other rows in a block. blockDim.x is a group's size, a power of two. */
#include "kernels/device.cuh"
#include "kernels/fill.h"

/* One value repeated over 16 bytes. */
template <typename Type>
__device__ __forceinline__ uint4 repeat(Type value) {
  union {
    Type element[GR_VECTOR_BYTES / sizeof(Type)];
    uint4 vector;
  } all;
#pragma unroll
  for (unsigned int i = 0; i < GR_VECTOR_BYTES / sizeof(Type); i++) all.element[i] = value;
  return all.vector;
}

/* Elements begin to end of a row, by one group. */
template <typename Type>
__device__ __forceinline__ void fill_segment(Type *row, uint64_t begin, uint64_t end, Type value, uint4 vector) {
  constexpr uint64_t width = GR_VECTOR_BYTES / sizeof(Type);
  const uint64_t misaligned = reinterpret_cast<uintptr_t>(row + begin) / sizeof(Type) % width;
  uint64_t head = begin + (width - misaligned) % width;
  if (head > end) head = end;
  const uint64_t vectors = (end - head) / width;
  for (uint64_t i = begin + threadIdx.x; i < head; i += blockDim.x) row[i] = value;
#pragma unroll 4
  for (uint64_t i = threadIdx.x; i < vectors; i += blockDim.x) reinterpret_cast<uint4 *>(row + head)[i] = vector;
  for (uint64_t i = head + vectors * width + threadIdx.x; i < end; i += blockDim.x) row[i] = value;
}

template <typename Type>
__device__ __forceinline__ void fill(const struct gr_kernel_frame &frame) {
  const struct gr_fill_box box = gr_fill_box_of(&frame, sizeof(Type));
  const Type value = static_cast<Type>(frame.arguments[GR_FILL_VALUE_BITS].integer);
  const uint4 vector = repeat(value);
  const uint64_t segment = GR_FILL_SEGMENT_BYTES / sizeof(Type);
  const uint64_t segments = gr_ceil_div(box.width, segment);
  const uint64_t items = segments * box.height * box.depth;
  const uint64_t step = uint64_t(gridDim.x) * blockDim.y;
#pragma unroll 1
  for (uint64_t item = uint64_t(blockIdx.x) * blockDim.y + threadIdx.y; item < items; item += step) {
    const uint64_t line = segments == 1 ? item : item / segments;
    const uint64_t begin = segments == 1 ? 0 : item % segments * segment;
    const uint64_t slice = box.depth == 1 ? 0 : line / box.height;
    const uint64_t row = box.depth == 1 ? line : line % box.height;
    char *start = gr_data<char>(frame, GR_FILL_DATA) + slice * box.slice_pitch_bytes + row * box.row_pitch_bytes;
    const uint64_t end = box.width - begin < segment ? box.width : begin + segment;
    fill_segment(reinterpret_cast<Type *>(start), begin, end, value, vector);
  }
}

GR_ENTRY(gr_fill_8, GR_FILL_THREADS) { fill<uint8_t>(frame); }
GR_ENTRY(gr_fill_16, GR_FILL_THREADS) { fill<uint16_t>(frame); }
GR_ENTRY(gr_fill_32, GR_FILL_THREADS) { fill<uint32_t>(frame); }
GR_ENTRY(gr_fill_64, GR_FILL_THREADS) { fill<uint64_t>(frame); }
