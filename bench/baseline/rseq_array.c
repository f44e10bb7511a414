/* SPDX-License-Identifier: MIT */
/*
 * What librseq's users write: read the CPU number, then a restartable sequence that checks it is
 * still the same and adds to that CPU's padded slot, tried again until it succeeds.
 */
#include "baseline/counter.h"

#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)

#    include <sys/rseq.h>

/* A variable, as librseq has it, which may have registered threads itself. */
ptrdiff_t counter_rseq_offset;

struct slot {
    int64_t value;
    char pad[120];
};

static void *make(void)
{
    if (__rseq_size == 0)
        return NULL;
    counter_rseq_offset = __rseq_offset;
    return lines((size_t)sysconf(_SC_NPROCESSORS_CONF) * sizeof(struct slot));
}

static inline volatile struct rseq *own_rseq(void)
{
    return (volatile struct rseq *)((char *)__builtin_thread_pointer() + counter_rseq_offset);
}

static inline int add_on(int64_t *slot, int64_t v, uint32_t cpu, volatile struct rseq *area)
{
    __asm__ goto(".pushsection __rseq_cs, \"aw\"\n\t"
                 ".balign 32\n"
                 "3:\n\t"
                 ".long 0, 0\n\t"
                 ".quad 1f, 2f - 1f, 4f\n\t"
                 ".popsection\n\t"
                 "leaq 3b(%%rip), %%rax\n\t"
                 "movq %%rax, %c[cs](%[area])\n"
                 "1:\n\t"
                 "cmpl %[cpu], %c[id](%[area])\n\t"
                 "jnz 4f\n\t"
                 "addq %[v], %[slot]\n"
                 "2:\n\t"
                 ".pushsection __rseq_failure, \"ax\"\n\t"
                 ".byte 0x0f, 0xb9, 0x3d\n\t"
                 ".long 0x53053053\n"
                 "4:\n\t"
                 "jmp %l[aborted]\n\t"
                 ".popsection\n\t"
                 :
                 : [cpu] "r"(cpu), [area] "r"(area), [slot] "m"(*slot), [v] "er"(v),
                   [cs] "i"(offsetof(struct rseq, rseq_cs)), [id] "i"(offsetof(struct rseq, cpu_id))
                 : "rax", "memory", "cc"
                 : aborted);
    return 0;
aborted:
    return -1;
}

static void add(void *counter, uint64_t times)
{
    struct slot *slots = counter;
    for (uint64_t k = 0; k < times; k++) {
        uint32_t cpu;
        do
            cpu = own_rseq()->cpu_id_start;
        while (add_on(&slots[cpu].value, 1, cpu, own_rseq()) != 0);
    }
}

static int64_t sum(void *counter)
{
    struct slot *slots = counter;
    int64_t total = 0;
    for (long k = 0; k < sysconf(_SC_NPROCESSORS_CONF); k++)
        total += __atomic_load_n(&slots[k].value, __ATOMIC_RELAXED);
    return total;
}

#else

static void *make(void)
{
    return NULL;
}

static void add(void *counter, uint64_t times)
{
    (void)counter;
    (void)times;
}

static int64_t sum(void *counter)
{
    (void)counter;
    return 0;
}

#endif

const struct counter_rival counter_rseq_array = {
    "rseq_array", "CPU ids are trusted to be in range", make, add, sum, free};
