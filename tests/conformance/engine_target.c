#include "tests/conformance/engine_target.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/catalogue.h"

/* --- Text of a pipeline --- */

struct text {
  char bytes[32768];
  size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, values);
  va_end(values);
  ck_assert_msg(length >= 0 && text->length + (size_t)length < sizeof text->bytes, "a pipeline is too long");
  text->length += (size_t)length;
}

static bool owns_buffer(const struct call_argument *argument) {
  return argument->kind == GR_PARAMETER_BUFFER && argument->shares == 0;
}

/* The buffer begins `offset` elements or rows before the argument. */
static void add_buffer(struct text *text, uint32_t call, uint32_t index, const struct call_argument *argument) {
  add(text, "  c%" PRIu32 "b%" PRIu32 ": {type: %s, shape: [", call, index, gr_type_name(argument->type));
  for (uint32_t k = 0; k < argument->rank; k++)
    add(text, "%s%" PRIu64, k > 0 ? ", " : "", argument->shape[k] + (k == 0 ? argument->offset : 0));
  add(text, "]}\n");
}

static void add_reference(struct text *text, const struct call *calls, uint32_t call, uint32_t index) {
  const struct call_argument *argument = &calls[call].arguments[index];
  if (argument->shares > 0) {
    add_reference(text, calls, call, argument->shares - 1);
    return;
  }
  if (argument->offset == 0) add(text, "c%" PRIu32 "b%" PRIu32, call, index);
  else
    add(text, "\"c%" PRIu32 "b%" PRIu32 "[%" PRIu64 ":%s]\"", call, index, argument->offset,
        argument->rank > 1 ? ", :" : "");
}

static void add_node(struct text *text, const struct call *calls, uint32_t call, const struct gr_kernel *kernel) {
  add(text, "  - {id: call%" PRIu32 ", kernel: %s, args: {", call, kernel->name);
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    const struct call_argument *argument = &calls[call].arguments[i];
    add(text, "%s%s: ", i > 0 ? ", " : "", kernel->parameters[i].name);
    if (argument->kind == GR_PARAMETER_REAL) add(text, "%.17g", argument->real);
    else if (argument->kind == GR_PARAMETER_INTEGER) add(text, "%" PRId64, argument->integer);
    else add_reference(text, calls, call, i);
  }
  add(text, "}}\n");
}

static const struct gr_kernel *kernel_of(const struct call *call) {
  const struct gr_kernel *kernel = gr_catalogue_find(gr_builtin_catalogue(), call->kernel, strlen(call->kernel));
  ck_assert_msg(kernel != NULL && kernel->parameter_count == call->argument_count, "no such kernel: %s", call->kernel);
  return kernel;
}

static void add_pipeline(struct text *text, const struct call *calls, uint32_t call_count) {
  bool has_buffer = false;
  add(text, "graphrun: 1\n");
  for (uint32_t call = 0; call < call_count; call++)
    for (uint32_t i = 0; i < calls[call].argument_count; i++) {
      if (!owns_buffer(&calls[call].arguments[i])) continue;
      if (!has_buffer) add(text, "buffers:\n");
      has_buffer = true;
      add_buffer(text, call, i, &calls[call].arguments[i]);
    }
  add(text, "nodes:\n");
  for (uint32_t call = 0; call < call_count; call++) add_node(text, calls, call, kernel_of(&calls[call]));
}

/* --- Bytes of arguments --- */

struct range {
  char name[32];
  uint64_t offset_bytes, size_bytes;
};

static struct range range_of(const struct call *calls, uint32_t call, uint32_t index) {
  const struct call_argument *argument = &calls[call].arguments[index], *owner = argument;
  if (argument->shares > 0) owner = &calls[call].arguments[argument->shares - 1];
  struct range range = {.size_bytes = gr_type_size(argument->type), .offset_bytes = gr_type_size(argument->type)};
  for (uint32_t k = 0; k < argument->rank; k++) range.size_bytes *= argument->shape[k];
  range.offset_bytes *= owner->offset * (owner->rank > 1 ? owner->shape[1] : 1);
  (void)snprintf(range.name, sizeof range.name, "c%" PRIu32 "b%" PRIu32, call,
                 (uint32_t)(owner - calls[call].arguments));
  return range;
}

