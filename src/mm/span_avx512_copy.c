/* SPDX-License-Identifier: MIT */
/* Fork's copy of a span, eight entries at a time; see span_avx512.h. */
#include "span.h"

#if defined(__x86_64__)

#    include "span_avx512.h"
#    include "swap.h"

#    include <string.h>

/* Bits that go from the child's pages. */
static uint64_t dropped_bits(const struct copy *c)
{
    return FASTMM_PTE_ACCESSED | (c->keep_uffd_wp ? 0 : FASTMM_PTE_UFFD_WP) |
           (c->shared ? FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY : 0);
}

/* fastmm_pte_wrprotect() for the writable ones: without a mask, which takes longer. */
AVX512 static inline __m512i wrprotect(__m512i line)
{
    const int rw_to_dirty = 5, dirty_to_saved = 52;
    /* D and RW; then line & ~RW & ~that; by truth tables. */
    __m512i dirty = _mm512_ternarylogic_epi64(line, _mm512_slli_epi64(line, rw_to_dirty),
                                              all_of(FASTMM_PTE_DIRTY), 0x80);
    line = _mm512_ternarylogic_epi64(line, all_of(FASTMM_PTE_RW), dirty, 0x10);
    return _mm512_or_si512(line, _mm512_slli_epi64(dirty, dirty_to_saved));
}

/* --- Optimistic ------------------------------------------------------------------------------ */

AVX512 static inline bool share_consecutive(struct fastmm_frames *frames, uint64_t pfn,
                                            uint64_t rare, struct kinds *kinds)
{
    uint64_t *at = frames->word + pfn, first = *at;
    __m512i words = _mm512_loadu_si512(at);
    if (FASTMM_UNLIKELY(!words_alike(words, first, rare)))
        return false;
    words = _mm512_add_epi64(words, all_of(FRAME_MAPPED));
    _mm512_storeu_si512(at, _mm512_andnot_si512(all_of(FRAME_EXCLUSIVE), words));
    kinds_add(kinds, first & FRAME_KIND_MASK, LINE);
    return true;
}

AVX512 static inline bool share_scattered(struct fastmm_frames *frames, __m512i line, uint64_t rare,
                                          struct kinds *kinds)
{
    uint64_t pfns[LINE], before[LINE];
    if (!line_is_pages(line, frames->highest, 0))
        return false;
    frames_of(line, pfns);
    return share_pages(frames, pfns, LINE, rare, before, kinds);
}

/* Copies lines while they are pages, or empty. Returns how many entries were done. */
AVX512 static unsigned copy_page_lines(const struct copy *c, const struct table_span *span,
                                       fastmm_pte_t *target, struct rss_change *rss)
{
    struct fastmm_frames *frames = c->frames;
    const __m512i dropped = all_of(dropped_bits(c));
    const uint64_t rare = rare_in_copy(c);
    struct kinds kinds = {0};
    unsigned i = 0;
    for (; i + LINE <= span->count; i += LINE) {
        __m512i line = _mm512_loadu_si512(span->pte + i);
        uint64_t pfn = line_of_pages(line, span->pte[i], frames->highest, 0);
        if (FASTMM_LIKELY(pfn && share_consecutive(frames, pfn, rare, &kinds)))
            ;
        else if (_mm512_test_epi64_mask(line, line) == 0) {
            _mm512_storeu_si512(target + i, line);
            continue;
        } else if (!share_scattered(frames, line, rare, &kinds))
            break;
        if (c->cow) {
            line = wrprotect(line);
            _mm512_storeu_si512(span->pte + i, line);
        }
        _mm512_storeu_si512(target + i, _mm512_andnot_si512(dropped, line));
    }
    kinds_apply(&kinds, rss, 1);
    return i;
}

/* --- General --------------------------------------------------------------------------------- */

struct lists {
    uint64_t page[GENERAL + LINE]; /* frames */
    uint64_t swap[GENERAL + LINE]; /* entries */
    uint64_t before[GENERAL];      /* words of the pages */
    fastmm_pte_t source[GENERAL];  /* what becomes of the parent's entries */
    unsigned pages, swaps;
};

