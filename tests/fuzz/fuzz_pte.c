/* SPDX-License-Identifier: MIT */
/*
 * Any 64 bits as an entry, any numbers for the codecs. An entry is exactly one thing; what is
 * encoded decodes as itself and is mistaken for nothing else; what can't be encoded is refused.
 */
#include <fastmm/swp.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void entry_is_one_thing(fastmm_pte_t pte)
{
    int kinds = fastmm_pte_none(pte) + fastmm_pte_present(pte) + fastmm_pte_is_swp(pte);
    require(kinds == 1, "an entry is empty, a page, or in the swap format");
    require(!fastmm_marker_flags(pte) || fastmm_pte_is_swp(pte), "markers are in the swap format");
    require(!fastmm_pte_protnone(pte) || fastmm_pte_present(pte), "PROT_NONE pages are pages");
}

static void changes_keep_the_page(fastmm_pte_t pte)
{
    if (!fastmm_pte_present(pte))
        return;
    uint64_t pfn = fastmm_pte_pfn(pte);
    bool dirty = fastmm_pte_dirty(pte);
    const fastmm_pte_t changed[] = {
        fastmm_pte_wrprotect(pte),
        fastmm_pte_mkwrite(pte),
        fastmm_pte_mkuffd_wp(pte),
        fastmm_pte_modify(pte, FASTMM_PROT_SHARED),
        fastmm_pte_modify(pte, FASTMM_PROT_READONLY),
        fastmm_pte_modify(pte, FASTMM_PROT_NONE),
        fastmm_pte_modify(fastmm_pte_modify(pte, FASTMM_PROT_NONE), FASTMM_PROT_SHARED),
    };
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
        require(fastmm_pte_pfn(changed[i]) == pfn, "a change of permissions keeps the page");
        require(fastmm_pte_dirty(changed[i]) == dirty, "and whether it is dirty");
    }
    require(!fastmm_pte_write(changed[0]) && !(changed[0] & FASTMM_PTE_DIRTY),
            "what isn't writable isn't dirty for hardware");
    require(!fastmm_pte_write(changed[2]), "what is tracked isn't writable");
}

static void codes_are_inverse(unsigned type, uint64_t offset, uint64_t flags)
{
    fastmm_pte_t pte = 0;
    int rc = fastmm_swp_encode(type, offset, flags, &pte);
    bool fits = type <= FASTMM_SWP_TYPE_MAX && offset <= FASTMM_SWP_OFFSET_MAX &&
                !(flags & ~FASTMM_SWP_FLAGS);
    if (!fits) {
        require(rc == -EINVAL && pte == 0, "what doesn't fit is refused");
        return;
    }
    if (type == 0 && offset == FASTMM_SWP_OFFSET_MAX) {
        require(rc == -ERANGE && pte == 0, "what would be the empty entry is refused");
        return;
    }
    require(rc == 0 && fastmm_pte_is_swp(pte), "an encoded entry is in the swap format");
    require(fastmm_swp_type(pte) == type && fastmm_swp_offset(pte) == offset &&
                (pte & FASTMM_SWP_FLAGS) == flags,
            "and decodes as what it was made of");
    require(!(pte & (FASTMM_PTE_PRESENT | FASTMM_PTE_PSE | FASTMM_PTE_PROTNONE)),
            "bits 0, 7 and 8 are clear");
    require(fastmm_swp_offset(pte | FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY) == offset,
            "hardware's bits carry nothing");
}

static void frames_are_inverse(uint64_t pfn, uint64_t bits)
{
    pfn %= FASTMM_PFN_LIMIT;
    bits &= ~FASTMM_PTE_PFN_MASK;
    fastmm_pte_t pte = fastmm_pte_make(pfn, bits | FASTMM_PTE_PROTNONE);
    require(fastmm_pte_pfn(pte) == pfn, "a frame number comes back, inverted or not");
    if (pfn + 1 < FASTMM_PFN_LIMIT)
        require(fastmm_pte_advance(pte, 1) == fastmm_pte_make(pfn + 1, bits | FASTMM_PTE_PROTNONE),
                "the next entry is that of the next frame");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t word[2];
    for (; size >= sizeof(word); data += sizeof(word), size -= sizeof(word)) {
        memcpy(word, data, sizeof(word));
        entry_is_one_thing(word[0]);
        changes_keep_the_page(word[0]);
        codes_are_inverse((unsigned)(word[0] & 0x3f), word[1], word[0] >> 60);
        codes_are_inverse((unsigned)(word[0] & 0x1f), word[1] & FASTMM_SWP_OFFSET_MAX,
                          word[0] >> 60 & FASTMM_SWP_FLAGS);
        codes_are_inverse(0, word[1] | ~(word[0] >> 5), 0);
        codes_are_inverse(0, FASTMM_SWP_OFFSET_MAX, word[0] >> 60 & FASTMM_SWP_FLAGS);
        frames_are_inverse(word[1], word[0]);
    }
    return 0;
}
