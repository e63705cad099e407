/* The part of the CUDA runtime's interface that the CUDA back end and its tests use, so that both build where there is
 * no toolkit. Names, values and signatures are CUDA's (13.0); a test compares them with the toolkit's header where
 * there is one. Structs hold only the members in use, and enums only the values.
 *
 * With FAKE_CUDA_COMPARE the types come from the toolkit, and the prototypes below are redeclarations of its own. */
#ifndef GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_FAKE_CUDA_H
#define GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_FAKE_CUDA_H

#include <stddef.h>

/* Code, number. */
#define FAKE_CUDA_ERRORS(X)                   \
  X(cudaSuccess, 0)                           \
  X(cudaErrorInvalidValue, 1)                 \
  X(cudaErrorMemoryAllocation, 2)             \
  X(cudaErrorInitializationError, 3)          \
  X(cudaErrorCudartUnloading, 4)              \
  X(cudaErrorInvalidConfiguration, 9)         \
  X(cudaErrorInvalidPitchValue, 12)           \
  X(cudaErrorInvalidMemcpyDirection, 21)      \
  X(cudaErrorInsufficientDriver, 35)          \
  X(cudaErrorDevicesUnavailable, 46)          \
  X(cudaErrorInvalidDeviceFunction, 98)       \
  X(cudaErrorNoDevice, 100)                   \
  X(cudaErrorInvalidDevice, 101)              \
  X(cudaErrorInvalidKernelImage, 200)         \
  X(cudaErrorNoKernelImageForDevice, 209)     \
  X(cudaErrorECCUncorrectable, 214)           \
  X(cudaErrorInvalidPtx, 218)                 \
  X(cudaErrorNvlinkUncorrectable, 220)        \
  X(cudaErrorJitCompilerNotFound, 221)        \
  X(cudaErrorUnsupportedPtxVersion, 222)      \
  X(cudaErrorContained, 226)                  \
  X(cudaErrorOperatingSystem, 304)            \
  X(cudaErrorInvalidResourceHandle, 400)      \
  X(cudaErrorIllegalState, 401)               \
  X(cudaErrorSymbolNotFound, 500)             \
  X(cudaErrorNotReady, 600)                   \
  X(cudaErrorIllegalAddress, 700)             \
  X(cudaErrorLaunchOutOfResources, 701)       \
  X(cudaErrorLaunchTimeout, 702)              \
  X(cudaErrorContextIsDestroyed, 709)         \
  X(cudaErrorAssert, 710)                     \
  X(cudaErrorHardwareStackError, 714)         \
  X(cudaErrorIllegalInstruction, 715)         \
  X(cudaErrorMisalignedAddress, 716)          \
  X(cudaErrorInvalidAddressSpace, 717)        \
  X(cudaErrorInvalidPc, 718)                  \
  X(cudaErrorLaunchFailure, 719)              \
  X(cudaErrorTensorMemoryLeak, 721)           \
  X(cudaErrorNotPermitted, 800)               \
  X(cudaErrorNotSupported, 801)               \
  X(cudaErrorSystemNotReady, 802)             \
  X(cudaErrorSystemDriverMismatch, 803)       \
  X(cudaErrorCompatNotSupportedOnDevice, 804) \
  X(cudaErrorMpsConnectionFailed, 805)        \
  X(cudaErrorMpsClientTerminated, 810)        \
  X(cudaErrorStreamCaptureUnsupported, 900)   \
  X(cudaErrorStreamCaptureInvalidated, 901)   \
  X(cudaErrorStreamCaptureMerge, 902)         \
  X(cudaErrorStreamCaptureUnmatched, 903)     \
  X(cudaErrorStreamCaptureUnjoined, 904)      \
  X(cudaErrorStreamCaptureIsolation, 905)     \
  X(cudaErrorStreamCaptureImplicit, 906)      \
  X(cudaErrorCapturedEvent, 907)              \
  X(cudaErrorStreamCaptureWrongThread, 908)   \
  X(cudaErrorExternalDevice, 911)             \
  X(cudaErrorUnknown, 999)

/* Other constants: name, value. */
#define FAKE_CUDA_CONSTANTS(X)             \
  X(cudaMemcpyHostToHost, 0)               \
  X(cudaMemcpyHostToDevice, 1)             \
  X(cudaMemcpyDeviceToHost, 2)             \
  X(cudaMemcpyDeviceToDevice, 3)           \
  X(cudaMemcpyDefault, 4)                  \
  X(cudaStreamCaptureModeGlobal, 0)        \
  X(cudaStreamCaptureModeThreadLocal, 1)   \
  X(cudaStreamCaptureModeRelaxed, 2)       \
  X(cudaStreamCaptureStatusNone, 0)        \
  X(cudaStreamCaptureStatusActive, 1)      \
  X(cudaStreamCaptureStatusInvalidated, 2) \
  X(cudaStreamAddCaptureDependencies, 0)   \
  X(cudaStreamSetCaptureDependencies, 1)   \
  X(cudaDevAttrManagedMemory, 83)          \
  X(cudaHostAllocPortable, 0x01)           \
  X(cudaHostAllocMapped, 0x02)             \
  X(cudaStreamDefault, 0x00)               \
  X(cudaStreamNonBlocking, 0x01)           \
  X(cudaEventDefault, 0x00)                \
  X(cudaEventDisableTiming, 0x02)          \
  X(cudaEventRecordExternal, 0x01)         \
  X(cudaEventWaitExternal, 0x01)           \
  X(cudaMemAttachGlobal, 0x01)

