/* From a frozen plan to tasks with addresses. Everything is allocated here; a replay allocates nothing. */
#include <string.h>

#include "engine/backend/host/host_internal.h"
#include "engine/base/clock.h"

static enum gr_status no_memory(struct gr_error *error) {
  return gr_error_set(error, GR_ERR_NO_MEMORY, "out of host memory while the tasks of the host backend were made");
}

static void *aligned(struct gr_arena *arena, size_t count, size_t size_bytes, size_t alignment) {
  size_t total;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return NULL;
  if (__builtin_add_overflow(total, alignment, &total)) return NULL;
  char *block = gr_arena_allocate_zeroed(arena, total, 1);
  return block ? block + (alignment - (uintptr_t)block % alignment) % alignment : NULL;
}

/* ---- buffers ---- */

/* Kernels need no scratch here, and it lies at the end of its region. */
static uint64_t region_bytes(const struct gr_plan *plan, enum gr_place place) {
  return place == GR_PLACE_DEVICE && plan->scratch_bytes > 0 ? plan->scratch_offset : plan->region_bytes[place];
}

static enum gr_status no_room(const struct gr_plan *plan, uint64_t total_bytes, struct gr_error *error) {
  const struct gr_pipeline *pipeline = plan->pipeline;
  if (pipeline->buffer_count == 0) return no_memory(error);
  uint32_t largest = 0;
  for (uint32_t i = 1; i < pipeline->buffer_count; i++) {
    if (plan->slots[i].size_bytes > plan->slots[largest].size_bytes) largest = i;
  }
  struct gr_device_info machine;
  gr_host_machine(&machine);
  const struct gr_buffer *buffer = &pipeline->buffers[largest];
  enum gr_status status = gr_error_set(
      error, GR_ERR_NO_MEMORY,
      "the buffers need %llu bytes, and this machine has %llu, %llu of them free; the largest buffer is %s with %llu",
      (unsigned long long)total_bytes, (unsigned long long)machine.memory_bytes, (unsigned long long)machine.free_bytes,
      gr_view_quote(gr_view_of(buffer->name)).text, (unsigned long long)plan->slots[largest].size_bytes);
  gr_error_node(error, buffer->name);
  gr_error_place(error, pipeline->file, buffer->mark.line, buffer->mark.column);
  return status;
}

/* One block for all places. It is zeroed: bytes that nothing wrote are then the same in every run, none of them comes
 * from elsewhere in the program, and the first replay does not pay for page faults. */
static enum gr_status make_buffers(struct gr_executable *executable, struct gr_error *error) {
  const struct gr_plan *plan = executable->plan;
  uint64_t begin[GR_PLACE_COUNT], total = HOST_ALIGNMENT_BYTES;
  for (int place = 0; place < GR_PLACE_COUNT; place++) {
    begin[place] = total - HOST_ALIGNMENT_BYTES;
    uint64_t bytes = region_bytes(plan, (enum gr_place)place);
    if (__builtin_add_overflow(bytes, HOST_ALIGNMENT_BYTES - 1, &bytes)) return no_room(plan, UINT64_MAX, error);
    bytes = bytes / HOST_ALIGNMENT_BYTES * HOST_ALIGNMENT_BYTES;
    if (__builtin_add_overflow(total, bytes, &total)) return no_room(plan, UINT64_MAX, error);
  }
  /* Linux promises more than it has: asking for too much would end in the process being killed. */
  uint64_t free_bytes, most_bytes;
  gr_host_free_memory(&free_bytes, &most_bytes);
  if (total > SIZE_MAX || (most_bytes > 0 && total > most_bytes)) return no_room(plan, total, error);
  executable->buffers = gr_memory_allocate_zeroed(executable->memory, (size_t)total, 1);
  if (!executable->buffers) return no_room(plan, total, error);
  char *base = executable->buffers;
  base += (HOST_ALIGNMENT_BYTES - (uintptr_t)base % HOST_ALIGNMENT_BYTES) % HOST_ALIGNMENT_BYTES;
  for (uint32_t i = 0; i < executable->buffer_count; i++) {
    executable->addresses[i] = base + begin[plan->pipeline->buffers[i].place] + plan->slots[i].offset_bytes;
  }
  uint64_t *facts[GR_PLACE_COUNT] = {
      [GR_PLACE_DEVICE] = &executable->facts.device_bytes,   [GR_PLACE_PINNED] = &executable->facts.pinned_bytes,
      [GR_PLACE_HOST] = &executable->facts.host_bytes,       [GR_PLACE_MAPPED] = &executable->facts.mapped_bytes,
      [GR_PLACE_MANAGED] = &executable->facts.managed_bytes,
  };
  for (int place = 0; place < GR_PLACE_COUNT; place++) *facts[place] = region_bytes(plan, (enum gr_place)place);
  return GR_OK;
}

