/* Versions, devices, names of codes. */
#include "tests/support/fake_cuda/error_texts.h"
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
      /* It looks harmless, and still is a use of the driver that no child survives. */
      fake_use_process();
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
  if (!fake_enter(&call, __func__, FAKE_SURVIVES_FORK)) {
    if (count != NULL && (call.code == cudaErrorNoDevice || call.code == cudaErrorInsufficientDriver)) *count = 0;
    return call.code;
  }
  if (count == NULL) return fake_leave(&call, cudaErrorInvalidValue);
  *count = fake_state.device_count;
  return fake_leave(&call, cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  struct fake_call call;
  if (!fake_enter(&call, __func__, FAKE_SURVIVES_FORK)) return call.code;
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

struct error_row {
  cudaError_t code;
  const char *name;
  const char *text;
};
#define ROW(name, text) {name, #name, text},
static const struct error_row error_rows[] = {FAKE_CUDA_ERROR_TEXTS(ROW)};
#undef ROW

static const struct error_row *error_row_of(cudaError_t error) {
  static const struct error_row unknown = {cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};
  for (size_t i = 0; i < sizeof error_rows / sizeof *error_rows; i++) {
    if (error_rows[i].code == error) return &error_rows[i];
  }
  return &unknown;
}

const char *cudaGetErrorName(cudaError_t error) { return error_row_of(error)->name; }

const char *cudaGetErrorString(cudaError_t error) { return error_row_of(error)->text; }
