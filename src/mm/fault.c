/* SPDX-License-Identifier: MIT */
/*
 * Page faults. An access is tried as hardware would; whatever stops it is handled as the kernel
 * does, and the access tried again, until it succeeds or ends in a signal or an event. So one
 * access may take several turns: a write to a uffd-wp marker first gets its page, write-protected,
 * and only then raises the event.
 *
 * Everything an attempt needs is allocated before anything changes, tables excepted: those stay,
 * empty, and are found by the next attempt.
 */
#include "frame.h"
#include "swap.h"
#include "table.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

/* Returned by handlers when the access is to be tried again. Never leaves this file. */
#define RETRY 1000

/* A read fault on a file also maps what is cached in this window around it. */
#define FAULT_AROUND_PAGES 16u

struct fault {
    struct fastmm_mm *mm;
    struct fastmm_vma *vma;
    uint64_t addr; /* of the page */
    fastmm_pte_t *pte;
    fastmm_pte_t orig;
    bool orig_valid; /* there was a table, and orig is what it held */
    bool write;
    bool forced; /* a write that isn't made by way of the entry, and needs no permission */
};

static unsigned set_flags(const struct fault *f)
{
    return (f->write ? FASTMM_SET_WRITE : 0) | (f->orig_valid ? FASTMM_SET_ORIG_VALID : 0) |
           (f->mm->machine->soft_dirty ? FASTMM_SET_SOFT_DIRTY : 0);
}

static fastmm_pte_t mark_written(const struct fault *f, fastmm_pte_t pte)
{
    return fastmm_pte_mkdirty(pte) | f->mm->machine->soft_dirty;
}

/* The leaf, with a table if there was none. */
static int need_table(struct fault *f)
{
    if (!f->pte)
        f->pte = fastmm_table_make(f->mm, f->addr);
    return f->pte ? 0 : -ENOMEM;
}

/* --- Missing pages --------------------------------------------------------------------------- */

static int zero_page(struct fault *f)
{
    if (need_table(f))
        return -ENOMEM;
    fastmm_set_range(f->vma, f->pte, FASTMM_PFN_ZERO, 1, set_flags(f), f->orig);
    *f->pte = fastmm_pte_mkspecial(*f->pte);
    if (FASTMM_MM_BUG(23))
        f->mm->machine->frames.word[FASTMM_PFN_ZERO] += FRAME_REF;
    return RETRY;
}

/* A page of its own for a private mapping, in an entry that was empty or a marker. */
static int private_page(struct fault *f)
{
    uint64_t pfn;
    int rc = need_table(f);
    if (!rc)
        rc = frame_alloc_anon(f->mm->machine, &pfn);
    if (rc)
        return rc;
    /* New anonymous pages are dirty as far as they are writable, copies of others always. */
    unsigned flags = set_flags(f);
    if (!f->vma->object && !(f->vma->flags & FASTMM_VM_WRITE))
        flags &= ~FASTMM_SET_WRITE;
    fastmm_set_range(f->vma, f->pte, pfn, 1, flags, f->orig);
    fastmm_vma_prepare_anon(f->mm, f->vma);
    rss_add(&f->mm->rss, FASTMM_RSS_ANON, 1);
    return RETRY;
}

/* Maps a cached page of the mapping's object. */
static int cached_page(struct fault *f, fastmm_pte_t *pte, uint64_t pfn, unsigned flags,
                       fastmm_pte_t orig)
{
    struct fastmm_frames *frames = &f->mm->machine->frames;
    int rc = frame_map(frames, pfn);
    if (rc)
        return rc;
    fastmm_set_range(f->vma, pte, pfn, 1, flags, orig);
    if (fastmm_pte_write(*pte) &&
        (frames->word[pfn] & FRAME_DIRTY)) /* no need to find it out again */
        *pte = mark_written(f, *pte);
    rss_add(&f->mm->rss, frame_rss(frames->word[pfn]), 1);
    return RETRY;
}

/* Some pages of a mapping: entries [from, to) of the table, the object's pages from `first` on. */
struct window {
    uint64_t from, to, first;
};

/*
 * 16 pages aligned to 16 within the table, kept inside the mapping, the object and the table.
 * (Windows seen on Linux 6.18, also for mappings that begin close to the end of a table.)
 */
