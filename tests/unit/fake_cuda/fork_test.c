/* A child process of one that has used CUDA cannot use it. Run on the double and on a GPU. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/fake_cuda/platform.h"

struct row {
  const char *text;
  cudaError_t code;
};

static int number;
static void *memory;
static size_t sizes[2];
static cudaStream_t stream;
static cudaEvent_t event;
static struct cudaDeviceProp properties;

#define CALLS(X)                                                        \
  X(cudaSuccess, cudaDriverGetVersion(&number))                         \
  X(cudaSuccess, cudaGetDeviceCount(&number))                           \
  X(cudaSuccess, cudaGetDeviceProperties(&properties, 0))               \
  X(cudaErrorInitializationError, cudaGetDevice(&number))               \
  X(cudaErrorInitializationError, cudaSetDevice(0))                     \
  X(cudaErrorInitializationError, cudaMalloc(&memory, 16))              \
  X(cudaErrorInitializationError, cudaFree(NULL))                       \
  X(cudaErrorInitializationError, cudaHostAlloc(&memory, 16, 0))        \
  X(cudaErrorInitializationError, cudaMemGetInfo(&sizes[0], &sizes[1])) \
  X(cudaErrorInitializationError, cudaDeviceSynchronize())              \
  X(cudaErrorInitializationError, cudaStreamCreate(&stream))            \
  X(cudaErrorInitializationError, cudaEventCreateWithFlags(&event, 0))

#define ROW(code, call) {#call, code},
static const struct row rows[] = {CALLS(ROW)};
#undef ROW
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static cudaError_t call(int row) {
  int at = 0;
#define TRY(code, call) \
  if (row == at++) return call;
  CALLS(TRY)
#undef TRY
  return cudaErrorUnknown;
}

/* What the call says in a child. */
static int call_in_child(int index) {
  int status = 0;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) _exit((int)call(index));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* Asking for the driver's version is use enough. */
START_TEST(test_child_of_a_user) {
  platform_reset();
  ck_assert_int_eq(_i == 0 ? cudaDriverGetVersion(&number) : cudaGetDeviceCount(&number), cudaSuccess);
  for (int i = 0; i < ROW_COUNT; i++) {
    int code = call_in_child(i);
    ck_assert_msg(code == (int)rows[i].code, "%s gave %s", rows[i].text, cudaGetErrorName((cudaError_t)code));
  }
  ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
}
END_TEST

int main(void) {
  if (!platform_is_ready()) return 0;
  Suite *suite = suite_create("fork");
  TCase *one = tcase_create("fork");
  tcase_set_timeout(one, 60);
  tcase_add_loop_test(one, test_child_of_a_user, 0, 2);
  suite_add_tcase(suite, one);
  return platform_run(suite);
}
