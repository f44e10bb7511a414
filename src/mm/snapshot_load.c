/* SPDX-License-Identifier: MIT */
/*
 * Rebuilds a recorded address space in a machine. A snapshot doesn't say everything that an entry
 * holds, so what it leaves open is filled in as a fault would have left it; the list is in
 * snapshot.h. Anything contradictory that only shows while building (a frame that is exclusive
 * twice, a page of a file in two frames) is refused here, and everything is taken back.
 */
#include "machine.h"
#include "snapshot_codec.h"

#include <errno.h>
#include <string.h>

struct backing {
    struct fastmm_object *object;
    uint64_t pages;
    uint8_t kind; /* of its areas */
};

struct loader {
    struct fastmm_machine *machine;
    struct fastmm_mm *mm;
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor begin, cursor;
    struct backing *files; /* by file number */
    uint64_t first_frame;  /* of those reserved; frame number 0 of the snapshot */
    uint64_t frames;       /* how many were reserved */
    uint64_t next_frame;   /* where the snapshot has no frame numbers */
    uint64_t next_slot;    /* likewise */
    enum fastmm_snapshot_reason reason;
};

static int contradicts(struct loader *l, enum fastmm_snapshot_reason reason)
{
    l->reason = reason;
    return -EBADMSG;
}

static bool has_frame_numbers(const struct loader *l)
{
    return l->sum.seen & FASTMM_SNAPSHOT_FRAMES;
}

/* --- Files ----------------------------------------------------------------------------------- */

static int measure_file(struct loader *l, const struct fastmm_snapshot_area *area)
{
    struct backing *file = &l->files[area->file];
    uint64_t end = area->offset + ((area->end - area->start) >> FASTMM_PAGE_SHIFT);
    if (file->pages && file->kind != area->kind)
        return contradicts(l, FASTMM_SNAPSHOT_BAD_FILE);
    file->kind = area->kind;
    if (end > file->pages)
        file->pages = end;
    return 0;
}

