#include "engine/base/diagnostic.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gr_diagnostics_init(struct gr_diagnostics *diagnostics, struct gr_memory *memory, const char *file) {
  memset(diagnostics, 0, sizeof *diagnostics);
  diagnostics->memory = memory;
  size_t length = file ? strlen(file) : 0;
  diagnostics->file = gr_memory_allocate(memory, length + 1);
  if (!diagnostics->file) return false;
  if (length > 0) memcpy(diagnostics->file, file, length);
  diagnostics->file[length] = '\0';
  return true;
}

struct gr_diagnostics_point gr_diagnostics_remember(const struct gr_diagnostics *diagnostics) {
  return (struct gr_diagnostics_point){diagnostics->kept_count, diagnostics->error_count, diagnostics->warning_count};
}

void gr_diagnostics_go_back(struct gr_diagnostics *diagnostics, struct gr_diagnostics_point point) {
  while (diagnostics->kept_count > point.kept_count) {
    gr_memory_release(diagnostics->memory, diagnostics->kept[--diagnostics->kept_count].message);
  }
  diagnostics->error_count = point.error_count;
  diagnostics->warning_count = point.warning_count;
  diagnostics->out_of_memory = false;
}

void gr_diagnostics_clear(struct gr_diagnostics *diagnostics) {
  gr_diagnostics_go_back(diagnostics, (struct gr_diagnostics_point){0});
}

void gr_diagnostics_release(struct gr_diagnostics *diagnostics) {
  if (!diagnostics->memory) return; /* never initialised */
  gr_diagnostics_clear(diagnostics);
  gr_memory_release(diagnostics->memory, diagnostics->file);
  memset(diagnostics, 0, sizeof *diagnostics);
}

__attribute__((format(printf, 2, 0))) static char *format_message(struct gr_memory *memory, const char *format,
                                                                  va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0) return NULL;
  char *message = gr_memory_allocate(memory, (size_t)length + 1);
  if (message) vsnprintf(message, (size_t)length + 1, format, arguments);
  return message;
}

__attribute__((format(printf, 5, 0))) static void add(struct gr_diagnostics *diagnostics, enum gr_severity severity,
                                                      enum gr_status status, struct gr_mark mark, const char *format,
                                                      va_list arguments) {
  uint64_t *count = severity == GR_SEVERITY_ERROR ? &diagnostics->error_count : &diagnostics->warning_count;
  (*count)++;
  if (*count > GR_DIAGNOSTIC_SHOWN_MAX) return;
  char *message = format_message(diagnostics->memory, format, arguments);
  if (!message) {
    diagnostics->out_of_memory = true;
    return;
  }
  diagnostics->kept[diagnostics->kept_count++] = (struct gr_diagnostic){severity, status, mark, message};
}

void gr_diagnostics_error(struct gr_diagnostics *diagnostics, struct gr_mark mark, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(diagnostics, GR_SEVERITY_ERROR, GR_ERR_INVALID, mark, format, arguments);
  va_end(arguments);
}

void gr_diagnostics_warning(struct gr_diagnostics *diagnostics, struct gr_mark mark, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(diagnostics, GR_SEVERITY_WARNING, GR_OK, mark, format, arguments);
  va_end(arguments);
}

void gr_diagnostics_error_status(struct gr_diagnostics *diagnostics, enum gr_status status, struct gr_mark mark,
                                 const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(diagnostics, GR_SEVERITY_ERROR, status, mark, format, arguments);
  va_end(arguments);
}

static bool comes_before(const struct gr_diagnostic *a, const struct gr_diagnostic *b) {
  if (a->severity != b->severity) return a->severity < b->severity;
  if (a->mark.line != b->mark.line) return a->mark.line < b->mark.line;
  return a->mark.column < b->mark.column;
}

static const struct gr_diagnostic *first_error(const struct gr_diagnostics *diagnostics) {
  const struct gr_diagnostic *first = NULL;
  for (uint32_t i = 0; i < diagnostics->kept_count; i++) {
    const struct gr_diagnostic *candidate = &diagnostics->kept[i];
    if (candidate->severity != GR_SEVERITY_ERROR) continue;
    if (!first || comes_before(candidate, first)) first = candidate;
  }
  return first;
}

