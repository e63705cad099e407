/* Files as a whole: read into memory, and written so that the final name never shows half a file. Errors are GR_ERR_IO
 * (or GR_ERR_NO_MEMORY) with the full path that was tried and the system's reason. */
#ifndef GRAPHRUN_ENGINE_BASE_FILE_H
#define GRAPHRUN_ENGINE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/memory.h"
#include "engine/base/status.h"

/* 'cannot ACTION "FULL PATH": REASON' as GR_ERR_IO. The working folder stands before a relative path; of a very long
 * one the end is shown, so that the reason is, too. */
enum gr_status gr_file_refuse(struct gr_error *error, const char *action, const char *path, const char *reason);
/* The same with the system's reason. */
enum gr_status gr_file_refuse_by_number(struct gr_error *error, const char *action, const char *path, int number);

/* A file's content, owned; followed by a NUL that `length` does not count. */
struct gr_file_bytes {
  struct gr_memory *memory;
  char *bytes;
  size_t length;
};

/* Safe on a zeroed struct. */
void gr_file_bytes_release(struct gr_file_bytes *bytes);

/* What a file may be. `regular_only` refuses pipes, sockets and devices before anything could block; without it they
 * are read to their end. `limit_bytes` 0: no limit but memory. Directories are always refused. */
struct gr_file_rules {
  uint64_t limit_bytes;
  bool regular_only;
};

/* `rules` null: anything but a directory, no limit. *bytes is untouched on failure. */
enum gr_status gr_file_read(struct gr_memory *memory, const char *path, const struct gr_file_rules *rules,
                            struct gr_file_bytes *bytes, struct gr_error *error);

/* Puts up to `capacity` bytes at `into`: how many, 0 at the end, -1 with errno set when reading failed. */
typedef int64_t gr_file_read_function(void *context, void *into, size_t capacity);

/* Reads to the end of a stream. `name` is for messages. */
enum gr_status gr_file_read_stream(struct gr_memory *memory, const char *name, gr_file_read_function *read,
                                   void *context, uint64_t limit_bytes, struct gr_file_bytes *bytes,
                                   struct gr_error *error);
/* The same for an open descriptor, which stays open. */
enum gr_status gr_file_read_descriptor(struct gr_memory *memory, const char *name, int descriptor, uint64_t limit_bytes,
                                       struct gr_file_bytes *bytes, struct gr_error *error);

/* A file being written. Everything goes to a new file in the target's folder, which takes the target's name in one step
 * at the commit; until then the target is as it was. A symbolic link is followed: what it points to is replaced. A
 * target that exists and is no regular file (a device, a pipe) is written directly.
 *
 * The new file has no name until the commit where the file system can do that: a process that dies before, however it
 * does, leaves nothing behind. Elsewhere, and where very many files are complete at once, it has an unused one, and a
 * dying program leaves it. Not thread-safe; different writers are independent. */
struct gr_file_writer {
  struct gr_memory *memory;
  char *path;      /* the target, links resolved */
  char *temporary; /* the new file's name, now or to be; null when written directly */
  bool is_unnamed; /* it has none yet */
  bool is_held;    /* complete, and waits for its name */
  int descriptor;
};

/* The one path of the file that a writer of `path` would replace, however it is spelled: links followed, the folder's
 * real path before the name. Where the folder is not there, the path as it is. Null without memory. */
char *gr_file_target(struct gr_memory *memory, const char *path);

/* On failure nothing is left behind and *writer is untouched. */
enum gr_status gr_file_writer_open(struct gr_file_writer *writer, struct gr_memory *memory, const char *path,
                                   struct gr_error *error);
/* After a failure only abort is left. */
enum gr_status gr_file_writer_write(struct gr_file_writer *writer, const void *bytes, size_t length,
                                    struct gr_error *error);
/* Everything is written: waits for the disk where `durable` says so. After GR_OK only the name is missing, so that
 * several files can be complete before the first one takes its name; few descriptors are held, however many these are.
 * On failure the writer is ended and the temporary gone. */
enum gr_status gr_file_writer_complete(struct gr_file_writer *writer, bool durable, struct gr_error *error);
/* Completes the file if that was not done. Ends the writer in every case: with GR_OK the target is complete, else it is
 * as before and the temporary is gone. `durable`: wait until the disk has it. */
enum gr_status gr_file_writer_commit(struct gr_file_writer *writer, bool durable, struct gr_error *error);
/* Removes the temporary file and ends the writer. Safe on a zeroed or ended one. */
void gr_file_writer_abort(struct gr_file_writer *writer);

#endif
