/* y = A@x with A in CSR. A part of a warp works on a row: as many threads, a power of two, as rows have elements on average;
 * blockDim.x is that number. Sums are taken in f64. What spmv_csr_host.c says about broken matrices holds here, too. */
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
  double sum = 0;
#pragma unroll 4
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const int32_t column = a.indices[i];
    const bool is_inside = column >= 0 && uint64_t(column) < a.columns;
    sum += is_inside ? static_cast<double>(a.values[i]) * static_cast<double>(a.x[column]) : static_cast<double>(NAN);
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
