#include "engine/backend/host/host.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/backend/host/host_internal.h"
#include "engine/base/clock.h"

/* ---- devices: there is always exactly one ---- */

static void probe(struct gr_probe *probe) {
  memset(probe, 0, sizeof *probe);
  probe->device_count = 1;
  struct utsname system;
  if (uname(&system) != 0) return;
  size_t length = strnlen(system.sysname, sizeof probe->driver - 2);
  memcpy(probe->driver, system.sysname, length);
  probe->driver[length++] = ' ';
  size_t rest = strnlen(system.release, sizeof probe->driver - 1 - length);
  memcpy(probe->driver + length, system.release, rest);
}

static enum gr_status check_index(uint32_t device_index, struct gr_error *error) {
  if (device_index == 0) return GR_OK;
  return gr_error_set(error, GR_ERR_NO_DEVICE, "there is no host device %u: the only one is 0", device_index);
}

static enum gr_status describe(uint32_t device_index, struct gr_device_info *info, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_index(device_index, error));
  gr_host_machine(info);
  return GR_OK;
}

static enum gr_status open_device(struct gr_memory *memory, const struct gr_device_options *options,
                                  struct gr_device **device, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_index(options->device_index, error));
  struct gr_device *made = gr_memory_allocate_zeroed(memory, 1, sizeof *made);
  if (!made) return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while the host device was opened");
  made->memory = memory;
  made->worker_count = options->worker_count ? options->worker_count : gr_host_core_count();
  if (made->worker_count > HOST_WORKERS_MAX) made->worker_count = HOST_WORKERS_MAX;
  *device = made;
  return GR_OK;
}

static void close_device(struct gr_device *device) {
  if (device) gr_memory_release(device->memory, device);
}

static void limits(const struct gr_device *device, struct gr_limits *limits) {
  (void)device;
  *limits = (struct gr_limits){.lane_max = 0, .alignment_bytes = HOST_ALIGNMENT_BYTES, .device_count = 1};
}

/* ---- build and destroy ---- */

/* A block of its own, aligned for the pool's words; the arena's blocks are its only other memory. */
static struct gr_executable *make_empty(struct gr_memory *memory, const struct gr_plan *plan) {
  struct gr_arena arena;
  gr_arena_init(&arena, memory);
  char *block = gr_arena_allocate_zeroed(&arena, 1, sizeof(struct gr_executable) + HOST_LINE_BYTES);
  if (!block) return NULL;
  uintptr_t past = (uintptr_t)block % HOST_LINE_BYTES;
  struct gr_executable *executable = (void *)(block + (HOST_LINE_BYTES - past) % HOST_LINE_BYTES);
  executable->memory = memory;
  executable->plan = plan;
  executable->arena = arena;
  return executable;
}

/* The executable lies in its own arena: what is released last is the block that it stands in. */
static void release(struct gr_executable *executable) {
  struct gr_arena arena = executable->arena;
  gr_memory_release(executable->memory, executable->buffers);
  gr_arena_release(&arena);
}

static enum gr_status build(struct gr_device *device, const struct gr_plan *plan,
                            const struct gr_build_options *options, struct gr_executable **executable,
                            struct gr_error *error) {
  struct gr_executable *made = make_empty(device->memory, plan);
  if (!made) return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while the plan was built");
  enum gr_status status = gr_host_executable_make(made, options->mode, device->worker_count, error);
  if (status == GR_OK) status = gr_host_pool_start(&made->pool, error);
  if (status != GR_OK) {
    release(made);
    return status;
  }
  *executable = made;
  return GR_OK;
}

static void destroy(struct gr_executable *executable) {
  if (!executable) return;
  /* A worker that is still inside a kernel would otherwise write to freed memory: it keeps all of it. */
  if (gr_host_pool_stop(&executable->pool)) release(executable);
}

/* ---- buffers ---- */

static enum gr_status check_quiet(struct gr_executable *executable, struct gr_error *error) {
  if (atomic_load(&executable->pool.halt) == 0) return GR_OK;
  return gr_error_set(error, GR_ERR_STATE, "an earlier run was broken off, and a node of it may still be running");
}

