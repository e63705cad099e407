/* What the machine is, against the system's own other words for it. */
#include <sched.h>
#include <unistd.h>

#include "engine/backend/host/host_internal.h"
#include "tests/unit/backend/host/support.h"

START_TEST(cores_are_those_that_may_be_used) {
  cpu_set_t all, one;
  ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
  ck_assert_uint_eq(gr_host_core_count(), (uint32_t)CPU_COUNT(&all));
  size_t core = 0;
  while (!CPU_ISSET(core, &all)) core++;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
  ck_assert_uint_eq(gr_host_core_count(), 1);
  ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
END_TEST

START_TEST(the_machine_has_a_name_and_memory) {
  struct gr_device_info info;
  memset(&info, 0x55, sizeof info);
  gr_host_machine(&info);
  uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  ck_assert_uint_eq(info.memory_bytes, bytes);
  ck_assert_uint_eq(gr_host_memory_bytes(), bytes);
  ck_assert_uint_gt(info.free_bytes, 0);
  ck_assert_uint_le(info.free_bytes, bytes);
  ck_assert_ptr_nonnull(memchr(info.name, '\0', sizeof info.name));
  ck_assert_ptr_null(strchr(info.name, '\n'));
  ck_assert_uint_eq(info.compute_major, 0);
  ck_assert_uint_eq(info.unit_count, gr_host_core_count());
}
END_TEST

int main(void) {
  const TTest *const tests[] = {cores_are_those_that_may_be_used, the_machine_has_a_name_and_memory};
  return run_suite("host_machine", tests, sizeof tests / sizeof tests[0], 30);
}
