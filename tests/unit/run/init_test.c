#include <math.h>

#include "engine/run/run_internal.h"
#include "tests/unit/run/support.h"

static uint64_t bits_at(const void *bytes, enum gr_type type, uint64_t index) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)bytes + index * gr_type_size(type), gr_type_size(type));
  return bits;
}

/* One element, made on its own. */
static uint64_t element(const struct gr_buffer *buffer, uint64_t index) {
  uint64_t bits = 0;
  size_t size = gr_type_size(buffer->type);
  gr_init_bytes(buffer, index * size, size, &bits);
  return bits;
}

/* However a buffer is cut into pieces, it gets the same bytes. */
static void expect_same_in_pieces(const struct gr_buffer *buffer) {
  static unsigned char whole[4096], pieces[4096];
  size_t size = gr_type_size(buffer->type);
  ck_assert_uint_le(buffer->size_bytes, sizeof whole);
  gr_init_bytes(buffer, 0, buffer->size_bytes, whole);
  for (uint64_t step = 1; step <= buffer->element_count; step += 1 + step / 3) {
    memset(pieces, 0xee, sizeof pieces);
    for (uint64_t done = 0; done < buffer->element_count; done += step) {
      uint64_t count = buffer->element_count - done < step ? buffer->element_count - done : step;
      gr_init_bytes(buffer, done * size, count * size, pieces + done * size);
    }
    ck_assert_int_eq(memcmp(whole, pieces, buffer->size_bytes), 0);
    ck_assert_uint_eq(pieces[buffer->size_bytes], 0xee);
  }
}

START_TEST(zeros_fill_and_values) {
  unsigned char bytes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 9};
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_U16, 4);
  give_init(buffer, GR_INIT_ZEROS);
  gr_init_bytes(buffer, 0, 8, bytes);
  ck_assert_int_eq(memcmp(bytes, "\0\0\0\0\0\0\0\0\x09", 9), 0);
  give_init(buffer, GR_INIT_FILL)->value.bits = 0x1234;
  gr_init_bytes(buffer, 0, 8, bytes);
  ck_assert_int_eq(memcmp(bytes, "\x34\x12\x34\x12\x34\x12\x34\x12\x09", 9), 0);
  give_init(buffer, GR_INIT_VALUES)->values = (const unsigned char *)"abcdefgh";
  gr_init_bytes(buffer, 2, 4, bytes);
  ck_assert_int_eq(memcmp(bytes, "cdef\x34\x12\x34\x12\x09", 9), 0);
}
END_TEST

START_TEST(fill_of_every_size) {
  for (uint32_t type = 0; type < GR_TYPE_COUNT; type++) {
    for (uint64_t count = 0; count < 20; count++) {
      unsigned char bytes[256];
      world.pipeline.buffer_count = 0;
      struct gr_buffer *buffer = add_vector("x", (enum gr_type)type, count);
      give_init(buffer, GR_INIT_FILL)->value.bits = 0x0807060504030201;
      memset(bytes, 0xee, sizeof bytes);
      gr_init_bytes(buffer, 0, buffer->size_bytes, bytes);
      for (uint64_t i = 0; i < count; i++) {
        ck_assert_int_eq(
            memcmp(bytes + i * gr_type_size(buffer->type), "\1\2\3\4\5\6\7\x08", gr_type_size(buffer->type)), 0);
      }
      ck_assert_uint_eq(bytes[buffer->size_bytes], 0xee);
    }
  }
}
END_TEST

/* The published answers of Philox4x32-10 for counter and key 0; with the whole range of u64 an element is its bits. */
START_TEST(random_is_philox) {
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_U64, UINT64_C(1) << 40);
  struct gr_init *init = give_init(buffer, GR_INIT_RANDOM);
  init->high.magnitude = UINT64_MAX;
  ck_assert_uint_eq(element(buffer, 0), 0xe169c58d6627e8d5);
  ck_assert_uint_eq(element(buffer, 1), 0x9b00dbd8bc57ac4c);
  init->seed = 0x0123456789abcdef;
  ck_assert_uint_eq(element(buffer, 0), 0xc58cb04bb850222e);
  ck_assert_uint_eq(element(buffer, 3), 0xb299da3f65401425);
  ck_assert_uint_eq(element(buffer, (UINT64_C(1) << 33) + 1), 0x5d27ddd99d46a012);
}
END_TEST

