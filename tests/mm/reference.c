/* SPDX-License-Identifier: MIT */
#include "reference_parts.h"

#include "holds.h"

#include <errno.h>
#include <string.h>

void ref_init(struct ref *r, uint64_t user_end)
{
    memset(r, 0, sizeof(*r));
    r->user_end = user_end;
    for (int o = 0; o < REF_OBJECTS; o++)
        for (int i = 0; i < REF_OBJECT_PAGES; i++)
            r->cache[o][i] = -1;
    for (int i = 0; i < REF_SWAP_SLOTS; i++)
        r->swap_cache[i] = -1;
    r->fresh_slots = UINT64_C(1) << 40;
}

uint64_t ref_address(const struct ref *r, int slot)
{
    const uint64_t base[REF_REGIONS] = {
        0, (UINT64_C(7) << 21) - 12 * 4096,       /* across leaf tables */
        (UINT64_C(1) << 39) - 12 * 4096,          /* across all levels but the root */
        r->user_end - REF_REGION_PAGES * 4096ull, /* up to the end */
    };
    return base[slot / REF_REGION_PAGES] + (uint64_t)(slot % REF_REGION_PAGES) * 4096;
}

/* --- Small questions ------------------------------------------------------------------------- */

bool ref_is_private(const struct ref_slot *s)
{
    return !(s->flags & FASTMM_VM_SHARED);
}

bool ref_is_file(const struct ref_slot *s)
{
    return s->object >= 0 && s->object % 2 == 0; /* even objects are files, odd ones shmem */
}

/* Must a write be found out before the page is writable? */
bool ref_awaits_write(const struct ref_slot *s)
{
    return (s->flags & FASTMM_VM_SOFT_TRACKED) && !s->soft;
}

static bool maps_page(const struct ref_slot *s, int page)
{
    return s->kind == REF_PAGE && s->page == page;
}

int ref_mapcount(const struct ref *r, int page)
{
    int count = 0;
    for (int m = 0; m < REF_MMS; m++)
        for (int i = 0; i < REF_SLOTS; i++)
            count += r->mm[m].used && maps_page(&r->mm[m].slot[i], page);
    return count;
}

int ref_swap_users(const struct ref *r, uint64_t offset)
{
    int count = 0;
    for (int m = 0; m < REF_MMS; m++)
        for (int i = 0; i < REF_SLOTS; i++) {
            const struct ref_slot *s = &r->mm[m].slot[i];
            count += r->mm[m].used && s->kind == REF_SWAP && s->value == offset;
        }
    return count;
}

int ref_pages_out(const struct ref *r)
{
    int count = 0;
    for (int o = 0; o < REF_OBJECTS; o++)
        for (int i = 0; i < REF_OBJECT_PAGES; i++)
            count += r->cache[o][i] == REF_OUT;
    return count;
}

static bool swap_exclusive(const struct ref *r, uint64_t offset)
{
    for (int m = 0; m < REF_MMS; m++)
        for (int i = 0; i < REF_SLOTS; i++) {
            const struct ref_slot *s = &r->mm[m].slot[i];
            if (r->mm[m].used && s->kind == REF_SWAP && s->value == offset && s->exclusive_swap)
                return true;
        }
    return false;
}

bool ref_swap_cached(const struct ref *r, int page)
{
    for (int i = 0; i < REF_SWAP_SLOTS; i++)
        if (r->swap_cache[i] == page)
            return true;
    return false;
}

int ref_references(const struct ref *r, int page)
{
    return ref_mapcount(r, page) + r->page[page].pins + ref_swap_cached(r, page);
}

bool ref_entry_wp(const struct ref_slot *s)
{
    if (s->kind == REF_MARKER)
        return s->wp || (s->value & FASTMM_MARKER_UFFD_WP);
    return s->kind != REF_NONE && s->wp;
}

int ref_new_page(struct ref *r, bool anon, int object)
{
    for (int i = 0; i < REF_PAGES; i++) {
        int page = (r->pages + i) % REF_PAGES;
        if (r->page[page].used)
            continue;
        r->page[page] = (struct ref_page){.used = true, .anon = anon, .object = object};
        r->page[page].exclusive = anon;
        r->pages = page + 1;
        return page;
    }
    ck_abort_msg("the reference has no pages left");
}

