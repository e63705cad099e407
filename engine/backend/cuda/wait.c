/* Waiting without ever blocking in a call, how a replay ends, and what is then known of each step. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "engine/backend/cuda/cuda_internal.h"
#include "engine/base/clock.h"

/* ---- what a failure is called ---- */

static bool does_work(const struct gr_plan *plan, uint32_t step) {
  return plan->steps[step].operation != GR_OPERATION_EMPTY;
}

/* The one step that does anything, or CUDA_NO_STEP; how many there are. */
static int64_t only_step(const struct gr_plan *plan, uint32_t *count) {
  int64_t found = CUDA_NO_STEP;
  *count = 0;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (!does_work(plan, step)) continue;
    found = step;
    (*count)++;
  }
  return *count == 1 ? found : CUDA_NO_STEP;
}

static struct gr_quote quoted(const struct gr_plan *plan, int64_t step) {
  return gr_view_quote(gr_view_of(gr_plan_node_name(plan, (uint32_t)step)));
}

/* The cause in words, for a step that is known or for all of them. */
static void describe_fault(const struct gr_executable *executable, cudaError_t code, int64_t step, uint32_t count,
                           struct gr_error *found) {
  const struct gr_plan *plan = executable->plan;
  if (step != CUDA_NO_STEP) {
    gr_plan_error(plan, (uint32_t)step, found, GR_ERR_NODE, "node %s failed on the device: %s", quoted(plan, step).text,
                  cudaGetErrorString(code));
  } else {
    gr_error_set(found, GR_ERR_NODE,
                 "a node failed on the device: %s; any of the %u that may have run can be the one (in serial mode it "
                 "would be named)",
                 cudaGetErrorString(code), count);
  }
  gr_cuda_set_code(found, code);
}

enum gr_status gr_cuda_replay_failed(struct gr_executable *executable, cudaError_t code, int64_t step,
                                     struct gr_error *error) {
  struct gr_device *device = executable->device;
  uint32_t count;
  int64_t only = only_step(executable->plan, &count);
  if (step == CUDA_NO_STEP) step = only;
  executable->end = CUDA_END_FAILED;
  executable->end_step = step;
  struct gr_error found = {0};
  describe_fault(executable, code, step, count, &found);
  /* Another graph of the process may have broken the context: then none of these nodes is to blame. */
  if (gr_cuda_is_loss(code)) {
    bool was_known = device->is_lost || gr_cuda_recall_loss(device->device_index, NULL);
    gr_cuda_lose(device, &found);
    if (was_known) {
      executable->end_step = CUDA_NO_STEP;
      return gr_cuda_lost(device, error);
    }
  }
  if (error) *error = found;
  return GR_ERR_NODE;
}

/* Brings the number of complete replays up to what can be known without waiting. */
static void count_completed(struct gr_executable *executable) {
  uint64_t every = executable->fence_every;
  if (executable->mode == GR_MODE_SERIAL) {
    bool is_last_over = executable->serial_done == executable->plan->step_count;
    executable->completed = executable->launched - (is_last_over ? 0 : 1);
    return;
  }
  for (uint64_t fence = executable->fence_last; fence > executable->completed / every; fence--) {
    if (cudaEventQuery(executable->fences[fence % CUDA_FENCE_COUNT]) != cudaSuccess) continue;
    executable->completed = fence * every;
    return;
  }
  bool is_once_recorded = executable->once_behind == executable->launched_before + 1;
  if (is_once_recorded && executable->completed < executable->once_behind &&
      cudaEventQuery(executable->once) == cudaSuccess) {
    executable->completed = executable->once_behind;
  }
}

static enum gr_status break_off(struct gr_executable *executable, enum cuda_end end, int64_t step) {
  uint32_t count;
  count_completed(executable);
  executable->end = end;
  executable->end_step = step != CUDA_NO_STEP ? step : only_step(executable->plan, &count);
  gr_cuda_count_stuck(executable->device->device_index, 1);
  return end == CUDA_END_TIMEOUT ? GR_ERR_TIMEOUT : GR_ERR_CANCELLED;
}

static void describe_place(const struct gr_executable *executable, char *text, size_t capacity) {
  int64_t step = executable->end_step;
  if (step != CUDA_NO_STEP) {
    snprintf(text, capacity, "while node %s was running", quoted(executable->plan, step).text);
  } else {
    snprintf(text, capacity,
             "after at least %llu of %llu replays that were started; which nodes still run is not known for certain "
             "(in serial mode it would be)",
             (unsigned long long)(executable->completed - executable->launched_before),
             (unsigned long long)(executable->launched - executable->launched_before));
  }
}

