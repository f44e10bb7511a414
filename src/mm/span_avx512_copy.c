/* SPDX-License-Identifier: MIT */
/* Fork's copy of a span, eight entries at a time; see span_avx512.h. */
#include "span.h"

#if defined(__x86_64__)

#    include "span_avx512.h"

/* Bits that go from the child's pages. */
static uint64_t dropped_bits(const struct copy *c)
{
    return FASTMM_PTE_ACCESSED | (c->keep_uffd_wp ? 0 : FASTMM_PTE_UFFD_WP) |
           (c->shared ? FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY : 0);
}

/* fastmm_pte_wrprotect() for the writable ones among `which`. */
AVX512 static inline __m512i wrprotect(__m512i line, __mmask8 which)
{
    __mmask8 writable = _mm512_mask_test_epi64_mask(which, line, all_of(FASTMM_PTE_RW));
    __mmask8 dirty = _mm512_mask_test_epi64_mask(writable, line, all_of(FASTMM_PTE_DIRTY));
    line = _mm512_mask_andnot_epi64(line, writable, all_of(FASTMM_PTE_RW), line);
    line = _mm512_mask_or_epi64(line, dirty, line, all_of(FASTMM_PTE_SAVED_DIRTY));
    return _mm512_mask_andnot_epi64(line, dirty, all_of(FASTMM_PTE_DIRTY), line);
}

/* --- Optimistic ------------------------------------------------------------------------------ */

/* Clears bits [from, to) of the bitmap. */
static void clear_bits(uint64_t *bitmap, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t end = (from | 63) + 1;
        uint64_t mask = UINT64_MAX << from % 64;
        if (end > to) {
            mask &= UINT64_MAX >> (end - to);
            end = to;
        }
        bitmap[(end - 1) / 64] &= ~mask;
        from = end;
    }
}

/* Consecutive frames whose exclusiveness is still to be cleared, all at once. */
struct run {
    uint64_t from, to;
};

/*
 * Counts `n` pages, each by itself, and adds them to *counts; false, and nothing changed, if one of
 * them is rare. The same page may be there several times.
 */
FASTMM_INLINE bool count_pages(struct fastmm_frames *frames, const uint64_t *pfns, unsigned n,
                               uint64_t *counts)
{
    uint64_t rare = 0, kinds = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t word = frames->word[pfns[i]];
        rare |= word | (word + n * FRAME_MAPPED);
        kinds += count_kind(word);
    }
    if (FASTMM_UNLIKELY((rare & WORD_RARE) || ordinary(kinds) != n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        frames->word[pfns[i]] += FRAME_MAPPED;
        frame_clear_exclusive(frames, pfns[i]);
    }
    *counts += kinds;
    return true;
}

AVX512 static inline bool count_scattered(struct fastmm_frames *frames, __m512i line,
                                          uint64_t *counts)
{
    uint64_t pfns[LINE];
    if (!line_is_pages(line, frames->highest, 0))
        return false;
    frames_of(line, pfns);
    return count_pages(frames, pfns, LINE, counts);
}

AVX512 static inline bool count_consecutive(struct fastmm_frames *frames, uint64_t pfn,
                                            uint64_t *counts, struct run *run)
{
    __m512i words = _mm512_loadu_si512(frames->word + pfn);
    uint64_t kind = kind_of_words(words, frames->word[pfn]);
    if (FASTMM_UNLIKELY(!kind))
        return false;
    _mm512_storeu_si512(frames->word + pfn, _mm512_add_epi64(words, all_of(FRAME_MAPPED)));
    *counts += LINE * count_kind(kind);
    if (FASTMM_UNLIKELY(pfn != run->to)) {
        clear_bits(frames->exclusive, run->from, run->to);
        run->from = pfn;
    }
    run->to = pfn + LINE;
    return true;
}

/* Copies lines while they are pages. Returns how many entries were done. */
AVX512 static unsigned copy_page_lines(const struct copy *c, const struct table_span *span,
                                       fastmm_pte_t *target, struct rss_change *rss)
{
    struct fastmm_frames *frames = c->frames;
    const __m512i dropped = all_of(dropped_bits(c));
    struct run run = {0, 0};
    uint64_t counts = 0;
    unsigned i = 0;
    for (; i + LINE <= span->count; i += LINE) {
        __m512i line = _mm512_loadu_si512(span->pte + i);
        if (_mm512_test_epi64_mask(line, line) == 0) {
            _mm512_storeu_si512(target + i, line);
            continue;
        }
        uint64_t pfn = line_of_pages(line, span->pte[i], frames->highest, 0);
        if (!(pfn ? count_consecutive(frames, pfn, &counts, &run)
                  : count_scattered(frames, line, &counts)))
            break;
        if (c->cow) {
            line = wrprotect(line, ALL);
            _mm512_storeu_si512(span->pte + i, line);
        }
        _mm512_storeu_si512(target + i, _mm512_andnot_si512(dropped, line));
    }
    clear_bits(frames->exclusive, run.from, run.to);
    add_kinds(rss, counts, 1);
    return i;
}

