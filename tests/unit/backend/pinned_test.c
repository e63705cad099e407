/* The default pool over a source that counts, refuses, and knows which blocks are out. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/backend.h"
#include "tests/support/graph_builder.h"

enum { PAGE_BYTES = 4096, BLOCKS_MAX = 4096 };

struct source {
  struct {
    char *address;
    size_t size_bytes;
  } blocks[BLOCKS_MAX];
  uint32_t taken, given_back, refused;
  size_t out_bytes, limit_bytes;
};

static struct source source;
static struct gr_pinned_source hooks;
static struct gr_memory memory;

static void *take(void *context, size_t size_bytes) {
  struct source *from = context;
  if (size_bytes > from->limit_bytes - from->out_bytes) {
    from->refused++;
    return NULL;
  }
  char *address = aligned_alloc(PAGE_BYTES, (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
  ck_assert_ptr_nonnull(address);
  ck_assert_uint_lt(from->taken, BLOCKS_MAX);
  from->blocks[from->taken].address = address;
  from->blocks[from->taken++].size_bytes = size_bytes;
  from->out_bytes += size_bytes;
  return address;
}

/* Only what was taken, and only once. */
static void give_back(void *context, void *address) {
  struct source *to = context;
  for (uint32_t i = 0; i < to->taken; i++) {
    if (to->blocks[i].address != address) continue;
    to->blocks[i].address = NULL;
    to->out_bytes -= to->blocks[i].size_bytes;
    to->given_back++;
    free(address);
    return;
  }
  ck_abort_msg("an address that was not taken");
}

static void set_up(void) {
  memset(&source, 0, sizeof source);
  source.limit_bytes = SIZE_MAX;
  hooks = (struct gr_pinned_source){take, give_back, &source};
  gr_memory_init(&memory, NULL);
}

static void tear_down(void) {
  ck_assert_uint_eq(source.taken, source.given_back);
  ck_assert_uint_eq(memory.live_count, 0);
}

static void *create(void) {
  void *pool = gr_pinned_default.create(&memory, &hooks);
  ck_assert_ptr_nonnull(pool);
  return pool;
}

START_TEST(blocks_are_kept_and_used_again) {
  void *pool = create();
  void *first = gr_pinned_default.allocate(pool, 1000000);
  void *other = gr_pinned_default.allocate(pool, 1000000);
  ck_assert_ptr_nonnull(first);
  ck_assert_ptr_nonnull(other);
  ck_assert_ptr_ne(first, other);
  memset(first, 1, 1000000);
  memset(other, 2, 1000000);
  ck_assert_uint_eq(source.taken, 2);
  gr_pinned_default.release(pool, first);
  ck_assert_uint_eq(source.given_back, 0);
  ck_assert_ptr_eq(gr_pinned_default.allocate(pool, 990000), first); /* about that size */
  ck_assert_uint_eq(source.taken, 2);
  gr_pinned_default.release(pool, first);
  ck_assert_ptr_ne(gr_pinned_default.allocate(pool, 100), first); /* far smaller: it would be wasted */
  ck_assert_ptr_ne(gr_pinned_default.allocate(pool, 2000000), first);
  ck_assert_uint_eq(source.taken, 4);
  gr_pinned_default.destroy(pool);
}
END_TEST

/* What is released twice, or never was there, changes nothing. */
START_TEST(strange_releases_change_nothing) {
  void *pool = create();
  void *block = gr_pinned_default.allocate(pool, 5000);
  gr_pinned_default.release(pool, NULL);
  gr_pinned_default.release(pool, (char *)block + 256);
  gr_pinned_default.release(pool, block);
  gr_pinned_default.release(pool, block);
  void *one = gr_pinned_default.allocate(pool, 5000);
  void *two = gr_pinned_default.allocate(pool, 5000);
  ck_assert_ptr_eq(one, block);
  ck_assert_ptr_ne(two, one);
  gr_pinned_default.destroy(pool);
  gr_pinned_default.destroy(NULL);
}
END_TEST

START_TEST(no_more_than_an_eighth_is_wasted) {
  void *pool = create();
  uint64_t random = 3;
  for (int i = 0; i < 300; i++) {
    size_t size = PAGE_BYTES + graph_random_below(&random, 1u << (13 + i % 12));
    uint32_t before = source.taken;
    ck_assert_ptr_nonnull(gr_pinned_default.allocate(pool, size));
    ck_assert_uint_eq(source.taken, before + 1);
    ck_assert_uint_ge(source.blocks[before].size_bytes, size);
    ck_assert_uint_le(source.blocks[before].size_bytes, size + size / 8 + 1);
  }
  gr_pinned_default.destroy(pool);
}
END_TEST

