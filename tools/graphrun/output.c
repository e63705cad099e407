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

void output_fill_gaps(void) {
  static const int unusable[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int descriptor = 0; descriptor < 3; descriptor++) {
    if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", unusable[descriptor]); /* takes the lowest number */
  }
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

static void forget_temporary(struct output *output) {
  atomic_store(&temporary_in_use, NULL);
  free(output->temporary);
  free(output->target);
  output->temporary = output->target = NULL;
}

/* A short name in the target's folder: the target's own may be as long as the system allows already. */
static char *name_temporary(const char *target) {
  static const char name[] = ".graphrun-XXXXXX";
  const char *slash = strrchr(target, '/');
  size_t folder_length = slash ? (size_t)(slash - target) + 1 : 0;
  char *temporary = malloc(folder_length + sizeof name);
  if (!temporary) return NULL;
  memcpy(temporary, target, folder_length);
  memcpy(temporary + folder_length, name, sizeof name);
  return temporary;
}

/* Replacing needs only a writable folder; a file that may not be written is still not ours to replace. A link is
 * followed, so that what it points to is replaced and not the link. */
static int create_temporary(struct output *output) {
  output->target = realpath(output->path, NULL);
  if (output->target && access(output->target, W_OK) != 0) return -1;
  if (!output->target) output->target = strdup(output->path);
  output->temporary = output->target ? name_temporary(output->target) : NULL;
  if (!output->temporary) {
    errno = ENOMEM;
    return -1;
  }
  int descriptor = mkstemp(output->temporary);
  if (descriptor < 0) return -1;
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(descriptor, 0666 & ~mask); /* mkstemp's 0600 is not what a report has elsewhere */
  return descriptor;
}

static bool open_temporary(struct output *output) {
  int descriptor = create_temporary(output);
  if (descriptor < 0) {
    (void)cannot_write(output->path);
    forget_temporary(output);
    return false;
  }
  atomic_store(&temporary_in_use, output->temporary);
  output->stream = fdopen(descriptor, "w");
  if (output->stream) return true;
  (void)cannot_write(output->path);
  close(descriptor);
  output_abandon(output);
  return false;
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

/* Bytes of the well-formed UTF-8 character at `text`; 0 where there is none. */
static size_t character_length(const unsigned char *text) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* shorter forms would do for what lies below */
  if (text[0] < 0x80) return 1;
  size_t length = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
  if (text[0] < 0xC0 || text[0] > 0xF7) return 0;
  uint32_t point = text[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xC0) != 0x80) return 0; /* the text's end, too */
    point = point << 6 | (text[i] & 0x3Fu);
  }
  bool is_surrogate = point >= 0xD800 && point < 0xE000;
  return point < least[length] || point > 0x10FFFF || is_surrogate ? 0 : length;
}

void output_json_string(struct output *output, const char *text) {
  output_text(output, "\"");
  while (*text) {
    size_t length = character_length((const unsigned char *)text);
    if (length == 0) output_text(output, "\xEF\xBF\xBD");
    else if (*text == '"' || *text == '\\') output_format(output, "\\%c", *text);
    else if ((unsigned char)*text < 0x20) output_format(output, "\\u%04x", (unsigned)(unsigned char)*text);
    else (void)output_write(output, text, length);
    text += length ? length : 1;
  }
  output_text(output, "\"");
}

void output_abandon(struct output *output) {
  if (output->path && output->stream) (void)fclose(output->stream);
  output->stream = NULL;
  if (output->temporary) (void)unlink(output->temporary);
  forget_temporary(output);
}

bool output_close(struct output *output) {
  if (!output->failure && fflush(output->stream) != 0) output->failure = errno;
  if (output->path && fclose(output->stream) != 0 && !output->failure) output->failure = errno;
  output->stream = NULL;
  if (output->temporary) {
    if (!output->failure && rename(output->temporary, output->target) != 0) output->failure = errno;
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
  const char *refusal = getenv("NO_COLOR"), *terminal = getenv("TERM");
  if ((refusal && refusal[0]) || (terminal && strcmp(terminal, "dumb") == 0)) return false;
  return isatty(fileno(stream));
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
