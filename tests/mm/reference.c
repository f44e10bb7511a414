/* SPDX-License-Identifier: MIT */
#include "reference_parts.h"

#include "holds.h"

#include <errno.h>
#include <string.h>

#define TABLE_SPAN (UINT64_C(512) << 12)

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
static bool awaits_write(const struct ref_slot *s)
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

static int references(const struct ref *r, int page)
{
    return ref_mapcount(r, page) + r->page[page].pins + ref_swap_cached(r, page);
}

bool ref_entry_wp(const struct ref_slot *s)
{
    if (s->kind == REF_MARKER)
        return s->wp || (s->value & FASTMM_MARKER_UFFD_WP);
    return s->kind != REF_NONE && s->wp;
}

static int new_page(struct ref *r, bool anon, int object)
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
    if (p->anon && references(r, page) == 0)
        p->used = false;
}

/* With its last user a slot is free, and what the swap cache has of it. */
static void release_slot(struct ref *r, uint64_t offset)
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
    release_slot(r, slot);
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

/* --- Faults ---------------------------------------------------------------------------------- */

static bool shared_rw_by_default(const struct ref_slot *s)
{
    return !ref_is_private(s) && (s->flags & FASTMM_VM_WRITE) && !ref_is_file(s) &&
           !(s->flags & (FASTMM_VM_UFFD_WP | FASTMM_VM_SOFT_TRACKED));
}

static void set_page(const struct ref *r, struct ref_slot *s, int page, bool write, bool wp)
{
    s->kind = REF_PAGE;
    s->page = page;
    s->value = 0;
    s->young = true;
    s->dirty = write;
    s->soft = write && r->soft_dirty;
    s->wp = wp;
    s->rw = ((write && (s->flags & FASTMM_VM_WRITE)) || shared_rw_by_default(s)) && !wp;
}

static void set_private(struct ref *r, int mm, int slot, bool wp)
{
    set_page(r, &r->mm[mm].slot[slot], new_page(r, true, -1), true, wp);
    ref_flag_anon(r, mm, slot);
}

static int cached(struct ref *r, const struct ref_slot *s)
{
    int *page = &r->cache[s->object][s->pgoff];
    bool out = *page == REF_OUT;
    if (*page < 0)
        *page = new_page(r, false, s->object);
    r->page[*page].dirty |= out;
    return *page;
}

