/* SPDX-License-Identifier: MIT */
/*
 * The choice of routes: made once, at the first call that needs it, from any context.
 *
 * The choice is reached by one pointer, and what every call needs is copied to a fixed address
 * afterwards. The default is written by whoever comes first, perhaps by
 * several at once or by a signal handler on top of a thread that had begun: all write the same
 * values by plain atomic stores, and the first to publish the pointer wins. Settings of the user
 * are written to the buffer that isn't in force and published after; a reader that still holds the
 * buffer of two settings ago may see a mixture, and each mixture is a set of implementations that
 * this CPU can run with thresholds that any of them can meet.
 */
#include "copy/select.h"

#include "base/words.h"
#include "copy/rule.h"
#include "copy/straight.h"

#include <stddef.h>

struct fastmm_copy_fast fastmm_copy_fast;
uint32_t fastmm_copy_level = FASTMM_COPY_LEVEL_UNKNOWN;

static struct fastmm_copy_choice by_default;
static struct fastmm_copy_choice by_user[2];
static const struct fastmm_copy_choice *in_force; /* NULL: nobody has asked yet */

_Static_assert(FASTMM_COPY_REP_FLOOR >= FASTMM_STRAIGHT_MIN, "no threshold is below those sizes");
_Static_assert(sizeof(struct fastmm_copy_choice) % sizeof(record_word) == 0, "made of words");

static const struct fastmm_copy_choice *now_in_force(void)
{
    return __atomic_load_n(&in_force, __ATOMIC_SEQ_CST);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many sizes from FASTMM_STRAIGHT_MIN on are below `plain_end` and done by straight.h. */
static uint64_t straight(const struct fastmm_copy_plan *plan, uint64_t plain_end)
{
    if (!FASTMM_COPY_EVEX || plan->inline_level != FASTMM_COPY_LEVEL_EVEX)
        return 0;
    return smaller(plain_end, FASTMM_STRAIGHT_MAX + 1) - FASTMM_STRAIGHT_MIN;
}

static const struct fastmm_copy_ops *vector_ops(const struct fastmm_copy_plan *plan)
{
#ifdef __x86_64__
    const struct fastmm_cpu *cpu = fastmm_cpu_native();
    if (plan->vector == FASTMM_COPY_AVX512 &&
        fastmm_copy_rule_for(cpu, cpu->usable)->vectors_align_source)
        return &fastmm_copy_ops_avx512_source;
#endif
    return fastmm_copy_impl_ops(plan->vector);
}

static int choose(const struct fastmm_copy_settings *settings, struct fastmm_copy_choice *choice,
                  const char **reason)
{
    clear_words(choice, sizeof(*choice));
    int error = fastmm_copy_plan_for(fastmm_cpu_native(), settings, &choice->plan, reason);
    if (error)
        return error;
    const struct fastmm_copy_plan *plan = &choice->plan;
    choice->fast.vector = *vector_ops(plan);
    choice->fast.copy_plain_end = smaller(plan->copy.rep_min.bytes, plan->copy.stream_min.bytes);
    choice->fast.fill_plain_end = smaller(plan->fill.rep_min.bytes, plan->fill.stream_min.bytes);
    choice->fast.copy_straight = straight(plan, choice->fast.copy_plain_end);
    choice->fast.fill_straight = straight(plan, choice->fast.fill_plain_end);
    return 0;
}

/* Whoever publishes last must leave what belongs to the choice in force. */
static void publish(void)
{
    const struct fastmm_copy_choice *choice;
    do {
        choice = now_in_force();
        copy_words(&fastmm_copy_fast, &choice->fast, sizeof(fastmm_copy_fast));
        __atomic_store_n(&fastmm_copy_level,
                         __atomic_load_n(&choice->plan.inline_level, __ATOMIC_RELAXED),
                         __ATOMIC_SEQ_CST);
    } while (choice != now_in_force());
}

const struct fastmm_copy_choice *fastmm_copy_choice_made(void)
{
    const struct fastmm_copy_choice *choice = now_in_force();
    if (FASTMM_LIKELY(choice != NULL))
        return choice;
    struct fastmm_copy_choice made;
    choose(NULL, &made, NULL); /* the defaults are never refused */
    copy_words(&by_default, &made, sizeof(made));
    if (__atomic_compare_exchange_n(&in_force, &choice, &by_default, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
        publish();
    return now_in_force();
}

int fastmm_copy_configure(const struct fastmm_copy_settings *settings, const char **reason)
{
    struct fastmm_copy_choice made;
    int error = choose(settings, &made, reason);
    if (error)
        return error;
    struct fastmm_copy_choice *buffer = now_in_force() == &by_user[0] ? &by_user[1] : &by_user[0];
    copy_words(buffer, &made, sizeof(made));
    __atomic_store_n(&in_force, buffer, __ATOMIC_SEQ_CST);
    publish();
    return 0;
}

void fastmm_copy_plan_get(struct fastmm_copy_plan *plan)
{
    struct fastmm_copy_choice choice;
    copy_words(&choice, fastmm_copy_choice_made(), sizeof(choice));
    copy_words(plan, &choice.plan, sizeof(*plan));
}
