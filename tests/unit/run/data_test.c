#include "engine/run/run_internal.h"
#include "tests/unit/run/support.h"

static struct gr_error error;

/* Loads a file into memory through pieces of `step` elements. */
static enum gr_status load(struct gr_buffer *buffer, const char *name, uint64_t step, void *to) {
  struct gr_data_file file = {0};
  memset(&error, 0, sizeof error);
  GR_RETURN_IF_FAILED(
      gr_data_open(&world.memory, &world.pipeline, buffer, name, (struct gr_mark){4, 5}, &file, &error));
  enum gr_status status = GR_OK;
  uint64_t step_bytes = step * gr_type_size(buffer->type);
  for (uint64_t done = 0; status == GR_OK && done < buffer->size_bytes; done += step_bytes) {
    uint64_t left = buffer->size_bytes - done;
    status = gr_data_read(&file, done, left < step_bytes ? left : step_bytes, (char *)to + done, &error);
  }
  gr_data_close(&file);
  return status;
}

/* `%s` in what is expected stands for the folder. */
static void refuse(struct gr_buffer *buffer, const char *name, enum gr_status status, const char *expected) {
  char bytes[64], message[1024];
  ck_assert_int_eq(load(buffer, name, 1, bytes), status);
  const char *place = strstr(expected, "%s");
  snprintf(message, sizeof message, "%.*s%s%s", (int)(place - expected), expected, world.folder, place + 2);
  ck_assert_str_eq(error.message, message);
  ck_assert_str_eq(error.node, buffer->name);
  ck_assert_str_eq(error.file, "graph.yaml");
  ck_assert_uint_eq(error.line, 4);
  ck_assert_uint_eq(error.column, 5);
}

static const char square[] = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n";
static const int16_t numbers[] = {1, -2, 3, -4, 5, -6};

START_TEST(every_version) {
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_I16, 2, (uint64_t[]){2, 3});
  for (int version = 1; version <= 3; version++) {
    int16_t got[6];
    write_npy("x.npy", version, square, numbers, sizeof numbers);
    for (uint64_t step = 1; step <= 7; step++) {
      memset(got, 0, sizeof got);
      ck_assert_int_eq(load(buffer, "x.npy", step, got), GR_OK);
      ck_assert_int_eq(memcmp(got, numbers, sizeof numbers), 0);
    }
  }
}
END_TEST

START_TEST(raw_files) {
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_I16, 2, (uint64_t[]){2, 3});
  int16_t got[6];
  write_file("x.bin", numbers, sizeof numbers);
  ck_assert_int_eq(load(buffer, "x.bin", 4, got), GR_OK);
  ck_assert_int_eq(memcmp(got, numbers, sizeof numbers), 0);
  write_file("x.bin", numbers, sizeof numbers - 1);
  refuse(buffer, "x.bin", GR_ERR_INVALID,
         "\"%sx.bin\" does not fit buffer \"x\": it has 11 bytes of data, the buffer needs 12");
  write_file("x.bin", "0123456789abc", 13);
  refuse(buffer, "x.bin", GR_ERR_INVALID,
         "\"%sx.bin\" does not fit buffer \"x\": it has 13 bytes of data, the buffer needs 12");
}
END_TEST

/* The same numbers in column-major order, in three dimensions, in pieces of every size. */
START_TEST(column_major_files) {
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_U8, 3, (uint64_t[]){2, 3, 4});
  unsigned char columns[24], got[24];
  for (unsigned i = 0; i < 2; i++) {
    for (unsigned j = 0; j < 3; j++) {
      for (unsigned k = 0; k < 4; k++) columns[i + 2 * j + 6 * k] = (unsigned char)(12 * i + 4 * j + k);
    }
  }
  write_npy("x.npy", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }\n", columns, sizeof columns);
  for (uint64_t step = 1; step <= 25; step++) {
    memset(got, 0, sizeof got);
    ck_assert_int_eq(load(buffer, "x.npy", step, got), GR_OK);
    for (unsigned i = 0; i < 24; i++) ck_assert_uint_eq(got[i], i);
  }
}
END_TEST

