/* Equal keys in maps of every size, compared with brute force. */
#include "tests/unit/document/support.h"

static uint64_t next_number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* A map of `count` keys out of `choices`, one a line, and the messages that it must give. */
static void check_map(uint64_t *state, int count, uint64_t choices) {
  static uint64_t keys[400];
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  struct gr_text expected;
  gr_text_init(&text, &memory);
  gr_text_init(&expected, &memory);
  gr_text_append_text(&expected, "");
  int repeated = 0;
  for (int i = 0; i < count; i++) {
    keys[i] = next_number(state) % choices;
    gr_text_append_format(&text, "key%" PRIu64 ": x\n", keys[i]);
    int first = 0;
    while (keys[first] != keys[i]) first++;
    if (first == i || ++repeated > GR_DIAGNOSTIC_SHOWN_MAX) continue;
    gr_text_append_format(&expected, "%d:1: the key \"key%" PRIu64 "\" is given twice, first in line %d\n", i + 1,
                          keys[i], first + 1);
  }
  struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
  ck_assert_uint_eq(parsed.diagnostics.error_count, (uint64_t)repeated);
  gr_text_clear(&text);
  append_messages(&text, &parsed.diagnostics);
  ck_assert_str_eq(text.bytes, expected.bytes);
  release(&parsed);
  gr_text_release(&text);
  gr_text_release(&expected);
  ck_assert_uint_eq(memory.live_count, 0);
}

START_TEST(maps_of_every_size) {
  uint64_t state = 7;
  for (int count = 1; count < 400; count += count < 40 ? 1 : 37) {
    check_map(&state, count, 3);
    check_map(&state, count, (uint64_t)count);
    check_map(&state, count, (uint64_t)count * 8);
  }
}
END_TEST

/* Of one length, with all but the last bytes alike; and the empty one. */
START_TEST(keys_that_are_nearly_alike) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  struct gr_text text;
  gr_text_init(&text, &memory);
  gr_text_append_text(&text, "\"\": x\n");
  for (int i = 0; i < 3000; i++) gr_text_append_format(&text, "%0900d: x\n", i);
  gr_text_append_format(&text, "%0900d: x\n\"\": y\n", 1234);
  struct parsed parsed = parse(&memory, gr_view_of(text.bytes));
  ck_assert_uint_eq(parsed.diagnostics.error_count, 2);
  ck_assert_uint_eq(parsed.diagnostics.kept[0].mark.line, 3002);
  ck_assert_ptr_nonnull(strstr(parsed.diagnostics.kept[0].message, "first in line 1236"));
  ck_assert_uint_eq(parsed.diagnostics.kept[1].mark.line, 3003);
  ck_assert_ptr_nonnull(strstr(parsed.diagnostics.kept[1].message, "first in line 1"));
  release(&parsed);
  gr_text_release(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/keys");
  TCase *cases = tcase_create("keys");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, maps_of_every_size);
  tcase_add_test(cases, keys_that_are_nearly_alike);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
