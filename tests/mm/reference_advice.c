/* SPDX-License-Identifier: MIT */
/* The reference for what madvise, mremap and userfaultfd's poison do. */
#include "reference_parts.h"

#include <errno.h>

/* --- Guards and poison ----------------------------------------------------------------------- */

static bool is_guard(const struct ref_slot *s)
{
    return s->kind == REF_MARKER && s->value == FASTMM_MARKER_GUARD;
}

int ref_guard(struct ref *r, int mm, int first, int end, bool install)
{
    bool stuck = false;
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    for (int i = first; install && i < end; i++) {
        const struct ref_slot *s = &r->mm[mm].slot[i];
        ref_flag_guard(r, mm, i);
        stuck |=
            s->object >= 0 && ref_entry_wp(s) && !is_guard(s) && (s->flags & FASTMM_VM_UFFD_WP);
    }
    if (stuck)
        return -EAGAIN;
    for (int i = first; i < end; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        if (install && is_guard(s))
            continue;
        if (install || is_guard(s))
            ref_drop_entry(r, s);
        if (install) {
            s->kind = REF_MARKER;
            s->value = FASTMM_MARKER_GUARD;
        }
    }
    return 0;
}

int ref_poison(struct ref *r, int mm, int first, int end)
{
    struct ref_slot *s = r->mm[mm].slot;
    if (s[first].mapped && ref_is_private(&s[first]))
        ref_flag_anon(r, mm, first);
    for (int i = first; i < end; i++)
        if (!s[i].mapped || s[i].group != s[first].group || !(s[i].flags & FASTMM_VM_UFFD_WP))
            return -ENOENT;
    if (ref_is_file(&s[first]))
        return -EINVAL;
    for (int i = first; i < end; i++) {
        if (s[i].object >= 0 && s[i].pgoff >= REF_OBJECT_PAGES)
            return -EFAULT;
        if (s[i].kind != REF_NONE)
            return -EEXIST;
    }
    for (int i = first; i < end; i++) {
        s[i].kind = REF_MARKER;
        s[i].value = FASTMM_MARKER_POISON;
    }
    return 0;
}

/* --- Moving ---------------------------------------------------------------------------------- */

/* The slots from `from` on become what the mapping of slot `like` would be there. */
static void extend(struct ref *r, int mm, int like, int from, int end)
{
    struct ref_slot *s = r->mm[mm].slot;
    for (int i = from; i < end; i++) {
        s[i] = s[like];
        ref_clear_entry(&s[i]);
        s[i].pgoff = s[like].pgoff + (uint64_t)(i - like);
        s[i].changed = true;
    }
}

static bool in_one(const struct ref *r, int mm, int first, int end)
{
    const struct ref_slot *s = r->mm[mm].slot;
    for (int i = first; i < end; i++)
        if (!s[i].mapped || s[i].group != s[first].group)
            return false;
    return true;
}

int ref_resize(struct ref *r, int mm, int first, int end, int new_end)
{
    struct ref_slot *s = r->mm[mm].slot;
    if (new_end > end) {
        if (!in_one(r, mm, first, end))
            return -EFAULT;
        for (int i = end; i < new_end; i++)
            if (s[i].mapped)
                return -ENOMEM;
        extend(r, mm, end - 1, end, new_end);
        s[new_end - 1].grew = true;
        ref_settle(r, mm);
        return 0;
    }
    if (!s[first].mapped)
        return -EFAULT;
    return new_end < end ? ref_unmap(r, mm, new_end, end) : 0;
}

/* Slots of the mapping of `first`, if it would join what moves to `to`. */
static void find_rest(const struct ref *r, int mm, int first, int to, int size,
                      bool rest[REF_SLOTS])
{
    const struct ref_slot *s = r->mm[mm].slot;
    int low = first, high = first + 1;
    while (ref_adjacent(s, low) && s[low - 1].group == s[first].group)
        low--;
    while (high < REF_SLOTS && ref_adjacent(s, high) && s[high].group == s[first].group)
        high++;
    bool joins =
        s[first].object < 0 && !s[first].anon &&
        ((to == high && high % REF_REGION_PAGES) || (to + size == low && low % REF_REGION_PAGES));
    for (int i = 0; i < REF_SLOTS; i++)
        rest[i] = joins && i >= low && i < high;
}

