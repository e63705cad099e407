/* Words for what libyaml cannot read. Its own say what the grammar missed; ours say what a person did. */
#include <inttypes.h>
#include <string.h>

#include "engine/document/document_internal.h"

enum { KEY_CHARACTERS_MAX = 1024 }; /* of a key in one line, by YAML's rules */

/* Which of libyaml's two places is shown. */
enum side { AT_PROBLEM, AT_CONTEXT };

/* Rows without a context hold for all; the first that fits counts. */
static const struct {
  const char *problem;
  const char *context;
  enum side side;
  const char *words;
} rows[] = {
    {"found a tab character that violates indentation", NULL, AT_PROBLEM,
     "a tab is used for indentation here; YAML allows only spaces"},
    {"found a tab character where an indentation space is expected", NULL, AT_PROBLEM,
     "a tab is used for indentation here; YAML allows only spaces"},
    {"found unexpected end of stream", NULL, AT_CONTEXT, "this quoted text has no closing quote"},
    {"found unknown escape character", NULL, AT_PROBLEM,
     "there is no such escape sequence; inside single quotes a backslash is only a backslash"},
    {"did not find expected hexdecimal number", NULL, AT_PROBLEM,
     "this escape sequence needs more hexadecimal digits: two after \\x, four after \\u, eight after \\U"},
    {"did not find expected alphabetic or numeric character", "while scanning an alias", AT_CONTEXT,
     "a '*' starts an alias, whose name has only letters, digits, '-' and '_'; a text that starts with '*' needs "
     "quotes"},
    {"did not find expected alphabetic or numeric character", NULL, AT_CONTEXT,
     "an '&' starts an anchor, whose name has only letters, digits, '-' and '_'; a text that starts with '&' needs "
     "quotes"},
    {"found undefined tag handle", NULL, AT_PROBLEM,
     "this tag is not known; only !!str, !!int, !!float, !!map and !!seq are"},
    {"found an indentation indicator equal to 0", NULL, AT_CONTEXT, "the indentation after '|' or '>' must be 1 to 9"},
    {"did not find expected comment or line break", "while scanning a block scalar", AT_CONTEXT,
     "after '|' or '>' the text has to start on the next line; a text that starts with one of them needs quotes"},
    {"found unexpected ':'", NULL, AT_PROBLEM,
     "a ':' right before one of , ? [ ] { } is read neither as text nor as the end of a key: put the text in quotes, "
     "or "
     "a space behind the ':'"},
    {"found incompatible YAML document", NULL, AT_PROBLEM, "only YAML 1.1 and 1.2 are read"},
    {"found duplicate %YAML directive", NULL, AT_PROBLEM, "there is a second %YAML directive"},
    {"found duplicate %TAG directive", NULL, AT_PROBLEM, "there is a second %TAG directive for this handle"},
    {NULL, "while scanning a directive", AT_CONTEXT,
     "a line that starts with '%' is a YAML directive, but none that is known"},
    {NULL, "while scanning a %YAML directive", AT_CONTEXT,
     "this %YAML directive is malformed; %YAML 1.2 is a good one"},
    {NULL, "while scanning a %TAG directive", AT_CONTEXT, "this %TAG directive is malformed"},
    {NULL, "while parsing a %TAG directive", AT_CONTEXT, "this %TAG directive is malformed"},
    {NULL, "while scanning a tag directive", AT_CONTEXT, "this %TAG directive is malformed"},
    {NULL, "while parsing a tag directive", AT_CONTEXT, "this %TAG directive is malformed"},
    {NULL, "while scanning a tag", AT_CONTEXT,
     "a '!' starts a tag, and this one is malformed; a text that starts with '!' needs quotes"},
    {NULL, "while parsing a tag", AT_CONTEXT,
     "a '!' starts a tag, and this one is malformed; a text that starts with '!' needs quotes"},
};

/* One report in the making. */
struct report {
  struct gr_diagnostics *diagnostics;
  struct gr_view source;
  const struct gr_document_syntax *syntax;
  size_t offset; /* of the problem */
  struct gr_mark problem;
  struct gr_mark context;
};

