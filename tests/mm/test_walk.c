/* SPDX-License-Identifier: MIT */
/*
 * Walks against what reading entry by entry finds: every address of every mapping once, in order,
 * whatever the range, the levels and the holes; and the ready-made walks against rules written down
 * without a walk.
 */
#include "space.h"

#include <fastmm/walk.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS      60
#define PLACES      6
#define PLACE_PAGES 40

/* --- A space worth walking ------------------------------------------------------------------- */

struct space {
    struct fastmm_machine *machine;
    struct fastmm_mm *mm;
    struct fastmm_object *object;
    uint64_t rng, place[PLACES];
};

static uint64_t below(struct space *s, uint64_t limit)
{
    return test_random(&s->rng) % limit;
}

/* Mappings at borders of tables of every level, with holes in between, and whatever is in them. */
static void open_space(struct space *s, unsigned levels, uint64_t seed)
{
    const struct fastmm_machine_config config = {.frames = 2048, .levels = levels};
    const uint64_t end = fastmm_va_user_end(levels);
    const uint64_t places[PLACES] = {4096,
                                     (UINT64_C(1) << 21) - PAGES(13),
                                     (UINT64_C(1) << 30) - PAGES(13),
                                     (UINT64_C(1) << 39) - PAGES(13),
                                     (UINT64_C(1) << 46) + PAGES(7),
                                     end - PAGES(PLACE_PAGES)};
    memset(s, 0, sizeof(*s));
    s->rng = seed;
    memcpy(s->place, places, sizeof(places));
    EQUAL(fastmm_machine_create(&config, &s->machine), 0);
    EQUAL(fastmm_mm_create(s->machine, &s->mm), 0);
    EQUAL(fastmm_machine_swap_on(s->machine, 0, 4096), 0);
    EQUAL(fastmm_object_create(s->machine, FASTMM_OBJECT_SHMEM, PLACE_PAGES, &s->object), 0);
    for (int i = 0; i < PLACES; i++)
        map_at(s->mm, s->place[i], PLACE_PAGES / 2, RW | (i % 2 ? FASTMM_VM_SHARED : 0),
               i % 2 ? s->object : NULL);
    for (int i = 0; i < PLACES; i++) {
        uint64_t middle = s->place[i] + PAGES(PLACE_PAGES / 2 + 2);
        map_at(s->mm, middle, PLACE_PAGES / 2 - 2, FASTMM_VM_READ, NULL);
        if (below(s, 2))
            EQUAL(fastmm_mm_uffd_register(s->mm, middle, middle + PAGES(4), FASTMM_VM_UFFD_ASYNC),
                  0);
    }
    for (int i = 0; i < 200; i++) {
        uint64_t at = s->place[below(s, PLACES)] + PAGES(below(s, PLACE_PAGES));
        switch (below(s, 5)) {
        case 0:
            populate(s->mm, at, 1, FASTMM_POPULATE_MARKER, FASTMM_MARKER_POISON, 0);
            break;
        case 1:
            populate(s->mm, at, 1, FASTMM_POPULATE_SWAP, (uint64_t)i, 0);
            break;
        case 2:
            fastmm_mm_uffd_protect(s->mm, at, at + PAGES(1));
            break;
        default:
            fastmm_mm_fault(s->mm, at, below(s, 2) ? FASTMM_WRITE : FASTMM_READ);
        }
    }
}

static void close_space(struct space *s)
{
    fastmm_object_put(s->object);
    end_mm(s->mm);
    end_machine(s->machine);
}

/* --- Every address once ---------------------------------------------------------------------- */

struct seen {
    const struct space *s;
    uint64_t next;    /* nothing below may be met any more */
    uint64_t covered; /* pages met, of mappings */
    uint64_t filled;  /* entries that aren't empty */
    unsigned mappings, tables;
    const struct fastmm_vma *vma;
};

static int see_mapping(void *context, const struct fastmm_vma *vma)
{
    struct seen *seen = context;
    seen->mappings++;
    seen->vma = vma;
    HOLDS(vma->end > seen->next);
    return 0;
}

static int see_table(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                     uint64_t end)
{
    struct seen *seen = context;
    HOLDS(vma == seen->vma && addr >= seen->next && addr < end && addr >= vma->start);
    HOLDS(level >= 1 && (addr ^ (end - 1)) >> FASTMM_LEVEL_SHIFT(level + 1) == 0);
    seen->tables += level == 1;
    return 0;
}

