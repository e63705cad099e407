/* The table's members, one by one. */
#include "tests/unit/backend/host/support.h"

START_TEST(there_is_one_device) {
  struct gr_probe probe;
  memset(&probe, 0x55, sizeof probe);
  gr_backend_host.probe(&probe);
  ck_assert_uint_eq(probe.device_count, 1);
  ck_assert_str_eq(probe.reason, "");
  ck_assert_uint_gt(strlen(probe.driver), 0);
  struct gr_device_info info;
  struct gr_error error = {0};
  must(gr_backend_host.describe(0, &info, &error), &error);
  ck_assert_uint_gt(strlen(info.name), 0);
  ck_assert_uint_gt(info.memory_bytes, 0);
  ck_assert_uint_le(info.free_bytes, info.memory_bytes);
  ck_assert_uint_ge(info.unit_count, 1);
  ck_assert_int_eq(gr_backend_host.describe(1, &info, &error), GR_ERR_NO_DEVICE);
  ck_assert_str_eq(error.message, "there is no host device 1: the only one is 0");
}
END_TEST

START_TEST(another_index_opens_nothing) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_error error = {0};
  struct gr_device_options options = {.device_index = 7};
  struct gr_device *device = NULL;
  ck_assert_int_eq(gr_backend_host.open(&memory, &options, &device, &error), GR_ERR_NO_DEVICE);
  ck_assert_ptr_null(device);
  ck_assert_uint_eq(memory.live_count, 0);
  ck_assert_int_eq(gr_backend_host.open(&memory, &options, &device, NULL), GR_ERR_NO_DEVICE);
}
END_TEST

START_TEST(destroy_and_close_accept_null) {
  gr_backend_host.destroy(NULL);
  gr_backend_host.close(NULL);
}
END_TEST

START_TEST(one_worker_a_core_by_default) {
  struct bench bench;
  bench_init(&bench);
  struct graph_spec spec = {.pattern = GRAPH_TRIVIAL, .width = 1, .steps = 5000};
  bench_plan(&bench, graph_generate(&bench.memory, &spec), GR_POLICY_LEVELS, 0);
  bench_build(&bench, GR_MODE_GRAPH);
  struct gr_device_info info;
  struct gr_error error = {0};
  must(gr_backend_host.describe(0, &info, &error), &error);
  struct gr_build_facts facts;
  gr_backend_host.facts(bench.executable, &facts);
  ck_assert_uint_eq(facts.worker_count, info.unit_count < 1024 ? info.unit_count : 1024);
  bench_release(&bench);
}
END_TEST

START_TEST(bytes_go_in_and_out_of_every_place) {
  struct bench bench;
  bench_text(&bench,
             "a=[7] b=[7]@pinned c=[7]@host d=[7]@mapped e=[7]@managed f=[0] "
             "n:u:a n:r:b n:r:c n:r:d n:r:e n:r:f",
             GR_MODE_GRAPH, 1);
  struct gr_error error = {0};
  for (uint32_t i = 0; i < bench.pipeline->buffer_count; i++) {
    uint64_t size = bench.pipeline->buffers[i].size_bytes;
    unsigned char in[64] = {0}, out[64] = {0};
    for (uint64_t k = 0; k < size; k++) in[k] = (unsigned char)(k + i);
    must(gr_backend_host.write(bench.executable, i, 0, in, size, &error), &error);
    if (size > 8) must(gr_backend_host.write(bench.executable, i, 3, "\xff\xfe", 2, &error), &error);
    if (size > 8) in[3] = 0xff, in[4] = 0xfe;
    must(gr_backend_host.read(bench.executable, i, 0, out, size, &error), &error);
    ck_assert_mem_eq(in, out, size);
    if (size > 8) {
      must(gr_backend_host.read(bench.executable, i, 4, out, 1, &error), &error);
      ck_assert_uint_eq(out[0], 0xfe);
      ck_assert_mem_eq(gr_backend_host.address(bench.executable, i), in, size);
    }
  }
  bench_release(&bench);
}
END_TEST

