/* graphrun run: from a file to a report, and never a half-written one. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/graphrun/commands.h"
#include "tools/graphrun/interrupt.h"
#include "tools/graphrun/output.h"

enum { EXIT_USAGE = 2, EXIT_ENVIRONMENT = 4 };

/* ---- a line of progress ---- */

struct progress {
  bool is_wanted;
  bool is_shown;
  struct timespec start;
};

static double seconds_since(const struct timespec *start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void show_progress(void *context, uint64_t done, uint64_t all) {
  struct progress *progress = context;
  if (!progress->is_wanted || seconds_since(&progress->start) < 1.0) return;
  fprintf(stderr, "\r\033[Kreplay %llu of %llu, %.0f s", (unsigned long long)done, (unsigned long long)all,
          seconds_since(&progress->start));
  progress->is_shown = true;
}

static void clear_progress(struct progress *progress) {
  if (progress->is_shown) fputs("\r\033[K", stderr);
  progress->is_shown = false;
}

/* ---- reports ---- */

/* The report of a run that has no graph to ask: nothing was loaded, or a call never came back. The members are those of
 * the full report, null where nothing is known. */
static void write_bare_report(struct output *output, const char *file, enum gr_status status, const char *message) {
  output_text(output, "{\"graphrun_report\": 1, \"name\": null, \"file\": ");
  output_json_string(output, file);
  output_format(output, ", \"status\": \"%s\", \"error\": {\"code\": \"%s\", \"name\": null, \"message\": ",
                gr_status_name(status), gr_status_name(status));
  output_json_string(output, message);
  output_text(output,
              ", \"file\": null, \"line\": 0, \"column\": 0, \"node\": null, \"buffer\": null}, \"backend\": null, "
              "\"backend_reason\": null, \"mode\": null, \"device\": null, \"replays\": null, \"plan\": null, "
              "\"build\": null, \"memory\": null, \"times_ns\": null, \"expects\": [], \"saved\": 0, "
              "\"nodes\": []}\n");
}

/* Says why there is no run, also in the report where one was asked for in JSON. Ends the output. */
static int refuse_run(struct output *output, const struct arguments *arguments, enum gr_status status,
                      const struct gr_error *error) {
  output_say_error(error);
  if (!arguments->report_json) {
    output_abandon(output);
  } else {
    write_bare_report(output, arguments->operands[0], status, error->message);
    (void)output_close(output);
  }
  return gr_status_exit(status);
}

int command_refuse_run(const struct arguments *arguments, enum gr_status status, const struct gr_error *error) {
  struct output output;
  if (output_open(&output, arguments->report_file)) return refuse_run(&output, arguments, status, error);
  output_say_error(error);
  return gr_status_exit(status);
}

struct hang {
  struct output *output;
  const struct arguments *arguments;
};

/* On the watchdog's thread: the run is stuck in a call, so the graph cannot be asked any more. */
static void say_hang(void *context) {
  const struct hang *hang = context;
  static const char message[] = "timeout: a node or the driver hangs and could not be stopped";
  fprintf(stderr, "graphrun: %s\n", message);
  if (hang->arguments->report_json) {
    write_bare_report(hang->output, hang->arguments->operands[0], GR_ERR_TIMEOUT, message);
    (void)output_close(hang->output);
  }
}

static enum gr_report_format report_format(const struct arguments *arguments) {
  if (arguments->report_json) return GR_REPORT_JSON;
  return !arguments->report_file && output_wants_color(stdout) ? GR_REPORT_TEXT_COLOR : GR_REPORT_TEXT;
}

/* ---- the run ---- */

static int exit_status_of(enum gr_status status) {
  if (status == GR_ERR_CANCELLED && interrupt_signal()) return 128 + interrupt_signal();
  return gr_status_exit(status);
}

/* A signal during the check or the build is seen by the run, which then ends before its first replay. */
static enum gr_status build(const struct arguments *arguments, struct gr_graph *graph, struct gr_error *error) {
  struct gr_graph_options options = {
      .struct_size = sizeof options,
      .backend = arguments->backend,
      .device_index = arguments->device_index,
      .mode = arguments->mode,
  };
  return gr_graph_build(graph, &options, error);
}

static enum gr_status replay(const struct arguments *arguments, struct gr_graph *graph, struct output *output,
                             struct gr_error *error) {
  struct progress progress = {.is_wanted = isatty(STDERR_FILENO)};
  clock_gettime(CLOCK_MONOTONIC, &progress.start);
  struct gr_run_options options = {
      .struct_size = sizeof options,
      .repeat = arguments->repeat,
      .warmup = arguments->warmup,
      .timeout_ns = arguments->timeout_ns,
      .cancelled = interrupt_cancelled,
      .progress = show_progress,
      .progress_context = &progress,
  };
  struct hang hang = {output, arguments};
  if (arguments->timeout_ns && !interrupt_watch(arguments->timeout_ns, say_hang, &hang)) {
    return gr_error_set(error, GR_ERR_NO_MEMORY, "no thread could be started that watches over --timeout");
  }
  enum gr_status status = gr_graph_run(graph, &options, error);
  interrupt_unwatch();
  clear_progress(&progress);
  return status;
}

static enum gr_status check_build_and_replay(const struct arguments *arguments, struct gr_graph *graph,
                                             struct output *output, struct gr_error *error) {
  enum gr_status status = gr_graph_check_files(graph, GR_UNREADABLE_ERROR, error);
  uint64_t errors = 0;
  gr_graph_problems(graph, &errors, NULL);
  command_show_diagnostics(graph);
  if (status == GR_OK) status = build(arguments, graph, error);
  if (status == GR_OK) status = replay(arguments, graph, output, error);
  if (status != GR_OK && errors == 0) output_say_error(error);
  return status;
}

/* A report in text of a file that was refused would say nothing that the diagnostics do not. */
static bool report_is_wanted(const struct arguments *arguments, enum gr_status status) {
  return arguments->report_json || (status != GR_ERR_INVALID && status != GR_ERR_NOT_SUPPORTED);
}

static int report_and_close(const struct arguments *arguments, struct gr_graph *graph, enum gr_status status,
                            struct output *output) {
  if (!report_is_wanted(arguments, status)) {
    output_abandon(output);
    return exit_status_of(status);
  }
  struct gr_error error;
  enum gr_status report_status = gr_graph_report(graph, report_format(arguments), output_write, output, &error);
  bool is_written = output_close(output);
  if (report_status != GR_OK && is_written) output_say_error(&error);
  if (status != GR_OK) return exit_status_of(status);
  return report_status == GR_OK && is_written ? 0 : EXIT_ENVIRONMENT;
}

/* The report would take the place of the pipeline. */
static bool report_is_pipeline(const struct arguments *arguments) {
  struct stat report, pipeline;
  if (!arguments->report_file || stat(arguments->report_file, &report) != 0) return false;
  if (stat(arguments->operands[0], &pipeline) != 0) return false;
  return report.st_dev == pipeline.st_dev && report.st_ino == pipeline.st_ino;
}

int command_run(struct gr_engine *engine, const struct arguments *arguments) {
  if (report_is_pipeline(arguments)) {
    fprintf(stderr, "graphrun: --report-file %s is the pipeline itself\n", arguments->report_file);
    return EXIT_USAGE;
  }
  struct output output;
  /* First of all: a report that cannot be written should not cost a run. */
  if (!output_open(&output, arguments->report_file)) return EXIT_ENVIRONMENT;
  struct gr_graph *graph;
  struct gr_error error;
  enum gr_status status = command_load(engine, arguments, arguments->operands[0], &graph, &error);
  if (status != GR_OK) return refuse_run(&output, arguments, status, &error);
  interrupt_hear(true);
  status = check_build_and_replay(arguments, graph, &output, &error);
  interrupt_hear(false);
  int exit_status = report_and_close(arguments, graph, status, &output);
  if (status == GR_ERR_TIMEOUT || status == GR_ERR_CANCELLED) {
    /* Something may still run, and waiting for it is what the user has just declined. */
    fflush(stderr);
    _exit(exit_status);
  }
  gr_graph_destroy(graph);
  return exit_status;
}
