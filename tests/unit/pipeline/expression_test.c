/* Expressions, through params and shapes: values against a simple evaluator, and every message. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

#define TAIL "nodes: [{id: b, barrier: {}}]\n"
#define AS_PARAM "graphrun: 1\nparams: {n: 16, a: 2.5, big: 9223372036854775807, v: \"@\"}\n" TAIL
#define AS_EXTENT                                                              \
  "graphrun: 1\nparams: {n: 16, a: 2.5, big: 9223372036854775807, count: 3}\n" \
  "buffers:\n  x: {type: u8, shape: \"@\"}\nnodes: [{id: b, fill: {buffer: x, value: 0}}]\n"
#define INTEGERS "; allowed are integers (42, 0x2A, 4Ki), params, + - * / %, parentheses, min, max and ceil_div"
#define NUMBERS                                                                                                      \
  "; allowed are integers (42, 0x2A, 4Ki), floats (1.5, 1e3, .inf, .nan), params, + - * / %, parentheses, min, max " \
  "and ceil_div"

/* ---- integers ---- */

struct integer_row {
  const char *text;
  uint64_t extent;
};

START_TEST(integers_follow_the_rules) {
  static const struct integer_row rows[] = {
      {"16", 16},
      {"n", 16},
      {" n ", 16},
      {"2*n+1", 33},
      {"1 + n*2", 33},
      {"(1+n)*2", 34},
      {"n-3-2", 11},
      {"n/3", 5},
      {"-n/3 + 6", 1}, /* truncates towards zero */
      {"-7%3 + 5", 4}, /* takes the dividend's sign */
      {"7%-3", 1},
      {"100/7/2", 7},
      {"2 - -3", 5},
      {"---3 + 4", 1},
      {"-(2-5)", 3},
      {"min(n, 4)", 4},
      {"max(n,4)", 16},
      {"ceil_div(n, 3)", 6},
      {"ceil_div(15, 3)", 5},
      {"ceil_div(-7, 2) + 4", 1},
      {"ceil_div(-7, -2)", 4},
      {"min ( max(1,2) , 3*(1+1) )", 2},
      {"min(-1, 1) * -1", 1},
      {"4Ki/0x10", 256},
      {"1Gi % 1000", 824},
      {"((((((((1))))))))", 1},
      {"0x1e-3", 27}, /* hexadecimal has no exponent */
      {"-9223372036854775808 + big + 1", 0},
      {"big - 9223372036854775806", 1},
      {"-9223372036854775808 % -1", 0},
      {"n*(2+3)-4*(n-1)", 20},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "graphrun: 1\nparams: {n: 16, big: 9223372036854775807}\nbuffers:\n  x: {type: u8, shape: \"%s\"}\n"
             "nodes: [{id: b, fill: {buffer: x, value: 0}}]\n",
             rows[i].text);
    struct fixture fixture;
    fixture_read(&fixture, text);
    ck_assert_msg(fixture.status == GR_OK, "%s: %s", rows[i].text, fixture.said.bytes);
    ck_assert_msg(fixture.pipeline->buffers[0].element_count == rows[i].extent, "%s is %" PRIu64, rows[i].text,
                  fixture.pipeline->buffers[0].element_count);
    fixture_release(&fixture);
  }
}
END_TEST

struct problem_row {
  const char *text;
  const char *problem;
};

static void expect_problems(const char *file, const char *place, const char *noun, const char *allowed,
                            const struct problem_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char said[1024];
    snprintf(said, sizeof said, "%s \"%s\" is no %s: %s%s\n", place, rows[i].text, noun, rows[i].problem, allowed);
    fixture_expect(file, rows[i].text, said);
  }
}

