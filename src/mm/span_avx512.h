/* SPDX-License-Identifier: MIT */
/*
 * What the AVX-512 builds share: eight entries are one line.
 *
 * The optimistic path takes lines of eight pages. If their frames are consecutive, which one
 * compare proves, their eight words lie side by side and change at once; if not, one after the
 * other. The first line that is anything else sends a few lines to the general path: every entry
 * is classified by masks, pages and swap slots are compressed into short lists, and tight loops
 * count those. What holds something rare (a pinned page, a count at its limit, an entry that makes
 * no sense) is left to the plain build before anything of those lines was changed.
 */
#ifndef FASTMM_SRC_MM_SPAN_AVX512_H
#define FASTMM_SRC_MM_SPAN_AVX512_H

#include "span_pages.h"

#include <fastmm/mm_inline.h>

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
/* Every entry point ends with vzeroupper: compilers forget it where they see no call. */
#define LINE 8u
#define ALL  0xff

/* As many entries as the general path takes at a time before the optimistic one tries again. */
#define GENERAL (32 * LINE)

/* The mask of the entries that are left, at most a line of them. */
static inline __mmask8 lanes(unsigned left)
{
    return (__mmask8)(left >= LINE ? ALL : (1u << left) - 1);
}

AVX512 static inline __m512i all_of(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/*
 * The first frame of a line of eight pages with consecutive frames, all of them there and none of
 * the `forbidden` bits set; 0 if the line isn't one. (Frame 0 is nobody's.)
 */
AVX512 static inline uint64_t line_of_pages(__m512i line, uint64_t first_entry, uint64_t highest,
                                            uint64_t forbidden)
{
    const __m512i steps =
        _mm512_setr_epi64(0, 1 << 12, 2 << 12, 3 << 12, 4 << 12, 5 << 12, 6 << 12, 7 << 12);
    uint64_t field = first_entry & FASTMM_PTE_PFN_MASK;
    uint64_t pfn = field >> FASTMM_PAGE_SHIFT;
    __m512i wanted = _mm512_add_epi64(all_of(field | FASTMM_PTE_PRESENT), steps);
    __m512i looked_at = _mm512_and_si512(
        line, all_of(FASTMM_PTE_PFN_MASK | FASTMM_PTE_PRESENT | FASTMM_PTE_SPECIAL | forbidden));
    bool same = _mm512_cmpneq_epi64_mask(looked_at, wanted) == 0;
    return same && pfn + LINE - 1 <= highest ? pfn : 0;
}

/* All eight are pages, wherever their frames are, and none of the `forbidden` bits is set. */
AVX512 static inline bool line_is_pages(__m512i line, uint64_t highest, uint64_t forbidden)
{
    __m512i looked_at =
        _mm512_and_si512(line, all_of(FASTMM_PTE_PRESENT | FASTMM_PTE_SPECIAL | forbidden));
    __m512i field = _mm512_and_si512(line, all_of(FASTMM_PTE_PFN_MASK));
    return _mm512_cmpneq_epi64_mask(looked_at, all_of(FASTMM_PTE_PRESENT)) == 0 &&
           _mm512_cmpgt_epu64_mask(field, all_of(highest << FASTMM_PAGE_SHIFT)) == 0;
}

AVX512 static inline void frames_of(__m512i line, uint64_t pfns[LINE])
{
    __m512i field = _mm512_and_si512(line, all_of(FASTMM_PTE_PFN_MASK));
    _mm512_storeu_si512(pfns, _mm512_srli_epi64(field, FASTMM_PAGE_SHIFT));
}

/* All eight words have the kind of the first, and none of the `rare` bits. */
AVX512 static inline bool words_alike(__m512i words, uint64_t first, uint64_t rare)
{
    __m512i looked_at = _mm512_and_si512(words, all_of(FRAME_KIND_MASK | rare));
    return _mm512_cmpneq_epi64_mask(looked_at, all_of(first & FRAME_KIND_MASK)) == 0;
}

/* What the entries of a line are. Each is in one mask, or in none if it is empty. */
struct classes {
    __mmask8 pages;   /* counted */
    __mmask8 special; /* zero pages and raw frames */
    __mmask8 swap, markers;
    bool odd; /* one of them is none of these */
};

/* What isn't a page, in a line that has some of it. */
AVX512 static inline void classify_rest(struct classes *c, __m512i line, __mmask8 swp, bool raw)
{
    c->markers = _mm512_mask_cmpge_epu64_mask(
        swp, line, all_of((uint64_t)FASTMM_SWP_TYPE_MARKER << FASTMM_SWP_TYPE_SHIFT));
    c->swap = (__mmask8)(swp & ~c->markers);

    __m512i field = _mm512_and_si512(line, all_of(FASTMM_PTE_PFN_MASK));
    __mmask8 not_zero = _mm512_mask_cmpneq_epu64_mask(
        c->special, field, all_of((uint64_t)FASTMM_PFN_ZERO << FASTMM_PAGE_SHIFT));
    __mmask8 none = _mm512_mask_test_epi64_mask(swp, line, all_of(FASTMM_PTE_PROTNONE));
    __mmask8 no_area = _mm512_mask_cmpge_epu64_mask(
        c->swap, line, all_of((uint64_t)SWAP_AREAS << FASTMM_SWP_TYPE_SHIFT));
    /* A marker without any bit but its flags, and at least one of them. */
    const uint64_t flags = FASTMM_MARKER_ALL << FASTMM_SWP_OFFSET_SHIFT;
    const uint64_t empty = fastmm_marker_make(FASTMM_MARKER_ALL) | flags;
    __mmask8 bad_marker = _mm512_mask_cmpneq_epu64_mask(
                              c->markers, _mm512_or_si512(line, all_of(flags)), all_of(empty)) |
                          _mm512_mask_cmpeq_epu64_mask(c->markers, line, all_of(empty));
    c->odd |= (none | no_area | bad_marker | (raw ? 0 : not_zero)) != 0;
}

AVX512 static inline struct classes classify(__m512i line, uint64_t highest,
                                             const struct fastmm_vma *vma)
{
    struct classes c = {0};
    __mmask8 present = _mm512_test_epi64_mask(line, all_of(FASTMM_PTE_PRESENT));
    __mmask8 filled =
        _mm512_test_epi64_mask(line, all_of(~(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)));
    __mmask8 swp = (__mmask8)(filled & ~present);
    c.special = _mm512_mask_test_epi64_mask(present, line, all_of(FASTMM_PTE_SPECIAL));
    c.pages = (__mmask8)(present & ~c.special);
    c.odd =
        _mm512_mask_cmpgt_epu64_mask(c.pages, _mm512_and_si512(line, all_of(FASTMM_PTE_PFN_MASK)),
                                     all_of(highest << FASTMM_PAGE_SHIFT)) != 0;
    if (c.special | swp)
        classify_rest(&c, line, swp, vma->flags & (FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP));
    return c;
}

/* Appends the chosen entries to a list that has room for a line. Returns how many. */
AVX512 static inline unsigned push(uint64_t *list, __mmask8 chosen, __m512i line)
{
    _mm512_storeu_si512(list, _mm512_maskz_compress_epi64(chosen, line));
    return (unsigned)__builtin_popcount(chosen);
}

#endif
