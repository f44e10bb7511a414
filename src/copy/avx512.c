/* SPDX-License-Identifier: MIT */
/*
 * The vector implementation with registers of 64 bytes. Compiled for a CPU that has them.
 *
 * Of vectors that are as long as a line every unaligned one crosses two. Most parts lose more by
 * stores that cross than by loads; on some it is the other way round, and the plan's rule says so.
 */
#include "copy/impl.h"

#ifdef __x86_64__
#    define VECTOR_BYTES 64
#    include "copy/vector.h"

static void *move_aligning_source(void *dst, const void *src, size_t n)
{
    return move_aligning(dst, src, n, src);
}

const struct fastmm_copy_ops fastmm_copy_ops_avx512 = {.copy = move, .move = move, .fill = fill};
const struct fastmm_copy_ops fastmm_copy_ops_avx512_source = {
    .copy = move_aligning_source, .move = move_aligning_source, .fill = fill};
#endif
