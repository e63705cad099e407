/* Document to pipeline: the top level, in the order in which one part needs another: version, params, kernels, buffers,
 * nodes. */
#include <inttypes.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

static const char *const place_names[GR_PLACE_COUNT] = {
    [GR_PLACE_DEVICE] = "device", [GR_PLACE_PINNED] = "pinned",   [GR_PLACE_HOST] = "host",
    [GR_PLACE_MAPPED] = "mapped", [GR_PLACE_MANAGED] = "managed",
};
const char *gr_place_name(enum gr_place place) { return place_names[place]; }

static const char *const kind_names[] = {
    [GR_NODE_COPY] = "copy",       [GR_NODE_FILL] = "fill",     [GR_NODE_KERNEL] = "kernel",
    [GR_NODE_BARRIER] = "barrier", [GR_NODE_LAUNCH] = "kernel", [GR_NODE_HOST] = "host"};
const char *gr_node_kind_name(enum gr_node_kind kind) { return kind_names[kind]; }

static const char *const policy_names[] = {[GR_POLICY_LEVELS] = "levels",
                                           [GR_POLICY_CHAINS] = "chains",
                                           [GR_POLICY_TUNED] = "tuned",
                                           [GR_POLICY_SERIAL] = "serial"};
enum { POLICY_COUNT = sizeof policy_names / sizeof policy_names[0] };
const char *gr_policy_name(enum gr_policy policy) { return policy_names[policy]; }

static const char *const order_names[] = {[GR_ORDER_EXPLICIT] = "explicit", [GR_ORDER_DATA] = "data"};
enum { ORDER_COUNT = sizeof order_names / sizeof order_names[0] };
static const char *const race_names[] = {
    [GR_RACES_ERROR] = "error", [GR_RACES_WARN] = "warn", [GR_RACES_ALLOW] = "allow"};
enum { RACE_COUNT = sizeof race_names / sizeof race_names[0] };

/* ---- params ---- */

static bool is_param_name(struct gr_reader *reader, const struct gr_pair *pair) {
  struct gr_quote quote = gr_view_quote(pair->key);
  if (!gr_expression_is_identifier(pair->key) || pair->key.length > GR_NAME_BYTES_MAX) {
    gr_reader_error(reader, NULL, pair->key_mark,
                    "%s is no name for a param; it takes letters, digits and _, does not start with a digit, and has "
                    "at most 256 bytes",
                    quote.text);
    return false;
  }
  if (gr_expression_is_function(pair->key)) {
    gr_reader_error(reader, NULL, pair->key_mark, "%s is no name for a param; it is a function", quote.text);
    return false;
  }
  return true;
}

/* What is set from outside stands in place of the file's value, which is judged all the same. */
static void apply_override(struct gr_reader *reader, const struct gr_override *override, uint32_t index) {
  struct gr_param *param = &reader->params[index];
  if (!override->value.is_real && !override->value.is_negative && override->value.magnitude > INT64_MAX) {
    struct gr_where where = gr_where_noun("param", gr_view_of(override->name));
    gr_reader_error(reader, &where, param->mark,
                    "is set from outside (--set) to %" PRIu64 ", which does not fit signed 64 bits",
                    override->value.magnitude);
    reader->param_is_known[index] = false;
    return;
  }
  param->value = override->value;
  reader->param_is_known[index] = true;
}

static void read_param(struct gr_reader *reader, const struct gr_pair *pair, uint32_t index,
                       const struct gr_override *override) {
  struct gr_param *param = &reader->params[index];
  param->mark = pair->key_mark;
  param->name = gr_reader_copy(reader, pair->key);
  if (!is_param_name(reader, pair)) return;
  struct gr_where where = gr_where_noun("param", pair->key);
  if (!pair->is_cut && gr_reader_takes(reader, &where, pair->value, GR_FIELD_VALUE)) {
    reader->param_is_known[index] = gr_reader_evaluate(
        reader, &where, pair->value, gr_item_text(gr_reader_item(reader, pair->value)), GR_VALUE_NUMBER, &param->value);
  }
  struct gr_number value = param->value;
  if (reader->param_is_known[index] && !value.is_real && !value.is_negative && value.magnitude > INT64_MAX) {
    gr_reader_error(reader, &where, gr_item_mark(gr_reader_item(reader, pair->value)),
                    "%" PRIu64 " does not fit signed 64 bits", value.magnitude);
    reader->param_is_known[index] = false;
  }
  if (override && param->name) apply_override(reader, override, index);
}

