/* The default pool of page-locked memory. Locking pages takes the system about as long as filling them, and unlocking
 * stops the device, so blocks are taken whole, kept, and handed out again. Sizes are rounded up to one of eight classes
 * a doubling: at most an eighth is wasted, and a graph that is built anew finds the blocks of the last one. */
#include <string.h>

#include "engine/backend/backend.h"

enum {
  CLASSES_A_DOUBLING = 8,
  CLASS_COUNT = 64 * CLASSES_A_DOUBLING,
  FIRST_BUCKET_COUNT = 64,
};
#define SMALLEST_BYTES ((uint64_t)4096)

struct block {
  void *address;
  uint32_t class_index;
  bool is_free;
  struct block *next_in_class;  /* of free ones */
  struct block *next_in_bucket; /* of all */
};

struct pool {
  struct gr_memory *memory;
  const struct gr_pinned_source *source;
  struct block *free_blocks[CLASS_COUNT];
  struct block **buckets; /* all blocks by address; a power of two of them */
  size_t bucket_count;
  size_t block_count;
};

/* The class that `bytes` belong to, and its size: 8 * 2^e, 9 * 2^e, … 15 * 2^e. Neither overflows up to half of the
 * address space. */
static uint32_t class_of(uint64_t bytes, uint64_t *class_bytes) {
  if (bytes < SMALLEST_BYTES) bytes = SMALLEST_BYTES;
  uint32_t exponent = 60u - (uint32_t)__builtin_clzll(bytes); /* so that 8 <= bytes >> exponent < 16 */
  uint64_t eighths = (bytes + (UINT64_C(1) << exponent) - 1) >> exponent;
  *class_bytes = eighths << exponent;
  return exponent * CLASSES_A_DOUBLING + (uint32_t)eighths - CLASSES_A_DOUBLING;
}

static size_t bucket_of(const struct pool *pool, const void *address) {
  uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(hash >> 32) & (pool->bucket_count - 1);
}

static void insert(struct pool *pool, struct block *block) {
  struct block **bucket = &pool->buckets[bucket_of(pool, block->address)];
  block->next_in_bucket = *bucket;
  *bucket = block;
}

/* More buckets, where there is memory for them: without, the chains only get longer. */
static void widen(struct pool *pool) {
  size_t old_count = pool->bucket_count;
  struct block **old = pool->buckets;
  struct block **wider = gr_memory_allocate_zeroed(pool->memory, old_count * 2, sizeof *wider);
  if (!wider) return;
  pool->buckets = wider;
  pool->bucket_count = old_count * 2;
  for (size_t i = 0; i < old_count; i++) {
    for (struct block *block = old[i], *next; block; block = next) {
      next = block->next_in_bucket;
      insert(pool, block);
    }
  }
  gr_memory_release(pool->memory, old);
}

static void forget(struct pool *pool, struct block *block) {
  struct block **link = &pool->buckets[bucket_of(pool, block->address)];
  while (*link != block) link = &(*link)->next_in_bucket;
  *link = block->next_in_bucket;
  pool->source->give_back(pool->source->context, block->address);
  gr_memory_release(pool->memory, block);
  pool->block_count--;
}

static void give_back_free(struct pool *pool) {
  for (int i = 0; i < CLASS_COUNT; i++) {
    while (pool->free_blocks[i]) {
      struct block *block = pool->free_blocks[i];
      pool->free_blocks[i] = block->next_in_class;
      forget(pool, block);
    }
  }
}

static void *create(void *context, const struct gr_pinned_source *source) {
  struct gr_memory *memory = context;
  if (!memory || !source) return NULL;
  struct pool *pool = gr_memory_allocate_zeroed(memory, 1, sizeof *pool);
  if (!pool) return NULL;
  pool->memory = memory;
  pool->source = source;
  pool->bucket_count = FIRST_BUCKET_COUNT;
  pool->buckets = gr_memory_allocate_zeroed(memory, pool->bucket_count, sizeof(struct block *));
  if (pool->buckets) return pool;
  gr_memory_release(memory, pool);
  return NULL;
}

/* A kept block of that class, or of the next larger one. */
static struct block *reuse(struct pool *pool, uint32_t class_index) {
  for (uint32_t i = class_index; i <= class_index + 1 && i < CLASS_COUNT; i++) {
    struct block *block = pool->free_blocks[i];
    if (!block) continue;
    pool->free_blocks[i] = block->next_in_class;
    return block;
  }
  return NULL;
}

/* What is kept and does not fit may be what stands in the way: it goes back before the second attempt. */
static void *take(struct pool *pool, size_t size_bytes) {
  void *address = pool->source->take(pool->source->context, size_bytes);
  if (address) return address;
  give_back_free(pool);
  return pool->source->take(pool->source->context, size_bytes);
}

static void *allocate(void *context, size_t size_bytes) {
  struct pool *pool = context;
  if (size_bytes > SIZE_MAX / 4) return NULL;
  uint64_t class_bytes;
  uint32_t class_index = class_of(size_bytes, &class_bytes);
  struct block *block = reuse(pool, class_index);
  if (block) {
    block->is_free = false;
    return block->address;
  }
  block = gr_memory_allocate_zeroed(pool->memory, 1, sizeof *block);
  if (!block) return NULL;
  block->address = take(pool, (size_t)class_bytes);
  if (!block->address) {
    gr_memory_release(pool->memory, block);
    return NULL;
  }
  block->class_index = class_index;
  if (pool->block_count >= pool->bucket_count) widen(pool);
  insert(pool, block);
  pool->block_count++;
  return block->address;
}

/* Null, and an address that is not handed out, change nothing. */
static void release(void *context, void *address) {
  struct pool *pool = context;
  struct block *block = pool->buckets[bucket_of(pool, address)];
  while (block && block->address != address) block = block->next_in_bucket;
  if (!block || block->is_free) return;
  block->is_free = true;
  block->next_in_class = pool->free_blocks[block->class_index];
  pool->free_blocks[block->class_index] = block;
}

static void destroy(void *context) {
  struct pool *pool = context;
  if (!pool) return;
  for (size_t i = 0; i < pool->bucket_count; i++) {
    while (pool->buckets[i]) forget(pool, pool->buckets[i]);
  }
  gr_memory_release(pool->memory, pool->buckets);
  gr_memory_release(pool->memory, pool);
}

const struct gr_pinned_hooks gr_pinned_default = {
    .create = create,
    .allocate = allocate,
    .release = release,
    .destroy = destroy,
};
