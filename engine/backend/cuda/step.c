/* What each step is on the device, and how it gets into a stream, captured or not. */
#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

/* What gemm gets to work in; each step its own, since steps run side by side. Fixed, as it decides which sums are made.
 */
static const size_t workspace_most_bytes = (size_t)4 << 20;
static const size_t workspaces_most_bytes = (size_t)512 << 20;

static enum gr_status no_memory(struct gr_error *error) { return gr_cuda_no_memory(error, "the steps were prepared"); }

/* ---- copies ---- */

static struct cuda_box box_of(const struct gr_executable *executable, const struct gr_box *box) {
  return (struct cuda_box){
      .address = (char *)executable->addresses[box->buffer_index] + box->offset_bytes,
      .pitch = box->pitch_bytes,
      .plane = box->plane_bytes,
  };
}

static enum gr_place place_of(const struct gr_executable *executable, const struct gr_box *box) {
  return executable->plan->pipeline->buffers[box->buffer_index].place;
}

/* Managed memory is on either side, and CUDA knows which. */
static enum cudaMemcpyKind kind_of(enum gr_place from, enum gr_place to) {
  if (from == GR_PLACE_MANAGED || to == GR_PLACE_MANAGED) return cudaMemcpyDefault;
  if (from != GR_PLACE_DEVICE) return cudaMemcpyHostToDevice;
  return to == GR_PLACE_DEVICE ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
}

static bool is_on_host(enum gr_place place) {
  return place == GR_PLACE_HOST || place == GR_PLACE_PINNED || place == GR_PLACE_MAPPED;
}

static enum gr_status make_copy(struct gr_executable *executable, uint32_t step, struct cuda_work *work,
                                struct gr_error *error) {
  struct gr_copy_box box;
  gr_plan_copy_box(executable->plan, step, &box);
  enum gr_place from = place_of(executable, &box.from), to = place_of(executable, &box.to);
  struct cuda_copy *copy = gr_arena_allocate(&executable->arena, 1, sizeof *copy);
  if (!copy) return no_memory(error);
  *copy = (struct cuda_copy){
      .to = box_of(executable, &box.to),
      .from = box_of(executable, &box.from),
      .width = box.width_bytes,
      .height = box.height,
      .depth = box.depth,
      .kind = kind_of(from, to),
  };
  /* Between two places of the host CUDA would copy on the calling thread, when the call is made. */
  bool is_by_host = is_on_host(from) && is_on_host(to);
  *work = (struct cuda_work){.kind = is_by_host ? CUDA_WORK_HOST_COPY : CUDA_WORK_COPY, .work = copy};
  return GR_OK;
}

/* ---- kernels ---- */

static enum gr_status make_call(struct gr_executable *executable, uint32_t step, const struct gr_kernel *kernel,
                                const struct gr_kernel_frame *frame, struct cuda_work *work, struct gr_error *error) {
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX];
  memset(launches, 0, sizeof launches);
  uint32_t count = kernel->launches(kernel, frame, launches);
  struct cuda_call *call =
      gr_arena_allocate_zeroed(&executable->arena, 1, sizeof *call + count * sizeof call->launches[0]);
  if (!call) return no_memory(error);
  call->frame = *frame;
  call->launch_count = count;
  for (uint32_t i = 0; i < count; i++) {
    struct cuda_launch *launch = &call->launches[i];
    enum gr_status status = gr_cuda_kernels_find(executable->device, launches[i].entry, &launch->kernel, error);
    if (status != GR_OK) {
      gr_error_node(error, gr_plan_node_name(executable->plan, step));
      return status;
    }
    memcpy(launch->grid, launches[i].grid, sizeof launch->grid);
    memcpy(launch->block, launches[i].block, sizeof launch->block);
    launch->shared_bytes = launches[i].shared_bytes;
  }
  *work = (struct cuda_work){.kind = CUDA_WORK_KERNEL, .work = call};
  return GR_OK;
}

