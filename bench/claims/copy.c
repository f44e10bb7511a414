/* SPDX-License-Identifier: MIT */
/*
 * Claim 2, the part that can be tried here alone: short copies and clears inlined, called, and by
 * libc, at the sizes that system calls copy and at those of published distributions, with warm and
 * with cold code.
 */
#include "claims.h"

#include "copy_sites.h"
#include "harness/bench.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 8192, REACH = 64, REACHED = 4096 + REACH };
/* Half a page apart: no copy by string instructions is slow at that distance. */
static unsigned char memory[2 * ROOM] __attribute__((aligned(4096)));

static const struct {
    struct copy_request request;
    const char *what;
} sizes[] = {
    {{16, 0, 0}, "timespec"}, {{64, 0, 0}, "line"},   {{112, 0, 0}, "sysinfo"},
    {{144, 0, 0}, "stat"},    {{256, 0, 0}, "statx"}, {{390, 0, 0}, "utsname"},
    {{1024, 0, 0}, "1 KiB"},  {{4096, 0, 0}, "page"},
};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MOST_SUBJECTS = SIZES + 8 };

/* What is copied: one size, or sizes of a distribution, which no branch predictor knows. */
static struct subject {
    struct copy_blocks blocks;
    struct copy_request *drawn; /* NULL for one size */
    const char *what;
    char label[24];
    bool stat, full; /* the claim's own size; in the full run only */
} subjects[MOST_SUBJECTS];
static unsigned subject_count;

static const char *const ways[COPY_WAYS] = {"libc", "libc_again",  "rep_call",
                                            "rep",  "fastmm_call", "fastmm"};
static const char *const ops[COPY_OPS] = {"copy", "clear"};

/* What is compared: the claim itself first. */
static const struct {
    enum copy_way base, other;
} pairs[] = {
    {COPY_REP_CALL, COPY_REP}, {COPY_LIBC, COPY_LIBC_AGAIN}, {COPY_LIBC, COPY_REP},
    {COPY_LIBC, COPY_CALL},    {COPY_LIBC, COPY_INLINE},     {COPY_CALL, COPY_INLINE},
};

static double time_warm(void *context, const void *variant, unsigned placement, uint64_t times)
{
    copy_run *loop = ((const struct copy_sites *)variant)->warm[placement];
    double start = claims_clock();
    loop(context, times);
    return claims_clock() - start;
}

/* 4096 lines of code, jumped through: more than any first-level instruction cache holds. */
__asm__(".pushsection .text\n\t"
        ".p2align 6\n\t"
        ".type claims_other_code, @function\n"
        "claims_other_code:\n\t"
        ".rept 4096\n\t"
        "jmp 1f\n\t"
        ".skip 62, 0xcc\n"
        "1:\n\t"
        ".endr\n\t"
        "ret\n\t"
        ".size claims_other_code, . - claims_other_code\n\t"
        ".popsection");
extern void claims_other_code(void) __attribute__((visibility("hidden")));

static double time_cold(void *context, const void *variant, unsigned placement, uint64_t times)
{
    copy_run *sites = ((const struct copy_sites *)variant)->cold[placement];
    uint64_t spent = 0;
    while (times--) {
        claims_other_code();
        uint64_t start = bench_now();
        sites(context, times);
        spent += bench_now() - start;
    }
    return (double)spent;
}

static void fill(struct copy_blocks *b)
{
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)(i * 31 + 1);
    memset(b->dst, 0x55, REACHED);
}

static uint64_t digest_of(struct copy_blocks *b, const struct copy_sites *sites)
{
    fill(b);
    sites->warm[0](b, 100);
    uint64_t digest = bench_digest(0, b->dst, REACHED);
    fill(b);
    sites->cold[0](b, 1);
    return bench_digest(digest, b->dst, REACHED);
}

static void add_row(struct claims *claims, int op, struct subject *subject, size_t pair, bool cold)
{
    const enum copy_way base = pairs[pair].base, other = pairs[pair].other;
    const struct copy_sites *sites = copy_sites_of[op];
    char family[32];
    snprintf(family, sizeof(family), "%s/%s", ops[op], cold ? "cold" : "warm");
    struct claim_row *row =
        claims_add(claims, 2, family, "%s/%s/%s/%s-%s", ops[op], cold ? "cold" : "warm",
                   subject->label, ways[base], ways[other]);
    row->aa = other == COPY_LIBC_AGAIN;
    row->headline = subject->stat;
    row->timed = cold ? time_cold : time_warm;
    row->items = cold ? COPY_SITES : 1;
    row->batch_ns = cold ? 30e3 : 250e3;
    row->context = &subject->blocks;
    for (int side = 0; side < 2; side++) {
        enum copy_way way = side ? other : base;
        row->side[side] =
            (struct claim_side){ways[way], &sites[way], sites[way].text() / COPY_SITES};
    }
    row->wrong =
        digest_of(&subject->blocks, &sites[base]) != digest_of(&subject->blocks, &sites[other]);
    snprintf(row->note, sizeof(row->note), "%s", subject->what);
}

static struct subject *add_subject(const char *kind, const char *what,
                                   const struct copy_request *list, uint64_t count)
{
    struct subject *subject = &subjects[subject_count++];
    *subject = (struct subject){
        .blocks = {memory + ROOM + 2048, memory, list, count - 1},
        .what = what,
    };
    snprintf(subject->label, sizeof(subject->label), "%s", kind);
    return subject;
}

static void add_subjects(struct claims *claims)
{
    char label[24];
    for (size_t i = 0; i < SIZES; i++) {
        const struct copy_request *request = &sizes[i].request;
        snprintf(label, sizeof(label), "size:%u", request->size);
        struct subject *subject = add_subject(label, sizes[i].what, request, 1);
        subject->stat = request->size == 144;
        subject->full = request->size >= 1024;
    }
    for (size_t i = 0; i < copy_sizes_count && subject_count < MOST_SUBJECTS; i++) {
        struct copy_request *drawn = copy_draw(&copy_sizes[i], REACH);
        if (!drawn) {
            claims_skip(claims, "claim 2, sizes of %s: no memory", copy_sizes[i].name);
            continue;
        }
        snprintf(label, sizeof(label), "dist:%s", copy_sizes[i].name);
        struct subject *subject =
            add_subject(label, "sizes that nothing predicts", drawn, COPY_REQUESTS);
        subject->drawn = drawn;
        subject->full = copy_sizes[i].count == 1; /* nobody published that one */
    }
}

void copy_claim_add(struct claims *claims)
{
    add_subjects(claims);
    claims_explain(claims, 2,
                   "text: bytes at each place that copies; what it calls is not in it. ");
    for (int op = 0; op < COPY_OPS; op++)
        for (int cold = 0; cold < 2; cold++)
            for (unsigned i = 0; i < subject_count; i++)
                for (size_t pair = 0; pair < sizeof(pairs) / sizeof(pairs[0]); pair++) {
                    /* One A/A for each operation and temperature. */
                    bool wanted = pairs[pair].other != COPY_LIBC_AGAIN || subjects[i].stat;
                    if (wanted && (claims->full || !subjects[i].full))
                        add_row(claims, op, &subjects[i], pair, cold != 0);
                }
    claims_skip(claims,
                "claim 2, the system-call side (an inlined copy to and from user memory in the "
                "kernel): can't be reproduced in userspace; what is measured is the copy alone "
                "and, as another experiment, programs with libc's calls replaced");
}

void copy_claim_free(void)
{
    for (unsigned i = 0; i < subject_count; i++)
        free(subjects[i].drawn);
}
