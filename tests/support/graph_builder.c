#include "tests/support/graph_builder.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIX_BUFFER_MAX = GR_KERNEL_ARGUMENT_MAX - 1,
  MIX_SIGNATURE_COUNT = 1 << (2 * MIX_BUFFER_MAX),
  DEFAULT_EXTENT = 16,
  ELEMENT_BYTES = 4,
  BUFFER_FIRST_LINE = 100,
  AFTER_FIRST_COLUMN = 10,
};

struct edge {
  uint32_t from, to;
};

struct touch {
  uint32_t node;
  struct gr_node_access access;
};

struct graph_builder {
  struct gr_memory *memory;
  struct gr_pipeline *pipeline;
  struct gr_buffer *buffers;
  size_t buffer_capacity;
  struct gr_node *nodes;
  size_t node_capacity;
  struct edge *edges;
  size_t edge_count, edge_capacity;
  struct gr_reference *references;
  size_t reference_count, reference_capacity;
  struct touch *touches;
  size_t touch_count, touch_capacity;
};

static void die(const char *what, const char *where) {
  fprintf(stderr, "graph builder: %s: %s\n", what, where);
  abort();
}

static void *must(void *address) {
  if (!address) die("out of memory", "");
  return address;
}

static void must_grow(struct gr_memory *memory, void *elements, size_t count, size_t *capacity, size_t size_bytes) {
  if (!gr_memory_grow(memory, elements, count, capacity, size_bytes)) die("out of memory", "");
}

uint64_t graph_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint32_t graph_random_below(uint64_t *state, uint32_t bound) { return (uint32_t)(graph_random(state) % bound); }

static uint32_t mixed(uint32_t hash, uint32_t word) {
  hash = (hash ^ word) * 0x85ebca6bu;
  return hash ^ (hash >> 15);
}

void graph_mix_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  uint32_t hash = mixed(0x2545f491u, (uint32_t)frame->arguments[0].integer);
  for (uint32_t i = 1; i < kernel->parameter_count; i++) {
    if (!(kernel->parameters[i].access & GR_ACCESS_READ)) continue;
    const uint32_t *words = frame->arguments[i].data;
    uint64_t count = frame->arguments[i].rows * frame->arguments[i].columns;
    for (uint64_t k = 0; k < count; k++) hash = mixed(hash, words[k]);
  }
  for (uint32_t i = 1; i < kernel->parameter_count; i++) {
    if (!(kernel->parameters[i].access & GR_ACCESS_WRITE)) continue;
    uint32_t *words = frame->arguments[i].data;
    uint64_t count = frame->arguments[i].rows * frame->arguments[i].columns;
    for (uint64_t k = 0; k < count; k++) words[k] = mixed(hash + i, (uint32_t)k);
  }
}

static bool mix_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                      struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  (void)problem;
  memset(facts, 0, sizeof *facts);
  for (uint32_t i = 1; i < kernel->parameter_count; i++) {
    facts->access[i] = kernel->parameters[i].access;
    if (facts->access[i] & GR_ACCESS_WRITE) facts->output_element_count += arguments[i].element_count;
  }
  return true;
}

static uint32_t mix_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                             struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel, (void)frame;
  launches[0] = (struct gr_kernel_launch){.entry = "mix", .grid = {1, 1, 1}, .block = {32, 1, 1}};
  return 1;
}

static const struct gr_kernel *make_mix(struct gr_arena *arena, const struct gr_node_access *accesses, uint32_t count) {
  static const char *const names[] = {"salt", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};
  struct gr_kernel_parameter *parameters = must(gr_arena_allocate_zeroed(arena, count + 1, sizeof *parameters));
  parameters[0] = (struct gr_kernel_parameter){.name = names[0], .kind = GR_PARAMETER_INTEGER};
  for (uint32_t i = 0; i < count; i++) {
    parameters[i + 1] = (struct gr_kernel_parameter){
        .name = names[i + 1], .kind = GR_PARAMETER_BUFFER, .access = (enum gr_access)accesses[i].access};
  }
  struct gr_kernel *kernel = must(gr_arena_allocate_zeroed(arena, 1, sizeof *kernel));
  kernel->name = "mix";
  kernel->summary = "a test's kernel";
  kernel->parameter_count = count + 1;
  kernel->parameters = parameters;
  kernel->check = mix_check;
  kernel->host = graph_mix_host;
  kernel->launches = mix_launches;
  return kernel;
}