static int see_leaf(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                    fastmm_pte_t pte)
{
    struct seen *seen = context;
    HOLDS(vma == seen->vma && addr >= seen->next && addr >= vma->start && addr < vma->end);
    EQUAL(level, 1);
    EQUAL(pte, pte_at(seen->s->mm, addr));
    seen->next = addr + PAGES(1);
    seen->covered++;
    seen->filled += !fastmm_pte_none(pte);
    return 0;
}

static int see_hole(void *context, const struct fastmm_vma *vma, uint64_t addr, uint64_t end)
{
    struct seen *seen = context;
    HOLDS(vma == seen->vma && addr >= seen->next && end > addr && end <= vma->end);
    for (uint64_t at = addr; at < end; at += PAGES(1))
        EQUAL(pte_at(seen->s->mm, at), 0);
    seen->next = end;
    seen->covered += (end - addr) / PAGES(1);
    return 0;
}

static void walk_all(const struct space *s, uint64_t start, uint64_t end)
{
    static const struct fastmm_walk_ops ops = {see_mapping, see_table, see_leaf, see_hole};
    struct seen seen = {.s = s, .next = start};
    uint64_t covered = 0, filled = 0;
    EQUAL(fastmm_walk(s->mm, start, end, &ops, &seen), 0);
    HOLDS(seen.next <= end);
    for (int i = 0; i < PLACES; i++)
        for (uint64_t at = s->place[i]; at < s->place[i] + PAGES(PLACE_PAGES); at += PAGES(1)) {
            if (at < start || at >= end)
                continue;
            covered += fastmm_mm_find(s->mm, at) != NULL;
            filled += !fastmm_pte_none(pte_at(s->mm, at));
        }
    EQUAL(seen.covered, covered);
    EQUAL(seen.filled, filled);
}

START_TEST(every_address_once)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        struct space s;
        unsigned levels = i % 2 ? 4 : 5;
        open_space(&s, levels, test_random(&seed));
        walk_all(&s, 0, fastmm_va_user_end(levels));
        for (int j = 0; j < PLACES; j++) {
            uint64_t first = below(&s, PLACE_PAGES), count = 1 + below(&s, PLACE_PAGES - first);
            walk_all(&s, s.place[j] + PAGES(first), s.place[j] + PAGES(first + count));
        }
        walk_all(&s, s.place[1] + PAGES(3), s.place[4] + PAGES(3));
        close_space(&s);
    }
}
END_TEST

/* --- Skipping and stopping ------------------------------------------------------------------- */

static int skip_mapping(void *context, const struct fastmm_vma *vma)
{
    (void)context;
    return vma->object ? FASTMM_WALK_SKIP : 0;
}

static int skip_table(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                      uint64_t end)
{
    (void)context, (void)vma, (void)addr, (void)end;
    return level == 1 ? FASTMM_WALK_SKIP : 0;
}

static int count_leaf(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                      fastmm_pte_t pte)
{
    (void)level, (void)addr, (void)pte;
    HOLDS(!vma->object);
    ++*(unsigned *)context;
    return 0;
}

static int stop_at_third(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                         fastmm_pte_t pte)
{
    (void)vma, (void)level, (void)addr, (void)pte;
    return ++*(unsigned *)context == 3 ? -ENOENT : 0;
}

START_TEST(skip_and_stop)
{
    static const struct fastmm_walk_ops no_objects = {.mapping = skip_mapping, .leaf = count_leaf};
    static const struct fastmm_walk_ops no_leaves = {.table = skip_table, .leaf = count_leaf};
    static const struct fastmm_walk_ops three = {.leaf = stop_at_third};
    static const struct fastmm_walk_ops nothing = {0};
    struct space s;
    unsigned count = 0;
    open_space(&s, 4, test_seed());
    const uint64_t end = fastmm_va_user_end(4);
    EQUAL(fastmm_walk(s.mm, 0, end, &no_objects, &count), 0);
    HOLDS(count > 0);
    count = 0;
    EQUAL(fastmm_walk(s.mm, 0, end, &no_leaves, &count), 0);
    EQUAL(count, 0);
    EQUAL(fastmm_walk(s.mm, 0, end, &three, &count), -ENOENT);
    EQUAL(count, 3);
    EQUAL(fastmm_walk(s.mm, 0, end, &nothing, NULL), 0);
    EQUAL(fastmm_walk(s.mm, 0, 0, &three, &count), -EINVAL);
    EQUAL(fastmm_walk(s.mm, 1, end, &three, &count), -EINVAL);
    EQUAL(fastmm_walk(s.mm, 0, end + PAGES(1), &three, &count), -ERANGE);
    EQUAL(count, 3);
    close_space(&s);
}
END_TEST