static void write_arguments(struct gr_graph *graph, const struct call *calls, uint32_t call) {
  struct gr_error error;
  for (uint32_t i = 0; i < calls[call].argument_count; i++) {
    const struct call_argument *argument = &calls[call].arguments[i];
    if (argument->kind != GR_PARAMETER_BUFFER) continue;
    struct range range = range_of(calls, call, i);
    if (range.size_bytes > 0)
      EXPECT_OK(gr_graph_write(graph, range.name, range.offset_bytes, argument->data, range.size_bytes, &error), error);
  }
}

static void read_arguments(struct gr_graph *graph, const struct call *calls, uint32_t call) {
  const struct gr_kernel *kernel = kernel_of(&calls[call]);
  struct gr_error error;
  for (uint32_t i = 0; i < calls[call].argument_count; i++) {
    const struct call_argument *argument = &calls[call].arguments[i];
    if ((kernel->parameters[i].access & GR_ACCESS_WRITE) == 0) continue;
    struct range range = range_of(calls, call, i);
    if (range.size_bytes > 0)
      EXPECT_OK(gr_graph_read(graph, range.name, range.offset_bytes, argument->data, range.size_bytes, &error), error);
  }
}

/* --- The target --- */

static struct gr_graph *build(const struct engine_target *target, const struct text *text) {
  struct gr_error error;
  struct gr_graph *graph = NULL;
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = target->backend};
  EXPECT_OK(gr_graph_load_memory(target->engine, text->bytes, text->length, NULL, NULL, &graph, &error), error);
  enum gr_status status = gr_graph_build(graph, &options, &error);
  ck_assert_msg(status == GR_OK, "%s: %s\n%s", gr_status_name(status), error.message, text->bytes);
  return graph;
}

static void replay(struct gr_graph *graph, uint32_t repeat) {
  struct gr_error error;
  struct gr_run_options options = {
      .struct_size = sizeof options, .repeat = repeat, .keep_state = true, .no_outputs = true};
  EXPECT_OK(gr_graph_run(graph, &options, &error), error);
}

/* All calls are nodes of one pipeline, with no edge between them. */
static void run_calls(void *context, const struct call *calls, uint32_t call_count) {
  const struct engine_target *target = context;
  struct text text = {.length = 0};
  add_pipeline(&text, calls, call_count);
  for (uint32_t call = 1; call < call_count; call++)
    ck_assert_msg(calls[call].repeat == calls[0].repeat, "a batch of calls that are not repeated alike");
  struct gr_graph *graph = build(target, &text);
  for (uint32_t call = 0; call < call_count; call++) write_arguments(graph, calls, call);
  replay(graph, calls[0].repeat);
  for (uint32_t call = 0; call < call_count; call++) read_arguments(graph, calls, call);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}

void engine_target_init(struct engine_target *target, const char *backend) {
  struct gr_error error;
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = gr_builtin_catalogue()};
  *target =
      (struct engine_target){.target = {.name = backend, .context = target, .run = run_calls}, .backend = backend};
  EXPECT_OK(gr_engine_create(&options, &target->engine, &error), error);
}

void engine_target_release(struct engine_target *target) {
  ck_assert_int_eq(gr_engine_destroy(target->engine), GR_OK);
  target->engine = NULL;
}

enum readiness engine_target_readiness(const char *backend, char *reason, size_t reason_bytes) {
  struct gr_error error;
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = gr_builtin_catalogue()};
  struct gr_engine *engine = NULL;
  enum readiness readiness = TARGET_UNAVAILABLE;
  (void)snprintf(reason, reason_bytes, "this build has no backend '%s'", backend);
  enum gr_status status = gr_engine_create(&options, &engine, &error);
  for (uint32_t i = 0; status == GR_OK && i < gr_backend_count(engine); i++) {
    struct gr_backend_info info;
    status = gr_backend_describe(engine, i, &info, &error);
    if (status != GR_OK || strcmp(info.name, backend) != 0) continue;
    if (info.device_count > 0) readiness = TARGET_READY;
    (void)snprintf(reason, reason_bytes, "%s", info.reason);
  }
  if (engine != NULL && gr_engine_destroy(engine) != GR_OK && status == GR_OK) {
    (void)snprintf(reason, reason_bytes, "the engine cannot be destroyed");
    return TARGET_BROKEN;
  }
  if (status == GR_OK) return readiness;
  (void)snprintf(reason, reason_bytes, "%s", error.message);
  return TARGET_BROKEN;
}

