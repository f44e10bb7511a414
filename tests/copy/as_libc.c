/* SPDX-License-Identifier: MIT */
/*
 * A program whose memcpy(), memmove() and memset() are made of the library's calls, as an embedder
 * may have them: no call may lead back into itself, the first one of the process least of all.
 */
#include <fastmm/copy.h>

#include <stdio.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int value, size_t n);

static unsigned calls;

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
    calls++;
    return fastmm_copy_call(dst, src, n);
}

void *memmove(void *dst, const void *src, size_t n)
{
    calls++;
    return fastmm_move_call(dst, src, n);
}

void *memset(void *dst, int value, size_t n)
{
    calls++;
    return fastmm_fill_call(dst, value, n);
}

static unsigned char from[3000000], to[3000000];

static int right(size_t n)
{
    memset(from, 7, n);
    memcpy(to, from, n);
    memmove(to + 1, to, n - 1);
    for (size_t i = 0; i < n; i++)
        if (to[i] != 7)
            return 0;
    return 1;
}

int main(void)
{
    static const size_t sizes[] = {1, 10, 64, 65, 128, 129, 600, 5000, 100000, sizeof(from)};
    unsigned before = calls, made = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++, made += 3)
        if (!right(sizes[i])) {
            fprintf(stderr, "%zu bytes are wrong\n", sizes[i]);
            return 1;
        }
    if (calls - before != made) {
        fprintf(stderr, "%u calls instead of %u\n", calls - before, made);
        return 1;
    }
    puts("no call of one led to another");
    return 0;
}
