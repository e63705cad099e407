/* The whole engine with the CUDA backend, over the tests' double of the runtime: the same answers as the host backend
 * for every policy, cap and mode, whatever order the double chooses; and the device that a file names. */
#include <stdio.h>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/support/pipeline_maker.h"
#include "tests/unit/engine/support.h"

enum { STATE_COUNT = MAKER_BUFFER_COUNT * MAKER_ELEMENT_COUNT };

static const char image_bytes[] = FAKE_CUDA_IMAGE("*\n");
static struct gr_engine *engine;
static struct gr_error error;

static void setup(void) {
  static struct gr_kernel_image image;
  static struct gr_catalogue catalogue;
  image = (struct gr_kernel_image){.name = "all.cu",
                                   .begin = (const unsigned char *)image_bytes,
                                   .end = (const unsigned char *)image_bytes + sizeof image_bytes};
  catalogue = *gr_builtin_catalogue();
  catalogue.image_count = 1;
  catalogue.images = &image;
  memset(&error, 0, sizeof error);
  fake_cuda_reset();
  fake_cuda_set_device_count(3);
  fake_cuda_set_catalogue(&catalogue);
  struct gr_engine_options options = {.struct_size = sizeof options, .catalogue = &catalogue, .worker_count = 1};
  ck_assert_int_eq(gr_engine_create(&options, &engine, &error), GR_OK);
}

static void teardown(void) { ck_assert_int_eq(gr_engine_destroy(engine), GR_OK); }

static void compute(const char *text, const char *backend, enum gr_mode mode, double state[STATE_COUNT]) {
  struct gr_graph *graph = load(engine, text);
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = backend, .mode = mode};
  ck_assert_msg(gr_graph_build(graph, &options, &error) == GR_OK, "%s", error.message);
  run(graph, 2);
  for (uint32_t i = 0; i < MAKER_BUFFER_COUNT; i++) {
    char name[8];
    snprintf(name, sizeof name, "b%u", i);
    ck_assert_int_eq(
        gr_graph_read(graph, name, 0, &state[i * MAKER_ELEMENT_COUNT], MAKER_ELEMENT_COUNT * sizeof(double), &error),
        GR_OK);
  }
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
}

START_TEST(test_backends_agree) {
  static const char *const streams[] = {NULL, "{max: 2}", "{policy: chains}", "{policy: serial}"};
  for (uint64_t seed = 0; seed < 24; seed++) {
    for (size_t s = 0; s < sizeof streams / sizeof *streams; s++) {
      struct maker_options options = {.seed = seed, .node_count = 1 + (uint32_t)seed, .order_data = seed % 2 == 0};
      options.streams = streams[s];
      char *text = maker_pipeline(&options);
      double want[STATE_COUNT], got[STATE_COUNT];
      compute(text, "host", GR_MODE_SERIAL, want);
      for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
        fake_cuda_set_seed(seed * 31 + s);
        compute(text, "cuda", (enum gr_mode)mode, got);
        ck_assert_msg(memcmp(want, got, sizeof want) == 0, "seed %llu, streams %s, mode %s", (unsigned long long)seed,
                      streams[s] ? streams[s] : "default", gr_mode_name((enum gr_mode)mode));
      }
      free(text);
    }
  }
}
END_TEST

static bool keep(void *context, const char *bytes, size_t length) {
  char *text = context;
  size_t used = strlen(text), room = 8191 - used;
  memcpy(text + used, bytes, length < room ? length : room);
  return true;
}

/* Builds on what `asked` says; the report's text is in `report`. */
static enum gr_status build_on(const char *device, uint32_t asked, char report[8192]) {
  char text[256];
  snprintf(text, sizeof text,
           "graphrun: 1\nbuffers: {x: {type: f32, shape: 4%s}}\nnodes: [{id: set, fill: {buffer: x, value: 3}}]\n",
           device);
  struct gr_graph *graph = load(engine, text);
  struct gr_graph_options options = {.struct_size = sizeof options, .backend = "cuda", .device_index = asked};
  enum gr_status status = gr_graph_build(graph, &options, &error);
  memset(report, 0, 8192);
  ck_assert_int_eq(gr_graph_report(graph, GR_REPORT_JSON, keep, report, NULL), GR_OK);
  ck_assert_int_eq(gr_graph_destroy(graph), GR_OK);
  return status;
}

START_TEST(test_the_device_of_the_file_is_opened) {
  static char report[8192];
  for (int i = 0; i < 3; i++) {
    snprintf(fake_cuda_properties(i)->name, sizeof fake_cuda_properties(i)->name, "GPU number %d", i);
  }
  ck_assert_int_eq(build_on("", 0, report), GR_OK);
  ck_assert_ptr_nonnull(strstr(report, "GPU number 0"));
  ck_assert_int_eq(build_on("", 2, report), GR_OK);
  ck_assert_ptr_nonnull(strstr(report, "GPU number 2"));
  ck_assert_int_eq(build_on(", device: 1", 0, report), GR_OK);
  ck_assert_ptr_nonnull(strstr(report, "GPU number 1"));
  ck_assert_int_eq(build_on(", device: 1", 1, report), GR_OK);
  ck_assert_int_eq(build_on(", device: 1", 2, report), GR_ERR_ARGUMENT);
  ck_assert_int_eq(build_on(", device: 7", 0, report), GR_ERR_NO_DEVICE);
  ck_assert_ptr_nonnull(strstr(error.message, "\"x\""));
}
END_TEST

int main(void) {
  TCase *cases = tcase_create("cuda_double");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_add_test(cases, test_backends_agree);
  tcase_add_test(cases, test_the_device_of_the_file_is_opened);
  return run_suite(cases, "cuda_double");
}
