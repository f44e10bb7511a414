/* SPDX-License-Identifier: MIT */
/*
 * Exact counters that cost one word while they are quiet and scale when they are not.
 *
 * A counter starts in atomic mode: one 64-bit word, no allocation, a plain add while the process
 * has one thread and a locked one afterwards. The caller may switch it to per-CPU mode at any
 * time, under fire: adds then go to a slot of their own CPU with one unlocked instruction inside
 * a restartable sequence (rseq). A group holds up to 8 counters that share one slot pointer, so
 * that a group of 4 is 40 bytes.
 *
 *     struct fastmm_counter hits = FASTMM_COUNTER_INIT;
 *     fastmm_counter_percpu(&hits);          // when it turns hot; optional, may fail
 *     fastmm_counter_inc(&hits);
 *     int64_t n = fastmm_counter_sum(&hits);
 *
 *     struct fastmm_counter_group4 rss = FASTMM_COUNTER_GROUP_INIT(4);
 *     fastmm_counter_group_add(&rss.group, 2, 512);
 *
 * THE CONTRACT
 *
 * Value. A counter is 64 bits and wraps; no amount is refused. value = base word + the counter's
 * slot of every CPU. Slots are never drained, moved or zeroed while they are in use.
 *
 * Exactness. Each completed add is counted exactly once, and one that overlaps a sum at most once:
 * in every mode, during a switch, under preemption, migration, signals, thread exit and fork. For
 * adds of one sign, sums never run backwards and lie between the true values at their start and
 * their end. With mixed signs a sum beside running adds is no snapshot: it may see a -1 and not
 * the +1 before it.
 *
 * Ordering. Adds are relaxed: they order no other memory. A sum sees every add that happened
 * before it.
 *
 *   call                 may run beside            signal    after fork, in the child
 *                                                  handler
 *   add sub inc dec      everything but E          yes       yes
 *   add_foreign          everything but E          yes       yes
 *   sum sums sum_positive  everything but E        yes       yes
 *   take                 everything but E          yes       yes
 *   percpu, groups_percpu  everything but E        yes (1)   yes
 *   set                  nothing on that counter (E)         yes
 *   atomic               nothing on that group (E)           yes
 *   init destroy         nothing on that group (E)           yes
 *   held trim get_mechanism  everything                yes (1)   yes
 *   use_mechanism, set_memory  nothing in the library        yes
 *
 *   (1) if the memory functions allow it; the built-in ones (mmap, munmap) do.
 *
 * - No call takes a lock, so there is nothing to do around fork(). The child owns a copy with the
 *   value of the moment; a slot that another thread was about to install stays unused there.
 * - All of libc's threads are registered for rseq or none is; none may take its registration away.
 * - A vfork() child must not call: its CPU number is stale and the memory is its parent's.
 * - Threads that libc does not know of (raw clone) must use add_foreign, and so must all others on
 *   a counter that such threads share, until __libc_single_threaded is 0.
 * - A signal handler must not create the first thread: the add that it interrupts may just have
 *   found that there is none, and be a plain one.
 * - All calls on a group go through one copy of the library. Two copies in one process (both linked
 *   statically into objects of their own) count side by side, each with a mechanism and slots of
 *   its own.
 * - A counter belongs to one process. In memory shared by processes only add_foreign and the sums
 *   are right, and only in atomic mode.
 * - Usable before any constructor and in static destructors: nothing needs an initialisation.
 * - Code that inlines an add may be unloaded when no thread is inside it: the thread's
 *   critical-section pointer is cleared behind every add. It is the only field of the rseq area
 *   that is written.
 * - After destroy a group refuses percpu and a second destroy with -EINVAL; an add to it is lost.
 *   Where FASTMM_CHECKED is defined (the CMake option of that name) each inline call reports both,
 *   and a counter number outside its group: see fastmm_counter_set_handler().
 *   Destroying while threads add is a caller's error that is not detected: the slot may already
 *   belong to another group.
 *
 * Mechanism. Concurrency ids where the kernel has them, else CPU ids, through rseq as libc has
 * registered it. A thread without a valid id, one outside the table or a sequence that was
 * interrupted adds to the base word. Without rseq (old kernel or libc, tunable, seccomp, emulator)
 * slots are chosen by thread and added to with locked instructions: no system call, same results.
 * One mechanism is fixed for the process when the first group is switched;
 * fastmm_counter_get_mechanism() tells which, and why. To fix it, a file in /sys is opened: where a
 * sandbox kills for that, call fastmm_counter_use_mechanism(FASTMM_COUNTER_UNDECIDED) before.
 *
 * Inline functions have exported twins with the suffix _call.
 *
 * Layout. Atomic-mode counters are packed: neighbours share cache lines, and so do the counters of
 * a group. Hot ones belong in per-CPU mode or on lines of their own (FASTMM_COUNTER_ALIGNED).
 * Slots of different CPUs never share a line; those of one group on one CPU share exactly one.
 */
