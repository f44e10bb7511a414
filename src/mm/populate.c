/* SPDX-License-Identifier: MIT */
/*
 * Loading: entries are put in as they are, after asking whether the kernel could have made them.
 * Everything a run needs is checked and allocated before its first entry is written.
 */
#include "frame.h"
#include "swap.h"
#include "table.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

#define ALL_FLAGS                                                          \
    (FASTMM_POPULATE_WRITE | FASTMM_POPULATE_DIRTY | FASTMM_POPULATE_OLD | \
     FASTMM_POPULATE_UFFD_WP | FASTMM_POPULATE_EXCLUSIVE)

struct load {
    struct fastmm_mm *mm;
    struct fastmm_vma *vma;
    const struct fastmm_populate *run;
};

static uint64_t address(const struct load *l, uint64_t i)
{
    return l->run->start + (i << FASTMM_PAGE_SHIFT);
}

static bool has(const struct load *l, uint32_t flag)
{
    return (l->run->flags & flag) != 0;
}

/* The leaf bits that the run's flags ask for. */
static fastmm_pte_t leaf(const struct load *l, uint64_t pfn)
{
    fastmm_pte_t pte = fastmm_pte_make(pfn, l->vma->page_prot & ~FASTMM_PTE_RW);
    if (has(l, FASTMM_POPULATE_WRITE))
        pte = fastmm_pte_mkwrite(pte);
    if (has(l, FASTMM_POPULATE_DIRTY))
        pte = fastmm_pte_mkdirty(pte);
    if (has(l, FASTMM_POPULATE_OLD))
        pte = fastmm_pte_mkold(pte);
    return has(l, FASTMM_POPULATE_UFFD_WP) ? fastmm_pte_mkuffd_wp(pte) : pte;
}

/* --- Anonymous pages ------------------------------------------------------------------------- */

static int check_anon(const struct load *l)
{
    const struct fastmm_populate *run = l->run;
    const struct fastmm_frames *frames = &l->mm->machine->frames;
    if (!vma_is_cow(l->vma) || (l->vma->flags & FASTMM_VM_PFNMAP) || run->value < FRAME_FIRST ||
        run->value > frames->highest || run->count > frames->highest - run->value + 1)
        return -EINVAL;
    if (has(l, FASTMM_POPULATE_WRITE) && !has(l, FASTMM_POPULATE_EXCLUSIVE))
        return -EINVAL;
    for (uint64_t pfn = run->value; pfn < run->value + run->count; pfn++) {
        uint64_t word = frames->word[pfn];
        bool fresh = frame_kind(word) == FASTMM_FRAME_RESERVED;
        bool shared = frame_is_anon(word) && !has(l, FASTMM_POPULATE_EXCLUSIVE) &&
                      !frame_exclusive(frames, pfn);
        if (!fresh && !shared)
            return -EINVAL;
        if (shared && (word & FRAME_GUARDS))
            return -EOVERFLOW;
    }
    return 0;
}

static void load_anon(const struct load *l, uint64_t i, fastmm_pte_t *pte)
{
    struct fastmm_machine *machine = l->mm->machine;
    uint64_t pfn = l->run->value + i;
    if (!frame_is_anon(machine->frames.word[pfn]))
        fastmm_frame_claim(machine, pfn, FASTMM_FRAME_ANON);
    machine->frames.word[pfn] += FRAME_MAPPED;
    if (has(l, FASTMM_POPULATE_EXCLUSIVE))
        frame_set_exclusive(&machine->frames, pfn);
    *pte = leaf(l, pfn);
}

/* --- Pages of the cache ---------------------------------------------------------------------- */

static int check_cache(const struct load *l)
{
    const struct fastmm_populate *run = l->run;
    const struct fastmm_frames *frames = &l->mm->machine->frames;
    const struct fastmm_object *object = l->vma->object;
    if (!object || has(l, FASTMM_POPULATE_EXCLUSIVE) ||
        (has(l, FASTMM_POPULATE_WRITE) && vma_is_cow(l->vma)))
        return -EINVAL;
    uint64_t index = vma_page(l->vma, run->start);
    if (index > object->pages || run->count > object->pages - index)
        return -EINVAL;
    if (run->value == 0)
        return 0;
    if (run->value < FRAME_FIRST || run->value > frames->highest ||
        run->count > frames->highest - run->value + 1)
        return -EINVAL;
    for (uint64_t i = 0; i < run->count; i++)
        if (fastmm_object_peek(object, index + i) == FASTMM_PFN_NONE &&
            frame_kind(frames->word[run->value + i]) != FASTMM_FRAME_RESERVED)
            return -EINVAL;
    return 0;
}

