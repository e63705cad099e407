/* Look-up by name in arrays that stay where they are: their indexes, sorted. */
#include <string.h>

#include "engine/engine_internal.h"

const char *gr_name_of_buffer(const void *pipeline, uint32_t index) {
  return ((const struct gr_pipeline *)pipeline)->buffers[index].name;
}

const char *gr_name_of_node(const void *pipeline, uint32_t index) {
  return ((const struct gr_pipeline *)pipeline)->nodes[index].name;
}

/* Sinks `indexes[root]` into a max-heap of `count`. */
static void sift_down(uint32_t *indexes, size_t root, size_t count, gr_name_function *name_of, const void *context) {
  uint32_t sinking = indexes[root];
  for (size_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && strcmp(name_of(context, indexes[child]), name_of(context, indexes[child + 1])) < 0) {
      child++;
    }
    if (strcmp(name_of(context, sinking), name_of(context, indexes[child])) >= 0) break;
    indexes[root] = indexes[child];
  }
  indexes[root] = sinking;
}

/* Heap sort (Williams 1964), since qsort takes no context and may allocate behind the memory hook. */
uint32_t *gr_names_sort(struct gr_memory *memory, uint32_t count, gr_name_function *name_of, const void *context) {
  uint32_t *indexes = gr_memory_allocate(memory, (size_t)count * sizeof *indexes);
  if (!indexes) return NULL;
  for (uint32_t i = 0; i < count; i++) indexes[i] = i;
  for (size_t root = count / 2; root-- > 0;) sift_down(indexes, root, count, name_of, context);
  for (size_t end = count; end > 1;) {
    end--;
    uint32_t largest = indexes[0];
    indexes[0] = indexes[end];
    indexes[end] = largest;
    sift_down(indexes, 0, end, name_of, context);
  }
  return indexes;
}

uint32_t gr_names_find(const uint32_t *sorted, uint32_t count, gr_name_function *name_of, const void *context,
                       const char *name) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = strcmp(name_of(context, sorted[middle]), name);
    if (order == 0) return sorted[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return UINT32_MAX;
}