struct graph_builder *graph_builder_create(struct gr_memory *memory) {
  struct graph_builder *builder = must(gr_memory_allocate_zeroed(memory, 1, sizeof *builder));
  builder->memory = memory;
  builder->pipeline = must(gr_memory_allocate_zeroed(memory, 1, sizeof *builder->pipeline));
  gr_arena_init(&builder->pipeline->arena, memory);
  return builder;
}

static char *own(struct graph_builder *builder, const char *text) {
  return must(gr_arena_copy(&builder->pipeline->arena, text, strlen(text)));
}

static uint64_t *own_numbers(struct graph_builder *builder, const uint64_t *numbers, uint32_t count) {
  uint64_t *copy = must(gr_arena_allocate_zeroed(&builder->pipeline->arena, count, sizeof *copy));
  for (uint32_t i = 0; i < count; i++) copy[i] = numbers[i];
  return copy;
}

static void set_shape(struct graph_builder *builder, struct gr_buffer *buffer, uint32_t rank, const uint64_t *shape) {
  buffer->rank = rank;
  buffer->shape = own_numbers(builder, shape, rank);
  buffer->element_count = 1;
  for (uint32_t i = 0; i < rank; i++) buffer->element_count *= shape[i];
  buffer->size_bytes = buffer->element_count * ELEMENT_BYTES;
}

uint32_t graph_builder_buffer(struct graph_builder *builder, const char *name, uint32_t rank, const uint64_t *shape) {
  uint32_t index = builder->pipeline->buffer_count++;
  must_grow(builder->memory, &builder->buffers, index, &builder->buffer_capacity, sizeof *builder->buffers);
  struct gr_buffer *buffer = &builder->buffers[index];
  *buffer = (struct gr_buffer){.name = own(builder, name), .type = GR_TYPE_U32, .mark = {BUFFER_FIRST_LINE + index, 3}};
  set_shape(builder, buffer, rank, shape);
  return index;
}

uint32_t graph_builder_node(struct graph_builder *builder, const char *name) {
  uint32_t index = builder->pipeline->node_count++;
  must_grow(builder->memory, &builder->nodes, index, &builder->node_capacity, sizeof *builder->nodes);
  builder->nodes[index] = (struct gr_node){.name = own(builder, name), .mark = {index + 1, 1}};
  return index;
}

void graph_builder_edge(struct graph_builder *builder, uint32_t from, uint32_t to) {
  must_grow(builder->memory, &builder->edges, builder->edge_count, &builder->edge_capacity, sizeof *builder->edges);
  builder->edges[builder->edge_count++] = (struct edge){from, to};
}

/* The first of the bytes, and whether they lie side by side: every dimension behind the first that is longer than one
 * is taken whole. */
static void place_reference(const struct gr_buffer *buffer, struct gr_reference *reference) {
  uint64_t stride = 1, offset = 0, packed = 1;
  reference->is_contiguous = true;
  reference->element_count = 1;
  for (uint32_t i = buffer->rank; i-- > 0;) {
    if (reference->starts) offset += reference->starts[i] * stride;
    if (reference->extents[i] > 1 && stride != packed) reference->is_contiguous = false;
    packed *= reference->extents[i];
    stride *= buffer->shape[i];
    reference->element_count *= reference->extents[i];
  }
  if (reference->element_count == 0) reference->is_contiguous = true;
  reference->offset_bytes = offset * ELEMENT_BYTES;
}

void graph_builder_access(struct graph_builder *builder, uint32_t node, enum gr_access access, uint32_t buffer,
                          const uint64_t *starts, const uint64_t *extents) {
  const struct gr_buffer *of = &builder->buffers[buffer];
  must_grow(builder->memory, &builder->references, builder->reference_count, &builder->reference_capacity,
            sizeof *builder->references);
  struct gr_reference *reference = &builder->references[builder->reference_count];
  *reference = (struct gr_reference){.buffer_index = buffer, .rank = of->rank, .mark = builder->nodes[node].mark};
  reference->starts = starts ? own_numbers(builder, starts, of->rank) : NULL;
  reference->extents = starts ? own_numbers(builder, extents, of->rank) : of->shape;
  place_reference(of, reference);
  must_grow(builder->memory, &builder->touches, builder->touch_count, &builder->touch_capacity,
            sizeof *builder->touches);
  builder->touches[builder->touch_count++] =
      (struct touch){node, {(uint32_t)builder->reference_count++, (uint32_t)access}};
}

