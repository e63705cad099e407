/* From a plan to a captured graph that orders what the plan's emitted edges order, and nothing else.
 *
 * Each lane is a stream. In a capture the order inside a stream becomes edges; where a lane's last step is not among
 * the next one's predecessors, that would be a false edge, so the stream's dependencies are set by hand before the
 * step. The node that a step became is read from the stream after it. A capture that a refused call has left intact
 * would end well and silently lack a node: so every call's code is looked at, each step must have added a node, and
 * nodes and edges are counted at the end. */
#include <string.h>

#include "engine/backend/cuda/cuda_internal.h"

struct capture {
  struct gr_executable *executable;
  cudaGraph_t graph;                 /* while it is captured */
  cudaGraphNode_t *nodes;            /* [step_count]: what later steps depend on */
  uint32_t *lane_last;               /* [lane_count], the lane's latest step; UINT32_MAX: none */
  cudaGraphNode_t *gathered;         /* room for one step's predecessors, or for all sinks */
  uint64_t extra_nodes, extra_edges; /* of steps that are more than one node */
};

/* ---- room ---- */

static enum gr_status make_room(struct capture *capture, struct gr_error *error) {
  const struct gr_plan *plan = capture->executable->plan;
  struct gr_memory *memory = capture->executable->memory;
  uint64_t most = plan->sink_count;
  for (uint32_t step = 0; step < plan->step_count; step++) {
    uint64_t count = plan->emitted_begin[step + 1] - plan->emitted_begin[step];
    if (count > most) most = count;
  }
  capture->nodes = gr_memory_allocate_zeroed(memory, plan->step_count, sizeof *capture->nodes);
  capture->lane_last = gr_memory_allocate(memory, plan->lane_count * sizeof *capture->lane_last);
  capture->gathered = gr_memory_allocate_zeroed(memory, most, sizeof *capture->gathered);
  if (!capture->nodes || !capture->lane_last || !capture->gathered) {
    return gr_cuda_no_memory(error, "the graph was captured");
  }
  for (uint32_t lane = 0; lane < plan->lane_count; lane++) capture->lane_last[lane] = UINT32_MAX;
  return GR_OK;
}

static void release_room(struct capture *capture) {
  struct gr_memory *memory = capture->executable->memory;
  gr_memory_release(memory, capture->nodes);
  gr_memory_release(memory, capture->lane_last);
  gr_memory_release(memory, capture->gathered);
}

/* ---- fork ---- */

/* The other streams join the capture by waiting for an event of the origin, with nothing before it. */
static enum gr_status fork_lanes(struct capture *capture, struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  struct gr_device *device = executable->device;
  enum cudaStreamCaptureStatus status;
  GR_CUDA_RETURN_IF_FAILED(
      device, cudaStreamGetCaptureInfo(executable->streams[0], &status, NULL, &capture->graph, NULL, NULL, NULL), error,
      "beginning the capture");
  if (executable->stream_count == 1) return GR_OK;
  GR_CUDA_RETURN_IF_FAILED(device, cudaEventRecord(executable->fork, executable->streams[0]), error,
                           "forking the capture");
  for (uint32_t i = 1; i < executable->stream_count; i++) {
    GR_CUDA_RETURN_IF_FAILED(device, cudaStreamWaitEvent(executable->streams[i], executable->fork, 0), error,
                             "forking the capture to stream %u", i);
  }
  return GR_OK;
}

/* ---- one step ---- */

static uint32_t gather(struct capture *capture, uint32_t step, uint32_t left_out) {
  const struct gr_plan *plan = capture->executable->plan;
  uint32_t count = 0;
  for (uint64_t i = plan->emitted_begin[step]; i < plan->emitted_begin[step + 1]; i++) {
    if (plan->emitted[i] != left_out) capture->gathered[count++] = capture->nodes[plan->emitted[i]];
  }
  return count;
}

/* The stream's dependencies become the step's predecessors: by what the lane's order gives, and some more, or by hand.
 */
static cudaError_t order(struct capture *capture, uint32_t step, cudaStream_t stream) {
  struct gr_executable *executable = capture->executable;
  const struct gr_step *plan_step = &executable->plan->steps[step];
  uint32_t last = capture->lane_last[plan_step->lane];
  if (plan_step->lane_order_is_emitted) {
    uint32_t count = gather(capture, step, last);
    if (count == 0) return cudaSuccess;
    return cudaStreamUpdateCaptureDependencies(stream, capture->gathered, NULL, count,
                                               cudaStreamAddCaptureDependencies);
  }
  executable->facts.corrected_steps++;
  uint32_t count = gather(capture, step, UINT32_MAX);
  return cudaStreamUpdateCaptureDependencies(stream, capture->gathered, NULL, count, cudaStreamSetCaptureDependencies);
}

