/* SPDX-License-Identifier: MIT */
#include "scene.h"

#include "layout_redis.h"

#include <stdlib.h>
#include <string.h>

#define BASE  (UINT64_C(1) << 32)
#define SEED  UINT64_C(0x5eed)
#define RW    (FASTMM_VM_READ | FASTMM_VM_WRITE)
#define OWNED (FASTMM_POPULATE_WRITE | FASTMM_POPULATE_DIRTY | FASTMM_POPULATE_EXCLUSIVE)

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* --- Layouts --------------------------------------------------------------------------------- */

struct builder {
    struct fastmm_mm *mm;
    uint64_t pages, first; /* frames first, first + 1, ... are reserved for them */
    uint64_t *order;       /* which of them each page gets */
};

static int put(struct builder *b, uint64_t page, enum fastmm_populate_kind kind, uint64_t value,
               uint32_t flags)
{
    const struct fastmm_populate run = {BASE + (page << 12), 1, value, (uint8_t)kind, 0, flags};
    return fastmm_mm_populate(b->mm, &run, 1, NULL);
}

static int build_seq(struct builder *b)
{
    const struct fastmm_populate run = {BASE, b->pages, b->first, FASTMM_POPULATE_ANON, 0, OWNED};
    return fastmm_mm_populate(b->mm, &run, 1, NULL);
}

static void shuffle(struct builder *b)
{
    uint64_t seed = SEED;
    for (uint64_t i = 0; i < b->pages; i++)
        b->order[i] = i;
    for (uint64_t i = b->pages - 1; i > 0; i--) {
        uint64_t j = next_random(&seed) % (i + 1), other = b->order[j];
        b->order[j] = b->order[i];
        b->order[i] = other;
    }
}

static int build_rand(struct builder *b)
{
    int rc = 0;
    shuffle(b);
    for (uint64_t i = 0; i < b->pages && !rc; i++)
        rc = put(b, i, FASTMM_POPULATE_ANON, b->first + b->order[i], OWNED);
    return rc;
}

static int build_sparse(struct builder *b)
{
    int rc = 0;
    for (uint64_t i = 0; i < b->pages && !rc; i += 16)
        rc = put(b, i, FASTMM_POPULATE_ANON, b->first + i / 16, OWNED);
    return rc;
}

static int build_mixed(struct builder *b)
{
    uint64_t seed = SEED, swap = 0;
    const uint32_t tracked = FASTMM_POPULATE_UFFD_WP | FASTMM_POPULATE_EXCLUSIVE;
    int rc = fastmm_machine_swap_on(b->mm->machine, 0, b->pages);
    if (!rc)
        rc = fastmm_mm_uffd_register(b->mm, BASE, BASE + (b->pages << 12),
                                     FASTMM_VM_UFFD_UNPOPULATED);
    for (uint64_t i = 0; i < b->pages && !rc; i++) {
        uint64_t dice = next_random(&seed) % 100;
        if (dice < 56)
            rc = put(b, i, FASTMM_POPULATE_ANON, b->first + i, OWNED);
        else if (dice < 62)
            rc = put(b, i, FASTMM_POPULATE_ANON, b->first + i, tracked);
        else if (dice < 74)
            rc = put(b, i, FASTMM_POPULATE_ZERO, 0, 0);
        else if (dice < 86)
            rc = put(b, i, FASTMM_POPULATE_SWAP, swap++, FASTMM_POPULATE_EXCLUSIVE);
        else if (dice < 90)
            rc = put(b, i, FASTMM_POPULATE_MARKER, FASTMM_MARKER_UFFD_WP, 0);
        else if (dice < 93)
            rc = put(b, i, FASTMM_POPULATE_MARKER, FASTMM_MARKER_GUARD, 0);
    }
    return rc;
}

static const struct {
    const char *name;
    int (*build)(struct builder *b);
} layouts[] = {
    {"seq", build_seq}, {"rand", build_rand}, {"sparse", build_sparse}, {"mixed", build_mixed}};

static int build(struct scene *s, const char *layout, uint64_t mib)
{
    if (strcmp(layout, "redis") == 0)
        return layout_redis(s->impl->build, &s->machine, &s->parent, NULL);
    struct builder b = {.pages = mib << 8};
    const struct fastmm_machine_config config = {.frames = b.pages + 1024, .impl = s->impl->build};
    const struct fastmm_map map = {BASE, BASE + (mib << 20), RW, NULL, 0};
    int rc = fastmm_machine_create(&config, &s->machine);
    if (!rc)
        rc = fastmm_mm_create(s->machine, &s->parent);
    if (!rc)
        rc = fastmm_mm_map(s->parent, &map);
    if (!rc)
        rc = fastmm_machine_reserve(s->machine, b.pages, 512, &b.first);
    b.mm = s->parent;
    b.order = malloc(b.pages * sizeof(*b.order));
    if (!rc && !b.order)
        rc = -ENOMEM;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]) && !rc; i++)
        if (strcmp(layouts[i].name, layout) == 0)
            rc = layouts[i].build(&b);
    free(b.order);
    return rc;
}

/* --- Life ------------------------------------------------------------------------------------ */

