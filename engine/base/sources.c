#include "engine/base/sources.h"

#include <string.h>

struct source {
  char *path;
  struct gr_file_bytes bytes;
  enum gr_status status;
  struct gr_error error;
};

/* A pipeline names few files: a list will do. */
struct gr_sources {
  struct gr_memory *memory;
  struct source **items;
  size_t count, capacity;
};

struct gr_sources *gr_sources_create(struct gr_memory *memory) {
  struct gr_sources *sources = gr_memory_allocate_zeroed(memory, 1, sizeof *sources);
  if (sources) sources->memory = memory;
  return sources;
}

static void destroy_source(struct gr_memory *memory, struct source *source) {
  if (!source) return;
  gr_file_bytes_release(&source->bytes);
  gr_memory_release(memory, source->path);
  gr_memory_release(memory, source);
}

void gr_sources_destroy(struct gr_sources *sources) {
  if (!sources) return;
  struct gr_memory *memory = sources->memory;
  for (size_t i = 0; i < sources->count; i++) destroy_source(memory, sources->items[i]);
  gr_memory_release(memory, sources->items);
  gr_memory_release(memory, sources);
}

static struct source *find(const struct gr_sources *sources, const char *path) {
  for (size_t i = 0; i < sources->count; i++) {
    if (strcmp(sources->items[i]->path, path) == 0) return sources->items[i];
  }
  return NULL;
}

static struct source *read_source(struct gr_sources *sources, const char *path, uint64_t limit_bytes) {
  struct source *source = gr_memory_allocate_zeroed(sources->memory, 1, sizeof *source);
  if (!source) return NULL;
  size_t length = strlen(path);
  source->path = gr_memory_allocate(sources->memory, length + 1);
  if (!source->path) {
    destroy_source(sources->memory, source);
    return NULL;
  }
  memcpy(source->path, path, length + 1);
  struct gr_file_rules rules = {.limit_bytes = limit_bytes, .regular_only = true};
  source->status = gr_file_read(sources->memory, path, &rules, &source->bytes, &source->error);
  if (source->status != GR_ERR_NO_MEMORY) return source;
  destroy_source(sources->memory, source);
  return NULL;
}

enum gr_status gr_sources_read(struct gr_sources *sources, const char *path, uint64_t limit_bytes,
                               struct gr_view *bytes, struct gr_error *error) {
  struct source *source = find(sources, path);
  if (!source) {
    if (!gr_memory_grow(sources->memory, &sources->items, sources->count, &sources->capacity, sizeof(void *)) ||
        !(source = read_source(sources, path, limit_bytes))) {
      return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while a file was read");
    }
    sources->items[sources->count++] = source;
  }
  if (source->status != GR_OK) {
    if (error) *error = source->error;
    return source->status;
  }
  *bytes = (struct gr_view){source->bytes.bytes, source->bytes.length};
  return GR_OK;
}
