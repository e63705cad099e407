/* Two buffers that save to one file: the second would silently replace the first. The pipeline room compares spellings;
 * here it is files, links and folders included. */
#include <string.h>

#include "engine/run/run_internal.h"

/* A set of paths with the buffer of each, by open addressing. */
struct targets {
  struct gr_memory *memory;
  char **paths;             /* [mask + 1]; null: free */
  uint32_t *buffer_indexes; /* [mask + 1] */
  size_t mask;
};

static size_t hash_of(const char *path) {
  uint64_t hash = gr_view_hash(gr_view_of(path));
  return (size_t)(hash ^ hash >> 32);
}

static bool make_room(struct targets *targets, const struct gr_pipeline *pipeline) {
  size_t count = 0, capacity = 2;
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) count += pipeline->buffers[i].save != NULL;
  while (capacity < 2 * count) capacity *= 2;
  targets->mask = capacity - 1;
  targets->paths = gr_memory_allocate_zeroed(targets->memory, capacity, sizeof *targets->paths);
  targets->buffer_indexes = gr_memory_allocate_zeroed(targets->memory, capacity, sizeof *targets->buffer_indexes);
  return targets->paths && targets->buffer_indexes;
}

static void release(struct targets *targets) {
  for (size_t i = 0; targets->paths && i <= targets->mask; i++) gr_memory_release(targets->memory, targets->paths[i]);
  gr_memory_release(targets->memory, targets->paths);
  gr_memory_release(targets->memory, targets->buffer_indexes);
}

/* The buffer that has that target already, or UINT32_MAX. Takes `path` over. */
static uint32_t add(struct targets *targets, char *path, uint32_t buffer_index) {
  size_t slot = hash_of(path) & targets->mask;
  for (; targets->paths[slot]; slot = (slot + 1) & targets->mask) {
    if (strcmp(targets->paths[slot], path) != 0) continue;
    gr_memory_release(targets->memory, path);
    return targets->buffer_indexes[slot];
  }
  targets->paths[slot] = path;
  targets->buffer_indexes[slot] = buffer_index;
  return UINT32_MAX;
}

static char *target_of(struct gr_memory *memory, const struct gr_pipeline *pipeline, const struct gr_buffer *buffer) {
  char *path = gr_pipeline_path(pipeline, memory, buffer->save);
  char *target = path ? gr_file_target(memory, path) : NULL;
  gr_memory_release(memory, path);
  return target;
}

static enum gr_status add_save(struct targets *targets, const struct gr_pipeline *pipeline, uint32_t index,
                               struct gr_error *error) {
  const struct gr_buffer *buffer = &pipeline->buffers[index];
  char *target = target_of(targets->memory, pipeline, buffer);
  if (!target) return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory");
  uint32_t first = add(targets, target, index);
  if (first == UINT32_MAX) return GR_OK;
  const struct gr_buffer *other = &pipeline->buffers[first];
  gr_error_set(error, GR_ERR_INVALID, "buffer %s: save: %s is the same file as %s, which buffer %s on line %u saves to",
               gr_view_quote(gr_view_of(buffer->name)).text, gr_view_quote(gr_view_of(buffer->save)).text,
               gr_view_quote(gr_view_of(other->save)).text, gr_view_quote(gr_view_of(other->name)).text,
               other->mark.line);
  return gr_data_locate(pipeline, buffer, buffer->save_mark, GR_ERR_INVALID, error);
}

enum gr_status gr_run_check_targets(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                    struct gr_error *error) {
  struct targets targets = {.memory = memory};
  enum gr_status status =
      make_room(&targets, pipeline) ? GR_OK : gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory");
  for (uint32_t i = 0; i < pipeline->buffer_count && status == GR_OK; i++) {
    if (pipeline->buffers[i].save) status = add_save(&targets, pipeline, i, error);
  }
  release(&targets);
  return status;
}
