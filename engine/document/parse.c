/* libyaml's events to the tree. libyaml lets much through that the format forbids (duplicate keys, unknown anchors,
 * several documents, any tag), has no bound on depth, and is slow on a few odd inputs: all of that is handled here or
 * in build.c while events arrive. */
#include <inttypes.h>
#include <string.h>
#include <yaml.h>

#include "engine/document/document_internal.h"

/* libyaml clears a scratch string at each run of blanks within a scalar, in full: after one run of N blanks every later
 * word of the same scalar costs N. Runs below the first number are not worth counting, the second is the bytes that may
 * be cleared in all (less than a second). */
enum { BLANK_RUN_MIN = 1024 };
static const uint64_t CLEARED_BYTES_MAX = UINT64_C(1) << 33;

enum refusal { REFUSED_NOTHING, REFUSED_BLANKS, REFUSED_TAG_DIRECTIVES };

/* Gives libyaml its input, piece by piece, and watches what it makes of it. */
struct feeder {
  const yaml_parser_t *parser;
  struct gr_view source;
  size_t offset;
  size_t pair;       /* the first surrogate pair that libyaml does not have in full; the source's length: none */
  bool has_pairs;    /* it has some */
  size_t json_start; /* in a file that may be JSON: the blanks before and behind these lie around its only value */
  size_t json_end;
  uint64_t token;     /* number of the token that was being scanned at the last piece */
  size_t run;         /* blanks at the end of the last piece */
  size_t piece_run;   /* the longest one in the last piece */
  size_t longest_run; /* the longest one since that token began, or a little before */
  uint64_t cleared_bytes;
  enum refusal refusal;
};

struct owned_document {
  struct gr_document document; /* first: what callers hold */
  struct gr_memory *memory;
  char *source;
  struct gr_item *items;
  uint32_t *children;
};

struct parse {
  char *source; /* a private copy, which the document takes over */
  struct gr_document_builder builder;
  struct gr_document_cursor cursor;
  yaml_parser_t parser;
  struct feeder feeder;
  uint32_t document_count;
  bool end_is_explicit;   /* the first document ended with '...' */
  uint32_t skipped_depth; /* inside a second document, which is only read for its syntax */
  bool is_over;           /* nothing more can be read */
};

static bool is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* Adds a piece to the estimate of what libyaml clears. */
static void watch_blanks(struct feeder *feeder, const char *bytes, size_t length) {
  uint64_t run_count = 0;
  feeder->piece_run = 0;
  for (size_t i = 0; i < length; i++) {
    if (!is_blank(bytes[i])) {
      run_count += feeder->run > 0;
      feeder->run = 0;
    } else if (++feeder->run > feeder->piece_run) {
      feeder->piece_run = feeder->run;
    }
  }
  if (feeder->longest_run < feeder->piece_run) feeder->longest_run = feeder->piece_run;
  if (feeder->longest_run >= BLANK_RUN_MIN) feeder->cleared_bytes += run_count * feeder->longest_run;
}

/* Where the braces of a file of JSON begin and end; elsewhere where the file does. */
static void find_json(struct feeder *feeder) {
  const char *bytes = feeder->source.bytes;
  size_t start = feeder->offset;
  size_t end = feeder->source.length;
  while (start < end && is_blank(bytes[start])) start++;
  while (end > start && is_blank(bytes[end - 1])) end--;
  bool is_json = start < end && bytes[start] == '{' && bytes[end - 1] == '}';
  feeder->json_start = is_json ? start : 0;
  feeder->json_end = is_json ? end : feeder->source.length;
}

/* JSON has tabs around its value, where libyaml would take them for indentation. */
static void replace_tabs(const struct feeder *feeder, unsigned char *buffer, size_t length) {
  for (size_t i = 0; i < length; i++) {
    size_t offset = feeder->offset + i;
    if (offset >= feeder->json_start && offset < feeder->json_end) {
      if (feeder->json_end - feeder->offset >= length) return;
      i = feeder->json_end - feeder->offset - 1;
    } else if (buffer[i] == '\t') {
      buffer[i] = ' ';
    }
  }
}

static void hide_pairs(struct feeder *feeder, unsigned char *buffer, size_t length) {
  size_t end = feeder->offset + length;
  while (feeder->pair < end) {
    feeder->has_pairs = true;
    gr_document_hide_pair(feeder->source, feeder->pair, buffer, feeder->offset, length);
    size_t pair_end = feeder->pair + GR_DOCUMENT_PAIR_BYTES;
    if (pair_end > end) return; /* the next piece has the rest */
    feeder->pair = gr_document_find_pair(feeder->source, pair_end);
  }
}

