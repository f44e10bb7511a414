/* SPDX-License-Identifier: MIT */
/* Compiled once for each compiler and set of flags (CONFIG); the kernel-style walk in it is scalar.
 */
#include "fork_variants.h"

#include "baseline/walk_level.h"
#include "fork_callee.h"

#define COPY_NAME(name, p) JOIN2(name, p)
#define DEFINE_COPY(p, name, locks, how)                                  \
    PLACED(p, SECTION(p, JOIN2(name, CONFIG)))                            \
    static int COPY_NAME(name, p)(const struct rival_copy *c)             \
    {                                                                     \
        return level_copy(c, (struct style){locks, how, NORMAL_PAGE(p)}); \
    }
#define NAME_COPY(p, name) COPY_NAME(name, p),
#define DEFINE_VARIANT(name, locks, how)          \
    EACH_PLACEMENT(DEFINE_COPY, name, locks, how) \
    DECLARE_SIZE(JOIN2(name, CONFIG))             \
    static unsigned JOIN2(name, text)(void)       \
    {                                             \
        return SIZE(JOIN2(name, CONFIG));         \
    }
#define VARIANT(name)                                        \
    {                                                        \
        {EACH_PLACEMENT(NAME_COPY, name)}, JOIN2(name, text) \
    }

/* clang-format off */
DEFINE_VARIANT(call_0, 0, LOOKUP_CALL)
DEFINE_VARIANT(again_0, 0, LOOKUP_CALL)
DEFINE_VARIANT(inline_0, 0, LOOKUP_INLINE)
DEFINE_VARIANT(fast_0, 0, LOOKUP_FAST)
DEFINE_VARIANT(call_1, LOCK_REFS, LOOKUP_CALL)
DEFINE_VARIANT(again_1, LOCK_REFS, LOOKUP_CALL)
DEFINE_VARIANT(inline_1, LOCK_REFS, LOOKUP_INLINE)
DEFINE_VARIANT(fast_1, LOCK_REFS, LOOKUP_FAST)
DEFINE_VARIANT(call_3, LOCK_ALL, LOOKUP_CALL)
DEFINE_VARIANT(again_3, LOCK_ALL, LOOKUP_CALL)
DEFINE_VARIANT(inline_3, LOCK_ALL, LOOKUP_INLINE)
DEFINE_VARIANT(fast_3, LOCK_ALL, LOOKUP_FAST)
DECLARE_SIZE(JOIN2(normal_page, CONFIG))
/* clang-format on */

static unsigned callee_text(void)
{
    return SIZE(JOIN2(normal_page, CONFIG));
}

extern const struct fork_variants JOIN2(fork_variants, CONFIG);
const struct fork_variants JOIN2(fork_variants, CONFIG) = {
    {
        {VARIANT(call_0), VARIANT(again_0), VARIANT(inline_0), VARIANT(fast_0)},
        {VARIANT(call_1), VARIANT(again_1), VARIANT(inline_1), VARIANT(fast_1)},
        {VARIANT(call_3), VARIANT(again_3), VARIANT(inline_3), VARIANT(fast_3)},
    },
    callee_text,
};