static enum gr_status write_buffer(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                                   const void *from, uint64_t size_bytes, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_quiet(executable, error));
  if (size_bytes > 0) memcpy((char *)executable->addresses[buffer_index] + offset_bytes, from, size_bytes);
  return GR_OK;
}

static enum gr_status read_buffer(struct gr_executable *executable, uint32_t buffer_index, uint64_t offset_bytes,
                                  void *to, uint64_t size_bytes, struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_quiet(executable, error));
  if (size_bytes > 0) memcpy(to, (const char *)executable->addresses[buffer_index] + offset_bytes, size_bytes);
  return GR_OK;
}

static void *address(struct gr_executable *executable, uint32_t buffer_index) {
  return executable->addresses[buffer_index];
}

/* ---- replays ---- */

static enum gr_status check_process(const struct gr_executable *executable, struct gr_error *error) {
  if (executable->pool.process == getpid()) return GR_OK;
  return gr_error_set(error, GR_ERR_STATE,
                      "the process was forked after the pipeline was built: its workers run in the parent only");
}

static enum gr_status launch(struct gr_executable *executable, const struct gr_wait_options *options,
                             struct gr_error *error) {
  struct host_pool *pool = &executable->pool;
  GR_RETURN_IF_FAILED(check_process(executable, error));
  GR_RETURN_IF_FAILED(check_quiet(executable, error));
  if (pool->requested - atomic_load(&pool->completed) >= HOST_QUEUE_MAX &&
      !gr_host_pool_wait(pool, pool->requested - HOST_QUEUE_MAX / 2, options)) {
    return gr_host_executable_failure(executable, error);
  }
  uint64_t begun_ns = gr_clock_now_ns();
  gr_host_pool_launch(pool);
  uint64_t taken_ns = gr_clock_now_ns() - begun_ns;
  if (executable->launches == 0 || taken_ns < executable->launch_min_ns) executable->launch_min_ns = taken_ns;
  if (taken_ns > executable->launch_max_ns) executable->launch_max_ns = taken_ns;
  executable->launch_total_ns += taken_ns;
  executable->launches++;
  return GR_OK;
}

static enum gr_status wait_all(struct gr_executable *executable, const struct gr_wait_options *options,
                               struct gr_error *error) {
  GR_RETURN_IF_FAILED(check_process(executable, error));
  if (gr_host_pool_wait(&executable->pool, executable->pool.requested, options)) return GR_OK;
  return gr_host_executable_failure(executable, error);
}

/* ---- what became of it ---- */

static void facts(const struct gr_executable *executable, struct gr_build_facts *facts) { *facts = executable->facts; }

static void times(const struct gr_executable *executable, struct gr_replay_times *times) {
  const struct host_pool *pool = &executable->pool;
  *times = (struct gr_replay_times){
      .replays = atomic_load(&pool->completed) - executable->replays_before,
      .launch_min_ns = executable->launch_min_ns,
      .launch_max_ns = executable->launch_max_ns,
      .launch_total_ns = executable->launch_total_ns,
  };
  uint64_t start_ns = atomic_load(&pool->first_start_ns), end_ns = atomic_load(&pool->last_end_ns);
  if (end_ns > start_ns) times->device_ns = (double)(end_ns - start_ns);
}

static void reset_times(struct gr_executable *executable) {
  struct host_pool *pool = &executable->pool;
  executable->replays_before = atomic_load(&pool->completed);
  executable->replay_before = atomic_load(&pool->replay);
  executable->launches = executable->launch_min_ns = executable->launch_max_ns = executable->launch_total_ns = 0;
  atomic_store(&pool->first_start_ns, 0);
  atomic_store(&pool->last_end_ns, 0);
}

const struct gr_backend gr_backend_host = {
    .name = "host",
    .probe = probe,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .limits = limits,
    .build = build,
    .destroy = destroy,
    .write = write_buffer,
    .read = read_buffer,
    .address = address,
    .launch = launch,
    .wait = wait_all,
    .states = gr_host_executable_states,
    .facts = facts,
    .times = times,
    .reset_times = reset_times,
    /* is_lost: a host is never lost. */
};
