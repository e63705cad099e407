#include "tests/unit/pipeline/fixture.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- kernels ---- */

static bool refuse(struct gr_kernel_problem *problem, int32_t index, const char *text) {
  problem->argument_index = index;
  snprintf(problem->text, sizeof problem->text, "%s", text);
  return false;
}

static void accept(const struct gr_kernel *kernel, struct gr_kernel_facts *facts, uint64_t outputs) {
  memset(facts, 0, sizeof *facts);
  for (uint32_t i = 0; i < kernel->parameter_count; i++) facts->access[i] = kernel->parameters[i].access;
  facts->output_element_count = outputs;
}

/* Buffers of one type and count. */
static bool check_alike(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                        struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  uint32_t last = kernel->parameter_count - 1;
  for (uint32_t i = 0; i < last; i++) {
    if (kernel->parameters[i].kind != GR_PARAMETER_BUFFER) continue;
    if (arguments[i].type != arguments[last].type) return refuse(problem, (int32_t)i, "the types differ");
    if (arguments[i].element_count != arguments[last].element_count)
      return refuse(problem, (int32_t)i, "the counts differ");
  }
  accept(kernel, facts, arguments[last].element_count);
  return true;
}

static bool check_busy(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                       struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  if (arguments[0].integer < 0) return refuse(problem, 0, "'ns' is negative");
  accept(kernel, facts, 1);
  return true;
}

static bool check_mix(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                      struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  if (arguments[0].real < 0) return refuse(problem, -1, "it does not like this call");
  accept(kernel, facts, arguments[1].element_count);
  if (!(arguments[0].real > 0)) facts->access[1] = GR_ACCESS_WRITE;
  return true;
}

static bool check_sum(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                      struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  if (arguments[1].element_count != 1) return refuse(problem, 1, "'out' has more than 1 element");
  accept(kernel, facts, 1);
  facts->scratch_bytes = 64;
  return true;
}

#define BUFFER(name, access, may_alias) \
  { name, GR_PARAMETER_BUFFER, GR_ACCESS_##access, may_alias }
static const struct gr_kernel_parameter add[] = {BUFFER("x", READ, true), BUFFER("y", READ, true),
                                                 BUFFER("out", WRITE, false)};
static const struct gr_kernel_parameter apart[] = {BUFFER("x", READ, false), BUFFER("out", WRITE, false)};
static const struct gr_kernel_parameter axpy[] = {
    {"a", GR_PARAMETER_REAL, GR_ACCESS_NONE, false}, BUFFER("x", READ, true), BUFFER("y", UPDATE, false)};
static const struct gr_kernel_parameter busy[] = {{"ns", GR_PARAMETER_INTEGER, GR_ACCESS_NONE, false}};
static const struct gr_kernel_parameter mix[] = {{"beta", GR_PARAMETER_REAL, GR_ACCESS_NONE, false},
                                                 BUFFER("c", UPDATE, false)};
static const struct gr_kernel_parameter two[] = {BUFFER("first", WRITE, false), BUFFER("second", WRITE, false)};

#define KERNEL(kernel_name, list, function) \
  { .name = kernel_name, .parameter_count = sizeof list / sizeof list[0], .parameters = list, .check = function }
static const struct gr_kernel kernels[] = {
    KERNEL("add", add, check_alike),  KERNEL("apart", apart, check_alike), KERNEL("axpy", axpy, check_alike),
    KERNEL("busy", busy, check_busy), KERNEL("mix", mix, check_mix),       KERNEL("sum", apart, check_sum),
    KERNEL("two", two, check_alike),
};
const struct gr_catalogue fixture_catalogue = {.kernel_count = sizeof kernels / sizeof kernels[0], .kernels = kernels};

/* ---- reading ---- */

static bool comes_first(const struct gr_diagnostic *a, const struct gr_diagnostic *b) {
  if (a->mark.line != b->mark.line) return a->mark.line < b->mark.line;
  return a->mark.column < b->mark.column;
}

static void say(struct fixture *fixture) {
  bool is_said[2 * GR_DIAGNOSTIC_SHOWN_MAX] = {false};
  for (uint32_t n = 0; n < fixture->diagnostics.kept_count; n++) {
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < fixture->diagnostics.kept_count; i++) {
      if (is_said[i]) continue;
      if (next == UINT32_MAX || comes_first(&fixture->diagnostics.kept[i], &fixture->diagnostics.kept[next])) next = i;
    }
    is_said[next] = true;
    const struct gr_diagnostic *one = &fixture->diagnostics.kept[next];
    gr_text_append_format(&fixture->said, "%" PRIu32 ":%" PRIu32 " %s: %s\n", one->mark.line, one->mark.column,
                          one->severity == GR_SEVERITY_ERROR ? "error" : "warning", one->message);
  }
  if (!fixture->said.bytes) gr_text_append_text(&fixture->said, "");
}

