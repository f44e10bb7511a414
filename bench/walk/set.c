/* SPDX-License-Identifier: MIT */
/*
 * The setter alone, over a table of 512 entries: one at a time and 16 at a time, in a mapping that
 * isn't registered with userfaultfd (uffd:none), in one that is and whose entries were empty
 * (uffd:armed), and in one where every other run of 16 had a marker (uffd:markers).
 */
#include "cases.h"

#include "baseline/walk_set_ungated.h"
#include "harness/bench.h"

#include <stdlib.h>
#include <string.h>

#define RUN 16

struct table {
    struct fastmm_vma vma;
    fastmm_pte_t orig[FASTMM_PTES / RUN];
    fastmm_pte_t pte[FASTMM_PTES];
};

static const char *const uffds[] = {"none", "armed", "markers"};

static int open_table(struct bench *b)
{
    struct table *t = aligned_alloc(4096, (sizeof(*t) + 4095) & ~(size_t)4095);
    if (!t)
        return bench_skip(b, "no memory");
    memset(t, 0, sizeof(*t));
    t->vma.flags = FASTMM_VM_READ | FASTMM_VM_WRITE | FASTMM_VM_MAYWRITE;
    t->vma.page_prot = FASTMM_PROT_READONLY;
    if (b->spec->args[0] > 0)
        t->vma.flags |= FASTMM_VM_UFFD_WP;
    uint64_t seed = 1;
    for (size_t i = 0; b->spec->args[0] == 2 && i < FASTMM_PTES / RUN; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        t->orig[i] = seed >> 63 ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP) : 0;
    }
    b->data = t;
    b->items = FASTMM_PTES;
    return 0;
}

static void close_table(struct bench *b)
{
    free(b->data);
}

/* A loop over the table for each setter, so that inlined ones are inlined. */
#define DEFINE_ONE(name, set)                                            \
    static void one_##name(struct bench *b, uint64_t iterations)         \
    {                                                                    \
        struct table *t = b->data;                                       \
        const unsigned flags = FASTMM_SET_WRITE | FASTMM_SET_ORIG_VALID; \
        while (iterations--) {                                           \
            for (size_t i = 0; i < FASTMM_PTES; i++) {                   \
                set;                                                     \
                bench_clobber(t->pte + i);                               \
            }                                                            \
        }                                                                \
    }
#define DEFINE_RANGE(name, set)                                          \
    static void range_##name(struct bench *b, uint64_t iterations)       \
    {                                                                    \
        struct table *t = b->data;                                       \
        const unsigned flags = FASTMM_SET_WRITE | FASTMM_SET_ORIG_VALID; \
        while (iterations--) {                                           \
            for (size_t i = 0; i < FASTMM_PTES; i += RUN)                \
                set;                                                     \
            bench_clobber(t->pte);                                       \
        }                                                                \
    }

DEFINE_ONE(fastmm, fastmm_set_range(&t->vma, t->pte + i, 4096 + i, 1, flags, t->orig[i / RUN]))
DEFINE_ONE(fastmm_call,
           fastmm_set_range_call(&t->vma, t->pte + i, 4096 + i, 1, flags, t->orig[i / RUN]))
DEFINE_ONE(gate_last,
           fastmm_set_range_gate_last(&t->vma, t->pte + i, 4096 + i, 1, flags, t->orig[i / RUN]))
DEFINE_ONE(gate_last_call, fastmm_set_range_gate_last_call(&t->vma, t->pte + i, 4096 + i, 1, flags,
                                                           t->orig[i / RUN]))
DEFINE_ONE(ungated, set_ungated(&t->vma, t->pte + i, 4096 + i, flags, t->orig[i / RUN]))

static void ungated_run(struct table *t, size_t i, unsigned flags)
{
    for (size_t j = i; j < i + RUN; j++)
        set_ungated(&t->vma, t->pte + j, 4096 + j, flags, t->orig[i / RUN]);
}

DEFINE_RANGE(fastmm, fastmm_set_range(&t->vma, t->pte + i, 4096 + i, RUN, flags, t->orig[i / RUN]))
DEFINE_RANGE(gate_last, fastmm_set_range_gate_last(&t->vma, t->pte + i, 4096 + i, RUN, flags,
                                                   t->orig[i / RUN]))
DEFINE_RANGE(ungated, ungated_run(t, i, flags))

static uint64_t digest_table(struct bench *b)
{
    struct table *t = b->data;
    memset(t->pte, 0, sizeof(t->pte));
    b->spec->loop(b, 1);
    return bench_digest(0, t->pte, sizeof(t->pte));
}

static const struct {
    const char *job, *name;
    void (*loop)(struct bench *b, uint64_t iterations);
} setters[] = {
    {"set_one", "fastmm", one_fastmm},           {"set_one", "fastmm_call", one_fastmm_call},
    {"set_one", "gate_last", one_gate_last},     {"set_one", "gate_last_call", one_gate_last_call},
    {"set_one", "ungated", one_ungated},         {"set_range", "fastmm", range_fastmm},
    {"set_range", "gate_last", range_gate_last}, {"set_range", "ungated", range_ungated},
};

void add_set_cases(void)
{
    for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++)
        for (int uffd = 0; uffd < 3; uffd++) {
            const struct bench_case spec = {
                .args = {uffd},
                .setup = open_table,
                .loop = setters[i].loop,
                .teardown = close_table,
                .digest = digest_table,
            };
            bench_add(&spec, "walk/%s/%s/uffd:%s", setters[i].job, setters[i].name, uffds[uffd]);
        }
}