#ifndef FASTMM_COUNTER_H
#define FASTMM_COUNTER_H

#include <fastmm/base.h>

/* The most counters that a group can hold: one cache line of slots. */
#define FASTMM_COUNTER_GROUP_MAX 8

/*
 * The head of every group; the base words follow it directly. `slots` is the number of counters in
 * atomic mode, the address of the first CPU's slots in per-CPU mode (with the top bit set where
 * they are shared by threads), 0 after destroy.
 */
struct fastmm_counter_group {
    uintptr_t slots;
};

/* A lone counter is a group of one. */
struct fastmm_counter {
    struct fastmm_counter_group group;
    int64_t base[1];
};

struct fastmm_counter_group1 {
    struct fastmm_counter_group group;
    int64_t base[1];
};
struct fastmm_counter_group2 {
    struct fastmm_counter_group group;
    int64_t base[2];
};
struct fastmm_counter_group3 {
    struct fastmm_counter_group group;
    int64_t base[3];
};
struct fastmm_counter_group4 {
    struct fastmm_counter_group group;
    int64_t base[4];
};
struct fastmm_counter_group5 {
    struct fastmm_counter_group group;
    int64_t base[5];
};
struct fastmm_counter_group6 {
    struct fastmm_counter_group group;
    int64_t base[6];
};
struct fastmm_counter_group7 {
    struct fastmm_counter_group group;
    int64_t base[7];
};
struct fastmm_counter_group8 {
    struct fastmm_counter_group group;
    int64_t base[8];
};

/* Static initialisers: all values 0, atomic mode. A group of n needs GROUP_INIT(n). */
/* clang-format off */
#define FASTMM_COUNTER_INIT         {{1}, {0}}
#define FASTMM_COUNTER_GROUP_INIT(n) {{n}, {0}}
/* clang-format on */

/* For an atomic-mode counter that deserves a cache line of its own. */
#define FASTMM_COUNTER_ALIGNED __attribute__((aligned(64)))

FASTMM_BEGIN_DECLS

/* ---- Groups ------------------------------------------------------------------------------- */

/*
 * Makes a group of n counters in atomic mode, all 0. The memory behind g must have room for n base
 * words (struct fastmm_counter_group<n>). Allocates nothing. -EINVAL: n is 0 or above 8.
 */
FASTMM_INLINE int fastmm_counter_group_init(struct fastmm_counter_group *g, unsigned n);

/* Gives the slots back. -EINVAL: not initialised, or destroyed before. */
FASTMM_INLINE int fastmm_counter_group_destroy(struct fastmm_counter_group *g);

