/* The engine on a real GPU, through its public face: the host backend's answers in three modes, exact graphs, faults,
 * hangs, lost devices, and what is left of the program's own state.
 *
 * CUDA does not survive a fork, so all runs in this process; what breaks the device for the rest of a process runs in a
 * child that is this program started anew, with the name of the case. */
#include <check.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/graphrun.h"
#include "kernels/catalogue.h"
#include "tests/support/pipeline_maker.h"

#ifdef GR_HAVE_CUDA
#include <pthread.h>

#include "engine/backend/cuda/cuda_api.h"

static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};
static struct gr_engine *engine;

/* ---- helpers ---- */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(enum gr_status status, const struct gr_error *error) {
  ck_assert_msg(status == GR_OK, "%s: %s (%s)", gr_status_name(status), error->message, error->backend_code);
}

/* ---- a kernel that stores to an address where nothing is ---- */

static const unsigned char crash_ptx[] =
    ".version 7.8\n.target sm_75\n.address_size 64\n"
    ".visible .entry gr_crash_f32(.param .align 8 .b8 frame[272]) {\n"
    "  .reg .b64 %a;\n  .reg .b32 %v;\n  mov.u64 %a, 16;\n  mov.u32 %v, 1;\n  st.global.u32 [%a], %v;\n  ret;\n}\n";

static bool crash_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                        struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  (void)kernel, (void)problem;
  memset(facts, 0, sizeof *facts);
  facts->access[0] = GR_ACCESS_UPDATE;
  facts->output_element_count = arguments[0].element_count;
  return true;
}

static void crash_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel, (void)frame;
}

static uint32_t crash_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                               struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel, (void)frame;
  launches[0] = (struct gr_kernel_launch){.entry = "gr_crash_f32", .grid = {1, 1, 1}, .block = {1, 1, 1}};
  return 1;
}

/* The built-in kernels, and that one among them. */
static const struct gr_catalogue *catalogue_with_crash(void) {
  static const struct gr_kernel_parameter parameter = {
      .name = "x", .kind = GR_PARAMETER_BUFFER, .access = GR_ACCESS_UPDATE};
  static const struct gr_kernel crash = {.name = "crash",
                                         .summary = "fails",
                                         .parameter_count = 1,
                                         .parameters = &parameter,
                                         .check = crash_check,
                                         .host = crash_host,
                                         .launches = crash_launches};
  static struct gr_kernel kernels[128];
  static struct gr_kernel_image images[64];
  static struct gr_catalogue catalogue;
  if (catalogue.kernels) return &catalogue;
  catalogue = *gr_builtin_catalogue();
  uint32_t at = 0, count = 0;
  for (uint32_t i = 0; i < catalogue.kernel_count; i++) {
    if (at == 0 && strcmp(catalogue.kernels[i].name, crash.name) > 0) {
      kernels[count++] = crash;
      at = count;
    }
    kernels[count++] = catalogue.kernels[i];
  }
  memcpy(images, catalogue.images, catalogue.image_count * sizeof *images);
  images[catalogue.image_count] =
      (struct gr_kernel_image){.name = "crash.ptx", .begin = crash_ptx, .end = crash_ptx + sizeof crash_ptx};
  catalogue.kernels = kernels;
  catalogue.kernel_count = count;
  catalogue.images = images;
  catalogue.image_count++;
  return &catalogue;
}

static struct gr_engine *make_engine(void) {
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = catalogue_with_crash()};
  struct gr_engine *made = NULL;
  struct gr_error error = {0};
  must(gr_engine_create(&options, &made, &error), &error);
  return made;
}

static struct gr_graph *load(const char *text) {
  struct gr_graph *graph = NULL;
  struct gr_error error = {0};
  must(gr_graph_load_memory(engine, text, strlen(text), "test.yaml", "", &graph, &error), &error);
  return graph;
}