/* A kernel rather than a memset node: a graph of kernels only is launched in constant time, and memset knows no values
 * of 8 bytes. */
static enum gr_status make_fill(struct gr_executable *executable, uint32_t step, struct cuda_work *work,
                                struct gr_error *error) {
  struct gr_fill_box box;
  gr_plan_fill_box(executable->plan, step, &box);
  const struct gr_catalogue *catalogue = executable->device->catalogue;
  if (!catalogue || !catalogue->fill) {
    return gr_plan_error(executable->plan, step, error, GR_ERR_NOT_SUPPORTED,
                         "the program's catalogue of kernels has none that fills memory on the device");
  }
  static const enum gr_type types[] = {[1] = GR_TYPE_U8, [2] = GR_TYPE_U16, [4] = GR_TYPE_U32, [8] = GR_TYPE_U64};
  struct gr_kernel_frame frame;
  memset(&frame, 0, sizeof frame);
  frame.argument_count = GR_FILL_ARGUMENT_COUNT;
  struct gr_kernel_frame_argument *argument = frame.arguments;
  argument[GR_FILL_DATA].data = (char *)executable->kernel_addresses[box.to.buffer_index] + box.to.offset_bytes;
  argument[GR_FILL_DATA].type = types[box.element_bytes];
  argument[GR_FILL_VALUE_BITS].integer = (int64_t)box.bits;
  argument[GR_FILL_WIDTH].integer = (int64_t)(box.width_bytes / box.element_bytes);
  argument[GR_FILL_HEIGHT].integer = (int64_t)box.height;
  argument[GR_FILL_DEPTH].integer = (int64_t)box.depth;
  argument[GR_FILL_ROW_PITCH].integer = (int64_t)box.to.pitch_bytes;
  argument[GR_FILL_SLICE_PITCH].integer = (int64_t)box.to.plane_bytes;
  return make_call(executable, step, catalogue->fill, &frame, work, error);
}

static struct cuda_blas *blas_of(struct gr_device *device) {
  if (!device->blas_was_tried) device->blas = gr_cuda_blas_create(device->memory);
  device->blas_was_tried = true;
  return device->blas;
}

static enum gr_status make_kernel(struct gr_executable *executable, uint32_t step, struct cuda_work *work,
                                  struct gr_error *error) {
  const struct gr_kernel *kernel = gr_plan_kernel(executable->plan, step);
  struct gr_kernel_frame frame;
  memset(&frame, 0, sizeof frame);
  gr_plan_frame(executable->plan, step, executable->kernel_addresses, executable->regions[GR_PLACE_DEVICE], &frame);
  if (kernel->library != GR_KERNEL_LIBRARY_GEMM) return make_call(executable, step, kernel, &frame, work, error);
  struct cuda_blas *blas = gr_cuda_blas_fits(&frame) ? blas_of(executable->device) : NULL;
  if (!blas) {
    if (!executable->facts.gemm) executable->facts.gemm = "built-in";
    return make_call(executable, step, kernel, &frame, work, error);
  }
  executable->facts.gemm = gr_cuda_blas_name(blas);
  struct cuda_call *call = gr_arena_allocate_zeroed(&executable->arena, 1, sizeof *call);
  if (!call) return no_memory(error);
  call->frame = frame;
  *work = (struct cuda_work){.kind = CUDA_WORK_GEMM, .work = call};
  return GR_OK;
}

/* ---- gemm by cuBLAS ---- */

static enum gr_status blas_failed(const struct gr_executable *executable, uint32_t step, int code,
                                  struct gr_error *error) {
  return gr_plan_error(executable->plan, step, error, GR_ERR_NODE, "%s refused node %s with its code %d",
                       gr_cuda_blas_name(executable->device->blas),
                       gr_view_quote(gr_view_of(gr_plan_node_name(executable->plan, step))).text, code);
}

