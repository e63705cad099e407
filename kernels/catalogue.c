#include "kernels/catalogue.h"

#include "kernels/internal.h"

/* --- Parameters --- */

#define SCALAR(NAME) \
  { .name = NAME, .kind = GR_PARAMETER_REAL }
#define INTEGER(NAME) \
  { .name = NAME, .kind = GR_PARAMETER_INTEGER }
#define READ(NAME) \
  { .name = NAME, .kind = GR_PARAMETER_BUFFER, .access = GR_ACCESS_READ }
/* Read element by element: may be exactly the bytes of an output. */
#define READ_ELEMENTWISE(NAME) \
  { .name = NAME, .kind = GR_PARAMETER_BUFFER, .access = GR_ACCESS_READ, .may_alias_output = true }
#define WRITE(NAME) \
  { .name = NAME, .kind = GR_PARAMETER_BUFFER, .access = GR_ACCESS_WRITE }
#define UPDATE(NAME) \
  { .name = NAME, .kind = GR_PARAMETER_BUFFER, .access = GR_ACCESS_UPDATE }

typedef const struct gr_kernel_parameter parameters[];

static parameters x_out = {READ_ELEMENTWISE("x"), WRITE("out")};
static parameters x_y_out = {READ_ELEMENTWISE("x"), READ_ELEMENTWISE("y"), WRITE("out")};
static parameters a_x_y = {SCALAR("a"), READ_ELEMENTWISE("x"), UPDATE("y")};
static parameters a_x_out = {SCALAR("a"), READ_ELEMENTWISE("x"), WRITE("out")};
static parameters lo_hi_x_out = {SCALAR("lo"), SCALAR("hi"), READ_ELEMENTWISE("x"), WRITE("out")};
static parameters w_x_y_out = {READ_ELEMENTWISE("w"), READ_ELEMENTWISE("x"), READ_ELEMENTWISE("y"), WRITE("out")};
static parameters convert = {READ_ELEMENTWISE("x"), WRITE("out"), SCALAR("scale")};
/* The operands of one element are read by every thread, after others may have written: they never share bytes. */
static parameters x_lo_hi_out = {READ_ELEMENTWISE("x"), READ("lo"), READ("hi"), WRITE("out")};
static parameters x_s_out = {READ_ELEMENTWISE("x"), READ("s"), WRITE("out")};
static parameters x_row_out = {READ_ELEMENTWISE("x"), READ("row"), WRITE("out")};
static parameters x_one = {READ("x"), WRITE("out")};
static parameters x_y_one = {READ("x"), READ("y"), WRITE("out")};
static parameters rows_out = {READ("x"), WRITE("out")};
static parameters x_out_apart = {READ("x"), WRITE("out")};
static parameters gemm = {SCALAR("alpha"), READ("a"), READ("b"), SCALAR("beta"), UPDATE("c")};
static parameters spmv_csr = {READ("indptr"), READ("indices"), READ("values"), READ("x"), WRITE("y")};
static parameters conv2d = {READ("x"), READ("weights"), WRITE("out")};
static parameters black_scholes = {READ_ELEMENTWISE("spot"),
                                   READ_ELEMENTWISE("strike"),
                                   READ_ELEMENTWISE("years"),
                                   SCALAR("rate"),
                                   SCALAR("volatility"),
                                   WRITE("call"),
                                   WRITE("put")};
static parameters busy = {INTEGER("ns")};
static parameters fill = {
    [GR_FILL_DATA] = WRITE("data"),
    [GR_FILL_VALUE_BITS] = INTEGER("value_bits"),
    [GR_FILL_WIDTH] = INTEGER("width"),
    [GR_FILL_HEIGHT] = INTEGER("height"),
    [GR_FILL_DEPTH] = INTEGER("depth"),
    [GR_FILL_ROW_PITCH] = INTEGER("row_pitch"),
    [GR_FILL_SLICE_PITCH] = INTEGER("slice_pitch"),
};

/* --- Kernels --- */

#define ROW(NAME, SUMMARY, PARAMETERS, LIBRARY, CHECK)             \
  {                                                                \
      .name = #NAME,                                               \
      .summary = SUMMARY,                                          \
      .parameter_count = sizeof PARAMETERS / sizeof PARAMETERS[0], \
      .parameters = PARAMETERS,                                    \
      .library = GR_KERNEL_LIBRARY_##LIBRARY,                      \
      .check = CHECK,                                              \
      .host = gr_##NAME##_host,                                    \
      .launches = gr_##NAME##_launches,                            \
  },
static const struct gr_kernel kernels[] = {GR_KERNEL_LIST(ROW)};
static const struct gr_kernel fill_kernel[] = {
    ROW(fill, "gives every element of a box one value", fill, NONE, gr_fill_check)};

/* --- Device code --- */

#ifdef GR_HAVE_CUDA
#define IMAGES(ROW)  \
  ROW(black_scholes) \
  ROW(busy)          \
  ROW(conv2d) ROW(convert) ROW(elementwise) ROW(fill) ROW(gemm) ROW(reduce) ROW(rows) ROW(spmv_csr) ROW(transpose)
#define IMAGE_SYMBOLS(FAMILY) extern const unsigned char FAMILY##_fatbin_begin[], FAMILY##_fatbin_end[];
IMAGES(IMAGE_SYMBOLS)
#define IMAGE_ROW(FAMILY) \
  {.name = "kernels/" #FAMILY ".cu", .begin = FAMILY##_fatbin_begin, .end = FAMILY##_fatbin_end},
static const struct gr_kernel_image images[] = {IMAGES(IMAGE_ROW)};
#endif

static const struct gr_catalogue catalogue = {
    .kernel_count = sizeof kernels / sizeof kernels[0],
    .kernels = kernels,
    .fill = fill_kernel,
#ifdef GR_HAVE_CUDA
    .image_count = sizeof images / sizeof images[0],
    .images = images,
#endif
};

const struct gr_catalogue *gr_builtin_catalogue(void) { return &catalogue; }