/* Fills the cache; pages brought in for a run that then fails stay cached. */
static int cache_pages(const struct load *l)
{
    const struct fastmm_frames *frames = &l->mm->machine->frames;
    struct fastmm_object *object = l->vma->object;
    int rc = 0;
    for (uint64_t i = 0; i < l->run->count && !rc; i++) {
        uint64_t index = vma_page(l->vma, address(l, i));
        uint64_t pfn = fastmm_object_peek(object, index);
        if (pfn == FASTMM_PFN_NONE)
            rc = l->run->value ? fastmm_object_adopt(object, index, l->run->value + i)
                               : fastmm_object_page(object, index, &pfn);
        else if (frames->word[pfn] & FRAME_GUARDS)
            rc = -EOVERFLOW;
    }
    return rc;
}

static void load_cache(const struct load *l, uint64_t i, fastmm_pte_t *pte)
{
    uint64_t pfn = fastmm_object_peek(l->vma->object, vma_page(l->vma, address(l, i)));
    uint64_t *word = &l->mm->machine->frames.word[pfn];
    *word += FRAME_MAPPED;
    /* A fault marks the page dirty before it makes an entry writable. */
    if (has(l, FASTMM_POPULATE_WRITE) || has(l, FASTMM_POPULATE_DIRTY))
        *word |= FRAME_DIRTY;
    *pte = leaf(l, pfn);
}

/* --- Zero page, swap, markers ---------------------------------------------------------------- */

static int check_zero(const struct load *l)
{
    const uint32_t never =
        FASTMM_POPULATE_WRITE | FASTMM_POPULATE_DIRTY | FASTMM_POPULATE_EXCLUSIVE;
    return vma_is_anonymous(l->vma) && !has(l, never) ? 0 : -EINVAL;
}

static void load_zero(const struct load *l, uint64_t i, fastmm_pte_t *pte)
{
    (void)i;
    *pte = fastmm_pte_mkspecial(leaf(l, FASTMM_PFN_ZERO));
}

static fastmm_pte_t swap_entry(const struct load *l, uint64_t i)
{
    fastmm_pte_t pte = 0;
    uint64_t flags = (has(l, FASTMM_POPULATE_UFFD_WP) ? FASTMM_SWP_UFFD_WP : 0) |
                     (has(l, FASTMM_POPULATE_EXCLUSIVE) ? FASTMM_SWP_EXCLUSIVE : 0);
    fastmm_swp_encode(l->run->swap_type, l->run->value + i, flags, &pte); /* checked to fit */
    return pte;
}

static int check_swap(const struct load *l)
{
    const struct fastmm_populate *run = l->run;
    if (run->swap_type >= SWAP_AREAS || !vma_is_cow(l->vma) || (l->vma->flags & FASTMM_VM_PFNMAP) ||
        (run->flags & ~(FASTMM_POPULATE_UFFD_WP | FASTMM_POPULATE_EXCLUSIVE)))
        return -EINVAL;
    const struct swap_area *area = &l->mm->machine->swap[run->swap_type];
    if (run->value > area->slots || run->count > area->slots - run->value)
        return -EINVAL;
    /* An exclusive slot has no second user, whoever came first. */
    uint32_t limit = has(l, FASTMM_POPULATE_EXCLUSIVE) ? 1 : SWAP_USERS;
    for (uint64_t i = 0; i < run->count; i++)
        if ((area->users[run->value + i] & (SWAP_USERS | SWAP_EXCLUSIVE)) >= limit)
            return -EINVAL;
    return 0;
}

static void load_swap(const struct load *l, uint64_t i, fastmm_pte_t *pte)
{
    struct fastmm_machine *machine = l->mm->machine;
    *pte = swap_entry(l, i);
    fastmm_swap_get(machine, *pte);
    if (has(l, FASTMM_POPULATE_EXCLUSIVE))
        machine->swap[l->run->swap_type].users[l->run->value + i] |= SWAP_EXCLUSIVE;
}

static int check_marker(const struct load *l)
{
    uint64_t markers = l->run->value;
    bool unpopulated = vma_marks_empty(l->vma);
    bool one = markers && !(markers & (markers - 1)); /* nothing makes mixed ones */
    if (!one || (markers & ~FASTMM_MARKER_ALL) || l->run->flags ||
        (l->vma->flags & FASTMM_VM_PFNMAP))
        return -EINVAL;
    if (markers & FASTMM_MARKER_UFFD_WP)
        return (l->vma->flags & FASTMM_VM_UFFD_WP) && unpopulated ? 0 : -EINVAL;
    return 0;
}

