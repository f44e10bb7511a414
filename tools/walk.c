/* SPDX-License-Identifier: MIT */
/*
 * `fastmm walk`: what the page tables of a live process hold, mapping by mapping, and what a fork
 * would copy of it. The process is recorded through /proc and rebuilt in a simulated machine, where
 * the tables can be walked and the fork carried out.
 */
#include "recorder.h"
#include "tool.h"

#include <errno.h>
#include <fastmm/mm.h>
#include <fastmm/walk.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: fastmm walk --pid PID\n"
    "\n"
    "Shows the page tables of a process: for each mapping what its entries hold, in how many runs\n"
    "of like neighbours and how many tables, and how many entries a fork would copy. Frame "
    "numbers\n"
    "need CAP_SYS_ADMIN; without it runs say nothing of physical neighbourhood.\n"
    "\n"
    "The process is neither stopped nor touched. One that runs may change while it is being read;\n"
    "stop it first (kill -STOP) for an exact picture.\n";

struct counts {
    uint64_t pages, anon, file, zero, swap, markers, uffd_wp, runs, tables, copied;
};

static void add_counts(struct counts *sum, const struct counts *one)
{
    sum->pages += one->pages;
    sum->anon += one->anon;
    sum->file += one->file;
    sum->zero += one->zero;
    sum->swap += one->swap;
    sum->markers += one->markers;
    sum->uffd_wp += one->uffd_wp;
    sum->runs += one->runs;
    sum->tables += one->tables;
    sum->copied += one->copied;
}

/* --- The rebuilt process --------------------------------------------------------------------- */

struct rebuilt {
    struct fastmm_machine *machine;
    struct fastmm_mm *mm, *child;
};

static int rebuild(const struct recording *recording, const struct fastmm_snapshot_summary *summary,
                   struct rebuilt *r)
{
    const struct fastmm_machine_config config = {
        .frames = fastmm_snapshot_frames_needed(summary) + 1, .levels = summary->levels};
    int rc = fastmm_machine_create(&config, &r->machine);
    for (unsigned type = 0; !rc && type < FASTMM_SNAPSHOT_SWAP_TYPES; type++)
        if (summary->swap_slots[type])
            rc = fastmm_machine_swap_on(r->machine, type, summary->swap_slots[type]);
    if (!rc)
        rc = fastmm_snapshot_load(recording->data, recording->size, r->machine, NULL, &r->mm);
    return rc ? rc : fastmm_mm_fork(r->mm, &r->child);
}

static void drop(struct rebuilt *r)
{
    if (r->child)
        fastmm_mm_destroy(r->child, NULL);
    if (r->mm)
        fastmm_mm_destroy(r->mm, NULL);
    if (r->machine)
        fastmm_machine_destroy(r->machine);
}

static int count_table(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                       uint64_t end)
{
    struct counts *c = context;
    (void)vma, (void)addr, (void)end;
    c->tables += level == 1;
    return 0;
}

static int count_copied(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                        fastmm_pte_t pte)
{
    struct counts *c = context;
    (void)vma, (void)level, (void)addr;
    c->copied += !fastmm_pte_none(pte);
    return 0;
}

static void count_tables(const struct rebuilt *r, const struct fastmm_snapshot_area *area,
                         struct counts *c)
{
    static const struct fastmm_walk_ops tables = {.table = count_table};
    static const struct fastmm_walk_ops copied = {.leaf = count_copied};
    fastmm_walk(r->mm, area->start, area->end, &tables, c);
    fastmm_walk(r->child, area->start, area->end, &copied, c);
}

/* --- Mappings -------------------------------------------------------------------------------- */

static void count_run(const struct fastmm_snapshot_run *run, struct counts *c)
{
    switch ((enum fastmm_snapshot_run_kind)run->kind) {
    case FASTMM_SNAPSHOT_RUN_ANON:
        c->anon += run->pages;
        break;
    case FASTMM_SNAPSHOT_RUN_FILE:
        c->file += run->pages;
        break;
    case FASTMM_SNAPSHOT_RUN_ZERO:
        c->zero += run->pages;
        break;
    case FASTMM_SNAPSHOT_RUN_SWAP:
        c->swap += run->pages;
        break;
    case FASTMM_SNAPSHOT_RUN_MARKER:
        c->markers += run->pages;
        break;
    }
    c->uffd_wp += run->flags & FASTMM_SNAPSHOT_UFFD_WP ? run->pages : 0;
    c->runs++;
}

