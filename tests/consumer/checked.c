/* SPDX-License-Identifier: MIT */
/* A program that installed a checking build: its own inline calls check as well. */
#include <fastmm/copy.h>

#ifndef FASTMM_CHECKED
#    error "the package doesn't say that the library checks"
#endif

static int refused;

static void count(enum fastmm_copy_fault fault, const void *dst, const void *src, size_t n)
{
    (void)dst, (void)src, (void)n;
    refused += fault == FASTMM_COPY_FAULT_OVERLAP;
}

int main(void)
{
    unsigned char block[64] = {1};
    volatile size_t n = 40;
    fastmm_copy_set_handler(count);
    fastmm_copy(block + 1, block, n);
    fastmm_copy_call(block + 1, block, n);
    return refused == 2 && block[1] == 0 ? 0 : 1;
}
