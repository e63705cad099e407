/* Every environment variable that the engine knows, one row each. They are read once, by gr_knobs_read, and nowhere
 * else: getenv occurs in knobs.c only. */
#ifndef GRAPHRUN_ENGINE_BASE_KNOBS_H
#define GRAPHRUN_ENGINE_BASE_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/base/text.h"

enum { GR_KNOB_WORKERS_MAX = 1024 };

/* One row a variable: the field that it sets, type, name, default as text, least and greatest value, help. A variable
 * that is unset or empty has its default. */
#define GR_KNOB_LIST(X)                                                 \
  X(workers, uint32_t, "GRAPHRUN_WORKERS", "0", 0, GR_KNOB_WORKERS_MAX, \
    "worker threads of the host backend; 0: one a core")                \
  X(check, bool, "GRAPHRUN_CHECK", "0", 0, 1, "1: verify what each stage has made before the next one starts")

struct gr_knobs {
#define X(field, type, name, fallback, least, greatest, help) type field;
  GR_KNOB_LIST(X)
#undef X
};

struct gr_knob {
  const char *name;
  const char *fallback;
  const char *help;
  uint64_t least;
  uint64_t greatest;
};

/* The rows, for listings. */
const struct gr_knob *gr_knobs_rows(size_t *count);

/* GR_ERR_ARGUMENT, with the variable, its text and what is allowed; *knobs is then untouched. Not to be called while
 * another thread changes the environment. */
enum gr_status gr_knobs_read(struct gr_knobs *knobs, struct gr_error *error);

/* The rows as a table: name, value now, default, help. */
void gr_knobs_show(struct gr_text *out);

#endif