/* Adds v to counter i (i < n, unchecked). */
FASTMM_INLINE void fastmm_counter_group_add(struct fastmm_counter_group *g, unsigned i, int64_t v);
FASTMM_INLINE void fastmm_counter_group_sub(struct fastmm_counter_group *g, unsigned i, int64_t v);
FASTMM_INLINE void fastmm_counter_group_inc(struct fastmm_counter_group *g, unsigned i);
FASTMM_INLINE void fastmm_counter_group_dec(struct fastmm_counter_group *g, unsigned i);

/* Adds from any thread, known to libc or not: always a locked add to the base word. */
FASTMM_INLINE void fastmm_counter_group_add_foreign(struct fastmm_counter_group *g, unsigned i,
                                                    int64_t v);

/* The exact value of counter i. */
FASTMM_INLINE int64_t fastmm_counter_group_sum(const struct fastmm_counter_group *g, unsigned i);

/* The same, but 0 instead of a negative value, which mixed signs can show for a moment. */
FASTMM_API int64_t fastmm_counter_group_sum_positive(const struct fastmm_counter_group *g,
                                                     unsigned i);

/* The exact values of all n counters, in one pass over the slots. `out` has room for n. */
FASTMM_API void fastmm_counter_group_sums(const struct fastmm_counter_group *g, int64_t *out);

/* Makes counter i read v. Exclusive: no other call on this counter may run beside it. */
FASTMM_API void fastmm_counter_group_set(struct fastmm_counter_group *g, unsigned i, int64_t v);

/*
 * Returns the value and leaves the counter at the rest: what is returned is subtracted in one
 * step, so that nothing added meanwhile is lost and what all takers got plus what is left is
 * what was added. Takers beside each other take effect one after the other, without waiting: one of
 * them always succeeds and the others try again. With adds of one sign none takes too much.
 */
FASTMM_API int64_t fastmm_counter_group_take(struct fastmm_counter_group *g, unsigned i);

/*
 * Switches to per-CPU mode, online. 0 also when it is there already. -ENOMEM: no memory for slots,
 * or as many are in use as there can be (4 million counters, or half a million groups of 5 to 8);
 * the group stays atomic and keeps its values. -EINVAL: not initialised.
 */
FASTMM_API int fastmm_counter_group_percpu(struct fastmm_counter_group *g);

/*
 * Back to atomic mode, values kept, slots given back. Exclusive. 0 also when it is there already.
 * -EINVAL: not initialised.
 */
FASTMM_API int fastmm_counter_group_atomic(struct fastmm_counter_group *g);

/* The number of counters in the group; 0 when it is not initialised. */
FASTMM_API unsigned fastmm_counter_group_size(const struct fastmm_counter_group *g);

/* ---- A lone counter ----------------------------------------------------------------------- */

FASTMM_INLINE int fastmm_counter_init(struct fastmm_counter *c);
FASTMM_INLINE int fastmm_counter_destroy(struct fastmm_counter *c);
FASTMM_INLINE void fastmm_counter_add(struct fastmm_counter *c, int64_t v);
FASTMM_INLINE void fastmm_counter_sub(struct fastmm_counter *c, int64_t v);
FASTMM_INLINE void fastmm_counter_inc(struct fastmm_counter *c);
FASTMM_INLINE void fastmm_counter_dec(struct fastmm_counter *c);
FASTMM_INLINE void fastmm_counter_add_foreign(struct fastmm_counter *c, int64_t v);
FASTMM_INLINE int64_t fastmm_counter_sum(const struct fastmm_counter *c);
FASTMM_INLINE int64_t fastmm_counter_sum_positive(const struct fastmm_counter *c);
FASTMM_INLINE void fastmm_counter_set(struct fastmm_counter *c, int64_t v);
FASTMM_INLINE int64_t fastmm_counter_take(struct fastmm_counter *c);
FASTMM_INLINE int fastmm_counter_percpu(struct fastmm_counter *c);
FASTMM_INLINE int fastmm_counter_atomic(struct fastmm_counter *c);

/* ---- Many at once ------------------------------------------------------------------------- */

