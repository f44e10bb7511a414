/* SPDX-License-Identifier: MIT */
/* What PAGEMAP_SCAN says of a page of the reference, and protecting the pages that match. */
#include "reference_parts.h"

#include <errno.h>

static unsigned categories(const struct ref *r, const struct ref_slot *s)
{
    unsigned is = s->flags & FASTMM_VM_UFFD_ASYNC ? FASTMM_PAGE_IS_WPALLOWED : 0;
    is |= s->soft || (r->soft_dirty && !(s->flags & FASTMM_VM_SOFT_TRACKED))
              ? FASTMM_PAGE_IS_SOFT_DIRTY
              : 0;
    is |= ref_entry_wp(s) ? 0 : FASTMM_PAGE_IS_WRITTEN;
    switch (s->kind) {
    case REF_NONE:
        return is;
    case REF_ZERO:
        return is | FASTMM_PAGE_IS_PRESENT | FASTMM_PAGE_IS_PFNZERO;
    case REF_PAGE:
        return is | FASTMM_PAGE_IS_PRESENT | (r->page[s->page].anon ? 0 : FASTMM_PAGE_IS_FILE);
    case REF_MARKER:
        is |= s->value == FASTMM_MARKER_GUARD ? FASTMM_PAGE_IS_GUARD : 0;
        return is | FASTMM_PAGE_IS_SWAPPED;
    default:
        return is | FASTMM_PAGE_IS_SWAPPED;
    }
}

static bool matches(const struct fastmm_page_match *match, unsigned is)
{
    for (unsigned bit = 1; bit <= FASTMM_PAGE_IS_GUARD; bit <<= 1)
        if ((match->mask & bit) && !(is & bit) != !!(match->inverted & bit))
            return false;
    return true;
}

int ref_protect_matching(struct ref *r, int mm, int first, int end,
                         const struct fastmm_page_match *match)
{
    struct ref_slot *s = r->mm[mm].slot;
    for (int i = first; match->check_async && i < end; i++)
        if (s[i].mapped && !(s[i].flags & FASTMM_VM_UFFD_ASYNC))
            return -EPERM;
    for (int i = first; i < end; i++) {
        if (!s[i].mapped || !(s[i].flags & FASTMM_VM_UFFD_ASYNC) || ref_entry_wp(&s[i]) ||
            !matches(match, categories(r, &s[i])))
            continue;
        if (s[i].kind == REF_NONE) {
            s[i].kind = REF_MARKER;
            s[i].value = FASTMM_MARKER_UFFD_WP;
        } else {
            s[i].wp = true; /* also of markers that have a meaning already */
            s[i].rw = false;
        }
    }
    return 0;
}

/* Pages under DMA are left as they are. */
void ref_clear_refs(struct ref *r, int mm)
{
    for (int i = 0; i < REF_SLOTS; i++) {
        struct ref_slot *s = &r->mm[mm].slot[i];
        if (!s->mapped)
            continue;
        s->flags |= FASTMM_VM_SOFT_TRACKED;
        if (s->kind == REF_PAGE && s->rw && ref_is_private(s) && r->mm[mm].has_pinned &&
            r->page[s->page].pins)
            continue;
        s->soft = s->rw = false;
    }
}
