/* Kernels whose output element depends on the same element of each input: every thread has several vectors of each
 * input under way before it uses the first. What is not aligned to vectors, and the end of an array, goes element by
 * element.
 *
 * All inputs of a batch are loaded before anything of it is stored, and no other thread loads them: that is why an
 * output may be exactly an input. */
#ifndef GRAPHRUN_KERNELS_DEVICE_MAP_CUH
#define GRAPHRUN_KERNELS_DEVICE_MAP_CUH

#include "kernels/device.cuh"

enum {
  GR_MAP_THREADS_MAX = 256,
  GR_MAP_BATCH = 8, /* elements under way where vectors do not fit */
};

/* The element-wise view of a call: `Inputs` inputs of one type, `Outputs` outputs of one type. */
template <typename In, int Inputs, typename Out, int Outputs>
struct gr_map_view {
  const In *input[Inputs];
  Out *output[Outputs];
  uint64_t count;
};

template <int Width, typename In, int Inputs, typename Out, int Outputs, typename Function>
__device__ __forceinline__ void gr_map_vectors(const gr_map_view<In, Inputs, Out, Outputs> &view, uint64_t first,
                                               Function function) {
  typedef gr_vector<In, Width> in_vector;
  typedef gr_vector<Out, Width> out_vector;
  const uint64_t start = first / Width + threadIdx.x;
  in_vector in[Inputs][GR_MAP_VECTORS];
#pragma unroll
  for (int k = 0; k < GR_MAP_VECTORS; k++)
#pragma unroll
    for (int i = 0; i < Inputs; i++)
      in[i][k] = reinterpret_cast<const in_vector *>(view.input[i])[start + uint64_t(k) * blockDim.x];
#pragma unroll
  for (int k = 0; k < GR_MAP_VECTORS; k++) {
    out_vector out[Outputs];
#pragma unroll
    for (int e = 0; e < Width; e++) {
      In x[Inputs];
      Out y[Outputs];
#pragma unroll
      for (int i = 0; i < Inputs; i++) x[i] = in[i][k].element[e];
      function(x, y);
#pragma unroll
      for (int o = 0; o < Outputs; o++) out[o].element[e] = y[o];
    }
#pragma unroll
    for (int o = 0; o < Outputs; o++)
      reinterpret_cast<out_vector *>(view.output[o])[start + uint64_t(k) * blockDim.x] = out[o];
  }
}

/* Elements first to end, in batches. */
template <typename In, int Inputs, typename Out, int Outputs, typename Function>
__device__ __forceinline__ void gr_map_elements(const gr_map_view<In, Inputs, Out, Outputs> &view, uint64_t first,
                                                uint64_t end, Function function) {
#pragma unroll 1
  for (uint64_t start = first + threadIdx.x; start < end; start += GR_MAP_BATCH * uint64_t(blockDim.x)) {
    In in[GR_MAP_BATCH][Inputs];
#pragma unroll
    for (int k = 0; k < GR_MAP_BATCH; k++) {
      const uint64_t index = start + uint64_t(k) * blockDim.x;
#pragma unroll
      for (int i = 0; i < Inputs; i++) in[k][i] = index < end ? view.input[i][index] : In();
    }
#pragma unroll
    for (int k = 0; k < GR_MAP_BATCH; k++) {
      const uint64_t index = start + uint64_t(k) * blockDim.x;
      Out y[Outputs];
      if (index >= end) break;
      function(in[k], y);
#pragma unroll
      for (int o = 0; o < Outputs; o++) view.output[o][index] = y[o];
    }
  }
}

/* function(const In (&x)[Inputs], Out (&y)[Outputs]) computes one element. Launched by gr_launch_map. */
template <typename In, int Inputs, typename Out, int Outputs, typename Function>
__device__ __forceinline__ void gr_map(const gr_map_view<In, Inputs, Out, Outputs> &view, Function function) {
  constexpr int widest = sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out);
  constexpr int width = GR_VECTOR_BYTES / widest;
  bool is_aligned = true;
#pragma unroll
  for (int i = 0; i < Inputs; i++) is_aligned &= gr_is_aligned(view.input[i], width * sizeof(In));
#pragma unroll
  for (int o = 0; o < Outputs; o++) is_aligned &= gr_is_aligned(view.output[o], width * sizeof(Out));
  const uint64_t tile = uint64_t(GR_MAP_VECTORS * width) * blockDim.x;
#pragma unroll 1
  for (uint64_t first = blockIdx.x * tile; first < view.count; first += gridDim.x * tile) {
    const bool is_whole = view.count - first >= tile;
    if (is_aligned && is_whole) gr_map_vectors<width>(view, first, function);
    else gr_map_elements(view, first, is_whole ? first + tile : view.count, function);
  }
}

#endif
