#include "engine/base/knobs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct gr_knob rows[] = {
#define X(field, type, name, fallback, least, greatest, help) {name, fallback, help, least, greatest},
    GR_KNOB_LIST(X)
#undef X
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

const struct gr_knob *gr_knobs_rows(size_t *count) {
  *count = ROW_COUNT;
  return rows;
}

static const char *value_of(const struct gr_knob *row) {
  const char *value = getenv(row->name);
  return value && *value ? value : row->fallback;
}

static bool read_digits(const char *text, uint64_t *number) {
  uint64_t sum = 0;
  for (const char *at = text; *at; at++) {
    if (*at < '0' || *at > '9') return false;
    if (__builtin_mul_overflow(sum, UINT64_C(10), &sum)) return false;
    if (__builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum)) return false;
  }
  *number = sum;
  return true;
}

static enum gr_status read_row(const struct gr_knob *row, uint64_t *number, struct gr_error *error) {
  const char *value = value_of(row);
  uint64_t read;
  if (!read_digits(value, &read) || read < row->least || read > row->greatest)
    return gr_error_set(error, GR_ERR_ARGUMENT,
                        "the environment variable %s is %s, but must be a number from %" PRIu64 " to %" PRIu64,
                        row->name, gr_view_quote(gr_view_of(value)).text, row->least, row->greatest);
  *number = read;
  return GR_OK;
}

enum gr_status gr_knobs_read(struct gr_knobs *knobs, struct gr_error *error) {
  uint64_t numbers[ROW_COUNT] = {0};
  for (size_t i = 0; i < ROW_COUNT; i++) GR_RETURN_IF_FAILED(read_row(&rows[i], &numbers[i], error));
  const uint64_t *next = numbers;
#define X(field, type, name, fallback, least, greatest, help) knobs->field = (type)*next++;
  GR_KNOB_LIST(X)
#undef X
  return GR_OK;
}

void gr_knobs_show(struct gr_text *out) {
  gr_text_append_format(out, "%-20s %-8s %-8s %s\n", "variable", "value", "default", "meaning");
  for (size_t i = 0; i < ROW_COUNT; i++) {
    const char *value = value_of(&rows[i]);
    uint64_t number;
    struct gr_quote quoted = gr_view_quote(gr_view_of(value)); /* what is no number may hold anything */
    gr_text_append_format(out, "%-20s %-8s %-8s %s\n", rows[i].name, read_digits(value, &number) ? value : quoted.text,
                          rows[i].fallback, rows[i].help);
  }
}
