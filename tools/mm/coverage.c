/* SPDX-License-Identifier: MIT */
#include "mm/coverage.h"

#include "mm/trace_words.h"

#include <fastmm/mm.h>
#include <inttypes.h>
#include <string.h>

/* --- Counting -------------------------------------------------------------------------------- */

/* Does it do anything to pages, in both worlds? */
static bool is_operation(enum trace_verb verb)
{
    return verb != TRACE_EXPECT && verb != TRACE_RSS && verb != TRACE_ALLOCATIONS &&
           verb != TRACE_CLEAR_REFS;
}

static const struct world_mapping *mapping_at(const struct world_space *space, unsigned page)
{
    for (unsigned i = 0; i < space->mappings; i++)
        if (page >= space->mapping[i].first && page < space->mapping[i].end)
            return &space->mapping[i];
    return NULL;
}

/* Raw mappings are the model's alone and aren't counted: -1. */
static int vma_of(const struct world_mapping *m)
{
    if (!m)
        return COVERAGE_UNMAPPED;
    if (m->flags & FASTMM_VM_PFNMAP)
        return -1;
    int registered = m->flags & FASTMM_VM_UFFD_WP ? 1 : 0;
    if (m->object == TRACE_NONE)
        return COVERAGE_ANON + registered;
    int first = m->object == TRACE_SHMEM ? COVERAGE_SHMEM_PRIVATE : COVERAGE_FILE_PRIVATE;
    return first + (m->flags & FASTMM_VM_SHARED ? 2 : 0) + registered;
}

static int entry_of(const struct world_page *page)
{
    int protected = page->uffd_wp ? 1 : 0;
    switch (page->kind) {
    case TRACE_NONE:
        return COVERAGE_NONE;
    case TRACE_ZERO:
        return COVERAGE_ZERO + protected;
    case TRACE_ANON:
        return COVERAGE_ANON_PAGE + protected;
    case TRACE_FILE:
    case TRACE_SHMEM:
        return COVERAGE_CACHED + protected;
    case TRACE_SWAP:
        return COVERAGE_SWAP + protected;
    case TRACE_MARK_UFFD_WP:
        return COVERAGE_MARK_UFFD_WP;
    case TRACE_MARK_POISON:
        return COVERAGE_MARK_POISON;
    case TRACE_MARK_GUARD:
        return COVERAGE_MARK_GUARD;
    default:
        return -1;
    }
}

void coverage_add(struct coverage *coverage, const struct trace_op *op, const struct world *world,
                  const struct world_view *view)
{
    enum trace_shape shape = trace_verbs[op->verb].shape;
    bool whole = shape == SHAPE_FORK || shape == SHAPE_NOTHING; /* of the process */
    unsigned first = whole ? world->first : op->first;
    unsigned count = whole ? world->count : op->count;
    const struct world_space *space = &view->space[op->process];
    if (!is_operation(op->verb) || !space->alive)
        return;
    for (unsigned i = first; i < first + count; i++) {
        const struct world_page *page = &space->page[i - world->first];
        int vma = vma_of(mapping_at(space, i)), entry = entry_of(page);
        if (vma >= 0 && entry >= 0)
            coverage->count[op->verb][vma][entry][page->maps > 1]++;
    }
}

/* --- What can't be --------------------------------------------------------------------------- */

#define BIT(n)    (1u << (n))
#define ALL       UINT32_MAX
#define ANON_VMAS (BIT(COVERAGE_ANON) | BIT(COVERAGE_ANON_UFFD))
#define SHARED_VMAS                                                                             \
    (BIT(COVERAGE_SHMEM_SHARED) | BIT(COVERAGE_SHMEM_SHARED_UFFD) | BIT(COVERAGE_FILE_SHARED) | \
     BIT(COVERAGE_FILE_SHARED_UFFD))
#define COUNTED                                                                    \
    (BIT(COVERAGE_ANON_PAGE) | BIT(COVERAGE_ANON_PAGE_WP) | BIT(COVERAGE_CACHED) | \
     BIT(COVERAGE_CACHED_WP))
