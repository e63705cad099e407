/* What the kernels' checks accept, refuse and find out, with the whole message. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/catalogue.h"

/* A call in words: "f32[2,3] i32[] 0.5 7i", one word an argument: a buffer, a real or an integer. */
struct call {
  struct gr_kernel_argument arguments[GR_KERNEL_ARGUMENT_MAX];
  uint64_t shapes[GR_KERNEL_ARGUMENT_MAX][GR_RANK_MAX];
  uint32_t count;
};

static enum gr_type type_named(const char *name, size_t length) {
  for (uint32_t type = 0; type < GR_TYPE_COUNT; type++)
    if (strlen(gr_type_name((enum gr_type)type)) == length &&
        memcmp(gr_type_name((enum gr_type)type), name, length) == 0)
      return (enum gr_type)type;
  ck_abort_msg("no type in '%s'", name);
  return GR_TYPE_F32;
}

static void read_buffer(const char *word, struct gr_kernel_argument *argument, uint64_t *shape) {
  const char *open = strchr(word, '[');
  argument->type = type_named(word, (size_t)(open - word));
  argument->shape = shape;
  argument->element_count = 1;
  for (const char *at = open + 1; *at != ']' && *at != '\0';) {
    char *end;
    shape[argument->rank] = strtoull(at, &end, 10);
    argument->element_count *= shape[argument->rank++];
    at = *end == ',' ? end + 1 : end;
  }
}

static void read_call(const char *text, struct call *call) {
  memset(call, 0, sizeof *call);
  char copy[200], *rest = copy;
  (void)snprintf(copy, sizeof copy, "%s", text);
  for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL; call->count++) {
    struct gr_kernel_argument *argument = &call->arguments[call->count];
    if (strchr(word, '[') != NULL) read_buffer(word, argument, call->shapes[call->count]);
    else if (word[strlen(word) - 1] == 'i') argument->integer = strtoll(word, NULL, 10);
    else argument->real = strtod(word, NULL);
  }
}

static const struct gr_kernel *find(const char *name) {
  if (strcmp(name, "fill") == 0) return gr_builtin_catalogue()->fill;
  const struct gr_kernel *kernel = gr_catalogue_find(gr_builtin_catalogue(), name, strlen(name));
  ck_assert_msg(kernel != NULL, "there is no kernel '%s'", name);
  return kernel;
}

