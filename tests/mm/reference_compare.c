/* SPDX-License-Identifier: MIT */
/*
 * Holds the library's machine against the reference: raw entries, counts of pages, counters. How an
 * entry is encoded is written down here once more, from the tables of the architecture, not with
 * the library's own codecs.
 */
#include "reference.h"

#include "holds.h"

#define BIT(n) (UINT64_C(1) << (n))

/* The raw leaf of a page, without its frame number. */
static uint64_t page_bits(const struct ref_slot *s)
{
    uint64_t bits = 0;
    if (s->flags & FASTMM_VM_PROT)
        bits |= BIT(0) | BIT(2) | (s->flags & FASTMM_VM_EXEC ? 0 : BIT(63));
    else
        bits |= BIT(8);
    bits |= (s->rw ? BIT(1) : 0) | (s->young ? BIT(5) : 0) | (s->wp ? BIT(10) : 0) |
            (s->soft ? BIT(11) : 0);
    bits |= s->kind == REF_ZERO ? BIT(9) : 0;
    if (s->kind == REF_PAGE && s->dirty)
        bits |= s->rw ? BIT(6) : BIT(58);
    return bits;
}

static uint64_t swp_bits(const struct ref_slot *s)
{
    uint64_t type = s->kind == REF_MARKER ? 31 : 2;
    uint64_t inverted = ~s->value & (BIT(50) - 1);
    uint64_t flags = (s->wp ? 4 : 0) | (s->soft ? 2 : 0);
    flags |= s->kind == REF_SWAP && s->exclusive_swap ? 8 : 0;
    return type << 59 | inverted << 9 | flags;
}

/* The library chose a slot: from now on it is known. */
static void learn_slot(const struct ref *r, struct ref_slot *s, uint64_t raw)
{
    if (s->kind != REF_SWAP || s->value < REF_SWAP_SLOTS)
        return;
    s->value = (~raw >> 9) & (BIT(50) - 1);
    HOLDS(s->value < REF_SWAP_SLOTS);
    EQUAL(ref_swap_users(r, s->value), 1);
}

static void compare_slot(struct ref *r, struct ref_slot *s, uint64_t addr, uint64_t raw)
{
    if (!s->mapped || s->kind == REF_NONE) {
        if (raw)
            ck_abort_msg("%#llx: should be empty, is %#llx", (unsigned long long)addr,
                         (unsigned long long)raw);
        return;
    }
    if (s->kind == REF_SWAP || s->kind == REF_MARKER) {
        learn_slot(r, s, raw);
        if (raw != swp_bits(s))
            ck_abort_msg("%#llx: should be %#llx, is %#llx", (unsigned long long)addr,
                         (unsigned long long)swp_bits(s), (unsigned long long)raw);
        return;
    }
    uint64_t field = BIT(52) - BIT(12);
    uint64_t pfn = ((raw & 1 ? raw : ~raw) & field) >> 12;
    if ((raw & ~field) != page_bits(s))
        ck_abort_msg("%#llx: bits should be %#llx, are %#llx", (unsigned long long)addr,
                     (unsigned long long)page_bits(s), (unsigned long long)(raw & ~field));
    if (s->kind == REF_ZERO) {
        EQUAL(pfn, FASTMM_PFN_ZERO);
        return;
    }
    struct ref_page *p = &r->page[s->page];
    if (!p->pfn)
        p->pfn = pfn;
    EQUAL(pfn, p->pfn);
}

static void compare_page(const struct ref *r, const struct fastmm_machine *machine, int page)
{
    const struct ref_page *p = &r->page[page];
    struct fastmm_frame_info info;
    if (!p->used || !p->pfn)
        return;
    EQUAL(fastmm_machine_frame(machine, p->pfn, &info), 0);
    EQUAL(info.mapcount, ref_mapcount(r, page));
    EQUAL(info.refs,
          ref_mapcount(r, page) + p->pins + (!p->anon && !p->removed) + ref_swap_cached(r, page));
    EQUAL(info.pins, p->pins);
    EQUAL(info.exclusive, p->exclusive);
    EQUAL(info.kind == FASTMM_FRAME_ANON, p->anon);
    if (!p->anon)
        EQUAL(info.dirty, p->dirty);
}

static void compare_rss(const struct ref *r, const struct ref_mm *m, const struct fastmm_mm *mm)
{
    int64_t mine[FASTMM_RSS_COUNTERS] = {0}, theirs[FASTMM_RSS_COUNTERS];
    for (int i = 0; i < REF_SLOTS; i++) {
        const struct ref_slot *s = &m->slot[i];
        if (!s->mapped)
            continue;
        if (s->kind == REF_SWAP)
            mine[FASTMM_RSS_SWAP]++;
        if (s->kind == REF_PAGE && r->page[s->page].anon)
            mine[FASTMM_RSS_ANON]++;
        else if (s->kind == REF_PAGE)
            mine[r->page[s->page].object % 2 ? FASTMM_RSS_SHMEM : FASTMM_RSS_FILE]++;
    }
    fastmm_mm_rss(mm, theirs);
    for (int i = 0; i < FASTMM_RSS_COUNTERS; i++)
        EQUAL(theirs[i], mine[i]);
}

/* Slots of one group, and only those, lie in one mapping of the library. */
static void compare_mapping(const struct ref *r, const struct fastmm_mm *mm, int m, int i)
{
    const struct ref_slot *s = r->mm[m].slot;
    const struct fastmm_vma *vma = fastmm_mm_find(mm, ref_address(r, i));
    EQUAL(vma != NULL, s[i].mapped);
    if (!vma)
        return;
    /* All that a caller can ask for; the rest says what became of it. */
    const uint32_t asked = FASTMM_VM_PROT | FASTMM_VM_SHARED | FASTMM_VM_DONTCOPY |
                           FASTMM_VM_WIPEONFORK | FASTMM_VM_UFFD | FASTMM_VM_SOFT_TRACKED;
    EQUAL(vma->flags & asked, s[i].flags & asked);
    if (s[i].object >= 0)
        EQUAL(vma->pgoff + (ref_address(r, i) - vma->start) / FASTMM_PAGE_SIZE, s[i].pgoff);
    bool begins = i % REF_REGION_PAGES == 0 || !s[i - 1].mapped || s[i - 1].group != s[i].group;
    if ((vma->start == ref_address(r, i)) != begins)
        ck_abort_msg("mm %d, slot %d: a mapping begins in one world only", m, i);
}

void ref_compare(struct ref *r, struct fastmm_machine *machine, struct fastmm_mm *const *mms)
{
    uint64_t used = 0;
    for (int m = 0; m < REF_MMS; m++) {
        if (!r->mm[m].used)
            continue;
        for (int i = 0; i < REF_SLOTS; i++) {
            fastmm_pte_t raw;
            uint64_t addr = ref_address(r, i);
            EQUAL(fastmm_mm_lookup(mms[m], addr, &raw), 0);
            compare_slot(r, &r->mm[m].slot[i], addr, raw);
            compare_mapping(r, mms[m], m, i);
        }
        compare_rss(r, &r->mm[m], mms[m]);
    }
    for (int page = 0; page < REF_PAGES; page++) {
        used += r->page[page].used;
        compare_page(r, machine, page);
    }
    struct fastmm_machine_stats stats;
    fastmm_machine_get_stats(machine, &stats);
    EQUAL(stats.frames_used, used);
}
