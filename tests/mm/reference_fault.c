/* SPDX-License-Identifier: MIT */
/* What an access to a page does. */
#include "reference_parts.h"

#include <errno.h>

#define TABLE_SPAN (UINT64_C(512) << 12)

bool ref_shared_rw_by_default(const struct ref_slot *s)
{
    return !ref_is_private(s) && (s->flags & FASTMM_VM_WRITE) && !ref_is_file(s) &&
           !(s->flags & (FASTMM_VM_UFFD_WP | FASTMM_VM_SOFT_TRACKED));
}

void ref_set_page(const struct ref *r, struct ref_slot *s, int page, bool write, bool wp)
{
    s->kind = REF_PAGE;
    s->page = page;
    s->value = 0;
    s->young = true;
    s->dirty = write;
    s->soft = write && r->soft_dirty;
    s->wp = wp;
    s->rw = ((write && (s->flags & FASTMM_VM_WRITE)) || ref_shared_rw_by_default(s)) && !wp;
}

static void set_private(struct ref *r, int mm, int slot, bool wp)
{
    ref_set_page(r, &r->mm[mm].slot[slot], ref_new_page(r, true, -1), true, wp);
    ref_flag_anon(r, mm, slot);
}

static int cached(struct ref *r, const struct ref_slot *s)
{
    int *page = &r->cache[s->object][s->pgoff];
    bool out = *page == REF_OUT;
    if (*page < 0)
        *page = ref_new_page(r, false, s->object);
    r->page[*page].dirty |= out;
    return *page;
}

/* Where a write would find nothing out, because the page is dirty, the entry is dirty at once. */
static void set_cached(const struct ref *r, struct ref_slot *s, int page, bool write, bool wp)
{
    ref_set_page(r, s, page, write, wp);
    if (s->rw && r->page[page].dirty) {
        s->dirty = true;
        s->soft = r->soft_dirty;
    }
}

static void around(struct ref *r, int mm, int slot)
{
    struct ref_slot *slots = r->mm[mm].slot;
    uint64_t addr = ref_address(r, slot);
    uint64_t window = addr & ~UINT64_C(0xffff);
    /* the window begins no earlier than the mapping */
    for (int i = slot; i >= 0 && slots[i].mapped && slots[i].group == slots[slot].group; i--)
        if (i == 0 || !slots[i - 1].mapped || slots[i - 1].group != slots[slot].group)
            window = ref_address(r, i) > window ? ref_address(r, i) : window;
    const uint64_t window_end = window + 0x10000;
    int inside = 0, cached_pages = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < REF_SLOTS; i++) {
            struct ref_slot *s = &slots[i];
            uint64_t at = ref_address(r, i);
            if (!s->mapped || s->group != slots[slot].group || at < window || at >= window_end ||
                at / TABLE_SPAN != addr / TABLE_SPAN || s->pgoff >= REF_OBJECT_PAGES)
                continue;
            int page = r->cache[s->object][s->pgoff];
            inside += turn == 0;
            cached_pages += turn == 0 && page >= 0;
            if (turn == 1 && s->kind == REF_NONE && page >= 0)
                set_cached(r, s, page, false, false);
        }
        if (!r->table && (inside < (ref_is_file(&slots[slot]) ? 2 : 1) || !cached_pages))
            return;
    }
}

/* Entries are writable where the mapping is, whoever writes. */
static bool may_write(const struct ref_slot *s)
{
    return s->flags & FASTMM_VM_WRITE;
}

static int fault_missing(struct ref *r, int mm, int slot, bool write)
{
    struct ref_slot *s = &r->mm[mm].slot[slot];
    bool wp = ref_entry_wp(s);
    if (s->object < 0) {
        if (write) {
            set_private(r, mm, slot, wp);
            s->dirty = may_write(s);
            s->soft = s->soft && may_write(s);
        } else {
            s->kind = REF_ZERO;
            s->soft = false; /* which a marker may have had */
            s->value = 0;
            s->young = true;
            s->wp = wp;
        }
        return 1000;
    }
    if (!write && !(s->flags & FASTMM_VM_UFFD_WP))
        around(r, mm, slot);
    if (write && ref_is_private(s))
        ref_flag_anon(r, mm, slot);
    if (s->pgoff >= REF_OBJECT_PAGES)
        return FASTMM_FAULT_SIGBUS;
    int page = cached(r, s);
    if (write && ref_is_private(s)) {
        set_private(r, mm, slot, wp);
        return 1000;
    }
    if (write)
        r->page[page].dirty = true;
    set_cached(r, s, page, write, wp);
    return 1000;
}

