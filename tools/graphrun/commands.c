/* The commands that run nothing. */
#include "tools/graphrun/commands.h"

#include <string.h>

#include "kernels/catalogue.h"
#include "tools/graphrun/output.h"

enum { EXIT_USAGE = 2, EXIT_ENVIRONMENT = 4 };

static size_t read_stdin(void *context, char *bytes, size_t capacity) {
  (void)context;
  size_t length = fread(bytes, 1, capacity, stdin);
  return length == 0 && ferror(stdin) ? SIZE_MAX : length;
}

static enum gr_status apply_settings(const struct arguments *arguments, struct gr_graph *graph,
                                     struct gr_error *error) {
  for (size_t i = 0; i < arguments->setting_count; i++) {
    const struct setting *setting = &arguments->settings[i];
    GR_RETURN_IF_FAILED(gr_graph_set_text(graph, setting->name, setting->value, error));
  }
  return GR_OK;
}

enum gr_status command_load(struct gr_engine *engine, const struct arguments *arguments, const char *operand,
                            struct gr_graph **graph, struct gr_error *error) {
  struct gr_graph *loaded = NULL;
  if (strcmp(operand, "-") == 0) {
    GR_RETURN_IF_FAILED(gr_graph_load_stream(engine, read_stdin, NULL, "<stdin>", "", &loaded, error));
  } else {
    GR_RETURN_IF_FAILED(gr_graph_load_file(engine, operand, &loaded, error));
  }
  enum gr_status status = apply_settings(arguments, loaded, error);
  if (status == GR_OK) *graph = loaded;
  else gr_graph_destroy(loaded);
  return status;
}

void command_show_diagnostics(struct gr_graph *graph) {
  (void)gr_graph_diagnostics(graph, output_write_stderr, NULL, output_wants_color(stderr), NULL);
}

int command_say_check_failure(struct gr_graph *graph, const struct gr_error *error) {
  uint64_t errors = 0;
  gr_graph_problems(graph, &errors, NULL);
  command_show_diagnostics(graph);
  if (errors == 0) output_say_error(error);
  return gr_status_exit(error->status);
}

/* ---- check ---- */

static const struct dump {
  const char *name;
  enum gr_show what;
} dumps[] = {
    {"document", GR_SHOW_DOCUMENT},
    {"pipeline", GR_SHOW_PIPELINE},
    {"dag", GR_SHOW_DAG},
    {"dot", GR_SHOW_DOT},
};

static int dump_stage(struct gr_graph *graph, const char *stage) {
  for (size_t i = 0; i < sizeof dumps / sizeof dumps[0]; i++) {
    if (strcmp(dumps[i].name, stage) != 0) continue;
    struct output output;
    if (!output_open(&output, NULL)) return EXIT_ENVIRONMENT;
    struct gr_error error;
    enum gr_status status = gr_graph_show(graph, dumps[i].what, output_write, &output, &error);
    if (!output_close(&output)) return EXIT_ENVIRONMENT;
    return status == GR_OK ? 0 : command_say_check_failure(graph, &error);
  }
  return EXIT_USAGE;
}

static int check_one(struct gr_engine *engine, const struct arguments *arguments, const char *operand) {
  struct gr_graph *graph;
  struct gr_error error;
  enum gr_status status = command_load(engine, arguments, operand, &graph, &error);
  if (status != GR_OK) {
    output_say_error(&error);
    return gr_status_exit(status);
  }
  int exit_status = 0;
  status = gr_graph_check_files(graph, GR_UNREADABLE_WARNING, &error);
  if (status == GR_OK) {
    command_show_diagnostics(graph);
    /* Planning finds what no part of the file shows alone, such as buffers that are too large together. */
    status = gr_graph_plan(graph, &error);
    if (status != GR_OK) output_say_error(&error);
    exit_status = gr_status_exit(status);
  } else {
    exit_status = command_say_check_failure(graph, &error);
  }
  if (exit_status == 0 && arguments->dump) exit_status = dump_stage(graph, arguments->dump);
  gr_graph_destroy(graph);
  return exit_status;
}

int command_check(struct gr_engine *engine, const struct arguments *arguments) {
  int worst = 0;
  for (size_t i = 0; i < arguments->operand_count; i++) {
    int exit_status = check_one(engine, arguments, arguments->operands[i]);
    if (exit_status > worst) worst = exit_status;
  }
  return worst;
}

/* ---- plan, graph ---- */

static enum gr_show stage_of(const struct arguments *arguments) {
  if (arguments->command == COMMAND_GRAPH) return GR_SHOW_DOT;
  return arguments->format && strcmp(arguments->format, "json") == 0 ? GR_SHOW_PLAN_JSON : GR_SHOW_PLAN;
}

int command_show(struct gr_engine *engine, const struct arguments *arguments) {
  struct gr_graph *graph;
  struct gr_error error;
  enum gr_status status = command_load(engine, arguments, arguments->operands[0], &graph, &error);
  if (status != GR_OK) {
    output_say_error(&error);
    return gr_status_exit(status);
  }
  int exit_status = 0;
  status = gr_graph_check(graph, &error);
  if (status != GR_OK) {
    exit_status = command_say_check_failure(graph, &error);
  } else {
    command_show_diagnostics(graph);
    struct output output;
    (void)output_open(&output, NULL);
    status = gr_graph_show(graph, stage_of(arguments), output_write, &output, &error);
    bool is_written = output_close(&output);
    if (!is_written) exit_status = EXIT_ENVIRONMENT;
    if (status != GR_OK && status != GR_ERR_IO) {
      output_say_error(&error);
      exit_status = gr_status_exit(status);
    }
  }
  gr_graph_destroy(graph);
  return exit_status;
}

