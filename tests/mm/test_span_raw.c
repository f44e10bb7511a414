/* SPDX-License-Identifier: MIT */
/*
 * Every build of the span operations against the plain one, below what address spaces can reach:
 * single spans of any length at any place in a table, made of any entries, over frames in any
 * state, in mappings with any flags. Each is put into two machines, one operation runs in each, and
 * everything must come out equal bit for bit. What an operation fills held junk before.
 */
#include "space.h"

#include "mm/frame.h"
#include "mm/span.h"

#include <string.h>

#define SPARE  64  /* free frames, for copies */
#define FRAMES 256 /* others, up to the highest */
#define LOWEST (FRAME_FIRST + SPARE)
#define BEHIND 4 /* words behind the array that look like frames; the block has room */
#define SLOTS  64
#define AREA   3
#define JUNK   UINT64_C(0xdbdbdbdbdbdbdbdb)

struct side {
    struct fastmm_machine *machine;
    struct fastmm_mm *parent, *child;
    struct fastmm_vma from, to;
    fastmm_pte_t source[FASTMM_PTES], target[FASTMM_PTES];
};

/* What the entries of a round are: percentages, the rest is empty. */
struct blend {
    unsigned page, zero, swap, marker; /* up to 100 together */
    unsigned jump;                     /* of pages: not the frame after the last one's */
    unsigned odd;                      /* in 1000: something that makes no sense, or next to none */
};

static const struct blend blends[] = {
    {100, 0, 0, 0, 0, 0},  {100, 0, 0, 0, 4, 0},      {100, 0, 0, 0, 100, 0},
    {100, 0, 0, 0, 30, 2}, {6, 0, 0, 0, 50, 0},       {50, 0, 0, 0, 20, 2},
    {60, 12, 12, 7, 3, 0}, {60, 12, 12, 7, 100, 2},   {30, 20, 20, 20, 50, 20},
    {0, 100, 0, 0, 0, 0},  {0, 0, 100, 0, 0, 0},      {0, 0, 0, 100, 0, 0},
    {95, 1, 1, 1, 30, 0},  {25, 25, 25, 25, 100, 30}, {0, 0, 0, 0, 0, 100},
};

static bool in(uint64_t *rng, unsigned parts, unsigned of)
{
    return test_random(rng) % of < parts;
}

/* --- One random state ------------------------------------------------------------------------ */

/* Bits that a present entry may have beside its frame, each by chance. */
static uint64_t page_bits(uint64_t *rng)
{
    uint64_t dice = test_random(rng);
    uint64_t bits = FASTMM_PROT_READONLY | (dice & (FASTMM_PTE_RW | FASTMM_PTE_DIRTY));
    bits |= dice & (FASTMM_PTE_UFFD_WP | FASTMM_PTE_SOFT_DIRTY) ? dice & FASTMM_PTE_UFFD_WP : 0;
    bits |= in(rng, 1, 4) ? dice & (FASTMM_PTE_SAVED_DIRTY | FASTMM_PTE_PKEY | FASTMM_PTE_PAT) : 0;
    bits |= in(rng, 1, 4) ? dice & (FASTMM_PTE_SOFT_DIRTY | FASTMM_PTE_GLOBAL | FASTMM_PTE_PCD) : 0;
    return in(rng, 1, 3) ? bits & ~FASTMM_PTE_ACCESSED : bits;
}

/* Entries that no page, slot or marker is behind, or that hold one in an unusual way. */
static fastmm_pte_t odd_entry(uint64_t *rng, uint64_t pfn)
{
    switch (test_random(rng) % 6) {
    case 0:
        return fastmm_pte_make(LOWEST + FRAMES + test_random(rng) % 1000, page_bits(rng));
    case 1:
        return fastmm_pte_mkspecial(fastmm_pte_make(pfn, page_bits(rng)));
    case 2:
        return fastmm_pte_make(pfn, FASTMM_PROT_NONE | (test_random(rng) & FASTMM_PTE_DIRTY));
    case 3:
        return fastmm_pte_make(FASTMM_PFN_LIMIT - 1, page_bits(rng));
    default: /* empty, as hardware may leave it */
        return test_random(rng) & (FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY);
    }
}

