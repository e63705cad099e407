/* Damaged files, the same ones in every run: whatever they hold, a parse ends, loses nothing, and gives either a
 * document that keeps its promises or messages with a place inside the file. Worth most with sanitizers. */
#include "tests/unit/document/support.h"

static const char *const seeds[] = {
    ("graphrun: 1\nname: saxpy\nparams: {n: 1048576, a: 2.5}\nbuffers:\n"
     "  hx: {type: f32, shape: [n], place: pinned, init: {iota: {start: 0, step: 1}}}\n"
     "nodes:\n  - {id: up_x, copy: {from: hx, to: x}}\n  - {id: axpy, kernel: axpy, args: {a: a, x: x}, after: "
     "[up_x]}\n"),
    ("%YAML 1.2\n%TAG !e! tag:yaml.org,2002:\n---\na: &a {x: 1, y: [1, 2]}\nb: {<<: *a, x: !!str 2}\nc:\n  <<: [*a, "
     "{z: "
     "!e!int 3}]\n"
     "  k: |-\n    text\n     more\n\n    end\n  ? q\n  : r\n...\n# end\n"),
    ("{\"a\": [1, 2.5e3, true, null, \"x\\u00e9\\n\\\\\"], \"b\": {\"c\": {}, \"d\": []}, \"e\": 'it''s'}\r\n"),
    ("\xEF\xBB\xBF# caf\xC3\xA9 \xE2\x82\xAC\r\nk: >+\r\n  folded\r\n  text\r\n\r\nl: \"a \\\n  b\" # c\rm: [a: b, ? "
     "c, "
     "*x, &y z, :d]\n"),
    ("\t{\"\\ud83d\\ude00\": \"\\uE03D\\uD83D\\uDE00\\\\ud83d\\ude00\xEE\x80\xBD\", 'b\\ud83d\\ude00': &x [!!str "
     "\\ud83d\\ude00,\n"
     "\t\"\\ud83e\\udd80\\ue03e\\U0000e03d\"], c: '\\uE03D\\uE600', d: *x}\n\t\n"),
    ("a: &x # \\ud83d\\ude00\n  !!str \"\\ud83d\\ude00\"\nb: | # \\uE03D\n  \\ud83d\\ude00 \\uE03D\n  \\uD83D\\uDE00\n"
     "c: \\ud83d\\ude00\n  \\\\ud83d\\ude00\nd: *x\n"),
};

static const char *const pieces[] = {
    "\t",
    "\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    ": ",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    " #",
    "&a ",
    "*a",
    "*b ",
    "!!map ",
    "!x ",
    "! ",
    "|",
    ">",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "<<: ",
    "<<: *a\n",
    "---\n",
    "...\n",
    "\\",
    "\\x",
    "\\ud83d",
    "\\ude00",
    "\\ud83d\\ude00",
    "\\uE03D",
    "\xEE\x80\xBD",
    "\xC3",
    "\xE2\x80\xA8",
    "\xEF\xBB\xBF",
    "\x01",
    "~",
    "%TAG ! x\n",
    "%YAML 1.1\n",
    "a: 1\n",
    "[[[[[[[[[[",
    "{a: {a: ",
    "- - - - ",
};

static uint64_t next_number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

enum { BYTES_MAX = 4096, ROUNDS = 6000 };

struct mutant {
  char bytes[BYTES_MAX];
  size_t length;
};

static void splice(struct mutant *mutant, size_t at, size_t removed, const char *bytes, size_t added) {
  if (mutant->length - removed + added > BYTES_MAX) return;
  memmove(mutant->bytes + at + added, mutant->bytes + at + removed, mutant->length - at - removed);
  memcpy(mutant->bytes + at, bytes, added);
  mutant->length = mutant->length - removed + added;
}

static void mutate(struct mutant *mutant, uint64_t *state) {
  size_t at = next_number(state) % (mutant->length + 1);
  size_t rest = mutant->length - at;
  const char *piece = pieces[next_number(state) % (sizeof pieces / sizeof *pieces)];
  switch (next_number(state) % 6) {
    case 0:
      splice(mutant, at, 0, piece, strlen(piece));
      break;
    case 1:
      splice(mutant, at, rest < 3 ? rest : 1 + next_number(state) % 3, "", 0);
      break;
    case 2:
      if (rest > 0) splice(mutant, at, 1, piece, strlen(piece));
      break;
    case 3: { /* a part of another file */
      const char *other = seeds[next_number(state) % (sizeof seeds / sizeof *seeds)];
      size_t from = next_number(state) % strlen(other);
      size_t length = strlen(other) - from;
      splice(mutant, at, 0, other + from, length < 40 ? length : 40);
      break;
    }
    case 4:
      if (rest > 0) mutant->bytes[at] = (char)next_number(state);
      break;
    default:
      if (next_number(state) % 8 == 0) mutant->length = at;
      break;
  }
}