enum { LISTED_PARAMS_MAX = 8 };

/* Where no name is near, those that there are, if they are few. */
static void say_unknown_override(struct gr_reader *reader, struct gr_view name) {
  const struct gr_name_table *params = &reader->param_names;
  struct gr_view nearest = gr_reader_nearest(reader, params, name);
  struct gr_text text;
  gr_text_init(&text, reader->memory);
  if (nearest.length > 0) {
    gr_text_append_text(&text, gr_hint_of(nearest).text);
  } else if (params->count == 0) {
    gr_text_append_text(&text, ", which has no params");
  } else if (params->count <= LISTED_PARAMS_MAX) {
    for (uint32_t i = 0; i < params->count; i++) {
      gr_text_append_format(&text, "%s%s", i == 0 ? "; it has " : ", ", gr_view_quote(params->names[i]).text);
    }
  }
  if (text.failed) reader->is_out_of_memory = true;
  gr_reader_error(reader, NULL, (struct gr_mark){0, 0}, "the param %s, set from outside (--set), is not in the file%s",
                  gr_view_quote(name).text, text.bytes ? text.bytes : "");
  gr_text_release(&text);
}

/* For each param what sets it from outside, or null; the last one counts. */
static const struct gr_override **find_overrides(struct gr_reader *reader, uint32_t param_count) {
  const struct gr_override **found = gr_memory_allocate_zeroed(reader->memory, param_count, sizeof(void *));
  if (!gr_reader_has(reader, found)) return NULL;
  for (uint32_t i = 0; i < reader->options->override_count; i++) {
    const struct gr_override *override = &reader->options->overrides[i];
    struct gr_view name = gr_view_of(override->name);
    uint32_t index = gr_name_table_find(&reader->param_names, name);
    if (index != GR_NO_INDEX) {
      found[index] = override;
    } else if (!reader->cut.params) {
      say_unknown_override(reader, name);
    }
  }
  return found;
}

/* All names first: an expression that uses a param further down gets a message of its own. Numbered as in the file. */
static bool collect_params(struct gr_reader *reader, uint32_t map, uint32_t count) {
  if (!gr_name_table_init(&reader->param_names, reader->memory, count)) {
    reader->is_out_of_memory = true;
    return false;
  }
  reader->params = gr_arena_allocate_zeroed(&reader->pipeline->arena, count, sizeof *reader->params);
  reader->param_is_known = gr_memory_allocate_zeroed(reader->memory, count, sizeof *reader->param_is_known);
  if (!gr_reader_has(reader, reader->params) || !gr_reader_has(reader, reader->param_is_known)) return false;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t key = gr_document_child(reader->document, gr_reader_item(reader, map), 2 * (uint64_t)i);
    gr_name_table_add(&reader->param_names, gr_item_text(gr_reader_item(reader, key)), i);
  }
  return true;
}

/* `map` may be GR_NO_INDEX: then there are no params, and what is set from outside is unknown. */
static void read_params(struct gr_reader *reader, uint32_t map) {
  bool has_map = map != GR_NO_INDEX;
  uint32_t count = has_map ? gr_reader_item(reader, map)->count : 0;
  if (has_map && !collect_params(reader, map, count)) return;
  const struct gr_override **overrides = find_overrides(reader, count);
  struct gr_where where = gr_where_field(NULL, "params");
  struct gr_pairs pairs = has_map ? gr_reader_pairs(reader, map) : (struct gr_pairs){NULL, 0};
  struct gr_pair pair;
  while (has_map && overrides) {
    uint32_t index = (uint32_t)pairs.next;
    if (!gr_reader_next_pair(reader, &where, &pairs, &pair)) break;
    reader->visible_params = index;
    read_param(reader, &pair, index, overrides[index]);
  }
  reader->visible_params = count;
  reader->pipeline->params = reader->params;
  reader->pipeline->param_count = count;
  gr_memory_release(reader->memory, overrides);
}

