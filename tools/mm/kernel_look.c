/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU sets and system calls */
/*
 * Looking at agents through /proc: pagemap says what an entry is, kpagecount and kpageflags what
 * page is behind it, status how much is resident. Frame numbers, and so the middle two, need
 * CAP_SYS_ADMIN.
 */
#include "mm/kernel.h"

#include "mm/kernel_raw.h"

#include <errno.h>
#include <fastmm/walk.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst */
#define FLAG_ANON    (UINT64_C(1) << 12)
#define FLAG_SWAPS   (UINT64_C(1) << 14)
#define FLAG_ZERO    (UINT64_C(1) << 24)
#define TYPE_MARKER  31u
#define SWAP_TYPE(n) ((unsigned)((n)&31))
#define SWAP_AT(n)   ((n) >> 5)

uint64_t world_pagemap_word(uint64_t word)
{
    return word & ~FASTMM_PAGEMAP_NUMBER;
}

void kernel_look_open(struct kernel *k)
{
    k->page_count = open("/proc/kpagecount", O_RDONLY | O_CLOEXEC);
    k->page_flags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
    k->world.channels = WORLD_ENTRIES | WORLD_RSS | WORLD_MAPPINGS | WORLD_PAGEMAP;
    if (k->page_count >= 0 && k->page_flags >= 0)
        k->world.channels |= WORLD_FRAMES;
    if (kernel_raw_open())
        k->world.channels |= WORLD_RAW;
}

int kernel_look_rss(const struct kernel_process *p, int64_t rss[4], struct tool_error *error)
{
    static const char *const names[4] = {"\nRssFile:", "\nRssAnon:", "\nVmSwap:", "\nRssShmem:"};
    char text[4096];
    ssize_t size = pread(p->status, text, sizeof(text) - 1, 0);
    if (size < 0)
        return tool_fail(error, "kernel: status of %d: %s", p->pid, strerror(errno));
    text[size] = '\0';
    for (int i = 0; i < 4; i++) {
        const char *found = strstr(text, names[i]);
        if (!found)
            return tool_fail(error, "kernel: status of %d lacks%s", p->pid, names[i] + 1);
        rss[i] = strtoll(found + strlen(names[i]), NULL, 10) / 4;
    }
    return 0;
}

static bool read_word(int fd, uint64_t index, uint64_t *word)
{
    return pread(fd, word, sizeof(*word), (off_t)(index * sizeof(*word))) == sizeof(*word);
}

static enum trace_kind kind_of_page(uint64_t flags)
{
    if (flags & FLAG_ZERO)
        return TRACE_ZERO;
    if (flags & FLAG_ANON)
        return TRACE_ANON;
    return flags & FLAG_SWAPS ? TRACE_SHMEM : TRACE_FILE;
}

static void look_at_frame(const struct kernel *k, uint64_t pfn, struct world_page *page)
{
    uint64_t count, flags;
    page->kind = TRACE_PRESENT;
    if (!(k->world.channels & WORLD_FRAMES) || !pfn)
        return;
    if (!read_word(k->page_flags, pfn, &flags) || !read_word(k->page_count, pfn, &count))
        return;
    page->pfn = pfn;
    page->maps = (int64_t)count;
    page->kind = kind_of_page(flags);
}

/* Whoever may not see frame numbers doesn't see those of swap either, nor what marks a marker. */
static enum trace_kind kind_of_swp(const struct kernel *k, uint64_t number)
{
    static const enum trace_kind markers[] = {TRACE_OTHER, TRACE_MARK_UFFD_WP, TRACE_MARK_POISON,
                                              TRACE_OTHER, TRACE_MARK_GUARD};
    if (!(k->world.channels & WORLD_FRAMES))
        return TRACE_SWP;
    if (SWAP_TYPE(number) != TYPE_MARKER)
        return TRACE_SWAP;
    return SWAP_AT(number) < sizeof(markers) / sizeof(markers[0]) ? markers[SWAP_AT(number)]
                                                                  : TRACE_OTHER;
}

static void look_at_page(const struct kernel *k, uint64_t word, struct world_page *page)
{
    *page = (struct world_page){.kind = TRACE_NONE, .maps = -1};
    page->uffd_wp = word & FASTMM_PAGEMAP_UFFD_WP;
    if (word & FASTMM_PAGEMAP_PRESENT)
        look_at_frame(k, word & FASTMM_PAGEMAP_NUMBER, page);
    else if (word & FASTMM_PAGEMAP_SWAP)
        page->kind = kind_of_swp(k, word & FASTMM_PAGEMAP_NUMBER);
    if (page->kind == TRACE_SWAP && (k->world.channels & WORLD_FRAMES))
        page->pfn = WORLD_SLOT | (word & FASTMM_PAGEMAP_NUMBER);
}

static int read_words(const struct kernel_process *p, unsigned first, unsigned count,
                      uint64_t *words)
{
    size_t bytes = count * sizeof(*words);
    off_t at = (off_t)(kernel_address(first) / FASTMM_PAGE_SIZE * sizeof(*words));
    return pread(p->pagemap, words, bytes, at) == (ssize_t)bytes ? 0 : -1;
}

bool kernel_is_wp(struct kernel_process *p, unsigned page)
{
    uint64_t word;
    return !read_words(p, page, 1, &word) && (word & FASTMM_PAGEMAP_UFFD_WP) &&
           (word & FASTMM_PAGEMAP_PRESENT);
}

/* What hardware does at its own time, and where a page is, are left out. */
static void look_at_raw(uint64_t raw, struct world_page *page)
{
    page->raw = fastmm_pte_none(raw) ? 0 : raw;
    if (fastmm_pte_present(raw))
        page->raw &= WORLD_RAW_MASK;
    else if (page->kind == TRACE_SWAP)
        page->raw &= WORLD_SWAP_MASK;
}

static int look_at_process(struct kernel *k, struct kernel_process *p, struct world_space *space,
                           struct tool_error *error)
{
    if (read_words(p, k->world.first, k->world.count, k->words))
        return tool_fail(error, "kernel: pagemap of %d: %s", p->pid, strerror(errno));
    for (unsigned i = 0; i < k->world.count; i++) {
        look_at_page(k, k->words[i], &space->page[i]);
        space->page[i].word = world_pagemap_word(k->words[i]);
    }
    if (kernel_look_categories(k, p, space))
        return tool_fail(error, "kernel: PAGEMAP_SCAN of %d: %s", p->pid, strerror(errno));
    if (k->world.channels & WORLD_RAW) {
        if (!kernel_raw_read(p->root, kernel_address(k->world.first), k->world.count, k->raw))
            return tool_fail(error, "kernel: reading the page tables of %d failed", p->pid);
        for (unsigned i = 0; i < k->world.count; i++)
            look_at_raw(k->raw[i], &space->page[i]);
    }
    if (kernel_look_rss(p, space->rss, error))
        return -1;
    for (int i = 0; i < 4; i++)
        space->rss[i] -= k->own_rss[i];
    return 0;
}

int kernel_look(struct kernel *k, struct world_view *view, struct tool_error *error)
{
    for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
        struct kernel_process *p = &k->process[i];
        view->space[i].alive = p->pid != 0;
        if (p->pid && (look_at_process(k, p, &view->space[i], error) ||
                       kernel_look_mappings(p, &view->space[i], error)))
            return -1;
    }
    return 0;
}
