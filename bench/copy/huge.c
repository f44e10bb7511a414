/* SPDX-License-Identifier: MIT */
/* Beyond the caches: huge blocks, streaming, and a huge page cleared for whoever faulted on it. */
#include "copy/cases.h"

#include "copy/setup.h"

#define HUGE_PAGE ((int64_t)2 << 20)

static const int64_t huge[] = {32 << 20, 128 << 20};
static const int64_t cold[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};

static void add(const char *name, const struct copy_rival *who, int64_t size, copy_loop *loop,
                int (*setup)(struct bench *))
{
    struct bench_case c = copy_case(who, size, 2048, loop);
    c.setup = setup;
    bench_add(&c, "%s/%s/size:%d", name, who->name, (int)size);
}

void copy_add_huge(void)
{
    static const struct copy_rival *const copying[] = {&copy_fastmm, &copy_libc, &copy_rep_movsb};
    static const struct copy_rival *const clearing[] = {&copy_fastmm, &copy_libc, &copy_rep_stosb};
    for (size_t r = 0; r < sizeof(copying) / sizeof(copying[0]); r++)
        for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
            add("copy/huge", copying[r], huge[i], copying[r]->copy_fixed, copy_setup_fixed);
            add("copy/clear_huge", clearing[r], huge[i], clearing[r]->clear_fixed,
                copy_setup_fixed);
        }
    for (size_t i = 0; i < sizeof(cold) / sizeof(cold[0]); i++) {
        add("copy/stream", &copy_fastmm_stream, cold[i], copy_fastmm_stream.copy_cold,
            copy_setup_cold);
        add("copy/stream", &copy_libc, cold[i], copy_libc.copy_cold, copy_setup_cold);
    }
    add("copy/clear_hot", &copy_fastmm, HUGE_PAGE, copy_fastmm.clear_hot, copy_setup_cold);
    add("copy/clear_hot", &copy_libc, HUGE_PAGE, copy_libc.clear_hot, copy_setup_cold);
}
