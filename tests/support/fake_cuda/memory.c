/* Allocations: device memory at addresses that the host cannot touch, its bytes elsewhere; page-locked and managed
 * memory where the host sees them. Freed device addresses are never given out again before the next reset, so that late
 * uses of them are found. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

/* Sorted by base. */
static struct fake_list allocations;

/* The number of allocations whose base is at most the address. */
static size_t rank_of(uintptr_t address) {
  size_t low = 0;
  size_t high = allocations.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct fake_allocation *allocation = allocations.items[middle];
    if (allocation->base <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

struct fake_allocation *fake_memory_find(const void *address) {
  size_t rank = rank_of((uintptr_t)address);
  if (rank == 0) return NULL;
  struct fake_allocation *allocation = allocations.items[rank - 1];
  return (uintptr_t)address - allocation->base < allocation->size_bytes ? allocation : NULL;
}

static void insert(struct fake_allocation *allocation) {
  size_t rank = rank_of(allocation->base);
  fake_list_add(&allocations, allocation);
  memmove(allocations.items + rank + 1, allocations.items + rank,
          (allocations.count - 1 - rank) * sizeof *allocations.items);
  allocations.items[rank] = allocation;
}

static bool holds(const struct fake_allocation *allocation, const void *address, size_t size_bytes) {
  return size_bytes <= allocation->size_bytes - ((uintptr_t)address - allocation->base);
}

bool fake_memory_is_range(const void *address, size_t size_bytes) {
  const struct fake_allocation *allocation = fake_memory_find(address);
  return allocation == NULL || (allocation->backing != NULL && holds(allocation, address, size_bytes));
}

unsigned char *fake_memory_bytes(const void *address, size_t size_bytes) {
  const struct fake_allocation *allocation = fake_memory_find(address);
  if (allocation == NULL) return (unsigned char *)(uintptr_t)address;
  if (allocation->backing == NULL) {
    fake_complain("Work used device memory after it was freed.");
    return NULL;
  }
  if (!holds(allocation, address, size_bytes)) {
    fake_complain("Work went %zu bytes beyond an allocation of %zu bytes.",
                  (uintptr_t)address - allocation->base + size_bytes - allocation->size_bytes, allocation->size_bytes);
    return NULL;
  }
  return allocation->backing + ((uintptr_t)address - allocation->base);
}

/* Address space that nobody can touch; null where there is none. */
static void *reserve(size_t size_bytes, size_t *reserved_bytes) {
  if (size_bytes > SIZE_MAX - 4095) return NULL;
  *reserved_bytes = (size_bytes + 4095) & ~(size_t)4095;
  void *address = mmap(NULL, *reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? NULL : address;
}

/* Memory with bytes in it that nobody wrote: reading them unwritten shows. */
static unsigned char *make_backing(size_t size_bytes, size_t alignment) {
  void *backing = NULL;
  if (posix_memalign(&backing, alignment, size_bytes) != 0) return NULL;
  memset(backing, 0xA7, size_bytes < ((size_t)64 << 20) ? size_bytes : (size_t)64 << 20);
  return backing;
}

static cudaError_t add_device_memory(size_t size_bytes, void **address) {
  struct fake_device *device = &fake_state.devices[fake_current_device()];
  if (size_bytes > device->properties.totalGlobalMem - device->used_bytes) return cudaErrorMemoryAllocation;
  size_t reserved_bytes = 0;
  void *base = reserve(size_bytes, &reserved_bytes);
  unsigned char *backing = base != NULL ? make_backing(size_bytes, 256) : NULL;
  if (backing == NULL) {
    if (base != NULL) munmap(base, reserved_bytes);
    return cudaErrorMemoryAllocation;
  }
  struct fake_allocation *allocation = fake_allocate(sizeof *allocation);
  *allocation = (struct fake_allocation){.base = (uintptr_t)base,
                                         .size_bytes = size_bytes,
                                         .reserved_bytes = reserved_bytes,
                                         .backing = backing,
                                         .kind = FAKE_DEVICE,
                                         .device = fake_current_device()};
  insert(allocation);
  device->used_bytes += size_bytes;
  fake_state.live.device_allocations++;
  *address = base;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **address, size_t size) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE)) return call.code;
  if (address == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  if (size == 0) {
    *address = NULL;
    return fake_leave(&call, cudaSuccess);
  }
  return fake_leave(&call, add_device_memory(size, address));
}

/* Memory that host and device see at one address. */
static cudaError_t add_shared_memory(size_t size_bytes, enum fake_memory_kind kind, void **address) {
  struct fake_allocation *allocation = NULL;
  unsigned char *backing = make_backing(size_bytes, 4096);
  if (backing == NULL) return cudaErrorMemoryAllocation;
  allocation = fake_allocate(sizeof *allocation);
  *allocation = (struct fake_allocation){.base = (uintptr_t)backing,
                                         .size_bytes = size_bytes,
                                         .backing = backing,
                                         .kind = kind,
                                         .device = fake_current_device()};
  insert(allocation);
  *address = backing;
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void **address, size_t size, unsigned int flags) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE)) return call.code;
  if (address == NULL || flags != cudaMemAttachGlobal) return fake_leave(&call, cudaErrorInvalidValue);
  struct fake_device *device = &fake_state.devices[fake_current_device()];
  if (!device->properties.managedMemory) return fake_leave(&call, cudaErrorNotSupported);
  if (size == 0) {
    *address = NULL;
    return fake_leave(&call, cudaSuccess);
  }
  if (size > device->properties.totalGlobalMem - device->used_bytes) {
    return fake_leave(&call, cudaErrorMemoryAllocation);
  }
  cudaError_t code = add_shared_memory(size, FAKE_MANAGED, address);
  if (code == cudaSuccess) {
    device->used_bytes += size;
    fake_state.live.managed_allocations++;
  }
  return fake_leave(&call, code);
}

