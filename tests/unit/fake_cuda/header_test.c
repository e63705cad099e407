/* The double's header against the toolkit's: whatever differs keeps this file from compiling. Where there is no
 * toolkit, only the double's own numbers are looked at. */
#ifdef GR_HAVE_CUDA
#define FAKE_CUDA_COMPARE
#endif
#include "tests/support/fake_cuda/error_texts.h"
#include "tests/support/fake_cuda/fake_cuda.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_CODE(name, number) _Static_assert((int)name == number, "the value of " #name);
FAKE_CUDA_ERRORS(CHECK_CODE)
#undef CHECK_CODE

#define CHECK_CONSTANT(name, number) _Static_assert((int)name == number, "the value of " #name);
FAKE_CUDA_CONSTANTS(CHECK_CONSTANT)
#undef CHECK_CONSTANT

#define CHECK_MEMBER(structure, member, type)                                                          \
  _Static_assert(__builtin_types_compatible_p(__typeof__(((__typeof__(structure) *)0)->member), type), \
                 "the type of " #structure "." #member);
FAKE_CUDA_MEMBERS(CHECK_MEMBER)
#undef CHECK_MEMBER

_Static_assert(sizeof(cudaGraphEdgeData) == 8, "the size of cudaGraphEdgeData");

#ifdef GR_HAVE_CUDA
static const char *const compared_with = "the toolkit's header";
#else
static const char *const compared_with = "itself only (skipped: no toolkit)";
#endif

/* Codes have one name each, names and numbers are unique. */
START_TEST(test_codes_are_unique) {
#define ROW(name, number) number,
  static const int numbers[] = {FAKE_CUDA_ERRORS(ROW)};
#undef ROW
  size_t count = sizeof numbers / sizeof *numbers;
  for (size_t i = 1; i < count; i++) ck_assert_int_gt(numbers[i], numbers[i - 1]);
}
END_TEST

#define CODE_COUNT(name, number) +1
enum { ERROR_COUNT = 0 FAKE_CUDA_ERRORS(CODE_COUNT), TEXT_COUNT = 0 FAKE_CUDA_ERROR_TEXTS(CODE_COUNT) };
#undef CODE_COUNT

/* Every code has its text; where there is a toolkit, the runtime's own, which it gives without a GPU. */
START_TEST(test_texts) {
  ck_assert_int_eq(ERROR_COUNT, TEXT_COUNT);
#ifdef GR_HAVE_CUDA
#define CHECK_TEXT(name, text)                     \
  ck_assert_str_eq(cudaGetErrorName(name), #name); \
  ck_assert_str_eq(cudaGetErrorString(name), text);
  FAKE_CUDA_ERROR_TEXTS(CHECK_TEXT)
#undef CHECK_TEXT
#endif
}
END_TEST

int main(void) {
  printf("The header was compared with %s.\n", compared_with);
  Suite *suite = suite_create("header");
  TCase *header = tcase_create("header");
  tcase_add_test(header, test_codes_are_unique);
  tcase_add_test(header, test_texts);
  suite_add_tcase(suite, header);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