START_TEST(nothing_is_a_file_too) {
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_F64, 2, (uint64_t[]){0, 3});
  write_npy("x.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }\n", NULL, 0);
  ck_assert_int_eq(load(buffer, "x.npy", 1, NULL), GR_OK);
  write_file("x.bin", "", 0);
  ck_assert_int_eq(load(buffer, "x.bin", 1, NULL), GR_OK);
}
END_TEST

START_TEST(type_and_shape_fit_exactly) {
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_I16, 2, (uint64_t[]){3, 2});
  write_npy("x.npy", 1, square, numbers, sizeof numbers);
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"x\": it holds i16 [2, 3], the buffer is i16 [3, 2]");
  buffer = add_buffer("y", GR_TYPE_U16, 2, (uint64_t[]){2, 3});
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"y\": it holds i16 [2, 3], the buffer is u16 [2, 3]");
  buffer = add_buffer("z", GR_TYPE_I16, 1, (uint64_t[]){6});
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"z\": it holds i16 [2, 3], the buffer is i16 [6]");
  buffer = add_buffer("w", GR_TYPE_I16, 0, NULL);
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"w\": it holds i16 [2, 3], the buffer is i16 []");
}
END_TEST

START_TEST(data_that_are_cut_or_too_long) {
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_I16, 2, (uint64_t[]){2, 3});
  write_npy("x.npy", 1, square, numbers, sizeof numbers - 2);
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"x\": it has 10 bytes of data, the buffer needs 12");
  write_npy("x.npy", 1, square, "0123456789abcdef", 16);
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"x\": it has 16 bytes of data, the buffer needs 12");
  write_file("x.npy", "\x93NUMPY\x01\x00\x76\x00{'descr'", 18);
  refuse(buffer, "x.npy", GR_ERR_INVALID, "\"%sx.npy\" does not fit buffer \"x\": it ends inside the header");
  write_file("x.npy", "", 0);
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"x\": it does not start as a .npy file does");
  write_npy("x.npy", 1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }\n", numbers, sizeof numbers);
  refuse(buffer, "x.npy", GR_ERR_INVALID,
         "\"%sx.npy\" does not fit buffer \"x\": its elements are big-endian (\">i2\"); save them as little-endian "
         "(\"<i2\")");
}
END_TEST

START_TEST(files_that_are_none) {
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_U8, 4);
  refuse(buffer, "x.npy", GR_ERR_IO, "cannot read \"%sx.npy\": No such file or directory");
  ck_assert_int_eq(mkdir(path_of("d.npy"), 0700), 0);
  refuse(buffer, "d.npy", GR_ERR_IO, "cannot read \"%sd.npy\": it is a directory");
  ck_assert_int_eq(mkfifo(path_of("f.bin"), 0600), 0);
  refuse(buffer, "f.bin", GR_ERR_IO, "cannot read \"%sf.bin\": it is not a regular file");
  write_file("x.txt", "abcd", 4);
  refuse(buffer, "x.txt", GR_ERR_INVALID,
         "\"%sx.txt\" does not fit buffer \"x\": the names of data files end in .npy or .bin");
  /* a name and nothing before the ending is none */
  write_file(".bin", "abcd", 4);
  ck_assert(!gr_data_is_raw(".bin"));
  ck_assert(remove(path_of(".bin")) == 0);
}
END_TEST

START_TEST(a_file_that_becomes_shorter) {
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_U8, 4);
  struct gr_data_file file = {0};
  char bytes[4];
  write_file("x.bin", "abcd", 4);
  ck_assert_int_eq(gr_data_open(&world.memory, &world.pipeline, buffer, "x.bin", (struct gr_mark){0}, &file, &error),
                   GR_OK);
  ck_assert_int_eq(truncate(path_of("x.bin"), 2), 0);
  ck_assert_int_eq(gr_data_read(&file, 0, 4, bytes, &error), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "x.bin\": it became shorter while it was read"));
  gr_data_close(&file);
  gr_data_close(&file);
}
END_TEST

