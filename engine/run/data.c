/* Data files: opened, compared with what the buffer wants, and read piece by piece, so that a large one never lies in
 * memory twice. Column-major files are the exception: their elements have to be put in another order. */
#include "engine/run/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALL_BYTES_MAX = 1 << 30 };

static bool ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), ending_length = strlen(ending);
  return length > ending_length && strcmp(path + length - ending_length, ending) == 0;
}

bool gr_data_is_npy(const char *path) { return ends_in(path, ".npy"); }
bool gr_data_is_raw(const char *path) { return ends_in(path, ".bin"); }

enum gr_status gr_data_locate(const struct gr_pipeline *pipeline, const struct gr_buffer *buffer, struct gr_mark mark,
                              enum gr_status status, struct gr_error *error) {
  gr_error_place(error, pipeline->file, mark.line, mark.column);
  gr_error_node(error, buffer->name);
  return status;
}

/* Exactly `size` bytes from there on. */
static enum gr_status read_at(const struct gr_data_file *file, uint64_t offset, uint64_t size, void *to,
                              struct gr_error *error) {
  unsigned char *at = to;
  while (size > 0) {
    ssize_t count = pread(file->descriptor, at, size < CALL_BYTES_MAX ? (size_t)size : CALL_BYTES_MAX, (off_t)offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return gr_file_refuse_by_number(error, "read", file->path, errno);
    if (count == 0) return gr_file_refuse(error, "read", file->path, "it became shorter while it was read");
    at += count;
    offset += (uint64_t)count;
    size -= (uint64_t)count;
  }
  return GR_OK;
}

/* Opening a pipe would block until somebody writes, so files are opened without waiting and looked at. */
static enum gr_status open_file(struct gr_data_file *file, uint64_t *size_bytes, struct gr_error *error) {
  struct stat stat;
  do {
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (file->descriptor < 0 && errno == EINTR);
  if (file->descriptor < 0) return gr_file_refuse_by_number(error, "read", file->path, errno);
  if (fstat(file->descriptor, &stat) != 0) return gr_file_refuse_by_number(error, "read", file->path, errno);
  if (S_ISDIR(stat.st_mode)) return gr_file_refuse(error, "read", file->path, "it is a directory");
  if (!S_ISREG(stat.st_mode)) return gr_file_refuse(error, "read", file->path, "it is not a regular file");
  *size_bytes = (uint64_t)stat.st_size;
  return GR_OK;
}

static enum gr_status refuse_content(const struct gr_data_file *file, struct gr_error *error, const char *problem) {
  return gr_error_set(error, GR_ERR_INVALID, "\"%s\" does not fit buffer %s: %s", file->path,
                      gr_view_quote(gr_view_of(file->buffer->name)).text, problem);
}

static void append_shape(struct gr_text *text, uint32_t rank, const uint64_t *shape) {
  gr_text_append_text(text, "[");
  for (uint32_t i = 0; i < rank; i++) gr_text_append_format(text, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
  gr_text_append_text(text, "]");
}

/* "it holds f64 [3, 4], the buffer is f32 [4, 3]" */
static enum gr_status refuse_shape(const struct gr_data_file *file, const struct gr_npy_header *header,
                                   struct gr_error *error) {
  const struct gr_buffer *buffer = file->buffer;
  struct gr_text text;
  gr_text_init(&text, file->memory);
  gr_text_append_format(&text, "it holds %s ", gr_type_name(header->type));
  append_shape(&text, header->rank, header->shape);
  gr_text_append_format(&text, ", the buffer is %s ", gr_type_name(buffer->type));
  append_shape(&text, buffer->rank, buffer->shape);
  enum gr_status status = text.failed ? gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory")
                                      : refuse_content(file, error, text.bytes);
  gr_text_release(&text);
  return status;
}

static bool has_shape(const struct gr_npy_header *header, const struct gr_buffer *buffer) {
  if (header->type != buffer->type || header->rank != buffer->rank) return false;
  return buffer->rank == 0 || memcmp(header->shape, buffer->shape, buffer->rank * sizeof *header->shape) == 0;
}

static enum gr_status refuse_size(const struct gr_data_file *file, uint64_t found_bytes, uint64_t wanted_bytes,
                                  struct gr_error *error) {
  char problem[GR_NPY_PROBLEM_BYTES];
  snprintf(problem, sizeof problem, "it has %" PRIu64 " bytes of data, the buffer needs %" PRIu64, found_bytes,
           wanted_bytes);
  return refuse_content(file, error, problem);
}

static enum gr_status read_header(struct gr_data_file *file, uint64_t file_bytes, struct gr_npy_header *header,
                                  struct gr_error *error) {
  unsigned char prefix[GR_NPY_PREFIX_BYTES];
  size_t prefix_length = file_bytes < sizeof prefix ? (size_t)file_bytes : sizeof prefix, begin, length;
  struct gr_npy_problem problem;
  GR_RETURN_IF_FAILED(read_at(file, 0, prefix_length, prefix, error));
  if (!gr_npy_parse_prefix(prefix, prefix_length, &begin, &length, &problem)) {
    return refuse_content(file, error, problem.text);
  }
  if (begin + length > file_bytes) return refuse_content(file, error, "it ends inside the header");
  char *text = gr_memory_allocate(file->memory, length);
  if (!text) return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while reading \"%s\"", file->path);
  enum gr_status status = read_at(file, begin, length, text, error);
  if (status == GR_OK && !gr_npy_parse_text((struct gr_view){text, length}, header, &problem)) {
    status = refuse_content(file, error, problem.text);
  }
  gr_memory_release(file->memory, text);
  file->data_offset = begin + length;
  return status;
}

static enum gr_status check_content(struct gr_data_file *file, uint64_t file_bytes, struct gr_error *error) {
  const struct gr_buffer *buffer = file->buffer;
  if (gr_data_is_npy(file->path)) {
    struct gr_npy_header header;
    GR_RETURN_IF_FAILED(read_header(file, file_bytes, &header, error));
    if (!has_shape(&header, buffer)) return refuse_shape(file, &header, error);
    file->is_column_major = header.is_column_major;
  } else if (!gr_data_is_raw(file->path)) {
    return refuse_content(file, error, "the names of data files end in .npy or .bin");
  }
  uint64_t found = file_bytes - file->data_offset;
  return found == buffer->size_bytes ? GR_OK : refuse_size(file, found, buffer->size_bytes, error);
}

static enum gr_status open_and_check(struct gr_data_file *file, struct gr_error *error) {
  uint64_t file_bytes = 0;
  GR_RETURN_IF_FAILED(open_file(file, &file_bytes, error));
  return check_content(file, file_bytes, error);
}

enum gr_status gr_data_open(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                            const struct gr_buffer *buffer, const char *path, struct gr_mark mark,
                            struct gr_data_file *file, struct gr_error *error) {
  struct gr_data_file opened = {.memory = memory, .buffer = buffer, .descriptor = -1};
  opened.path = gr_pipeline_path(pipeline, memory, path);
  enum gr_status status =
      opened.path ? open_and_check(&opened, error) : gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory");
  if (status == GR_OK) {
    *file = opened;
    return GR_OK;
  }
  gr_data_close(&opened);
  return gr_data_locate(pipeline, buffer, mark, status, error);
}

static enum gr_status read_whole(struct gr_data_file *file, struct gr_error *error) {
  uint64_t size_bytes = file->buffer->size_bytes;
  unsigned char *columns = gr_memory_allocate(file->memory, size_bytes);
  if (!columns) {
    return gr_error_set(error, GR_ERR_NO_MEMORY,
                        "out of host memory: \"%s\" is in column-major order, and needs %" PRIu64
                        " bytes to be put in another",
                        file->path, size_bytes);
  }
  enum gr_status status = read_at(file, file->data_offset, size_bytes, columns, error);
  if (status == GR_OK) file->columns = columns;
  else gr_memory_release(file->memory, columns);
  return status;
}

/* Elements in row-major order from a column-major file. The first dimension is the one that moves fastest there. */
static void read_columns(const struct gr_data_file *file, uint64_t first, uint64_t count, unsigned char *to) {
  const struct gr_buffer *buffer = file->buffer;
  size_t size = gr_type_size(buffer->type);
  uint64_t index[GR_RANK_MAX], stride[GR_RANK_MAX], offset = 0, step = 1, rest = first;
  for (uint32_t i = 0; i < buffer->rank; i++) {
    stride[i] = step;
    step *= buffer->shape[i];
  }
  for (uint32_t i = buffer->rank; i-- > 0; rest /= buffer->shape[i]) {
    index[i] = rest % buffer->shape[i];
    offset += index[i] * stride[i];
  }
  for (uint64_t k = 0; k < count; k++) {
    memcpy(to + k * size, file->columns + offset * size, size);
    for (uint32_t i = buffer->rank; i-- > 0;) {
      offset += stride[i];
      if (++index[i] < buffer->shape[i]) break;
      offset -= index[i] * stride[i];
      index[i] = 0;
    }
  }
}

enum gr_status gr_data_read(struct gr_data_file *file, uint64_t offset_bytes, uint64_t size_bytes, void *to,
                            struct gr_error *error) {
  if (!file->is_column_major) return read_at(file, file->data_offset + offset_bytes, size_bytes, to, error);
  if (!file->columns) {
    enum gr_status status = read_whole(file, error);
    if (!file->columns) return status;
  }
  size_t size = gr_type_size(file->buffer->type);
  read_columns(file, offset_bytes / size, size_bytes / size, to);
  return GR_OK;
}

void gr_data_close(struct gr_data_file *file) {
  if (!file->memory) return;
  if (file->descriptor >= 0) close(file->descriptor);
  gr_memory_release(file->memory, file->path);
  gr_memory_release(file->memory, file->columns);
  memset(file, 0, sizeof *file);
  file->descriptor = -1;
}

/* The folder that a file of that name is in, the name up to the last slash, is there; a new file may be made in it. */
static enum gr_status check_folder(char *path, bool is_new, struct gr_error *error) {
  struct stat stat_of_folder;
  char *name = strrchr(path, '/');
  name = name ? name + 1 : path;
  char first = *name;
  *name = '\0';
  const char *folder = name == path ? "." : path;
  int number = stat(folder, &stat_of_folder) == 0 ? 0 : errno;
  bool is_folder = number == 0 && S_ISDIR(stat_of_folder.st_mode);
  if (is_folder && is_new && access(folder, W_OK) != 0) number = errno;
  *name = first;
  if (number != 0) return gr_file_refuse_by_number(error, "write", path, number);
  return is_folder ? GR_OK : gr_file_refuse(error, "write", path, "its folder is no folder");
}

/* What there is already is a file that may be written. */
static enum gr_status check_target(const char *path, struct gr_error *error) {
  struct stat stat_of_target;
  if (stat(path, &stat_of_target) != 0) return GR_OK;
  if (S_ISDIR(stat_of_target.st_mode)) return gr_file_refuse(error, "write", path, "it is a directory");
  return access(path, W_OK) == 0 ? GR_OK : gr_file_refuse_by_number(error, "write", path, errno);
}

static enum gr_status check_save(char *path, struct gr_error *error) {
  if (!gr_data_is_npy(path) && !gr_data_is_raw(path)) {
    return gr_error_set(error, GR_ERR_INVALID, "\"%s\": the names of data files end in .npy or .bin", path);
  }
  struct stat stat_of_link; /* also of one that points to nothing yet: its folder is elsewhere */
  bool is_new = lstat(path, &stat_of_link) != 0;
  GR_RETURN_IF_FAILED(check_folder(path, is_new, error));
  return check_target(path, error);
}

enum gr_status gr_data_check_save(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                  const struct gr_buffer *buffer, struct gr_error *error) {
  char *path = gr_pipeline_path(pipeline, memory, buffer->save);
  enum gr_status status = path ? check_save(path, error) : gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory");
  gr_memory_release(memory, path);
  return status == GR_OK ? GR_OK : gr_data_locate(pipeline, buffer, buffer->save_mark, status, error);
}

/* ---- all files of a pipeline ---- */

struct file_check {
  struct gr_memory *memory;
  const struct gr_pipeline *pipeline;
  enum gr_unreadable unreadable;
  struct gr_diagnostics *diagnostics;
};

/* One file's outcome as a diagnostic. False without memory. */
static bool note(const struct file_check *check, struct gr_mark mark, enum gr_status status,
                 const struct gr_error *error) {
  if (status == GR_ERR_NO_MEMORY) return false;
  if (status == GR_ERR_IO && check->unreadable == GR_UNREADABLE_WARNING) {
    gr_diagnostics_warning(check->diagnostics, mark, "%s", error->message);
  } else if (status != GR_OK) {
    gr_diagnostics_error_status(check->diagnostics, status, mark, "%s", error->message);
  }
  return true;
}

static bool check_input(const struct file_check *check, const struct gr_buffer *buffer, const char *path,
                        struct gr_mark mark) {
  struct gr_data_file file = {0};
  struct gr_error error = {0};
  enum gr_status status = gr_data_open(check->memory, check->pipeline, buffer, path, mark, &file, &error);
  gr_data_close(&file);
  return note(check, mark, status, &error);
}

static bool check_output(const struct file_check *check, const struct gr_buffer *buffer) {
  struct gr_error error = {0};
  enum gr_status status = gr_data_check_save(check->memory, check->pipeline, buffer, &error);
  return note(check, buffer->save_mark, status, &error);
}

static bool check_buffer(const struct file_check *check, const struct gr_buffer *buffer) {
  const struct gr_init *init = buffer->init;
  const struct gr_expect *expect = buffer->expect;
  if (init && init->kind == GR_INIT_LOAD && !check_input(check, buffer, init->path, init->mark)) return false;
  if (expect && expect->kind == GR_EXPECT_LOAD && !check_input(check, buffer, expect->path, expect->mark)) return false;
  return !buffer->save || check_output(check, buffer);
}

enum gr_status gr_run_check_files(struct gr_memory *memory, const struct gr_pipeline *pipeline,
                                  enum gr_unreadable unreadable, struct gr_diagnostics *diagnostics) {
  struct file_check check = {memory, pipeline, unreadable, diagnostics};
  for (uint32_t i = 0; i < pipeline->buffer_count; i++) {
    if (!check_buffer(&check, &pipeline->buffers[i])) return GR_ERR_NO_MEMORY;
  }
  struct gr_error error = {0};
  enum gr_status status = gr_run_check_targets(memory, pipeline, &error);
  if (!note(&check, (struct gr_mark){error.line, error.column}, status, &error)) return GR_ERR_NO_MEMORY;
  return gr_diagnostics_status(diagnostics);
}