static int remember(struct scene *s)
{
    struct table_walk walk = table_walk(s->parent, 0, s->machine->user_end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        s->slots += span.count;
    s->entries = malloc(s->slots * sizeof(*s->entries));
    s->exclusive = calloc(s->machine->frames.highest / 64 + 1, sizeof(*s->exclusive));
    if (!s->entries || !s->exclusive)
        return -ENOMEM;
    uint64_t at = 0;
    walk = table_walk(s->parent, 0, s->machine->user_end);
    for (; fastmm_table_walk_next(&walk, &span); at += span.count)
        memcpy(s->entries + at, span.pte, span.count * sizeof(*s->entries));
    for (uint64_t pfn = FRAME_FIRST; pfn < s->machine->next_fresh; pfn++)
        if (frame_exclusive(&s->machine->frames, pfn))
            s->exclusive[pfn / 64] |= UINT64_C(1) << pfn % 64;
    return s->impl->rival && !rival_open(&s->rival, s->machine) ? -ENOMEM : 0;
}

struct scene *scene_open(const struct walk_impl *impl, const char *layout, uint64_t mib)
{
    struct scene *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->impl = impl;
    if (build(s, layout, mib) || remember(s)) {
        scene_close(s);
        return NULL;
    }
    return s;
}

void scene_close(struct scene *s)
{
    if (s->parent)
        fastmm_mm_destroy(s->parent, NULL);
    rival_close(&s->rival);
    if (s->machine)
        fastmm_machine_destroy(s->machine);
    free(s->entries);
    free(s->exclusive);
    free(s);
}

static void set_exclusive(struct scene *s, uint64_t pfn)
{
    if (s->impl->rival)
        s->rival.pages[pfn].flags |= PAGE_EXCLUSIVE;
    else
        frame_set_exclusive(&s->machine->frames, pfn);
}

void scene_reset(struct scene *s)
{
    struct table_walk walk = table_walk(s->parent, 0, s->machine->user_end);
    struct table_span span;
    uint64_t at = 0;
    for (; fastmm_table_walk_next(&walk, &span); at += span.count)
        memcpy(span.pte, s->entries + at, span.count * sizeof(*s->entries));
    for (unsigned type = 0; type < SWAP_AREAS; type++)
        for (uint64_t i = 0; i < s->machine->swap[type].slots; i++)
            if (s->machine->swap[type].users[i])
                s->machine->swap[type].users[i] |= SWAP_EXCLUSIVE;
    for (uint64_t pfn = FRAME_FIRST; pfn < s->machine->next_fresh; pfn++)
        if (s->exclusive[pfn / 64] >> pfn % 64 & 1)
            set_exclusive(s, pfn);
}

int scene_fork(struct scene *s, struct fastmm_mm **child)
{
    if (s->impl->rival)
        return rival_fork(&s->rival, s->impl->rival, s->parent, child);
    return fastmm_mm_fork(s->parent, child);
}

void scene_unmap(struct scene *s, struct fastmm_mm *mm)
{
    if (s->impl->rival)
        rival_unmap_all(&s->rival, s->impl->rival, mm);
    else
        fastmm_mm_unmap(mm, 0, s->machine->user_end);
}

static void scan_mapping(const struct fastmm_mm *mm, const struct fastmm_vma *vma,
                         struct fastmm_scan *scan)
{
    struct fastmm_scan one;
    uint64_t *sums = (uint64_t *)scan, *add = (uint64_t *)&one;
    fastmm_mm_scan(mm, vma->start, vma->end, &one);
    for (size_t i = 0; i < sizeof(one) / sizeof(*add); i++)
        sums[i] += add[i];
}

void scene_scan(struct scene *s, struct fastmm_scan *scan)
{
    memset(scan, 0, sizeof(*scan));
    if (s->impl->rival)
        s->impl->rival->scan(s->parent, scan);
    else
        for (size_t i = 0; i < s->parent->vma_count; i++)
            scan_mapping(s->parent, s->parent->vmas[i], scan);
}

/* --- Digest ---------------------------------------------------------------------------------- */

/* The counts of a page: the library's from its word, a rival's from its struct. */
static void page_state(const struct scene *s, uint64_t pfn, uint64_t state[3])
{
    const struct fastmm_frames *frames = &s->machine->frames;
    if (s->impl->rival) {
        state[0] = s->rival.pages[pfn].refs;
        state[1] = s->rival.pages[pfn].maps;
        state[2] = (s->rival.pages[pfn].flags & PAGE_EXCLUSIVE) != 0;
    } else {
        uint64_t word = frames->word[pfn];
        bool used = frame_kind(word) >= FASTMM_FRAME_ANON;
        state[0] = used ? frame_refs(word) : 0;
        state[1] = used ? frame_maps(word) : 0;
        state[2] = frame_exclusive(frames, pfn);
    }
}

uint64_t scene_digest(struct scene *s, const struct fastmm_mm *mm, uint64_t seed)
{
    int64_t rss[FASTMM_RSS_COUNTERS];
    struct table_walk walk = table_walk(mm, 0, s->machine->user_end);
    struct table_span span;
    fastmm_mm_rss(mm, rss);
    uint64_t digest = bench_digest(seed, rss, sizeof(rss));
    while (fastmm_table_walk_next(&walk, &span))
        digest = bench_digest(digest, span.pte, span.count * sizeof(*span.pte));
    for (uint64_t pfn = FRAME_FIRST; pfn < s->machine->next_fresh; pfn++) {
        uint64_t state[3];
        page_state(s, pfn, state);
        digest = bench_digest(digest, state, sizeof(state));
    }
    return bench_digest(digest, &s->machine->swap_used, sizeof(s->machine->swap_used));
}
