/* Initial values: made in the buffer itself where the host may touch it, else in a chunk that the back end copies. */
#include "engine/run/run_internal.h"

static enum gr_status make(struct gr_run *run, const struct gr_buffer *buffer, struct gr_data_file *file,
                           uint64_t offset_bytes, uint64_t size_bytes, void *to) {
  if (file->path) return gr_data_read(file, offset_bytes, size_bytes, to, run->error);
  (void)run;
  gr_init_bytes(buffer, offset_bytes, size_bytes, to);
  return GR_OK;
}

static enum gr_status apply(struct gr_run *run, uint32_t index, struct gr_data_file *file) {
  const struct gr_buffer *buffer = &run->pipeline->buffers[index];
  unsigned char *address = run->backend->address(run->executable, index);
  for (uint64_t done = 0; done < buffer->size_bytes;) {
    uint64_t left = buffer->size_bytes - done, size = left < GR_RUN_CHUNK_BYTES ? left : GR_RUN_CHUNK_BYTES;
    GR_RETURN_IF_FAILED(gr_run_ask(run));
    GR_RETURN_IF_FAILED(make(run, buffer, file, done, size, address ? address + done : run->chunk));
    if (!address) {
      GR_RETURN_IF_FAILED(run->backend->write(run->executable, index, done, run->chunk, size, run->error));
    }
    done += size;
  }
  return GR_OK;
}

enum gr_status gr_run_apply_inputs(struct gr_run *run) {
  for (uint32_t i = 0; i < run->pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &run->pipeline->buffers[i];
    const struct gr_init *init = buffer->init;
    struct gr_data_file file = {0};
    if (!init || init->kind == GR_INIT_NONE) continue;
    if (init->kind == GR_INIT_LOAD) {
      GR_RETURN_IF_FAILED(gr_data_open(run->memory, run->pipeline, buffer, init->path, init->mark, &file, run->error));
    }
    enum gr_status status = apply(run, i, &file);
    gr_data_close(&file);
    if (status != GR_OK) return status;
  }
  return GR_OK;
}
