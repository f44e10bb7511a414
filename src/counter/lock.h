/* SPDX-License-Identifier: MIT */
/*
 * A lock of one word that sleeps in the kernel. libc's mutexes may call into code that a sanitizer
 * or an allocator has replaced; this one is two system calls at most and can be reset in a child.
 */
#ifndef FASTMM_COUNTER_LOCK_H
#define FASTMM_COUNTER_LOCK_H

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCK_FREE, LOCK_HELD, LOCK_CONTENDED };

static inline void lock_take(uint32_t *lock)
{
    uint32_t seen = LOCK_FREE;
    if (__atomic_compare_exchange_n(lock, &seen, LOCK_HELD, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    int callers_errno = errno;
    while (__atomic_exchange_n(lock, LOCK_CONTENDED, __ATOMIC_ACQUIRE) != LOCK_FREE)
        syscall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, LOCK_CONTENDED, NULL);
    errno = callers_errno;
}

static inline void lock_give(uint32_t *lock)
{
    if (__atomic_exchange_n(lock, LOCK_FREE, __ATOMIC_RELEASE) == LOCK_CONTENDED)
        syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}

#endif