/* ---- the rest of the top level ---- */

static bool read_version(struct gr_reader *reader, const struct gr_fields *fields) {
  if (!gr_field_is_usable(fields, GR_TOP_FIELD_VERSION)) return true;
  struct gr_where where = gr_where_field(NULL, "graphrun");
  uint32_t item = fields->values[GR_TOP_FIELD_VERSION];
  int64_t version;
  if (!gr_reader_integer(reader, &where, item, INT64_MIN, INT64_MAX, &version) || version == 1) return true;
  gr_reader_error(reader, &where, gr_item_mark(gr_reader_item(reader, item)),
                  "format version %" PRId64 " is not known here; this program reads version 1", version);
  return false;
}

/* "a/b/photo.yaml" gives "photo". */
static struct gr_view stem_of(const char *file) {
  struct gr_view stem = gr_view_of(file);
  const char *slash = strrchr(file, '/');
  if (slash) stem = gr_view_of(slash + 1);
  for (size_t i = stem.length; i-- > 1;) {
    if (stem.bytes[i] != '.') continue;
    stem.length = i;
    break;
  }
  return stem.length > 0 ? stem : gr_view_of("pipeline");
}

static void read_name(struct gr_reader *reader, const struct gr_fields *fields) {
  struct gr_pipeline *pipeline = reader->pipeline;
  if (!gr_field_is_there(fields, GR_TOP_FIELD_NAME)) {
    pipeline->name = gr_reader_copy(reader, stem_of(reader->document->file));
    return;
  }
  if (!gr_field_is_usable(fields, GR_TOP_FIELD_NAME)) return;
  const struct gr_item *item = gr_reader_item(reader, fields->values[GR_TOP_FIELD_NAME]);
  struct gr_where where = gr_where_field(NULL, "name");
  if (!gr_reader_name(reader, &where, gr_item_text(item), gr_item_mark(item), false)) return;
  pipeline->name = gr_reader_copy(reader, gr_item_text(item));
}

static void read_kernels(struct gr_reader *reader, const struct gr_fields *fields) {
  if (!gr_field_is_usable(fields, GR_TOP_FIELD_KERNELS)) return;
  uint32_t map = fields->values[GR_TOP_FIELD_KERNELS];
  const struct gr_item *item = gr_reader_item(reader, map);
  if (item->count == 0) return;
  if (!gr_name_table_init(&reader->kernel_names, reader->memory, item->count)) {
    reader->is_out_of_memory = true;
    return;
  }
  for (uint32_t i = 0; i < item->count; i++) {
    uint32_t key = gr_document_child(reader->document, item, 2 * (uint64_t)i);
    gr_name_table_add(&reader->kernel_names, gr_item_text(gr_reader_item(reader, key)), i);
  }
  const struct gr_item *first = gr_reader_item(reader, gr_document_child(reader->document, item, 0));
  struct gr_where where = gr_where_field(NULL, "kernels");
  gr_reader_unsupported(reader, &where, gr_item_mark(first), "kernels of the user's own are not supported yet");
}

/* Is what declares names there, but wrong or not whole? */
static bool is_cut(const struct gr_reader *reader, const struct gr_fields *fields, uint32_t field) {
  if (!gr_field_is_there(fields, field)) return gr_reader_item(reader, reader->document->root)->is_cut;
  return !gr_field_is_usable(fields, field) || gr_reader_item(reader, fields->values[field])->is_cut;
}

