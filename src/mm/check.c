/* SPDX-License-Identifier: MIT */
/*
 * The verifier: goes over every address space, holds each entry against the rules, and the counts
 * of pages, swap slots, tables and resident sets against what was found. It shares no arithmetic
 * with the operations that it checks: entries are counted anew, frame by frame.
 */
#include "frame.h"
#include "swap.h"
#include "table.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

struct tally {
    uint32_t *maps;   /* by frame */
    uint32_t *cached; /* by frame: in the page cache, or the swap cache */
    uint32_t *swap[SWAP_AREAS];
};

struct check {
    struct fastmm_machine *machine;
    void (*report)(void *context, const struct fastmm_breach *breach);
    void *context;
    struct tally tally;
    const struct fastmm_mm *mm;
    const struct fastmm_vma *vma;
    struct rss_change rss; /* of mm, as counted */
    uint64_t tables, raw_mappings;
    bool broken;
};

static void breach(struct check *c, const char *rule, uint64_t addr, fastmm_pte_t pte)
{
    struct fastmm_breach b = {rule, c->mm, addr, pte};
    c->broken = true;
    if (c->report)
        c->report(c->context, &b);
}

static void hold(struct check *c, bool holds, const char *rule, uint64_t addr, fastmm_pte_t pte)
{
    if (FASTMM_UNLIKELY(!holds))
        breach(c, rule, addr, pte);
}

/* --- Entries --------------------------------------------------------------------------------- */

static void check_page(struct check *c, uint64_t addr, fastmm_pte_t pte, uint64_t pfn)
{
    const struct fastmm_frames *frames = &c->machine->frames;
    uint64_t word = frames->word[pfn];
    bool anon = frame_is_anon(word);
    c->tally.maps[pfn]++;
    c->rss.by[frame_rss(word)]++;
    hold(c,
         anon || (c->vma->object && frame_kind(word) >= FASTMM_FRAME_ANON &&
                  fastmm_object_peek(c->vma->object, vma_page(c->vma, addr)) == pfn),
         "a page that isn't anonymous is the object's page at that offset", addr, pte);
    if (anon) {
        hold(c, c->vma->flags & FASTMM_VM_ANON_VMA,
             "a mapping with anonymous pages knows that it has some", addr, pte);
        hold(c, vma_is_cow(c->vma), "shared mappings hold no anonymous pages", addr, pte);
    }
    if (fastmm_pte_write(pte) && !vma_is_cow(c->vma) && frame_kind(word) == FASTMM_FRAME_FILE)
        hold(c, word & FRAME_DIRTY, "a writable page of a shared file mapping is known to be dirty",
             addr, pte);
    if (fastmm_pte_write(pte) && vma_is_cow(c->vma))
        hold(c, anon && frame_exclusive(frames, pfn),
             "a writable page of a private mapping is exclusive", addr, pte);
}

static void check_present(struct check *c, uint64_t addr, fastmm_pte_t pte)
{
    struct fastmm_frames *frames = &c->machine->frames;
    bool raw = c->vma->flags & FASTMM_VM_PFNMAP;
    uint64_t pfn = fastmm_pte_pfn(pte);
    hold(c,
         !fastmm_pte_write(pte) || !fastmm_pte_uffd_wp(pte) ||
             (c->vma->flags & FASTMM_VM_UFFD_LOST),
         "an entry tracked for writes isn't writable", addr, pte);
    hold(c, fastmm_pte_write(pte) || !(pte & FASTMM_PTE_DIRTY), "hardware's dirty bit only with RW",
         addr, pte);
    hold(c, !fastmm_pte_write(pte) || (c->vma->flags & FASTMM_VM_WRITE),
         "no writable entry in a mapping that isn't", addr, pte);
    hold(c, fastmm_pte_protnone(pte) == !(c->vma->flags & FASTMM_VM_PROT),
         "entries of inaccessible mappings, and only those, are PROT_NONE", addr, pte);
    hold(c, pfn != FASTMM_PFN_ZERO || raw || fastmm_pte_special(pte), "the zero page is special",
         addr, pte);
    if (fastmm_pte_special(pte)) {
        hold(c, raw || (pfn == FASTMM_PFN_ZERO && vma_is_anonymous(c->vma)),
             "special entries are zero pages or raw frames", addr, pte);
        hold(c, raw || !fastmm_pte_write(pte), "the zero page is never writable", addr, pte);
        return;
    }
    if (pfn < FRAME_FIRST || pfn > frames->highest || pfn >= c->machine->next_fresh) {
        breach(c, "frame numbers are within bounds", addr, pte);
        return;
    }
    check_page(c, addr, pte, pfn);
}

