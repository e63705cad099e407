/* The lock, calls and their last error, growing arrays, complaints, resets. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

struct fake_state fake_state = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

enum { COMPLAINT_MAX = 64, COMPLAINT_BYTES = 256 };
static char complaints[COMPLAINT_MAX][COMPLAINT_BYTES];
static uint32_t complaint_count;

/* A thread's own; from another generation it counts as fresh. */
struct thread_state {
  uint64_t generation;
  int device;
  cudaError_t last;
  bool inside;
};
static _Thread_local struct thread_state this_thread;

static struct thread_state *thread_state(void) {
  if (this_thread.generation != fake_state.generation) {
    this_thread = (struct thread_state){.generation = fake_state.generation, .last = cudaSuccess};
  }
  return &this_thread;
}

void *fake_allocate(size_t size_bytes) {
  void *address = calloc(1, size_bytes > 0 ? size_bytes : 1);
  if (address == NULL) abort();
  return address;
}

void *fake_resize(void *address, size_t size_bytes) {
  void *moved = realloc(address, size_bytes);
  if (moved == NULL) abort();
  return moved;
}

void fake_list_add(struct fake_list *list, void *item) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity > 0 ? 2 * list->capacity : 4;
    list->items = fake_resize(list->items, list->capacity * sizeof *list->items);
  }
  list->items[list->count++] = item;
}

bool fake_list_has(const struct fake_list *list, const void *item) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i] == item) return true;
  }
  return false;
}

void fake_list_remove(struct fake_list *list, const void *item) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i] != item) list->items[kept++] = list->items[i];
  }
  list->count = kept;
}

void fake_list_copy(struct fake_list *to, const struct fake_list *from) {
  to->count = 0;
  for (size_t i = 0; i < from->count; i++) fake_list_add(to, from->items[i]);
}

void fake_list_release(struct fake_list *list) {
  free(list->items);
  *list = (struct fake_list){0};
}

static void start_up(void);

void fake_lock(void) {
  pthread_mutex_lock(&fake_state.lock);
  if (fake_state.generation == 0) start_up();
}

void fake_unlock(void) { pthread_mutex_unlock(&fake_state.lock); }

uint64_t fake_random(void) {
  /* splitmix64 */
  uint64_t z = fake_state.random += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

void fake_complain(const char *format, ...) {
  if (complaint_count < COMPLAINT_MAX) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaints[complaint_count], COMPLAINT_BYTES, format, arguments);
    va_end(arguments);
  }
  complaint_count++;
}

uint32_t fake_cuda_complaint_count(void) {
  fake_lock();
  uint32_t count = complaint_count;
  fake_unlock();
  return count;
}

const char *fake_cuda_complaint(uint32_t index) {
  return index < COMPLAINT_MAX && complaints[index][0] != '\0' ? complaints[index] : "none";
}

int fake_current_device(void) { return thread_state()->device; }

/* Without the lock: a thread inside a kernel holds it already. Its generation cannot change meanwhile. */
bool fake_is_inside(void) { return this_thread.inside; }

void fake_set_inside(bool inside) { thread_state()->inside = inside; }

bool fake_code_is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

void fake_lose(int device, cudaError_t code) {
  if (fake_state.devices[device].lost != cudaSuccess) return;
  fake_state.devices[device].lost = code;
  fake_work_abandon(device);
  pthread_cond_broadcast(&fake_state.changed);
}

void fake_cuda_lose_device(int device, cudaError_t code) {
  fake_lock();
  fake_lose(device, code);
  fake_unlock();
}

bool fake_use_process(void) {
  if (fake_state.process == 0) fake_state.process = getpid();
  return fake_state.process != getpid();
}

/* What stands in the way of any call: no driver, no device, a parent process that has used CUDA already. */
static cudaError_t missing_ground(unsigned int flags) {
  if (fake_state.driver != FAKE_CUDA_DRIVER_READY) return cudaErrorInsufficientDriver;
  bool is_child = fake_use_process();
  if (is_child && (flags & FAKE_SURVIVES_FORK) == 0) return cudaErrorInitializationError;
  if (fake_state.device_count == 0) return cudaErrorNoDevice;
  return cudaSuccess;
}

/* The code that was decided before the call could do anything; `may_work` becomes false where it must do nothing. */
static cudaError_t decided_beforehand(const char *function, unsigned int flags, bool *may_work) {
  *may_work = true;
  if ((flags & FAKE_NEEDS_NOTHING) != 0) return cudaSuccess;
  cudaError_t failure = fake_failure_for(function);
  *may_work = (flags & FAKE_RELEASES) != 0;
  if (failure != cudaSuccess) {
    if (fake_code_is_sticky(failure)) fake_lose(fake_current_device(), failure);
    return failure;
  }
  cudaError_t lost = fake_state.devices[fake_current_device()].lost;
  if ((flags & FAKE_NEEDS_CONTEXT) != 0 && lost != cudaSuccess) return lost;
  cudaError_t ground = missing_ground(flags);
  if (ground == cudaSuccess && (flags & FAKE_IS_UNSAFE) != 0) ground = fake_capture_refuse_unsafe();
  *may_work = ground == cudaSuccess;
  return ground;
}

