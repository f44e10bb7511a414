/* SPDX-License-Identifier: MIT */
/*
 * From a CPU and the user's settings to a plan, and from a plan to a route. Both are pure, so that
 * a test or a tool can ask about any CPU, and the running code takes the same route that the
 * answer names.
 */
#include "copy/plan.h"

#include "base/words.h"
#include "copy/impl.h"
#include "copy/rule.h"

#include <errno.h>
#include <stddef.h>

#define FEATURE(name) ((uint64_t)1 << FASTMM_CPU_##name)
#define MIB           ((uint64_t)1 << 20)

/*
 * Streaming starts at three quarters of the last-level cache. A cache of which nothing plausible is
 * known counts as the smallest that a current part has, and one thread gets no use of more than the
 * ceiling; both also keep a hypervisor's zero or whole-host figure from doing harm.
 */
#define STREAM_BUILTIN_FLOOR   (4 * MIB)
#define STREAM_BUILTIN_CEILING (96 * MIB)

static struct fastmm_copy_threshold threshold(uint64_t bytes, uint32_t why)
{
    struct fastmm_copy_threshold t = {bytes, why, 0};
    return t;
}

static struct fastmm_copy_threshold never(uint32_t why)
{
    return threshold(FASTMM_COPY_NEVER, why);
}

/* ---- Settings ------------------------------------------------------------------------------- */

static int refuse(int error, const char **reason, const char *words)
{
    if (reason)
        *reason = words;
    return error;
}

static int below(uint64_t set, uint64_t floor)
{
    return set != 0 && set < floor;
}

/* Both set, and streaming would start before rep ever could. */
static int crossed(uint64_t rep_min, uint64_t stream_min)
{
    return rep_min != 0 && stream_min != 0 && rep_min != FASTMM_COPY_NEVER && stream_min < rep_min;
}

static int check_settings(const struct fastmm_copy_settings *s, const char **reason)
{
    if (s->disable >> FASTMM_CPU_FEATURE_COUNT)
        return refuse(-EINVAL, reason, "disable: a bit that stands for no feature");
    if (below(s->copy_rep_min, FASTMM_COPY_REP_FLOOR))
        return refuse(-EINVAL, reason, "copy_rep_min: below 256, where rep never pays");
    if (below(s->fill_rep_min, FASTMM_COPY_REP_FLOOR))
        return refuse(-EINVAL, reason, "fill_rep_min: below 256, where rep never pays");
    if (below(s->copy_stream_min, FASTMM_COPY_STREAM_FLOOR))
        return refuse(-EINVAL, reason, "copy_stream_min: below 64 KiB, where blocks are cached");
    if (below(s->fill_stream_min, FASTMM_COPY_STREAM_FLOOR))
        return refuse(-EINVAL, reason, "fill_stream_min: below 64 KiB, where blocks are cached");
    if (crossed(s->copy_rep_min, s->copy_stream_min))
        return refuse(-EINVAL, reason, "copy_stream_min: below copy_rep_min");
    if (crossed(s->fill_rep_min, s->fill_stream_min))
        return refuse(-EINVAL, reason, "fill_stream_min: below fill_rep_min");
    return 0;
}

/* ---- Implementations ------------------------------------------------------------------------ */

/* What the features build on each other for: without one, none of those that require it. */
static uint64_t without(uint64_t usable, uint64_t disabled)
{
    usable &= ~disabled;
    for (int i = 0; i < FASTMM_CPU_FEATURE_COUNT; i++) {
        const struct fastmm_cpu_feature_info *info =
            fastmm_cpu_describe((enum fastmm_cpu_feature)i);
        if (!(usable >> info->requires_feature & 1))
            usable &= ~((uint64_t)1 << i);
    }
    return usable;
}

/* Intel's parts with AVX-512 before FSRM came lower their clock for whoever uses it at all. */
static int clock_suffers(const struct fastmm_cpu *cpu, uint64_t usable)
{
    return cpu->vendor == FASTMM_CPU_VENDOR_INTEL && !(usable & FEATURE(FSRM));
}

