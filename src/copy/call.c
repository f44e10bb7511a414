/* SPDX-License-Identifier: MIT */
/*
 * The calls: what inline bodies fall back to, their exported twins, pages, huge ranges and
 * streaming.
 */
#include "copy/plan.h"
#include "copy/select.h"
#include "copy/straight.h"

#include <errno.h>
#include <stddef.h>

#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* ---- Beyond the inline sizes ---------------------------------------------------------------- */

static const struct fastmm_copy_ops *route(enum fastmm_copy_op op, const void *dst, const void *src,
                                           size_t n)
{
    const struct fastmm_copy_choice *choice = fastmm_copy_choice_made();
    return fastmm_copy_impl_ops(fastmm_copy_route_inline(&choice->plan, op, dst, src, n).impl);
}

static __attribute__((noinline)) void *copy_routed(void *dst, const void *src, size_t n)
{
    return route(FASTMM_COPY_OP_COPY, dst, src, n)->copy(dst, src, n);
}

static __attribute__((noinline)) void *move_routed(void *dst, const void *src, size_t n)
{
    return route(FASTMM_COPY_OP_MOVE, dst, src, n)->move(dst, src, n);
}

static __attribute__((noinline)) void *fill_routed(void *dst, int value, size_t n)
{
    return route(FASTMM_COPY_OP_FILL, dst, NULL, n)->fill(dst, value, n);
}

void *fastmm_copy_large(void *dst, const void *src, size_t n)
{
    if (FASTMM_LIKELY(n - FASTMM_STRAIGHT_MIN < READ(fastmm_copy_fast.copy_straight))) {
        fastmm_copy_straight(dst, src, n);
        return dst;
    }
    if (n < READ(fastmm_copy_fast.copy_plain_end))
        return READ(fastmm_copy_fast.vector.copy)(dst, src, n);
    return copy_routed(dst, src, n);
}

void *fastmm_move_large(void *dst, const void *src, size_t n)
{
    if (FASTMM_LIKELY(n - FASTMM_STRAIGHT_MIN < READ(fastmm_copy_fast.copy_straight))) {
        fastmm_copy_straight(dst, src, n);
        return dst;
    }
    if (n < READ(fastmm_copy_fast.copy_plain_end))
        return READ(fastmm_copy_fast.vector.move)(dst, src, n);
    return move_routed(dst, src, n);
}

void *fastmm_fill_large(void *dst, int value, size_t n)
{
    if (FASTMM_LIKELY(n - FASTMM_STRAIGHT_MIN < READ(fastmm_copy_fast.fill_straight))) {
        fastmm_fill_straight(dst, value, n);
        return dst;
    }
    if (n < READ(fastmm_copy_fast.fill_plain_end))
        return READ(fastmm_copy_fast.vector.fill)(dst, value, n);
    return fill_routed(dst, value, n);
}

/* ---- Exported twins ------------------------------------------------------------------------- */

void *fastmm_copy_call(void *dst, const void *src, size_t n)
{
    return fastmm_copy(dst, src, n);
}

void *fastmm_move_call(void *dst, const void *src, size_t n)
{
    return fastmm_move(dst, src, n);
}

void *fastmm_clear_call(void *dst, size_t n)
{
    return fastmm_clear(dst, n);
}

void *fastmm_fill_call(void *dst, int value, size_t n)
{
    return fastmm_fill(dst, value, n);
}

void *fastmm_copy_masked_call(void *dst, const void *src, size_t n)
{
    return fastmm_copy_masked(dst, src, n);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

void fastmm_page_clear(void *page)
{
    if (FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_FILL, page, NULL, FASTMM_COPY_PAGE))
        fastmm_fill_large(page, 0, FASTMM_COPY_PAGE);
}

void fastmm_page_copy(void *dst, const void *src)
{
    if (FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_COPY, dst, src, FASTMM_COPY_PAGE))
        fastmm_copy_large(dst, src, FASTMM_COPY_PAGE);
}

/* ---- Huge ranges and streaming -------------------------------------------------------------- */

/*
 * Streaming where the architecture has it; a forced implementation doesn't change what was asked.
 * The choice is made, since it decides how wide the stores are.
 */
static const struct fastmm_copy_ops *stream_ops(void)
{
    fastmm_copy_choice_made();
    const struct fastmm_copy_ops *ops = fastmm_copy_impl_ops(FASTMM_COPY_STREAM);
    return ops ? ops : &fastmm_copy_ops_scalar;
}

void *fastmm_copy_stream(void *dst, const void *src, size_t n)
{
    if (!FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_COPY, dst, src, n))
        return dst;
    return stream_ops()->copy(dst, src, n);
}

void *fastmm_clear_stream(void *dst, size_t n)
{
    if (!FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_FILL, dst, NULL, n))
        return dst;
    return stream_ops()->fill(dst, 0, n);
}

/* The plan's way, but never streaming: thresholds may be set as low as the hot part is long. */
static void clear_cached(void *dst, size_t n)
{
    const struct fastmm_copy_plan *plan = &fastmm_copy_choice_made()->plan;
    uint32_t impl = fastmm_copy_route_inline(plan, FASTMM_COPY_OP_FILL, dst, NULL, n).impl;
    if (impl == FASTMM_COPY_STREAM)
        impl = FASTMM_COPY_SSE2;
    fastmm_copy_impl_ops(impl)->fill(dst, 0, n);
}

int fastmm_clear_huge(void *dst, size_t n, size_t hot)
{
    if (n == 0)
        return 0;
    if (hot >= n)
        return -EINVAL;
    if (!FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_FILL, dst, NULL, n))
        return 0;
    unsigned char *d = (unsigned char *)dst;
    size_t kept = n < FASTMM_CLEAR_HOT_BYTES ? n : FASTMM_CLEAR_HOT_BYTES;
    size_t first = hot > kept / 2 ? hot - kept / 2 : 0;
    if (first > n - kept)
        first = n - kept;
    size_t end = first + kept;
    stream_ops()->fill(d, 0, first);
    stream_ops()->fill(d + end, 0, n - end);
    clear_cached(d + first, kept);
    return 0;
}
