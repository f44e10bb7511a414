/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_H
#define HOOKS_H

#include "../counting.h"

#include <jemalloc/jemalloc.h>

enum hooks_figure {
    MAPPED,    /* bytes of address space held for jemalloc */
    COMMITTED, /* of that, readable and writable */
    PURGED,    /* bytes given back to the kernel with their addresses kept, since the beginning */
    CLEARED,   /* bytes cleared instead, since the beginning */
    FIGURES
};

struct hooks_state {
    struct fastmm_counter_group4 figures;
    struct fastmm_quota limit; /* on committed bytes */
    extent_hooks_t *own;       /* jemalloc's, for extents that are not ours */
    int marking;               /* mark our mappings for report.c */
};

extern struct hooks_state hooks_state;
extern extent_hooks_t hooks;

/* Says what was counted, and how it compares with the kernel's view if that was marked. */
void hooks_report(void);

#endif
