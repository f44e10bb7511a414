/* SPDX-License-Identifier: MIT */
/*
 * Claim 4: a fault is 1 % faster when the mapping's flag is tested before the entry's marker is
 * decoded.
 */
#include "claims.h"

#include "branches.h"
#include "configs.h"
#include "gate_variants.h"
#include "harness/bench.h"
#include "need.h"

#include <stdlib.h>
#include <string.h>

static const char *const states[] = {"absent", "set", "markers"};
enum { STATES = sizeof(states) / sizeof(states[0]), COUNTED = 16 };
static struct gate_space *spaces[STATES];

/* Entries of many tables, so that no branch predictor learns by heart which of them are markers. */
enum { TABLES = 128 };
static fastmm_pte_t empty[FASTMM_PTES], markers[TABLES * FASTMM_PTES];

/* The entries of the table that is set in this round. */
static const fastmm_pte_t *orig_of(const struct gate_space *s, uint64_t round)
{
    return s == spaces[STATES - 1] ? markers + round % TABLES * FASTMM_PTES : empty;
}

CLAIM_TABLE(gate_variants);

static const char *const jobs[GATE_JOBS] = {"setter", "fault/locked:0", "fault/locked:4"};
static const char *const gates[GATES] = {"ungated", "ungated_again", "gate_last", "gate_first",
                                         "gate_first_inlined"};

static struct gate_space *space_open(int state)
{
    struct gate_space *s = aligned_alloc(4096, (sizeof(*s) + 4095) & ~(size_t)4095);
    if (!s)
        return NULL;
    memset(s, 0, sizeof(*s));
    s->entries = FASTMM_PTES;
    s->vma.start = UINT64_C(1) << 32;
    s->vma.end = s->vma.start + FASTMM_PTES * FASTMM_PAGE_SIZE;
    s->vma.flags = FASTMM_VM_READ | FASTMM_VM_WRITE | FASTMM_VM_MAYWRITE;
    s->vma.page_prot = FASTMM_PROT_READONLY;
    if (state > 0)
        s->vma.flags |= FASTMM_VM_UFFD_WP;
    s->top[0] = (uintptr_t)s->upper;
    s->upper[4] = (uintptr_t)s->middle;
    s->middle[0] = (uintptr_t)s->pte;
    return s;
}

static void make_markers(void)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < TABLES * FASTMM_PTES; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        markers[i] = seed >> 63 ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP) : 0;
    }
}

static double time_entries(void *context, const void *variant, unsigned placement,
                           uint64_t iterations)
{
    struct gate_space *s = context;
    gate_run *entries = ((const struct gate_variant *)variant)->run[placement];
    double start = claims_clock();
    while (iterations--) {
        s->orig = orig_of(s, iterations);
        entries(s);
    }
    return claims_clock() - start;
}

static uint64_t digest_of(struct gate_space *s, const struct gate_variant *variant)
{
    memset(s->pte, 0, sizeof(s->pte));
    s->orig = orig_of(s, 0);
    variant->run[0](s);
    return bench_digest(0, s->pte, sizeof(s->pte));
}

static void run_once(void *space, const void *variant)
{
    ((const struct gate_variant *)variant)->run[0](space);
}

/* Each instruction takes a signal, so that few entries must do; what none takes is left out. */
static bool count(struct gate_space *s, const struct gate_variant *variant, struct branches *out)
{
    struct branches none;
    s->entries = 0;
    bool counted = branches_count(run_once, s, variant, &none);
    s->entries = COUNTED;
    counted = counted && branches_count(run_once, s, variant, out);
    s->entries = FASTMM_PTES;
    if (!counted)
        return false;
    out->conditional -= none.conditional;
    out->calls -= none.calls;
    return true;
}

static void note_branches(struct claim_row *row, struct gate_space *s)
{
    struct branches before, after;
    if (count(s, row->side[0].variant, &before) && count(s, row->side[1].variant, &after))
        snprintf(row->note, sizeof(row->note),
                 "an entry: %.2f branches and %.2f calls ungated, %.2f and %.2f %s",
                 (double)before.conditional / COUNTED, (double)before.calls / COUNTED,
                 (double)after.conditional / COUNTED, (double)after.calls / COUNTED,
                 row->side[1].label);
    else
        snprintf(row->note, sizeof(row->note), "branches can't be counted here: no single steps");
}

static void add_row(struct claims *claims, size_t config, int job, int state, enum gate gate)
{
    const struct gate_variant *variants = configs[config].variants->variant[job];
    struct gate_space *s = spaces[state];
    struct claim_row *row = claims_add(claims, 4, configs[config].name, "%s/uffd:%s/%s/%s",
                                       jobs[job], states[state], configs[config].name, gates[gate]);
    row->aa = gate == GATE_NONE_AGAIN;
    row->headline = state == 0 && config == 0;
    row->timed = time_entries;
    row->context = s;
    row->items = FASTMM_PTES;
    row->side[0] = (struct claim_side){"ungated", &variants[GATE_NONE], variants[GATE_NONE].text()};
    row->side[1] = (struct claim_side){gates[gate], &variants[gate], variants[gate].text()};
    row->wrong = digest_of(s, &variants[GATE_NONE]) != digest_of(s, &variants[gate]);
    note_branches(row, s);
}

void gate_claim_add(struct claims *claims)
{
    claims_explain(claims, 4,
                   "branches: the conditional ones executed, counted by single steps; text: bytes "
                   "of the loop that sets entries or faults, without what it calls");
    make_markers();
    for (int state = 0; state < STATES; state++)
        spaces[state] = need(space_open(state));
    for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++)
        for (int job = 0; job < GATE_JOBS; job++)
            for (int state = 0; state < STATES; state++)
                for (int gate = GATE_NONE_AGAIN; gate < GATES; gate++)
                    if (gate != GATE_NONE_AGAIN || state == 0)
                        add_row(claims, c, job, state, (enum gate)gate);
}

void gate_claim_free(void)
{
    for (int state = 0; state < STATES; state++)
        free(spaces[state]);
}