static enum gr_status try_build(struct gr_graph *graph, const char *backend, enum gr_mode mode,
                                struct gr_error *error) {
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = backend, .mode = mode};
  return gr_graph_build(graph, &options, error);
}

static enum gr_status try_run(struct gr_graph *graph, uint64_t repeat, uint64_t timeout_ns, struct gr_error *error) {
  struct gr_run_options options = {.struct_size = sizeof options, .repeat = repeat, .timeout_ns = timeout_ns};
  return gr_graph_run(graph, &options, error);
}

static struct gr_graph *run_on(const char *text, const char *backend, enum gr_mode mode, uint64_t repeat) {
  struct gr_graph *graph = load(text);
  struct gr_error error = {0};
  must(try_build(graph, backend, mode, &error), &error);
  must(try_run(graph, repeat, 0, &error), &error);
  return graph;
}

static unsigned char *bytes_of(struct gr_graph *graph, uint32_t index, uint64_t *size) {
  struct gr_buffer_info info;
  struct gr_error error = {0};
  must(gr_graph_buffer(graph, index, &info, &error), &error);
  unsigned char *bytes = malloc(info.size_bytes + 1);
  ck_assert_ptr_nonnull(bytes);
  must(gr_graph_read(graph, info.name, 0, bytes, info.size_bytes, &error), &error);
  *size = info.size_bytes;
  return bytes;
}

static void compare(struct gr_graph *graph, struct gr_graph *other, const char *what) {
  for (uint32_t i = 0; i < gr_graph_buffer_count(graph); i++) {
    uint64_t size, other_size;
    unsigned char *bytes = bytes_of(graph, i, &size), *others = bytes_of(other, i, &other_size);
    ck_assert_uint_eq(size, other_size);
    uint64_t at = 0;
    while (at < size && bytes[at] == others[at]) at++;
    ck_assert_msg(at == size, "%s: buffer %u differs from byte %llu on", what, i, (unsigned long long)at);
    free(bytes);
    free(others);
  }
}

static void same_as_host(const char *text, uint64_t repeat, const char *what) {
  struct gr_graph *host = run_on(text, "host", GR_MODE_GRAPH, repeat);
  for (int i = 0; i < 3; i++) {
    struct gr_graph *graph = run_on(text, "cuda", modes[i], repeat);
    char label[160];
    snprintf(label, sizeof label, "%s, mode %d", what, i);
    compare(graph, host, label);
    ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  }
  ck_assert_int_eq(gr_graph_destroy(host), GR_OK);
}

struct report {
  char text[1 << 16];
  size_t length;
};

static bool append(void *context, const char *bytes, size_t length) {
  struct report *report = context;
  if (length > sizeof report->text - 1 - report->length) length = sizeof report->text - 1 - report->length;
  memcpy(report->text + report->length, bytes, length);
  report->length += length;
  report->text[report->length] = '\0';
  return true;
}

static unsigned long long reported(struct gr_graph *graph, const char *key) {
  static struct report report;
  report.length = 0;
  struct gr_error error = {0};
  must(gr_graph_report(graph, GR_REPORT_JSON, append, &report, &error), &error);
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char *at = strstr(report.text, quoted);
  ck_assert_msg(at != NULL, "the report has no %s", key);
  return strtoull(at + strlen(quoted), NULL, 10);
}

/* ---- answers ---- */

START_TEST(generated_pipelines_as_the_host) {
  for (uint64_t seed = 1; seed <= 25; seed++) {
    struct maker_options options = {.seed = seed, .node_count = (uint32_t)(10 + seed * 2), .order_data = seed % 2 == 0};
    char *text = maker_pipeline(&options);
    char what[64];
    snprintf(what, sizeof what, "generated pipeline %llu", (unsigned long long)seed);
    same_as_host(text, 1 + seed % 3, what);
    free(text);
  }
}
END_TEST

