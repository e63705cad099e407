/* A plan made ready, its replays, and its end. */
#include <string.h>
#include <unistd.h>

#include "engine/backend/cuda/cuda_internal.h"
#include "engine/base/clock.h"

/* Nodes of all replays that are queued at a time, about. */
static const uint64_t queued_nodes_max = 65536;
enum { FENCE_EVERY_MAX = 64 };

/* ---- build ---- */

/* A node without a timeout gets a second, so that those that have one bound the replay. */
static uint64_t sum_timeouts(const struct gr_plan *plan) {
  static const uint64_t second_ns = UINT64_C(1000000000);
  uint64_t sum_ns = 0;
  bool has_any = false;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (plan->steps[step].operation == GR_OPERATION_EMPTY) continue;
    uint64_t timeout_ns = gr_plan_timeout_ns(plan, step);
    has_any |= timeout_ns > 0;
    if (__builtin_add_overflow(sum_ns, timeout_ns > 0 ? timeout_ns : second_ns, &sum_ns)) return 0;
  }
  return has_any ? sum_ns : 0;
}

static uint64_t elapsed_ns(uint64_t *since_ns) {
  uint64_t now_ns = gr_clock_now_ns();
  uint64_t taken_ns = now_ns - *since_ns;
  *since_ns = now_ns;
  return taken_ns;
}

static enum gr_status instantiate(struct gr_executable *executable, struct gr_error *error) {
  struct gr_device *device = executable->device;
  struct gr_build_facts *facts = &executable->facts;
  uint64_t clock_ns = gr_clock_now_ns();
  GR_RETURN_IF_FAILED(gr_cuda_capture(executable, error));
  facts->capture_ns = elapsed_ns(&clock_ns);
  GR_CUDA_RETURN_IF_FAILED(device, cudaGraphInstantiate(&executable->instance, executable->graph, 0), error,
                           "instantiating the captured graph");
  facts->instantiate_ns = elapsed_ns(&clock_ns);
  /* Else the first launch would pay for it. */
  GR_CUDA_RETURN_IF_FAILED(device, cudaGraphUpload(executable->instance, executable->streams[0]), error,
                           "uploading the graph");
  GR_CUDA_RETURN_IF_FAILED(device, cudaStreamSynchronize(executable->streams[0]), error, "uploading the graph");
  facts->upload_ns = elapsed_ns(&clock_ns);
  return GR_OK;
}

struct building {
  struct gr_executable *executable;
  struct gr_error *error;
};

/* All memory, modules and events are there before a capture begins. */
static enum gr_status make(void *context) {
  struct building *building = context;
  struct gr_executable *executable = building->executable;
  struct gr_error *error = building->error;
  uint64_t clock_ns = gr_clock_now_ns();
  GR_RETURN_IF_FAILED(gr_cuda_require_current(executable->device, error));
  GR_RETURN_IF_FAILED(gr_cuda_memory_make(executable, error));
  GR_RETURN_IF_FAILED(gr_cuda_streams_make(executable, error));
  executable->facts.allocate_ns = elapsed_ns(&clock_ns);
  GR_RETURN_IF_FAILED(gr_cuda_works_make(executable, error));
  executable->facts.load_kernels_ns = elapsed_ns(&clock_ns);
  GR_RETURN_IF_FAILED(gr_cuda_memory_clear(executable, error));
  executable->facts.allocate_ns += elapsed_ns(&clock_ns);
  return executable->mode == GR_MODE_GRAPH ? instantiate(executable, error) : GR_OK;
}

static struct gr_executable *make_empty(struct gr_device *device, const struct gr_plan *plan, enum gr_mode mode) {
  struct gr_executable *executable = gr_memory_allocate_zeroed(device->memory, 1, sizeof *executable);
  if (!executable) return NULL;
  executable->memory = device->memory;
  executable->device = device;
  executable->plan = plan;
  executable->mode = mode;
  executable->end_step = CUDA_NO_STEP;
  executable->timeouts_ns = sum_timeouts(plan);
  uint64_t every = queued_nodes_max / (plan->step_count ? plan->step_count : 1);
  executable->fence_every = every > FENCE_EVERY_MAX ? FENCE_EVERY_MAX : every > 0 ? every : 1;
  gr_arena_init(&executable->arena, device->memory);
  return executable;
}

