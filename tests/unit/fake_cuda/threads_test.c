/* Several threads at once: each captures and replays on its own, with the others' allocations, synchronisations and
 * default-stream calls in between. What thread-local captures of non-blocking streams allow must work every time. */
#include <pthread.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/unit/fake_cuda/fixture.h"

enum { THREADS = 4, ROUNDS = 60 };

/* Codes are collected, since Check's assertions belong to the test's own thread. */
struct job {
  pthread_t thread;
  int index;
  cudaError_t code;
};

static void note(struct job *job, cudaError_t code) {
  if (job->code == cudaSuccess) job->code = code;
}

static void capture_and_replay(struct job *job, cudaStream_t stream, int *mapped, int value) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  note(job, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 5; i++) note(job, launch_store(stream, mapped + i, value + i));
  note(job, cudaStreamEndCapture(stream, &graph));
  note(job, cudaGraphInstantiate(&exec, graph, 0));
  note(job, cudaGraphLaunch(exec, stream));
  note(job, cudaStreamSynchronize(stream));
  for (int i = 0; i < 5; i++) {
    if (mapped[i] != value + i) note(job, cudaErrorUnknown);
  }
  note(job, cudaGraphExecDestroy(exec));
  note(job, cudaGraphDestroy(graph));
}

static void *run_captures(void *argument) {
  struct job *job = argument;
  cudaStream_t stream = NULL;
  int *mapped = NULL;
  note(job, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  note(job, cudaHostAlloc((void **)&mapped, 64, cudaHostAllocMapped));
  for (int i = 0; i < ROUNDS; i++) capture_and_replay(job, stream, mapped, 100 * job->index + i);
  note(job, cudaFreeHost(mapped));
  note(job, cudaStreamDestroy(stream));
  return NULL;
}

/* The rest of a program that knows nothing of captures. */
static void *run_others(void *argument) {
  struct job *job = argument;
  void *memory = NULL;
  for (int i = 0; i < ROUNDS; i++) {
    note(job, cudaMalloc(&memory, 256));
    note(job, cudaMemset(memory, i, 256));
    note(job, cudaMemsetAsync(memory, i, 256, NULL));
    note(job, cudaStreamSynchronize(NULL));
    note(job, cudaFree(memory));
  }
  return NULL;
}

START_TEST(test_captures_side_by_side) {
  struct job jobs[THREADS + 1];
  memset(jobs, 0, sizeof jobs);
  fake_cuda_set_seed((uint64_t)_i);
  for (int i = 0; i <= THREADS; i++) {
    jobs[i].index = i;
    ck_assert_int_eq(pthread_create(&jobs[i].thread, NULL, i < THREADS ? run_captures : run_others, &jobs[i]), 0);
  }
  for (int i = 0; i <= THREADS; i++) {
    ck_assert_int_eq(pthread_join(jobs[i].thread, NULL), 0);
    ck_assert_msg(jobs[i].code == cudaSuccess, "thread %d: %s", i, cudaGetErrorName(jobs[i].code));
  }
  fake_cuda_set_seed(0);
}
END_TEST

/* A last error is the thread's own. */
static void *fail_quietly(void *argument) {
  (void)argument;
  cudaSetDevice(99);
  return NULL;
}

START_TEST(test_last_errors_are_a_threads_own) {
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, fail_quietly, NULL), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  expect(cudaSuccess, cudaGetLastError());
}
END_TEST

static pthread_barrier_t barrier;
static void meet(void *data) {
  (void)data;
  pthread_barrier_wait(&barrier);
}

static void *synchronize_side(void *code) {
  *(cudaError_t *)code = cudaStreamSynchronize(fixture.side);
  return NULL;
}

/* Host functions run without the lock: two of them may wait for one another. */
START_TEST(test_host_functions_run_side_by_side) {
  pthread_t thread;
  cudaError_t code = cudaErrorUnknown;
  fake_cuda_set_seed(1);
  pthread_barrier_init(&barrier, NULL, 2);
  expect(cudaSuccess, cudaLaunchHostFunc(fixture.origin, meet, NULL));
  expect(cudaSuccess, cudaLaunchHostFunc(fixture.side, meet, NULL));
  ck_assert_int_eq(pthread_create(&thread, NULL, synchronize_side, &code), 0);
  expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  expect(cudaSuccess, code);
  pthread_barrier_destroy(&barrier);
  fake_cuda_set_seed(0);
}
END_TEST

static void tear_down(void) {
  fixture_tear_down();
  ck_assert_uint_eq(fake_cuda_live_count(), 0);
  ck_assert_msg(fake_cuda_complaint_count() == 0, "%s", fake_cuda_complaint(0));
}

int main(void) {
  Suite *suite = suite_create("threads");
  TCase *threads = tcase_create("threads");
  tcase_add_checked_fixture(threads, fixture_set_up, tear_down);
  tcase_set_timeout(threads, 120);
  tcase_add_loop_test(threads, test_captures_side_by_side, 0, 3);
  tcase_add_test(threads, test_last_errors_are_a_threads_own);
  tcase_add_test(threads, test_host_functions_run_side_by_side);
  suite_add_tcase(suite, threads);
  return platform_run(suite);
}
