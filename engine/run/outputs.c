/* What comes out of a run: expectations first, then saves, all or none. */
#include <string.h>

#include "engine/run/run_internal.h"

/* A part of a buffer: where it lies if the host may touch it, else copied into the run's chunk. */
static enum gr_status look(struct gr_run *run, uint32_t index, uint64_t offset_bytes, uint64_t size_bytes,
                           const void **bytes) {
  const unsigned char *address = run->backend->address(run->executable, index);
  GR_RETURN_IF_FAILED(gr_run_ask(run));
  *bytes = address ? address + offset_bytes : run->chunk;
  if (address) return GR_OK;
  return run->backend->read(run->executable, index, offset_bytes, run->chunk, size_bytes, run->error);
}

/* ---- before the first launch ---- */

enum gr_status gr_run_check_outputs(struct gr_run *run) {
  for (uint32_t i = 0; i < run->pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &run->pipeline->buffers[i];
    const struct gr_expect *expect = buffer->expect;
    if (expect && expect->kind == GR_EXPECT_LOAD) {
      struct gr_data_file file = {0};
      GR_RETURN_IF_FAILED(
          gr_data_open(run->memory, run->pipeline, buffer, expect->path, expect->mark, &file, run->error));
      gr_data_close(&file);
    }
    if (buffer->save) GR_RETURN_IF_FAILED(gr_data_check_save(run->memory, run->pipeline, buffer, run->error));
  }
  return gr_run_check_targets(run->memory, run->pipeline, run->error);
}

/* ---- expectations ---- */

static bool has_expect(const struct gr_buffer *buffer) {
  return buffer->expect && buffer->expect->kind != GR_EXPECT_NONE;
}

static enum gr_status compare(struct gr_run *run, uint32_t index, struct gr_data_file *file,
                              struct gr_comparison *comparison) {
  const struct gr_buffer *buffer = &run->pipeline->buffers[index];
  size_t element_bytes = gr_type_size(buffer->type);
  unsigned char *want = run->chunk + GR_RUN_CHUNK_BYTES;
  for (uint64_t done = 0; done < buffer->size_bytes;) {
    uint64_t left = buffer->size_bytes - done, size = left < GR_RUN_CHUNK_BYTES ? left : GR_RUN_CHUNK_BYTES;
    const void *got;
    GR_RETURN_IF_FAILED(look(run, index, done, size, &got));
    if (file->path) GR_RETURN_IF_FAILED(gr_data_read(file, done, size, want, run->error));
    gr_compare_elements(comparison, done / element_bytes, size / element_bytes, got, file->path ? want : NULL);
    done += size;
  }
  gr_compare_end(comparison);
  return GR_OK;
}

/* The first mismatch becomes the error; the others are counted, and are in the report. */
static enum gr_status explain(struct gr_run *run, const struct gr_comparison *comparison) {
  const struct gr_buffer *buffer = comparison->buffer;
  struct gr_text text;
  gr_text_init(&text, run->memory);
  gr_compare_explain(comparison, &text);
  enum gr_status status = text.failed ? gr_error_set(run->error, GR_ERR_NO_MEMORY, "out of host memory")
                                      : gr_error_set(run->error, GR_ERR_EXPECT, "%s", text.bytes);
  gr_text_release(&text);
  return gr_data_locate(run->pipeline, buffer, buffer->expect->mark, status, run->error);
}

static enum gr_status check_expect(struct gr_run *run, uint32_t index, struct gr_report_expect *result,
                                   bool is_first_mismatch) {
  const struct gr_buffer *buffer = &run->pipeline->buffers[index];
  struct gr_data_file file = {0};
  struct gr_comparison comparison;
  if (buffer->expect->kind == GR_EXPECT_LOAD) {
    GR_RETURN_IF_FAILED(gr_data_open(run->memory, run->pipeline, buffer, buffer->expect->path, buffer->expect->mark,
                                     &file, run->error));
  }
  gr_compare_begin(&comparison, buffer, result);
  enum gr_status status = compare(run, index, &file, &comparison);
  gr_data_close(&file);
  if (status == GR_OK && !result->is_met && is_first_mismatch) status = explain(run, &comparison);
  return status;
}

static uint32_t count_expects(const struct gr_pipeline *pipeline) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) count += has_expect(&pipeline->buffers[i]);
  return count;
}

