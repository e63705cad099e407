/* Parses a text and compares what came of it, as text. */
#ifndef GRAPHRUN_TESTS_UNIT_DOCUMENT_SUPPORT_H
#define GRAPHRUN_TESTS_UNIT_DOCUMENT_SUPPORT_H

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/document/document.h"

/* A text literal that may hold NULs. */
#define VIEW(literal) ((struct gr_view){literal, sizeof(literal) - 1})

struct parsed {
  struct gr_diagnostics diagnostics;
  struct gr_document *document; /* null where there were errors that leave none */
  enum gr_status status;
};

static inline struct parsed parse(struct gr_memory *memory, struct gr_view source) {
  struct parsed parsed = {.document = NULL};
  ck_assert(gr_diagnostics_init(&parsed.diagnostics, memory, "test.yaml"));
  parsed.diagnostics.source = source;
  parsed.status = gr_document_parse(memory, "test.yaml", source, &parsed.diagnostics, &parsed.document);
  if (parsed.status == GR_OK) ck_assert_ptr_nonnull(parsed.document);
  if (parsed.status == GR_ERR_NO_MEMORY) ck_assert_ptr_null(parsed.document);
  if (parsed.document) ck_assert_int_eq(parsed.status != GR_OK, parsed.document->is_flawed);
  if (!parsed.diagnostics.out_of_memory) ck_assert_int_eq(parsed.status == GR_OK, parsed.diagnostics.error_count == 0);
  return parsed;
}

static inline void release(struct parsed *parsed) {
  gr_document_destroy(parsed->document);
  gr_diagnostics_release(&parsed->diagnostics);
}

/* Every message as "line:column: message", one a line. */
static inline void append_messages(struct gr_text *text, const struct gr_diagnostics *diagnostics) {
  gr_text_append_text(text, "");
  for (uint32_t i = 0; i < diagnostics->kept_count; i++) {
    const struct gr_diagnostic *one = &diagnostics->kept[i];
    gr_text_append_format(text, "%" PRIu32 ":%" PRIu32 ": %s\n", one->mark.line, one->mark.column, one->message);
  }
}

static inline void expect_errors_in(struct gr_view source, const char *expected) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed = parse(&memory, source);
  struct gr_text text;
  gr_text_init(&text, &memory);
  append_messages(&text, &parsed.diagnostics);
  ck_assert_str_eq(text.bytes, expected);
  ck_assert_int_eq(parsed.status, GR_ERR_INVALID);
  gr_text_release(&text);
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}

static inline void expect_errors(const char *source, const char *expected) {
  expect_errors_in(gr_view_of(source), expected);
}

/* The tree as gr_document_show gives it. */
static inline void expect_tree_of(struct gr_view source, const char *expected) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct parsed parsed = parse(&memory, source);
  struct gr_text text;
  gr_text_init(&text, &memory);
  append_messages(&text, &parsed.diagnostics);
  if (parsed.document) gr_document_show(parsed.document, &text);
  ck_assert_str_eq(text.bytes, expected);
  gr_text_release(&text);
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}

static inline void expect_tree(const char *source, const char *expected) {
  expect_tree_of(gr_view_of(source), expected);
}

static inline int run_suite(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
