/* SPDX-License-Identifier: MIT */
/*
 * fork, zap and scan of whole address spaces. Times are per entry of the parent's leaf tables,
 * empty ones included. A fork is always the first: the parent is put back before each, so that it
 * has every page to write-protect.
 */
#include "cases.h"
#include "scene.h"

#include <stdio.h>
#include <string.h>

static const struct walk_impl impls[] = {
    {"fastmm", FASTMM_MM_BEST, NULL},
    {"fastmm_plain", FASTMM_MM_PLAIN, NULL},
    {"naive", FASTMM_MM_PLAIN, &rival_naive},
    {"kernel_style", FASTMM_MM_PLAIN, &rival_kernel_style},
    {"level_unlocked", FASTMM_MM_PLAIN, &rival_level_unlocked},
};

struct cell {
    const char *layout;
    uint64_t mib;
    const char *only; /* large ones take seconds to build: just what a goal needs */
};

static const struct cell cells[] = {
    {"seq", 64, NULL},      {"rand", 64, NULL},     {"sparse", 64, NULL},
    {"mixed", 64, NULL},    {"redis", 0, NULL},     {"seq", 4096, "fork scan"},
    {"rand", 1024, "fork"}, {"rand", 4096, "fork"}, {"mixed", 4096, "scan"},
};

static int open_scene(struct bench *b)
{
    const struct cell *cell = b->spec->config;
    struct scene *s = scene_open(&impls[b->spec->args[0]], cell->layout, cell->mib);
    if (!s)
        return bench_skip(b, cell->mib ? "no memory for so many pages"
                                       : "no memory for the recorded space");
    b->data = s;
    b->items = (double)s->slots;
    b->bytes = (double)s->slots * sizeof(fastmm_pte_t);
    return 0;
}

static void close_scene(struct bench *b)
{
    scene_close(b->data);
}

static void end_child(struct scene *s, struct fastmm_mm *child)
{
    scene_unmap(s, child);
    fastmm_mm_destroy(child, NULL);
    scene_reset(s);
}

static uint64_t time_fork(struct bench *b, uint64_t iterations)
{
    struct scene *s = b->data;
    uint64_t spent = 0;
    while (iterations--) {
        struct fastmm_mm *child = NULL;
        uint64_t start = bench_now();
        scene_fork(s, &child);
        spent += bench_now() - start;
        end_child(s, child);
    }
    return spent;
}

static uint64_t time_zap(struct bench *b, uint64_t iterations)
{
    struct scene *s = b->data;
    uint64_t spent = 0;
    while (iterations--) {
        struct fastmm_mm *child = NULL;
        scene_fork(s, &child);
        uint64_t start = bench_now();
        scene_unmap(s, child);
        spent += bench_now() - start;
        fastmm_mm_destroy(child, NULL);
        scene_reset(s);
    }
    return spent;
}

/* The states after a fork, and after the child's exit. */
static uint64_t digest_fork(struct bench *b)
{
    struct scene *s = b->data;
    struct fastmm_mm *child = NULL;
    if (scene_fork(s, &child))
        return 0;
    uint64_t digest = scene_digest(s, child, scene_digest(s, s->parent, 0));
    scene_unmap(s, child);
    digest = scene_digest(s, child, scene_digest(s, s->parent, digest));
    fastmm_mm_destroy(child, NULL);
    scene_reset(s);
    return digest;
}

static void loop_scan(struct bench *b, uint64_t iterations)
{
    while (iterations--) {
        struct fastmm_scan scan;
        scene_scan(b->data, &scan);
        bench_clobber(&scan);
    }
}

static uint64_t digest_scan(struct bench *b)
{
    struct fastmm_scan scan;
    scene_scan(b->data, &scan);
    return bench_digest(0, &scan, sizeof(scan));
}

static const struct {
    const char *name;
    uint64_t (*timed)(struct bench *b, uint64_t iterations);
    void (*loop)(struct bench *b, uint64_t iterations);
    uint64_t (*digest)(struct bench *b);
} jobs[] = {
    {"fork", time_fork, NULL, digest_fork},
    {"zap", time_zap, NULL, digest_fork},
    {"scan", NULL, loop_scan, digest_scan},
};

static void add_cell(size_t job, size_t impl, const struct cell *cell)
{
    bool rival_of_large = impls[impl].rival == NULL || impls[impl].rival == &rival_naive;
    if (cell->only && (!rival_of_large || !strstr(cell->only, jobs[job].name)))
        return;
    const struct bench_case spec = {
        .args = {(int64_t)impl},
        .config = cell,
        .setup = open_scene,
        .loop = jobs[job].loop,
        .timed = jobs[job].timed,
        .teardown = close_scene,
        .digest = jobs[job].digest,
    };
    char size[32] = "";
    if (cell->mib)
        snprintf(size, sizeof(size), "/mib:%llu", (unsigned long long)cell->mib);
    bench_add(&spec, "walk/%s/%s/layout:%s%s", jobs[job].name, impls[impl].name, cell->layout,
              size);
}

static void add_cases(void)
{
    for (size_t job = 0; job < sizeof(jobs) / sizeof(jobs[0]); job++)
        for (size_t impl = 0; impl < sizeof(impls) / sizeof(impls[0]); impl++)
            for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
                add_cell(job, impl, &cells[i]);
    add_set_cases();
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "walk", add_cases);
}
