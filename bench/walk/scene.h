/* SPDX-License-Identifier: MIT */
/*
 * Address spaces to walk. Each is built from a fixed seed, so that every implementation meets the
 * same one, and can be put back into the state before a fork.
 *
 *   seq     every page written once, frames in order
 *   rand    the same, frames in random order
 *   sparse  one page in 16
 *   mixed   pages, tracked pages, zero pages, swap, markers and holes, in random order
 *   redis   what a redis-server held when it was recorded (bench/data)
 */
#ifndef FASTMM_BENCH_WALK_SCENE_H
#define FASTMM_BENCH_WALK_SCENE_H

#include "baseline/walk_rival.h"
#include "harness/bench.h"

/* Who forks, zaps and scans: a build of the library (no rival), or a rival. */
struct walk_impl {
    const char *name;
    enum fastmm_mm_impl build;
    const struct rival_ops *rival;
};

struct scene {
    const struct walk_impl *impl;
    struct fastmm_machine *machine;
    struct fastmm_mm *parent;
    struct rival rival;
    uint64_t slots;        /* entries of all leaf tables of the parent */
    fastmm_pte_t *entries; /* the parent's, as they were at first, table by table */
    uint64_t *exclusive;   /* a bit for each frame that was */
};

/* NULL for want of memory. `layout` is one of those above. */
struct scene *scene_open(const struct walk_impl *impl, const char *layout, uint64_t mib);
void scene_close(struct scene *s);

/* Puts the parent back into the state before its first fork. No child is left. */
void scene_reset(struct scene *s);

int scene_fork(struct scene *s, struct fastmm_mm **child);
void scene_unmap(struct scene *s, struct fastmm_mm *mm);
void scene_scan(struct scene *s, struct fastmm_scan *scan);

/* Everything that a walk can change: entries of `mm`, counters, and the counts of all pages. */
uint64_t scene_digest(struct scene *s, const struct fastmm_mm *mm, uint64_t seed);

#endif