static void load_marker(const struct load *l, uint64_t i, fastmm_pte_t *pte)
{
    (void)i;
    *pte = fastmm_marker_make(l->run->value);
    if (l->run->value & FASTMM_MARKER_GUARD)
        fastmm_vma_prepare_guard(l->mm, l->vma);
}

/* --- Runs ------------------------------------------------------------------------------------ */

static const struct {
    int (*check)(const struct load *l);
    void (*entry)(const struct load *l, uint64_t i, fastmm_pte_t *pte);
} kinds[] = {
    [FASTMM_POPULATE_ANON] = {check_anon, load_anon},
    [FASTMM_POPULATE_CACHE] = {check_cache, load_cache},
    [FASTMM_POPULATE_ZERO] = {check_zero, load_zero},
    [FASTMM_POPULATE_SWAP] = {check_swap, load_swap},
    [FASTMM_POPULATE_MARKER] = {check_marker, load_marker},
};

static int check_run(struct load *l)
{
    const struct fastmm_populate *run = l->run;
    if (run->kind >= sizeof(kinds) / sizeof(kinds[0]) || (run->flags & ~ALL_FLAGS) ||
        run->count == 0 || run->count > l->mm->machine->user_end >> FASTMM_PAGE_SHIFT)
        return -EINVAL;
    uint64_t end = address(l, run->count);
    int rc = fastmm_check_range(l->mm->machine, run->start, end);
    if (rc)
        return rc;
    size_t at = fastmm_vma_at(l->mm, run->start);
    if (at == l->mm->vma_count || l->mm->vmas[at]->start > run->start || l->mm->vmas[at]->end < end)
        return -EINVAL;
    l->vma = l->mm->vmas[at];
    bool uffd = l->vma->flags & FASTMM_VM_UFFD_WP;
    if (has(l, FASTMM_POPULATE_UFFD_WP) && (!uffd || has(l, FASTMM_POPULATE_WRITE)))
        return -EINVAL;
    if (has(l, FASTMM_POPULATE_WRITE) && !(l->vma->flags & FASTMM_VM_WRITE))
        return -EINVAL;
    return kinds[run->kind].check(l);
}

/* Tables for the whole run, whose entries must be empty. */
static int make_room(const struct load *l)
{
    for (uint64_t i = 0; i < l->run->count; i++) {
        const fastmm_pte_t *pte = fastmm_table_make(l->mm, address(l, i));
        if (!pte)
            return -ENOMEM;
        if (!fastmm_pte_none(*pte))
            return -EEXIST;
    }
    return l->run->kind == FASTMM_POPULATE_CACHE ? cache_pages(l) : 0;
}

static void count_run(const struct load *l)
{
    struct rss *rss = &l->mm->rss;
    int64_t count = (int64_t)l->run->count;
    if (l->run->kind == FASTMM_POPULATE_ANON)
        rss_add(rss, FASTMM_RSS_ANON, count);
    else if (l->run->kind == FASTMM_POPULATE_SWAP)
        rss_add(rss, FASTMM_RSS_SWAP, count);
    else if (l->run->kind == FASTMM_POPULATE_CACHE)
        rss_add(rss,
                l->vma->object->kind == FASTMM_OBJECT_SHMEM ? FASTMM_RSS_SHMEM : FASTMM_RSS_FILE,
                count);
    if (l->run->kind == FASTMM_POPULATE_ANON || l->run->kind == FASTMM_POPULATE_SWAP)
        fastmm_vma_prepare_anon(l->mm, l->vma);
}

static int load_run(struct fastmm_mm *mm, const struct fastmm_populate *run)
{
    struct load l = {.mm = mm, .run = run};
    int rc = check_run(&l);
    if (!rc)
        rc = make_room(&l);
    if (rc)
        return rc;
    for (uint64_t i = 0; i < run->count; i++)
        kinds[run->kind].entry(&l, i, fastmm_table_find(mm, address(&l, i)));
    count_run(&l);
    return 0;
}

int fastmm_mm_populate(struct fastmm_mm *mm, const struct fastmm_populate *runs, size_t count,
                       size_t *done)
{
    int rc = 0;
    size_t i = 0;
    while (i < count && !rc) {
        rc = load_run(mm, &runs[i]);
        i += rc == 0;
    }
    if (done)
        *done = i;
    return rc;
}
