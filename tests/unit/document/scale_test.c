/* Twice the file takes about twice the time, in every form that a large file may have. */
#include <time.h>

#include "tests/unit/document/support.h"

enum { NODES = 200000 };

static void append_flow_nodes(struct gr_text *text, int count) {
  gr_text_append_text(text, "nodes:\n");
  for (int i = 0; i < count; i++)
    gr_text_append_format(text, "  - {id: n%d, kernel: axpy, args: {a: 1, x: x}, after: [n%d]}\n", i, i - 1);
}

static void append_block_nodes(struct gr_text *text, int count) {
  gr_text_append_text(text, "nodes:\n");
  for (int i = 0; i < count; i++)
    gr_text_append_format(text, "  - id: n%d\n    kernel: axpy\n    args:\n      a: 1\n    after: [n%d]\n", i, i - 1);
}

static void append_one_line(struct gr_text *text, int count) {
  gr_text_append_text(text, "{\"nodes\":[");
  for (int i = 0; i < count; i++)
    gr_text_append_format(text, "%s{\"id\":\"n%d\",\"after\":[\"n%d\"]}", i ? "," : "", i, i);
  gr_text_append_text(text, "]}");
}

static void append_one_map(struct gr_text *text, int count) {
  gr_text_append_text(text, "buffers:\n");
  for (int i = 0; i < count; i++) gr_text_append_format(text, "  b%d: {type: f32}\n", i);
}

static void append_anchors(struct gr_text *text, int count) {
  gr_text_append_text(text, "nodes:\n");
  for (int i = 0; i < count; i++) gr_text_append_format(text, "- &a%d {id: n}\n- *a%d\n", i, i / 2);
}

static void append_merges(struct gr_text *text, int count) {
  gr_text_append_text(text, "d: &d {a: 1, b: 2, c: 3}\nnodes:\n");
  for (int i = 0; i < count; i++) gr_text_append_format(text, "- {<<: *d, a: %d}\n", i);
}

static void append_one_list(struct gr_text *text, int count) {
  gr_text_append_text(text, "after: [");
  for (int i = 0; i < count; i++) gr_text_append_format(text, "n%d, ", i);
  gr_text_append_text(text, "]\n");
}

static void append_long_text(struct gr_text *text, int count) {
  gr_text_append_text(text, "note: |\n");
  for (int i = 0; i < count; i++) gr_text_append_text(text, "  line\n\n");
}

static void append_comments(struct gr_text *text, int count) {
  gr_text_append_text(text, "a: 1\n");
  for (int i = 0; i < count; i++) gr_text_append_text(text, "# \xC3\xA9\n\n");
}

static void append_unknown_aliases(struct gr_text *text, int count) {
  gr_text_append_text(text, "nodes:\n");
  for (int i = 0; i < count; i++) gr_text_append_format(text, "- *n%d\n", i);
}

static void append_long_pairs(struct gr_text *text, int count) {
  gr_text_append_text(text, "note: \"");
  for (int i = 0; i < count; i++) gr_text_append_text(text, "\\ud83d\\ude00\\ue03d");
  gr_text_append_text(text, "\"\nalso: ");
  for (int i = 0; i < count; i++) gr_text_append_text(text, "\\ud83d\\ude00\\uE03D");
  gr_text_append_text(text, "\n");
}

static void append_many_pairs(struct gr_text *text, int count) {
  gr_text_append_text(text, "nodes:\n");
  for (int i = 0; i < count; i++)
    gr_text_append_text(text, "- &a # \\ud83d\\ude00\n  {\"\\ud83d\\ude00\": '\\ud83d\\ude00', a: \"\\ue03d\"}\n-\n");
}

static const struct {
  const char *name;
  void (*append)(struct gr_text *text, int count);
  enum gr_status status;
} shapes[] = {
    {"flow nodes", append_flow_nodes, GR_OK}, {"block nodes", append_block_nodes, GR_OK},
    {"one line", append_one_line, GR_OK},     {"one map", append_one_map, GR_OK},
    {"anchors", append_anchors, GR_OK},       {"merges", append_merges, GR_OK},
    {"one list", append_one_list, GR_OK},     {"long text", append_long_text, GR_OK},
    {"comments", append_comments, GR_OK},     {"unknown aliases", append_unknown_aliases, GR_ERR_INVALID},
    {"long pairs", append_long_pairs, GR_OK}, {"many pairs", append_many_pairs, GR_OK},
};

/* Seconds of processor time; the lesser of two. */
static double time_of(size_t shape, int count) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  shapes[shape].append(&text, count);
  ck_assert(!text.failed);
  double least = 1e9;
  for (int round = 0; round < 2; round++) {
    clock_t start = clock();
    struct parsed parsed = parse(&memory, (struct gr_view){text.bytes, text.length});
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds < least) least = seconds;
    ck_assert_int_eq(parsed.status, shapes[shape].status);
    release(&parsed);
  }
  gr_text_release(&text);
  ck_assert_uint_eq(memory.live_count, 0);
  return least;
}

/* Quadratic would be 64 times; caches and page faults may cost a factor of two to three. */
START_TEST(time_is_linear) {
  double small = time_of((size_t)_i, NODES / 8);
  double large = time_of((size_t)_i, NODES);
  ck_assert_msg(large < 25 * small + 0.05, "%s: %g s for an eighth, %g s for the whole", shapes[_i].name, small, large);
}
END_TEST

/* Items of 24 bytes, children of 4, a copy of the source and texts that point into it: nothing else stays. */
START_TEST(memory_is_what_the_items_need) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  append_flow_nodes(&text, NODES / 10);
  struct parsed parsed = parse(&memory, (struct gr_view){text.bytes, text.length});
  ck_assert_int_eq(parsed.status, GR_OK);
  ck_assert_uint_eq(sizeof(struct gr_item), 24);
  ck_assert_uint_eq(parsed.document->item_count, 3 + UINT64_C(14) * (NODES / 10));
  ck_assert_uint_le(parsed.document->arena.total_bytes, 8192);
  release(&parsed);
  gr_text_release(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/scale");
  TCase *cases = tcase_create("scale");
  tcase_set_timeout(cases, 240);
  tcase_add_loop_test(cases, time_is_linear, 0, (int)(sizeof shapes / sizeof *shapes));
  tcase_add_test(cases, memory_is_what_the_items_need);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