enum gr_status gr_diagnostics_status(const struct gr_diagnostics *diagnostics) {
  if (diagnostics->out_of_memory) return GR_ERR_NO_MEMORY;
  if (diagnostics->error_count == 0) return GR_OK;
  const struct gr_diagnostic *first = first_error(diagnostics);
  return first ? first->status : GR_ERR_INVALID;
}

enum gr_status gr_diagnostics_to_error(const struct gr_diagnostics *diagnostics, struct gr_error *error) {
  enum gr_status status = gr_diagnostics_status(diagnostics);
  if (status == GR_OK) return GR_OK;
  const struct gr_diagnostic *first = first_error(diagnostics);
  if (diagnostics->out_of_memory || !first) {
    gr_error_set(error, status, "%s", gr_status_text(status));
    gr_error_place(error, diagnostics->file, 0, 0);
    return status;
  }
  uint64_t more = diagnostics->error_count - 1;
  if (more == 0) {
    gr_error_set(error, status, "%s", first->message);
  } else {
    gr_error_set(error, status, "%s (and %" PRIu64 " more error%s)", first->message, more, more == 1 ? "" : "s");
  }
  gr_error_place(error, diagnostics->file, first->mark.line, first->mark.column);
  return status;
}

enum {
  QUOTED_WIDTH = 100, /* columns of the source line that are shown */
  LOOK_AROUND = 1024, /* bytes before and after the place that can matter for that */
  TAB_WIDTH = 8,
  CELL_BYTES = 12,
};

/* Finds lines front to back without starting again. */
struct line_finder {
  struct gr_view source;
  size_t offset; /* where `line` starts */
  uint32_t line;
};

static bool is_break(char byte) { return byte == '\n' || byte == '\r'; }

static struct line_finder start_of(struct gr_view source) {
  bool marked = source.length >= 3 && memcmp(source.bytes, "\xEF\xBB\xBF", 3) == 0;
  return (struct line_finder){source, marked ? 3 : 0, 1};
}

/* Lines end as in the document: at LF, CR LF or a lone CR. */
static bool find_line(struct line_finder *finder, uint32_t line, struct gr_view *found) {
  struct gr_view source = finder->source;
  if (line == 0 || !source.bytes) return false;
  if (line < finder->line) *finder = start_of(source);
  while (finder->line < line) {
    size_t at = finder->offset;
    while (at < source.length && !is_break(source.bytes[at])) at++;
    if (at == source.length) return false;
    at += source.bytes[at] == '\r' && at + 1 < source.length && source.bytes[at + 1] == '\n' ? 2 : 1;
    finder->offset = at;
    finder->line++;
  }
  size_t end = finder->offset;
  while (end < source.length && !is_break(source.bytes[end])) end++;
  *found = (struct gr_view){source.bytes + finder->offset, end - finder->offset};
  return true;
}

/* One code point of the source as it is shown. */
struct cell {
  char bytes[CELL_BYTES];
  size_t length;
  unsigned width;
  size_t source_length;
};

static struct cell read_cell(struct gr_view rest, unsigned column) {
  struct cell cell = {.length = 0};
  size_t length = gr_utf8_length(rest);
  cell.source_length = length ? length : 1;
  if (rest.bytes[0] == '\t') {
    cell.width = TAB_WIDTH - column % TAB_WIDTH;
    cell.length = cell.width;
    memset(cell.bytes, ' ', cell.length);
    return cell;
  }
  int written = 0;
  uint32_t point = length ? gr_utf8_decode(rest.bytes, length) : 0;
  if (length > 0 && gr_utf8_is_visible(point)) {
    memcpy(cell.bytes, rest.bytes, length);
    cell.length = length;
    cell.width = gr_utf8_width(point);
    return cell;
  }
  if (length <= 1) {
    written = snprintf(cell.bytes, sizeof cell.bytes, "\\x%02X", (unsigned)(unsigned char)rest.bytes[0]);
  } else {
    written = snprintf(cell.bytes, sizeof cell.bytes, "\\u%04X", (unsigned)point);
  }
  cell.length = (size_t)written;
  cell.width = (unsigned)written;
  return cell;
}

