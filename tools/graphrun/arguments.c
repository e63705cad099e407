#include "tools/graphrun/arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  ON_RUN = 1u << COMMAND_RUN,
  ON_CHECK = 1u << COMMAND_CHECK,
  ON_PLAN = 1u << COMMAND_PLAN,
  ON_GRAPH = 1u << COMMAND_GRAPH
};

/* One row a command. `operand_max` 0: none are taken. */
static const struct command_row {
  const char *name;
  const char *operands;
  size_t operand_min, operand_max;
  const char *summary;
} command_rows[] = {
    [COMMAND_RUN] = {"run", "FILE", 1, 1, "check, plan, build, replay, verify, save and report a pipeline"},
    [COMMAND_CHECK] = {"check", "FILE...", 1, SIZE_MAX, "find every error of the files; touches no GPU"},
    [COMMAND_PLAN] = {"plan", "FILE", 1, 1, "show levels, streams, waits and why, edges, memory; touches no GPU"},
    [COMMAND_GRAPH] = {"graph", "FILE", 1, 1, "draw the pipeline's DAG"},
    [COMMAND_KERNELS] = {"kernels", "[NAME]", 0, 1, "list the built-in kernels and their arguments"},
    [COMMAND_DEVICES] = {"devices", "", 0, 0, "list the backends and their devices"},
    [COMMAND_KNOBS] = {"knobs", "", 0, 0, "list the environment variables that are read"},
    [COMMAND_VERSION] = {"version", "", 0, 0, "say which version this is and what it was built with"},
    [COMMAND_HELP] = {"help", "[COMMAND]", 0, 1, "show this, or the help of one command"},
};
enum { COMMAND_COUNT = sizeof command_rows / sizeof command_rows[0] };

/* Commands that the format names but that come later: said as such, not as unknown. */
static const char *const later_commands[] = {"bench", "schema"};

enum option {
  OPTION_BACKEND,
  OPTION_MODE,
  OPTION_DEVICE,
  OPTION_SET,
  OPTION_REPEAT,
  OPTION_WARMUP,
  OPTION_TIMEOUT,
  OPTION_REPORT,
  OPTION_REPORT_FILE,
  OPTION_FORMAT,
  OPTION_DUMP,
};

static const struct option_row {
  const char *name;
  const char *value;
  unsigned commands; /* bits ON_… */
  const char *summary;
} option_rows[] = {
    [OPTION_BACKEND] = {"--backend", "auto|host|cuda", ON_RUN, "where to run; auto takes a usable GPU, else the host"},
    [OPTION_MODE] = {"--mode", "graph|stream|serial", ON_RUN,
                     "captured graph (default), plain streams, or one node at a time"},
    [OPTION_DEVICE] = {"--device", "N", ON_RUN, "which GPU (default 0)"},
    [OPTION_SET] = {"--set", "NAME=VALUE", ON_RUN | ON_CHECK | ON_PLAN | ON_GRAPH,
                    "override a param of the file; may be repeated"},
    [OPTION_REPEAT] = {"--repeat", "N", ON_RUN, "replays, at least 1 (default 1)"},
    [OPTION_WARMUP] = {"--warmup", "N", ON_RUN, "replays before, on buffers that are then set up again (default 0)"},
    [OPTION_TIMEOUT] = {"--timeout", "SECONDS", ON_RUN, "end with status 124 when the replays take longer"},
    [OPTION_REPORT] = {"--report", "text|json", ON_RUN, "form of the report on stdout (default text)"},
    [OPTION_REPORT_FILE] = {"--report-file", "FILE", ON_RUN, "write the report there instead of to stdout"},
    [OPTION_FORMAT] = {"--format", "FORMAT", ON_PLAN | ON_GRAPH, "plan: text or json; graph: dot"},
    [OPTION_DUMP] = {"--dump", "STAGE", ON_CHECK, "print a stage: document, pipeline, dag or dot"},
};
enum { OPTION_COUNT = sizeof option_rows / sizeof option_rows[0] };

__attribute__((format(printf, 3, 4))) static bool refuse(char *problem, size_t problem_bytes, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (vsnprintf(problem, problem_bytes, format, list) < 0 && problem_bytes > 0) problem[0] = '\0';
  va_end(list);
  return false;
}

struct reader {
  struct arguments *arguments;
  char *problem;
  size_t problem_bytes;
};

#define REFUSE(reader, ...) refuse((reader)->problem, (reader)->problem_bytes, __VA_ARGS__)

