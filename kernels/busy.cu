/* Spins for so many nanoseconds of the GPU's own timer, which ticks once a microsecond or faster. */
#include "kernels/device.cuh"

__device__ __forceinline__ uint64_t now_ns() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

GR_ENTRY(gr_busy_spin, 1) {
  const uint64_t ns = static_cast<uint64_t>(frame.arguments[0].integer);
  if (ns == 0) return;
  const uint64_t start = now_ns();
  while (now_ns() - start < ns) {
  }
}