static const char places_text[] =
    "graphrun: 1\n"
    "order: data\n"
    "buffers:\n"
    "  p: {type: f64, shape: [6, 7, 8], place: pinned, init: {iota: {start: 0, step: 1}}}\n"
    "  h: {type: f64, shape: [6, 7, 8], place: host, init: {iota: {start: 1000, step: 1}}}\n"
    "  m: {type: f64, shape: [6, 7, 8], place: mapped, init: {iota: {start: 2000, step: 1}}}\n"
    "  g: {type: f64, shape: [6, 7, 8], place: managed, init: {iota: {start: 3000, step: 1}}}\n"
    "  d: {type: f64, shape: [6, 7, 8], init: zeros}\n"
    "  e: {type: f64, shape: [6, 7, 8], init: zeros}\n"
    "  o: {type: f64, shape: [6, 7, 8], place: host, init: zeros}\n"
    "  q: {type: f64, shape: [6, 7, 8], place: pinned, init: zeros}\n"
    "  none: {type: f64, shape: [0, 4]}\n"
    "  none2: {type: f64, shape: [0, 4], place: host}\n"
    "nodes:\n"
    "  - {id: pd, copy: {from: \"p[1:3, 2:5, 1:4]\", to: \"d[0:2, 0:3, 0:3]\"}}\n"
    "  - {id: hd, copy: {from: \"h[0:6, 1:2, 2:7]\", to: \"d[0:6, 5:6, 0:5]\"}}\n"
    "  - {id: md, copy: {from: \"m[2:3, 0:7, 0:8]\", to: \"d[4:5, 0:7, 0:8]\"}}\n"
    "  - {id: gd, copy: {from: \"g[3:6, 3:5, 3:8]\", to: \"d[3:6, 3:5, 3:8]\"}}\n"
    "  - {id: nothing, copy: {from: none, to: none2}}\n"
    "  - {id: fill_host, fill: {buffer: \"o[1:3, 1:3, 1:3]\", value: 7.5}}\n"
    "  - {id: fill_device, fill: {buffer: \"e[0:6, 0:3, 2:4]\", value: -2}}\n"
    "  - {id: fill_managed, fill: {buffer: \"g[0:1, 0:7, 1:2]\", value: 9}}\n"
    "  - {id: fill_pinned, fill: {buffer: \"p[5:6, 0:7, 0:8]\", value: 11}}\n"
    "  - {id: dd, copy: {from: \"d[0:6, 0:4, 0:8]\", to: \"e[0:6, 3:7, 0:8]\"}}\n"
    "  - {id: mg, kernel: add, args: {x: m, y: g, out: m}}\n"
    "  - {id: add, kernel: add, args: {x: d, y: m, out: d}}\n"
    "  - {id: dh, copy: {from: \"d[0:6, 0:2, 0:8]\", to: \"o[0:6, 5:7, 0:8]\"}}\n"
    "  - {id: hp, copy: {from: \"o[0:6, 0:7, 0:4]\", to: \"q[0:6, 0:7, 4:8]\"}}\n"
    "  - {id: dq, copy: {from: \"e[0:6, 0:7, 0:4]\", to: \"q[0:6, 0:7, 0:4]\"}}\n"
    "  - {id: back, copy: {from: \"q[0:1, 0:7, 0:8]\", to: \"h[5:6, 0:7, 0:8]\"}}\n"
    "  - {id: down, copy: {from: \"g[0:6, 0:2, 0:8]\", to: \"p[0:6, 0:2, 0:8]\"}}\n";

/* 1-D to 3-D copies between all places, ordinary memory too, on the state that the last replay left. */
START_TEST(places_and_strides) { same_as_host(places_text, 5, "places"); }
END_TEST

