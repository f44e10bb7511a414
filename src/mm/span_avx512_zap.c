/* SPDX-License-Identifier: MIT */
/* Zap of a span, eight entries at a time; see span_avx512.h. */
#include "span.h"

#if defined(__x86_64__)

#    include "span_avx512.h"

/* What a page is told by an entry that goes: anonymous pages don't care. */
static uint64_t told_by(fastmm_pte_t pte)
{
    return (fastmm_pte_dirty(pte) ? FRAME_DIRTY : 0) | (fastmm_pte_young(pte) ? FRAME_YOUNG : 0);
}

/* --- Optimistic ------------------------------------------------------------------------------ */

AVX512 static inline __m512i tell(__m512i words, __m512i line)
{
    __mmask8 dirty =
        _mm512_test_epi64_mask(line, all_of(FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY));
    __mmask8 young = _mm512_test_epi64_mask(line, all_of(FASTMM_PTE_ACCESSED));
    words = _mm512_mask_or_epi64(words, dirty, words, all_of(FRAME_DIRTY));
    return _mm512_mask_or_epi64(words, young, words, all_of(FRAME_YOUNG));
}

static void free_lanes(struct fastmm_machine *machine, uint64_t pfn, unsigned unused)
{
    for (; unused; unused &= unused - 1)
        fastmm_frame_free(machine, pfn + (unsigned)__builtin_ctz(unused));
}

AVX512 static inline bool drop_consecutive(struct fastmm_machine *machine, uint64_t pfn,
                                           __m512i line, uint64_t *counts)
{
    uint64_t *word = machine->frames.word + pfn;
    __m512i words = _mm512_loadu_si512(word);
    uint64_t kind = kind_of_words(words, *word);
    if (FASTMM_UNLIKELY(!kind))
        return false;
    words = _mm512_sub_epi64(words, all_of(FRAME_MAPPED));
    if (kind != FRAME_KIND(FASTMM_FRAME_ANON))
        words = tell(words, line);
    _mm512_storeu_si512(word, words);
    *counts += LINE * count_kind(kind);
    __mmask8 unused = _mm512_testn_epi64_mask(words, all_of(FRAME_REF_MASK));
    if (unused)
        free_lanes(machine, pfn, unused);
    return true;
}

/* Drops the page of each entry of a list, one after the other. */
static inline void drop_pages(struct fastmm_machine *machine, const fastmm_pte_t *ptes, unsigned n,
                              uint64_t *counts)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t pfn = (ptes[i] & FASTMM_PTE_PFN_MASK) >> FASTMM_PAGE_SHIFT;
        uint64_t *word = &machine->frames.word[pfn];
        *counts += count_kind(*word);
        if (!frame_is_anon(*word))
            *word |= told_by(ptes[i]);
        frame_unmap(machine, pfn);
    }
}

/* Zaps lines while they are pages. Returns how many entries were done. */
AVX512 static unsigned zap_page_lines(const struct zap *z, const struct table_span *span,
                                      struct rss_change *rss)
{
    struct fastmm_machine *machine = z->mm->machine;
    const uint64_t highest = machine->frames.highest;
    const uint64_t forbidden = z->keep_uffd_wp ? FASTMM_PTE_UFFD_WP : 0;
    uint64_t counts = 0;
    unsigned i = 0;
    for (; i + LINE <= span->count; i += LINE) {
        __m512i line = _mm512_loadu_si512(span->pte + i);
        if (_mm512_test_epi64_mask(line, line) == 0)
            continue;
        uint64_t pfn = line_of_pages(line, span->pte[i], highest, forbidden);
        if (!pfn || !drop_consecutive(machine, pfn, line, &counts)) {
            if (!line_is_pages(line, highest, forbidden))
                break;
            drop_pages(machine, span->pte + i, LINE, &counts);
        }
        _mm512_storeu_si512(span->pte + i, _mm512_setzero_si512());
    }
    add_kinds(rss, counts, -1);
    return i;
}

/* --- General --------------------------------------------------------------------------------- */

struct lists {
    fastmm_pte_t page[FASTMM_PTES + LINE];
    fastmm_pte_t swap[FASTMM_PTES + LINE];
    unsigned pages, swaps;
};

AVX512 static bool collect(const struct zap *z, const struct table_span *span, struct lists *lists)
{
    for (unsigned i = 0; i < span->count; i += LINE) {
        __mmask8 live = lanes(span->count - i);
        __m512i line = _mm512_maskz_loadu_epi64(live, span->pte + i);
        if (!_mm512_test_epi64_mask(line, line))
            continue;
        struct classes k = classify(line, live, z->mm->machine->frames.highest, z->vma);
        if (FASTMM_UNLIKELY(k.odd))
            return false;
        lists->pages += push(lists->page + lists->pages, k.pages, line);
        if (k.swap)
            lists->swaps += push(lists->swap + lists->swaps, k.swap, line);
    }
    return true;
}

AVX512 static void clear(const struct table_span *span)
{
    for (unsigned i = 0; i < span->count; i += LINE) {
        __mmask8 live = lanes(span->count - i);
        __m512i line = _mm512_maskz_loadu_epi64(live, span->pte + i);
        __mmask8 filled =
            _mm512_test_epi64_mask(line, all_of(~(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)));
        if (filled)
            _mm512_mask_storeu_epi64(span->pte + i, filled, _mm512_setzero_si512());
    }
}

static bool zap_general(const struct zap *z, const struct table_span *span, struct rss_change *rss)
{
    struct fastmm_machine *machine = z->mm->machine;
    struct lists lists;
    uint64_t counts = 0;
    lists.pages = lists.swaps = 0;
    if (z->keep_guards || !collect(z, span, &lists))
        return fastmm_zap_plain(z, span);
    drop_pages(machine, lists.page, lists.pages, &counts);
    for (unsigned i = 0; i < lists.swaps; i++)
        fastmm_swap_put(machine, lists.swap[i]);
    clear(span);
    add_kinds(rss, counts, -1);
    rss->by[FASTMM_RSS_SWAP] -= lists.swaps;
    return false;
}

AVX512 bool fastmm_zap_avx512(const struct zap *z, const struct table_span *span)
{
    struct rss_change rss = {{0}};
    struct table_span rest = span_from(span, zap_page_lines(z, span, &rss));
    bool left = rest.count && zap_general(z, &rest, &rss);
    _mm256_zeroupper();
    rss_apply(&z->mm->rss, &rss);
    return left;
}

#endif
