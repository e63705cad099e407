/* Conversion between any two number types, in two steps over a block that stays in the cache: to a common type, and
 * from there. That makes 2 x 12 loops of what would be 144. number.h has the rounding. */
#include <string.h>

#include "kernels/internal.h"
#include "kernels/number.h"

enum { BLOCK = 512 };

/* One row for each type: how C holds it and how it becomes an f64, which is exact but for large 64-bit integers. */
#define INTEGER_TYPES(ROW) ROW(i8, int8_t) ROW(i16, int16_t) ROW(i32, int32_t) ROW(i64, int64_t)
#define UNSIGNED_TYPES(ROW) ROW(u8, uint8_t) ROW(u16, uint16_t) ROW(u32, uint32_t) ROW(u64, uint64_t)
#define FLOAT_TYPES(ROW) ROW(f16, uint16_t) ROW(bf16, uint16_t) ROW(f32, float) ROW(f64, double)
#define ALL_TYPES(ROW) INTEGER_TYPES(ROW) UNSIGNED_TYPES(ROW) FLOAT_TYPES(ROW)

/* What a block holds between the steps. Integers stay exact in one of their own. */
union block {
  double f64[BLOCK];
  int64_t i64[BLOCK];
  uint64_t u64[BLOCK];
};

typedef void load_function(const void *source, uint64_t first, uint32_t count, union block *block);
typedef void store_function(const union block *block, void *target, uint64_t first, uint32_t count);

#define F64_OF_i8(x) ((double)(x))
#define F64_OF_i16(x) ((double)(x))
#define F64_OF_i32(x) ((double)(x))
#define F64_OF_i64(x) ((double)(x))
#define F64_OF_u8(x) ((double)(x))
#define F64_OF_u16(x) ((double)(x))
#define F64_OF_u32(x) ((double)(x))
#define F64_OF_u64(x) ((double)(x))
#define F64_OF_f16(x) ((double)gr_f32_of_f16(x))
#define F64_OF_bf16(x) ((double)gr_f32_of_bf16(x))
#define F64_OF_f32(x) ((double)(x))
#define F64_OF_f64(x) (x)
#define LOAD_F64(NAME, TYPE)                                                                            \
  static void load_f64_##NAME(const void *source, uint64_t first, uint32_t count, union block *block) { \
    const TYPE *elements = (const TYPE *)source + first;                                                \
    for (uint32_t i = 0; i < count; i++) block->f64[i] = F64_OF_##NAME(elements[i]);                    \
  }
ALL_TYPES(LOAD_F64)
#define LOAD_I64(NAME, TYPE)                                                                            \
  static void load_i64_##NAME(const void *source, uint64_t first, uint32_t count, union block *block) { \
    const TYPE *elements = (const TYPE *)source + first;                                                \
    for (uint32_t i = 0; i < count; i++) block->i64[i] = elements[i];                                   \
  }
INTEGER_TYPES(LOAD_I64)
#define LOAD_U64(NAME, TYPE)                                                                            \
  static void load_u64_##NAME(const void *source, uint64_t first, uint32_t count, union block *block) { \
    const TYPE *elements = (const TYPE *)source + first;                                                \
    for (uint32_t i = 0; i < count; i++) block->u64[i] = elements[i];                                   \
  }
UNSIGNED_TYPES(LOAD_U64)

#define gr_f64_of_f64(x) (x)
#define STORE(FROM, NAME, TYPE)                                                                               \
  static void store_##FROM##_##NAME(const union block *block, void *target, uint64_t first, uint32_t count) { \
    TYPE *elements = (TYPE *)target + first;                                                                  \
    for (uint32_t i = 0; i < count; i++) elements[i] = gr_##NAME##_of_##FROM(block->FROM[i]);                 \
  }
#define STORE_F64(NAME, TYPE) STORE(f64, NAME, TYPE)
#define STORE_I64(NAME, TYPE) STORE(i64, NAME, TYPE)
#define STORE_U64(NAME, TYPE) STORE(u64, NAME, TYPE)
ALL_TYPES(STORE_F64)
ALL_TYPES(STORE_I64)
ALL_TYPES(STORE_U64)