START_TEST(exact_graph) {
  const char *text =
      "graphrun: 1\n"
      "buffers: {x: {type: f32, shape: [64], init: zeros}, y: {type: f32, shape: [64], init: zeros},\n"
      "          z: {type: f32, shape: [64], init: zeros}}\n"
      "nodes:\n"
      "  - {id: a, fill: {buffer: x, value: 1}}\n"
      "  - {id: b, kernel: scale, args: {a: 2, x: x, out: y}, after: a}\n"
      "  - {id: c, kernel: scale, args: {a: 3, x: x, out: z}, after: a}\n"
      "  - {id: d, barrier: {}, after: [b, c]}\n"
      "  - {id: e, kernel: add, args: {x: y, y: z, out: x}, after: [d, a]}\n"
      "  - {id: lonely, kernel: busy, args: {ns: 1000}}\n";
  struct gr_graph *graph = run_on(text, "cuda", GR_MODE_GRAPH, 3);
  ck_assert_uint_eq(reported(graph, "graph_nodes"), 6);
  ck_assert_uint_eq(reported(graph, "graph_edges"), 5);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}
END_TEST

/* f32 is f32: with TF32 the error would be a thousand times larger. And two replays give the same bits in every mode.
 */
START_TEST(gemm_in_full_precision) {
  const char *text =
      "graphrun: 1\n"
      "buffers:\n"
      "  a: {type: f32, shape: [300, 1024], init: {random: {seed: 1, low: -1, high: 1}}}\n"
      "  b: {type: f32, shape: [1024, 200], init: {random: {seed: 2, low: -1, high: 1}}}\n"
      "  c: {type: f32, shape: [300, 200]}\n"
      "  c2: {type: f32, shape: [300, 200]}\n"
      "nodes:\n"
      "  - {id: g, kernel: gemm, args: {alpha: 1, a: a, b: b, beta: 0, c: c}}\n"
      "  - {id: h, kernel: gemm, args: {alpha: 1, a: a, b: b, beta: 0, c: c2}}\n";
  struct gr_graph *host = run_on(text, "host", GR_MODE_GRAPH, 1);
  struct gr_graph *first = NULL;
  for (int i = 0; i < 3; i++) {
    struct gr_graph *graph = run_on(text, "cuda", modes[i], 4);
    for (uint32_t c = 2; c < 4; c++) {
      uint64_t size;
      unsigned char *bytes = bytes_of(graph, c, &size), *wanted = bytes_of(host, c, &size);
      for (uint64_t k = 0; k < size; k += sizeof(float)) {
        float got, want;
        memcpy(&got, bytes + k, sizeof got);
        memcpy(&want, wanted + k, sizeof want);
        ck_assert_msg(got - want < 1e-4f && want - got < 1e-4f, "element %llu: %g, host %g",
                      (unsigned long long)(k / 4), (double)got, (double)want);
      }
      free(bytes);
      free(wanted);
    }
    if (!first) first = graph;
    else {
      compare(graph, first, "gemm in another mode");
      ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
    }
  }
  ck_assert_int_eq(gr_graph_destroy(first), GR_OK);
  ck_assert_int_eq(gr_graph_destroy(host), GR_OK);
}
END_TEST

/* Wide and deep, more than there are streams. */
START_TEST(large_graph) {
  size_t capacity = 1 << 20;
  char *text = malloc(capacity);
  ck_assert_ptr_nonnull(text);
  size_t used =
      (size_t)snprintf(text, capacity,
                       "graphrun: 1\nbuffers: {x: {type: f64, shape: [300], init: {iota: {start: 0, step: 1}}}}\n"
                       "nodes:\n");
  for (int level = 0; level < 4; level++) {
    for (int i = 0; i < 300; i++) {
      used += (size_t)snprintf(text + used, capacity - used,
                               "  - {id: n%d_%d, kernel: scale, args: {a: 1.5, x: \"x[%d:%d]\", out: \"x[%d:%d]\"}%s",
                               level, i, i, i + 1, i, i + 1, level == 0 ? "}\n" : "");
      if (level > 0) used += (size_t)snprintf(text + used, capacity - used, ", after: n%d_%d}\n", level - 1, i);
    }
  }
  same_as_host(text, 2, "large graph");
  free(text);
}
END_TEST

/* ---- the program's own state ---- */

