/* One call of a kernel: its arguments by name, the places that kernels reach, the kernel's own check, and what its
 * outputs may share with its inputs. */
#include <inttypes.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

struct call {
  const struct gr_kernel *kernel;
  struct gr_where args; /* "args" of the node */
  bool is_right;
  bool is_there[GR_KERNEL_ARGUMENT_MAX];
  struct gr_reference references[GR_KERNEL_ARGUMENT_MAX]; /* of buffers */
  struct gr_argument arguments[GR_KERNEL_ARGUMENT_MAX];
  struct gr_kernel_facts facts;
};

static bool is_buffer(const struct call *call, uint32_t index) {
  return call->kernel->parameters[index].kind == GR_PARAMETER_BUFFER;
}

static struct gr_where where_of(const struct call *call, uint32_t index) {
  return gr_where_field(&call->args, call->kernel->parameters[index].name);
}

/* ---- which kernel ---- */

enum { SUGGESTED_KERNELS_MAX = 256 };

static struct gr_view nearest_kernel(const struct gr_catalogue *catalogue, struct gr_view name) {
  struct gr_view names[SUGGESTED_KERNELS_MAX] = {{NULL, 0}};
  uint32_t count = catalogue->kernel_count < SUGGESTED_KERNELS_MAX ? catalogue->kernel_count : SUGGESTED_KERNELS_MAX;
  for (uint32_t i = 0; i < count; i++) names[i] = gr_view_of(catalogue->kernels[i].name);
  size_t nearest = gr_text_nearest(name, names, count);
  return nearest == SIZE_MAX ? (struct gr_view){NULL, 0} : names[nearest];
}

static const struct gr_kernel *find_kernel(struct gr_reader *reader, const struct gr_where *where, uint32_t item) {
  static const struct gr_catalogue nothing = {0}; /* a program may have no kernels */
  const struct gr_catalogue *catalogue = reader->options->catalogue ? reader->options->catalogue : &nothing;
  const struct gr_item *scalar = gr_reader_item(reader, item);
  struct gr_view name = gr_item_text(scalar);
  /* A kernel of the file's own comes first; that it is not supported has been said where it is declared. */
  if (gr_name_table_find(&reader->kernel_names, name) != GR_NO_INDEX) return NULL;
  bool is_string = name.length > 0 && !memchr(name.bytes, '\0', name.length);
  const struct gr_kernel *kernel = is_string ? gr_catalogue_find(catalogue, name.bytes, name.length) : NULL;
  if (kernel || reader->cut.kernels) return kernel;
  struct gr_where inner = gr_where_field(where, "kernel");
  struct gr_view nearest = gr_reader_is_heard(reader) ? nearest_kernel(catalogue, name) : (struct gr_view){NULL, 0};
  if (nearest.length == 0) nearest = gr_reader_nearest(reader, &reader->kernel_names, name);
  gr_reader_error(reader, &inner, gr_item_mark(scalar), "there is no kernel %s%s", gr_view_quote(name).text,
                  gr_hint_of(nearest).text);
  return NULL;
}

/* ---- arguments ---- */

static bool is_reached_by_kernels(enum gr_place place) {
  return place == GR_PLACE_DEVICE || place == GR_PLACE_MAPPED || place == GR_PLACE_MANAGED;
}

static bool read_buffer(struct gr_reader *reader, const struct gr_where *where, uint32_t item,
                        struct gr_reference *reference) {
  if (!gr_reader_takes(reader, where, item, GR_FIELD_REFERENCE)) return false;
  if (gr_reader_reference(reader, where, item, reference) != GR_LOOKUP_FOUND) return false;
  const struct gr_buffer *buffer = &reader->buffers[reference->buffer_index];
  bool is_right = true;
  if (!is_reached_by_kernels(buffer->place)) {
    gr_reader_error(reader, where, reference->mark,
                    "buffer %s is in %s memory, which kernels do not reach; allowed are device, mapped and managed",
                    gr_view_quote(gr_view_of(buffer->name)).text, gr_place_name(buffer->place));
    is_right = false;
  }
  if (!reference->is_contiguous) {
    gr_reader_error(reader, where, reference->mark,
                    "the elements of %s do not lie side by side, and a kernel takes only those that do; copy them to "
                    "a buffer of their own first",
                    gr_reference_show(reader->buffers, reference).text);
    is_right = false;
  }
  return is_right;
}