void ref_clear_entry(struct ref_slot *s)
{
    s->kind = REF_NONE;
    s->rw = s->dirty = s->young = s->wp = s->soft = s->exclusive_swap = false;
    s->page = -1;
    s->value = 0;
}

static void release_page(struct ref *r, int page)
{
    struct ref_page *p = &r->page[page];
    if (p->anon && ref_references(r, page) == 0)
        p->used = false;
}

/* With its last user a slot is free, and what the swap cache has of it. */
void ref_release_slot(struct ref *r, uint64_t offset)
{
    if (offset >= REF_SWAP_SLOTS || ref_swap_users(r, offset) || r->swap_cache[offset] < 0)
        return;
    int page = r->swap_cache[offset];
    r->swap_cache[offset] = -1;
    r->page[page].dirty = true;
    release_page(r, page);
}

void ref_drop_entry(struct ref *r, struct ref_slot *s)
{
    int page = s->kind == REF_PAGE ? s->page : -1;
    uint64_t slot = s->kind == REF_SWAP ? s->value : UINT64_MAX;
    if (page >= 0 && !r->page[page].anon && s->dirty)
        r->page[page].dirty = true;
    ref_clear_entry(s);
    if (page >= 0)
        release_page(r, page);
    ref_release_slot(r, slot);
}

/* --- Mappings -------------------------------------------------------------------------------- */

int ref_map(struct ref *r, int mm, int first, int end, uint32_t flags, int object, uint64_t pgoff)
{
    for (int i = first; i < end; i++)
        if (r->mm[mm].slot[i].mapped)
            return -EEXIST;
    int group = ++r->groups;
    for (int i = first; i < end; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        ref_clear_entry(s);
        s->mapped = true;
        s->flags = flags;
        s->object = object;
        s->pgoff = (object < 0 ? ref_address(r, first) >> 12 : pgoff) + (uint64_t)(i - first);
        s->group = group;
        s->anon = 0;
        s->changed = true;
    }
    ref_settle(r, mm);
    return 0;
}

int ref_unmap(struct ref *r, int mm, int first, int end)
{
    ref_isolate(r, mm, first, end);
    for (int i = first; i < end; i++)
        if (r->mm[mm].slot[i].mapped) {
            ref_drop_entry(r, &r->mm[mm].slot[i]);
            r->mm[mm].slot[i].mapped = false;
        }
    return 0;
}

int ref_zap(struct ref *r, int mm, int first, int end)
{
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    for (int i = first; i < end; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        if (s->kind == REF_MARKER && s->value == FASTMM_MARKER_GUARD)
            continue;
        bool comes_back = ref_entry_wp(s) && s->object >= 0 && (s->flags & FASTMM_VM_UFFD_WP);
        ref_drop_entry(r, s);
        if (comes_back) {
            s->kind = REF_MARKER;
            s->value = FASTMM_MARKER_UFFD_WP;
        }
    }
    return 0;
}

/* --- Fork ------------------------------------------------------------------------------------ */

static void fork_page(struct ref *r, int parent, struct ref_slot *from, struct ref_slot *to)
{
    struct ref_page *p = from->kind == REF_PAGE ? &r->page[from->page] : NULL;
    bool keep_wp = from->wp && (to->flags & FASTMM_VM_UFFD_WP);
    if (p && p->anon && p->pins && p->exclusive && r->mm[parent].has_pinned) {
        ref_set_page(r, to, ref_new_page(r, true, -1), true, keep_wp);
        return;
    }
    if (ref_is_private(from))
        from->rw = false;
    if (p)
        p->exclusive = false;
    to->kind = from->kind;
    to->page = from->page;
    to->rw = from->rw;
    to->dirty = from->dirty && ref_is_private(from);
    to->soft = from->soft;
    to->young = false;
    to->wp = keep_wp;
}

