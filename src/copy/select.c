/* SPDX-License-Identifier: MIT */
/*
 * The choice of routes: made once, at the first call that needs it, from any context.
 *
 * The choice is reached by one pointer. The default is written by whoever comes first, perhaps by
 * several at once or by a signal handler on top of a thread that had begun: all write the same
 * values by plain atomic stores, and the first to publish the pointer wins. Settings of the user
 * are written to the buffer that isn't in force and published after; a reader that still holds the
 * buffer of two settings ago may see a mixture, and each mixture is a set of implementations that
 * this CPU can run with thresholds that any of them can meet.
 */
#include "copy/select.h"

#include <stddef.h>

uint32_t fastmm_copy_level = FASTMM_COPY_LEVEL_UNKNOWN;

static const struct fastmm_copy_choice unmade;
static struct fastmm_copy_choice by_default;
static struct fastmm_copy_choice by_user[2];

const struct fastmm_copy_choice *fastmm_copy_choice = &unmade;

typedef uint64_t word __attribute__((may_alias));

#define CHOICE_WORDS (sizeof(struct fastmm_copy_choice) / sizeof(word))
_Static_assert(sizeof(struct fastmm_copy_choice) % sizeof(word) == 0, "copied word by word");

static void store_choice(struct fastmm_copy_choice *to, const struct fastmm_copy_choice *from)
{
    for (size_t i = 0; i < CHOICE_WORDS; i++)
        __atomic_store_n((word *)to + i, ((const word *)from)[i], __ATOMIC_RELAXED);
}

static void load_choice(struct fastmm_copy_choice *to, const struct fastmm_copy_choice *from)
{
    for (size_t i = 0; i < CHOICE_WORDS; i++)
        ((word *)to)[i] = __atomic_load_n((const word *)from + i, __ATOMIC_RELAXED);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int choose(const struct fastmm_copy_settings *settings, struct fastmm_copy_choice *choice,
                  const char **reason)
{
    int error = fastmm_copy_plan_for(fastmm_cpu_native(), settings, &choice->plan, reason);
    if (error)
        return error;
    const struct fastmm_copy_plan *plan = &choice->plan;
    choice->vector = fastmm_copy_impl_ops(plan->vector);
    choice->copy_plain_end = smaller(plan->copy.rep_min.bytes, plan->copy.stream_min.bytes);
    choice->fill_plain_end = smaller(plan->fill.rep_min.bytes, plan->fill.stream_min.bytes);
    return 0;
}

/* Whoever publishes last must leave the level of the choice that is in force. */
static void publish_level(void)
{
    const struct fastmm_copy_choice *now;
    do {
        now = fastmm_copy_choice_now();
        __atomic_store_n(&fastmm_copy_level,
                         __atomic_load_n(&now->plan.inline_level, __ATOMIC_RELAXED),
                         __ATOMIC_SEQ_CST);
    } while (now != __atomic_load_n(&fastmm_copy_choice, __ATOMIC_SEQ_CST));
}

const struct fastmm_copy_choice *fastmm_copy_choice_made(void)
{
    const struct fastmm_copy_choice *now = fastmm_copy_choice_now();
    if (FASTMM_LIKELY(now != &unmade))
        return now;
    struct fastmm_copy_choice choice = {0};
    choose(NULL, &choice, NULL); /* the defaults are never refused */
    store_choice(&by_default, &choice);
    if (__atomic_compare_exchange_n(&fastmm_copy_choice, &now, &by_default, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_ACQUIRE))
        publish_level();
    return fastmm_copy_choice_now();
}

int fastmm_copy_configure(const struct fastmm_copy_settings *settings, const char **reason)
{
    struct fastmm_copy_choice choice = {0};
    int error = choose(settings, &choice, reason);
    if (error)
        return error;
    struct fastmm_copy_choice *buffer =
        fastmm_copy_choice_now() == &by_user[0] ? &by_user[1] : &by_user[0];
    store_choice(buffer, &choice);
    __atomic_store_n(&fastmm_copy_choice, buffer, __ATOMIC_SEQ_CST);
    publish_level();
    return 0;
}

void fastmm_copy_plan_get(struct fastmm_copy_plan *plan)
{
    struct fastmm_copy_choice choice;
    load_choice(&choice, fastmm_copy_choice_made());
    *plan = choice.plan;
}