void graph_builder_no_op(struct graph_builder *builder, uint32_t node) { builder->nodes[node].is_no_op = true; }

void graph_builder_init(struct graph_builder *builder, uint32_t buffer) {
  struct gr_init *init = must(gr_arena_allocate_zeroed(&builder->pipeline->arena, 1, sizeof *init));
  init->kind = GR_INIT_ZEROS;
  init->mark = builder->buffers[buffer].mark;
  builder->buffers[buffer].init = init;
}

void graph_builder_save(struct graph_builder *builder, uint32_t buffer) {
  struct gr_buffer *of = &builder->buffers[buffer];
  size_t length = strlen(of->name);
  char *path = must(gr_arena_allocate_zeroed(&builder->pipeline->arena, length + 5, 1));
  memcpy(path, of->name, length);
  memcpy(path + length, ".npy", 5);
  of->save = path;
  of->save_mark = of->mark;
}

void graph_builder_expect(struct graph_builder *builder, uint32_t buffer) {
  struct gr_expect *expect = must(gr_arena_allocate_zeroed(&builder->pipeline->arena, 1, sizeof *expect));
  expect->kind = GR_EXPECT_EQUALS;
  expect->mark = builder->buffers[buffer].mark;
  builder->buffers[buffer].expect = expect;
}

void graph_builder_place(struct graph_builder *builder, uint32_t buffer, enum gr_place place) {
  builder->buffers[buffer].place = place;
}

static const void *frozen(struct gr_arena *arena, const void *elements, size_t count, size_t size_bytes) {
  void *copy = must(gr_arena_allocate(arena, count, size_bytes));
  if (count > 0) memcpy(copy, elements, count * size_bytes);
  return copy;
}

/* Groups the edges by target, keeps their order, and drops repeated ones. */
static void finish_after(struct graph_builder *builder) {
  struct gr_pipeline *pipeline = builder->pipeline;
  uint32_t node_count = pipeline->node_count;
  size_t *next = must(gr_memory_allocate_zeroed(builder->memory, (size_t)node_count + 1, sizeof *next));
  struct edge *sorted = must(gr_memory_allocate(builder->memory, builder->edge_count * sizeof *sorted + 1));
  uint32_t *seen_by = must(gr_memory_allocate_zeroed(builder->memory, (size_t)node_count + 1, sizeof *seen_by));
  for (size_t i = 0; i < builder->edge_count; i++) next[builder->edges[i].to + 1]++;
  for (uint32_t i = 0; i < node_count; i++) next[i + 1] += next[i];
  for (size_t i = 0; i < builder->edge_count; i++) sorted[next[builder->edges[i].to]++] = builder->edges[i];
  struct gr_after *after = must(gr_arena_allocate_zeroed(&pipeline->arena, builder->edge_count, sizeof *after));
  uint32_t count = 0;
  size_t k = 0;
  for (uint32_t i = 0; i < node_count; i++) {
    struct gr_node *node = &builder->nodes[i];
    node->first_after = count;
    for (; k < builder->edge_count && sorted[k].to == i; k++) {
      if (seen_by[sorted[k].from] == i + 1) continue;
      seen_by[sorted[k].from] = i + 1;
      after[count++] = (struct gr_after){sorted[k].from, {i + 1, AFTER_FIRST_COLUMN + node->after_count}};
      node->after_count++;
    }
  }
  pipeline->after = after;
  gr_memory_release(builder->memory, next);
  gr_memory_release(builder->memory, sorted);
  gr_memory_release(builder->memory, seen_by);
}

static void finish_accesses(struct graph_builder *builder) {
  struct gr_pipeline *pipeline = builder->pipeline;
  struct gr_node_access *accesses =
      must(gr_arena_allocate_zeroed(&pipeline->arena, builder->touch_count, sizeof *accesses));
  for (size_t i = 0; i < builder->touch_count; i++) builder->nodes[builder->touches[i].node].access_count++;
  uint32_t count = 0;
  for (uint32_t i = 0; i < pipeline->node_count; i++) {
    builder->nodes[i].first_access = count;
    count += builder->nodes[i].access_count;
    builder->nodes[i].access_count = 0;
  }
  for (size_t i = 0; i < builder->touch_count; i++) {
    struct gr_node *node = &builder->nodes[builder->touches[i].node];
    if (node->is_no_op) die("a no_op has no access", node->name);
    accesses[node->first_access + node->access_count++] = builder->touches[i].access;
  }
  pipeline->accesses = accesses;
}