/* The slot exists: says so otherwise. */
static bool count_slot(struct check *c, uint64_t addr, fastmm_pte_t pte)
{
    unsigned type = fastmm_swp_type(pte);
    uint64_t offset = fastmm_swp_offset(pte);
    bool exists = type < SWAP_AREAS && offset < c->machine->swap[type].slots;
    hold(c, exists, "swap entries name a slot that exists", addr, pte);
    if (exists)
        c->tally.swap[type][offset]++;
    return exists;
}

static void check_swp(struct check *c, uint64_t addr, fastmm_pte_t pte)
{
    uint64_t markers = fastmm_marker_flags(pte);
    if (markers) {
        hold(c,
             !(markers & FASTMM_MARKER_UFFD_WP) || vma_marks_empty(c->vma) ||
                 (c->vma->flags & FASTMM_VM_UFFD_LOST),
             "anonymous mappings have uffd-wp markers on request only", addr, pte);
        hold(c, !(markers & (markers - 1)), "a marker says one thing", addr, pte);
        hold(c, !(markers & FASTMM_MARKER_GUARD) || (c->vma->flags & FASTMM_VM_GUARD),
             "a mapping with guards knows that it has some", addr, pte);
        return;
    }
    if (!count_slot(c, addr, pte))
        return;
    c->rss.by[FASTMM_RSS_SWAP]++;
    bool exclusive = *swap_slot(c->machine, pte) & SWAP_EXCLUSIVE;
    hold(c, fastmm_swp_exclusive(pte) == exclusive,
         "the entry and the slot agree on being exclusive", addr, pte);
}

static void check_entry(struct check *c, uint64_t addr, fastmm_pte_t pte)
{
    const uint32_t tracked = FASTMM_VM_UFFD_WP | FASTMM_VM_UFFD_LOST;
    uint64_t markers = fastmm_marker_flags(pte);
    /* Guards and poison keep the bit that PAGEMAP_SCAN gave them. */
    bool protects = markers ? markers & FASTMM_MARKER_UFFD_WP : fastmm_pte_any_uffd_wp(pte);
    hold(c, !protects || (c->vma->flags & tracked),
         "uffd-wp in any form only in registered mappings", addr, pte);
    hold(c, !fastmm_pte_present(pte) || !fastmm_pte_write(pte) || !vma_awaits_write(c->vma, pte),
         "an entry whose next write is to be found out isn't writable", addr, pte);
    if (fastmm_pte_present(pte))
        check_present(c, addr, pte);
    else
        check_swp(c, addr, pte);
}

/* --- Address spaces -------------------------------------------------------------------------- */

static uint64_t count_tables(const fastmm_pte_t *table, unsigned level)
{
    uint64_t count = 1;
    for (unsigned i = 0; level > 1 && i < FASTMM_PTES; i++)
        if (table[i])
            count += count_tables(table_of(table[i]), level - 1);
    return count;
}

/* Every entry that isn't empty belongs to a mapping. */
static void check_entries(struct check *c)
{
    struct table_walk walk = table_walk(c->mm, 0, c->machine->user_end);
    struct table_span span;
    size_t at = 0;
    while (fastmm_table_walk_next(&walk, &span))
        for (unsigned i = 0; i < span.count; i++) {
            uint64_t addr = span.addr + i * UINT64_C(4096);
            if (fastmm_pte_none(span.pte[i]))
                continue;
            while (at < c->mm->vma_count && c->mm->vmas[at]->end <= addr)
                at++;
            if (at == c->mm->vma_count || c->mm->vmas[at]->start > addr) {
                breach(c, "entries lie in mappings", addr, span.pte[i]);
                continue;
            }
            c->vma = c->mm->vmas[at];
            check_entry(c, addr, span.pte[i]);
        }
}

static void check_mappings(struct check *c)
{
    uint64_t end = 0;
    for (size_t i = 0; i < c->mm->vma_count; i++) {
        const struct fastmm_vma *vma = c->mm->vmas[i];
        struct fastmm_vma again = *vma;
        fastmm_vma_update_prot(&again);
        hold(c, vma->start >= end && vma->start < vma->end && vma->end <= c->machine->user_end,
             "mappings are in order and apart", vma->start, 0);
        c->raw_mappings += (vma->flags & FASTMM_VM_PFNMAP) != 0;
        hold(c, vma->page_prot == again.page_prot, "page protection follows from the flags",
             vma->start, 0);
        end = vma->end;
    }
}

