/* SPDX-License-Identifier: MIT */
/*
 * The kernel's percpu_counter in userspace: a slot for each CPU that is drained into the shared
 * word when it would reach 32, all inside one restartable sequence, with an atomic add behind it.
 * Reads of the shared word are off by at most 31 a CPU.
 */
#include "baseline/rseq_slots.h"

#if defined(__x86_64__)

enum { BATCH = 32 };

/*
 * Stores slot + v in the slot, or 0 if that reaches the batch; *before is what was there, so that
 * the caller sees which. Fails if the CPU is another by now.
 */
static inline int add_or_drain(int64_t *slot, int64_t v, uint32_t cpu, volatile struct rseq *area,
                               int64_t *before)
{
    __asm__ goto(RSEQ_BEGIN "movq (%[slot]), %%rax\n\t"
                            "movq %%rax, (%[before])\n\t"
                            "addq %[v], %%rax\n\t"
                            "leaq 31(%%rax), %%rcx\n\t"
                            "xorl %%edx, %%edx\n\t"
                            "cmpq $62, %%rcx\n\t"
                            "cmovaq %%rdx, %%rax\n\t"
                            "movq %%rax, (%[slot])\n" RSEQ_END
                 :
                 : RSEQ_OPERANDS(cpu, area), [slot] "r"(slot), [v] "er"(v), [before] "r"(before)
                 : "rax", "rcx", "rdx", "memory", "cc"
                 : aborted);
    return 0;
aborted:
    return -1;
}

static inline void add_one(struct rseq_slots *s)
{
    for (;;) {
        int64_t before;
        uint32_t cpu = own_rseq()->cpu_id_start;
        if (__builtin_expect(cpu < s->cpus, 1) &&
            __builtin_expect(add_or_drain(&s->slots[cpu].value, 1, cpu, own_rseq(), &before) == 0,
                             1)) {
            if (before + 1 >= BATCH || before + 1 <= -BATCH)
                __atomic_fetch_add(&s->shared, before + 1, __ATOMIC_RELAXED);
            return;
        }
        if (add_shared(s))
            return;
    }
}

static void add(void *counter, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++)
        add_one(counter);
}

#else

static void add(void *counter, uint64_t times)
{
    (void)counter;
    (void)times;
}

#endif

const struct counter_rival counter_rseq_spill = {
    "rseq_spill", "a sum beside adds may run backwards", rseq_slots_make, add, rseq_slots_sum,
    free};
