/* From plan to executable: memory that runs out at every place, sizes that no machine has, places, facts. */
#include "tests/unit/backend/host/support.h"

static const char *const some_text =
    "x=[16] h=[16]@pinned y=[8,4]@mapped z=[9,5]@host q=[3]@managed q2=[0] "
    "up:r:h up:w:x up>k k:u:x k:r:h k>e e>f f:w:y f>g g:r:y[0:4,1:3] g:w:z[2:6,0:2] g>n n!no_op t:u:q g>t";

START_TEST(every_allocation_may_fail) {
  for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
    struct bench bench;
    bench_init(&bench);
    bench_plan(&bench, graph_from_text(&bench.memory, some_text), GR_POLICY_LEVELS, 3);
    struct gr_build_options options = {.mode = (enum gr_mode)mode};
    uint64_t live = bench.memory.live_count;
    for (uint64_t n = 1;; n++) {
      struct gr_error error = {0};
      struct gr_executable *untouched = (void *)&bench;
      struct gr_executable *executable = untouched;
      atomic_store(&bench.memory.call_count, 0);
      atomic_store(&bench.memory.fail_at, n);
      enum gr_status status = gr_backend_host.build(bench.device, bench.plan, &options, &executable, &error);
      atomic_store(&bench.memory.fail_at, 0);
      if (status == GR_OK) {
        ck_assert_uint_ge(n, 4);
        gr_backend_host.destroy(executable);
        ck_assert_uint_eq(bench.memory.live_count, live);
        break;
      }
      ck_assert_int_eq(status, GR_ERR_NO_MEMORY);
      ck_assert_int_eq(error.status, status);
      ck_assert_ptr_eq(executable, untouched);
      ck_assert_uint_eq(bench.memory.live_count, live);
    }
    bench_release(&bench);
  }
}
END_TEST

/* Nor where there is no buffer that could be named. */
START_TEST(nth_allocation_fails_without_buffers) {
  struct bench bench;
  bench_init(&bench);
  bench_plan(&bench, graph_from_text(&bench.memory, "a>b"), GR_POLICY_LEVELS, 3);
  ck_assert_uint_eq(bench.pipeline->buffer_count, 0);
  struct gr_build_options options = {.mode = GR_MODE_GRAPH};
  for (uint64_t n = 1; !bench.executable; n++) {
    struct gr_error error = {0};
    atomic_store(&bench.memory.call_count, 0);
    atomic_store(&bench.memory.fail_at, n);
    enum gr_status status = gr_backend_host.build(bench.device, bench.plan, &options, &bench.executable, &error);
    atomic_store(&bench.memory.fail_at, 0);
    ck_assert_int_eq(status, bench.executable ? GR_OK : GR_ERR_NO_MEMORY);
  }
  bench_release(&bench);
}
END_TEST

START_TEST(no_device_without_memory) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  atomic_store(&memory.fail_at, 1);
  struct gr_error error = {0};
  struct gr_device_options options = {0};
  struct gr_device *device = NULL;
  ck_assert_int_eq(gr_backend_host.open(&memory, &options, &device, &error), GR_ERR_NO_MEMORY);
  ck_assert_ptr_null(device);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

START_TEST(replays_allocate_nothing) {
  struct bench bench;
  bench_text(&bench, some_text, GR_MODE_GRAPH, 3);
  uint64_t calls = bench.memory.call_count;
  bench_run(&bench, 500);
  ck_assert_uint_eq(bench.memory.call_count, calls);
  bench_release(&bench);
}
END_TEST

/* Linux would hand out the address space, and kill the process when it is used. */
START_TEST(more_than_the_machine_has_is_refused) {
  struct bench bench;
  bench_init(&bench);
  bench_plan(&bench, graph_from_text(&bench.memory, "small=[4] huge=[1099511627776] a:w:small b:w:huge"),
             GR_POLICY_LEVELS, 1);
  struct gr_error error = {0};
  struct gr_build_options options = {.mode = GR_MODE_GRAPH};
  ck_assert_int_eq(gr_backend_host.build(bench.device, bench.plan, &options, &bench.executable, &error),
                   GR_ERR_NO_MEMORY);
  ck_assert_ptr_null(bench.executable);
  ck_assert_str_eq(error.node, "huge");
  ck_assert_uint_eq(error.line, 100 + graph_buffer(bench.pipeline, "huge"));
  struct gr_device_info info;
  must(gr_backend_host.describe(0, &info, &error), &error);
  char machine[64];
  snprintf(machine, sizeof machine, "this machine has %llu, ", (unsigned long long)info.memory_bytes);
  ck_assert_msg(strstr(error.message, machine) != NULL, "%s", error.message);
  ck_assert_msg(strstr(error.message, "the largest buffer is \"huge\" with 4398046511104") != NULL, "%s",
                error.message);
  bench_release(&bench);
}
END_TEST

