/* SPDX-License-Identifier: MIT */
/*
 * Claim 1: fork is 3 to 4 % faster when the normal-page lookup is inlined. All variants fork the
 * same address spaces in turns, so that they share the memory as well.
 */
#include "claims.h"

#include "configs.h"
#include "fork_variants.h"
#include "walk/scene.h"

#include <string.h>

static const char *const layouts[] = {"redis", "seq", "rand"};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]), MIB = 16 };
enum { HEADLINES = 2 }; /* layouts that come first: redis and one more */

static struct scene *scenes[LAYOUTS];
static bool failed; /* a fork that was timed */
static const struct walk_impl kernel_like = {"kernel_style", FASTMM_MM_PLAIN, &rival_kernel_style};

CLAIM_TABLE(fork_variants);

static const unsigned locks[FORK_LOCKS] = {0, 1, 3};
static const char *const lookups[FORK_LOOKUPS] = {"call", "call_again", "inlined", "fast_inlined"};

/* The walk's operations with the entries copied by one variant. */
static struct rival_ops ops_of(const struct fork_variant *variant, unsigned placement)
{
    struct rival_ops ops = rival_kernel_style;
    ops.copy = variant->copy[placement];
    return ops;
}

static void end_child(struct scene *s, struct fastmm_mm *child)
{
    scene_unmap(s, child);
    fastmm_mm_destroy(child, NULL);
    scene_reset(s);
}

static double time_fork(void *context, const void *variant, unsigned placement, uint64_t iterations)
{
    struct scene *s = context;
    const struct rival_ops ops = ops_of(variant, placement);
    double spent = 0;
    while (iterations--) {
        struct fastmm_mm *child;
        double start = claims_clock();
        int error = rival_fork(&s->rival, &ops, s->parent, &child);
        spent += claims_clock() - start;
        failed |= error != 0;
        if (!error)
            end_child(s, child);
    }
    return spent;
}

/* What both address spaces and all pages are after it. False if it failed. */
static bool fork_once(struct scene *s, const struct fork_variant *variant, uint64_t *digest)
{
    const struct rival_ops ops = ops_of(variant, 0);
    struct fastmm_mm *child;
    if (rival_fork(&s->rival, &ops, s->parent, &child))
        return false;
    *digest = scene_digest(s, child, scene_digest(s, s->parent, 0));
    end_child(s, child);
    return true;
}

static bool do_the_same(struct scene *s, const struct fork_variant *a, const struct fork_variant *b)
{
    uint64_t digest[2];
    return fork_once(s, a, &digest[0]) && fork_once(s, b, &digest[1]) && digest[0] == digest[1];
}

static bool is_headline(const char *config)
{
    return strcmp(config, CLAIM_FIRST_CONFIG) == 0 || strcmp(config, CLAIM_THUNKS_CONFIG) == 0;
}

static void add_row(struct claims *claims, size_t config, unsigned lock, size_t layout,
                    enum fork_lookup lookup)
{
    const struct fork_variant *variants = configs[config].variants->variant[lock];
    struct scene *s = scenes[layout];
    char family[64];
    snprintf(family, sizeof(family), "%s/%s", layouts[layout], configs[config].name);
    struct claim_row *row =
        claims_add(claims, 1, family, "fork/%s/%s/locked:%u/%s", layouts[layout],
                   configs[config].name, locks[lock], lookups[lookup]);
    row->aa = lookup == FORK_CALL_AGAIN;
    row->headline = layout < HEADLINES && lock != 1 && is_headline(configs[config].name);
    row->timed = time_fork;
    row->context = s;
    row->items = (double)s->slots;
    row->side[0] = (struct claim_side){"call", &variants[FORK_CALL], variants[FORK_CALL].text()};
    row->side[1] = (struct claim_side){lookups[lookup], &variants[lookup], variants[lookup].text()};
    /* All must do what the first of them does, that of the first configuration. */
    row->wrong = !do_the_same(s, &configs[0].variants->variant[0][FORK_CALL], &variants[lookup]) ||
                 !do_the_same(s, &variants[FORK_CALL], &variants[lookup]);
}

void fork_claim_add(struct claims *claims)
{
    CLAIM_NOTES(claims)
    for (size_t l = 0; l < LAYOUTS; l++) {
        scenes[l] = scene_open(&kernel_like, layouts[l], MIB);
        if (!scenes[l])
            claims_skip(claims, "claim 1, layout %s: no memory for it", layouts[l]);
    }
    claims_explain(claims, 1,
                   "text: bytes of the walk's innermost level; the lookup that is called:");
    for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++)
        claims_explain(claims, 1, "%s %u (%s)", c ? "," : "", configs[c].variants->callee_text(),
                       configs[c].name);
    for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++)
        for (unsigned lock = 0; lock < FORK_LOCKS; lock++)
            for (size_t l = 0; l < LAYOUTS; l++)
                for (int lookup = FORK_CALL_AGAIN; lookup < FORK_LOOKUPS; lookup++) {
                    /* Two A/A for each layout and compiler; one more would say the same. */
                    bool wanted = lookup != FORK_CALL_AGAIN || lock != 1;
                    if (scenes[l] && wanted)
                        add_row(claims, c, lock, l, (enum fork_lookup)lookup);
                }
}

bool fork_claim_worked(void)
{
    return !failed;
}

void fork_claim_free(void)
{
    for (size_t l = 0; l < LAYOUTS; l++)
        if (scenes[l])
            scene_close(scenes[l]);
}
