/* SPDX-License-Identifier: MIT */
/*
 * Scan of a span, 32 entries at a time. Where all are like the span's first entry, in everything
 * but the frame number, they are only counted; what they hold is worked out once. Others are
 * classified by masks, without a branch on what a line holds: entries in the swap format are looked
 * at where there are any among the 32.
 */
#include "span.h"

#if defined(__x86_64__)

#    include "span_avx512.h"

/* A counter in each lane: counting by mask costs one instruction. */
struct lanes_scan {
    __m512i present, swp, markers, uffd_wp;
    __m512i writable, young, special, dirty;
    /*
     * Counts of bits that lie four apart, each in its place and the three above, in each lane:
     * one addition for all of them, but at most 15 times.
     */
    __m512i bits;
    unsigned additions;
};

#    define ADDITIONS_MAX 15
#    define SHIFT_DIRTY   58 /* the saved bit's place stands for both */
#    define COUNTED_BITS \
        (FASTMM_PTE_RW | FASTMM_PTE_ACCESSED | FASTMM_PTE_SPECIAL | FASTMM_PTE_SAVED_DIRTY)

AVX512 FASTMM_INLINE void tick(__m512i *counter, __mmask8 which)
{
    *counter = _mm512_mask_sub_epi64(*counter, which, *counter, all_of(UINT64_MAX));
}

AVX512 static inline uint64_t sum(__m512i counter)
{
    return (uint64_t)_mm512_reduce_add_epi64(counter);
}

AVX512 FASTMM_INLINE __m512i add_field(__m512i counter, __m512i bits, unsigned shift)
{
    bits = _mm512_and_si512(_mm512_srli_epi64(bits, shift), all_of(ADDITIONS_MAX));
    return _mm512_add_epi64(counter, bits);
}

AVX512 FASTMM_INLINE void flush_bits(struct lanes_scan *s)
{
    s->writable = add_field(s->writable, s->bits, 1);
    s->young = add_field(s->young, s->bits, 5);
    s->special = add_field(s->special, s->bits, 9);
    s->dirty = add_field(s->dirty, s->bits, SHIFT_DIRTY);
    s->bits = _mm512_setzero_si512();
    s->additions = 0;
}

/* Counts what is known of pages; returns which entries are in the swap format. */
AVX512 FASTMM_INLINE __mmask8 scan_pages(__m512i line, struct lanes_scan *s)
{
    __mmask8 present =
        _mm512_test_epi64_mask(line, all_of(FASTMM_PTE_PRESENT | FASTMM_PTE_PROTNONE));
    __mmask8 filled =
        _mm512_test_epi64_mask(line, all_of(~(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)));
    __m512i dirty = _mm512_slli_epi64(line, SHIFT_DIRTY - 6);
    s->bits =
        _mm512_add_epi64(s->bits, _mm512_maskz_and_epi64(present, _mm512_or_si512(line, dirty),
                                                         all_of(COUNTED_BITS)));
    tick(&s->present, present);
    tick(&s->uffd_wp, _mm512_mask_test_epi64_mask(present, line, all_of(FASTMM_PTE_UFFD_WP)));
    return (__mmask8)(filled & ~present);
}

AVX512 FASTMM_INLINE void scan_swp(__m512i line, __mmask8 swp, struct lanes_scan *s)
{
    const uint64_t marker = (uint64_t)FASTMM_SWP_TYPE_MARKER << FASTMM_SWP_TYPE_SHIFT;
    const uint64_t uffd_wp = FASTMM_MARKER_UFFD_WP << FASTMM_SWP_OFFSET_SHIFT;
    const uint64_t flags = FASTMM_MARKER_ALL << FASTMM_SWP_OFFSET_SHIFT;
    /* Flags of markers are stored inverted: a set one is a clear bit. */
    __mmask8 last = _mm512_mask_cmpge_epu64_mask(swp, line, all_of(marker));
    __mmask8 markers =
        _mm512_mask_cmpneq_epu64_mask(last, _mm512_and_si512(line, all_of(flags)), all_of(flags));
    tick(&s->swp, swp);
    tick(&s->markers, markers);
    tick(&s->uffd_wp,
         (__mmask8)(_mm512_mask_testn_epi64_mask(markers, line, all_of(uffd_wp)) |
                    _mm512_mask_test_epi64_mask(swp, line, all_of(FASTMM_SWP_UFFD_WP))));
}

