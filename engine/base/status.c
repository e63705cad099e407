#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
  enum gr_status status;
  const char *name;
  const char *text;
  int exit_status;
};

static const struct row rows[] = {
#define X(name, number, text, exit_status) {name, #name, text, exit_status},
    GR_STATUS_LIST(X)
#undef X
};

static const struct row unknown = {GR_ERR_INTERNAL, "GR_ERR_UNKNOWN", "unknown status", 70};

static const struct row *find(enum gr_status status) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].status == status) return &rows[i];
  }
  return &unknown;
}

const char *gr_status_text(enum gr_status status) { return find(status)->text; }

const char *gr_status_name(enum gr_status status) { return find(status)->name; }

int gr_status_exit(enum gr_status status) { return find(status)->exit_status; }

/* A text that filled its array may end inside a UTF-8 sequence: take the torn sequence away. */
static void trim_torn_character(char *text, size_t capacity) {
  size_t length = strlen(text);
  if (length + 1 < capacity) return;
  size_t start = length;
  while (start > 0 && ((unsigned char)text[start - 1] & 0xC0u) == 0x80u) start--;
  if (start == 0) return;
  unsigned char lead = (unsigned char)text[start - 1];
  size_t want = lead >= 0xF0u ? 4 : lead >= 0xE0u ? 3 : lead >= 0xC0u ? 2 : 1;
  if (length - (start - 1) < want) text[start - 1] = '\0';
}

static void copy_text(char *to, size_t capacity, const char *from) {
  size_t length = from ? strlen(from) : 0;
  if (length >= capacity) length = capacity - 1;
  if (length > 0) memcpy(to, from, length);
  to[length] = '\0';
  trim_torn_character(to, capacity);
}

enum gr_status gr_error_set(struct gr_error *error, enum gr_status status, const char *format, ...) {
  if (!error) return status;
  /* The arguments may point into the error itself (context added to an earlier message): format aside first. */
  char message[GR_ERROR_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(message, sizeof message, format, arguments) < 0) message[0] = '\0';
  va_end(arguments);
  memset(error, 0, sizeof *error);
  error->status = status;
  copy_text(error->message, sizeof error->message, message);
  return status;
}

void gr_error_place(struct gr_error *error, const char *file, uint32_t line, uint32_t column) {
  if (!error) return;
  copy_text(error->file, sizeof error->file, file);
  error->line = line;
  error->column = column;
}

void gr_error_node(struct gr_error *error, const char *node) {
  if (error) copy_text(error->node, sizeof error->node, node);
}
