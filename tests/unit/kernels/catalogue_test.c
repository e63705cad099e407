/* What whoever uses the catalogue may rely on: order, names, parameters, launches. */
#include "kernels/catalogue.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The format's list. */
static const char *const names[] = {
    "abs",     "add",          "add_row",    "argmax_rows", "axpy",   "black_scholes", "busy",  "clamp",    "conv2d",
    "convert", "div",          "div_scalar", "dot",         "exp",    "gemm",          "hypot", "lerp",     "log",
    "max",     "maximum",      "min",        "minimum",     "mul",    "neg",           "norm2", "relu",     "rescale",
    "scale",   "softmax_rows", "spmv_csr",   "sqrt",        "square", "sub",           "sum",   "transpose"};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

START_TEST(test_kernels_are_the_format_s) {
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  ck_assert_uint_eq(catalogue->kernel_count, NAME_COUNT);
  for (uint32_t i = 0; i < NAME_COUNT; i++) {
    ck_assert_str_eq(catalogue->kernels[i].name, names[i]);
    ck_assert_ptr_eq(gr_catalogue_find(catalogue, names[i], strlen(names[i])), &catalogue->kernels[i]);
    if (i > 0) ck_assert_int_lt(strcmp(names[i - 1], names[i]), 0);
  }
  ck_assert_ptr_null(gr_catalogue_find(catalogue, "fill", 4));
  ck_assert_ptr_nonnull(catalogue->fill);
  ck_assert_uint_eq(catalogue->fill->parameter_count, GR_FILL_ARGUMENT_COUNT);
}
END_TEST

START_TEST(test_rows_are_whole) {
  const struct gr_kernel *kernel = &gr_builtin_catalogue()->kernels[_i];
  ck_assert_ptr_nonnull(kernel->summary);
  ck_assert_uint_gt(kernel->parameter_count, 0);
  ck_assert_uint_le(kernel->parameter_count, GR_KERNEL_ARGUMENT_MAX);
  ck_assert_msg(kernel->check != NULL && kernel->host != NULL && kernel->launches != NULL, "%s", kernel->name);
  ck_assert_msg((kernel->library == GR_KERNEL_LIBRARY_GEMM) == (strcmp(kernel->name, "gemm") == 0), "%s", kernel->name);
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    const struct gr_kernel_parameter *parameter = &kernel->parameters[i];
    ck_assert_msg((parameter->kind == GR_PARAMETER_BUFFER) == (parameter->access != GR_ACCESS_NONE), "%s: %s",
                  kernel->name, parameter->name);
    ck_assert_msg(!parameter->may_alias_output || parameter->access == GR_ACCESS_READ, "%s: %s", kernel->name,
                  parameter->name);
    for (uint32_t k = 0; k < i; k++) ck_assert_str_ne(kernel->parameters[k].name, parameter->name);
  }
}
END_TEST

/* A call with all extents alike; it need not be one that `check` accepts. */
static struct gr_kernel_frame frame_of(const struct gr_kernel *kernel, enum gr_type type, uint64_t rows,
                                       uint64_t columns) {
  struct gr_kernel_frame frame;
  memset(&frame, 0, sizeof frame);
  frame.argument_count = kernel->parameter_count;
  for (uint32_t i = 0; i < kernel->parameter_count; i++) {
    frame.arguments[i].type = (uint32_t)type;
    frame.arguments[i].rows = rows;
    frame.arguments[i].columns = columns;
    frame.arguments[i].rank = 2;
    if (kernel->parameters[i].kind == GR_PARAMETER_INTEGER) frame.arguments[i].integer = (int64_t)(rows % 4096);
  }
  return frame;
}

/* Whoever stands in for a device finds the host twin so. */
static const struct gr_kernel *twin_of(const char *entry) {
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  const struct gr_kernel *twin = NULL;
  size_t longest = 0;
  for (uint32_t i = 0; i <= catalogue->kernel_count; i++) {
    const struct gr_kernel *kernel = i < catalogue->kernel_count ? &catalogue->kernels[i] : catalogue->fill;
    size_t length = strlen(kernel->name);
    if (length <= longest || strncmp(entry, "gr_", 3) != 0) continue;
    if (strncmp(entry + 3, kernel->name, length) == 0 && entry[3 + length] == '_') {
      twin = kernel;
      longest = length;
    }
  }
  return twin;
}