static int feed(void *context, unsigned char *buffer, size_t size, size_t *size_read) {
  struct feeder *feeder = context;
  const yaml_parser_t *parser = feeder->parser;
  uint64_t token = parser->tokens_parsed + (uint64_t)(parser->tokens.tail - parser->tokens.head);
  if (token != feeder->token) feeder->longest_run = feeder->piece_run; /* it began somewhere in the last piece */
  feeder->token = token;

  size_t length = feeder->source.length - feeder->offset;
  if (length > size) length = size;
  const char *bytes = feeder->source.bytes + feeder->offset;
  watch_blanks(feeder, bytes, length);
  if (feeder->cleared_bytes > CLEARED_BYTES_MAX) feeder->refusal = REFUSED_BLANKS;
  /* libyaml compares each %TAG with all before it. */
  if (parser->tag_directives.top - parser->tag_directives.start > GR_DOCUMENT_TAG_DIRECTIVES_MAX)
    feeder->refusal = REFUSED_TAG_DIRECTIVES;
  if (feeder->refusal != REFUSED_NOTHING) return 0;

  if (length > 0) memcpy(buffer, bytes, length);
  replace_tabs(feeder, buffer, length);
  hide_pairs(feeder, buffer, length);
  feeder->offset += length;
  *size_read = length;
  return 1;
}

static struct gr_mark place_of(struct parse *parse, yaml_mark_t mark) {
  gr_document_cursor_move(&parse->cursor, mark.index);
  return gr_document_cursor_mark(&parse->cursor);
}

static const char *const tag_prefix = "tag:yaml.org,2002:";

/* As a person writes it: "!!int" for the long form. */
static struct gr_quote quote_tag(const char *tag) {
  char text[GR_QUOTE_BYTES] = "!!";
  struct gr_view view = gr_view_of(tag);
  size_t prefix_length = strlen(tag_prefix);
  if (strncmp(tag, tag_prefix, prefix_length) == 0) {
    size_t length = view.length - prefix_length;
    if (length > sizeof text - 3) length = sizeof text - 3;
    memcpy(text + 2, tag + prefix_length, length);
    view = (struct gr_view){text, length + 2};
  }
  return gr_view_quote(view);
}

/* Says what is wrong with a tag; `kind` is what it stands on. */
static void check_tag(struct parse *parse, const yaml_char_t *yaml_tag, enum gr_item_kind kind, struct gr_mark mark) {
  static const struct {
    const char *name;
    enum gr_item_kind kind;
  } known[] = {
      {"str", GR_ITEM_SCALAR}, {"int", GR_ITEM_SCALAR}, {"float", GR_ITEM_SCALAR},
      {"map", GR_ITEM_MAP},    {"seq", GR_ITEM_LIST},
  };
  static const char *const kinds[] = {"scalar", "list", "map"};
  if (!yaml_tag) return;
  const char *tag = (const char *)yaml_tag;
  size_t prefix_length = strlen(tag_prefix);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strncmp(tag, tag_prefix, prefix_length) != 0 || strcmp(tag + prefix_length, known[i].name) != 0) continue;
    if (known[i].kind != kind)
      gr_diagnostics_error(parse->builder.diagnostics, mark, "the tag %s does not fit a %s", quote_tag(tag).text,
                           kinds[kind]);
    return;
  }
  gr_diagnostics_error(parse->builder.diagnostics, mark,
                       "the tag %s is not allowed; only !!str, !!int, !!float, !!map and !!seq are",
                       quote_tag(tag).text);
}

static struct gr_view anchor_name(const yaml_char_t *anchor) { return gr_view_of((const char *)anchor); }

/* The value as the file means it, in libyaml's own memory. The cursor is where the event starts. */
static struct gr_view value_of(const struct parse *parse, const yaml_event_t *event) {
  char *value = (char *)event->data.scalar.value;
  size_t length = event->data.scalar.length;
  yaml_scalar_style_t style = event->data.scalar.style;
  struct gr_view source = parse->cursor.source;
  size_t start = parse->cursor.offset;
  if (!parse->feeder.has_pairs || length == 0) return (struct gr_view){value, length};
  if (style == YAML_DOUBLE_QUOTED_SCALAR_STYLE) {
    length = gr_document_join_pairs(source, start, value, length);
  } else {
    bool is_block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    gr_document_restore_pairs(source, start, is_block, value, length);
  }
  return (struct gr_view){value, length};
}