/* ---- kernels ---- */

static const char *parameter_kind(const struct gr_kernel_parameter *parameter) {
  switch (parameter->kind) {
    case GR_PARAMETER_REAL:
      return "real";
    case GR_PARAMETER_INTEGER:
      return "integer";
    case GR_PARAMETER_BUFFER:
      break;
  }
  switch (parameter->access) {
    case GR_ACCESS_WRITE:
      return "written";
    case GR_ACCESS_UPDATE:
      return "updated";
    case GR_ACCESS_READ:
    case GR_ACCESS_NONE:
      break;
  }
  return "read";
}

static void list_kernel(struct output *output, const struct gr_kernel *kernel) {
  char arguments[128] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < kernel->parameter_count && length < sizeof arguments; i++) {
    int written =
        snprintf(arguments + length, sizeof arguments - length, "%s%s", i ? ", " : "", kernel->parameters[i].name);
    length += written > 0 ? (size_t)written : 0;
  }
  output_format(output, "%-14s %-50s %s\n", kernel->name, arguments, kernel->summary);
}

static void describe_kernel(struct output *output, const struct gr_kernel *kernel) {
  output_format(output, "%s: %s\n", kernel->name, kernel->summary);
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    const struct gr_kernel_parameter *parameter = &kernel->parameters[i];
    output_format(output, "  %-12s %s%s\n", parameter->name, parameter_kind(parameter),
                  parameter->may_alias_output ? ", may be the output" : "");
  }
}

int command_kernels(const struct arguments *arguments) {
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  struct output output;
  (void)output_open(&output, NULL);
  if (arguments->operand_count == 1) {
    const char *name = arguments->operands[0];
    const struct gr_kernel *kernel = gr_catalogue_find(catalogue, name, strlen(name));
    if (!kernel) {
      fprintf(stderr, "graphrun: there is no built-in kernel \"%s\"; `graphrun kernels` lists them\n", name);
      return EXIT_USAGE;
    }
    describe_kernel(&output, kernel);
  } else {
    for (uint32_t i = 0; i < catalogue->kernel_count; i++) list_kernel(&output, &catalogue->kernels[i]);
  }
  return output_close(&output) ? 0 : EXIT_ENVIRONMENT;
}

/* ---- devices, knobs, version, help ---- */

static void list_devices(struct output *output, struct gr_engine *engine, const struct gr_backend_info *backend) {
  for (uint32_t i = 0; i < backend->device_count; i++) {
    struct gr_device_info device;
    struct gr_error error;
    if (gr_device_describe(engine, backend->name, i, &device, &error) != GR_OK) {
      output_format(output, "  %u: %s\n", i, error.message);
      continue;
    }
    output_format(output, "  %u: %s, %llu MiB", i, device.name, (unsigned long long)(device.memory_bytes >> 20));
    if (device.compute_major) {
      output_format(output, ", compute capability %u.%u, %u multiprocessors\n", device.compute_major,
                    device.compute_minor, device.unit_count);
    } else {
      output_format(output, ", %u cores\n", device.unit_count);
    }
  }
}

int command_devices(struct gr_engine *engine) {
  struct output output;
  (void)output_open(&output, NULL);
  for (uint32_t i = 0; i < gr_backend_count(engine); i++) {
    struct gr_backend_info backend;
    struct gr_error error;
    if (gr_backend_describe(engine, i, &backend, &error) != GR_OK) continue;
    output_format(&output, "%s%s%s%s\n", backend.name, backend.driver[0] ? " (" : "", backend.driver,
                  backend.driver[0] ? ")" : "");
    if (backend.device_count == 0) output_format(&output, "  none: %s\n", backend.reason);
    list_devices(&output, engine, &backend);
  }
  return output_close(&output) ? 0 : EXIT_ENVIRONMENT;
}

int command_knobs(void) {
  struct output output;
  (void)output_open(&output, NULL);
  struct gr_error error;
  enum gr_status status = gr_knobs_write(output_write, &output, &error);
  if (!output_close(&output)) return EXIT_ENVIRONMENT;
  if (status != GR_OK) output_say_error(&error);
  return gr_status_exit(status);
}

int command_version(struct gr_engine *engine) {
  struct output output;
  (void)output_open(&output, NULL);
  output_format(&output, "graphrun %s\nbackends:", gr_version());
  for (uint32_t i = 0; i < gr_backend_count(engine); i++) {
    struct gr_backend_info backend;
    if (gr_backend_describe(engine, i, &backend, NULL) == GR_OK) output_format(&output, " %s", backend.name);
  }
#ifdef GR_HAVE_JEMALLOC
  output_text(&output, "\nallocator: jemalloc\n");
#else
  output_text(&output, "\nallocator: the C library's\n");
#endif
  return output_close(&output) ? 0 : EXIT_ENVIRONMENT;
}

int command_help(const struct arguments *arguments) {
  struct output output;
  (void)output_open(&output, NULL);
  bool is_known = arguments_help(output.stream, arguments->help_topic);
  bool is_written = output_close(&output);
  if (!is_known) {
    fprintf(stderr, "graphrun: there is no command \"%s\"; `graphrun help` lists them\n", arguments->help_topic);
    return EXIT_USAGE;
  }
  return is_written ? 0 : EXIT_ENVIRONMENT;
}
