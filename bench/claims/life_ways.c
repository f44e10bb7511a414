/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "life_ways.h"

#include <fastmm/bounded.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What different CPUs write lies two lines apart: the prefetcher takes lines in pairs, so that less
 * would measure where the allocator puts things.
 */
enum { LINE = 128, TASK_EVENTS = 64 };

/* What a task holds back, the 6.1 way. */
struct task {
    int64_t held[LIFE_COUNTERS];
    unsigned events;
} __attribute__((aligned(LINE)));

struct slot {
    int64_t value[LIFE_COUNTERS];
} __attribute__((aligned(LINE)));

struct life_space {
    union {
        int64_t word[LIFE_COUNTERS];
        struct fastmm_counter_bounded bounded[LIFE_COUNTERS];
        struct fastmm_counter_group4 group;
    };
    struct slot *slots;
    int64_t batch;
    unsigned cpus;
    uint32_t lock;
    struct life_space *next, *before; /* in the list of all per-CPU counters */
    unsigned threads;
    struct task *tasks;
};

static void lock(uint32_t *word)
{
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(word, __ATOMIC_RELAXED))
            ;
}

static void unlock(uint32_t *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

/* --- A slot for each CPU -----------------------------------------------------------------------
 */

/* A CPU that goes away has its slots folded, so that all per-CPU counters are found in a list. */
static struct life_space list = {.next = &list, .before = &list};
static uint32_t list_lock;

static unsigned cpu_count(void)
{
    static unsigned cpus;
    if (!cpus)
        cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    return cpus;
}

static bool percpu_init(struct life_space *s)
{
    s->cpus = cpu_count();
    s->batch = s->cpus > 16 ? 2 * (int64_t)s->cpus : 32;
    s->lock = 0;
    s->slots = aligned_alloc(LINE, s->cpus * sizeof(*s->slots));
    if (!s->slots)
        return false;
    memset(s->slots, 0, s->cpus * sizeof(*s->slots));
    memset(s->word, 0, sizeof(s->word));
    lock(&list_lock);
    s->next = list.next;
    s->before = &list;
    list.next->before = s;
    list.next = s;
    unlock(&list_lock);
    return true;
}

/* Threads are bound to CPUs, so a thread's number stands for its CPU's. */
static inline void percpu_add(struct life_space *s, unsigned thread, unsigned which, int64_t v)
{
    int64_t *slot = &s->slots[thread % s->cpus].value[which], value = *slot + v;
    if (__builtin_expect(value >= s->batch || value <= -s->batch, 0)) {
        lock(&s->lock);
        s->word[which] += value;
        unlock(&s->lock);
        value = 0;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELAXED);
}

static int64_t percpu_sum(const struct life_space *s, unsigned which)
{
    int64_t sum = s->word[which];
    for (unsigned cpu = 0; cpu < s->cpus; cpu++)
        sum += __atomic_load_n(&s->slots[cpu].value[which], __ATOMIC_RELAXED);
    return sum;
}

static void percpu_exit(struct life_space *s)
{
    lock(&list_lock);
    s->next->before = s->before;
    s->before->next = s->next;
    unlock(&list_lock);
    free(s->slots);
}

static int64_t percpu_bound(const struct life_space *s)
{
    return (s->batch - 1) * s->cpus;
}

/* --- One atomic word each ----------------------------------------------------------------------
 */

static bool atomic_init(struct life_space *s)
{
    memset(s->word, 0, sizeof(s->word));
    return true;
}

static inline void atomic_add(struct life_space *s, unsigned thread, unsigned which, int64_t v)
{
    (void)thread;
    __atomic_fetch_add(&s->word[which], v, __ATOMIC_RELAXED);
}

static int64_t atomic_sum(const struct life_space *s, unsigned which)
{
    return __atomic_load_n(&s->word[which], __ATOMIC_RELAXED);
}

static void nothing_to_exit(struct life_space *s)
{
    (void)s;
}

static int64_t no_error(const struct life_space *s)
{
    (void)s;
    return 0;
}

/* --- Batches of a task -------------------------------------------------------------------------
 */

static bool task_init(struct life_space *s)
{
    memset(s->word, 0, sizeof(s->word));
    memset(s->tasks, 0, s->threads * sizeof(s->tasks[0]));
    return true;
}

static void task_flush(struct life_space *s, struct task *task)
{
    for (unsigned i = 0; i < LIFE_COUNTERS; i++)
        if (task->held[i]) {
            __atomic_fetch_add(&s->word[i], task->held[i], __ATOMIC_RELAXED);
            task->held[i] = 0;
        }
    task->events = 0;
}

static inline void task_add(struct life_space *s, unsigned thread, unsigned which, int64_t v)
{
    struct task *task = &s->tasks[thread];
    __atomic_store_n(&task->held[which], task->held[which] + v, __ATOMIC_RELAXED);
    if (__builtin_expect(task->events++ > TASK_EVENTS, 0))
        task_flush(s, task);
}

static int64_t task_sum(const struct life_space *s, unsigned which)
{
    int64_t sum = s->word[which];
    for (unsigned t = 0; t < s->threads; t++)
        sum += s->tasks[t].held[which];
    return sum;
}

static int64_t task_bound(const struct life_space *s)
{
    return (int64_t)(TASK_EVENTS + 1) * s->threads;
}

/* --- This library's ----------------------------------------------------------------------------
 */

static bool bounded_init(struct life_space *s)
{
    bool made = true;
    for (unsigned i = 0; i < LIFE_COUNTERS; i++)
        made &= fastmm_counter_bounded_init(&s->bounded[i], 32) == 0;
    return made;
}

static inline void bounded_add(struct life_space *s, unsigned thread, unsigned which, int64_t v)
{
    (void)thread;
    fastmm_counter_bounded_add(&s->bounded[which], v);
}

static int64_t bounded_sum(const struct life_space *s, unsigned which)
{
    return fastmm_counter_bounded_sum(&s->bounded[which]);
}

static void bounded_exit(struct life_space *s)
{
    for (unsigned i = 0; i < LIFE_COUNTERS; i++)
        fastmm_counter_bounded_destroy(&s->bounded[i]);
}

static int64_t bounded_bound(const struct life_space *s)
{
    return fastmm_counter_bounded_error(&s->bounded[0]);
}

static bool bounded_grow(struct life_space *s)
{
    for (unsigned i = 0; i < LIFE_COUNTERS; i++)
        if (fastmm_counter_bounded_percpu(&s->bounded[i]) != 0)
            return false;
    return true;
}

static bool hybrid_init(struct life_space *s)
{
    return fastmm_counter_group_init(&s->group.group, LIFE_COUNTERS) == 0;
}

static inline void hybrid_add(struct life_space *s, unsigned thread, unsigned which, int64_t v)
{
    (void)thread;
    fastmm_counter_group_add(&s->group.group, which, v);
}

static int64_t hybrid_sum(const struct life_space *s, unsigned which)
{
    return fastmm_counter_group_sum(&s->group.group, which);
}

static void hybrid_exit(struct life_space *s)
{
    fastmm_counter_group_destroy(&s->group.group);
}

static bool hybrid_grow(struct life_space *s)
{
    return fastmm_counter_group_percpu(&s->group.group) == 0;
}

static bool no_need_to_grow(struct life_space *s)
{
    (void)s;
    return true;
}

/* --- Reading without a sum ---------------------------------------------------------------------
 */

static int64_t word_read(const struct life_space *s)
{
    return __atomic_load_n(&s->word[0], __ATOMIC_RELAXED);
}

static int64_t bounded_read(const struct life_space *s)
{
    return fastmm_counter_bounded_read(&s->bounded[0]);
}

static int64_t hybrid_read(const struct life_space *s)
{
    return hybrid_sum(s, 0);
}

/* --- What happens ------------------------------------------------------------------------------
 */

static struct life_space *space_open(unsigned threads, bool (*init)(struct life_space *s),
                                     bool (*grow)(struct life_space *s),
                                     void (*leave)(struct life_space *s))
{
    const size_t head = (sizeof(struct life_space) + LINE - 1) & ~(size_t)(LINE - 1);
    struct life_space *s = aligned_alloc(LINE, head + threads * sizeof(struct task));
    if (!s)
        return NULL;
    memset(s, 0, head);
    s->threads = threads;
    s->tasks = (struct task *)(void *)((char *)s + head);
    if (init(s)) {
        if (threads < 2 || grow(s))
            return s;
        leave(s);
    }
    free(s);
    return NULL;
}

/*
 * The entries of each table are counted at once when they are copied and when they go, those of a
 * fault one at a time; at the end the counters are looked at, as an exiting address space does.
 */
#define DEFINE_LIVE(p, way, again)                                                     \
    PLACED(p, "claim_text")                                                            \
    static int64_t way##_live##again##_##p(const struct life_job *job, uint64_t lives) \
    {                                                                                  \
        static struct task task;                                                       \
        static struct life_space space = {.threads = 1, .tasks = &task};               \
        struct life_space *s = &space;                                                 \
        int64_t left = 0;                                                              \
        while (lives--)                                                                \
            for (unsigned n = 0; n < job->spaces; n++) {                               \
                if (!way##_init(s))                                                    \
                    abort();                                                           \
                for (unsigned t = 0; t < job->tables; t++)                             \
                    way##_add(s, 0, t % 2, 64);                                        \
                for (unsigned f = 0; f < job->faults; f++)                             \
                    way##_add(s, 0, f % 2, 1);                                         \
                for (unsigned t = 0; t < job->tables; t++)                             \
                    way##_add(s, 0, t % 2, -64);                                       \
                way##_add(s, 0, 0, -(int64_t)((job->faults + 1) / 2));                 \
                way##_add(s, 0, 1, -(int64_t)(job->faults / 2));                       \
                for (unsigned i = 0; i < LIFE_COUNTERS; i++)                           \
                    left |= way##_sum(s, i);                                           \
                way##_exit(s);                                                         \
            }                                                                          \
        return left;                                                                   \
    }
#define DEFINE_STORM(p, way, again)                                                              \
    PLACED(p, "claim_text")                                                                      \
    static void way##_storm##again##_##p(struct life_space *s, unsigned thread, uint64_t faults) \
    {                                                                                            \
        while (faults--) {                                                                       \
            way##_add(s, thread, 0, 1);                                                          \
            __asm__ volatile("" : : : "memory");                                                 \
        }                                                                                        \
    }
#define NAME_LIVE(p, way, again)  way##_live##again##_##p,
#define NAME_STORM(p, way, again) way##_storm##again##_##p,

#define DEFINE_WAY(way, again)              \
    EACH_PLACEMENT(DEFINE_LIVE, way, again) \
    EACH_PLACEMENT(DEFINE_STORM, way, again)
#define DEFINE_SPACE(way, grow)                                   \
    static struct life_space *way##_open(unsigned threads)        \
    {                                                             \
        return space_open(threads, way##_init, grow, way##_exit); \
    }                                                             \
    static int64_t way##_exact(const struct life_space *s)        \
    {                                                             \
        return way##_sum(s, 0);                                   \
    }                                                             \
    static void way##_close(struct life_space *s)                 \
    {                                                             \
        way##_exit(s);                                            \
        free(s);                                                  \
    }
#define WAY(way, again, read, bound)                                                       \
    {                                                                                      \
        {EACH_PLACEMENT(NAME_LIVE, way, again)}, {EACH_PLACEMENT(NAME_STORM, way, again)}, \
            way##_open, way##_close, read, bound, way##_exact                              \
    }

/* clang-format off */
#define atomic_exit nothing_to_exit
#define task_exit   nothing_to_exit
DEFINE_WAY(percpu, )
DEFINE_WAY(percpu, _again)
DEFINE_WAY(atomic, )
DEFINE_WAY(task, )
DEFINE_WAY(bounded, )
DEFINE_WAY(hybrid, )
DEFINE_SPACE(percpu, no_need_to_grow)
DEFINE_SPACE(atomic, no_need_to_grow)
DEFINE_SPACE(task, no_need_to_grow)
DEFINE_SPACE(bounded, bounded_grow)
DEFINE_SPACE(hybrid, hybrid_grow)

const struct life_methods life_ways[LIFE_WAYS] = {
    WAY(percpu, , word_read, percpu_bound),
    WAY(percpu, _again, word_read, percpu_bound),
    WAY(atomic, , word_read, no_error),
    WAY(task, , word_read, task_bound),
    WAY(bounded, , bounded_read, bounded_bound),
    WAY(hybrid, , hybrid_read, no_error),
};
const char *const life_way_names[LIFE_WAYS] = {"percpu", "percpu_again", "atomic",
                                               "task",   "bounded",      "hybrid"};
/* clang-format on */
