/* SPDX-License-Identifier: MIT */
/* The measurements as a person reads them: tables, then what they mean in words. */
#include "tune.h"

#include <fastmm/cpu.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Shown with their factor from here on; below, two ways are as good as each other. */
#define WORTH_NAMING 1.1

static void print_ns(double ns)
{
    if (ns <= 0)
        printf("%12s", "-");
    else if (ns < 1e3)
        printf("%9.1f ns", ns);
    else if (ns < 1e6)
        printf("%9.2f us", ns / 1e3);
    else
        printf("%9.2f ms", ns / 1e6);
}

static void print_table(const struct tune_table *table)
{
    printf("\n%s, time for one call, source and destination reused\n", table->job);
    printf("  %-10s", "size");
    for (int way = 0; way < TUNE_WAYS; way++)
        printf("%12s", tune_way_name((enum tune_way)way, table->job));
    printf("%10s\n", "noise");
    for (unsigned i = 0; i < table->count; i++) {
        struct tool_size size;
        double noise = 0;
        printf("  %-10s", tool_size(&size, table->size[i]));
        for (int way = 0; way < TUNE_WAYS; way++) {
            print_ns(table->at[i][way].ns);
            if (table->at[i][way].spread > noise)
                noise = table->at[i][way].spread;
        }
        printf("%8.1f %%\n", noise * 100);
    }
}

/* "use vectors, not rep movsb (up to 3.9 times slower)" */
static void print_band(const struct tune_table *table, const struct tune_band *band)
{
    struct tool_size first, last;
    char range[64];
    if (band->first == band->last)
        snprintf(range, sizeof(range), "%s", tool_size(&first, band->first));
    else
        snprintf(range, sizeof(range), "%s to %s", tool_size(&first, band->first),
                 tool_size(&last, band->last));
    printf("  %-6s%-22suse %s", table->job, range, tune_way_name(band->best, table->job));
    const char *separator = ", not ";
    for (int way = 0; way < TUNE_WAYS; way++)
        if (band->behind[way] >= WORTH_NAMING) {
            printf("%s%s (up to %.1f times slower)", separator,
                   tune_way_name((enum tune_way)way, table->job), band->behind[way]);
            separator = ", ";
        }
    putchar('\n');
}

static void print_bands(const struct tune_table *table)
{
    struct tune_band bands[TUNE_MAX_SIZES];
    unsigned count = tune_bands(table, bands);
    for (unsigned i = 0; i < count; i++)
        print_band(table, &bands[i]);
}

static void print_knee(const char *instruction, const struct tune_short *curve)
{
    struct tune_knee knee = tune_find_knee(curve);
    struct tool_size size;
    if (curve->count == 0)
        return;
    if (knee.beyond > 0)
        printf("  %s costs %.1f ns up to %s, then jumps to %.1f ns.\n", instruction, knee.level,
               tool_size(&size, knee.size), knee.beyond);
    else
        printf("  %s costs the same up to %s: %.1f ns.\n", instruction, tool_size(&size, knee.size),
               knee.level);
}

/* The destination a little before the source is -63 to a person, not 4033. */
static int signed_alias(unsigned alias)
{
    return alias <= 2048 ? (int)alias : (int)alias - 4096;
}

static void print_map(const struct tune_map *map)
{
    struct tune_zone zones[TUNE_MAX_ZONES];
    unsigned count = tune_zones(map, zones);
    struct tool_size size;
    printf("  %-8s", tool_size(&size, map->size));
    printf("usually %.1f ns; ", tune_map_usual(map));
    if (count == 0)
        puts("no slow zone");
    for (unsigned i = 0; i < count; i++)
        printf("%s%d to %d: up to %.1f times slower%s", i ? ", " : "slow at ",
               signed_alias(zones[i].first), signed_alias(zones[i].last), zones[i].times,
               i + 1 < count ? "" : "\n");
}

static void print_trap(const struct tune_results *r)
{
    struct tune_zone worst = tune_worst_zone(r);
    if (worst.times >= TUNE_TRAP)
        printf("  A trap: at these aliases use vectors, not rep movsb (%.0f times slower at %d), "
               "whatever stands above.\n",
               worst.times, signed_alias(worst.worst));
    else
        puts("  No trap in copies of 4 KiB and more: rep movsb may go by size alone.");
}

