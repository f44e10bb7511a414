/* SPDX-License-Identifier: MIT */
/*
 * What statistics and a limit cost an allocator: the arena with counter groups and a quota, with
 * plain atomics instead, and with neither, at the same work. Each thread keeps a ring of blocks of
 * 16 to 512 bytes and replaces them one by one: an item is one allocation and one free, with four
 * counts.
 *
 * Single-threaded figures need a process that makes no thread: filter out "threads:".
 */
#include <stdlib.h>

#include "arena.h"
#include "harness/bench.h"

enum { RING = 64, SIZES = 1024, THREADS_MAX = 8 };

struct arena_kind {
    int (*create)(size_t limit, struct arena **out);
    void (*destroy)(struct arena *a);
    void *(*alloc)(struct arena *a, size_t size);
    void (*free)(struct arena *a, void *block);
};

#define ARENA(kind)                                            \
    int kind##_arena_create(size_t limit, struct arena **out); \
    void kind##_arena_destroy(struct arena *a);                \
    void *kind##_arena_alloc(struct arena *a, size_t size);    \
    void kind##_arena_free(struct arena *a, void *block);      \
    static const struct arena_kind kind = {                    \
        kind##_arena_create,                                   \
        kind##_arena_destroy,                                  \
        kind##_arena_alloc,                                    \
        kind##_arena_free,                                     \
    };

ARENA(fastmm)
ARENA(atomic)
ARENA(none)

struct state {
    struct arena *arena;
    uint16_t sizes[SIZES];
    void *rings[THREADS_MAX][RING];
};

static int setup(struct bench *b)
{
    const struct arena_kind *kind = b->spec->config;
    struct state *s = calloc(1, sizeof(*s));
    if (!s || kind->create((size_t)1 << 40, &s->arena) != 0) {
        free(s);
        return bench_skip(b, "no memory for an arena");
    }
    uint32_t x = 12345;
    for (unsigned i = 0; i < SIZES; i++) {
        x = x * 1664525 + 1013904223;
        s->sizes[i] = (uint16_t)(16 + (x >> 16) % 497);
    }
    b->data = s;
    return 0;
}

static void loop(struct bench *b, uint64_t iterations)
{
    const struct arena_kind *kind = b->spec->config;
    struct state *s = b->data;
    void **ring = s->rings[b->thread];
    for (uint64_t i = 0; i < iterations; i++) {
        void *p = kind->alloc(s->arena, s->sizes[i % SIZES]);
        bench_clobber(p);
        kind->free(s->arena, ring[i % RING]);
        ring[i % RING] = p;
    }
}

static void teardown(struct bench *b)
{
    const struct arena_kind *kind = b->spec->config;
    struct state *s = b->data;
    kind->destroy(s->arena);
    free(s);
}

static void add(const char *name, const struct arena_kind *kind, unsigned threads)
{
    struct bench_case spec = {
        .threads = threads, .config = kind, .setup = setup, .loop = loop, .teardown = teardown};
    bench_add(&spec, "embed/arena/%s", name);
}

static void add_cases(void)
{
    static const unsigned threads[] = {1, 2};
    for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        add("fastmm", &fastmm, threads[i]);
        add("atomic", &atomic, threads[i]);
        add("none", &none, threads[i]);
    }
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "embed", add_cases);
}
