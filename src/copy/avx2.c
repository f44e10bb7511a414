/* SPDX-License-Identifier: MIT */
/* The vector implementation with registers of 32 bytes. Compiled for a CPU that has them. */
#include "copy/impl.h"

#ifdef __x86_64__
#    define VECTOR_BYTES 32
#    include "copy/vector.h"

const struct fastmm_copy_ops fastmm_copy_ops_avx2 = {.copy = move, .move = move, .fill = fill};
#endif