/* ---- what each step does ---- */

static const void *make_copy(struct gr_executable *executable, uint32_t step) {
  struct host_copy *copy = gr_arena_allocate(&executable->arena, 1, sizeof *copy);
  if (!copy) return NULL;
  struct gr_copy_box box;
  gr_plan_copy_box(executable->plan, step, &box);
  *copy = (struct host_copy){
      .from = (const char *)executable->addresses[box.from.buffer_index] + box.from.offset_bytes,
      .to = (char *)executable->addresses[box.to.buffer_index] + box.to.offset_bytes,
      .from_pitch = box.from.pitch_bytes,
      .from_plane = box.from.plane_bytes,
      .to_pitch = box.to.pitch_bytes,
      .to_plane = box.to.plane_bytes,
      .width = box.width_bytes,
      .height = box.height,
      .depth = box.depth,
  };
  return copy;
}

static const void *make_fill(struct gr_executable *executable, uint32_t step) {
  struct host_fill *fill = gr_arena_allocate(&executable->arena, 1, sizeof *fill);
  if (!fill) return NULL;
  struct gr_fill_box box;
  gr_plan_fill_box(executable->plan, step, &box);
  *fill = (struct host_fill){
      .to = (char *)executable->addresses[box.to.buffer_index] + box.to.offset_bytes,
      .pitch = box.to.pitch_bytes,
      .plane = box.to.plane_bytes,
      .width = box.width_bytes,
      .height = box.height,
      .depth = box.depth,
      .bits = box.bits,
      .element_bytes = box.element_bytes,
  };
  return fill;
}

static const void *make_call(struct gr_executable *executable, uint32_t step, enum host_task_kind *kind) {
  const struct gr_kernel *kernel = gr_plan_kernel(executable->plan, step);
  struct gr_kernel_frame frame;
  memset(&frame, 0, sizeof frame);
  gr_plan_frame(executable->plan, step, executable->addresses, NULL, &frame);
  size_t argument_bytes = frame.argument_count * sizeof frame.arguments[0];
  struct host_call *call = gr_arena_allocate(&executable->arena, 1, sizeof *call + argument_bytes);
  if (!call) return NULL;
  call->kernel = kernel;
  call->argument_count = frame.argument_count;
  memcpy(call->arguments, frame.arguments, argument_bytes);
  *kind = HOST_TASK_KERNEL;
  if (kernel->library != GR_KERNEL_LIBRARY_GEMM) return call;
  bool by_library = gr_host_gemm_fits(&frame) && gr_host_gemm_open();
  if (by_library) *kind = HOST_TASK_GEMM;
  if (by_library) executable->facts.gemm = "CBLAS";
  else if (!executable->facts.gemm) executable->facts.gemm = "built-in";
  return call;
}

static bool make_work(struct gr_executable *executable, uint32_t step, struct host_task *task) {
  const struct gr_plan *plan = executable->plan;
  task->timeout_ns = gr_plan_timeout_ns(plan, step);
  executable->pool.has_timeouts |= task->timeout_ns > 0;
  task->kind = HOST_TASK_NOTHING;
  switch ((enum gr_operation)plan->steps[step].operation) {
    case GR_OPERATION_EMPTY:
      return true;
    case GR_OPERATION_COPY:
      task->kind = HOST_TASK_COPY;
      task->work = make_copy(executable, step);
      break;
    case GR_OPERATION_FILL:
      task->kind = HOST_TASK_FILL;
      task->work = make_fill(executable, step);
      break;
    case GR_OPERATION_KERNEL:
      task->work = make_call(executable, step, &task->kind);
      break;
    case GR_OPERATION_LAUNCH:
    case GR_OPERATION_HOST:
      return false;
  }
  return task->work != NULL;
}

/* ---- what follows what ---- */

/* In serial mode each step has one predecessor, the one issued before it; the workers need no other rule. */
static uint64_t edge_count(const struct gr_plan *plan, enum gr_mode mode) {
  uint32_t count = plan->step_count;
  if (mode == GR_MODE_SERIAL) return count > 0 ? count - 1 : 0;
  return plan->emitted_begin[count];
}

static const uint32_t *predecessors_of(const struct gr_plan *plan, enum gr_mode mode, uint32_t step, uint32_t *before,
                                       uint32_t *count) {
  if (mode == GR_MODE_SERIAL) {
    *count = step > 0;
    *before = step - 1;
    return before;
  }
  *count = (uint32_t)(plan->emitted_begin[step + 1] - plan->emitted_begin[step]);
  return plan->emitted + plan->emitted_begin[step];
}