static void check_mm(struct check *c, const struct fastmm_mm *mm)
{
    c->mm = mm;
    c->rss = (struct rss_change){{0}};
    check_mappings(c);
    check_entries(c);
    static const char *const rules[FASTMM_RSS_COUNTERS] = {
        "the file counter equals the file pages mapped",
        "the anonymous counter equals the anonymous pages mapped",
        "the swap counter equals the swap entries",
        "the shmem counter equals the shmem pages mapped",
    };
    int64_t rss[FASTMM_RSS_COUNTERS];
    rss_exact(&mm->rss, rss);
    for (unsigned i = 0; i < FASTMM_RSS_COUNTERS; i++)
        hold(c, rss[i] == c->rss.by[i], rules[i], 0, 0);
    uint64_t tables = count_tables(mm->root, c->machine->levels);
    hold(c, tables == mm->tables, "the table counter equals the tables", 0, 0);
    c->tables += tables;
    c->mm = NULL;
}

/* --- Machine --------------------------------------------------------------------------------- */

/* What an object has of a page: its frame, or its slot. */
static void count_value(struct check *c, const struct fastmm_object *object, uint64_t value)
{
    if (!value)
        return;
    if (value < FASTMM_PFN_LIMIT) {
        c->tally.cached[value]++;
        return;
    }
    hold(c, object->kind == FASTMM_OBJECT_SHMEM, "only pages of shmem are swapped out", 0, value);
    if (count_slot(c, 0, value))
        hold(c, *swap_slot(c->machine, value) & SWAP_EXCLUSIVE,
             "the slot of an object's page has no other user", 0, value);
}

static void count_cached(struct check *c)
{
    for (const struct fastmm_object *o = c->machine->first_object; o; o = o->next)
        for (uint64_t i = 0; i < o->pages; i += OBJECT_CHUNK)
            if (o->chunks[i / OBJECT_CHUNK])
                for (unsigned j = 0; j < OBJECT_CHUNK; j++)
                    count_value(c, o, o->chunks[i / OBJECT_CHUNK][j]);
}

static void count_swap_cached(struct check *c)
{
    const struct fastmm_machine *m = c->machine;
    for (unsigned type = 0; type < SWAP_AREAS; type++)
        for (uint64_t i = 0; i < m->swap[type].slots; i++) {
            uint64_t pfn = m->swap[type].cache[i];
            if (!(m->swap[type].users[i] & SWAP_CACHED))
                continue;
            c->tally.cached[pfn]++;
            hold(c,
                 fastmm_swp_type(m->swap_of[pfn]) == type &&
                     fastmm_swp_offset(m->swap_of[pfn]) == i && !frame_exclusive(&m->frames, pfn),
                 "a page in the swap cache knows its slot, and isn't exclusive", pfn, type);
        }
}

static void check_frame(struct check *c, uint64_t pfn)
{
    const struct fastmm_frames *frames = &c->machine->frames;
    uint64_t word = frames->word[pfn];
    uint32_t pins = c->machine->pins[pfn];
    bool exclusive = frame_exclusive(frames, pfn);
    if (frame_kind(word) < FASTMM_FRAME_ANON) {
        hold(c, !c->tally.maps[pfn] && !c->tally.cached[pfn] && !pins && !exclusive,
             "nothing uses a frame that is free or reserved", pfn, word);
        return;
    }
    hold(c, frame_maps(word) == c->tally.maps[pfn], "the map count equals the entries", pfn, word);
    hold(c, frame_refs(word) == c->tally.maps[pfn] + c->tally.cached[pfn] + pins,
         "references are mappings, caches and pins", pfn, word);
    hold(c, ((word & FRAME_PINNED) != 0) == (pins != 0), "pinned pages are marked", pfn, word);
    hold(c, !exclusive || (frame_is_anon(word) && frame_maps(word) <= 1),
         "an exclusive page is anonymous and mapped once", pfn, word);
    bool swapcache = word & FRAME_SWAPCACHE;
    hold(c, frame_is_anon(word) ? c->tally.cached[pfn] == swapcache : c->tally.cached[pfn] || pins,
         "the cache holds all pages that aren't anonymous, but for removed ones with pins", pfn,
         word);
}