static fastmm_pte_t swap_entry(uint64_t *rng)
{
    fastmm_pte_t pte;
    EQUAL(fastmm_swp_encode(AREA, test_random(rng) % SLOTS, test_random(rng) & FASTMM_SWP_FLAGS,
                            &pte),
          0);
    return in(rng, 1, 8) ? pte | FASTMM_PTE_ACCESSED : pte;
}

static fastmm_pte_t any_entry(const struct blend *b, uint64_t *rng, uint64_t *pfn)
{
    unsigned dice = (unsigned)(test_random(rng) % 100);
    *pfn = in(rng, b->jump, 100) ? LOWEST + test_random(rng) % FRAMES : *pfn + 1;
    if (*pfn >= LOWEST + FRAMES + (b->odd ? BEHIND : 0))
        *pfn = LOWEST;
    if (in(rng, b->odd, 1000))
        return odd_entry(rng, *pfn);
    if (dice < b->page)
        return fastmm_pte_make(*pfn, page_bits(rng));
    if ((dice -= b->page) < b->zero)
        return fastmm_pte_mkspecial(fastmm_pte_make(FASTMM_PFN_ZERO, page_bits(rng)));
    if ((dice -= b->zero) < b->swap)
        return swap_entry(rng);
    return dice - b->swap < b->marker ? fastmm_marker_make(1 + test_random(rng) % 7) : 0;
}

static bool counted(const struct side *s, fastmm_pte_t pte)
{
    return fastmm_pte_present(pte) && !fastmm_pte_special(pte) &&
           fastmm_pte_pfn(pte) <= s->machine->frames.highest;
}

/* Frames as they may be when those entries map them, but for `rare` in 1000. */
static void set_frames(struct side *s, uint64_t *rng, enum fastmm_frame_kind most, unsigned rare)
{
    struct fastmm_machine *m = s->machine;
    for (uint64_t pfn = LOWEST; pfn <= m->frames.highest + BEHIND; pfn++) {
        uint64_t kind = in(rng, 9, 10) ? most : FASTMM_FRAME_ANON + test_random(rng) % 3;
        uint64_t extra = test_random(rng) % 3, told = FRAME_DIRTY | FRAME_YOUNG;
        m->frames.word[pfn] = FRAME_KIND(kind) | extra * FRAME_REF | (test_random(rng) & told);
    }
    for (unsigned i = 0; i < FASTMM_PTES; i++)
        if (counted(s, s->source[i]))
            m->frames.word[fastmm_pte_pfn(s->source[i])] += FRAME_MAPPED;
    for (uint64_t pfn = LOWEST; pfn <= m->frames.highest; pfn++) {
        uint64_t *word = &m->frames.word[pfn];
        if (frame_is_anon(*word) && frame_maps(*word) <= 1 && in(rng, 3, 4))
            frame_set_exclusive(&m->frames, pfn);
        uint64_t full = FRAME_MAP_GUARD - frame_maps(*word) - test_random(rng) % 3;
        if (!in(rng, rare, 1000))
            continue;
        switch (test_random(rng) % 3) {
        case 0:
            *word |= FRAME_PINNED;
            break;
        case 1:
            *word += full * FRAME_MAPPED;
            break;
        default:
            *word &= ~FRAME_KIND_MASK | FRAME_KIND(test_random(rng) % 6);
        }
    }
}