static void print_counts(const struct counts *c)
{
    printf(" %9" PRIu64 " %8" PRIu64 " %8" PRIu64 " %6" PRIu64 " %6" PRIu64 " %6" PRIu64
           " %6" PRIu64 " %7" PRIu64 " %6" PRIu64 " %8" PRIu64 "\n",
           c->pages, c->anon, c->file, c->zero, c->swap, c->markers, c->uffd_wp, c->runs, c->tables,
           c->copied);
}

static void print_area(const struct fastmm_snapshot_area *area, const struct counts *c)
{
    static const char *const kinds[FASTMM_SNAPSHOT_AREA_KINDS] = {
        "anon", "file", "shmem", "stack", "heap", "vdso", "vvar", "special"};
    printf("%012" PRIx64 "-%012" PRIx64 " %c%c%c%c %-7s", area->start, area->end,
           area->prot & FASTMM_SNAPSHOT_READ ? 'r' : '-',
           area->prot & FASTMM_SNAPSHOT_WRITE ? 'w' : '-',
           area->prot & FASTMM_SNAPSHOT_EXEC ? 'x' : '-', area->shared ? 's' : 'p',
           kinds[area->kind]);
    print_counts(c);
}

static int print_areas(struct fastmm_snapshot_cursor *cursor, const struct rebuilt *r,
                       struct counts *sum)
{
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run run;
    int rc;
    printf("%-38s %9s %8s %8s %6s %6s %6s %6s %7s %6s %8s\n", "mapping", "pages", "anon", "file",
           "zero", "swap", "marker", "wp", "runs", "tables", "copied");
    while ((rc = fastmm_snapshot_next_area(cursor, &area)) == 1) {
        struct counts c = {.pages = (area.end - area.start) / FASTMM_PAGE_SIZE};
        while ((rc = fastmm_snapshot_next_run(cursor, &run)) == 1)
            count_run(&run, &c);
        if (rc)
            return rc;
        count_tables(r, &area, &c);
        print_area(&area, &c);
        add_counts(sum, &c);
    }
    return rc;
}

static void print_totals(const struct fastmm_snapshot_summary *s, const struct rebuilt *r,
                         const struct counts *sum)
{
    int64_t rss[FASTMM_RSS_COUNTERS];
    printf("%-38s", "all");
    print_counts(sum);
    printf("\ntables: %" PRIu64 " of entries, %" PRIu64 " PMD, %" PRIu64 " PUD, %" PRIu64
           " above\n",
           s->tables[0], s->tables[1], s->tables[2], s->tables[3] + s->tables[4]);
    printf("pages mapped by 2 MiB entries: %" PRIu64 "; soft-dirty: %" PRIu64 "\n", s->pmd_pages,
           s->soft_dirty_pages);
    fastmm_mm_rss(r->child, rss);
    printf("a fork would copy %" PRIu64 " entries (anon %" PRId64 ", file %" PRId64
           ", shmem %" PRId64 ", swap %" PRId64 " counted) and make %" PRIu64 " tables\n",
           sum->copied, rss[FASTMM_RSS_ANON], rss[FASTMM_RSS_FILE], rss[FASTMM_RSS_SHMEM],
           rss[FASTMM_RSS_SWAP], fastmm_mm_tables(r->child));
    if (!(s->seen & FASTMM_SNAPSHOT_FRAMES))
        puts("without frame numbers: they need CAP_SYS_ADMIN");
}

static int show(const struct recording *recording)
{
    struct fastmm_snapshot_summary summary;
    struct fastmm_snapshot_cursor cursor;
    struct rebuilt r = {0};
    struct counts sum = {0};
    int rc = fastmm_snapshot_open(recording->data, recording->size, &summary, NULL, &cursor);
    if (!rc)
        rc = rebuild(recording, &summary, &r);
    if (!rc)
        rc = print_areas(&cursor, &r, &sum);
    if (!rc)
        print_totals(&summary, &r, &sum);
    drop(&r);
    if (!rc && recording->changed)
        puts("the process changed its mappings meanwhile: parts may not fit together");
    return rc;
}

int tool_walk(int argc, char **argv)
{
    struct recording recording;
    struct tool_error error;
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(usage, stdout);
        return tool_finish();
    }
    if (argc != 3 || strcmp(argv[1], "--pid") != 0)
        return tool_misused("walk", "--pid PID is expected");
    long pid = tool_pid(argv[2]);
    if (!pid)
        return tool_misused("walk", "not a process number: %s", argv[2]);
    if (recorder_run("/proc", pid, &recording, &error)) {
        tool_complain("%s", error.text);
        return TOOL_FAILED;
    }
    int rc = show(&recording);
    free(recording.data);
    if (rc) {
        tool_complain("the process can't be rebuilt: %s", strerror(-rc));
        return TOOL_FAILED;
    }
    return tool_finish();
}
