/* What a replay costs the host, next to cudaGraphLaunch of the same graph made by hand, in one run.
 *
 * The graph is a number of chains of small kernels that meet in one empty node. It exists three times: built by
 * graphrun from YAML, and twice by hand with cudaGraphAdd…Node; the two hand-made ones show how far two equal graphs
 * differ. The three take turns, a round of launches and one synchronisation each, and the median round of each is
 * printed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/backend/cuda/cuda_api.h"
#include "engine/graphrun.h"
#include "kernels/catalogue.h"

enum { ELEMENT_COUNT = 4096, ROUND_COUNT = 60, LAUNCH_COUNT = 100 };

struct shape {
  uint32_t chain_count, depth;
};

/* Host nanoseconds a launch, and wall nanoseconds a replay, of one round. */
struct round_time {
  double launch_ns, replay_ns;
};

static void stop(const char *what, const char *why) {
  fprintf(stderr, "replay_bench: %s: %s\n", what, why);
  exit(EXIT_FAILURE);
}

static void must(cudaError_t code, const char *what) {
  if (code != cudaSuccess) stop(what, cudaGetErrorName(code));
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* ---- by graphrun ---- */

static char *pipeline_text(struct shape shape) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (!stream) stop("pipeline", "out of memory");
  fputs("graphrun: 1\nbuffers:\n", stream);
  for (uint32_t c = 0; c < shape.chain_count; c++) {
    fprintf(stream, "  b%u: {type: f32, shape: %d, init: {fill: 1}}\n", c, ELEMENT_COUNT);
  }
  fputs("nodes:\n", stream);
  for (uint32_t c = 0; c < shape.chain_count; c++) {
    for (uint32_t d = 0; d < shape.depth; d++) {
      fprintf(stream, "  - {id: n%u_%u, kernel: scale, args: {a: 1, x: b%u, out: b%u}", c, d, c, c);
      if (d > 0) fprintf(stream, ", after: n%u_%u", c, d - 1);
      fputs("}\n", stream);
    }
  }
  fputs("  - id: end\n    barrier: {}\n    after: [", stream);
  for (uint32_t c = 0; c < shape.chain_count; c++) fprintf(stream, "%sn%u_%u", c ? ", " : "", c, shape.depth - 1);
  fputs("]\n", stream);
  if (fclose(stream) != 0) stop("pipeline", "out of memory");
  return text;
}

static struct gr_graph *build_by_graphrun(struct gr_engine *engine, struct shape shape) {
  char *text = pipeline_text(shape);
  struct gr_graph *graph;
  struct gr_error error;
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = "cuda"};
  if (gr_graph_load_memory(engine, text, strlen(text), "replay.yaml", NULL, &graph, &error) != GR_OK ||
      gr_graph_build(graph, &options, &error) != GR_OK) {
    stop("graphrun", error.message);
  }
  free(text);
  return graph;
}

struct json {
  char bytes[4096]; /* the report's head, with the figures; the list of nodes behind it is of no interest */
  size_t length;
};

static bool keep_head(void *context, const char *bytes, size_t length) {
  struct json *json = context;
  size_t room = sizeof json->bytes - 1 - json->length;
  if (length > room) length = room;
  memcpy(json->bytes + json->length, bytes, length);
  json->length += length;
  json->bytes[json->length] = '\0';
  return true;
}

static double member(const struct json *json, const char *name) {
  const char *place = strstr(json->bytes, name);
  if (!place) stop(name, "is not in the report");
  return strtod(place + strlen(name), NULL);
}

static struct round_time round_by_graphrun(struct gr_graph *graph) {
  struct gr_run_options options = {
      .struct_size = sizeof options, .repeat = LAUNCH_COUNT, .keep_state = true, .no_outputs = true};
  struct gr_error error;
  struct json json = {.length = 0};
  if (gr_graph_run(graph, &options, &error) != GR_OK ||
      gr_graph_report(graph, GR_REPORT_JSON, keep_head, &json, &error) != GR_OK) {
    stop("graphrun", error.message);
  }
  /* The times of the stages stand in this order; there is no warm-up. */
  return (struct round_time){member(&json, "\"launch_total_ns\": ") / LAUNCH_COUNT,
                             member(&json, "\"warmup\": 0, \"replays\": ") / LAUNCH_COUNT};
}

/* ---- by hand ---- */

struct by_hand {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStream_t stream;
};

static cudaKernel_t find_entry(const char *entry) {
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  for (uint32_t i = 0; i < catalogue->image_count; i++) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    must(cudaLibraryLoadData(&library, catalogue->images[i].begin, NULL, NULL, 0, NULL, NULL, 0), "image");
    if (cudaLibraryGetKernel(&kernel, library, entry) == cudaSuccess) return kernel;
    (void)cudaGetLastError();
    must(cudaLibraryUnload(library), "image");
  }
  stop(entry, "is in no image");
  return NULL;
}