static enum gr_status not_captured(const struct capture *capture, uint32_t step, struct gr_error *error) {
  const struct gr_plan *plan = capture->executable->plan;
  return gr_plan_error(plan, step, error, GR_ERR_INTERNAL, "node %s left no node in the captured graph",
                       gr_view_quote(gr_view_of(gr_plan_node_name(plan, step))).text);
}

/* What the stream's next work would depend on is what the step became. */
static enum gr_status note_node(struct capture *capture, uint32_t step, cudaStream_t stream, struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  const struct gr_plan *plan = executable->plan;
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t *nodes = NULL;
  const cudaGraphEdgeData *edges = NULL;
  size_t count = 0;
  cudaError_t code = cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &edges, &count);
  if (code == cudaSuccess && status == cudaStreamCaptureStatusInvalidated) code = cudaErrorStreamCaptureInvalidated;
  if (code != cudaSuccess) return gr_cuda_step_failed(executable->device, plan, step, code, error);
  if (count != 1) return not_captured(capture, step, error);
  for (uint64_t i = plan->emitted_begin[step]; i < plan->emitted_begin[step + 1]; i++) {
    if (capture->nodes[plan->emitted[i]] == nodes[0]) return not_captured(capture, step, error);
  }
  capture->nodes[step] = nodes[0];
  return GR_OK;
}

static enum gr_status capture_empty(struct capture *capture, uint32_t step, cudaStream_t stream,
                                    struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  uint32_t count = gather(capture, step, UINT32_MAX);
  cudaGraphNode_t node = NULL;
  cudaError_t code = cudaGraphAddEmptyNode(&node, capture->graph, capture->gathered, count);
  if (code == cudaSuccess) {
    code = cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies);
  }
  if (code != cudaSuccess) return gr_cuda_step_failed(executable->device, executable->plan, step, code, error);
  capture->nodes[step] = node;
  return GR_OK;
}

/* How many nodes and edges there are so far. */
static cudaError_t count_graph(cudaGraph_t graph, uint64_t *node_count, uint64_t *edge_count) {
  size_t nodes = 0, edges = 0;
  cudaError_t code = cudaGraphGetNodes(graph, NULL, &nodes);
  if (code == cudaSuccess) code = cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges);
  *node_count = nodes;
  *edge_count = edges;
  return code;
}

/* Only cuBLAS knows of how many nodes its call consists. */
static enum gr_status capture_counted(struct capture *capture, uint32_t step, cudaStream_t stream,
                                      struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  uint64_t nodes_before, edges_before, nodes_after = 0, edges_after = 0;
  cudaError_t code = count_graph(capture->graph, &nodes_before, &edges_before);
  if (code == cudaSuccess) {
    GR_RETURN_IF_FAILED(gr_cuda_step_issue(executable, step, stream, error));
    code = count_graph(capture->graph, &nodes_after, &edges_after);
  }
  if (code != cudaSuccess) return gr_cuda_step_failed(executable->device, executable->plan, step, code, error);
  uint64_t predecessors = executable->plan->emitted_begin[step + 1] - executable->plan->emitted_begin[step];
  if (nodes_after <= nodes_before) return not_captured(capture, step, error);
  capture->extra_nodes += nodes_after - nodes_before - 1;
  capture->extra_edges += edges_after - edges_before - predecessors;
  return GR_OK;
}

/* How many nodes a step becomes: launches and rows follow one another in the stream. */
static uint64_t pieces_of(const struct gr_executable *executable, uint32_t step) {
  const struct cuda_work *work = &executable->works[step];
  if (work->kind == CUDA_WORK_KERNEL) return ((const struct cuda_call *)work->work)->launch_count;
  if (work->kind != CUDA_WORK_COPY) return 1;
  const struct cuda_copy *copy = work->work;
  size_t most = executable->device->pitch_max;
  bool is_by_rows = (copy->height > 1 || copy->depth > 1) && (copy->to.pitch > most || copy->from.pitch > most);
  return is_by_rows ? copy->height * copy->depth : 1;
}

