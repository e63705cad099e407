/* Which devices there are, and one of them made ready. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/backend/cuda/cuda_internal.h"

#ifdef FAKE_CUDA
static bool has_driver(void) {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess && version > 0;
}
#else
#include <dlfcn.h>

/* The runtime says the same of a driver that is not there and of one that is too old. */
static bool has_driver(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return false;
  dlclose(driver);
  return true;
}
#endif

/* ---- looking ---- */

static void put_versions(struct gr_probe *probe, int driver, int runtime) {
  if (driver <= 0) return;
  snprintf(probe->driver, sizeof probe->driver, "driver for CUDA %d.%d, runtime %d.%d", driver / 1000,
           driver / 10 % 100, runtime / 1000, runtime / 10 % 100);
}

static enum gr_status look(void *context) {
  struct gr_probe *probe = context;
  if (!has_driver()) {
    snprintf(probe->reason, sizeof probe->reason, "there is no NVIDIA driver (libcuda.so.1) on this machine");
    return GR_OK;
  }
  int driver = 0, runtime = 0, count = 0;
  (void)cudaRuntimeGetVersion(&runtime);
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  put_versions(probe, driver, runtime);
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) {
    probe->device_count = (uint32_t)count;
  } else if (code == cudaErrorInsufficientDriver) {
    snprintf(probe->reason, sizeof probe->reason,
             "the NVIDIA driver is for CUDA %d.%d, and this program needs one for %d.%d or later", driver / 1000,
             driver / 10 % 100, runtime / 1000, runtime / 10 % 100);
  } else if (code == cudaErrorInitializationError && !gr_cuda_claim_process()) {
    snprintf(probe->reason, sizeof probe->reason,
             "CUDA was used before this process was forked, and cannot be used in the child");
  } else if (code == cudaSuccess || code == cudaErrorNoDevice) {
    snprintf(probe->reason, sizeof probe->reason, "the NVIDIA driver sees no device");
  } else {
    snprintf(probe->reason, sizeof probe->reason, "CUDA cannot be started: %s (%s)", cudaGetErrorString(code),
             cudaGetErrorName(code));
  }
  if (code == cudaSuccess) (void)gr_cuda_claim_process();
  return GR_OK;
}

void gr_cuda_probe(struct gr_probe *probe) {
  memset(probe, 0, sizeof *probe);
  (void)gr_cuda_within(-1, true, look, probe);
}

/* The device is there: its index is below the count. */
static enum gr_status check_index(uint32_t device_index, uint32_t *count, struct gr_error *error) {
  struct gr_probe probe = {0};
  (void)look(&probe);
  if (probe.device_count == 0) return gr_error_set(error, GR_ERR_NO_DEVICE, "no CUDA device: %s", probe.reason);
  *count = probe.device_count;
  if (device_index < probe.device_count) return GR_OK;
  return gr_error_set(error, GR_ERR_NO_DEVICE, "there is no CUDA device %u: they are numbered 0 to %u", device_index,
                      probe.device_count - 1);
}

struct question {
  uint32_t device_index;
  struct gr_device_info *info;
  struct gr_error *error;
};

static enum gr_status answer(void *context) {
  struct question *question = context;
  uint32_t count;
  GR_RETURN_IF_FAILED(check_index(question->device_index, &count, question->error));
  struct cudaDeviceProp properties;
  GR_CUDA_RETURN_IF_FAILED(NULL, cudaGetDeviceProperties(&properties, (int)question->device_index), question->error,
                           "asking CUDA device %u for its properties", question->device_index);
  struct gr_device_info *info = question->info;
  memset(info, 0, sizeof *info);
  snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, properties.name);
  info->memory_bytes = properties.totalGlobalMem;
  info->compute_major = (uint32_t)properties.major;
  info->compute_minor = (uint32_t)properties.minor;
  info->unit_count = (uint32_t)properties.multiProcessorCount;
  return GR_OK;
}

enum gr_status gr_cuda_describe(uint32_t device_index, struct gr_device_info *info, struct gr_error *error) {
  struct question question = {.device_index = device_index, .info = info, .error = error};
  return gr_cuda_within(-1, true, answer, &question);
}

/* ---- page-locked memory ---- */

enum gr_status gr_cuda_require_current(struct gr_device *device, struct gr_error *error) {
  int index = (int)device->device_index, current = -1;
  GR_CUDA_RETURN_IF_FAILED(device, cudaGetDevice(&current), error, "asking for the current CUDA device");
  if (current == index) return GR_OK;
  /* Once more, to hear why; where it works now, the caller's device stays what it was all the same. */
  GR_CUDA_RETURN_IF_FAILED(device, cudaSetDevice(index), error, "making CUDA device %d the current one", index);
  (void)cudaSetDevice(current);
  return gr_error_set(error, GR_ERR_BACKEND, "CUDA device %d could not be made the current one", index);
}

enum gr_status gr_cuda_device_check(const struct gr_device *device, struct gr_error *error) {
  if (device->process != getpid()) {
    return gr_error_set(error, GR_ERR_STATE,
                        "the process was forked after CUDA device %u was opened: it cannot be used in the child",
                        device->device_index);
  }
  return device->is_lost ? gr_cuda_lost(device, error) : GR_OK;
}

