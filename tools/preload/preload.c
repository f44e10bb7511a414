/* SPDX-License-Identifier: MIT */
/*
 * libfastmm-preload.so: libc's copies and fills in any program, replaced by this library's.
 *
 *     LD_PRELOAD=/path/to/libfastmm-preload.so command
 *
 * A program may call these before anything of it is initialised: resolvers of indirect functions
 * run while the loader still relocates, this object perhaps not yet among them. So until its
 * constructor has run, everything goes a way that needs no relocation and looks at nothing. The
 * object has no undefined symbols but the one that libc ends a program with, and calls itself only
 * by hidden names.
 *
 * Programs that hand overlapping blocks to memcpy() are wrong and get away with it, because libc's
 * is its memmove() on most machines. Here they do as well.
 */
#include <fastmm/copy.h>
#include <stdbool.h>

#define EXPORTED __attribute__((visibility("default")))

/* libc's own names, none of which may be a built-in here. */
EXPORTED void *memcpy(void *dst, const void *src, size_t n);
EXPORTED void *memmove(void *dst, const void *src, size_t n);
EXPORTED void *mempcpy(void *dst, const void *src, size_t n);
EXPORTED void *__mempcpy(void *dst, const void *src, size_t n);
EXPORTED void *memset(void *dst, int value, size_t n);
EXPORTED void bzero(void *dst, size_t n);
EXPORTED void *__memcpy_chk(void *dst, const void *src, size_t n, size_t room);
EXPORTED void *__memmove_chk(void *dst, const void *src, size_t n, size_t room);
EXPORTED void *__mempcpy_chk(void *dst, const void *src, size_t n, size_t room);
EXPORTED void *__memset_chk(void *dst, int value, size_t n, size_t room);

/* Reports the overflow and ends the program. */
extern void __chk_fail(void) __attribute__((noreturn));

static unsigned ready; /* reached without a relocation */

/* Looking at the CPU fills memory as well, and must not come back here for that. */
__attribute__((constructor(101))) static void set_ready(void)
{
    struct fastmm_copy_plan plan;
    fastmm_copy_plan_get(&plan);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

static inline bool is_ready(void)
{
    return FASTMM_LIKELY(__atomic_load_n(&ready, __ATOMIC_RELAXED));
}

static __attribute__((noinline, cold)) void *early_move(void *dst, const void *src, size_t n)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    if ((uintptr_t)to - (uintptr_t)from >= n) {
        for (size_t i = 0; i < n; i++) {
            to[i] = from[i];
            __asm__ volatile(""); /* no loop that the compiler knows by name */
        }
    } else {
        while (n--) {
            to[n] = from[n];
            __asm__ volatile("");
        }
    }
    return dst;
}

static __attribute__((noinline, cold)) void *early_fill(void *dst, int value, size_t n)
{
    unsigned char *to = dst;
    for (size_t i = 0; i < n; i++) {
        to[i] = (unsigned char)value;
        __asm__ volatile("");
    }
    return dst;
}

static inline __attribute__((always_inline)) void *move(void *dst, const void *src, size_t n)
{
    return is_ready() ? fastmm_move(dst, src, n) : early_move(dst, src, n);
}

static inline __attribute__((always_inline)) void *fill(void *dst, int value, size_t n)
{
    return is_ready() ? fastmm_fill(dst, value, n) : early_fill(dst, value, n);
}

void *memcpy(void *dst, const void *src, size_t n)
{
    return move(dst, src, n);
}

void *memmove(void *dst, const void *src, size_t n)
{
    return move(dst, src, n);
}

void *mempcpy(void *dst, const void *src, size_t n)
{
    return (char *)move(dst, src, n) + n;
}

void *__mempcpy(void *dst, const void *src, size_t n)
{
    return (char *)move(dst, src, n) + n;
}

void *memset(void *dst, int value, size_t n)
{
    return fill(dst, value, n);
}

void bzero(void *dst, size_t n)
{
    fill(dst, 0, n);
}

/* What a program compiled with _FORTIFY_SOURCE calls where the compiler knows the room. */
static inline __attribute__((always_inline)) void check(size_t n, size_t room)
{
    if (FASTMM_UNLIKELY(n > room))
        __chk_fail();
}

void *__memcpy_chk(void *dst, const void *src, size_t n, size_t room)
{
    check(n, room);
    return move(dst, src, n);
}

void *__memmove_chk(void *dst, const void *src, size_t n, size_t room)
{
    check(n, room);
    return move(dst, src, n);
}

void *__mempcpy_chk(void *dst, const void *src, size_t n, size_t room)
{
    check(n, room);
    return (char *)move(dst, src, n) + n;
}

void *__memset_chk(void *dst, int value, size_t n, size_t room)
{
    check(n, room);
    return fill(dst, value, n);
}