static bool read_scalar(struct gr_reader *reader, const struct gr_where *where, uint32_t item, bool is_real,
                        struct gr_argument *argument) {
  if (!gr_reader_takes(reader, where, item, is_real ? GR_FIELD_REAL : GR_FIELD_INTEGER)) return false;
  struct gr_view text = gr_item_text(gr_reader_item(reader, item));
  uint32_t buffer = gr_name_table_find(&reader->buffer_names, text);
  if (buffer != GR_NO_INDEX && gr_name_table_find(&reader->param_names, text) == GR_NO_INDEX &&
      !gr_number_parse(text, &(struct gr_number){0})) {
    reader->buffer_states[buffer].is_used = true;
    gr_reader_error(reader, where, argument->mark, "%s is a buffer, and %s is expected", gr_view_quote(text).text,
                    is_real ? "a number" : "an integer");
    return false;
  }
  if (is_real) return gr_reader_real(reader, where, item, &argument->real);
  return gr_reader_integer(reader, where, item, INT64_MIN, INT64_MAX, &argument->integer);
}

static void read_argument(struct gr_reader *reader, struct call *call, uint32_t index, uint32_t item) {
  struct gr_where where = where_of(call, index);
  struct gr_argument *argument = &call->arguments[index];
  argument->mark = gr_item_mark(gr_reader_item(reader, item));
  argument->reference_index = GR_NO_INDEX;
  bool is_real = call->kernel->parameters[index].kind == GR_PARAMETER_REAL;
  bool is_right = is_buffer(call, index) ? read_buffer(reader, &where, item, &call->references[index])
                                         : read_scalar(reader, &where, item, is_real, argument);
  call->is_right = call->is_right && is_right;
}

static uint32_t find_parameter(const struct gr_kernel *kernel, struct gr_view name) {
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    if (gr_view_is(name, kernel->parameters[i].name)) return i;
  }
  return GR_NO_INDEX;
}

/* "a, x, y" */
static void append_parameters(struct gr_text *text, const struct call *call, bool missing_only) {
  const char *separator = "";
  for (uint32_t i = 0; i < call->kernel->parameter_count; i++) {
    if (missing_only && call->is_there[i]) continue;
    gr_text_append_format(text, "%s%s", separator, call->kernel->parameters[i].name);
    separator = ", ";
  }
}

static void say_unknown_argument(struct gr_reader *reader, struct call *call, const struct gr_pair *pair) {
  const struct gr_kernel *kernel = call->kernel;
  struct gr_view names[GR_KERNEL_ARGUMENT_MAX] = {{NULL, 0}};
  for (uint32_t i = 0; i < kernel->parameter_count; i++) names[i] = gr_view_of(kernel->parameters[i].name);
  struct gr_text all;
  gr_text_init(&all, reader->memory);
  append_parameters(&all, call, false);
  size_t nearest = gr_text_nearest(pair->key, names, kernel->parameter_count);
  /* Of one-letter names the nearest says nothing. */
  bool is_near = nearest != SIZE_MAX && names[nearest].length > 1 && !call->is_there[nearest];
  if (is_near) call->is_there[nearest] = true; /* what was meant is not missing as well */
  gr_reader_error(reader, &call->args, pair->key_mark, "%s has no argument %s; it takes %s%s", kernel->name,
                  gr_view_quote(pair->key).text, all.bytes ? all.bytes : "none",
                  gr_hint_of(is_near ? names[nearest] : (struct gr_view){NULL, 0}).text);
  gr_text_release(&all);
  call->is_right = false;
}

