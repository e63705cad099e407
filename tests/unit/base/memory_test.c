/* Counting, failing on demand, hooks, growing arrays and the arena. */
#include "engine/base/memory.h"

#include "tests/unit/base/support.h"

static struct gr_memory memory;

static void set_up(void) { gr_memory_init(&memory, NULL); }
static void tear_down(void) { ck_assert_uint_eq(memory.live_count, 0); }

START_TEST(blocks_are_counted) {
  void *a = gr_memory_allocate(&memory, 10);
  void *b = gr_memory_allocate(&memory, 0);
  ck_assert_ptr_nonnull(a);
  ck_assert_ptr_nonnull(b);
  ck_assert_uint_eq(memory.live_count, 2);
  ck_assert_uint_eq(memory.call_count, 2);
  a = gr_memory_resize(&memory, a, 100, 8);
  ck_assert_uint_eq(memory.live_count, 2);
  ck_assert_uint_eq(memory.call_count, 3);
  gr_memory_release(&memory, a);
  gr_memory_release(&memory, b);
  gr_memory_release(&memory, NULL);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

START_TEST(zeroed_blocks) {
  unsigned char *block = gr_memory_allocate_zeroed(&memory, 1000, 3);
  for (size_t i = 0; i < 3000; i++) ck_assert_uint_eq(block[i], 0);
  gr_memory_release(&memory, block);
}
END_TEST

START_TEST(products_that_overflow) {
  ck_assert_ptr_null(gr_memory_allocate_zeroed(&memory, SIZE_MAX / 2, 3));
  void *block = gr_memory_allocate(&memory, 8);
  memset(block, 7, 8);
  ck_assert_ptr_null(gr_memory_resize(&memory, block, SIZE_MAX / 2, 3));
  ck_assert_int_eq(((char *)block)[7], 7);
  gr_memory_release(&memory, block);
  ck_assert_ptr_null(gr_memory_resize(&memory, NULL, SIZE_MAX, 2));
}
END_TEST

START_TEST(the_call_with_a_number_and_all_later_ones_fail) {
  memory.fail_at = 3;
  void *a = gr_memory_allocate(&memory, 1);
  void *b = gr_memory_resize(&memory, NULL, 1, 1);
  ck_assert_ptr_nonnull(a);
  ck_assert_ptr_nonnull(b);
  ck_assert_ptr_null(gr_memory_allocate(&memory, 1));
  ck_assert_ptr_null(gr_memory_resize(&memory, a, 2, 1));
  ck_assert_ptr_null(gr_memory_allocate_zeroed(&memory, 1, 1));
  memory.fail_at = 0;
  gr_memory_release(&memory, a);
  gr_memory_release(&memory, b);
}
END_TEST

struct counter {
  int allocated, resized, released;
};
static void *count_allocate(void *context, size_t size_bytes) {
  ((struct counter *)context)->allocated++;
  return malloc(size_bytes);
}
static void *count_resize(void *context, void *address, size_t size_bytes) {
  ((struct counter *)context)->resized++;
  ck_assert_ptr_nonnull(address);
  return realloc(address, size_bytes);
}
static void count_release(void *context, void *address) {
  ((struct counter *)context)->released++;
  ck_assert_ptr_nonnull(address);
  free(address);
}

START_TEST(hooks_of_the_program) {
  struct counter counter = {0, 0, 0};
  struct gr_memory_hooks hooks = {count_allocate, count_resize, count_release, &counter};
  gr_memory_init(&memory, &hooks);
  void *block = gr_memory_resize(&memory, NULL, 4, 4);
  block = gr_memory_resize(&memory, block, 8, 4);
  gr_memory_release(&memory, block);
  gr_memory_release(&memory, NULL);
  ck_assert_int_eq(counter.allocated, 1);
  ck_assert_int_eq(counter.resized, 1);
  ck_assert_int_eq(counter.released, 1);
}
END_TEST

START_TEST(all_three_hooks_or_none) {
  struct counter counter = {0, 0, 0};
  struct gr_memory_hooks hooks = {count_allocate, NULL, count_release, &counter};
  gr_memory_init(&memory, &hooks);
  gr_memory_release(&memory, gr_memory_allocate(&memory, 4));
  ck_assert_int_eq(counter.allocated, 0);
  ck_assert_int_eq(counter.released, 0);
}
END_TEST

START_TEST(arrays_grow) {
  uint32_t *numbers = NULL;
  size_t capacity = 0;
  for (uint32_t i = 0; i < 100000; i++) {
    ck_assert(gr_memory_grow(&memory, &numbers, i, &capacity, sizeof *numbers));
    numbers[i] = i;
  }
  uint32_t same_count = 0;
  while (same_count < 100000 && numbers[same_count] == same_count) same_count++;
  ck_assert_uint_eq(same_count, 100000);
  ck_assert_uint_le(memory.call_count, 40); /* by a factor, not by a step */
  size_t before = capacity;
  uint32_t *same = numbers;
  memory.fail_at = 1;
  ck_assert(!gr_memory_grow(&memory, &numbers, capacity, &capacity, sizeof *numbers));
  ck_assert_uint_eq(capacity, before);
  ck_assert_ptr_eq(numbers, same);
  gr_memory_release(&memory, numbers);
}
END_TEST

START_TEST(an_arena_aligns_and_keeps) {
  struct gr_arena arena;
  gr_arena_init(&arena, &memory);
  char *blocks[2000];
  for (size_t i = 0; i < 2000; i++) {
    size_t size_bytes = i * 7 % 300;
    blocks[i] = gr_arena_allocate(&arena, size_bytes, 1);
    ck_assert_ptr_nonnull(blocks[i]);
    ck_assert_uint_eq((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
    memset(blocks[i], (int)(i % 256), size_bytes);
  }
  for (size_t i = 0; i < 2000; i++) {
    size_t same = 0;
    while (same < i * 7 % 300 && (unsigned char)blocks[i][same] == i % 256) same++;
    ck_assert_uint_eq(same, i * 7 % 300);
  }
  ck_assert_uint_gt(arena.total_bytes, 2000 * 149);
  gr_arena_release(&arena);
  ck_assert_uint_eq(memory.live_count, 0);
  ck_assert_uint_eq(arena.total_bytes, 0);
  ck_assert_ptr_nonnull(gr_arena_allocate(&arena, 1, 1)); /* may be used again */
  gr_arena_release(&arena);
  gr_arena_release(&arena);
}
END_TEST

START_TEST(an_arena_wastes_little) {
  struct gr_arena arena;
  gr_arena_init(&arena, &memory);
  char *a = gr_arena_allocate(&arena, 1, 1);
  char *b = gr_arena_allocate(&arena, 1, 1);
  ck_assert_int_eq((int)(b - a), (int)_Alignof(max_align_t));
  gr_arena_release(&arena);
}
END_TEST

START_TEST(large_and_impossible_pieces_of_an_arena) {
  struct gr_arena arena;
  gr_arena_init(&arena, &memory);
  unsigned char *large = gr_arena_allocate_zeroed(&arena, 10 << 20, 1);
  ck_assert_ptr_nonnull(large);
  ck_assert_uint_eq(large[(10 << 20) - 1], 0);
  ck_assert_ptr_null(gr_arena_allocate(&arena, SIZE_MAX, 2));
  ck_assert_ptr_null(gr_arena_allocate(&arena, SIZE_MAX, 1));
  ck_assert_ptr_null(gr_arena_allocate(&arena, SIZE_MAX - 16, 1));
  ck_assert_ptr_null(gr_arena_copy(&arena, "x", SIZE_MAX));
  ck_assert_ptr_nonnull(gr_arena_allocate(&arena, 0, 8));
  gr_arena_release(&arena);
  struct gr_arena zeroed;
  memset(&zeroed, 0, sizeof zeroed);
  gr_arena_release(&zeroed);
}
END_TEST

START_TEST(an_arena_without_memory) {
  struct gr_arena arena;
  gr_arena_init(&arena, &memory);
  memory.fail_at = 1;
  ck_assert_ptr_null(gr_arena_allocate(&arena, 1, 1));
  ck_assert_ptr_null(gr_arena_allocate_zeroed(&arena, 1, 1));
  ck_assert_ptr_null(gr_arena_copy(&arena, "x", 1));
  memory.fail_at = 0;
  ck_assert_str_eq(gr_arena_copy(&arena, "xyz", 2), "xy");
  ck_assert_str_eq(gr_arena_copy(&arena, NULL, 0), "");
  gr_arena_release(&arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("base/memory");
  TCase *cases = tcase_create("memory");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, blocks_are_counted);
  tcase_add_test(cases, zeroed_blocks);
  tcase_add_test(cases, products_that_overflow);
  tcase_add_test(cases, the_call_with_a_number_and_all_later_ones_fail);
  tcase_add_test(cases, hooks_of_the_program);
  tcase_add_test(cases, all_three_hooks_or_none);
  tcase_add_test(cases, arrays_grow);
  tcase_add_test(cases, an_arena_aligns_and_keeps);
  tcase_add_test(cases, an_arena_wastes_little);
  tcase_add_test(cases, large_and_impossible_pieces_of_an_arena);
  tcase_add_test(cases, an_arena_without_memory);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
