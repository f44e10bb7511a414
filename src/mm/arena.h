/* SPDX-License-Identifier: MIT */
/*
 * Where a machine's memory comes from: blocks of powers of two cut from 2 MiB chunks, so that
 * tables lie in huge pages where the system grants them, and blocks that a workload frees are
 * reused by the next. A block is aligned to its size, up to a page. Everything goes back to the
 * system when the arena closes.
 */
#ifndef FASTMM_SRC_MM_ARENA_H
#define FASTMM_SRC_MM_ARENA_H

#include <fastmm/mm.h>

#define ARENA_CHUNK     (UINT64_C(2) << 20)
#define ARENA_MIN_SHIFT 6  /* 64 bytes */
#define ARENA_MAX_SHIFT 20 /* larger blocks come straight from the system */
#define ARENA_CLASSES   (ARENA_MAX_SHIFT - ARENA_MIN_SHIFT + 1)

struct arena_block;
struct arena_chunk;

struct arena {
    void *(*map)(void *context, size_t bytes, size_t align);
    void (*unmap)(void *context, void *memory, size_t bytes);
    void *context;
    bool huge; /* ask for huge pages (only for memory of our own mmap) */
    struct arena_block *free[ARENA_CLASSES];
    struct arena_chunk *chunks;
    char *bump, *bump_end; /* what is left of the newest chunk, still zero */
    uint64_t budget;       /* allocations that may still succeed; UINT64_MAX: no limit */
    uint64_t blocks;       /* live */
    uint64_t huge_bytes;
};

/* The functions of the configuration, or mmap. */
void fastmm_arena_open(struct arena *arena, const struct fastmm_machine_config *config);

/* Returns all chunks. Blocks larger than 1 MiB must have been freed. */
void fastmm_arena_close(struct arena *arena);

/* Takes one allocation off the budget; false when it is used up. */
bool fastmm_arena_spend(struct arena *arena);

/* A block of at least `bytes`, or NULL. The first is zeroed. */
void *fastmm_arena_zalloc(struct arena *arena, uint64_t bytes);
void *fastmm_arena_alloc(struct arena *arena, uint64_t bytes);

/* Takes back a block of `bytes`, as they were asked for. NULL is ignored. */
void fastmm_arena_free(struct arena *arena, void *block, uint64_t bytes);

#endif