bool gr_cuda_device_is_free(const struct gr_device *device) {
  return device->process == getpid() && !gr_cuda_has_stuck(device->device_index);
}

static void *take_pinned(void *context, size_t size_bytes) {
  (void)context;
  void *address = NULL;
  if (cudaHostAlloc(&address, size_bytes, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) return NULL;
  return address;
}

static void give_pinned_back(void *context, void *address) {
  const struct gr_device *device = context;
  if (gr_cuda_device_is_free(device)) (void)cudaFreeHost(address);
}

void *gr_cuda_device_pool(struct gr_device *device) {
  if (device->pool) return device->pool;
  /* The library's own pool takes its memory as context. */
  void *context = device->pinned == &gr_pinned_default ? device->memory : device->pinned->context;
  device->pool = device->pinned->create(context, &device->source);
  return device->pool;
}

/* ---- opening ---- */

struct opening {
  struct gr_device *device;
  struct gr_error *error;
};

/* The first call that needs the context makes it; that takes 200 to 400 ms. */
static enum gr_status make_ready(void *context) {
  struct opening *opening = context;
  struct gr_device *device = opening->device;
  struct cudaDeviceProp properties;
  GR_RETURN_IF_FAILED(gr_cuda_require_current(device, opening->error));
  GR_CUDA_RETURN_IF_FAILED(device, cudaGetDeviceProperties(&properties, (int)device->device_index), opening->error,
                           "asking CUDA device %u for its properties", device->device_index);
  snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1, properties.name);
  device->pitch_max = properties.memPitch;
  device->compute_major = properties.major;
  device->compute_minor = properties.minor;
  device->has_managed = properties.managedMemory != 0;
  size_t free_bytes, total_bytes;
  GR_CUDA_RETURN_IF_FAILED(device, cudaMemGetInfo(&free_bytes, &total_bytes), opening->error,
                           "making a context on CUDA device %u (%s)", device->device_index, device->name);
  return GR_OK;
}

static enum gr_status find_device(void *context) {
  struct opening *opening = context;
  if (!gr_cuda_claim_process()) {
    return gr_error_set(opening->error, GR_ERR_STATE,
                        "CUDA was used before this process was forked, and cannot be used in the child: fork first, or "
                        "start a new program");
  }
  return check_index(opening->device->device_index, &opening->device->device_count, opening->error);
}

/* A context that is lost answers every call with that, or says that the device is not available. */
static enum gr_status open_context(struct opening *opening) {
  struct gr_device *device = opening->device;
  struct gr_error found = {0};
  struct gr_error *error = opening->error;
  opening->error = &found;
  enum gr_status status = gr_cuda_within((int)device->device_index, true, make_ready, opening);
  if (status == GR_OK) return GR_OK;
  bool is_loss = status == GR_ERR_DEVICE_LOST || strcmp(found.backend_code, "cudaErrorDevicesUnavailable") == 0;
  if (is_loss && gr_cuda_recall_loss(device->device_index, &device->cause)) return gr_cuda_lost(device, error);
  if (error) *error = found;
  return status;
}

enum gr_status gr_cuda_open(struct gr_memory *memory, const struct gr_device_options *options,
                            struct gr_device **device, struct gr_error *error) {
  struct gr_device *made = gr_memory_allocate_zeroed(memory, 1, sizeof *made);
  if (!made) return gr_cuda_no_memory(error, "a CUDA device was opened");
  made->memory = memory;
  made->device_index = options->device_index;
  made->catalogue = options->catalogue;
  made->process = getpid();
  made->pinned = options->pinned ? options->pinned : &gr_pinned_default;
  made->source = (struct gr_pinned_source){.take = take_pinned, .give_back = give_pinned_back, .context = made};
  struct opening opening = {.device = made, .error = error};
  enum gr_status status = gr_cuda_within(-1, true, find_device, &opening);
  if (status == GR_OK && gr_cuda_has_stuck(made->device_index)) {
    status =
        gr_error_set(error, GR_ERR_STATE,
                     "a run on CUDA device %u was broken off and is still running there; only a new process can go "
                     "on",
                     made->device_index);
  }
  if (status == GR_OK) status = open_context(&opening);
  if (status != GR_OK) {
    gr_memory_release(memory, made);
    return status;
  }
  *device = made;
  return GR_OK;
}

/* ---- closing ---- */

static enum gr_status release(void *context) {
  struct gr_device *device = context;
  if (device->pool) device->pinned->destroy(device->pool);
  gr_cuda_blas_destroy(device->memory, device->blas);
  gr_cuda_kernels_release(device);
  return GR_OK;
}

void gr_cuda_close(struct gr_device *device) {
  if (!device) return;
  /* Where freeing might block, or the context belongs to a parent process, all but our own words is left. */
  if (gr_cuda_device_is_free(device)) {
    (void)gr_cuda_within((int)device->device_index, true, release, device);
  } else {
    gr_memory_release(device->memory, device->kernels.libraries);
    gr_memory_release(device->memory, device->kernels.entries);
    /* A program's own pool stays, and so must what it gives its memory back to. */
    if (device->pool && device->pinned != &gr_pinned_default) return;
    if (device->pool) device->pinned->destroy(device->pool);
  }
  gr_memory_release(device->memory, device);
}