static void expect_launch(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX], again[GR_KERNEL_LAUNCH_MAX];
  memset(launches, 0xff, sizeof launches);
  uint32_t count = kernel->launches(kernel, frame, launches);
  ck_assert_uint_eq(count, 1);
  const uint32_t *grid = launches[0].grid, *block = launches[0].block;
  ck_assert_ptr_eq(twin_of(launches[0].entry), kernel);
  ck_assert_msg(
      grid[0] >= 1 && grid[0] <= INT32_MAX && grid[1] >= 1 && grid[1] <= 65535 && grid[2] >= 1 && grid[2] <= 65535,
      "%s: grid %" PRIu32 " %" PRIu32 " %" PRIu32, launches[0].entry, grid[0], grid[1], grid[2]);
  ck_assert_msg(block[0] >= 1 && block[1] >= 1 && block[2] >= 1 && block[0] * block[1] * block[2] <= 1024,
                "%s: block %" PRIu32 " %" PRIu32 " %" PRIu32, launches[0].entry, block[0], block[1], block[2]);
  ck_assert_uint_le(launches[0].shared_bytes, 48 * 1024);
  /* The same for the same shapes, whatever the addresses. */
  struct gr_kernel_frame elsewhere = *frame;
  for (uint32_t i = 0; i < kernel->parameter_count; i++)
    if (kernel->parameters[i].kind == GR_PARAMETER_BUFFER) elsewhere.arguments[i].data = &elsewhere;
  kernel->launches(kernel, &elsewhere, again);
  ck_assert_ptr_eq(launches[0].entry, again[0].entry);
  ck_assert_int_eq(memcmp(launches[0].grid, again[0].grid, sizeof again[0].grid), 0);
  ck_assert_int_eq(memcmp(launches[0].block, again[0].block, sizeof again[0].block), 0);
}

/* `fill` is the last. */
START_TEST(test_launches) {
  static const uint64_t shapes[][2] = {{1, 1},
                                       {1, 1000},
                                       {1000, 1},
                                       {70, 33},
                                       {3000, 65},
                                       {5000, 300},
                                       {7, 5000},
                                       {2, 100000},
                                       {4097, 4097},
                                       {1, 1ull << 40},
                                       {1ull << 40, 1},
                                       {1ull << 40, 16},
                                       {1ull << 31, 1ull << 31},
                                       {1ull << 44, 200}};
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  const struct gr_kernel *kernel = _i < NAME_COUNT ? &catalogue->kernels[_i] : catalogue->fill;
  const bool is_any_type = strcmp(kernel->name, "convert") == 0 || strcmp(kernel->name, "fill") == 0;
  for (uint32_t type = 0; type < GR_TYPE_COUNT; type++)
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
      if (type < GR_TYPE_F32 && !is_any_type) continue;
      struct gr_kernel_frame frame = frame_of(kernel, (enum gr_type)type, shapes[i][0], shapes[i][1]);
      if (kernel == catalogue->fill && shapes[i][0] % 4096 == 0) continue; /* an empty box is not launched */
      expect_launch(kernel, &frame);
    }
}
END_TEST

START_TEST(test_images) {
  const struct gr_catalogue *catalogue = gr_builtin_catalogue();
  size_t total = 0;
  for (uint32_t i = 0; i < catalogue->image_count; i++) {
    const struct gr_kernel_image *image = &catalogue->images[i];
    static const unsigned char magic[4] = {0x50, 0xed, 0x55, 0xba}; /* a fat binary's */
    ck_assert_msg(image->end - image->begin > 64 && memcmp(image->begin, magic, sizeof magic) == 0, "%s", image->name);
    total += (size_t)(image->end - image->begin);
  }
  /* Every program carries them all. */
  ck_assert_uint_lt(total, 8u << 20);
#ifdef GR_HAVE_CUDA
  ck_assert_uint_gt(catalogue->image_count, 0);
#else
  ck_assert_uint_eq(catalogue->image_count, 0);
#endif
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels/catalogue");
  TCase *catalogue = tcase_create("catalogue");
  tcase_add_test(catalogue, test_kernels_are_the_format_s);
  tcase_add_loop_test(catalogue, test_rows_are_whole, 0, NAME_COUNT);
  tcase_add_loop_test(catalogue, test_launches, 0, NAME_COUNT + 1);
  tcase_add_test(catalogue, test_images);
  suite_add_tcase(suite, catalogue);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