/* Whether there is such an implementation with these features. */
static int has(uint32_t impl, uint64_t usable)
{
    uint64_t needs = fastmm_copy_impl_needs(impl);
    return fastmm_copy_impl_ops(impl) && (usable & needs) == needs;
}

static int is_size(uint64_t set)
{
    return set != 0 && set != FASTMM_COPY_NEVER;
}

/* A threshold of something that isn't there would never be met; saying so beats ignoring it. */
static int check_available(const struct fastmm_copy_settings *s, uint64_t usable,
                           const char **reason)
{
    if (!has(FASTMM_COPY_REP, usable) && (is_size(s->copy_rep_min) || is_size(s->fill_rep_min)))
        return refuse(-ENOTSUP, reason, "copy_rep_min, fill_rep_min: there is no rep here");
    if (!has(FASTMM_COPY_STREAM, usable) &&
        (is_size(s->copy_stream_min) || is_size(s->fill_stream_min)))
        return refuse(-ENOTSUP, reason, "copy_stream_min, fill_stream_min: no streaming here");
    return 0;
}

static void choose_vector(const struct fastmm_cpu *cpu, uint64_t usable,
                          struct fastmm_copy_plan *plan)
{
    uint32_t impl = FASTMM_COPY_AVX512;
    plan->vector_why = FASTMM_COPY_WHY_WIDEST;
    while (impl > FASTMM_COPY_SCALAR && !has(impl, usable))
        impl--;
    if (impl == FASTMM_COPY_AVX512 && clock_suffers(cpu, usable)) {
        impl = FASTMM_COPY_AVX2;
        plan->vector_why = FASTMM_COPY_WHY_CLOCK;
    }
    if (impl == FASTMM_COPY_SCALAR)
        plan->vector_why = FASTMM_COPY_WHY_BUILTIN;
    plan->vector = impl;
    plan->inline_level = impl == FASTMM_COPY_AVX512 && usable & FEATURE(BMI2)
                             ? FASTMM_COPY_LEVEL_EVEX
                             : FASTMM_COPY_LEVEL_BASE;
}

static int force(uint64_t usable, const char *name, struct fastmm_copy_plan *plan,
                 const char **reason)
{
    int impl = fastmm_copy_impl_by_name(name);
    if (impl < 0)
        return refuse(impl, reason, "implementation: no such name");
    if (!has((uint32_t)impl, usable))
        return refuse(-ENOTSUP, reason, "implementation: this CPU can't run it");
    plan->vector = (uint32_t)impl;
    plan->vector_why = FASTMM_COPY_WHY_FORCED;
    plan->forced = 1;
    if (impl != FASTMM_COPY_AVX512)
        plan->inline_level = FASTMM_COPY_LEVEL_BASE;
    struct fastmm_copy_threshold off = never(FASTMM_COPY_WHY_FORCED);
    plan->copy = plan->fill = (struct fastmm_copy_thresholds){off, off, off};
    return 0;
}

/* ---- Thresholds ----------------------------------------------------------------------------- */

static struct fastmm_copy_threshold derive_stream(const struct fastmm_cpu *cpu, uint64_t usable)
{
    if (!has(FASTMM_COPY_STREAM, usable))
        return never(FASTMM_COPY_WHY_BUILTIN);
    uint64_t cache = cpu->cache[FASTMM_CPU_L3].size;
    if (cache < cpu->cache[FASTMM_CPU_L2].size)
        cache = cpu->cache[FASTMM_CPU_L2].size;
    if (cache / 4 * 3 < STREAM_BUILTIN_FLOOR)
        return threshold(STREAM_BUILTIN_FLOOR, FASTMM_COPY_WHY_CACHE_FLOOR);
    if (cache / 4 * 3 > STREAM_BUILTIN_CEILING)
        return threshold(STREAM_BUILTIN_CEILING, FASTMM_COPY_WHY_CACHE_CEILING);
    return threshold(cache / 4 * 3, FASTMM_COPY_WHY_CACHE);
}