/* --- Ready-made walks ------------------------------------------------------------------------ */

static uint64_t word_of(const struct space *s, const struct fastmm_vma *vma, fastmm_pte_t pte)
{
    struct fastmm_frame_info info;
    if (!vma || fastmm_pte_none(pte))
        return 0;
    uint64_t word = fastmm_pte_any_uffd_wp(pte) ? UINT64_C(1) << 57 : 0;
    if (!fastmm_pte_present(pte))
        return word | UINT64_C(1) << 62 | pte >> 59 |
               (((~pte >> 9) << 5) & ((UINT64_C(1) << 55) - 1));
    EQUAL(fastmm_machine_frame(s->machine, fastmm_pte_pfn(pte), &info), 0);
    word |= UINT64_C(1) << 63 | fastmm_pte_pfn(pte);
    word |= info.kind != FASTMM_FRAME_ZERO && info.mapcount == 1 ? UINT64_C(1) << 56 : 0;
    return word | (info.kind == FASTMM_FRAME_SHMEM ? UINT64_C(1) << 61 : 0);
}

START_TEST(pagemap_words)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        struct space s;
        uint64_t words[PLACE_PAGES];
        uint16_t is[PLACE_PAGES];
        open_space(&s, 4, test_random(&seed));
        for (int j = 0; j < PLACES; j++) {
            EQUAL(fastmm_mm_pagemap(s.mm, s.place[j], PLACE_PAGES, words), 0);
            EQUAL(fastmm_mm_categories(s.mm, s.place[j], PLACE_PAGES, is), 0);
            for (unsigned k = 0; k < PLACE_PAGES; k++) {
                uint64_t addr = s.place[j] + PAGES(k);
                const struct fastmm_vma *vma = fastmm_mm_find(s.mm, addr);
                EQUAL(words[k], word_of(&s, vma, pte_at(s.mm, addr)));
                EQUAL(!!(is[k] & FASTMM_PAGE_IS_PRESENT), words[k] >> 63 & 1);
                EQUAL(!!(is[k] & FASTMM_PAGE_IS_SWAPPED), words[k] >> 62 & 1);
                EQUAL(!!(is[k] & FASTMM_PAGE_IS_FILE), words[k] >> 61 & 1);
                HOLDS(!(is[k] & FASTMM_PAGE_IS_WRITTEN) || !(words[k] >> 57 & 1));
            }
        }
        EQUAL(fastmm_mm_pagemap(s.mm, 0, 0, words), -EINVAL);
        EQUAL(fastmm_mm_pagemap(s.mm, 0, SIZE_MAX / 8, words), -ERANGE);
        EQUAL(fastmm_mm_categories(s.mm, 1, 1, is), -EINVAL);
        close_space(&s);
    }
}
END_TEST

START_TEST(resident_set)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        struct space s;
        int64_t walked[FASTMM_RSS_COUNTERS], parts[FASTMM_RSS_COUNTERS] = {0};
        int64_t counted[FASTMM_RSS_COUNTERS], part[FASTMM_RSS_COUNTERS];
        open_space(&s, 5, test_random(&seed));
        fastmm_mm_rss(s.mm, counted);
        EQUAL(fastmm_mm_resident(s.mm, 0, fastmm_va_user_end(5), walked), 0);
        EQUAL(memcmp(walked, counted, sizeof(walked)), 0);
        for (int j = 0; j < PLACES; j++) {
            EQUAL(fastmm_mm_resident(s.mm, s.place[j], s.place[j] + PAGES(PLACE_PAGES), part), 0);
            for (int k = 0; k < FASTMM_RSS_COUNTERS; k++)
                parts[k] += part[k];
        }
        EQUAL(memcmp(parts, counted, sizeof(parts)), 0);
        close_space(&s);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.walk");
    TCase *tcase = tcase_create("walks");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_address_once);
    tcase_add_test(tcase, skip_and_stop);
    tcase_add_test(tcase, pagemap_words);
    tcase_add_test(tcase, resident_set);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
