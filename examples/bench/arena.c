/* SPDX-License-Identifier: MIT */
/*
 * The arena. Each thread keeps a ring of blocks of 16 to 512 bytes and replaces them one by one: an
 * item is one allocation and one free, with two counts, a charge and its return.
 */
#include "arena/arena.h"

#include <stdlib.h>

#include "cases.h"

enum { RING = 64, SIZES = 1024 };

struct arena_kind {
    int (*create)(size_t limit, struct arena **out);
    void (*destroy)(struct arena *a);
    void *(*alloc)(struct arena *a, size_t size);
    void (*free)(struct arena *a, void *block);
    void (*look)(struct arena *a, struct arena_stats *out); /* as counted, or in the tables */
};

#define ARENA(way, looking)                                               \
    int way##_arena_create(size_t limit, struct arena **out);             \
    void way##_arena_destroy(struct arena *a);                            \
    void *way##_arena_alloc(struct arena *a, size_t size);                \
    void way##_arena_free(struct arena *a, void *block);                  \
    void way##_arena_##looking(struct arena *a, struct arena_stats *out); \
    static const struct arena_kind way = {                                \
        way##_arena_create, way##_arena_destroy,   way##_arena_alloc,     \
        way##_arena_free,   way##_arena_##looking,                        \
    };

ARENA(fastmm, get_stats)
ARENA(atomic, get_stats)
ARENA(none, audit)

struct state {
    struct arena *arena;
    uint32_t sizes[SIZES];
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
    fill_sizes(s->sizes, SIZES, 16, 512);
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

/* What was counted, which without statistics is read from the tables. */
static uint64_t digest(struct bench *b)
{
    const struct arena_kind *kind = b->spec->config;
    struct state *s = b->data;
    struct arena_stats seen;
    loop(b, 5000);
    kind->look(s->arena, &seen);
    int64_t figures[] = {seen.mapped, seen.committed, seen.live_bytes,
                         seen.allocations - seen.frees};
    return bench_digest(0, figures, sizeof(figures));
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
    struct bench_case spec = {.threads = threads,
                              .config = kind,
                              .setup = setup,
                              .loop = loop,
                              .digest = digest,
                              .teardown = teardown};
    bench_add(&spec, "embed/arena/%s", name);
}

void add_cases_of_arena(void)
{
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
        add("fastmm", &fastmm, threads);
        add("atomic", &atomic, threads);
        add("none", &none, threads);
    }
}