static void say_missing(struct gr_reader *reader, struct call *call, const struct gr_where *where, struct gr_mark mark,
                        bool is_cut) {
  uint32_t missing = 0;
  for (uint32_t i = 0; i < call->kernel->parameter_count; i++) missing += !call->is_there[i];
  if (missing == 0) return;
  call->is_right = false;
  if (is_cut) return;
  struct gr_text names;
  gr_text_init(&names, reader->memory);
  append_parameters(&names, call, true);
  if (names.failed) reader->is_out_of_memory = true;
  gr_reader_error(reader, where, mark, "%s lacks the argument%s %s", call->kernel->name, missing == 1 ? "" : "s",
                  names.bytes ? names.bytes : "");
  gr_text_release(&names);
}

static void read_arguments(struct gr_reader *reader, struct call *call, uint32_t map) {
  struct gr_pairs pairs = gr_reader_pairs(reader, map);
  struct gr_pair pair;
  while (gr_reader_next_pair(reader, &call->args, &pairs, &pair)) {
    uint32_t index = find_parameter(call->kernel, pair.key);
    if (index == GR_NO_INDEX) {
      say_unknown_argument(reader, call, &pair);
      continue;
    }
    call->is_there[index] = true;
    if (pair.is_cut) {
      call->is_right = false;
    } else {
      read_argument(reader, call, index, pair.value);
    }
  }
}

/* ---- the call as a whole ---- */

static bool check_call(struct gr_reader *reader, struct call *call, const struct gr_where *where, struct gr_mark mark) {
  struct gr_kernel_argument arguments[GR_KERNEL_ARGUMENT_MAX];
  memset(arguments, 0, sizeof arguments);
  for (uint32_t i = 0; i < call->kernel->parameter_count; i++) {
    const struct gr_reference *reference = &call->references[i];
    if (is_buffer(call, i)) {
      arguments[i] = (struct gr_kernel_argument){.type = reader->buffers[reference->buffer_index].type,
                                                 .rank = reference->rank,
                                                 .shape = reference->extents,
                                                 .element_count = reference->element_count};
    } else if (call->kernel->parameters[i].kind == GR_PARAMETER_REAL) {
      arguments[i].real = call->arguments[i].real;
    } else {
      arguments[i].integer = call->arguments[i].integer;
    }
  }
  struct gr_kernel_problem problem = {.argument_index = -1};
  if (call->kernel->check(call->kernel, arguments, &call->facts, &problem)) return true;
  bool has_place = problem.argument_index >= 0 && (uint32_t)problem.argument_index < call->kernel->parameter_count;
  gr_reader_error(reader, where, has_place ? call->arguments[problem.argument_index].mark : mark, "%s: %s",
                  call->kernel->name, problem.text);
  return false;
}

static bool is_output(const struct call *call, uint32_t index) {
  return is_buffer(call, index) && (call->facts.access[index] & GR_ACCESS_WRITE) != 0;
}

static uint64_t size_of(const struct gr_reader *reader, const struct gr_reference *reference) {
  return reference->element_count * gr_type_size(reader->buffers[reference->buffer_index].type);
}

/* May `output` overlap `other` as it does? */
static bool may_share(const struct gr_reader *reader, const struct call *call, uint32_t output, uint32_t other) {
  const struct gr_reference *a = &call->references[output];
  const struct gr_reference *b = &call->references[other];
  bool is_exact = a->offset_bytes == b->offset_bytes && size_of(reader, a) == size_of(reader, b);
  return is_exact && !is_output(call, other) && call->kernel->parameters[other].may_alias_output;
}

