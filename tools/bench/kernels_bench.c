/* How near the memory-bound kernels come to the bandwidth of a device-to-device copy, both measured in this run.
 *
 *     kernels_bench [--backend NAME] [--mebibytes N] [PART OF A NAME]
 *
 * Every line is a chain of equal nodes in one graph, replayed a few times: the time of a node is that of all divided by
 * their number, so that what a launch costs the host does not count. Bytes are those that a kernel must move at least:
 * each input read once, each output written once. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/graphrun.h"
#include "kernels/catalogue.h"

enum {
  CHAIN = 16,
  REPLAYS = 4,
  ROUNDS = 4, /* the best one counts */
};

/* Params of each pipeline: a buffer of the chosen size has q elements of 1 byte, n of 4, h of 8; c is `columns`, and r
 * or s rows of c elements of 4 or 8 bytes fill such a buffer. */
struct line {
  const char *label, *buffers, *node;
  double buffers_moved; /* bytes, as a multiple of the chosen size */
  uint32_t columns;
};
#define F32(NAME) NAME ": {type: f32, shape: [n], init: {fill: 0.5}}, "
#define F64(NAME) NAME ": {type: f64, shape: [h], init: {fill: 0.5}}, "
#define ONE(NAME, VALUE) NAME ": {type: f32, shape: [1], init: {fill: " VALUE "}}, "
#define ROWS(NAME) NAME ": {type: f32, shape: [r, c], init: {fill: 0.5}}, "
#define ROWS_F64(NAME) NAME ": {type: f64, shape: [s, c], init: {fill: 0.5}}, "
static const struct line lines[] = {
    {"copy, device to device", F32("x") F32("out"), "copy: {from: x, to: out}", 2, 1},
    {"fill", F32("out"), "fill: {buffer: out, value: 1}", 1, 1},
    {"add f32", F32("x") F32("y") F32("out"), "kernel: add, args: {x: x, y: y, out: out}", 3, 1},
    {"add f64", F64("x") F64("y") F64("out"), "kernel: add, args: {x: x, y: y, out: out}", 3, 1},
    {"add f32, not aligned", F32("x") F32("y") F32("out"),
     "kernel: add, args: {x: \"x[1:]\", y: \"y[1:]\", out: \"out[1:]\"}", 3, 1},
    {"axpy f32", F32("x") F32("y"), "kernel: axpy, args: {a: 0.5, x: x, y: y}", 3, 1},
    {"scale f32", F32("x") F32("out"), "kernel: scale, args: {a: 0.5, x: x, out: out}", 2, 1},
    {"div f32", F32("x") F32("y") F32("out"), "kernel: div, args: {x: x, y: y, out: out}", 3, 1},
    {"hypot f32", F32("x") F32("y") F32("out"), "kernel: hypot, args: {x: x, y: y, out: out}", 3, 1},
    {"sqrt f32", F32("x") F32("out"), "kernel: sqrt, args: {x: x, out: out}", 2, 1},
    {"exp f32", F32("x") F32("out"), "kernel: exp, args: {x: x, out: out}", 2, 1},
    {"log f64", F64("x") F64("out"), "kernel: log, args: {x: x, out: out}", 2, 1},
    {"relu f32", F32("x") F32("out"), "kernel: relu, args: {x: x, out: out}", 2, 1},
    {"clamp f32", F32("x") F32("out"), "kernel: clamp, args: {lo: 0, hi: 1, x: x, out: out}", 2, 1},
    {"lerp f32", F32("w") F32("x") F32("y") F32("out"), "kernel: lerp, args: {w: w, x: x, y: y, out: out}", 4, 1},
    {"rescale f32", F32("x") F32("out") ONE("lo", "0") ONE("hi", "2"),
     "kernel: rescale, args: {x: x, lo: lo, hi: hi, out: out}", 2, 1},
    {"div_scalar f32", F32("x") F32("out") ONE("s", "2"), "kernel: div_scalar, args: {x: x, s: s, out: out}", 2, 1},
    {"convert u8 to f32", "x: {type: u8, shape: [n], init: {fill: 7}}, " F32("out"),
     "kernel: convert, args: {x: x, out: out, scale: 0.25}", 1.25, 1},
    {"convert f32 to u8", F32("x") "out: {type: u8, shape: [n]}, ",
     "kernel: convert, args: {x: x, out: out, scale: 255}", 1.25, 1},
    {"convert u8 to u8", "x: {type: u8, shape: [q], init: {fill: 7}}, out: {type: u8, shape: [q]}, ",
     "kernel: convert, args: {x: x, out: out, scale: 0.75}", 2, 1},
    {"convert f32 to f16", F32("x") "out: {type: f16, shape: [n]}, ",
     "kernel: convert, args: {x: x, out: out, scale: 1}", 1.5, 1},
    {"convert f64 to f32", F64("x") "out: {type: f32, shape: [h]}, ",
     "kernel: convert, args: {x: x, out: out, scale: 1}", 1.5, 1},
    {"sum f32", F32("x") ONE("out", "0"), "kernel: sum, args: {x: x, out: out}", 1, 1},
    {"sum f64", F64("x") "out: {type: f64, shape: [1]}, ", "kernel: sum, args: {x: x, out: out}", 1, 1},
    {"dot f32", F32("x") F32("y") ONE("out", "0"), "kernel: dot, args: {x: x, y: y, out: out}", 2, 1},
    {"norm2 f32", F32("x") ONE("out", "0"), "kernel: norm2, args: {x: x, out: out}", 1, 1},
    {"max f32", F32("x") ONE("out", "0"), "kernel: max, args: {x: x, out: out}", 1, 1},
    {"softmax_rows f32 [., 10]", ROWS("x") ROWS("out"), "kernel: softmax_rows, args: {x: x, out: out}", 2, 10},
    {"softmax_rows f32 [., 64]", ROWS("x") ROWS("out"), "kernel: softmax_rows, args: {x: x, out: out}", 2, 64},
    {"softmax_rows f32 [., 256]", ROWS("x") ROWS("out"), "kernel: softmax_rows, args: {x: x, out: out}", 2, 256},
    {"softmax_rows f32 [., 1024]", ROWS("x") ROWS("out"), "kernel: softmax_rows, args: {x: x, out: out}", 2, 1024},
    {"softmax_rows f32 [., 8192]", ROWS("x") ROWS("out"), "kernel: softmax_rows, args: {x: x, out: out}", 2, 8192},
    {"softmax_rows f64 [., 512]", ROWS_F64("x") ROWS_F64("out"), "kernel: softmax_rows, args: {x: x, out: out}", 2,
     512},
    {"argmax_rows f32 [., 10]", ROWS("x") "out: {type: i32, shape: [r]}, ",
     "kernel: argmax_rows, args: {x: x, out: out}", 1 + 1 / 10.0, 10},
    {"argmax_rows f32 [., 1024]", ROWS("x") "out: {type: i32, shape: [r]}, ",
     "kernel: argmax_rows, args: {x: x, out: out}", 1 + 1 / 1024.0, 1024},
    {"add_row f32 [., 10]", ROWS("x") ROWS("out") "row: {type: f32, shape: [c], init: {fill: 1}}, ",
     "kernel: add_row, args: {x: x, row: row, out: out}", 2, 10},
    {"add_row f32 [., 1024]", ROWS("x") ROWS("out") "row: {type: f32, shape: [c], init: {fill: 1}}, ",
     "kernel: add_row, args: {x: x, row: row, out: out}", 2, 1024},
    {"transpose f32", ROWS("x") "out: {type: f32, shape: [c, r]}, ", "kernel: transpose, args: {x: x, out: out}", 2,
     8192},
    {"transpose f64", ROWS_F64("x") "out: {type: f64, shape: [c, s]}, ", "kernel: transpose, args: {x: x, out: out}", 2,
     8192},
    {"transpose f32 [., 3]", ROWS("x") "out: {type: f32, shape: [c, r]}, ", "kernel: transpose, args: {x: x, out: out}",
     2, 3},
    {"conv2d f32, 3x3", ROWS("x") ROWS("out") "w: {type: f32, shape: [3, 3], init: {fill: 0.1}}, ",
     "kernel: conv2d, args: {x: x, weights: w, out: out}", 2, 8192},
    {"conv2d f32, 5x5", ROWS("x") ROWS("out") "w: {type: f32, shape: [5, 5], init: {fill: 0.1}}, ",
     "kernel: conv2d, args: {x: x, weights: w, out: out}", 2, 8192},
    {"conv2d f64, 3x3", ROWS_F64("x") ROWS_F64("out") "w: {type: f64, shape: [3, 3], init: {fill: 0.1}}, ",
     "kernel: conv2d, args: {x: x, weights: w, out: out}", 2, 8192},
    /* A block of 32 adjacent columns in each row: of every element, 4 bytes of values, of indices and of x, and besides
     * the bounds and the results. */
    {"spmv_csr f32, 32 a row",
     "p: {type: i32, shape: [r + 1], init: {iota: {start: 0, step: 32}}}, "
     "i: {type: i32, shape: [n], init: {iota: {start: 0, step: 1}}}, " F32("v") F32("x") "y: {type: f32, shape: [r]}, ",
     "kernel: spmv_csr, args: {indptr: p, indices: i, values: v, x: x, y: y}", 3 + 2 / 32.0, 32},
    {"black_scholes f32", F32("a") F32("b") F32("t") F32("call") F32("put"),
     "kernel: black_scholes, args: {spot: a, strike: b, years: t, rate: 0.02, volatility: 0.3, call: call, put: put}",
     5, 1},
};
enum { LINE_COUNT = sizeof lines / sizeof lines[0] };

