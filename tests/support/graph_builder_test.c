/* The builder that so many tests rest on. */
#include "tests/support/graph_builder.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct gr_memory memory;

static void set_up(void) { gr_memory_init(&memory, NULL); }
static void tear_down(void) { ck_assert_uint_eq(memory.live_count, 0); }

static bool has_after(const struct gr_pipeline *pipeline, const char *from, const char *to) {
  const struct gr_node *node = &pipeline->nodes[graph_node(pipeline, to)];
  for (uint32_t i = 0; i < node->after_count; i++) {
    if (pipeline->after[node->first_after + i].node_index == graph_node(pipeline, from)) return true;
  }
  return false;
}

static uint32_t count_edges(const struct gr_pipeline *pipeline) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < pipeline->node_count; i++) count += pipeline->nodes[i].after_count;
  return count;
}

START_TEST(edges_from_text) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "a>b  c,d>b,e>f\n a>b");
  ck_assert_uint_eq(pipeline->node_count, 6);
  ck_assert_uint_eq(count_edges(pipeline), 7);
  ck_assert(has_after(pipeline, "a", "b"));
  ck_assert(has_after(pipeline, "c", "e"));
  ck_assert(has_after(pipeline, "d", "b"));
  ck_assert(has_after(pipeline, "e", "f"));
  ck_assert(!has_after(pipeline, "a", "e"));
  ck_assert_uint_eq(pipeline->nodes[graph_node(pipeline, "c")].mark.line, 3);
  graph_destroy(pipeline);
}
END_TEST

START_TEST(kinds_follow_from_accesses) {
  struct gr_pipeline *pipeline = graph_from_text(
      &memory, "x=[4,8]+init@pinned y=[4,8] b f:w:x c:r:x[0:2,1:3] c:w:y[2:4,6:8] k:r:x k:u:y n!no_op s:r:x s:w:x");
  ck_assert_int_eq(pipeline->nodes[graph_node(pipeline, "b")].kind, GR_NODE_BARRIER);
  ck_assert_int_eq(pipeline->nodes[graph_node(pipeline, "f")].kind, GR_NODE_FILL);
  ck_assert_int_eq(pipeline->nodes[graph_node(pipeline, "c")].kind, GR_NODE_COPY);
  ck_assert_int_eq(pipeline->nodes[graph_node(pipeline, "k")].kind, GR_NODE_KERNEL);
  ck_assert_int_eq(pipeline->nodes[graph_node(pipeline, "s")].kind, GR_NODE_KERNEL);
  ck_assert(pipeline->nodes[graph_node(pipeline, "n")].is_no_op);
  const struct gr_buffer *x = &pipeline->buffers[graph_buffer(pipeline, "x")];
  ck_assert_int_eq(x->place, GR_PLACE_PINNED);
  ck_assert_ptr_nonnull(x->init);
  ck_assert_uint_eq(x->size_bytes, 128);
  graph_destroy(pipeline);
}
END_TEST

/* Offset and contiguity against a walk over all elements. */
START_TEST(slices_lie_where_they_should) {
  uint64_t state = 3;
  for (uint32_t round = 0; round < 2000; round++) {
    struct graph_builder *builder = graph_builder_create(&memory);
    uint64_t shape[3], starts[3], extents[3];
    for (uint32_t d = 0; d < 3; d++) {
      shape[d] = 1 + graph_random_below(&state, 4);
      starts[d] = graph_random_below(&state, (uint32_t)shape[d]);
      extents[d] = 1 + graph_random_below(&state, (uint32_t)(shape[d] - starts[d]));
    }
    uint32_t buffer = graph_builder_buffer(builder, "x", 3, shape);
    graph_builder_access(builder, graph_builder_node(builder, "n"), GR_ACCESS_WRITE, buffer, starts, extents);
    struct gr_pipeline *pipeline = graph_builder_finish(builder);
    uint64_t count = 0, first = UINT64_MAX, last = 0;
    for (uint64_t at = 0; at < shape[0] * shape[1] * shape[2]; at++) {
      uint64_t index[3] = {at / (shape[1] * shape[2]), at / shape[2] % shape[1], at % shape[2]};
      bool is_inside = true;
      for (uint32_t d = 0; d < 3; d++) is_inside &= index[d] >= starts[d] && index[d] < starts[d] + extents[d];
      if (!is_inside) continue;
      if (count++ == 0) first = at;
      last = at;
    }
    const struct gr_reference *reference = &pipeline->references[0];
    ck_assert_uint_eq(reference->element_count, count);
    ck_assert_uint_eq(reference->offset_bytes, 4 * first);
    ck_assert_int_eq(reference->is_contiguous, last - first + 1 == count);
    graph_destroy(pipeline);
  }
}
END_TEST