static bool check_pair(struct gr_reader *reader, const struct call *call, uint32_t output, uint32_t other) {
  const struct gr_reference *a = &call->references[output];
  const struct gr_reference *b = &call->references[other];
  if (!gr_reference_overlaps(a, b) || may_share(reader, call, output, other)) return true;
  if (is_output(call, other) && other < output) return true; /* said the other way round */
  struct gr_where where = where_of(call, output);
  const char *name = call->kernel->parameters[other].name;
  struct gr_shown_reference shown = gr_reference_show(reader->buffers, a);
  struct gr_shown_reference shown_other = gr_reference_show(reader->buffers, b);
  bool is_in_place = !is_output(call, other) && call->kernel->parameters[other].may_alias_output;
  gr_reader_error(reader, &where, a->mark, "%s is written and overlaps %s, which is %s %s%s", shown.text,
                  shown_other.text, is_output(call, other) ? "also written, as" : "read, as", name,
                  is_in_place ? "; the two may be exactly the same, or apart" : "; they must be apart");
  return false;
}

static bool check_overlaps(struct gr_reader *reader, const struct call *call) {
  bool is_right = true;
  for (uint32_t output = 0; output < call->kernel->parameter_count; output++) {
    for (uint32_t other = 0; is_output(call, output) && other < call->kernel->parameter_count; other++) {
      if (other == output || !is_buffer(call, other)) continue;
      if (!check_pair(reader, call, output, other)) is_right = false;
    }
  }
  return is_right;
}

static void keep_call(struct gr_reader *reader, struct call *call, struct gr_node *node) {
  node->kernel.kernel = call->kernel;
  node->kernel.first_argument = (uint32_t)reader->arguments.count;
  node->is_no_op = call->facts.output_element_count == 0;
  node->kernel.scratch_bytes = node->is_no_op ? 0 : call->facts.scratch_bytes;
  for (uint32_t i = 0; i < call->kernel->parameter_count; i++) {
    struct gr_argument *argument = gr_reader_push(reader, &reader->arguments, sizeof *argument);
    if (!argument) return;
    *argument = call->arguments[i];
    if (!is_buffer(call, i)) continue;
    argument->reference_index = gr_reader_add_reference(reader, &call->references[i]);
    if (argument->reference_index == GR_NO_INDEX) return;
    gr_reader_add_access(reader, node, argument->reference_index, call->facts.access[i]);
  }
}

/* Kernels of the program's own choose their grid and block themselves. */
static void refuse_launch(struct gr_reader *reader, struct call *call, const struct gr_where *where,
                          const struct gr_fields *fields) {
  if (!gr_field_is_there(fields, GR_NODE_FIELD_LAUNCH)) return;
  call->is_right = false;
  if (!gr_field_is_usable(fields, GR_NODE_FIELD_LAUNCH)) return;
  gr_reader_error(reader, where, gr_item_mark(gr_reader_item(reader, fields->values[GR_NODE_FIELD_LAUNCH])),
                  "\"launch\" belongs to kernels of the user's own, which are not supported yet; %s is built in and "
                  "takes none",
                  call->kernel->name);
}

bool gr_reader_call(struct gr_reader *reader, const struct gr_where *where, const struct gr_fields *fields,
                    struct gr_node *node) {
  if (!gr_field_is_usable(fields, GR_NODE_FIELD_KERNEL)) return false;
  uint32_t name_item = fields->values[GR_NODE_FIELD_KERNEL];
  struct gr_mark mark = gr_item_mark(gr_reader_item(reader, name_item));
  const struct gr_kernel *kernel = find_kernel(reader, where, name_item);
  if (!kernel) return false;
  struct call call = {.kernel = kernel, .args = gr_where_field(where, "args"), .is_right = true};
  refuse_launch(reader, &call, where, fields);
  bool has_arguments = gr_field_is_there(fields, GR_NODE_FIELD_ARGS);
  if (has_arguments && !gr_field_is_usable(fields, GR_NODE_FIELD_ARGS)) return false;
  bool is_cut =
      has_arguments ? gr_reader_item(reader, fields->values[GR_NODE_FIELD_ARGS])->is_cut : fields->has_unknown;
  if (has_arguments) read_arguments(reader, &call, fields->values[GR_NODE_FIELD_ARGS]);
  say_missing(reader, &call, where, mark, is_cut);
  if (!call.is_right || !check_call(reader, &call, where, mark) || !check_overlaps(reader, &call)) return false;
  keep_call(reader, &call, node);
  return true;
}
