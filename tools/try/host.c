/* SPDX-License-Identifier: MIT */
/*
 * The machine's side of the seam: hands a fork body what it may ask for, and takes the body's place
 * as one of the builds that a machine can run.
 */
#include "host.h"

#include "mm/frame.h"
#include "mm/span.h"
#include "mm/swap.h"

/* The library's own, which fork.c was compiled as here. */
int fastmm_copy_ours(const struct copy *c, const struct table_span *span, fastmm_pte_t *target);

static enum fastmm_frame_kind kind(void *context, uint64_t pfn)
{
    const struct copy *c = context;
    return frame_kind(c->frames->word[pfn]);
}

static bool must_copy(void *context, uint64_t pfn)
{
    const struct copy *c = context;
    return (c->frames->word[pfn] & FRAME_PINNED) && frame_exclusive(c->frames, pfn) &&
           c->parent->has_pinned;
}

static int new_page(void *context, uint64_t *pfn)
{
    const struct copy *c = context;
    return frame_alloc_anon(c->child->machine, pfn);
}

static int share(void *context, uint64_t pfn)
{
    const struct copy *c = context;
    int rc = frame_map(c->frames, pfn);
    if (!rc)
        frame_clear_exclusive(c->frames, pfn);
    return rc;
}

static void share_swap(void *context, fastmm_pte_t entry)
{
    const struct copy *c = context;
    fastmm_swap_get(c->child->machine, entry);
}

static const struct fastmm_try_host host = {kind, must_copy, new_page, share, share_swap};

int fastmm_copy_plain(const struct copy *c, const struct table_span *span, fastmm_pte_t *target)
{
    if (!fastmm_tried.fork_range)
        return fastmm_copy_ours(c, span, target);
    struct rss_change rss = {{0}};
    struct copy context = *c;
    const struct fastmm_try_fork f = {
        .frames = c->frames,
        .from = c->from,
        .to = c->to,
        .addr = span->addr,
        .source = span->pte,
        .target = target,
        .count = span->count,
        .rss = rss.by,
        .host = &host,
        .context = &context,
    };
    int rc = fastmm_tried.fork_range(&f);
    rss_apply(&c->child->rss, &rss);
    return rc;
}

struct fastmm_try fastmm_tried;

void host_use(const struct fastmm_try *user)
{
    static const struct fastmm_try ours = {.normal_page = fastmm_normal_page_call,
                                           .set_range = fastmm_set_range_call};
    fastmm_tried = ours;
    if (user && user->normal_page)
        fastmm_tried.normal_page = user->normal_page;
    if (user && user->set_range)
        fastmm_tried.set_range = user->set_range;
    if (user)
        fastmm_tried.fork_range = user->fork_range;
}
