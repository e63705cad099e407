/* What belongs to the process rather than to a handle: threads' current devices and last errors, lost contexts, and
 * work that hangs. */
#include <pthread.h>
#include <unistd.h>

#include "engine/backend/cuda/cuda_internal.h"

/* ---- the calling thread's state ---- */

struct errand {
  int device_index;
  cuda_work_function work;
  void *context;
  enum gr_status status;
};

static void run_errand(struct errand *errand) {
  int before = 0;
  bool is_other = errand->device_index >= 0 && cudaGetDevice(&before) == cudaSuccess && before != errand->device_index;
  /* Where that fails, calls with a stream or an event say why; work that makes things looks itself. */
  if (is_other) (void)cudaSetDevice(errand->device_index);
  errand->status = errand->work(errand->context);
  if (is_other) (void)cudaSetDevice(before);
}

static void *run_errand_apart(void *context) {
  run_errand(context);
  return NULL;
}

/* On a thread that ends, with whatever error it has. */
static bool run_apart(struct errand *errand) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_errand_apart, errand) != 0) return false;
  return pthread_join(thread, NULL) == 0;
}

enum gr_status gr_cuda_within(int device_index, bool may_move, cuda_work_function work, void *context) {
  struct errand errand = {.device_index = device_index, .work = work, .context = context, .status = GR_OK};
  bool is_pending = cudaPeekAtLastError() != cudaSuccess;
  if (is_pending && may_move && run_apart(&errand)) return errand.status;
  run_errand(&errand);
  if (!is_pending) (void)cudaGetLastError();
  return errand.status;
}

/* ---- devices ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  bool is_lost;
  struct gr_error cause;
  int stuck_count;
} devices[CUDA_DEVICE_MAX];
static pid_t first_process;

bool gr_cuda_recall_loss(uint32_t device_index, struct gr_error *cause) {
  if (device_index >= CUDA_DEVICE_MAX) return false;
  pthread_mutex_lock(&lock);
  bool is_lost = devices[device_index].is_lost;
  if (is_lost && cause) *cause = devices[device_index].cause;
  pthread_mutex_unlock(&lock);
  return is_lost;
}

void gr_cuda_remember_loss(uint32_t device_index, const struct gr_error *cause) {
  if (device_index >= CUDA_DEVICE_MAX) return;
  pthread_mutex_lock(&lock);
  if (!devices[device_index].is_lost) {
    devices[device_index].is_lost = true;
    devices[device_index].cause = *cause;
  }
  pthread_mutex_unlock(&lock);
}

void gr_cuda_count_stuck(uint32_t device_index, int change) {
  if (device_index >= CUDA_DEVICE_MAX) return;
  pthread_mutex_lock(&lock);
  devices[device_index].stuck_count += change;
  pthread_mutex_unlock(&lock);
}

bool gr_cuda_has_stuck(uint32_t device_index) {
  if (device_index >= CUDA_DEVICE_MAX) return false;
  pthread_mutex_lock(&lock);
  bool has_stuck = devices[device_index].stuck_count > 0;
  pthread_mutex_unlock(&lock);
  return has_stuck;
}

bool gr_cuda_claim_process(void) {
  pthread_mutex_lock(&lock);
  if (first_process == 0) first_process = getpid();
  bool is_ours = first_process == getpid();
  pthread_mutex_unlock(&lock);
  return is_ours;
}
