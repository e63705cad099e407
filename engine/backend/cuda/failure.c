/* Errors of the runtime, in words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

bool gr_cuda_is_loss(cudaError_t code) {
  switch ((int)code) {
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

void gr_cuda_set_code(struct gr_error *error, cudaError_t code) {
  if (!error) return;
  snprintf(error->backend_code, sizeof error->backend_code, "%s", cudaGetErrorName(code));
}

enum gr_status gr_cuda_no_memory(struct gr_error *error, const char *doing) {
  return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while %s", doing);
}

static enum gr_status status_of(cudaError_t code) {
  switch ((int)code) {
    case cudaErrorMemoryAllocation:
      return GR_ERR_DEVICE_MEMORY;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorInitializationError:
      return GR_ERR_NO_DEVICE;
    default:
      return GR_ERR_BACKEND;
  }
}

void gr_cuda_lose(struct gr_device *device, const struct gr_error *cause) {
  gr_cuda_remember_loss(device->device_index, cause);
  if (device->is_lost) return;
  device->is_lost = true;
  if (!gr_cuda_recall_loss(device->device_index, &device->cause)) device->cause = *cause;
}

enum gr_status gr_cuda_lost(const struct gr_device *device, struct gr_error *error) {
  const struct gr_error *cause = &device->cause;
  gr_error_set(error, GR_ERR_DEVICE_LOST,
               "the context of CUDA device %u was lost in an earlier failure; only a new process can go on (%s)",
               device->device_index, cause->message);
  if (error) memcpy(error->backend_code, cause->backend_code, sizeof error->backend_code);
  return GR_ERR_DEVICE_LOST;
}

static enum gr_status describe_loss(struct gr_device *device, const struct gr_error *found, struct gr_error *error) {
  bool was_known = device->is_lost || gr_cuda_recall_loss(device->device_index, NULL);
  gr_cuda_lose(device, found);
  if (was_known) return gr_cuda_lost(device, error);
  if (error) *error = *found;
  return GR_ERR_DEVICE_LOST;
}

enum gr_status gr_cuda_failed(struct gr_device *device, cudaError_t code, struct gr_error *error, const char *format,
                              ...) {
  char doing[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(doing, sizeof doing, format, arguments);
  va_end(arguments);
  struct gr_error found = {0};
  bool is_loss = gr_cuda_is_loss(code);
  enum gr_status status = is_loss && device ? GR_ERR_DEVICE_LOST : status_of(code);
  gr_error_set(&found, status, "%s failed: %s", doing, cudaGetErrorString(code));
  gr_cuda_set_code(&found, code);
  if (is_loss && device) return describe_loss(device, &found, error);
  if (error) *error = found;
  return status;
}

enum gr_status gr_cuda_step_failed(struct gr_device *device, const struct gr_plan *plan, uint32_t step,
                                   cudaError_t code, struct gr_error *error) {
  struct gr_quote name = gr_view_quote(gr_view_of(gr_plan_node_name(plan, step)));
  struct gr_error found = {0};
  gr_plan_error(plan, step, &found, GR_ERR_NODE, "the device refused node %s: %s", name.text, cudaGetErrorString(code));
  gr_cuda_set_code(&found, code);
  if (gr_cuda_is_loss(code)) {
    gr_error_set(&found, GR_ERR_DEVICE_LOST, "the device was lost when node %s was queued: %s", name.text,
                 cudaGetErrorString(code));
    gr_cuda_set_code(&found, code);
    return describe_loss(device, &found, error);
  }
  if (error) *error = found;
  return GR_ERR_NODE;
}
