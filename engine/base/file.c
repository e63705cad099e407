#include "engine/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  STREAM_FIRST_BYTES = 64 << 10,
  SHOWN_BYTES_MAX = 600,    /* of a path; a message has room for 1,024 */
  CALL_BYTES_MAX = 1 << 30, /* Linux moves at most 2 GiB a call anyhow */
  NAME_TRIES_MAX = 1000,
  HELD_MAX = 16,  /* complete files without a name; each holds a descriptor */
  LINKS_MAX = 40, /* as many as Linux follows */
};

/* The working folder is put before a relative path, as it is what such a message is most often about. */
enum gr_status gr_file_refuse(struct gr_error *error, const char *action, const char *path, const char *reason) {
  char folder[PATH_MAX];
  bool is_relative = path[0] != '/' && getcwd(folder, sizeof folder);
  size_t length = strlen(path);
  if (length > SHOWN_BYTES_MAX) {
    const char *end = path + length - SHOWN_BYTES_MAX;
    while (((unsigned char)*end & 0xC0) == 0x80) end++; /* not in the middle of a character */
    return gr_error_set(error, GR_ERR_IO, "cannot %s \"…%s\": %s", action, end, reason);
  }
  return gr_error_set(error, GR_ERR_IO, "cannot %s \"%s%s%s\": %s", action, is_relative ? folder : "",
                      is_relative ? "/" : "", path, reason);
}

enum gr_status gr_file_refuse_by_number(struct gr_error *error, const char *action, const char *path, int number) {
  char reason[256];
  return gr_file_refuse(error, action, path, strerror_r(number, reason, sizeof reason));
}

static enum gr_status fail_by_limit(struct gr_error *error, const char *path, uint64_t limit_bytes) {
  char reason[64];
  snprintf(reason, sizeof reason, "it is larger than the limit of %" PRIu64 " bytes", limit_bytes);
  return gr_file_refuse(error, "read", path, reason);
}

static enum gr_status fail_by_memory(struct gr_error *error, const char *action, const char *path) {
  return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while %s \"%s\"", action, path);
}

void gr_file_bytes_release(struct gr_file_bytes *bytes) {
  if (bytes->memory) gr_memory_release(bytes->memory, bytes->bytes);
  memset(bytes, 0, sizeof *bytes);
}

/* Whether the stream is at its end: asked before a full buffer is grown, so that a file of known size costs one
 * allocation. A byte that is there goes to *extra. */
static int64_t read_one(gr_file_read_function *read, void *context, char *extra) { return read(context, extra, 1); }

/* `expected` is a hint. */
static enum gr_status read_all(struct gr_memory *memory, const char *name, gr_file_read_function *read, void *context,
                               size_t expected, uint64_t limit_bytes, struct gr_file_bytes *result,
                               struct gr_error *error) {
  enum gr_status status = GR_OK;
  size_t length = 0;
  size_t capacity = expected;
  char *bytes = gr_memory_allocate(memory, capacity + 1);
  if (!bytes) return fail_by_memory(error, "reading", name);
  for (;;) {
    char extra;
    bool full = length == capacity;
    size_t room = full ? 1 : capacity - length;
    if (room > CALL_BYTES_MAX) room = CALL_BYTES_MAX;
    int64_t count = full ? read_one(read, context, &extra) : read(context, bytes + length, room);
    if (count == 0) break;
    if (count < 0 || (uint64_t)count > room) {
      status = gr_file_refuse_by_number(error, "read", name, count < 0 ? errno : EIO);
      goto fail;
    }
    if (limit_bytes > 0 && length + (uint64_t)count > limit_bytes) {
      status = fail_by_limit(error, name, limit_bytes);
      goto fail;
    }
    if (full) {
      size_t wider = capacity < STREAM_FIRST_BYTES ? STREAM_FIRST_BYTES : capacity + capacity / 2;
      char *moved = gr_memory_resize(memory, bytes, wider + 1, 1);
      if (!moved) {
        status = fail_by_memory(error, "reading", name);
        goto fail;
      }
      bytes = moved;
      capacity = wider;
      bytes[length] = extra;
    }
    length += (size_t)count;
  }
  bytes[length] = '\0';
  *result = (struct gr_file_bytes){memory, bytes, length};
  return GR_OK;
fail:
  gr_memory_release(memory, bytes);
  return status;
}

