#include "engine/kernel.h"

#include <string.h>

struct type_row {
  const char *name;
  unsigned char size;
  bool is_float;
};

static const struct type_row type_rows[GR_TYPE_COUNT] = {
    [GR_TYPE_I8] = {"i8", 1, false},    [GR_TYPE_U8] = {"u8", 1, false},   [GR_TYPE_I16] = {"i16", 2, false},
    [GR_TYPE_U16] = {"u16", 2, false},  [GR_TYPE_I32] = {"i32", 4, false}, [GR_TYPE_U32] = {"u32", 4, false},
    [GR_TYPE_I64] = {"i64", 8, false},  [GR_TYPE_U64] = {"u64", 8, false}, [GR_TYPE_F16] = {"f16", 2, true},
    [GR_TYPE_BF16] = {"bf16", 2, true}, [GR_TYPE_F32] = {"f32", 4, true},  [GR_TYPE_F64] = {"f64", 8, true},
};

size_t gr_type_size(enum gr_type type) { return type_rows[type].size; }

const char *gr_type_name(enum gr_type type) { return type_rows[type].name; }

bool gr_type_is_float(enum gr_type type) { return type_rows[type].is_float; }

const struct gr_kernel *gr_catalogue_find(const struct gr_catalogue *catalogue, const char *name, size_t length) {
  uint32_t low = 0;
  uint32_t high = catalogue->kernel_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct gr_kernel *kernel = &catalogue->kernels[middle];
    int order = strncmp(kernel->name, name, length);
    if (order == 0 && kernel->name[length] != '\0') order = 1;
    if (order == 0) return kernel;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}
