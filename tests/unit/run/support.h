/* What the tests of this room share: a pipeline of a few buffers made by hand, a folder for its files, and a back end
 * that does nothing but add one to every u32 buffer whose name starts with "count", and that can fail on demand. */
#ifndef GRAPHRUN_TESTS_UNIT_RUN_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_RUN_SUPPORT_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/run/run.h"
#include "tests/support/graph_builder.h"

enum { WORLD_BUFFER_MAX = 8, FAKE_CALL_NEVER = 0 };

struct world {
  struct gr_memory memory;
  char folder[256]; /* ends in '/' */
  uint64_t shapes[WORLD_BUFFER_MAX][GR_RANK_MAX];
  struct gr_buffer buffers[WORLD_BUFFER_MAX];
  struct gr_init inits[WORLD_BUFFER_MAX];
  struct gr_expect expects[WORLD_BUFFER_MAX];
  struct gr_pipeline *nodes; /* from the builder: two barriers */
  struct gr_pipeline pipeline;
  struct gr_dag *dag;
  struct gr_plan *plan;
};

static struct world world;

static inline void set_up(void) {
  const char *root = getenv("TEST_TMPDIR");
  memset(&world, 0, sizeof world);
  gr_memory_init(&world.memory, NULL);
  snprintf(world.folder, sizeof world.folder, "%s/graphrun-run-XXXXXX", root ? root : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(world.folder));
  strcat(world.folder, "/");
  world.nodes = graph_from_text(&world.memory, "first>second");
  world.pipeline = *world.nodes;
  world.pipeline.folder = world.folder;
  world.pipeline.buffers = world.buffers;
}

static inline void tear_down(void) {
  char path[512];
  DIR *folder = opendir(world.folder);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    snprintf(path, sizeof path, "%s%s", world.folder, entry->d_name);
    if (entry->d_name[0] != '.') (void)remove(path);
  }
  if (folder) closedir(folder);
  rmdir(world.folder);
  gr_plan_destroy(world.plan);
  gr_dag_destroy(world.dag);
  graph_destroy(world.nodes);
  ck_assert_uint_eq(world.memory.live_count, 0);
}

/* `rank` extents follow. */
static inline struct gr_buffer *add_buffer(const char *name, enum gr_type type, uint32_t rank, const uint64_t *shape) {
  uint32_t index = world.pipeline.buffer_count++;
  struct gr_buffer *buffer = &world.buffers[index];
  *buffer = (struct gr_buffer){
      .name = name, .mark = {20 + index, 3}, .type = type, .rank = rank, .shape = world.shapes[index]};
  buffer->element_count = 1;
  for (uint32_t i = 0; i < rank; i++) {
    world.shapes[index][i] = shape[i];
    buffer->element_count *= shape[i];
  }
  buffer->size_bytes = buffer->element_count * gr_type_size(type);
  buffer->save_mark = (struct gr_mark){20 + index, 40};
  return buffer;
}

static inline struct gr_buffer *add_vector(const char *name, enum gr_type type, uint64_t count) {
  return add_buffer(name, type, 1, &count);
}

static inline struct gr_init *give_init(struct gr_buffer *buffer, enum gr_init_kind kind) {
  struct gr_init *init = &world.inits[buffer - world.buffers];
  *init = (struct gr_init){.kind = kind, .mark = {buffer->mark.line, 20}};
  buffer->init = init;
  return init;
}

static inline struct gr_expect *give_expect(struct gr_buffer *buffer, enum gr_expect_kind kind) {
  struct gr_expect *expect = &world.expects[buffer - world.buffers];
  *expect = (struct gr_expect){.kind = kind, .mark = {buffer->mark.line, 30}};
  buffer->expect = expect;
  return expect;
}

