/* Libraries, kernels and launches; what a launch does is the kernel's host twin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

enum { LIBRARY_MAGIC = 0x11b4a };

enum image_kind {
  IMAGE_NAMES, /* a test's list of entries */
  IMAGE_ALL,   /* every entry that is known: a real image, or the list "*" */
  IMAGE_JUNK,
};

struct CUlib_st {
  uint32_t magic;
  bool is_dead;
  enum image_kind kind;
  struct fake_list kernels; /* got so far, and those that the image lists */
};

/* All since the last reset, dead ones too. */
static struct fake_list libraries, kernels;
static struct fake_list customs; /* copies */

/* --- Twins --- */

static const struct fake_cuda_kernel *find_custom(const char *name) {
  for (size_t i = 0; i < customs.count; i++) {
    const struct fake_cuda_kernel *custom = customs.items[i];
    if (strcmp(custom->name, name) == 0) return custom;
  }
  return NULL;
}

static bool is_entry_of(const struct gr_kernel *kernel, const char *entry) {
  size_t length = strlen(kernel->name);
  return strncmp(entry, "gr_", 3) == 0 && strncmp(entry + 3, kernel->name, length) == 0 && entry[3 + length] == '_';
}

/* The longest name that fits: gr_add_row_f32 is add_row's, not add's. */
static const struct gr_kernel *find_builtin(const char *entry) {
  const struct gr_kernel *best = NULL;
  const struct gr_catalogue *catalogue = fake_state.catalogue;
  if (catalogue == NULL) return NULL;
  for (uint32_t i = 0; i < catalogue->kernel_count; i++) {
    const struct gr_kernel *kernel = &catalogue->kernels[i];
    if (is_entry_of(kernel, entry) && (best == NULL || strlen(kernel->name) > strlen(best->name))) best = kernel;
  }
  if (best == NULL && catalogue->fill != NULL && is_entry_of(catalogue->fill, entry)) best = catalogue->fill;
  return best;
}

void fake_cuda_set_catalogue(const struct gr_catalogue *catalogue) {
  fake_lock();
  fake_state.catalogue = catalogue;
  fake_unlock();
}

void fake_cuda_add_kernel(const struct fake_cuda_kernel *kernel) {
  fake_lock();
  struct fake_cuda_kernel *copy = fake_allocate(sizeof *copy);
  *copy = *kernel;
  fake_list_add(&customs, copy);
  fake_unlock();
}

/* --- Libraries --- */

static struct CUkern_st *add_kernel(struct CUlib_st *library, const char *name, size_t length) {
  struct CUkern_st *kernel = fake_allocate(sizeof *kernel);
  kernel->name = fake_allocate(length + 1);
  memcpy(kernel->name, name, length);
  kernel->library = library;
  kernel->custom = find_custom(kernel->name);
  kernel->builtin = kernel->custom == NULL ? find_builtin(kernel->name) : NULL;
  fake_list_add(&library->kernels, kernel);
  fake_list_add(&kernels, kernel);
  return kernel;
}

static struct CUkern_st *find_kernel(const struct CUlib_st *library, const char *name) {
  for (size_t i = 0; i < library->kernels.count; i++) {
    struct CUkern_st *kernel = library->kernels.items[i];
    if (strcmp(kernel->name, name) == 0) return kernel;
  }
  return NULL;
}

static const char names_header[] = "fake_cuda image\n";

