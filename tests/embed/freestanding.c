/* SPDX-License-Identifier: MIT */
/*
 * The single file without a C library: this file has everything that it asks of its host, and a
 * start of its own. x86-64 only. docs/embedding.md lists what is supplied here. With
 * MEMORY_BY_FASTMM the memory routines are the library's.
 */
#include "fastmm.h"

#include <asm/prctl.h>
#include <asm/unistd.h>
#include <stdarg.h>

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
long syscall(long number, ...);
void *mmap(void *at, size_t bytes, int prot, int flags, int fd, long offset);
int munmap(void *p, size_t bytes);
int madvise(void *p, size_t bytes, int advice);
unsigned long getauxval(unsigned long type);
int *__errno_location(void);
void start(void);

/* More than one thread may exist: adds must not be plain. */
char __libc_single_threaded = 0;

static int error;

int *__errno_location(void)
{
    return &error;
}

static long raw(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long checked(long result)
{
    if (result >= 0 || result < -4095)
        return result;
    error = (int)-result;
    return -1;
}

long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    return checked(raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, long offset)
{
    return (void *)checked(raw(__NR_mmap, (long)at, (long)bytes, prot, flags, fd, offset));
}

int munmap(void *p, size_t bytes)
{
    return (int)checked(raw(__NR_munmap, (long)p, (long)bytes, 0, 0, 0, 0));
}

int madvise(void *p, size_t bytes, int advice)
{
    return (int)checked(raw(__NR_madvise, (long)p, (long)bytes, advice, 0, 0, 0));
}

/* 0: the kernel said nothing. */
unsigned long getauxval(unsigned long type)
{
    (void)type;
    return 0;
}

#ifdef MEMORY_BY_FASTMM

void *memmove(void *dst, const void *src, size_t n)
{
    return fastmm_move(dst, src, n);
}

void *memcpy(void *dst, const void *src, size_t n)
{
    return fastmm_copy(dst, src, n);
}

void *memset(void *dst, int value, size_t n)
{
    return fastmm_fill(dst, value, n);
}

#else

void *memmove(void *dst, const void *src, size_t n)
{
    volatile unsigned char *d = dst;
    const unsigned char *s = src;
    if ((uintptr_t)dst - (uintptr_t)src < n)
        while (n-- > 0)
            d[n] = s[n];
    else
        for (size_t i = 0; i < n; i++)
            d[i] = s[i];
    return dst;
}

void *memcpy(void *dst, const void *src, size_t n)
{
    return memmove(dst, src, n);
}

void *memset(void *dst, int value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile unsigned char *)dst)[i] = (unsigned char)value;
    return dst;
}

#endif

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *p = a, *q = b;
    for (size_t i = 0; i < n; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

static unsigned char from[70000], to[70000];

/* The line that failed, or 0. */
static int check(void)
{
    static struct fastmm_counter_group3 group = FASTMM_COUNTER_GROUP_INIT(3);
    static struct fastmm_quota quota = FASTMM_QUOTA_INIT(100, 10);
    fastmm_counter_group_add(&group.group, 1, 40);
    if (fastmm_counter_group_percpu(&group.group) != 0)
        return __LINE__;
    fastmm_counter_group_add(&group.group, 1, 2);
    if (fastmm_counter_group_sum(&group.group, 1) != 42)
        return __LINE__;
    if (fastmm_counter_group_destroy(&group.group) != 0 || fastmm_counter_trim() == 0)
        return __LINE__;
    if (!fastmm_quota_add(&quota, 100) || fastmm_quota_add(&quota, 1))
        return __LINE__;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i * 31 + 7);
    for (size_t n = 1; n < sizeof(from); n += n / 2 + 1) {
        fastmm_copy(to, from, n);
        if (memcmp(to, from, n) != 0)
            return __LINE__;
        fastmm_clear(to, n);
        if (to[0] != 0 || to[n - 1] != 0)
            return __LINE__;
    }
    return 0;
}

/* Threads are told apart by the thread pointer, as the ABI has it: a word that points to itself. */
void start(void)
{
    static void *thread[8];
    thread[0] = thread;
    raw(__NR_arch_prctl, ARCH_SET_FS, (long)thread, 0, 0, 0, 0);
    raw(__NR_exit_group, check() & 255, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tandq $-16, %rsp\n\tcall start\n");