/* --- Fill nodes --- */

struct box {
  const char *type;
  uint32_t element_bytes;
  const char *value;
  uint64_t bits;
  uint64_t shape[3];
  uint64_t begin[3], end[3];
};

static bool is_inside(const struct box *box, uint64_t index) {
  uint64_t at[3] = {index / box->shape[2] / box->shape[1], index / box->shape[2] % box->shape[1],
                    index % box->shape[2]};
  for (uint32_t k = 0; k < 3; k++)
    if (at[k] < box->begin[k] || at[k] >= box->end[k]) return false;
  return true;
}

static void run_box(const struct engine_target *target, const struct box *box) {
  const uint64_t count = box->shape[0] * box->shape[1] * box->shape[2], size = count * box->element_bytes;
  struct text text = {.length = 0};
  add(&text, "graphrun: 1\nbuffers:\n  b: {type: %s, shape: [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]}\n", box->type,
      box->shape[0], box->shape[1], box->shape[2]);
  add(&text, "nodes:\n  - {id: fill, fill: {buffer: \"b[");
  for (uint32_t k = 0; k < 3; k++) add(&text, "%s%" PRIu64 ":%" PRIu64, k > 0 ? ", " : "", box->begin[k], box->end[k]);
  add(&text, "]\", value: %s}}\n", box->value);
  struct gr_error error;
  struct gr_graph *graph = build(target, &text);
  unsigned char *bytes = malloc(size), garbage = 0x5a;
  ck_assert_msg(bytes != NULL, "no memory for a test");
  memset(bytes, garbage, size);
  EXPECT_OK(gr_graph_write(graph, "b", 0, bytes, size, &error), error);
  replay(graph, 1);
  EXPECT_OK(gr_graph_read(graph, "b", 0, bytes, size, &error), error);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t got = 0, old = 0;
    memset(&old, garbage, box->element_bytes);
    memcpy(&got, bytes + i * box->element_bytes, box->element_bytes);
    uint64_t want = is_inside(box, i) ? box->bits : old;
    ck_assert_msg(got == want, "%s:\n%selement %" PRIu64 " is %#" PRIx64 ", not %#" PRIx64, target->backend, text.bytes,
                  i, got, want);
  }
  free(bytes);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}

void case_fill_boxes(const struct engine_target *target) {
  static const struct box boxes[] = {
      {"u8", 1, "200", 200, {1, 1, 100003}, {0, 0, 1}, {1, 1, 100002}},
      {"i8", 1, "-1", 0xff, {5, 7, 33}, {1, 2, 3}, {4, 7, 32}},
      {"u16", 2, "65535", 0xffff, {3, 50, 40}, {0, 0, 0}, {3, 50, 40}},
      {"i32", 4, "-2", 0xfffffffe, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {"i32", 4, "7", 7, {1, 300, 1000}, {0, 0, 999}, {1, 300, 1000}},
      {"f32", 4, "-1.5", 0xbfc00000, {4, 5, 6}, {1, 0, 0}, {3, 5, 6}},
      {"f32", 4, "-0.0", 0x80000000, {1, 9, 20001}, {0, 1, 5}, {1, 8, 20000}},
      {"f64", 8, "0.5", 0x3fe0000000000000, {6, 6, 9}, {0, 2, 0}, {6, 3, 9}},
      {"u64", 8, "18446744073709551615", UINT64_MAX, {6, 4, 9}, {0, 0, 0}, {6, 3, 9}},
      {"i64", 8, "1", 1, {70, 1, 3}, {3, 0, 1}, {69, 1, 2}},
      {"bf16", 2, "1.0", 0x3f80, {2, 3, 5}, {0, 1, 2}, {1, 3, 2}}, /* nothing */
  };
  for (uint32_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) run_box(target, &boxes[i]);
}