#define PRIVATE_PAGES                                                       \
    (BIT(COVERAGE_ZERO) | BIT(COVERAGE_ZERO_WP) | BIT(COVERAGE_ANON_PAGE) | \
     BIT(COVERAGE_ANON_PAGE_WP) | BIT(COVERAGE_SWAP) | BIT(COVERAGE_SWAP_WP))

#define FILE_VMAS                                                                               \
    (BIT(COVERAGE_FILE_PRIVATE) | BIT(COVERAGE_FILE_PRIVATE_UFFD) | BIT(COVERAGE_FILE_SHARED) | \
     BIT(COVERAGE_FILE_SHARED_UFFD))
#define UNREGISTERED_VMAS                                                            \
    (BIT(COVERAGE_ANON) | BIT(COVERAGE_SHMEM_PRIVATE) | BIT(COVERAGE_SHMEM_SHARED) | \
     BIT(COVERAGE_FILE_PRIVATE) | BIT(COVERAGE_FILE_SHARED))
#define SWAPPED (BIT(COVERAGE_SWAP) | BIT(COVERAGE_SWAP_WP))
#define PROTECTED                                                                   \
    (BIT(COVERAGE_ZERO_WP) | BIT(COVERAGE_ANON_PAGE_WP) | BIT(COVERAGE_CACHED_WP) | \
     BIT(COVERAGE_SWAP_WP) | BIT(COVERAGE_MARK_UFFD_WP))

/* By which operation; any but where one is named. */
#define ANY_VERB UINT64_MAX
#define VERB(v)  (UINT64_C(1) << (v))
_Static_assert(TRACE_VERBS <= 64, "a set of verbs is a word");

static const struct {
    uint32_t vmas, entries;
    uint64_t verbs;
    bool shared_only;
    const char *reason;
} impossible[] = {
    {BIT(COVERAGE_UNMAPPED), ~BIT(COVERAGE_NONE), ANY_VERB, false,
     "where nothing is mapped there are no entries"},
    {ALL, ~COUNTED, ANY_VERB, true, "only pages that are counted can be mapped more than once"},
    {ANON_VMAS, BIT(COVERAGE_CACHED) | BIT(COVERAGE_CACHED_WP), ANY_VERB, false,
     "anonymous mappings have no object whose pages they could map"},
    {SHARED_VMAS, PRIVATE_PAGES, ANY_VERB, false, "shared mappings hold nothing private"},
    {~ANON_VMAS, BIT(COVERAGE_ZERO) | BIT(COVERAGE_ZERO_WP), ANY_VERB, false,
     "mappings of objects read their object's pages, never the zero page"},
    {FILE_VMAS, BIT(COVERAGE_MARK_POISON), ANY_VERB, false, "poisoning files is refused"},
    {UNREGISTERED_VMAS, PROTECTED, ANY_VERB, false,
     "protection ends with the registration; what a move leaves of it is tried by a trace "
     "(mremap-takes-registration)"},
    {FILE_VMAS, ALL, VERB(TRACE_PAGEOUT), false,
     "not made up: reclaiming pages of files isn't in the model"},
    {FILE_VMAS, SWAPPED, ANY_VERB, false,
     "not made up: what would swap copies of files out would reclaim their pages, too"},
    {FILE_VMAS, ALL, VERB(TRACE_REMOVE), false,
     "not made up: removing pages of files isn't in the model"},
};
#define IMPOSSIBLE (sizeof(impossible) / sizeof(impossible[0]))

/* Why none of the operations in `verbs` can meet that, or NULL. */
static const char *why_not(enum coverage_vma vma, enum coverage_entry entry, bool shared,
                           uint64_t verbs)
{
    for (size_t i = 0; i < IMPOSSIBLE; i++)
        if ((impossible[i].vmas & BIT(vma)) && (impossible[i].entries & BIT(entry)) &&
            !(verbs & ~impossible[i].verbs) && (shared || !impossible[i].shared_only))
            return impossible[i].reason;
    return NULL;
}