/* The bytes of the value in the source where they stand there as they are, else a copy. */
static struct gr_view keep_value(struct parse *parse, const yaml_event_t *event) {
  struct gr_view value = value_of(parse, event);
  yaml_scalar_style_t style = event->data.scalar.style;
  struct gr_view source = parse->cursor.source;
  bool is_quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  size_t start = parse->cursor.offset + (is_quoted ? 1 : 0);
  if (start <= source.length && value.length <= source.length - start &&
      (value.length == 0 || memcmp(source.bytes + start, value.bytes, value.length) == 0))
    return (struct gr_view){source.bytes + start, value.length};
  return gr_document_copy_text(&parse->builder, value);
}

static bool take_scalar(struct parse *parse, const yaml_event_t *event) {
  struct gr_mark mark = place_of(parse, event->start_mark);
  check_tag(parse, event->data.scalar.tag, GR_ITEM_SCALAR, mark);
  struct gr_view text = keep_value(parse, event);
  if (!text.bytes) return false;
  const yaml_char_t *tag = event->data.scalar.tag;
  struct gr_item item = {
      .line = mark.line,
      .column = mark.column,
      .text = text.bytes,
      .count = (uint32_t)text.length,
      .kind = GR_ITEM_SCALAR,
      /* What is tagged !!str is as little a `~` or a `<<` as if it were quoted. */
      .is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                  !(tag && strcmp((const char *)tag, "tag:yaml.org,2002:str") == 0),
      .is_flow = gr_document_is_in_flow(&parse->builder),
  };
  return gr_document_add_scalar(&parse->builder, item, anchor_name(event->data.scalar.anchor));
}

static bool take_start(struct parse *parse, const yaml_event_t *event) {
  bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
  enum gr_item_kind kind = is_list ? GR_ITEM_LIST : GR_ITEM_MAP;
  struct gr_mark mark = place_of(parse, event->start_mark);
  check_tag(parse, is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag, kind, mark);
  /* Every further level would make libyaml slower. */
  if (parse->builder.frame_count == GR_DOCUMENT_DEPTH_MAX) {
    gr_diagnostics_error(parse->builder.diagnostics, mark, "lists and maps are nested deeper than %d",
                         GR_DOCUMENT_DEPTH_MAX);
    parse->builder.is_broken = true;
    parse->is_over = true;
    return true;
  }
  struct gr_item item = {
      .line = mark.line,
      .column = mark.column,
      .kind = (uint8_t)kind,
      .is_flow = is_list ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                         : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
  };
  const yaml_char_t *anchor = is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
  return gr_document_open(&parse->builder, item, anchor_name(anchor));
}

static void take_document_start(struct parse *parse, const yaml_event_t *event) {
  struct gr_mark mark = place_of(parse, event->start_mark);
  parse->document_count++;
  if (parse->document_count == 2)
    gr_diagnostics_error(parse->builder.diagnostics, mark, "a second document starts here; a pipeline file holds one");
  if (event->data.document_start.tag_directives.end - event->data.document_start.tag_directives.start >
      GR_DOCUMENT_TAG_DIRECTIVES_MAX)
    parse->feeder.refusal = REFUSED_TAG_DIRECTIVES;
}

/* What lies in a second document is not kept, but its syntax and depth count. */
static void skip(struct parse *parse, const yaml_event_t *event) {
  if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT) {
    if (++parse->skipped_depth > GR_DOCUMENT_DEPTH_MAX) parse->is_over = true;
  } else if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
    parse->skipped_depth--;
  }
}

