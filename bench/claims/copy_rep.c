/* SPDX-License-Identifier: MIT */
/* The string instructions out of line, in a file of their own, so that they stay a call. */
#include "copy_rep.h"

void copy_rep_call(void *dst, const void *src, size_t n)
{
    copy_rep(dst, src, n);
}

void clear_rep_call(void *dst, size_t n)
{
    clear_rep(dst, n);
}