static int measure_files(struct loader *l)
{
    struct fastmm_snapshot_area area;
    int rc;
    l->cursor = l->begin;
    while ((rc = fastmm_snapshot_next_area(&l->cursor, &area)) > 0) {
        if (area.file != FASTMM_SNAPSHOT_NO_FILE)
            rc = measure_file(l, &area);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int create_files(struct loader *l)
{
    int rc = 0;
    if (l->sum.files == 0)
        return 0;
    l->files = fastmm_arena_zalloc(&l->machine->arena, l->sum.files * sizeof(*l->files));
    if (!l->files)
        return -ENOMEM;
    rc = measure_files(l);
    for (uint64_t i = 0; i < l->sum.files && !rc; i++) {
        bool shmem = l->files[i].kind == FASTMM_SNAPSHOT_AREA_SHMEM;
        rc = fastmm_object_create(l->machine, shmem ? FASTMM_OBJECT_SHMEM : FASTMM_OBJECT_FILE,
                                  l->files[i].pages, &l->files[i].object);
        if (rc == -EINVAL) /* larger than an object can be */
            rc = contradicts(l, FASTMM_SNAPSHOT_BAD_FILE);
    }
    return rc;
}

/* Drops the loader's own references; mappings hold theirs. */
static void put_files(struct loader *l)
{
    if (!l->files)
        return;
    for (uint64_t i = 0; i < l->sum.files; i++)
        if (l->files[i].object)
            fastmm_object_put(l->files[i].object);
    fastmm_arena_free(&l->machine->arena, l->files, l->sum.files * sizeof(*l->files));
}

/* --- Areas ----------------------------------------------------------------------------------- */

/* Areas of the kernel have pages that nobody else's file gives, so each gets one of its own. */
static bool has_own_object(const struct fastmm_snapshot_area *area)
{
    return area->kind == FASTMM_SNAPSHOT_AREA_VDSO || area->kind == FASTMM_SNAPSHOT_AREA_VVAR ||
           area->kind == FASTMM_SNAPSHOT_AREA_SPECIAL;
}

static int map_own_object(struct loader *l, struct fastmm_map *map)
{
    uint64_t pages = (map->end - map->start) >> FASTMM_PAGE_SHIFT;
    int rc = fastmm_object_create(l->machine, FASTMM_OBJECT_FILE, pages, &map->object);
    if (rc)
        return rc == -EINVAL ? contradicts(l, FASTMM_SNAPSHOT_BAD_AREA) : rc;
    rc = fastmm_mm_map(l->mm, map);
    fastmm_object_put(map->object);
    return rc;
}

static int map_area(struct loader *l, const struct fastmm_snapshot_area *area)
{
    struct fastmm_map map = {.start = area->start, .end = area->end};
    map.flags = (area->prot & FASTMM_SNAPSHOT_READ ? FASTMM_VM_READ : 0) |
                (area->prot & FASTMM_SNAPSHOT_WRITE ? FASTMM_VM_WRITE : 0) |
                (area->prot & FASTMM_SNAPSHOT_EXEC ? FASTMM_VM_EXEC : 0) |
                (area->shared ? FASTMM_VM_SHARED : 0);
    if (has_own_object(area))
        return map_own_object(l, &map);
    if (area->file != FASTMM_SNAPSHOT_NO_FILE) {
        map.object = l->files[area->file].object;
        map.pgoff = area->offset;
    }
    return fastmm_mm_map(l->mm, &map);
}

/* Protected entries need a registration that permits them; looks ahead at the area's runs. */
static int register_uffd(struct loader *l, const struct fastmm_snapshot_area *area)
{
    struct fastmm_snapshot_cursor ahead = l->cursor;
    struct fastmm_snapshot_run run;
    bool protects = false;
    uint32_t features = 0;
    while (fastmm_snapshot_next_run(&ahead, &run) > 0) {
        bool marker = run.kind == FASTMM_SNAPSHOT_RUN_MARKER && run.value == FASTMM_MARKER_UFFD_WP;
        protects = protects || marker || run.flags & FASTMM_SNAPSHOT_UFFD_WP;
        if (marker)
            features |= FASTMM_VM_UFFD_UNPOPULATED;
    }
    if (!protects)
        return 0;
    if (area->kind == FASTMM_SNAPSHOT_AREA_FILE || has_own_object(area))
        features |= FASTMM_VM_UFFD_ASYNC;
    return fastmm_mm_uffd_register(l->mm, area->start, area->end, features);
}

/* --- Runs ------------------------------------------------------------------------------------ */

static void fill_anon(struct loader *l, const struct fastmm_snapshot_area *area,
                      const struct fastmm_snapshot_run *run, struct fastmm_populate *p)
{
    (void)l;
    p->flags |= FASTMM_POPULATE_DIRTY;
    if (!(run->flags & FASTMM_SNAPSHOT_EXCLUSIVE))
        return;
    p->flags |= FASTMM_POPULATE_EXCLUSIVE;
    if (area->prot & FASTMM_SNAPSHOT_WRITE && !(run->flags & FASTMM_SNAPSHOT_UFFD_WP))
        p->flags |= FASTMM_POPULATE_WRITE;
}

/* Shared memory doesn't ask for the first write, so even a read leaves its entries writable. */
static void fill_file(struct loader *l, const struct fastmm_snapshot_area *area,
                      const struct fastmm_snapshot_run *run, struct fastmm_populate *p)
{
    (void)l;
    if (area->kind == FASTMM_SNAPSHOT_AREA_SHMEM && area->shared &&
        area->prot & FASTMM_SNAPSHOT_WRITE && !(run->flags & FASTMM_SNAPSHOT_UFFD_WP))
        p->flags |= FASTMM_POPULATE_WRITE;
}

static void fill_nothing(struct loader *l, const struct fastmm_snapshot_area *area,
                         const struct fastmm_snapshot_run *run, struct fastmm_populate *p)
{
    (void)l;
    (void)area;
    (void)run;
    (void)p;
}

static void fill_swap(struct loader *l, const struct fastmm_snapshot_area *area,
                      const struct fastmm_snapshot_run *run, struct fastmm_populate *p)
{
    (void)area;
    if (has_frame_numbers(l))
        return;
    p->value = l->next_slot;
    l->next_slot += run->pages;
}

static const struct {
    uint8_t kind;
    bool frames;
    enum fastmm_snapshot_reason refused;
    void (*fill)(struct loader *l, const struct fastmm_snapshot_area *area,
                 const struct fastmm_snapshot_run *run, struct fastmm_populate *p);
} run_kinds[] = {
    [FASTMM_SNAPSHOT_RUN_ANON] = {FASTMM_POPULATE_ANON, true, FASTMM_SNAPSHOT_BAD_FRAME, fill_anon},
    [FASTMM_SNAPSHOT_RUN_FILE] = {FASTMM_POPULATE_CACHE, true, FASTMM_SNAPSHOT_BAD_FRAME,
                                  fill_file},
    [FASTMM_SNAPSHOT_RUN_ZERO] = {FASTMM_POPULATE_ZERO, false, FASTMM_SNAPSHOT_WRONG_BACKING,
                                  fill_nothing},
    [FASTMM_SNAPSHOT_RUN_SWAP] = {FASTMM_POPULATE_SWAP, false, FASTMM_SNAPSHOT_BAD_SWAP, fill_swap},
    [FASTMM_SNAPSHOT_RUN_MARKER] = {FASTMM_POPULATE_MARKER, false, FASTMM_SNAPSHOT_BAD_RUN,
                                    fill_nothing},
};

/* A page of a file that was cached already has its frame; it must be the one recorded. */
static int check_frames(struct loader *l, const struct fastmm_populate *p)
{
    for (uint64_t i = 0; i < p->count; i++) {
        fastmm_pte_t pte = 0;
        int rc = fastmm_mm_lookup(l->mm, p->start + (i << FASTMM_PAGE_SHIFT), &pte);
        if (rc)
            return rc;
        if (fastmm_pte_pfn(pte) != p->value + i)
            return contradicts(l, FASTMM_SNAPSHOT_BAD_FRAME);
    }
    return 0;
}

static int load_run(struct loader *l, const struct fastmm_snapshot_area *area,
                    const struct fastmm_snapshot_run *run)
{
    struct fastmm_populate p = {.start = run->address, .count = run->pages, .value = run->value};
    bool frames = run_kinds[run->kind].frames;
    p.kind = run_kinds[run->kind].kind;
    p.swap_type = run->swap_type;
    if (run->flags & FASTMM_SNAPSHOT_UFFD_WP)
        p.flags |= FASTMM_POPULATE_UFFD_WP;
    if (frames)
        p.value = l->first_frame + (has_frame_numbers(l) ? run->value : l->next_frame);
    run_kinds[run->kind].fill(l, area, run, &p);
    int rc = fastmm_mm_populate(l->mm, &p, 1, NULL);
    if (rc == -EINVAL || rc == -EEXIST)
        return contradicts(l, run_kinds[run->kind].refused);
    if (!rc && frames && !has_frame_numbers(l))
        l->next_frame += run->pages;
    else if (!rc && run->kind == FASTMM_SNAPSHOT_RUN_FILE)
        rc = check_frames(l, &p);
    return rc;
}

static int load_area(struct loader *l, const struct fastmm_snapshot_area *area)
{
    struct fastmm_snapshot_run run;
    int rc = map_area(l, area);
    if (!rc)
        rc = register_uffd(l, area);
    while (!rc) {
        int more = fastmm_snapshot_next_run(&l->cursor, &run);
        if (more <= 0)
            return more;
        rc = load_run(l, area, &run);
    }
    return rc;
}

static int load_areas(struct loader *l)
{
    struct fastmm_snapshot_area area;
    int rc;
    l->cursor = l->begin;
    l->mm->keep_apart = true; /* what was recorded apart was so for reasons that no record tells */
    while ((rc = fastmm_snapshot_next_area(&l->cursor, &area)) > 0) {
        rc = load_area(l, &area);
        if (rc)
            return rc;
    }
    l->mm->keep_apart = false;
    return rc;
}

/* --- The whole ------------------------------------------------------------------------------- */

uint64_t fastmm_snapshot_frames_needed(const struct fastmm_snapshot_summary *summary)
{
    return summary->seen & FASTMM_SNAPSHOT_FRAMES ? summary->frames
                                                  : summary->anon_pages + summary->file_pages;
}

static int reserve_frames(struct loader *l)
{
    uint64_t frames = fastmm_snapshot_frames_needed(&l->sum);
    if (frames == 0)
        return 0;
    int rc = fastmm_machine_reserve(l->machine, frames, FASTMM_PTES, &l->first_frame);
    if (rc)
        return rc == -EINVAL ? -ENOMEM : rc; /* more than any machine has */
    l->frames = frames;
    return 0;
}

static int build(struct loader *l)
{
    int rc = reserve_frames(l);
    if (!rc)
        rc = create_files(l);
    if (!rc)
        rc = fastmm_mm_create(l->machine, &l->mm);
    if (!rc)
        rc = load_areas(l);
    put_files(l);
    if (rc && l->mm)
        fastmm_mm_destroy(l->mm, NULL);
    if (l->frames)
        fastmm_machine_unreserve(l->machine, l->first_frame, l->frames);
    return rc;
}

int fastmm_snapshot_load(const void *data, size_t size, struct fastmm_machine *machine,
                         struct fastmm_snapshot_error *error, struct fastmm_mm **mm)
{
    struct loader l;
    memset(&l, 0, sizeof(l));
    l.machine = machine;
    int rc = fastmm_snapshot_open(data, size, &l.sum, error, &l.begin);
    if (rc)
        return rc;
    l.cursor = l.begin;
    rc = build(&l);
    if (rc) {
        if (error) {
            error->offset = l.cursor.at;
            error->reason = l.reason ? l.reason : (enum fastmm_snapshot_reason)l.cursor.reason;
        }
        return rc;
    }
    *mm = l.mm;
    return 0;
}