struct refusal {
  const char *kernel, *call;
  int32_t argument;
  const char *text;
};
static const struct refusal refusals[] = {
    {"add", "f32[4] f64[4] f32[4]", 1, "'y' is f64, but 'x' is f32; they must have the same type"},
    {"add", "i32[4] i32[4] i32[4]", 0, "'x' is i32, but add takes f32 or f64 here"},
    {"add", "f32[4] f32[5] f32[4]", 1, "'y' has 5 elements, but 'x' has 4"},
    {"add", "f32[4] f32[4] f32[1]", 2, "'out' has 1 element, but 'x' has 4"},
    {"axpy", "2 f32[4] f16[4]", 2, "'y' is f16, but axpy takes f32 or f64 here"},
    {"clamp", "0 1 f64[4] f64[2,3]", 3, "'out' has 6 elements, but 'x' has 4"},
    {"convert", "u8[4] f32[3] 1", 1, "'out' has 3 elements, but 'x' has 4"},
    {"rescale", "f32[4] f32[2] f32[1] f32[4]", 1, "'lo' has 2 elements, but rescale takes exactly 1 here"},
    {"rescale", "f32[4] f32[1] f32[0] f32[4]", 2, "'hi' has 0 elements, but rescale takes exactly 1 here"},
    {"div_scalar", "f32[4] f32[4] f32[4]", 1, "'s' has 4 elements, but div_scalar takes exactly 1 here"},
    {"sum", "f32[4] f32[2]", 1, "'out' has 2 elements, but sum takes exactly 1 here"},
    {"dot", "f32[4] f32[3] f32[1]", 1, "'y' has 3 elements, but 'x' has 4"},
    {"min", "f32[0] f32[1]", 0, "'x' has no elements, and nothing has no min"},
    {"max", "f32[3,0] f32[1]", 0, "'x' has no elements, and nothing has no max"},
    {"softmax_rows", "f32[6] f32[6]", 0, "'x' has 1 dimension, but softmax_rows takes 2 here"},
    {"softmax_rows", "f32[2,3] f32[2,4]", 1, "'out' has 8 elements, but 'x' has 6"},
    {"argmax_rows", "f32[2,3] f32[2]", 1, "'out' is f32, but argmax_rows takes i32 here"},
    {"argmax_rows", "f32[2,3] i32[3]", 1, "'out' has 3 elements, but must have 2: one for each row of 'x'"},
    {"argmax_rows", "f32[2,0] i32[2]", 0, "the rows of 'x' have no elements, and nothing has no largest"},
    {"argmax_rows", "f32[1,2147483649] i32[1]", 0,
     "the rows of 'x' have more elements than the i32 of 'out' can number"},
    {"add_row", "f32[2,3] f32[2] f32[2,3]", 1, "'row' has 2 elements, but must have 3: one for each column of 'x'"},
    {"add_row", "f32[] f32[1] f32[1]", 0, "'x' has no dimensions, and so no rows"},
    {"gemm", "1 f32[2,3] f32[4,5] 0 f32[2,5]", 2, "'b' is [4, 5], but must be [3, 5]: as many rows as 'a' has columns"},
    {"gemm", "1 f32[2,3] f32[3,5] 0 f32[5,2]", 4,
     "'c' is [5, 2], but must be [2, 5]: the rows of 'a' and the columns of 'b'"},
    {"gemm", "1 f32[6] f32[3,5] 0 f32[2,5]", 1, "'a' has 1 dimension, but gemm takes 2 here"},
    {"transpose", "f64[2,3] f64[2,3]", 1, "'out' is [2, 3], but must be [3, 2]: the shape of 'x', exchanged"},
    {"transpose", "f64[2,3,1] f64[3,2]", 0, "'x' has 3 dimensions, but transpose takes 2 here"},
    {"spmv_csr", "i64[3] i32[4] f32[4] f32[9] f32[2]", 0, "'indptr' is i64, but spmv_csr takes i32 here"},
    {"spmv_csr", "i32[3] i32[4] f32[5] f32[9] f32[2]", 1, "'indices' has 4 elements, but 'values' has 5"},
    {"spmv_csr", "i32[2] i32[4] f32[4] f32[9] f32[2]", 0,
     "'indptr' has 2 elements, but must have 3: one for each element of 'y', and the end"},
    {"conv2d", "f32[4,4] f32[2,3] f32[4,4]", 1,
     "'weights' has an even extent, and so no middle; conv2d takes odd extents"},
    {"conv2d", "f32[4,4] f32[3,3] f32[4,5]", 2, "'out' is [4, 5], but must be [4, 4]: the shape of 'x'"},
    {"black_scholes", "f32[4] f32[4] f32[4] 0 0 f32[4] f32[3]", 6, "'put' has 3 elements, but 'spot' has 4"},
    {"busy", "-1i", 0, "'ns' is negative"},
    {"fill", "f32[] 0i -1i 1i 1i 0i 0i", 2, "'width' is negative"},
    {"fill", "f32[] 0i 4i 2i 1i 18i 0i", 5, "'row_pitch' is no multiple of the element's 4 bytes"},
    {"fill", "u8[] 0i 4294967296i 4294967296i 1i 0i 0i", -1, "the box has more than 2^63-1 elements"},
};

START_TEST(test_refused) {
  const struct refusal *refusal = &refusals[_i];
  const struct gr_kernel *kernel = find(refusal->kernel);
  struct gr_kernel_facts facts;
  struct gr_kernel_problem problem = {0};
  struct call call;
  read_call(refusal->call, &call);
  ck_assert_uint_eq(call.count, kernel->parameter_count);
  ck_assert_msg(!kernel->check(kernel, call.arguments, &facts, &problem), "%s(%s) passed", refusal->kernel,
                refusal->call);
  ck_assert_str_eq(problem.text, refusal->text);
  ck_assert_int_eq(problem.argument_index, refusal->argument);
}
END_TEST

static struct gr_kernel_facts accepted(const char *name, const char *text) {
  const struct gr_kernel *kernel = find(name);
  struct gr_kernel_facts facts;
  struct gr_kernel_problem problem = {0};
  struct call call;
  memset(&facts, 0xff, sizeof facts);
  read_call(text, &call);
  ck_assert_uint_eq(call.count, kernel->parameter_count);
  ck_assert_msg(kernel->check(kernel, call.arguments, &facts, &problem), "%s(%s): %s", name, text, problem.text);
  return facts;
}

