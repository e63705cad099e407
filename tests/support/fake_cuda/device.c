/* Versions, devices, names of codes. */
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

cudaError_t cudaDriverGetVersion(int *version) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_NOTHING)) return call.code;
  if (version == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  switch (fake_state.driver) {
    case FAKE_CUDA_DRIVER_MISSING:
      *version = 0;
      break;
    case FAKE_CUDA_DRIVER_TOO_OLD:
      *version = 12080;
      break;
    default:
      *version = CUDART_VERSION;
  }
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_NOTHING)) return call.code;
  if (version == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int *count) {
  /* Without devices it says so, and still sets the count. */
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) {
    if (count != NULL && (call.code == cudaErrorNoDevice || call.code == cudaErrorInsufficientDriver)) *count = 0;
    return call.code;
  }
  if (count == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  *count = fake_state.device_count;
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, 0)) return call.code;
  if (properties == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  if (device < 0 || device >= fake_state.device_count) return fake_leave(&call, cudaErrorInvalidDevice);
  *properties = fake_state.devices[device].properties;
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_NEEDS_CONTEXT | FAKE_IS_UNSAFE)) return call.code;
  int device = fake_current_device();
  cudaError_t code = fake_capture_refuse_device(device);
  if (code == cudaSuccess && !fake_work_finish_device(device, call.function)) code = cudaErrorLaunchTimeout;
  if (fake_state.devices[device].lost != cudaSuccess) code = fake_state.devices[device].lost;
  return fake_leave(&call, code);
}

struct name_row {
  cudaError_t code;
  const char *name;
};
#define ROW(name, number) {name, #name},
static const struct name_row name_rows[] = {FAKE_CUDA_ERRORS(ROW)};
#undef ROW

const char *cudaGetErrorName(cudaError_t error) {
  for (size_t i = 0; i < sizeof name_rows / sizeof *name_rows; i++) {
    if (name_rows[i].code == error) return name_rows[i].name;
  }
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress:
      return "misaligned address";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    default:
      return cudaGetErrorName(error);
  }
}