/* Everything that is wrong with a pipeline's files, in one pass. */
START_TEST(all_files_of_a_pipeline) {
  struct gr_diagnostics diagnostics;
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_U8, 4);
  give_init(buffer, GR_INIT_LOAD)->path = "x.bin";
  give_expect(buffer, GR_EXPECT_LOAD)->path = "golden.npy";
  buffer->save = "no/x.npy";
  write_file("x.bin", "abc", 3);
  ck_assert(gr_diagnostics_init(&diagnostics, &world.memory, "graph.yaml"));
  ck_assert_int_eq(gr_run_check_files(&world.memory, &world.pipeline, GR_UNREADABLE_ERROR, &diagnostics),
                   GR_ERR_INVALID);
  ck_assert_uint_eq(diagnostics.error_count, 3);
  ck_assert_int_eq(diagnostics.kept[0].status, GR_ERR_INVALID);
  ck_assert_uint_eq(diagnostics.kept[0].mark.column, 20);
  ck_assert_int_eq(diagnostics.kept[1].status, GR_ERR_IO);
  ck_assert_uint_eq(diagnostics.kept[1].mark.column, 30);
  ck_assert_int_eq(diagnostics.kept[2].status, GR_ERR_IO);
  ck_assert_uint_eq(diagnostics.kept[2].mark.column, 40);
  gr_diagnostics_clear(&diagnostics);
  write_file("x.bin", "abcd", 4);
  write_npy("golden.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n", "abcd", 4);
  buffer->save = "x.npy";
  ck_assert_int_eq(gr_run_check_files(&world.memory, &world.pipeline, GR_UNREADABLE_ERROR, &diagnostics), GR_OK);
  gr_diagnostics_release(&diagnostics);
}
END_TEST

/* One file by two paths: through a link, and through another folder. */
START_TEST(two_saves_to_one_file) {
  static const char *const spellings[] = {"link.npy", "sub/../x.npy", "x.npy"};
  add_vector("x", GR_TYPE_U8, 4)->save = "x.npy";
  struct gr_buffer *second = add_vector("y", GR_TYPE_U8, 4);
  ck_assert_int_eq(mkdir(path_of("sub"), 0777), 0);
  ck_assert_int_eq(symlink("x.npy", path_of("link.npy")), 0);
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    second->save = spellings[i];
    ck_assert_int_eq(gr_run_check_targets(&world.memory, &world.pipeline, &error), GR_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(error.message, "is the same file as \"x.npy\", which buffer \"x\" on line "));
  }
  second->save = "sub/x.npy";
  ck_assert_int_eq(gr_run_check_targets(&world.memory, &world.pipeline, &error), GR_OK);
}
END_TEST

START_TEST(nth_allocation_fails) {
  struct gr_diagnostics diagnostics;
  struct gr_buffer *buffer = add_buffer("x", GR_TYPE_U8, 2, (uint64_t[]){2, 2});
  give_init(buffer, GR_INIT_LOAD)->path = "x.npy";
  buffer->save = "y.npy";
  write_npy("x.npy", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }\n", "abcd", 4);
  ck_assert(gr_diagnostics_init(&diagnostics, &world.memory, "graph.yaml"));
  uint64_t live = world.memory.live_count;
  for (uint64_t n = 1;; n++) {
    char got[4];
    world.memory.fail_at = world.memory.call_count + n;
    enum gr_status status = gr_run_check_files(&world.memory, &world.pipeline, GR_UNREADABLE_ERROR, &diagnostics);
    if (status == GR_OK) status = load(buffer, "x.npy", 3, got);
    bool has_failed = world.memory.call_count >= world.memory.fail_at;
    world.memory.fail_at = 0;
    ck_assert_int_eq(status, has_failed ? GR_ERR_NO_MEMORY : GR_OK);
    ck_assert_uint_eq(world.memory.live_count, live);
    if (!has_failed) break;
  }
  gr_diagnostics_release(&diagnostics);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("data");
  TCase *cases = tcase_create("data");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, every_version);
  tcase_add_test(cases, raw_files);
  tcase_add_test(cases, column_major_files);
  tcase_add_test(cases, nothing_is_a_file_too);
  tcase_add_test(cases, type_and_shape_fit_exactly);
  tcase_add_test(cases, data_that_are_cut_or_too_long);
  tcase_add_test(cases, files_that_are_none);
  tcase_add_test(cases, a_file_that_becomes_shorter);
  tcase_add_test(cases, all_files_of_a_pipeline);
  tcase_add_test(cases, two_saves_to_one_file);
  tcase_add_test(cases, nth_allocation_fails);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
