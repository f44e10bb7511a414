/* SPDX-License-Identifier: MIT */
/*
 * The restartable sequence that every per-CPU operation of this library runs in, as text for
 * inline assembly. Everything here is frozen into callers, so a change of what it reads or writes
 * raises FASTMM_COUNTER_EPOCH.
 *
 * Between ENTER and the last instruction before LEAVE the kernel diverts a thread that was
 * preempted, migrated or interrupted by a signal to the abort address. Nothing has been counted
 * then, and the operation takes its slow path instead of trying again. So each ends after one
 * attempt, even under a debugger that steps through it.
 */
#ifndef FASTMM_COUNTER_RSEQ_H
#define FASTMM_COUNTER_RSEQ_H

#include <fastmm/base.h>

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#    define FASTMM_COUNTER_RSEQ 1
#endif

#define FASTMM_COUNTER_EPOCH      2
#define FASTMM_COUNTER_NAME(name) FASTMM_EPOCH_NAME(name, FASTMM_COUNTER_EPOCH)

/*
 * Bytes from one CPU's slots to the next CPU's: a page plus a line. With exactly a page all slots
 * of a counter would fall into one cache set, and a sum would take twice as long.
 */
#define FASTMM_COUNTER_STRIDE 4160

FASTMM_BEGIN_DECLS

/*
 * What adds and sums have to know of this process, written before the first slot pointer is. `id`
 * is where a thread's id is, from its thread pointer; the rseq area around it is aligned, so that
 * one load finds both. `ids` is the number of rows in use and grows: an add from a CPU at or above
 * it takes the slow path, which opens all rows up to its own for the next one. So rows above those
 * of CPUs that counted are never touched, not even by sums. Shards are all in use at once. Every
 * add reads this, so nothing that is written shares its line.
 */
struct fastmm_counter_hot {
    intptr_t id;
    uint32_t ids;
} __attribute__((aligned(64)));

extern FASTMM_API struct fastmm_counter_hot FASTMM_COUNTER_NAME(fastmm_counter_hot);

/* What rseq areas are aligned to, by the kernel's rule. */
#define FASTMM_COUNTER_AREA_ALIGN 32

#ifdef FASTMM_COUNTER_RSEQ

/* For FASTMM_COUNTER_OPERANDS(). */
FASTMM_INLINE intptr_t fastmm_counter_id_offset(void)
{
    return __atomic_load_n(&FASTMM_COUNTER_NAME(fastmm_counter_hot).id, __ATOMIC_RELAXED);
}

/*
 * Ends with the offset of this CPU's row in %rax, or goes to the label `slow`.
 *
 * The flag '?' puts the pushed sections into the group of the function, so that the linker drops
 * them together with a duplicate C++ inline function. 0x53053053 is the signature that libc
 * registered; the bytes before it make it an undefined instruction with an operand. Offset 8 is the
 * pointer to the critical section's descriptor.
 *
 * A thread that is not registered has a negative cpu_id, which the bounds check refuses, but its
 * concurrency id reads 0. There is none beside registered ones: glibc ends the process when the
 * registration of a further thread fails.
 */
#    define FASTMM_COUNTER_ENTER                              \
        ".pushsection __rseq_cs, \"aw?\", @progbits\n\t"      \
        ".balign 32\n"                                        \
        "77:\n\t"                                             \
        ".long 0, 0\n\t"                                      \
        ".quad 71f, 72f - 71f, 74f\n\t"                       \
        ".popsection\n\t"                                     \
        ".pushsection __rseq_failure, \"ax?\", @progbits\n\t" \
        ".byte 0x0f, 0xb9, 0x3d\n\t"                          \
        ".long 0x53053053\n"                                  \
        "74:\n\t"                                             \
        "jmp %l[slow]\n\t"                                    \
        ".popsection\n\t"                                     \
        "leaq 77b(%%rip), %%rax\n\t"                          \
        "movq %%rax, %%fs:8(%[rseq])\n"                       \
        "71:\n\t"                                             \
        "movl %%fs:(%[id]), %%eax\n\t"                        \
        "cmpl %[ids], %%eax\n\t"                              \
        "jae %l[slow]\n\t"                                    \
        "imulq %[stride], %%rax, %%rax\n\t"

/* Behind the committing instruction. Code that is inside no sequence may be unloaded. */
#    define FASTMM_COUNTER_LEAVE \
        "72:\n\t"                \
        "movq $0, %%fs:8(%[rseq])\n\t"

/* The operands that ENTER and LEAVE name. */
#    define FASTMM_COUNTER_OPERANDS(offset)                                            \
        [id] "r"(offset), [rseq] "r"((offset) & -(intptr_t)FASTMM_COUNTER_AREA_ALIGN), \
            [ids] "m"(FASTMM_COUNTER_NAME(fastmm_counter_hot).ids),                    \
            [stride] "i"(FASTMM_COUNTER_STRIDE)

#endif

FASTMM_END_DECLS

#endif
