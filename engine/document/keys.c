/* Keys of equal text. Large maps are sorted by hash and then by text, rather than put into a hash table: no choice of
 * keys makes that slower than n log n, and it needs no secret seed. */
#include <string.h>

#include "engine/document/document_internal.h"

enum { SMALL_MAP_KEYS = 12 };

void gr_document_keys_init(struct gr_document_keys *keys, struct gr_memory *memory) {
  *keys = (struct gr_document_keys){.memory = memory};
}

void gr_document_keys_release(struct gr_document_keys *keys) {
  gr_memory_release(keys->memory, keys->list);
  gr_memory_release(keys->memory, keys->hashes);
  gr_document_keys_init(keys, keys->memory);
}

bool gr_document_keys_add(struct gr_document_keys *keys, uint32_t item) {
  if (!gr_memory_grow(keys->memory, &keys->list, keys->count, &keys->capacity, sizeof *keys->list)) return false;
  uint32_t index = (uint32_t)keys->count++;
  keys->list[index] = (struct gr_document_key){item, index};
  return true;
}

static bool are_equal(const struct gr_item *a, const struct gr_item *b) {
  return a->kind == GR_ITEM_SCALAR && b->kind == GR_ITEM_SCALAR && gr_view_equal(gr_item_text(a), gr_item_text(b));
}

static void compare_all(struct gr_document_keys *keys, const struct gr_item *items) {
  for (size_t i = 1; i < keys->count; i++) {
    struct gr_document_key *key = &keys->list[i];
    for (size_t j = 0; j < i; j++) {
      if (!are_equal(&items[key->item], &items[keys->list[j].item])) continue;
      key->first = (uint32_t)j;
      break;
    }
  }
}

static const struct gr_item *item_of(const struct gr_document_keys *keys, const struct gr_item *items,
                                     struct gr_document_key_hash entry) {
  return &items[keys->list[entry.index].item];
}

/* Whether `b` has to come before `a`, which is earlier in the file. */
static bool is_out_of_order(const struct gr_document_keys *keys, const struct gr_item *items,
                            struct gr_document_key_hash a, struct gr_document_key_hash b) {
  if (a.hash != b.hash) return b.hash < a.hash;
  const struct gr_item *x = item_of(keys, items, a);
  const struct gr_item *y = item_of(keys, items, b);
  if (x->count != y->count) return y->count < x->count;
  return x->count > 0 && memcmp(y->text, x->text, x->count) < 0;
}

/* Merges the sorted runs [start, middle) and [middle, end) of `from` into `to`; equal keys stay in file order. */
static void merge_runs(const struct gr_document_keys *keys, const struct gr_item *items,
                       const struct gr_document_key_hash *from, struct gr_document_key_hash *to, size_t start,
                       size_t middle, size_t end) {
  size_t left = start;
  size_t right = middle;
  for (size_t at = start; at < end; at++) {
    bool take_right = left == middle || (right < end && is_out_of_order(keys, items, from[left], from[right]));
    to[at] = take_right ? from[right++] : from[left++];
  }
}

/* Bottom up, so without recursion. The return value is the row that holds the result. */
static struct gr_document_key_hash *sort(const struct gr_document_keys *keys, const struct gr_item *items,
                                         struct gr_document_key_hash *from, struct gr_document_key_hash *to,
                                         size_t count) {
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t start = 0; start < count; start += 2 * width) {
      size_t middle = count - start > width ? start + width : count;
      size_t end = count - middle > width ? middle + width : count;
      merge_runs(keys, items, from, to, start, middle, end);
    }
    struct gr_document_key_hash *sorted = to;
    to = from;
    from = sorted;
  }
  return from;
}

static bool reserve_hashes(struct gr_document_keys *keys) {
  if (keys->count <= keys->hash_capacity) return true;
  struct gr_document_key_hash *hashes = gr_memory_resize(keys->memory, keys->hashes, keys->count, 2 * sizeof *hashes);
  if (!hashes) return false;
  keys->hashes = hashes;
  keys->hash_capacity = keys->count;
  return true;
}

bool gr_document_keys_find_equal(struct gr_document_keys *keys, const struct gr_item *items) {
  if (keys->count <= SMALL_MAP_KEYS) {
    compare_all(keys, items);
    return true;
  }
  if (!reserve_hashes(keys)) return false;
  size_t count = 0;
  for (uint32_t i = 0; i < keys->count; i++) {
    const struct gr_item *item = &items[keys->list[i].item];
    if (item->kind == GR_ITEM_SCALAR)
      keys->hashes[count++] = (struct gr_document_key_hash){gr_view_hash(gr_item_text(item)), i};
  }
  const struct gr_document_key_hash *sorted =
      sort(keys, items, keys->hashes, keys->hashes + keys->hash_capacity, count);
  for (size_t i = 1; i < count; i++) {
    if (sorted[i].hash == sorted[i - 1].hash &&
        are_equal(item_of(keys, items, sorted[i]), item_of(keys, items, sorted[i - 1])))
      keys->list[sorted[i].index].first = keys->list[sorted[i - 1].index].first;
  }
  return true;
}
