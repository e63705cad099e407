/* Random pipelines as YAML text, for tests that go through the public face. */
#ifndef GRAPHRUN_TESTS_SUPPORT_PIPELINE_MAKER_H
#define GRAPHRUN_TESTS_SUPPORT_PIPELINE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { MAKER_BUFFER_COUNT = 6, MAKER_ELEMENT_COUNT = 24 };

struct maker_options {
  uint64_t seed;
  uint32_t node_count;
  bool order_data; /* no `after`: edges follow from the data; else every conflicting pair has its edge, and some more */
  const char *streams; /* the value of `streams`; null: none */
};

/* A pipeline of copies, fills, kernels and barriers over MAKER_BUFFER_COUNT f64 buffers "b0", "b1", … (device memory),
 * each with other initial values. Every pair of nodes that touches the same bytes, one of them writing, is ordered by
 * file order, so the result is one and the same; and nearly every missing order would change it. Freed with free(). */
char *maker_pipeline(const struct maker_options *options);

#endif
