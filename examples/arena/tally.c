/* SPDX-License-Identifier: MIT */
#include "tally.h"

#include <check.h>
#include <errno.h>
#include <fastmm/counter.h>
#include <pthread.h>
#include <sys/mman.h>

#include "arena.h"

void *__real_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t bytes);
int __real_mprotect(void *p, size_t bytes, int prot);
int __real_madvise(void *p, size_t bytes, int advice);
void *__wrap_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t bytes);
int __wrap_mprotect(void *p, size_t bytes, int prot);
int __wrap_madvise(void *p, size_t bytes, int advice);

/* Pieces of address space, disjoint and in no order; `open` ones can be read and written. */
struct piece {
    uintptr_t start, end;
    int open;
};

enum { PIECES_MAX = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece pieces[PIECES_MAX];
static unsigned piece_count;
static unsigned calls, fail_first, fail_count;

static void put(uintptr_t start, uintptr_t end, int open)
{
    if (start >= end)
        return;
    if (piece_count == PIECES_MAX)
        ck_abort_msg("more pieces than the tally can hold");
    pieces[piece_count++] = (struct piece){start, end, open};
}

/* Cuts [start, end) out of the pieces; returns how many bytes of it were there. */
static size_t cut(uintptr_t start, uintptr_t end)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < piece_count;) {
        struct piece p = pieces[i];
        if (p.end <= start || p.start >= end) {
            i++;
            continue;
        }
        pieces[i] = pieces[--piece_count];
        put(p.start, start, p.open);
        put(end, p.end, p.open);
        bytes += (p.end < end ? p.end : end) - (p.start > start ? p.start : start);
    }
    return bytes;
}

static int fails(void)
{
    unsigned number = calls++;
    return number >= fail_first && number - fail_first < fail_count;
}

void *__wrap_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    pthread_mutex_lock(&lock);
    void *p = MAP_FAILED;
    if (fails())
        errno = ENOMEM;
    else
        p = __real_mmap(hint, bytes, prot, flags, fd, offset);
    /* The test frame's own mapping is shared memory. */
    if (p != MAP_FAILED && flags & MAP_PRIVATE)
        put((uintptr_t)p, (uintptr_t)p + bytes, prot != PROT_NONE);
    pthread_mutex_unlock(&lock);
    return p;
}

int __wrap_munmap(void *p, size_t bytes)
{
    pthread_mutex_lock(&lock);
    int result = -1;
    if (fails())
        errno = ENOMEM;
    else
        result = __real_munmap(p, bytes);
    if (result == 0)
        ck_assert_uint_eq(cut((uintptr_t)p, (uintptr_t)p + bytes), bytes);
    pthread_mutex_unlock(&lock);
    return result;
}

int __wrap_mprotect(void *p, size_t bytes, int prot)
{
    pthread_mutex_lock(&lock);
    int result = -1;
    if (fails())
        errno = ENOMEM;
    else
        result = __real_mprotect(p, bytes, prot);
    if (result == 0) {
        ck_assert_uint_eq(cut((uintptr_t)p, (uintptr_t)p + bytes), bytes);
        put((uintptr_t)p, (uintptr_t)p + bytes, prot != PROT_NONE);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int __wrap_madvise(void *p, size_t bytes, int advice)
{
    pthread_mutex_lock(&lock);
    int result = -1;
    if (fails())
        errno = ENOMEM;
    else
        result = __real_madvise(p, bytes, advice);
    pthread_mutex_unlock(&lock);
    return result;
}

static int64_t bytes_of(int open_only)
{
    pthread_mutex_lock(&lock);
    int64_t bytes = 0;
    for (unsigned i = 0; i < piece_count; i++)
        if (pieces[i].open || !open_only)
            bytes += (int64_t)(pieces[i].end - pieces[i].start);
    pthread_mutex_unlock(&lock);
    return bytes;
}

int64_t tally_mapped(void)
{
    return bytes_of(0);
}

int64_t tally_committed(void)
{
    return bytes_of(1);
}

unsigned tally_calls(void)
{
    return calls;
}

void tally_fail(unsigned number, unsigned more)
{
    fail_first = number;
    fail_count = more + 1;
}

void tally_reset(void)
{
    while (piece_count > 0) {
        struct piece p = pieces[--piece_count];
        __real_munmap((void *)p.start, p.end - p.start);
    }
    fail_first = fail_count = 0;
}

void tally_check(struct arena *a)
{
    struct arena_stats counted, walked;
    arena_get_stats(a, &counted);
    arena_audit(a, &walked);
    ck_assert_int_eq(counted.mapped, walked.mapped);
    ck_assert_int_eq(counted.committed, walked.committed);
    ck_assert_int_eq(counted.live_bytes, walked.live_bytes);
    ck_assert_int_eq(counted.allocations - counted.frees, walked.allocations);
    int64_t slots = (int64_t)fastmm_counter_held();
    ck_assert_int_eq(counted.mapped + slots, tally_mapped());
    ck_assert_int_eq(counted.committed + slots, tally_committed());
}
