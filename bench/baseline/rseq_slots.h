/* SPDX-License-Identifier: MIT */
/*
 * What the rseq rivals share: a padded slot for each CPU as librseq's users lay it out, the CPU
 * number read before the restartable sequence that checks it again, and another attempt until it
 * succeeds. So that they are as exact as ours, a number outside the array and a thread without a
 * registration, whose number never is the same, count in a shared word.
 */
#ifndef FASTMM_BENCH_BASELINE_RSEQ_SLOTS_H
#define FASTMM_BENCH_BASELINE_RSEQ_SLOTS_H

#include "baseline/counter.h"

#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)

#    include <sys/rseq.h>

struct rseq_slot {
    int64_t value;
    char pad[120];
};

struct rseq_slots {
    int64_t shared;
    uint32_t cpus;
    char pad[112];
    struct rseq_slot slots[];
};

static inline void *rseq_slots_make(void)
{
    if (__rseq_size == 0)
        return NULL;
    counter_rseq_offset = __rseq_offset;
    uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
    struct rseq_slots *s = lines(sizeof(*s) + cpus * sizeof(struct rseq_slot));
    if (s)
        s->cpus = cpus;
    return s;
}

static inline volatile struct rseq *own_rseq(void)
{
    return (volatile struct rseq *)((char *)__builtin_thread_pointer() + counter_rseq_offset);
}

/* The sequence in front of its instructions, which end with the committing one, and behind them. */
#    define RSEQ_BEGIN                       \
        ".pushsection __rseq_cs, \"aw\"\n\t" \
        ".balign 32\n"                       \
        "3:\n\t"                             \
        ".long 0, 0\n\t"                     \
        ".quad 1f, 2f - 1f, 4f\n\t"          \
        ".popsection\n\t"                    \
        "leaq 3b(%%rip), %%rax\n\t"          \
        "movq %%rax, %c[cs](%[area])\n"      \
        "1:\n\t"                             \
        "cmpl %[cpu], %c[id](%[area])\n\t"   \
        "jnz 4f\n\t"
#    define RSEQ_END                              \
        "2:\n\t"                                  \
        ".pushsection __rseq_failure, \"ax\"\n\t" \
        ".byte 0x0f, 0xb9, 0x3d\n\t"              \
        ".long 0x53053053\n"                      \
        "4:\n\t"                                  \
        "jmp %l[aborted]\n\t"                     \
        ".popsection\n\t"
#    define RSEQ_OPERANDS(cpu_number, rseq_area)                                                \
        [cpu] "r"(cpu_number), [area] "r"(rseq_area), [cs] "i"(offsetof(struct rseq, rseq_cs)), \
            [id] "i"(offsetof(struct rseq, cpu_id))

/* True if this thread has no slot, and was counted here. */
__attribute__((noinline, cold)) static int add_shared(struct rseq_slots *s)
{
    if (own_rseq()->cpu_id < s->cpus)
        return 0;
    __atomic_fetch_add(&s->shared, 1, __ATOMIC_RELAXED);
    return 1;
}

/* add_on(): one addition, with what else the sequence has behind it; -1 if it was aborted. */
#    define RSEQ_ADD_ON(behind)                                                     \
        static inline int add_on(int64_t *slot, int64_t v, uint32_t cpu,            \
                                 volatile struct rseq *area)                        \
        {                                                                           \
            __asm__ goto(RSEQ_BEGIN "addq %[v], %[slot]\n" RSEQ_END behind          \
                         :                                                          \
                         : RSEQ_OPERANDS(cpu, area), [slot] "m"(*slot), [v] "er"(v) \
                         : "rax", "memory", "cc"                                    \
                         : aborted);                                                \
            return 0;                                                               \
        aborted:                                                                    \
            return -1;                                                              \
        }

/* One more, by an add_on() that is inlined. */
static inline __attribute__((always_inline)) void
rseq_slots_inc(struct rseq_slots *s,
               int (*add_on)(int64_t *, int64_t, uint32_t, volatile struct rseq *))
{
    for (;;) {
        uint32_t cpu = own_rseq()->cpu_id_start;
        if (__builtin_expect(cpu < s->cpus, 1) &&
            __builtin_expect(add_on(&s->slots[cpu].value, 1, cpu, own_rseq()) == 0, 1))
            return;
        if (add_shared(s))
            return;
    }
}

static inline int64_t rseq_slots_sum(void *counter)
{
    struct rseq_slots *s = counter;
    int64_t total = __atomic_load_n(&s->shared, __ATOMIC_RELAXED);
    for (uint32_t k = 0; k < s->cpus; k++)
        total += __atomic_load_n(&s->slots[k].value, __ATOMIC_RELAXED);
    return total;
}

#else

static inline void *rseq_slots_make(void)
{
    return NULL;
}

static inline int64_t rseq_slots_sum(void *counter)
{
    (void)counter;
    return 0;
}

#endif

#endif