START_TEST(bad_integers_are_refused_with_what_is_allowed) {
  static const struct problem_row rows[] = {
      {"", "it is empty"},
      {"  ", "an operand is missing at the end"},
      {"02000", "a number has no leading zero"},
      {"1_024", "digits are not grouped"},
      {"4K", "the suffixes are Ki, Mi and Gi"},
      {"4K + 1", "\"4K\" is no number (the suffixes are Ki, Mi and Gi)"},
      {"0x", "0x needs a hexadecimal digit"},
      {"12ab", "it goes on with something that belongs to no number"},
      {"1:30", "\":\" has no place here"},
      {"1,024", "a comma stands outside of min, max and ceil_div"},
      {"yes", "there is no param \"yes\""},
      {"True", "there is no param \"True\""},
      {"~", "\"~\" has no place here"},
      {"1e3", "\"1e3\" is a float, and an integer is expected"},
      {"1.0", "\"1.0\" is a float, and an integer is expected"},
      {".inf", "\".inf\" is a float, and an integer is expected"},
      {"a", "param \"a\" is a float, and an integer is expected"},
      {"n*a", "param \"a\" is a float, and an integer is expected"},
      {"9223372036854775808", "it overflows signed 64-bit integers"},
      {"99999999999999999999999", "it does not fit 64 bits"},
      {"big+1", "it overflows signed 64-bit integers"},
      {"big*big", "it overflows signed 64-bit integers"},
      {"-big-2", "it overflows signed 64-bit integers"},
      {"-(-big-1)", "it overflows signed 64-bit integers"},
      {"(-big-1)/-1", "it overflows signed 64-bit integers"},
      {"ceil_div(-big-1, -1)", "it overflows signed 64-bit integers"},
      {"9223372036854775808 - 1", "it overflows signed 64-bit integers"},
      {"n/0", "it divides by zero"},
      {"n%(n-16)", "it divides by zero"},
      {"ceil_div(n, 0)", "it divides by zero"},
      {"n +", "an operand is missing at the end"},
      {"+n", "an operand is missing before \"+\""},
      {"n + * 2", "an operand is missing before \"*\""},
      {"()", "an operand is missing before \")\""},
      {"min()", "an operand is missing before \")\""},
      {"min(,1)", "an operand is missing before \",\""},
      {"(n", "a \"(\" is not closed"},
      {"min(n, 1", "a \"(\" is not closed"},
      {"n)", "a \")\" has no \"(\""},
      {"min(n)", "min takes two operands"},
      {"max(1,2,3)", "max takes two operands"},
      {"min", "min needs two operands in parentheses"},
      {"ceil_div + 1", "ceil_div needs two operands in parentheses"},
      {"abs(n)", "\"abs\" is no function; there are min, max and ceil_div"},
      {"(1,2)", "a comma stands outside of min, max and ceil_div"},
      {"n n", "an operator is missing before \"n\""},
      {"2(3)", "an operator is missing before \"(\""},
      {"2 3", "an operator is missing before \"3\""},
      {"n ** 2", "an operand is missing before \"*\""},
      {"n ^ 2", "\"^\" has no place here"},
      {"n // 2", "an operand is missing before \"/\""},
      {"\xD9\xA3", "\"\xD9\xA3\" has no place here"},
      {"x[0]", "there is no param \"x\""},
      {"n[0]", "\"[\" has no place here"},
      {"$n", "\"$\" has no place here"},
  };
  expect_problems(AS_EXTENT, "4:24 error: buffer \"x\": shape:", "integer", INTEGERS, rows,
                  sizeof rows / sizeof rows[0]);
}
END_TEST

START_TEST(a_misspelt_param_is_suggested) {
  fixture_expect(AS_EXTENT, "cuont",
                 "4:24 error: buffer \"x\": shape: \"cuont\" is no integer: there is no param \"cuont\"" INTEGERS
                 "; did you mean \"count\"?\n");
}
END_TEST

START_TEST(a_negative_size_is_refused_with_its_value) {
  fixture_expect(AS_EXTENT, "-1", "4:24 error: buffer \"x\": shape: -1 is too small; the least is 0\n");
  fixture_expect(AS_EXTENT, "n-17",
                 "4:24 error: buffer \"x\": shape: \"n-17\" is -1, which is too small; the least is 0\n");
}
END_TEST

