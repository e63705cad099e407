/* Plans as text and as JSON, whole. */
#include "tests/unit/plan/support.h"

static void expect_text(struct planned *planned, const char *want) {
  struct gr_text text;
  gr_text_init(&text, &planned->memory);
  gr_plan_show(planned->plan, &text);
  ck_assert(!text.failed);
  ck_assert_str_eq(text.bytes, want);
  gr_text_release(&text);
}

static void expect_json(struct planned *planned, const char *want) {
  struct gr_text text;
  gr_text_init(&text, &planned->memory);
  gr_plan_show_json(planned->plan, &text);
  ck_assert(!text.failed);
  ck_assert_str_eq(text.bytes, want);
  gr_text_release(&text);
}

static const char diamond_text[] =
    "x=[256]+init y=[256] z=[256] h=[256]@pinned up:r:h up:w:x left:r:x left:u:y right:r:x right:u:z "
    "down:r:y down:r:z down:u:h up>left,right>down up>down";

START_TEST(diamond) {
  struct planned planned;
  planned_text(&planned, diamond_text, GR_POLICY_CHAINS, 0);
  expect_text(&planned,
              "plan of graph\n"
              "  policy   chains\n"
              "  steps    4\n"
              "  levels   3 (widest 2)\n"
              "  joins    0\n"
              "  streams  2\n"
              "  edges    declared 5, redundant 1, added 0, emitted 4 (2 by stream order)\n"
              "  false    0\n"
              "  waits    2 (at full concurrency at least 2)\n"
              "levels\n"
              "  0  stream 0  up  copy\n"
              "  1  stream 0  left  kernel mix  after up\n"
              "  1  stream 1  right  kernel mix  after up\n"
              "  2  stream 0  down  kernel mix  after left, right\n"
              "streams\n"
              "  0  up, left, down\n"
              "  1  right\n"
              "waits\n"
              "  right (stream 1) waits for up (stream 0): listed in after; reads x, which up writes\n"
              "  down (stream 0) waits for right (stream 1): listed in after; reads z, which right updates\n"
              "redundant edges, left out since other paths enforce them\n"
              "  up -> down\n"
              "memory\n"
              "  device  3.00 KiB\n"
              "    x  at 0, 1.00 KiB\n"
              "    y  at 1024, 1.00 KiB\n"
              "    z  at 2048, 1.00 KiB\n"
              "  pinned  1.00 KiB\n"
              "    h  at 0, 1.00 KiB\n");
  planned_release(&planned);
}
END_TEST

START_TEST(false_edges) {
  struct planned planned;
  planned_text(&planned, "a>b,c,d>e", GR_POLICY_TUNED, 2);
  expect_text(&planned,
              "plan of graph\n"
              "  policy   levels (tuned was asked for; it needs measured times, and there are none)\n"
              "  steps    5\n"
              "  levels   3 (widest 3)\n"
              "  joins    5\n"
              "  streams  2\n"
              "  edges    declared 6, redundant 0, added 0, emitted 6 (2 by stream order)\n"
              "  false    1\n"
              "  waits    2\n"
              "levels\n"
              "  0  stream 0  a  barrier\n"
              "  1  stream 0  b  barrier  after a\n"
              "  1  stream 1  c  barrier  after a\n"
              "  1  stream 0  d  barrier  after a\n"
              "  2  stream 1  e  barrier  after b, c, d\n"
              "streams\n"
              "  0  a, b, d\n"
              "  1  c, e\n"
              "waits\n"
              "  c (stream 1) waits for a (stream 0): listed in after\n"
              "  e (stream 1) waits for d (stream 0): listed in after\n"
              "false edges, of plain streams only: the captured graph does not have them\n"
              "  d stands behind b on stream 0\n"
              "memory\n"
              "  none\n");
  planned_release(&planned);
}
END_TEST

