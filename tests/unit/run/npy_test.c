#include "engine/run/run_internal.h"
#include "tests/unit/run/support.h"

static struct gr_npy_header header;
static struct gr_npy_problem problem;

static bool parse(const char *text) {
  memset(&header, 0xff, sizeof header);
  problem.text[0] = '\0';
  return gr_npy_parse_text(gr_view_of(text), &header, &problem);
}

START_TEST(headers_that_numpy_writes) {
  ck_assert(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (512, 3), }      \n"));
  ck_assert_int_eq(header.type, GR_TYPE_F32);
  ck_assert_uint_eq(header.rank, 2);
  ck_assert_uint_eq(header.shape[0], 512);
  ck_assert_uint_eq(header.shape[1], 3);
  ck_assert(!header.is_column_major);
  ck_assert(parse("{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }\n"));
  ck_assert_int_eq(header.type, GR_TYPE_U8);
  ck_assert_uint_eq(header.rank, 1);
  ck_assert(parse("{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n"));
  ck_assert_uint_eq(header.rank, 0);
  ck_assert(parse("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n"));
  ck_assert(header.is_column_major);
}
END_TEST

START_TEST(all_types) {
  static const struct {
    const char *name;
    enum gr_type type;
  } types[] = {
      {"|i1", GR_TYPE_I8},  {"|u1", GR_TYPE_U8},   {"<i2", GR_TYPE_I16},  {"<u2", GR_TYPE_U16}, {"<i4", GR_TYPE_I32},
      {"<u4", GR_TYPE_U32}, {"<i8", GR_TYPE_I64},  {"<u8", GR_TYPE_U64},  {"<f2", GR_TYPE_F16}, {"<f4", GR_TYPE_F32},
      {"<f8", GR_TYPE_F64}, {"|V2", GR_TYPE_BF16}, {"<V2", GR_TYPE_BF16}, {"<i1", GR_TYPE_I8},  {">u1", GR_TYPE_U8},
  };
  char text[128];
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (1,)}", types[i].name);
    ck_assert_msg(parse(text), "%s: %s", text, problem.text);
    ck_assert_int_eq(header.type, types[i].type);
  }
}
END_TEST

START_TEST(other_spellings) {
  ck_assert(parse("{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}"));
  ck_assert_uint_eq(header.shape[1], 3);
  ck_assert(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L)}"));
  ck_assert_uint_eq(header.shape[0], 3);
  ck_assert(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,)}"));
  ck_assert_uint_eq(header.rank, 2);
}
END_TEST

/* With one long dimension, or nothing at all, both orders are the same. */
START_TEST(column_major_without_a_difference) {
  ck_assert(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (5,)}"));
  ck_assert(!header.is_column_major);
  ck_assert(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 5, 1)}"));
  ck_assert(!header.is_column_major);
  ck_assert(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 0, 7)}"));
  ck_assert(!header.is_column_major);
}
END_TEST

static void refuse(const char *text, const char *expected) {
  ck_assert_msg(!parse(text), "%s", text);
  ck_assert_str_eq(problem.text, expected);
}

START_TEST(wrong_types) {
  refuse("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
         "its elements are big-endian (\">f4\"); save them as little-endian (\"<f4\")");
  refuse("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}",
         "its elements are of type \"|b1\", which no buffer has");
  refuse("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
         "its elements are of type \"<c8\", which no buffer has");
  refuse("{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}",
         "its elements are of type \"<f16\", which no buffer has");
  refuse("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
         "its elements are of type \"|O\", which no buffer has");
  refuse("{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}",
         "its elements are of type \"|f4\", which no buffer has");
  refuse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
         "its elements are records; arrays of plain numbers can be loaded");
  refuse("{'descr': 4, 'fortran_order': False, 'shape': (1,)}", "its header is damaged: 'descr' is no string");
}
END_TEST

START_TEST(damaged_headers) {
  refuse("", "its header is damaged: '{' is missing before \"\"");
  refuse("[]", "its header is damaged: '{' is missing before \"[]\"");
  refuse("{}", "its header lacks 'descr', 'fortran_order' or 'shape'");
  refuse("{'descr': '<f4', 'shape': (1,)}", "its header lacks 'descr', 'fortran_order' or 'shape'");
  refuse("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
         "its header has the key \"descr\" twice");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
         "its header has the key \"more\", which is not known");
  refuse("{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}",
         "its header is damaged: 'fortran_order' is neither True nor False");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
         "its header is damaged: ',' is missing before \")}\"");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, -1)}", "its header is damaged: an extent is no number");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
         "its header has an extent that does not fit 64 bits");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "it has more than 8 dimensions");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
         "its header is damaged: '(' is missing before \"[3]}\"");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
         "its header is damaged: something follows the dictionary");
  refuse("{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
         "its header is damaged: '}' is missing before \"'fortran_order': False, 'shape': (1,)}\"");
  refuse("{'descr: '<f4', 'fortran_order': False, 'shape': (1,)}",
         "its header has the key \"descr: \", which is not known");
  refuse("{descr: '<f4'}", "its header is damaged: a key is no string");
  refuse("{'descr': '<f\\x34'}", "its header is damaged: 'descr' is no string");
}
END_TEST

