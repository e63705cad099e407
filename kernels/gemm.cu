/* c = alpha*a@b + beta*c, row-major: the way that needs no vendor's library (gemm_host.c has the rules). A block
 * computes a tile of c; tiles of a and b go through shared memory in two buffers, the next being fetched while the last
 * is used; a thread holds its part of the tile of c in registers. f32 is f32: no tensor cores. */
#include "kernels/device.cuh"

/* Tile x Tile outputs of a block, Depth of the inner dimension at a time, Part x Part outputs of a thread. */
template <typename Type_, int Tile, int Depth, int Part>
struct shape {
  typedef Type_ Type;
  static constexpr int tile = Tile;
  static constexpr int depth = Depth;
  static constexpr int part = Part;
  /* A thread's outputs lie in groups of adjacent ones, that one access of shared memory reads. */
  static constexpr int group = Part < int(GR_VECTOR_BYTES / sizeof(Type)) ? Part : int(GR_VECTOR_BYTES / sizeof(Type));
  static constexpr int threads_across = Tile / Part;
  static constexpr int fetched = Tile * Depth / GR_GEMM_THREADS; /* elements of a and of b that a thread fetches */
  static_assert(threads_across * threads_across == GR_GEMM_THREADS, "one part for each thread");
  typedef gr_vector<Type, group> vector;
  typedef Type buffer[Depth][Tile + GR_VECTOR_BYTES / sizeof(Type)];

  /* Where in the tile a thread's i-th row or column is. */
  static __device__ __forceinline__ int position(int thread, int i) {
    return i / group * (threads_across * group) + thread * group + i % group;
  }
};

template <typename Type>
struct problem {
  const Type *a, *b;
  uint64_t rows, columns, inner;
};

/* Fetches a thread's share of the next tiles of a and b into registers; what lies outside counts as 0. */
template <typename Shape>
__device__ __forceinline__ void fetch(const problem<typename Shape::Type> &p, uint64_t row, uint64_t column,
                                      uint64_t first, typename Shape::Type (&a)[Shape::fetched],
                                      typename Shape::Type (&b)[Shape::fetched]) {
  typedef typename Shape::Type Type;
#pragma unroll
  for (int i = 0; i < Shape::fetched; i++) {
    const unsigned int element = threadIdx.x + i * GR_GEMM_THREADS;
    const uint64_t a_row = row + element / Shape::depth, a_k = first + element % Shape::depth;
    a[i] = a_row < p.rows && a_k < p.inner ? p.a[a_row * p.inner + a_k] : static_cast<Type>(0);
    const uint64_t b_k = first + element / Shape::tile, b_column = column + element % Shape::tile;
    b[i] = b_k < p.inner && b_column < p.columns ? p.b[b_k * p.columns + b_column] : static_cast<Type>(0);
  }
}

template <typename Shape>
__device__ __forceinline__ void store(const typename Shape::Type (&a)[Shape::fetched],
                                      const typename Shape::Type (&b)[Shape::fetched], typename Shape::buffer &shared_a,
                                      typename Shape::buffer &shared_b) {
#pragma unroll
  for (int i = 0; i < Shape::fetched; i++) {
    const unsigned int element = threadIdx.x + i * GR_GEMM_THREADS;
    shared_a[element % Shape::depth][element / Shape::depth] = a[i];
    shared_b[element / Shape::tile][element % Shape::tile] = b[i];
  }
}

template <typename Shape>
__device__ __forceinline__ void multiply(const typename Shape::buffer &shared_a, const typename Shape::buffer &shared_b,
                                         typename Shape::Type (&sum)[Shape::part][Shape::part]) {
  typedef typename Shape::Type Type;
  typedef typename Shape::vector vector;
  const int y = threadIdx.x / Shape::threads_across, x = threadIdx.x % Shape::threads_across;
#pragma unroll
  for (int k = 0; k < Shape::depth; k++) {
    Type a[Shape::part], b[Shape::part];
#pragma unroll
    for (int i = 0; i < Shape::part; i += Shape::group) {
      const vector from_a = *reinterpret_cast<const vector *>(&shared_a[k][Shape::position(y, i)]);
      const vector from_b = *reinterpret_cast<const vector *>(&shared_b[k][Shape::position(x, i)]);
#pragma unroll
      for (int e = 0; e < Shape::group; e++) {
        a[i + e] = from_a.element[e];
        b[i + e] = from_b.element[e];
      }
    }
#pragma unroll
    for (int i = 0; i < Shape::part; i++)
#pragma unroll
      for (int j = 0; j < Shape::part; j++) sum[i][j] += a[i] * b[j];
  }
}