/* Decimal digits and nothing else; no sign, no space, no suffix: `--repeat 10x` must not be 10. */
static bool read_count(struct reader *reader, const char *option, const char *text, uint64_t least, uint64_t most,
                       uint64_t *count) {
  uint64_t value = 0;
  bool fits = text[0] != '\0';
  for (const char *c = text; fits && *c; c++) {
    fits = *c >= '0' && *c <= '9' && !__builtin_mul_overflow(value, 10u, &value) &&
           !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
  }
  if (!fits || value < least || value > most) {
    return REFUSE(reader, "%s takes a whole number from %llu to %llu, not \"%s\"", option, (unsigned long long)least,
                  (unsigned long long)most, text);
  }
  *count = value;
  return true;
}

/* Seconds as digits with at most one point and nine digits behind it; above 0. */
static bool read_seconds(struct reader *reader, const char *option, const char *text, uint64_t *nanoseconds) {
  uint64_t value = 0;
  int digits_behind_point = -1;
  int digits = 0;
  bool fits = true;
  for (const char *c = text; fits && *c; c++) {
    if (*c == '.' && digits_behind_point < 0) {
      digits_behind_point = 0;
      continue;
    }
    fits = *c >= '0' && *c <= '9' && digits_behind_point < 9 && !__builtin_mul_overflow(value, 10u, &value) &&
           !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
    digits++;
    if (digits_behind_point >= 0) digits_behind_point++;
  }
  for (int i = digits_behind_point < 0 ? 0 : digits_behind_point; fits && i < 9; i++) {
    fits = !__builtin_mul_overflow(value, 10u, &value);
  }
  if (!fits || digits == 0 || value == 0) {
    return REFUSE(reader, "%s takes seconds above 0, such as 3 or 0.5, not \"%s\"", option, text);
  }
  *nanoseconds = value;
  return true;
}

/* One word of a list that ends in null; its index goes to `chosen`. */
static bool read_word(struct reader *reader, const char *option, const char *text, const char *const *words,
                      unsigned *chosen) {
  char list[128] = "";
  size_t length = 0;
  for (unsigned i = 0; words[i]; i++) {
    if (strcmp(words[i], text) == 0) {
      *chosen = i;
      return true;
    }
    int written = snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", words[i]);
    if (written > 0 && (size_t)written < sizeof list - length) length += (size_t)written;
  }
  return REFUSE(reader, "%s takes one of %s, not \"%s\"", option, list, text);
}

static bool read_setting(struct reader *reader, const char *text) {
  struct arguments *arguments = reader->arguments;
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || equals[1] == '\0') {
    return REFUSE(reader, "--set takes NAME=VALUE, not \"%s\"", text);
  }
  struct setting *wider = realloc(arguments->settings, (arguments->setting_count + 1) * sizeof *wider);
  if (!wider) return REFUSE(reader, "out of memory");
  arguments->settings = wider;
  char *name = strndup(text, (size_t)(equals - text));
  if (!name) return REFUSE(reader, "out of memory");
  wider[arguments->setting_count++] = (struct setting){name, equals + 1};
  return true;
}

static bool read_option(struct reader *reader, enum option option, const char *value) {
  static const char *const backends[] = {"auto", "host", "cuda", NULL};
  static const char *const modes[] = {"graph", "stream", "serial", NULL};
  static const char *const reports[] = {"text", "json", NULL};
  static const char *const plan_formats[] = {"text", "json", NULL};
  static const char *const graph_formats[] = {"dot", NULL};
  static const char *const later_formats[] = {"svg", "mermaid", "json", NULL};
  static const char *const dumps[] = {"document", "pipeline", "dag", "dot", NULL};
  struct arguments *arguments = reader->arguments;
  const char *name = option_rows[option].name;
  unsigned chosen = 0;
  uint64_t count = 0;
  switch (option) {
    case OPTION_BACKEND:
      if (!read_word(reader, name, value, backends, &chosen)) return false;
      arguments->backend = value;
      return true;
    case OPTION_MODE:
      if (!read_word(reader, name, value, modes, &chosen)) return false;
      arguments->mode = (enum gr_mode)chosen;
      return true;
    case OPTION_DEVICE:
      if (!read_count(reader, name, value, 0, INT32_MAX, &count)) return false;
      arguments->device_index = (uint32_t)count;
      return true;
    case OPTION_SET:
      return read_setting(reader, value);
    case OPTION_REPEAT:
      return read_count(reader, name, value, 1, INT64_MAX, &arguments->repeat);
    case OPTION_WARMUP:
      return read_count(reader, name, value, 0, INT64_MAX, &arguments->warmup);
    case OPTION_TIMEOUT:
      return read_seconds(reader, name, value, &arguments->timeout_ns);
    case OPTION_REPORT:
      if (!read_word(reader, name, value, reports, &chosen)) return false;
      arguments->report_json = chosen == 1;
      return true;
    case OPTION_REPORT_FILE:
      if (value[0] == '\0') return REFUSE(reader, "--report-file takes a file's name, not \"\"");
      arguments->report_file = value;
      return true;
    case OPTION_FORMAT:
      if (arguments->command == COMMAND_GRAPH) {
        for (unsigned i = 0; later_formats[i]; i++) {
          if (strcmp(later_formats[i], value) == 0) {
            return REFUSE(reader, "--format %s is not supported yet; dot is", value);
          }
        }
      }
      arguments->format = value;
      return read_word(reader, name, value, arguments->command == COMMAND_GRAPH ? graph_formats : plan_formats,
                       &chosen);
    case OPTION_DUMP:
      arguments->dump = value;
      return read_word(reader, name, value, dumps, &chosen);
  }
  return REFUSE(reader, "%s is not known", name);
}

