/* The report for people. report_json.c has the one for programs. */
#include "engine/run/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/run/run_internal.h"

enum {
  SHOWN_FIRST = 20,
  SHOWN_NOT_OK = 50, /* of those that may be at fault, and of those that were not reached */
  SHOWN_MAX = SHOWN_FIRST + 2 * SHOWN_NOT_OK,
  NAME_COLUMNS_MIN = 4, /* of the head line */
  NAME_COLUMNS_MAX = 32,
};

void gr_report_init(struct gr_report *report, struct gr_memory *memory) {
  memset(report, 0, sizeof *report);
  report->memory = memory;
}

void gr_report_release(struct gr_report *report) {
  struct gr_memory *memory = report->memory;
  if (!memory) return;
  const char *const owned[] = {report->pipeline_file, report->pipeline_name, report->backend_reason};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) gr_memory_release(memory, (void *)(uintptr_t)owned[i]);
  gr_memory_release(memory, report->states);
  gr_memory_release(memory, report->expects);
  gr_report_init(report, memory);
}

/* ---- what both reports say ---- */

enum gr_node_state gr_report_state(const struct gr_report *report, uint32_t step) {
  return report->states ? report->states[step] : GR_NODE_NOT_RUN;
}

bool gr_report_error_is_of(const struct gr_report *report, uint32_t step) {
  enum gr_node_state state = gr_report_state(report, step);
  if (report->status == GR_OK || (state != GR_NODE_FAILED && state != GR_NODE_TIMEOUT)) return false;
  return report->error.node[0] == '\0' || strcmp(report->error.node, gr_plan_node_name(report->plan, step)) == 0;
}

const char *gr_report_kind(const struct gr_report *report, uint32_t step) {
  return gr_node_kind_name((enum gr_node_kind)report->plan->pipeline->nodes[report->plan->steps[step].node_index].kind);
}

/* ---- for people ---- */

struct paint {
  struct gr_text *out;
  bool color;
};

static void append_painted(const struct paint *paint, const char *color, const char *text) {
  if (paint->color && color) gr_text_append_format(paint->out, "\033[%sm%s\033[0m", color, text);
  else gr_text_append_text(paint->out, text);
}

static const char *color_of(enum gr_node_state state) {
  switch (state) {
    case GR_NODE_OK:
      return "32";
    case GR_NODE_FAILED:
    case GR_NODE_TIMEOUT:
      return "31";
    case GR_NODE_SUSPECT:
      return "33";
    case GR_NODE_NOT_RUN:
    case GR_NODE_SKIPPED:
    case GR_NODE_NO_OP:
      return "2";
  }
  return NULL;
}

/* The character at `at`, its columns, and where the next one is. Names are valid UTF-8. */
static const char *next_character(const char *at, uint32_t *columns) {
  size_t length = gr_utf8_length(gr_view_of(at));
  if (length == 0) length = 1;
  *columns = gr_utf8_width(gr_utf8_decode(at, length));
  return at + length;
}

static uint32_t width_of(const char *name) {
  uint32_t width = 0, columns;
  for (const char *at = name; *at; width += columns) at = next_character(at, &columns);
  return width;
}

static void append_blanks(struct gr_text *out, uint32_t count) { gr_text_append_format(out, "%*s", (int)count, ""); }

/* A name in a column; long ones are cut at a character. */
static void append_name(struct gr_text *out, const char *name, uint32_t columns) {
  uint32_t width = width_of(name), shown = 0;
  if (width <= columns) {
    gr_text_append_text(out, name);
    append_blanks(out, columns - width);
    return;
  }
  const char *end = name;
  for (uint32_t next = 0;;) {
    const char *at = next_character(end, &next);
    if (shown + next > columns - 3) break;
    shown += next;
    end = at;
  }
  gr_text_append(out, name, (size_t)(end - name));
  gr_text_append_text(out, "...");
  append_blanks(out, columns - 3 - shown);
}

