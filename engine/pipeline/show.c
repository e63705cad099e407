/* The typed pipeline as stable text. Names and paths are JSON strings, so that each entry stays on one line. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

static void show_string(struct gr_text *out, const char *string) { gr_text_append_json(out, gr_view_of(string)); }

static void show_number(struct gr_text *out, struct gr_number number) {
  if (number.is_real) {
    gr_text_append_double(out, number.real);
    /* "2" is an integer; this is a float. Larger ones have an exponent or digits enough to tell. */
    bool is_whole = fabs(number.real) <= 1e15 && !(fabs(number.real - trunc(number.real)) > 0);
    if (is_whole) gr_text_append_text(out, ".0");
  } else {
    gr_text_append_format(out, "%s%" PRIu64, number.is_negative ? "-" : "", number.magnitude);
  }
}

static void show_element(struct gr_text *out, enum gr_type type, struct gr_element element) {
  show_number(out, gr_number_of_element(element, type));
}

static void show_list(struct gr_text *out, const uint64_t *numbers, uint32_t count) {
  gr_text_append(out, "[", 1);
  for (uint32_t i = 0; i < count; i++) gr_text_append_format(out, "%s%" PRIu64, i == 0 ? "" : ", ", numbers[i]);
  gr_text_append(out, "]", 1);
}

static void show_top(struct gr_text *out, const struct gr_pipeline *pipeline) {
  static const char *const orders[] = {"explicit", "data"};
  static const char *const races[] = {"error", "warn", "allow"};
  gr_text_append_text(out, "pipeline ");
  show_string(out, pipeline->name);
  gr_text_append_format(out, ", order %s, races %s, streams %s", orders[pipeline->order], races[pipeline->races],
                        gr_policy_name(pipeline->policy));
  if (pipeline->stream_max > 0) gr_text_append_format(out, ", at most %" PRIu32, pipeline->stream_max);
  gr_text_append(out, "\n", 1);
}

static void show_params(struct gr_text *out, const struct gr_pipeline *pipeline) {
  for (uint32_t i = 0; i < pipeline->param_count; i++) {
    gr_text_append_format(out, "param %s = ", pipeline->params[i].name);
    show_number(out, pipeline->params[i].value);
    gr_text_append(out, "\n", 1);
  }
}

/* ---- buffers ---- */

enum { SHOWN_VALUES_MAX = 8 };

static void show_values(struct gr_text *out, const struct gr_buffer *buffer) {
  size_t size = gr_type_size(buffer->type);
  gr_text_append_text(out, "values [");
  for (uint64_t i = 0; i < buffer->element_count && i < SHOWN_VALUES_MAX; i++) {
    struct gr_element element = {0};
    /* Little-endian, as they are stored. */
    for (size_t byte = size; byte-- > 0;) element.bits = element.bits << 8 | buffer->init->values[i * size + byte];
    if (i > 0) gr_text_append_text(out, ", ");
    show_element(out, buffer->type, element);
  }
  gr_text_append_text(out, buffer->element_count > SHOWN_VALUES_MAX ? ", …]" : "]");
}

static void show_iota(struct gr_text *out, const struct gr_init *init) {
  gr_text_append_text(out, "iota from ");
  show_number(out, init->start);
  gr_text_append_text(out, " step ");
  show_number(out, init->step);
}

static void show_random(struct gr_text *out, const struct gr_init *init) {
  gr_text_append_format(out, "random seed %" PRIu64 " low ", init->seed);
  show_number(out, init->low);
  gr_text_append_text(out, " high ");
  show_number(out, init->high);
}

static void show_init(struct gr_text *out, const struct gr_buffer *buffer) {
  const struct gr_init *init = buffer->init;
  gr_text_append_text(out, "\n  init ");
  switch (init->kind) {
    case GR_INIT_ZEROS:
      gr_text_append_text(out, "zeros");
      break;
    case GR_INIT_FILL:
      gr_text_append_text(out, "fill ");
      show_element(out, buffer->type, init->value);
      break;
    case GR_INIT_IOTA:
      show_iota(out, init);
      break;
    case GR_INIT_RANDOM:
      show_random(out, init);
      break;
    case GR_INIT_VALUES:
      show_values(out, buffer);
      break;
    case GR_INIT_LOAD:
      gr_text_append_text(out, "load ");
      show_string(out, init->path);
      break;
    case GR_INIT_NONE:
      break;
  }
}

static void show_expect(struct gr_text *out, const struct gr_expect *expect) {
  gr_text_append_text(out, "\n  expect ");
  if (expect->kind == GR_EXPECT_LOAD) {
    gr_text_append_text(out, "load ");
    show_string(out, expect->path);
  } else {
    gr_text_append_text(out, expect->kind == GR_EXPECT_SUM ? "sum " : "equals ");
    show_number(out, expect->value);
  }
  gr_text_append_text(out, " rtol ");
  gr_text_append_double(out, expect->rtol);
  gr_text_append_text(out, " atol ");
  gr_text_append_double(out, expect->atol);
}

static void show_buffer(struct gr_text *out, const struct gr_buffer *buffer) {
  gr_text_append_text(out, "buffer ");
  show_string(out, buffer->name);
  gr_text_append_format(out, " %s ", gr_type_name(buffer->type));
  show_list(out, buffer->shape, buffer->rank);
  gr_text_append_format(out, " %s device %" PRIu32 ", %" PRIu64 " bytes", gr_place_name(buffer->place), buffer->device,
                        buffer->size_bytes);
  if (buffer->init) show_init(out, buffer);
  if (buffer->save) {
    gr_text_append_text(out, "\n  save ");
    show_string(out, buffer->save);
  }
  if (buffer->expect) show_expect(out, buffer->expect);
  gr_text_append(out, "\n", 1);
}