static void open_side(struct side *s, uint64_t rng)
{
    const struct fastmm_machine_config config = {.frames = SPARE + FRAMES};
    const struct blend *b = &blends[test_random(&rng) % (sizeof(blends) / sizeof(blends[0]))];
    const uint32_t flags = (uint32_t)test_random(&rng);
    uint64_t pfn = LOWEST + test_random(&rng) % FRAMES, first;
    EQUAL(fastmm_machine_create(&config, &s->machine), 0);
    EQUAL(fastmm_machine_swap_on(s->machine, AREA, SLOTS), 0);
    EQUAL(fastmm_machine_reserve(s->machine, SPARE + FRAMES, 1, &first), 0);
    EQUAL(fastmm_machine_unreserve(s->machine, first, SPARE), 0);
    s->parent = new_mm(s->machine);
    s->child = new_mm(s->machine);
    s->parent->has_pinned = in(&rng, 1, 2);
    s->from.flags = s->to.flags = RW | FASTMM_VM_MAYWRITE;
    if (in(&rng, 1, 8))
        s->from.flags = s->to.flags = flags & (FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP | RW);
    s->from.page_prot = s->to.page_prot = FASTMM_PROT_READONLY;
    for (unsigned i = 0; i < FASTMM_PTES; i++) {
        s->source[i] = any_entry(b, &rng, &pfn);
        s->target[i] = JUNK;
    }
    for (unsigned i = 0; i < SLOTS; i++)
        s->machine->swap[AREA].users[i] = 1000 | (i % 2 ? SWAP_EXCLUSIVE : 0);
    enum fastmm_frame_kind most = (enum fastmm_frame_kind)(FASTMM_FRAME_ANON + flags % 3);
    set_frames(s, &rng, most, in(&rng, 1, 3) ? 10 : 0);
    fastmm_machine_fail_after(s->machine, in(&rng, 1, 2) ? UINT64_MAX : test_random(&rng) % 3);
}

static void close_side(struct side *s)
{
    struct arena arena = s->machine->arena; /* counts are off by design: no orderly way out */
    fastmm_arena_close(&arena);
    memset(s, 0, sizeof(*s));
}

/* --- Comparing ------------------------------------------------------------------------------- */

static void same_entries(const fastmm_pte_t *one, const fastmm_pte_t *two)
{
    for (unsigned i = 0; i < FASTMM_PTES; i++)
        EQUAL(one[i], two[i]);
}

static void same_sides(const struct side *a, const struct side *b)
{
    const struct fastmm_machine *one = a->machine, *two = b->machine;
    for (uint64_t pfn = 0; pfn <= one->frames.highest; pfn++) {
        EQUAL(one->frames.word[pfn], two->frames.word[pfn]);
        EQUAL(frame_exclusive(&one->frames, pfn), frame_exclusive(&two->frames, pfn));
        EQUAL(one->pins[pfn], two->pins[pfn]);
    }
    EQUAL(memcmp(one->swap[AREA].users, two->swap[AREA].users, SLOTS * sizeof(uint32_t)), 0);
    EQUAL(one->swap_used, two->swap_used);
    EQUAL(one->free_head, two->free_head);
    EQUAL(one->next_fresh, two->next_fresh);
    EQUAL(one->frames_used, two->frames_used);
    EQUAL(one->frames_freed, two->frames_freed);
    EQUAL(one->frames.bad.count, two->frames.bad.count);
    EQUAL(one->frames.bad.addr, two->frames.bad.addr);
    EQUAL(one->frames.bad.pte, two->frames.bad.pte);
    EQUAL(one->frames.bad.vma_flags, two->frames.bad.vma_flags);
    for (unsigned i = 0; i < FASTMM_RSS_COUNTERS; i++) {
        EQUAL(rss_of(a->parent, (enum fastmm_rss)i), rss_of(b->parent, (enum fastmm_rss)i));
        EQUAL(rss_of(a->child, (enum fastmm_rss)i), rss_of(b->child, (enum fastmm_rss)i));
    }
}

/* --- Operations ------------------------------------------------------------------------------ */

struct piece {
    unsigned first, count;
};