static struct gr_kernel_frame scale_frame(void *data) {
  struct gr_kernel_frame frame = {.argument_count = 3};
  frame.arguments[0].real = 1;
  for (int i = 1; i < 3; i++) {
    frame.arguments[i].data = data;
    frame.arguments[i].rows = 1;
    frame.arguments[i].columns = ELEMENT_COUNT;
    frame.arguments[i].type = GR_TYPE_F32;
    frame.arguments[i].rank = 1;
  }
  return frame;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaKernel_t kernel, const struct gr_kernel_launch *launch,
                                  struct gr_kernel_frame *frame, const cudaGraphNode_t *after) {
  void *arguments[] = {frame};
  struct cudaKernelNodeParams params = {
      .func = (void *)kernel,
      .gridDim = {launch->grid[0], launch->grid[1], launch->grid[2]},
      .blockDim = {launch->block[0], launch->block[1], launch->block[2]},
      .sharedMemBytes = launch->shared_bytes,
      .kernelParams = arguments,
  };
  cudaGraphNode_t node;
  must(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &params), "kernel node");
  return node;
}

static cudaGraphNode_t add_chain(cudaGraph_t graph, struct shape shape) {
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  const struct gr_kernel *scale = gr_catalogue_find(catalogue, "scale", strlen("scale"));
  void *data;
  must(cudaMalloc(&data, ELEMENT_COUNT * sizeof(float)), "memory");
  struct gr_kernel_frame frame = scale_frame(data);
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX];
  if (scale->launches(scale, &frame, launches) != 1) stop("scale", "takes more than one launch");
  cudaKernel_t kernel = find_entry(launches[0].entry);
  cudaGraphNode_t last = add_kernel(graph, kernel, &launches[0], &frame, NULL);
  for (uint32_t d = 1; d < shape.depth; d++) last = add_kernel(graph, kernel, &launches[0], &frame, &last);
  return last;
}

static struct by_hand build_by_hand(struct shape shape) {
  struct by_hand made;
  must(cudaGraphCreate(&made.graph, 0), "graph");
  cudaGraphNode_t *last = calloc(shape.chain_count, sizeof(cudaGraphNode_t));
  if (!last) stop("by hand", "out of memory");
  for (uint32_t c = 0; c < shape.chain_count; c++) last[c] = add_chain(made.graph, shape);
  cudaGraphNode_t end;
  must(cudaGraphAddEmptyNode(&end, made.graph, last, shape.chain_count), "empty node");
  free(last);
  must(cudaGraphInstantiate(&made.executable, made.graph, 0), "instantiation");
  must(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking), "stream");
  must(cudaGraphUpload(made.executable, made.stream), "upload");
  must(cudaStreamSynchronize(made.stream), "upload");
  return made;
}

static struct round_time round_by_hand(const struct by_hand *made) {
  double launch_ns = 0, start_ns = now_ns();
  for (int i = 0; i < LAUNCH_COUNT; i++) {
    double before_ns = now_ns();
    must(cudaGraphLaunch(made->executable, made->stream), "launch");
    launch_ns += now_ns() - before_ns;
  }
  must(cudaStreamSynchronize(made->stream), "synchronisation");
  return (struct round_time){launch_ns / LAUNCH_COUNT, (now_ns() - start_ns) / LAUNCH_COUNT};
}

/* ---- side by side ---- */

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values) {
  qsort(values, ROUND_COUNT, sizeof *values, compare_doubles);
  return values[ROUND_COUNT / 2];
}

static void print_row(const char *name, double *launch, double *replay, const double first[2]) {
  double launch_ns = median(launch), replay_ns = median(replay);
  printf("  %-12s %8.2f us   %5.3f   %8.2f us   %5.3f   (launch: 10 %% to 90 %% of rounds %.2f to %.2f us)\n", name,
         launch_ns / 1e3, launch_ns / first[0], replay_ns / 1e3, replay_ns / first[1], launch[ROUND_COUNT / 10] / 1e3,
         launch[ROUND_COUNT * 9 / 10] / 1e3);
}

static void compare(struct gr_engine *engine, struct shape shape) {
  struct gr_graph *graph = build_by_graphrun(engine, shape);
  struct by_hand a = build_by_hand(shape), b = build_by_hand(shape);
  static double launch[3][ROUND_COUNT], replay[3][ROUND_COUNT];
  for (int round = -3; round < ROUND_COUNT; round++) {
    struct round_time times[3];
    /* Who goes first changes, so that no one always follows the same neighbour. */
    for (int turn = 0; turn < 3; turn++) {
      int who = (turn + round + 3) % 3;
      times[who] = who == 0 ? round_by_graphrun(graph) : round_by_hand(who == 1 ? &a : &b);
    }
    for (int who = 0; who < 3 && round >= 0; who++) {
      launch[who][round] = times[who].launch_ns;
      replay[who][round] = times[who].replay_ns;
    }
  }
  printf("%u chains of %u kernels and a join, %d rounds of %d launches\n", shape.chain_count, shape.depth, ROUND_COUNT,
         LAUNCH_COUNT);
  printf("  %-12s %11s   %5s   %11s   %5s\n", "", "launch", "ratio", "replay", "ratio");
  double first[2] = {median(launch[1]), median(replay[1])};
  print_row("by hand", launch[1], replay[1], first);
  print_row("by hand too", launch[2], replay[2], first);
  print_row("graphrun", launch[0], replay[0], first);
  gr_graph_destroy(graph);
}

int main(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    puts("skipped: there is no GPU");
    return 0;
  }
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = gr_builtin_catalogue()};
  struct gr_engine *engine;
  struct gr_error error;
  if (gr_engine_create(&options, &engine, &error) != GR_OK) stop("engine", error.message);
  static const struct shape shapes[] = {{1, 8}, {4, 16}, {8, 128}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) compare(engine, shapes[i]);
  return 0;
}
