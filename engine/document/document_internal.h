/* How a document comes about: source.c judges the bytes and knows places, parse.c alone knows libyaml and turns its
 * events into calls of build.c, which makes the tree with the help of anchors.c, keys.c and merge.c; surrogates.c gets
 * JSON's surrogate pairs past libyaml; syntax.c has the words for what libyaml cannot read. */
#ifndef GRAPHRUN_ENGINE_DOCUMENT_DOCUMENT_INTERNAL_H
#define GRAPHRUN_ENGINE_DOCUMENT_DOCUMENT_INTERNAL_H

#include "engine/document/document.h"

enum {
  /* Lines, columns and lengths then fit everywhere, also in libyaml, which keeps columns in an int. */
  GR_DOCUMENT_BYTES_MAX = INT32_MAX,
  GR_DOCUMENT_TAG_DIRECTIVES_MAX = 64,
};

/* ---- places: source.c ---- */

/* A point in the source as a byte offset, as libyaml's number of the character, and as line and column; moved together.
 * Lines end at LF, CR LF or a lone CR; a leading BOM belongs to no line. The source must be well-formed UTF-8. */
struct gr_document_cursor {
  struct gr_view source;
  size_t offset;
  size_t character;
  size_t line_offset;    /* where the line starts */
  size_t line_character; /* likewise */
  uint32_t line;
};

void gr_document_cursor_init(struct gr_document_cursor *cursor, struct gr_view source);
/* Cheap when moves go forward, or back within the line. Stops at the end of the source. */
void gr_document_cursor_move(struct gr_document_cursor *cursor, size_t character);
struct gr_mark gr_document_cursor_mark(const struct gr_document_cursor *cursor);
/* The place of one character, from the start of the source. */
struct gr_mark gr_document_place(struct gr_view source, size_t character);

/* False where the bytes cannot be read as YAML: too many, another encoding, bad UTF-8, control characters. */
bool gr_document_check_bytes(struct gr_view source, struct gr_diagnostics *diagnostics);

/* ---- surrogate pairs: surrogates.c ---- */

enum { GR_DOCUMENT_PAIR_BYTES = 12 }; /* two escapes, as in `\ud83d\ude00` */

enum gr_document_half { GR_DOCUMENT_NO_HALF, GR_DOCUMENT_HIGH_HALF, GR_DOCUMENT_LOW_HALF };
/* Which half of a pair the escape at that place is. */
enum gr_document_half gr_document_half_at(struct gr_view text, size_t offset);

/* Where the next pair starts, in quotes or not; the length of the source where none does. `from` must not lie behind a
 * backslash, unless that is a pair's or the second of two. */
size_t gr_document_find_pair(struct gr_view source, size_t from);
/* Makes private-use escapes of a pair, as far as it lies in a piece of the source that libyaml is about to read. */
void gr_document_hide_pair(struct gr_view source, size_t pair, unsigned char *piece, size_t piece_offset,
                           size_t piece_length);
/* For what libyaml made of a scalar in double quotes, whose anchor, tag or text starts at `start`: makes one character
 * of each hidden pair. The return value is the new length. */
size_t gr_document_join_pairs(struct gr_view source, size_t start, char *value, size_t length);
/* Of any other scalar: brings the file's own text back. */
void gr_document_restore_pairs(struct gr_view source, size_t start, bool is_block, char *value, size_t length);

/* ---- libyaml's messages: syntax.c ---- */

struct gr_document_syntax {
  const char *problem; /* libyaml's words; null: not known */
  const char *context; /* likewise */
  size_t problem_character;
  size_t context_character;
  bool document_ended;      /* a document came before */
  bool end_is_explicit;     /* and ended with '...' */
  struct gr_mark open_flow; /* where the innermost open list or map starts, if it has brackets; else line 0 */
  bool open_is_map;
};
/* Says in our words what libyaml found, at the place where a person has to look. */
void gr_document_report_syntax(struct gr_diagnostics *diagnostics, struct gr_view source,
                               const struct gr_document_syntax *syntax);

/* ---- anchors: anchors.c ---- */

struct gr_document_anchor {
  struct gr_view name;
  uint32_t item;     /* what it names last */
  uint32_t height;   /* of that: 0 for a scalar, else 1 more than its highest child */
  uint64_t expanded; /* items in it, itself included, as if every alias had been copied */
  bool is_open;      /* a list or map that is not complete yet */
};

struct gr_document_anchor_node;
/* Names to anchors: a crit-bit tree, whose depth no choice of names can make more than linear in their length. */
struct gr_document_anchors {
  struct gr_memory *memory;
  struct gr_document_anchor *entries;
  size_t count, capacity;
  struct gr_document_anchor_node *nodes;
  size_t node_count, node_capacity;
  uint32_t root;
};

#define GR_DOCUMENT_NO_ANCHOR UINT32_MAX
void gr_document_anchors_init(struct gr_document_anchors *anchors, struct gr_memory *memory);
void gr_document_anchors_release(struct gr_document_anchors *anchors);
/* The index of the anchor of that name, or GR_DOCUMENT_NO_ANCHOR. Names hold no NUL. */
uint32_t gr_document_anchors_find(const struct gr_document_anchors *anchors, struct gr_view name);
/* The index of a new anchor; the name, which is not there yet and not empty, must outlive it. GR_DOCUMENT_NO_ANCHOR
 * without memory. */