enum gr_status gr_cuda_build(struct gr_device *device, const struct gr_plan *plan,
                             const struct gr_build_options *options, struct gr_executable **executable,
                             struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_cuda_device_check(device, error));
  if (gr_cuda_has_stuck(device->device_index)) {
    return gr_error_set(error, GR_ERR_STATE, "a run on CUDA device %u was broken off and is still running there",
                        device->device_index);
  }
  struct gr_executable *made = make_empty(device, plan, options->mode);
  if (!made) return gr_cuda_no_memory(error, "the plan was built");
  struct building building = {.executable = made, .error = error};
  enum gr_status status = gr_cuda_within((int)device->device_index, true, make, &building);
  if (status != GR_OK) {
    gr_cuda_destroy(made);
    return status;
  }
  *executable = made;
  return GR_OK;
}

/* ---- destroy ---- */

/* Whether nothing of it is left to run. */
static bool has_ended(const struct gr_executable *executable) {
  for (uint32_t i = 0; i < executable->stream_count; i++) {
    if (executable->streams[i] && cudaStreamQuery(executable->streams[i]) == cudaErrorNotReady) return false;
  }
  return true;
}

static bool is_broken_off(const struct gr_executable *executable) {
  return executable->end == CUDA_END_TIMEOUT || executable->end == CUDA_END_CANCELLED;
}

/* GR_ERR_STATE where something may still use the memory. */
static enum gr_status release(void *context) {
  struct gr_executable *executable = context;
  if (is_broken_off(executable)) {
    if (!has_ended(executable)) return GR_ERR_STATE;
    gr_cuda_count_stuck(executable->device->device_index, -1);
  }
  /* Where another graph hangs, every call that frees would wait for it; and so may replays that nobody waited for. */
  if (!gr_cuda_device_is_free(executable->device)) return has_ended(executable) ? GR_OK : GR_ERR_STATE;
  /* A failed build, and replays in flight, end first: they use the memory. */
  for (uint32_t i = 0; i < executable->stream_count; i++) {
    if (executable->streams[i]) (void)cudaStreamSynchronize(executable->streams[i]);
  }
  if (executable->instance) (void)cudaGraphExecDestroy(executable->instance);
  if (executable->graph) (void)cudaGraphDestroy(executable->graph);
  gr_cuda_streams_release(executable);
  gr_cuda_memory_release(executable);
  return GR_OK;
}

void gr_cuda_destroy(struct gr_executable *executable) {
  if (!executable) return;
  struct gr_device *device = executable->device;
  bool is_ours = device->process == getpid();
  /* What still runs keeps all it may touch, our own memory too: a function on the host may be at work in it. */
  if (is_ours && gr_cuda_within((int)device->device_index, true, release, executable) != GR_OK) return;
  gr_arena_release(&executable->arena);
  gr_memory_release(executable->memory, executable);
}

/* ---- replays ---- */

struct replaying {
  struct gr_executable *executable;
  const struct gr_wait_options *options;
  struct gr_error *error;
};

static enum gr_status check_usable(const struct gr_executable *executable, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_cuda_device_check(executable->device, error));
  if (executable->end == CUDA_END_NONE) return GR_OK;
  return gr_error_set(error, GR_ERR_STATE,
                      executable->end == CUDA_END_FAILED
                          ? "an earlier replay failed"
                          : "an earlier run was broken off, and a node of it may still be running");
}

/* All replays up to that one have ended. */
static void note_completed(struct gr_executable *executable, uint64_t replay) {
  executable->completed = replay;
  executable->waiting_since_ns = gr_clock_now_ns();
}

/* Too many queued would make the next launch block in the driver. */
static enum gr_status make_way(struct replaying *replaying) {
  struct gr_executable *executable = replaying->executable;
  uint64_t every = executable->fence_every;
  if (executable->launched - executable->completed < every * CUDA_FENCE_COUNT) return GR_OK;
  uint64_t oldest = executable->completed / every + 1;
  GR_RETURN_IF_FAILED(gr_cuda_wait_event(executable, executable->fences[oldest % CUDA_FENCE_COUNT], CUDA_NO_STEP,
                                         executable->waiting_since_ns, replaying->options, replaying->error));
  note_completed(executable, oldest * every);
  return GR_OK;
}

