/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's extent hooks: all its memory comes and goes here.
 *
 * What they add to jemalloc's own: every byte mapped, committed and purged is in a counter group;
 * committed bytes are charged to a quota, and what would pass the limit fails, so that jemalloc
 * reports out of memory; large extents that jemalloc has done with are decommitted, which makes
 * room below the limit; and small ones are cleared in place, which is cheaper than to give pages
 * back and fault them in again.
 *
 * Hooks run inside malloc with jemalloc's locks held, in any thread, and around any fork. So
 * nothing here allocates or locks, and the quota stays in atomic mode.
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <fastmm/copy.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "book.h"

enum { PAGE_BYTES = 4096 };

/* From here on an area of its own is worth it; up to there, eight pages, clearing is cheaper. */
#define DECOMMIT_MIN ((size_t)1 << 20)
#define CLEAR_MAX    ((size_t)32 << 10)

struct hooks_state hooks_state = {
    .figures = FASTMM_COUNTER_GROUP_INIT(FIGURES),
    .limit = FASTMM_QUOTA_INIT(INT64_MAX, 1),
};

static void add(enum hooks_figure figure, int64_t bytes)
{
    count(&hooks_state.figures.group, figure, bytes);
}

static bool admit(size_t bytes)
{
    return bytes <= INT64_MAX && charge(&hooks_state.limit, (int64_t)bytes);
}

static void dismiss(size_t bytes)
{
    uncharge(&hooks_state.limit, (int64_t)bytes);
}

static bool is_ours(const void *p)
{
    return book_has(BOOK_MAPPED, p);
}

/* ---- Mappings. What is counted is what is mapped, even when a later step fails. ---- */

static void *map(void *at, size_t bytes)
{
    int fixed = at ? MAP_FIXED_NOREPLACE : 0;
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if ((at && p != at) || book_prepare(p, bytes) != 0) {
        munmap(p, bytes);
        return NULL;
    }
    if (hooks_state.marking)
        madvise(p, bytes, MADV_DONTDUMP);
    book_mark(BOOK_MAPPED, p, bytes);
    book_mark(BOOK_COMMITTED, p, bytes);
    add(MAPPED, (int64_t)bytes);
    add(COMMITTED, (int64_t)bytes);
    return p;
}

/* All of it committed. The marks go first: afterwards another thread may get the addresses. */
static bool unmap(void *p, size_t bytes)
{
    book_unmark(BOOK_MAPPED, p, bytes);
    book_unmark(BOOK_COMMITTED, p, bytes);
    if (bytes && munmap(p, bytes) != 0) {
        book_mark(BOOK_MAPPED, p, bytes);
        book_mark(BOOK_COMMITTED, p, bytes);
        return false;
    }
    add(MAPPED, -(int64_t)bytes);
    add(COMMITTED, -(int64_t)bytes);
    return true;
}

static void *map_aligned(size_t bytes, size_t alignment)
{
    char *p = map(NULL, bytes);
    if (!p || ((uintptr_t)p & (alignment - 1)) == 0)
        return p;
    unmap(p, bytes);
    size_t slack = alignment - PAGE_BYTES;
    if (bytes > SIZE_MAX - slack || !(p = map(NULL, bytes + slack)))
        return NULL;
    size_t ahead = -(uintptr_t)p & (alignment - 1);
    unmap(p, ahead);
    unmap(p + ahead + bytes, slack - ahead);
    return p + ahead;
}

/* ---- The hooks. true means no: jemalloc then does without, or keeps the extent itself. ---- */

static void *hook_alloc(extent_hooks_t *h, void *at, size_t size, size_t alignment, bool *zero,
                        bool *commit, unsigned arena)
{
    (void)h;
    (void)arena;
    if (!admit(size))
        return NULL;
    void *p = at ? map(at, size) : map_aligned(size, alignment);
    if (!p) {
        dismiss(size);
        return NULL;
    }
    *zero = true;
    *commit = true;
    return p;
}

