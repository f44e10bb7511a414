/* SPDX-License-Identifier: MIT */
/* What librseq's users write: load, add and store in one restartable sequence, as one instruction.
 */
#include "baseline/rseq_slots.h"

#if defined(__x86_64__)

/* A variable, as librseq has it, which may have registered threads itself. */
ptrdiff_t counter_rseq_offset;

static inline int add_on(int64_t *slot, int64_t v, uint32_t cpu, volatile struct rseq *area)
{
    __asm__ goto(RSEQ_BEGIN "addq %[v], %[slot]\n" RSEQ_END
                 :
                 : RSEQ_OPERANDS(cpu, area), [slot] "m"(*slot), [v] "er"(v)
                 : "rax", "memory", "cc"
                 : aborted);
    return 0;
aborted:
    return -1;
}

static inline void add_one(struct rseq_slots *s)
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

const struct counter_rival counter_rseq_array = {
    "rseq_array", "its code may not be unloaded", rseq_slots_make, add, rseq_slots_sum, free};
