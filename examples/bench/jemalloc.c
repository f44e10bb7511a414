/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's extent hooks. Each thread has a jemalloc arena of its own, which gives memory back at
 * once, and keeps a ring of blocks of 16 to 28 KiB that it replaces one by one: an item is one
 * allocation and one free, in which the hooks clear the block and count it. That is the cheapest
 * thing the hooks ever do, so that counting shows most; the others call the kernel.
 *
 * "own" is jemalloc without our hooks: what the whole of them costs or saves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cases.h"
#include "jemalloc/book.h"
#include "jemalloc/hooks.h"

enum { RING = 16, SIZES = 256 };

extern extent_hooks_t fastmm_hooks, atomic_hooks, none_hooks;
extern struct hooks_state fastmm_hooks_state, atomic_hooks_state, none_hooks_state;

struct way {
    extent_hooks_t *hooks;
    struct hooks_state *counted; /* NULL: nothing is */
};

static const struct way fastmm = {&fastmm_hooks, &fastmm_hooks_state};
static const struct way atomic = {&atomic_hooks, &atomic_hooks_state};
static const struct way none = {&none_hooks, NULL};
static const struct way own = {NULL, NULL};

struct view {
    int64_t mapped, committed;
};

struct state {
    unsigned arenas[THREADS_MAX];
    uint32_t sizes[SIZES];
    struct view counted_before, marked_before;
    void *rings[THREADS_MAX][RING];
};

static struct view marked(void)
{
    return (struct view){(int64_t)book_bytes(BOOK_MAPPED), (int64_t)book_bytes(BOOK_COMMITTED)};
}

/* Where nothing is counted, the marks stand for it. */
static struct view counted(const struct way *way)
{
    if (!way->counted)
        return marked();
    struct fastmm_counter_group *figures = &way->counted->figures.group;
    return (struct view){fastmm_counter_group_sum(figures, MAPPED),
                         fastmm_counter_group_sum(figures, COMMITTED)};
}

static int set_decay(unsigned arena, const char *what)
{
    char name[64];
    ssize_t at_once = 0;
    snprintf(name, sizeof(name), "arena.%u.%s_decay_ms", arena, what);
    return mallctl(name, NULL, NULL, &at_once, sizeof(at_once));
}

static int make_arena(const struct way *way, unsigned *out)
{
    extent_hooks_t *wanted = way->hooks;
    size_t length = sizeof(*out);
    int error = mallctl("arenas.create", out, &length, wanted ? &wanted : NULL,
                        wanted ? sizeof(wanted) : 0);
    if (!error)
        error = set_decay(*out, "dirty");
    return error ? error : set_decay(*out, "muzzy");
}

static int setup(struct bench *b)
{
    const struct way *way = b->spec->config;
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return bench_skip(b, "no memory");
    if (way == &fastmm)
        fastmm_counter_group_percpu(&way->counted->figures.group);
    s->counted_before = counted(way);
    s->marked_before = marked();
    for (unsigned t = 0; t < b->threads; t++) {
        int error = make_arena(way, &s->arenas[t]);
        if (error) {
            free(s);
            return bench_skip(b, "jemalloc makes no arena: %s", strerror(error));
        }
    }
    fill_sizes(s->sizes, SIZES, 16 << 10, 28 << 10);
    b->data = s;
    return 0;
}

static void loop(struct bench *b, uint64_t iterations)
{
    struct state *s = b->data;
    void **ring = s->rings[b->thread];
    int flags = MALLOCX_ARENA(s->arenas[b->thread]) | MALLOCX_TCACHE_NONE;
    for (uint64_t i = 0; i < iterations; i++) {
        void *p = mallocx(s->sizes[i % SIZES], flags);
        bench_clobber(p);
        if (ring[i % RING])
            dallocx(ring[i % RING], flags);
        ring[i % RING] = p;
    }
}

/* The blocks, and whether what was mapped and committed for them is counted as it is marked. */
static uint64_t digest(struct bench *b)
{
    const struct way *way = b->spec->config;
    struct state *s = b->data;
    loop(b, 2000);
    struct view by_count = counted(way), by_mark = marked();
    int exact =
        by_count.mapped - s->counted_before.mapped == by_mark.mapped - s->marked_before.mapped &&
        by_count.committed - s->counted_before.committed ==
            by_mark.committed - s->marked_before.committed;
    size_t usable[RING + 1] = {(size_t)exact};
    for (unsigned i = 0; i < RING; i++)
        usable[i + 1] = sallocx(s->rings[0][i], 0);
    return bench_digest(0, usable, sizeof(usable));
}

static void teardown(struct bench *b)
{
    struct state *s = b->data;
    for (unsigned t = 0; t < b->threads; t++) {
        char name[64];
        snprintf(name, sizeof(name), "arena.%u.destroy", s->arenas[t]);
        mallctl(name, NULL, NULL, NULL, 0);
    }
    free(s);
}

static void add(const char *name, const struct way *way, unsigned threads)
{
    struct bench_case spec = {.threads = threads,
                              .config = way,
                              .setup = setup,
                              .loop = loop,
                              .digest = digest,
                              .teardown = teardown};
    bench_add(&spec, "embed/jemalloc/%s", name);
}

void add_cases_of_jemalloc(void)
{
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
        add("fastmm", &fastmm, threads);
        add("atomic", &atomic, threads);
        add("none", &none, threads);
        add("own", &own, threads);
    }
}