static bool same_shape(const struct gr_reference *a, const struct gr_reference *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    if (a->extents[i] != b->extents[i]) return false;
  }
  return true;
}

/* Fills in a copy if the two accesses can be one. */
static bool make_copy(const struct gr_pipeline *pipeline, struct gr_node *node, const struct gr_node_access *accesses) {
  if (node->access_count != 2 || accesses[0].access + accesses[1].access != GR_ACCESS_READ + GR_ACCESS_WRITE) {
    return false;
  }
  if (accesses[0].access == GR_ACCESS_NONE || accesses[1].access == GR_ACCESS_NONE) return false;
  bool read_first = accesses[0].access == GR_ACCESS_READ;
  uint32_t from = accesses[read_first ? 0 : 1].reference_index, to = accesses[read_first ? 1 : 0].reference_index;
  const struct gr_reference *source = &pipeline->references[from], *target = &pipeline->references[to];
  bool packed = source->is_contiguous && target->is_contiguous && source->element_count == target->element_count;
  if (source->buffer_index == target->buffer_index || !(packed || same_shape(source, target))) return false;
  node->kind = GR_NODE_COPY;
  node->copy.from = from;
  node->copy.to = to;
  return true;
}

static uint32_t signature(const struct gr_node_access *accesses, uint32_t count) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < count; i++) value = value * 4 + accesses[i].access;
  return value;
}

static void finish_kinds(struct graph_builder *builder) {
  struct gr_pipeline *pipeline = builder->pipeline;
  const struct gr_kernel **kernels =
      must(gr_memory_allocate_zeroed(builder->memory, MIX_SIGNATURE_COUNT, sizeof(struct gr_kernel *)));
  size_t argument_max = builder->touch_count + pipeline->node_count;
  struct gr_argument *arguments = must(gr_arena_allocate_zeroed(&pipeline->arena, argument_max, sizeof *arguments));
  uint32_t argument_count = 0;
  for (uint32_t i = 0; i < pipeline->node_count; i++) {
    struct gr_node *node = &builder->nodes[i];
    const struct gr_node_access *accesses = &pipeline->accesses[node->first_access];
    node->kind = GR_NODE_BARRIER;
    if (node->access_count == 0 && !node->is_no_op) continue;
    if (node->access_count == 1 && accesses[0].access == GR_ACCESS_WRITE) {
      node->kind = GR_NODE_FILL;
      node->fill.to = accesses[0].reference_index;
      node->fill.value.bits = i + 1;
      continue;
    }
    if (make_copy(pipeline, node, accesses)) continue;
    uint32_t count = node->access_count < MIX_BUFFER_MAX ? node->access_count : MIX_BUFFER_MAX;
    const struct gr_kernel **kernel = &kernels[signature(accesses, count)];
    if (!*kernel) *kernel = make_mix(&pipeline->arena, accesses, count);
    node->kind = GR_NODE_KERNEL;
    node->kernel.kernel = *kernel;
    node->kernel.first_argument = argument_count;
    arguments[argument_count++] = (struct gr_argument){.reference_index = UINT32_MAX, .mark = node->mark, .integer = i};
    for (uint32_t k = 0; k < count; k++) {
      arguments[argument_count++] =
          (struct gr_argument){.reference_index = accesses[k].reference_index, .mark = node->mark};
    }
  }
  pipeline->arguments = arguments;
  gr_memory_release(builder->memory, kernels);
}

struct gr_pipeline *graph_builder_finish(struct graph_builder *builder) {
  struct gr_pipeline *pipeline = builder->pipeline;
  struct gr_memory *memory = builder->memory;
  struct gr_arena *arena = &pipeline->arena;
  pipeline->references = frozen(arena, builder->references, builder->reference_count, sizeof *builder->references);
  finish_after(builder);
  finish_accesses(builder);
  finish_kinds(builder);
  pipeline->buffers = frozen(arena, builder->buffers, pipeline->buffer_count, sizeof *builder->buffers);
  pipeline->nodes = frozen(arena, builder->nodes, pipeline->node_count, sizeof *builder->nodes);
  pipeline->file = "graph.yaml";
  pipeline->folder = "";
  pipeline->name = "graph";
  gr_memory_release(memory, builder->buffers);
  gr_memory_release(memory, builder->nodes);
  gr_memory_release(memory, builder->edges);
  gr_memory_release(memory, builder->references);
  gr_memory_release(memory, builder->touches);
  gr_memory_release(memory, builder);
  return pipeline;
}

