#include "engine/run/run.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/run/run_internal.h"

static const uint64_t progress_interval_ns = UINT64_C(100000000);

enum gr_status gr_run_ask(struct gr_run *run) {
  const struct gr_run_settings *settings = run->settings;
  if (!settings->cancelled || !settings->cancelled(settings->cancelled_context)) return GR_OK;
  return gr_error_set(run->error, GR_ERR_CANCELLED, "the run was cancelled");
}

/* ---- replays ---- */

/* From the first launch on, for everything that follows. */
static void start_clock(struct gr_run *run) {
  if (run->deadline_ns != 0 || run->settings->timeout_ns == 0) return;
  if (__builtin_add_overflow(gr_clock_now_ns(), run->settings->timeout_ns, &run->deadline_ns)) {
    run->deadline_ns = UINT64_MAX;
  }
}

static void tell_progress(struct gr_run *run) {
  const struct gr_run_settings *settings = run->settings;
  if (!settings->progress || !run->is_told) return;
  uint64_t now_ns = gr_clock_now_ns();
  if (now_ns - run->told_ns < progress_interval_ns) return;
  run->told_ns = now_ns;
  struct gr_replay_times times; /* what was only launched is not done */
  run->backend->times(run->executable, &times);
  settings->progress(settings->progress_context, times.replays, settings->repeat);
}

/* What back ends ask while they wait, so that one long replay shows progress, too. */
static bool is_cancelled(void *context) {
  struct gr_run *run = context;
  const struct gr_run_settings *settings = run->settings;
  tell_progress(run);
  return settings->cancelled && settings->cancelled(settings->cancelled_context);
}

/* Back ends look at both while they wait, but a replay that ends within its launch never makes them. */
static enum gr_status may_go_on(struct gr_run *run, uint64_t done, uint64_t total) {
  GR_RETURN_IF_FAILED(gr_run_ask(run));
  if (run->deadline_ns == 0 || gr_clock_now_ns() < run->deadline_ns) return GR_OK;
  return gr_error_set(run->error, GR_ERR_TIMEOUT, "timeout after %llu of %llu replays were started",
                      (unsigned long long)done, (unsigned long long)total);
}

static enum gr_status launch_all(struct gr_run *run, uint64_t count, const struct gr_wait_options *options) {
  for (uint64_t i = 0; i < count; i++) {
    GR_RETURN_IF_FAILED(may_go_on(run, i, count));
    run->has_launched = true;
    GR_RETURN_IF_FAILED(run->backend->launch(run->executable, options, run->error));
    tell_progress(run);
  }
  return GR_OK;
}

/* `count` replays, one behind the other, and the wait for the last. */
static enum gr_status replay(struct gr_run *run, uint64_t count) {
  start_clock(run);
  bool is_asked = run->settings->cancelled || run->settings->progress;
  struct gr_wait_options options = {
      .deadline_ns = run->deadline_ns,
      .cancelled = is_asked ? is_cancelled : NULL,
      .context = run,
  };
  enum gr_status status = launch_all(run, count, &options);
  if (status == GR_OK) return run->backend->wait(run->executable, &options, run->error);
  bool is_early_end = status == GR_ERR_TIMEOUT || status == GR_ERR_CANCELLED;
  if (!is_early_end || !run->has_launched) return status;
  /* The back end hears of it, too: what is in flight is broken off, its states stand still, and it knows best which
   * nodes still run, or that one has failed. An end that it has told itself it tells again, or refuses to wait. */
  struct gr_error cause = *run->error;
  enum gr_status end = run->backend->wait(run->executable, &options, run->error);
  if (end != GR_OK && end != GR_ERR_STATE) return end;
  *run->error = cause;
  return status;
}

/* ---- the stages ---- */

static enum gr_status apply_inputs(struct gr_run *run) {
  if (run->settings->keep_state) return GR_OK;
  uint64_t start_ns = gr_clock_now_ns();
  enum gr_status status = gr_run_apply_inputs(run);
  run->report->inputs_ns += gr_clock_now_ns() - start_ns;
  return status;
}