cudaError_t cudaHostAlloc(void **address, size_t size, unsigned int flags) {
  enum { WRITE_COMBINED = 4 };
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE)) return call.code;
  if (address == NULL || (flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | WRITE_COMBINED)) != 0) {
    return fake_leave(&call, cudaErrorInvalidValue);
  }
  if (size == 0) {
    *address = NULL;
    return fake_leave(&call, cudaSuccess);
  }
  if (size > fake_state.pinned_limit - fake_state.pinned_bytes) return fake_leave(&call, cudaErrorMemoryAllocation);
  enum fake_memory_kind kind = (flags & cudaHostAllocMapped) != 0 ? FAKE_MAPPED : FAKE_PINNED;
  cudaError_t code = add_shared_memory(size, kind, address);
  if (code == cudaSuccess) {
    fake_state.pinned_bytes += size;
    fake_state.live.pinned_allocations++;
  }
  return fake_leave(&call, code);
}

/* The allocation that begins there, if a call that frees such memory may have it. */
static struct fake_allocation *freeable(const void *address, bool is_host) {
  struct fake_allocation *allocation = fake_memory_find(address);
  if (allocation == NULL || allocation->base != (uintptr_t)address || allocation->alias_of != NULL) return NULL;
  bool is_pinned = allocation->kind == FAKE_PINNED || allocation->kind == FAKE_MAPPED;
  return is_pinned == is_host && allocation->backing != NULL ? allocation : NULL;
}

static void free_device_memory(struct fake_allocation *allocation) {
  fake_state.devices[allocation->device].used_bytes -= allocation->size_bytes;
  free(allocation->backing);
  allocation->backing = NULL;
  if (allocation->kind == FAKE_DEVICE) {
    fake_state.live.device_allocations--;
    return;
  }
  fake_state.live.managed_allocations--;
  fake_list_remove(&allocations, allocation);
  free(allocation);
}