/* Restricted edit distance of short words, for "did you mean"; good enough at a dozen candidates. */
static size_t edit_distance(const char *a, const char *b) {
  enum { LONGEST = 24 };
  size_t length_a = strlen(a), length_b = strlen(b);
  if (length_a > LONGEST || length_b > LONGEST) return SIZE_MAX;
  size_t row[LONGEST + 1];
  for (size_t j = 0; j <= length_b; j++) row[j] = j;
  for (size_t i = 1; i <= length_a; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= length_b; j++) {
      size_t above = row[j];
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = above;
      row[j] = best;
    }
  }
  return row[length_b];
}

static const char *nearest_command(const char *word) {
  for (size_t distance = 1; distance <= 2; distance++) {
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
      if (edit_distance(word, command_rows[i].name) == distance) return command_rows[i].name;
    }
  }
  return NULL;
}

static const char *nearest_option(const char *word) {
  for (size_t distance = 1; distance <= 2; distance++) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
      if (edit_distance(word, option_rows[i].name) == distance) return option_rows[i].name;
    }
  }
  return NULL;
}

static bool find_command(struct reader *reader, const char *word) {
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(command_rows[i].name, word) == 0) {
      reader->arguments->command = (enum command)i;
      return true;
    }
  }
  for (size_t i = 0; i < sizeof later_commands / sizeof later_commands[0]; i++) {
    if (strcmp(later_commands[i], word) == 0) return REFUSE(reader, "the command %s is not supported yet", word);
  }
  const char *nearest = nearest_command(word);
  if (nearest) return REFUSE(reader, "unknown command \"%s\"; did you mean %s?", word, nearest);
  return REFUSE(reader, "unknown command \"%s\"; `graphrun help` lists them", word);
}

/* `--name value` or `--name=value`. Advances *position over what it takes. */
static bool read_long_option(struct reader *reader, int argument_count, char **values, int *position) {
  const char *text = values[*position];
  const char *equals = strchr(text, '=');
  size_t name_length = equals ? (size_t)(equals - text) : strlen(text);
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    const struct option_row *row = &option_rows[i];
    if (strlen(row->name) != name_length || strncmp(row->name, text, name_length) != 0) continue;
    enum command command = reader->arguments->command;
    if (!(row->commands & (1u << command))) {
      return REFUSE(reader, "%s does not go with the command %s", row->name, command_rows[command].name);
    }
    if (equals) return read_option(reader, (enum option)i, equals + 1);
    if (*position + 1 >= argument_count) return REFUSE(reader, "%s needs a value: %s", row->name, row->value);
    ++*position;
    return read_option(reader, (enum option)i, values[*position]);
  }
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)(name_length < 31 ? name_length : 31), text);
  const char *nearest = nearest_option(word);
  if (nearest) return REFUSE(reader, "unknown option %s; did you mean %s?", text, nearest);
  return REFUSE(reader, "unknown option %s; `graphrun help %s` lists them", text,
                command_rows[reader->arguments->command].name);
}

static bool asks_for_help(const char *text) { return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0; }

static void turn_into_help(struct arguments *arguments, const char *topic) {
  arguments->command = COMMAND_HELP;
  arguments->help_topic = topic;
}