static enum image_kind kind_of(const char *code) {
  static const unsigned char fat_binary[4] = {0x50, 0xED, 0x55, 0xBA};
  size_t header = sizeof names_header - 1;
  if (strncmp(code, names_header, header) == 0) return code[header] == '*' ? IMAGE_ALL : IMAGE_NAMES;
  bool is_known = memcmp(code, fat_binary, 4) == 0 || memcmp(code, "\177ELF", 4) == 0 || memcmp(code, "//", 2) == 0 ||
                  memcmp(code, ".ver", 4) == 0;
  return is_known ? IMAGE_ALL : IMAGE_JUNK;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *made, const void *code, enum cudaJitOption *jit_options,
                                void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options,
                                void **values, unsigned int count) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  bool has_options = (jit_count > 0 && (jit_options == NULL || jit_values == NULL)) || (count > 0 && options == NULL);
  if (made == NULL || code == NULL || has_options) return fake_leave(&call, cudaErrorInvalidValue);
  (void)values;
  struct CUlib_st *library = fake_allocate(sizeof *library);
  library->magic = LIBRARY_MAGIC;
  library->kind = kind_of(code);
  const char *name = (const char *)code + sizeof names_header - 1;
  while (library->kind == IMAGE_NAMES && *name != '\0') {
    size_t length = strcspn(name, "\n");
    add_kernel(library, name, length);
    name += length + (name[length] == '\n');
  }
  fake_list_add(&libraries, library);
  fake_state.live.libraries++;
  *made = library;
  return fake_leave(&call, cudaSuccess);
}

static bool is_valid_library(cudaLibrary_t library) {
  if (library == NULL) return false;
  if (library->magic == LIBRARY_MAGIC && !library->is_dead) return true;
  fake_complain("A call got a library that is none, or was unloaded.");
  return false;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_IS_UNSAFE | FAKE_RELEASES)) return call.code;
  if (!is_valid_library(library)) return fake_leave(&call, cudaErrorInvalidResourceHandle);
  for (int i = 0; i < fake_state.device_count; i++) {
    if (!fake_work_finish_device(i, call.function)) return fake_leave(&call, cudaErrorLaunchTimeout);
  }
  for (size_t i = 0; i < library->kernels.count; i++) ((struct CUkern_st *)library->kernels.items[i])->library = NULL;
  fake_list_release(&library->kernels);
  library->is_dead = true;
  fake_state.live.libraries--;
  return fake_leave(&call, cudaSuccess);
}

static cudaError_t get_kernel(cudaKernel_t *made, cudaLibrary_t library, const char *name) {
  if (made == NULL || name == NULL) return cudaErrorInvalidValue;
  if (!is_valid_library(library)) return cudaErrorInvalidResourceHandle;
  if (library->kind == IMAGE_JUNK) return cudaErrorInvalidKernelImage;
  struct CUkern_st *kernel = find_kernel(library, name);
  if (kernel == NULL && library->kind == IMAGE_ALL && (find_custom(name) != NULL || find_builtin(name) != NULL)) {
    kernel = add_kernel(library, name, strlen(name));
  }
  if (kernel == NULL) return cudaErrorSymbolNotFound;
  *made = kernel;
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *made, cudaLibrary_t library, const char *name) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  return fake_leave(&call, get_kernel(made, library, name));
}

/* --- Which entries a whole catalogue has: those that some call could ask for --- */

static void add_launches(struct CUlib_st *library, const struct gr_kernel *kernel,
                         const struct gr_kernel_frame *frame) {
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX] = {0};
  uint32_t count = kernel->launches(kernel, frame, launches);
  for (uint32_t i = 0; i < count && i < GR_KERNEL_LAUNCH_MAX; i++) {
    const char *entry = launches[i].entry;
    if (entry != NULL && find_kernel(library, entry) == NULL) add_kernel(library, entry, strlen(entry));
  }
}

/* Types as the first buffer and the others have them, and a few shapes in which kernels choose between their entries.
 */
static void add_entries_of(struct CUlib_st *library, const struct gr_kernel *kernel) {
  static const uint64_t shapes[][2] = {{1, 1}, {3, 3}, {1, 1 << 20}, {1 << 20, 3}, {4096, 4096}, {7, 1 << 20}};
  struct gr_kernel_frame frame = {.argument_count = kernel->parameter_count};
  for (uint32_t which = 0; which < GR_TYPE_COUNT * GR_TYPE_COUNT * 6; which++) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
      struct gr_kernel_frame_argument *argument = &frame.arguments[i];
      *argument = (struct gr_kernel_frame_argument){.integer = 1};
      if (kernel->parameters[i].kind != GR_PARAMETER_BUFFER) continue;
      argument->data = NULL;
      argument->type = seen++ == 0 ? which % GR_TYPE_COUNT : which / GR_TYPE_COUNT % GR_TYPE_COUNT;
      argument->rank = 2;
      argument->rows = shapes[which / (GR_TYPE_COUNT * GR_TYPE_COUNT)][0];
      argument->columns = shapes[which / (GR_TYPE_COUNT * GR_TYPE_COUNT)][1];
    }
    add_launches(library, kernel, &frame);
  }
}

