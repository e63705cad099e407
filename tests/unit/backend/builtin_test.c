/* The list of back ends: complete tables, the host last and always there. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/backend.h"

START_TEST(the_list_ends_with_the_host) {
  uint32_t count = 0;
  for (; gr_backends_builtin[count]; count++) {
    struct gr_error error = {0};
    const struct gr_backend *backend = gr_backends_builtin[count];
    ck_assert_msg(gr_backend_verify(backend, &error) == GR_OK, "%s", error.message);
    for (uint32_t i = 0; i < count; i++) ck_assert_str_ne(backend->name, gr_backends_builtin[i]->name);
  }
  ck_assert_uint_ge(count, 1);
  ck_assert_str_eq(gr_backends_builtin[count - 1]->name, "host");
#ifdef GR_HAVE_CUDA
  ck_assert_uint_eq(count, 2);
  ck_assert_str_eq(gr_backends_builtin[0]->name, "cuda");
#else
  ck_assert_uint_eq(count, 1);
#endif
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builtin");
  TCase *tcase = tcase_create("builtin");
  tcase_add_test(tcase, the_list_ends_with_the_host);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
