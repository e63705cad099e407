/* Names to indexes: open addressing, each name once, linear in all. */
#include <stdio.h>

#include "engine/pipeline/pipeline_internal.h"

enum { NEAREST_CANDIDATES_MAX = 16384 }; /* so that twenty misspelt names cost no second */

struct gr_name_slot {
  uint32_t hash;
  uint32_t entry; /* into `names`, plus one; 0: free */
};

bool gr_name_table_init(struct gr_name_table *table, struct gr_memory *memory, uint32_t capacity) {
  *table = (struct gr_name_table){.memory = memory};
  uint64_t slots = 16;
  while (slots < (uint64_t)capacity * 2) slots *= 2;
  table->slots = gr_memory_allocate_zeroed(memory, slots, sizeof *table->slots);
  table->names = gr_memory_allocate_zeroed(memory, capacity, sizeof *table->names);
  table->indexes = gr_memory_allocate_zeroed(memory, capacity, sizeof *table->indexes);
  table->mask = slots - 1;
  table->capacity = capacity;
  if (table->slots && table->names && table->indexes) return true;
  gr_name_table_release(table);
  return false;
}

void gr_name_table_release(struct gr_name_table *table) {
  if (!table->memory) return;
  gr_memory_release(table->memory, table->slots);
  gr_memory_release(table->memory, table->names);
  gr_memory_release(table->memory, table->indexes);
  *table = (struct gr_name_table){.memory = NULL};
}

static uint32_t hash_name(struct gr_view name) {
  uint64_t hash = gr_view_hash(name);
  hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(hash >> 32);
}

/* The slot that holds the name, or the free one where it belongs. */
static struct gr_name_slot *find_slot(const struct gr_name_table *table, struct gr_view name, uint32_t hash) {
  uint64_t at = hash & table->mask;
  for (;; at = (at + 1) & table->mask) {
    struct gr_name_slot *slot = &table->slots[at];
    if (slot->entry == 0) return slot;
    if (slot->hash == hash && gr_view_equal(table->names[slot->entry - 1], name)) return slot;
  }
}

uint32_t gr_name_table_find(const struct gr_name_table *table, struct gr_view name) {
  if (!table->slots) return GR_NO_INDEX;
  const struct gr_name_slot *slot = find_slot(table, name, hash_name(name));
  return slot->entry == 0 ? GR_NO_INDEX : table->indexes[slot->entry - 1];
}

uint32_t gr_name_table_add(struct gr_name_table *table, struct gr_view name, uint32_t index) {
  uint32_t hash = hash_name(name);
  struct gr_name_slot *slot = find_slot(table, name, hash);
  if (slot->entry != 0) return table->indexes[slot->entry - 1];
  table->names[table->count] = name;
  table->indexes[table->count] = index;
  slot->hash = hash;
  slot->entry = ++table->count;
  return GR_NO_INDEX;
}

static char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter; }

/* To one letter every other one would be near: only the same in the other case counts. */
static struct gr_view nearest_letter(const struct gr_name_table *table, struct gr_view letter) {
  size_t count = table->count < NEAREST_CANDIDATES_MAX ? table->count : NEAREST_CANDIDATES_MAX;
  for (size_t i = 0; i < count; i++) {
    struct gr_view name = table->names[i];
    if (name.length == 1 && lower(name.bytes[0]) == lower(letter.bytes[0])) return name;
  }
  return (struct gr_view){NULL, 0};
}

struct gr_view gr_name_table_nearest(const struct gr_name_table *table, struct gr_view name) {
  if (name.length == 0) return (struct gr_view){NULL, 0};
  if (name.length == 1) return nearest_letter(table, name);
  size_t count = table->count < NEAREST_CANDIDATES_MAX ? table->count : NEAREST_CANDIDATES_MAX;
  size_t nearest = gr_text_nearest(name, table->names, count);
  return nearest == SIZE_MAX ? (struct gr_view){NULL, 0} : table->names[nearest];
}

struct gr_hint gr_hint_of(struct gr_view suggestion) {
  struct gr_hint hint = {.text = ""};
  if (suggestion.length > 0) {
    snprintf(hint.text, sizeof hint.text, "; did you mean %s?", gr_view_quote(suggestion).text);
  }
  return hint;
}
