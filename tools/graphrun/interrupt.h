/* SIGINT, SIGTERM and the end of a timeout. The library knows nothing of these. */
#ifndef GRAPHRUN_TOOLS_GRAPHRUN_INTERRUPT_H
#define GRAPHRUN_TOOLS_GRAPHRUN_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* SIGINT and SIGTERM end the process at once with 130 or 143, but for the time in which they are heard: then the first
 * only sets a flag that `interrupt_signal` tells. SIGPIPE and SIGXFSZ are ignored, so that a reader that leaves and a
 * file that may not grow show as failed writes. */
void interrupt_install(void);
void interrupt_hear(bool is_to_be_heard);
/* The signal that came while they were heard, or 0. */
int interrupt_signal(void);
/* Fits gr_run_options.cancelled, and tells the watchdog that the run goes on. */
bool interrupt_cancelled(void *context);

/* Starts a thread that ends the process with 124 when `nanoseconds` have passed and then, for a grace time, the run has
 * not asked whether it is cancelled: for calls that do not return, since a kernel or a driver hangs. `last_words`
 * (null: none) is called before, from that thread. False without a thread. */
bool interrupt_watch(uint64_t nanoseconds, void (*last_words)(void *context), void *context);
/* The watched work is done: the process will not be ended. */
void interrupt_unwatch(void);

#endif