static void add_all_entries(struct CUlib_st *library) {
  const struct gr_catalogue *catalogue = fake_state.catalogue;
  for (uint32_t i = 0; catalogue != NULL && i < catalogue->kernel_count; i++) {
    add_entries_of(library, &catalogue->kernels[i]);
  }
  if (catalogue != NULL && catalogue->fill != NULL) add_entries_of(library, catalogue->fill);
  for (size_t i = 0; i < customs.count; i++) {
    const struct fake_cuda_kernel *custom = customs.items[i];
    if (find_kernel(library, custom->name) == NULL) add_kernel(library, custom->name, strlen(custom->name));
  }
}

static cudaError_t may_list(cudaLibrary_t library) {
  if (!is_valid_library(library)) return cudaErrorInvalidResourceHandle;
  if (library->kind == IMAGE_JUNK) return cudaErrorInvalidKernelImage;
  if (library->kind == IMAGE_ALL) add_all_entries(library);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t library) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  cudaError_t code = count != NULL ? may_list(library) : cudaErrorInvalidValue;
  if (code == cudaSuccess) *count = (unsigned int)library->kernels.count;
  return fake_leave(&call, code);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *array, unsigned int capacity, cudaLibrary_t library) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  cudaError_t code = array != NULL || capacity == 0 ? may_list(library) : cudaErrorInvalidValue;
  for (size_t i = 0; code == cudaSuccess && i < library->kernels.count && i < capacity; i++) {
    array[i] = library->kernels.items[i];
  }
  return fake_leave(&call, code);
}

/* --- Kernels --- */

static cudaError_t kernel_of(const void *function, struct CUkern_st **found) {
  if (function == NULL) return cudaErrorInvalidDeviceFunction;
  for (size_t i = 0; i < kernels.count; i++) {
    struct CUkern_st *kernel = kernels.items[i];
    if (kernel != function) continue;
    *found = kernel;
    if (kernel->library != NULL) return cudaSuccess;
    fake_complain("Kernel %s was used after its library was unloaded.", kernel->name);
  }
  return cudaErrorInvalidResourceHandle;
}

cudaError_t cudaFuncGetName(const char **name, const void *function) {
  struct fake_call call;
  struct CUkern_st *kernel = NULL;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  cudaError_t code = name != NULL ? kernel_of(function, &kernel) : cudaErrorInvalidValue;
  if (code == cudaSuccess) *name = kernel->name;
  return fake_leave(&call, code);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
  struct fake_call call;
  struct CUkern_st *kernel = NULL;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  cudaError_t code = attributes != NULL ? kernel_of(function, &kernel) : cudaErrorInvalidValue;
  const struct cudaDeviceProp *properties = &fake_state.devices[fake_current_device()].properties;
  if (code == cudaSuccess) {
    *attributes = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024,
                                              .binaryVersion = 10 * properties->major + properties->minor};
  }
  return fake_leave(&call, code);
}

static bool is_launchable(const cudaLaunchConfig_t *config) {
  enum { SHARED_MAX = 48 * 1024, THREADS_MAX = 1024 };
  dim3 grid = config->gridDim;
  dim3 block = config->blockDim;
  bool has_grid = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 2147483647 && grid.y <= 65535 && grid.z <= 65535;
  bool has_block = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
  return has_grid && has_block && (uint64_t)block.x * block.y * block.z <= THREADS_MAX &&
         config->dynamicSmemBytes <= SHARED_MAX;
}