/* Members in use: struct, member, type. */
#define FAKE_CUDA_MEMBERS(X)                                 \
  X(struct cudaDeviceProp, name, char[256])                  \
  X(struct cudaDeviceProp, totalGlobalMem, size_t)           \
  X(struct cudaDeviceProp, memPitch, size_t)                 \
  X(struct cudaDeviceProp, major, int)                       \
  X(struct cudaDeviceProp, minor, int)                       \
  X(struct cudaDeviceProp, multiProcessorCount, int)         \
  X(struct cudaDeviceProp, canMapHostMemory, int)            \
  X(struct cudaDeviceProp, managedMemory, int)               \
  X(dim3, x, unsigned int)                                   \
  X(dim3, y, unsigned int)                                   \
  X(dim3, z, unsigned int)                                   \
  X(struct cudaExtent, width, size_t)                        \
  X(struct cudaExtent, height, size_t)                       \
  X(struct cudaExtent, depth, size_t)                        \
  X(struct cudaPitchedPtr, ptr, void *)                      \
  X(struct cudaPitchedPtr, pitch, size_t)                    \
  X(struct cudaPitchedPtr, xsize, size_t)                    \
  X(struct cudaPitchedPtr, ysize, size_t)                    \
  X(struct cudaMemcpy3DParms, srcPtr, struct cudaPitchedPtr) \
  X(struct cudaMemcpy3DParms, dstPtr, struct cudaPitchedPtr) \
  X(struct cudaMemcpy3DParms, extent, struct cudaExtent)     \
  X(struct cudaMemcpy3DParms, kind, enum cudaMemcpyKind)     \
  X(cudaLaunchConfig_t, gridDim, dim3)                       \
  X(cudaLaunchConfig_t, blockDim, dim3)                      \
  X(cudaLaunchConfig_t, dynamicSmemBytes, size_t)            \
  X(cudaLaunchConfig_t, stream, cudaStream_t)                \
  X(struct cudaFuncAttributes, binaryVersion, int)           \
  X(struct cudaFuncAttributes, maxThreadsPerBlock, int)

#ifdef FAKE_CUDA_COMPARE
#include <cuda_runtime_api.h>
#pragma GCC diagnostic ignored "-Wredundant-decls" /* each prototype is declared twice on purpose */
#else

#define CUDART_VERSION 13000

#define FAKE_CUDA_ENUMERATOR(name, number) name = number,
enum cudaError { FAKE_CUDA_ERRORS(FAKE_CUDA_ENUMERATOR) };
#undef FAKE_CUDA_ENUMERATOR
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated,
};
enum cudaStreamUpdateCaptureDependenciesFlags {
  cudaStreamAddCaptureDependencies,
  cudaStreamSetCaptureDependencies,
};
enum cudaDeviceAttr { cudaDevAttrManagedMemory = 83 };
enum cudaJitOption { cudaJitMaxRegisters };
enum cudaLibraryOption { cudaLibraryHostUniversalFunctionAndDataTable };

#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaEventDefault 0x00
#define cudaEventDisableTiming 0x02
#define cudaEventRecordExternal 0x01
#define cudaEventWaitExternal 0x01
#define cudaMemAttachGlobal 0x01

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct CUkern_st *cudaKernel_t;
typedef void (*cudaHostFn_t)(void *userData);

struct dim3 {
  unsigned int x, y, z;
};
typedef struct dim3 dim3;

struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPitchedPtr {
  void *ptr;
  size_t pitch, xsize, ysize;
};
struct cudaMemcpy3DParms {
  struct cudaPitchedPtr srcPtr;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  enum cudaMemcpyKind kind;
};
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t memPitch;
  int major;
  int minor;
  int multiProcessorCount;
  int canMapHostMemory;
  int managedMemory;
};
struct cudaFuncAttributes {
  int maxThreadsPerBlock;
  int binaryVersion;
};
typedef struct cudaLaunchConfig_st {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
} cudaLaunchConfig_t;
typedef struct cudaGraphEdgeData_st {
  unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;
#endif

cudaError_t cudaDriverGetVersion(int *driverVersion);
cudaError_t cudaRuntimeGetVersion(int *runtimeVersion);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **devPtr, size_t size);
cudaError_t cudaFree(void *devPtr);
cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags);
cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags);
cudaError_t cudaMemset(void *devPtr, int value, size_t count);
cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream);
cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t *pStream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                     const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
                                     size_t *numDependencies_out);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                                unsigned int flags);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
cudaError_t cudaFuncGetName(const char **name, const void *func);
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
                                void **jitOptionsValues, unsigned int numJitOptions,
                                enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                unsigned int numLibraryOptions);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib);

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                  size_t numDependencies);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edgeData, size_t *numEdges);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                         cudaGraphEdgeData *edgeData, size_t *pNumDependencies);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec);
cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);

#endif