static void append_head(const struct paint *paint, const struct gr_report *report) {
  struct gr_text *out = paint->out;
  bool is_ok = report->status == GR_OK;
  const char *name = report->pipeline_name ? report->pipeline_name : report->pipeline_file;
  append_painted(paint, "1", name ? name : "pipeline");
  gr_text_append_text(out, ": ");
  append_painted(paint, is_ok ? "32" : "31", is_ok ? "ok" : gr_status_text(report->status));
  if (report->backend_name) {
    gr_text_append_format(out, ", %s backend", report->backend_name);
    if (report->device.name[0]) gr_text_append_format(out, " (%s)", report->device.name);
    gr_text_append_format(out, ", mode %s", gr_mode_name(report->mode));
  }
  if (report->repeat > 0) {
    gr_text_append_format(out, ", %" PRIu64 " of %" PRIu64 " replays", report->replays_done, report->repeat);
  }
  gr_text_append_text(out, "\n");
  if (report->backend_reason) gr_text_append_format(out, "  chosen: %s\n", report->backend_reason);
}

static void append_error(const struct paint *paint, const struct gr_report *report) {
  if (report->status == GR_OK) return;
  struct gr_text *out = paint->out;
  gr_text_append_text(out, "  ");
  append_painted(paint, "31", "error: ");
  if (report->error.file[0] && report->error.line > 0) {
    gr_text_append_format(out, "%s:%" PRIu32 ":%" PRIu32 ": ", report->error.file, report->error.line,
                          report->error.column);
  }
  gr_text_append_text(out, report->error.message[0] ? report->error.message : gr_status_text(report->status));
  if (report->error.backend_code[0]) gr_text_append_format(out, " (%s)", report->error.backend_code);
  gr_text_append_text(out, "\n");
}

static void append_node(const struct paint *paint, const struct gr_report *report, uint32_t node, uint32_t columns) {
  const struct gr_plan *plan = report->plan;
  uint32_t step = plan->step_of_node[node];
  enum gr_node_state state = gr_report_state(report, step);
  gr_text_append_text(paint->out, "  ");
  append_name(paint->out, plan->pipeline->nodes[node].name, columns);
  gr_text_append_format(paint->out, "  %-7s  %5" PRIu32 "  %6" PRIu32 "  ", gr_report_kind(report, step),
                        plan->steps[step].level, plan->steps[step].lane);
  append_painted(paint, color_of(state), gr_node_state_name(state));
  gr_text_append_text(paint->out, "\n");
}

static bool is_noteworthy(enum gr_node_state state) { return state != GR_NODE_OK && state != GR_NODE_NO_OP; }

/* Those that may be at fault before those that were never reached. */
static bool is_culprit(enum gr_node_state state) {
  return state == GR_NODE_FAILED || state == GR_NODE_SUSPECT || state == GR_NODE_TIMEOUT;
}

/* The nodes of the table, by index. */
struct shown_nodes {
  uint32_t indexes[SHOWN_MAX];
  uint32_t count;
};

static void choose_more(const struct gr_report *report, bool culprits, struct shown_nodes *nodes) {
  const struct gr_plan *plan = report->plan;
  uint32_t end = nodes->count + SHOWN_NOT_OK;
  for (uint32_t i = SHOWN_FIRST; i < plan->step_count && nodes->count < end; i++) {
    enum gr_node_state state = gr_report_state(report, plan->step_of_node[i]);
    if (is_noteworthy(state) && is_culprit(state) == culprits) nodes->indexes[nodes->count++] = i;
  }
}

static void choose_nodes(const struct gr_report *report, struct shown_nodes *nodes) {
  nodes->count = 0;
  while (nodes->count < SHOWN_FIRST && nodes->count < report->plan->step_count) {
    nodes->indexes[nodes->count] = nodes->count;
    nodes->count++;
  }
  choose_more(report, true, nodes);
  if (report->states && report->status != GR_OK) choose_more(report, false, nodes);
}