const char *coverage_impossible(enum trace_verb verb, enum coverage_vma vma,
                                enum coverage_entry entry, bool shared)
{
    return why_not(vma, entry, shared, VERB(verb));
}

/* --- Table ----------------------------------------------------------------------------------- */

static const char *const vma_names[COVERAGE_VMAS] = {
    "unmapped",           "anon",         "anon uffd",         "shmem private",
    "shmem private uffd", "shmem shared", "shmem shared uffd", "file private",
    "file private uffd",  "file shared",  "file shared uffd"};
static const char *const entry_names[COVERAGE_ENTRIES] = {
    "none",      "zero", "zero wp", "anon",           "anon wp",       "cached",
    "cached wp", "swap", "swap wp", "uffd-wp-marker", "poison-marker", "guard-marker"};

/* Three or four characters: 7, 999, 12k, 3M. */
static void print_count(FILE *out, uint64_t count)
{
    if (count < 10000)
        fprintf(out, " %5" PRIu64, count);
    else if (count < 10000000)
        fprintf(out, " %4" PRIu64 "k", count / 1000);
    else
        fprintf(out, " %4" PRIu64 "M", count / 1000000);
}

/* Every row that is possible, with what it is called; false after the last. */
struct row {
    enum coverage_vma vma;
    enum coverage_entry entry;
    bool shared;
};

/* Something met it, whether that was thought possible or not. */
static bool was_met(const struct coverage *c, const struct row *row)
{
    bool met = false;
    for (enum trace_verb verb = 0; verb < TRACE_VERBS; verb++)
        met |= c->count[verb][row->vma][row->entry][row->shared] != 0;
    return met;
}

static bool next_row(const struct coverage *c, struct row *row)
{
    do {
        row->shared = !row->shared;
        row->entry += row->shared ? 0 : 1;
        if (row->entry == COVERAGE_ENTRIES) {
            row->entry = COVERAGE_NONE;
            row->vma++;
        }
    } while (row->vma < COVERAGE_VMAS && !was_met(c, row) &&
             why_not(row->vma, row->entry, row->shared, ANY_VERB));
    return row->vma < COVERAGE_VMAS;
}

static void print_rows(FILE *out, const struct coverage *c, const enum trace_verb *verbs,
                       unsigned verb_count, uint64_t enough)
{
    uint64_t cells = 0, hit = 0, short_of = 0;
    struct row row = {COVERAGE_UNMAPPED, COVERAGE_NONE, false};
    do {
        fprintf(out, "%-18s %-14s %s", vma_names[row.vma], entry_names[row.entry],
                row.shared ? "x2" : "  ");
        for (unsigned i = 0; i < verb_count; i++) {
            uint64_t count = c->count[verbs[i]][row.vma][row.entry][row.shared];
            if (!count && coverage_impossible(verbs[i], row.vma, row.entry, row.shared)) {
                fputs("     -", out);
                continue;
            }
            print_count(out, count);
            cells++;
            hit += count != 0;
            short_of += count < enough;
        }
        putc('\n', out);
    } while (next_row(c, &row));
    fprintf(out,
            "%" PRIu64 " cells can be met: %" PRIu64 " were, %" PRIu64 " fewer than %" PRIu64
            " times\n",
            cells, hit, short_of, enough);
}

void coverage_print(FILE *out, const struct coverage *c, uint64_t enough)
{
    enum trace_verb verbs[TRACE_VERBS];
    unsigned count = 0;
    for (enum trace_verb verb = 0; verb < TRACE_VERBS; verb++)
        if (is_operation(verb))
            verbs[count++] = verb;
    fprintf(out,
            "what each operation met, entry by entry; x2: the page was mapped more than once\n"
            "%-36s",
            "");
    for (unsigned i = 0; i < count; i++)
        fprintf(out, " %5.5s", trace_verbs[verbs[i]].name);
    putc('\n', out);
    print_rows(out, c, verbs, count, enough);
    fprintf(out, "cells that can't be met:\n");
    for (size_t i = 0; i < IMPOSSIBLE; i++)
        fprintf(out, "  %s\n", impossible[i].reason);
}