START_TEST(nesting_has_a_bound) {
  char text[1000];
  memset(text, '(', 60);
  text[60] = '1';
  memset(text + 61, ')', 60);
  text[121] = '\0';
  fixture_expect(AS_EXTENT, text, "");
  memset(text, '(', 400);
  text[400] = '1';
  memset(text + 401, ')', 400);
  text[801] = '\0';
  struct fixture fixture;
  char whole[2000];
  snprintf(whole, sizeof whole, "graphrun: 1\nparams: {v: \"%s\"}\n" TAIL, text);
  fixture_read(&fixture, whole);
  ck_assert_msg(strstr(fixture.said.bytes, "is no number: it nests deeper than 64;") != NULL, "%s", fixture.said.bytes);
  fixture_release(&fixture);
  /* A long one that does not nest is fine. */
  char *sum = whole + snprintf(whole, sizeof whole, "graphrun: 1\nparams: {v: \"0");
  for (int i = 0; i < 300; i++) sum += sprintf(sum, "+2*3");
  sprintf(sum, "\"}\n" TAIL);
  fixture_read(&fixture, whole);
  ck_assert_int_eq(fixture.status, GR_OK);
  ck_assert_uint_eq(fixture.pipeline->params[0].value.magnitude, 1800);
  fixture_release(&fixture);
}
END_TEST

/* ---- floats ---- */

struct real_row {
  const char *text;
  double value;
};

START_TEST(floats_take_expressions_in_f64) {
  const struct real_row rows[] = {
      {"a", 2.5},
      {"1/2.0", 0.5},
      {"1.0/3", 1.0 / 3},
      {"a*n", 40},
      {"-a", -2.5},
      {"1e3+1", 1001},
      {"1e-3*2", 0.002},
      {"2.5e+2-1", 249},
      {"7.5%2", 1.5},
      {"-7.5%2", -1.5},
      {"ceil_div(7.5, 2)", 4},
      {"min(a, 1)", 1},
      {"max(a, .inf)", (double)INFINITY},
      {".inf", (double)INFINITY},
      {"-.inf", -(double)INFINITY},
      {"- .inf", -(double)INFINITY},
      {"1.0*18446744073709551615", 18446744073709551616.0},
      {"1.5*100000000000000000000000", 1.5 * 1e23},
      {"a + 4Ki", 4098.5},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[400];
    snprintf(text, sizeof text, "graphrun: 1\nparams: {n: 16, a: 2.5, v: \"%s\"}\n" TAIL, rows[i].text);
    struct fixture fixture;
    fixture_read(&fixture, text);
    ck_assert_msg(fixture.status == GR_OK, "%s: %s", rows[i].text, fixture.said.bytes);
    struct gr_number value = fixture.pipeline->params[2].value;
    ck_assert_msg(value.is_real && memcmp(&value.real, &rows[i].value, sizeof value.real) == 0, "%s is %a",
                  rows[i].text, value.real);
    fixture_release(&fixture);
  }
}
END_TEST

START_TEST(bad_floats_are_refused_with_what_is_allowed) {
  static const struct problem_row rows[] = {
      {"a/0", "it divides by zero"},
      {"a%0.0", "it divides by zero"},
      {"1e308*a*10", "it overflows f64"},
      {"1.5.5", "it goes on with something that belongs to no number"},
      {"1.", "a point needs a digit on both sides"},
      {".5", "a number starts with a digit"},
      {"1e", "an exponent needs a digit"},
      {"1e400", "it is too large for f64"},
      {"a a", "an operator is missing before \"a\""},
      {"1,5", "a comma stands outside of min, max and ceil_div"},
      {"w", "there is no param \"w\""},
      {"v", "\"v\" stands further down; a param's value takes only those above it"},
      {"18446744073709551616", "it does not fit 64 bits"},
  };
  expect_problems(AS_PARAM, "2:54 error: param \"v\":", "number", NUMBERS, rows, sizeof rows / sizeof rows[0]);
}
END_TEST

START_TEST(an_integer_param_fits_signed_64_bits) {
  fixture_expect(AS_PARAM, "18446744073709551615",
                 "2:54 error: param \"v\": 18446744073709551615 does not fit signed 64 bits\n");
}
END_TEST

