/* Where the buffers are: one block a place. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/backend/cuda/cuda_internal.h"

/* ---- what does not fit ---- */

static void name_largest(const struct gr_plan *plan, enum gr_place place, struct gr_error *error) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  const struct gr_buffer *largest = NULL;
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &pipeline->buffers[i];
    if (buffer->place == place && (!largest || buffer->size_bytes > largest->size_bytes)) largest = buffer;
  }
  if (!largest || !error) return;
  size_t used = strlen(error->message);
  snprintf(error->message + used, sizeof error->message - used, "; the largest buffer is %s with %llu bytes",
           gr_view_quote(gr_view_of(largest->name)).text, (unsigned long long)largest->size_bytes);
  gr_error_node(error, largest->name);
  gr_error_place(error, pipeline->file, largest->mark.line, largest->mark.column);
}

static enum gr_status no_device_room(struct gr_executable *executable, enum gr_place place, cudaError_t code,
                                     struct gr_error *error) {
  const struct gr_device *device = executable->device;
  size_t free_bytes = 0, total_bytes = 0;
  (void)cudaMemGetInfo(&free_bytes, &total_bytes);
  gr_error_set(error, GR_ERR_DEVICE_MEMORY,
               "the buffers of place '%s' need %llu bytes, and CUDA device %u (%s) has %llu of %llu free",
               gr_place_name(place), (unsigned long long)executable->plan->region_bytes[place], device->device_index,
               device->name, (unsigned long long)free_bytes, (unsigned long long)total_bytes);
  gr_cuda_set_code(error, code);
  name_largest(executable->plan, place, error);
  return GR_ERR_DEVICE_MEMORY;
}

static enum gr_status no_pinned_room(const struct gr_executable *executable, enum gr_place place,
                                     struct gr_error *error) {
  gr_error_set(error, GR_ERR_DEVICE_MEMORY,
               "the buffers of place '%s' need %llu bytes of page-locked memory, which could not be had",
               gr_place_name(place), (unsigned long long)executable->plan->region_bytes[place]);
  name_largest(executable->plan, place, error);
  return GR_ERR_DEVICE_MEMORY;
}

/* The system promises more than it has, and ends a process that takes it at its word. */
static bool fits_machine(uint64_t size_bytes) {
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages <= 0 || page_bytes <= 0 || size_bytes <= (uint64_t)pages * (uint64_t)page_bytes;
}

/* ---- the regions ---- */

static enum gr_status make_device(struct gr_executable *executable, struct gr_error *error) {
  uint64_t size_bytes = executable->plan->region_bytes[GR_PLACE_DEVICE];
  void *address = NULL;
  cudaError_t code = cudaMalloc(&address, size_bytes);
  if (code == cudaErrorMemoryAllocation) return no_device_room(executable, GR_PLACE_DEVICE, code, error);
  GR_CUDA_RETURN_IF_FAILED(executable->device, code, error, "allocating %llu bytes on CUDA device %u",
                           (unsigned long long)size_bytes, executable->device->device_index);
  executable->regions[GR_PLACE_DEVICE] = address;
  executable->facts.device_bytes = size_bytes;
  return GR_OK;
}

/* More managed memory than the device has free would be paged to and fro while kernels run, and can hang it. */
static enum gr_status make_managed(struct gr_executable *executable, struct gr_error *error) {
  struct gr_device *device = executable->device;
  uint64_t size_bytes = executable->plan->region_bytes[GR_PLACE_MANAGED];
  if (!device->has_managed) {
    return gr_error_set(error, GR_ERR_NOT_SUPPORTED, "CUDA device %u (%s) has no managed memory", device->device_index,
                        device->name);
  }
  size_t free_bytes, total_bytes;
  GR_CUDA_RETURN_IF_FAILED(device, cudaMemGetInfo(&free_bytes, &total_bytes), error,
                           "asking CUDA device %u for its free memory", device->device_index);
  if (size_bytes > free_bytes) {
    return no_device_room(executable, GR_PLACE_MANAGED, cudaErrorMemoryAllocation, error);
  }
  void *address = NULL;
  cudaError_t code = cudaMallocManaged(&address, size_bytes, cudaMemAttachGlobal);
  if (code == cudaErrorMemoryAllocation) return no_device_room(executable, GR_PLACE_MANAGED, code, error);
  GR_CUDA_RETURN_IF_FAILED(device, code, error, "allocating %llu bytes of managed memory",
                           (unsigned long long)size_bytes);
  executable->regions[GR_PLACE_MANAGED] = address;
  executable->facts.managed_bytes = size_bytes;
  return GR_OK;
}

/* Buffers of place `host` are page-locked here, too. A captured copy from ordinary memory takes its bytes when the
 * graph is launched, not when its predecessors have ended, and one to ordinary memory makes the launch wait for the
 * whole replay: the first gives wrong answers from the second replay on, the second outlasts every deadline. */
static enum gr_status make_pinned(struct gr_executable *executable, enum gr_place place, struct gr_error *error) {
  struct gr_device *device = executable->device;
  struct gr_build_facts *facts = &executable->facts;
  uint64_t size_bytes = executable->plan->region_bytes[place];
  void *pool = gr_cuda_device_pool(device);
  if (!pool) return gr_cuda_no_memory(error, "the pool of page-locked memory was made");
  void *address = fits_machine(size_bytes) ? device->pinned->allocate(pool, size_bytes) : NULL;
  if (!address) return no_pinned_room(executable, place, error);
  executable->regions[place] = address;
  if (place == GR_PLACE_PINNED) facts->pinned_bytes = size_bytes;
  else if (place == GR_PLACE_MAPPED) facts->mapped_bytes = size_bytes;
  else facts->host_bytes = size_bytes;
  return GR_OK;
}

