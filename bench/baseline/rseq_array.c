/* SPDX-License-Identifier: MIT */
/*
 * What librseq's users write: read the CPU number, then a restartable sequence that checks it is
 * still the same and adds to that CPU's padded slot, tried again until it succeeds. So that it is
 * as exact as ours, a number outside the array and a thread without a registration, whose number
 * never is the same, count in a shared word.
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

struct array {
    int64_t shared;
    uint32_t cpus;
    char pad[112];
    struct slot slots[];
};

static void *make(void)
{
    if (__rseq_size == 0)
        return NULL;
    counter_rseq_offset = __rseq_offset;
    uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
    struct array *a = lines(sizeof(*a) + cpus * sizeof(struct slot));
    if (a)
        a->cpus = cpus;
    return a;
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

/* True if this thread has no slot, and was counted here. */
__attribute__((noinline, cold)) static int add_shared(struct array *a)
{
    if (own_rseq()->cpu_id < a->cpus)
        return 0;
    __atomic_fetch_add(&a->shared, 1, __ATOMIC_RELAXED);
    return 1;
}

static inline void add_one(struct array *a)
{
    for (;;) {
        uint32_t cpu = own_rseq()->cpu_id_start;
        if (__builtin_expect(cpu < a->cpus, 1) &&
            __builtin_expect(add_on(&a->slots[cpu].value, 1, cpu, own_rseq()) == 0, 1))
            return;
        if (add_shared(a))
            return;
    }
}

static void add(void *counter, uint64_t times)
{
    struct array *a = counter;
    for (uint64_t k = 0; k < times; k++)
        add_one(a);
}

static int64_t sum(void *counter)
{
    struct array *a = counter;
    int64_t total = __atomic_load_n(&a->shared, __ATOMIC_RELAXED);
    for (uint32_t k = 0; k < a->cpus; k++)
        total += __atomic_load_n(&a->slots[k].value, __ATOMIC_RELAXED);
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
    "rseq_array", "its code may not be unloaded", make, add, sum, free};