static enum gr_status broken_off(struct gr_executable *executable, enum cuda_end end, int64_t step,
                                 struct gr_error *error) {
  enum gr_status status = break_off(executable, end, step);
  char place[GR_QUOTE_BYTES + 160];
  describe_place(executable, place, sizeof place);
  const char *what = end == CUDA_END_TIMEOUT ? "timeout" : "cancelled";
  if (executable->end_step == CUDA_NO_STEP) return gr_error_set(error, status, "%s %s", what, place);
  return gr_plan_error(executable->plan, (uint32_t)executable->end_step, error, status, "%s %s", what, place);
}

static enum gr_status node_timed_out(struct gr_executable *executable, int64_t step, struct gr_error *error) {
  enum gr_status status = break_off(executable, CUDA_END_TIMEOUT, step);
  step = executable->end_step;
  if (step == CUDA_NO_STEP) {
    return gr_error_set(error, status,
                        "a replay took longer than the timeouts of its nodes allow it, %llu.%03llu s together; in "
                        "serial mode the node would be named",
                        (unsigned long long)(executable->timeouts_ns / 1000000000u),
                        (unsigned long long)(executable->timeouts_ns / 1000000u % 1000u));
  }
  uint64_t timeout_ns = gr_plan_timeout_ns(executable->plan, (uint32_t)step);
  return gr_plan_error(executable->plan, (uint32_t)step, error, status,
                       "node %s took longer than its timeout of %llu.%03llu s", quoted(executable->plan, step).text,
                       (unsigned long long)(timeout_ns / 1000000000u),
                       (unsigned long long)(timeout_ns / 1000000u % 1000u));
}

/* ---- polling ---- */

/* When the nodes' own timeouts end the wait; 0: never. */
static uint64_t node_deadline(const struct gr_executable *executable, int64_t step, uint64_t since_ns) {
  uint64_t allowed_ns =
      step != CUDA_NO_STEP ? gr_plan_timeout_ns(executable->plan, (uint32_t)step) : executable->timeouts_ns;
  if (allowed_ns == 0) return 0;
  uint64_t replays = step != CUDA_NO_STEP ? 1 : executable->launched - executable->completed;
  uint64_t deadline_ns;
  if (__builtin_mul_overflow(allowed_ns, replays, &deadline_ns)) return 0;
  if (__builtin_add_overflow(deadline_ns, since_ns, &deadline_ns)) return 0;
  return deadline_ns;
}

/* Short waits spin, so that a replay's end is seen at once; long ones leave the core to others, and are at most a
 * hundredth longer for it. */
static void pause_for(uint64_t waited_ns) {
  static const uint64_t spin_ns = 2000000, longest_ns = 500000;
  if (waited_ns < spin_ns) {
    (void)sched_yield();
    return;
  }
  uint64_t nap_ns = waited_ns / 128 < longest_ns ? waited_ns / 128 : longest_ns;
  struct timespec nap = {.tv_nsec = (long)nap_ns};
  (void)nanosleep(&nap, NULL);
}

enum gr_status gr_cuda_wait_event(struct gr_executable *executable, cudaEvent_t event, int64_t step, uint64_t since_ns,
                                  const struct gr_wait_options *options, struct gr_error *error) {
  static const struct gr_wait_options none;
  if (!options) options = &none;
  uint64_t begun_ns = gr_clock_now_ns();
  uint64_t node_deadline_ns = node_deadline(executable, step, since_ns);
  for (;;) {
    cudaError_t code = cudaEventQuery(event);
    if (code == cudaSuccess) return GR_OK;
    if (code != cudaErrorNotReady) return gr_cuda_replay_failed(executable, code, step, error);
    if (options->cancelled && options->cancelled(options->context)) {
      return broken_off(executable, CUDA_END_CANCELLED, step, error);
    }
    uint64_t now_ns = gr_clock_now_ns();
    if (node_deadline_ns != 0 && now_ns >= node_deadline_ns) return node_timed_out(executable, step, error);
    if (options->deadline_ns != 0 && now_ns >= options->deadline_ns) {
      return broken_off(executable, CUDA_END_TIMEOUT, step, error);
    }
    pause_for(now_ns - begun_ns);
  }
}

/* ---- states ---- */

static void states_all(const struct gr_plan *plan, enum gr_node_state working, enum gr_node_state empty,
                       enum gr_node_state *states) {
  for (uint32_t step = 0; step < plan->step_count; step++) {
    states[step] = does_work(plan, step) ? working : gr_plan_is_no_op(plan, step) ? GR_NODE_NO_OP : empty;
  }
}