START_TEST(pending_error_and_device_are_kept) {
  (void)cudaGetLastError();
  ck_assert(cudaSetDevice(999) != cudaSuccess);
  cudaError_t pending = cudaPeekAtLastError();
  ck_assert_int_ne(pending, cudaSuccess);
  int before = -1, after = -1;
  ck_assert(cudaGetDevice(&before) == cudaSuccess);
  same_as_host(places_text, 2, "with a pending error");
  struct gr_graph *graph = load(
      "graphrun: 1\nbuffers: {x: {type: f64, shape: [1Gi, 1Ki]}}\nnodes: [{id: a, fill: {buffer: x, value: 1}}]\n");
  struct gr_error error = {0};
  ck_assert_int_eq(try_build(graph, "cuda", GR_MODE_GRAPH, &error), GR_ERR_DEVICE_MEMORY);
  ck_assert_str_eq(error.node, "x");
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  ck_assert_int_eq(cudaPeekAtLastError(), pending);
  ck_assert(cudaGetDevice(&after) == cudaSuccess);
  ck_assert_int_eq(before, after);
  ck_assert_int_eq(cudaGetLastError(), pending);
  /* And a failure of ours leaves nothing pending. */
  graph = load(
      "graphrun: 1\nbuffers: {x: {type: f64, shape: [1Gi, 1Ki]}}\nnodes: [{id: a, fill: {buffer: x, value: 1}}]\n");
  ck_assert_int_eq(try_build(graph, "cuda", GR_MODE_GRAPH, &error), GR_ERR_DEVICE_MEMORY);
  ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}
END_TEST

static _Atomic bool stop;

static void *use_default_stream(void *context) {
  void *memory = NULL;
  (void)context;
  if (cudaMalloc(&memory, 4096) != cudaSuccess) return NULL;
  /* With a breath between: the driver's lock is not fair. */
  struct timespec breath = {.tv_nsec = 20000};
  while (!stop) {
    (void)cudaMemset(memory, 1, 4096);
    (void)nanosleep(&breath, NULL);
  }
  (void)cudaFree(memory);
  return NULL;
}

