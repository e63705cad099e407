/* What a test tells the double of the CUDA runtime, and what it can ask it.
 *
 * The double keeps CUDA's rules: each was read off an H200 (tests/unit/fake_cuda/rules_test.c runs the same checks
 * against the double and against a GPU). What a GPU may do in several ways, it does in a way that a seed chooses: work
 * that was put into streams waits until a call forces it, then it runs in any order that streams, events and edges
 * allow. So a missing edge, join or wait gives a wrong answer under some seed.
 *
 * Device memory has addresses that the host cannot touch: using one outside a copy or a kernel is a segmentation fault.
 *
 * Wrong uses that a real GPU lets pass (a copy's kind that does not fit its pointers, a kernel on pinned memory that
 * was not mapped, a handle used after its end) are noted as complaints; a test should end with none.
 *
 * All functions here may be called from any thread unless they say otherwise. */
#ifndef GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_FAKE_CUDA_CONTROL_H
#define GRAPHRUN_TESTS_SUPPORT_FAKE_CUDA_FAKE_CUDA_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernel.h"
#include "tests/support/fake_cuda/fake_cuda.h"

/* --- The whole --- */

/* As a fresh process: one device of 8 GiB, no kernels, no faults, seed 0, nothing alive, no complaints. Every thread's
 * current device is 0 and its last error is cleared. No other thread may be inside a call; all handles die. */
void fake_cuda_reset(void);

/* Seed 0: nothing runs before it is asked for, then in the order of issue. Any other: a legal order, at a legal time,
 * that the seed chooses. Counts from the next work on. */
void fake_cuda_set_seed(uint64_t seed);

/* --- Devices and driver --- */

enum { FAKE_CUDA_DEVICE_MAX = 8 };

/* 0 to FAKE_CUDA_DEVICE_MAX; with 0 every call says cudaErrorNoDevice. Before any use of the devices. */
void fake_cuda_set_device_count(int count);
/* What cudaGetDeviceProperties gives, to be changed in place; totalGlobalMem is also the limit of the device's memory.
 */
struct cudaDeviceProp *fake_cuda_properties(int device);
/* Bytes that cudaHostAlloc gives in all; 64 GiB at first. */
void fake_cuda_set_pinned_limit(size_t bytes);

enum fake_cuda_driver { FAKE_CUDA_DRIVER_READY, FAKE_CUDA_DRIVER_MISSING, FAKE_CUDA_DRIVER_TOO_OLD };
/* Both without a usable driver: every call says cudaErrorInsufficientDriver, cudaDriverGetVersion gives 0 or 12080. */
void fake_cuda_set_driver(enum fake_cuda_driver driver);

/* True: cudaHostGetDevicePointer gives addresses that differ from the host's (as on systems without unified addresses),
 * and kernels may only use those. */
void fake_cuda_set_mapped_apart(bool apart);

/* --- Kernels --- */

/* Entries named gr_KERNEL_VARIANT belong to the kernel with the longest name that fits, and run its host function. Of a
 * call of several launches the last one does the work, so that whoever waits for an earlier one finds nothing. A launch
 * must be one of those that the kernel's `launches` asks for, with its grid, block and shared memory. */
void fake_cuda_set_catalogue(const struct gr_catalogue *catalogue);

/* The grid of a launch. */
struct fake_cuda_geometry {
  dim3 grid, block;
  size_t shared_bytes;
};

/* A kernel of a test's own. `arguments` has parameter_count pointers to copies of the values; device addresses must go
 * through fake_cuda_at. It must not call the runtime. */
struct fake_cuda_kernel {
  const char *name;
  size_t parameter_count;
  const size_t *parameter_bytes;
  void (*run)(void *const *arguments, const struct fake_cuda_geometry *geometry, void *context);
  void *context;
};
/* Lives until the next reset. */
void fake_cuda_add_kernel(const struct fake_cuda_kernel *kernel);

