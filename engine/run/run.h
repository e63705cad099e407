/* Runs an executable from its inputs to its outputs: initial values, warm-up, replays, expectations, saves.
 *
 * The order is fixed: every buffer's init or load is applied, warm-up replays, init and load once more, the replays,
 * then `expect` of all buffers, then all saves. A failure anywhere means that nothing is saved. Outputs are written
 * under temporary names and renamed only when all of them are complete. */
#ifndef GRAPHRUN_ENGINE_RUN_RUN_H
#define GRAPHRUN_ENGINE_RUN_RUN_H

#include "engine/backend/backend.h"
#include "engine/run/report.h"

struct gr_run_settings {
  uint64_t repeat; /* replays, at least 1 */
  uint64_t warmup;
  uint64_t timeout_ns;              /* for warm-up and replays together, from the first launch; 0: none */
  bool (*cancelled)(void *context); /* asked often, cheap, from the running thread; null: never */
  void *cancelled_context;
  /* Told now and then while replays run; null: nobody. */
  void (*progress)(void *context, uint64_t replays_done, uint64_t replays);
  void *progress_context;
  bool
      keep_state; /* do not apply init and load: the program wrote the buffers itself, or goes on from the last state */
  bool no_outputs; /* neither expect nor save */
};

/* Fills `report` with what is known also on failure (states, times, the first error). The report's memory comes from
 * `memory`. GR_ERR_NODE, GR_ERR_EXPECT, GR_ERR_IO, GR_ERR_INVALID (a file of other type or shape), GR_ERR_TIMEOUT,
 * GR_ERR_CANCELLED, GR_ERR_NO_MEMORY, what the back end gives. */
enum gr_status gr_run(struct gr_memory *memory, const struct gr_backend *backend, struct gr_executable *executable,
                      const struct gr_plan *plan, const struct gr_run_settings *settings, struct gr_report *report,
                      struct gr_error *error);

/* Looks at every file that the pipeline loads or expects: there, readable, of the buffer's type and shape. Missing ones
 * are GR_ERR_IO, or only warnings where `unreadable` says so; wrong ones are GR_ERR_INVALID. Also that every save
 * can be written, as far as can be seen. Reads headers only. */
enum gr_status gr_run_check_files(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                  enum gr_unreadable unreadable, struct gr_diagnostics *diagnostics);

/* Writes a buffer's initial bytes [offset, offset + size) to `to`; for tests and for gr_run. Elements are whole. The
 * buffer's init must not be LOAD or NONE. RANDOM is counter-based: element i depends on seed, i, low, high and the type
 * only (Philox4x32-10, Salmon et al., SC 2011), so chunks can be made in any order. */
void gr_init_bytes(const struct gr_buffer *buffer, uint64_t offset_bytes, uint64_t size_bytes, void *to);

#endif