/* False without memory. */
static bool take_event(struct parse *parse, const yaml_event_t *event) {
  if (event->type == YAML_DOCUMENT_START_EVENT) {
    take_document_start(parse, event);
    return true;
  }
  if (event->type == YAML_DOCUMENT_END_EVENT) {
    if (parse->document_count == 1) parse->end_is_explicit = !event->data.document_end.implicit;
    return true;
  }
  if (event->type == YAML_STREAM_END_EVENT || event->type == YAML_NO_EVENT) {
    parse->is_over = true;
    return true;
  }
  if (parse->document_count > 1) {
    skip(parse, event);
    return true;
  }
  switch (event->type) {
    case YAML_SCALAR_EVENT:
      return take_scalar(parse, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
      return take_start(parse, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return gr_document_close(&parse->builder);
    case YAML_ALIAS_EVENT:
      return gr_document_add_alias(&parse->builder, anchor_name(event->data.alias.anchor),
                                   place_of(parse, event->start_mark));
    default: /* the start of the stream */
      return true;
  }
}

static void report_refusal(struct parse *parse) {
  struct gr_mark mark = gr_document_place(parse->cursor.source, parse->parser.mark.index);
  if (parse->feeder.refusal == REFUSED_TAG_DIRECTIVES) {
    gr_diagnostics_error(parse->builder.diagnostics, mark, "there are more than %d %%TAG directives",
                         GR_DOCUMENT_TAG_DIRECTIVES_MAX);
  } else {
    gr_diagnostics_error(parse->builder.diagnostics, mark,
                         "a run of %zu blanks or blank lines lies within a long text, which takes too long to read",
                         parse->feeder.longest_run);
  }
}

/* False where libyaml ran out of memory, which it does not always call by that name. */
static bool report_failure(struct parse *parse) {
  const yaml_parser_t *parser = &parse->parser;
  parse->builder.is_broken = true;
  if (parse->feeder.refusal != REFUSED_NOTHING) {
    report_refusal(parse);
    return true;
  }
  if (parser->error == YAML_MEMORY_ERROR || parser->error == YAML_NO_ERROR) return false;
  struct gr_document_syntax syntax = {
      .problem = parser->problem,
      .context = parser->context,
      .problem_character = parser->problem_mark.index,
      .context_character = parser->context_mark.index,
      .document_ended = parse->document_count > 0 && parse->builder.frame_count == 0,
      .end_is_explicit = parse->end_is_explicit,
  };
  if (gr_document_is_in_flow(&parse->builder)) {
    const struct gr_document_builder *builder = &parse->builder;
    const struct gr_item *open = &builder->items[builder->frames[builder->frame_count - 1].item];
    syntax.open_flow = gr_item_mark(open);
    syntax.open_is_map = open->kind == GR_ITEM_MAP;
  }
  gr_document_report_syntax(parse->builder.diagnostics, parse->cursor.source, &syntax);
  return true;
}

/* False without memory. */
static bool take_events(struct parse *parse) {
  while (!parse->is_over) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parse->parser, &event)) {
      parse->is_over = true;
      return report_failure(parse);
    }
    bool has_memory = take_event(parse, &event);
    yaml_event_delete(&event);
    if (!has_memory) return false;
    if (parse->feeder.refusal != REFUSED_NOTHING) {
      parse->builder.is_broken = true;
      report_refusal(parse);
      return true;
    }
  }
  return true;
}

/* Of a file that could be read to its end: what is missing is then missing for no other reason. */
static void check_root(struct parse *parse) {
  struct gr_document_builder *builder = &parse->builder;
  struct gr_mark start = {1, 1};
  if (builder->is_broken) return;
  if (!builder->has_root) {
    gr_diagnostics_error(builder->diagnostics, start,
                         "the file is empty%s; a pipeline starts with \"graphrun: 1\" and has \"nodes\"",
                         parse->cursor.source.length > 0 ? " but for blanks and comments" : "");
    return;
  }
  const struct gr_item *root = &builder->items[builder->root];
  if (root->kind == GR_ITEM_MAP || root->kind == GR_ITEM_REFUSED) return;
  bool is_empty = root->kind == GR_ITEM_SCALAR && root->is_plain && root->count == 0;
  gr_diagnostics_error(builder->diagnostics, gr_item_mark(root),
                       "the file must be a map with keys such as \"graphrun\" and \"nodes\", but is %s",
                       is_empty                     ? "an empty document"
                       : root->kind == GR_ITEM_LIST ? "a list"
                                                    : "a scalar");
}

static bool is_whole(const struct gr_document_builder *builder) {
  return !builder->is_broken && builder->has_root && builder->items[builder->root].kind == GR_ITEM_MAP;
}

/* The smaller block, or the old one where even shrinking fails. */
static void *shrink(struct gr_memory *memory, void *address, size_t count, size_t size_bytes) {
  void *smaller = address ? gr_memory_resize(memory, address, count, size_bytes) : NULL;
  return smaller ? smaller : address;
}

