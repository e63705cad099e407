/* Reads pipelines from text with a small catalogue, and says what came of it as text. Included by one test file each.
 */
#ifndef GRAPHRUN_TESTS_UNIT_PIPELINE_FIXTURE_H
#define GRAPHRUN_TESTS_UNIT_PIPELINE_FIXTURE_H

#include "engine/pipeline/pipeline.h"

/* A read pipeline and what was said. Zero it or `fixture_read` it; release it after use. */
struct fixture {
  struct gr_memory memory;
  struct gr_diagnostics diagnostics;
  struct gr_document *document;
  struct gr_pipeline *pipeline; /* null where the text is wrong */
  enum gr_status status;
  struct gr_text said; /* "3:10 error: message\n" for each diagnostic, in file order; "" for none */
};

/* Kernels: `add(x, y, out)` (element-wise), `apart(x, out)` (out may overlap nothing), `axpy(a, x, y)`, `busy(ns)`,
 * `mix(beta, c)` (c is only written where beta is 0), `sum(x, out)` (one element; 64 bytes of scratch). */
extern const struct gr_catalogue fixture_catalogue;

void fixture_read(struct fixture *fixture, const char *text);
void fixture_read_with(struct fixture *fixture, struct gr_view text, const struct gr_override *overrides,
                       uint32_t override_count);
void fixture_release(struct fixture *fixture);

/* Reads `text`, in which each `@` is replaced by `value`, and compares what is said. */
void fixture_expect(const char *text, const char *value, const char *said);

/* The only node's, or a buffer's. */
const struct gr_buffer *fixture_buffer(const struct fixture *fixture, const char *name);
const struct gr_node *fixture_node(const struct fixture *fixture, const char *name);

/* splitmix64 */
uint64_t fixture_random(uint64_t *state);

#endif
