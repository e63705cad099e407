/* graphrun: the program. It reads the command line and leaves the work to the commands. */
#include "kernels/catalogue.h"
#include "tools/graphrun/arguments.h"
#include "tools/graphrun/commands.h"
#include "tools/graphrun/interrupt.h"
#include "tools/graphrun/output.h"
#include "tools/graphrun/pinned.h"

enum { EXIT_USAGE = 2 };

static void log_to_stderr(void *context, enum gr_log_level level, const char *message) {
  (void)context;
  fprintf(stderr, "graphrun: %s%s\n", level == GR_LOG_WARNING ? "warning: " : "", message);
}

static int run_command(struct gr_engine *engine, const struct arguments *arguments) {
  switch (arguments->command) {
    case COMMAND_RUN:
      return command_run(engine, arguments);
    case COMMAND_CHECK:
      return command_check(engine, arguments);
    case COMMAND_PLAN:
    case COMMAND_GRAPH:
      return command_show(engine, arguments);
    case COMMAND_KERNELS:
      return command_kernels(arguments);
    case COMMAND_DEVICES:
      return command_devices(engine);
    case COMMAND_KNOBS:
      return command_knobs();
    case COMMAND_VERSION:
      return command_version(engine);
    case COMMAND_HELP:
      break;
  }
  return command_help(arguments);
}

static int run_with_engine(const struct arguments *arguments) {
  struct gr_engine_options options = {
      .struct_size = sizeof options,
      .catalogue = gr_builtin_catalogue(),
      .pinned = pinned_hooks(),
      .log = log_to_stderr,
  };
  struct gr_engine *engine;
  struct gr_error error;
  enum gr_status status = gr_engine_create(&options, &engine, &error);
  if (status != GR_OK) {
    if (arguments->command == COMMAND_RUN) return command_refuse_run(arguments, status, &error);
    output_say_error(&error);
    return gr_status_exit(status);
  }
  int exit_status = run_command(engine, arguments);
  (void)gr_engine_destroy(engine);
  return exit_status;
}

int main(int argument_count, char **argument_values) {
  output_fill_gaps();
  interrupt_install();
  struct arguments arguments;
  char problem[512];
  int exit_status = EXIT_USAGE;
  if (arguments_read(argument_count, argument_values, &arguments, problem, sizeof problem)) {
    /* Help and knobs work whatever the environment holds; the others need an engine. */
    if (arguments.command == COMMAND_HELP) exit_status = command_help(&arguments);
    else if (arguments.command == COMMAND_KNOBS) exit_status = command_knobs();
    else exit_status = run_with_engine(&arguments);
  } else {
    fprintf(stderr, "graphrun: %s\n", problem);
  }
  arguments_release(&arguments);
  return exit_status;
}
