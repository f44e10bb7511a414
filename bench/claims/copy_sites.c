/* SPDX-License-Identifier: MIT */
#include "copy_sites.h"

#include "copy_rep.h"

#include <fastmm/copy.h>
#include <string.h>

/* What the compiler knows neither value nor use of. */
#define UNKNOWN(dst, src, n) __asm__ volatile("" : "+r"(dst), "+r"(src), "+r"(n) : : "memory")

#define TWICE(x) x x
#define SITES(x) TWICE(TWICE(TWICE(TWICE(TWICE(x)))))

/* The request at a place in the list. */
#define TAKE(at)                                                   \
    const struct copy_request *request = &list[(at)&blocks->mask]; \
    unsigned char *dst = blocks->dst + request->dst;               \
    const unsigned char *src = blocks->src + request->src;         \
    size_t n = request->size;                                      \
    UNKNOWN(dst, src, n);

#define DEFINE_WARM(p, name, statement)                                           \
    PLACED(p, "claim_text")                                                       \
    static void name##_warm_##p(const struct copy_blocks *blocks, uint64_t times) \
    {                                                                             \
        const struct copy_request *list = blocks->list;                           \
        while (times--) {                                                         \
            TAKE(times)                                                           \
            statement;                                                            \
        }                                                                         \
    }
#define DEFINE_COLD(p, name, statement)                                           \
    PLACED(p, SECTION(p, name))                                                   \
    static void name##_cold_##p(const struct copy_blocks *blocks, uint64_t times) \
    {                                                                             \
        const struct copy_request *list = blocks->list;                           \
        uint64_t at = times * COPY_SITES;                                         \
        SITES({ TAKE(at++) statement; })                                          \
    }
#define NAME_WARM(p, name) name##_warm_##p,
#define NAME_COLD(p, name) name##_cold_##p,
#define DEFINE_SITES(name, statement)            \
    EACH_PLACEMENT(DEFINE_WARM, name, statement) \
    EACH_PLACEMENT(DEFINE_COLD, name, statement) \
    DECLARE_SIZE(name)                           \
    static unsigned name##_text(void)            \
    {                                            \
        return SIZE(name);                       \
    }
#define SITES_OF(name)                                                                    \
    {                                                                                     \
        {EACH_PLACEMENT(NAME_WARM, name)}, {EACH_PLACEMENT(NAME_COLD, name)}, name##_text \
    }

/* clang-format off */
DEFINE_SITES(copy_libc, memcpy(dst, src, n))
DEFINE_SITES(copy_libc_again, memcpy(dst, src, n))
DEFINE_SITES(copy_rep_call, copy_rep_call(dst, src, n))
DEFINE_SITES(copy_rep_inline, copy_rep(dst, src, n))
DEFINE_SITES(copy_fastmm_call, fastmm_copy_call(dst, src, n))
DEFINE_SITES(copy_fastmm, fastmm_copy(dst, src, n))
DEFINE_SITES(clear_libc, memset(dst, 0, n))
DEFINE_SITES(clear_libc_again, memset(dst, 0, n))
DEFINE_SITES(clear_rep_call, clear_rep_call(dst, n))
DEFINE_SITES(clear_rep_inline, clear_rep(dst, n))
DEFINE_SITES(clear_fastmm_call, fastmm_clear_call(dst, n))
DEFINE_SITES(clear_fastmm, fastmm_clear(dst, n))
/* clang-format on */

const struct copy_sites copy_sites_of[COPY_OPS][COPY_WAYS] = {
    {SITES_OF(copy_libc), SITES_OF(copy_libc_again), SITES_OF(copy_rep_call),
     SITES_OF(copy_rep_inline), SITES_OF(copy_fastmm_call), SITES_OF(copy_fastmm)},
    {SITES_OF(clear_libc), SITES_OF(clear_libc_again), SITES_OF(clear_rep_call),
     SITES_OF(clear_rep_inline), SITES_OF(clear_fastmm_call), SITES_OF(clear_fastmm)},
};
