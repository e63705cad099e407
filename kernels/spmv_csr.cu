/* y = A@x with A in CSR. A part of a warp works on a row, the larger the more elements rows have on average; blockDim.x
 * is the number of its threads, a power of two. Sums are taken in f64. What spmv_csr_host.c says about broken matrices
 * holds here, too. */
#include "kernels/device.cuh"

template <typename Type>
struct csr {
  const int32_t *indptr;
  const int32_t *indices;
  const Type *values;
  const Type *x;
  int64_t count;
  uint64_t columns;
};

template <typename Type>
__device__ __forceinline__ double row_sum(const csr<Type> &a, uint64_t row) {
  const int64_t begin = a.indptr[row], end = a.indptr[row + 1];
  if (begin < 0 || end > a.count || begin > end) return static_cast<double>(NAN);
  constexpr int batch = 8;
  double sum = 0;
#pragma unroll 1
  for (int64_t start = begin + threadIdx.x; start < end; start += batch * blockDim.x) {
    int32_t column[batch];
    Type value[batch], x[batch];
#pragma unroll
    for (int k = 0; k < batch; k++) {
      const int64_t i = start + k * blockDim.x;
      column[k] = i < end ? a.indices[i] : 0;
      value[k] = i < end ? a.values[i] : static_cast<Type>(0);
    }
#pragma unroll
    for (int k = 0; k < batch; k++) {
      const bool is_inside = column[k] >= 0 && uint64_t(column[k]) < a.columns;
      x[k] = start + k * blockDim.x >= end ? static_cast<Type>(0) : is_inside ? a.x[column[k]] : static_cast<Type>(NAN);
    }
#pragma unroll
    for (int k = 0; k < batch; k++) sum += static_cast<double>(value[k]) * static_cast<double>(x[k]);
  }
  return sum;
}

template <typename Type>
__device__ __forceinline__ void spmv(const struct gr_kernel_frame &frame) {
  const csr<Type> a = {gr_data<const int32_t>(frame, 0), gr_data<const int32_t>(frame, 1),
                       gr_data<const Type>(frame, 2),    gr_data<const Type>(frame, 3),
                       int64_t(gr_count(frame, 2)),      gr_count(frame, 3)};
  const uint64_t rows = gr_count(frame, 4);
  /* All lanes of a warp stay, since they exchange values. */
  const uint64_t rows_of_warp = 32 / blockDim.x;
  for (uint64_t row = uint64_t(blockIdx.x) * blockDim.y + threadIdx.y; (row & ~(rows_of_warp - 1)) < rows;
       row += uint64_t(gridDim.x) * blockDim.y) {
    double sum = row < rows ? row_sum(a, row) : 0.0;
    for (unsigned int offset = blockDim.x / 2; offset > 0; offset /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0 && row < rows) gr_data<Type>(frame, 4)[row] = static_cast<Type>(sum);
  }
}

GR_ENTRY(gr_spmv_csr_f32, GR_SPMV_THREADS) { spmv<float>(frame); }
GR_ENTRY(gr_spmv_csr_f64, GR_SPMV_THREADS) { spmv<double>(frame); }
