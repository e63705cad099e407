/* From the name of an entry to code on the device. */
#include <stdlib.h>
#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

static int compare_entries(const void *one, const void *other) {
  const struct cuda_entry *a = one, *b = other;
  return strcmp(a->name, b->name);
}

static enum gr_status image_failed(struct gr_device *device, const struct gr_kernel_image *image, cudaError_t code,
                                   struct gr_error *error) {
  return gr_cuda_failed(device, code, error,
                        "loading the kernels of %s on CUDA device %u (%s, which runs code for architecture %d.%d)",
                        image->name, device->device_index, device->name, device->compute_major, device->compute_minor);
}

/* The image's entries, unsorted, behind those that are known. Asking for a name that an image lacks would be an error
 * to every tool that watches the program, so the images are asked for what they have. */
static enum gr_status list_entries(struct gr_device *device, const struct gr_kernel_image *image, cudaLibrary_t library,
                                   struct gr_error *error) {
  struct cuda_kernels *kernels = &device->kernels;
  unsigned int count = 0;
  cudaError_t code = cudaLibraryGetKernelCount(&count, library);
  if (code != cudaSuccess) return image_failed(device, image, code, error);
  if (count == 0) return GR_OK;
  struct cuda_entry *grown =
      gr_memory_resize(device->memory, kernels->entries, kernels->entry_count + count, sizeof *grown);
  if (!grown) return gr_cuda_no_memory(error, "kernels were listed");
  kernels->entries = grown;
  cudaKernel_t *found = gr_memory_allocate_zeroed(device->memory, count, sizeof(cudaKernel_t));
  if (!found) return gr_cuda_no_memory(error, "kernels were listed");
  code = cudaLibraryEnumerateKernels(found, count, library);
  for (unsigned int i = 0; i < count && code == cudaSuccess; i++) {
    struct cuda_entry *entry = &kernels->entries[kernels->entry_count + i];
    *entry = (struct cuda_entry){.kernel = found[i], .image = image};
    code = cudaFuncGetName(&entry->name, (const void *)found[i]);
  }
  gr_memory_release(device->memory, found);
  if (code != cudaSuccess) return image_failed(device, image, code, error);
  kernels->entry_count += count;
  return GR_OK;
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
  enum gr_status status = list_entries(device, image, library, error);
  if (status != GR_OK) {
    (void)cudaLibraryUnload(library);
    return status;
  }
  kernels->libraries[kernels->loaded_count++] = library;
  if (kernels->entry_count > 0) {
    qsort(kernels->entries, kernels->entry_count, sizeof *kernels->entries, compare_entries);
  }
  return GR_OK;
}

static struct cuda_entry *find_loaded(const struct cuda_kernels *kernels, const char *name) {
  struct cuda_entry wanted = {.name = name};
  if (kernels->entry_count == 0) return NULL;
  return bsearch(&wanted, kernels->entries, kernels->entry_count, sizeof wanted, compare_entries);
}

/* The runtime loads code when it is first used: asking for what the code needs is a use. */
static enum gr_status bring_to_device(struct gr_device *device, struct cuda_entry *entry, struct gr_error *error) {
  struct cudaFuncAttributes attributes;
  cudaError_t code = cudaFuncGetAttributes(&attributes, (const void *)entry->kernel);
  if (code != cudaSuccess) return image_failed(device, entry->image, code, error);
  entry->is_on_device = true;
  return GR_OK;
}

enum gr_status gr_cuda_kernels_find(struct gr_device *device, const char *name, cudaKernel_t *kernel,
                                    struct gr_error *error) {
  struct cuda_entry *found = find_loaded(&device->kernels, name);
  uint32_t image_count = device->catalogue ? device->catalogue->image_count : 0;
  while (!found && device->kernels.loaded_count < image_count) {
    GR_RETURN_IF_FAILED(load_next(device, error));
    found = find_loaded(&device->kernels, name);
  }
  if (!found) {
    return gr_error_set(error, GR_ERR_NOT_SUPPORTED, "there is no device code for '%s' in this program", name);
  }
  if (!found->is_on_device) GR_RETURN_IF_FAILED(bring_to_device(device, found, error));
  *kernel = found->kernel;
  return GR_OK;
}

void gr_cuda_kernels_release(struct gr_device *device) {
  struct cuda_kernels *kernels = &device->kernels;
  for (uint32_t i = 0; i < kernels->loaded_count; i++) (void)cudaLibraryUnload(kernels->libraries[i]);
  gr_memory_release(device->memory, kernels->libraries);
  gr_memory_release(device->memory, kernels->entries);
  memset(kernels, 0, sizeof *kernels);
}
