/* A YAML file as a tree of maps, lists and scalars, each with its place. The document is the first value on the road
 * text -> document -> pipeline -> dag -> plan -> executable -> run -> report; made once by gr_document_parse, then
 * only read.
 *
 * Invariants: every item has a 1-based line and column; keys of a map are scalars and unique; aliases and merge keys
 * are resolved (a subtree used twice is shared, so the tree is a DAG without cycles and must not be walked without a
 * bound: `expanded_count` is that bound); depth is at most GR_DOCUMENT_DEPTH_MAX, the root included. What an alias
 * stands for has the alias's place, what lies in it has its own; merged pairs come after a map's own ones.
 *
 * A flawed document is one of a file with errors that leave the tree whole: of a key that is given twice the first
 * stays, a tag that is not allowed is as good as none, what `<<` cannot take adds nothing, a pair whose key is no
 * scalar is left out, and GR_ITEM_REFUSED stands for an alias that means nothing. It is there so that the rest of the
 * file can be judged in the same pass. */
#ifndef GRAPHRUN_ENGINE_DOCUMENT_DOCUMENT_H
#define GRAPHRUN_ENGINE_DOCUMENT_DOCUMENT_H

#include "engine/base/diagnostic.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"

enum {
  GR_DOCUMENT_DEPTH_MAX = 64,
  GR_DOCUMENT_ALIAS_ITEMS_MAX = 16 << 20, /* items that aliases and merges may add */
};

enum gr_item_kind {
  GR_ITEM_SCALAR,
  GR_ITEM_LIST,
  GR_ITEM_MAP,
  GR_ITEM_REFUSED, /* flawed documents only: what is wrong with it has been said */
};

/* 24 bytes: a file of a million nodes has some twenty million of these. */
struct gr_item {
  uint32_t line;
  uint32_t column;
  union {
    const char *text;     /* scalar: not terminated, may hold any byte */
    uint64_t first_child; /* list: index into `children`; map: likewise, key and value in turn */
  };
  uint32_t count;   /* scalar: bytes; list: children; map: pairs */
  uint8_t kind;     /* enum gr_item_kind */
  uint8_t is_plain; /* scalar without quotes and not a block scalar: what `~` and an empty value need to know */
  uint8_t is_flow;  /* list or map in flow style, or scalar directly inside one: for the 'quote it' hint */
  uint8_t is_cut;   /* map of a flawed document that lacks pairs which were refused: what is not in it is not missing */
};

struct gr_document {
  struct gr_arena arena;
  const char *file;      /* the name that messages show */
  struct gr_view source; /* a private copy of the file's bytes */
  const struct gr_item *items;
  uint32_t item_count;
  const uint32_t *children; /* item indexes */
  uint32_t root;            /* a map */
  uint64_t expanded_count;  /* items as if every alias had been copied; of a flawed document at most so many */
  bool is_flawed;           /* see above */
};

/* Parses `source`, which is copied. Every problem goes to `diagnostics`; on any error the return value is not GR_OK:
 * GR_ERR_INVALID, GR_ERR_NO_MEMORY. With GR_ERR_INVALID *document is a flawed one where the tree is whole all the same,
 * which the caller destroys like any other; errors of encoding and syntax, lists and maps that are nested too deep,
 * aliases that add too much and a root that is no map leave it untouched, as GR_ERR_NO_MEMORY does. Time is linear in
 * the bytes. May be called from several threads on different arguments. */
enum gr_status gr_document_parse(struct gr_memory *memory, const char *file, struct gr_view source,
                                 struct gr_diagnostics *diagnostics, struct gr_document **document);
/* Null is allowed. */
void gr_document_destroy(struct gr_document *document);

static inline const struct gr_item *gr_document_item(const struct gr_document *document, uint32_t index) {
  return &document->items[index];
}
/* The index of child `n` of a list; of key n (2n) and value n (2n + 1) of a map. */
static inline uint32_t gr_document_child(const struct gr_document *document, const struct gr_item *item, uint64_t n) {
  return document->children[item->first_child + n];
}
static inline struct gr_view gr_item_text(const struct gr_item *item) {
  return (struct gr_view){item->text, item->count};
}
static inline struct gr_mark gr_item_mark(const struct gr_item *item) {
  return (struct gr_mark){item->line, item->column};
}

/* The tree as indented text, for --dump=document and tests. */
void gr_document_show(const struct gr_document *document, struct gr_text *out);

#endif
