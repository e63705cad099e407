/* The deque and the ring under stress: every step comes out exactly once, whoever takes it. */
#include <pthread.h>
#include <sched.h>

#include "engine/backend/host/host_internal.h"
#include "tests/unit/backend/host/support.h"

enum { THIEVES = 3, ITEMS = 300000 };

static struct host_deque deque;
static struct host_ring ring;
static _Atomic uint32_t slots[HOST_DEQUE_CAPACITY];
static _Atomic uint64_t ring_slots[1 << 19]; /* as many as there are items, at least */
static _Atomic uint32_t taken[ITEMS];
static _Atomic uint32_t taken_count;

static void reset(uint64_t start) {
  memset(&deque, 0, sizeof deque);
  memset(&ring, 0, sizeof ring);
  memset(taken, 0, sizeof taken);
  memset(ring_slots, 0, sizeof ring_slots);
  atomic_store(&taken_count, 0);
  deque.items = slots;
  atomic_store(&deque.top, start);
  atomic_store(&deque.bottom, start);
  ring.slots = ring_slots;
  ring.capacity = sizeof ring_slots / sizeof ring_slots[0];
  atomic_store(&ring.head, start);
  atomic_store(&ring.tail, start);
}

static void take(uint32_t item) {
  if (item == HOST_NO_STEP) {
    sched_yield();
    return;
  }
  atomic_fetch_add_explicit(&taken[item], 1, memory_order_relaxed);
  atomic_fetch_add(&taken_count, 1);
}

static void check_each_once(void) {
  for (uint32_t i = 0; i < ITEMS; i++) ck_assert_uint_eq(taken[i], 1);
}

START_TEST(one_thread_sees_a_stack_and_a_queue) {
  for (int at_the_edge = 0; at_the_edge < 2; at_the_edge++) {
    reset(at_the_edge ? UINT64_MAX - 2 : 0);
    ck_assert_uint_eq(gr_host_deque_pop(&deque), HOST_NO_STEP);
    ck_assert_uint_eq(gr_host_deque_steal(&deque), HOST_NO_STEP);
    ck_assert(gr_host_deque_is_empty(&deque));
    for (uint32_t i = 0; i < 6; i++) ck_assert(gr_host_deque_push(&deque, i));
    ck_assert(!gr_host_deque_is_empty(&deque));
    ck_assert_uint_eq(gr_host_deque_pop(&deque), 5);
    ck_assert_uint_eq(gr_host_deque_steal(&deque), 0);
    ck_assert_uint_eq(gr_host_deque_steal(&deque), 1);
    ck_assert_uint_eq(gr_host_deque_pop(&deque), 4);
    ck_assert_uint_eq(gr_host_deque_pop(&deque), 3);
    ck_assert_uint_eq(gr_host_deque_pop(&deque), 2);
    ck_assert_uint_eq(gr_host_deque_pop(&deque), HOST_NO_STEP);
    ck_assert(gr_host_deque_is_empty(&deque));
  }
}
END_TEST

START_TEST(a_full_deque_refuses) {
  reset(7);
  for (uint32_t i = 0; i < HOST_DEQUE_CAPACITY; i++) ck_assert(gr_host_deque_push(&deque, i));
  ck_assert(!gr_host_deque_push(&deque, 9999));
  ck_assert_uint_eq(gr_host_deque_steal(&deque), 0);
  ck_assert(gr_host_deque_push(&deque, 9999));
  ck_assert_uint_eq(gr_host_deque_pop(&deque), 9999);
  for (uint32_t i = HOST_DEQUE_CAPACITY - 1; i > 0; i--) ck_assert_uint_eq(gr_host_deque_pop(&deque), i);
  ck_assert_uint_eq(gr_host_deque_pop(&deque), HOST_NO_STEP);
}
END_TEST

START_TEST(the_ring_is_first_in_first_out) {
  reset(0);
  ring.capacity = 4;
  for (uint32_t lap = 0; lap < 1000; lap++) {
    ck_assert_uint_eq(gr_host_ring_pop(&ring), HOST_NO_STEP);
    for (uint32_t i = 0; i < 1 + lap % 4; i++) gr_host_ring_push(&ring, lap + i);
    for (uint32_t i = 0; i < 1 + lap % 4; i++) ck_assert_uint_eq(gr_host_ring_pop(&ring), lap + i);
  }
}
END_TEST

/* Counted as taken, but not written yet: the popper must not take the slot's old content for an item. */
START_TEST(a_slot_that_is_not_written_yet_is_no_item) {
  reset(0);
  ring.capacity = 4;
  for (uint32_t i = 0; i < 4; i++) gr_host_ring_push(&ring, i);
  for (uint32_t i = 0; i < 4; i++) ck_assert_uint_eq(gr_host_ring_pop(&ring), i);
  atomic_fetch_add(&ring.tail, 1);
  ck_assert_uint_eq(gr_host_ring_pop(&ring), HOST_NO_STEP);
}
END_TEST

static void *steal_all(void *unused) {
  while (atomic_load(&taken_count) < ITEMS) take(gr_host_deque_steal(&deque));
  return unused;
}

/* Bursts of random length, so that the deque is now nearly empty, where owner and thieves meet, now full. */
START_TEST(owner_and_thieves_take_each_item_once) {
  reset(UINT64_MAX - ITEMS / 2);
  pthread_t threads[THIEVES];
  for (int i = 0; i < THIEVES; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, steal_all, NULL), 0);
  uint64_t random = 42;
  uint32_t pushed = 0;
  while (atomic_load(&taken_count) < ITEMS) {
    uint32_t pushes = graph_random_below(&random, graph_random_below(&random, 10) == 0 ? 2000 : 4);
    for (uint32_t i = 0; i < pushes && pushed < ITEMS; i++) {
      if (!gr_host_deque_push(&deque, pushed)) break;
      pushed++;
    }
    uint32_t pops = graph_random_below(&random, 4);
    for (uint32_t i = 0; i < pops; i++) {
      uint32_t item = gr_host_deque_pop(&deque);
      if (item != HOST_NO_STEP) take(item);
    }
    if (pushed == ITEMS) take(gr_host_deque_pop(&deque));
  }
  for (int i = 0; i < THIEVES; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  check_each_once();
  ck_assert(gr_host_deque_is_empty(&deque));
}
END_TEST

static void *push_share(void *first) {
  for (uint32_t i = *(uint32_t *)first; i < ITEMS; i += 2) gr_host_ring_push(&ring, i);
  return first;
}

static void *pop_all(void *unused) {
  while (atomic_load(&taken_count) < ITEMS) take(gr_host_ring_pop(&ring));
  return unused;
}

START_TEST(pushers_and_poppers_take_each_item_once) {
  reset(UINT64_C(0xffffffff) - ITEMS / 2); /* the tags wrap on the way */
  pthread_t threads[4];
  uint32_t first[2] = {0, 1};
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, push_share, &first[i]), 0);
    ck_assert_int_eq(pthread_create(&threads[i + 2], NULL, pop_all, NULL), 0);
  }
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  check_each_once();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      one_thread_sees_a_stack_and_a_queue,   a_full_deque_refuses,
      the_ring_is_first_in_first_out,        a_slot_that_is_not_written_yet_is_no_item,
      owner_and_thieves_take_each_item_once, pushers_and_poppers_take_each_item_once,
  };
  return run_suite("host_queue", tests, sizeof tests / sizeof tests[0], 120);
}