START_TEST(one_stream) {
  struct planned planned;
  planned_text(&planned, "a b a>c b>d", GR_POLICY_SERIAL, 0);
  expect_text(&planned,
              "plan of graph\n"
              "  policy   serial\n"
              "  steps    4\n"
              "  levels   2 (widest 2)\n"
              "  joins    4\n"
              "  streams  1\n"
              "  edges    declared 2, redundant 2, added 3, emitted 3 (3 by stream order)\n"
              "  false    3\n"
              "  waits    0\n"
              "levels\n"
              "  0  stream 0  a  barrier\n"
              "  0  stream 0  b  barrier  after a\n"
              "  1  stream 0  c  barrier  after b\n"
              "  1  stream 0  d  barrier  after c\n"
              "streams\n"
              "  0  a, b, c, d\n"
              "false edges, in every mode, since one stream was asked for\n"
              "  b stands behind a on stream 0\n"
              "  c stands behind b on stream 0\n"
              "  d stands behind c on stream 0\n"
              "redundant edges, left out since other paths enforce them\n"
              "  a -> c\n"
              "  b -> d\n"
              "memory\n"
              "  none\n");
  planned_release(&planned);
}
END_TEST

/* Edges from reads and writes, scratch, names that need quotes, no_op, a search that stops. */
START_TEST(data_order) {
  struct planned planned;
  planned_init(&planned);
  struct graph_builder *builder = graph_builder_create(&planned.memory);
  static const char *const buffers[] = {"a \"b\"", "o", "p"};
  static const char *const names[] = {"w", "r 1", "r,2", "join", "nothing"};
  for (uint32_t i = 0; i < 3; i++) graph_builder_buffer(builder, buffers[i], 1, &(uint64_t){4});
  for (uint32_t i = 0; i < 5; i++) graph_builder_node(builder, names[i]);
  graph_builder_access(builder, 0, GR_ACCESS_WRITE, 0, NULL, NULL);
  for (uint32_t i = 1; i <= 2; i++) {
    graph_builder_access(builder, i, GR_ACCESS_READ, 0, NULL, NULL);
    graph_builder_access(builder, i, GR_ACCESS_UPDATE, i, NULL, NULL);
  }
  graph_builder_access(builder, 3, GR_ACCESS_READ, 0, NULL, NULL);
  graph_builder_access(builder, 3, GR_ACCESS_UPDATE, 1, NULL, NULL);
  graph_builder_access(builder, 3, GR_ACCESS_WRITE, 2, NULL, NULL);
  graph_builder_no_op(builder, 4);
  graph_builder_edge(builder, 3, 4);
  graph_builder_edge(builder, 0, 4);
  struct gr_pipeline *pipeline = graph_builder_finish(builder);
  pipeline->order = GR_ORDER_DATA;
  struct gr_node *nodes = (struct gr_node *)(uintptr_t)pipeline->nodes;
  nodes[1].kernel.scratch_bytes = 2048;
  planned_dag(&planned, pipeline);
  planned_plan(&planned, GR_POLICY_LEVELS, 0, 1);
  expect_text(&planned,
              "plan of graph\n"
              "  policy   levels\n"
              "  steps    5\n"
              "  levels   4 (widest 2)\n"
              "  joins    1\n"
              "  streams  2\n"
              "  edges    declared 7, redundant 1, added 0, emitted 6 (3 by stream order)\n"
              "  false    0\n"
              "  waits    2\n"
              "  The search for redundant edges stopped at its budget: some may be left.\n"
              "levels\n"
              "  0  stream 0  w  fill\n"
              "  1  stream 0  \"r 1\"  kernel mix  after w\n"
              "  1  stream 1  \"r,2\"  kernel mix  after w\n"
              "  2  stream 0  join  kernel mix  after \"r 1\", \"r,2\"\n"
              "  3  stream 0  nothing  kernel mix (no_op)  after w, join\n"
              "streams\n"
              "  0  w, \"r 1\", join, nothing\n"
              "  1  \"r,2\"\n"
              "waits\n"
              "  \"r,2\" (stream 1) waits for w (stream 0): reads \"a \\\"b\\\"\", which w writes\n"
              "  join (stream 0) waits for \"r,2\" (stream 1): writes p, which \"r,2\" updates\n"
              "redundant edges, left out since other paths enforce them\n"
              "  w -> join\n"
              "memory\n"
              "  device  2.75 KiB\n"
              "    \"a \\\"b\\\"\"  at 0, 16 B\n"
              "    o  at 256, 16 B\n"
              "    p  at 512, 16 B\n"
              "    scratch of kernels at 768, 2.00 KiB\n");
  planned_release(&planned);
}
END_TEST

