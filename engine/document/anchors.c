/* A crit-bit tree (D. J. Bernstein's form): every inner node tests the bit at which its two halves first differ. */
#include "engine/document/document_internal.h"

struct gr_document_anchor_node {
  size_t byte;          /* which byte of the name is tested */
  unsigned char others; /* all bits but the tested one */
  uint32_t children[2]; /* INNER and the index of a node, or the index of an anchor */
};

enum { SUGGESTIONS_MAX = 256 };
static const uint32_t INNER = UINT32_C(1) << 31;

void gr_document_anchors_init(struct gr_document_anchors *anchors, struct gr_memory *memory) {
  *anchors = (struct gr_document_anchors){.memory = memory};
}

void gr_document_anchors_release(struct gr_document_anchors *anchors) {
  gr_memory_release(anchors->memory, anchors->entries);
  gr_memory_release(anchors->memory, anchors->nodes);
  gr_document_anchors_init(anchors, anchors->memory);
}

/* Past its end a name reads as zeros, which no name holds. */
static unsigned char byte_of(struct gr_view name, size_t index) {
  return index < name.length ? (unsigned char)name.bytes[index] : 0;
}

/* Adding 1 carries into bit 8 when the tested bit and all others are set. */
static unsigned direction(size_t byte, unsigned char others, struct gr_view name) {
  return (1u + (unsigned)(others | byte_of(name, byte))) >> 8;
}

/* The only anchor that could have that name. */
static uint32_t nearest_leaf(const struct gr_document_anchors *anchors, struct gr_view name) {
  uint32_t at = anchors->root;
  while (at & INNER) {
    const struct gr_document_anchor_node *node = &anchors->nodes[at & ~INNER];
    at = node->children[direction(node->byte, node->others, name)];
  }
  return at;
}

uint32_t gr_document_anchors_find(const struct gr_document_anchors *anchors, struct gr_view name) {
  if (anchors->count == 0) return GR_DOCUMENT_NO_ANCHOR;
  uint32_t leaf = nearest_leaf(anchors, name);
  return gr_view_equal(anchors->entries[leaf].name, name) ? leaf : GR_DOCUMENT_NO_ANCHOR;
}

/* Puts a leaf where the name first differs from its nearest one. */
static void insert(struct gr_document_anchors *anchors, uint32_t leaf, struct gr_view near) {
  struct gr_view name = anchors->entries[leaf].name;
  size_t byte = 0;
  while (byte_of(name, byte) == byte_of(near, byte)) byte++;
  unsigned difference = (unsigned)(byte_of(name, byte) ^ byte_of(near, byte));
  while (difference & (difference - 1)) difference &= difference - 1; /* the highest bit */
  unsigned char others = (unsigned char)(difference ^ 0xFFu);
  unsigned side = direction(byte, others, name);

  uint32_t *link = &anchors->root;
  while (*link & INNER) {
    struct gr_document_anchor_node *node = &anchors->nodes[*link & ~INNER];
    if (node->byte > byte || (node->byte == byte && node->others > others)) break;
    link = &node->children[direction(node->byte, node->others, name)];
  }
  uint32_t index = (uint32_t)anchors->node_count++;
  struct gr_document_anchor_node *added = &anchors->nodes[index];
  *added = (struct gr_document_anchor_node){.byte = byte, .others = others};
  added->children[side] = leaf;
  added->children[1 - side] = *link;
  *link = INNER | index;
}

uint32_t gr_document_anchors_add(struct gr_document_anchors *anchors, struct gr_view name) {
  if (!gr_memory_grow(anchors->memory, &anchors->entries, anchors->count, &anchors->capacity,
                      sizeof *anchors->entries) ||
      !gr_memory_grow(anchors->memory, &anchors->nodes, anchors->node_count, &anchors->node_capacity,
                      sizeof *anchors->nodes))
    return GR_DOCUMENT_NO_ANCHOR;
  uint32_t leaf = (uint32_t)anchors->count;
  struct gr_view near = anchors->count > 0 ? anchors->entries[nearest_leaf(anchors, name)].name : name;
  anchors->entries[anchors->count++] = (struct gr_document_anchor){.name = name};
  if (leaf == 0) {
    anchors->root = 0;
  } else {
    insert(anchors, leaf, near);
  }
  return leaf;
}

struct gr_view gr_document_anchors_nearest(const struct gr_document_anchors *anchors, struct gr_view name) {
  if (name.length < 2) return (struct gr_view){NULL, 0}; /* every other letter would be near */
  struct gr_view candidates[SUGGESTIONS_MAX];
  size_t count = anchors->count < SUGGESTIONS_MAX ? anchors->count : SUGGESTIONS_MAX;
  for (size_t i = 0; i < count; i++) candidates[i] = anchors->entries[i].name;
  size_t nearest = gr_text_nearest(name, candidates, count);
  return nearest == SIZE_MAX ? (struct gr_view){NULL, 0} : candidates[nearest];
}