START_TEST(test_counts_agree_whatever_the_shape) {
  ck_assert_uint_eq(accepted("add", "f32[2,3] f32[6] f32[3,2]").output_element_count, 6);
  ck_assert_uint_eq(accepted("sum", "f64[4] f64[]").output_element_count, 1);
  ck_assert_uint_eq(accepted("rescale", "f32[2,2] f32[] f32[1,1] f32[4]").output_element_count, 4);
  ck_assert_uint_eq(accepted("add_row", "f32[2,2,3] f32[1,3] f32[12]").output_element_count, 12);
  ck_assert_uint_eq(accepted("convert", "i8[3] bf16[3] 2").output_element_count, 3);
  ck_assert_uint_eq(accepted("conv2d", "f32[7,9] f32[1,5] f32[7,9]").output_element_count, 63);
  ck_assert_uint_eq(accepted("argmax_rows", "f64[4,2147483648] i32[4,1]").output_element_count, 4);
}
END_TEST

START_TEST(test_nothing_to_do) {
  ck_assert_uint_eq(accepted("add", "f32[0] f32[3,0] f32[0]").output_element_count, 0);
  ck_assert_uint_eq(accepted("gemm", "1 f32[0,3] f32[3,5] 0 f32[0,5]").output_element_count, 0);
  ck_assert_uint_eq(accepted("softmax_rows", "f32[4,0] f32[4,0]").output_element_count, 0);
  ck_assert_uint_eq(accepted("argmax_rows", "f32[0,0] i32[0]").output_element_count, 0);
  ck_assert_uint_eq(accepted("fill", "u8[] 0i 5i 0i 3i 0i 0i").output_element_count, 0);
}
END_TEST

/* The sum of nothing is written; a product with nothing inside, too; and busy is no no_op though it writes nothing. */
START_TEST(test_something_to_do) {
  ck_assert_uint_eq(accepted("sum", "f32[0] f32[1]").output_element_count, 1);
  ck_assert_uint_eq(accepted("gemm", "1 f32[2,0] f32[0,5] 0 f32[2,5]").output_element_count, 10);
  ck_assert_uint_eq(accepted("busy", "0i").output_element_count, 1);
  ck_assert_uint_eq(accepted("fill", "u8[] 0i 5i 2i 3i 0i 0i").output_element_count, 30);
}
END_TEST

START_TEST(test_access) {
  ck_assert_int_eq(accepted("gemm", "1 f32[2,3] f32[3,5] 0 f32[2,5]").access[4], GR_ACCESS_WRITE);
  ck_assert_int_eq(accepted("gemm", "1 f32[2,3] f32[3,5] -0.0 f32[2,5]").access[4], GR_ACCESS_WRITE);
  ck_assert_int_eq(accepted("gemm", "1 f32[2,3] f32[3,5] 0.5 f32[2,5]").access[4], GR_ACCESS_UPDATE);
  struct gr_kernel_facts axpy = accepted("axpy", "1 f32[2] f32[2]");
  ck_assert_int_eq(axpy.access[0], GR_ACCESS_NONE);
  ck_assert_int_eq(axpy.access[1], GR_ACCESS_READ);
  ck_assert_int_eq(axpy.access[2], GR_ACCESS_UPDATE);
  ck_assert_int_eq(accepted("fill", "u8[] 0i 1i 1i 1i 0i 0i").access[0], GR_ACCESS_WRITE);
  ck_assert_uint_gt(accepted("dot", "f32[2] f32[2] f32[1]").scratch_bytes, 0);
  ck_assert_uint_eq(axpy.scratch_bytes, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels/check");
  TCase *checks = tcase_create("checks");
  tcase_add_loop_test(checks, test_refused, 0, sizeof refusals / sizeof refusals[0]);
  tcase_add_test(checks, test_counts_agree_whatever_the_shape);
  tcase_add_test(checks, test_nothing_to_do);
  tcase_add_test(checks, test_something_to_do);
  tcase_add_test(checks, test_access);
  suite_add_tcase(suite, checks);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