cudaError_t cudaFree(void *address) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE | FAKE_RELEASES)) return call.code;
  if (address == NULL) return fake_leave(&call, cudaSuccess);
  struct fake_allocation *allocation = freeable(address, false);
  if (allocation == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  /* Work that may still use it comes first. */
  if (!fake_work_finish_device(allocation->device, call.function)) return fake_leave(&call, cudaErrorLaunchTimeout);
  free_device_memory(allocation);
  return fake_leave(&call, cudaSuccess);
}

/* The device address of mapped memory is gone with it. */
static void free_alias(const struct fake_allocation *allocation) {
  for (size_t i = 0; i < allocations.count; i++) {
    struct fake_allocation *alias = allocations.items[i];
    if (alias->alias_of != allocation) continue;
    alias->alias_of = NULL;
    alias->backing = NULL;
  }
}

cudaError_t cudaFreeHost(void *address) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE | FAKE_RELEASES)) return call.code;
  if (address == NULL) return fake_leave(&call, cudaSuccess);
  struct fake_allocation *allocation = freeable(address, true);
  if (allocation == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  for (int i = 0; i < fake_state.device_count; i++) {
    if (!fake_work_finish_device(i, call.function)) return fake_leave(&call, cudaErrorLaunchTimeout);
  }
  free_alias(allocation);
  fake_state.pinned_bytes -= allocation->size_bytes;
  fake_state.live.pinned_allocations--;
  fake_list_remove(&allocations, allocation);
  free(allocation->backing);
  free(allocation);
  return fake_leave(&call, cudaSuccess);
}

/* The device's own address for mapped memory, made when first asked for. */
static struct fake_allocation *alias_for(struct fake_allocation *allocation) {
  for (size_t i = 0; i < allocations.count; i++) {
    struct fake_allocation *alias = allocations.items[i];
    if (alias->alias_of == allocation) return alias;
  }
  struct fake_allocation *alias = fake_allocate(sizeof *alias);
  *alias = *allocation;
  alias->alias_of = allocation;
  alias->base = (uintptr_t)reserve(allocation->size_bytes, &alias->reserved_bytes);
  if (alias->base == 0) abort();
  insert(alias);
  return alias;
}

cudaError_t cudaHostGetDevicePointer(void **device_address, void *host_address, unsigned int flags) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  struct fake_allocation *allocation = fake_memory_find(host_address);
  bool is_pinned = allocation != NULL && (allocation->kind == FAKE_PINNED || allocation->kind == FAKE_MAPPED);
  if (device_address == NULL || flags != 0 || !is_pinned) return fake_leave(&call, cudaErrorInvalidValue);
  if (allocation->kind == FAKE_PINNED) fake_complain("%s on memory that was not asked to be mapped.", call.function);
  uintptr_t offset = (uintptr_t)host_address - allocation->base;
  if (fake_state.mapped_apart) allocation = alias_for(allocation);
  *device_address = (void *)(allocation->base + offset);
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  if (free_bytes == NULL || total_bytes == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  const struct fake_device *device = &fake_state.devices[fake_current_device()];
  *total_bytes = device->properties.totalGlobalMem;
  *free_bytes = *total_bytes - device->used_bytes;
  return fake_leave(&call, cudaSuccess);
}

void *fake_cuda_peek(const void *device_address) {
  fake_lock();
  const struct fake_allocation *allocation = fake_memory_find(device_address);
  bool is_device = allocation != NULL && allocation->kind != FAKE_PINNED && allocation->backing != NULL;
  void *bytes = is_device ? allocation->backing + ((uintptr_t)device_address - allocation->base) : NULL;
  fake_unlock();
  return bytes;
}

void fake_memory_reset(void) {
  for (size_t i = 0; i < allocations.count; i++) {
    struct fake_allocation *allocation = allocations.items[i];
    if (allocation->reserved_bytes > 0) munmap((void *)allocation->base, allocation->reserved_bytes);
    if (allocation->alias_of == NULL) free(allocation->backing);
    free(allocation);
  }
  fake_list_release(&allocations);
}
