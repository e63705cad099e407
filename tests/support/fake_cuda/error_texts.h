/* What cudaGetErrorString says. Code, text; a test compares them with the runtime's where there is a toolkit. */
#ifndef GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_ERROR_TEXTS_H
#define GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_ERROR_TEXTS_H

#define FAKE_CUDA_ERROR_TEXTS(X)                                                                                    \
  X(cudaSuccess, "no error")                                                                                        \
  X(cudaErrorInvalidValue, "invalid argument")                                                                      \
  X(cudaErrorMemoryAllocation, "out of memory")                                                                     \
  X(cudaErrorInitializationError, "initialization error")                                                           \
  X(cudaErrorCudartUnloading, "driver shutting down")                                                               \
  X(cudaErrorInvalidConfiguration, "invalid configuration argument")                                                \
  X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                                           \
  X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                           \
  X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                    \
  X(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")                               \
  X(cudaErrorInvalidDeviceFunction, "invalid device function")                                                      \
  X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                                        \
  X(cudaErrorInvalidDevice, "invalid device ordinal")                                                               \
  X(cudaErrorInvalidKernelImage, "device kernel image is invalid")                                                  \
  X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")                    \
  X(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                                               \
  X(cudaErrorInvalidPtx, "a PTX JIT compilation failed")                                                            \
  X(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution")                       \
  X(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found")                                             \
  X(cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain.")                 \
  X(cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error")                        \
  X(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS")                               \
  X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                                      \
  X(cudaErrorIllegalState, "the operation cannot be performed in the present state")                                \
  X(cudaErrorSymbolNotFound, "named symbol not found")                                                              \
  X(cudaErrorNotReady, "device not ready")                                                                          \
  X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                                            \
  X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                                       \
  X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                                              \
  X(cudaErrorContextIsDestroyed, "context is destroyed")                                                            \
  X(cudaErrorAssert, "device-side assert triggered")                                                                \
  X(cudaErrorHardwareStackError, "hardware stack error")                                                            \
  X(cudaErrorIllegalInstruction, "an illegal instruction was encountered")                                          \
  X(cudaErrorMisalignedAddress, "misaligned address")                                                               \
  X(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space")                         \
  X(cudaErrorInvalidPc, "invalid program counter")                                                                  \
  X(cudaErrorLaunchFailure, "unspecified launch failure")                                                           \
  X(cudaErrorTensorMemoryLeak, "tensor memory not completely freed")                                                \
  X(cudaErrorNotPermitted, "operation not permitted")                                                               \
  X(cudaErrorNotSupported, "operation not supported")                                                               \
  X(cudaErrorSystemNotReady, "system not yet initialized")                                                          \
  X(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination")               \
  X(cudaErrorCompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW")                 \
  X(cudaErrorMpsConnectionFailed, "MPS client failed to connect to the MPS control daemon or the MPS server")       \
  X(cudaErrorMpsClientTerminated, "the MPS client has been terminated by the server")                               \
  X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")                          \
  X(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")                   \
  X(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences")                 \
  X(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")                        \
  X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                                           \
  X(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream")                     \
  X(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream") \
  X(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream")              \
  X(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread")  \
  X(cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA")                       \
  X(cudaErrorUnknown, "unknown error")

#endif
