/* SPDX-License-Identifier: MIT */
/*
 * An allocator that shows what an allocator author gets from libfastmm.
 *
 * An arena hands out blocks of any size from address space of its own, to any number of threads,
 * under a limit, and can be thrown away as a whole. What it takes from the library:
 *
 *   statistics   two counter groups, in atomic mode until a second thread allocates. Exact at any
 *                quiet moment, and cheap enough to be always on.
 *   the limit    a quota on the bytes handed out: never passed, and can be filled to the last byte.
 *   memory       calloc clears only what was used before, realloc and calloc move bytes through
 *                <fastmm/copy.h>.
 *
 * Misuse is never survived: a double free, a free of anything that was not handed out, and a
 * pointer into the middle of a block are named on standard error, and the process aborts. What is
 * merely impossible (an absurd size, the limit, no memory) is NULL with errno ENOMEM, and nothing
 * changed.
 *
 * Calls may run in any thread, beside each other, except arena_destroy(). They take locks, so not
 * in signal handlers; a child forked while other threads were inside must leave the arena alone.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena;

struct arena_stats {
    /* Address space, in bytes. */
    int64_t mapped;    /* held from the kernel, the arena's own tables included */
    int64_t committed; /* of that, readable and writable */
    int64_t purged;    /* given back by arena_purge() since the beginning */
    /* Blocks. Bytes are those that a block can hold, which may be more than were asked for. */
    int64_t live_bytes; /* handed out now */
    int64_t allocations;
    int64_t frees;
    int64_t cleared; /* bytes that calloc had to clear */
    int64_t fresh;   /* bytes that calloc knew to be zero */
    int64_t copied;  /* bytes that realloc copied */
};

/* At most `limit` bytes handed out at any time; SIZE_MAX: no limit. 0 or a negative errno. */
int arena_create(size_t limit, struct arena **out);

/* Gives everything back, blocks still in use included. */
void arena_destroy(struct arena *a);

/* Blocks are aligned to 16; those of 4096 bytes times a power of two, and above 32 KiB, to 4096. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_calloc(struct arena *a, size_t count, size_t size);
void *arena_realloc(struct arena *a, void *block, size_t size);
void arena_free(struct arena *a, void *block);

/* The bytes that the block can hold. */
size_t arena_usable(struct arena *a, void *block);

/* Gives unused memory back to the kernel; returns the bytes. */
size_t arena_purge(struct arena *a);

/* The statistics as counted. Exact when no other call runs. */
void arena_get_stats(struct arena *a, struct arena_stats *out);

/*
 * The same by walking the tables, for checking the above: mapped, committed, live_bytes, and in
 * `allocations` the blocks in use. The rest is 0.
 */
void arena_audit(struct arena *a, struct arena_stats *out);

#endif