static bool is_alike(const struct gr_kernel_frame *one, const struct gr_kernel_frame *other) {
  for (uint32_t i = 0; i < one->argument_count; i++) {
    const struct gr_kernel_frame_argument *a = &one->arguments[i], *b = &other->arguments[i];
    if (a->rows != b->rows || a->columns != b->columns || a->type != b->type) return false;
  }
  return true;
}

/* Each call once, before buffers have their values: the library loads its kernels when they are first used, which a
 * capture would not stand. Of a run of calls alike one is enough. */
static enum gr_status warm_up(struct gr_executable *executable, struct gr_error *error) {
  const struct cuda_call *before = NULL;
  for (uint32_t step = 0; step < executable->plan->step_count; step++) {
    if (executable->works[step].kind != CUDA_WORK_GEMM) continue;
    const struct cuda_call *call = executable->works[step].work;
    if (before && is_alike(&before->frame, &call->frame)) continue;
    int code = gr_cuda_blas_gemm(executable->device->blas, &call->frame, call->workspace, executable->workspace_bytes,
                                 executable->streams[0]);
    if (code != 0) return blas_failed(executable, step, code, error);
    before = call;
  }
  return GR_OK;
}

static enum gr_status make_workspaces(struct gr_executable *executable, struct gr_error *error) {
  uint32_t step_count = executable->plan->step_count;
  size_t count = 0;
  for (uint32_t step = 0; step < step_count; step++) count += executable->works[step].kind == CUDA_WORK_GEMM;
  if (count == 0) return GR_OK;
  size_t each = workspaces_most_bytes / count / CUDA_ALIGNMENT_BYTES * CUDA_ALIGNMENT_BYTES;
  if (each > workspace_most_bytes) each = workspace_most_bytes;
  executable->workspace_bytes = each;
  if (each > 0) {
    GR_CUDA_RETURN_IF_FAILED(executable->device, cudaMalloc(&executable->workspaces, count * each), error,
                             "allocating %llu bytes for the work of gemm", (unsigned long long)(count * each));
  }
  char *next = executable->workspaces;
  for (uint32_t step = 0; step < step_count; step++) {
    if (executable->works[step].kind != CUDA_WORK_GEMM) continue;
    struct cuda_call *call = executable->works[step].work;
    call->workspace = next;
    if (next) next += each;
  }
  return warm_up(executable, error);
}

/* ---- all of them ---- */

static enum gr_status make_work(struct gr_executable *executable, uint32_t step, struct cuda_work *work,
                                struct gr_error *error) {
  switch ((enum gr_operation)executable->plan->steps[step].operation) {
    case GR_OPERATION_COPY:
      return make_copy(executable, step, work, error);
    case GR_OPERATION_FILL:
      return make_fill(executable, step, work, error);
    case GR_OPERATION_KERNEL:
      return make_kernel(executable, step, work, error);
    case GR_OPERATION_LAUNCH:
    case GR_OPERATION_HOST:
    case GR_OPERATION_EMPTY:
      break;
  }
  *work = (struct cuda_work){.kind = CUDA_WORK_NOTHING};
  return GR_OK;
}

enum gr_status gr_cuda_works_make(struct gr_executable *executable, struct gr_error *error) {
  uint32_t step_count = executable->plan->step_count;
  executable->works = gr_arena_allocate_zeroed(&executable->arena, step_count, sizeof *executable->works);
  if (!executable->works) return no_memory(error);
  for (uint32_t step = 0; step < step_count; step++) {
    GR_RETURN_IF_FAILED(make_work(executable, step, &executable->works[step], error));
  }
  return make_workspaces(executable, error);
}

/* ---- into a stream ---- */