/* ---- nodes ---- */

static void show_reference(struct gr_text *out, const struct gr_pipeline *pipeline, uint32_t index) {
  const struct gr_reference *reference = &pipeline->references[index];
  show_string(out, pipeline->buffers[reference->buffer_index].name);
  for (uint32_t i = 0; reference->starts && i < reference->rank; i++) {
    gr_text_append_format(out, "%s%" PRIu64 ":%" PRIu64, i == 0 ? "[" : ", ", reference->starts[i],
                          reference->starts[i] + reference->extents[i]);
  }
  if (reference->starts) gr_text_append(out, "]", 1);
}

static void show_box(struct gr_text *out, uint64_t width, uint64_t height, uint64_t depth) {
  gr_text_append_format(out, " as %" PRIu64 " bytes", width);
  if (height > 1 || depth > 1) gr_text_append_format(out, " x %" PRIu64, height);
  if (depth > 1) gr_text_append_format(out, " x %" PRIu64, depth);
}

static void show_copy(struct gr_text *out, const struct gr_pipeline *pipeline, uint32_t node_index) {
  const struct gr_node *node = &pipeline->nodes[node_index];
  show_reference(out, pipeline, node->copy.from);
  gr_text_append_text(out, " to ");
  show_reference(out, pipeline, node->copy.to);
  if (node->is_no_op) return;
  struct gr_copy_box box;
  gr_pipeline_copy_box(pipeline, node_index, &box);
  show_box(out, box.width_bytes, box.height, box.depth);
}

static void show_fill(struct gr_text *out, const struct gr_pipeline *pipeline, uint32_t node_index) {
  const struct gr_node *node = &pipeline->nodes[node_index];
  const struct gr_reference *reference = &pipeline->references[node->fill.to];
  show_reference(out, pipeline, node->fill.to);
  gr_text_append_text(out, " with ");
  show_element(out, pipeline->buffers[reference->buffer_index].type, node->fill.value);
  if (node->is_no_op) return;
  struct gr_fill_box box;
  gr_pipeline_fill_box(pipeline, node_index, &box);
  show_box(out, box.width_bytes, box.height, box.depth);
}

static void show_call(struct gr_text *out, const struct gr_pipeline *pipeline, const struct gr_node *node) {
  const struct gr_kernel *kernel = node->kernel.kernel;
  gr_text_append_format(out, "%s(", kernel->name);
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    const struct gr_argument *argument = &pipeline->arguments[node->kernel.first_argument + i];
    gr_text_append_format(out, "%s%s: ", i == 0 ? "" : ", ", kernel->parameters[i].name);
    if (argument->reference_index != GR_NO_INDEX) {
      show_reference(out, pipeline, argument->reference_index);
    } else if (kernel->parameters[i].kind == GR_PARAMETER_REAL) {
      gr_text_append_double(out, argument->real);
    } else {
      gr_text_append_format(out, "%" PRId64, argument->integer);
    }
  }
  gr_text_append(out, ")", 1);
  if (node->kernel.scratch_bytes > 0)
    gr_text_append_format(out, " scratch %" PRIu64 " bytes", node->kernel.scratch_bytes);
}

static void show_accesses(struct gr_text *out, const struct gr_pipeline *pipeline, const struct gr_node *node) {
  static const char *const words[] = {"none", "read", "write", "update"};
  for (uint32_t i = 0; i < node->access_count; i++) {
    const struct gr_node_access *access = &pipeline->accesses[node->first_access + i];
    gr_text_append_format(out, "%s%s ", i == 0 ? "\n  " : ", ", words[access->access]);
    show_reference(out, pipeline, access->reference_index);
  }
}

static void show_order(struct gr_text *out, const struct gr_pipeline *pipeline, const struct gr_node *node) {
  for (uint32_t i = 0; i < node->after_count; i++) {
    gr_text_append_text(out, i == 0 ? "\n  after " : ", ");
    show_string(out, pipeline->nodes[pipeline->after[node->first_after + i].node_index].name);
  }
}

static void show_node(struct gr_text *out, const struct gr_pipeline *pipeline, uint32_t node_index) {
  const struct gr_node *node = &pipeline->nodes[node_index];
  enum gr_node_kind kind = (enum gr_node_kind)node->kind;
  gr_text_append_text(out, "node ");
  show_string(out, node->name);
  gr_text_append_format(out, " %s", gr_node_kind_name(kind));
  if (kind != GR_NODE_BARRIER) gr_text_append(out, " ", 1);
  if (kind == GR_NODE_COPY) show_copy(out, pipeline, node_index);
  if (kind == GR_NODE_FILL) show_fill(out, pipeline, node_index);
  if (kind == GR_NODE_KERNEL) show_call(out, pipeline, node);
  if (node->is_no_op) gr_text_append_text(out, ", no_op");
  if (node->timeout_ns > 0) gr_text_append_format(out, ", timeout %" PRIu64 " ns", node->timeout_ns);
  show_accesses(out, pipeline, node);
  show_order(out, pipeline, node);
  gr_text_append(out, "\n", 1);
}

void gr_pipeline_show(const struct gr_pipeline *pipeline, struct gr_text *out) {
  show_top(out, pipeline);
  show_params(out, pipeline);
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) show_buffer(out, &pipeline->buffers[i]);
  for (uint32_t i = 0; i < pipeline->node_count; i++) show_node(out, pipeline, i);
}

void gr_pipeline_append_name(struct gr_text *out, const char *name) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  if (name[0] != '\0' && name[strspn(name, allowed)] == '\0') gr_text_append_text(out, name);
  else gr_text_append_json(out, gr_view_of(name));
}