static struct window window_of(const struct fault *f)
{
    uint64_t at = fastmm_va_index(f->addr, 1);
    uint64_t in_vma = (f->addr - f->vma->start) >> FASTMM_PAGE_SHIFT;
    uint64_t back = at < in_vma ? at : in_vma;
    uint64_t aligned = at & ~(uint64_t)(FAULT_AROUND_PAGES - 1);
    struct window w = {.from = aligned > at - back ? aligned : at - back};
    w.to = at + ((f->vma->end - f->addr) >> FASTMM_PAGE_SHIFT);
    w.to = w.to < w.from + FAULT_AROUND_PAGES ? w.to : w.from + FAULT_AROUND_PAGES;
    w.to = w.to < FASTMM_PTES ? w.to : FASTMM_PTES;
    w.first = vma_page(f->vma, f->addr) + w.from - at;
    uint64_t left = w.first < f->vma->object->pages ? f->vma->object->pages - w.first : 0;
    w.to = w.to - w.from < left ? w.to : w.from + left;
    return w;
}

static bool any_cached(const struct fastmm_object *object, const struct window *w)
{
    for (uint64_t i = 0; i < w->to - w->from; i++)
        if (fastmm_object_peek(object, w->first + i) != FASTMM_PFN_NONE)
            return true;
    return false;
}

/*
 * Maps what the window has cached and not mapped yet. A table is made for that only if one is
 * found, and in files only if there are two to look for, which shows in reads beyond the end: the
 * last page alone is mapped by them where there is a table already. (Seen on Linux 6.18.) No
 * failure here matters: the page that the fault is about is mapped by itself.
 */
static void map_around(struct fault *f)
{
    struct fastmm_object *object = f->vma->object;
    const struct window w = window_of(f);
    uint64_t least = object->kind == FASTMM_OBJECT_FILE ? 2 : 1;
    if (!f->pte && (w.to < w.from + least || !any_cached(object, &w) || need_table(f)))
        return;
    fastmm_pte_t *entries = f->pte - fastmm_va_index(f->addr, 1);
    for (uint64_t i = w.from; i < w.to; i++) {
        uint64_t pfn = fastmm_object_peek(object, w.first + i - w.from);
        if (fastmm_pte_none(entries[i]) && pfn != FASTMM_PFN_NONE)
            cached_page(f, entries + i, pfn, 0, 0);
    }
}

static int object_fault(struct fault *f)
{
    struct fastmm_object *object = f->vma->object;
    uint64_t index = vma_page(f->vma, f->addr);
    uint64_t pfn;
    /* Before the page itself is looked for: a read beyond the end maps what lies before the end. */
    if (!f->write && !(f->vma->flags & FASTMM_VM_UFFD_WP))
        map_around(f);
    /* Before the end of the object is seen, too. */
    if (f->write && vma_is_cow(f->vma))
        fastmm_vma_prepare_anon(f->mm, f->vma);
    if (index >= object->pages)
        return FASTMM_FAULT_SIGBUS;
    int rc = fastmm_object_page(object, index, &pfn);
    if (!rc)
        rc = need_table(f);
    if (rc)
        return rc;
    if (f->write && vma_is_cow(f->vma))
        return private_page(f);
    if (f->write)
        f->mm->machine->frames.word[pfn] |= FRAME_DIRTY;
    return fastmm_pte_none(*f->pte) || fastmm_marker_flags(*f->pte)
               ? cached_page(f, f->pte, pfn, set_flags(f), f->orig)
               : RETRY;
}

static int missing(struct fault *f)
{
    if (f->vma->object)
        return object_fault(f);
    if (f->vma->flags & FASTMM_VM_PFNMAP)
        return FASTMM_FAULT_SIGBUS;
    return f->write ? private_page(f) : zero_page(f);
}

/* --- Entries in the swap format -------------------------------------------------------------- */

static int marker(struct fault *f, uint64_t markers)
{
    if (markers & FASTMM_MARKER_POISON)
        return FASTMM_FAULT_SIGBUS;
    if (markers & FASTMM_MARKER_GUARD)
        return FASTMM_FAULT_SIGSEGV;
    if (f->vma->flags & FASTMM_VM_UFFD_WP)
        return missing(f);
    *f->pte = 0;
    return RETRY;
}

/*
 * The page of a slot: what the swap cache has, or a new one. That goes into the cache only if
 * others still want the slot, which is how the kernel does it with synchronous devices; else it
 * belongs to this address space alone.
 */
static int swapped_page(struct fault *f, uint64_t *pfn)
{
    struct fastmm_machine *machine = f->mm->machine;
    uint32_t slot = *swap_slot(machine, f->orig);
    if (slot & SWAP_CACHED) {
        *pfn = swap_area(machine, f->orig)->cache[fastmm_swp_offset(f->orig)];
        return frame_map(&machine->frames, *pfn);
    }
    int rc = frame_alloc_anon(machine, pfn);
    if (!rc && (slot & SWAP_USERS) > 1) {
        frame_clear_exclusive(&machine->frames, *pfn);
        fastmm_swap_cache(machine, f->orig, *pfn);
    }
    return rc;
}

