/* SPDX-License-Identifier: MIT */
/*
 * One access for a sanitizer or valgrind to judge: probe WAY SCENARIO SIZE; or all sizes up to
 * that one in blocks of no byte more, scenario "exact". Ends with 0 unless the judge ends it first,
 * and with NO_SUCH_WAY if this CPU lacks it.
 */
#include <fastmm/copy.h>

#include <stdlib.h>
#include <string.h>

#define NO_SUCH_WAY 99 /* no status that a sanitizer uses */

static void copy(const char *way, void *dst, const void *src, size_t n)
{
    int impl = fastmm_copy_impl_by_name(way);
    if (impl >= 0) {
        if (fastmm_copy_with((uint32_t)impl, dst, src, n) != 0)
            exit(NO_SUCH_WAY);
    } else if (strcmp(way, "call") == 0) {
        fastmm_copy_call(dst, src, n);
    } else if (strcmp(way, "masked") == 0) {
        fastmm_copy_masked(dst, src, n);
    } else {
        fastmm_copy(dst, src, n);
    }
}

static void clear(const char *way, void *dst, size_t n)
{
    int impl = fastmm_copy_impl_by_name(way);
    if (impl >= 0) {
        if (fastmm_fill_with((uint32_t)impl, dst, 0, n) != 0)
            exit(NO_SUCH_WAY);
    } else if (strcmp(way, "call") == 0) {
        fastmm_clear_call(dst, n);
    } else {
        fastmm_clear(dst, n);
    }
}

/* A branch that MemorySanitizer judges. */
static int is_odd(const unsigned char *p, size_t n)
{
    volatile int odd = 0;
    if (p[n - 1] & 1)
        odd = 1;
    return odd;
}

static void try_exactly(const char *way, size_t n)
{
    unsigned char *from = malloc(n), *to = malloc(n);
    if (!from || !to)
        exit(2);
    memset(from, 1, n);
    copy(way, to, from, n);
    if (memcmp(to, from, n) != 0)
        exit(2);
    clear(way, to, n);
    is_odd(to, n);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const char *way = argv[1], *scenario = argv[2];
    if (strcmp(scenario, "exact") == 0) {
        for (size_t n = 1; n <= (size_t)atol(argv[3]); n += n < 700 ? 1 : 61)
            try_exactly(way, n);
        return 0;
    }
    size_t n = (size_t)atol(argv[3]),
           past = (size_t)atol(scenario + strcspn(scenario, "0123456789"));
    unsigned char *small = malloc(n), *large = malloc(n + 64), *other = malloc(n + 64);
    if (!small || !large || !other)
        return 2;
    if (strncmp(scenario, "uninitialised", 13) != 0)
        memset(large, 1, n + 64);
    memset(small, 1, n);
    if (strncmp(scenario, "read", 4) == 0)
        copy(way, large, small, n + past);
    else if (strncmp(scenario, "write", 5) == 0)
        copy(way, small, large, n + past);
    else if (strncmp(scenario, "clear", 5) == 0)
        clear(way, small, n + past);
    else
        copy(way, other, large, n);
    int odd = strncmp(scenario, "cleared", 7) == 0 ? is_odd(small, n) : 0;
    if (strncmp(scenario, "initialised", 11) == 0 || strncmp(scenario, "uninitialised", 13) == 0)
        odd = is_odd(other, n);
    free(small);
    free(large);
    free(other);
    return odd > 1;
}
