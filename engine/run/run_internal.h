/* What the files of this room share: data files, one run's state, and its stages. */
#ifndef GRAPHRUN_ENGINE_RUN_RUN_INTERNAL_H
#define GRAPHRUN_ENGINE_RUN_RUN_INTERNAL_H

#include "engine/base/file.h"
#include "engine/run/run.h"

/* ---- npy.c: the header of NumPy's files ---- */

enum {
  GR_NPY_PREFIX_BYTES = 12,       /* magic, version, header length (10 in version 1) */
  GR_NPY_HEADER_MAX = 64 << 10,   /* NumPy's own limit is 10,000 characters */
  GR_NPY_WRITTEN_BYTES_MAX = 512, /* of a header that is written */
  GR_NPY_PROBLEM_BYTES = 256,
};
struct gr_npy_header {
  enum gr_type type;
  uint32_t rank;
  uint64_t shape[GR_RANK_MAX];
  bool is_column_major; /* and that makes a difference */
};
/* A sentence without a final stop that says what is wrong with a file. */
struct gr_npy_problem {
  char text[GR_NPY_PROBLEM_BYTES];
};
/* The first bytes of a file, at most GR_NPY_PREFIX_BYTES: where the header's text begins and how long it is. */
bool gr_npy_parse_prefix(const unsigned char *bytes, size_t length, size_t *text_begin, size_t *text_length,
                         struct gr_npy_problem *problem);
bool gr_npy_parse_text(struct gr_view text, struct gr_npy_header *header, struct gr_npy_problem *problem);
/* Version 1.0, padded to 64 bytes. Returns its size. */
size_t gr_npy_write_header(const struct gr_buffer *buffer, unsigned char bytes[GR_NPY_WRITTEN_BYTES_MAX]);

/* ---- data.c: files that are loaded or compared with ---- */

struct gr_data_file {
  struct gr_memory *memory;
  const struct gr_buffer *buffer;
  char *path; /* owned */
  int descriptor;
  uint64_t data_offset;
  bool is_column_major;
  unsigned char *columns; /* the whole data of a column-major file, once something was read */
};
/* Opens a file and compares its type, shape and size with the buffer's. GR_ERR_IO, GR_ERR_INVALID, GR_ERR_NO_MEMORY;
 * the error has the buffer's name, and the place in the pipeline file. */
enum gr_status gr_data_open(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                            const struct gr_buffer *buffer, const char *path, struct gr_mark mark,
                            struct gr_data_file *file, struct gr_error *error);
/* Bytes of the buffer's content, row-major; elements are whole. */
enum gr_status gr_data_read(struct gr_data_file *file, uint64_t offset_bytes, uint64_t size_bytes, void *to,
                            struct gr_error *error);
/* Safe on a zeroed one. */
void gr_data_close(struct gr_data_file *file);
/* The names that data files may have. */
bool gr_data_is_npy(const char *path);
bool gr_data_is_raw(const char *path);
/* Adds the buffer and its place to an error that was just set. Returns `status`. */
enum gr_status gr_data_locate(const struct gr_pipeline *pipeline, const struct gr_buffer *buffer, struct gr_mark mark,
                              enum gr_status status, struct gr_error *error);
/* The save's folder is there, its name is one of a data file, and no folder has it. */
enum gr_status gr_data_check_save(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                  const struct gr_buffer *buffer, struct gr_error *error);

/* ---- expect.c ---- */

/* Holds the difference of any two 64-bit integers, and the sum of as many as a machine can address. */
__extension__ typedef __int128 gr_int128;

enum { GR_COMPARE_BLOCK = 512 }; /* elements that are looked at together */

/* One buffer on its way against what it should be. Floats are compared as f64, integers exactly. */
struct gr_comparison {
  const struct gr_buffer *buffer;
  struct gr_report_expect *result;
  struct gr_number want; /* EQUALS, SUM */
  bool has_pattern;
  unsigned char pattern[GR_COMPARE_BLOCK * sizeof(uint64_t)]; /* EQUALS: the element, many times */
  double sum, compensation, worst_difference;
  gr_int128 integer_sum;
  bool has_worst, is_worst_nan;
};
void gr_compare_begin(struct gr_comparison *comparison, const struct gr_buffer *buffer,
                      struct gr_report_expect *result);
/* Elements [first, first + count); `want` null but for LOAD. */
void gr_compare_elements(struct gr_comparison *comparison, uint64_t first, uint64_t count, const void *got,
                         const void *want);
/* Judges a sum; of no use for the others. */
void gr_compare_end(struct gr_comparison *comparison);
/* What is wrong, in one sentence. */
void gr_compare_explain(const struct gr_comparison *comparison, struct gr_text *text);

/* ---- one run ---- */

enum { GR_RUN_CHUNK_BYTES = 4 << 20 };

struct gr_run {
  struct gr_memory *memory;
  const struct gr_backend *backend;
  struct gr_executable *executable;
  const struct gr_plan *plan;
  const struct gr_pipeline *pipeline;
  const struct gr_run_settings *settings;
  struct gr_report *report;
  struct gr_error *error; /* never null */
  unsigned char *chunk;   /* GR_RUN_CHUNK_BYTES, between the caller's side and the buffers; a second one behind it */
  uint64_t deadline_ns;
  bool has_launched;
  bool is_told;     /* progress is, now */
  uint64_t told_ns; /* when it was told last */
};
/* GR_ERR_CANCELLED when the caller wants to stop. */
enum gr_status gr_run_ask(struct gr_run *run);
/* inputs.c: every buffer's init or load. */
enum gr_status gr_run_apply_inputs(struct gr_run *run);
/* outputs.c: everything that can be known to fail before the first launch; then expectations; then saves. */
enum gr_status gr_run_check_outputs(struct gr_run *run);

/* ---- targets.c ---- */

/* GR_ERR_INVALID for the first buffer that saves to the file of another one, however the path is spelled. Linear. */
enum gr_status gr_run_check_targets(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                    struct gr_error *error);
enum gr_status gr_run_check_expects(struct gr_run *run);
enum gr_status gr_run_save(struct gr_run *run);

/* ---- report.c: what both reports say of a step ---- */

enum gr_node_state gr_report_state(const struct gr_report *report, uint32_t step);
/* The run's error is this step's. */
bool gr_report_error_is_of(const struct gr_report *report, uint32_t step);
const char *gr_report_kind(const struct gr_report *report, uint32_t step);

#endif