static inline struct gr_number integer_number(int64_t value) {
  return (struct gr_number){.is_negative = value < 0, .magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
}
static inline struct gr_number real_number(double value) { return (struct gr_number){.is_real = true, .real = value}; }

static inline void make_plan(void) {
  static const struct gr_limits limits = {.lane_max = 8, .alignment_bytes = 64, .device_count = 1};
  struct gr_plan_options options = {0};
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &world.memory, "graph.yaml"));
  ck_assert_int_eq(gr_dag_build(&world.memory, &world.pipeline, &diagnostics, &world.dag), GR_OK);
  gr_diagnostics_release(&diagnostics);
  ck_assert_int_eq(gr_plan_make(&world.memory, &world.pipeline, world.dag, &options, &limits, &world.plan, NULL),
                   GR_OK);
}

/* ---- files ---- */

static inline const char *path_of(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s%s", world.folder, name);
  return path;
}

static inline void write_file(const char *name, const void *bytes, size_t length) {
  FILE *file = fopen(path_of(name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
  fclose(file);
}

static inline bool has_file(const char *name) { return access(path_of(name), F_OK) == 0; }

/* The number of files in the folder, temporary ones too. */
static inline uint32_t count_files(void) {
  uint32_t count = 0;
  DIR *folder = opendir(world.folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  closedir(folder);
  return count;
}

/* A .npy file of version 1, 2 or 3 with that header text. */
static inline void write_npy(const char *name, int version, const char *text, const void *data, size_t data_length) {
  static unsigned char bytes[1 << 16];
  size_t length = strlen(text), at = version == 1 ? 10 : 12;
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (unsigned char)version;
  bytes[7] = 0;
  for (size_t i = 8; i < at; i++) bytes[i] = (unsigned char)(length >> 8 * (i - 8));
  memcpy(bytes + at, text, length);
  if (data_length > 0) memcpy(bytes + at + length, data, data_length);
  write_file(name, bytes, at + length + data_length);
}

/* ---- the back end ---- */

struct gr_executable {
  const struct gr_pipeline *pipeline;
  unsigned char *bytes[WORLD_BUFFER_MAX];
  unsigned char *only;   /* where set, the bytes of every buffer */
  bool has_addresses;    /* buffers may be touched directly */
  uint64_t call_count;   /* of write, read, launch and wait */
  uint64_t fail_at;      /* this one fails; 0: none */
  uint64_t launch_count; /* since it was made */
  uint64_t replay_count; /* since the last reset_times */
  uint64_t launch_ns;    /* how long a launch takes */
  bool waits_for_ever;   /* until told to stop */
  bool node_fails;       /* in `wait` */
};

static inline unsigned char *bytes_of(const struct gr_executable *executable, uint32_t buffer_index) {
  return executable->only ? executable->only : executable->bytes[buffer_index];
}

static inline enum gr_status count_call(struct gr_executable *executable, struct gr_error *error) {
  if (++executable->call_count != executable->fail_at) return GR_OK;
  return gr_error_set(error, GR_ERR_BACKEND, "call %d failed", (int)executable->call_count);
}

static inline enum gr_status fake_write(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                                        const void *from, uint64_t size_bytes, struct gr_error *error) {
  GR_RETURN_IF_FAILED(count_call(executable, error));
  ck_assert_uint_le(offset_bytes + size_bytes, executable->pipeline->buffers[buffer_index].size_bytes);
  memcpy(bytes_of(executable, buffer_index) + offset_bytes, from, size_bytes);
  return GR_OK;
}

static inline enum gr_status fake_read(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                                       void *to, uint64_t size_bytes, struct gr_error *error) {
  GR_RETURN_IF_FAILED(count_call(executable, error));
  ck_assert_uint_le(offset_bytes + size_bytes, executable->pipeline->buffers[buffer_index].size_bytes);
  memcpy(to, bytes_of(executable, buffer_index) + offset_bytes, size_bytes);
  return GR_OK;
}

static inline void *fake_address(struct gr_executable *executable, uint32_t buffer_index) {
  return executable->has_addresses ? bytes_of(executable, buffer_index) : NULL;
}

static inline enum gr_status fake_launch(struct gr_executable *executable, const struct gr_wait_options *options,
                                         struct gr_error *error) {
  (void)options;
  GR_RETURN_IF_FAILED(count_call(executable, error));
  executable->launch_count++;
  for (uint64_t start_ns = gr_clock_now_ns(); gr_clock_now_ns() - start_ns < executable->launch_ns;) continue;
  executable->replay_count++;
  for (uint32_t i = 0; i < executable->pipeline->buffer_count; i++) {
    const struct gr_buffer *buffer = &executable->pipeline->buffers[i];
    if (strncmp(buffer->name, "count", 5) != 0) continue;
    for (uint64_t k = 0; k < buffer->element_count; k++) {
      uint32_t value;
      memcpy(&value, executable->bytes[i] + 4 * k, 4);
      value++;
      memcpy(executable->bytes[i] + 4 * k, &value, 4);
    }
  }
  return GR_OK;
}

static inline enum gr_status fake_wait(struct gr_executable *executable, const struct gr_wait_options *options,
                                       struct gr_error *error) {
  GR_RETURN_IF_FAILED(count_call(executable, error));
  if (executable->node_fails) {
    gr_error_set(error, GR_ERR_NODE, "node \"second\" failed");
    gr_error_node(error, "second");
    if (error) strcpy(error->backend_code, "cudaErrorIllegalAddress");
    return GR_ERR_NODE;
  }
  while (executable->waits_for_ever) {
    if (options->cancelled && options->cancelled(options->context)) {
      return gr_error_set(error, GR_ERR_CANCELLED, "the run was cancelled");
    }
    if (options->deadline_ns != 0 && gr_clock_now_ns() >= options->deadline_ns) {
      return gr_error_set(error, GR_ERR_TIMEOUT, "timeout");
    }
  }
  return GR_OK;
}

static inline void fake_states(const struct gr_executable *executable, enum gr_node_state *states) {
  states[0] = GR_NODE_OK;
  states[1] = executable->node_fails ? GR_NODE_FAILED : executable->waits_for_ever ? GR_NODE_TIMEOUT : GR_NODE_OK;
}

static inline void fake_facts(const struct gr_executable *executable, struct gr_build_facts *facts) {
  (void)executable;
  *facts = (struct gr_build_facts){.host_bytes = 77, .worker_count = 1};
}

static inline void fake_times(const struct gr_executable *executable, struct gr_replay_times *times) {
  *times = (struct gr_replay_times){.replays = executable->replay_count, .launch_total_ns = 5};
}

static inline void fake_reset_times(struct gr_executable *executable) { executable->replay_count = 0; }

/* Only what a run may call: the rest is null, so that a call of it does not go unnoticed. */
static const struct gr_backend fake_backend = {
    .name = "fake",
    .write = fake_write,
    .read = fake_read,
    .address = fake_address,
    .launch = fake_launch,
    .wait = fake_wait,
    .states = fake_states,
    .facts = fake_facts,
    .times = fake_times,
    .reset_times = fake_reset_times,
};

/* With malloc, so that it does not count as the engine's memory. Fresh bytes are 0xee. */
static inline struct gr_executable *make_fake(void) {
  struct gr_executable *executable = calloc(1, sizeof *executable);
  executable->pipeline = &world.pipeline;
  for (uint32_t i = 0; i < world.pipeline.buffer_count; i++) {
    executable->bytes[i] = malloc(world.buffers[i].size_bytes + 1);
    memset(executable->bytes[i], 0xee, world.buffers[i].size_bytes + 1);
  }
  return executable;
}

static inline void drop_fake(struct gr_executable *executable) {
  for (uint32_t i = 0; i < WORLD_BUFFER_MAX; i++) free(executable->bytes[i]);
  free(executable);
}

#endif