void graph_destroy(struct gr_pipeline *pipeline) {
  if (!pipeline) return;
  struct gr_memory *memory = pipeline->arena.memory;
  gr_arena_release(&pipeline->arena);
  gr_memory_release(memory, pipeline);
}

uint32_t graph_node(const struct gr_pipeline *pipeline, const char *name) {
  for (uint32_t i = 0; i < pipeline->node_count; i++) {
    if (strcmp(pipeline->nodes[i].name, name) == 0) return i;
  }
  die("no such node", name);
  return 0;
}

uint32_t graph_buffer(const struct gr_pipeline *pipeline, const char *name) {
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
    if (strcmp(pipeline->buffers[i].name, name) == 0) return i;
  }
  die("no such buffer", name);
  return 0;
}

enum { NAME_MAX_BYTES = 64, GROUP_MAX = 256 };

struct reader {
  struct graph_builder *builder;
  const char *at;
};

static bool ends_word(char c) { return c == '\0' || isspace((unsigned char)c); }

static void read_name(struct reader *reader, char name[NAME_MAX_BYTES]) {
  size_t length = strcspn(reader->at, " \t\n>,:=[]!+@");
  if (length == 0 || length >= NAME_MAX_BYTES) die("a name is expected", reader->at);
  memcpy(name, reader->at, length);
  name[length] = '\0';
  reader->at += length;
}

/* Linear: texts are short. */
static uint32_t node_named(struct reader *reader, const char *name) {
  for (uint32_t i = 0; i < reader->builder->pipeline->node_count; i++) {
    if (strcmp(reader->builder->nodes[i].name, name) == 0) return i;
  }
  return graph_builder_node(reader->builder, name);
}

static uint32_t buffer_named(struct reader *reader, const char *name) {
  for (uint32_t i = 0; i < reader->builder->pipeline->buffer_count; i++) {
    if (strcmp(reader->builder->buffers[i].name, name) == 0) return i;
  }
  return graph_builder_buffer(reader->builder, name, 1, &(uint64_t){DEFAULT_EXTENT});
}

static uint64_t read_number(struct reader *reader) {
  if (!isdigit((unsigned char)*reader->at)) die("a number is expected", reader->at);
  uint64_t value = 0;
  while (isdigit((unsigned char)*reader->at)) value = value * 10 + (uint64_t)(*reader->at++ - '0');
  return value;
}

/* Past a '[' up to and with the ']'. With `ends` null a list of numbers; else of ranges a:b. */
static uint32_t read_list(struct reader *reader, uint64_t *numbers, uint64_t *ends) {
  uint32_t count = 0;
  if (*reader->at++ != '[') die("'[' is expected", reader->at - 1);
  while (*reader->at != ']') {
    if (count == GR_RANK_MAX) die("too many dimensions", reader->at);
    numbers[count] = read_number(reader);
    if (ends) {
      if (*reader->at++ != ':') die("a range a:b is expected", reader->at - 1);
      ends[count] = read_number(reader);
    }
    count++;
    if (*reader->at == ',') reader->at++;
  }
  reader->at++;
  return count;
}

static enum gr_access read_access(struct reader *reader) {
  switch (*reader->at++) {
    case 'r':
      return GR_ACCESS_READ;
    case 'w':
      return GR_ACCESS_WRITE;
    case 'u':
      return GR_ACCESS_UPDATE;
    default:
      die("r, w or u is expected", reader->at - 1);
  }
  return GR_ACCESS_NONE;
}

static void read_touch(struct reader *reader, uint32_t node) {
  char name[NAME_MAX_BYTES];
  uint64_t starts[GR_RANK_MAX], ends[GR_RANK_MAX];
  enum gr_access access = read_access(reader);
  if (*reader->at++ != ':') die("':' is expected", reader->at - 1);
  read_name(reader, name);
  uint32_t buffer = buffer_named(reader, name);
  if (*reader->at != '[') {
    graph_builder_access(reader->builder, node, access, buffer, NULL, NULL);
    return;
  }
  const struct gr_buffer *of = &reader->builder->buffers[buffer];
  const char *slice = reader->at;
  if (read_list(reader, starts, ends) != of->rank) die("one range a dimension", slice);
  for (uint32_t i = 0; i < of->rank; i++) {
    if (starts[i] > ends[i] || ends[i] > of->shape[i]) die("the range does not fit", slice);
    ends[i] -= starts[i];
  }
  graph_builder_access(reader->builder, node, access, buffer, starts, ends);
}

