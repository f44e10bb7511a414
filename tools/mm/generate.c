/* SPDX-License-Identifier: MIT */
/*
 * The pages lie on both sides of the border between two page tables. What is mapped and registered
 * is followed roughly, to aim at it; an operation that misses is no loss, since both worlds must
 * refuse it alike.
 */
#include "mm/generate.h"

#include <fastmm/walk.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 500u
#define PAGES 24u
#define RUN   8u /* longest range, mostly */

struct generator {
    uint64_t state;
    const struct generate_setup *setup;
    struct trace *trace;
    struct trace_state processes;
    bool mapped[TRACE_PROCESSES][PAGES], registered[TRACE_PROCESSES][PAGES];
};

static uint64_t next(struct generator *g)
{
    uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned below(struct generator *g, unsigned limit)
{
    return (unsigned)(next(g) % limit);
}

static bool chance(struct generator *g, unsigned percent)
{
    return below(g, 100) < percent;
}

/* --- Where ----------------------------------------------------------------------------------- */

static unsigned some_process(struct generator *g)
{
    unsigned p;
    do
        p = below(g, TRACE_PROCESSES);
    while (!g->processes.alive[p]);
    return p;
}

static unsigned longest(struct generator *g)
{
    return chance(g, 10) ? PAGES : chance(g, 50) ? 2 : RUN;
}

static void anywhere(struct generator *g, struct trace_op *op)
{
    unsigned first = below(g, PAGES), most = longest(g);
    op->first = FIRST + first;
    op->count = 1 + below(g, most < PAGES - first ? most : PAGES - first);
}

/* A range that begins at a page of the set and stays in it, if there is one. */
static void within(struct generator *g, const bool set[PAGES], struct trace_op *op)
{
    unsigned start = below(g, PAGES), first = 0, most = longest(g), count = 1;
    while (first < PAGES && !set[(start + first) % PAGES])
        first++;
    if (first == PAGES || chance(g, 5)) {
        anywhere(g, op);
        return;
    }
    first = (start + first) % PAGES;
    while (count < most && first + count < PAGES && set[first + count] && chance(g, 80))
        count++;
    op->first = FIRST + first;
    op->count = count;
}

static void mark(bool set[PAGES], const struct trace_op *op, bool value)
{
    memset(set + op->first - FIRST, value, op->count);
}

/* --- What ------------------------------------------------------------------------------------ */

static uint32_t some_protection(struct generator *g)
{
    static const uint32_t rw = FASTMM_VM_READ | FASTMM_VM_WRITE;
    static const uint32_t some[] = {0, FASTMM_VM_READ, FASTMM_VM_READ | FASTMM_VM_EXEC, rw};
    return chance(g, 60) ? rw : some[below(g, 4)];
}

static int some_object(struct generator *g)
{
    switch (g->setup->kind) {
    case GENERATE_ANON:
        return -1;
    case GENERATE_SHMEM:
        return 0;
    case GENERATE_FILE:
        return 1;
    default:
        return (int)below(g, 3) - 1;
    }
}

static void make_map(struct generator *g, struct trace_op *op)
{
    bool *mapped = g->mapped[op->process];
    bool empty[PAGES];
    for (unsigned i = 0; i < PAGES; i++)
        empty[i] = !mapped[i];
    within(g, empty, op);
    op->flags = some_protection(g);
    op->object = some_object(g);
    if (op->object >= 0) {
        op->offset = chance(g, 80) ? op->first - FIRST : below(g, PAGES);
        op->flags |= chance(g, 50) ? FASTMM_VM_SHARED : 0;
    } else if (chance(g, 5)) {
        op->flags |= FASTMM_VM_WIPEONFORK;
    }
    op->flags |= chance(g, 5) ? FASTMM_VM_DONTCOPY : 0;
    for (unsigned i = op->first; i < op->first + op->count; i++)
        if (mapped[i - FIRST])
            return;
    mark(mapped, op, true);
    mark(g->registered[op->process], op, false);
}

static void make_unmap(struct generator *g, struct trace_op *op)
{
    within(g, g->mapped[op->process], op);
    mark(g->mapped[op->process], op, false);
    mark(g->registered[op->process], op, false);
}

/* A range that grows or shrinks where it is, or goes anywhere else. */
static void make_remap(struct generator *g, struct trace_op *op)
{
    bool *mapped = g->mapped[op->process], *registered = g->registered[op->process];
    within(g, mapped, op);
    unsigned room = FIRST + PAGES - op->first;
    op->size = chance(g, 60) ? op->count : 1 + below(g, room);
    op->moves = chance(g, 75);
    op->target = op->moves ? FIRST + below(g, PAGES - op->size + 1) : 0;
    bool overlaps = op->target < op->first + op->count && op->first < op->target + op->size;
    if (!op->moves || overlaps)
        return;
    struct trace_op there = {.first = op->target, .count = op->size};
    mark(mapped, op, false);
    mark(mapped, &there, true);
    mark(registered, &there, registered[op->first - FIRST]);
    mark(registered, op, false);
}

static void make_protect(struct generator *g, struct trace_op *op)
{
    within(g, g->mapped[op->process], op);
    op->flags = some_protection(g);
}

static void make_on_mapped(struct generator *g, struct trace_op *op)
{
    within(g, g->mapped[op->process], op);
}

/* Files read again what they lost, and more: removing from them isn't in the model. */
static void make_remove(struct generator *g, struct trace_op *op)
{
    if (g->setup->kind == GENERATE_FILE || g->setup->kind == GENERATE_MIXED)
        op->verb = TRACE_DONTNEED;
    make_on_mapped(g, op);
}

/* Reclaiming pages of files isn't in the model. */
bool generate_swaps(const struct generate_setup *setup)
{
    return setup->kind != GENERATE_FILE && setup->kind != GENERATE_MIXED && !setup->no_swap;
}

static void make_pageout(struct generator *g, struct trace_op *op)
{
    if (!generate_swaps(g->setup))
        op->verb = TRACE_DONTNEED;
    make_on_mapped(g, op);
}

static void make_pin(struct generator *g, struct trace_op *op)
{
    if (g->setup->no_pins)
        op->verb = TRACE_WRITE;
    make_on_mapped(g, op);
}

static void make_register(struct generator *g, struct trace_op *op)
{
    within(g, g->mapped[op->process], op);
    op->flags = (chance(g, 40) ? FASTMM_VM_UFFD_ASYNC : 0) |
                (chance(g, 40) ? FASTMM_VM_UFFD_UNPOPULATED : 0) |
                (chance(g, 40) && !g->setup->no_fork_events ? FASTMM_VM_UFFD_FORK : 0) |
                (chance(g, 40) ? FASTMM_VM_UFFD_REMAP : 0);
    mark(g->registered[op->process], op, true);
}

static void make_on_registered(struct generator *g, struct trace_op *op)
{
    within(g, g->registered[op->process], op);
}

/* Mostly what was written, as those do who follow writes. */
static void make_wp_matching(struct generator *g, struct trace_op *op)
{
    static const uint32_t categories[] = {FASTMM_PAGE_IS_WRITTEN, FASTMM_PAGE_IS_FILE,
                                          FASTMM_PAGE_IS_PRESENT, FASTMM_PAGE_IS_SWAPPED,
                                          FASTMM_PAGE_IS_PFNZERO, FASTMM_PAGE_IS_GUARD};
    uint32_t category = categories[below(g, 6)];
    within(g, g->registered[op->process], op);
    op->flags = chance(g, 60) ? TRACE_MATCH(FASTMM_PAGE_IS_WRITTEN) : 0;
    if (chance(g, 40))
        op->flags |= chance(g, 50) ? TRACE_MATCH(category) : TRACE_MATCH_LACK(category);
    op->flags |= chance(g, 30) ? TRACE_MATCH_CHECK : 0;
}

static void make_unregister(struct generator *g, struct trace_op *op)
{
    within(g, g->registered[op->process], op);
    mark(g->registered[op->process], op, false);
}

static void make_fork(struct generator *g, struct trace_op *op)
{
    op->child = 0;
    while (op->child < TRACE_PROCESSES - 1 && g->processes.used[op->child])
        op->child++;
    memcpy(g->mapped[op->child], g->mapped[op->process], PAGES);
    memcpy(g->registered[op->child], g->registered[op->process], PAGES);
}

static void make_exit(struct generator *g, struct trace_op *op)
{
    unsigned alive = 0;
    for (unsigned i = 0; i < TRACE_PROCESSES; i++)
        alive += g->processes.alive[i];
    if (alive == 1) { /* somebody must stay */
        op->verb = TRACE_READ;
        make_on_mapped(g, op);
    }
}

static const struct {
    enum trace_verb verb;
    unsigned weight;
    void (*make)(struct generator *g, struct trace_op *op);
} verbs[] = {
    {TRACE_MAP, 12, make_map},
    {TRACE_UNMAP, 4, make_unmap},
    {TRACE_REMAP, 6, make_remap},
    {TRACE_PROTECT, 8, make_protect},
    {TRACE_READ, 14, make_on_mapped},
    {TRACE_WRITE, 20, make_on_mapped},
    {TRACE_FORCE_WRITE, 4, make_on_mapped},
    {TRACE_DONTNEED, 5, make_on_mapped},
    {TRACE_REGISTER, 8, make_register},
    {TRACE_UNREGISTER, 3, make_unregister},
    {TRACE_WP, 14, make_on_registered},
    {TRACE_UNWP, 8, make_on_registered},
    {TRACE_WP_MATCHING, 8, make_wp_matching},
    {TRACE_GUARD, 3, make_on_mapped},
    {TRACE_UNGUARD, 3, make_on_mapped},
    {TRACE_PIN, 4, make_pin},
    {TRACE_UNPIN, 4, make_on_mapped},
    {TRACE_POISON, 2, make_on_registered},
    {TRACE_FREE, 4, make_on_mapped},
    {TRACE_REMOVE, 3, make_remove},
    {TRACE_PAGEOUT, 8, make_pageout},
    {TRACE_POPULATE_READ, 3, make_on_mapped},
    {TRACE_POPULATE_WRITE, 3, make_on_mapped},
    {TRACE_DONTFORK, 1, make_on_mapped},
    {TRACE_DOFORK, 1, make_on_mapped},
    {TRACE_WIPEONFORK, 1, make_on_mapped},
    {TRACE_KEEPONFORK, 1, make_on_mapped},
    {TRACE_FORK, 3, make_fork},
    {TRACE_EXIT, 1, make_exit},
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* So many operations map something first, since most others mean little before. */
#define FIRST_MAPS 6u

static void make_op(struct generator *g, struct trace_op *op)
{
    unsigned total = 0, at = 0;
    for (unsigned i = 0; i < VERBS; i++)
        total += verbs[i].weight;
    unsigned left = g->trace->count < FIRST_MAPS ? 0 : below(g, total); /* row 0 maps */
    for (; left >= verbs[at].weight; at++)
        left -= verbs[at].weight;
    *op = (struct trace_op){
        .verb = verbs[at].verb, .process = some_process(g), .object = -1, .number = -1};
    verbs[at].make(g, op);
}

int generate_trace(uint64_t seed, const struct generate_setup *setup, size_t count,
                   struct trace *trace)
{
    struct generate_setup one = *setup;
    if (setup->kind == GENERATE_ALL)
        one.kind = (enum generate_kind)(seed % GENERATE_ALL);
    setup = &one;
    struct generator g = {.state = seed, .setup = setup, .trace = trace};
    memset(trace, 0, sizeof(*trace));
    if (setup->kind == GENERATE_SHMEM || setup->kind == GENERATE_MIXED)
        trace->object[0] = (struct trace_object){TRACE_OBJECT_SHMEM, PAGES};
    if (setup->kind == GENERATE_FILE || setup->kind == GENERATE_MIXED)
        trace->object[1] = (struct trace_object){TRACE_OBJECT_FILE, PAGES};
    trace->op = calloc(count, sizeof(*trace->op));
    if (!trace->op)
        return -1;
    trace_state_init(&g.processes);
    while (trace->count < count) {
        struct trace_op *op = &trace->op[trace->count];
        make_op(&g, op);
        op->line = (unsigned)trace->count + 1;
        trace->count += trace_step(&g.processes, trace, op) == NULL;
    }
    return 0;
}