/* The start of the character that the byte belongs to; itself where it belongs to none. */
static size_t back_to_character(struct gr_view line, size_t offset) {
  for (size_t back = 1; back <= 3 && back <= offset; back++) {
    struct gr_view rest = {line.bytes + offset - back, line.length - offset + back};
    if (gr_utf8_length(rest) > back) return offset - back;
  }
  return offset;
}

/* The part of a line that is shown. */
struct excerpt {
  struct gr_view view; /* what is walked; starts and ends at a character */
  size_t place;        /* in it */
  unsigned caret;      /* column of the place, from the start of the view */
  unsigned first;      /* columns first to last - 1 are shown */
  unsigned last;
  bool cut_before;
  bool cut_after;
};

static struct excerpt choose_excerpt(struct gr_view line, uint32_t column) {
  struct excerpt excerpt = {.first = 0};
  size_t place = column > 0 ? column - 1 : 0;
  if (place > line.length) place = line.length;
  if (place < line.length) place = back_to_character(line, place);
  size_t start = place > LOOK_AROUND ? back_to_character(line, place - LOOK_AROUND) : 0;
  size_t end = line.length - place > LOOK_AROUND ? back_to_character(line, place + LOOK_AROUND) : line.length;
  excerpt.view = (struct gr_view){line.bytes + start, end - start};
  excerpt.place = place - start;

  unsigned width = 0;
  for (size_t offset = 0; offset < excerpt.view.length;) {
    if (offset == excerpt.place) excerpt.caret = width;
    struct gr_view rest = {excerpt.view.bytes + offset, excerpt.view.length - offset};
    struct cell cell = read_cell(rest, width);
    width += cell.width;
    offset += cell.source_length;
  }
  if (excerpt.place == excerpt.view.length) excerpt.caret = width;

  excerpt.last = width;
  if (width > QUOTED_WIDTH) {
    excerpt.first = excerpt.caret > QUOTED_WIDTH / 2 ? excerpt.caret - QUOTED_WIDTH / 2 : 0;
    if (excerpt.first > width - QUOTED_WIDTH) excerpt.first = width - QUOTED_WIDTH;
    excerpt.last = excerpt.first + QUOTED_WIDTH;
  }
  excerpt.cut_before = start > 0 || excerpt.first > 0;
  excerpt.cut_after = end < line.length || excerpt.last < width;
  return excerpt;
}

/* Writes the excerpt's line; the return value is how many columns stand before the caret. A character that only partly
 * falls into the window is left out as a whole. */
static unsigned append_excerpt(struct gr_text *out, const struct excerpt *excerpt) {
  unsigned caret = 0;
  unsigned shown = 0;
  if (excerpt->cut_before) {
    gr_text_append_text(out, "…");
    shown = 1;
  }
  unsigned width = 0;
  for (size_t offset = 0; offset < excerpt->view.length && width < excerpt->last;) {
    if (offset == excerpt->place) caret = shown;
    struct gr_view rest = {excerpt->view.bytes + offset, excerpt->view.length - offset};
    struct cell cell = read_cell(rest, width);
    if (width >= excerpt->first && width + cell.width <= excerpt->last) {
      gr_text_append(out, cell.bytes, cell.length);
      shown += cell.width;
    }
    width += cell.width;
    offset += cell.source_length;
  }
  if (excerpt->place == excerpt->view.length) caret = shown;
  if (excerpt->cut_after) gr_text_append_text(out, "…");
  return caret;
}

struct colors {
  const char *strong;
  const char *error;
  const char *warning;
  const char *caret;
  const char *reset;
};