/*
 * `first` heads an array of `count` groups of n counters each, 8 + 8 * n bytes apart (an array of
 * struct fastmm_counter_group<n>, or of struct fastmm_counter with n = 1).
 */
FASTMM_API int fastmm_counter_groups_init(struct fastmm_counter_group *first, unsigned n,
                                          size_t count);
/* -EINVAL if any of them was not alive; the others are destroyed all the same. */
FASTMM_API int fastmm_counter_groups_destroy(struct fastmm_counter_group *first, unsigned n,
                                             size_t count);

/*
 * Switches the groups that the array points to, in order: for the moment when the second thread
 * arrives. On an error those before the failing one are per-CPU, that one and those after it are
 * as they were: all of them count on, and a repeated call continues.
 */
FASTMM_API int fastmm_counter_groups_percpu(struct fastmm_counter_group *const *groups,
                                            size_t count);

/* ---- The process -------------------------------------------------------------------------- */

enum fastmm_counter_mechanism_kind {
    FASTMM_COUNTER_UNDECIDED, /* no group was switched yet; to choose: whatever is best */
    FASTMM_COUNTER_RSEQ_MM_CID,
    FASTMM_COUNTER_RSEQ_CPU_ID,
    FASTMM_COUNTER_THREAD_SHARDS, /* slots by thread, locked adds */
};

struct fastmm_counter_mechanism {
    enum fastmm_counter_mechanism_kind kind;
    unsigned slots;     /* rows of the slot table: possible CPUs, or shards */
    unsigned used;      /* rows in which something may have been counted */
    const char *reason; /* why this kind, one static line */
};

/* What is fixed for this process, or UNDECIDED. Never fails. */
FASTMM_API void fastmm_counter_get_mechanism(struct fastmm_counter_mechanism *out);

/*
 * Fixes the mechanism now instead of at the first switch. -EBUSY: another is fixed already;
 * -ENOTSUP: not to be had here; -EINVAL: no such kind.
 */
FASTMM_API int fastmm_counter_use_mechanism(enum fastmm_counter_mechanism_kind kind);

/* Bytes of address space that the slot table holds. Untouched pages of it cost no memory. */
FASTMM_API size_t fastmm_counter_held(void);

/* Gives back what no group uses; returns the bytes. */
FASTMM_API size_t fastmm_counter_trim(void);

/*
 * Where slots come from, instead of mmap. map() returns `bytes` of zeroed memory aligned to 4096
 * below the top half of the address space, or NULL; unmap() takes exactly such a piece back. Both
 * may be called by any thread that switches, destroys or trims. NULL restores mmap.
 * -EBUSY: memory is held already.
 */
struct fastmm_counter_memory {
    void *(*map)(size_t bytes, void *context);
    void (*unmap)(void *memory, size_t bytes, void *context);
    void *context;
};

FASTMM_API int fastmm_counter_set_memory(const struct fastmm_counter_memory *memory);

/* ---- Checking ----------------------------------------------------------------------------- */

enum fastmm_counter_fault {
    FASTMM_COUNTER_FAULT_DEAD,  /* destroyed before, or never initialised */
    FASTMM_COUNTER_FAULT_INDEX, /* the group has no such counter */
};

/* `group` is what heads the counter, bounded counter or quota in question. */
typedef void (*fastmm_counter_handler)(enum fastmm_counter_fault fault,
                                       const struct fastmm_counter_group *group, unsigned i);

/*
 * Sets what a checking build calls when it refuses a call, NULL for the default, which traps. When
 * the handler returns, the refused call does too, with nothing done: -EINVAL, 0 or "not added". It
 * runs in the caller's context, a signal handler perhaps. Returns the handler before.
 */
FASTMM_API fastmm_counter_handler fastmm_counter_set_handler(fastmm_counter_handler handler);

FASTMM_END_DECLS

#include <fastmm/counter_inline.h>

#endif
