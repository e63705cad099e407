/* Where buffers are, what does not fit, and bytes to and fro. */
#include <stdio.h>

#include "tests/unit/backend/cuda/support.h"

static const char places_text[] = "d=[8] p=[8]@pinned h=[8]@host m=[8]@mapped g=[8]@managed z=[0] a";

START_TEST(bytes_to_and_fro) {
  struct bench bench;
  bench_text(&bench, places_text, GR_MODE_GRAPH, 1);
  for (uint32_t i = 0; i < bench.pipeline->buffer_count; i++) {
    uint32_t out[8], in[8];
    struct gr_error error = {0};
    uint64_t size = bench.pipeline->buffers[i].size_bytes;
    must(cuda->read(bench.executable, i, 0, out, size, &error), &error);
    for (uint64_t k = 0; k < size / 4; k++) ck_assert_uint_eq(out[k], 0);
    for (uint32_t k = 0; k < 8; k++) in[k] = 100 * i + k;
    must(cuda->write(bench.executable, i, 0, in, size, &error), &error);
    if (size > 0) must(cuda->write(bench.executable, i, 8, in, 4, &error), &error);
    must(cuda->read(bench.executable, i, 0, out, size, &error), &error);
    if (size > 0) in[2] = in[0];
    ck_assert(memcmp(out, in, size) == 0);
    uint32_t word = 0;
    if (size > 0) must(cuda->read(bench.executable, i, 12, &word, 4, &error), &error);
    if (size > 0) ck_assert_uint_eq(word, in[3]);
    const char *name = bench.pipeline->buffers[i].name;
    void *address = cuda->address(bench.executable, i);
    bool is_direct = strchr("phm", name[0]) != NULL;
    ck_assert_msg((address != NULL) == is_direct, "buffer %s", name);
    if (address) ck_assert(memcmp(address, in, size) == 0);
  }
  struct gr_build_facts facts;
  cuda->facts(bench.executable, &facts);
  ck_assert_uint_ge(facts.device_bytes, 32);
  ck_assert_uint_ge(facts.pinned_bytes, 32);
  ck_assert_uint_ge(facts.host_bytes, 32);
  ck_assert_uint_ge(facts.mapped_bytes, 32);
  ck_assert_uint_ge(facts.managed_bytes, 32);
  bench_release(&bench);
}
END_TEST

/* The buffer, its size and what there is are told; everything is freed; the next build works. */
START_TEST(device_memory_runs_out) {
  static const char *const texts[] = {"small=[16] big=[4096] a:w:big b:w:small",
                                      "small=[16]@managed big=[4096]@managed a:w:big b:w:small"};
  for (int i = 0; i < 2; i++) {
    struct bench bench;
    double_start(0);
    fake_cuda_properties(0)->totalGlobalMem = 8192;
    bench_init(&bench);
    bench_plan(&bench, graph_from_text(&bench.memory, texts[i]), GR_POLICY_LEVELS, 0);
    bench_open(&bench);
    struct gr_error error = {0};
    ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_DEVICE_MEMORY);
    ck_assert_str_eq(error.node, "big");
    ck_assert_uint_ge(error.line, 100);
    ck_assert_str_eq(error.backend_code, "cudaErrorMemoryAllocation");
    ck_assert_ptr_nonnull(strstr(error.message, "the largest buffer is \"big\" with 16384 bytes"));
    ck_assert_ptr_nonnull(strstr(error.message, "8192"));
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    fake_cuda_properties(0)->totalGlobalMem = 1 << 20;
    bench_build(&bench, GR_MODE_GRAPH);
    bench_run(&bench, 1);
    oracle_compare(&bench, 1, "after too little memory");
    bench_release(&bench);
  }
}
END_TEST

START_TEST(page_locked_memory_runs_out) {
  static const char *const places[] = {"pinned", "mapped", "host"};
  for (int i = 0; i < 3; i++) {
    struct bench bench;
    double_start(0);
    fake_cuda_set_pinned_limit(8192);
    bench_init(&bench);
    char text[96];
    snprintf(text, sizeof text, "big=[4096]@%s a:w:big", places[i]);
    bench_plan(&bench, graph_from_text(&bench.memory, text), GR_POLICY_LEVELS, 0);
    bench_open(&bench);
    struct gr_error error = {0};
    ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_DEVICE_MEMORY);
    ck_assert_str_eq(error.node, "big");
    ck_assert_ptr_nonnull(strstr(error.message, "page-locked"));
    fake_cuda_set_pinned_limit(1 << 20);
    bench_build(&bench, GR_MODE_GRAPH);
    bench_release(&bench);
  }
}
END_TEST

/* A build after a build finds the page-locked blocks of the last one. */
START_TEST(page_locked_blocks_are_kept) {
  struct bench bench;
  bench_text(&bench, places_text, GR_MODE_GRAPH, 1);
  uint64_t taken = fake_cuda_function_count("cudaHostAlloc");
  for (int i = 0; i < 20; i++) {
    bench_unbuild(&bench);
    bench_build(&bench, GR_MODE_STREAM);
  }
  ck_assert_uint_eq(fake_cuda_function_count("cudaHostAlloc"), taken);
  bench_release(&bench);
}
END_TEST

/* ---- a program's own pool ---- */

struct own_pool {
  const struct gr_pinned_source *source;
  int live, created, destroyed;
};
static struct own_pool own;

static void *own_create(void *context, const struct gr_pinned_source *source) {
  ck_assert_ptr_eq(context, &own);
  own.source = source;
  own.created++;
  return &own;
}
static void *own_allocate(void *pool, size_t size_bytes) {
  ck_assert_ptr_eq(pool, &own);
  own.live++;
  return own.source->take(own.source->context, size_bytes);
}
static void own_release(void *pool, void *address) {
  ck_assert_ptr_eq(pool, &own);
  own.live--;
  own.source->give_back(own.source->context, address);
}
static void own_destroy(void *pool) {
  ck_assert_ptr_eq(pool, &own);
  own.destroyed++;
}

START_TEST(the_programs_own_pool_is_used) {
  struct bench bench;
  double_start(0);
  bench_init(&bench);
  bench_plan(&bench, graph_from_text(&bench.memory, "p=[8]@pinned m=[8]@mapped a:w:p b:w:m"), GR_POLICY_LEVELS, 0);
  struct gr_pinned_hooks hooks = {
      .create = own_create, .allocate = own_allocate, .release = own_release, .destroy = own_destroy, .context = &own};
  struct gr_device_options options = {.catalogue = mix_catalogue(), .pinned = &hooks};
  struct gr_error error = {0};
  must(cuda->open(&bench.memory, &options, &bench.device, &error), &error);
  bench_build(&bench, GR_MODE_GRAPH);
  ck_assert_int_eq(own.live, 2);
  bench_run(&bench, 1);
  oracle_compare(&bench, 1, "own pool");
  bench_release(&bench);
  ck_assert_int_eq(own.live, 0);
  ck_assert_int_eq(own.created, 1);
  ck_assert_int_eq(own.destroyed, 1);
}
END_TEST

int main(void) {
  const TTest *tests[] = {bytes_to_and_fro, device_memory_runs_out, page_locked_memory_runs_out,
                          page_locked_blocks_are_kept, the_programs_own_pool_is_used};
  return run_suite("backend/cuda/memory", tests, sizeof tests / sizeof tests[0], 60);
}
