/* SPDX-License-Identifier: MIT */
/*
 * What a checking build asks before each call. Always in the library, so that a program can check
 * some of its own files against a library built without.
 */
#include "copy/plan.h"

#include <stddef.h>

static fastmm_copy_handler current;

static int report(enum fastmm_copy_fault fault, const void *dst, const void *src, size_t n)
{
    fastmm_copy_handler handler = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (!handler)
        __builtin_trap();
    handler(fault, dst, src, n);
    return 0;
}

/* A block may end with the last byte of the address space. */
static int wraps(const void *block, size_t n)
{
    return (uintptr_t)block + (n - 1) < (uintptr_t)block;
}

int fastmm_copy_check(uint32_t op, const void *dst, const void *src, size_t n)
{
    int has_source = op != FASTMM_COPY_OP_FILL;
    if (n == 0)
        return 1;
    if (n > PTRDIFF_MAX)
        return report(FASTMM_COPY_FAULT_SIZE, dst, src, n);
    if (wraps(dst, n) || (has_source && wraps(src, n)))
        return report(FASTMM_COPY_FAULT_WRAP, dst, src, n);
    if (op == FASTMM_COPY_OP_COPY && fastmm_copy_overlap(dst, src, n))
        return report(FASTMM_COPY_FAULT_OVERLAP, dst, src, n);
    return 1;
}

fastmm_copy_handler fastmm_copy_set_handler(fastmm_copy_handler handler)
{
    return __atomic_exchange_n(&current, handler, __ATOMIC_ACQ_REL);
}
