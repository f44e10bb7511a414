/* SPDX-License-Identifier: MIT */
/* Which builds there are, and which of them this CPU can run. */
#include "span.h"

#include <fastmm/cpu.h>

#include <errno.h>

static const struct {
    struct span_ops ops;
    uint64_t needs; /* features */
} impls[] = {
    [FASTMM_MM_PLAIN] = {{"plain", fastmm_copy_plain, fastmm_zap_plain, fastmm_scan_plain}, 0},
#if defined(__x86_64__)
#    define NEEDS(feature) (UINT64_C(1) << FASTMM_CPU_##feature)
    [FASTMM_MM_AVX512] = {{"avx512", fastmm_copy_avx512, fastmm_zap_avx512, fastmm_scan_avx512},
                          NEEDS(AVX512F) | NEEDS(AVX512BW) | NEEDS(AVX512DQ) | NEEDS(AVX512VL)},
#endif
};

#define IMPLS (sizeof(impls) / sizeof(impls[0]))

static bool runs_here(unsigned impl)
{
    return impls[impl].ops.name && (impls[impl].needs & ~fastmm_cpu_native()->usable) == 0;
}

const struct span_ops *fastmm_span_ops(unsigned impl, int *rc)
{
    *rc = impl <= FASTMM_MM_AVX512 ? -ENOTSUP : -EINVAL;
    if (impl == FASTMM_MM_BEST)
        for (impl = IMPLS - 1; !runs_here(impl);)
            impl--;
    if (impl >= IMPLS || !runs_here(impl))
        return NULL;
    *rc = 0;
    return &impls[impl].ops;
}

const char *fastmm_mm_impl_name(enum fastmm_mm_impl impl)
{
    int rc;
    const struct span_ops *ops = fastmm_span_ops(impl, &rc);
    return ops ? ops->name : NULL;
}