/* Where a write would find nothing out, because the page is dirty, the entry is dirty at once. */
static void set_cached(const struct ref *r, struct ref_slot *s, int page, bool write, bool wp)
{
    set_page(r, s, page, write, wp);
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
    bool alone = page && p->anon && (p->exclusive || references(r, s->page) == 1);
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
        page = new_page(r, true, -1);
        r->page[page].exclusive = ref_swap_users(r, offset) == 1;
        if (!r->page[page].exclusive)
            r->swap_cache[offset] = page;
    }
    ref_clear_entry(s);
    set_page(r, s, page, false, wp);
    release_slot(r, offset);
    if (write && references(r, page) == 1)
        r->page[page].exclusive = true;
    s->dirty = write && !held_up && r->page[page].exclusive;
    s->soft = soft || (s->dirty && r->soft_dirty);
    s->rw = may_write(s) && !held_up && r->page[page].exclusive && !awaits_write(s);
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
    return s->rw || (!may_write(s) && !tracked && !awaits_write(s) && r->page[s->page].anon &&
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

/* --- Fork ------------------------------------------------------------------------------------ */

static void fork_page(struct ref *r, int parent, struct ref_slot *from, struct ref_slot *to)
{
    struct ref_page *p = from->kind == REF_PAGE ? &r->page[from->page] : NULL;
    bool keep_wp = from->wp && (to->flags & FASTMM_VM_UFFD_WP);
    if (p && p->anon && p->pins && p->exclusive && r->mm[parent].has_pinned) {
        set_page(r, to, new_page(r, true, -1), true, keep_wp);
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

/* --- Protection ------------------------------------------------------------------------------ */

/* May a page become writable without a fault? */
static bool upgrade(const struct ref *r, const struct ref_slot *s)
{
    bool wp = s->wp && (s->flags & FASTMM_VM_UFFD_WP);
    if (!(s->flags & FASTMM_VM_WRITE) || wp || s->kind != REF_PAGE || awaits_write(s))
        return false;
    if (ref_is_private(s))
        return r->page[s->page].anon && r->page[s->page].exclusive;
    return ref_is_file(s) && s->dirty;
}

int ref_protect(struct ref *r, int mm, int first, int end, uint32_t prot)
{
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    ref_isolate_changing(r, mm, first, end, FASTMM_VM_PROT, prot);
    for (int i = first; i < end; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        if ((s->flags & FASTMM_VM_PROT) == prot)
            continue;
        s->flags = (s->flags & ~FASTMM_VM_PROT) | prot;
        if (s->kind == REF_PAGE)
            s->rw = shared_rw_by_default(s) || upgrade(r, s);
    }
    ref_settle(r, mm);
    return 0;
}

int ref_register(struct ref *r, int mm, int first, int end, uint32_t features)
{
    if (!ref_any(r, mm, first, end))
        return -EINVAL;
    for (int i = first; i < end; i++) {
        const struct ref_slot *s = &r->mm[mm].slot[i];
        if (!s->mapped)
            continue;
        if (ref_is_file(s) && !(features & FASTMM_VM_UFFD_ASYNC))
            return -EINVAL;
        if ((s->flags & FASTMM_VM_UFFD_WP) &&
            (s->flags & FASTMM_VM_UFFD) != (FASTMM_VM_UFFD_WP | features))
            return -EBUSY;
    }
    ref_isolate_changing(r, mm, first, end, FASTMM_VM_UFFD, FASTMM_VM_UFFD_WP | features);
    for (int i = first; i < end; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        if (s->mapped)
            s->flags = (s->flags & ~FASTMM_VM_UFFD) | FASTMM_VM_UFFD_WP | features;
    }
    ref_settle(r, mm);
    return 0;
}

static void wp_entry(struct ref *r, struct ref_slot *s, bool protect)
{
    bool empty_too =
        s->object >= 0 || (s->flags & (FASTMM_VM_UFFD_UNPOPULATED | FASTMM_VM_UFFD_ASYNC));
    switch (s->kind) {
    case REF_NONE:
        if (protect && empty_too) {
            s->kind = REF_MARKER;
            s->value = FASTMM_MARKER_UFFD_WP;
        }
        break;
    case REF_MARKER:
        if (!protect && s->value == FASTMM_MARKER_UFFD_WP)
            ref_clear_entry(s);
        break;
    default:
        s->wp = protect;
        if (s->kind == REF_PAGE)
            s->rw = !protect && (shared_rw_by_default(s) || upgrade(r, s));
    }
}

int ref_wp(struct ref *r, int mm, int first, int end, bool protect)
{
    if (!ref_any(r, mm, first, end))
        return -ENOENT;
    for (int i = first; i < end; i++)
        if (r->mm[mm].slot[i].mapped && !(r->mm[mm].slot[i].flags & FASTMM_VM_UFFD_WP))
            return -ENOENT;
    for (int i = first; i < end; i++)
        if (r->mm[mm].slot[i].mapped)
            wp_entry(r, &r->mm[mm].slot[i], protect);
    return 0;
}

int ref_unregister(struct ref *r, int mm, int first, int end)
{
    if (!ref_any(r, mm, first, end))
        return -EINVAL;
    for (int i = first; i < end; i++)
        if (r->mm[mm].slot[i].mapped && ref_is_file(&r->mm[mm].slot[i]) &&
            !(r->mm[mm].slot[i].flags & FASTMM_VM_UFFD_WP))
            return -EINVAL;
    ref_isolate_changing(r, mm, first, end, FASTMM_VM_UFFD, 0);
    for (int i = first; i < end; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        if (!s->mapped || !(s->flags & FASTMM_VM_UFFD_WP))
            continue;
        wp_entry(r, s, false);
        s->flags &= ~FASTMM_VM_UFFD;
    }
    ref_settle(r, mm);
    return 0;
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
