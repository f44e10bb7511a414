/* SPDX-License-Identifier: MIT */
/*
 * The route of one request, written once for both who runs it and who asks. Reads each field of the
 * plan atomically: another thread may be putting other settings into force.
 */
#ifndef FASTMM_SRC_COPY_PLAN_H
#define FASTMM_SRC_COPY_PLAN_H

#include <fastmm/copy.h>

#define FASTMM_PLAN_READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Why rep can't serve a copy whose size is in its window; FASTMM_COPY_WHY_REP_SIZE if it can. */
static inline uint32_t fastmm_copy_rep_verdict(const struct fastmm_copy_plan *plan, const void *dst,
                                               const void *src)
{
    uintptr_t alias = ((uintptr_t)dst - (uintptr_t)src) & 4095;
    if (alias >= FASTMM_PLAN_READ(plan->rep_alias_first) &&
        alias <= FASTMM_PLAN_READ(plan->rep_alias_last))
        return FASTMM_COPY_WHY_ALIAS;
    if ((uintptr_t)dst & (FASTMM_PLAN_READ(plan->rep_align) - 1))
        return FASTMM_COPY_WHY_MISALIGNED;
    return FASTMM_COPY_WHY_REP_SIZE;
}

static inline int fastmm_copy_overlap(const void *dst, const void *src, size_t n)
{
    uintptr_t distance = (uintptr_t)dst - (uintptr_t)src;
    return distance < n || -distance < n;
}

static inline struct fastmm_copy_route fastmm_copy_route_inline(const struct fastmm_copy_plan *plan,
                                                                enum fastmm_copy_op op,
                                                                const void *dst, const void *src,
                                                                size_t n)
{
    struct fastmm_copy_route vector = {FASTMM_PLAN_READ(plan->vector), FASTMM_COPY_WHY_SMALL};
    struct fastmm_copy_route rep = {FASTMM_COPY_REP, FASTMM_COPY_WHY_REP_SIZE};
    struct fastmm_copy_route stream = {FASTMM_COPY_STREAM, FASTMM_COPY_WHY_STREAM_SIZE};
    int fill = op == FASTMM_COPY_OP_FILL;
    const struct fastmm_copy_thresholds *at = fill ? &plan->fill : &plan->copy;

    if (FASTMM_PLAN_READ(plan->forced)) {
        vector.why = FASTMM_COPY_WHY_FORCED;
        return vector;
    }
    int sized_for_rep =
        n >= FASTMM_PLAN_READ(at->rep_min.bytes) && n < FASTMM_PLAN_READ(at->rep_end.bytes);
    int sized_for_stream = n >= FASTMM_PLAN_READ(at->stream_min.bytes);
    if (!sized_for_rep && !sized_for_stream)
        return vector;
    if (op == FASTMM_COPY_OP_MOVE && fastmm_copy_overlap(dst, src, n)) {
        vector.why = FASTMM_COPY_WHY_OVERLAP;
        return vector;
    }
    if (sized_for_rep) {
        uint32_t why = fill ? FASTMM_COPY_WHY_REP_SIZE : fastmm_copy_rep_verdict(plan, dst, src);
        if (why == FASTMM_COPY_WHY_REP_SIZE)
            return rep;
        vector.why = stream.why = why;
    }
    return sized_for_stream ? stream : vector;
}

#endif
