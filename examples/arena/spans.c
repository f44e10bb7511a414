/* SPDX-License-Identifier: MIT */
/*
 * Where the arena's address space comes from, and who has which part of it. Every successful mmap
 * and munmap is counted right where it is made, so what is counted is what is mapped even when a
 * later step fails.
 */
#define _GNU_SOURCE
#include <fastmm/copy.h>
#include <sys/mman.h>

#include "internal.h"

/* From here on it pays to write past the cache. */
#define CLEAR_HUGE_MIN ((size_t)2 << 20)

/* ---- Sets of spans ---- */

static int has(const struct span_set *set, unsigned i)
{
    return set->words[i / 64] >> (i % 64) & 1;
}

static void add(struct span_set *set, unsigned i)
{
    set->words[i / 64] |= (uint64_t)1 << (i % 64);
}

static void add_run(struct span_set *set, unsigned first, size_t n)
{
    for (unsigned i = first; i < first + n; i++)
        add(set, i);
}

static void remove_run(struct span_set *set, unsigned first, size_t n)
{
    for (unsigned i = first; i < first + n; i++)
        set->words[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* The length of the stretch of spans that begins at `first`, all in the set or all outside. */
static unsigned stretch(const struct span_set *set, unsigned first, unsigned end)
{
    unsigned i = first + 1;
    while (i < end && has(set, i) == has(set, first))
        i++;
    return i - first;
}

/* ---- Mappings ---- */

static void *map(struct statistics *s, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    count(&s->footprint.group, MAPPED, (int64_t)bytes);
    return p;
}

/* The kernel refuses when it has no room for one more area; what stays mapped stays counted. */
static int unmap(struct statistics *s, void *p, size_t bytes)
{
    if (bytes && munmap(p, bytes) != 0)
        return 0;
    count(&s->footprint.group, MAPPED, -(int64_t)bytes);
    return 1;
}

/* For what is in no table: if the kernel refuses, it is lost, but known. */
static void discard(struct arena *a, void *p, size_t bytes)
{
    if (!unmap(&a->statistics, p, bytes))
        a->lost += bytes;
}

static void *map_region(struct arena *a, size_t bytes)
{
    char *p = map(&a->statistics, bytes);
    if (!p)
        return NULL;
    size_t ahead = -(uintptr_t)p & (REGION_BYTES - 1);
    if (!ahead)
        return p;
    discard(a, p, bytes);
    p = map(&a->statistics, bytes + REGION_BYTES - PAGE_BYTES);
    if (!p)
        return NULL;
    ahead = -(uintptr_t)p & (REGION_BYTES - 1);
    discard(a, p, ahead);
    discard(a, p + ahead + bytes, REGION_BYTES - PAGE_BYTES - ahead);
    return p + ahead;
}

static int commit(struct statistics *s, void *p, size_t bytes)
{
    if (mprotect(p, bytes, PROT_READ | PROT_WRITE) != 0)
        return 0;
    count(&s->footprint.group, COMMITTED, (int64_t)bytes);
    return 1;
}

struct arena *arena_map(int64_t limit)
{
    struct statistics first = {FASTMM_COUNTER_GROUP_INIT(FOOTPRINT_COUNT),
                               FASTMM_COUNTER_GROUP_INIT(TRAFFIC_COUNT),
                               FASTMM_QUOTA_INIT(limit, LIMIT_BATCH)};
    struct arena *a = map(&first, sizeof(*a));
    if (!a)
        return NULL;
    if (!commit(&first, a, sizeof(*a))) {
        munmap(a, sizeof(*a));
        return NULL;
    }
    a->statistics = first;
    return a;
}

void arena_unmap(struct arena *a)
{
    while (a->regions) {
        struct region *r = a->regions;
        a->regions = r->next;
        munmap(r, r->bytes);
    }
    munmap(a, sizeof(*a));
}

/* ---- Regions ---- */

struct region *arena_region_of(struct arena *a, const void *p)
{
    uintptr_t unit = (uintptr_t)p >> REGION_SHIFT;
    if (unit >= sizeof(a->directory) / sizeof(a->directory[0]))
        return NULL;
    return __atomic_load_n(&a->directory[unit], __ATOMIC_ACQUIRE);
}

static void publish(struct arena *a, const struct region *at, struct region *r)
{
    __atomic_store_n(&a->directory[(uintptr_t)at >> REGION_SHIFT], r, __ATOMIC_RELEASE);
}

static struct region *make_region(struct arena *a, size_t bytes, size_t huge_bytes)
{
    struct region *r = map_region(a, bytes);
    if (!r)
        return NULL;
    if ((uintptr_t)r >> ADDRESS_BITS ||
        !commit(&a->statistics, r, TABLE_SPANS * (size_t)SPAN_BYTES + huge_bytes)) {
        discard(a, r, bytes);
        return NULL;
    }
    r->bytes = bytes;
    r->huge_bytes = huge_bytes;
    add_run(&r->busy, 0, TABLE_SPANS);
    add_run(&r->committed, 0, TABLE_SPANS);
    r->next = a->regions;
    a->regions = r;
    publish(a, r, r);
    return r;
}

/* What can't be unmapped stays in the tables, for the next purge. */
static size_t drop_region(struct arena *a, struct region *r)
{
    size_t committed = TABLE_SPANS * (size_t)SPAN_BYTES + r->huge_bytes;
    struct region **place = &a->regions, *next = r->next;
    while (*place != r)
        place = &(*place)->next;
    if (!unmap(&a->statistics, r, r->bytes))
        return 0;
    count(&a->statistics.footprint.group, COMMITTED, -(int64_t)committed);
    *place = next;
    publish(a, r, NULL);
    return committed;
}

/* The first of `n` adjacent spans that nobody has, or 0. */
static unsigned find_run(const struct region *r, size_t n)
{
    if (r->huge_bytes)
        return 0;
    for (unsigned i = TABLE_SPANS; i < REGION_SPANS;) {
        unsigned length = stretch(&r->busy, i, REGION_SPANS);
        if (!has(&r->busy, i) && length >= n)
            return i;
        i += length;
    }
    return 0;
}

static int commit_run(struct arena *a, struct region *r, unsigned first, size_t n)
{
    unsigned end = first + (unsigned)n;
    for (unsigned i = first, length; i < end; i += length) {
        length = stretch(&r->committed, i, end);
        if (has(&r->committed, i))
            continue;
        void *p = span_memory(r, &r->spans[i]);
        if (!commit(&a->statistics, p, length * (size_t)SPAN_BYTES))
            return 0;
        add_run(&r->committed, i, length);
    }
    return 1;
}

/* ---- Runs of spans ---- */

static struct span *begin_run(struct region *r, unsigned first, size_t n, enum span_state state)
{
    struct span *s = &r->spans[first];
    s->count = n;
    s->used = state == SPAN_LARGE;
    __atomic_store_n(&s->state, state, __ATOMIC_RELEASE);
    return s;
}

static struct span *take_huge(struct arena *a, size_t n)
{
    size_t bytes = n * SPAN_BYTES;
    struct region *r = make_region(a, TABLE_SPANS * (size_t)SPAN_BYTES + bytes, bytes);
    return r ? begin_run(r, TABLE_SPANS, n, SPAN_LARGE) : NULL;
}

static struct span *take_run(struct arena *a, size_t n, enum span_state state)
{
    struct region *r = a->regions;
    unsigned first = 0;
    while (r && (first = find_run(r, n)) == 0)
        r = r->next;
    if (!r) {
        r = make_region(a, REGION_BYTES, 0);
        first = TABLE_SPANS;
    }
    if (!r || !commit_run(a, r, first, n))
        return NULL;
    add_run(&r->busy, first, n);
    for (unsigned i = first + 1; i < first + n; i++)
        __atomic_store_n(&r->spans[i].state, SPAN_TAIL, __ATOMIC_RELAXED);
    return begin_run(r, first, n, state);
}

struct span *arena_take_spans(struct arena *a, size_t n, enum span_state state)
{
    pthread_mutex_lock(&a->lock);
    struct span *s = n > REGION_SPANS - TABLE_SPANS ? take_huge(a, n) : take_run(a, n, state);
    pthread_mutex_unlock(&a->lock);
    return s;
}

void arena_give_spans(struct arena *a, struct span *s)
{
    struct region *r = span_region(s);
    pthread_mutex_lock(&a->lock);
    if (r->huge_bytes) {
        drop_region(a, r);
    } else {
        unsigned first = (unsigned)(s - r->spans);
        remove_run(&r->busy, first, s->count);
        for (size_t i = 0; i < s->count; i++)
            s[i].soiled = 1;
    }
    pthread_mutex_unlock(&a->lock);
}

/* Spans of the run from the i-th on that are as soiled as it is. A huge block's are all fresh. */
static size_t soil_stretch(const struct span *s, size_t i)
{
    if (span_region(s)->huge_bytes)
        return s->count;
    size_t end = i + 1;
    while (end < s->count && s[end].soiled == s[i].soiled)
        end++;
    return end - i;
}

int arena_spans_are_zero(const struct span *s)
{
    return !s->soiled && soil_stretch(s, 0) == s->count;
}

size_t arena_clear_spans(struct span *s)
{
    char *memory = span_memory(span_region(s), s);
    size_t cleared = 0;
    for (size_t i = 0, length; i < s->count; i += length) {
        length = soil_stretch(s, i);
        if (!s[i].soiled)
            continue;
        size_t bytes = length * SPAN_BYTES;
        if (bytes >= CLEAR_HUGE_MIN)
            fastmm_clear_huge(memory + i * SPAN_BYTES, bytes, 0);
        else
            fastmm_clear(memory + i * SPAN_BYTES, bytes);
        cleared += bytes;
    }
    return cleared;
}

/* ---- Giving back, and looking ---- */

/* One stretch of unused spans; returns the bytes. What the kernel refuses stays as it was. */
static size_t purge_run(struct region *r, unsigned first, unsigned n)
{
    size_t bytes = n * (size_t)SPAN_BYTES;
    void *p = span_memory(r, &r->spans[first]);
    if (madvise(p, bytes, MADV_DONTNEED) != 0)
        return 0;
    for (unsigned i = first; i < first + n; i++)
        r->spans[i].soiled = 0;
    if (mprotect(p, bytes, PROT_NONE) != 0)
        return 0;
    remove_run(&r->committed, first, n);
    return bytes;
}

static size_t purge_region(struct arena *a, struct region *r)
{
    size_t purged = 0;
    for (unsigned i = TABLE_SPANS, length; i < REGION_SPANS; i += length) {
        length = stretch(&r->busy, i, REGION_SPANS);
        if (has(&r->busy, i))
            continue;
        length = stretch(&r->committed, i, i + length);
        if (has(&r->committed, i))
            purged += purge_run(r, i, length);
    }
    count(&a->statistics.footprint.group, COMMITTED, -(int64_t)purged);
    return purged;
}

/* Nothing in it but its tables, or a huge block that was freed but could not be unmapped. */
static int is_idle(const struct region *r)
{
    if (r->huge_bytes)
        return !r->spans[TABLE_SPANS].used;
    for (unsigned w = 0; w < REGION_WORDS; w++)
        if (r->busy.words[w] != (w ? 0 : ((uint64_t)1 << TABLE_SPANS) - 1) ||
            r->committed.words[w] != r->busy.words[w])
            return 0;
    return 1;
}

size_t arena_purge(struct arena *a)
{
    size_t purged = 0;
    pthread_mutex_lock(&a->lock);
    for (struct region *r = a->regions, *next; r; r = next) {
        next = r->next;
        if (!r->huge_bytes)
            purged += purge_region(a, r);
        if (is_idle(r))
            purged += drop_region(a, r);
    }
    count(&a->statistics.footprint.group, PURGED, (int64_t)purged);
    pthread_mutex_unlock(&a->lock);
    return purged;
}

static void audit_run(const struct span *s, struct arena_stats *out)
{
    size_t each = s->state == SPAN_LARGE ? s->count * SPAN_BYTES : class_bytes(s->class);
    out->live_bytes += (int64_t)(s->used * each);
    out->allocations += s->used;
}

static void audit_region(const struct region *r, struct arena_stats *out)
{
    out->mapped += (int64_t)r->bytes;
    out->committed += (int64_t)r->huge_bytes;
    for (unsigned i = 0; i < REGION_SPANS; i++)
        out->committed += has(&r->committed, i) ? SPAN_BYTES : 0;
    if (r->huge_bytes) {
        audit_run(&r->spans[TABLE_SPANS], out);
        return;
    }
    for (unsigned i = TABLE_SPANS; i < REGION_SPANS; i++)
        if (has(&r->busy, i) && r->spans[i].state != SPAN_TAIL)
            audit_run(&r->spans[i], out);
}

void arena_audit(struct arena *a, struct arena_stats *out)
{
    *out = (struct arena_stats){.mapped = sizeof(*a), .committed = sizeof(*a)};
    for (unsigned i = 0; i < LANES; i++)
        pthread_mutex_lock(&a->lanes[i].lock);
    pthread_mutex_lock(&a->lock);
    out->mapped += (int64_t)a->lost;
    for (const struct region *r = a->regions; r; r = r->next)
        audit_region(r, out);
    pthread_mutex_unlock(&a->lock);
    for (unsigned i = LANES; i-- > 0;)
        pthread_mutex_unlock(&a->lanes[i].lock);
}
