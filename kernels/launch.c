#include <string.h>

#include "kernels/geometry.h"
#include "kernels/internal.h"

enum {
  GRID_MAX = 0x7fffffff,
  MAP_THREADS = 256,
  MAP_THREADS_FEW = 64,
  /* Below this, full-sized blocks would leave multiprocessors of a large GPU without one. */
  MAP_BYTES_FEW = 4 << 20,
};

uint32_t gr_launch_blocks(struct gr_kernel_launch *launch, const char *entry, uint64_t item_count,
                          uint64_t items_per_block, uint32_t threads) {
  uint64_t blocks = item_count / items_per_block + (item_count % items_per_block != 0);
  if (blocks > GRID_MAX) blocks = GRID_MAX;
  memset(launch, 0, sizeof *launch);
  launch->entry = entry;
  launch->grid[0] = (uint32_t)blocks;
  launch->block[0] = threads;
  launch->grid[1] = launch->grid[2] = 1;
  launch->block[1] = launch->block[2] = 1;
  return 1;
}

uint32_t gr_launch_map(struct gr_kernel_launch *launch, const char *entry, uint64_t element_count,
                       uint64_t element_bytes) {
  uint32_t threads = element_count < MAP_BYTES_FEW / element_bytes ? MAP_THREADS_FEW : MAP_THREADS;
  uint64_t elements_per_thread = GR_MAP_VECTORS * (GR_VECTOR_BYTES / element_bytes);
  return gr_launch_blocks(launch, entry, element_count, threads * elements_per_thread, threads);
}
