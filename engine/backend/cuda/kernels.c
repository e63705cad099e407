/* From the name of an entry to code on the device. */
#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

/* Where the entry is, or where it belongs. */
static bool find_entry(const struct cuda_kernels *kernels, const char *name, size_t *index) {
  size_t low = 0, high = kernels->entry_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(kernels->entries[middle].name, name);
    if (order == 0) {
      *index = middle;
      return true;
    }
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  *index = low;
  return false;
}

static enum gr_status remember(struct gr_device *device, size_t index, const char *name, cudaKernel_t kernel,
                               struct gr_error *error) {
  struct cuda_kernels *kernels = &device->kernels;
  if (!gr_memory_grow(device->memory, &kernels->entries, kernels->entry_count, &kernels->entry_capacity,
                      sizeof *kernels->entries)) {
    return gr_cuda_no_memory(error, "kernels were looked for");
  }
  memmove(&kernels->entries[index + 1], &kernels->entries[index],
          (kernels->entry_count - index) * sizeof *kernels->entries);
  kernels->entries[index] = (struct cuda_entry){.name = name, .kernel = kernel};
  kernels->entry_count++;
  return GR_OK;
}

static enum gr_status image_failed(struct gr_device *device, const struct gr_kernel_image *image, cudaError_t code,
                                   struct gr_error *error) {
  return gr_cuda_failed(device, code, error,
                        "loading the kernels of %s on CUDA device %u (%s, which runs code for architecture %d.%d)",
                        image->name, device->device_index, device->name, device->compute_major,
                        device->compute_minor);
}

static enum gr_status load_next(struct gr_device *device, struct gr_error *error) {
  struct cuda_kernels *kernels = &device->kernels;
  const struct gr_kernel_image *image = &device->catalogue->images[kernels->loaded_count];
  if (!kernels->libraries) {
    kernels->libraries =
        gr_memory_allocate_zeroed(device->memory, device->catalogue->image_count, sizeof *kernels->libraries);
    if (!kernels->libraries) return gr_cuda_no_memory(error, "kernels were loaded");
  }
  cudaLibrary_t library = NULL;
  cudaError_t code = cudaLibraryLoadData(&library, image->begin, NULL, NULL, 0, NULL, NULL, 0);
  if (code != cudaSuccess) return image_failed(device, image, code, error);
  kernels->libraries[kernels->loaded_count++] = library;
  return GR_OK;
}

/* Each entry is in one image; which, only a look tells. */
static enum gr_status look_for(struct gr_device *device, const char *name, cudaKernel_t *kernel, uint32_t *image_index,
                               struct gr_error *error) {
  uint32_t image_count = device->catalogue ? device->catalogue->image_count : 0;
  for (uint32_t i = 0; i < image_count; i++) {
    if (i == device->kernels.loaded_count) GR_RETURN_IF_FAILED(load_next(device, error));
    cudaError_t code = cudaLibraryGetKernel(kernel, device->kernels.libraries[i], name);
    *image_index = i;
    if (code == cudaSuccess) return GR_OK;
    if (code != cudaErrorSymbolNotFound) return image_failed(device, &device->catalogue->images[i], code, error);
  }
  return gr_error_set(error, GR_ERR_NOT_SUPPORTED, "there is no device code for '%s' in this program (%u images)", name,
                      image_count);
}

enum gr_status gr_cuda_kernels_find(struct gr_device *device, const char *name, cudaKernel_t *kernel,
                                    struct gr_error *error) {
  size_t index;
  if (find_entry(&device->kernels, name, &index)) {
    *kernel = device->kernels.entries[index].kernel;
    return GR_OK;
  }
  uint32_t image_index = 0;
  cudaKernel_t found = NULL;
  GR_RETURN_IF_FAILED(look_for(device, name, &found, &image_index, error));
  /* The runtime loads code when it is first used: asking for what the code needs is a use. */
  struct cudaFuncAttributes attributes;
  cudaError_t code = cudaFuncGetAttributes(&attributes, (const void *)found);
  if (code != cudaSuccess) return image_failed(device, &device->catalogue->images[image_index], code, error);
  GR_RETURN_IF_FAILED(remember(device, index, name, found, error));
  *kernel = found;
  return GR_OK;
}

void gr_cuda_kernels_release(struct gr_device *device) {
  struct cuda_kernels *kernels = &device->kernels;
  for (uint32_t i = 0; i < kernels->loaded_count; i++) (void)cudaLibraryUnload(kernels->libraries[i]);
  gr_memory_release(device->memory, kernels->libraries);
  gr_memory_release(device->memory, kernels->entries);
  memset(kernels, 0, sizeof *kernels);
}
