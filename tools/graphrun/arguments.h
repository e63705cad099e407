/* The command line as a struct. Nothing here touches a pipeline or a device. */
#ifndef GRAPHRUN_TOOLS_GRAPHRUN_ARGUMENTS_H
#define GRAPHRUN_TOOLS_GRAPHRUN_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/graphrun.h"

enum command {
  COMMAND_RUN,
  COMMAND_CHECK,
  COMMAND_PLAN,
  COMMAND_GRAPH,
  COMMAND_KERNELS,
  COMMAND_DEVICES,
  COMMAND_KNOBS,
  COMMAND_VERSION,
  COMMAND_HELP,
};

struct setting {
  char *name; /* owned */
  const char *value;
};

struct arguments {
  enum command command;
  const char *help_topic; /* of help; null: all */
  const char *backend;    /* null: auto */
  enum gr_mode mode;
  uint32_t device_index;
  uint64_t repeat;
  uint64_t warmup;
  uint64_t timeout_ns;
  bool report_json;
  const char *report_file;
  const char *format; /* of plan and graph; null: the command's default */
  const char *dump;   /* of check */
  struct setting *settings;
  size_t setting_count;
  const char **operands; /* files, or a kernel's name */
  size_t operand_count;
};

/* Reads argv. On false one line about what is wrong is in `problem`. Release in both cases. */
bool arguments_read(int argument_count, char **argument_values, struct arguments *arguments, char *problem,
                    size_t problem_bytes);
void arguments_release(struct arguments *arguments);

/* Writes the help of a command, or of all of them. False for an unknown topic. */
bool arguments_help(FILE *stream, const char *topic);

#endif
