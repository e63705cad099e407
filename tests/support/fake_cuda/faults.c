/* Failures, faults and hangs that a test orders, and the counts that they go by. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_internal.h"

struct count {
  char name[64];
  uint64_t count;
};

enum { NAME_MAX_COUNT = 256 };
static struct count functions[NAME_MAX_COUNT], kernels[NAME_MAX_COUNT];
static uint64_t call_count, work_count;

static struct {
  char function[64]; /* empty: any */
  uint64_t left;     /* calls until it fails; 0: none */
  cudaError_t code;
  char failed[64];
} failure;

static struct {
  char entry[128]; /* empty: any work */
  uint64_t left;
  cudaError_t code;
} fault;

static char hanging[128];

static void set_name(char *to, size_t capacity, const char *from) {
  to[0] = '\0';
  if (from != NULL) strncat(to, from, capacity - 1);
}

/* The row of that name, a new one where there is none. */
static struct count *row_of(struct count *rows, const char *name) {
  size_t i = 0;
  while (i < NAME_MAX_COUNT - 1 && rows[i].name[0] != '\0' && strncmp(rows[i].name, name, 63) != 0) i++;
  if (rows[i].name[0] == '\0') set_name(rows[i].name, sizeof rows[i].name, name);
  return &rows[i];
}

cudaError_t fake_failure_for(const char *function) {
  call_count++;
  row_of(functions, function)->count++;
  if (failure.left == 0) return cudaSuccess;
  if (failure.function[0] != '\0' && strcmp(failure.function, function) != 0) return cudaSuccess;
  if (--failure.left > 0) return cudaSuccess;
  set_name(failure.failed, sizeof failure.failed, function);
  return failure.code;
}

static void order_failure(const char *function, uint64_t nth, cudaError_t code) {
  fake_lock();
  set_name(failure.function, sizeof failure.function, function);
  failure.left = nth;
  failure.failed[0] = '\0';
  failure.code = code;
  fake_unlock();
}

void fake_cuda_fail_call(uint64_t nth, cudaError_t code) { order_failure(NULL, nth, code); }

void fake_cuda_fail_function(const char *function, uint64_t nth, cudaError_t code) {
  order_failure(function, nth, code);
}

const char *fake_cuda_failed_function(void) {
  fake_lock();
  const char *function = failure.failed[0] != '\0' ? failure.failed : NULL;
  fake_unlock();
  return function;
}

static void order_fault(const char *entry, uint64_t nth, cudaError_t code) {
  fake_lock();
  set_name(fault.entry, sizeof fault.entry, entry);
  fault.left = nth;
  fault.code = code;
  fake_unlock();
}

void fake_cuda_fault_at_kernel(const char *entry, uint64_t nth, cudaError_t code) { order_fault(entry, nth, code); }

void fake_cuda_fault_at_work(uint64_t nth, cudaError_t code) { order_fault(NULL, nth, code); }

void fake_cuda_hang_kernel(const char *entry) {
  fake_lock();
  set_name(hanging, sizeof hanging, entry);
  fake_unlock();
}

static bool is_countable(const struct fake_operation *operation) {
  return operation->kind == FAKE_KERNEL || operation->kind == FAKE_COPY || operation->kind == FAKE_SET ||
         operation->kind == FAKE_HOST;
}

cudaError_t fake_fault_for(const struct fake_operation *operation) {
  if (!is_countable(operation)) return cudaSuccess;
  work_count++;
  const char *entry = operation->entry != NULL ? operation->entry : "";
  if (operation->kind == FAKE_KERNEL) row_of(kernels, entry)->count++;
  if (fault.left == 0 || (fault.entry[0] != '\0' && strcmp(fault.entry, entry) != 0)) return cudaSuccess;
  return --fault.left == 0 ? fault.code : cudaSuccess;
}

bool fake_hangs(const struct fake_operation *operation) {
  return operation->kind == FAKE_KERNEL && hanging[0] != '\0' && strcmp(operation->entry, hanging) == 0;
}

uint64_t fake_cuda_call_count(void) {
  fake_lock();
  uint64_t count = call_count;
  fake_unlock();
  return count;
}

uint64_t fake_cuda_work_count(void) {
  fake_lock();
  uint64_t count = work_count;
  fake_unlock();
  return count;
}

static uint64_t count_of(struct count *rows, const char *name) {
  fake_lock();
  uint64_t count = row_of(rows, name)->count;
  fake_unlock();
  return count;
}

uint64_t fake_cuda_function_count(const char *function) { return count_of(functions, function); }

uint64_t fake_cuda_kernel_count(const char *entry) { return count_of(kernels, entry); }

void fake_faults_reset(void) {
  memset(functions, 0, sizeof functions);
  memset(kernels, 0, sizeof kernels);
  memset(&failure, 0, sizeof failure);
  memset(&fault, 0, sizeof fault);
  hanging[0] = '\0';
  call_count = work_count = 0;
}
