/* SPDX-License-Identifier: MIT */
/* Beyond the caches: huge blocks, streaming, and a huge page cleared for whoever faulted on it. */
#include "copy/cases.h"

#include "copy/setup.h"

#include <fastmm/copy.h>

#include <string.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE      4096
#define HOT       ((size_t)1234 * 1024) /* where in the huge page the fault was */

static const int64_t huge[] = {32 << 20, 128 << 20};
static const int64_t cold[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};

/* The faulting thread goes on to use the page that it faulted on. */
static void use(unsigned char *page)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < PAGE; i += sizeof(sum)) {
        uint64_t word;
        memcpy(&word, page + i, sizeof(word));
        sum += word;
    }
    memset(page, (int)bench_opaque(sum), 64);
}

static void clear_huge_ours(struct bench *b, uint64_t iterations)
{
    struct copy_data *data = b->data;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t at = copy_next(data);
        fastmm_clear_huge(data->dst + at, HUGE_PAGE, HOT);
        use(data->dst + at + HOT);
    }
}

static void clear_huge_libc(struct bench *b, uint64_t iterations)
{
    struct copy_data *data = b->data;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t at = copy_next(data);
        memset(data->dst + at, 0, bench_opaque(HUGE_PAGE));
        use(data->dst + at + HOT);
    }
}

static void add(const char *name, const struct copy_rival *who, int64_t size, copy_loop *loop,
                int (*setup)(struct bench *))
{
    struct bench_case c = copy_case(who, size, 2048, loop);
    c.setup = setup;
    bench_add(&c, "%s/%s/size:%d", name, who->name, (int)size);
}

void copy_add_huge(void)
{
    static const struct copy_rival *const plain[] = {&copy_fastmm, &copy_libc, &copy_rep_movsb};
    for (size_t r = 0; r < sizeof(plain) / sizeof(plain[0]); r++)
        for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
            add("copy/huge", plain[r], huge[i], plain[r]->copy_fixed, copy_setup_fixed);
            add("copy/clear_huge", plain[r], huge[i], plain[r]->clear_fixed, copy_setup_fixed);
        }
    for (size_t i = 0; i < sizeof(cold) / sizeof(cold[0]); i++) {
        add("copy/stream", &copy_fastmm_stream, cold[i], copy_fastmm_stream.copy_cold,
            copy_setup_cold);
        add("copy/stream", &copy_libc, cold[i], copy_libc.copy_cold, copy_setup_cold);
    }
    add("copy/clear_hot", &copy_fastmm, (int64_t)HUGE_PAGE, clear_huge_ours, copy_setup_cold);
    add("copy/clear_hot", &copy_libc, (int64_t)HUGE_PAGE, clear_huge_libc, copy_setup_cold);
}
