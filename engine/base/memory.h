/* The only place where the engine gets memory: through the hooks of base/types.h.
 *
 * There is no global allocator: every object that allocates holds a pointer to the `gr_memory` of its engine. */
#ifndef GRAPHRUN_ENGINE_BASE_MEMORY_H
#define GRAPHRUN_ENGINE_BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/types.h"

/* Counts what goes through the hooks, and fails on demand for tests. */
struct gr_memory {
  struct gr_memory_hooks hooks;
  _Atomic uint64_t live_count; /* blocks not yet released */
  _Atomic uint64_t call_count; /* allocations and growths asked for so far */
  _Atomic uint64_t fail_at;    /* the call with this number (1 is the first) and all later ones fail; 0: none does */
};

/* `hooks` null, or with null members: the C library's. */
void gr_memory_init(struct gr_memory *memory, const struct gr_memory_hooks *hooks);

/* Null when there is no memory; a size of 0 gives a block that can be released. Uninitialised. */
void *gr_memory_allocate(struct gr_memory *memory, size_t size_bytes);
/* count * size_bytes, zeroed; null also when the product overflows. */
void *gr_memory_allocate_zeroed(struct gr_memory *memory, size_t count, size_t size_bytes);
/* Grows or shrinks to count * size_bytes; on failure the old block is untouched and null is returned. */
void *gr_memory_resize(struct gr_memory *memory, void *address, size_t count, size_t size_bytes);
/* Null is allowed. */
void gr_memory_release(struct gr_memory *memory, void *address);

/* A bump allocator for values that are made once and freed together: one release for the whole. Not thread-safe. */
struct gr_arena {
  struct gr_memory *memory;
  struct gr_arena_block *newest;
  size_t used_bytes;  /* in the newest block */
  size_t total_bytes; /* of all blocks, for reports */
};

/* Allocates nothing yet; `memory` outlives the arena. */
void gr_arena_init(struct gr_arena *arena, struct gr_memory *memory);
/* count * size_bytes, aligned for any type, uninitialised; null on overflow or without memory. Never null for 0. */
void *gr_arena_allocate(struct gr_arena *arena, size_t count, size_t size_bytes);
void *gr_arena_allocate_zeroed(struct gr_arena *arena, size_t count, size_t size_bytes);
/* A terminated copy of `length` bytes. */
char *gr_arena_copy(struct gr_arena *arena, const char *bytes, size_t length);
/* Frees everything; the arena may be used again. Safe on a zeroed struct. */
void gr_arena_release(struct gr_arena *arena);

/* Makes room for one more element in a growing array: `*elements` has `count` elements of size_bytes and room for
 * `*capacity`. False without memory, everything untouched. Amortised constant. */
bool gr_memory_grow(struct gr_memory *memory, void *elements_address, size_t count, size_t *capacity,
                    size_t size_bytes);

#endif