/* Who writes without permission doesn't give it to others. */
static fastmm_pte_t permit_write(const struct fault *f, fastmm_pte_t pte)
{
    bool may = (f->vma->flags & FASTMM_VM_WRITE) && !vma_awaits_write(f->vma, pte);
    return may ? fastmm_pte_mkwrite(pte) : pte;
}

static int swap_in(struct fault *f)
{
    struct fastmm_machine *machine = f->mm->machine;
    uint64_t pfn;
    int rc = swapped_page(f, &pfn);
    if (rc)
        return rc;
    fastmm_swap_put(machine, f->orig);
    /* Whether a page from the cache is alone is a question that only writers ask. */
    if (f->write && frame_refs(machine->frames.word[pfn]) == 1)
        frame_set_exclusive(&machine->frames, pfn);
    fastmm_pte_t pte = fastmm_pte_make(pfn, f->vma->page_prot);
    if (fastmm_swp_soft_dirty(f->orig))
        pte = fastmm_pte_mksoft_dirty(pte);
    if (fastmm_swp_uffd_wp(f->orig))
        pte = fastmm_pte_mkuffd_wp(pte);
    bool held_up = fastmm_swp_uffd_wp(f->orig) && (f->vma->flags & FASTMM_VM_UFFD_WP);
    if (!held_up && frame_exclusive(&machine->frames, pfn))
        pte = permit_write(f, f->write ? mark_written(f, pte) : pte);
    *f->pte = pte;
    fastmm_vma_prepare_anon(f->mm, f->vma);
    rss_add(&f->mm->rss, FASTMM_RSS_SWAP, -1);
    rss_add(&f->mm->rss, FASTMM_RSS_ANON, 1);
    return RETRY;
}

static int not_present(struct fault *f)
{
    uint64_t markers = fastmm_marker_flags(f->orig);
    return markers ? marker(f, markers) : swap_in(f);
}

/* --- Writes to read-only entries ------------------------------------------------------------- */

static int make_writable(struct fault *f)
{
    *f->pte = permit_write(f, mark_written(f, fastmm_pte_mkyoung(*f->pte)));
    return RETRY;
}

/* An anonymous page without another user, be it a mapping, a pin or a cache. */
static bool reusable(const struct fault *f, uint64_t pfn)
{
    const struct fastmm_frames *frames = &f->mm->machine->frames;
    uint64_t word = frames->word[pfn];
    return frame_is_anon(word) && (frame_exclusive(frames, pfn) || frame_refs(word) == 1);
}

static int copy_on_write(struct fault *f, uint64_t old)
{
    struct fastmm_machine *machine = f->mm->machine;
    uint64_t pfn;
    int rc = frame_alloc_anon(machine, &pfn);
    if (rc)
        return rc;
    fastmm_set_range(f->vma, f->pte, pfn, 1, set_flags(f) & ~FASTMM_SET_ORIG_VALID, 0);
    fastmm_vma_prepare_anon(f->mm, f->vma);
    rss_add(&f->mm->rss, FASTMM_RSS_ANON, 1);
    if (FASTMM_MM_BUG(16) && old == FASTMM_PFN_NONE)
        rss_add(&f->mm->rss, FASTMM_RSS_FILE, -1);
    if (old != FASTMM_PFN_NONE) {
        rss_add(&f->mm->rss, frame_rss(machine->frames.word[old]), -1);
        frame_unmap(machine, old);
    }
    return RETRY;
}

static int write_protected(struct fault *f)
{
    struct fastmm_frames *frames = &f->mm->machine->frames;
    if (fastmm_pte_uffd_wp(f->orig) && (f->vma->flags & FASTMM_VM_UFFD_WP)) {
        if (!(f->vma->flags & FASTMM_VM_UFFD_ASYNC))
            return FASTMM_FAULT_UFFD_WP;
        *f->pte = fastmm_pte_clear_uffd_wp(*f->pte);
    }
    uint64_t pfn = fastmm_normal_page(frames, f->vma, f->addr, f->orig);
    if (!vma_is_cow(f->vma)) {
        if (pfn != FASTMM_PFN_NONE)
            frames->word[pfn] |= FRAME_DIRTY;
        return make_writable(f);
    }
    if (pfn != FASTMM_PFN_NONE && reusable(f, pfn)) {
        frame_set_exclusive(frames, pfn);
        return make_writable(f);
    }
    return copy_on_write(f, pfn);
}

