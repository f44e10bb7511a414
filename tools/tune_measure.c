/* SPDX-License-Identifier: MIT */
/*
 * Fills the tables of `fastmm tune`. Source and destination are two blocks of memory that differ by
 * half a page in the low bits unless an alias is wanted, so that no cell falls into a slow zone by
 * accident. Large blocks are asked for as huge pages: faults and page tables aren't the subject.
 */
#include "tune.h"
#include "tune_ops.h"

#include <errno.h>
#include <fastmm/copy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE     4096u
#define NO_ALIAS (PAGE / 2)
#define KIB      ((size_t)1024)
#define MIB      (KIB * 1024)

/* The largest block: far beyond the cache, within reason and a quarter of what is free. */
#define LEAST_LARGEST (64 * MIB)
#define MOST_LARGEST  (256 * MIB)

/* Streaming below this leaves the cache's speed for nothing; it isn't worth the time. */
#define LEAST_STREAMED (4 * KIB)

static const struct measure_effort cell_effort = {21, 200e3};
static const struct measure_effort map_effort = {11, 50e3};

static const size_t map_sizes[TUNE_MAPS] = {64, 512, 4 * KIB, 64 * KIB};

static const size_t short_sizes[] = {1,  4,  8,   16,  24,  32,  40,  48,  56,  63,  64,  65,  72,
                                     80, 96, 112, 127, 128, 129, 160, 192, 224, 255, 256, 257, 320};

/* Two blocks, each with a page more than it is used for, and one page that is not there behind. */
struct arena {
    char *dst, *src;
    size_t size;
};

static size_t largest_block(void)
{
    size_t l3 = fastmm_cpu_native()->cache[FASTMM_CPU_L3].size;
    size_t largest = 2 * l3 > LEAST_LARGEST ? 2 * l3 : LEAST_LARGEST;
    if (largest > MOST_LARGEST)
        largest = MOST_LARGEST;
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t available = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : largest;
    while (largest > MIB && largest > available / 4)
        largest /= 2;
    return largest;
}

static char *map_block(size_t size)
{
    char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    madvise(block, size, MADV_HUGEPAGE); /* a wish; kernels without huge pages refuse it */
    memset(block, 1, size);
    return block;
}

static int arena_open(struct arena *a, size_t largest, struct tool_error *error)
{
    a->size = largest + 2 * PAGE;
    a->dst = map_block(a->size);
    a->src = a->dst ? map_block(a->size) : NULL;
    if (a->src)
        return 0;
    if (a->dst)
        munmap(a->dst, a->size);
    return tool_fail(error, "no memory for two blocks of %zu MiB", largest / MIB);
}

static void arena_close(struct arena *a)
{
    munmap(a->dst, a->size);
    munmap(a->src, a->size);
}

/* Every power of two and the middle between two of them, in a cache line's multiples. */
static unsigned choose_sizes(size_t sizes[TUNE_MAX_SIZES], size_t largest)
{
    unsigned count = 0;
    for (size_t n = 16; n <= largest && count + 2 <= TUNE_MAX_SIZES; n *= 2) {
        sizes[count++] = n;
        if (n >= 64 && n < 8 * KIB)
            sizes[count++] = n + n / 2;
    }
    return count;
}

static int run(const struct measure_cell *cells, size_t count, struct measure_effort effort,
               struct tool_error *error)
{
    return count == 0 || measure_cells(cells, count, effort) == 0
               ? 0
               : tool_fail(error, "out of memory");
}

static int fill_table(struct tune_table *table, const struct arena *a, size_t largest,
                      const measure_op ops[TUNE_WAYS], struct tool_error *error)
{
    struct measure_cell cells[TUNE_MAX_SIZES * TUNE_WAYS];
    size_t count = 0;
    table->count = choose_sizes(table->size, largest);
    for (unsigned i = 0; i < table->count; i++)
        for (int way = 0; way < TUNE_WAYS; way++) {
            size_t n = table->size[i];
            if ((way == TUNE_REP && !tune_has_rep()) || (way == TUNE_STREAM && n < LEAST_STREAMED))
                continue;
            cells[count++] =
                (struct measure_cell){ops[way], a->dst, a->src + NO_ALIAS, n, &table->at[i][way]};
        }
    return run(cells, count, cell_effort, error);
}

/* Each alias near 0 on both sides; between, one in 61, which meets all offsets within a line. */
static unsigned choose_aliases(unsigned aliases[TUNE_MAX_ALIASES])
{
    const unsigned near = 96;
    unsigned count = 0;
    for (unsigned alias = 0; alias < near; alias++)
        aliases[count++] = alias;
    for (unsigned alias = near; alias < PAGE - near; alias += 61)
        aliases[count++] = alias;
    for (unsigned alias = PAGE - near; alias < PAGE; alias++)
        aliases[count++] = alias;
    return count;
}

static int time_aliases(struct tune_map *map, const unsigned *which, unsigned count,
                        struct sample *results, const struct arena *a, struct tool_error *error)
{
    struct measure_cell cells[TUNE_MAX_ALIASES];
    for (unsigned i = 0; i < count; i++)
        cells[i] = (struct measure_cell){tune_rep_copy, a->dst + map->alias[which[i]], a->src,
                                         map->size, &results[i]};
    return run(cells, count, map_effort, error);
}