static void append_nodes(const struct paint *paint, const struct gr_report *report) {
  const struct gr_plan *plan = report->plan;
  struct shown_nodes nodes;
  choose_nodes(report, &nodes);
  uint32_t columns = NAME_COLUMNS_MIN;
  for (uint32_t i = 0; i < nodes.count; i++) {
    uint32_t width = width_of(plan->pipeline->nodes[nodes.indexes[i]].name);
    if (width > columns) columns = width < NAME_COLUMNS_MAX ? width : NAME_COLUMNS_MAX;
  }
  gr_text_append_text(paint->out, "  node");
  append_blanks(paint->out, columns - NAME_COLUMNS_MIN);
  gr_text_append_text(paint->out, "  kind     level  stream  state\n");
  for (uint32_t i = 0; i < nodes.count; i++) append_node(paint, report, nodes.indexes[i], columns);
  if (nodes.count < plan->step_count) {
    gr_text_append_format(paint->out, "  ... and %" PRIu32 " more nodes\n", plan->step_count - nodes.count);
  }
}

static void append_expect(const struct paint *paint, const struct gr_report *report,
                          const struct gr_report_expect *expect) {
  gr_text_append_format(paint->out, "  expect %s: ", report->plan->pipeline->buffers[expect->buffer_index].name);
  append_painted(paint, expect->is_met ? "32" : "31", expect->is_met ? "met" : "not met");
  gr_text_append_text(paint->out, ", largest difference ");
  gr_text_append_double(paint->out, expect->largest_difference);
  if (!expect->is_met) gr_text_append_format(paint->out, ", %" PRIu64 " different", expect->different_count);
  gr_text_append_text(paint->out, "\n");
}

/* The first ones, and then some that were not met. */
static void append_expects(const struct paint *paint, const struct gr_report *report) {
  uint32_t shown = 0;
  for (uint32_t i = 0; i < report->expect_count && shown < SHOWN_FIRST + SHOWN_NOT_OK; i++) {
    const struct gr_report_expect *expect = &report->expects[i];
    if (i >= SHOWN_FIRST && expect->is_met) continue;
    append_expect(paint, report, expect);
    shown++;
  }
  if (shown < report->expect_count) {
    gr_text_append_format(paint->out, "  ... and %" PRIu32 " more expectations\n", report->expect_count - shown);
  }
  if (report->saved_count > 0) {
    gr_text_append_format(paint->out, "  saved %" PRIu32 " file%s\n", report->saved_count,
                          report->saved_count == 1 ? "" : "s");
  }
}

static void append_time(struct gr_text *out, const char *name, double nanoseconds, bool *is_first) {
  if (nanoseconds <= 0.0) return;
  gr_text_append_format(out, "%s%s ", *is_first ? "  time: " : ", ", name);
  gr_text_append_duration(out, nanoseconds);
  *is_first = false;
}

static void append_times(struct gr_text *out, const struct gr_report *report) {
  bool is_first = true;
  append_time(out, "check", (double)report->check_ns, &is_first);
  append_time(out, "plan", (double)report->plan_ns, &is_first);
  append_time(out, "open", (double)report->open_ns, &is_first);
  append_time(out, "build", (double)report->build_ns, &is_first);
  append_time(out, "inputs", (double)report->inputs_ns, &is_first);
  append_time(out, "warm-up", (double)report->warmup_ns, &is_first);
  append_time(out, "replays", (double)report->replays_ns, &is_first);
  append_time(out, "outputs", (double)report->outputs_ns, &is_first);
  append_time(out, "total", (double)report->total_ns, &is_first);
  if (!is_first) gr_text_append_text(out, "\n");
  if (report->times.replays == 0 || report->replays_ns == 0) return;
  gr_text_append_text(out, "  a replay: ");
  gr_text_append_duration(out, (double)report->replays_ns / (double)report->times.replays);
  gr_text_append_text(out, " on average, host call ");
  gr_text_append_duration(out, (double)report->times.launch_total_ns / (double)report->times.replays);
  if (report->times.device_ns > 0.0) {
    gr_text_append_text(out, ", device ");
    gr_text_append_duration(out, report->times.device_ns / (double)report->times.replays);
  }
  gr_text_append_text(out, "\n");
}

void gr_report_show(const struct gr_report *report, struct gr_text *out, bool color) {
  struct paint paint = {out, color};
  append_head(&paint, report);
  append_error(&paint, report);
  if (report->plan) {
    append_nodes(&paint, report);
    append_expects(&paint, report);
  }
  append_times(out, report);
}
