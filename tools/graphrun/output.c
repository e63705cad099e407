#include "tools/graphrun/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary file that a signal's second arrival has to remove. At most one is open at a time. */
static char *_Atomic temporary_in_use;

void output_remove_temporary(void) {
  const char *path = atomic_load(&temporary_in_use);
  if (path) (void)unlink(path);
}

static bool cannot_write(const char *path) {
  fprintf(stderr, "graphrun: %s cannot be written: %s\n", path, strerror(errno));
  return false;
}

/* Devices and pipes cannot be replaced by a rename: they are written as they are. */
static bool is_special(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode);
}

static bool open_temporary(struct output *output) {
  /* A link is followed, so that what it points to is replaced and not the link. */
  char *target = realpath(output->path, NULL);
  if (!target) target = strdup(output->path);
  size_t length = target ? strlen(target) : 0;
  output->temporary = target ? malloc(length + sizeof ".XXXXXX") : NULL;
  if (!output->temporary) {
    free(target);
    errno = ENOMEM;
    return cannot_write(output->path);
  }
  memcpy(output->temporary, target, length);
  memcpy(output->temporary + length, ".XXXXXX", sizeof ".XXXXXX");
  free(target);
  int descriptor = mkstemp(output->temporary);
  if (descriptor < 0) {
    free(output->temporary);
    output->temporary = NULL;
    return cannot_write(output->path);
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(descriptor, 0666 & ~mask); /* mkstemp's 0600 is not what a report has elsewhere */
  atomic_store(&temporary_in_use, output->temporary);
  output->stream = fdopen(descriptor, "w");
  if (output->stream) return true;
  close(descriptor);
  output_abandon(output);
  return cannot_write(output->path);
}

bool output_open(struct output *output, const char *path) {
  *output = (struct output){.stream = stdout, .path = path};
  if (!path) return true;
  if (!is_special(path)) return open_temporary(output);
  output->stream = fopen(path, "w");
  return output->stream ? true : cannot_write(path);
}

bool output_write(void *context, const char *bytes, size_t length) {
  struct output *output = context;
  if (output->failure) return false;
  if (fwrite(bytes, 1, length, output->stream) == length) return true;
  output->failure = errno ? errno : EIO;
  return false;
}

void output_text(struct output *output, const char *text) { (void)output_write(output, text, strlen(text)); }

void output_format(struct output *output, const char *format, ...) {
  if (output->failure) return;
  va_list arguments;
  va_start(arguments, format);
  if (vfprintf(output->stream, format, arguments) < 0) output->failure = errno ? errno : EIO;
  va_end(arguments);
}

void output_json_string(struct output *output, const char *text) {
  output_text(output, "\"");
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\') output_format(output, "\\%c", *c);
    else if ((unsigned char)*c < 0x20) output_format(output, "\\u%04x", (unsigned)(unsigned char)*c);
    else (void)output_write(output, c, 1);
  }
  output_text(output, "\"");
}

static void forget_temporary(struct output *output) {
  atomic_store(&temporary_in_use, NULL);
  free(output->temporary);
  output->temporary = NULL;
}

void output_abandon(struct output *output) {
  if (output->path && output->stream) (void)fclose(output->stream);
  output->stream = NULL;
  if (output->temporary) (void)unlink(output->temporary);
  forget_temporary(output);
}

/* The final name: what the temporary file's is without its ending. */
static bool rename_temporary(const char *temporary) {
  char *target = strndup(temporary, strlen(temporary) - strlen(".XXXXXX"));
  bool is_renamed = target && rename(temporary, target) == 0;
  free(target);
  return is_renamed;
}

bool output_close(struct output *output) {
  if (!output->failure && fflush(output->stream) != 0) output->failure = errno;
  if (output->path && fclose(output->stream) != 0 && !output->failure) output->failure = errno;
  output->stream = NULL;
  if (output->temporary) {
    if (!output->failure && !rename_temporary(output->temporary)) output->failure = errno;
    if (output->failure) (void)unlink(output->temporary);
  }
  forget_temporary(output);
  if (!output->failure) return true;
  if (output->failure != EPIPE) {
    errno = output->failure;
    cannot_write(output->path ? output->path : "standard output");
  }
  return false;
}

bool output_write_stderr(void *context, const char *bytes, size_t length) {
  (void)context;
  (void)fwrite(bytes, 1, length, stderr);
  return true; /* whom should one tell that stderr is gone? */
}

bool output_wants_color(FILE *stream) {
  const char *refusal = getenv("NO_COLOR");
  return !(refusal && refusal[0]) && isatty(fileno(stream));
}

void output_say_error(const struct gr_error *error) {
  if (error->file[0] && error->line && error->column) {
    fprintf(stderr, "%s:%u:%u: error: %s\n", error->file, error->line, error->column, error->message);
  } else if (error->file[0] && error->line) {
    fprintf(stderr, "%s:%u: error: %s\n", error->file, error->line, error->message);
  } else {
    fprintf(stderr, "graphrun: %s\n", error->message);
  }
}