/*
 * jemalloc 5.3.0 may crash when an extent was taken from it here and a later request is refused,
 * whatever the hooks are. Its own say no as well, and so it decommits or purges instead.
 */
static bool hook_dalloc(extent_hooks_t *h, void *p, size_t size, bool committed, unsigned arena)
{
    (void)h;
    if (!is_ours(p))
        return hooks_state.own->dalloc(hooks_state.own, p, size, committed, arena);
    return true;
}

static bool hook_commit(extent_hooks_t *h, void *p, size_t size, size_t offset, size_t length,
                        unsigned arena)
{
    (void)h;
    if (!is_ours(p))
        return hooks_state.own->commit(hooks_state.own, p, size, offset, length, arena);
    char *at = (char *)p + offset;
    if (!admit(length))
        return true;
    if (mprotect(at, length, PROT_READ | PROT_WRITE) != 0) {
        dismiss(length);
        return true;
    }
    book_mark(BOOK_COMMITTED, at, length);
    add(COMMITTED, (int64_t)length);
    return false;
}

static bool hook_decommit(extent_hooks_t *h, void *p, size_t size, size_t offset, size_t length,
                          unsigned arena)
{
    (void)h;
    if (!is_ours(p))
        return hooks_state.own->decommit(hooks_state.own, p, size, offset, length, arena);
    char *at = (char *)p + offset;
    if (length < DECOMMIT_MIN || madvise(at, length, MADV_DONTNEED) != 0)
        return true;
    add(PURGED, (int64_t)length);
    if (mprotect(at, length, PROT_NONE) != 0)
        return true;
    book_unmark(BOOK_COMMITTED, at, length);
    add(COMMITTED, -(int64_t)length);
    dismiss(length);
    return false;
}

static bool hook_purge_forced(extent_hooks_t *h, void *p, size_t size, size_t offset, size_t length,
                              unsigned arena)
{
    (void)h;
    if (!is_ours(p))
        return hooks_state.own->purge_forced(hooks_state.own, p, size, offset, length, arena);
    char *at = (char *)p + offset;
    if (length <= CLEAR_MAX) {
        for (size_t i = 0; i < length; i += FASTMM_COPY_PAGE)
            fastmm_page_clear(at + i);
        add(CLEARED, (int64_t)length);
        return false;
    }
    if (madvise(at, length, MADV_DONTNEED) != 0)
        return true;
    add(PURGED, (int64_t)length);
    return false;
}

static bool hook_split(extent_hooks_t *h, void *p, size_t size, size_t size_a, size_t size_b,
                       bool committed, unsigned arena)
{
    (void)h;
    if (!is_ours(p))
        return hooks_state.own->split(hooks_state.own, p, size, size_a, size_b, committed, arena);
    return false;
}

static bool hook_merge(extent_hooks_t *h, void *a, size_t size_a, void *b, size_t size_b,
                       bool committed, unsigned arena)
{
    (void)h;
    if (is_ours(a) != is_ours(b))
        return true;
    if (!is_ours(a))
        return hooks_state.own->merge(hooks_state.own, a, size_a, b, size_b, committed, arena);
    return false;
}

/* When an arena is destroyed. What the kernel does not take back stays counted. */
static void hook_destroy(extent_hooks_t *h, void *p, size_t size, bool committed, unsigned arena)
{
    if (!is_ours(p))
        hooks_state.own->destroy(hooks_state.own, p, size, committed, arena);
    else if ((committed || !hook_commit(h, p, size, 0, size, arena)) && unmap(p, size))
        dismiss(size);
}

extent_hooks_t hooks = {
    .alloc = hook_alloc,
    .dalloc = hook_dalloc,
    .destroy = hook_destroy,
    .commit = hook_commit,
    .decommit = hook_decommit,
    .purge_lazy = NULL,
    .purge_forced = hook_purge_forced,
    .split = hook_split,
    .merge = hook_merge,
};