/* The sums of one tile of c. */
template <typename Shape>
__device__ __forceinline__ void compute_tile(const problem<typename Shape::Type> &p, uint64_t row, uint64_t column,
                                             typename Shape::Type (&sum)[Shape::part][Shape::part]) {
  typedef typename Shape::Type Type;
  __shared__ alignas(GR_VECTOR_BYTES) typename Shape::buffer shared_a[2], shared_b[2];
  Type a[Shape::fetched], b[Shape::fetched];
  if (p.inner == 0) return;
  fetch<Shape>(p, row, column, 0, a, b);
  store<Shape>(a, b, shared_a[0], shared_b[0]);
  __syncthreads();
  int current = 0;
#pragma unroll 1
  for (uint64_t first = 0; first < p.inner; first += Shape::depth) {
    const bool has_next = first + Shape::depth < p.inner;
    if (has_next) fetch<Shape>(p, row, column, first + Shape::depth, a, b);
    multiply<Shape>(shared_a[current], shared_b[current], sum);
    current ^= 1;
    if (has_next) store<Shape>(a, b, shared_a[current], shared_b[current]);
    __syncthreads();
  }
}

template <typename Shape>
__device__ __forceinline__ void gemm(const struct gr_kernel_frame &frame) {
  typedef typename Shape::Type Type;
  const Type alpha = static_cast<Type>(frame.arguments[0].real);
  const Type beta = static_cast<Type>(frame.arguments[3].real);
  const problem<Type> p = {gr_data<const Type>(frame, 1), gr_data<const Type>(frame, 2), frame.arguments[4].rows,
                           frame.arguments[4].columns, frame.arguments[1].columns};
  Type *c = gr_data<Type>(frame, 4);
  const int y = threadIdx.x / Shape::threads_across, x = threadIdx.x % Shape::threads_across;
  const uint64_t tiles_across = gr_ceil_div(p.columns, Shape::tile);
  const uint64_t tiles = tiles_across * gr_ceil_div(p.rows, Shape::tile);
#pragma unroll 1
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const uint64_t row = tile / tiles_across * Shape::tile, column = tile % tiles_across * Shape::tile;
    Type sum[Shape::part][Shape::part] = {};
    compute_tile<Shape>(p, row, column, sum);
#pragma unroll
    for (int i = 0; i < Shape::part; i++)
#pragma unroll
      for (int j = 0; j < Shape::part; j++) {
        const uint64_t c_row = row + Shape::position(y, i), c_column = column + Shape::position(x, j);
        if (c_row >= p.rows || c_column >= p.columns) continue;
        Type *target = c + c_row * p.columns + c_column;
        *target = beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *target;
      }
  }
}

typedef shape<float, GR_GEMM_TILE_F32, 16, 8> large_f32;
typedef shape<double, GR_GEMM_TILE_F64, 16, 4> large_f64;
typedef shape<float, GR_GEMM_TILE_SMALL, 32, 2> small_f32;
typedef shape<double, GR_GEMM_TILE_SMALL, 32, 2> small_f64;
GR_ENTRY(gr_gemm_f32, GR_GEMM_THREADS) { gemm<large_f32>(frame); }
GR_ENTRY(gr_gemm_f64, GR_GEMM_THREADS) { gemm<large_f64>(frame); }
GR_ENTRY(gr_gemm_f32_small, GR_GEMM_THREADS) { gemm<small_f32>(frame); }
GR_ENTRY(gr_gemm_f64_small, GR_GEMM_THREADS) { gemm<small_f64>(frame); }