/* The child's markers. Tracking that isn't inherited goes, and with it a marker of nothing else. */
AVX512 static inline __m512i child_markers(__m512i line, bool keep_uffd_wp)
{
    if (keep_uffd_wp)
        return line;
    const uint64_t uffd_wp = FASTMM_MARKER_UFFD_WP << FASTMM_SWP_OFFSET_SHIFT; /* inverted */
    const uint64_t empty = fastmm_marker_make(FASTMM_MARKER_UFFD_WP) | uffd_wp;
    line = _mm512_or_si512(line, all_of(uffd_wp));
    return _mm512_maskz_mov_epi64(_mm512_cmpneq_epu64_mask(line, all_of(empty)), line);
}

/* Writes the child's entries and collects what is to be done; changes nothing else. */
AVX512 static bool prepare(const struct copy *c, const struct table_span *span,
                           fastmm_pte_t *target, struct lists *lists)
{
    const __m512i dropped = all_of(dropped_bits(c));
    const __m512i dropped_swap = all_of(c->keep_uffd_wp ? 0 : FASTMM_SWP_UFFD_WP);
    unsigned pages = 0, swaps = 0;
    for (unsigned i = 0; i < span->count; i += LINE) {
        __mmask8 live = lanes(span->count - i);
        __m512i line = _mm512_maskz_loadu_epi64(live, span->pte + i);
        if (_mm512_test_epi64_mask(line, line) == 0) {
            _mm512_storeu_si512(lists->source + i, line);
            _mm512_mask_storeu_epi64(target + i, live, line);
            continue;
        }
        struct classes k = classify(line, c->frames->highest, c->from);
        if (FASTMM_UNLIKELY(k.odd))
            return false;
        __mmask8 present = (__mmask8)(k.pages | k.special);
        __m512i source = c->cow ? _mm512_mask_mov_epi64(line, present, wrprotect(line)) : line;
        __m512i out = _mm512_maskz_andnot_epi64(present, dropped, source);
        if (k.swap | k.markers) {
            source = _mm512_mask_andnot_epi64(source, k.swap, all_of(FASTMM_SWP_EXCLUSIVE), source);
            out = _mm512_mask_andnot_epi64(out, k.swap, dropped_swap, source);
            out = _mm512_mask_mov_epi64(out, k.markers, child_markers(line, c->keep_uffd_wp));
            swaps += push(lists->swap + swaps, k.swap, line);
        }
        _mm512_storeu_si512(lists->source + i, source);
        _mm512_mask_storeu_epi64(target + i, live, out);
        line = _mm512_and_si512(line, all_of(FASTMM_PTE_PFN_MASK));
        line = _mm512_srli_epi64(line, FASTMM_PAGE_SHIFT);
        pages += push(lists->page + pages, k.pages, line);
    }
    lists->pages = pages;
    lists->swaps = swaps;
    return true;
}

AVX512 static void change_source(const struct table_span *span, const struct lists *lists)
{
    for (unsigned i = 0; i < span->count; i += LINE)
        _mm512_mask_storeu_epi64(span->pte + i, lanes(span->count - i),
                                 _mm512_loadu_si512(lists->source + i));
}

/* At most GENERAL entries. */
static int copy_general(const struct copy *c, const struct table_span *span, fastmm_pte_t *target,
                        struct rss_change *rss)
{
    struct lists lists;
    struct kinds kinds = {0};
    if (FASTMM_UNLIKELY(!prepare(c, span, target, &lists) ||
                        !share_pages(c->frames, lists.page, lists.pages, rare_in_copy(c),
                                     lists.before, &kinds)))
        return fastmm_copy_plain(c, span, target);
    for (unsigned i = 0; i < lists.swaps; i++)
        fastmm_swap_get(c->child->machine, lists.swap[i]);
    change_source(span, &lists);
    kinds_apply(&kinds, rss, 1);
    rss->by[FASTMM_RSS_SWAP] += lists.swaps;
    return 0;
}

AVX512 int fastmm_copy_avx512(const struct copy *c, const struct table_span *span,
                              fastmm_pte_t *target)
{
    struct rss_change rss = {{0}};
    unsigned done = 0;
    int rc = 0;
    while (done < span->count && !rc) {
        struct table_span rest = span_from(span, done);
        unsigned lines = copy_page_lines(c, &rest, target + done, &rss);
        rest = span_from(&rest, lines);
        rest.count = rest.count < GENERAL ? rest.count : GENERAL;
        done += lines;
        rc = rest.count ? copy_general(c, &rest, target + done, &rss) : 0;
        done += rest.count;
    }
    memset(target + done, 0, (span->count - done) * sizeof(*target));
    _mm256_zeroupper();
    rss_apply(&c->child->rss, &rss);
    return rc;
}

#endif