/* A slow spell of the machine looks like a slow zone, once; the better of two looks counts. */
static int look_again(struct tune_map *map, const struct arena *a, struct tool_error *error)
{
    double usual = tune_map_usual(map);
    unsigned suspects[TUNE_MAX_ALIASES] = {0}, count = 0;
    struct sample again[TUNE_MAX_ALIASES];
    for (unsigned i = 0; i < map->count; i++)
        if (map->at[i].ns > usual * TUNE_SLOW)
            suspects[count++] = i;
    if (time_aliases(map, suspects, count, again, a, error) != 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (again[i].ns < map->at[suspects[i]].ns)
            map->at[suspects[i]] = again[i];
    return 0;
}

static int fill_map(struct tune_map *map, size_t size, const struct arena *a,
                    struct tool_error *error)
{
    unsigned all[TUNE_MAX_ALIASES];
    map->size = size;
    map->count = choose_aliases(map->alias);
    for (unsigned i = 0; i < map->count; i++)
        all[i] = i;
    if (time_aliases(map, all, map->count, map->at, a, error) != 0)
        return -1;
    return look_again(map, a, error);
}

static int fill_short(struct tune_short *curve, measure_op op, const struct arena *a,
                      struct tool_error *error)
{
    struct measure_cell cells[TUNE_MAX_SHORT];
    curve->count = sizeof(short_sizes) / sizeof(short_sizes[0]);
    for (unsigned i = 0; i < curve->count; i++) {
        curve->size[i] = short_sizes[i];
        cells[i] =
            (struct measure_cell){op, a->dst, a->src + NO_ALIAS, short_sizes[i], &curve->at[i]};
    }
    return run(cells, curve->count, map_effort, error);
}

/* The last 16 bytes of mapped memory, by instructions that reach 48 bytes further but mask it. */
static int fill_edges(struct tune_edges *edges, struct tool_error *error)
{
    const size_t n = 16;
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE) != 0)
        return tool_fail(error, "no memory for two pages: %s", strerror(errno));
    memset(page, 1, PAGE);
    char *inside = page + 1024, *edge = page + PAGE - n, *beyond = page + PAGE;
    const struct measure_cell cells[] = {
        {tune_masked_store, inside, inside, n, &edges->store_inside},
        {tune_masked_store, edge, edge, n, &edges->store_edge},
        {tune_masked_load, inside, inside, n, &edges->load_inside},
        {tune_masked_load, edge, edge, n, &edges->load_edge},
        {tune_masked_store, beyond, beyond, 0, &edges->store_nothing},
    };
    int result = run(cells, sizeof(cells) / sizeof(cells[0]), cell_effort, error);
    munmap(page, 2 * PAGE);
    edges->measured = result == 0;
    return result;
}

/* Vectors for all sizes, so that the thresholds under test play no part. */
static int force_vectors(struct tune_results *r, struct tool_error *error)
{
    struct fastmm_copy_plan plan;
    const char *reason = "";
    fastmm_copy_plan_get(&plan);
    r->vector = fastmm_copy_impl_name(plan.vector);
    r->avoided_first = plan.rep_alias_first;
    r->avoided_last = plan.rep_alias_last;
    struct fastmm_copy_settings settings = {.implementation = r->vector};
    if (fastmm_copy_configure(&settings, &reason) != 0)
        return tool_fail(error, "cannot force %s: %s", r->vector, reason);
    return 0;
}

/* The parts one after the other; the first that fails ends it. */
static int fill_all(struct tune_results *r, const struct arena *a, struct tool_error *error)
{
    static const measure_op copies[TUNE_WAYS] = {tune_own_copy, tune_rep_copy, tune_stream_copy,
                                                 tune_libc_copy};
    static const measure_op clears[TUNE_WAYS] = {tune_own_clear, tune_rep_clear, tune_stream_clear,
                                                 tune_libc_clear};
    r->copy.job = "copy";
    r->clear.job = "clear";
    int result = fill_table(&r->copy, a, r->largest, copies, error);
    if (result == 0)
        result = fill_table(&r->clear, a, r->largest, clears, error);
    for (unsigned i = 0; result == 0 && tune_has_rep() && i < TUNE_MAPS; i++)
        result = fill_map(&r->maps[i], map_sizes[i], a, error);
    if (result == 0 && tune_has_rep())
        result = fill_short(&r->rep_copy, tune_rep_copy, a, error);
    if (result == 0 && tune_has_rep())
        result = fill_short(&r->rep_clear, tune_rep_clear, a, error);
    if (result == 0 && tune_has_masks())
        result = fill_edges(&r->edges, error);
    return result;
}

int tune_measure(struct tune_results *r, struct tool_error *error)
{
    struct arena arena;
    r->largest = largest_block();
    if (arena_open(&arena, r->largest, error) != 0)
        return -1;
    int result = force_vectors(r, error);
    if (result == 0)
        result = fill_all(r, &arena, error);
    fastmm_copy_configure(NULL, NULL);
    arena_close(&arena);
    return result;
}
