/* The n-th allocation fails, for every n: ours, and libyaml's own, which has no hook but is linked with these wrappers.
 * Each time: GR_ERR_NO_MEMORY, nothing lost, no document. */
#include "tests/unit/document/support.h"

void *__real_malloc(size_t size_bytes);
void *__real_realloc(void *address, size_t size_bytes);
void __real_free(void *address);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_realloc(void *address, size_t size_bytes);
void __wrap_free(void *address);
char *__wrap_strdup(const char *text);

static uint64_t libc_calls;
static uint64_t libc_fails_at; /* 0: none does */
static int64_t libc_live;
static uint64_t parse_calls; /* of the last parse; assertions allocate too */

static bool may_allocate(void) { return ++libc_calls < libc_fails_at || libc_fails_at == 0; }

void *__wrap_malloc(size_t size_bytes) {
  void *address = may_allocate() ? __real_malloc(size_bytes) : NULL;
  libc_live += address != NULL;
  return address;
}

void *__wrap_realloc(void *address, size_t size_bytes) {
  if (!address) return __wrap_malloc(size_bytes);
  return may_allocate() ? __real_realloc(address, size_bytes) : NULL;
}

void __wrap_free(void *address) {
  libc_live -= address != NULL;
  __real_free(address);
}

char *__wrap_strdup(const char *text) {
  size_t size_bytes = strlen(text) + 1;
  char *copy = __wrap_malloc(size_bytes);
  return copy ? memcpy(copy, text, size_bytes) : NULL;
}

/* Everything that allocates: anchors, merges, large maps, long and folded texts, tags, directives, depth; and errors.
 */
static const char *const sources[] = {
    "%YAML 1.1\n%TAG !y! tag:yaml.org,2002:\n---\na: &a {x: 1, y: [1, 2, &deep [[[[[[[[[[1]]]]]]]]]]]}\nb: {<<: *a, z: "
    "!!str 3}\n"
    "c: {<<: [*a, {q: \"a\\tb\"}], deep: *deep}\nlong: |\n  one\n  two\n\n  three\nfold: one\n  two\n\n  three\n"
    "t: !y!int 5\nv: !<tag:yaml.org,2002:int> 6\nw: 'it''s'\n"
    "m: {k1: 1, k2: 1, k3: 1, k4: 1, k5: 1, k6: 1, k7: 1, k8: 1, k9: 1, k10: 1, k11: 1, k12: 1, k13: 1, k14: 1}\n"
    "? \n: 1\n",
    "a: 1\na: 2\nb: *c\n? [x]\n: y\nd: !!bool yes\n---\ne: [\n",
    "m: &m {x: 1}\na: 1\na: 2\nb: *c\n? [x]\n: y\nd: !!bool yes\nf: {<<: *m, <<: [*n, 3], x: 2, x: 3}\n---\ne: 1\n",
    "{\"\\ud83d\\ude00\": \"\\ue03d\\ud83d\\ude00\", a: '\\ud83d\\ude00', b: [&x \\ud83d\\ude00, *x], a: *y}\n",
    "a: \"\xFF\"\n",
    "",
};

/* The hooks for the engine's own memory, so that the two counts stay apart. */
static void *hook_allocate(void *context, size_t size_bytes) {
  (void)context;
  return __real_malloc(size_bytes);
}
static void *hook_resize(void *context, void *address, size_t size_bytes) {
  (void)context;
  return __real_realloc(address, size_bytes);
}
static void hook_release(void *context, void *address) {
  (void)context;
  __real_free(address);
}
static const struct gr_memory_hooks hooks = {hook_allocate, hook_resize, hook_release, NULL};

/* One parse with a failure; the return value is its status. */
static enum gr_status parse_once(const char *source, uint64_t own_fails_at, uint64_t library_fails_at) {
  struct gr_memory memory;
  gr_memory_init(&memory, &hooks);
  struct gr_diagnostics diagnostics;
  ck_assert(gr_diagnostics_init(&diagnostics, &memory, "test.yaml"));
  struct gr_document *const untouched = (struct gr_document *)&memory;
  struct gr_document *document = untouched;
  int64_t live_before = libc_live;
  memory.fail_at = own_fails_at > 0 ? memory.call_count + own_fails_at : 0;
  libc_calls = 0;
  libc_fails_at = library_fails_at;
  enum gr_status status = gr_document_parse(&memory, "test.yaml", gr_view_of(source), &diagnostics, &document);
  libc_fails_at = 0;
  parse_calls = libc_calls;
  ck_assert_int_eq(libc_live, live_before);
  ck_assert_int_eq(status == GR_ERR_NO_MEMORY, gr_diagnostics_status(&diagnostics) == GR_ERR_NO_MEMORY);
  if (document != untouched) {
    ck_assert_int_ne(status, GR_ERR_NO_MEMORY);
    ck_assert_int_eq(document->is_flawed, status != GR_OK);
    gr_document_destroy(document);
  } else {
    ck_assert_int_ne(status, GR_OK);
  }
  memory.fail_at = 0;
  gr_diagnostics_release(&diagnostics);
  ck_assert_uint_eq(memory.live_count, 0);
  return status;
}

START_TEST(own_allocations_fail) {
  enum gr_status expected = parse_once(sources[_i], 0, 0);
  ck_assert_int_eq(expected, _i == 0 ? GR_OK : GR_ERR_INVALID);
  uint64_t failed = 0;
  for (uint64_t n = 1;; n++) {
    enum gr_status status = parse_once(sources[_i], n, 0);
    if (status != GR_ERR_NO_MEMORY) {
      ck_assert_int_eq(status, expected);
      break;
    }
    failed++;
  }
  ck_assert_uint_ge(failed, 1);
}
END_TEST

START_TEST(allocations_of_libyaml_fail) {
  enum gr_status expected = parse_once(sources[_i], 0, 0);
  uint64_t calls = parse_calls;
  for (uint64_t n = 1; n <= calls; n++) ck_assert_int_eq(parse_once(sources[_i], 0, n), GR_ERR_NO_MEMORY);
  ck_assert_int_eq(parse_once(sources[_i], 0, calls + 1), expected);
  if (_i == 0) ck_assert_uint_ge(calls, 100); /* else the wrappers are not linked in */
}
END_TEST

/* Shrinking the arrays at the end may fail: they then stay as they are. */
START_TEST(every_document_is_whole_or_not_there) {
  struct gr_memory memory;
  gr_memory_init(&memory, &hooks);
  struct parsed parsed = parse(&memory, gr_view_of("a: [1, 2]\n"));
  ck_assert_int_eq(parsed.status, GR_OK);
  ck_assert_uint_eq(parsed.document->item_count, 5);
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/memory");
  TCase *cases = tcase_create("memory");
  tcase_set_timeout(cases, 60);
  tcase_add_loop_test(cases, own_allocations_fail, 0, (int)(sizeof sources / sizeof *sources));
  tcase_add_loop_test(cases, allocations_of_libyaml_fail, 0, (int)(sizeof sources / sizeof *sources) - 2);
  tcase_add_test(cases, every_document_is_whole_or_not_there);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
