/* What each step is on the device: copies of every shape between every two places, fills of every width, and what has
 * no bytes. */
#include <stdio.h>

#include "tests/unit/backend/cuda/support.h"

static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};
static const char *const places[] = {"device", "pinned", "host", "mapped", "managed"};

static void check_text(const char *text, uint64_t seed) {
  for (int i = 0; i < 3; i++) {
    struct bench bench;
    bench_text(&bench, text, modes[i], seed);
    bench_run(&bench, 2);
    oracle_compare(&bench, 2, text);
    bench_release(&bench);
  }
}

/* x is written by a fill where it lies, a part of it copied to y, and that to z. */
START_TEST(copies_between_all_places) {
  static const char *const slices[][3] = {
      {"[4,5,6]", "", ""},                           /* whole: one row */
      {"[4,5,6]", "[1:3,0:5,0:6]", "[2:4,0:5,0:6]"}, /* contiguous */
      {"[4,5,6]", "[1:2,1:4,2:5]", "[3:4,2:5,0:3]"}, /* rows */
      {"[4,5,6]", "[0:3,1:4,2:5]", "[1:4,2:5,1:4]"}, /* slices of rows */
      {"[24,5]", "[0:24,4:5]", "[0:24,0:1]"},        /* a column */
  };
  for (size_t s = 0; s < sizeof slices / sizeof slices[0]; s++) {
    for (int from = 0; from < 5; from++) {
      for (int to = 0; to < 5; to++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "x=%s@%s y=%s@%s a:w:x a>b b:w:y b>c c:r:x%s c:w:y%s c>d d:r:y%s d:w:x%s d>e e:u:k e:r:k2 e>f f:r:k f:w:k2",
            slices[s][0], places[from], slices[s][0], places[to], slices[s][1], slices[s][2], slices[s][2],
            slices[s][1]);
        check_text(text, 1 + (uint64_t)from * 5 + (uint64_t)to);
      }
    }
  }
}
END_TEST

START_TEST(fills_in_all_places) {
  for (int place = 0; place < 5; place++) {
    char text[256];
    snprintf(text, sizeof text, "x=[4,5,6]@%s a:w:x[0:4,1:3,2:5] b:w:x[1:2,3:5,0:6] c:w:x[3:4,0:1,0:1] d>a,b,c",
             places[place]);
    check_text(text, 3);
  }
}
END_TEST

/* Each type's width, the value's bytes all different. */
START_TEST(fills_of_every_width) {
  static const enum gr_type types[] = {GR_TYPE_U8, GR_TYPE_U16, GR_TYPE_U32, GR_TYPE_U64};
  for (int place = 0; place < 5; place++) {
    for (int t = 0; t < 4; t++) {
      struct bench bench;
      double_start(1);
      bench_init(&bench);
      char text[64];
      snprintf(text, sizeof text, "x=[5,7]@%s a:w:x[1:4,2:6]", places[place]);
      struct gr_pipeline *pipeline = graph_from_text(&bench.memory, text);
      struct gr_buffer *buffers;
      memcpy(&buffers, &pipeline->buffers, sizeof buffers);
      uint64_t size = gr_type_size(types[t]);
      buffers[0].type = types[t];
      buffers[0].size_bytes = buffers[0].element_count * size;
      bench_node(pipeline, "a")->fill.value.bits = UINT64_C(0x1122334455667788) & (UINT64_MAX >> (64 - 8 * size));
      struct gr_reference *references;
      memcpy(&references, &pipeline->references, sizeof references);
      references[pipeline->nodes[0].fill.to].offset_bytes = (1 * 7 + 2) * size;
      bench_plan(&bench, pipeline, GR_POLICY_LEVELS, 0);
      bench_open(&bench);
      bench_build(&bench, modes[t % 3]);
      bench_run(&bench, 1);
      oracle_compare(&bench, 1, text);
      bench_release(&bench);
    }
  }
}
END_TEST

/* A pitch beyond the device's limit: row by row, and the nodes are counted. */
START_TEST(copies_row_by_row) {
  for (int i = 0; i < 3; i++) {
    struct bench bench;
    double_start(2);
    fake_cuda_properties(0)->memPitch = 16;
    bench_init(&bench);
    bench_plan(&bench,
               graph_from_text(&bench.memory,
                               "x=[6,8]@pinned y=[6,8] a:w:x a>b b:r:x[1:5,2:6] b:w:y[2:6,0:4] b>c c:r:y "
                               "c:w:z"),
               GR_POLICY_LEVELS, 0);
    bench_open(&bench);
    bench_build(&bench, modes[i]);
    struct gr_build_facts facts;
    cuda->facts(bench.executable, &facts);
    if (modes[i] == GR_MODE_GRAPH) {
      ck_assert_uint_eq(facts.graph_nodes, 3 + 3);
      ck_assert_uint_eq(facts.graph_edges, 2 + 3);
    }
    bench_run(&bench, 1);
    oracle_compare(&bench, 1, "row by row");
    bench_release(&bench);
  }
}
END_TEST