START_TEST(random_reals) {
  static const struct {
    uint64_t index;
    double value;
    uint64_t single;
  } expected[] = {
      {0, 0x1.50a610e328f06p+0, 1067995912},    {1, 0x1.be3bffacf7db8p-2, 1054809600},
      {2, -0x1.28baedded43a0p-5, 3172228471},   {3, 0x1.17cd8ebe2fc04p+0, 1066133191},
      {1000, 0x1.8deeab2cf9198p+0, 1070004054},
  };
  for (uint32_t i = 0; i < 2; i++) {
    struct gr_buffer *buffer = add_vector("x", i == 0 ? GR_TYPE_F64 : GR_TYPE_F32, 2000);
    struct gr_init *init = give_init(buffer, GR_INIT_RANDOM);
    init->seed = 0x0123456789abcdef;
    init->low = integer_number(-1);
    init->high = real_number(2.0);
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
      uint64_t bits = element(buffer, expected[k].index), wanted = expected[k].single;
      if (i == 0) memcpy(&wanted, &expected[k].value, sizeof wanted);
      ck_assert_uint_eq(bits, wanted);
    }
  }
}
END_TEST

START_TEST(random_integers) {
  static const int64_t expected[] = {3, 0, -2, 2};
  static const enum gr_type types[] = {GR_TYPE_I8, GR_TYPE_I16, GR_TYPE_I32, GR_TYPE_I64};
  for (uint32_t t = 0; t < 4; t++) {
    struct gr_buffer *buffer = add_vector("x", types[t], 2000);
    struct gr_init *init = give_init(buffer, GR_INIT_RANDOM);
    uint64_t seen = 0;
    init->seed = 0x0123456789abcdef;
    init->low = integer_number(-5);
    init->high = integer_number(5);
    for (uint64_t i = 0; i < 2000; i++) {
      uint64_t bits = element(buffer, i);
      uint32_t unused = 64 - 8 * (uint32_t)gr_type_size(types[t]);
      int64_t value = (int64_t)(bits << unused) >> unused;
      if (i < 4) ck_assert_int_eq(value, expected[i]);
      ck_assert_int_ge(value, -5);
      ck_assert_int_le(value, 5);
      seen |= UINT64_C(1) << (value + 5);
    }
    ck_assert_uint_eq(seen, 0x7ff); /* both ends occur */
  }
}
END_TEST

/* Full ranges, and ranges of one value. */
START_TEST(random_at_the_limits) {
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_I64, 1000);
  struct gr_init *init = give_init(buffer, GR_INIT_RANDOM);
  bool has_negative = false, has_positive = false;
  init->low = (struct gr_number){.is_negative = true, .magnitude = UINT64_C(1) << 63};
  init->high = integer_number(INT64_MAX);
  for (uint64_t i = 0; i < 100; i++) {
    int64_t value = (int64_t)element(buffer, i);
    has_negative |= value < 0;
    has_positive |= value > 0;
  }
  ck_assert(has_negative && has_positive);
  init->low = init->high = integer_number(-7);
  for (uint64_t i = 0; i < 100; i++) ck_assert_int_eq((int64_t)element(buffer, i), -7);
  buffer = add_vector("y", GR_TYPE_F32, 1000);
  init = give_init(buffer, GR_INIT_RANDOM);
  init->low = init->high = real_number(0.1);
  float tenth = 0.1f;
  for (uint64_t i = 0; i < 100; i++) ck_assert_uint_eq(element(buffer, i), bits_at(&tenth, GR_TYPE_F32, 0));
}
END_TEST