static int fault_write_protected(struct ref *r, int mm, int slot)
{
    struct ref_slot *s = &r->mm[mm].slot[slot];
    if (s->wp && (s->flags & FASTMM_VM_UFFD_WP)) {
        if (!(s->flags & FASTMM_VM_UFFD_ASYNC))
            return FASTMM_FAULT_UFFD_WP;
        s->wp = false;
    }
    bool page = s->kind == REF_PAGE;
    struct ref_page *p = page ? &r->page[s->page] : NULL;
    bool alone = page && p->anon && (p->exclusive || ref_references(r, s->page) == 1);
    if (ref_is_private(s) && !alone) {
        ref_drop_entry(r, s);
        set_private(r, mm, slot, false);
        return 1000;
    }
    if (ref_is_private(s))
        p->exclusive = true;
    else
        p->dirty = true;
    s->dirty = s->young = true;
    s->soft = r->soft_dirty;
    s->rw = may_write(s);
    return 1000;
}

static int fault_swap(struct ref *r, int mm, int slot, bool write)
{
    struct ref_slot *s = &r->mm[mm].slot[slot];
    bool wp = s->wp, held_up = wp && (s->flags & FASTMM_VM_UFFD_WP), soft = s->soft;
    uint64_t offset = s->value;
    int page = r->swap_cache[offset];
    if (page < 0) {
        page = ref_new_page(r, true, -1);
        r->page[page].exclusive = ref_swap_users(r, offset) == 1;
        if (!r->page[page].exclusive)
            r->swap_cache[offset] = page;
    }
    ref_clear_entry(s);
    ref_set_page(r, s, page, false, wp);
    ref_release_slot(r, offset);
    if (write && ref_references(r, page) == 1)
        r->page[page].exclusive = true;
    s->dirty = write && !held_up && r->page[page].exclusive;
    s->soft = soft || (s->dirty && r->soft_dirty);
    s->rw = may_write(s) && !held_up && r->page[page].exclusive && !ref_awaits_write(s);
    ref_flag_anon(r, mm, slot);
    return 1000;
}

static int fault_once(struct ref *r, int mm, int slot, bool write)
{
    struct ref_slot *s = &r->mm[mm].slot[slot];
    switch (s->kind) {
    case REF_NONE:
        return fault_missing(r, mm, slot, write);
    case REF_MARKER:
        if (s->value & FASTMM_MARKER_POISON)
            return FASTMM_FAULT_SIGBUS;
        if (s->value & FASTMM_MARKER_GUARD)
            return FASTMM_FAULT_SIGSEGV;
        if (!(s->flags & FASTMM_VM_UFFD_WP)) {
            ref_clear_entry(s);
            return 1000;
        }
        return fault_missing(r, mm, slot, write);
    case REF_SWAP:
        return fault_swap(r, mm, slot, write);
    default:
        if (write && !s->rw)
            return fault_write_protected(r, mm, slot);
        s->young = true;
        s->dirty = s->dirty || write;
        return FASTMM_FAULT_OK;
    }
}

/* Can a debugger's write go to the page as it is? */
static bool reached_by_force(const struct ref *r, const struct ref_slot *s)
{
    if (s->kind != REF_PAGE)
        return false;
    bool tracked = s->wp && (s->flags & FASTMM_VM_UFFD_WP);
    return s->rw || (!may_write(s) && !tracked && !ref_awaits_write(s) && r->page[s->page].anon &&
                     r->page[s->page].exclusive);
}

int ref_force_write(struct ref *r, int mm, int slot)
{
    const struct ref_slot *s = &r->mm[mm].slot[slot];
    if (!s->mapped || (!may_write(s) && !ref_is_private(s)))
        return -EIO;
    while (!reached_by_force(r, s))
        if (fault_once(r, mm, slot, true) != 1000)
            return -EIO;
    r->page[s->page].dirty = true;
    return 0;
}

int ref_fault(struct ref *r, int mm, int slot, bool write)
{
    const struct ref_slot *s = &r->mm[mm].slot[slot];
    if (!s->mapped || !(s->flags & (write ? FASTMM_VM_WRITE : FASTMM_VM_PROT)))
        return FASTMM_FAULT_SIGSEGV;
    int result;
    do
        result = fault_once(r, mm, slot, write);
    while (result == 1000);
    return result;
}

int ref_pin(struct ref *r, int mm, int slot)
{
    const struct ref_slot *s = &r->mm[mm].slot[slot];
    if (s->mapped && ref_is_file(s) && !ref_is_private(s))
        return -EFAULT;
    return s->mapped && s->kind == REF_PAGE && s->rw ? 0 : ref_fault(r, mm, slot, true);
}
