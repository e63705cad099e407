#include "tests/support/pipeline_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A range of elements of one buffer that a node reads or writes. */
struct touch {
  uint32_t buffer, begin, end;
  bool writes;
};

struct made_node {
  struct touch touches[3];
  uint32_t touch_count;
  char text[256];
};

/* xorshift64* (Vigna 2016): the same pipelines everywhere. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

static uint32_t below(uint64_t *state, uint32_t bound) { return (uint32_t)((next_random(state) >> 33) % bound); }

static void touch(struct made_node *node, uint32_t buffer, uint32_t begin, uint32_t end, bool writes) {
  node->touches[node->touch_count++] = (struct touch){buffer, begin, end, writes};
}

/* A part of a buffer: 1 to 4 blocks of 4 elements, or all. */
static void choose_range(uint64_t *state, uint32_t *begin, uint32_t *end) {
  enum { BLOCK = 4, BLOCKS = MAKER_ELEMENT_COUNT / BLOCK };
  if (below(state, 3) == 0) {
    *begin = 0;
    *end = MAKER_ELEMENT_COUNT;
    return;
  }
  uint32_t length = 1 + below(state, 4);
  uint32_t first = below(state, BLOCKS - length + 1);
  *begin = first * BLOCK;
  *end = (first + length) * BLOCK;
}

static void make_two_input(uint64_t *state, struct made_node *node) {
  static const char *const kernels[] = {"add", "sub", "maximum", "minimum"};
  uint32_t begin, end;
  choose_range(state, &begin, &end);
  uint32_t x = below(state, MAKER_BUFFER_COUNT), y = below(state, MAKER_BUFFER_COUNT);
  uint32_t out = below(state, MAKER_BUFFER_COUNT);
  touch(node, x, begin, end, false);
  touch(node, y, begin, end, false);
  touch(node, out, begin, end, true);
  snprintf(node->text, sizeof node->text,
           "kernel: %s, args: {x: \"b%u[%u:%u]\", y: \"b%u[%u:%u]\", out: \"b%u[%u:%u]\"}", kernels[below(state, 4)], x,
           begin, end, y, begin, end, out, begin, end);
}

static void make_axpy(uint64_t *state, struct made_node *node) {
  uint32_t begin, end;
  choose_range(state, &begin, &end);
  uint32_t x = below(state, MAKER_BUFFER_COUNT);
  uint32_t y = (x + 1 + below(state, MAKER_BUFFER_COUNT - 1)) % MAKER_BUFFER_COUNT;
  touch(node, x, begin, end, false);
  touch(node, y, begin, end, true);
  snprintf(node->text, sizeof node->text, "kernel: axpy, args: {a: %s, x: \"b%u[%u:%u]\", y: \"b%u[%u:%u]\"}",
           below(state, 2) ? "0.5" : "-0.75", x, begin, end, y, begin, end);
}

static void make_copy(uint64_t *state, struct made_node *node) {
  uint32_t begin, end;
  choose_range(state, &begin, &end);
  uint32_t from = below(state, MAKER_BUFFER_COUNT);
  uint32_t to = (from + 1 + below(state, MAKER_BUFFER_COUNT - 1)) % MAKER_BUFFER_COUNT;
  uint32_t shift = below(state, MAKER_ELEMENT_COUNT - (end - begin) + 1);
  touch(node, from, begin, end, false);
  touch(node, to, shift, shift + end - begin, true);
  snprintf(node->text, sizeof node->text, "copy: {from: \"b%u[%u:%u]\", to: \"b%u[%u:%u]\"}", from, begin, end, to,
           shift, shift + end - begin);
}

static void make_fill(uint64_t *state, struct made_node *node, uint32_t index) {
  uint32_t begin, end;
  choose_range(state, &begin, &end);
  uint32_t buffer = below(state, MAKER_BUFFER_COUNT);
  touch(node, buffer, begin, end, true);
  snprintf(node->text, sizeof node->text, "fill: {buffer: \"b%u[%u:%u]\", value: %u.25}", buffer, begin, end, index);
}

static void make_node(uint64_t *state, struct made_node *node, uint32_t index) {
  node->touch_count = 0;
  switch (below(state, 10)) {
    case 0:
      make_fill(state, node, index);
      return;
    case 1:
      snprintf(node->text, sizeof node->text, "barrier: {}");
      return;
    case 2:
    case 3:
      make_copy(state, node);
      return;
    case 4:
    case 5:
    case 6:
      make_axpy(state, node);
      return;
    default:
      make_two_input(state, node);
      return;
  }
}

static bool conflict(const struct made_node *a, const struct made_node *b) {
  for (uint32_t i = 0; i < a->touch_count; i++) {
    for (uint32_t j = 0; j < b->touch_count; j++) {
      const struct touch *x = &a->touches[i], *y = &b->touches[j];
      if (x->buffer == y->buffer && x->begin < y->end && y->begin < x->end && (x->writes || y->writes)) return true;
    }
  }
  return false;
}

static void write_after(FILE *stream, uint64_t *state, const struct made_node *nodes, uint32_t index) {
  const char *separator = ", after: [";
  for (uint32_t i = 0; i < index; i++) {
    if (!conflict(&nodes[i], &nodes[index]) && below(state, 12) != 0) continue;
    fprintf(stream, "%sn%u", separator, i);
    separator = ", ";
  }
  if (separator[2] != 'a') fputs("]", stream);
}

char *maker_pipeline(const struct maker_options *options) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  struct made_node *nodes = calloc(options->node_count, sizeof *nodes);
  if (!stream || !nodes) abort();
  uint64_t state = options->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  fprintf(stream, "graphrun: 1\norder: %s\n", options->order_data ? "data" : "explicit");
  if (options->streams) fprintf(stream, "streams: %s\n", options->streams);
  fputs("buffers:\n", stream);
  for (uint32_t i = 0; i < MAKER_BUFFER_COUNT; i++) {
    fprintf(stream, "  b%u: {type: f64, shape: %d, init: {iota: {start: %u, step: %u.5}}}\n", i, MAKER_ELEMENT_COUNT,
            i * 100, i + 1);
  }
  fputs("nodes:\n", stream);
  for (uint32_t i = 0; i < options->node_count; i++) {
    make_node(&state, &nodes[i], i);
    fprintf(stream, "  - {id: n%u, %s", i, nodes[i].text);
    if (!options->order_data) write_after(stream, &state, nodes, i);
    fputs("}\n", stream);
  }
  free(nodes);
  if (fclose(stream) != 0) abort();
  return text;
}
