/* SPDX-License-Identifier: MIT */
/*
 * A program whose malloc counts, limits, copies and clears by the library, in its very first call:
 * before any constructor has run, in threads that are being made, and behind the last destructor.
 * The books kept beside must agree at each of these moments.
 */
#include <errno.h>
#include <fastmm/copy.h>
#include <fastmm/counter.h>
#include <fastmm/quota.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAP = 32 << 20, LIMIT = 24 << 20, HEADER = 16, THREADS = 4, ROUNDS = 2000 };
enum { CALLS, BYTES, FIGURES };

static struct fastmm_counter_group2 counted = FASTMM_COUNTER_GROUP_INIT(FIGURES);
static struct fastmm_quota limit = FASTMM_QUOTA_INIT(LIMIT, 4096);
static int64_t calls, bytes, in_use; /* the books */
static unsigned char heap[HEAP] __attribute__((aligned(64)));
static size_t given;
static int switched;

/* ---- The allocator. What is freed is not used again: this is about counting. ---- */

/* The compiler knows where a block of malloc() begins, and takes what lies before it for a mistake.
 */
static size_t *size_of(void *p)
{
    __asm__("" : "+r"(p));
    return (size_t *)(void *)((unsigned char *)p - HEADER);
}

void *malloc(size_t n)
{
    size_t room = (n + HEADER + 15) & ~(size_t)15;
    if (n > LIMIT || !fastmm_quota_add(&limit, (int64_t)room)) {
        errno = ENOMEM;
        return NULL;
    }
    size_t at = __atomic_fetch_add(&given, room, __ATOMIC_RELAXED);
    if (at + room > HEAP)
        _exit(9);
    fastmm_counter_group_inc(&counted.group, CALLS);
    fastmm_counter_group_add(&counted.group, BYTES, (int64_t)room);
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&bytes, (int64_t)room, __ATOMIC_RELAXED);
    __atomic_fetch_add(&in_use, (int64_t)room, __ATOMIC_RELAXED);
    void *p = heap + at + HEADER;
    *size_of(p) = room;
    return p;
}

void free(void *p)
{
    if (!p)
        return;
    int64_t room = (int64_t)*size_of(p);
    __atomic_fetch_sub(&in_use, room, __ATOMIC_RELAXED);
    fastmm_quota_return(&limit, room);
}

void *calloc(size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total))
        total = PTRDIFF_MAX;
    void *p = malloc(total);
    return p ? fastmm_clear(p, total) : NULL;
}

void *realloc(void *old, size_t n)
{
    void *p = malloc(n);
    if (p && old) {
        size_t held = *size_of(old) - HEADER;
        fastmm_copy(p, old, held < n ? held : n);
        free(old);
    }
    return p;
}

/* ---- Its uses ---- */

static void expect(int ok, const char *what)
{
    if (ok)
        return;
    if (write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

static void agree(const char *when)
{
    expect(fastmm_counter_group_sum(&counted.group, CALLS) == calls &&
               fastmm_counter_group_sum(&counted.group, BYTES) == bytes &&
               fastmm_quota_used(&limit) == in_use,
           when);
}

static void use(void)
{
    unsigned char *p = calloc(100, 10);
    expect(p && p[0] == 0 && p[999] == 0, "calloc");
    for (unsigned i = 0; i < 1000; i++)
        p[i] = (unsigned char)i;
    p = realloc(p, 5000);
    expect(p && p[1] == 1 && p[999] == (999 & 255), "realloc");
    free(p);
}

/* Before the constructors of any object. */
static void first(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    (void)environment;
    use();
    agree("before constructors");
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **,
                                                                            char **) = first;

__attribute__((destructor(101))) static void last(void)
{
    use();
    agree("in the last destructor");
    expect(switched == 0 || switched == -ENOTSUP, "no switch");
}

static void *work(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        free(malloc(16 + i % 500));
    return unused;
}

static void fill_up(void)
{
    static void *p[LIMIT / (1 << 20) + 2]; /* one more than there can be, and one that fails */
    unsigned n = 0;
    while (n + 1 < sizeof(p) / sizeof(p[0]) && (p[n] = malloc(1 << 20)))
        n++;
    expect(n > 0 && p[n] == NULL && errno == ENOMEM && !malloc(PTRDIFF_MAX), "the limit");
    agree("at the limit");
    while (n > 0)
        free(p[--n]);
}

int main(void)
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        expect(pthread_create(&threads[i], NULL, work, NULL) == 0, "pthread_create");
        if (i == 0) {
            switched = fastmm_counter_group_percpu(&counted.group);
            if (switched == 0)
                switched = fastmm_quota_percpu(&limit);
        }
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    agree("after threads");
    fill_up();
    agree("after the limit");
    return 0;
}
