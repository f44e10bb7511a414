/* SPDX-License-Identifier: MIT */
/* The table of implementations, and calls that go to one row of it. */
#include "copy/impl.h"

#include <errno.h>
#include <stddef.h>

#ifdef __x86_64__
#    define X86_OPS(name) &fastmm_copy_ops_##name
#else
#    define X86_OPS(name) NULL
#endif

#define FEATURE(name) ((uint64_t)1 << FASTMM_CPU_##name)

static const struct {
    const char *name;
    const struct fastmm_copy_ops *ops;
    uint64_t needs;
} impls[FASTMM_COPY_IMPL_COUNT] = {
    [FASTMM_COPY_SCALAR] = {"scalar", &fastmm_copy_ops_scalar, 0},
    [FASTMM_COPY_SSE2] = {"sse2", X86_OPS(sse2), FEATURE(SSE2)},
    [FASTMM_COPY_AVX2] = {"avx2", X86_OPS(avx2), FEATURE(AVX2)},
    [FASTMM_COPY_AVX512] = {"avx512", X86_OPS(avx512),
                            FEATURE(AVX512F) | FEATURE(AVX512BW) | FEATURE(AVX512VL)},
    /* Every x86-64 CPU runs it, fast or not. It moves backward by SSE2. */
    [FASTMM_COPY_REP] = {"rep", X86_OPS(rep), FEATURE(SSE2)},
    [FASTMM_COPY_STREAM] = {"stream", X86_OPS(stream), FEATURE(SSE2)},
};

const struct fastmm_copy_ops *fastmm_copy_impl_ops(uint32_t impl)
{
    return impl < FASTMM_COPY_IMPL_COUNT ? impls[impl].ops : NULL;
}

uint64_t fastmm_copy_impl_needs(uint32_t impl)
{
    return impl < FASTMM_COPY_IMPL_COUNT ? impls[impl].needs : 0;
}

const char *fastmm_copy_impl_name(uint32_t impl)
{
    return impl < FASTMM_COPY_IMPL_COUNT ? impls[impl].name : NULL;
}

int fastmm_copy_impl_by_name(const char *name)
{
    for (int i = 0; name && i < FASTMM_COPY_IMPL_COUNT; i++) {
        const char *a = impls[i].name, *b = name;
        while (*a && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b)
            return i;
    }
    return -ENOENT;
}

int fastmm_copy_impl_usable(uint32_t impl, const struct fastmm_cpu *cpu)
{
    uint64_t needs = fastmm_copy_impl_needs(impl);
    return fastmm_copy_impl_ops(impl) && (cpu->usable & needs) == needs;
}

/* The operations of an implementation that this CPU can run, or the reason why not. */
static int find_ops(uint32_t impl, const struct fastmm_copy_ops **ops)
{
    if (impl >= FASTMM_COPY_IMPL_COUNT)
        return -EINVAL;
    if (!fastmm_copy_impl_usable(impl, fastmm_cpu_native()))
        return -ENOTSUP;
    *ops = impls[impl].ops;
    return 0;
}

int fastmm_copy_with(uint32_t impl, void *dst, const void *src, size_t n)
{
    const struct fastmm_copy_ops *ops;
    int error = find_ops(impl, &ops);
    if (!error)
        ops->copy(dst, src, n);
    return error;
}

int fastmm_move_with(uint32_t impl, void *dst, const void *src, size_t n)
{
    const struct fastmm_copy_ops *ops;
    int error = find_ops(impl, &ops);
    if (!error)
        ops->move(dst, src, n);
    return error;
}

int fastmm_fill_with(uint32_t impl, void *dst, int value, size_t n)
{
    const struct fastmm_copy_ops *ops;
    int error = find_ops(impl, &ops);
    if (!error)
        ops->fill(dst, value, n);
    return error;
}
