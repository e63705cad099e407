/* The plan without a graph: plain streams with events, and one step at a time. */
#include "engine/backend/cuda/cuda_internal.h"
#include "engine/base/clock.h"

/* Calls that may lie in all streams together without having run: the device's queues, eight by default that share the
 * streams, hold about a thousand each, and a call that finds its queue full blocks, also behind a kernel that never
 * ends. */
enum { AHEAD_MAX = 2048, BATCH_MIN = 8, BATCH_MAX = 256 };

static enum gr_status make_event(struct gr_executable *executable, cudaEvent_t *event, unsigned int flags,
                                 struct gr_error *error) {
  GR_CUDA_RETURN_IF_FAILED(executable->device, cudaEventCreateWithFlags(event, flags), error, "making an event");
  return GR_OK;
}

/* What only plain streams need. */
static enum gr_status make_lane_events(struct gr_executable *executable, struct gr_error *error) {
  const struct gr_plan *plan = executable->plan;
  struct gr_arena *arena = &executable->arena;
  executable->events = gr_arena_allocate_zeroed(arena, plan->step_count, sizeof *executable->events);
  executable->recorded_in = gr_arena_allocate_zeroed(arena, plan->step_count, sizeof *executable->recorded_in);
  executable->lanes = gr_arena_allocate_zeroed(arena, executable->stream_count, sizeof *executable->lanes);
  if (!executable->events || !executable->recorded_in || !executable->lanes) {
    return gr_cuda_no_memory(error, "events were made");
  }
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (!plan->steps[step].is_recorded) continue;
    GR_RETURN_IF_FAILED(make_event(executable, &executable->events[step], cudaEventDisableTiming, error));
  }
  for (uint32_t i = 0; i < executable->stream_count; i++) {
    struct cuda_lane *lane = &executable->lanes[i];
    GR_RETURN_IF_FAILED(make_event(executable, &lane->end, cudaEventDisableTiming, error));
    GR_RETURN_IF_FAILED(make_event(executable, &lane->fences[0], cudaEventDisableTiming, error));
    GR_RETURN_IF_FAILED(make_event(executable, &lane->fences[1], cudaEventDisableTiming, error));
  }
  uint32_t batch = AHEAD_MAX / 2;
  if (executable->stream_count > 1) batch /= executable->stream_count;
  executable->lane_batch = batch < BATCH_MIN ? BATCH_MIN : batch > BATCH_MAX ? BATCH_MAX : batch;
  return GR_OK;
}

enum gr_status gr_cuda_streams_make(struct gr_executable *executable, struct gr_error *error) {
  uint32_t count = executable->mode == GR_MODE_SERIAL ? 1 : executable->plan->lane_count;
  executable->streams = gr_arena_allocate_zeroed(&executable->arena, count, sizeof *executable->streams);
  if (!executable->streams) return gr_cuda_no_memory(error, "streams were made");
  executable->stream_count = count;
  /* Blocking ones are tied to the legacy stream: whoever used that elsewhere in the program would break a capture. */
  for (uint32_t i = 0; i < count; i++) {
    GR_CUDA_RETURN_IF_FAILED(executable->device,
                             cudaStreamCreateWithFlags(&executable->streams[i], cudaStreamNonBlocking), error,
                             "making stream %u of %u", i + 1, count);
  }
  GR_RETURN_IF_FAILED(make_event(executable, &executable->fork, cudaEventDisableTiming, error));
  GR_RETURN_IF_FAILED(make_event(executable, &executable->first, cudaEventDefault, error));
  GR_RETURN_IF_FAILED(make_event(executable, &executable->last, cudaEventDefault, error));
  GR_RETURN_IF_FAILED(make_event(executable, &executable->once, cudaEventDisableTiming, error));
  for (int i = 0; i < CUDA_FENCE_COUNT; i++) {
    GR_RETURN_IF_FAILED(make_event(executable, &executable->fences[i], cudaEventDisableTiming, error));
  }
  executable->facts.stream_count = count;
  return executable->mode == GR_MODE_STREAM ? make_lane_events(executable, error) : GR_OK;
}

