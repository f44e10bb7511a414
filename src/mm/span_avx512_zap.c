/* SPDX-License-Identifier: MIT */
/* Zap of a span, eight entries at a time; see span_avx512.h. */
#include "span.h"

#if defined(__x86_64__)

#    include "span_avx512.h"
#    include "swap.h"

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
                                           __m512i line, struct kinds *kinds)
{
    uint64_t *at = machine->frames.word + pfn, first = *at;
    __m512i words = _mm512_loadu_si512(at);
    if (FASTMM_UNLIKELY(!words_alike(words, first, 0)))
        return false;
    words = _mm512_sub_epi64(words, all_of(FRAME_MAPPED));
    if (!frame_is_anon(first))
        words = tell(words, line);
    _mm512_storeu_si512(at, words);
    kinds_add(kinds, first & FRAME_KIND_MASK, LINE);
    __mmask8 unused = _mm512_testn_epi64_mask(words, all_of(FRAME_REF_MASK));
    if (unused)
        free_lanes(machine, pfn, unused);
    return true;
}

/* Zaps lines while they are pages, or empty. Returns how many entries were done. */
AVX512 static unsigned zap_page_lines(const struct zap *z, const struct table_span *span,
                                      struct rss_change *rss)
{
    struct fastmm_machine *machine = z->mm->machine;
    const uint64_t highest = machine->frames.highest;
    const uint64_t forbidden = z->keep_uffd_wp ? FASTMM_PTE_UFFD_WP : 0;
    const bool clear = !z->table_goes;
    struct kinds kinds = {0};
    unsigned i = 0;
    for (; i + LINE <= span->count; i += LINE) {
        __m512i line = _mm512_loadu_si512(span->pte + i);
        uint64_t pfn = line_of_pages(line, span->pte[i], highest, forbidden);
        if (FASTMM_LIKELY(pfn && drop_consecutive(machine, pfn, line, &kinds)))
            ;
        else if (_mm512_test_epi64_mask(line, line) == 0)
            continue;
        else if (line_is_pages(line, highest, forbidden))
            drop_pages(machine, span->pte + i, LINE, &kinds);
        else
            break;
        if (clear)
            _mm512_storeu_si512(span->pte + i, _mm512_setzero_si512());
    }
    kinds_apply(&kinds, rss, -1);
    return i;
}

/* --- General --------------------------------------------------------------------------------- */

struct lists {
    fastmm_pte_t page[GENERAL + LINE];
    fastmm_pte_t swap[GENERAL + LINE];
    unsigned pages, swaps;
};

AVX512 static bool collect(const struct zap *z, const struct table_span *span, struct lists *lists)
{
    const uint64_t highest = z->mm->machine->frames.highest;
    unsigned pages = 0, swaps = 0;
    for (unsigned i = 0; i < span->count; i += LINE) {
        __m512i line = _mm512_maskz_loadu_epi64(lanes(span->count - i), span->pte + i);
        if (_mm512_test_epi64_mask(line, line) == 0)
            continue;
        struct classes k = classify(line, highest, z->vma);
        if (FASTMM_UNLIKELY(k.odd))
            return false;
        pages += push(lists->page + pages, k.pages, line);
        if (k.swap)
            swaps += push(lists->swap + swaps, k.swap, line);
    }
    lists->pages = pages;
    lists->swaps = swaps;
    return true;
}

/* Empties what isn't empty: bits that hardware left in empty entries stay. */
AVX512 static void clear(const struct table_span *span)
{
    for (unsigned i = 0; i < span->count; i += LINE) {
        __mmask8 live = lanes(span->count - i);
        __m512i line = _mm512_maskz_loadu_epi64(live, span->pte + i);
        __mmask8 filled =
            _mm512_test_epi64_mask(line, all_of(~(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)));
        _mm512_mask_storeu_epi64(span->pte + i, filled, _mm512_setzero_si512());
    }
}

/* At most GENERAL entries. */
static bool zap_general(const struct zap *z, const struct table_span *span, struct rss_change *rss)
{
    struct fastmm_machine *machine = z->mm->machine;
    struct lists lists;
    struct kinds kinds = {0};
    if (z->keep_guards || !collect(z, span, &lists))
        return fastmm_zap_plain(z, span);
    drop_pages(machine, lists.page, lists.pages, &kinds);
    for (unsigned i = 0; i < lists.swaps; i++)
        fastmm_swap_put(machine, lists.swap[i]);
    if (!z->table_goes)
        clear(span);
    kinds_apply(&kinds, rss, -1);
    rss->by[FASTMM_RSS_SWAP] -= lists.swaps;
    return false;
}

AVX512 bool fastmm_zap_avx512(const struct zap *z, const struct table_span *span)
{
    struct rss_change rss = {{0}};
    unsigned done = 0;
    bool left = false;
    while (done < span->count) {
        struct table_span rest = span_from(span, done);
        unsigned lines = zap_page_lines(z, &rest, &rss);
        rest = span_from(&rest, lines);
        rest.count = rest.count < GENERAL ? rest.count : GENERAL;
        left |= rest.count && zap_general(z, &rest, &rss);
        done += lines + rest.count;
    }
    _mm256_zeroupper();
    rss_apply(&z->mm->rss, &rss);
    return left;
}

#endif
