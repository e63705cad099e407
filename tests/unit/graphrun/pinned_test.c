/* The jemalloc arena over page-locked blocks, with a source that records what it gives. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/graphrun/support.h"
#include "tools/graphrun/pinned.h"

enum { BLOCK_MAX = 4096 };

/* Gives blocks full of junk, which the pool must not take for zeroed ones, and takes back only what it gave. They come
 * from mmap: a block from malloc would belong to jemalloc already. */
struct source {
  void *address[BLOCK_MAX];
  size_t size[BLOCK_MAX];
  size_t count;
  size_t refuse_after; /* blocks; SIZE_MAX: never */
};

static void *take(void *context, size_t size_bytes) {
  struct source *source = context;
  if (source->count >= source->refuse_after) return NULL;
  ck_assert_msg(source->count < BLOCK_MAX, "far too many blocks");
  void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(address, MAP_FAILED);
  memset(address, 0xA5, size_bytes);
  source->address[source->count] = address;
  source->size[source->count++] = size_bytes;
  return address;
}

static void give_back(void *context, void *address) {
  struct source *source = context;
  for (size_t i = 0; i < source->count; i++) {
    if (source->address[i] != address) continue;
    munmap(address, source->size[i]);
    source->address[i] = source->address[--source->count];
    source->size[i] = source->size[source->count];
    return;
  }
  ck_abort_msg("an address came back that was never given");
}

static struct source source_state;
static struct gr_pinned_source pinned_source = {take, give_back, &source_state};

static void reset_source(size_t refuse_after) {
  memset(&source_state, 0, sizeof source_state);
  source_state.refuse_after = refuse_after;
}

struct block {
  unsigned char *bytes;
  size_t size;
  unsigned char mark;
};

static void fill_block(const struct gr_pinned_hooks *hooks, void *pool, struct block *block) {
  block->size = (size_t)(rand() % (rand() % 8 == 0 ? 3000000 : 5000));
  block->mark = (unsigned char)rand();
  block->bytes = hooks->allocate(pool, block->size);
  ck_assert_ptr_nonnull(block->bytes);
  ck_assert_uint_eq((uintptr_t)block->bytes % 256, 0);
  memset(block->bytes, block->mark, block->size);
}

static void drop_block(const struct gr_pinned_hooks *hooks, void *pool, struct block *block) {
  for (size_t i = 0; i < block->size; i += 97) ck_assert_uint_eq(block->bytes[i], block->mark);
  hooks->release(pool, block->bytes);
  block->bytes = NULL;
}

START_TEST(test_blocks_do_not_overlap_and_all_come_back) {
  const struct gr_pinned_hooks *hooks = pinned_hooks();
  ck_assert_ptr_nonnull(hooks);
  srand(1);
  for (int round = 0; round < 3; round++) {
    reset_source(SIZE_MAX);
    void *pool = hooks->create(hooks->context, &pinned_source);
    ck_assert_ptr_nonnull(pool);
    struct block blocks[64] = {0};
    for (int i = 0; i < 500; i++) {
      struct block *block = &blocks[rand() % 64];
      if (block->bytes) drop_block(hooks, pool, block);
      else fill_block(hooks, pool, block);
    }
    for (int i = 0; i < 64; i++) {
      if (blocks[i].bytes) drop_block(hooks, pool, &blocks[i]);
    }
    hooks->destroy(pool);
    ck_assert_uint_eq(source_state.count, 0);
  }
}
END_TEST

/* Memory that was released serves the next allocation: pinned memory is dear. */
START_TEST(test_memory_is_used_again) {
  const struct gr_pinned_hooks *hooks = pinned_hooks();
  reset_source(SIZE_MAX);
  void *pool = hooks->create(hooks->context, &pinned_source);
  for (int i = 0; i < 4; i++) hooks->release(pool, hooks->allocate(pool, 8 << 20));
  size_t blocks = source_state.count;
  for (int i = 0; i < 20; i++) hooks->release(pool, hooks->allocate(pool, 8 << 20));
  ck_assert_uint_eq(source_state.count, blocks);
  hooks->destroy(pool);
  ck_assert_uint_eq(source_state.count, 0);
}
END_TEST

START_TEST(test_refusal_of_the_source_is_passed_on) {
  const struct gr_pinned_hooks *hooks = pinned_hooks();
  size_t refusals = 0;
  for (size_t refuse_after = 0; refuse_after < 6; refuse_after++) {
    reset_source(refuse_after);
    void *pool = hooks->create(hooks->context, &pinned_source);
    if (!pool) {
      refusals++;
      ck_assert_uint_eq(source_state.count, 0);
      continue;
    }
    void *kept[16];
    for (int i = 0; i < 16; i++) {
      kept[i] = hooks->allocate(pool, 4 << 20);
      if (!kept[i]) refusals++;
    }
    for (int i = 0; i < 16; i++) {
      if (kept[i]) hooks->release(pool, kept[i]);
    }
    hooks->destroy(pool);
    ck_assert_uint_eq(source_state.count, 0);
  }
  ck_assert_uint_gt(refusals, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pinned");
  TCase *cases = tcase_create("arena");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, test_blocks_do_not_overlap_and_all_come_back);
  tcase_add_test(cases, test_memory_is_used_again);
  tcase_add_test(cases, test_refusal_of_the_source_is_passed_on);
  return run_suite(suite, cases);
}