static void release_event(cudaEvent_t event) {
  if (event) (void)cudaEventDestroy(event);
}

void gr_cuda_streams_release(struct gr_executable *executable) {
  for (uint32_t step = 0; executable->events && step < executable->plan->step_count; step++) {
    release_event(executable->events[step]);
  }
  for (uint32_t i = 0; i < executable->stream_count; i++) {
    if (executable->lanes) {
      release_event(executable->lanes[i].end);
      release_event(executable->lanes[i].fences[0]);
      release_event(executable->lanes[i].fences[1]);
    }
    if (executable->streams[i]) (void)cudaStreamDestroy(executable->streams[i]);
  }
  for (int i = 0; i < CUDA_FENCE_COUNT; i++) release_event(executable->fences[i]);
  release_event(executable->fork);
  release_event(executable->first);
  release_event(executable->last);
  release_event(executable->once);
}

/* ---- plain streams ---- */

static enum gr_status replay_call(struct gr_executable *executable, cudaError_t code, struct gr_error *error) {
  return code == cudaSuccess ? GR_OK : gr_cuda_replay_failed(executable, code, CUDA_NO_STEP, error);
}

/* Before every call that fills a lane: lets the device come up to at most two batches. */
static enum gr_status keep_back(struct gr_executable *executable, uint32_t lane_index,
                                const struct gr_wait_options *options, struct gr_error *error) {
  struct cuda_lane *lane = &executable->lanes[lane_index];
  if (lane->fill++ < executable->lane_batch) return GR_OK;
  lane->fill = 0;
  uint64_t which = lane->fence_count++ % 2;
  GR_RETURN_IF_FAILED(
      replay_call(executable, cudaEventRecord(lane->fences[which], executable->streams[lane_index]), error));
  if (lane->fence_count == 1) return GR_OK;
  return gr_cuda_wait_event(executable, lane->fences[1 - which], CUDA_NO_STEP, executable->waiting_since_ns, options,
                            error);
}

static enum gr_status fork_lanes(struct gr_executable *executable, const struct gr_wait_options *options,
                                 struct gr_error *error) {
  if (executable->stream_count == 1) return GR_OK;
  GR_RETURN_IF_FAILED(replay_call(executable, cudaEventRecord(executable->fork, executable->streams[0]), error));
  for (uint32_t i = 1; i < executable->stream_count; i++) {
    GR_RETURN_IF_FAILED(keep_back(executable, i, options, error));
    GR_RETURN_IF_FAILED(
        replay_call(executable, cudaStreamWaitEvent(executable->streams[i], executable->fork, 0), error));
  }
  return GR_OK;
}

static enum gr_status join_lanes(struct gr_executable *executable, const struct gr_wait_options *options,
                                 struct gr_error *error) {
  for (uint32_t i = 1; i < executable->stream_count; i++) {
    cudaEvent_t end = executable->lanes[i].end;
    GR_RETURN_IF_FAILED(replay_call(executable, cudaEventRecord(end, executable->streams[i]), error));
    GR_RETURN_IF_FAILED(keep_back(executable, 0, options, error));
    GR_RETURN_IF_FAILED(replay_call(executable, cudaStreamWaitEvent(executable->streams[0], end, 0), error));
  }
  return GR_OK;
}