uint32_t gr_document_anchors_add(struct gr_document_anchors *anchors, struct gr_view name);
/* The name nearest to one that is not there; length 0: none is near. */
struct gr_view gr_document_anchors_nearest(const struct gr_document_anchors *anchors, struct gr_view name);

/* ---- equal keys: keys.c ---- */

struct gr_document_key {
  uint32_t item;
  uint32_t first; /* the index of the first key with the same text; its own where there is none before it */
};
struct gr_document_key_hash {
  uint64_t hash;
  uint32_t index;
};
/* Scratch that serves map after map. */
struct gr_document_keys {
  struct gr_memory *memory;
  struct gr_document_key *list;
  size_t count, capacity;
  struct gr_document_key_hash *hashes; /* room for two rows of hash_capacity */
  size_t hash_capacity;
};

void gr_document_keys_init(struct gr_document_keys *keys, struct gr_memory *memory);
void gr_document_keys_release(struct gr_document_keys *keys);
/* False without memory. */
bool gr_document_keys_add(struct gr_document_keys *keys, uint32_t item);
/* Sets `first` of all keys; keys that are no scalars equal none. n log n whatever the texts. False without memory. */
bool gr_document_keys_find_equal(struct gr_document_keys *keys, const struct gr_item *items);

/* ---- the tree under construction: build.c and merge.c ---- */

/* A kind that no item of a finished document has. */
enum { GR_DOCUMENT_MERGE_KEY = UINT8_MAX };

struct gr_document_frame {
  uint32_t item;      /* the list or map */
  uint32_t anchor;    /* or GR_DOCUMENT_NO_ANCHOR */
  uint32_t merge_key; /* the map's first `<<`; 0: it has none, as item 0 is no key */
  uint32_t height;    /* the highest child's */
  uint64_t expanded;  /* items so far, itself included */
  uint64_t merged;    /* items that merge keys may bring into it besides */
  size_t first_pending;
  bool expects_merged; /* its last key was `<<` and the value is not there yet */
  bool is_merged_list; /* the list that `<<` is given */
};

/* What one tree is built with. Functions that return false have run out of memory; what is wrong with the file goes to
 * the diagnostics, and building goes on with GR_ITEM_REFUSED, so that more can be found. */
struct gr_document_builder {
  struct gr_memory *memory;
  struct gr_diagnostics *diagnostics;
  struct gr_arena arena; /* texts */
  char *text_room;
  size_t text_room_bytes;
  struct gr_item *items;
  size_t item_count, item_capacity;
  uint32_t *children;
  size_t child_count, child_capacity;
  uint32_t *pending; /* children of the open frames */
  size_t pending_count, pending_capacity;
  struct gr_document_frame frames[GR_DOCUMENT_DEPTH_MAX];
  uint32_t frame_count;
  struct gr_document_anchors anchors;
  struct gr_document_keys keys;
  uint64_t added;     /* items that aliases and merges have added */
  uint64_t looked_at; /* pairs that merges had to look at */
  bool limit_is_reported;
  bool is_broken; /* what was said means that the tree is not whole, or larger than it may be */
  bool has_root;
  uint32_t root;
  uint64_t root_expanded;
};

void gr_document_builder_init(struct gr_document_builder *builder, struct gr_memory *memory,
                              struct gr_diagnostics *diagnostics);
void gr_document_builder_release(struct gr_document_builder *builder);

/* A text that lives as long as the document. `copied->bytes` is null without memory. */
struct gr_view gr_document_copy_text(struct gr_document_builder *builder, struct gr_view text);

/* The next item in file order. `item` has place, kind and flags, for scalars text and count. `anchor` is empty where
 * there is none. A list or map stays open until gr_document_close; opening one where GR_DOCUMENT_DEPTH_MAX are open
 * already is not allowed. */
bool gr_document_add_scalar(struct gr_document_builder *builder, struct gr_item item, struct gr_view anchor);
bool gr_document_open(struct gr_document_builder *builder, struct gr_item item, struct gr_view anchor);
bool gr_document_close(struct gr_document_builder *builder);
bool gr_document_add_alias(struct gr_document_builder *builder, struct gr_view name, struct gr_mark mark);

/* Whether the innermost open list or map is in flow style. */
bool gr_document_is_in_flow(const struct gr_document_builder *builder);

/* Reports the bound on what aliases and merges add, once. */
void gr_document_report_limit(struct gr_document_builder *builder, struct gr_mark mark);
bool gr_document_push_pending(struct gr_document_builder *builder, uint32_t item);

/* For a map with merge keys that is about to be closed: appends the pairs that they bring to the pending ones and their
 * keys to `builder->keys`, which holds the map's own. */
bool gr_document_merge_collect(struct gr_document_builder *builder, struct gr_document_frame *frame);
/* Once equal keys are known: keeps the first pair of each key, own ones before merged ones, without the `<<` and
 * without keys that are no scalars. */
void gr_document_merge_select(struct gr_document_builder *builder, struct gr_document_frame *frame, size_t own_count);

#endif
