#include "tools/graphrun/pinned.h"

#ifdef GR_HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jemalloc aligns extents to its page; slabs and large classes want no more than this. */
enum { BASE_ALIGNMENT_BYTES = 1 << 20, GROWTH_LIMIT_BYTES = 4 << 20, BUFFER_ALIGNMENT_BYTES = 256 };

/* A block as the runtime gave it. It is given back whole, by its own address, when the pool ends: jemalloc splits and
 * merges extents, and cudaFreeHost must only see the addresses that cudaHostAlloc returned. */
struct base {
  void *address;
  char *begin, *end;
};

struct pool {
  extent_hooks_t hooks; /* first: jemalloc hands this address back to the hooks */
  const struct gr_pinned_source *source;
  unsigned arena_index;
  struct base *bases;
  size_t base_count, base_capacity;
};

static struct pool *pool_of(extent_hooks_t *hooks) { return (struct pool *)(void *)hooks; }

static void *take_extent(extent_hooks_t *hooks, void *wanted, size_t size, size_t alignment, bool *is_zeroed,
                         bool *is_committed, unsigned arena_index) {
  (void)arena_index;
  struct pool *pool = pool_of(hooks);
  if (wanted) return NULL; /* the runtime chooses the place */
  if (pool->base_count == pool->base_capacity) {
    size_t wider = pool->base_capacity ? pool->base_capacity * 2 : 16;
    struct base *bases = realloc(pool->bases, wider * sizeof *bases);
    if (!bases) return NULL;
    pool->bases = bases;
    pool->base_capacity = wider;
  }
  if (alignment < BASE_ALIGNMENT_BYTES) alignment = BASE_ALIGNMENT_BYTES;
  size_t padded;
  if (__builtin_add_overflow(size, alignment, &padded)) return NULL;
  char *address = pool->source->take(pool->source->context, padded);
  if (!address) return NULL;
  char *begin = address + (alignment - (uintptr_t)address % alignment) % alignment;
  pool->bases[pool->base_count++] = (struct base){address, begin, begin + size};
  if (*is_zeroed) memset(begin, 0, size); /* asked for, and jemalloc's own data relies on it */
  *is_committed = true;
  return begin;
}

/* True means "not done": the arena keeps the extent and uses it again. */
static bool keep_extent(extent_hooks_t *hooks, void *address, size_t size, bool is_committed, unsigned arena_index) {
  (void)hooks, (void)address, (void)size, (void)is_committed, (void)arena_index;
  return true;
}

static bool split_extent(extent_hooks_t *hooks, void *address, size_t size, size_t size_a, size_t size_b,
                         bool is_committed, unsigned arena_index) {
  (void)hooks, (void)address, (void)size, (void)size_a, (void)size_b, (void)is_committed, (void)arena_index;
  return false;
}

/* Neighbours may be joined only where they are parts of one block. */
static bool merge_extents(extent_hooks_t *hooks, void *address_a, size_t size_a, void *address_b, size_t size_b,
                          bool is_committed, unsigned arena_index) {
  (void)size_a, (void)is_committed, (void)arena_index;
  const struct pool *pool = pool_of(hooks);
  for (size_t i = 0; i < pool->base_count; i++) {
    const struct base *base = &pool->bases[i];
    if ((char *)address_a >= base->begin && (char *)address_a < base->end) {
      return !((char *)address_b >= base->begin && (char *)address_b + size_b <= base->end);
    }
  }
  return true;
}

static void give_back_bases(struct pool *pool) {
  for (size_t i = 0; i < pool->base_count; i++) {
    pool->source->give_back(pool->source->context, pool->bases[i].address);
  }
  free(pool->bases);
  free(pool);
}

static void *create_pool(void *context, const struct gr_pinned_source *source) {
  (void)context;
  struct pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->source = source;
  pool->hooks.alloc = take_extent;
  pool->hooks.dalloc = keep_extent;
  pool->hooks.split = split_extent;
  pool->hooks.merge = merge_extents;
  extent_hooks_t *hooks = &pool->hooks;
  size_t size = sizeof pool->arena_index;
  if (mallctl("arenas.create", &pool->arena_index, &size, &hooks, sizeof(hooks)) != 0) {
    give_back_bases(pool);
    return NULL;
  }
  /* By default an arena asks for ever larger extents; page-locked memory is too dear for that. */
  char name[64];
  snprintf(name, sizeof name, "arena.%u.retain_grow_limit", pool->arena_index);
  size_t limit = GROWTH_LIMIT_BYTES;
  (void)mallctl(name, NULL, NULL, &limit, sizeof limit);
  return pool;
}

static int flags_of(const struct pool *pool) { return (int)(MALLOCX_ARENA(pool->arena_index) | MALLOCX_TCACHE_NONE); }

static void *allocate_pinned(void *context, size_t size_bytes) {
  struct pool *pool = context;
  return mallocx(size_bytes ? size_bytes : 1, flags_of(pool) | MALLOCX_ALIGN(BUFFER_ALIGNMENT_BYTES));
}

static void release_pinned(void *context, void *address) { dallocx(address, flags_of(context)); }

static void destroy_pool(void *context) {
  struct pool *pool = context;
  char name[64];
  snprintf(name, sizeof name, "arena.%u.destroy", pool->arena_index);
  (void)mallctl(name, NULL, NULL, NULL, 0);
  give_back_bases(pool);
}

static const struct gr_pinned_hooks hooks_over_jemalloc = {
    .create = create_pool,
    .allocate = allocate_pinned,
    .release = release_pinned,
    .destroy = destroy_pool,
};

const struct gr_pinned_hooks *pinned_hooks(void) { return &hooks_over_jemalloc; }

#else

const struct gr_pinned_hooks *pinned_hooks(void) { return NULL; }

#endif
