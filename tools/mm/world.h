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
    WORLD_ENTRIES = 1 << 0,  /* empty, present, swapped or marked; uffd-wp */
    WORLD_FRAMES = 1 << 1,   /* which kind of page, who shares it, how often it is mapped */
    WORLD_RSS = 1 << 2,      /* resident-set counters */
    WORLD_RAW = 1 << 3,      /* the 64 bits of each entry */
    WORLD_MAPPINGS = 1 << 4, /* where mappings begin and end, and what they permit */
    WORLD_PAGEMAP = 1 << 5   /* what pagemap and PAGEMAP_SCAN say, word for word */
};

struct world_page {
    enum trace_kind kind;
    bool uffd_wp;
    uint64_t pfn;        /* equal where the page, or slot, is the same; 0: none, or not known */
    int64_t maps;        /* entries that map the page; -1: not known, or no page */
    uint64_t raw;        /* the entry without its frame number and Accessed */
    uint64_t word;       /* of pagemap, without the number of a frame or slot */
    uint16_t categories; /* of PAGEMAP_SCAN */
};

/* Pages [first, end). */
struct world_mapping {
    unsigned first, end;
    uint32_t flags;         /* FASTMM_VM_*; protection and SHARED are compared */
    unsigned offset;        /* first page of the object, 0 without one */
    enum trace_kind object; /* TRACE_SHMEM, TRACE_FILE, or TRACE_NONE; not compared */
};
#define WORLD_MAPPING_FLAGS (FASTMM_VM_PROT | FASTMM_VM_SHARED)

struct world_space {
    bool alive;
    int64_t rss[4]; /* by enum fastmm_rss */
    unsigned mappings;
    struct world_mapping mapping[TRACE_PAGES];
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

/* The word without what differs from machine to machine. */
uint64_t world_pagemap_word(uint64_t word);

/* Raw bits that are compared. */
#define WORLD_RAW_MASK (~(FASTMM_PTE_PFN_MASK | FASTMM_PTE_ACCESSED))

/* Of a swap entry the flags; its slot is a number like a frame's, and no frame's. */
#define WORLD_SWAP_MASK FASTMM_SWP_FLAGS
#define WORLD_SLOT      (UINT64_C(1) << 62)

/* -1 with *error; WORLD_NOT_PERMITTED with the reason in it. */
#define WORLD_NOT_PERMITTED 1
/* The model runs build `impl` (enum fastmm_mm_impl) of its inner loops. */
int world_open_model(const struct trace *trace, unsigned impl, struct world **world,
                     struct tool_error *error);
int world_open_kernel(const struct trace *trace, struct world **world, struct tool_error *error);
/* May this process register for the events of forks? */
bool world_kernel_hears_forks(void);
/* Can it have swap to write to? Asking makes it, for as long as this process lives. */
bool world_kernel_swaps(void);
/* Does it let pages be pinned? */
bool world_kernel_pins(void);
/* A kernel as the trace has recorded it. */
int world_open_recorded(const struct trace *trace, struct world **world, struct tool_error *error);

#endif
