#include "engine/base/memory.h"

#include <stdlib.h>
#include <string.h>

static void *libc_allocate(void *context, size_t size_bytes) {
  (void)context;
  return malloc(size_bytes);
}

static void *libc_resize(void *context, void *address, size_t size_bytes) {
  (void)context;
  return realloc(address, size_bytes);
}

static void libc_release(void *context, void *address) {
  (void)context;
  free(address);
}

void gr_memory_init(struct gr_memory *memory, const struct gr_memory_hooks *hooks) {
  memset(memory, 0, sizeof *memory);
  bool own = hooks && hooks->allocate && hooks->resize && hooks->release;
  memory->hooks = own ? *hooks : (struct gr_memory_hooks){libc_allocate, libc_resize, libc_release, NULL};
}

static bool may_allocate(struct gr_memory *memory) {
  uint64_t number = atomic_fetch_add_explicit(&memory->call_count, 1, memory_order_relaxed) + 1;
  uint64_t fail_at = atomic_load_explicit(&memory->fail_at, memory_order_relaxed);
  return fail_at == 0 || number < fail_at;
}

void *gr_memory_allocate(struct gr_memory *memory, size_t size_bytes) {
  if (!may_allocate(memory)) return NULL;
  void *address = memory->hooks.allocate(memory->hooks.context, size_bytes ? size_bytes : 1);
  if (address) atomic_fetch_add_explicit(&memory->live_count, 1, memory_order_relaxed);
  return address;
}

void *gr_memory_allocate_zeroed(struct gr_memory *memory, size_t count, size_t size_bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return NULL;
  void *address = gr_memory_allocate(memory, total);
  if (address) memset(address, 0, total);
  return address;
}

void *gr_memory_resize(struct gr_memory *memory, void *address, size_t count, size_t size_bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return NULL;
  if (!address) return gr_memory_allocate(memory, total);
  if (!may_allocate(memory)) return NULL;
  return memory->hooks.resize(memory->hooks.context, address, total ? total : 1);
}

void gr_memory_release(struct gr_memory *memory, void *address) {
  if (!address) return;
  memory->hooks.release(memory->hooks.context, address);
  atomic_fetch_sub_explicit(&memory->live_count, 1, memory_order_relaxed);
}

bool gr_memory_grow(struct gr_memory *memory, void *elements_address, size_t count, size_t *capacity,
                    size_t size_bytes) {
  if (count < *capacity) return true;
  size_t wider = *capacity < 8 ? 8 : *capacity + *capacity / 2;
  void *elements; /* `elements_address` is a T ** for any T; memcpy keeps the aliasing rules */
  memcpy(&elements, elements_address, sizeof elements);
  elements = gr_memory_resize(memory, elements, wider, size_bytes);
  if (!elements) return false;
  memcpy(elements_address, &elements, sizeof elements);
  *capacity = wider;
  return true;
}

struct gr_arena_block {
  struct gr_arena_block *older;
  size_t size_bytes;
  max_align_t bytes[];
};

enum { ARENA_FIRST_BLOCK_BYTES = 4096, ARENA_LARGEST_BLOCK_BYTES = 4 << 20 };
/* Not the size of the type, which may be twice that. */
enum { ARENA_ALIGNMENT = _Alignof(max_align_t) };

void gr_arena_init(struct gr_arena *arena, struct gr_memory *memory) {
  memset(arena, 0, sizeof *arena);
  arena->memory = memory;
}

/* Blocks double up to a bound, so that small arenas stay small and large ones waste at most one bounded tail. */
static bool add_block(struct gr_arena *arena, size_t at_least_bytes) {
  size_t size_bytes = arena->newest ? arena->newest->size_bytes * 2 : ARENA_FIRST_BLOCK_BYTES;
  if (size_bytes > ARENA_LARGEST_BLOCK_BYTES) size_bytes = ARENA_LARGEST_BLOCK_BYTES;
  if (size_bytes < at_least_bytes) size_bytes = at_least_bytes;
  if (size_bytes > SIZE_MAX - sizeof(struct gr_arena_block)) return false;
  struct gr_arena_block *block = gr_memory_allocate(arena->memory, sizeof *block + size_bytes);
  if (!block) return false;
  block->older = arena->newest;
  block->size_bytes = size_bytes;
  arena->newest = block;
  arena->used_bytes = 0;
  arena->total_bytes += size_bytes;
  return true;
}

void *gr_arena_allocate(struct gr_arena *arena, size_t count, size_t size_bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return NULL;
  if (total > SIZE_MAX - (ARENA_ALIGNMENT - 1)) return NULL;
  total = (total + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
  if (!arena->newest || arena->newest->size_bytes - arena->used_bytes < total) {
    if (!add_block(arena, total)) return NULL;
  }
  char *address = (char *)arena->newest->bytes + arena->used_bytes;
  arena->used_bytes += total;
  return address;
}

void *gr_arena_allocate_zeroed(struct gr_arena *arena, size_t count, size_t size_bytes) {
  void *address = gr_arena_allocate(arena, count, size_bytes);
  if (address) memset(address, 0, count * size_bytes);
  return address;
}

char *gr_arena_copy(struct gr_arena *arena, const char *bytes, size_t length) {
  if (length == SIZE_MAX) return NULL;
  char *copy = gr_arena_allocate(arena, length + 1, 1);
  if (!copy) return NULL;
  if (length > 0) memcpy(copy, bytes, length);
  copy[length] = '\0';
  return copy;
}

void gr_arena_release(struct gr_arena *arena) {
  while (arena->newest) {
    struct gr_arena_block *block = arena->newest;
    arena->newest = block->older;
    gr_memory_release(arena->memory, block);
  }
  arena->used_bytes = 0;
  arena->total_bytes = 0;
}