static bool is(const char *text, const char *expected) { return text && strcmp(text, expected) == 0; }

static bool is_at_end(const struct report *report) { return report->offset >= report->source.length; }

static char byte_at(const struct report *report) {
  return is_at_end(report) ? '\0' : report->source.bytes[report->offset];
}

/* Nothing but blanks and comments comes any more. */
static bool only_blanks_follow(const struct report *report) {
  bool in_comment = false;
  for (size_t i = report->offset; i < report->source.length; i++) {
    char byte = report->source.bytes[i];
    if (byte == '\n' || byte == '\r') {
      in_comment = false;
    } else if (byte == '#') {
      in_comment = true;
    } else if (!in_comment && byte != ' ' && byte != '\t') {
      return false;
    }
  }
  return true;
}

static bool is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* A '[' right behind a text: `x[0:4]` without quotes. */
static bool is_slice_at(struct gr_view source, size_t offset) {
  if (offset == 0 || offset >= source.length || source.bytes[offset] != '[') return false;
  char before = source.bytes[offset - 1];
  return !is_blank(before) && strchr("[]{},:", before) == NULL;
}

/* Whether the problem lies in such a slice, as in `x[2:]`. */
static bool is_inside_slice(const struct report *report) {
  size_t offset = report->offset;
  while (offset > 0 && strchr("[]{},\n\r", report->source.bytes[offset - 1]) == NULL) offset--;
  return offset > 0 && is_slice_at(report->source, offset - 1);
}

static void report_slice(const struct report *report) {
  gr_diagnostics_error(report->diagnostics, report->problem,
                       "a '%c' cannot stand here: inside [ ] and { } a slice needs quotes, as in \"x[0:4]\"",
                       byte_at(report));
}

/* How many bytes of the problem's line lie before it, without the indentation. */
static size_t bytes_before(const struct report *report) {
  size_t start = report->offset;
  while (start > 0 && report->source.bytes[start - 1] != '\n' && report->source.bytes[start - 1] != '\r') start--;
  while (start < report->offset && is_blank(report->source.bytes[start])) start++;
  return report->offset - start;
}

/* The length of the line at the context's place, from there on. */
static size_t context_line_bytes(const struct report *report) {
  struct gr_document_cursor cursor;
  gr_document_cursor_init(&cursor, report->source);
  gr_document_cursor_move(&cursor, report->syntax->context_character);
  size_t end = cursor.offset;
  while (end < report->source.length && report->source.bytes[end] != '\n' && report->source.bytes[end] != '\r') end++;
  return end - cursor.offset;
}

static void report_key_length(const struct report *report, struct gr_mark mark) {
  gr_diagnostics_error(report->diagnostics, mark, "a key may have at most %d characters", KEY_CHARACTERS_MAX);
}

static void report_unclosed(const struct report *report, struct gr_mark mark, bool is_map) {
  gr_diagnostics_error(report->diagnostics, mark, "this %s is not closed: there is no '%c' up to the end of the file",
                       is_map ? "map" : "list", is_map ? '}' : ']');
}

/* Whether no bracket or comma is near enough before the problem to start a key that may be this long. */
static bool is_behind_long_key(const struct report *report) {
  for (size_t back = 1; back <= report->offset && back <= KEY_CHARACTERS_MAX; back++) {
    if (strchr("[]{},\n\r", report->source.bytes[report->offset - back])) return false;
  }
  return report->offset > KEY_CHARACTERS_MAX;
}

/* Whether the problem is a ':' that has only blanks before it in its line: JSON may have its key in a line before. */
static bool is_colon_below_key(const struct report *report) {
  size_t offset = report->offset;
  if (byte_at(report) != ':' || bytes_before(report) > 0) return false;
  while (offset > 0 && is_blank(report->source.bytes[offset - 1])) offset--;
  return offset > 0 && strchr("[]{},:", report->source.bytes[offset - 1]) == NULL;
}

