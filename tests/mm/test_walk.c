/* SPDX-License-Identifier: MIT */
/*
 * Walks against what reading entry by entry finds: every address of every mapping once, in order,
 * whatever the range, the levels and the holes; and the ready-made walks against rules written down
 * without a walk.
 */
#include "space.h"

#include "mm/table.h"

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
    unsigned levels;
    uint64_t rng, place[PLACES];
};

static uint64_t below(struct space *s, uint64_t limit)
{
    return test_random(&s->rng) % limit;
}

/* No operation of the model sets the bit: the entry has it as if it came from a kernel. */
static void dirty_softly(const struct space *s, uint64_t at)
{
    fastmm_pte_t *pte = fastmm_table_find(s->mm, at);
    if (!pte || fastmm_pte_none(*pte) || fastmm_marker_flags(*pte))
        return;
    *pte |= fastmm_pte_present(*pte) ? FASTMM_PTE_SOFT_DIRTY : FASTMM_SWP_SOFT_DIRTY;
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
    s->levels = levels;
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
            EQUAL(fastmm_mm_uffd_register(s->mm, middle, middle + PAGES(4),
                                          below(s, 2) ? FASTMM_VM_UFFD_ASYNC
                                                      : FASTMM_VM_UFFD_UNPOPULATED),
                  0);
    }
    for (int i = 0; i < 200; i++) {
        uint64_t at = s->place[below(s, PLACES)] + PAGES(below(s, PLACE_PAGES));
        switch (below(s, 6)) {
        case 0:
            populate(s->mm, at, 1, FASTMM_POPULATE_MARKER,
                     below(s, 2) ? FASTMM_MARKER_POISON : FASTMM_MARKER_GUARD, 0);
            break;
        case 1:
            populate(s->mm, at, 1, FASTMM_POPULATE_SWAP, (uint64_t)i,
                     below(s, 2) ? FASTMM_POPULATE_EXCLUSIVE : 0);
            break;
        case 2:
            fastmm_mm_uffd_protect(s->mm, at, at + PAGES(1));
            break;
        case 3:
            dirty_softly(s, at);
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
    unsigned mappings;
    const struct fastmm_vma *vma;
    struct part {
        uint64_t start, end;
    } table[6]; /* announced last, by level; at the root's all of the mapping, which has no call */
};

/* Whatever comes next, the last leaf table is done. */
static void see_next(const struct seen *seen, uint64_t addr)
{
    HOLDS(addr >= seen->next && seen->next >= seen->table[1].end);
}

static void see_inside(const struct seen *seen, unsigned level, uint64_t addr, uint64_t end)
{
    HOLDS(addr >= seen->table[level].start && end <= seen->table[level].end);
}

static int see_mapping(void *context, const struct fastmm_vma *vma)
{
    struct seen *seen = context;
    see_next(seen, vma->end - 1);
    seen->mappings++;
    seen->vma = vma;
    memset(seen->table, 0, sizeof(seen->table));
    seen->table[seen->s->levels] = (struct part){vma->start, vma->end};
    return 0;
}

static int see_table(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                     uint64_t end)
{
    struct seen *seen = context;
    see_next(seen, addr);
    HOLDS(vma == seen->vma && addr < end);
    HOLDS(level >= 1 && level < seen->s->levels);
    HOLDS((addr ^ (end - 1)) >> FASTMM_LEVEL_SHIFT(level + 1) == 0);
    see_inside(seen, level + 1, addr, end);
    seen->table[level] = (struct part){addr, end};
    return 0;
}

static int see_leaf(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                    fastmm_pte_t pte)
{
    struct seen *seen = context;
    HOLDS(vma == seen->vma && addr >= seen->next);
    EQUAL(level, 1);
    see_inside(seen, level, addr, addr + PAGES(1));
    EQUAL(pte, pte_at(seen->s->mm, addr));
    seen->next = addr + PAGES(1);
    seen->covered++;
    seen->filled += !fastmm_pte_none(pte);
    return 0;
}

static int see_hole(void *context, const struct fastmm_vma *vma, uint64_t addr, uint64_t end)
{
    struct seen *seen = context;
    see_next(seen, addr);
    HOLDS(vma == seen->vma && end > addr && addr >= vma->start && end <= vma->end);
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
    unsigned mappings = 0;
    const struct fastmm_vma *last = NULL;
    EQUAL(fastmm_walk(s->mm, start, end, &ops, &seen), 0);
    see_next(&seen, end);
    for (int i = 0; i < PLACES; i++)
        for (uint64_t at = s->place[i]; at < s->place[i] + PAGES(PLACE_PAGES); at += PAGES(1)) {
            if (at < start || at >= end)
                continue;
            const struct fastmm_vma *vma = fastmm_mm_find(s->mm, at);
            mappings += vma && vma != last;
            last = vma;
            covered += vma != NULL;
            filled += !fastmm_pte_none(pte_at(s->mm, at));
        }
    EQUAL(seen.mappings, mappings);
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
    if (!fastmm_pte_present(pte)) {
        word |= UINT64_C(1) << 62 | pte >> 59 | (((~pte >> 9) << 5) & ((UINT64_C(1) << 55) - 1));
        word |= fastmm_marker_flags(pte) == FASTMM_MARKER_GUARD ? UINT64_C(1) << 58 : 0;
        return word | (fastmm_swp_soft_dirty(pte) ? UINT64_C(1) << 55 : 0);
    }
    EQUAL(fastmm_machine_frame(s->machine, fastmm_pte_pfn(pte), &info), 0);
    word |= UINT64_C(1) << 63 | fastmm_pte_pfn(pte);
    word |= info.kind != FASTMM_FRAME_ZERO && info.mapcount == 1 ? UINT64_C(1) << 56 : 0;
    word |= fastmm_pte_soft_dirty(pte) ? UINT64_C(1) << 55 : 0;
    return word | (info.kind == FASTMM_FRAME_SHMEM ? UINT64_C(1) << 61 : 0);
}

/*
 * The categories of a page, from its word: what either file of the kernel says is true of both.
 * Whether a page without an entry is said to be written depends on tables; it stays out.
 */
static unsigned categories_of(const struct fastmm_vma *vma, fastmm_pte_t pte, uint64_t word)
{
    static const unsigned by_bit[64] = {[63] = FASTMM_PAGE_IS_PRESENT,
                                        [62] = FASTMM_PAGE_IS_SWAPPED,
                                        [61] = FASTMM_PAGE_IS_FILE,
                                        [58] = FASTMM_PAGE_IS_GUARD,
                                        [55] = FASTMM_PAGE_IS_SOFT_DIRTY};
    unsigned is = vma && vma->flags & FASTMM_VM_UFFD_ASYNC ? FASTMM_PAGE_IS_WPALLOWED : 0;
    for (unsigned bit = 55; bit < 64; bit++)
        is |= word >> bit & 1 ? by_bit[bit] : 0;
    if (!vma || fastmm_pte_none(pte))
        return is;
    is |= fastmm_pte_present(pte) && fastmm_pte_special(pte) ? FASTMM_PAGE_IS_PFNZERO : 0;
    return is | (word >> 57 & 1 ? 0 : FASTMM_PAGE_IS_WRITTEN);
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
                fastmm_pte_t pte = pte_at(s.mm, addr);
                uint64_t word = word_of(&s, vma, pte);
                EQUAL(words[k], word);
                if (vma && fastmm_pte_none(pte))
                    is[k] &= (uint16_t)~FASTMM_PAGE_IS_WRITTEN;
                EQUAL(is[k], categories_of(vma, pte, word));
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
