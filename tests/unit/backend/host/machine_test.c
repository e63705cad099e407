/* What the machine is, against the system's own other words for it. */
#include <sched.h>
#include <unistd.h>

#include "engine/backend/host/host_internal.h"
#include "tests/unit/backend/host/support.h"

START_TEST(cores_are_those_that_may_be_used) {
  cpu_set_t all, one;
  ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
  ck_assert_uint_ge(gr_host_core_count(), 1);
  ck_assert_uint_le(gr_host_core_count(), (uint32_t)CPU_COUNT(&all)); /* a quota may lower it */
  size_t core = 0;
  while (!CPU_ISSET(core, &all)) core++;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
  ck_assert_uint_eq(gr_host_core_count(), 1);
  ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
END_TEST

START_TEST(quotas_are_rounded_up) {
  ck_assert_uint_eq(gr_host_quota_cores("200000 100000\n"), 2);
  ck_assert_uint_eq(gr_host_quota_cores("250000 100000\n"), 3);
  ck_assert_uint_eq(gr_host_quota_cores("1 100000\n"), 1);
  static const char *const none[] = {"max 100000\n", "",         "100000", "100000 0\n",
                                     "0 100000\n",   "nonsense", "1 max",  "99999999999999999999999 1\n"};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    ck_assert_uint_eq(gr_host_quota_cores(none[i]), UINT32_MAX);
  }
}
END_TEST

START_TEST(the_machine_has_a_name_and_memory) {
  struct gr_device_info info;
  memset(&info, 0x55, sizeof info);
  gr_host_machine(&info);
  uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  ck_assert_uint_gt(info.memory_bytes, 0);
  ck_assert_uint_le(info.memory_bytes, bytes); /* a control group may have less */
  ck_assert_uint_eq(gr_host_memory_bytes(), info.memory_bytes);
  ck_assert_uint_gt(info.free_bytes, 0);
  uint64_t free_bytes, with_swap_bytes;
  gr_host_free_memory(&free_bytes, &with_swap_bytes);
  ck_assert_uint_gt(free_bytes, 0);
  ck_assert_uint_ge(with_swap_bytes, free_bytes);
  ck_assert_uint_le(info.free_bytes, bytes);
  ck_assert_ptr_nonnull(memchr(info.name, '\0', sizeof info.name));
  ck_assert_ptr_null(strchr(info.name, '\n'));
  ck_assert_uint_eq(info.compute_major, 0);
  ck_assert_uint_eq(info.unit_count, gr_host_core_count());
}
END_TEST

int main(void) {
  const TTest *const tests[] = {cores_are_those_that_may_be_used, quotas_are_rounded_up,
                                the_machine_has_a_name_and_memory};
  return run_suite("host_machine", tests, sizeof tests / sizeof tests[0], 30);
}
