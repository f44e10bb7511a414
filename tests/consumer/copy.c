/* SPDX-License-Identifier: MIT */
/* A program that took the sources of copy and clear only. */
#include <fastmm/copy.h>

int main(void)
{
    static unsigned char from[100000], to[100000];
    fastmm_fill(from, 7, sizeof(from));
    fastmm_copy(to, from, sizeof(to));
    fastmm_clear(from, sizeof(from));
    return to[0] == 7 && to[sizeof(to) - 1] == 7 && from[99] == 0 ? 0 : 1;
}
