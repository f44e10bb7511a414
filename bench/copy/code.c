/* SPDX-License-Identifier: MIT */
/*
 * What inlining costs: the code bytes of a call site, and the time of a call whose code is in no
 * cache. Reported, not goals: one is a property of the compiler, the other mostly of memory.
 */
#define _GNU_SOURCE
#include "copy/cases.h"

#include "copy/setup.h"

#include <fastmm/copy.h>

#include <string.h>

#ifdef __x86_64__

/* Each site alone in a section of its own, whose bounds the linker names. */
#    define SITE(name, call)                                                       \
        extern const char __start_code_##name[], __stop_code_##name[];             \
        __attribute__((section("code_" #name), noinline)) static void site_##name( \
            unsigned char *d, const unsigned char *s, size_t n)                    \
        {                                                                          \
            call;                                                                  \
        }

SITE(inline, fastmm_copy(d, s, n))
SITE(masked, fastmm_copy_masked(d, s, n))
SITE(call, fastmm_copy_call(d, s, n))
SITE(libc, memcpy(d, s, n))

struct site {
    void (*call)(unsigned char *d, const unsigned char *s, size_t n);
    const char *start, *stop;
    void *(*callee)(void *dst, const void *src, size_t n); /* what it calls, if it does */
};

#    define LINE         64
#    define CALLEE_BYTES 1024

static void flush(const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_ia32_clflush((const char *)from + i);
}

static uint64_t timed(struct bench *b, uint64_t iterations)
{
    const struct site *site = b->spec->config;
    const struct copy_data *data = b->data;
    uint64_t total = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t n = bench_opaque(data->size);
        flush(site->start, (size_t)(site->stop - site->start));
        flush((const void *)(uintptr_t)site->callee, CALLEE_BYTES);
        __builtin_ia32_mfence();
        uint64_t start = bench_now();
        site->call(data->dst, data->src, n);
        total += bench_now() - start;
    }
    return total;
}

static int setup(struct bench *b)
{
    const struct site *site = b->spec->config;
    bench_counter(b, "code_bytes", (double)(site->stop - site->start));
    return copy_setup_fixed(b);
}

void copy_add_code(void)
{
    static const struct site sites[] = {
        {site_inline, __start_code_inline, __stop_code_inline, fastmm_copy_large},
        {site_masked, __start_code_masked, __stop_code_masked, fastmm_copy_large},
        {site_call, __start_code_call, __stop_code_call, fastmm_copy_call},
        {site_libc, __start_code_libc, __stop_code_libc, memcpy},
    };
    static const char *const names[] = {"fastmm/mode:inline", "fastmm/mode:masked",
                                        "fastmm/mode:call", "libc"};
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
        for (int size = 32; size <= 128; size *= 2) {
            struct bench_case c = copy_case(&copy_fastmm, size, 2048, NULL);
            c.config = &sites[i];
            c.setup = setup;
            c.timed = timed;
            c.digest = NULL;
            bench_add(&c, "copy/cold_code/%s/size:%d", names[i], size);
        }
}

#else

void copy_add_code(void)
{
}

#endif