/* Hands what the builder made over to a document. Null without memory. */
static struct gr_document *finish(struct parse *parse, const char *file) {
  struct gr_document_builder *builder = &parse->builder;
  char *name = gr_arena_copy(&builder->arena, file ? file : "", file ? strlen(file) : 0);
  struct owned_document *owned = gr_memory_allocate_zeroed(builder->memory, 1, sizeof *owned);
  if (!name || !owned) {
    gr_memory_release(builder->memory, owned);
    return NULL;
  }
  owned->memory = builder->memory;
  owned->source = parse->source;
  owned->items = shrink(builder->memory, builder->items, builder->item_count, sizeof *builder->items);
  owned->children = shrink(builder->memory, builder->children, builder->child_count, sizeof *builder->children);
  owned->document = (struct gr_document){
      .arena = builder->arena,
      .file = name,
      .source = parse->cursor.source,
      .items = owned->items,
      .item_count = (uint32_t)builder->item_count,
      .children = owned->children,
      .root = builder->root,
      .expanded_count = builder->root_expanded,
  };
  gr_arena_init(&builder->arena, builder->memory);
  parse->source = NULL;
  builder->items = NULL;
  builder->children = NULL;
  return &owned->document;
}

/* False without memory. */
static bool start(struct parse *parse, struct gr_view source) {
  parse->source = gr_memory_allocate(parse->builder.memory, source.length);
  if (!parse->source) return false;
  if (source.length > 0) memcpy(parse->source, source.bytes, source.length);
  struct gr_view own = {parse->source, source.length};
  gr_document_cursor_init(&parse->cursor, own);
  if (!yaml_parser_initialize(&parse->parser)) return false;
  parse->feeder.parser = &parse->parser;
  parse->feeder.source = own;
  parse->feeder.offset = parse->cursor.offset; /* the BOM is ours */
  parse->feeder.pair = gr_document_find_pair(own, parse->feeder.offset);
  find_json(&parse->feeder);
  yaml_parser_set_encoding(&parse->parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input(&parse->parser, feed, &parse->feeder);
  return true;
}

static enum gr_status out_of_memory(struct gr_diagnostics *diagnostics) {
  diagnostics->out_of_memory = true;
  return GR_ERR_NO_MEMORY;
}

/* Everything between the builder's beginning and its end. */
static enum gr_status run(struct parse *parse, const char *file, struct gr_view source, uint64_t errors_before,
                          struct gr_document **document) {
  struct gr_diagnostics *diagnostics = parse->builder.diagnostics;
  if (!start(parse, source)) return out_of_memory(diagnostics);
  bool has_memory = take_events(parse);
  yaml_parser_delete(&parse->parser);
  if (!has_memory) return out_of_memory(diagnostics);
  check_root(parse);
  if (diagnostics->out_of_memory) return GR_ERR_NO_MEMORY;
  bool is_flawed = diagnostics->error_count > errors_before;
  if (is_flawed && !is_whole(&parse->builder)) return GR_ERR_INVALID;
  struct gr_document *finished = finish(parse, file);
  if (!finished) return out_of_memory(diagnostics);
  finished->is_flawed = is_flawed;
  *document = finished;
  return is_flawed ? GR_ERR_INVALID : GR_OK;
}

enum gr_status gr_document_parse(struct gr_memory *memory, const char *file, struct gr_view source,
                                 struct gr_diagnostics *diagnostics, struct gr_document **document) {
  uint64_t errors_before = diagnostics->error_count;
  if (!gr_document_check_bytes(source, diagnostics))
    return diagnostics->out_of_memory ? GR_ERR_NO_MEMORY : GR_ERR_INVALID;
  struct parse *parse = gr_memory_allocate_zeroed(memory, 1, sizeof *parse);
  if (!parse) return out_of_memory(diagnostics);
  gr_document_builder_init(&parse->builder, memory, diagnostics);
  enum gr_status status = run(parse, file, source, errors_before, document);
  gr_document_builder_release(&parse->builder);
  gr_memory_release(memory, parse->source);
  gr_memory_release(memory, parse);
  return status;
}

void gr_document_destroy(struct gr_document *document) {
  if (!document) return;
  struct owned_document *owned = (struct owned_document *)document;
  struct gr_memory *memory = owned->memory;
  gr_arena_release(&owned->document.arena);
  gr_memory_release(memory, owned->source);
  gr_memory_release(memory, owned->items);
  gr_memory_release(memory, owned->children);
  gr_memory_release(memory, owned);
}