static void fork_entry(struct ref *r, int parent, struct ref_slot *from, struct ref_slot *to)
{
    bool child_wp = to->flags & FASTMM_VM_UFFD_WP;
    switch (from->kind) {
    case REF_NONE:
        break;
    case REF_MARKER:
        to->value = from->value & (child_wp ? FASTMM_MARKER_ALL : ~FASTMM_MARKER_UFFD_WP);
        to->kind = to->value ? REF_MARKER : REF_NONE;
        break;
    case REF_SWAP:
        from->exclusive_swap = false;
        to->kind = REF_SWAP;
        to->value = from->value;
        to->wp = from->wp && child_wp;
        to->soft = from->soft;
        break;
    default:
        fork_page(r, parent, from, to);
    }
}

void ref_fork(struct ref *r, int parent, int child)
{
    struct ref_mm *c = &r->mm[child];
    int group = -1;
    memset(c, 0, sizeof(*c));
    c->used = true;
    for (int i = 0; i < REF_SLOTS; i++) {
        struct ref_slot *from = &r->mm[parent].slot[i], *to = &c->slot[i];
        ref_clear_entry(to);
        if (!from->mapped || (from->flags & FASTMM_VM_DONTCOPY))
            continue;
        to->mapped = true;
        to->flags = from->flags;
        to->object = from->object;
        to->pgoff = from->pgoff;
        to->group = from->group; /* groups are compared within an address space only */
        if (!(from->flags & FASTMM_VM_UFFD_FORK))
            to->flags &= ~FASTMM_VM_UFFD;
        if (from->anon && !(from->flags & FASTMM_VM_WIPEONFORK)) {
            r->anons += group != from->group;
            group = from->group;
            to->anon = r->anons;
            to->flags |= FASTMM_VM_FORKED;
        }
        if (from->flags & FASTMM_VM_WIPEONFORK)
            to->flags &= ~(FASTMM_VM_ANON_VMA | FASTMM_VM_GUARD | FASTMM_VM_FORKED);
        else if ((from->flags & FASTMM_VM_ANON_VMA) ||
                 (to->flags & (FASTMM_VM_UFFD_WP | FASTMM_VM_GUARD)))
            fork_entry(r, parent, from, to);
    }
}

void ref_destroy(struct ref *r, int mm)
{
    for (int first = 0; first < REF_SLOTS; first += REF_REGION_PAGES)
        ref_unmap(r, mm, first, first + REF_REGION_PAGES);
    r->mm[mm].used = false;
}

/* --- Entries put in -------------------------------------------------------------------------- */

int ref_swap(struct ref *r, int mm, int slot, uint64_t offset, bool wp, bool exclusive)
{
    struct ref_slot *s = &r->mm[mm].slot[slot];
    if (!s->mapped || !ref_is_private(s) || (wp && !(s->flags & FASTMM_VM_UFFD_WP)) ||
        (ref_swap_users(r, offset) && (exclusive || swap_exclusive(r, offset))))
        return -EINVAL;
    if (s->kind != REF_NONE)
        return -EEXIST;
    s->kind = REF_SWAP;
    s->value = offset;
    s->wp = wp;
    s->exclusive_swap = exclusive;
    ref_flag_anon(r, mm, slot);
    return 0;
}

int ref_marker(struct ref *r, int mm, int slot, uint64_t markers)
{
    struct ref_slot *s = &r->mm[mm].slot[slot];
    bool uffd = markers & FASTMM_MARKER_UFFD_WP;
    if (!s->mapped)
        return -EINVAL;
    if (uffd &&
        (!(s->flags & FASTMM_VM_UFFD_WP) ||
         (s->object < 0 && !(s->flags & (FASTMM_VM_UFFD_UNPOPULATED | FASTMM_VM_UFFD_ASYNC)))))
        return -EINVAL;
    if (s->kind != REF_NONE)
        return -EEXIST;
    s->kind = REF_MARKER;
    s->value = markers;
    if (markers & FASTMM_MARKER_GUARD)
        ref_flag_guard(r, mm, slot);
    return 0;
}