/* --- General --------------------------------------------------------------------------------- */

struct lists {
    uint64_t page[FASTMM_PTES + LINE]; /* frames */
    uint64_t swap[FASTMM_PTES + LINE]; /* entries */
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

/* Writes the child's entries and collects what is to be counted; changes nothing else. */
AVX512 static bool prepare(const struct copy *c, const struct table_span *span,
                           fastmm_pte_t *target, struct lists *lists)
{
    const __m512i dropped = all_of(dropped_bits(c));
    const __m512i dropped_swap =
        all_of(FASTMM_SWP_EXCLUSIVE | (c->keep_uffd_wp ? 0 : FASTMM_SWP_UFFD_WP));
    for (unsigned i = 0; i < span->count; i += LINE) {
        __mmask8 live = lanes(span->count - i);
        __m512i line = _mm512_maskz_loadu_epi64(live, span->pte + i);
        if (!_mm512_test_epi64_mask(line, line)) {
            _mm512_mask_storeu_epi64(target + i, live, line);
            continue;
        }
        struct classes k = classify(line, live, c->frames->highest, c->from);
        if (FASTMM_UNLIKELY(k.odd))
            return false;
        __mmask8 present = (__mmask8)(k.pages | k.special);
        __m512i out = c->cow ? wrprotect(line, present) : line;
        out = _mm512_maskz_andnot_epi64(present, dropped, out);
        if (k.swap | k.markers) {
            out = _mm512_mask_andnot_epi64(out, k.swap, dropped_swap, line);
            out = _mm512_mask_mov_epi64(out, k.markers, child_markers(line, c->keep_uffd_wp));
            lists->swaps += push(lists->swap + lists->swaps, k.swap, line);
        }
        _mm512_mask_storeu_epi64(target + i, live, out);
        line = _mm512_and_si512(line, all_of(FASTMM_PTE_PFN_MASK));
        line = _mm512_srli_epi64(line, FASTMM_PAGE_SHIFT);
        lists->pages += push(lists->page + lists->pages, k.pages, line);
    }
    return true;
}

/* The parent's own entries: private pages become read-only, swap entries shared. */
AVX512 static void change_parent(const struct copy *c, const struct table_span *span)
{
    for (unsigned i = 0; i < span->count; i += LINE) {
        __mmask8 live = lanes(span->count - i);
        __m512i line = _mm512_maskz_loadu_epi64(live, span->pte + i);
        __mmask8 present = _mm512_test_epi64_mask(line, all_of(FASTMM_PTE_PRESENT));
        __mmask8 marker = _mm512_cmpge_epu64_mask(
            line, all_of((uint64_t)FASTMM_SWP_TYPE_MARKER << FASTMM_SWP_TYPE_SHIFT));
        __mmask8 swap = (__mmask8) ~(present | marker);
        __m512i out = c->cow ? wrprotect(line, present) : line;
        out = _mm512_mask_andnot_epi64(out, swap, all_of(FASTMM_SWP_EXCLUSIVE), out);
        if (_mm512_cmpneq_epi64_mask(out, line))
            _mm512_mask_storeu_epi64(span->pte + i, live, out);
    }
}

static int copy_general(const struct copy *c, const struct table_span *span, fastmm_pte_t *target,
                        struct rss_change *rss)
{
    struct lists lists;
    lists.pages = lists.swaps = 0;
    uint64_t counts = 0;
    if (FASTMM_UNLIKELY(!prepare(c, span, target, &lists) ||
                        !count_pages(c->frames, lists.page, lists.pages, &counts)))
        return fastmm_copy_plain(c, span, target);
    for (unsigned i = 0; i < lists.swaps; i++)
        fastmm_swap_get(c->child->machine, lists.swap[i]);
    change_parent(c, span);
    add_kinds(rss, counts, 1);
    rss->by[FASTMM_RSS_SWAP] += lists.swaps;
    return 0;
}

AVX512 int fastmm_copy_avx512(const struct copy *c, const struct table_span *span,
                              fastmm_pte_t *target)
{
    struct rss_change rss = {{0}};
    unsigned done = copy_page_lines(c, span, target, &rss);
    struct table_span rest = span_from(span, done);
    int rc = rest.count ? copy_general(c, &rest, target + done, &rss) : 0;
    _mm256_zeroupper();
    rss_apply(&c->child->rss, &rss);
    return rc;
}

#endif