START_TEST(what_has_no_bytes_keeps_its_place) {
  check_text("n=[0,4] m=[0,4]@host q=[0]@pinned a:w:x b!no_op c!no_op a>b b>c c>d d:r:x d:u:y", 5);
  check_text("b!no_op", 5);
  check_text("b", 5);
}
END_TEST

/* On systems where the device has another address for page-locked memory than the host. */
START_TEST(mapped_memory_at_another_address) {
  for (int i = 0; i < 3; i++) {
    struct bench bench;
    double_start(4);
    fake_cuda_set_mapped_apart(true);
    bench_init(&bench);
    bench_plan(
        &bench,
        graph_from_text(&bench.memory,
                        "m=[16]@mapped p=[16]@pinned a:w:m a>b b:u:m b:r:d b>c c:r:m c:w:d c>e e:w:p e>f f:r:p f:w:d"),
        GR_POLICY_LEVELS, 0);
    bench_open(&bench);
    bench_build(&bench, modes[i]);
    bench_run(&bench, 2);
    oracle_compare(&bench, 2, "mapped apart");
    bench_release(&bench);
  }
}
END_TEST

/* Between places of the host the copy is a function in the stream's order: a call of CUDA's would copy at once. And the
 * code of all kernels is on the device before a capture begins. */
START_TEST(what_is_used_for_what) {
  struct bench bench;
  bench_text(&bench, "h=[16]@host p=[16]@pinned m=[16]@mapped a:w:h a>b b:r:h b:w:p b>c c:r:p c:w:m d:u:x d:r:y",
             GR_MODE_GRAPH, 1);
  ck_assert_uint_eq(fake_cuda_function_count("cudaLaunchHostFunc"), 2);
  ck_assert_uint_eq(fake_cuda_function_count("cudaMemcpyAsync"), 0);
  ck_assert_uint_eq(fake_cuda_function_count("cudaLaunchKernelExC"), 2);
  ck_assert_uint_eq(fake_cuda_function_count("cudaFuncGetAttributes"), 2);
  bench_release(&bench);
}
END_TEST

/* A program's catalogue may lack the device code, or the kernel that fills. */
START_TEST(missing_kernels_are_named) {
  struct bench bench;
  double_start(0);
  bench_init(&bench);
  bench_plan(&bench, graph_from_text(&bench.memory, "a:w:x a>b b:u:x b:r:y"), GR_POLICY_LEVELS, 0);
  struct gr_catalogue catalogue = *mix_catalogue();
  struct gr_error error = {0};
  struct gr_device_options options = {.catalogue = &catalogue};
  catalogue.image_count = 1;
  must(cuda->open(&bench.memory, &options, &bench.device, &error), &error);
  ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_NOT_SUPPORTED);
  ck_assert_str_eq(error.node, "a");
  catalogue.fill = NULL;
  ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_NOT_SUPPORTED);
  ck_assert_str_eq(error.node, "a");
  ck_assert_uint_eq(error.line, 1);
  bench_release(&bench);
}
END_TEST

/* An image that this device has no code in. */
START_TEST(a_foreign_image_is_named) {
  static const char junk[] = "this is no device code";
  struct bench bench;
  double_start(0);
  bench_init(&bench);
  bench_plan(&bench, graph_from_text(&bench.memory, "a:w:x"), GR_POLICY_LEVELS, 0);
  struct gr_kernel_image image = {.name = "kernels/junk.cu",
                                  .begin = (const unsigned char *)junk,
                                  .end = (const unsigned char *)junk + sizeof junk};
  struct gr_catalogue catalogue = *mix_catalogue();
  catalogue.image_count = 1;
  catalogue.images = &image;
  struct gr_error error = {0};
  struct gr_device_options options = {.catalogue = &catalogue};
  must(cuda->open(&bench.memory, &options, &bench.device, &error), &error);
  ck_assert_int_eq(bench_try_build(&bench, GR_MODE_GRAPH, &error), GR_ERR_BACKEND);
  ck_assert_ptr_nonnull(strstr(error.message, "kernels/junk.cu"));
  ck_assert_ptr_nonnull(strstr(error.message, "architecture"));
  ck_assert_str_eq(error.backend_code, "cudaErrorInvalidKernelImage");
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *tests[] = {copies_between_all_places,
                          fills_in_all_places,
                          fills_of_every_width,
                          copies_row_by_row,
                          what_has_no_bytes_keeps_its_place,
                          mapped_memory_at_another_address,
                          what_is_used_for_what,
                          missing_kernels_are_named,
                          a_foreign_image_is_named};
  return run_suite("backend/cuda/step", tests, sizeof tests / sizeof tests[0], 120);
}
