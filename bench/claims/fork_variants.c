/* SPDX-License-Identifier: MIT */
/* Compiled once for each compiler and set of flags (CONFIG); the kernel-style walk in it is scalar.
 */
#include "fork_variants.h"

#include "baseline/walk_level.h"
#include "fork_callee.h"

#define DEFINE_COPY(p, name, locks, how)                                  \
    PLACED(p, SECTION(p, JOIN2(name, CONFIG)))                            \
    static int PLACED_NAME(name, p)(const struct rival_copy *c)           \
    {                                                                     \
        return level_copy(c, (struct style){locks, how, NORMAL_PAGE(p)}); \
    }
/* clang-format off */
DEFINE_PLACED(DEFINE_COPY, call_0, 0, LOOKUP_CALL)
DEFINE_PLACED(DEFINE_COPY, again_0, 0, LOOKUP_CALL)
DEFINE_PLACED(DEFINE_COPY, inline_0, 0, LOOKUP_INLINE)
DEFINE_PLACED(DEFINE_COPY, fast_0, 0, LOOKUP_FAST)
DEFINE_PLACED(DEFINE_COPY, call_1, LOCK_REFS, LOOKUP_CALL)
DEFINE_PLACED(DEFINE_COPY, inline_1, LOCK_REFS, LOOKUP_INLINE)
DEFINE_PLACED(DEFINE_COPY, fast_1, LOCK_REFS, LOOKUP_FAST)
DEFINE_PLACED(DEFINE_COPY, call_3, LOCK_ALL, LOOKUP_CALL)
DEFINE_PLACED(DEFINE_COPY, again_3, LOCK_ALL, LOOKUP_CALL)
DEFINE_PLACED(DEFINE_COPY, inline_3, LOCK_ALL, LOOKUP_INLINE)
DEFINE_PLACED(DEFINE_COPY, fast_3, LOCK_ALL, LOOKUP_FAST)
DECLARE_SIZE(JOIN2(normal_page, CONFIG))
/* clang-format on */

static unsigned callee_text(void)
{
    return SIZE(JOIN2(normal_page, CONFIG));
}

extern const struct fork_variants JOIN2(fork_variants, CONFIG);
const struct fork_variants JOIN2(fork_variants, CONFIG) = {
    {
        {PLACED_COPIES(call_0), PLACED_COPIES(again_0), PLACED_COPIES(inline_0),
         PLACED_COPIES(fast_0)},
        {PLACED_COPIES(call_1), {{NULL}, NULL}, PLACED_COPIES(inline_1), PLACED_COPIES(fast_1)},
        {PLACED_COPIES(call_3), PLACED_COPIES(again_3), PLACED_COPIES(inline_3),
         PLACED_COPIES(fast_3)},
    },
    callee_text,
};