/* The ranges don't overlap. */
int ref_move(struct ref *r, int mm, int first, int end, int to, int size)
{
    struct ref_slot *s = r->mm[mm].slot;
    if (!in_one(r, mm, first, first + size < end ? first + size : end))
        return -EFAULT;
    ref_unmap(r, mm, to, to + size);
    if (size < end - first) {
        ref_unmap(r, mm, first + size, end);
        end = first + size;
    }
    bool ends = (s[first].flags & FASTMM_VM_UFFD_WP) && !(s[first].flags & FASTMM_VM_UFFD_REMAP);
    bool to_rest[REF_SLOTS];
    find_rest(r, mm, first, to, size, to_rest);
    ref_isolate(r, mm, first, end);
    int group = ++r->groups;
    for (int i = 0; i < end - first; i++) {
        struct ref_slot *at = &s[to + i];
        *at = s[first + i];
        at->group = group;
        at->changed = true;
        if (at->object < 0 && !at->anon)
            at->pgoff = ref_address(r, to + i) >> 12;
        if (ends)
            at->wp = false;
        if (ends && at->kind == REF_MARKER && at->value == FASTMM_MARKER_UFFD_WP)
            ref_clear_entry(at);
        at->soft = at->kind != REF_NONE && r->soft_dirty;
        ref_clear_entry(&s[first + i]);
        s[first + i].mapped = false;
    }
    extend(r, mm, to + end - first - 1, to + end - first, to + size);
    ref_settle(r, mm);
    for (int i = 0; ends && i < REF_SLOTS; i++)
        if (s[i].mapped && (s[i].group == s[to].group || to_rest[i]))
            s[i].flags &= ~FASTMM_VM_UFFD;
    return 0;
}

/* --- Advice ---------------------------------------------------------------------------------- */

int ref_advise(struct ref *r, int mm, int first, int end, enum fastmm_advice advice)
{
    struct ref_slot *s = r->mm[mm].slot;
    bool fork = advice == FASTMM_ADVICE_DONTFORK || advice == FASTMM_ADVICE_DOFORK;
    bool set = advice == FASTMM_ADVICE_DONTFORK || advice == FASTMM_ADVICE_WIPEONFORK;
    uint32_t flag = fork ? FASTMM_VM_DONTCOPY : FASTMM_VM_WIPEONFORK;
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    for (int i = first; i < end; i++)
        if (advice == FASTMM_ADVICE_WIPEONFORK && s[i].object >= 0)
            return -EINVAL;
    ref_isolate_changing(r, mm, first, end, flag, set ? flag : 0);
    for (int i = first; i < end; i++)
        s[i].flags = (s[i].flags & ~flag) | (set ? flag : 0);
    ref_settle(r, mm);
    return 0;
}

int ref_free(struct ref *r, int mm, int first, int end)
{
    struct ref_slot *s = r->mm[mm].slot;
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    for (int i = first; i < end; i++)
        if (s[i].object >= 0)
            return -EINVAL;
    for (int i = first; i < end; i++) {
        struct ref_page *p = s[i].kind == REF_PAGE ? &r->page[s[i].page] : NULL;
        bool others = p && p->dirty && ref_mapcount(r, s[i].page) != 1;
        if (p && !others && !ref_swap_cached(r, s[i].page)) {
            s[i].young = s[i].dirty = p->dirty = false;
            p->lazy = true;
        }
        if (s[i].kind == REF_SWAP ||
            (s[i].kind == REF_MARKER && s[i].value == FASTMM_MARKER_POISON))
            ref_drop_entry(r, &s[i]);
    }
    return 0;
}

int ref_prefault(struct ref *r, int mm, int slot, bool write)
{
    const struct ref_slot *s = &r->mm[mm].slot[slot];
    if (!s->mapped)
        return -ENOMEM;
    if (!(s->flags & (write ? FASTMM_VM_WRITE : FASTMM_VM_READ)))
        return -EINVAL;
    if ((s->kind == REF_PAGE || s->kind == REF_ZERO) && (!write || s->rw)) {
        if (write && !s->dirty)
            r->page[s->page].dirty = true;
        return 0;
    }
    if (ref_fault(r, mm, slot, write) == FASTMM_FAULT_OK)
        return 0;
    return s->kind == REF_MARKER && s->value == FASTMM_MARKER_POISON ? -EHWPOISON : -EFAULT;
}

