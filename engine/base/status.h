/* Status codes and the error that goes with one. Part of the public face: engine/graphrun.h includes this. */
#ifndef GRAPHRUN_ENGINE_BASE_STATUS_H
#define GRAPHRUN_ENGINE_BASE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One row a code: name, number, short text, exit status of `graphrun`. Numbers never change; rows are only appended. */
#define GR_STATUS_LIST(X)                                                           \
  X(GR_OK, 0, "success", 0)                                                         \
  X(GR_ERR_ARGUMENT, 1, "a function was called with a wrong argument", 2)           \
  X(GR_ERR_INVALID, 2, "the pipeline is invalid", 3)                                \
  X(GR_ERR_NOT_SUPPORTED, 3, "not supported yet", 3)                                \
  X(GR_ERR_NO_MEMORY, 4, "out of host memory", 4)                                   \
  X(GR_ERR_DEVICE_MEMORY, 5, "out of device or page-locked memory", 4)              \
  X(GR_ERR_IO, 6, "a file cannot be read or written", 4)                            \
  X(GR_ERR_NO_BACKEND, 7, "no such backend here", 4)                                \
  X(GR_ERR_NO_DEVICE, 8, "no such device", 4)                                       \
  X(GR_ERR_NODE, 9, "a node failed", 1)                                             \
  X(GR_ERR_EXPECT, 10, "an expectation was not met", 1)                             \
  X(GR_ERR_TIMEOUT, 11, "timeout", 124)                                             \
  X(GR_ERR_CANCELLED, 12, "cancelled", 130)                                         \
  X(GR_ERR_DEVICE_LOST, 13, "the device context was lost in an earlier failure", 1) \
  X(GR_ERR_BUSY, 14, "the object is in use by another call", 70)                    \
  X(GR_ERR_STATE, 15, "the call does not fit the state of the object", 2)           \
  X(GR_ERR_BACKEND, 16, "a call of the backend's API failed", 4)                    \
  X(GR_ERR_INTERNAL, 17, "internal error", 70)

enum gr_status {
#define X(name, number, text, exit_status) name = number,
  GR_STATUS_LIST(X)
#undef X
};

enum { GR_ERROR_MESSAGE_BYTES = 1024, GR_ERROR_NAME_BYTES = 260, GR_ERROR_FILE_BYTES = 512 };

/* What went wrong, in the caller's memory: it stays valid as long as the caller keeps it, and threads never share one.
 * Every function that can fail takes a pointer to one as its last argument, which may be null, and leaves it untouched
 * on success. Texts are terminated; a longer one is cut at a character's border. */
struct gr_error {
  enum gr_status status;
  char message[GR_ERROR_MESSAGE_BYTES]; /* one complete sentence, or a rendered list of diagnostics */
  char file[GR_ERROR_FILE_BYTES];       /* the pipeline file it comes from; empty where there is none */
  uint32_t line;                        /* 1-based; 0 where there is none */
  uint32_t column;
  char node[GR_ERROR_NAME_BYTES]; /* the node or buffer concerned; empty where there is none */
  char backend_code[64];          /* such as "cudaErrorIllegalAddress"; empty where there is none */
};

/* The short text and the name ("GR_ERR_IO") of a code; static strings, also for numbers that are no code. */
const char *gr_status_text(enum gr_status status);
const char *gr_status_name(enum gr_status status);
/* The exit status that `graphrun` ends with for that code. */
int gr_status_exit(enum gr_status status);

/* Sets status and message and clears the rest; does nothing but return where `error` is null. Returns `status`, so that
 * a failing function can end with `return gr_error_set(error, GR_ERR_IO, "…")`. printf's format, locale-free for the
 * integers and strings it is used with. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum gr_status
gr_error_set(struct gr_error *error, enum gr_status status, const char *format, ...);

/* Adds the place or the node to an error that was just set. Null-tolerant. */
void gr_error_place(struct gr_error *error, const char *file, uint32_t line, uint32_t column);
void gr_error_node(struct gr_error *error, const char *node);

/* Leaves the calling function when a call did not give GR_OK. Only where nothing has to be released. */
#define GR_RETURN_IF_FAILED(call)                       \
  do {                                                  \
    enum gr_status status_of_call = (call);             \
    if (status_of_call != GR_OK) return status_of_call; \
  } while (0)

#ifdef __cplusplus
}
#endif

#endif