static int64_t read_descriptor(void *context, void *into, size_t capacity) {
  ssize_t count;
  do {
    count = read(*(int *)context, into, capacity);
  } while (count < 0 && errno == EINTR);
  return count;
}

enum gr_status gr_file_read_stream(struct gr_memory *memory, const char *name, gr_file_read_function *read,
                                   void *context, uint64_t limit_bytes, struct gr_file_bytes *bytes,
                                   struct gr_error *error) {
  return read_all(memory, name, read, context, STREAM_FIRST_BYTES, limit_bytes, bytes, error);
}

enum gr_status gr_file_read_descriptor(struct gr_memory *memory, const char *name, int descriptor, uint64_t limit_bytes,
                                       struct gr_file_bytes *bytes, struct gr_error *error) {
  return read_all(memory, name, read_descriptor, &descriptor, STREAM_FIRST_BYTES, limit_bytes, bytes, error);
}

static const char *kind_text(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a directory";
  if (S_ISFIFO(mode)) return "it is a pipe, not a regular file";
  if (S_ISSOCK(mode)) return "it is a socket, not a regular file";
  return "it is a device, not a regular file";
}

/* Opening a pipe blocks until somebody writes, so what must be a regular file is opened without waiting. */
static int open_to_read(const char *path, bool regular_only) {
  int descriptor;
  do {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (regular_only ? O_NONBLOCK : 0));
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

enum gr_status gr_file_read(struct gr_memory *memory, const char *path, const struct gr_file_rules *rules,
                            struct gr_file_bytes *bytes, struct gr_error *error) {
  static const struct gr_file_rules no_rules = {0, false};
  if (!rules) rules = &no_rules;
  int descriptor = open_to_read(path, rules->regular_only);
  if (descriptor < 0) return gr_file_refuse_by_number(error, "read", path, errno);

  enum gr_status status;
  struct stat stat;
  size_t expected = STREAM_FIRST_BYTES;
  if (fstat(descriptor, &stat) != 0) {
    status = gr_file_refuse_by_number(error, "read", path, errno);
    goto done;
  }
  if (S_ISDIR(stat.st_mode) || (rules->regular_only && !S_ISREG(stat.st_mode))) {
    status = gr_file_refuse(error, "read", path, kind_text(stat.st_mode));
    goto done;
  }
  if (S_ISREG(stat.st_mode)) {
    if (rules->limit_bytes > 0 && (uint64_t)stat.st_size > rules->limit_bytes) {
      status = fail_by_limit(error, path, rules->limit_bytes);
      goto done;
    }
    expected = (size_t)stat.st_size;
  }
  status = read_all(memory, path, read_descriptor, &descriptor, expected, rules->limit_bytes, bytes, error);
done:
  close(descriptor);
  return status;
}

/* Replaces the name of a link by what it points to. False where it is none, or points too far. */
static bool follow_link(char name[PATH_MAX]) {
  char target[PATH_MAX];
  ssize_t length = readlink(name, target, sizeof target);
  if (length <= 0 || (size_t)length >= sizeof target) return false;
  const char *slash = strrchr(name, '/');
  size_t folder_length = target[0] == '/' || !slash ? 0 : (size_t)(slash - name) + 1;
  if (folder_length + (size_t)length >= PATH_MAX) return false;
  memcpy(name + folder_length, target, (size_t)length);
  name[folder_length + (size_t)length] = '\0';
  return true;
}

/* The target's own name where `path` is a link, so that the link itself survives the rename; also where the link points
 * to what is not there yet. */
static char *resolve(struct gr_memory *memory, const char *path) {
  char resolved[PATH_MAX];
  const char *target = path;
  if (realpath(path, resolved)) {
    target = resolved;
  } else if (strlen(path) < sizeof resolved) {
    memcpy(resolved, path, strlen(path) + 1);
    for (int i = 0; i < LINKS_MAX && follow_link(resolved); i++) continue;
    target = resolved;
  }
  size_t length = strlen(target);
  char *copy = gr_memory_allocate(memory, length + 1);
  if (copy) memcpy(copy, target, length + 1);
  return copy;
}

enum { NAME_ROOM_BYTES = 64 }; /* that a temporary's name needs besides the folder's */

/* A short name that does not grow with the target's, which may already be as long as the system allows. */
static bool name_temporary(char *into, size_t capacity, const char *path) {
  static atomic_uint_fast64_t number;
  uint64_t mine = atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
  const char *slash = strrchr(path, '/');
  int folder_length = slash ? (int)(slash - path + 1) : 0;
  int length = snprintf(into, capacity, "%.*s.graphrun-%ld-%" PRIu64 ".tmp", folder_length, path, (long)getpid(), mine);
  return length > 0 && (size_t)length < capacity;
}

/* The temporary of a dead process with the same number may still lie there: take the next name. `make` gives a
 * descriptor, or -1 with errno. */
static int try_names(struct gr_file_writer *writer, int (*make)(const struct gr_file_writer *writer)) {
  for (int i = 0; i < NAME_TRIES_MAX; i++) {
    if (!name_temporary(writer->temporary, strlen(writer->path) + NAME_ROOM_BYTES, writer->path)) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int descriptor = make(writer);
    if (descriptor >= 0 || (errno != EEXIST && errno != EINTR)) return descriptor;
  }
  return -1;
}

static int make_named(const struct gr_file_writer *writer) {
  return open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* linkat's own way to name a descriptor needs a privilege; this one needs /proc. */
static void name_descriptor(char name[32], int descriptor) { snprintf(name, 32, "/proc/self/fd/%d", descriptor); }

static int give_name(const struct gr_file_writer *writer) {
  char name[32];
  name_descriptor(name, writer->descriptor);
  return linkat(AT_FDCWD, name, AT_FDCWD, writer->temporary, AT_SYMLINK_FOLLOW) == 0 ? writer->descriptor : -1;
}

/* The folder of a path, for calls that take one. False where it is too long. */
static bool folder_of(const char *path, char folder[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  if (length >= PATH_MAX) return false;
  memcpy(folder, length == 0 ? "." : path, length == 0 ? 1 : length);
  folder[length == 0 ? 1 : length] = '\0';
  return true;
}

char *gr_file_target(struct gr_memory *memory, const char *path) {
  char *resolved = resolve(memory, path);
  char folder[PATH_MAX], real[PATH_MAX];
  if (!resolved || !folder_of(resolved, folder) || !realpath(folder, real)) return resolved;
  const char *slash = strrchr(resolved, '/');
  const char *name = slash ? slash + 1 : resolved;
  size_t folder_length = strlen(real), name_length = strlen(name);
  char *target = gr_memory_allocate(memory, folder_length + name_length + 2);
  if (target) {
    memcpy(target, real, folder_length);
    target[folder_length] = '/';
    memcpy(target + folder_length + 1, name, name_length + 1);
  }
  gr_memory_release(memory, resolved);
  return target;
}

/* -1 where the system cannot do it, or could not give a name later. */
static int open_unnamed(const struct gr_file_writer *writer) {
  char folder[PATH_MAX], name[32];
  if (!folder_of(writer->path, folder)) return -1;
  int descriptor = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  name_descriptor(name, descriptor);
  if (access(name, F_OK) == 0) return descriptor;
  close(descriptor);
  return -1;
}

static enum gr_status open_directly(struct gr_file_writer *writer, struct gr_error *error) {
  do {
    writer->descriptor = open(writer->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } while (writer->descriptor < 0 && errno == EINTR);
  return writer->descriptor < 0 ? gr_file_refuse_by_number(error, "write", writer->path, errno) : GR_OK;
}

/* `existing` is the target's state, or null where there is no target yet. */
static enum gr_status open_temporary(struct gr_file_writer *writer, const struct stat *existing,
                                     struct gr_error *error) {
  /* Replacing needs only a writable folder; a file that may not be written is still not ours to replace. */
  if (existing && access(writer->path, W_OK) != 0) return gr_file_refuse_by_number(error, "write", writer->path, errno);
  writer->temporary = gr_memory_allocate(writer->memory, strlen(writer->path) + NAME_ROOM_BYTES);
  if (!writer->temporary) return fail_by_memory(error, "writing", writer->path);
  writer->descriptor = open_unnamed(writer);
  writer->is_unnamed = writer->descriptor >= 0;
  if (!writer->is_unnamed) writer->descriptor = try_names(writer, make_named);
  if (writer->descriptor < 0) {
    enum gr_status status = gr_file_refuse_by_number(error, "write", writer->path, errno);
    gr_memory_release(writer->memory, writer->temporary);
    return status;
  }
  /* Best effort: the new file has the old one's permissions where the system lets us. */
  if (existing && fchmod(writer->descriptor, existing->st_mode & 07777) != 0) errno = 0;
  return GR_OK;
}

enum gr_status gr_file_writer_open(struct gr_file_writer *writer, struct gr_memory *memory, const char *path,
                                   struct gr_error *error) {
  struct gr_file_writer opened = {.memory = memory, .descriptor = -1};
  opened.path = resolve(memory, path);
  if (!opened.path) return fail_by_memory(error, "writing", path);

  enum gr_status status;
  struct stat existing;
  if (stat(opened.path, &existing) != 0) {
    status = errno == ENOENT ? open_temporary(&opened, NULL, error)
                             : gr_file_refuse_by_number(error, "write", opened.path, errno);
  } else if (S_ISDIR(existing.st_mode)) {
    status = gr_file_refuse(error, "write", opened.path, kind_text(existing.st_mode));
  } else if (S_ISREG(existing.st_mode)) {
    status = open_temporary(&opened, &existing, error);
  } else {
    status = open_directly(&opened, error);
  }
  if (status == GR_OK) {
    *writer = opened;
  } else {
    gr_memory_release(memory, opened.path);
  }
  return status;
}

enum gr_status gr_file_writer_write(struct gr_file_writer *writer, const void *bytes, size_t length,
                                    struct gr_error *error) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t count = write(writer->descriptor, at, length < CALL_BYTES_MAX ? length : CALL_BYTES_MAX);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return gr_file_refuse_by_number(error, "write", writer->path, count < 0 ? errno : EIO);
    at += count;
    length -= (size_t)count;
  }
  return GR_OK;
}

/* How many complete files wait for their names. */
static atomic_int held_count;

/* Null-tolerant throughout; leaves the writer as abort finds an ended one. */
static void end_writer(struct gr_file_writer *writer) {
  if (writer->is_held) atomic_fetch_sub(&held_count, 1);
  gr_memory_release(writer->memory, writer->temporary);
  gr_memory_release(writer->memory, writer->path);
  memset(writer, 0, sizeof *writer);
  writer->descriptor = -1;
}

/* A rename is on the disk when its folder is. Best effort: not every file system lets a folder be synchronised. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  if (!folder_of(path, folder)) return;
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

static enum gr_status fail_and_end(struct gr_file_writer *writer, int number, struct gr_error *error) {
  enum gr_status status = gr_file_refuse_by_number(error, "write", writer->path, number);
  gr_file_writer_abort(writer);
  return status;
}

/* A name where it has none, and an end of writing. errno's value, or 0. */
static int name_and_close(struct gr_file_writer *writer) {
  int descriptor = writer->descriptor, number = 0;
  if (writer->is_unnamed && try_names(writer, give_name) < 0) return errno;
  writer->is_unnamed = false;
  writer->descriptor = -1;
  /* Some file systems say only now that the disk is full. After EINTR Linux has closed it. */
  if (close(descriptor) != 0 && errno != EINTR) number = errno;
  return number;
}

enum gr_status gr_file_writer_complete(struct gr_file_writer *writer, bool durable, struct gr_error *error) {
  if (writer->descriptor < 0 || writer->is_held) return GR_OK;
  /* Pipes and terminals cannot be synchronised and say EINVAL. */
  if (durable && (writer->is_unnamed || writer->temporary) && fsync(writer->descriptor) != 0)
    return fail_and_end(writer, errno, error);
  if (writer->is_unnamed && atomic_fetch_add(&held_count, 1) < HELD_MAX) {
    writer->is_held = true;
    return GR_OK;
  }
  if (writer->is_unnamed) atomic_fetch_sub(&held_count, 1);
  int number = name_and_close(writer);
  return number == 0 ? GR_OK : fail_and_end(writer, number, error);
}

enum gr_status gr_file_writer_commit(struct gr_file_writer *writer, bool durable, struct gr_error *error) {
  GR_RETURN_IF_FAILED(gr_file_writer_complete(writer, durable, error));
  int number = writer->is_held ? name_and_close(writer) : 0;
  if (number != 0) return fail_and_end(writer, number, error);
  if (writer->temporary && rename(writer->temporary, writer->path) != 0) return fail_and_end(writer, errno, error);
  if (durable && writer->temporary) sync_folder(writer->path);
  end_writer(writer);
  return GR_OK;
}

void gr_file_writer_abort(struct gr_file_writer *writer) {
  if (!writer->memory) return;
  if (writer->descriptor >= 0) close(writer->descriptor);
  if (writer->temporary && !writer->is_unnamed) unlink(writer->temporary);
  end_writer(writer);
}
