/* SPDX-License-Identifier: MIT */
#include "arena.h"

#include <string.h>
#include <sys/mman.h>

struct arena_block {
    struct arena_block *next;
};

/* At the start of each chunk; the page it takes keeps every other block aligned. */
struct arena_chunk {
    struct arena_chunk *next;
};

static void *system_map(void *context, size_t bytes, size_t align)
{
    (void)context;
    size_t whole = bytes + align;
    if (whole < bytes)
        return NULL;
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t before = (align - ((uintptr_t)memory & (align - 1))) & (align - 1);
    if (before)
        munmap(memory, before);
    munmap(memory + before + bytes, align - before);
    return memory + before;
}

static void system_unmap(void *context, void *memory, size_t bytes)
{
    (void)context;
    munmap(memory, bytes);
}

void fastmm_arena_open(struct arena *arena, const struct fastmm_machine_config *config)
{
    memset(arena, 0, sizeof(*arena));
    arena->map = config->map ? config->map : system_map;
    arena->unmap = config->map ? config->unmap : system_unmap;
    arena->context = config->context;
    arena->huge = !config->map && !config->no_huge_arenas;
    arena->budget = UINT64_MAX;
}

void fastmm_arena_close(struct arena *arena)
{
    struct arena_chunk *next;
    for (struct arena_chunk *chunk = arena->chunks; chunk; chunk = next) {
        next = chunk->next;
        arena->unmap(arena->context, chunk, ARENA_CHUNK);
    }
}

bool fastmm_arena_spend(struct arena *arena)
{
    if (arena->budget == UINT64_MAX)
        return true;
    if (arena->budget == 0)
        return false;
    arena->budget--;
    return true;
}

/* Zeroed memory in whole chunks. */
static void *map_chunks(struct arena *arena, uint64_t bytes)
{
    if (bytes > SIZE_MAX - 2 * ARENA_CHUNK)
        return NULL;
    void *memory = arena->map(arena->context, (size_t)bytes, ARENA_CHUNK);
#ifdef MADV_HUGEPAGE
    if (memory && arena->huge && madvise(memory, (size_t)bytes, MADV_HUGEPAGE) == 0)
        arena->huge_bytes += bytes;
#endif
    return memory;
}

static uint64_t whole_chunks(uint64_t bytes)
{
    return (bytes + ARENA_CHUNK - 1) & ~(ARENA_CHUNK - 1);
}

static unsigned class_of(uint64_t bytes)
{
    unsigned shift = ARENA_MIN_SHIFT;
    while (UINT64_C(1) << shift < bytes)
        shift++;
    return shift - ARENA_MIN_SHIFT;
}

/* A zeroed block from the untouched part of a chunk. */
static void *cut(struct arena *arena, uint64_t size)
{
    uint64_t align = size < FASTMM_PAGE_SIZE ? size : FASTMM_PAGE_SIZE;
    uint64_t left = (uint64_t)(arena->bump_end - arena->bump);
    uint64_t skip = (uint64_t)(-(uintptr_t)arena->bump) & (align - 1);
    if (!arena->chunks || left < skip + size) {
        struct arena_chunk *chunk = map_chunks(arena, ARENA_CHUNK);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->bump = (char *)chunk + FASTMM_PAGE_SIZE;
        arena->bump_end = (char *)chunk + ARENA_CHUNK;
        skip = 0;
    }
    void *block = arena->bump + skip;
    arena->bump += skip + size;
    return block;
}

/* As fastmm_arena_alloc(); *zeroed says whether the block is. */
static void *take(struct arena *arena, uint64_t bytes, bool *zeroed)
{
    if (!fastmm_arena_spend(arena))
        return NULL;
    void *block;
    *zeroed = true;
    if (bytes > UINT64_C(1) << ARENA_MAX_SHIFT) {
        block = bytes > UINT64_MAX - ARENA_CHUNK ? NULL : map_chunks(arena, whole_chunks(bytes));
    } else {
        unsigned class = class_of(bytes);
        struct arena_block *head = arena->free[class];
        if (head) {
            arena->free[class] = head->next;
            *zeroed = false;
            block = head;
        } else {
            block = cut(arena, UINT64_C(1) << (class + ARENA_MIN_SHIFT));
        }
    }
    arena->blocks += block != NULL;
    return block;
}

void *fastmm_arena_alloc(struct arena *arena, uint64_t bytes)
{
    bool zeroed;
    return take(arena, bytes, &zeroed);
}

void *fastmm_arena_zalloc(struct arena *arena, uint64_t bytes)
{
    bool zeroed;
    void *block = take(arena, bytes, &zeroed);
    if (block && !zeroed)
        memset(block, 0, (size_t)bytes);
    return block;
}

void fastmm_arena_free(struct arena *arena, void *block, uint64_t bytes)
{
    if (!block)
        return;
    arena->blocks--;
    if (bytes > UINT64_C(1) << ARENA_MAX_SHIFT) {
        uint64_t whole = whole_chunks(bytes);
        if (arena->huge)
            arena->huge_bytes -= whole;
        arena->unmap(arena->context, block, (size_t)whole);
        return;
    }
    struct arena_block *head = block;
    unsigned class = class_of(bytes);
    head->next = arena->free[class];
    arena->free[class] = head;
}