START_TEST(buffers_are_aligned_apart_and_zero) {
  struct bench bench;
  bench_text(&bench, some_text, GR_MODE_GRAPH, 1);
  for (uint32_t i = 0; i < bench.pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &bench.pipeline->buffers[i];
    unsigned char *address = gr_backend_host.address(bench.executable, i);
    ck_assert_ptr_nonnull(address);
    if (buffer->size_bytes > 0) ck_assert_uint_eq((uintptr_t)address % 256, 0);
    for (uint64_t k = 0; k < buffer->size_bytes; k++) ck_assert_uint_eq(address[k], 0);
    memset(address, (int)i + 1, buffer->size_bytes);
  }
  for (uint32_t i = 0; i < bench.pipeline->buffer_count; i++) {
    const unsigned char *address = gr_backend_host.address(bench.executable, i);
    for (uint64_t k = 0; k < bench.pipeline->buffers[i].size_bytes; k++) ck_assert_uint_eq(address[k], i + 1);
  }
  bench_release(&bench);
}
END_TEST

START_TEST(facts_count_bytes_and_workers) {
  for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
    struct bench bench;
    bench_text(&bench, some_text, (enum gr_mode)mode, 3);
    struct gr_build_facts facts;
    gr_backend_host.facts(bench.executable, &facts);
    ck_assert_uint_eq(facts.worker_count, mode == GR_MODE_SERIAL ? 1 : 3);
    ck_assert_uint_eq(facts.device_bytes, bench.plan->region_bytes[GR_PLACE_DEVICE]);
    ck_assert_uint_eq(facts.pinned_bytes, bench.plan->region_bytes[GR_PLACE_PINNED]);
    ck_assert_uint_eq(facts.host_bytes, bench.plan->region_bytes[GR_PLACE_HOST]);
    ck_assert_uint_eq(facts.mapped_bytes, bench.plan->region_bytes[GR_PLACE_MAPPED]);
    ck_assert_uint_eq(facts.managed_bytes, bench.plan->region_bytes[GR_PLACE_MANAGED]);
    ck_assert_uint_gt(facts.host_bytes, 0);
    ck_assert_uint_gt(facts.allocate_ns, 0);
    ck_assert_uint_eq(facts.graph_nodes, 0);
    ck_assert_ptr_null(facts.gemm);
    bench_release(&bench);
  }
}
END_TEST

START_TEST(no_more_workers_than_steps) {
  struct bench bench;
  bench_text(&bench, "a:u:x a>b b:u:x", GR_MODE_GRAPH, 64);
  struct gr_build_facts facts;
  gr_backend_host.facts(bench.executable, &facts);
  ck_assert_uint_eq(facts.worker_count, 2);
  bench_run(&bench, 10);
  bench_release(&bench);
}
END_TEST

/* The scratch of device kernels lies behind the buffers, and nothing here needs it. */
START_TEST(scratch_is_not_paid_for) {
  struct bench bench;
  bench_init(&bench);
  struct gr_pipeline *pipeline = graph_from_text(&bench.memory, "a:u:x");
  bench_node(pipeline, "a")->kernel.scratch_bytes = 1 << 20;
  bench_plan(&bench, pipeline, GR_POLICY_LEVELS, 1);
  bench_build(&bench, GR_MODE_GRAPH);
  struct gr_build_facts facts;
  gr_backend_host.facts(bench.executable, &facts);
  ck_assert_uint_lt(facts.device_bytes, 1 << 20);
  bench_run(&bench, 2);
  unsigned char **expected = oracle_run(bench.plan, 2);
  oracle_compare(&bench, expected, "scratch");
  oracle_release(bench.plan, expected);
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      every_allocation_may_fail,
      no_device_without_memory,
      nth_allocation_fails_without_buffers,
      replays_allocate_nothing,
      more_than_the_machine_has_is_refused,
      buffers_are_aligned_apart_and_zero,
      facts_count_bytes_and_workers,
      no_more_workers_than_steps,
      scratch_is_not_paid_for,
  };
  return run_suite("host_build", tests, sizeof tests / sizeof tests[0], 60);
}
