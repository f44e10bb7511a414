/* SPDX-License-Identifier: MIT */
/*
 * A world carries out the operations of a trace and lets itself be looked at. There are two: the
 * library's simulated machine, and the running kernel. Both describe what they hold in the same
 * terms, each as far as it can see; what only one of them sees is not compared.
 */
#ifndef FASTMM_TOOLS_MM_WORLD_H
#define FASTMM_TOOLS_MM_WORLD_H

#include "mm/trace.h"

/* What a world can see. */
enum {
    WORLD_ENTRIES = 1 << 0, /* empty, present, swapped or marked; uffd-wp */
    WORLD_FRAMES = 1 << 1,  /* which kind of page, who shares it, how often it is mapped */
    WORLD_RSS = 1 << 2,     /* resident-set counters */
    WORLD_RAW = 1 << 3      /* the 64 bits of each entry */
};

struct world_page {
    enum trace_kind kind;
    bool uffd_wp;
    uint64_t pfn; /* equal where the page is the same; 0: none, or not known */
    int64_t maps; /* entries that map the page; -1: not known, or no page */
    uint64_t raw; /* the entry without its frame number and Accessed */
};

struct world_space {
    bool alive;
    int64_t rss[4];                      /* by enum fastmm_rss */
    struct world_page page[TRACE_PAGES]; /* those of the trace's window */
};

struct world_view {
    struct world_space space[TRACE_PROCESSES];
};

struct world {
    const char *name;
    unsigned channels;     /* WORLD_* */
    unsigned first, count; /* the window */
    /* One operation of its own kind; 0 with *outcome, or -1 when the world itself broke. */
    int (*apply)(struct world *world, const struct trace_op *op, int *outcome,
                 struct tool_error *error);
    int (*observe)(struct world *world, struct world_view *view, struct tool_error *error);
    void (*close)(struct world *world);
};

/* Raw bits that are compared. */
#define WORLD_RAW_MASK (~(FASTMM_PTE_PFN_MASK | FASTMM_PTE_ACCESSED))

/* -1 with *error; WORLD_NOT_PERMITTED with the reason in it. */
#define WORLD_NOT_PERMITTED 1
int world_open_model(const struct trace *trace, struct world **world, struct tool_error *error);
int world_open_kernel(const struct trace *trace, struct world **world, struct tool_error *error);

#endif
