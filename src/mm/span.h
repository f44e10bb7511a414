/* SPDX-License-Identifier: MIT */
/*
 * What fork, zap and scan do to one span of a leaf table, in more than one build. `plain` takes
 * entry after entry and is the definition; the others must leave everything bit for bit as it
 * does: entries, words, bitmap, lists of free frames, counters.
 *
 * A machine picks its build once. All of them are listed in fastmm_span_impls[].
 */
#ifndef FASTMM_SRC_MM_SPAN_H
#define FASTMM_SRC_MM_SPAN_H

#include "table.h"

/* The entries of one mapping on their way into a child. */
struct copy {
    struct fastmm_mm *parent, *child;
    struct fastmm_frames *frames;
    const struct fastmm_vma *from;
    struct fastmm_vma *to;
    bool cow, shared, keep_uffd_wp;
};

/* The entries of one mapping on their way out. */
struct zap {
    struct fastmm_mm *mm;
    const struct fastmm_vma *vma;
    bool keep_guards;  /* DONTNEED */
    bool keep_uffd_wp; /* DONTNEED in a mapping whose pages come back */
    bool table_goes;   /* nobody reads the entries any more: they may stay as they are */
};

struct span_ops {
    const char *name;
    /*
     * Sets all of `target`, whatever it held, to the child's entries for the span. What was copied
     * before a failure is counted, so that tearing the child down balances; the rest is empty.
     */
    int (*copy)(const struct copy *c, const struct table_span *span, fastmm_pte_t *target);
    /* Returns whether anything is left in the span. */
    bool (*zap)(const struct zap *z, const struct table_span *span);
    /* Adds the span's entries to *scan. */
    void (*scan)(const struct table_span *span, struct fastmm_scan *scan);
};

/* The plain build, which the others fall back to. */
int fastmm_copy_plain(const struct copy *c, const struct table_span *span, fastmm_pte_t *target);
bool fastmm_zap_plain(const struct zap *z, const struct table_span *span);
void fastmm_scan_plain(const struct table_span *span, struct fastmm_scan *scan);

#if defined(__x86_64__)
int fastmm_copy_avx512(const struct copy *c, const struct table_span *span, fastmm_pte_t *target);
bool fastmm_zap_avx512(const struct zap *z, const struct table_span *span);
void fastmm_scan_avx512(const struct table_span *span, struct fastmm_scan *scan);
#endif

/* The build of enum fastmm_mm_impl, or NULL with *rc saying why there is none. */
const struct span_ops *fastmm_span_ops(unsigned impl, int *rc);

/* The part of a span from its i-th entry on. */
static inline struct table_span span_from(const struct table_span *span, unsigned i)
{
    return (struct table_span){span->pte + i, span->count - i,
                               span->addr + i * (uint64_t)FASTMM_PAGE_SIZE, span->above};
}

#endif
