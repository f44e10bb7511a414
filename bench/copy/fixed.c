/* SPDX-License-Identifier: MIT */
/* One size over and over, hot: what a predictable size costs, and the throughput of large ones. */
#include "copy/cases.h"

#include "copy/setup.h"

#include <fastmm/copy.h>

static const int64_t small[] = {1,  2,  3,  4,  7,  8,  12, 15, 16,  24,  31,
                                32, 33, 48, 63, 64, 65, 80, 96, 112, 127, 128};
static const int64_t medium[] = {192, 256, 320, 384, 512, 768, 1024, 1536, 2048, 2112};
static const int64_t pages[] = {4096, 8192, 16384, 32768, 65536};
static const int64_t reload[] = {8, 12, 16, 24, 32, 48, 64};

#define COUNT(x) (sizeof(x) / sizeof(x[0]))

/* Not aliased: half a page apart. */
#define APART 2048

static const struct copy_rival *const everybody[] = {&copy_fastmm, &copy_libc, &copy_rep_movsb,
                                                     &copy_vector_loop};
static const struct copy_rival *const who_clears[] = {&copy_fastmm, &copy_libc, &copy_rep_stosb};

static void add_sizes(const char *job, const struct copy_rival *rival, copy_loop *loop)
{
    for (size_t i = 0; i < COUNT(small) + COUNT(pages); i++) {
        int64_t size = i < COUNT(small) ? small[i] : pages[i - COUNT(small)];
        struct bench_case c = copy_case(rival, size, APART, loop);
        bench_add(&c, "copy/%s/%s/size:%d", job, rival->name, (int)size);
    }
}

static void add_mixed(const struct copy_rival *rival)
{
    for (size_t i = 0; i < COUNT(medium); i++) {
        struct bench_case c = copy_case(rival, medium[i], 0, rival->copy_list);
        c.setup = copy_setup_mixed;
        bench_add(&c, "copy/mixed/%s/size:%d", rival->name, (int)medium[i]);
    }
}

static void add_reload(const struct copy_rival *rival)
{
    for (size_t i = 0; i < COUNT(reload); i++) {
        struct bench_case c = copy_case(rival, reload[i], APART, rival->copy_reload);
        bench_add(&c, "copy/reload/%s/size:%d", rival->name, (int)reload[i]);
    }
}

void copy_add_fixed(void)
{
    for (size_t i = 0; i < COUNT(everybody); i++) {
        add_sizes("fixed", everybody[i], everybody[i]->copy_fixed);
        add_mixed(everybody[i]);
        add_reload(everybody[i]);
    }
    for (size_t i = 0; i < COUNT(who_clears); i++)
        add_sizes("clear_fixed", who_clears[i], who_clears[i]->clear_fixed);
    /* Beside them, for whoever wonders what the masked variant costs a reader. */
    for (size_t i = 0; i < COUNT(reload); i++) {
        struct bench_case c =
            copy_case(&copy_fastmm_masked, reload[i], APART, copy_fastmm_masked.copy_reload);
        bench_add(&c, "copy/reload/fastmm_masked/size:%d", (int)reload[i]);
    }
}