static void copy_arguments(struct fake_operation *operation, void **arguments) {
  static const size_t frame_bytes[] = {sizeof(struct gr_kernel_frame)};
  const struct fake_cuda_kernel *custom = operation->kernel->custom;
  size_t count = custom != NULL ? custom->parameter_count : 1;
  const size_t *bytes = custom != NULL ? custom->parameter_bytes : frame_bytes;
  operation->argument_count = count;
  operation->arguments = fake_allocate(count * sizeof *operation->arguments);
  operation->argument_bytes = fake_allocate(count * sizeof *operation->argument_bytes);
  for (size_t i = 0; i < count; i++) {
    operation->argument_bytes[i] = bytes[i];
    operation->arguments[i] = fake_allocate(bytes[i]);
    memcpy(operation->arguments[i], arguments[i], bytes[i]);
  }
}

static struct fake_operation *make_launch(struct CUkern_st *kernel, const cudaLaunchConfig_t *config,
                                          void **arguments) {
  struct fake_operation *operation = fake_operation_make(FAKE_KERNEL);
  operation->kernel = kernel;
  size_t name_bytes = strlen(kernel->name) + 1;
  operation->entry = fake_allocate(name_bytes);
  memcpy(operation->entry, kernel->name, name_bytes);
  operation->geometry = (struct fake_cuda_geometry){config->gridDim, config->blockDim, config->dynamicSmemBytes};
  copy_arguments(operation, arguments);
  return operation;
}

/* The launch of a built-in must be one that its kernel asks for. */
static void check_builtin(const struct fake_operation *operation) {
  const struct gr_kernel *kernel = operation->kernel->builtin;
  const struct gr_kernel_frame *frame = operation->arguments[0];
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX] = {0};
  uint32_t count = kernel->launches(kernel, frame, launches);
  const struct fake_cuda_geometry *is = &operation->geometry;
  const struct gr_kernel_launch *asked = &launches[frame->launch_index < count ? frame->launch_index : 0];
  bool fits = frame->launch_index < count && strcmp(asked->entry, operation->entry) == 0 &&
              asked->grid[0] == is->grid.x && asked->grid[1] == is->grid.y && asked->grid[2] == is->grid.z &&
              asked->block[0] == is->block.x && asked->block[1] == is->block.y && asked->block[2] == is->block.z &&
              asked->shared_bytes == is->shared_bytes && frame->argument_count == kernel->parameter_count;
  if (!fits) fake_complain("Entry %s was launched otherwise than its kernel asks for.", operation->entry);
}

static cudaError_t launch(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  struct CUkern_st *kernel = NULL;
  if (config == NULL) return cudaErrorInvalidValue;
  struct CUstream_st *stream = fake_stream_of(config->stream);
  if (stream == NULL) return cudaErrorInvalidResourceHandle;
  cudaError_t code = fake_may_issue(stream);
  if (code == cudaSuccess) code = kernel_of(function, &kernel);
  if (code == cudaSuccess && stream->device != fake_current_device()) code = cudaErrorInvalidResourceHandle;
  if (code != cudaSuccess) return code;
  if (kernel->builtin == NULL && kernel->custom == NULL) {
    fake_complain("Entry %s has no twin on the host.", kernel->name);
    return cudaErrorInvalidDeviceFunction;
  }
  bool needs_arguments = kernel->builtin != NULL || kernel->custom->parameter_count > 0;
  if (needs_arguments && arguments == NULL) fake_complain("Entry %s was launched without arguments.", kernel->name);
  if (!is_launchable(config) || (needs_arguments && arguments == NULL)) {
    /* Unlike a refused copy, a refused launch ends the capture. */
    if (stream->member != NULL) fake_capture_invalidate(fake_capture_of(stream));
    return cudaErrorInvalidValue;
  }
  struct fake_operation *operation = make_launch(kernel, config, arguments);
  if (kernel->builtin != NULL) check_builtin(operation);
  return fake_issue(config->stream, operation);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT)) return call.code;
  return fake_leave(&call, launch(config, function, arguments));
}

/* --- When a launch runs --- */

/* Of the kernel that runs now. */
static int running_device;
static cudaError_t running_fault;