/* In the order of enum gr_type. */
#define BY_TYPE(PREFIX)                                                                                           \
  {                                                                                                               \
    PREFIX##_i8, PREFIX##_u8, PREFIX##_i16, PREFIX##_u16, PREFIX##_i32, PREFIX##_u32, PREFIX##_i64, PREFIX##_u64, \
        PREFIX##_f16, PREFIX##_bf16, PREFIX##_f32, PREFIX##_f64                                                   \
  }
static load_function *const load_f64[GR_TYPE_COUNT] = BY_TYPE(load_f64);
static load_function *const load_integer[] = {load_i64_i8,  load_u64_u8,  load_i64_i16, load_u64_u16,
                                              load_i64_i32, load_u64_u32, load_i64_i64, load_u64_u64};
static store_function *const store_f64[GR_TYPE_COUNT] = BY_TYPE(store_f64);
static store_function *const store_i64[GR_TYPE_COUNT] = BY_TYPE(store_i64);
static store_function *const store_u64[GR_TYPE_COUNT] = BY_TYPE(store_u64);

static bool is_unsigned(enum gr_type type) {
  return type == GR_TYPE_U8 || type == GR_TYPE_U16 || type == GR_TYPE_U32 || type == GR_TYPE_U64;
}

bool gr_convert_check(const struct gr_kernel *kernel, const struct gr_kernel_argument *arguments,
                      struct gr_kernel_facts *facts, struct gr_kernel_problem *problem) {
  struct gr_call call = {kernel, arguments, problem};
  if (!gr_check_same_count(&call, 1, 0)) return false;
  return gr_accept(&call, facts, arguments[0].element_count);
}

/* Without a factor there is no arithmetic: integers do not pass through f64, and the same type is a copy. */
void gr_convert_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  const struct gr_kernel_frame_argument *x = &frame->arguments[0];
  const struct gr_kernel_frame_argument *out = &frame->arguments[1];
  const enum gr_type from = (enum gr_type)x->type;
  const enum gr_type to = (enum gr_type)out->type;
  const double scale = frame->arguments[2].real;
  const uint64_t count = gr_element_count(frame, 0);
  if (scale == 1.0 && from == to) {
    if (x->data != out->data) memcpy(out->data, x->data, count * gr_type_size(from));
    return;
  }
  const bool exact = scale == 1.0 && !gr_type_is_float(from);
  load_function *load = exact ? load_integer[from] : load_f64[from];
  store_function *store = !exact ? store_f64[to] : is_unsigned(from) ? store_u64[to] : store_i64[to];
  union block block;
  for (uint64_t first = 0; first < count; first += BLOCK) {
    uint32_t size = count - first < BLOCK ? (uint32_t)(count - first) : BLOCK;
    load(x->data, first, size, &block);
    if (scale != 1.0)
      for (uint32_t i = 0; i < size; i++) block.f64[i] *= scale;
    store(&block, out->data, first, size);
  }
}

uint32_t gr_convert_launches(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame,
                             struct gr_kernel_launch launches[GR_KERNEL_LAUNCH_MAX]) {
  (void)kernel;
#define ENTRIES(FROM)                                                                                               \
  {                                                                                                                 \
    "gr_convert_" FROM "_i8", "gr_convert_" FROM "_u8", "gr_convert_" FROM "_i16", "gr_convert_" FROM "_u16",       \
        "gr_convert_" FROM "_i32", "gr_convert_" FROM "_u32", "gr_convert_" FROM "_i64", "gr_convert_" FROM "_u64", \
        "gr_convert_" FROM "_f16", "gr_convert_" FROM "_bf16", "gr_convert_" FROM "_f32", "gr_convert_" FROM "_f64" \
  }
  static const char *const entries[GR_TYPE_COUNT][GR_TYPE_COUNT] = {
      ENTRIES("i8"),  ENTRIES("u8"),  ENTRIES("i16"), ENTRIES("u16"),  ENTRIES("i32"), ENTRIES("u32"),
      ENTRIES("i64"), ENTRIES("u64"), ENTRIES("f16"), ENTRIES("bf16"), ENTRIES("f32"), ENTRIES("f64")};
  const uint32_t from = frame->arguments[0].type;
  const uint32_t to = frame->arguments[1].type;
  size_t from_bytes = gr_type_size((enum gr_type)from);
  size_t to_bytes = gr_type_size((enum gr_type)to);
  return gr_launch_map(launches, entries[from][to], gr_element_count(frame, 0),
                       from_bytes > to_bytes ? from_bytes : to_bytes);
}
