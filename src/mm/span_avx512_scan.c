/* SPDX-License-Identifier: MIT */
/*
 * Scan of a span, eight entries at a time. Lines like the span's first entry, in everything but
 * the frame number, are only counted; what they hold is worked out once. Other lines are
 * classified by masks.
 */
#include "span.h"

#if defined(__x86_64__)

#    include "span_avx512.h"

/* A counter in each lane: counting by mask costs one instruction. */
struct lanes_scan {
    __m512i none, present, markers, swap, writable, dirty, young, special, uffd_wp;
};

AVX512 static inline void tick(__m512i *counter, __mmask8 which)
{
    *counter = _mm512_mask_sub_epi64(*counter, which, *counter, all_of(UINT64_MAX));
}

AVX512 static inline void tick_if(__m512i *counter, __mmask8 among, __m512i line, uint64_t bits)
{
    tick(counter, _mm512_mask_test_epi64_mask(among, line, all_of(bits)));
}

AVX512 static inline void scan_line(__m512i line, __mmask8 live, struct lanes_scan *s)
{
    const uint64_t marker = (uint64_t)FASTMM_SWP_TYPE_MARKER << FASTMM_SWP_TYPE_SHIFT;
    const uint64_t uffd_wp = FASTMM_MARKER_UFFD_WP << FASTMM_SWP_OFFSET_SHIFT;
    const uint64_t flags = FASTMM_MARKER_ALL << FASTMM_SWP_OFFSET_SHIFT;
    __mmask8 present =
        _mm512_mask_test_epi64_mask(live, line, all_of(FASTMM_PTE_PRESENT | FASTMM_PTE_PROTNONE));
    __mmask8 filled =
        _mm512_mask_test_epi64_mask(live, line, all_of(~(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)));
    tick(&s->present, present);
    tick(&s->none, (__mmask8)(live & ~(filled | present)));
    tick_if(&s->writable, present, line, FASTMM_PTE_RW);
    tick_if(&s->dirty, present, line, FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY);
    tick_if(&s->young, present, line, FASTMM_PTE_ACCESSED);
    tick_if(&s->special, present, line, FASTMM_PTE_SPECIAL);
    tick_if(&s->uffd_wp, present, line, FASTMM_PTE_UFFD_WP);

    /* Flags of markers are stored inverted: a set one is a clear bit. */
    __mmask8 swp = (__mmask8)(filled & ~present);
    __mmask8 last = _mm512_mask_cmpge_epu64_mask(swp, line, all_of(marker));
    __mmask8 markers =
        _mm512_mask_cmpneq_epu64_mask(last, _mm512_and_si512(line, all_of(flags)), all_of(flags));
    tick(&s->markers, markers);
    tick(&s->swap, (__mmask8)(swp & ~markers));
    tick(&s->uffd_wp,
         (__mmask8)(_mm512_mask_testn_epi64_mask(markers, line, all_of(uffd_wp)) |
                    _mm512_mask_test_epi64_mask(swp, line, all_of(FASTMM_SWP_UFFD_WP))));
}

AVX512 static inline uint64_t sum(__m512i counter)
{
    return (uint64_t)_mm512_reduce_add_epi64(counter);
}

AVX512 static void add_lanes(const struct lanes_scan *s, struct fastmm_scan *scan)
{
    scan->none += sum(s->none);
    scan->present += sum(s->present);
    scan->swap += sum(s->swap);
    scan->markers += sum(s->markers);
    scan->writable += sum(s->writable);
    scan->dirty += sum(s->dirty);
    scan->young += sum(s->young);
    scan->special += sum(s->special);
    scan->uffd_wp += sum(s->uffd_wp);
}

/* Adds `n` entries like `pte`. */
static void scan_alike(fastmm_pte_t pte, uint64_t n, struct fastmm_scan *scan)
{
    struct fastmm_scan one = {0};
    const struct table_span span = {&pte, 1, 0, NULL};
    if (n == 0)
        return;
    fastmm_scan_plain(&span, &one);
    scan->none += n * one.none;
    scan->present += n * one.present;
    scan->swap += n * one.swap;
    scan->markers += n * one.markers;
    scan->writable += n * one.writable;
    scan->dirty += n * one.dirty;
    scan->young += n * one.young;
    scan->special += n * one.special;
    scan->uffd_wp += n * one.uffd_wp;
}

/* The bits that tell one page from another, or all bits of anything else. */
static uint64_t telling_bits(fastmm_pte_t pte)
{
    return pte & FASTMM_PTE_PRESENT ? ~FASTMM_PTE_PFN_MASK : UINT64_MAX;
}

/* Truth table of (a ^ b) & c. */
#    define DIFFERS_IN 0x28

/* How many of the entries are alike, in steps of four lines, up to the first step that isn't. */
AVX512 static inline unsigned count_uniform(const fastmm_pte_t *pte, unsigned count,
                                            __m512i told_by, __m512i wanted)
{
    unsigned i = 0;
    for (; i + 4 * LINE <= count; i += 4 * LINE) {
        __m512i any = _mm512_setzero_si512();
        for (unsigned j = 0; j < 4; j++) {
            __m512i line = _mm512_loadu_si512(pte + i + j * LINE);
            any =
                _mm512_or_si512(any, _mm512_ternarylogic_epi64(line, wanted, told_by, DIFFERS_IN));
        }
        if (_mm512_test_epi64_mask(any, any))
            break;
    }
    return i;
}

AVX512 void fastmm_scan_avx512(const struct table_span *span, struct fastmm_scan *scan)
{
    struct lanes_scan lanes_scan = {0};
    const uint64_t bits = telling_bits(span->pte[0]), pattern = span->pte[0] & bits;
    const __m512i told_by = all_of(bits), wanted = all_of(pattern);
    uint64_t empty = 0, alike = 0;
    unsigned i = 0;
    for (; i + LINE <= span->count; i += LINE) {
        unsigned uniform = count_uniform(span->pte + i, span->count - i, told_by, wanted);
        alike += uniform;
        i += uniform;
        if (i + LINE > span->count)
            break;
        __m512i line = _mm512_loadu_si512(span->pte + i);
        if (_mm512_cmpneq_epi64_mask(_mm512_and_si512(line, told_by), wanted) == 0)
            alike += LINE;
        else if (_mm512_test_epi64_mask(line, line) == 0)
            empty += LINE;
        else
            scan_line(line, ALL, &lanes_scan);
    }
    if (i < span->count) {
        __mmask8 live = lanes(span->count - i);
        scan_line(_mm512_maskz_loadu_epi64(live, span->pte + i), live, &lanes_scan);
    }
    scan->none += empty;
    scan_alike(pattern, alike, scan);
    add_lanes(&lanes_scan, scan);
    _mm256_zeroupper();
}

#endif