/* Both touch x, but not the same elements of it: y is the reason. */
START_TEST(reasons_look_at_slices) {
  struct planned planned;
  struct gr_text text;
  planned_text(&planned, "x=[4] a:w:x[0:2] a:u:y c:r:y c:u:q b:r:x[2:4] b:r:y b:u:z a>c,b", GR_POLICY_LEVELS, 0);
  gr_text_init(&text, &planned.memory);
  gr_plan_show(planned.plan, &text);
  ck_assert_ptr_nonnull(
      strstr(text.bytes, "\n  b (stream 1) waits for a (stream 0): listed in after; reads y, which a updates\n"));
  gr_text_release(&text);
  planned_release(&planned);
}
END_TEST

START_TEST(json) {
  struct planned planned;
  planned_text(&planned, diamond_text, GR_POLICY_CHAINS, 0);
  expect_json(&planned,
              "{\n"
              "  \"name\": \"graph\",\n"
              "  \"policy\": \"chains\", \"policy_asked\": \"chains\",\n"
              "  \"levels\": 3, \"width\": 2, \"streams\": 2,\n"
              "  \"edges\": {\"declared\": 5, \"redundant\": 1, \"added\": 0, \"emitted\": 4, \"by_stream_order\": 2, "
              "\"false\": 0, \"waits\": 2, \"waits_minimum\": 2, \"joins\": 0, \"reduction_complete\": true},\n"
              "  \"steps\": [\n"
              "    {\"id\": \"up\", \"level\": 0, \"stream\": 0, \"operation\": \"copy\", \"scratch_offset\": null, "
              "\"after\": []},\n"
              "    {\"id\": \"left\", \"level\": 1, \"stream\": 0, \"operation\": \"kernel\", \"kernel\": \"mix\", "
              "\"scratch_offset\": null, \"after\": [\"up\"]},\n"
              "    {\"id\": \"right\", \"level\": 1, \"stream\": 1, \"operation\": \"kernel\", \"kernel\": \"mix\", "
              "\"scratch_offset\": null, \"after\": [\"up\"]},\n"
              "    {\"id\": \"down\", \"level\": 2, \"stream\": 0, \"operation\": \"kernel\", \"kernel\": \"mix\", "
              "\"scratch_offset\": null, \"after\": [\"left\", \"right\"]}\n"
              "  ],\n"
              "  \"waits\": [\n"
              "    {\"id\": \"right\", \"for\": \"up\", \"why\": \"listed in after; reads x, which up writes\"},\n"
              "    {\"id\": \"down\", \"for\": \"right\", \"why\": \"listed in after; reads z, which right updates\"}\n"
              "  ],\n"
              "  \"false_edges\": [],\n"
              "  \"memory\": {\"device\": 3072, \"pinned\": 1024, \"host\": 0, \"mapped\": 0, \"managed\": 0, "
              "\"scratch\": 0},\n"
              "  \"buffers\": [\n"
              "    {\"name\": \"x\", \"place\": \"device\", \"offset\": 0, \"size\": 1024},\n"
              "    {\"name\": \"y\", \"place\": \"device\", \"offset\": 1024, \"size\": 1024},\n"
              "    {\"name\": \"z\", \"place\": \"device\", \"offset\": 2048, \"size\": 1024},\n"
              "    {\"name\": \"h\", \"place\": \"pinned\", \"offset\": 0, \"size\": 1024}\n"
              "  ]\n"
              "}\n");
  planned_release(&planned);
}
END_TEST