static void remove_page(struct ref *r, int object, uint64_t index)
{
    for (int m = 0; m < REF_MMS; m++)
        for (int i = 0; i < REF_SLOTS; i++) {
            struct ref_slot *s = &r->mm[m].slot[i];
            bool wp = s->wp;
            if (!r->mm[m].used || !s->mapped || s->object != object || s->pgoff != index ||
                s->kind != REF_PAGE || r->page[s->page].anon)
                continue;
            ref_clear_entry(s);
            if (wp) {
                s->kind = REF_MARKER;
                s->value = FASTMM_MARKER_UFFD_WP;
            }
        }
    if (index >= REF_OBJECT_PAGES)
        return;
    if (r->cache[object][index] >= 0) {
        struct ref_page *p = &r->page[r->cache[object][index]];
        p->used = p->pins != 0;
        p->removed = true;
    }
    r->cache[object][index] = -1;
}

int ref_remove(struct ref *r, int mm, int first, int end)
{
    const struct ref_slot *s = r->mm[mm].slot;
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    for (int i = first; i < end; i++)
        if (s[i].object < 0 || ref_is_private(&s[i]) || ref_is_file(&s[i]))
            return s[i].object < 0 ? -EINVAL : ref_is_private(&s[i]) ? -EACCES : -ENOTSUP;
    for (int i = first; i < end; i++)
        remove_page(r, s[i].object, s[i].pgoff);
    return 0;
}

/* --- Swapping -------------------------------------------------------------------------------- */

static bool any_slot_free(const struct ref *r)
{
    int used = ref_pages_out(r);
    for (int i = 0; i < REF_SWAP_SLOTS; i++)
        used += ref_swap_users(r, (uint64_t)i) != 0;
    for (int m = 0; m < REF_MMS; m++)
        for (int i = 0; i < REF_SLOTS; i++)
            used += r->mm[m].used && r->mm[m].slot[i].kind == REF_SWAP &&
                    r->mm[m].slot[i].value >= REF_SWAP_SLOTS;
    return used < REF_SWAP_SLOTS;
}

static uint64_t slot_for(struct ref *r, int page)
{
    for (int i = 0; i < REF_SWAP_SLOTS; i++)
        if (r->swap_cache[i] == page)
            return (uint64_t)i;
    return r->fresh_slots++;
}

/* A page of shmem that was written comes back, others are made anew. */
static void pageout_shmem(struct ref *r, struct ref_slot *s)
{
    struct ref_page *p = &r->page[s->page];
    int *cached = &r->cache[s->object][s->pgoff];
    uint64_t marker = s->wp && (s->flags & FASTMM_VM_UFFD_WP) ? FASTMM_MARKER_UFFD_WP : 0;
    p->dirty |= s->dirty;
    if (!p->pins && (!p->dirty || any_slot_free(r))) {
        *cached = p->dirty ? REF_OUT : -1;
        p->used = false;
    }
    ref_clear_entry(s);
    if (marker) {
        s->kind = REF_MARKER;
        s->value = marker;
    }
}

static void pageout_slot(struct ref *r, struct ref_slot *s)
{
    struct ref_page *p = s->kind == REF_PAGE ? &r->page[s->page] : NULL;
    if (!p || (p->anon && p->pins) || ref_mapcount(r, s->page) != 1)
        return;
    if (!p->anon) {
        if (!ref_is_file(s))
            pageout_shmem(r, s);
        return;
    }
    s->young = false;
    if (p->lazy && (s->dirty || p->dirty)) {
        p->lazy = false;
        p->dirty = true;
    } else if (p->lazy) {
        ref_drop_entry(r, s);
    } else if (ref_swap_cached(r, s->page) || any_slot_free(r)) {
        uint64_t slot = slot_for(r, s->page);
        bool wp = s->wp, exclusive = p->exclusive, soft = s->soft;
        if (slot < REF_SWAP_SLOTS)
            r->swap_cache[slot] = -1;
        ref_drop_entry(r, s);
        s->kind = REF_SWAP;
        s->value = slot;
        s->wp = wp;
        s->exclusive_swap = exclusive;
        s->soft = soft;
    }
}

int ref_pageout(struct ref *r, int mm, int first, int end)
{
    if (!ref_whole(r, mm, first, end))
        return -ENOMEM;
    for (int i = first; i < end; i++)
        pageout_slot(r, &r->mm[mm].slot[i]);
    return 0;
}