static enum gr_status make_region(struct gr_executable *executable, enum gr_place place, struct gr_error *error) {
  switch (place) {
    case GR_PLACE_DEVICE:
      return make_device(executable, error);
    case GR_PLACE_MANAGED:
      return make_managed(executable, error);
    case GR_PLACE_HOST:
    case GR_PLACE_PINNED:
    case GR_PLACE_MAPPED:
      return make_pinned(executable, place, error);
  }
  return GR_OK;
}

/* Where kernels find a region. */
static enum gr_status device_view(struct gr_executable *executable, enum gr_place place, void **view,
                                  struct gr_error *error) {
  *view = executable->regions[place];
  if (place == GR_PLACE_DEVICE || place == GR_PLACE_MANAGED) return GR_OK;
  GR_CUDA_RETURN_IF_FAILED(executable->device, cudaHostGetDevicePointer(view, executable->regions[place], 0), error,
                           "asking for the device's address of page-locked memory");
  return GR_OK;
}

enum gr_status gr_cuda_memory_make(struct gr_executable *executable, struct gr_error *error) {
  const struct gr_plan *plan = executable->plan;
  void *views[GR_PLACE_COUNT] = {NULL};
  for (int place = 0; place < GR_PLACE_COUNT; place++) {
    if (plan->region_bytes[place] == 0) continue;
    GR_RETURN_IF_FAILED(make_region(executable, (enum gr_place)place, error));
    GR_RETURN_IF_FAILED(device_view(executable, (enum gr_place)place, &views[place], error));
  }
  executable->buffer_count = plan->pipeline->buffer_count;
  executable->addresses =
      gr_arena_allocate_zeroed(&executable->arena, executable->buffer_count, sizeof *executable->addresses);
  executable->kernel_addresses =
      gr_arena_allocate_zeroed(&executable->arena, executable->buffer_count, sizeof *executable->kernel_addresses);
  if (!executable->addresses || !executable->kernel_addresses) {
    return gr_cuda_no_memory(error, "the buffers' addresses were written down");
  }
  for (uint32_t i = 0; i < executable->buffer_count; i++) {
    enum gr_place place = plan->pipeline->buffers[i].place;
    uint64_t offset_bytes = plan->slots[i].offset_bytes;
    if (!executable->regions[place]) continue;
    executable->addresses[i] = (char *)executable->regions[place] + offset_bytes;
    executable->kernel_addresses[i] = (char *)views[place] + offset_bytes;
  }
  return GR_OK;
}

static const enum gr_place pinned_places[] = {GR_PLACE_PINNED, GR_PLACE_HOST, GR_PLACE_MAPPED};
enum { PINNED_PLACE_COUNT = sizeof pinned_places / sizeof pinned_places[0] };

/* Bytes that nothing wrote are then the same in every run and in every mode; and kernels' scratch must be zero. */
enum gr_status gr_cuda_memory_clear(struct gr_executable *executable, struct gr_error *error) {
  static const enum gr_place on_device[] = {GR_PLACE_DEVICE, GR_PLACE_MANAGED};
  const uint64_t *bytes = executable->plan->region_bytes;
  struct gr_device *device = executable->device;
  for (int i = 0; i < 2; i++) {
    void *region = executable->regions[on_device[i]];
    if (!region) continue;
    GR_CUDA_RETURN_IF_FAILED(device, cudaMemsetAsync(region, 0, bytes[on_device[i]], executable->streams[0]), error,
                             "clearing the buffers");
  }
  GR_CUDA_RETURN_IF_FAILED(device, cudaStreamSynchronize(executable->streams[0]), error, "clearing the buffers");
  for (int i = 0; i < PINNED_PLACE_COUNT; i++) {
    void *region = executable->regions[pinned_places[i]];
    if (region) memset(region, 0, bytes[pinned_places[i]]);
  }
  return GR_OK;
}

enum gr_status gr_cuda_memory_copy(struct gr_executable *executable, void *to, const void *from, uint64_t size_bytes,
                                   enum cudaMemcpyKind kind, struct gr_error *error) {
  struct gr_device *device = executable->device;
  GR_CUDA_RETURN_IF_FAILED(device, cudaMemcpyAsync(to, from, size_bytes, kind, executable->streams[0]), error,
                           "copying %llu bytes", (unsigned long long)size_bytes);
  GR_CUDA_RETURN_IF_FAILED(device, cudaStreamSynchronize(executable->streams[0]), error, "copying %llu bytes",
                           (unsigned long long)size_bytes);
  return GR_OK;
}

void gr_cuda_memory_release(struct gr_executable *executable) {
  struct gr_device *device = executable->device;
  if (executable->regions[GR_PLACE_DEVICE]) (void)cudaFree(executable->regions[GR_PLACE_DEVICE]);
  if (executable->regions[GR_PLACE_MANAGED]) (void)cudaFree(executable->regions[GR_PLACE_MANAGED]);
  if (executable->workspaces) (void)cudaFree(executable->workspaces);
  for (int i = 0; i < PINNED_PLACE_COUNT; i++) {
    void *region = executable->regions[pinned_places[i]];
    if (region) device->pinned->release(device->pool, region);
  }
  memset(executable->regions, 0, sizeof executable->regions);
  executable->workspaces = NULL;
}
