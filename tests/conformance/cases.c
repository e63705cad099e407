#include "tests/conformance/cases.h"

#include "tests/conformance/support.h"

const struct conformance_case conformance_cases[] = {
    {"element-wise kernels that round once an operation", case_exact_elementwise},
    {"element-wise kernels of the mathematical library", case_rounded_elementwise},
    {"an output that is an input", case_elementwise_sharing},
    {"slices that are not aligned", case_elementwise_slices},
    {"operands of one element", case_elementwise_with_buffers_of_one},
    {"convert between all types", case_convert_all_types},
    {"convert of all sizes", case_convert_sizes},
    {"convert at the edges of types", case_convert_edges},
    {"sum, dot and norm2", case_sums},
    {"sums that cancel", case_sums_cancel},
    {"sums have the same bits in every replay and at every address", case_sums_same_bits},
    {"min and max", case_extrema},
    {"softmax_rows", case_softmax_rows},
    {"softmax_rows of special values", case_softmax_specials},
    {"argmax_rows", case_argmax_rows},
    {"argmax_rows of equals and NaN", case_argmax_ties},
    {"add_row", case_add_row},
    {"gemm", case_gemm},
    {"gemm with factors of 0 and nothing inside", case_gemm_factors},
    {"transpose", case_transpose},
    {"spmv_csr", case_spmv_csr},
    {"spmv_csr of broken matrices", case_spmv_csr_broken},
    {"conv2d", case_conv2d},
    {"black_scholes", case_black_scholes},
    {"busy", case_busy},
    {NULL, NULL},
};