/* --- Access ---------------------------------------------------------------------------------- */

static bool may_access(const struct fastmm_vma *vma, bool write)
{
    return vma->flags & (write ? FASTMM_VM_WRITE : FASTMM_VM_PROT);
}

/*
 * May a forced write go to what a read-only entry maps? It must be a page of this address space
 * alone, which isn't tracked. That it is dirty says nothing: pages that fork has shared are, too.
 */
static bool may_force(const struct fault *f)
{
    struct fastmm_frames *frames = &f->mm->machine->frames;
    if (!f->forced || (f->vma->flags & FASTMM_VM_WRITE))
        return false;
    if (FASTMM_MM_BUG(8) && fastmm_pte_dirty(f->orig))
        return true;
    if (vma_awaits_write(f->vma, f->orig) ||
        (fastmm_pte_uffd_wp(f->orig) && (f->vma->flags & FASTMM_VM_UFFD_WP)))
        return false;
    uint64_t pfn = fastmm_normal_page(frames, f->vma, f->addr, f->orig);
    return pfn != FASTMM_PFN_NONE && frame_is_anon(frames->word[pfn]) &&
           frame_exclusive(frames, pfn);
}

/* The page was reached. Hardware tells the entry; others tell the page. */
static int reached(struct fault *f)
{
    if (f->forced)
        f->mm->machine->frames.word[fastmm_pte_pfn(f->orig)] |= FRAME_DIRTY;
    else
        *f->pte |= FASTMM_PTE_ACCESSED | (f->write ? FASTMM_PTE_DIRTY : 0);
    return FASTMM_FAULT_OK;
}

/* One turn: succeeds, or does one step towards it. */
static int turn(struct fault *f)
{
    f->pte = fastmm_table_find(f->mm, f->addr);
    f->orig_valid = f->pte != NULL;
    f->orig = f->pte ? *f->pte : 0;
    if (fastmm_pte_none(f->orig))
        return missing(f);
    if (!fastmm_pte_present(f->orig))
        return not_present(f);
    if (f->write && !fastmm_pte_write(f->orig) && !may_force(f))
        return write_protected(f);
    return reached(f);
}

static int to_the_end(struct fault *f)
{
    int rc;
    do
        rc = turn(f);
    while (rc == RETRY);
    return rc;
}

/* The mapping that holds `addr`, or NULL. They lie in the user half, so the hole is covered, too.
 */
static struct fastmm_vma *vma_of(const struct fastmm_mm *mm, uint64_t addr)
{
    size_t at = fastmm_vma_at(mm, addr);
    return at < mm->vma_count && mm->vmas[at]->start <= addr ? mm->vmas[at] : NULL;
}

int fastmm_mm_fault(struct fastmm_mm *mm, uint64_t addr, enum fastmm_access access)
{
    struct fault f = {
        .mm = mm,
        .vma = vma_of(mm, addr),
        .addr = addr & ~(uint64_t)(FASTMM_PAGE_SIZE - 1),
        .write = access == FASTMM_WRITE,
    };
    return f.vma && may_access(f.vma, f.write) ? to_the_end(&f) : FASTMM_FAULT_SIGSEGV;
}

int fastmm_mm_force_write(struct fastmm_mm *mm, uint64_t addr)
{
    struct fault f = {
        .mm = mm,
        .vma = vma_of(mm, addr),
        .addr = addr & ~(uint64_t)(FASTMM_PAGE_SIZE - 1),
        .write = true,
        .forced = true,
    };
    if (!f.vma || (f.vma->flags & FASTMM_VM_PFNMAP) ||
        !((f.vma->flags & FASTMM_VM_WRITE) || vma_is_cow(f.vma)))
        return -EIO;
    int rc = to_the_end(&f);
    return rc > 0 ? -EIO : rc;
}

int fastmm_mm_access(struct fastmm_mm *mm, uint64_t addr, uint64_t size, enum fastmm_access access,
                     uint64_t *where)
{
    if (size == 0)
        return -EINVAL;
    /* The byte after the last is never computed: it may be 2^64. */
    uint64_t last = addr + (size - 1);
    if (last < addr)
        return -ERANGE;
    for (uint64_t at = addr;; at = (at | (FASTMM_PAGE_SIZE - 1)) + 1) {
        int rc = fastmm_mm_fault(mm, at, access);
        if (rc) {
            if (where)
                *where = at;
            return rc;
        }
        if ((at | (FASTMM_PAGE_SIZE - 1)) >= last)
            return FASTMM_FAULT_OK;
    }
}
