/* SPDX-License-Identifier: MIT */
/*
 * What the fast builds do to pages whose frames lie anywhere: one word after the other, in loops
 * without a branch on what a page is. Kinds hardly ever change within a few pages, so they are
 * compared all at once and counted one by one only if they differ.
 */
#ifndef FASTMM_SRC_MM_SPAN_PAGES_H
#define FASTMM_SRC_MM_SPAN_PAGES_H

#include "frame.h"
#include "span.h"

/* Pages that were counted. Those of the file counter are the rest. */
struct kinds {
    uint64_t all, anon, shmem;
};

/* `n` pages of a kind, which is in its place in a word. */
static inline void kinds_add(struct kinds *kinds, uint64_t kind, uint64_t n)
{
    kinds->all += n;
    kinds->anon += kind == FRAME_KIND(FASTMM_FRAME_ANON) ? n : 0;
    kinds->shmem += kind == FRAME_KIND(FASTMM_FRAME_SHMEM) ? n : 0;
}

static inline void kinds_apply(const struct kinds *kinds, struct rss_change *rss, int64_t sign)
{
    rss->by[FASTMM_RSS_ANON] += sign * (int64_t)kinds->anon;
    rss->by[FASTMM_RSS_SHMEM] += sign * (int64_t)kinds->shmem;
    rss->by[FASTMM_RSS_FILE] += sign * (int64_t)(kinds->all - kinds->anon - kinds->shmem);
}

/* Bits of a word that a fork has to think about. */
static inline uint64_t rare_in_copy(const struct copy *c)
{
    return FRAME_GUARDS | (c->parent->has_pinned ? FRAME_PINNED : 0);
}

/* A mapping more, and nobody's alone any more. */
static inline uint64_t shared_word(uint64_t word)
{
    return (word + FRAME_MAPPED) & ~FRAME_EXCLUSIVE;
}

/*
 * Gives `n` pages one mapping more each, the same page perhaps several times. False, and nothing
 * changed, if one of them has a `rare` bit. before[] has room for n.
 */
FASTMM_INLINE bool share_pages(struct fastmm_frames *frames, const uint64_t *pfns, unsigned n,
                               uint64_t rare, uint64_t *before, struct kinds *kinds)
{
    if (n == 0)
        return true;
    const uint64_t first = frames->word[pfns[0]];
    uint64_t any = 0, differ = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t *word = &frames->word[pfns[i]], old = *word;
        any |= old;
        differ |= old ^ first;
        before[i] = old;
        *word = shared_word(old);
    }
    if (FASTMM_UNLIKELY(any & rare)) {
        while (n--)
            frames->word[pfns[n]] = before[n];
        return false;
    }
    if (FASTMM_LIKELY(!(differ & FRAME_KIND_MASK))) {
        kinds_add(kinds, first & FRAME_KIND_MASK, n);
        return true;
    }
    for (unsigned i = 0; i < n; i++)
        kinds_add(kinds, before[i] & FRAME_KIND_MASK, 1);
    return true;
}

/* What a page is told by an entry that goes: anonymous pages don't care. */
static inline uint64_t told_by(fastmm_pte_t pte)
{
    return (fastmm_pte_dirty(pte) ? FRAME_DIRTY : 0) | (fastmm_pte_young(pte) ? FRAME_YOUNG : 0);
}

/* Takes a mapping from the page of each of `n` entries, one after the other. */
FASTMM_INLINE void drop_pages(struct fastmm_machine *machine, const fastmm_pte_t *ptes, unsigned n,
                              struct kinds *kinds)
{
    uint64_t others = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t pfn = (ptes[i] & FASTMM_PTE_PFN_MASK) >> FASTMM_PAGE_SHIFT;
        uint64_t *at = &machine->frames.word[pfn], word = *at;
        if (FASTMM_UNLIKELY(!frame_is_anon(word))) {
            kinds_add(kinds, word & FRAME_KIND_MASK, 1);
            others++;
            word |= told_by(ptes[i]);
        }
        *at = word -= FRAME_MAPPED;
        if (FASTMM_UNLIKELY(!(word & FRAME_REF_MASK)))
            fastmm_frame_free(machine, pfn);
    }
    kinds_add(kinds, FRAME_KIND(FASTMM_FRAME_ANON), n - others);
}

#endif