static void skip_successors(const struct gr_plan *plan, enum gr_node_state *states) {
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (states[step] != GR_NODE_NOT_RUN) continue;
    for (uint64_t i = plan->emitted_begin[step]; i < plan->emitted_begin[step + 1]; i++) {
      enum gr_node_state before = states[plan->emitted[i]];
      if (before == GR_NODE_FAILED || before == GR_NODE_TIMEOUT || before == GR_NODE_SKIPPED) {
        states[step] = GR_NODE_SKIPPED;
      }
    }
  }
}

/* Serial mode: what ended before, what was running, what never started. */
static void states_serial(const struct gr_executable *executable, enum gr_node_state reason,
                          enum gr_node_state *states) {
  const struct gr_plan *plan = executable->plan;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (step >= executable->serial_done) states[step] = GR_NODE_NOT_RUN;
    else states[step] = gr_plan_is_no_op(plan, step) ? GR_NODE_NO_OP : GR_NODE_OK;
  }
  /* It may be known as the only one that does anything, and have ended. */
  if (executable->end_step >= executable->serial_done) states[executable->end_step] = reason;
  skip_successors(plan, states);
}

/* Streams that were broken off still answer for their events, as long as nothing has failed: what lies before one that
 * was reached, in its lane, is done. Only of the replay that was issued last. */
static void find_done(const struct gr_executable *executable, enum gr_node_state *states) {
  const struct gr_plan *plan = executable->plan;
  bool is_lane_done[CUDA_LANE_MAX] = {false};
  for (uint32_t step = plan->step_count; step-- > 0;) {
    uint32_t lane = plan->steps[step].lane;
    cudaEvent_t event = executable->events[step];
    if (!is_lane_done[lane] && event && executable->recorded_in[step] == executable->launched) {
      is_lane_done[lane] = cudaEventQuery(event) == cudaSuccess;
    }
    if (is_lane_done[lane] && states[step] != GR_NODE_NO_OP) states[step] = GR_NODE_OK;
  }
  /* Steps behind one that has not ended have not begun. */
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (states[step] == GR_NODE_OK || states[step] == GR_NODE_NO_OP) continue;
    for (uint64_t i = plan->emitted_begin[step]; i < plan->emitted_begin[step + 1]; i++) {
      enum gr_node_state before = states[plan->emitted[i]];
      if (before != GR_NODE_OK && before != GR_NODE_NO_OP) states[step] = GR_NODE_NOT_RUN;
    }
  }
}

/* The rule of all back ends: a step that ended in an earlier replay of the run is ok, unless it is, or waits for, what
 * the run was broken off for. Nobody is to blame for a cancellation. */
static void restore_earlier(const struct gr_executable *executable, enum gr_node_state *states) {
  uint64_t ended = executable->end == CUDA_END_FAILED ? executable->launched_before : executable->completed;
  if (executable->mode == GR_MODE_SERIAL) ended = executable->launched - 1; /* and a part of the last */
  if (ended <= executable->launched_before) return;
  for (uint32_t step = 0; step < executable->plan->step_count; step++) {
    bool is_blameless = states[step] == GR_NODE_SUSPECT && executable->end == CUDA_END_CANCELLED;
    if (states[step] != GR_NODE_NOT_RUN && !is_blameless) continue;
    states[step] = gr_plan_is_no_op(executable->plan, step) ? GR_NODE_NO_OP : GR_NODE_OK;
  }
}

void gr_cuda_states(const struct gr_executable *executable, enum gr_node_state *states) {
  const struct gr_plan *plan = executable->plan;
  bool is_new = executable->end == CUDA_END_NONE && executable->launched == executable->launched_before;
  if (executable->launched == 0 || is_new) {
    states_all(plan, GR_NODE_NOT_RUN, GR_NODE_NOT_RUN, states);
    return;
  }
  if (executable->end == CUDA_END_NONE) {
    states_all(plan, GR_NODE_OK, GR_NODE_OK, states);
    return;
  }
  enum gr_node_state reason = executable->end == CUDA_END_FAILED    ? GR_NODE_FAILED
                              : executable->end == CUDA_END_TIMEOUT ? GR_NODE_TIMEOUT
                                                                    : GR_NODE_SUSPECT;
  if (executable->mode == GR_MODE_SERIAL) {
    states_serial(executable, reason, states);
  } else {
    states_all(plan, GR_NODE_SUSPECT, GR_NODE_NOT_RUN, states);
    if (executable->end_step != CUDA_NO_STEP) {
      states[executable->end_step] = reason;
      skip_successors(plan, states);
    } else if (executable->mode == GR_MODE_STREAM && executable->end != CUDA_END_FAILED) {
      find_done(executable, states);
    }
  }
  restore_earlier(executable, states);
}