/* What document.h promises. */
static void check_document(const struct gr_document *document) {
  ck_assert_uint_lt(document->root, document->item_count);
  ck_assert_int_eq(gr_document_item(document, document->root)->kind, GR_ITEM_MAP);
  for (uint32_t i = 0; i < document->item_count; i++) {
    const struct gr_item *item = gr_document_item(document, i);
    ck_assert_uint_ge(item->line, 1);
    ck_assert_uint_ge(item->column, 1);
    if (item->kind != GR_ITEM_MAP) continue;
    for (uint64_t n = 0; n < item->count; n++) {
      const struct gr_item *key = gr_document_item(document, gr_document_child(document, item, 2 * n));
      ck_assert_int_eq(key->kind, GR_ITEM_SCALAR);
      for (uint64_t k = 0; k < n; k++) {
        const struct gr_item *other = gr_document_item(document, gr_document_child(document, item, 2 * k));
        ck_assert(!gr_view_equal(gr_item_text(key), gr_item_text(other)));
      }
    }
  }
}

static uint32_t count_lines(struct gr_view source) {
  uint32_t lines = 1;
  for (size_t i = 0; i < source.length; i++) lines += source.bytes[i] == '\n' || source.bytes[i] == '\r';
  return lines;
}

static void check_messages(const struct gr_diagnostics *diagnostics, struct gr_view source) {
  for (uint32_t i = 0; i < diagnostics->kept_count; i++) {
    const struct gr_diagnostic *one = &diagnostics->kept[i];
    ck_assert_uint_ge(one->mark.line, 1);
    ck_assert_uint_ge(one->mark.column, 1);
    ck_assert_uint_le(one->mark.line, count_lines(source));
    ck_assert_uint_le(one->mark.column, source.length + 1);
    /* libyaml's own words are the last resort. */
    ck_assert_msg(strncmp(one->message, "this is no YAML", 15) != 0, "%s", one->message);
  }
}

static void check_one(struct gr_view source) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  /* A block of exactly that size, so that a read past its end is seen. */
  char *copy = malloc(source.length + !source.length);
  ck_assert(copy);
  if (source.length > 0) memcpy(copy, source.bytes, source.length);
  struct gr_view view = {copy, source.length};
  struct parsed parsed = parse(&memory, view);
  struct gr_text text;
  gr_text_init(&text, &memory);
  if (parsed.document) {
    check_document(parsed.document);
    gr_document_show(parsed.document, &text);
    ck_assert(!text.failed);
  } else {
    check_messages(&parsed.diagnostics, view);
    gr_diagnostics_render(&parsed.diagnostics, &text, false);
    ck_assert(!text.failed);
    size_t bad;
    ck_assert(gr_utf8_valid((struct gr_view){text.bytes, text.length}, &bad));
  }
  gr_text_release(&text);
  release(&parsed);
  ck_assert_uint_eq(memory.live_count, 0);
  free(copy);
}

START_TEST(damaged_files) {
  static struct mutant mutant;
  uint64_t state = (uint64_t)_i + 1;
  for (int round = 0; round < ROUNDS; round++) {
    const char *seed = seeds[_i];
    mutant.length = strlen(seed);
    memcpy(mutant.bytes, seed, mutant.length);
    uint64_t count = 1 + next_number(&state) % 8;
    for (uint64_t k = 0; k < count; k++) mutate(&mutant, &state);
    check_one((struct gr_view){mutant.bytes, mutant.length});
  }
}
END_TEST

START_TEST(files_cut_anywhere) {
  size_t length = strlen(seeds[_i]);
  for (size_t i = 0; i <= length; i++) {
    check_one((struct gr_view){seeds[_i], i});
    check_one((struct gr_view){seeds[_i] + i, length - i});
  }
}
END_TEST

START_TEST(pieces_in_a_row) {
  static struct mutant mutant;
  uint64_t state = 99;
  for (int round = 0; round < ROUNDS; round++) {
    mutant.length = 0;
    uint64_t count = next_number(&state) % 24;
    for (uint64_t k = 0; k < count; k++) {
      const char *piece = pieces[next_number(&state) % (sizeof pieces / sizeof *pieces)];
      splice(&mutant, mutant.length, 0, piece, strlen(piece));
    }
    check_one((struct gr_view){mutant.bytes, mutant.length});
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("document/mutation");
  TCase *cases = tcase_create("mutation");
  tcase_set_timeout(cases, 240);
  tcase_add_loop_test(cases, damaged_files, 0, (int)(sizeof seeds / sizeof *seeds));
  tcase_add_loop_test(cases, files_cut_anywhere, 0, (int)(sizeof seeds / sizeof *seeds));
  tcase_add_test(cases, pieces_in_a_row);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