static void check_frames(struct check *c)
{
    struct fastmm_machine *m = c->machine;
    uint64_t used = 0, freed = 0, reserved = 0;
    for (uint64_t pfn = FRAME_FIRST; pfn < m->next_fresh; pfn++) {
        enum fastmm_frame_kind kind = frame_kind(m->frames.word[pfn]);
        used += kind >= FASTMM_FRAME_ANON;
        freed += kind == FASTMM_FRAME_FREE;
        reserved += kind == FASTMM_FRAME_RESERVED;
        check_frame(c, pfn);
    }
    hold(c, used == m->frames_used && freed == m->frames_freed && reserved == m->frames_reserved,
         "frames are free, reserved or in use, as counted", 0, 0);
    hold(c, m->frames.word[FASTMM_PFN_ZERO] == (FRAME_KIND(FASTMM_FRAME_ZERO) | FRAME_REF),
         "the zero page is never counted", FASTMM_PFN_ZERO, m->frames.word[FASTMM_PFN_ZERO]);
    hold(c, m->frames.bad.count == 0, "no entry ever made no sense", m->frames.bad.addr,
         m->frames.bad.pte);
}

static void check_slots(struct check *c)
{
    uint64_t used = 0;
    for (unsigned type = 0; type < SWAP_AREAS; type++) {
        const struct swap_area *area = &c->machine->swap[type];
        for (uint64_t i = 0; i < area->slots; i++) {
            uint32_t users = area->users[i] & SWAP_USERS;
            hold(c, users == c->tally.swap[type][i],
                 "users of a swap slot are the entries and the object that name it", i, type);
            hold(c,
                 !(area->users[i] & SWAP_EXCLUSIVE) ||
                     (users == 1 && !(area->users[i] & SWAP_CACHED)),
                 "an exclusive swap slot has one user, and no page in memory", i, type);
            hold(c, !(area->users[i] & SWAP_CACHED) || users,
                 "the swap cache has pages of used slots only", i, type);
            used += users;
        }
    }
    hold(c, used == c->machine->swap_used, "swap users add up", 0, 0);
}

static void free_tally(struct check *c, uint64_t frames)
{
    struct arena *arena = &c->machine->arena;
    fastmm_arena_free(arena, c->tally.maps, frames * sizeof(uint32_t));
    fastmm_arena_free(arena, c->tally.cached, frames * sizeof(uint32_t));
    for (unsigned i = 0; i < SWAP_AREAS; i++)
        fastmm_arena_free(arena, c->tally.swap[i], c->machine->swap[i].slots * sizeof(uint32_t));
}

static int alloc_tally(struct check *c, uint64_t frames)
{
    struct arena *arena = &c->machine->arena;
    c->tally.maps = fastmm_arena_zalloc(arena, frames * sizeof(uint32_t));
    c->tally.cached = fastmm_arena_zalloc(arena, frames * sizeof(uint32_t));
    bool ok = c->tally.maps && c->tally.cached;
    for (unsigned i = 0; i < SWAP_AREAS; i++)
        if (c->machine->swap[i].slots) {
            c->tally.swap[i] =
                fastmm_arena_zalloc(arena, c->machine->swap[i].slots * sizeof(uint32_t));
            ok = ok && c->tally.swap[i];
        }
    if (!ok)
        free_tally(c, frames);
    return ok ? 0 : -ENOMEM;
}

int fastmm_machine_check(struct fastmm_machine *machine,
                         void (*report)(void *context, const struct fastmm_breach *breach),
                         void *context)
{
    struct check c = {.machine = machine, .report = report, .context = context};
    uint64_t frames = machine->next_fresh;
    if (alloc_tally(&c, frames))
        return -ENOMEM;
    for (const struct fastmm_mm *mm = machine->first_mm; mm; mm = mm->next)
        check_mm(&c, mm);
    hold(&c, c.tables == machine->tables, "tables belong to address spaces", 0, 0);
    hold(&c, c.raw_mappings == machine->pfn_reservations,
         "each raw mapping has a reservation, and nothing else", 0, 0);
    count_cached(&c);
    count_swap_cached(&c);
    check_frames(&c);
    check_slots(&c);
    free_tally(&c, frames);
    return c.broken ? -EUCLEAN : 0;
}
