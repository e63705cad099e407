#include "tests/conformance/support.h"

#include <check.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const enum gr_type real_types[2] = {GR_TYPE_F32, GR_TYPE_F64};

uint64_t random_bits(struct randomness *randomness) {
  uint64_t z = randomness->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

double random_between(struct randomness *randomness, double low, double high) {
  return low + (high - low) * ((double)(random_bits(randomness) >> 11) * 0x1p-53);
}

void *allocate(uint64_t bytes) {
  void *data = malloc(bytes > 0 ? bytes : 1);
  ck_assert_msg(data != NULL, "no memory for a test of %" PRIu64 " bytes", bytes);
  return data;
}

double real_at(enum gr_type type, const void *data, uint64_t index) {
  return type == GR_TYPE_F64 ? ((const double *)data)[index] : (double)((const float *)data)[index];
}

void set_real(enum gr_type type, void *data, uint64_t index, double value) {
  if (type == GR_TYPE_F64) ((double *)data)[index] = value;
  else ((float *)data)[index] = (float)value;
}

double rounded_to(enum gr_type type, double value) { return type == GR_TYPE_F64 ? value : (double)(float)value; }

double epsilon_of(enum gr_type type) { return type == GR_TYPE_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2; }

void fill_random(struct randomness *randomness, enum gr_type type, void *data, uint64_t count, double low,
                 double high) {
  for (uint64_t i = 0; i < count; i++) set_real(type, data, i, random_between(randomness, low, high));
}

void fill_garbage(enum gr_type type, void *data, uint64_t count) { memset(data, 0xa5, count * gr_type_size(type)); }

void strew_specials(struct randomness *randomness, enum gr_type type, void *data, uint64_t count) {
  const double tiny = type == GR_TYPE_F64 ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN;
  const double huge = type == GR_TYPE_F64 ? DBL_MAX : (double)FLT_MAX;
  const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0, tiny, -tiny, huge, -huge,
                             1.0};
  enum { SPECIAL_COUNT = sizeof specials / sizeof specials[0] };
  for (uint64_t i = 0; i < count; i++)
    if (random_bits(randomness) % 4 == 0) set_real(type, data, i, specials[random_bits(randomness) % SPECIAL_COUNT]);
}

static struct call_argument *add_argument(struct call *call, enum gr_parameter_kind kind) {
  ck_assert_uint_lt(call->argument_count, GR_KERNEL_ARGUMENT_MAX);
  struct call_argument *argument = &call->arguments[call->argument_count++];
  *argument = (struct call_argument){.kind = kind};
  return argument;
}

uint32_t add_real(struct call *call, double value) {
  add_argument(call, GR_PARAMETER_REAL)->real = value;
  return call->argument_count - 1;
}

uint32_t add_integer(struct call *call, int64_t value) {
  add_argument(call, GR_PARAMETER_INTEGER)->integer = value;
  return call->argument_count - 1;
}

uint32_t add_vector(struct call *call, enum gr_type type, void *data, uint64_t count) {
  struct call_argument *argument = add_argument(call, GR_PARAMETER_BUFFER);
  argument->type = type;
  argument->rank = 1;
  argument->shape[0] = count;
  argument->data = data;
  return call->argument_count - 1;
}

uint32_t add_matrix(struct call *call, enum gr_type type, void *data, uint64_t rows, uint64_t columns) {
  uint32_t index = add_vector(call, type, data, rows);
  call->arguments[index].rank = 2;
  call->arguments[index].shape[1] = columns;
  return index;
}

void run_call(const struct target *target, const struct call *call) { target->run(target->context, call, 1); }

bool is_close(double got, double want, double tolerance) {
  if (got != got || want != want) return got != got && want != want;
  if (isinf(got) || isinf(want)) return got == want;
  return fabs(got - want) <= tolerance;
}

/* The extents of all arguments, for messages. */
static void describe(const struct call *call, char *text, size_t size) {
  size_t length = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < call->argument_count && length < size; i++) {
    const struct call_argument *argument = &call->arguments[i];
    if (argument->kind == GR_PARAMETER_BUFFER)
      length += (size_t)snprintf(text + length, size - length, " %s[%" PRIu64 ",%" PRIu64 "]+%" PRIu64,
                                 gr_type_name(argument->type), argument->shape[0],
                                 argument->rank > 1 ? argument->shape[1] : 1, argument->offset);
    else length += (size_t)snprintf(text + length, size - length, " %g", argument->real + (double)argument->integer);
  }
}

void expect_close(const struct target *target, const struct call *call, uint64_t index, double got, double want,
                  double tolerance) {
  if (is_close(got, want, tolerance)) return;
  char text[400];
  describe(call, text, sizeof text);
  ck_abort_msg("%s: %s(%s ): element %" PRIu64 " is %.17g, but should be %.17g, give or take %.3g", target->name,
               call->kernel, text, index, got, want, tolerance);
}