static enum gr_status warm_up(struct gr_run *run) {
  if (run->settings->warmup == 0) return GR_OK;
  uint64_t start_ns = gr_clock_now_ns();
  enum gr_status status = replay(run, run->settings->warmup);
  run->report->warmup_ns = gr_clock_now_ns() - start_ns;
  return status == GR_OK ? apply_inputs(run) : status;
}

static enum gr_status replay_all(struct gr_run *run) {
  run->backend->reset_times(run->executable);
  uint64_t start_ns = gr_clock_now_ns();
  run->told_ns = start_ns;
  run->is_told = true;
  enum gr_status status = replay(run, run->settings->repeat);
  run->report->replays_ns = gr_clock_now_ns() - start_ns;
  return status;
}

static enum gr_status outputs(struct gr_run *run) {
  if (run->settings->no_outputs) return GR_OK;
  uint64_t start_ns = gr_clock_now_ns();
  enum gr_status status = gr_run_check_expects(run);
  if (status == GR_OK) status = gr_run_save(run);
  run->report->outputs_ns = gr_clock_now_ns() - start_ns;
  return status;
}

static void note_replays(struct gr_run *run, bool is_warm) {
  struct gr_report *report = run->report;
  if (run->has_launched) run->backend->states(run->executable, report->states);
  if (!is_warm) return;
  run->backend->times(run->executable, &report->times);
  report->replays_done = report->times.replays;
}

static enum gr_status walk(struct gr_run *run) {
  run->backend->facts(run->executable, &run->report->facts); /* now, since not after a timeout */
  /* What can be known to fail fails before anything runs. */
  if (!run->settings->no_outputs) GR_RETURN_IF_FAILED(gr_run_check_outputs(run));
  GR_RETURN_IF_FAILED(apply_inputs(run));
  run->backend->reset_times(run->executable); /* the states are those of this run, not of an earlier one */
  enum gr_status status = warm_up(run);
  bool is_warm = status == GR_OK;
  if (is_warm) status = replay_all(run);
  /* States and times are told whatever happened; and before the outputs, whose failures do not concern the nodes. */
  note_replays(run, is_warm);
  return status == GR_OK ? outputs(run) : status;
}

static void begin_report(struct gr_report *report, const struct gr_plan *plan, const struct gr_run_settings *settings) {
  gr_memory_release(report->memory, report->states);
  gr_memory_release(report->memory, report->expects);
  report->states = NULL;
  report->expects = NULL;
  report->expect_count = 0;
  report->saved_count = 0;
  report->plan = plan;
  report->repeat = settings->repeat;
  report->warmup = settings->warmup;
  report->replays_done = 0;
  report->inputs_ns = report->warmup_ns = report->replays_ns = report->outputs_ns = 0;
  report->times = (struct gr_replay_times){0};
}

enum gr_status gr_run(struct gr_memory *memory, const struct gr_backend *backend, struct gr_executable *executable,
                      const struct gr_plan *plan, const struct gr_run_settings *settings, struct gr_report *report,
                      struct gr_error *error) {
  struct gr_error cause;
  memset(&cause, 0, sizeof cause);
  struct gr_run run = {.memory = memory,
                       .backend = backend,
                       .executable = executable,
                       .plan = plan,
                       .pipeline = plan->pipeline,
                       .settings = settings,
                       .report = report,
                       .error = &cause};
  enum gr_status status = GR_OK;
  uint64_t start_ns = gr_clock_now_ns();
  begin_report(report, plan, settings);
  report->states = gr_memory_allocate_zeroed(memory, plan->step_count, sizeof *report->states);
  run.chunk = gr_memory_allocate(memory, 2 * (size_t)GR_RUN_CHUNK_BYTES);
  if (settings->repeat == 0) status = gr_error_set(&cause, GR_ERR_ARGUMENT, "a run has at least one replay");
  else if (!report->states || !run.chunk) status = gr_error_set(&cause, GR_ERR_NO_MEMORY, "out of host memory");
  else status = walk(&run);
  gr_memory_release(memory, run.chunk);
  report->total_ns = gr_clock_now_ns() - start_ns;
  report->status = status;
  report->error = cause;
  if (status != GR_OK && error) *error = cause;
  return status;
}