void fixture_read_with(struct fixture *fixture, struct gr_view text, const struct gr_override *overrides,
                       uint32_t override_count) {
  memset(fixture, 0, sizeof *fixture);
  gr_memory_init(&fixture->memory, NULL);
  ck_assert(gr_diagnostics_init(&fixture->diagnostics, &fixture->memory, "graphs/test.yaml"));
  fixture->diagnostics.source = text;
  gr_text_init(&fixture->said, &fixture->memory);
  fixture->status =
      gr_document_parse(&fixture->memory, "graphs/test.yaml", text, &fixture->diagnostics, &fixture->document);
  if (fixture->document) {
    struct gr_pipeline_options options = {
        .folder = "graphs/", .catalogue = &fixture_catalogue, .overrides = overrides, .override_count = override_count};
    fixture->status =
        gr_pipeline_read(&fixture->memory, fixture->document, &options, &fixture->diagnostics, &fixture->pipeline);
  }
  if (fixture->status == GR_OK) ck_assert_ptr_nonnull(fixture->pipeline);
  if (fixture->pipeline) ck_assert_int_eq(fixture->status != GR_OK, fixture->pipeline->is_flawed);
  ck_assert_int_eq(fixture->status == GR_OK, fixture->diagnostics.error_count == 0);
  say(fixture);
}

void fixture_read(struct fixture *fixture, const char *text) { fixture_read_with(fixture, gr_view_of(text), NULL, 0); }

void fixture_release(struct fixture *fixture) {
  gr_pipeline_destroy(fixture->pipeline);
  gr_document_destroy(fixture->document);
  gr_diagnostics_release(&fixture->diagnostics);
  gr_text_release(&fixture->said);
  ck_assert_uint_eq(fixture->memory.live_count, 0);
}

static void substitute(struct gr_text *out, const char *text, const char *value) {
  for (; *text; text++) {
    if (*text == '@') {
      gr_text_append_text(out, value);
    } else {
      gr_text_append(out, text, 1);
    }
  }
}

void fixture_expect(const char *text, const char *value, const char *said) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text whole;
  gr_text_init(&whole, &memory);
  substitute(&whole, text, value);
  struct fixture fixture;
  fixture_read(&fixture, whole.bytes);
  ck_assert_msg(strcmp(fixture.said.bytes, said) == 0, "for %s\nit says\n%sand should say\n%s", whole.bytes,
                fixture.said.bytes, said);
  fixture_release(&fixture);
  gr_text_release(&whole);
}

const struct gr_buffer *fixture_buffer(const struct fixture *fixture, const char *name) {
  ck_assert_msg(fixture->pipeline != NULL, "%s", fixture->said.bytes);
  for (uint32_t i = 0; i < fixture->pipeline->buffer_count; i++) {
    if (strcmp(fixture->pipeline->buffers[i].name, name) == 0) return &fixture->pipeline->buffers[i];
  }
  ck_abort_msg("no buffer %s", name);
}

const struct gr_node *fixture_node(const struct fixture *fixture, const char *name) {
  ck_assert_msg(fixture->pipeline != NULL, "%s", fixture->said.bytes);
  for (uint32_t i = 0; i < fixture->pipeline->node_count; i++) {
    if (strcmp(fixture->pipeline->nodes[i].name, name) == 0) return &fixture->pipeline->nodes[i];
  }
  ck_abort_msg("no node %s", name);
}

uint64_t fixture_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}