START_TEST(patterns_have_their_shape) {
  static const struct {
    enum graph_pattern pattern;
    uint32_t nodes, edges;
  } expected[] = {
      {GRAPH_TRIVIAL, 20, 0},           {GRAPH_NO_COMM, 20, 16}, {GRAPH_STENCIL, 20, 4 * 10},
      {GRAPH_STENCIL_PERIODIC, 20, 48}, {GRAPH_TREE, 15, 14},    {GRAPH_ALL_TO_ALL, 20, 64},
      {GRAPH_FAN_OUT, 21, 20},          {GRAPH_FAN_IN, 21, 20},  {GRAPH_CHAIN, 20, 19},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    struct graph_spec spec = {.pattern = expected[i].pattern, .width = 4, .steps = 5};
    struct gr_pipeline *pipeline = graph_generate(&memory, &spec);
    ck_assert_msg(pipeline->node_count == expected[i].nodes, "%s: %u nodes", graph_pattern_name(spec.pattern),
                  pipeline->node_count);
    ck_assert_msg(count_edges(pipeline) == expected[i].edges, "%s: %u edges", graph_pattern_name(spec.pattern),
                  count_edges(pipeline));
    graph_destroy(pipeline);
  }
}
END_TEST

/* The same seed gives the same graph, another one another. */
START_TEST(random_graphs_repeat) {
  for (uint32_t pattern = GRAPH_RANDOM_LAYERED; pattern <= GRAPH_RANDOM; pattern++) {
    struct gr_pipeline *pipelines[3];
    for (uint32_t i = 0; i < 3; i++) {
      struct graph_spec spec = {.pattern = (enum graph_pattern)pattern, .width = 8, .steps = 8, .seed = i / 2};
      pipelines[i] = graph_generate(&memory, &spec);
    }
    uint32_t count = count_edges(pipelines[0]);
    ck_assert_uint_eq(count, count_edges(pipelines[1]));
    bool is_same = true, is_other = count != count_edges(pipelines[2]);
    for (uint32_t k = 0; k < count; k++) {
      is_same &= pipelines[0]->after[k].node_index == pipelines[1]->after[k].node_index;
      is_other = is_other || pipelines[0]->after[k].node_index != pipelines[2]->after[k].node_index;
    }
    ck_assert(is_same && is_other);
    for (uint32_t i = 0; i < 3; i++) graph_destroy(pipelines[i]);
  }
}
END_TEST

/* Every word that is read, and the salt, change every word that is written. */
START_TEST(mix_depends_on_all_that_it_reads) {
  struct gr_pipeline *pipeline = graph_from_text(&memory, "x=[4] y=[3] a:r:x a:u:y");
  const struct gr_kernel *kernel = pipeline->nodes[0].kernel.kernel;
  uint32_t before[3] = {0};
  for (uint32_t change = 0; change <= 8; change++) {
    uint32_t x[4] = {1, 2, 3, 4}, y[3] = {5, 6, 7};
    if (change >= 1 && change <= 4) x[change - 1]++;
    if (change >= 5 && change <= 7) y[change - 5]++;
    struct gr_kernel_frame frame = {.argument_count = 3};
    frame.arguments[0].integer = change == 8;
    frame.arguments[1].data = x;
    frame.arguments[1].rows = 1;
    frame.arguments[1].columns = 4;
    frame.arguments[2].data = y;
    frame.arguments[2].rows = 1;
    frame.arguments[2].columns = 3;
    graph_mix_host(kernel, &frame);
    for (uint32_t i = 0; i < 3; i++) {
      if (change == 0) before[i] = y[i];
      else ck_assert_uint_ne(y[i], before[i]);
    }
  }
  graph_destroy(pipeline);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graph_builder");
  TCase *cases = tcase_create("graph_builder");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, edges_from_text);
  tcase_add_test(cases, kinds_follow_from_accesses);
  tcase_add_test(cases, slices_lie_where_they_should);
  tcase_add_test(cases, patterns_have_their_shape);
  tcase_add_test(cases, random_graphs_repeat);
  tcase_add_test(cases, mix_depends_on_all_that_it_reads);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