/* Another thread on the legacy stream does not break a capture; and building again and again leaks nothing. */
START_TEST(captures_beside_the_default_stream) {
  pthread_t thread;
  stop = false;
  ck_assert_int_eq(pthread_create(&thread, NULL, use_default_stream, NULL), 0);
  struct gr_graph *graph = load(places_text);
  size_t free_before = 0, free_after = 0, total;
  for (int round = 0; round < 100; round++) {
    struct gr_error error = {0};
    must(try_build(graph, "cuda", GR_MODE_GRAPH, &error), &error);
    must(try_run(graph, 1, 0, &error), &error);
    if (round == 10) ck_assert(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  }
  ck_assert(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  stop = true;
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_msg(free_after + (32u << 20) >= free_before, "%zu bytes are gone", free_before - free_after);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}
END_TEST

/* ---- children: what breaks the device ---- */

static const char hang_text[] =
    "graphrun: 1\n"
    "buffers: {x: {type: f32, shape: [8], init: zeros}, y: {type: f32, shape: [8], place: host}}\n"
    "nodes:\n"
    "  - {id: before, fill: {buffer: x, value: 1}}\n"
    "  - {id: spin, kernel: busy, args: {ns: 6000000000}, after: before%s}\n"
    "  - {id: behind, kernel: scale, args: {a: 2, x: x, out: x}, after: spin}\n"
    "  - {id: down, copy: {from: x, to: y}, after: behind}\n";

static enum gr_node_state state_of(struct gr_graph *graph, const char *node) {
  enum gr_node_state state = GR_NODE_NOT_RUN;
  struct gr_error error = {0};
  must(gr_graph_node_state(graph, node, &state, &error), &error);
  return state;
}

static void hang(enum gr_mode mode, bool by_node) {
  char text[1024];
  snprintf(text, sizeof text, hang_text, by_node ? ", timeout: 0.3" : "");
  struct gr_graph *graph = load(text);
  struct gr_error error = {0};
  must(try_build(graph, "cuda", mode, &error), &error);
  double begun = seconds();
  /* Beside the node's own timeout the others of the replay have a second each. */
  ck_assert_int_eq(try_run(graph, by_node ? 1 : 2, by_node ? 0 : 300000000, &error), GR_ERR_TIMEOUT);
  ck_assert_msg(seconds() - begun < (by_node ? 5 : 1), "it took %g s", seconds() - begun);
  if (mode == GR_MODE_SERIAL) {
    ck_assert_str_eq(error.node, "spin");
    ck_assert_int_eq(state_of(graph, "before"), GR_NODE_OK);
    ck_assert_int_eq(state_of(graph, "spin"), GR_NODE_TIMEOUT);
    ck_assert_int_eq(state_of(graph, "behind"), GR_NODE_SKIPPED);
  } else if (mode == GR_MODE_GRAPH) {
    ck_assert_int_eq(state_of(graph, "spin"), GR_NODE_SUSPECT);
  }
  double destroying = seconds();
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  ck_assert_msg(seconds() - destroying < 0.5, "destroying took %g s", seconds() - destroying);
  if (by_node) return;
  /* While it hangs, another build is refused and does not block. */
  graph = load("graphrun: 1\nbuffers: {x: {type: f32, shape: [8]}}\nnodes: [{id: a, fill: {buffer: x, value: 1}}]\n");
  destroying = seconds();
  ck_assert_int_eq(try_build(graph, "cuda", GR_MODE_GRAPH, &error), GR_ERR_STATE);
  ck_assert_msg(seconds() - destroying < 0.5, "refusing took %g s", seconds() - destroying);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}

/* Launches of a large graph queue behind a kernel that does not end, and still none of them blocks beyond the timeout.
 */
static void hang_wide(enum gr_mode mode) {
  size_t capacity = 1 << 20;
  char *text = malloc(capacity);
  ck_assert_ptr_nonnull(text);
  size_t used = (size_t)snprintf(text, capacity,
                                 "graphrun: 1\nraces: allow\nbuffers: {x: {type: f64, shape: [300], init: zeros}}\n"
                                 "nodes:\n  - {id: spin, kernel: busy, args: {ns: 6000000000}}\n");
  for (int level = 0; level < 8; level++) {
    for (int i = 0; i < 300; i++) {
      used += (size_t)snprintf(text + used, capacity - used,
                               "  - {id: n%d_%d, kernel: scale, args: {a: 1.5, x: \"x[%d:%d]\", out: \"x[%d:%d]\"}",
                               level, i, i, i + 1, i, i + 1);
      if (level == 0) used += (size_t)snprintf(text + used, capacity - used, ", after: spin}\n");
      else used += (size_t)snprintf(text + used, capacity - used, ", after: n%d_%d}\n", level - 1, (i * 7) % 300);
    }
  }
  struct gr_graph *graph = load(text);
  free(text);
  struct gr_error error = {0};
  enum gr_status status = gr_graph_check(graph, &error);
  ck_assert_msg(status == GR_OK, "%s", error.message);
  must(try_build(graph, "cuda", mode, &error), &error);
  double begun = seconds();
  ck_assert_int_eq(try_run(graph, 300, 500000000, &error), GR_ERR_TIMEOUT);
  ck_assert_msg(seconds() - begun < 2, "the timeout of 0.5 s took %g s", seconds() - begun);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}

static const char fault_text[] =
    "graphrun: 1\n"
    "buffers:\n"
    "  x: {type: f32, shape: [4], init: zeros}\n"
    "  y: {type: f32, shape: [4], init: zeros}\n"
    "nodes:\n"
    "  - {id: good, kernel: scale, args: {a: 2, x: x, out: x}}\n"
    "  - {id: culprit, kernel: crash, args: {x: x}, after: good}\n"
    "  - {id: behind, kernel: scale, args: {a: 2, x: x, out: y}, after: culprit}\n";

static void fault(enum gr_mode mode) {
  struct gr_graph *graph = load(fault_text), *other = load(places_text);
  struct gr_error error = {0};
  must(try_build(other, "cuda", GR_MODE_GRAPH, &error), &error);
  must(try_build(graph, "cuda", mode, &error), &error);
  ck_assert_int_eq(try_run(graph, 1, 0, &error), GR_ERR_NODE);
  ck_assert_str_eq(error.backend_code, "cudaErrorIllegalAddress");
  if (mode == GR_MODE_SERIAL) {
    ck_assert_str_eq(error.node, "culprit");
    ck_assert_int_eq(state_of(graph, "good"), GR_NODE_OK);
    ck_assert_int_eq(state_of(graph, "culprit"), GR_NODE_FAILED);
    ck_assert_int_eq(state_of(graph, "behind"), GR_NODE_SKIPPED);
  } else {
    ck_assert_str_eq(error.node, "");
    ck_assert_int_eq(state_of(graph, "culprit"), GR_NODE_SUSPECT);
  }
  double begun = seconds();
  for (int i = 0; i < 3; i++) {
    struct gr_error later = {0};
    ck_assert_int_eq(try_run(i == 2 ? graph : other, 1, 0, &later), GR_ERR_DEVICE_LOST);
    ck_assert_str_eq(later.backend_code, "cudaErrorIllegalAddress");
  }
  struct gr_graph *fresh = load(places_text);
  ck_assert_int_eq(try_build(fresh, "cuda", GR_MODE_GRAPH, &error), GR_ERR_DEVICE_LOST);
  ck_assert_int_eq(gr_graph_destroy(fresh), GR_OK);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  ck_assert_int_eq(gr_graph_destroy(other), GR_OK);
  /* Another engine of the process knows nothing of it, and is told by the device. */
  ck_assert_int_eq(gr_engine_destroy(engine), GR_OK);
  engine = make_engine();
  fresh = load(places_text);
  enum gr_status status = try_build(fresh, "cuda", GR_MODE_GRAPH, &error);
  ck_assert_msg(status == GR_ERR_DEVICE_LOST, "%s: %s", gr_status_name(status), error.message);
  ck_assert_int_eq(gr_graph_destroy(fresh), GR_OK);
  ck_assert_msg(seconds() - begun < 5, "the end took %g s", seconds() - begun);
}

static void fork_after(void) {
  struct gr_graph *graph = run_on(places_text, "cuda", GR_MODE_GRAPH, 1);
  pid_t child = fork();
  if (child == 0) {
    struct gr_error error = {0};
    bool is_right = try_run(graph, 1, 0, &error) == GR_ERR_STATE && strstr(error.message, "fork") != NULL;
    is_right &= gr_graph_destroy(graph) == GR_OK;
    graph = load(places_text);
    is_right &= try_build(graph, "cuda", GR_MODE_GRAPH, &error) != GR_OK && strstr(error.message, "fork") != NULL;
    if (!is_right) fprintf(stderr, "in the child: %s\n", error.message);
    _exit(is_right ? 0 : 1);
  }
  int status = 1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  struct gr_error error = {0};
  must(try_run(graph, 1, 0, &error), &error);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}

static void fork_before(void) {
  pid_t child = fork();
  same_as_host(places_text, 2, child == 0 ? "the child" : "the parent");
  if (child == 0) _exit(0);
  int status = 1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
}

/* A program that frees nothing ends quietly. */
static void leave_all(void) { (void)run_on(places_text, "cuda", GR_MODE_GRAPH, 1); }

static const char *const children[] = {"hang-graph",  "hang-stream",     "hang-serial",     "node-graph", "node-serial",
                                       "fault-graph", "fault-stream",    "fault-serial",    "fork-after", "fork-before",
                                       "leave-all",   "hang-wide-graph", "hang-wide-stream"};
static const char *child_name;

START_TEST(as_child) {
  engine = make_engine();
  if (strcmp(child_name, "hang-graph") == 0) hang(GR_MODE_GRAPH, false);
  if (strcmp(child_name, "hang-stream") == 0) hang(GR_MODE_STREAM, false);
  if (strcmp(child_name, "hang-serial") == 0) hang(GR_MODE_SERIAL, false);
  if (strcmp(child_name, "node-graph") == 0) hang(GR_MODE_GRAPH, true);
  if (strcmp(child_name, "node-serial") == 0) hang(GR_MODE_SERIAL, true);
  if (strcmp(child_name, "fault-graph") == 0) fault(GR_MODE_GRAPH);
  if (strcmp(child_name, "fault-stream") == 0) fault(GR_MODE_STREAM);
  if (strcmp(child_name, "fault-serial") == 0) fault(GR_MODE_SERIAL);
  if (strcmp(child_name, "fork-after") == 0) fork_after();
  if (strcmp(child_name, "fork-before") == 0) fork_before();
  if (strcmp(child_name, "leave-all") == 0) leave_all();
  if (strcmp(child_name, "hang-wide-graph") == 0) hang_wide(GR_MODE_GRAPH);
  if (strcmp(child_name, "hang-wide-stream") == 0) hang_wide(GR_MODE_STREAM);
}
END_TEST

START_TEST(child) {
  char *arguments[] = {(char[]){"gpu_test"}, strdup(children[_i]), NULL};
  pid_t process;
  ck_assert_int_eq(posix_spawn(&process, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
  int status = 1;
  ck_assert_int_eq(waitpid(process, &status, 0), process);
  ck_assert_msg(status == 0, "the case %s ended with status %d", children[_i], status);
  free(arguments[1]);
}
END_TEST

/* ---- main ---- */

static TCase *add_case(Suite *suite, const char *name) {
  TCase *cases = tcase_create(name);
  tcase_set_timeout(cases, 300);
  suite_add_tcase(suite, cases);
  return cases;
}

static int run_all(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool has_gpu(struct gr_backend_info *info) {
  bool found = false;
  for (uint32_t i = 0; i < gr_backend_count(engine) && !found; i++) {
    if (gr_backend_describe(engine, i, info, NULL) == GR_OK) found = strcmp(info->name, "cuda") == 0;
  }
  if (!found) snprintf(info->reason, sizeof info->reason, "this build has no CUDA backend");
  return found && info->device_count > 0;
}

int main(int count, char **arguments) {
  Suite *suite = suite_create("gpu");
  if (count > 1) {
    child_name = arguments[1];
    tcase_add_test(add_case(suite, child_name), as_child);
    return run_all(suite);
  }
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = gr_builtin_catalogue()};
  if (gr_engine_create(&options, &engine, NULL) != GR_OK) return EXIT_FAILURE;
  struct gr_backend_info info = {0};
  if (!has_gpu(&info)) {
    printf("skipped: %s\n", info.reason);
    return EXIT_SUCCESS;
  }
  /* No call of these is refused: CK_RUN_CASE=answers is what a checking tool should find nothing in. */
  TCase *answers = add_case(suite, "answers");
  tcase_add_test(answers, generated_pipelines_as_the_host);
  tcase_add_test(answers, places_and_strides);
  tcase_add_test(answers, exact_graph);
  tcase_add_test(answers, gemm_in_full_precision);
  tcase_add_test(answers, large_graph);
  tcase_add_test(answers, captures_beside_the_default_stream);
  tcase_add_test(add_case(suite, "state"), pending_error_and_device_are_kept);
  tcase_add_loop_test(add_case(suite, "children"), child, 0, (int)(sizeof children / sizeof children[0]));
  return run_all(suite);
}

#else

int main(void) {
  printf("skipped: this build has no CUDA backend\n");
  return EXIT_SUCCESS;
}

#endif