START_TEST(copies_and_fills_of_slices) {
  for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
    struct bench bench;
    bench_text(&bench,
               "x=[6,5] y=[9,8] z=[4,3,5]@pinned w=[2,3,4]@host v=[12] "
               "a:w:x a>b b:w:y b>c c:r:x[1:4,2:5] c:w:y[0:3,5:8] a>d d:w:x[5:6,1:2] d>c "
               "e:w:z e>f f:w:z[1:3,0:2,2:4] f>g g:r:z[1:3,0:3,1:5] g:w:w c>h h:r:y[3:7,2:5] h:w:v",
               (enum gr_mode)mode, 2);
    bench_run(&bench, 2);
    unsigned char **expected = oracle_run(bench.plan, 2);
    oracle_compare(&bench, expected, gr_mode_name((enum gr_mode)mode));
    oracle_release(bench.plan, expected);
    bench_release(&bench);
  }
}
END_TEST

START_TEST(states_say_what_became_of_each_node) {
  struct bench bench;
  bench_text(&bench, "a:u:x a>b b!no_op b>c a>d d:u:x", GR_MODE_GRAPH, 2);
  const char *const names[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; i++) ck_assert_int_eq(bench_state(&bench, names[i]), GR_NODE_NOT_RUN);
  bench_run(&bench, 1);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_NO_OP);
  ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "d"), GR_NODE_OK);
  bench_release(&bench);
}
END_TEST

START_TEST(times_can_be_reset) {
  struct bench bench;
  bench_text(&bench, "a:u:x a>b b:u:x", GR_MODE_GRAPH, 2);
  struct gr_replay_times times;
  gr_backend_host.times(bench.executable, &times);
  ck_assert_uint_eq(times.replays, 0);
  ck_assert(times.device_ns == 0);
  bench_run(&bench, 7);
  gr_backend_host.times(bench.executable, &times);
  ck_assert_uint_eq(times.replays, 7);
  ck_assert_uint_le(times.launch_min_ns, times.launch_max_ns);
  ck_assert_uint_ge(times.launch_total_ns, 6 * times.launch_min_ns + times.launch_max_ns);
  ck_assert(times.device_ns > 0);
  gr_backend_host.reset_times(bench.executable);
  gr_backend_host.times(bench.executable, &times);
  ck_assert_uint_eq(times.replays, 0);
  ck_assert_uint_eq(times.launch_total_ns, 0);
  ck_assert(times.device_ns == 0);
  bench_run(&bench, 1);
  gr_backend_host.times(bench.executable, &times);
  ck_assert_uint_eq(times.replays, 1);
  ck_assert_uint_eq(times.launch_min_ns, times.launch_max_ns);
  ck_assert_uint_eq(times.launch_total_ns, times.launch_max_ns);
  bench_release(&bench);
}
END_TEST

START_TEST(one_device_serves_several_executables) {
  struct bench bench;
  bench_text(&bench, "a:u:x a>b b:u:x b>c c:r:x c:u:y", GR_MODE_GRAPH, 2);
  struct gr_executable *first = bench.executable;
  bench_build(&bench, GR_MODE_SERIAL);
  struct gr_executable *second = bench.executable;
  struct gr_error error = {0};
  for (int i = 0; i < 5; i++) {
    must(gr_backend_host.launch(first, NULL, &error), &error);
    must(gr_backend_host.launch(second, NULL, &error), &error);
  }
  must(gr_backend_host.wait(second, NULL, &error), &error);
  must(gr_backend_host.wait(first, NULL, &error), &error);
  unsigned char **expected = oracle_run(bench.plan, 5);
  oracle_compare(&bench, expected, "second");
  bench.executable = first;
  oracle_compare(&bench, expected, "first");
  oracle_release(bench.plan, expected);
  gr_backend_host.destroy(second);
  bench_release(&bench);
}
END_TEST

START_TEST(waiting_for_nothing_is_no_wait) {
  struct bench bench;
  bench_text(&bench, "a:u:x", GR_MODE_GRAPH, 1);
  struct gr_wait_options options = {.deadline_ns = 1};
  struct gr_error error = {0};
  must(gr_backend_host.wait(bench.executable, &options, &error), &error);
  bench_run(&bench, 1);
  must(gr_backend_host.wait(bench.executable, &options, &error), &error);
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      there_is_one_device,
      another_index_opens_nothing,
      destroy_and_close_accept_null,
      one_worker_a_core_by_default,
      bytes_go_in_and_out_of_every_place,
      copies_and_fills_of_slices,
      states_say_what_became_of_each_node,
      times_can_be_reset,
      one_device_serves_several_executables,
      waiting_for_nothing_is_no_wait,
  };
  return run_suite("host", tests, sizeof tests / sizeof tests[0], 60);
}
