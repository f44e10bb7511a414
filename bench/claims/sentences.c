/* SPDX-License-Identifier: MIT */
/* What the claims come to on this CPU, in three sentences. */
#include "output.h"

#include "configs.h"

#include <string.h>

/* "better, +1.20 % [0.90, 1.50]*" */
static const char *judged(const struct claims *claims, unsigned claim, const char *name, char *out,
                          size_t size)
{
    const struct claim_row *row = claims_find(claims, claim, name);
    if (!row || !row->count)
        return "not measured";
    int used = snprintf(out, size, "%s, ", effect_verdict_name(row->effect.verdict));
    effect_words(&row->effect, out + used, size - (size_t)used);
    used = (int)strlen(out);
    if (row->effect.verdict == EFFECT_UNDECIDED && row->effect.star)
        snprintf(out + used, size - (size_t)used, " (things compared with themselves: %.2f %%)",
                 row->effect.floor);
    return out;
}

/* What a row saves, in per cent of what this kernel takes for the whole: "1.234 %". */
static const char *expected(const struct claims *claims, unsigned claim, const char *name,
                            const struct kernel_cost *cost, char *out, size_t size)
{
    const struct claim_row *row = claims_find(claims, claim, name);
    if (!row || !row->count || cost->ns <= 0)
        return "an unknown part";
    snprintf(out, size, "%+.3f %%", 100 * claims_saved(row) / cost->ns);
    return out;
}

static void say_fork(const struct claims *claims, char *out, size_t size)
{
    char words[4][128], name[CLAIM_NAME];
    const char *said[4];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "fork/redis/%s/locked:%d/inlined",
                 i < 2 ? CLAIM_FIRST_CONFIG : CLAIM_THUNKS_CONFIG, i % 2 ? 0 : 3);
        said[i] = judged(claims, 1, name, words[i], sizeof(words[i]));
    }
    snprintf(
        out, size,
        "1. Inlining the normal-page lookup in a fork of the recorded redis-server: with three "
        "locked operations a page %s and without any %s; with return thunks (%s) %s and %s.",
        said[0], said[1], CLAIM_THUNKS_CONFIG, said[2], said[3]);
}

static void say_counters_and_gate(const struct claims *claims, char *out, size_t size)
{
    const struct kernel_costs *kernel = &claims->kernel;
    char words[5][32], gate[128], name[CLAIM_NAME];
    const size_t room = sizeof(words[0]);
    snprintf(name, sizeof(name), "fault/locked:4/uffd:absent/%s/gate_first_inlined",
             CLAIM_FIRST_CONFIG);
    snprintf(out, size,
             "2. Counters that are atomic until the second thread change a fork of this kernel by "
             "%s, an "
             "exec by %s, a shell by %s and a fault by %s (above 0 is time saved); testing the "
             "mapping's "
             "flag first is %s of a modelled fault, and %s of this kernel's.",
             expected(claims, 3, "life/fork/atomic", &kernel->fork, words[0], room),
             expected(claims, 3, "life/exec/atomic", &kernel->exec, words[1], room),
             expected(claims, 3, "life/shell/atomic", &kernel->shell, words[2], room),
             expected(claims, 3, "storm/atomic/threads:1", &kernel->anon_fault, words[3], room),
             judged(claims, 4, name, gate, sizeof(gate)),
             expected(claims, 4, name, &kernel->file_fault, words[4], room));
}

static void say_copy(const struct claims *claims, char *out, size_t size)
{
    char rep[128], cold[128], ours[128], git[128];
    snprintf(
        out, size,
        "3. A copy of 144 bytes by an inlined string instruction instead of a call: %s, with cold "
        "code %s; this library's inlined against libc's: %s; git's work under the preloaded "
        "library against an empty one: %s.",
        judged(claims, 2, "copy/warm/size:144/rep_call-rep", rep, sizeof(rep)),
        judged(claims, 2, "copy/cold/size:144/rep_call-rep", cold, sizeof(cold)),
        judged(claims, 2, "copy/warm/size:144/libc-fastmm", ours, sizeof(ours)),
        judged(claims, 2, "git/all/elapsed/empty-fastmm", git, sizeof(git)));
}

void claims_sentence(const struct claims *claims, int number, char *out, size_t size)
{
    static void (*const say[CLAIM_SENTENCES])(const struct claims *claims, char *out,
                                              size_t size) = {say_fork, say_counters_and_gate,
                                                              say_copy};
    say[number](claims, out, size);
}