START_TEST(what_is_kept_goes_back_when_room_is_needed) {
  void *pool = create();
  source.limit_bytes = 1 << 20;
  void *blocks[4];
  for (int i = 0; i < 4; i++) {
    blocks[i] = gr_pinned_default.allocate(pool, 200000);
    ck_assert_ptr_nonnull(blocks[i]);
  }
  ck_assert_ptr_null(gr_pinned_default.allocate(pool, 600000));
  for (int i = 0; i < 3; i++) gr_pinned_default.release(pool, blocks[i]);
  ck_assert_ptr_nonnull(gr_pinned_default.allocate(pool, 600000));
  ck_assert_uint_eq(source.given_back, 3);
  memset(blocks[3], 1, 200000); /* in use: still there */
  ck_assert_ptr_null(gr_pinned_default.allocate(pool, 600000));
  gr_pinned_default.destroy(pool);
}
END_TEST

START_TEST(sizes_at_the_edges) {
  void *pool = create();
  source.limit_bytes = 1 << 20;
  ck_assert_ptr_nonnull(gr_pinned_default.allocate(pool, 0));
  ck_assert_ptr_nonnull(gr_pinned_default.allocate(pool, 1));
  ck_assert_ptr_null(gr_pinned_default.allocate(pool, SIZE_MAX));
  ck_assert_ptr_null(gr_pinned_default.allocate(pool, SIZE_MAX / 2));
  ck_assert_ptr_null(gr_pinned_default.allocate(pool, SIZE_MAX / 4));
  ck_assert_ptr_null(gr_pinned_default.create(NULL, &hooks));
  gr_pinned_default.destroy(pool);
}
END_TEST

/* Any order of calls: blocks in use never overlap, whatever is reused. */
START_TEST(random_calls_keep_blocks_apart) {
  enum { LIVE_MAX = 200 };
  struct {
    unsigned char *address;
    size_t size_bytes;
  } live[LIVE_MAX];
  uint32_t live_count = 0;
  void *pool = create();
  uint64_t random = 11;
  for (int i = 0; i < 5000; i++) {
    if (live_count < LIVE_MAX && graph_random_below(&random, 2) == 0) {
      size_t size = 1 + graph_random_below(&random, 20000);
      unsigned char *address = gr_pinned_default.allocate(pool, size);
      ck_assert_ptr_nonnull(address);
      ck_assert_uint_eq((uintptr_t)address % 256, 0);
      address[0] = address[size - 1] = (unsigned char)size;
      live[live_count].address = address;
      live[live_count++].size_bytes = size;
    } else if (live_count > 0) {
      uint32_t k = graph_random_below(&random, live_count);
      ck_assert_uint_eq(live[k].address[0], (unsigned char)live[k].size_bytes);
      ck_assert_uint_eq(live[k].address[live[k].size_bytes - 1], (unsigned char)live[k].size_bytes);
      gr_pinned_default.release(pool, live[k].address);
      live[k] = live[--live_count];
    }
  }
  ck_assert_uint_lt(source.taken, 600);
  gr_pinned_default.destroy(pool);
}
END_TEST

static uint32_t use_pool(uint64_t fail_at) {
  uint32_t failures = 0;
  atomic_store(&memory.call_count, 0);
  atomic_store(&memory.fail_at, fail_at);
  void *pool = gr_pinned_default.create(&memory, &hooks);
  for (int i = 0; pool && i < 100; i++) failures += gr_pinned_default.allocate(pool, 5000) == NULL;
  atomic_store(&memory.fail_at, 0);
  if (!pool) return 1;
  gr_pinned_default.destroy(pool);
  return failures;
}

START_TEST(every_allocation_may_fail) {
  uint64_t n = 1;
  while (use_pool(n) > 0) {
    ck_assert_uint_eq(memory.live_count, 0);
    ck_assert_uint_eq(source.out_bytes, 0);
    memset(&source, 0, sizeof source);
    source.limit_bytes = SIZE_MAX;
    ck_assert_uint_lt(n, 1000);
    n++;
  }
  ck_assert_uint_gt(n, 100);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pinned");
  TCase *tcase = tcase_create("pinned");
  tcase_add_checked_fixture(tcase, set_up, tear_down);
  tcase_add_test(tcase, blocks_are_kept_and_used_again);
  tcase_add_test(tcase, strange_releases_change_nothing);
  tcase_add_test(tcase, no_more_than_an_eighth_is_wasted);
  tcase_add_test(tcase, what_is_kept_goes_back_when_room_is_needed);
  tcase_add_test(tcase, sizes_at_the_edges);
  tcase_add_test(tcase, random_calls_keep_blocks_apart);
  tcase_add_test(tcase, every_allocation_may_fail);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