enum gr_status gr_run_check_expects(struct gr_run *run) {
  struct gr_report *report = run->report;
  uint32_t count = count_expects(run->pipeline);
  enum gr_status outcome = GR_OK;
  if (count == 0) return GR_OK;
  report->expects = gr_memory_allocate_zeroed(run->memory, count, sizeof *report->expects);
  if (!report->expects) return gr_error_set(run->error, GR_ERR_NO_MEMORY, "out of host memory");
  for (uint32_t i = 0; i < run->pipeline->buffer_count; i++) {
    if (!has_expect(&run->pipeline->buffers[i])) continue;
    struct gr_report_expect *result = &report->expects[report->expect_count];
    result->buffer_index = i;
    enum gr_status status = check_expect(run, i, result, outcome == GR_OK);
    if (status != GR_OK && status != GR_ERR_EXPECT) return status;
    if (status == GR_ERR_EXPECT) outcome = status;
    report->expect_count++;
  }
  return outcome;
}

/* ---- saves ---- */

static enum gr_status write_buffer(struct gr_run *run, uint32_t index, struct gr_file_writer *writer) {
  const struct gr_buffer *buffer = &run->pipeline->buffers[index];
  if (gr_data_is_npy(buffer->save)) {
    unsigned char header[GR_NPY_WRITTEN_BYTES_MAX];
    size_t length = gr_npy_write_header(buffer, header);
    GR_RETURN_IF_FAILED(gr_file_writer_write(writer, header, length, run->error));
  }
  for (uint64_t done = 0; done < buffer->size_bytes;) {
    uint64_t left = buffer->size_bytes - done, size = left < GR_RUN_CHUNK_BYTES ? left : GR_RUN_CHUNK_BYTES;
    const void *bytes;
    GR_RETURN_IF_FAILED(look(run, index, done, size, &bytes));
    GR_RETURN_IF_FAILED(gr_file_writer_write(writer, bytes, (size_t)size, run->error));
    done += size;
  }
  return GR_OK;
}

static enum gr_status open_writer(struct gr_run *run, const struct gr_buffer *buffer, struct gr_file_writer *writer) {
  char *path = gr_pipeline_path(run->pipeline, run->memory, buffer->save);
  if (!path) return gr_error_set(run->error, GR_ERR_NO_MEMORY, "out of host memory");
  enum gr_status status = gr_file_writer_open(writer, run->memory, path, run->error);
  gr_memory_release(run->memory, path);
  return status;
}

/* One complete file that has not taken its name yet. */
static enum gr_status prepare(struct gr_run *run, const struct gr_buffer *buffer, struct gr_file_writer *writer) {
  uint32_t index = (uint32_t)(buffer - run->pipeline->buffers);
  GR_RETURN_IF_FAILED(open_writer(run, buffer, writer));
  GR_RETURN_IF_FAILED(write_buffer(run, index, writer));
  return gr_file_writer_complete(writer, false, run->error);
}

static enum gr_status commit(struct gr_run *run, const struct gr_buffer *buffer, struct gr_file_writer *writer) {
  (void)buffer;
  GR_RETURN_IF_FAILED(gr_file_writer_commit(writer, false, run->error));
  run->report->saved_count++;
  return GR_OK;
}

/* Does something for every save, in the order of the buffers, until it fails once. */
static enum gr_status for_each_save(struct gr_run *run, struct gr_file_writer *writers,
                                    enum gr_status (*act)(struct gr_run *run, const struct gr_buffer *buffer,
                                                          struct gr_file_writer *writer)) {
  for (uint32_t i = 0; i < run->pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &run->pipeline->buffers[i];
    if (!buffer->save) continue;
    enum gr_status status = act(run, buffer, writers++);
    if (status == GR_ERR_IO) return gr_data_locate(run->pipeline, buffer, buffer->save_mark, status, run->error);
    if (status != GR_OK) return status;
  }
  return GR_OK;
}

static uint32_t count_saves(const struct gr_pipeline *pipeline) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) count += pipeline->buffers[i].save != NULL;
  return count;
}

enum gr_status gr_run_save(struct gr_run *run) {
  uint32_t count = count_saves(run->pipeline);
  if (count == 0) return GR_OK;
  struct gr_file_writer *writers = gr_memory_allocate_zeroed(run->memory, count, sizeof *writers);
  if (!writers) return gr_error_set(run->error, GR_ERR_NO_MEMORY, "out of host memory");
  enum gr_status status = for_each_save(run, writers, prepare);
  /* All are complete: from here on only renaming can fail. */
  if (status == GR_OK) status = for_each_save(run, writers, commit);
  for (uint32_t i = 0; i < count; i++) gr_file_writer_abort(&writers[i]);
  gr_memory_release(run->memory, writers);
  return status;
}