static void read_buffer(struct reader *reader, const char *name) {
  static const char *const places[] = {"device", "pinned", "host", "mapped", "managed"};
  uint64_t shape[GR_RANK_MAX];
  char word[NAME_MAX_BYTES];
  uint32_t buffer = buffer_named(reader, name);
  uint32_t rank = read_list(reader, shape, NULL);
  set_shape(reader->builder, &reader->builder->buffers[buffer], rank, shape);
  while (!ends_word(*reader->at)) {
    char mark = *reader->at++;
    read_name(reader, word);
    if (mark == '+' && strcmp(word, "init") == 0) graph_builder_init(reader->builder, buffer);
    else if (mark == '+' && strcmp(word, "save") == 0) graph_builder_save(reader->builder, buffer);
    else if (mark == '+' && strcmp(word, "expect") == 0) graph_builder_expect(reader->builder, buffer);
    else if (mark == '@') {
      uint32_t place = 0;
      while (place < GR_PLACE_COUNT && strcmp(places[place], word) != 0) place++;
      if (place == GR_PLACE_COUNT) die("no such place", word);
      graph_builder_place(reader->builder, buffer, (enum gr_place)place);
    } else die("+init, +save, +expect or @place is expected", word);
  }
}

/* From the name of its first node on, behind it. */
static void read_edges(struct reader *reader, const char *first) {
  uint32_t groups[2][GROUP_MAX];
  uint32_t counts[2] = {1, 0};
  char name[NAME_MAX_BYTES];
  uint32_t left = 0;
  groups[0][0] = node_named(reader, first);
  bool is_first = true;
  for (;;) {
    uint32_t into = is_first ? left : 1 - left;
    while (*reader->at == ',') {
      reader->at++;
      read_name(reader, name);
      if (counts[into] == GROUP_MAX) die("too large a group", reader->at);
      groups[into][counts[into]++] = node_named(reader, name);
    }
    for (uint32_t i = 0; !is_first && i < counts[into]; i++) {
      for (uint32_t k = 0; k < counts[left]; k++) {
        graph_builder_edge(reader->builder, groups[left][k], groups[into][i]);
      }
    }
    left = into;
    is_first = false;
    if (*reader->at != '>') break;
    reader->at++;
    read_name(reader, name);
    groups[1 - left][0] = node_named(reader, name);
    counts[1 - left] = 1;
  }
}

static void read_word(struct reader *reader) {
  char name[NAME_MAX_BYTES];
  const char *word = reader->at;
  read_name(reader, name);
  switch (*reader->at) {
    case ':': {
      reader->at++;
      uint32_t node = node_named(reader, name);
      read_touch(reader, node);
      break;
    }
    case '=':
      reader->at++;
      read_buffer(reader, name);
      break;
    case '!':
      if (strncmp(reader->at, "!no_op", 6) != 0) die("!no_op is expected", word);
      reader->at += 6;
      graph_builder_no_op(reader->builder, node_named(reader, name));
      break;
    default:
      read_edges(reader, name);
  }
  if (!ends_word(*reader->at)) die("the word does not end here", reader->at);
}

struct gr_pipeline *graph_from_text(struct gr_memory *memory, const char *text) {
  struct reader reader = {graph_builder_create(memory), text};
  for (;;) {
    while (isspace((unsigned char)*reader.at)) reader.at++;
    if (*reader.at == '\0') break;
    read_word(&reader);
  }
  return graph_builder_finish(reader.builder);
}

static const char *const pattern_names[GRAPH_PATTERN_COUNT] = {
    "trivial", "no_comm",    "stencil",        "stencil_periodic", "sweep",   "tree",   "fft",   "nearest",
    "spread",  "all_to_all", "random_layered", "random",           "fan_out", "fan_in", "chain",
};

const char *graph_pattern_name(enum graph_pattern pattern) { return pattern_names[pattern]; }

struct generator {
  struct graph_builder *builder;
  struct graph_spec spec;
  uint64_t state;
  uint32_t cells;          /* the buffer */
  uint32_t *node_of_task;  /* UINT32_MAX: not active */
  uint32_t *reads_of_node; /* how many cells it reads so far */
};

