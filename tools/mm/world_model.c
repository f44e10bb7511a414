/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine as a world, through the library's public interface alone.
 *
 * What the library refuses it leaves unchanged as a whole. The kernel works its way through a range
 * mapping by mapping and stops where it must, or goes on and reports a hole at the end; whoever
 * wants that effect splits the range, as is done here.
 */
#include "mm/world.h"

#include <errno.h>
#include <fastmm/mm.h>
#include <fastmm/walk.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where raw mappings find frames that aren't memory. */
#define RAW_FRAMES (UINT64_C(1) << 30)

struct model {
    struct world world;
    struct fastmm_machine *machine;
    struct fastmm_mm *mm[TRACE_PROCESSES];
    struct fastmm_object *object[TRACE_OBJECTS];
    struct trace_object declared[TRACE_OBJECTS];
    uint64_t pin[TRACE_PROCESSES][TRACE_PAGES]; /* frame, or 0 */
    fastmm_pte_t ptes[TRACE_PAGES];
    uint64_t words[TRACE_PAGES];
    uint16_t categories[TRACE_PAGES];
    uint64_t allocations; /* that the next operation may make */
    bool leaked;          /* one that failed left something behind */
};

static struct model *model_of(struct world *world)
{
    return (struct model *)(void *)world;
}

static uint64_t address(unsigned page)
{
    return TRACE_BASE + (uint64_t)page * FASTMM_PAGE_SIZE;
}

/* --- Operations ------------------------------------------------------------------------------ */