static struct fastmm_copy_threshold derive_rep(const struct fastmm_cpu *cpu, uint64_t usable,
                                               const struct fastmm_copy_rep_start *start)
{
    if (!has(FASTMM_COPY_REP, usable))
        return never(FASTMM_COPY_WHY_BUILTIN);
    if (start->bytes == FASTMM_COPY_NEVER)
        return never(start->why);
    uint64_t cache = cpu->cache[start->cache_level].size;
    uint64_t bytes = start->cache_8ths ? cache / 8 * start->cache_8ths : 0;
    /* A cache far from those of the parts that were measured moves nothing far. */
    if (bytes < start->bytes / 4 || bytes > start->bytes * 4)
        bytes = start->bytes;
    return threshold(bytes, start->why);
}

/* Fits rep's window and the streaming threshold together; what the user set (not 0) stands. */
static struct fastmm_copy_thresholds settle(struct fastmm_copy_threshold rep_min,
                                            struct fastmm_copy_threshold stream_min,
                                            uint64_t set_rep, uint64_t set_stream, int rep_streams)
{
    if (set_stream)
        stream_min = threshold(set_stream, FASTMM_COPY_WHY_FORCED);
    if (set_rep)
        rep_min = threshold(set_rep, FASTMM_COPY_WHY_FORCED);

    struct fastmm_copy_threshold rep_end = stream_min;
    if (rep_streams && !set_stream)
        rep_end = never(FASTMM_COPY_WHY_REP_STREAMS);
    if (rep_min.bytes != FASTMM_COPY_NEVER && rep_min.bytes > rep_end.bytes) {
        if (set_rep)
            stream_min = rep_end = never(FASTMM_COPY_WHY_CLAMPED);
        else
            rep_min = threshold(rep_end.bytes, FASTMM_COPY_WHY_CLAMPED);
    }
    struct fastmm_copy_thresholds settled = {rep_min, rep_end, stream_min};
    return settled;
}

int fastmm_copy_plan_for(const struct fastmm_cpu *cpu, const struct fastmm_copy_settings *settings,
                         struct fastmm_copy_plan *plan, const char **reason)
{
    static const struct fastmm_copy_settings defaults;
    const struct fastmm_copy_settings *s = settings ? settings : &defaults;
    int error = check_settings(s, reason);
    if (error)
        return error;

    struct fastmm_copy_plan p;
    clear_words(&p, sizeof(p));
    uint64_t usable = without(cpu->usable, s->disable);
    error = check_available(s, usable, reason);
    if (error)
        return error;
    choose_vector(cpu, usable, &p);
    if (s->implementation) {
        error = force(usable, s->implementation, &p, reason);
        if (error)
            return error;
    } else {
        const struct fastmm_copy_rule *rule = fastmm_copy_rule_for(cpu, usable);
        p.rep_alias_first = rule->alias_first;
        p.rep_alias_last = rule->alias_last;
        p.copy = settle(derive_rep(cpu, usable, &rule->copy), derive_stream(cpu, usable),
                        s->copy_rep_min, s->copy_stream_min, (int)rule->copy_streams);
        p.fill = settle(derive_rep(cpu, usable, &rule->fill), derive_stream(cpu, usable),
                        s->fill_rep_min, s->fill_stream_min, 0);
        p.rep_align = rule->align;
    }
    copy_words(plan, &p, sizeof(p));
    return 0;
}

struct fastmm_copy_route fastmm_copy_route_for(const struct fastmm_copy_plan *plan,
                                               enum fastmm_copy_op op, const void *dst,
                                               const void *src, size_t n)
{
    return fastmm_copy_route_inline(plan, op, dst, src, n);
}
