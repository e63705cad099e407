/* The commands of graphrun. Each returns the exit status. */
#ifndef GRAPHRUN_TOOLS_GRAPHRUN_COMMANDS_H
#define GRAPHRUN_TOOLS_GRAPHRUN_COMMANDS_H

#include "tools/graphrun/arguments.h"

int command_run(struct gr_engine *engine, const struct arguments *arguments);
/* The same where there is no engine: says `error`, also in the report. */
int command_refuse_run(const struct arguments *arguments, enum gr_status status, const struct gr_error *error);
int command_check(struct gr_engine *engine, const struct arguments *arguments);
/* plan and graph: one stage as text. */
int command_show(struct gr_engine *engine, const struct arguments *arguments);
int command_kernels(const struct arguments *arguments);
int command_devices(struct gr_engine *engine);
int command_knobs(void);
int command_version(struct gr_engine *engine);
int command_help(const struct arguments *arguments);

/* Loads an operand ("-": stdin) and applies --set. On failure `error` is set and nothing is left. */
enum gr_status command_load(struct gr_engine *engine, const struct arguments *arguments, const char *operand,
                            struct gr_graph **graph, struct gr_error *error);
/* The diagnostics of the last check, on stderr. */
void command_show_diagnostics(struct gr_graph *graph);
/* Says a failed check: its diagnostics where there are any, else the error. Returns the exit status. */
int command_say_check_failure(struct gr_graph *graph, const struct gr_error *error);

#endif
