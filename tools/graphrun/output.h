/* Where results go: stdout, or a file that appears only when it is complete. Talk goes to stderr by printf as it is. */
#ifndef GRAPHRUN_TOOLS_GRAPHRUN_OUTPUT_H
#define GRAPHRUN_TOOLS_GRAPHRUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/graphrun.h"

/* Opens what the caller has closed of standard input, output and error: a file opened later would take the number, and
 * get what is meant for the other. Reading and writing there still fail. First of all calls. */
void output_fill_gaps(void);

/* A destination of results. Errors are kept and said once, by output_close. */
struct output {
  FILE *stream;
  const char *path; /* as the user wrote it; null: stdout */
  char *temporary;  /* takes the name `target` when all is written; null: written directly */
  char *target;     /* `path`, or what it is a link to */
  int failure;      /* errno of the first failure; 0: none */
};

/* Opens `path`, or stdout for null. False, with the reason said on stderr, when it cannot be written. */
bool output_open(struct output *output, const char *path);
/* Fits gr_write_function; `context` is a struct output. */
bool output_write(void *context, const char *bytes, size_t length);
void output_text(struct output *output, const char *text);
__attribute__((format(printf, 2, 3))) void output_format(struct output *output, const char *format, ...);
/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void output_json_string(struct output *output, const char *text);
/* Ends the output, successful or not: true when everything has arrived. A closed pipe is no news to anybody, other
 * failures are said on stderr. */
bool output_close(struct output *output);
/* Ends the output without its file. */
void output_abandon(struct output *output);

/* Fits gr_write_function: to stderr. */
bool output_write_stderr(void *context, const char *bytes, size_t length);

/* Whether colours are wanted on that stream: a terminal, and no NO_COLOR in the environment. */
bool output_wants_color(FILE *stream);

/* "graphrun: ", or the place in the pipeline file, then the message, on stderr. */
void output_say_error(const struct gr_error *error);

/* Removes the file that is being written; for signal handlers. */
void output_remove_temporary(void);

#endif