static bool check_operands(struct reader *reader) {
  struct arguments *arguments = reader->arguments;
  const struct command_row *row = &command_rows[arguments->command];
  if (arguments->operand_count < row->operand_min) {
    return REFUSE(reader, "graphrun %s needs %s", row->name, row->operands);
  }
  if (arguments->operand_count > row->operand_max) {
    return REFUSE(reader, "graphrun %s does not take \"%s\"", row->name, arguments->operands[row->operand_max]);
  }
  if (arguments->command == COMMAND_HELP && arguments->operand_count == 1) {
    arguments->help_topic = arguments->operands[0];
  }
  return true;
}

bool arguments_read(int argument_count, char **argument_values, struct arguments *arguments, char *problem,
                    size_t problem_bytes) {
  memset(arguments, 0, sizeof *arguments);
  arguments->repeat = 1;
  struct reader reader = {arguments, problem, problem_bytes};
  if (argument_count < 2) return refuse(problem, problem_bytes, "a command is missing; `graphrun help` lists them");
  if (asks_for_help(argument_values[1])) {
    turn_into_help(arguments, NULL);
    return true;
  }
  if (strcmp(argument_values[1], "--version") == 0) {
    arguments->command = COMMAND_VERSION;
    return true;
  }
  if (!find_command(&reader, argument_values[1])) return false;
  arguments->operands = calloc((size_t)argument_count, sizeof *arguments->operands);
  if (!arguments->operands) return refuse(problem, problem_bytes, "out of memory");
  bool options_ended = false;
  for (int i = 2; i < argument_count; i++) {
    const char *text = argument_values[i];
    if (!options_ended && strcmp(text, "--") == 0) {
      options_ended = true;
    } else if (!options_ended && asks_for_help(text)) {
      turn_into_help(arguments, command_rows[arguments->command].name);
      return true;
    } else if (!options_ended && text[0] == '-' && text[1] == '-') {
      if (!read_long_option(&reader, argument_count, argument_values, &i)) return false;
    } else if (!options_ended && text[0] == '-' && text[1] != '\0') {
      return refuse(problem, problem_bytes, "unknown option %s; options have two hyphens and a full name", text);
    } else {
      arguments->operands[arguments->operand_count++] = text;
    }
  }
  return check_operands(&reader);
}

void arguments_release(struct arguments *arguments) {
  for (size_t i = 0; i < arguments->setting_count; i++) free(arguments->settings[i].name);
  free(arguments->settings);
  free(arguments->operands);
  memset(arguments, 0, sizeof *arguments);
}

static void help_options(FILE *stream, unsigned commands) {
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    if (!(option_rows[i].commands & commands)) continue;
    char head[64];
    snprintf(head, sizeof head, "%s %s", option_rows[i].name, option_rows[i].value);
    fprintf(stream, "  %-30s %s\n", head, option_rows[i].summary);
  }
}

bool arguments_help(FILE *stream, const char *topic) {
  if (topic) {
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
      if (strcmp(command_rows[i].name, topic) != 0) continue;
      fprintf(stream, "graphrun %s %s\n  %s\n", topic, command_rows[i].operands, command_rows[i].summary);
      bool has_options = false;
      for (size_t o = 0; o < OPTION_COUNT; o++) has_options |= (option_rows[o].commands & (1u << i)) != 0;
      if (has_options) fprintf(stream, "\noptions\n");
      help_options(stream, 1u << i);
      if (has_options)
        fprintf(stream, "\nFILE may be - for standard input; paths then start from the working folder.\n");
      return true;
    }
    return false;
  }
  fprintf(stream, "graphrun runs DAGs of copies and kernels, described in YAML, as CUDA graphs or on the host.\n\n");
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    char head[64];
    snprintf(head, sizeof head, "graphrun %s %s", command_rows[i].name, command_rows[i].operands);
    fprintf(stream, "  %-30s %s\n", head, command_rows[i].summary);
  }
  fprintf(stream, "\noptions\n");
  help_options(stream, ~0u);
  fprintf(stream,
          "\nexit status\n"
          "  0 all done and all expectations met    4 no such backend or device, no memory, a file's trouble\n"
          "  1 a node failed or an expectation      70 an internal error\n"
          "  2 wrong usage                          124 timeout\n"
          "  3 the pipeline is invalid              130, 143 interrupted, terminated\n"
          "\nResults go to stdout, talk to stderr. docs/format.md describes the files.\n");
  return true;
}