/* The mean of many is the middle, in every type. */
START_TEST(random_is_even) {
  for (uint32_t type = 0; type < GR_TYPE_COUNT; type++) {
    world.pipeline.buffer_count = 0;
    struct gr_buffer *buffer = add_vector("x", (enum gr_type)type, 20000);
    struct gr_init *init = give_init(buffer, GR_INIT_RANDOM);
    double sum = 0;
    init->seed = type;
    init->low = integer_number(0);
    init->high = integer_number(100);
    for (uint64_t i = 0; i < 20000; i++) {
      uint64_t bits = element(buffer, i);
      sum += gr_element_to_double(buffer->type, &bits);
    }
    ck_assert_double_eq_tol(sum / 20000, 50.0, 1.0);
  }
}
END_TEST

START_TEST(iota_of_integers) {
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_U64, 4);
  struct gr_init *init = give_init(buffer, GR_INIT_IOTA);
  init->start.magnitude = UINT64_MAX;
  init->step = integer_number(-2);
  for (uint64_t i = 0; i < 4; i++) ck_assert_uint_eq(element(buffer, i), UINT64_MAX - 2 * i);
  buffer = add_vector("y", GR_TYPE_I8, 4);
  init = give_init(buffer, GR_INIT_IOTA);
  init->start = integer_number(-3);
  init->step = integer_number(2);
  uint64_t expected[] = {0xfd, 0xff, 0x01, 0x03};
  for (uint64_t i = 0; i < 4; i++) ck_assert_uint_eq(element(buffer, i), expected[i]);
}
END_TEST

/* In f64, and rounded once: an element far from the start is no sum of many steps. */
START_TEST(iota_of_reals) {
  struct gr_buffer *buffer = add_vector("x", GR_TYPE_F32, UINT64_C(1) << 30);
  struct gr_init *init = give_init(buffer, GR_INIT_IOTA);
  init->start = real_number(1.0);
  init->step = real_number(0.1);
  uint64_t indexes[] = {0, 1, 12345, 987654321};
  for (uint32_t i = 0; i < 4; i++) {
    float expected = (float)(1.0 + (double)indexes[i] * 0.1);
    ck_assert_uint_eq(element(buffer, indexes[i]), bits_at(&expected, GR_TYPE_F32, 0));
  }
  buffer = add_vector("y", GR_TYPE_F16, 100);
  init = give_init(buffer, GR_INIT_IOTA);
  init->start = integer_number(1);
  init->step = integer_number(2);
  ck_assert_uint_eq(element(buffer, 0), 0x3c00); /* 1 */
  ck_assert_uint_eq(element(buffer, 2), 0x4500); /* 5 */
  buffer = add_vector("z", GR_TYPE_BF16, 100);
  give_init(buffer, GR_INIT_IOTA)->start = real_number(-2.5);
  ck_assert_uint_eq(element(buffer, 9), 0xc020);
}
END_TEST

START_TEST(pieces_make_the_same_bytes) {
  static const unsigned char values[4096] = {3, 1, 4, 1, 5, 9, 2, 6};
  for (uint32_t type = 0; type < GR_TYPE_COUNT; type++) {
    for (uint32_t kind = GR_INIT_ZEROS; kind <= GR_INIT_VALUES; kind++) {
      world.pipeline.buffer_count = 0;
      struct gr_buffer *buffer = add_vector("x", (enum gr_type)type, 101);
      struct gr_init *init = give_init(buffer, (enum gr_init_kind)kind);
      init->value.bits = 0x3d;
      init->start = integer_number(3);
      init->step = integer_number(1);
      init->seed = 42;
      init->low = integer_number(0);
      init->high = integer_number(99);
      init->values = values;
      expect_same_in_pieces(buffer);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("init");
  TCase *cases = tcase_create("init");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, zeros_fill_and_values);
  tcase_add_test(cases, fill_of_every_size);
  tcase_add_test(cases, random_is_philox);
  tcase_add_test(cases, random_reals);
  tcase_add_test(cases, random_integers);
  tcase_add_test(cases, random_at_the_limits);
  tcase_add_test(cases, random_is_even);
  tcase_add_test(cases, iota_of_integers);
  tcase_add_test(cases, iota_of_reals);
  tcase_add_test(cases, pieces_make_the_same_bytes);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