enum { CELL_READ_MAX = MIX_BUFFER_MAX - 1 };

static uint32_t task(const struct generator *generator, uint32_t step, uint32_t column) {
  return step * generator->spec.width + column;
}

static bool is_active(const struct generator *generator, uint32_t step, uint64_t column) {
  const struct graph_spec *spec = &generator->spec;
  if (spec->pattern == GRAPH_TREE) return step >= 31 || column < ((uint64_t)1 << step);
  if (spec->pattern == GRAPH_SWEEP) {
    uint64_t first = (uint64_t)step + spec->width > spec->steps ? (uint64_t)step + spec->width - spec->steps : 0;
    uint64_t count = step + 1 < spec->steps - step ? step + 1 : spec->steps - step;
    if (count > spec->width) count = spec->width;
    return column >= first && column < first + count;
  }
  return true;
}

static void read_cell(struct generator *generator, uint32_t node, uint32_t from_node) {
  uint64_t elements = generator->spec.cell_elements;
  if (elements == 0 || generator->reads_of_node[node] == CELL_READ_MAX) return;
  generator->reads_of_node[node]++;
  graph_builder_access(generator->builder, node, GR_ACCESS_READ, generator->cells, &(uint64_t){from_node * elements},
                       &elements);
}

static void connect(struct generator *generator, uint32_t from_step, int64_t from_column, uint32_t node) {
  if (from_column < 0 || from_column >= generator->spec.width) return;
  uint32_t from = generator->node_of_task[task(generator, from_step, (uint32_t)from_column)];
  if (from == UINT32_MAX) return;
  graph_builder_edge(generator->builder, from, node);
  read_cell(generator, node, from);
}

static uint32_t log2_ceiling(uint32_t value) {
  uint32_t bits = 0;
  while (((uint64_t)1 << bits) < value) bits++;
  return bits;
}

static void connect_layered(struct generator *generator, uint32_t step, uint32_t node) {
  uint32_t width = generator->spec.width;
  uint32_t count = 1 + graph_random_below(&generator->state, generator->spec.radix);
  uint32_t taken[64];
  if (count > 64) count = 64;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t back = 1 + graph_random_below(&generator->state, step < 3 ? step : 3);
    taken[i] = task(generator, step - back, graph_random_below(&generator->state, width));
    bool again = false;
    for (uint32_t k = 0; k < i; k++) again |= taken[k] == taken[i];
    if (!again) connect(generator, taken[i] / width, taken[i] % width, node);
  }
}

static void connect_task(struct generator *generator, uint32_t step, uint32_t column, uint32_t node) {
  const struct graph_spec *spec = &generator->spec;
  int64_t i = column, width = spec->width, radix = spec->radix;
  uint32_t before = step - 1;
  switch (spec->pattern) {
    case GRAPH_NO_COMM:
      connect(generator, before, i, node);
      break;
    case GRAPH_STENCIL:
      for (int64_t k = i - 1; k <= i + 1; k++) connect(generator, before, k, node);
      break;
    case GRAPH_STENCIL_PERIODIC:
      connect(generator, before, i, node);
      if (width > 1) connect(generator, before, (i + 1) % width, node);
      if (width > 2) connect(generator, before, (i + width - 1) % width, node);
      break;
    case GRAPH_SWEEP:
      connect(generator, before, i - 1, node);
      connect(generator, before, i, node);
      break;
    case GRAPH_TREE:
      connect(generator, before, i / 2, node);
      break;
    case GRAPH_FFT: {
      uint32_t phases = log2_ceiling(spec->width);
      int64_t distance = phases == 0 ? 0 : (int64_t)1 << ((step + phases - 1) % phases);
      connect(generator, before, i, node);
      if (distance > 0) connect(generator, before, i - distance, node);
      if (distance > 0) connect(generator, before, i + distance, node);
      break;
    }
    case GRAPH_NEAREST:
      for (int64_t k = i - radix / 2; k <= i + (radix - 1) / 2; k++) connect(generator, before, k, node);
      break;
    case GRAPH_SPREAD:
      for (int64_t k = 0; k < radix && k < width; k++)
        connect(generator, before, (i + k * width / radix) % width, node);
      break;
    case GRAPH_ALL_TO_ALL:
      for (int64_t k = 0; k < width; k++) connect(generator, before, k, node);
      break;
    case GRAPH_RANDOM_LAYERED:
      connect_layered(generator, step, node);
      break;
    default:
      break;
  }
}