static struct piece any_piece(uint64_t *rng)
{
    unsigned first = in(rng, 1, 3) ? 0 : (unsigned)(test_random(rng) % FASTMM_PTES);
    unsigned left = FASTMM_PTES - first;
    return (struct piece){first, in(rng, 1, 3) ? left : 1 + (unsigned)(test_random(rng) % left)};
}

static struct table_span span_of(fastmm_pte_t *table, struct piece p)
{
    return (struct table_span){table + p.first, p.count, BASE + PAGES(p.first), NULL};
}

/* Nothing outside the piece was touched. */
static void only(const fastmm_pte_t *table, struct piece p, fastmm_pte_t before)
{
    for (unsigned i = 0; i < FASTMM_PTES; i++)
        if (i < p.first || i >= p.first + p.count)
            EQUAL(table[i], before);
}

static void both_copy(struct side side[2], const struct span_ops *const ops[2], uint64_t *rng)
{
    const struct piece p = any_piece(rng);
    const uint64_t dice = test_random(rng);
    int rc[2];
    for (int i = 0; i < 2; i++) {
        struct side *s = &side[i];
        const struct copy c = {s->parent, s->child,      &s->machine->frames, &s->from,
                               &s->to,    dice % 4 != 0, dice % 4 == 0,       dice & 8};
        struct table_span span = span_of(s->source, p);
        rc[i] = ops[i]->copy(&c, &span, s->target + p.first);
    }
    EQUAL(rc[0], rc[1]);
    same_entries(side[0].source, side[1].source);
    same_entries(side[0].target, side[1].target);
    only(side[1].target, p, JUNK);
    same_sides(&side[0], &side[1]);
}

static void both_scan(struct side side[2], const struct span_ops *const ops[2], uint64_t *rng)
{
    const struct piece p = any_piece(rng);
    struct fastmm_scan scan[2];
    memset(scan, 1, sizeof(scan));
    for (int i = 0; i < 2; i++) {
        struct table_span span = span_of(side[i].source, p);
        ops[i]->scan(&span, &scan[i]);
    }
    EQUAL(memcmp(&scan[0], &scan[1], sizeof(scan[0])), 0);
    same_entries(side[0].source, side[1].source);
}

static void both_zap(struct side side[2], const struct span_ops *const ops[2], uint64_t *rng)
{
    const struct piece p = any_piece(rng);
    const bool dontneed = in(rng, 1, 2), keep = in(rng, 1, 2);
    bool left[2];
    for (int i = 0; i < 2; i++) {
        const struct zap z = {side[i].parent, &side[i].from, dontneed, dontneed && keep, false};
        struct table_span span = span_of(side[i].source, p);
        left[i] = ops[i]->zap(&z, &span);
    }
    EQUAL(left[0], left[1]);
    same_entries(side[0].source, side[1].source);
    same_sides(&side[0], &side[1]);
}

static void one_round(const struct span_ops *ops, uint64_t seed)
{
    static struct side side[2];
    int rc;
    const struct span_ops *const pair[2] = {fastmm_span_ops(FASTMM_MM_PLAIN, &rc), ops};
    uint64_t rng = seed;
    open_side(&side[0], seed);
    open_side(&side[1], seed);
    same_sides(&side[0], &side[1]);
    both_scan(side, pair, &rng);
    if (in(&rng, 2, 3))
        both_copy(side, pair, &rng);
    if (in(&rng, 2, 3))
        both_zap(side, pair, &rng);
    both_scan(side, pair, &rng);
    close_side(&side[0]);
    close_side(&side[1]);
}

START_TEST(equals_plain)
{
    int rc, rounds = test_long() ? 200000 : 6000;
    const struct span_ops *ops = fastmm_span_ops((unsigned)_i, &rc);
    uint64_t seed = test_seed();
    if (!ops)
        test_skip("this CPU can't run build %d", _i);
    while (rounds--)
        one_round(ops, test_random(&seed));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.span_raw");
    TCase *tcase = tcase_create("builds");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, equals_plain, FASTMM_MM_PLAIN + 1, FASTMM_MM_AVX512 + 1);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