static enum gr_status replay(struct replaying *replaying) {
  struct gr_executable *executable = replaying->executable;
  if (executable->mode == GR_MODE_SERIAL) {
    return gr_cuda_serial_replay(executable, replaying->options, replaying->error);
  }
  if (executable->mode == GR_MODE_STREAM) {
    return gr_cuda_streams_replay(executable, replaying->options, replaying->error);
  }
  cudaError_t code = cudaGraphLaunch(executable->instance, executable->streams[0]);
  return code == cudaSuccess ? GR_OK : gr_cuda_replay_failed(executable, code, CUDA_NO_STEP, replaying->error);
}

static void note_launch(struct gr_executable *executable, uint64_t taken_ns) {
  if (executable->launch_count == 0 || taken_ns < executable->launch_min_ns) executable->launch_min_ns = taken_ns;
  if (taken_ns > executable->launch_max_ns) executable->launch_max_ns = taken_ns;
  executable->launch_total_ns += taken_ns;
  executable->launch_count++;
}

static enum gr_status record(struct gr_executable *executable, cudaEvent_t event, struct gr_error *error) {
  cudaError_t code = cudaEventRecord(event, executable->streams[0]);
  return code == cudaSuccess ? GR_OK : gr_cuda_replay_failed(executable, code, CUDA_NO_STEP, error);
}

/* So that a run that is cancelled knows whether its nodes have run; serial mode knows anyway. */
static enum gr_status record_once(struct gr_executable *executable, struct gr_error *error) {
  if (executable->mode == GR_MODE_SERIAL || executable->launched != executable->launched_before + 1) return GR_OK;
  GR_RETURN_IF_FAILED(record(executable, executable->once, error));
  executable->once_behind = executable->launched;
  return GR_OK;
}

static enum gr_status launch(void *context) {
  struct replaying *replaying = context;
  struct gr_executable *executable = replaying->executable;
  GR_RETURN_IF_FAILED(make_way(replaying));
  if (!executable->first_is_recorded) GR_RETURN_IF_FAILED(record(executable, executable->first, replaying->error));
  executable->first_is_recorded = true;
  uint64_t begun_ns = gr_clock_now_ns();
  if (executable->launched == executable->completed) executable->waiting_since_ns = begun_ns;
  executable->launched++;
  GR_RETURN_IF_FAILED(replay(replaying));
  note_launch(executable, gr_clock_now_ns() - begun_ns);
  GR_RETURN_IF_FAILED(record_once(executable, replaying->error));
  if (executable->launched % executable->fence_every != 0) return GR_OK;
  uint64_t fence = executable->launched / executable->fence_every;
  GR_RETURN_IF_FAILED(record(executable, executable->fences[fence % CUDA_FENCE_COUNT], replaying->error));
  executable->fence_last = fence;
  return GR_OK;
}

enum gr_status gr_cuda_launch(struct gr_executable *executable, const struct gr_wait_options *options,
                              struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_usable(executable, error));
  struct replaying replaying = {.executable = executable, .options = options, .error = error};
  return gr_cuda_within((int)executable->device->device_index, false, launch, &replaying);
}

static enum gr_status wait_all(void *context) {
  struct replaying *replaying = context;
  struct gr_executable *executable = replaying->executable;
  GR_RETURN_IF_FAILED(record(executable, executable->last, replaying->error));
  GR_RETURN_IF_FAILED(gr_cuda_wait_event(executable, executable->last, CUDA_NO_STEP, executable->waiting_since_ns,
                                         replaying->options, replaying->error));
  note_completed(executable, executable->launched);
  float milliseconds = 0;
  cudaError_t code = cudaEventElapsedTime(&milliseconds, executable->first, executable->last);
  if (code == cudaSuccess) executable->device_ns = (double)milliseconds * 1e6;
  return GR_OK;
}

enum gr_status gr_cuda_wait(struct gr_executable *executable, const struct gr_wait_options *options,
                            struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_usable(executable, error));
  if (executable->launched == executable->completed) return GR_OK;
  struct replaying replaying = {.executable = executable, .options = options, .error = error};
  return gr_cuda_within((int)executable->device->device_index, false, wait_all, &replaying);
}