struct bench {
  struct gr_engine *engine;
  const char *backend;
  uint64_t size_bytes;
  double copy_bytes_per_ns;
};

struct text {
  char bytes[16384];
  size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, values);
  va_end(values);
  if (length > 0) text->length += (size_t)length;
}

static void add_pipeline(struct text *text, const struct bench *bench, const struct line *line) {
  const uint64_t q = bench->size_bytes;
  add(text, "graphrun: 1\nparams: {q: %" PRIu64 ", n: %" PRIu64 ", h: %" PRIu64 ", c: %" PRIu32, q, q / 4, q / 8,
      line->columns);
  add(text, ", r: %" PRIu64 ", s: %" PRIu64 "}\nbuffers: {%s}\nnodes:\n", q / 4 / line->columns, q / 8 / line->columns,
      line->buffers);
  for (uint32_t i = 0; i < CHAIN; i++) {
    add(text, "  - {id: node%" PRIu32 ", %s", i, line->node);
    if (i > 0) add(text, ", after: [node%" PRIu32 "]", i - 1);
    add(text, "}\n");
  }
}

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The best time of a node, in `node_ns`. */
static enum gr_status measure_graph(struct gr_graph *graph, double *node_ns, struct gr_error *error) {
  struct gr_run_options options = {.struct_size = sizeof options, .repeat = 1};
  enum gr_status status = gr_graph_run(graph, &options, error);
  options.repeat = REPLAYS;
  options.keep_state = true;
  for (uint32_t round = 0; round < ROUNDS && status == GR_OK; round++) {
    uint64_t start = now_ns();
    status = gr_graph_run(graph, &options, error);
    double ns = (double)(now_ns() - start) / (REPLAYS * CHAIN);
    if (round == 0 || ns < *node_ns) *node_ns = ns;
  }
  return status;
}