START_TEST(what_depends_on_a_wrong_param_is_not_wrong_as_well) {
  fixture_expect(
      "graphrun: 1\nparams: {p: @, q: p*2, r: q/p - 1}\n"
      "buffers:\n  x: {type: f32, shape: [p, q, \"min(r, 1/p)\"], init: {fill: q}}\n"
      "nodes: [{id: b, kernel: add, args: {x: \"x[0:p, 0:q, :]\", y: x, out: x}}, {id: c, kernel: busy, args: {ns: "
      "q}}]\n",
      "4K", "2:13 error: param \"p\": \"4K\" is no number: the suffixes are Ki, Mi and Gi" NUMBERS "\n");
}
END_TEST

/* ---- properties ---- */

__extension__ typedef __int128 wide;

struct maker {
  uint64_t state;
  char text[4000];
  size_t length;
  bool is_real;
  bool is_wrong; /* an overflow, or a division by zero */
};

static uint64_t below(struct maker *maker, uint64_t bound) { return fixture_random(&maker->state) % bound; }

__attribute__((format(printf, 2, 3))) static void put(struct maker *maker, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  maker->length +=
      (size_t)vsnprintf(maker->text + maker->length, sizeof maker->text - maker->length, format, arguments);
  va_end(arguments);
}

struct value {
  wide integer;
  double real;
};

static struct value make_literal(struct maker *maker) {
  uint64_t magnitude = fixture_random(&maker->state) >> (1 + below(maker, 63));
  if (maker->is_real && below(maker, 2) == 0) {
    double real = (double)(magnitude % 100000) / 64;
    put(maker, "%.6f", real);
    return (struct value){.real = real};
  }
  put(maker, below(maker, 4) == 0 ? "0x%" PRIx64 : "%" PRIu64, magnitude);
  return (struct value){.integer = (wide)magnitude, .real = (double)magnitude};
}

static struct value combine(struct maker *maker, char operation, struct value a, struct value b) {
  struct value result = {.integer = 0, .real = 0};
  bool divides = operation == '/' || operation == '%' || operation == 'c';
  if (divides && (maker->is_real ? !(b.real < 0) && !(b.real > 0) : b.integer == 0)) {
    maker->is_wrong = true;
    return result;
  }
  wide quotient = divides && b.integer != 0 ? a.integer / b.integer : 0;
  wide rest = divides && b.integer != 0 ? a.integer % b.integer : 0;
  switch (operation) {
    case '+':
      result = (struct value){a.integer + b.integer, a.real + b.real};
      break;
    case '-':
      result = (struct value){a.integer - b.integer, a.real - b.real};
      break;
    case '*':
      result = (struct value){maker->is_real ? 0 : a.integer * b.integer, a.real * b.real};
      break;
    case '/':
      result = (struct value){quotient, a.real / b.real};
      break;
    case '%':
      result = (struct value){rest, fmod(a.real, b.real)};
      break;
    case 'c':
      result = (struct value){quotient + (rest != 0 && (rest < 0) == (b.integer < 0)), ceil(a.real / b.real)};
      break;
    case 'm':
      result = (struct value){a.integer < b.integer ? a.integer : b.integer, a.real < b.real ? a.real : b.real};
      break;
    default:
      result = (struct value){a.integer > b.integer ? a.integer : b.integer, a.real > b.real ? a.real : b.real};
  }
  if (maker->is_real ? !isfinite(result.real) : result.integer > INT64_MAX || result.integer < INT64_MIN) {
    maker->is_wrong = true;
  }
  return maker->is_wrong ? (struct value){.integer = 0, .real = 0} : result;
}

/* Writes an expression of at least that precedence (0: sum, 1: product, 2: operand) and gives its value. */
static struct value make(struct maker *maker, unsigned depth, unsigned precedence) {
  uint64_t shape = depth == 0 ? 0 : below(maker, 10);
  if (below(maker, 4) == 0) put(maker, " ");
  if (shape < 2) return make_literal(maker);
  if (shape == 2) {
    put(maker, "-");
    struct value value = make(maker, depth - 1, 2);
    return (struct value){-value.integer, -value.real};
  }
  if (shape == 3) {
    static const char *const names[] = {"min", "max", "ceil_div"};
    uint64_t function = below(maker, 3);
    put(maker, "%s(", names[function]);
    struct value a = make(maker, depth - 1, 0);
    put(maker, ",");
    struct value b = make(maker, depth - 1, 0);
    put(maker, ")");
    return combine(maker, "mxc"[function], a, b);
  }
  char operation = "+-*/%"[below(maker, 5)];
  unsigned own = operation == '+' || operation == '-' ? 0 : 1;
  bool needs_parentheses = own < precedence || below(maker, 5) == 0;
  if (needs_parentheses) put(maker, "(");
  struct value a = make(maker, depth - 1, own);
  put(maker, "%c", operation);
  struct value b = make(maker, depth - 1, own + 1);
  if (needs_parentheses) put(maker, ")");
  return combine(maker, operation, a, b);
}

