/* SPDX-License-Identifier: MIT */
/*
 * Sizes that the compiler knows, where it expands memcpy() and memset() by itself: the honest rival
 * is the built-in.
 */
#include "copy/cases.h"

#include "copy/setup.h"

#include <fastmm/copy.h>

#define SIZES(X) \
    X(1)         \
    X(2)         \
    X(3)         \
    X(4) X(7) X(8) X(12) X(16) X(24) X(31) X(32) X(33) X(48) X(63) X(64) X(65) X(96) X(127) X(128)

#define LOOP(name, call)                                                  \
    static void name(struct bench *b, uint64_t iterations)                \
    {                                                                     \
        const struct copy_data *data = (const struct copy_data *)b->data; \
        unsigned char *d = data->dst;                                     \
        const unsigned char *s = data->src;                               \
        for (uint64_t i = 0; i < iterations; i++) {                       \
            call;                                                         \
            bench_clobber(d);                                             \
            bench_clobber((void *)(uintptr_t)s);                          \
        }                                                                 \
    }
#define LOOPS(n)                         \
    LOOP(ours_##n, fastmm_copy(d, s, n)) \
    LOOP(builtin_##n, __builtin_memcpy(d, s, n))
SIZES(LOOPS)

static const struct {
    int64_t size;
    copy_loop *ours, *builtin;
} sizes[] = {
#define ROW(n) {n, ours_##n, builtin_##n},
    SIZES(ROW)
#undef ROW
};

void copy_add_const(void)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct bench_case c = copy_case(&copy_fastmm, sizes[i].size, 2048, NULL);
        c.loop = sizes[i].ours;
        bench_add(&c, "copy/const/fastmm/size:%d", (int)sizes[i].size);
        c.loop = sizes[i].builtin;
        bench_add(&c, "copy/const/builtin/size:%d", (int)sizes[i].size);
    }
}