/* Called by the runtime, on a thread of its own. */
static void copy_on_host(void *context) {
  const struct cuda_copy *copy = context;
  for (uint64_t z = 0; z < copy->depth; z++) {
    for (uint64_t y = 0; y < copy->height; y++) {
      memcpy((char *)copy->to.address + z * copy->to.plane + y * copy->to.pitch,
             (const char *)copy->from.address + z * copy->from.plane + y * copy->from.pitch, copy->width);
    }
  }
}

/* Pitches beyond what the copy engine counts to: row by row. So far apart there are few rows. */
static cudaError_t issue_rows(const struct cuda_copy *copy, cudaStream_t stream) {
  for (uint64_t z = 0; z < copy->depth; z++) {
    for (uint64_t y = 0; y < copy->height; y++) {
      cudaError_t code = cudaMemcpyAsync((char *)copy->to.address + z * copy->to.plane + y * copy->to.pitch,
                                         (char *)copy->from.address + z * copy->from.plane + y * copy->from.pitch,
                                         copy->width, copy->kind, stream);
      if (code != cudaSuccess) return code;
    }
  }
  return cudaSuccess;
}

static struct cudaPitchedPtr pitched(const struct cuda_box *box, uint64_t width) {
  return (struct cudaPitchedPtr){
      .ptr = box->address, .pitch = box->pitch, .xsize = width, .ysize = box->plane / box->pitch};
}

static cudaError_t issue_copy(const struct gr_device *device, const struct cuda_copy *copy, cudaStream_t stream) {
  if (copy->height == 1 && copy->depth == 1) {
    return cudaMemcpyAsync(copy->to.address, copy->from.address, copy->width, copy->kind, stream);
  }
  if (copy->to.pitch > device->pitch_max || copy->from.pitch > device->pitch_max) return issue_rows(copy, stream);
  if (copy->depth == 1) {
    return cudaMemcpy2DAsync(copy->to.address, copy->to.pitch, copy->from.address, copy->from.pitch, copy->width,
                             copy->height, copy->kind, stream);
  }
  struct cudaMemcpy3DParms parameters = {
      .srcPtr = pitched(&copy->from, copy->width),
      .dstPtr = pitched(&copy->to, copy->width),
      .extent = {.width = copy->width, .height = copy->height, .depth = copy->depth},
      .kind = copy->kind,
  };
  return cudaMemcpy3DAsync(&parameters, stream);
}

static cudaError_t issue_call(struct cuda_call *call, cudaStream_t stream) {
  for (uint32_t i = 0; i < call->launch_count; i++) {
    const struct cuda_launch *launch = &call->launches[i];
    cudaLaunchConfig_t config = {
        .gridDim = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .blockDim = {launch->block[0], launch->block[1], launch->block[2]},
        .dynamicSmemBytes = launch->shared_bytes,
        .stream = stream,
    };
    call->frame.launch_index = i;
    void *arguments[] = {&call->frame};
    cudaError_t code = cudaLaunchKernelExC(&config, (const void *)launch->kernel, arguments);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

enum gr_status gr_cuda_step_issue(struct gr_executable *executable, uint32_t step, cudaStream_t stream,
                                  struct gr_error *error) {
  const struct cuda_work *work = &executable->works[step];
  cudaError_t code = cudaSuccess;
  if (work->kind == CUDA_WORK_COPY) code = issue_copy(executable->device, work->work, stream);
  if (work->kind == CUDA_WORK_HOST_COPY) code = cudaLaunchHostFunc(stream, copy_on_host, work->work);
  if (work->kind == CUDA_WORK_KERNEL) code = issue_call(work->work, stream);
  if (work->kind == CUDA_WORK_GEMM) {
    struct cuda_call *call = work->work;
    int blas_code =
        gr_cuda_blas_gemm(executable->device->blas, &call->frame, call->workspace, executable->workspace_bytes, stream);
    if (blas_code != 0) return blas_failed(executable, step, blas_code, error);
  }
  if (code == cudaSuccess) return GR_OK;
  return gr_cuda_step_failed(executable->device, executable->plan, step, code, error);
}