static void report_flow(const struct report *report, bool is_map) {
  if (only_blanks_follow(report)) {
    report_unclosed(report, report->context, is_map);
  } else if (is_colon_below_key(report)) {
    gr_diagnostics_error(report->diagnostics, report->problem, "this ':' has to be in the same line as its key");
  } else if (byte_at(report) == ':' && is_behind_long_key(report)) {
    report_key_length(report, report->problem);
  } else if (is_slice_at(report->source, report->offset)) {
    report_slice(report);
  } else {
    gr_diagnostics_error(report->diagnostics, report->problem,
                         "expected ',' or '%c' here, as the %s that starts in line %" PRIu32 ", column %" PRIu32
                         " is not closed yet; a text with commas or brackets needs quotes",
                         is_map ? '}' : ']', is_map ? "map" : "list", report->context.line, report->context.column);
  }
}

static void report_value(const struct report *report) {
  if (bytes_before(report) > KEY_CHARACTERS_MAX) {
    report_key_length(report, report->problem);
  } else {
    gr_diagnostics_error(
        report->diagnostics, report->problem,
        "a ':' cannot stand here: either the line is indented too far, or a text with ': ' in it needs "
        "quotes");
  }
}

static void report_missing_colon(const struct report *report) {
  if (context_line_bytes(report) > KEY_CHARACTERS_MAX) {
    report_key_length(report, report->context);
  } else {
    gr_diagnostics_error(report->diagnostics, report->context,
                         "expected \"key: value\" here, but there is no ':' behind this text");
  }
}

/* A bracket that closes nothing. */
static bool is_lone_bracket(const struct report *report) {
  char byte = byte_at(report);
  return report->syntax->open_flow.line == 0 && (byte == ']' || byte == '}');
}

static void report_lone_bracket(const struct report *report) {
  char byte = byte_at(report);
  gr_diagnostics_error(report->diagnostics, report->problem, "there is no '%c' that this '%c' could close",
                       byte == ']' ? '[' : '{', byte);
}

static void report_follower(const struct report *report) {
  gr_diagnostics_error(
      report->diagnostics, report->problem,
      "the value before this has ended; put quotes around the whole text, or this on a line of its own");
}

static void report_block(const struct report *report, const char *expected, const char *noun) {
  if (is_lone_bracket(report)) {
    report_lone_bracket(report);
    return;
  }
  if (bytes_before(report) > 0) {
    report_follower(report);
    return;
  }
  gr_diagnostics_error(report->diagnostics, report->problem,
                       "expected %s of the %s that starts in line %" PRIu32 ", column %" PRIu32
                       "; is the line indented like the others?",
                       expected, noun, report->context.line, report->context.column);
}

static void report_character(const struct report *report) {
  char text[2] = {byte_at(report), '\0'};
  if (text[0] == '\t') {
    gr_diagnostics_error(report->diagnostics, report->problem,
                         "a tab is used for indentation here; YAML allows only spaces");
  } else {
    gr_diagnostics_error(report->diagnostics, report->problem, "a text cannot start with %s unless it is in quotes",
                         gr_view_quote(gr_view_of(text)).text);
  }
}

static void report_content(const struct report *report) {
  bool at_end = only_blanks_follow(report);
  if (is_lone_bracket(report)) {
    report_lone_bracket(report);
  } else if (at_end && report->syntax->open_flow.line > 0) {
    report_unclosed(report, report->syntax->open_flow, report->syntax->open_is_map);
  } else if (at_end) {
    gr_diagnostics_error(report->diagnostics, report->problem, "the file ends where a value is expected");
  } else {
    struct gr_view found = {report->source.bytes + report->offset, 1};
    gr_diagnostics_error(report->diagnostics, report->problem, "expected a value before %s", gr_view_quote(found).text);
  }
}

static void report_escape(const struct report *report) {
  size_t escape = report->offset >= 2 ? report->offset - 2 : 0; /* the problem lies at the digits */
  const char *text = report->source.bytes + escape;
  switch (gr_document_half_at(report->source, escape)) {
    case GR_DOCUMENT_HIGH_HALF:
      gr_diagnostics_error(report->diagnostics, report->problem,
                           "\\%.5s is the first half of a surrogate pair; the second, one of \\udc00 to \\udfff, has "
                           "to come right behind it",
                           text + 1);
      break;
    case GR_DOCUMENT_LOW_HALF:
      gr_diagnostics_error(report->diagnostics, report->problem,
                           "\\%.5s is the second half of a surrogate pair; the first, one of \\ud800 to \\udbff, has "
                           "to come right before it",
                           text + 1);
      break;
    default:
      gr_diagnostics_error(report->diagnostics, report->problem, "this escape sequence names no Unicode character");
      break;
  }
}