#    define LINES 4

AVX512 FASTMM_INLINE void scan_lines(const __m512i line[LINES], struct lanes_scan *s)
{
    if (s->additions > ADDITIONS_MAX - LINES)
        flush_bits(s);
    s->additions += LINES;
    __mmask8 a = scan_pages(line[0], s), b = scan_pages(line[1], s);
    __mmask8 c = scan_pages(line[2], s), d = scan_pages(line[3], s);
    if (!(a | b | c | d))
        return;
    scan_swp(line[0], a, s);
    scan_swp(line[1], b, s);
    scan_swp(line[2], c, s);
    scan_swp(line[3], d, s);
}

/* Adds what was counted of `entries`. */
AVX512 FASTMM_INLINE void add_lanes(struct lanes_scan *s, uint64_t entries,
                                    struct fastmm_scan *scan)
{
    uint64_t present = sum(s->present), swp = sum(s->swp), markers = sum(s->markers);
    flush_bits(s);
    scan->none += entries - present - swp;
    scan->present += present;
    scan->swap += swp - markers;
    scan->markers += markers;
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

AVX512 FASTMM_INLINE __m512i differences(const fastmm_pte_t *pte, __m512i told_by, __m512i wanted)
{
    return _mm512_ternarylogic_epi64(_mm512_loadu_si512(pte), wanted, told_by, DIFFERS_IN);
}

/* How many of the entries are alike, in steps of LINES, up to the first step that isn't. */
AVX512 static inline unsigned count_uniform(const fastmm_pte_t *pte, unsigned count,
                                            __m512i told_by, __m512i wanted)
{
    unsigned i = 0;
    for (; i + LINES * LINE <= count; i += LINES * LINE) {
        __m512i a = differences(pte + i, told_by, wanted);
        __m512i b = differences(pte + i + LINE, told_by, wanted);
        __m512i c = differences(pte + i + 2 * LINE, told_by, wanted);
        __m512i d = differences(pte + i + 3 * LINE, told_by, wanted);
        a = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        if (_mm512_test_epi64_mask(a, a))
            break;
    }
    return i;
}

/* How many entries lie before the first step of LINES whose first line is alike, or the end. */
AVX512 FASTMM_INLINE unsigned scan_others(const fastmm_pte_t *pte, unsigned count, __m512i told_by,
                                          __m512i wanted, struct lanes_scan *s)
{
    unsigned i = 0;
    __m512i differs;
    while (i + LINES * LINE <= count) {
        const __m512i line[LINES] = {
            _mm512_loadu_si512(pte + i), _mm512_loadu_si512(pte + i + LINE),
            _mm512_loadu_si512(pte + i + 2 * LINE), _mm512_loadu_si512(pte + i + 3 * LINE)};
        scan_lines(line, s);
        i += LINES * LINE;
        if (i + LINES * LINE > count)
            break;
        differs = differences(pte + i, told_by, wanted);
        if (_mm512_test_epi64_mask(differs, differs) == 0)
            return i;
    }
    if (i < count) {
        __m512i line[LINES];
        for (unsigned j = 0; j < LINES; j++) {
            unsigned at = i + j * LINE, left = at < count ? count - at : 0;
            line[j] = _mm512_maskz_loadu_epi64(lanes(left), pte + at);
        }
        scan_lines(line, s);
    }
    return count;
}

AVX512 void fastmm_scan_avx512(const struct table_span *span, struct fastmm_scan *scan)
{
    const uint64_t bits = telling_bits(span->pte[0]), pattern = span->pte[0] & bits;
    const __m512i told_by = all_of(bits), wanted = all_of(pattern);
    unsigned alike = count_uniform(span->pte, span->count, told_by, wanted);
    if (alike < span->count) {
        struct lanes_scan lanes_scan = {0};
        unsigned others = 0;
        for (unsigned i = alike; i < span->count;) {
            unsigned n = scan_others(span->pte + i, span->count - i, told_by, wanted, &lanes_scan);
            others += n;
            i += n;
            n = count_uniform(span->pte + i, span->count - i, told_by, wanted);
            alike += n;
            i += n;
        }
        add_lanes(&lanes_scan, others, scan);
    }
    scan_alike(pattern, alike, scan);
    _mm256_zeroupper();
}

#endif