static void read_streams(struct gr_reader *reader, const struct gr_fields *top) {
  struct gr_fields fields = {.values = {GR_NO_INDEX, GR_NO_INDEX}};
  struct gr_where where = gr_where_field(NULL, "streams");
  if (gr_field_is_usable(top, GR_TOP_FIELD_STREAMS) &&
      !gr_reader_fields(reader, &where, top->values[GR_TOP_FIELD_STREAMS], &gr_streams_fields, &fields))
    return;
  uint32_t policy;
  gr_reader_word_field(reader, &where, &fields, &gr_streams_fields, GR_STREAMS_FIELD_POLICY, policy_names, POLICY_COUNT,
                       &policy);
  reader->pipeline->policy = (enum gr_policy)policy;
  if (!gr_field_is_usable(&fields, GR_STREAMS_FIELD_MAX)) return;
  struct gr_where inner = gr_where_field(&where, "max");
  int64_t max;
  if (gr_reader_integer(reader, &inner, fields.values[GR_STREAMS_FIELD_MAX], 1, UINT32_MAX, &max)) {
    reader->pipeline->stream_max = (uint32_t)max;
  }
}

static void read_choices(struct gr_reader *reader, const struct gr_fields *fields) {
  uint32_t order;
  uint32_t races;
  gr_reader_word_field(reader, NULL, fields, &gr_top_fields, GR_TOP_FIELD_ORDER, order_names, ORDER_COUNT, &order);
  gr_reader_word_field(reader, NULL, fields, &gr_top_fields, GR_TOP_FIELD_RACES, race_names, RACE_COUNT, &races);
  reader->pipeline->order = (enum gr_order)order;
  reader->pipeline->races = (enum gr_races)races;
}

/* Only of a file that is right otherwise: what is wrong may have hidden a use. */
static void warn_of_unused_buffers(struct gr_reader *reader) {
  if (reader->invalid_count + reader->unsupported_count > 0 || reader->is_out_of_memory) return;
  if (reader->document->is_flawed) return;
  for (uint32_t i = 0; i < reader->pipeline->buffer_count; i++) {
    if (reader->buffer_states[i].is_used) continue;
    struct gr_where where = gr_where_noun("buffer", gr_view_of(reader->buffers[i].name));
    gr_reader_warning(reader, &where, reader->buffers[i].mark, "no node uses it");
  }
}

static void read_top(struct gr_reader *reader) {
  struct gr_fields fields;
  if (!gr_reader_fields(reader, NULL, reader->document->root, &gr_top_fields, &fields)) return;
  /* A file of another version would be wrong in ways that mean nothing. */
  if (!read_version(reader, &fields)) return;
  reader->cut = (struct gr_cut){.params = is_cut(reader, &fields, GR_TOP_FIELD_PARAMS),
                                .kernels = is_cut(reader, &fields, GR_TOP_FIELD_KERNELS),
                                .buffers = is_cut(reader, &fields, GR_TOP_FIELD_BUFFERS)};
  bool has_params = gr_field_is_usable(&fields, GR_TOP_FIELD_PARAMS);
  read_params(reader, has_params ? fields.values[GR_TOP_FIELD_PARAMS] : GR_NO_INDEX);
  read_name(reader, &fields);
  read_choices(reader, &fields);
  read_streams(reader, &fields);
  read_kernels(reader, &fields);
  if (gr_field_is_usable(&fields, GR_TOP_FIELD_BUFFERS) && !reader->is_out_of_memory) {
    gr_reader_buffers(reader, fields.values[GR_TOP_FIELD_BUFFERS]);
  }
  if (gr_field_is_usable(&fields, GR_TOP_FIELD_NODES) && !reader->is_out_of_memory) {
    gr_reader_nodes(reader, fields.values[GR_TOP_FIELD_NODES]);
  }
  warn_of_unused_buffers(reader);
}

/* ---- making one ---- */

/* A growing array, moved to the arena. */
static const void *settle(struct gr_reader *reader, const struct gr_growing *growing, size_t size_bytes) {
  void *settled = gr_arena_allocate(&reader->pipeline->arena, growing->count, size_bytes);
  if (!gr_reader_has(reader, settled)) return NULL;
  if (growing->count > 0) memcpy(settled, growing->elements, growing->count * size_bytes);
  return settled;
}

static void settle_all(struct gr_reader *reader) {
  struct gr_pipeline *pipeline = reader->pipeline;
  pipeline->after = settle(reader, &reader->after, sizeof *pipeline->after);
  pipeline->references = settle(reader, &reader->references, sizeof *pipeline->references);
  pipeline->accesses = settle(reader, &reader->accesses, sizeof *pipeline->accesses);
  pipeline->arguments = settle(reader, &reader->arguments, sizeof *pipeline->arguments);
}