/* Every beginning of a good header is refused, and so is every header with one byte changed to another kind. */
START_TEST(cut_and_changed_headers) {
  static const char good[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 3), }";
  char text[sizeof good];
  for (size_t length = 0; length < sizeof good - 1; length++) {
    memcpy(text, good, length);
    text[length] = '\0';
    ck_assert_msg(!parse(text), "%s", text);
  }
  for (size_t at = 0; at < sizeof good - 1; at++) {
    memcpy(text, good, sizeof good);
    text[at] = '#';
    bool is_blank = good[at] == ' ';
    ck_assert_msg(!parse(text), "%s (%d)", text, is_blank);
  }
}
END_TEST

static bool prefix(const char *bytes, size_t length, size_t *begin, size_t *text_length) {
  return gr_npy_parse_prefix((const unsigned char *)bytes, length, begin, text_length, &problem);
}

START_TEST(prefixes) {
  size_t begin, length;
  ck_assert(prefix("\x93NUMPY\x01\x00\x76\x00{'", 12, &begin, &length));
  ck_assert_uint_eq(begin, 10);
  ck_assert_uint_eq(length, 118);
  ck_assert(prefix("\x93NUMPY\x02\x00\x00\x01\x00\x00", 12, &begin, &length));
  ck_assert_uint_eq(begin, 12);
  ck_assert_uint_eq(length, 256);
  ck_assert(prefix("\x93NUMPY\x03\x00\x00\x01\x00\x00", 12, &begin, &length));
  ck_assert(!prefix("\x93NUMPY\x04\x00\x00\x01\x00\x00", 12, &begin, &length));
  ck_assert_str_eq(problem.text, "version 4.0 of the .npy format is not known; 1.0, 2.0 and 3.0 are");
  ck_assert(!prefix("\x93NUMPY\x01\x01\x00\x01\x00\x00", 12, &begin, &length));
  ck_assert(!prefix("\x93NUMPX\x01\x00\x00\x01\x00\x00", 12, &begin, &length));
  ck_assert_str_eq(problem.text, "it does not start as a .npy file does");
  ck_assert(!prefix("\x93NUMPY\x01\x00\x76", 9, &begin, &length));
  ck_assert(!prefix("\x93NUMPY\x02\x00\x76\x00\x00", 11, &begin, &length));
  ck_assert_str_eq(problem.text, "it ends inside the header");
  ck_assert(!prefix("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, &begin, &length));
  ck_assert_str_eq(problem.text, "its header of 4294967295 bytes is too long");
}
END_TEST

/* What is written can be read, for every type and rank, and the data begin at a multiple of 64. */
START_TEST(written_headers) {
  for (uint32_t type = 0; type < GR_TYPE_COUNT; type++) {
    for (uint32_t rank = 0; rank <= GR_RANK_MAX; rank++) {
      uint64_t shape[GR_RANK_MAX];
      for (uint32_t i = 0; i < rank; i++) shape[i] = rank == GR_RANK_MAX ? UINT64_MAX : i * 7;
      struct gr_buffer buffer = {.type = (enum gr_type)type, .rank = rank, .shape = shape};
      unsigned char bytes[GR_NPY_WRITTEN_BYTES_MAX];
      size_t size = gr_npy_write_header(&buffer, bytes), begin, length;
      ck_assert_uint_eq(size % 64, 0);
      ck_assert(gr_npy_parse_prefix(bytes, 12, &begin, &length, &problem));
      ck_assert_uint_eq(begin + length, size);
      ck_assert_uint_eq(bytes[size - 1], '\n');
      ck_assert(gr_npy_parse_text((struct gr_view){(char *)bytes + begin, length}, &header, &problem));
      ck_assert_int_eq(header.type, (enum gr_type)type);
      ck_assert_uint_eq(header.rank, rank);
      ck_assert_int_eq(memcmp(header.shape, shape, rank * sizeof *shape), 0);
      ck_assert(!header.is_column_major);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("npy");
  TCase *cases = tcase_create("npy");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, headers_that_numpy_writes);
  tcase_add_test(cases, all_types);
  tcase_add_test(cases, other_spellings);
  tcase_add_test(cases, column_major_without_a_difference);
  tcase_add_test(cases, wrong_types);
  tcase_add_test(cases, damaged_headers);
  tcase_add_test(cases, cut_and_changed_headers);
  tcase_add_test(cases, prefixes);
  tcase_add_test(cases, written_headers);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
