/* SPDX-License-Identifier: MIT */
/*
 * The kernel's percpu_counter in userspace: a slot for each CPU that is drained into the shared
 * word when it would reach 32, all inside one restartable sequence, with an atomic add behind it.
 * Reads of the shared word are off by at most 31 a CPU. As with rseq_array, what has no slot counts
 * in the shared word.
 */
#include "baseline/counter.h"

#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)

#    include <sys/rseq.h>

enum { BATCH = 32 };

struct slot {
    int64_t value;
    char pad[120];
};

struct spilling {
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
    struct spilling *c = lines(sizeof(*c) + cpus * sizeof(struct slot));
    if (c)
        c->cpus = cpus;
    return c;
}

static inline volatile struct rseq *own_rseq(void)
{
    return (volatile struct rseq *)((char *)__builtin_thread_pointer() + counter_rseq_offset);
}

/*
 * Stores slot + v in the slot, or 0 if that reaches the batch; *before is what was there, so that
 * the caller sees which. Fails if the CPU is another by now.
 */
static inline int add_or_drain(int64_t *slot, int64_t v, uint32_t cpu, volatile struct rseq *area,
                               int64_t *before)
{
    __asm__ goto(
        ".pushsection __rseq_cs, \"aw\"\n\t"
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
        "movq (%[slot]), %%rax\n\t"
        "movq %%rax, (%[before])\n\t"
        "addq %[v], %%rax\n\t"
        "leaq 31(%%rax), %%rcx\n\t"
        "xorl %%edx, %%edx\n\t"
        "cmpq $62, %%rcx\n\t"
        "cmovaq %%rdx, %%rax\n\t"
        "movq %%rax, (%[slot])\n"
        "2:\n\t"
        ".pushsection __rseq_failure, \"ax\"\n\t"
        ".byte 0x0f, 0xb9, 0x3d\n\t"
        ".long 0x53053053\n"
        "4:\n\t"
        "jmp %l[aborted]\n\t"
        ".popsection\n\t"
        :
        : [cpu] "r"(cpu), [area] "r"(area), [slot] "r"(slot), [v] "er"(v), [before] "r"(before),
          [cs] "i"(offsetof(struct rseq, rseq_cs)), [id] "i"(offsetof(struct rseq, cpu_id))
        : "rax", "rcx", "rdx", "memory", "cc"
        : aborted);
    return 0;
aborted:
    return -1;
}

/* True if this thread has no slot, and was counted here. */
__attribute__((noinline, cold)) static int add_shared(struct spilling *c)
{
    if (own_rseq()->cpu_id < c->cpus)
        return 0;
    __atomic_fetch_add(&c->shared, 1, __ATOMIC_RELAXED);
    return 1;
}

static inline void add_one(struct spilling *c)
{
    for (;;) {
        int64_t before;
        uint32_t cpu = own_rseq()->cpu_id_start;
        if (__builtin_expect(cpu < c->cpus, 1) &&
            __builtin_expect(add_or_drain(&c->slots[cpu].value, 1, cpu, own_rseq(), &before) == 0,
                             1)) {
            if (before + 1 >= BATCH || before + 1 <= -BATCH)
                __atomic_fetch_add(&c->shared, before + 1, __ATOMIC_RELAXED);
            return;
        }
        if (add_shared(c))
            return;
    }
}

static void add(void *counter, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++)
        add_one(counter);
}

static int64_t sum(void *counter)
{
    struct spilling *c = counter;
    int64_t total = __atomic_load_n(&c->shared, __ATOMIC_RELAXED);
    for (uint32_t k = 0; k < c->cpus; k++)
        total += __atomic_load_n(&c->slots[k].value, __ATOMIC_RELAXED);
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

const struct counter_rival counter_rseq_spill = {
    "rseq_spill", "a sum beside adds may run backwards", make, add, sum, free};
