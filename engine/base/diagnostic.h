/* What is wrong with a pipeline file, collected in one pass and shown together. */
#ifndef GRAPHRUN_ENGINE_BASE_DIAGNOSTIC_H
#define GRAPHRUN_ENGINE_BASE_DIAGNOSTIC_H

#include "engine/base/memory.h"
#include "engine/base/status.h"
#include "engine/base/text.h"

/* A place in the file, 1-based, columns in bytes plus one as compilers count them; line 0: none. */
struct gr_mark {
  uint32_t line;
  uint32_t column;
};

enum gr_severity {
  GR_SEVERITY_ERROR,
  GR_SEVERITY_WARNING,
};

enum { GR_DIAGNOSTIC_SHOWN_MAX = 20 };

struct gr_diagnostic {
  enum gr_severity severity;
  enum gr_status status; /* GR_ERR_INVALID for most; GR_ERR_NOT_SUPPORTED, GR_ERR_NO_MEMORY */
  struct gr_mark mark;
  char *message; /* one sentence without a final stop; may hold several lines (a cycle's path) */
};

/* The first GR_DIAGNOSTIC_SHOWN_MAX of each severity are kept, all are counted. Not thread-safe. */
struct gr_diagnostics {
  struct gr_memory *memory;
  char *file;            /* the name that messages show; owned */
  struct gr_view source; /* the file's bytes, for the quoted line; the caller keeps them alive while rendering */
  struct gr_diagnostic kept[2 * GR_DIAGNOSTIC_SHOWN_MAX];
  uint32_t kept_count;
  uint64_t error_count;
  uint64_t warning_count;
  bool out_of_memory; /* a message could not be stored: the whole ends in GR_ERR_NO_MEMORY */
};

/* False without memory. `file` is copied. */
bool gr_diagnostics_init(struct gr_diagnostics *diagnostics, struct gr_memory *memory, const char *file);
/* Safe on a zeroed struct; init makes it usable again. */
void gr_diagnostics_release(struct gr_diagnostics *diagnostics);
/* Forgets all entries, keeps the file. */
void gr_diagnostics_clear(struct gr_diagnostics *diagnostics);

/* How far it had come: what a later pass added can be taken back, so that the pass may be done again. */
struct gr_diagnostics_point {
  uint32_t kept_count;
  uint64_t error_count, warning_count;
};
struct gr_diagnostics_point gr_diagnostics_remember(const struct gr_diagnostics *diagnostics);
/* To a point of these very diagnostics, not cleared since. */
void gr_diagnostics_go_back(struct gr_diagnostics *diagnostics, struct gr_diagnostics_point point);

/* Add one, with printf's format for integers and strings: GR_ERR_INVALID, a warning, or a status of one's own. The
 * message is copied, one sentence without a final stop. Without memory for it `out_of_memory` is set. */
__attribute__((format(printf, 3, 4))) void gr_diagnostics_error(struct gr_diagnostics *diagnostics, struct gr_mark mark,
                                                                const char *format, ...);
__attribute__((format(printf, 3, 4))) void gr_diagnostics_warning(struct gr_diagnostics *diagnostics,
                                                                  struct gr_mark mark, const char *format, ...);
__attribute__((format(printf, 4, 5))) void gr_diagnostics_error_status(struct gr_diagnostics *diagnostics,
                                                                       enum gr_status status, struct gr_mark mark,
                                                                       const char *format, ...);

/* GR_OK without errors; else GR_ERR_NO_MEMORY if memory ran out; else the status of the first error in file order. */
enum gr_status gr_diagnostics_status(const struct gr_diagnostics *diagnostics);
/* Sets `error` from the first error in file order (message, place) where gr_diagnostics_status is not GR_OK; more than
 * one are said by count. Returns that status. */
enum gr_status gr_diagnostics_to_error(const struct gr_diagnostics *diagnostics, struct gr_error *error);

/* "file:line:col: error: message", the source line and a caret under the column, in file order, errors before
 * warnings; then "N errors, M warnings" where some are not shown or there are several. `color`: ANSI colours.
 * Control characters of the source are shown as spaces or escapes; a line too long for a screen is cut around the
 * column; the caret stands under the right character also after tabs and wide UTF-8 sequences. */
void gr_diagnostics_render(const struct gr_diagnostics *diagnostics, struct gr_text *out, bool color);

#endif