/* Patterns without steps: n nodes with the indexes 0 to n - 1. */
static void connect_loose(struct generator *generator, uint32_t count, uint32_t *node_at) {
  switch (generator->spec.pattern) {
    case GRAPH_CHAIN:
      for (uint32_t i = 1; i < count; i++) {
        graph_builder_edge(generator->builder, i - 1, i);
        read_cell(generator, i, i - 1);
      }
      break;
    case GRAPH_FAN_OUT:
      for (uint32_t i = 1; i < count; i++) {
        graph_builder_edge(generator->builder, 0, i);
        read_cell(generator, i, 0);
      }
      break;
    case GRAPH_FAN_IN:
      for (uint32_t i = 0; i + 1 < count; i++) {
        graph_builder_edge(generator->builder, i, count - 1);
        read_cell(generator, count - 1, i);
      }
      break;
    default: /* GRAPH_RANDOM: node_at is a shuffled topological order */
      for (uint32_t i = count; i-- > 1;) {
        uint32_t k = graph_random_below(&generator->state, i + 1), kept = node_at[i];
        node_at[i] = node_at[k];
        node_at[k] = kept;
      }
      for (uint32_t i = 1; i < count; i++) {
        uint32_t edges = graph_random_below(&generator->state, generator->spec.radix + 1);
        for (uint32_t k = 0; k < edges; k++) {
          uint32_t from = node_at[graph_random_below(&generator->state, i)];
          graph_builder_edge(generator->builder, from, node_at[i]);
          read_cell(generator, node_at[i], from);
        }
      }
  }
}

static void add_node(struct generator *generator, uint32_t step, uint32_t column, uint32_t place) {
  char name[NAME_MAX_BYTES];
  if (step == UINT32_MAX) snprintf(name, sizeof name, "n%u", column);
  else snprintf(name, sizeof name, "t%u_%u", step, column);
  generator->node_of_task[place] = graph_builder_node(generator->builder, name);
}

/* Last of all accesses, so that a kernel's output is its last argument. */
static void write_cells(struct generator *generator) {
  uint64_t elements = generator->spec.cell_elements;
  for (uint32_t i = 0; elements > 0 && i < generator->builder->pipeline->node_count; i++) {
    graph_builder_access(generator->builder, i, GR_ACCESS_WRITE, generator->cells, &(uint64_t){i * elements},
                         &elements);
  }
}

struct gr_pipeline *graph_generate(struct gr_memory *memory, const struct graph_spec *spec) {
  struct generator generator = {.builder = graph_builder_create(memory), .spec = *spec, .state = spec->seed};
  if (generator.spec.width == 0) generator.spec.width = 1;
  if (generator.spec.radix == 0) generator.spec.radix = 3;
  bool is_loose = spec->pattern >= GRAPH_RANDOM;
  uint32_t width = generator.spec.width, steps = generator.spec.steps;
  uint32_t count = width * steps + (spec->pattern == GRAPH_FAN_OUT || spec->pattern == GRAPH_FAN_IN ? 1 : 0);
  generator.node_of_task = must(gr_memory_allocate(memory, ((size_t)count + 1) * sizeof(uint32_t)));
  generator.reads_of_node = must(gr_memory_allocate_zeroed(memory, (size_t)count + 1, sizeof(uint32_t)));
  for (uint32_t i = 0; i < count; i++) {
    generator.node_of_task[i] = UINT32_MAX;
    if (is_loose) add_node(&generator, UINT32_MAX, i, i);
    else if (is_active(&generator, i / width, i % width)) add_node(&generator, i / width, i % width, i);
  }
  if (spec->cell_elements > 0) {
    uint64_t shape = (uint64_t)generator.builder->pipeline->node_count * spec->cell_elements;
    generator.cells = graph_builder_buffer(generator.builder, "cells", 1, &shape);
  }
  if (is_loose) connect_loose(&generator, count, generator.node_of_task);
  for (uint32_t i = width; !is_loose && i < count; i++) {
    if (generator.node_of_task[i] != UINT32_MAX)
      connect_task(&generator, i / width, i % width, generator.node_of_task[i]);
  }
  write_cells(&generator);
  gr_memory_release(memory, generator.node_of_task);
  gr_memory_release(memory, generator.reads_of_node);
  return graph_builder_finish(generator.builder);
}