static enum gr_status measure(const struct bench *bench, const struct line *line, double *node_ns,
                              struct gr_error *error) {
  struct text text = {.length = 0};
  struct gr_graph *graph = NULL;
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = bench->backend};
  add_pipeline(&text, bench, line);
  enum gr_status status =
      gr_graph_load_memory(bench->engine, text.bytes, text.length, line->label, NULL, &graph, error);
  if (status == GR_OK) status = gr_graph_build(graph, &options, error);
  if (status == GR_OK) status = measure_graph(graph, node_ns, error);
  (void)gr_graph_destroy(graph);
  return status;
}

/* The first line is the copy that the others are compared with. */
static bool run_lines(struct bench *bench, const char *part) {
  printf("%-30s %12s %10s %9s\n", "", "us", "GB/s", "of copy");
  for (uint32_t i = 0; i < LINE_COUNT; i++) {
    if (i > 0 && strstr(lines[i].label, part) == NULL) continue;
    double ns = 0;
    struct gr_error error;
    if (measure(bench, &lines[i], &ns, &error) != GR_OK) {
      fprintf(stderr, "%s: %s\n", lines[i].label, error.message);
      return false;
    }
    double bytes_per_ns = lines[i].buffers_moved * (double)bench->size_bytes / ns;
    if (i == 0) bench->copy_bytes_per_ns = bytes_per_ns;
    printf("%-30s %12.1f %10.0f %8.1f%%\n", lines[i].label, ns / 1000, bytes_per_ns,
           100 * bytes_per_ns / bench->copy_bytes_per_ns);
    fflush(stdout);
  }
  return true;
}

/* Whether the back end has a device; says so where it has none. */
static bool is_ready(const struct bench *bench) {
  for (uint32_t i = 0; i < gr_backend_count(bench->engine); i++) {
    struct gr_backend_info info;
    if (gr_backend_describe(bench->engine, i, &info, NULL) != GR_OK || strcmp(info.name, bench->backend) != 0) continue;
    if (info.device_count > 0) return true;
    printf("skipped: %s\n", info.reason);
    return false;
  }
  printf("skipped: this build has no backend '%s'\n", bench->backend);
  return false;
}

int main(int argc, char **argv) {
  struct bench bench = {.backend = "cuda", .size_bytes = UINT64_C(256) << 20};
  const char *part = "";
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) bench.backend = argv[++i];
    else if (strcmp(argv[i], "--mebibytes") == 0 && i + 1 < argc)
      bench.size_bytes = strtoull(argv[++i], NULL, 10) << 20;
    else part = argv[i];
  }
  if (bench.size_bytes == 0) {
    fprintf(stderr, "kernels_bench: --mebibytes takes a number above 0\n");
    return 2;
  }
  struct gr_error error;
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = gr_builtin_catalogue()};
  if (gr_engine_create(&options, &bench.engine, &error) != GR_OK) {
    fprintf(stderr, "kernels_bench: %s\n", error.message);
    return 1;
  }
  bool is_done = !is_ready(&bench) || run_lines(&bench, part);
  return gr_engine_destroy(bench.engine) == GR_OK && is_done ? 0 : 1;
}