/* An event that was never recorded counts as reached: a forgotten record would look like a satisfied wait. */
static enum gr_status wait_for(struct gr_executable *executable, const struct gr_wait *wait, cudaStream_t stream,
                               struct gr_error *error) {
  const struct gr_plan *plan = executable->plan;
  uint64_t replay = executable->launched;
  if (!executable->events[wait->for_step] || executable->recorded_in[wait->for_step] != replay) {
    executable->end = CUDA_END_FAILED;
    executable->end_step = CUDA_NO_STEP;
    return gr_plan_error(plan, wait->step, error, GR_ERR_INTERNAL,
                         "node %s would wait for node %s, behind which no event was recorded in this replay",
                         gr_view_quote(gr_view_of(gr_plan_node_name(plan, wait->step))).text,
                         gr_view_quote(gr_view_of(gr_plan_node_name(plan, wait->for_step))).text);
  }
  return replay_call(executable, cudaStreamWaitEvent(stream, executable->events[wait->for_step], 0), error);
}

static enum gr_status issue(struct gr_executable *executable, uint32_t step, cudaStream_t stream,
                            struct gr_error *error) {
  enum gr_status status = gr_cuda_step_issue(executable, step, stream, error);
  if (status == GR_OK) return GR_OK;
  /* What was issued before may have failed only now: then this step is not to blame. */
  cudaError_t code = cudaStreamQuery(executable->streams[0]);
  if (gr_cuda_is_loss(code)) return gr_cuda_replay_failed(executable, code, CUDA_NO_STEP, error);
  executable->end = CUDA_END_FAILED;
  executable->end_step = step;
  return status;
}

static enum gr_status stream_step(struct gr_executable *executable, uint32_t step,
                                  const struct gr_wait_options *options, struct gr_error *error) {
  const struct gr_plan *plan = executable->plan;
  uint32_t lane = plan->steps[step].lane;
  cudaStream_t stream = executable->streams[lane];
  for (uint64_t i = plan->wait_begin[step]; i < plan->wait_begin[step + 1]; i++) {
    GR_RETURN_IF_FAILED(keep_back(executable, lane, options, error));
    GR_RETURN_IF_FAILED(wait_for(executable, &plan->waits[i], stream, error));
  }
  GR_RETURN_IF_FAILED(keep_back(executable, lane, options, error));
  GR_RETURN_IF_FAILED(issue(executable, step, stream, error));
  if (!executable->events[step]) return GR_OK;
  GR_RETURN_IF_FAILED(replay_call(executable, cudaEventRecord(executable->events[step], stream), error));
  executable->recorded_in[step] = executable->launched;
  return GR_OK;
}

enum gr_status gr_cuda_streams_replay(struct gr_executable *executable, const struct gr_wait_options *options,
                                      struct gr_error *error) {
  GR_RETURN_IF_FAILED(fork_lanes(executable, options, error));
  for (uint32_t step = 0; step < executable->plan->step_count; step++) {
    GR_RETURN_IF_FAILED(stream_step(executable, step, options, error));
  }
  return join_lanes(executable, options, error);
}

/* ---- one at a time ---- */

static enum gr_status serial_step(struct gr_executable *executable, uint32_t step,
                                  const struct gr_wait_options *options, struct gr_error *error) {
  cudaStream_t stream = executable->streams[0];
  uint64_t begun_ns = gr_clock_now_ns();
  enum gr_status status = gr_cuda_step_issue(executable, step, stream, error);
  if (status != GR_OK) {
    executable->end = CUDA_END_FAILED;
    executable->end_step = step;
    return status;
  }
  cudaError_t code = cudaEventRecord(executable->fork, stream);
  if (code != cudaSuccess) return gr_cuda_replay_failed(executable, code, step, error);
  return gr_cuda_wait_event(executable, executable->fork, step, begun_ns, options, error);
}

enum gr_status gr_cuda_serial_replay(struct gr_executable *executable, const struct gr_wait_options *options,
                                     struct gr_error *error) {
  executable->serial_done = 0;
  for (uint32_t step = 0; step < executable->plan->step_count; step++) {
    if (executable->works[step].kind != CUDA_WORK_NOTHING) {
      GR_RETURN_IF_FAILED(serial_step(executable, step, options, error));
    }
    executable->serial_done = step + 1;
  }
  return GR_OK;
}