/* Where a kernel finds the bytes of a device address: null where they are not all in one allocation that kernels can
 * reach, and then the launch ends in cudaErrorIllegalAddress. Only while a kernel runs. */
void *fake_cuda_at(const void *device_address, size_t size_bytes);
/* For tests that look into device memory without a copy: null where it is no device memory. */
void *fake_cuda_peek(const void *device_address);

/* The bytes of an image that cudaLibraryLoadData takes here: the names of its entries, each followed by "\n". Real fat
 * binaries, cubins and PTX are taken too, and hold every known kernel. What is neither is loaded without complaint, as
 * CUDA does, and its kernels cannot be got (cudaErrorInvalidKernelImage). */
#define FAKE_CUDA_IMAGE(entries) "fake_cuda image\n" entries

/* --- Failures --- */

/* The n-th call from now on (1 is the next one) gives `code` and does nothing else, but that what releases or ends
 * something still does so. 0: none. A code that marks a lost context loses the device too. A failed call inside a
 * capture does not invalidate it. Not counted: cudaGetLastError, cudaPeekAtLastError, names and versions. */
void fake_cuda_fail_call(uint64_t nth, cudaError_t code);
/* The same for calls of one function. Replaces what was set for any function. */
void fake_cuda_fail_function(const char *function, uint64_t nth, cudaError_t code);
/* The function whose call was failed by the latest order, or null where none was yet: the sign to stop counting n up.
 */
const char *fake_cuda_failed_function(void);

/* The n-th run of that kernel from now on (1 is the next one) does nothing and loses the device. */
void fake_cuda_fault_at_kernel(const char *entry, uint64_t nth, cudaError_t code);
/* The n-th piece of work (kernel, copy, memset, host function) that runs from now on, whatever it is. */
void fake_cuda_fault_at_work(uint64_t nth, cudaError_t code);
/* At once: as if another process had broken the GPU. */
void fake_cuda_lose_device(int device, cudaError_t code);

/* From now on that kernel, once started, does not end until it is released. */
void fake_cuda_hang_kernel(const char *entry);
void fake_cuda_release_hung(void);
/* How many are hanging right now. */
uint32_t fake_cuda_hung_count(void);
/* A call that waits for a hanging kernel for longer than this gives up with a complaint and cudaErrorLaunchTimeout,
 * where a real one would wait for ever; 20 seconds at first. */
void fake_cuda_set_patience_ms(uint64_t milliseconds);

/* --- What happened --- */

/* Calls since the reset, as fake_cuda_fail_call counts. */
uint64_t fake_cuda_call_count(void);
/* Calls of one function since the reset. */
uint64_t fake_cuda_function_count(const char *function);
/* Pieces of work that ran since the reset; of one kernel. */
uint64_t fake_cuda_work_count(void);
uint64_t fake_cuda_kernel_count(const char *entry);

/* What is alive: made and not destroyed. */
struct fake_cuda_live {
  uint64_t streams, events, graphs, execs, libraries, captures;
  uint64_t device_allocations, pinned_allocations, managed_allocations;
  uint64_t device_bytes, pinned_bytes; /* managed memory counts as the device's */
  uint64_t pending;                    /* pieces of work in streams that have not run */
};
void fake_cuda_get_live(struct fake_cuda_live *live);
/* How many things are alive, pending work aside: 0 where nothing leaks. */
uint64_t fake_cuda_live_count(void);

/* The first 64 complaints since the reset, as sentences. */
uint32_t fake_cuda_complaint_count(void);
const char *fake_cuda_complaint(uint32_t index);

/* What a node of a graph does: "kernel", "memcpy", "memset", "host", "empty", "event record", "event wait". */
const char *fake_cuda_node_kind(cudaGraphNode_t node);
/* Of a kernel node its entry, else null. */
const char *fake_cuda_node_entry(cudaGraphNode_t node);
/* Copies the n-th argument of a kernel node; false where it has no such argument of that size. */
bool fake_cuda_node_argument(cudaGraphNode_t node, size_t index, void *value, size_t size_bytes);

#endif
