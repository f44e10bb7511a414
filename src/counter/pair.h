/* SPDX-License-Identifier: MIT */
/*
 * Two adjacent words that change in one step, 16 bytes aligned. Each may also be added to alone.
 */
#ifndef FASTMM_COUNTER_PAIR_H
#define FASTMM_COUNTER_PAIR_H

#include <stdint.h>

/*
 * Every x86-64 CPU made since 2006 has cmpxchg16b. In assembly, because compilers call a library of
 * their own for it.
 */
#if defined(__x86_64__)
#    define PAIR_ATOMIC 1
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#    define PAIR_ATOMIC 1
#else
#    define PAIR_ATOMIC 0
#endif

struct pair {
    int64_t first, second;
};

/* 1 if *p was *seen and is `next` now; else 0, and *seen is what may be tried next. */
static inline int pair_replace(struct pair *p, struct pair *seen, struct pair next)
{
#if defined(__x86_64__)
    char same;
    __asm__ volatile("lock cmpxchg16b %[p]"
                     : [p] "+m"(*p), "=@ccz"(same), "+a"(seen->first), "+d"(seen->second)
                     : "b"(next.first), "c"(next.second)
                     : "memory");
    return same;
#elif PAIR_ATOMIC
    struct pair found;
    int failed;
    /* Two loads are one only if the store behind them succeeds. */
    __asm__ volatile("1: ldaxp %[first], %[second], %[p]\n\t"
                     "cmp %[first], %[seen_first]\n\t"
                     "ccmp %[second], %[seen_second], #0, eq\n\t"
                     "b.ne 2f\n\t"
                     "stlxp %w[failed], %[next_first], %[next_second], %[p]\n\t"
                     "cbnz %w[failed], 1b\n"
                     "2:"
                     : [p] "+Q"(*p), [first] "=&r"(found.first), [second] "=&r"(found.second),
                       [failed] "=&r"(failed)
                     : [seen_first] "r"(seen->first), [seen_second] "r"(seen->second),
                       [next_first] "r"(next.first), [next_second] "r"(next.second)
                     : "cc", "memory");
    if (found.first == seen->first && found.second == seen->second)
        return 1;
    *seen = found;
    return 0;
#else
    (void)p;
    (void)seen;
    (void)next;
    __builtin_trap(); /* not called: see PAIR_ATOMIC */
#endif
}

/* A guess to begin with; the two loads may be of different times. */
static inline struct pair pair_guess(const struct pair *p)
{
    return (struct pair){__atomic_load_n(&p->first, __ATOMIC_RELAXED),
                         __atomic_load_n(&p->second, __ATOMIC_RELAXED)};
}

/* Both at one moment. */
static inline struct pair pair_load(struct pair *p)
{
    struct pair seen = pair_guess(p);
    while (!pair_replace(p, &seen, seen))
        ;
    return seen;
}

#endif