static void print_edges(const struct tune_edges *e)
{
    if (!e->measured) {
        puts("  Masked 64-byte accesses: no AVX-512 here.");
        return;
    }
    printf("  A masked 64-byte store of 16 bytes takes %.1f ns, at the edge of mapped memory "
           "%.1f ns (%.0f times);\n"
           "  a load %.1f and %.1f ns (%.0f times); a store of nothing behind the edge %.1f ns.\n",
           e->store_inside.ns, e->store_edge.ns, e->store_edge.ns / e->store_inside.ns,
           e->load_inside.ns, e->load_edge.ns, e->load_edge.ns / e->load_inside.ns,
           e->store_nothing.ns);
    if (e->store_edge.ns > 10 * e->store_inside.ns || e->load_edge.ns > 10 * e->load_inside.ns)
        puts("  So never mask across the end of a page that may be the last one.");
}

static void print_libc(const struct tune_libc *libc)
{
    puts("\nFor programs that can't be changed");
    if (libc->skipped) {
        printf("  not tried: %s.\n", libc->skipped);
        return;
    }
    if (!libc->line[0]) {
        puts("  No GLIBC_TUNABLES line that was tried makes libc clearly faster here.");
        return;
    }
    printf("  GLIBC_TUNABLES=%s\n\n", libc->line);
    printf("  makes libc's memcpy and memset %.2f times as fast over these, in turns with and "
           "without:\n",
           libc->gain);
    printf("  %-22s%12s%12s%12s\n", "", "without", "with", "gain");
    for (unsigned i = 0; i < libc->count; i++) {
        const struct tune_probe *p = &libc->probes[i];
        printf("  %-22s", p->name);
        print_ns(p->plain.ns);
        print_ns(p->tuned.ns);
        printf("%10.2f x\n", p->plain.ns / p->tuned.ns);
    }
}

static void print_thresholds(const struct tune_results *r)
{
    struct fastmm_copy_settings s = tune_settings(r);
    struct fastmm_copy_plan plan;
    fastmm_copy_plan_get(&plan);
    const struct {
        const char *name;
        uint64_t measured, chosen;
    } rows[] = {
        {"copy_rep_min", s.copy_rep_min, plan.copy.rep_min.bytes},
        {"copy_stream_min", s.copy_stream_min, plan.copy.stream_min.bytes},
        {"fill_rep_min", s.fill_rep_min, plan.fill.rep_min.bytes},
        {"fill_stream_min", s.fill_stream_min, plan.fill.stream_min.bytes},
    };
    printf("\n%-27s%-12s%s\n", "Thresholds that follow", "measured", "the library's own");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tool_size size;
        printf("  %-25s%-12s", rows[i].name, tool_size(&size, rows[i].measured));
        printf("%s\n", tool_size(&size, rows[i].chosen));
    }
    puts("  '-o FILE' writes the measured ones; fastmm_copy_configure() puts them into force.");
}

void tune_report_text(const struct tune_results *r)
{
    struct tool_size size;
    printf("%s, measured in %.0f seconds, noise %.1f %% (distance of the quartiles, typically)\n",
           fastmm_cpu_native()->name, r->seconds, tune_noise(r) * 100);
    printf("vectors are the library's %s; the largest block is %s\n", r->vector,
           tool_size(&size, r->largest));
    print_table(&r->copy);
    print_table(&r->clear);

    puts("\nWhat to use");
    print_bands(&r->copy);
    print_bands(&r->clear);

    puts("\nShort sizes");
    print_knee("rep movsb", &r->rep_copy);
    print_knee("rep stosb", &r->rep_clear);
    print_edges(&r->edges);

    if (r->maps[0].count)
        puts("\nAliases of rep movsb: (destination - source) modulo 4096, from -2047 to 2048, by "
             "size");
    for (unsigned i = 0; i < TUNE_MAPS; i++)
        if (r->maps[i].count)
            print_map(&r->maps[i]);
    if (r->maps[0].count)
        print_trap(r);

    print_thresholds(r);
    print_libc(&r->libc);
}
