/* Compiled code on disk, shared by all processes of a user: a folder of entries, each found by a key and checked byte
 * by byte against the whole key, so that no two things are ever taken for one another.
 *
 * An entry is one file: the payload, the key, and a footer that says where each begins and holds a sum over both, so
 * that a cut or damaged file is as good as none. Entries appear whole (written under another name and renamed), are
 * never changed, and the least recently used ones go when the folder holds more than its limit. Two processes that
 * make the same entry at once both succeed. A payload that is a shared object can be opened from the entry's path:
 * loaders take no notice of what follows it. */
#ifndef GRAPHRUN_ENGINE_BASE_CACHE_H
#define GRAPHRUN_ENGINE_BASE_CACHE_H

#include "engine/base/file.h"
#include "engine/base/text.h"

struct gr_cache;

enum { GR_CACHE_LIMIT_BYTES = 256 << 20 }; /* the default */

/* `folder` is copied; nothing is created before the first store. `limit_bytes` 0: the default. Null without memory. */
struct gr_cache *gr_cache_create(struct gr_memory *memory, const char *folder, uint64_t limit_bytes);
void gr_cache_destroy(struct gr_cache *cache);

/* What was found, or kept. */
struct gr_cache_entry {
  struct gr_file_bytes payload; /* owned */
  char *path;                   /* of the entry's file, owned; another process may remove it at any time */
};
/* Safe on a zeroed struct. */
void gr_cache_entry_release(struct gr_memory *memory, struct gr_cache_entry *entry);

/* True where there is an entry for exactly that key; it then counts as used now. `kind` is a short word for the file's
 * name ("cubin", "so"). Whatever cannot be read is as good as not there. May be called from several threads, also with
 * a null cache, which has nothing. */
bool gr_cache_find(const struct gr_cache *cache, const char *kind, struct gr_view key, struct gr_cache_entry *entry);
/* Keeps a payload. False where that cannot be done (a folder that is read-only or full, no memory): nothing is lost by
 * it, and `why` (may be null) says so in a sentence. `path` (may be null) gets the entry's path, owned by the caller.
 */
bool gr_cache_store(const struct gr_cache *cache, const char *kind, struct gr_view key, struct gr_view payload,
                    char **path, struct gr_error *why);

#endif