bool fake_enter(struct fake_call *call, const char *function, unsigned int flags) {
  *call = (struct fake_call){.function = function, .code = cudaSuccess};
  if (fake_is_inside()) {
    call->code = cudaErrorNotPermitted;
    return false;
  }
  fake_lock();
  bool may_work = true;
  call->code = decided_beforehand(function, flags, &may_work);
  if (may_work) return true;
  fake_leave(call, call->code);
  return false;
}

cudaError_t fake_leave(struct fake_call *call, cudaError_t code) {
  if (call->code != cudaSuccess) code = call->code;
  /* "Not ready" is an answer, not an error. */
  if (code != cudaSuccess && code != cudaErrorNotReady) thread_state()->last = code;
  fake_unlock();
  return code;
}

cudaError_t cudaGetLastError(void) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_NOTHING)) return call.code;
  cudaError_t last = thread_state()->last;
  thread_state()->last = cudaSuccess;
  fake_unlock();
  return last;
}

cudaError_t cudaPeekAtLastError(void) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_NOTHING)) return call.code;
  cudaError_t last = thread_state()->last;
  fake_unlock();
  return last;
}

cudaError_t cudaGetDevice(int *device) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  if (device == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  *device = thread_state()->device;
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaSetDevice(int device) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  if (device < 0 || device >= fake_state.device_count) return fake_leave(&call, cudaErrorInvalidDevice);
  thread_state()->device = device;
  return fake_leave(&call, cudaSuccess);
}

static void set_properties(struct cudaDeviceProp *properties) {
  *properties = (struct cudaDeviceProp){
      .totalGlobalMem = (size_t)8 << 30,
      .memPitch = 2147483647,
      .major = 9,
      .minor = 0,
      .multiProcessorCount = 132,
      .canMapHostMemory = 1,
      .managedMemory = 1,
  };
  static const char name[] = "Test double of a GPU";
  memcpy(properties->name, name, sizeof name);
}

static void set_defaults(void) {
  fake_state.generation++;
  fake_state.process = 0;
  fake_state.device_count = 1;
  fake_state.driver = FAKE_CUDA_DRIVER_READY;
  fake_state.pinned_limit = (size_t)64 << 30;
  fake_state.pinned_bytes = 0;
  fake_state.mapped_apart = false;
  fake_state.seed = fake_state.random = 0;
  fake_state.patience_ms = 20000;
  fake_state.live = (struct fake_cuda_live){0};
  fake_state.catalogue = NULL;
  for (int i = 0; i < FAKE_CUDA_DEVICE_MAX; i++) {
    struct fake_device *device = &fake_state.devices[i];
    device->lost = cudaSuccess;
    device->used_bytes = 0;
    set_properties(&device->properties);
    device->legacy = (struct CUstream_st){.is_legacy = true, .is_blocking = true, .device = i};
  }
}

static void start_up(void) { set_defaults(); }

void fake_cuda_reset(void) {
  fake_lock();
  fake_work_reset();
  fake_streams_reset();
  fake_capture_reset();
  fake_graphs_reset();
  fake_kernel_reset();
  fake_memory_reset();
  fake_faults_reset();
  memset(complaints, 0, sizeof complaints);
  complaint_count = 0;
  set_defaults();
  fake_unlock();
}

void fake_cuda_set_seed(uint64_t seed) {
  fake_lock();
  fake_state.seed = fake_state.random = seed;
  fake_unlock();
}

void fake_cuda_set_device_count(int count) {
  fake_lock();
  fake_state.device_count = count < 0 ? 0 : count > FAKE_CUDA_DEVICE_MAX ? FAKE_CUDA_DEVICE_MAX : count;
  fake_unlock();
}

struct cudaDeviceProp *fake_cuda_properties(int device) {
  fake_lock();
  fake_unlock();
  return &fake_state.devices[device].properties;
}

void fake_cuda_set_pinned_limit(size_t bytes) {
  fake_lock();
  fake_state.pinned_limit = bytes;
  fake_unlock();
}

void fake_cuda_set_driver(enum fake_cuda_driver driver) {
  fake_lock();
  fake_state.driver = driver;
  fake_unlock();
}

void fake_cuda_set_mapped_apart(bool apart) {
  fake_lock();
  fake_state.mapped_apart = apart;
  fake_unlock();
}

void fake_cuda_set_patience_ms(uint64_t milliseconds) {
  fake_lock();
  fake_state.patience_ms = milliseconds;
  fake_unlock();
}

void fake_cuda_get_live(struct fake_cuda_live *live) {
  fake_lock();
  *live = fake_state.live;
  live->captures = fake_capture_count();
  live->pinned_bytes = fake_state.pinned_bytes;
  live->device_bytes = 0;
  for (int i = 0; i < FAKE_CUDA_DEVICE_MAX; i++) live->device_bytes += fake_state.devices[i].used_bytes;
  fake_unlock();
}

uint64_t fake_cuda_live_count(void) {
  struct fake_cuda_live live;
  fake_cuda_get_live(&live);
  return live.streams + live.events + live.graphs + live.execs + live.libraries + live.captures +
         live.device_allocations + live.pinned_allocations + live.managed_allocations;
}