static void compare(struct maker *maker, struct value value) {
  char *whole = malloc(maker->length + 200);
  ck_assert_ptr_nonnull(whole);
  sprintf(whole, "graphrun: 1\nparams: {v: \"%s\"}\n" TAIL, maker->text);
  struct fixture fixture;
  fixture_read(&fixture, whole);
  ck_assert_msg((fixture.status == GR_OK) == !maker->is_wrong, "%s: %s", maker->text, fixture.said.bytes);
  if (fixture.status == GR_OK) {
    struct gr_number number = fixture.pipeline->params[0].value;
    ck_assert_int_eq(number.is_real, maker->is_real);
    if (maker->is_real) {
      ck_assert_msg(number.real - value.real <= 0 && number.real - value.real >= 0, "%s", maker->text);
    } else {
      wide magnitude = value.integer < 0 ? -value.integer : value.integer;
      ck_assert_msg(number.magnitude == (uint64_t)magnitude && number.is_negative == (value.integer < 0), "%s",
                    maker->text);
    }
  }
  fixture_release(&fixture);
  free(whole);
}

static void compare_many(bool is_real, int count) {
  static struct maker maker;
  maker.state = is_real ? 11 : 12;
  for (int i = 0; i < count; i++) {
    maker.length = 0;
    maker.is_real = is_real;
    maker.is_wrong = false;
    if (is_real) put(&maker, "0.0+");
    struct value value = make(&maker, (unsigned)below(&maker, 6), is_real ? 1 : 0);
    if (is_real) value.real = 0.0 + value.real;
    compare(&maker, value);
  }
}

START_TEST(random_integer_expressions) { compare_many(false, 20000); }
END_TEST
START_TEST(random_real_expressions) { compare_many(true, 20000); }
END_TEST

/* Any bytes at all: no crash, and something is said or a value comes out. */
START_TEST(random_bytes_end_in_a_value_or_a_message) {
  static const char alphabet[] = "0123456789abcdefxKMGi.+-*/%(),nmaiv_ \t[]:{}~$e";
  uint64_t state = 13;
  for (int i = 0; i < 20000; i++) {
    char text[64];
    size_t length = fixture_random(&state) % 24;
    for (size_t k = 0; k < length; k++) text[k] = alphabet[fixture_random(&state) % (sizeof alphabet - 1)];
    text[length] = '\0';
    char whole[300];
    snprintf(whole, sizeof whole, "graphrun: 1\nparams: {n: 16, v: '%s'}\n" TAIL, text);
    struct fixture fixture;
    fixture_read(&fixture, whole);
    fixture_release(&fixture);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("expression");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, integers_follow_the_rules);
  tcase_add_test(rules, bad_integers_are_refused_with_what_is_allowed);
  tcase_add_test(rules, a_misspelt_param_is_suggested);
  tcase_add_test(rules, a_negative_size_is_refused_with_its_value);
  tcase_add_test(rules, nesting_has_a_bound);
  tcase_add_test(rules, floats_take_expressions_in_f64);
  tcase_add_test(rules, bad_floats_are_refused_with_what_is_allowed);
  tcase_add_test(rules, an_integer_param_fits_signed_64_bits);
  tcase_add_test(rules, what_depends_on_a_wrong_param_is_not_wrong_as_well);
  suite_add_tcase(suite, rules);
  TCase *properties = tcase_create("properties");
  tcase_set_timeout(properties, 280);
  tcase_add_test(properties, random_integer_expressions);
  tcase_add_test(properties, random_real_expressions);
  tcase_add_test(properties, random_bytes_end_in_a_value_or_a_message);
  suite_add_tcase(suite, properties);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