void *fake_cuda_at(const void *device_address, size_t size_bytes) {
  if (!fake_is_inside()) return NULL;
  const struct fake_allocation *allocation = fake_memory_find(device_address);
  bool is_reachable = allocation != NULL && (allocation->kind != FAKE_DEVICE || allocation->device == running_device);
  unsigned char *bytes = is_reachable ? fake_memory_bytes(device_address, size_bytes) : NULL;
  if (bytes == NULL) {
    running_fault = cudaErrorIllegalAddress;
    return NULL;
  }
  bool is_mapped_otherwise = fake_state.mapped_apart && allocation->kind == FAKE_MAPPED && allocation->alias_of == NULL;
  if (allocation->kind == FAKE_PINNED || is_mapped_otherwise) {
    fake_complain("A kernel used page-locked memory by an address that was not mapped for it.");
  }
  return bytes;
}

/* Bytes from the first to behind the last of the box that a fill writes; 0 for an empty one. */
static size_t fill_bytes(const struct gr_kernel_frame *frame) {
  const struct gr_kernel_frame_argument *arguments = frame->arguments;
  uint64_t width = (uint64_t)arguments[GR_FILL_WIDTH].integer;
  uint64_t height = (uint64_t)arguments[GR_FILL_HEIGHT].integer;
  uint64_t depth = (uint64_t)arguments[GR_FILL_DEPTH].integer;
  if (width == 0 || height == 0 || depth == 0) return 0;
  return (depth - 1) * (uint64_t)arguments[GR_FILL_SLICE_PITCH].integer +
         (height - 1) * (uint64_t)arguments[GR_FILL_ROW_PITCH].integer +
         width * gr_type_size((enum gr_type)arguments[GR_FILL_DATA].type);
}

/* Replaces a buffer's device address by where its bytes are. */
static void localize(struct gr_kernel_frame_argument *argument, size_t size_bytes) {
  if (size_bytes == 0) return;
  if ((uintptr_t)argument->data % gr_type_size((enum gr_type)argument->type) != 0) {
    running_fault = cudaErrorMisalignedAddress;
    return;
  }
  argument->data = fake_cuda_at(argument->data, size_bytes);
}

static void run_builtin(const struct fake_operation *operation) {
  const struct gr_kernel *kernel = operation->kernel->builtin;
  struct gr_kernel_frame frame;
  memcpy(&frame, operation->arguments[0], sizeof frame);
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX] = {0};
  bool is_last = frame.launch_index + 1 == kernel->launches(kernel, &frame, launches);
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    struct gr_kernel_frame_argument *argument = &frame.arguments[i];
    if (kernel->parameters[i].kind != GR_PARAMETER_BUFFER) continue;
    size_t count = argument->rows * argument->columns;
    bool is_fill = kernel == fake_state.catalogue->fill;
    localize(argument, is_fill ? fill_bytes(&frame) : count * gr_type_size((enum gr_type)argument->type));
  }
  if (frame.scratch != NULL && (uintptr_t)frame.scratch % 16 != 0) running_fault = cudaErrorMisalignedAddress;
  if (frame.scratch != NULL) fake_cuda_at(frame.scratch, 16);
  frame.scratch = NULL;
  if (is_last && running_fault == cudaSuccess) kernel->host(kernel, &frame);
}

cudaError_t fake_kernel_run(const struct fake_operation *operation, int device) {
  const struct fake_cuda_kernel *custom = operation->kernel->custom;
  running_device = device;
  running_fault = cudaSuccess;
  fake_set_inside(true);
  if (custom != NULL) custom->run(operation->arguments, &operation->geometry, custom->context);
  else run_builtin(operation);
  fake_set_inside(false);
  return running_fault;
}

static void release_all(struct fake_list *list) {
  for (size_t i = 0; i < list->count; i++) free(list->items[i]);
  fake_list_release(list);
}

void fake_kernel_reset(void) {
  for (size_t i = 0; i < libraries.count; i++) {
    struct CUlib_st *library = libraries.items[i];
    fake_list_release(&library->kernels);
  }
  for (size_t i = 0; i < kernels.count; i++) free(((struct CUkern_st *)kernels.items[i])->name);
  release_all(&libraries);
  release_all(&kernels);
  release_all(&customs);
}
