/* SPDX-License-Identifier: MIT */
/*
 * A trace: what some processes do to their memory, one operation a line, in a form that a simulated
 * machine and a running kernel can both carry out. docs/trace-format.md is its description for
 * people; this is what is left of a file once it has been found sound.
 *
 * Everything that can be wrong with a trace by itself is found here, before anything runs: words,
 * ranges, processes that don't exist yet or any more, objects that were never declared.
 */
#ifndef FASTMM_TOOLS_MM_TRACE_H
#define FASTMM_TOOLS_MM_TRACE_H

#include "tool.h"

#include <stdbool.h>
#include <stdio.h>

/* Pages are counted from TRACE_BASE, which begins a page table; page 512 begins the next. */
#define TRACE_BASE      UINT64_C(0x200000000000)
#define TRACE_PAGES     1024u
#define TRACE_PROCESSES 8u
#define TRACE_OBJECTS   4u
#define TRACE_OPS_MAX   (1u << 20)

enum trace_verb {
    TRACE_MAP,
    TRACE_UNMAP,
    TRACE_REMAP,
    TRACE_PROTECT,
    TRACE_READ,
    TRACE_WRITE,
    TRACE_FORCE_WRITE,
    TRACE_DONTNEED,
    TRACE_FREE,
    TRACE_PAGEOUT,
    TRACE_REMOVE,
    TRACE_POPULATE_READ,
    TRACE_POPULATE_WRITE,
    TRACE_DONTFORK,
    TRACE_DOFORK,
    TRACE_WIPEONFORK,
    TRACE_KEEPONFORK,
    TRACE_GUARD,
    TRACE_UNGUARD,
    TRACE_POISON,
    TRACE_PIN,
    TRACE_UNPIN,
    TRACE_REGISTER,
    TRACE_UNREGISTER,
    TRACE_WP,
    TRACE_UNWP,
    TRACE_WP_MATCHING,
    TRACE_CLEAR_REFS,
    TRACE_FORK,
    TRACE_EXIT,
    TRACE_ALLOCATIONS,
    TRACE_EXPECT,
    TRACE_RSS,
    TRACE_VERBS
};

/* What lies behind one page of address space. */
enum trace_kind {
    TRACE_NONE,
    TRACE_ZERO,
    TRACE_ANON,
    TRACE_FILE,
    TRACE_SHMEM,
    TRACE_RAW, /* a frame that isn't a page of memory */
    TRACE_SWAP,
    TRACE_MARK_UFFD_WP,
    TRACE_MARK_POISON,
    TRACE_MARK_GUARD,
    TRACE_PRESENT, /* one of the pages above: this world can't tell which */
    TRACE_SWP,     /* likewise: swap or one of the markers */
    TRACE_OTHER,
    TRACE_KINDS
};

/* Attributes that a line may expect of an entry. */
enum {
    TRACE_IS_RW = 1 << 0,
    TRACE_IS_RO = 1 << 1,
    TRACE_IS_DIRTY = 1 << 2,
    TRACE_IS_CLEAN = 1 << 3,
    TRACE_IS_WP = 1 << 4,
    TRACE_IS_NOT_WP = 1 << 5,
    TRACE_IS_ALONE = 1 << 6,
    TRACE_IS_NOT_ALONE = 1 << 7,
    TRACE_IS_SOFT = 1 << 8,
    TRACE_IS_NOT_SOFT = 1 << 9
};

/* Which pages to protect: the categories of PAGEMAP_SCAN that they must have, or must lack. */
#define TRACE_MATCH(category)      (category)
#define TRACE_MATCH_LACK(category) ((category) << 16)
#define TRACE_MATCH_CHECK          (UINT32_C(1) << 31)

struct trace_op {
    enum trace_verb verb;
    unsigned line;
    unsigned process;
    unsigned first, count; /* pages */
    uint32_t flags;  /* FASTMM_VM_*: protection, kind of mapping, or features; TRACE_MATCH_* */
    int object;      /* -1 for anonymous memory */
    unsigned offset; /* first page of the object */
    unsigned child;  /* fork */
    unsigned size;   /* mremap: pages there are to be */
    bool moves;      /* mremap: to page `target` */
    unsigned target;
    enum trace_kind kind; /* expect */
    unsigned attributes;  /* expect */
    int64_t number;       /* expect: entries that map the page, or -1; rss: pages; allocations */
    unsigned counter;     /* rss: enum fastmm_rss */
    bool has_outcome;
    int outcome; /* 0, a negative errno, or an enum fastmm_fault */
};

enum trace_object_kind { TRACE_OBJECT_NONE, TRACE_OBJECT_SHMEM, TRACE_OBJECT_FILE };

struct trace_object {
    enum trace_object_kind kind;
    unsigned pages;
};

/* A line of what was recorded: recording.h reads it. */
struct trace_note {
    size_t after; /* so many operations */
    unsigned line;
    char *text;
};

struct trace {
    bool soft_dirty; /* the machine is to track what is written */
    struct trace_object object[TRACE_OBJECTS];
    struct trace_op *op; /* freed by trace_free() */
    size_t count;
    struct trace_note *note; /* likewise */
    size_t note_count;
};

/* 0, or -1 with "file:line:column: what" and nothing to free. */
int trace_parse(const char *file, const char *bytes, size_t size, struct trace *trace,
                struct tool_error *error);
void trace_free(struct trace *trace);

/* Writes what trace_parse() reads back as the same, without what was recorded. */
void trace_print(FILE *out, const struct trace *trace);
void trace_print_op(FILE *out, const struct trace_op *op);

/* Is the operation possible where it stands? Parsing makes sure; generators ask, too. */
struct trace_state {
    bool alive[TRACE_PROCESSES], used[TRACE_PROCESSES];
};
void trace_state_init(struct trace_state *state);
/* NULL and the state after it, or what is wrong. */
const char *trace_step(struct trace_state *state, const struct trace *trace,
                       const struct trace_op *op);

/* The page after the last that the operation names, where it is and where it goes. */
unsigned trace_op_end(const struct trace_op *op);

/* The pages that any operation names: [*first, *first + *count). */
void trace_window(const struct trace *trace, unsigned *first, unsigned *count);

/* "ok", "segv", "ENOMEM", ...; NULL for an outcome without a name. */
const char *trace_outcome_name(int outcome);
const char *trace_kind_name(enum trace_kind kind);
/* TRACE_PRESENT for all pages, TRACE_SWP for swap and markers, else the kind itself. */
enum trace_kind trace_kind_class(enum trace_kind kind);
extern const char *const trace_rss_names[4];

#endif
