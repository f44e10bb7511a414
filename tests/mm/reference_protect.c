/* SPDX-License-Identifier: MIT */
/* Permissions, and the protection of userfaultfd. */
#include "reference_parts.h"

#include <errno.h>

/* May a page become writable without a fault? */
static bool upgrade(const struct ref *r, const struct ref_slot *s)
{
    bool wp = s->wp && (s->flags & FASTMM_VM_UFFD_WP);
    if (!(s->flags & FASTMM_VM_WRITE) || wp || s->kind != REF_PAGE || ref_awaits_write(s))
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
            s->rw = ref_shared_rw_by_default(s) || upgrade(r, s);
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
            s->rw = !protect && (ref_shared_rw_by_default(s) || upgrade(r, s));
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