static enum gr_status capture_step(struct capture *capture, uint32_t step, struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  cudaStream_t stream = executable->streams[executable->plan->steps[step].lane];
  enum cuda_work_kind kind = executable->works[step].kind;
  if (kind == CUDA_WORK_NOTHING) {
    GR_RETURN_IF_FAILED(capture_empty(capture, step, stream, error));
  } else {
    cudaError_t code = order(capture, step, stream);
    if (code != cudaSuccess) return gr_cuda_step_failed(executable->device, executable->plan, step, code, error);
    if (kind == CUDA_WORK_GEMM) {
      GR_RETURN_IF_FAILED(capture_counted(capture, step, stream, error));
    } else {
      GR_RETURN_IF_FAILED(gr_cuda_step_issue(executable, step, stream, error));
      uint64_t pieces = pieces_of(executable, step);
      capture->extra_nodes += pieces - 1;
      capture->extra_edges += pieces - 1;
    }
    GR_RETURN_IF_FAILED(note_node(capture, step, stream, error));
  }
  capture->lane_last[executable->plan->steps[step].lane] = step;
  return GR_OK;
}

/* ---- join and end ---- */

/* Every lane's last node either has a successor or is a sink; the origin takes all sinks over. */
static enum gr_status join_lanes(struct capture *capture, struct gr_error *error) {
  const struct gr_executable *executable = capture->executable;
  const struct gr_plan *plan = executable->plan;
  for (uint32_t i = 0; i < plan->sink_count; i++) capture->gathered[i] = capture->nodes[plan->sinks[i]];
  GR_CUDA_RETURN_IF_FAILED(executable->device,
                           cudaStreamUpdateCaptureDependencies(executable->streams[0], capture->gathered, NULL,
                                                               plan->sink_count, cudaStreamSetCaptureDependencies),
                           error, "joining the capture");
  return GR_OK;
}

static enum gr_status compare(const struct capture *capture, struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  const struct gr_plan *plan = executable->plan;
  uint64_t nodes, edges;
  GR_CUDA_RETURN_IF_FAILED(executable->device, count_graph(executable->graph, &nodes, &edges), error,
                           "counting the captured graph");
  executable->facts.graph_nodes = nodes;
  executable->facts.graph_edges = edges;
  uint64_t want_nodes = plan->step_count + capture->extra_nodes;
  uint64_t want_edges = plan->emitted_begin[plan->step_count] + capture->extra_edges;
  if (nodes == want_nodes && edges == want_edges) return GR_OK;
  return gr_error_set(error, GR_ERR_INTERNAL,
                      "the captured graph has %llu nodes and %llu edges where the plan has %llu and %llu",
                      (unsigned long long)nodes, (unsigned long long)edges, (unsigned long long)want_nodes,
                      (unsigned long long)want_edges);
}

static enum gr_status capture_all(struct capture *capture, struct gr_error *error) {
  GR_RETURN_IF_FAILED(fork_lanes(capture, error));
  for (uint32_t step = 0; step < capture->executable->plan->step_count; step++) {
    GR_RETURN_IF_FAILED(capture_step(capture, step, error));
  }
  return join_lanes(capture, error);
}

/* What was begun is ended, also when a step was refused: the streams would stay in the capture for ever. What that end
 * says is then of no interest: the first error is the cause. */
static enum gr_status run_capture(struct capture *capture, struct gr_error *error) {
  struct gr_executable *executable = capture->executable;
  struct gr_device *device = executable->device;
  GR_CUDA_RETURN_IF_FAILED(device, cudaStreamBeginCapture(executable->streams[0], cudaStreamCaptureModeThreadLocal),
                           error, "beginning the capture");
  enum gr_status status = capture_all(capture, error);
  cudaGraph_t graph = NULL;
  cudaError_t code = cudaStreamEndCapture(executable->streams[0], &graph);
  executable->graph = graph;
  if (status != GR_OK) return status;
  GR_CUDA_RETURN_IF_FAILED(device, code, error, "ending the capture");
  return compare(capture, error);
}

enum gr_status gr_cuda_capture(struct gr_executable *executable, struct gr_error *error) {
  struct capture capture = {.executable = executable};
  enum gr_status status = make_room(&capture, error);
  if (status == GR_OK) status = run_capture(&capture, error);
  release_room(&capture);
  return status;
}
