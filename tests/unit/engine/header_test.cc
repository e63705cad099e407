// The public header in a C++ program: it compiles as C++17 with the same warnings as errors, its names link as C, and
// options have the same size on both sides (a struct_size that did not fit would be refused).
#include "engine/graphrun.h"

#include <cstdio>
#include <cstring>

namespace {

int failures = 0;

void expect(bool holds, const char *what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what);
  failures++;
}

void run(gr_engine *engine) {
  static const char text[] =
      "graphrun: 1\n"
      "buffers: {x: {type: i32, shape: 4, place: host}}\n"
      "nodes: [{id: fill, fill: {buffer: x, value: 7}}]\n";
  gr_graph *graph = nullptr;
  gr_error error = {};
  expect(gr_graph_load_memory(engine, text, std::strlen(text), nullptr, nullptr, &graph, &error) == GR_OK, "load");
  gr_graph_options build = {};
  build.struct_size = sizeof build;
  build.backend = "host";
  expect(gr_graph_build(graph, &build, &error) == GR_OK, "build");
  gr_run_options options = {};
  options.struct_size = sizeof options;
  expect(gr_graph_run(graph, &options, &error) == GR_OK, "run");
  int32_t values[4] = {};
  expect(gr_graph_read(graph, "x", 0, values, sizeof values, &error) == GR_OK, "read");
  expect(values[0] == 7 && values[3] == 7, "values");
  gr_graph_destroy(graph);
}

}  // namespace

int main() {
  gr_engine_options options = {};
  options.struct_size = sizeof options;
  gr_engine *engine = nullptr;
  gr_error error = {};
  expect(gr_engine_create(&options, &engine, &error) == GR_OK, "create");
  expect(std::strcmp(gr_version(), GR_VERSION) == 0, "version");
  run(engine);
  expect(gr_engine_destroy(engine) == GR_OK, "destroy");
  return failures == 0 ? 0 : 1;
}
