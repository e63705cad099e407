/* What the files of cases share: numbers, calls and comparisons. */
#ifndef GRAPHRUN_TESTS_CONFORMANCE_SUPPORT_H
#define GRAPHRUN_TESTS_CONFORMANCE_SUPPORT_H

#include "tests/conformance/cases.h"

/* The same numbers in every run. */
struct randomness {
  uint64_t state;
};
uint64_t random_bits(struct randomness *randomness);
double random_between(struct randomness *randomness, double low, double high);

/* Never null; to be freed with free(). Holds at least one byte. */
void *allocate(uint64_t bytes);

double real_at(enum gr_type type, const void *data, uint64_t index); /* f32 and f64 */
void set_real(enum gr_type type, void *data, uint64_t index, double value);
double rounded_to(enum gr_type type, double value);
double epsilon_of(enum gr_type type); /* half a unit in the last place of 1 */
void fill_random(struct randomness *randomness, enum gr_type type, void *data, uint64_t count, double low, double high);
/* The same bytes everywhere, none of them a number that a test expects. */
void fill_garbage(enum gr_type type, void *data, uint64_t count);
/* NaN, infinities, zeros of both signs, very small and very large numbers, strewn in. */
void strew_specials(struct randomness *randomness, enum gr_type type, void *data, uint64_t count);

/* Adds an argument at the end of a call; returns its index. */
uint32_t add_real(struct call *call, double value);
uint32_t add_integer(struct call *call, int64_t value);
uint32_t add_vector(struct call *call, enum gr_type type, void *data, uint64_t count);
uint32_t add_matrix(struct call *call, enum gr_type type, void *data, uint64_t rows, uint64_t columns);

void run_call(const struct target *target, const struct call *call);
/* Calls of one batch. */
enum { BATCH_MAX = 24 };

/* NaN equals NaN, infinities and zeros equal themselves; else |got - want| <= tolerance. */
bool is_close(double got, double want, double tolerance);
/* Fails with all that a person needs. */
void expect_close(const struct target *target, const struct call *call, uint64_t index, double got, double want,
                  double tolerance);

/* The types that most kernels take. */
extern const enum gr_type real_types[2];

/* The families' cases. */
void case_exact_elementwise(const struct target *target);
void case_rounded_elementwise(const struct target *target);
void case_elementwise_sharing(const struct target *target);
void case_elementwise_slices(const struct target *target);
void case_elementwise_with_buffers_of_one(const struct target *target);
void case_convert_all_types(const struct target *target);
void case_convert_sizes(const struct target *target);
void case_convert_edges(const struct target *target);
void case_sums(const struct target *target);
void case_sums_cancel(const struct target *target);
void case_sums_same_bits(const struct target *target);
void case_extrema(const struct target *target);
void case_softmax_rows(const struct target *target);
void case_softmax_specials(const struct target *target);
void case_argmax_rows(const struct target *target);
void case_argmax_ties(const struct target *target);
void case_add_row(const struct target *target);
void case_gemm(const struct target *target);
void case_gemm_factors(const struct target *target);
void case_transpose(const struct target *target);
void case_spmv_csr(const struct target *target);
void case_spmv_csr_broken(const struct target *target);
void case_conv2d(const struct target *target);
void case_black_scholes(const struct target *target);
void case_busy(const struct target *target);

#endif