START_TEST(json_of_false_edges) {
  struct planned planned;
  planned_text(&planned, "a>b,c,d>e", GR_POLICY_TUNED, 2);
  expect_json(
      &planned,
      "{\n"
      "  \"name\": \"graph\",\n"
      "  \"policy\": \"levels\", \"policy_asked\": \"tuned\",\n"
      "  \"levels\": 3, \"width\": 3, \"streams\": 2,\n"
      "  \"edges\": {\"declared\": 6, \"redundant\": 0, \"added\": 0, \"emitted\": 6, \"by_stream_order\": 2, "
      "\"false\": 1, \"waits\": 2, \"waits_minimum\": null, \"joins\": 5, \"reduction_complete\": true},\n"
      "  \"steps\": [\n"
      "    {\"id\": \"a\", \"level\": 0, \"stream\": 0, \"operation\": \"empty\", \"scratch_offset\": null, \"after\": "
      "[]},\n"
      "    {\"id\": \"b\", \"level\": 1, \"stream\": 0, \"operation\": \"empty\", \"scratch_offset\": null, \"after\": "
      "[\"a\"]},\n"
      "    {\"id\": \"c\", \"level\": 1, \"stream\": 1, \"operation\": \"empty\", \"scratch_offset\": null, \"after\": "
      "[\"a\"]},\n"
      "    {\"id\": \"d\", \"level\": 1, \"stream\": 0, \"operation\": \"empty\", \"scratch_offset\": null, \"after\": "
      "[\"a\"]},\n"
      "    {\"id\": \"e\", \"level\": 2, \"stream\": 1, \"operation\": \"empty\", \"scratch_offset\": null, \"after\": "
      "[\"b\", \"c\", \"d\"]}\n"
      "  ],\n"
      "  \"waits\": [\n"
      "    {\"id\": \"c\", \"for\": \"a\", \"why\": \"listed in after\"},\n"
      "    {\"id\": \"e\", \"for\": \"d\", \"why\": \"listed in after\"}\n"
      "  ],\n"
      "  \"false_edges\": [\n"
      "    {\"id\": \"d\", \"behind\": \"b\", \"stream\": 0}\n"
      "  ],\n"
      "  \"memory\": {\"device\": 0, \"pinned\": 0, \"host\": 0, \"mapped\": 0, \"managed\": 0, \"scratch\": 0},\n"
      "  \"buffers\": []\n"
      "}\n");
  planned_release(&planned);
}
END_TEST

START_TEST(nth_allocation) {
  struct planned planned;
  planned_text(&planned, "a>b,c,d>e", GR_POLICY_LEVELS, 2);
  void (*const shows[])(const struct gr_plan *, struct gr_text *) = {gr_plan_show, gr_plan_show_json};
  for (size_t i = 0; i < 2; i++) {
    bool failed = true;
    uint64_t n = 0;
    while (failed) {
      uint64_t live_count = planned.memory.live_count;
      struct gr_text text;
      gr_text_init(&text, &planned.memory);
      planned.memory.fail_at = planned.memory.call_count + ++n;
      shows[i](planned.plan, &text);
      planned.memory.fail_at = 0;
      failed = text.failed;
      gr_text_release(&text);
      ck_assert_uint_eq(planned.memory.live_count, live_count);
    }
    ck_assert_uint_gt(n, 4);
  }
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {diamond, false_edges,         one_stream,    data_order, reasons_look_at_slices,
                                json,    json_of_false_edges, nth_allocation};
  return run_tests("show", tests, sizeof tests / sizeof *tests);
}
