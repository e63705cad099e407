#include "engine/backend/cuda/cuda_backend.h"

#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

static void limits(const struct gr_device *device, struct gr_limits *limits) {
  *limits = (struct gr_limits){
      .lane_max = CUDA_LANE_MAX,
      .alignment_bytes = CUDA_ALIGNMENT_BYTES,
      .device_count = device->device_count,
  };
}

/* ---- buffers ---- */

static enum gr_place place_of(const struct gr_executable *executable, uint32_t buffer_index) {
  return executable->plan->pipeline->buffers[buffer_index].place;
}

static void *address(struct gr_executable *executable, uint32_t buffer_index) {
  enum gr_place place = place_of(executable, buffer_index);
  bool is_on_host = place == GR_PLACE_PINNED || place == GR_PLACE_HOST || place == GR_PLACE_MAPPED;
  return is_on_host ? executable->addresses[buffer_index] : NULL;
}

static enum gr_status check_quiet(const struct gr_executable *executable, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_cuda_device_check(executable->device, error));
  if (executable->end == CUDA_END_NONE) return GR_OK;
  return gr_error_set(error, GR_ERR_STATE, "an earlier run failed or was broken off, and its buffers are not defined");
}

struct transfer {
  struct gr_executable *executable;
  void *to;
  const void *from;
  uint64_t size_bytes;
  enum cudaMemcpyKind kind;
  struct gr_error *error;
};

static enum gr_status transfer(void *context) {
  struct transfer *transfer = context;
  return gr_cuda_memory_copy(transfer->executable, transfer->to, transfer->from, transfer->size_bytes, transfer->kind,
                             transfer->error);
}

static enum gr_status move(struct transfer *work, uint32_t buffer_index) {
  GR_RETURN_IF_FAILED(check_quiet(work->executable, work->error));
  if (work->size_bytes == 0) return GR_OK;
  if (address(work->executable, buffer_index)) {
    memcpy(work->to, work->from, work->size_bytes);
    return GR_OK;
  }
  if (place_of(work->executable, buffer_index) == GR_PLACE_MANAGED) work->kind = cudaMemcpyDefault;
  return gr_cuda_within((int)work->executable->device->device_index, true, transfer, work);
}

static enum gr_status write_buffer(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                                   const void *from, uint64_t size_bytes, struct gr_error *error) {
  struct transfer work = {
      .executable = executable,
      .to = (char *)executable->addresses[buffer_index] + offset_bytes,
      .from = from,
      .size_bytes = size_bytes,
      .kind = cudaMemcpyHostToDevice,
      .error = error,
  };
  return move(&work, buffer_index);
}

static enum gr_status read_buffer(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                                  void *to, uint64_t size_bytes, struct gr_error *error) {
  struct transfer work = {
      .executable = executable,
      .to = to,
      .from = (const char *)executable->addresses[buffer_index] + offset_bytes,
      .size_bytes = size_bytes,
      .kind = cudaMemcpyDeviceToHost,
      .error = error,
  };
  return move(&work, buffer_index);
}

/* ---- what became of it ---- */

static void facts(const struct gr_executable *executable, struct gr_build_facts *facts) { *facts = executable->facts; }

static void times(const struct gr_executable *executable, struct gr_replay_times *times) {
  *times = (struct gr_replay_times){
      .replays = executable->completed - executable->launched_before,
      .launch_min_ns = executable->launch_min_ns,
      .launch_max_ns = executable->launch_max_ns,
      .launch_total_ns = executable->launch_total_ns,
      .device_ns = executable->device_ns,
  };
}

static void reset_times(struct gr_executable *executable) {
  executable->launched_before = executable->completed;
  executable->launch_count = 0;
  executable->launch_min_ns = executable->launch_max_ns = executable->launch_total_ns = 0;
  executable->first_is_recorded = false;
  executable->device_ns = 0;
}

static bool is_lost(const struct gr_device *device, struct gr_error *cause) {
  if (device->is_lost && cause) *cause = device->cause;
  return device->is_lost;
}

const struct gr_backend gr_backend_cuda = {
    .name = "cuda",
    .probe = gr_cuda_probe,
    .describe = gr_cuda_describe,
    .open = gr_cuda_open,
    .close = gr_cuda_close,
    .limits = limits,
    .build = gr_cuda_build,
    .destroy = gr_cuda_destroy,
    .write = write_buffer,
    .read = read_buffer,
    .address = address,
    .launch = gr_cuda_launch,
    .wait = gr_cuda_wait,
    .states = gr_cuda_states,
    .facts = facts,
    .times = times,
    .reset_times = reset_times,
    .is_lost = is_lost,
};