static const struct colors no_colors = {"", "", "", "", ""};
static const struct colors ansi_colors = {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;32m", "\033[0m"};

/* A message may quote what the user wrote: only line breaks pass, further lines are indented. */
static void append_message(struct gr_text *out, const char *message) {
  struct gr_view rest = gr_view_of(message);
  while (rest.length > 0) {
    if (rest.bytes[0] == '\n') {
      gr_text_append_text(out, "\n  ");
      rest.bytes++;
      rest.length--;
      continue;
    }
    struct cell cell = read_cell(rest, TAB_WIDTH - 1); /* a tab is one space */
    gr_text_append(out, cell.bytes, cell.length);
    rest.bytes += cell.source_length;
    rest.length -= cell.source_length;
  }
}

static void append_source_line(struct gr_text *out, struct line_finder *finder, struct gr_mark mark,
                               const struct colors *colors) {
  struct gr_view line;
  if (!find_line(finder, mark.line, &line)) return;
  struct excerpt excerpt = choose_excerpt(line, mark.column);
  gr_text_append_format(out, "%5" PRIu32 " | ", mark.line);
  unsigned caret = append_excerpt(out, &excerpt);
  gr_text_append_format(out, "\n      | %*s%s^%s\n", (int)caret, "", colors->caret, colors->reset);
}

static void append_one(struct gr_text *out, const struct gr_diagnostics *diagnostics, const struct gr_diagnostic *one,
                       struct line_finder *finder, const struct colors *colors) {
  gr_text_append_text(out, colors->strong);
  append_message(out, diagnostics->file);
  if (one->mark.line > 0) gr_text_append_format(out, ":%" PRIu32 ":%" PRIu32, one->mark.line, one->mark.column);
  gr_text_append_format(out, ":%s ", colors->reset);
  bool is_error = one->severity == GR_SEVERITY_ERROR;
  gr_text_append_format(out, "%s%s:%s ", is_error ? colors->error : colors->warning, is_error ? "error" : "warning",
                        colors->reset);
  append_message(out, one->message);
  gr_text_append(out, "\n", 1);
  append_source_line(out, finder, one->mark, colors);
}

/* Insertion sort: at most 40, and entries at one place keep their order. */
static void sort_kept(const struct gr_diagnostics *diagnostics, const struct gr_diagnostic **sorted) {
  for (uint32_t i = 0; i < diagnostics->kept_count; i++) {
    const struct gr_diagnostic *one = &diagnostics->kept[i];
    uint32_t at = i;
    for (; at > 0 && comes_before(one, sorted[at - 1]); at--) sorted[at] = sorted[at - 1];
    sorted[at] = one;
  }
}

static void append_count(struct gr_text *out, uint64_t count, const char *noun, uint64_t shown) {
  gr_text_append_format(out, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
  if (shown < count) gr_text_append_format(out, " (%" PRIu64 " shown)", shown);
}

static void append_totals(struct gr_text *out, const struct gr_diagnostics *diagnostics) {
  uint64_t shown[2] = {0, 0};
  for (uint32_t i = 0; i < diagnostics->kept_count; i++) shown[diagnostics->kept[i].severity]++;
  if (diagnostics->error_count > 0) append_count(out, diagnostics->error_count, "error", shown[GR_SEVERITY_ERROR]);
  if (diagnostics->error_count > 0 && diagnostics->warning_count > 0) gr_text_append_text(out, ", ");
  if (diagnostics->warning_count > 0)
    append_count(out, diagnostics->warning_count, "warning", shown[GR_SEVERITY_WARNING]);
  gr_text_append(out, "\n", 1);
}

void gr_diagnostics_render(const struct gr_diagnostics *diagnostics, struct gr_text *out, bool color) {
  const struct colors *colors = color ? &ansi_colors : &no_colors;
  const struct gr_diagnostic *sorted[2 * GR_DIAGNOSTIC_SHOWN_MAX];
  sort_kept(diagnostics, sorted);
  struct line_finder finder = start_of(diagnostics->source);
  for (uint32_t i = 0; i < diagnostics->kept_count; i++) append_one(out, diagnostics, sorted[i], &finder, colors);
  if (diagnostics->out_of_memory) {
    append_message(out, diagnostics->file);
    gr_text_append_format(out, ": error: %s\n", gr_status_text(GR_ERR_NO_MEMORY));
  }
  if (diagnostics->error_count + diagnostics->warning_count > 1) append_totals(out, diagnostics);
}
