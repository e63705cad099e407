/* What became of each step, and why a run was broken off. */
#include <string.h>

#include "engine/backend/host/host_internal.h"

/* In the replay that runs or ran last. */
static bool is_done(const struct host_pool *pool, uint32_t step) {
  uint32_t replay = atomic_load(&pool->replay);
  return replay != 0 && atomic_load(&pool->tasks[step].done_in) == replay;
}

/* In any replay since the times were reset. Numbers of replays wrap, so distances are compared. */
static bool has_ended(const struct gr_executable *executable, uint32_t step) {
  uint32_t replay = atomic_load(&executable->pool.replay);
  uint32_t done_in = atomic_load(&executable->pool.tasks[step].done_in);
  return done_in != 0 && replay - done_in < replay - executable->replay_before;
}

/* The step that a worker has started and not ended; HOST_NO_STEP where there is none. */
static uint32_t running_step(const struct host_pool *pool, uint32_t worker_index) {
  uint32_t running = atomic_load(&pool->workers[worker_index].running);
  return running == 0 || is_done(pool, running - 1) ? HOST_NO_STEP : running - 1;
}

/* Steps that wait for one that was broken off will not run, whether they did in an earlier replay or not. */
static bool is_skipped(const struct gr_plan *plan, uint32_t step, const enum gr_node_state *states) {
  for (uint64_t i = plan->emitted_begin[step]; i < plan->emitted_begin[step + 1]; i++) {
    enum gr_node_state before = states[plan->emitted[i]];
    if (before == GR_NODE_TIMEOUT || before == GR_NODE_SKIPPED) return true;
  }
  return false;
}

static void mark_late(const struct host_pool *pool, enum gr_node_state *states) {
  uint64_t halt = atomic_load(&pool->halt);
  if (gr_host_halt_reason(halt) == HOST_HALT_STEP) states[gr_host_halt_step(halt)] = GR_NODE_TIMEOUT;
  if (gr_host_halt_reason(halt) != HOST_HALT_DEADLINE) return;
  for (uint32_t i = 0; i < pool->worker_count; i++) {
    uint32_t step = running_step(pool, i);
    if (step != HOST_NO_STEP) states[step] = GR_NODE_TIMEOUT;
  }
}

/* Steps ascend along edges, so those before a step are judged already. A step that a halt kept from running once more
 * is what it was in the replay before. */
void gr_host_executable_states(const struct gr_executable *executable, enum gr_node_state *states) {
  const struct gr_plan *plan = executable->plan;
  const struct host_pool *pool = &executable->pool;
  for (uint32_t step = 0; step < plan->step_count; step++) states[step] = GR_NODE_NOT_RUN;
  mark_late(pool, states);
  for (uint32_t step = 0; step < plan->step_count; step++) {
    if (states[step] == GR_NODE_TIMEOUT) continue;
    if (!is_done(pool, step) && is_skipped(plan, step, states)) states[step] = GR_NODE_SKIPPED;
    else if (has_ended(executable, step)) states[step] = gr_plan_is_no_op(plan, step) ? GR_NODE_NO_OP : GR_NODE_OK;
  }
}

static enum gr_status step_failure(const struct gr_executable *executable, uint32_t step, struct gr_error *error) {
  uint64_t timeout_ns = executable->pool.tasks[step].timeout_ns;
  return gr_plan_error(
      executable->plan, step, error, GR_ERR_TIMEOUT, "node %s took longer than its timeout of %llu.%03llu s",
      gr_view_quote(gr_view_of(gr_plan_node_name(executable->plan, step))).text,
      (unsigned long long)(timeout_ns / 1000000000u), (unsigned long long)(timeout_ns / 1000000u % 1000u));
}

/* The first few of the steps that still run, as a list of quoted names in `text`; how many there are in all. */
static uint32_t list_running(const struct gr_executable *executable, char *text, size_t capacity, uint32_t *one) {
  enum { SHOWN = 3 };
  uint32_t count = 0;
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < executable->pool.worker_count; i++) {
    uint32_t step = running_step(&executable->pool, i);
    if (step == HOST_NO_STEP) continue;
    *one = step;
    if (++count > SHOWN) continue;
    struct gr_quote name = gr_view_quote(gr_view_of(gr_plan_node_name(executable->plan, step)));
    const char *between = count == 1 ? "; still running: " : ", ";
    size_t length = strlen(between) + strlen(name.text);
    if (used + length + sizeof ", …" > capacity) continue;
    memcpy(text + used, between, strlen(between));
    memcpy(text + used + strlen(between), name.text, strlen(name.text) + 1);
    used += length;
  }
  if (count > SHOWN) memcpy(text + used, ", …", sizeof ", …");
  return count;
}

enum gr_status gr_host_executable_failure(struct gr_executable *executable, struct gr_error *error) {
  const struct host_pool *pool = &executable->pool;
  uint64_t halt = atomic_load(&pool->halt);
  if (gr_host_halt_reason(halt) == HOST_HALT_STEP) return step_failure(executable, gr_host_halt_step(halt), error);
  bool is_cancelled = gr_host_halt_reason(halt) == HOST_HALT_CANCELLED;
  enum gr_status status = is_cancelled ? GR_ERR_CANCELLED : GR_ERR_TIMEOUT;
  uint32_t left = 0, one = HOST_NO_STEP;
  for (uint32_t step = 0; step < pool->task_count; step++) left += !is_done(pool, step);
  char running[4 * GR_QUOTE_BYTES + 32];
  uint32_t running_count = list_running(executable, running, sizeof running, &one);
  (void)gr_error_set(error, status, "%s with %u of %u nodes not finished%s",
                     is_cancelled ? "the run was cancelled" : "the time for the run was over", left, pool->task_count,
                     running);
  if (running_count == 1 && error) {
    struct gr_error named = *error;
    (void)gr_plan_error(executable->plan, one, &named, status, "%s", error->message);
    *error = named;
  }
  return status;
}
