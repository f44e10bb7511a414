/* SPDX-License-Identifier: MIT */
/* Reasons in words, for tools and for people who read a plan in a debugger. */
#include <fastmm/copy.h>

static const char *const words[FASTMM_COPY_WHY_COUNT] = {
    [FASTMM_COPY_WHY_BUILTIN] = "built in: this architecture has nothing else",
    [FASTMM_COPY_WHY_FORCED] = "set by the user",
    [FASTMM_COPY_WHY_WIDEST] = "the widest vectors that may be used",
    [FASTMM_COPY_WHY_CLOCK] = "not 512-bit vectors: they lower the clock of this part",
    [FASTMM_COPY_WHY_SMALL] = "below every threshold",
    [FASTMM_COPY_WHY_NO_ERMS] = "rep is not advertised as fast (no ERMS)",
    [FASTMM_COPY_WHY_VENDOR_UNKNOWN] = "rep was never measured on parts of this vendor",
    [FASTMM_COPY_WHY_FAMILY_SLOW_REP] = "rep is slow on this family",
    [FASTMM_COPY_WHY_ERMS] = "where rep starts to win on parts with ERMS",
    [FASTMM_COPY_WHY_FSRM] = "where rep starts to win on parts with FSRM",
    [FASTMM_COPY_WHY_REP_CACHED] = "rep wins once the blocks leave the cache below",
    [FASTMM_COPY_WHY_REP_SIZE] = "the size is in the window where rep wins",
    [FASTMM_COPY_WHY_ALIAS] = "rep is slow when source and destination alias",
    [FASTMM_COPY_WHY_MISALIGNED] = "rep is slow with a destination aligned like this",
    [FASTMM_COPY_WHY_OVERLAP] = "the blocks overlap",
    [FASTMM_COPY_WHY_CACHE] = "a share of the last-level cache",
    [FASTMM_COPY_WHY_CACHE_FLOOR] = "the floor: no plausible cache size is known",
    [FASTMM_COPY_WHY_CACHE_CEILING] = "the ceiling: the cache is larger than one thread uses",
    [FASTMM_COPY_WHY_STREAM_SIZE] = "at or above the streaming threshold",
    [FASTMM_COPY_WHY_REP_STREAMS] = "rep writes whole lines without reading them on this family",
    [FASTMM_COPY_WHY_CLAMPED] = "moved to the nearest size that makes sense",
};

const char *fastmm_copy_why(uint32_t reason)
{
    return reason < FASTMM_COPY_WHY_COUNT ? words[reason] : "?";
}
