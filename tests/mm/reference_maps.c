/* SPDX-License-Identifier: MIT */
/* The reference's mappings: what cuts them, what joins them, and what they remember. */
#include "reference_parts.h"

/* Slots from `cut` on no longer belong to the mapping of the slot before. */
static void cut_at(struct ref *r, int mm, int cut)
{
    struct ref_slot *s = r->mm[mm].slot;
    if (cut % REF_REGION_PAGES == 0 || cut >= REF_SLOTS)
        return;
    if (!s[cut].mapped || !s[cut - 1].mapped || s[cut].group != s[cut - 1].group)
        return;
    int old = s[cut].group, fresh = ++r->groups;
    for (int i = cut; i < REF_SLOTS && s[i].mapped && s[i].group == old; i++)
        s[i].group = fresh;
}

void ref_isolate(struct ref *r, int mm, int first, int end)
{
    cut_at(r, mm, first);
    cut_at(r, mm, end);
}

bool ref_adjacent(const struct ref_slot *s, int upper)
{
    return upper % REF_REGION_PAGES && s[upper - 1].mapped && s[upper].mapped;
}

/* The same mapping, or one that would be if it weren't for flags in `ignored`. */
static bool alike(const struct ref_slot *a, const struct ref_slot *b, uint32_t ignored)
{
    ignored |= FASTMM_VM_ANON_VMA | FASTMM_VM_GUARD | FASTMM_VM_FORKED | FASTMM_VM_UFFD_LOST |
               FASTMM_VM_SOFT_TRACKED;
    return !((a->flags ^ b->flags) & ~ignored) && a->object == b->object &&
           a->pgoff + 1 == b->pgoff;
}

static bool may_join(const struct ref_slot *a, const struct ref_slot *b)
{
    if (!(a->changed || b->changed) || a->group == b->group || !alike(a, b, 0))
        return false;
    return a->anon == b->anon || (a->grew && !b->anon) ||
           ((!a->anon || !b->anon) && !((a->flags | b->flags) & FASTMM_VM_FORKED));
}

/* Everything that is known of one of the groups is true of both. */
static void join(struct ref *r, int mm, int lower, int upper)
{
    struct ref_slot *s = r->mm[mm].slot;
    const struct ref_slot a = s[lower], b = s[upper];
    for (int i = 0; i < REF_SLOTS; i++)
        if (s[i].mapped && (s[i].group == a.group || s[i].group == b.group)) {
            s[i].group = a.group;
            s[i].anon = a.anon ? a.anon : b.anon;
            s[i].flags |= a.flags | b.flags;
            if (!(a.flags & b.flags & FASTMM_VM_SOFT_TRACKED))
                s[i].flags &= ~FASTMM_VM_SOFT_TRACKED;
        }
}

void ref_settle(struct ref *r, int mm)
{
    struct ref_slot *s = r->mm[mm].slot;
    for (int i = 1; i < REF_SLOTS; i++)
        if (ref_adjacent(s, i) && may_join(&s[i - 1], &s[i]))
            join(r, mm, i - 1, i);
    for (int i = 0; i < REF_SLOTS; i++)
        s[i].changed = s[i].grew = false;
}

/* Cuts only what has to change: slots whose flags under `mask` aren't `value`. */
void ref_isolate_changing(struct ref *r, int mm, int first, int end, uint32_t mask, uint32_t value)
{
    struct ref_slot *s = r->mm[mm].slot;
    while (first < end && (!s[first].mapped || (s[first].flags & mask) == value))
        first++;
    while (first < end && (!s[end - 1].mapped || (s[end - 1].flags & mask) == value))
        end--;
    if (first < end)
        ref_isolate(r, mm, first, end);
    for (int i = first; i < end; i++)
        s[i].changed = s[i].mapped && (s[i].flags & mask) != value;
}

bool ref_any(const struct ref *r, int mm, int first, int end)
{
    for (int i = first; i < end; i++)
        if (r->mm[mm].slot[i].mapped)
            return true;
    return false;
}

bool ref_whole(const struct ref *r, int mm, int first, int end)
{
    for (int i = first; i < end; i++)
        if (!r->mm[mm].slot[i].mapped)
            return false;
    return true;
}

static void flag_group(struct ref *r, int mm, int slot, uint32_t flag)
{
    struct ref_slot *s = r->mm[mm].slot;
    int group = s[slot].group;
    for (int i = 0; i < REF_SLOTS; i++)
        if (s[i].mapped && s[i].group == group)
            s[i].flags |= flag;
}

static int neighbour_anon(const struct ref_slot *s, int slot)
{
    const uint32_t apart = FASTMM_VM_PROT | (FASTMM_VM_UFFD & ~FASTMM_VM_UFFD_WP);
    int low = slot, high = slot;
    while (ref_adjacent(s, low) && s[low - 1].group == s[slot].group)
        low--;
    while (high + 1 < REF_SLOTS && ref_adjacent(s, high + 1) && s[high + 1].group == s[slot].group)
        high++;
    if (high + 1 < REF_SLOTS && ref_adjacent(s, high + 1) && s[high + 1].anon &&
        alike(&s[high], &s[high + 1], apart) && !(s[high + 1].flags & FASTMM_VM_FORKED))
        return s[high + 1].anon;
    if (ref_adjacent(s, low) && alike(&s[low - 1], &s[low], apart) &&
        !(s[low - 1].flags & FASTMM_VM_FORKED))
        return s[low - 1].anon;
    return 0;
}

void ref_flag_anon(struct ref *r, int mm, int slot)
{
    struct ref_slot *s = r->mm[mm].slot;
    if (s[slot].anon)
        return;
    int group = s[slot].group, anon = neighbour_anon(s, slot);
    anon = anon ? anon : ++r->anons;
    for (int i = 0; i < REF_SLOTS; i++)
        if (s[i].mapped && s[i].group == group)
            s[i].anon = anon;
    flag_group(r, mm, slot, FASTMM_VM_ANON_VMA);
}

void ref_flag_guard(struct ref *r, int mm, int slot)
{
    if (r->mm[mm].slot[slot].object < 0)
        ref_flag_anon(r, mm, slot);
    flag_group(r, mm, slot, FASTMM_VM_GUARD);
}