typedef int range_call(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* Calls with an argument more, for that argument. */
#define RANGE_CALL(name, call, argument)                                \
    static int name(struct fastmm_mm *mm, uint64_t start, uint64_t end) \
    {                                                                   \
        return call(mm, start, end, argument);                          \
    }
RANGE_CALL(dontfork, fastmm_mm_advise, FASTMM_ADVICE_DONTFORK)
RANGE_CALL(dofork, fastmm_mm_advise, FASTMM_ADVICE_DOFORK)
RANGE_CALL(wipeonfork, fastmm_mm_advise, FASTMM_ADVICE_WIPEONFORK)
RANGE_CALL(keeponfork, fastmm_mm_advise, FASTMM_ADVICE_KEEPONFORK)
RANGE_CALL(populate_read, fastmm_mm_prefault, FASTMM_READ)
RANGE_CALL(populate_write, fastmm_mm_prefault, FASTMM_WRITE)

/* The kernel gets as far as what is in the way, and drops what it can behind that. */
static int guard(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = fastmm_mm_guard_install(mm, start, end);
    while (rc == -EAGAIN && start < end &&
           fastmm_mm_guard_install(mm, start, start + FASTMM_PAGE_SIZE) == 0)
        start += FASTMM_PAGE_SIZE;
    if (rc == -EAGAIN)
        fastmm_mm_zap(mm, start, end);
    return rc;
}

/* Operations that are one call for a whole range. */
static range_call *const whole_calls[TRACE_VERBS] = {
    [TRACE_UNMAP] = fastmm_mm_unmap,
    [TRACE_UNREGISTER] = fastmm_mm_uffd_unregister,
    [TRACE_POPULATE_READ] = populate_read,
    [TRACE_POPULATE_WRITE] = populate_write,
};

/* Advice: mapping by mapping, and ENOMEM at the end if there were holes. */
static range_call *const advice_calls[TRACE_VERBS] = {
    [TRACE_DONTNEED] = fastmm_mm_zap,
    [TRACE_FREE] = fastmm_mm_free,
    [TRACE_PAGEOUT] = fastmm_mm_pageout,
    [TRACE_REMOVE] = fastmm_mm_remove,
    [TRACE_GUARD] = guard,
    [TRACE_UNGUARD] = fastmm_mm_guard_remove,
    [TRACE_DONTFORK] = dontfork,
    [TRACE_DOFORK] = dofork,
    [TRACE_WIPEONFORK] = wipeonfork,
    [TRACE_KEEPONFORK] = keeponfork,
};

/* The first mapping that meets [start, end), or NULL. */
static const struct fastmm_vma *first_in(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    for (size_t i = 0;; i++) {
        const struct fastmm_vma *vma = fastmm_mm_vma(mm, i);
        if (!vma || vma->start >= end)
            return NULL;
        if (vma->end > start)
            return vma;
    }
}

/*
 * Calls for each mapping of the range by itself, as the kernel does, up to the first that refuses.
 * `hole` is the result, in the end, if there is a page that isn't mapped.
 */
static int in_parts(struct fastmm_mm *mm, const struct trace_op *op, range_call *call, int hole)
{
    uint64_t start = address(op->first), end = address(op->first + op->count);
    int result = 0;
    while (start < end) {
        const struct fastmm_vma *vma = first_in(mm, start, end);
        if (!vma || vma->start > start)
            result = hole;
        if (!vma)
            break;
        uint64_t from = vma->start > start ? vma->start : start;
        start = vma->end < end ? vma->end : end;
        int rc = call(mm, from, start);
        if (rc)
            return rc;
    }
    return result;
}

static int protect(struct fastmm_mm *mm, const struct trace_op *op)
{
    uint64_t start = address(op->first), end = address(op->first + op->count);
    uint64_t at = start;
    for (const struct fastmm_vma *vma; at < end && (vma = fastmm_mm_find(mm, at));) {
        uint64_t next = vma->end < end ? vma->end : end;
        int rc = fastmm_mm_protect(mm, at, next, op->flags);
        if (rc)
            return rc;
        at = next;
    }
    return at < end ? -ENOMEM : 0;
}

static int protect_or_resolve(struct fastmm_mm *mm, const struct trace_op *op, range_call *call)
{
    bool any = first_in(mm, address(op->first), address(op->first + op->count));
    return any ? in_parts(mm, op, call, 0) : -ENOENT;
}

/* The kernel poisons up to the first page that it can't; after some, that is EAGAIN. */
static int poison(struct fastmm_mm *mm, const struct trace_op *op)
{
    int rc = fastmm_mm_uffd_poison(mm, address(op->first), address(op->first + op->count));
    for (unsigned i = 0; i < op->count && (rc == -EEXIST || rc == -EFAULT); i++) {
        int one = fastmm_mm_uffd_poison(mm, address(op->first + i), address(op->first + i + 1));
        if (one)
            return i ? -EAGAIN : one;
    }
    return rc;
}

/* Mapping by mapping, up to the first that may not be protected so. */
static int protect_matching(struct fastmm_mm *mm, const struct trace_op *op)
{
    const uint32_t lack = op->flags >> 16 & FASTMM_PAGE_IS_ALL;
    const struct fastmm_page_match match = {
        .mask = (op->flags & FASTMM_PAGE_IS_ALL) | lack,
        .inverted = lack,
        .check_async = op->flags & TRACE_MATCH_CHECK,
    };
    uint64_t start = address(op->first), end = address(op->first + op->count);
    int rc = 0;
    for (const struct fastmm_vma *vma; !rc && start < end && (vma = first_in(mm, start, end));) {
        uint64_t from = vma->start > start ? vma->start : start;
        start = vma->end < end ? vma->end : end;
        rc = fastmm_mm_protect_matching(mm, from, start, &match);
    }
    return rc;
}

static int map(struct model *m, struct fastmm_mm *mm, const struct trace_op *op)
{
    const struct fastmm_map map = {
        .start = address(op->first),
        .end = address(op->first + op->count),
        .flags = op->flags,
        .object = op->object < 0 ? NULL : m->object[op->object],
        .pgoff = op->flags & FASTMM_VM_PFNMAP ? RAW_FRAMES + op->first : op->offset,
    };
    return fastmm_mm_map(mm, &map);
}

/* The kernel moves several mappings one by one, up to the first that is registered. */
static int move_each(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t to)
{
    const struct fastmm_vma *vma = fastmm_mm_find(mm, start);
    if (!vma)
        return -EFAULT;
    if (vma->end >= end)
        return fastmm_mm_move(mm, start, end, to, end - start);
    for (uint64_t at = start; (vma = first_in(mm, at, end));) {
        uint64_t from = vma->start > at ? vma->start : at;
        at = vma->end < end ? vma->end : end;
        int rc = vma->flags & FASTMM_VM_UFFD_WP
                     ? -EFAULT
                     : fastmm_mm_move(mm, from, at, to + (from - start), at - from);
        if (rc)
            return rc;
    }
    return 0;
}

static int remap(struct fastmm_mm *mm, const struct trace_op *op)
{
    uint64_t start = address(op->first), end = address(op->first + op->count);
    uint64_t to = address(op->target), size = (uint64_t)op->size * FASTMM_PAGE_SIZE;
    if (!op->moves)
        return fastmm_mm_resize(mm, start, end, start + size);
    bool overlap = to < end && start < to + size;
    return op->size == op->count && !overlap ? move_each(mm, start, end, to)
                                             : fastmm_mm_move(mm, start, end, to, size);
}

static int touch(struct fastmm_mm *mm, const struct trace_op *op)
{
    return fastmm_mm_access(mm, address(op->first), (uint64_t)op->count * FASTMM_PAGE_SIZE,
                            op->verb == TRACE_WRITE ? FASTMM_WRITE : FASTMM_READ, NULL);
}

static int force_write(struct fastmm_mm *mm, const struct trace_op *op)
{
    int rc = 0;
    for (unsigned i = 0; i < op->count && !rc; i++)
        rc = fastmm_mm_force_write(mm, address(op->first + i));
    return rc;
}

/* A fork that fails leaves nothing behind. */
static int fork_child(struct model *m, struct fastmm_mm *mm, const struct trace_op *op)
{
    struct fastmm_machine_stats before, after;
    fastmm_machine_get_stats(m->machine, &before);
    int rc = fastmm_mm_fork(mm, &m->mm[op->child]);
    fastmm_machine_get_stats(m->machine, &after);
    m->leaked = rc && (after.blocks != before.blocks || after.frames_used != before.frames_used);
    return rc;
}

static int unpin(struct model *m, unsigned process, unsigned page)
{
    uint64_t *pfn = &m->pin[process][page];
    int rc = *pfn ? fastmm_machine_unpin(m->machine, *pfn) : -EINVAL;
    *pfn = 0;
    return rc;
}

static int pin_page(struct model *m, struct fastmm_mm *mm, unsigned process, unsigned page)
{
    uint64_t *pfn = &m->pin[process][page];
    int rc = *pfn ? -EBUSY : fastmm_mm_pin(mm, address(page), pfn);
    return rc > 0 ? -EFAULT : rc; /* a signal or an event, for who doesn't wait */
}

/* Page by page, up to the first that can't be pinned, or wasn't. */
static int pin_or_unpin(struct model *m, struct fastmm_mm *mm, const struct trace_op *op)
{
    int rc = 0;
    for (unsigned i = op->first; i < op->first + op->count && !rc; i++)
        rc = op->verb == TRACE_PIN ? pin_page(m, mm, op->process, i) : unpin(m, op->process, i);
    return rc;
}

static int exit_process(struct model *m, unsigned process, struct tool_error *error)
{
    int64_t rest[FASTMM_RSS_COUNTERS + 1];
    for (unsigned i = 0; i < TRACE_PAGES; i++)
        if (m->pin[process][i])
            unpin(m, process, i);
    int rc = fastmm_mm_destroy(m->mm[process], rest);
    m->mm[process] = NULL;
    if (!rc)
        return 0;
    return tool_fail(error,
                     "model: p%u left counters file %" PRId64 " anon %" PRId64 " swap %" PRId64
                     " shmem %" PRId64 ", tables %" PRId64,
                     process, rest[0], rest[1], rest[2], rest[3], rest[4]);
}

static int apply_op(struct model *m, const struct trace_op *op)
{
    struct fastmm_mm *mm = m->mm[op->process];
    uint64_t start = address(op->first), end = address(op->first + op->count);
    if (whole_calls[op->verb])
        return whole_calls[op->verb](mm, start, end);
    if (advice_calls[op->verb])
        return in_parts(mm, op, advice_calls[op->verb], -ENOMEM);
    switch (op->verb) {
    case TRACE_MAP:
        return map(m, mm, op);
    case TRACE_REMAP:
        return remap(mm, op);
    case TRACE_PROTECT:
        return protect(mm, op);
    case TRACE_READ:
    case TRACE_WRITE:
        return touch(mm, op);
    case TRACE_FORCE_WRITE:
        return force_write(mm, op);
    case TRACE_PIN:
    case TRACE_UNPIN:
        return pin_or_unpin(m, mm, op);
    case TRACE_POISON:
        return poison(mm, op);
    case TRACE_REGISTER:
        return fastmm_mm_uffd_register(mm, start, end, op->flags);
    case TRACE_WP:
        return protect_or_resolve(mm, op, fastmm_mm_uffd_protect);
    case TRACE_UNWP:
        return protect_or_resolve(mm, op, fastmm_mm_uffd_resolve);
    case TRACE_CLEAR_REFS:
        return fastmm_mm_clear_refs(mm);
    case TRACE_WP_MATCHING:
        return protect_matching(mm, op);
    case TRACE_FORK:
        return fork_child(m, mm, op);
    case TRACE_ALLOCATIONS:
        m->allocations = (uint64_t)op->number;
        return 0;
    default:
        return -ENOTSUP;
    }
}

static void tell_breach(void *context, const struct fastmm_breach *b)
{
    tool_fail(context, "model: broken at %#" PRIx64 ", entry %#" PRIx64 ": %s", b->addr, b->pte,
              b->rule);
}

static int apply(struct world *world, const struct trace_op *op, int *outcome,
                 struct tool_error *error)
{
    struct model *m = model_of(world);
    *outcome = 0;
    if (!m->mm[op->process])
        return tool_fail(error, "model: p%u was never made: its fork failed", op->process);
    if (op->verb == TRACE_EXIT) {
        if (exit_process(m, op->process, error))
            return -1;
    } else {
        fastmm_machine_fail_after(m->machine, m->allocations);
        m->allocations = UINT64_MAX;
        *outcome = apply_op(m, op);
        fastmm_machine_fail_after(m->machine, UINT64_MAX);
    }
    if (m->leaked)
        return tool_fail(error, "model: an operation that failed left memory behind");
    return fastmm_machine_check(m->machine, tell_breach, error) ? -1 : 0;
}

/* --- Looking --------------------------------------------------------------------------------- */

static enum trace_kind kind_of_frame(enum fastmm_frame_kind kind)
{
    switch (kind) {
    case FASTMM_FRAME_ANON:
        return TRACE_ANON;
    case FASTMM_FRAME_FILE:
        return TRACE_FILE;
    case FASTMM_FRAME_SHMEM:
        return TRACE_SHMEM;
    case FASTMM_FRAME_ZERO:
        return TRACE_ZERO;
    default:
        return TRACE_OTHER;
    }
}

static enum trace_kind kind_of_swp(fastmm_pte_t pte)
{
    switch (fastmm_marker_flags(pte)) {
    case 0:
        return TRACE_SWAP;
    case FASTMM_MARKER_UFFD_WP:
        return TRACE_MARK_UFFD_WP;
    case FASTMM_MARKER_POISON:
        return TRACE_MARK_POISON;
    case FASTMM_MARKER_GUARD:
        return TRACE_MARK_GUARD;
    default:
        return TRACE_OTHER;
    }
}

static void observe_page(const struct model *m, fastmm_pte_t pte, struct world_page *page)
{
    struct fastmm_frame_info info;
    *page = (struct world_page){.kind = TRACE_NONE, .maps = -1};
    if (fastmm_pte_none(pte))
        return;
    page->uffd_wp = fastmm_pte_any_uffd_wp(pte);
    page->raw = pte;
    if (!fastmm_pte_present(pte)) {
        page->kind = kind_of_swp(pte);
        if (page->kind == TRACE_SWAP) {
            page->raw &= WORLD_SWAP_MASK;
            page->pfn = WORLD_SLOT | fastmm_swp_offset(pte) << 5 | fastmm_swp_type(pte);
        }
        return;
    }
    page->raw &= WORLD_RAW_MASK;
    page->pfn = fastmm_pte_pfn(pte);
    if (page->pfn >= RAW_FRAMES) {
        page->kind = TRACE_RAW;
        return;
    }
    if (fastmm_machine_frame(m->machine, page->pfn, &info)) {
        page->kind = TRACE_OTHER;
        return;
    }
    page->kind = kind_of_frame(info.kind);
    page->maps = info.mapcount;
}

static enum trace_kind kind_of_object(const struct model *m, const struct fastmm_object *object)
{
    for (unsigned i = 0; i < TRACE_OBJECTS; i++)
        if (object && object == m->object[i])
            return m->declared[i].kind == TRACE_OBJECT_SHMEM ? TRACE_SHMEM : TRACE_FILE;
    return TRACE_NONE;
}

static void observe_mappings(const struct model *m, const struct fastmm_mm *mm,
                             struct world_space *space)
{
    const struct fastmm_vma *vma;
    for (space->mappings = 0; (vma = fastmm_mm_vma(mm, space->mappings)) != NULL;)
        space->mapping[space->mappings++] = (struct world_mapping){
            .first = (unsigned)((vma->start - TRACE_BASE) / FASTMM_PAGE_SIZE),
            .end = (unsigned)((vma->end - TRACE_BASE) / FASTMM_PAGE_SIZE),
            .flags = vma->flags,
            .offset = vma->object ? (unsigned)vma->pgoff : 0,
            .object = kind_of_object(m, vma->object),
        };
}

static int observe(struct world *world, struct world_view *view, struct tool_error *error)
{
    struct model *m = model_of(world);
    for (unsigned p = 0; p < TRACE_PROCESSES; p++) {
        struct world_space *space = &view->space[p];
        space->alive = m->mm[p] != NULL;
        if (!space->alive)
            continue;
        int rc = fastmm_mm_read(m->mm[p], address(world->first), world->count, m->ptes);
        if (rc)
            return tool_fail(error, "model: reading entries failed with %d", rc);
        fastmm_mm_rss(m->mm[p], space->rss);
        observe_mappings(m, m->mm[p], space);
        if (fastmm_mm_pagemap(m->mm[p], address(world->first), world->count, m->words) ||
            fastmm_mm_categories(m->mm[p], address(world->first), world->count, m->categories))
            return tool_fail(error, "model: walking failed");
        for (unsigned i = 0; i < world->count; i++) {
            observe_page(m, m->ptes[i], &space->page[i]);
            space->page[i].word = world_pagemap_word(m->words[i]);
            space->page[i].categories = m->categories[i];
        }
    }
    return 0;
}

/* --- Life ------------------------------------------------------------------------------------ */

static void close_model(struct world *world)
{
    struct model *m = model_of(world);
    struct tool_error ignored;
    for (unsigned p = 0; p < TRACE_PROCESSES; p++)
        if (m->mm[p])
            exit_process(m, p, &ignored);
    for (unsigned i = 0; i < TRACE_OBJECTS; i++)
        if (m->object[i])
            fastmm_object_put(m->object[i]);
    if (m->machine)
        fastmm_machine_destroy(m->machine);
    free(m);
}

/* File pages are cached from the start: the kernel's world has written its file before. */
static int open_object(struct model *m, const struct trace_object *declared,
                       struct fastmm_object **object)
{
    enum fastmm_object_kind kind =
        declared->kind == TRACE_OBJECT_SHMEM ? FASTMM_OBJECT_SHMEM : FASTMM_OBJECT_FILE;
    int rc = fastmm_object_create(m->machine, kind, declared->pages, object);
    if (!rc && kind == FASTMM_OBJECT_FILE)
        rc = fastmm_object_read(*object, 0, declared->pages);
    return rc;
}

/* Every page of every process a page of its own, each object cached whole, and room for copies. */
static uint64_t frames_needed(const struct trace *trace, unsigned window)
{
    uint64_t frames = (uint64_t)window * (TRACE_PROCESSES + 1) + 64;
    for (unsigned i = 0; i < TRACE_OBJECTS; i++)
        frames += trace->object[i].pages;
    return frames;
}

int world_open_model(const struct trace *trace, unsigned impl, struct world **world,
                     struct tool_error *error)
{
    struct model *m = calloc(1, sizeof(*m));
    if (!m)
        return tool_fail(error, "out of memory");
    m->allocations = UINT64_MAX;
    memcpy(m->declared, trace->object, sizeof(m->declared));
    m->world = (struct world){
        .name = "model",
        .channels =
            WORLD_ENTRIES | WORLD_FRAMES | WORLD_RSS | WORLD_RAW | WORLD_MAPPINGS | WORLD_PAGEMAP,
        .apply = apply,
        .observe = observe,
        .close = close_model,
    };
    trace_window(trace, &m->world.first, &m->world.count);
    const struct fastmm_machine_config config = {.frames = frames_needed(trace, m->world.count),
                                                 .impl = impl,
                                                 .soft_dirty = trace->soft_dirty,
                                                 .no_huge_arenas = true};
    if (!fastmm_mm_impl_name((enum fastmm_mm_impl)impl)) {
        free(m);
        tool_fail(error, "this CPU can't run that build of the model");
        return WORLD_NOT_PERMITTED;
    }
    int rc = fastmm_machine_create(&config, &m->machine);
    if (!rc)
        rc = fastmm_machine_swap_on(m->machine, 0, config.frames); /* never full */
    for (unsigned i = 0; i < TRACE_OBJECTS && !rc; i++)
        if (trace->object[i].kind)
            rc = open_object(m, &trace->object[i], &m->object[i]);
    if (!rc)
        rc = fastmm_mm_create(m->machine, &m->mm[0]);
    if (rc) {
        close_model(&m->world);
        return tool_fail(error, "model: could not be set up: error %d", -rc);
    }
    *world = &m->world;
    return 0;
}