/* Successors from predecessors: count, add up, place. Every edge goes to a later step, so successors ascend. */
static bool make_edges(struct gr_executable *executable, enum gr_mode mode) {
  const struct gr_plan *plan = executable->plan;
  struct host_pool *pool = &executable->pool;
  uint32_t *successors = gr_arena_allocate(&executable->arena, edge_count(plan, mode), sizeof *successors);
  if (!successors) return false;
  uint32_t before, count;
  for (uint32_t step = 0; step < pool->task_count; step++) {
    const uint32_t *predecessors = predecessors_of(plan, mode, step, &before, &count);
    for (uint32_t i = 0; i < count; i++) pool->tasks[predecessors[i]].successor_count++;
    pool->tasks[step].predecessor_count = count;
    atomic_init(&pool->tasks[step].remaining, count);
    pool->root_count += count == 0;
  }
  uint64_t begin = 0;
  for (uint32_t step = 0; step < pool->task_count; step++) {
    pool->tasks[step].successor_begin = begin;
    begin += pool->tasks[step].successor_count;
    pool->tasks[step].successor_count = 0;
  }
  uint32_t *roots = gr_arena_allocate(&executable->arena, pool->root_count, sizeof *roots);
  if (!roots) return false;
  uint32_t root_count = 0;
  for (uint32_t step = 0; step < pool->task_count; step++) {
    const uint32_t *predecessors = predecessors_of(plan, mode, step, &before, &count);
    for (uint32_t i = 0; i < count; i++) {
      struct host_task *task = &pool->tasks[predecessors[i]];
      successors[task->successor_begin + task->successor_count++] = step;
    }
    if (count == 0) roots[root_count++] = step;
  }
  pool->successors = successors;
  pool->roots = roots;
  return true;
}

/* ---- queues and workers ---- */

static bool make_ring(struct gr_executable *executable) {
  struct host_pool *pool = &executable->pool;
  if (pool->task_count <= HOST_DEQUE_CAPACITY) return true; /* no deque can be full */
  uint64_t capacity = HOST_DEQUE_CAPACITY;
  while (capacity < pool->task_count) capacity *= 2;
  pool->ring.slots = gr_arena_allocate_zeroed(&executable->arena, capacity, sizeof *pool->ring.slots);
  if (!pool->ring.slots) return false;
  pool->ring.capacity = capacity;
  return true;
}

static bool make_workers(struct gr_executable *executable, uint32_t worker_count) {
  struct host_pool *pool = &executable->pool;
  pool->workers = aligned(&executable->arena, worker_count, sizeof *pool->workers, HOST_LINE_BYTES);
  if (!pool->workers) return false;
  pool->worker_count = worker_count;
  for (uint32_t i = 0; i < worker_count; i++) {
    struct host_worker *worker = &pool->workers[i];
    worker->deque.items =
        aligned(&executable->arena, HOST_DEQUE_CAPACITY, sizeof *worker->deque.items, HOST_LINE_BYTES);
    if (!worker->deque.items) return false;
    worker->pool = pool;
    worker->index = i;
    worker->random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  }
  return true;
}

static uint32_t useful_workers(const struct gr_executable *executable, enum gr_mode mode, uint32_t worker_count) {
  uint32_t most = mode == GR_MODE_SERIAL ? 1 : executable->plan->step_count;
  if (most == 0) most = 1;
  return worker_count < most ? worker_count : most;
}

enum gr_status gr_host_executable_make(struct gr_executable *executable, enum gr_mode mode, uint32_t worker_count,
                                       struct gr_error *error) {
  const struct gr_plan *plan = executable->plan;
  struct host_pool *pool = &executable->pool;
  uint64_t begun_ns = gr_clock_now_ns();
  executable->buffer_count = plan->pipeline->buffer_count;
  executable->addresses =
      gr_arena_allocate_zeroed(&executable->arena, executable->buffer_count, sizeof *executable->addresses);
  if (!executable->addresses) return no_memory(error);
  GR_RETURN_IF_FAILED(make_buffers(executable, error));
  pool->task_count = plan->step_count;
  pool->tasks = aligned(&executable->arena, pool->task_count, sizeof *pool->tasks, HOST_LINE_BYTES);
  if (!pool->tasks) return no_memory(error);
  for (uint32_t step = 0; step < pool->task_count; step++) {
    if (!make_work(executable, step, &pool->tasks[step])) return no_memory(error);
  }
  if (!make_edges(executable, mode) || !make_ring(executable)) return no_memory(error);
  if (!make_workers(executable, useful_workers(executable, mode, worker_count))) return no_memory(error);
  executable->facts.worker_count = pool->worker_count;
  executable->facts.allocate_ns = gr_clock_now_ns() - begun_ns;
  return GR_OK;
}