static void report_document_start(const struct report *report) {
  if (report->syntax->document_ended && is_lone_bracket(report)) {
    report_lone_bracket(report);
    return;
  }
  const char *words = "after lines that start with '%' the document has to start with '---'";
  if (report->syntax->document_ended)
    words = report->syntax->end_is_explicit ? "the document has ended before this; a pipeline file holds one document"
            : bytes_before(report) > 0
                ? "the document has ended before this; put quotes around a text that holds quotes or brackets"
                : "the document has ended before this; is the line indented like the first one?";
  gr_diagnostics_error(report->diagnostics, report->problem, "%s", words);
}

/* What needs more than a fixed text. */
static bool report_by_case(const struct report *report) {
  const char *problem = report->syntax->problem;
  if (is(problem, "did not find expected ',' or ']'")) {
    report_flow(report, false);
  } else if (is(problem, "did not find expected ',' or '}'")) {
    report_flow(report, true);
  } else if (is(problem, "mapping values are not allowed in this context")) {
    report_value(report);
  } else if (is(problem, "could not find expected ':'")) {
    report_missing_colon(report);
  } else if (is(problem, "did not find expected key")) {
    report_block(report, "a key", "map");
  } else if (is(problem, "did not find expected '-' indicator")) {
    report_block(report, "a '-'", "list");
  } else if (is(problem, "found character that cannot start any token")) {
    report_character(report);
  } else if (is(problem, "did not find expected node content")) {
    report_content(report);
  } else if (is(problem, "found invalid Unicode character escape code")) {
    report_escape(report);
  } else if (is(problem, "did not find expected <document start>")) {
    report_document_start(report);
  } else if (is(problem, "found unexpected ':'") && is_inside_slice(report)) {
    report_slice(report);
  } else if (is(problem, "found unexpected document indicator")) {
    gr_diagnostics_error(report->diagnostics, report->context,
                         "this quoted text has no closing quote before the document marker in line %" PRIu32,
                         report->problem.line);
  } else if (is(problem, "block sequence entries are not allowed in this context")) {
    gr_diagnostics_error(report->diagnostics, report->problem,
                         "a '-' cannot start a list here: the list has to start on a line of its own");
  } else if (is(problem, "mapping keys are not allowed in this context")) {
    gr_diagnostics_error(report->diagnostics, report->problem,
                         "a '?' cannot start a key here; a text that starts with '?' needs quotes");
  } else {
    return false;
  }
  return true;
}

static bool report_by_row(const struct report *report) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].problem && !is(report->syntax->problem, rows[i].problem)) continue;
    if (rows[i].context && !is(report->syntax->context, rows[i].context)) continue;
    struct gr_mark mark = rows[i].side == AT_PROBLEM ? report->problem : report->context;
    gr_diagnostics_error(report->diagnostics, mark, "%s", rows[i].words);
    return true;
  }
  return false;
}

void gr_document_report_syntax(struct gr_diagnostics *diagnostics, struct gr_view source,
                               const struct gr_document_syntax *syntax) {
  struct gr_document_cursor cursor;
  gr_document_cursor_init(&cursor, source);
  gr_document_cursor_move(&cursor, syntax->problem_character);
  struct report report = {
      .diagnostics = diagnostics,
      .source = source,
      .syntax = syntax,
      .offset = cursor.offset,
      .problem = gr_document_cursor_mark(&cursor),
      .context = gr_document_place(source, syntax->context_character),
  };
  if (report_by_case(&report) || report_by_row(&report)) return;
  gr_diagnostics_error(diagnostics, report.problem, "this is no YAML: %s",
                       syntax->problem ? syntax->problem : "it cannot be read");
}