static void release_reader(struct gr_reader *reader) {
  gr_name_table_release(&reader->param_names);
  gr_name_table_release(&reader->kernel_names);
  gr_name_table_release(&reader->buffer_names);
  gr_name_table_release(&reader->node_names);
  gr_memory_release(reader->memory, reader->param_is_known);
  gr_memory_release(reader->memory, reader->buffer_states);
  gr_memory_release(reader->memory, reader->seen_after);
  gr_memory_release(reader->memory, reader->after.elements);
  gr_memory_release(reader->memory, reader->references.elements);
  gr_memory_release(reader->memory, reader->accesses.elements);
  gr_memory_release(reader->memory, reader->arguments.elements);
}

static enum gr_status status_of(const struct gr_reader *reader) {
  if (reader->is_out_of_memory || reader->diagnostics->out_of_memory) return GR_ERR_NO_MEMORY;
  if (reader->invalid_count > 0 || reader->document->is_flawed) return GR_ERR_INVALID;
  return reader->unsupported_count > 0 ? GR_ERR_NOT_SUPPORTED : GR_OK;
}

static enum gr_status read_all(struct gr_reader *reader) {
  const char *folder = reader->options->folder ? reader->options->folder : "";
  reader->pipeline->file = gr_reader_copy(reader, gr_view_of(reader->document->file));
  reader->pipeline->folder = gr_reader_copy(reader, gr_view_of(folder));
  if (!reader->is_out_of_memory) read_top(reader);
  if (status_of(reader) == GR_ERR_NO_MEMORY) return GR_ERR_NO_MEMORY;
  settle_all(reader);
  return status_of(reader);
}

/* Every node needs a name to be shown by, also where its id is wrong. */
static void name_nodes(struct gr_reader *reader) {
  for (uint32_t i = 0; i < reader->node_names.count; i++) {
    struct gr_node *node = &reader->nodes[reader->node_names.indexes[i]];
    if (!node->name) node->name = gr_reader_copy(reader, gr_view_of(gr_view_quote(reader->node_names.names[i]).text));
  }
  for (uint32_t i = 0; i < reader->pipeline->node_count; i++) {
    if (!reader->nodes[i].name) reader->nodes[i].name = "";
  }
}

enum gr_status gr_pipeline_read(struct gr_memory *memory, const struct gr_document *document,
                                const struct gr_pipeline_options *options, struct gr_diagnostics *diagnostics,
                                struct gr_pipeline **pipeline) {
  struct gr_pipeline *made = gr_memory_allocate_zeroed(memory, 1, sizeof *made);
  if (!made) return GR_ERR_NO_MEMORY;
  gr_arena_init(&made->arena, memory);
  struct gr_reader reader = {
      .memory = memory, .document = document, .options = options, .diagnostics = diagnostics, .pipeline = made};
  enum gr_status status = read_all(&reader);
  made->is_flawed = status != GR_OK;
  if (made->is_flawed && status != GR_ERR_NO_MEMORY) {
    name_nodes(&reader);
    status = status_of(&reader);
  }
  release_reader(&reader);
  if (status == GR_OK || (status != GR_ERR_NO_MEMORY && made->node_count > 0)) {
    *pipeline = made;
  } else {
    gr_pipeline_destroy(made);
  }
  return status;
}

void gr_pipeline_destroy(struct gr_pipeline *pipeline) {
  if (!pipeline) return;
  struct gr_memory *memory = pipeline->arena.memory;
  gr_arena_release(&pipeline->arena);
  gr_memory_release(memory, pipeline);
}

char *gr_pipeline_path(const struct gr_pipeline *pipeline, struct gr_memory *memory, const char *path) {
  size_t folder_length = path[0] == '/' ? 0 : strlen(pipeline->folder);
  size_t length = strlen(path);
  char *whole = gr_memory_allocate(memory, folder_length + length + 1);
  if (!whole) return NULL;
  memcpy(whole, pipeline->folder, folder_length);
  memcpy(whole + folder_length, path, length + 1);
  return whole;
}
