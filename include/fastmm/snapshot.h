/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: the address space of a real process as a few kilobytes of data, so that a walk, a
 * fork or a zap can be tried on a layout that no generator would invent. The bytes are described
 * in docs/snapshot-format.md; this is the codec over a buffer in memory. Reading and writing files
 * is the caller's business.
 *
 * Reading. fastmm_snapshot_open() checks every byte before the first area is handed out, and the
 * cursor then streams areas and runs in ascending order. Nothing is allocated, so a file that
 * claims a great deal costs nothing. What it claims is in the summary, and the caller decides
 * whether to build it.
 *
 *     struct fastmm_snapshot_cursor c;
 *     if (fastmm_snapshot_open(data, size, NULL, &error, &c))
 *         ... error.offset, fastmm_snapshot_reason_text(error.reason) ...
 *     while (fastmm_snapshot_next_area(&c, &area) > 0)
 *         while (fastmm_snapshot_next_run(&c, &run) > 0)
 *             ...
 *
 * Writing. Areas and their runs are added in ascending order; the writer joins runs that continue
 * one another, so that one address space has exactly one encoding.
 *
 * Every function is safe from any thread and from signal handlers; a cursor or a writer belongs to
 * one thread at a time. Addresses and ends of areas are in bytes, everything else that counts is in
 * pages of 4096 bytes.
 */
#ifndef FASTMM_SNAPSHOT_H
#define FASTMM_SNAPSHOT_H

#include <fastmm/base.h>

FASTMM_BEGIN_DECLS

#define FASTMM_SNAPSHOT_VERSION 1

/* What the recorder could see; without a bit the matching facts are absent, not zero. */
#define FASTMM_SNAPSHOT_FRAMES 0x1u /* frame numbers and swap offsets */
#define FASTMM_SNAPSHOT_ZERO   0x2u /* the zero page is told from other pages */
#define FASTMM_SNAPSHOT_HUGE   0x4u /* 2 MiB entries are told from 4 KiB entries */

/* What backs an area. Only files and shared memory have a file number and an offset. */
enum fastmm_snapshot_area_kind {
    FASTMM_SNAPSHOT_AREA_ANON,
    FASTMM_SNAPSHOT_AREA_FILE,
    FASTMM_SNAPSHOT_AREA_SHMEM,
    FASTMM_SNAPSHOT_AREA_STACK,
    FASTMM_SNAPSHOT_AREA_HEAP,
    FASTMM_SNAPSHOT_AREA_VDSO,
    FASTMM_SNAPSHOT_AREA_VVAR,
    FASTMM_SNAPSHOT_AREA_SPECIAL, /* devices, hugetlb, unknown kernel areas */
    FASTMM_SNAPSHOT_AREA_KINDS
};

#define FASTMM_SNAPSHOT_READ  0x1u
#define FASTMM_SNAPSHOT_WRITE 0x2u
#define FASTMM_SNAPSHOT_EXEC  0x4u

#define FASTMM_SNAPSHOT_NO_FILE UINT32_MAX

#define FASTMM_SNAPSHOT_SWAP_TYPES 31 /* 5 bits, of which the last means marker */

struct fastmm_snapshot_area {
    uint64_t start;  /* first byte */
    uint64_t end;    /* one past the last byte */
    uint64_t offset; /* pages into the file; 0 without one */
    uint32_t file;   /* files are numbered 0, 1, ... as they first appear */
    uint8_t prot;    /* FASTMM_SNAPSHOT_READ | WRITE | EXEC */
    uint8_t shared;  /* 1: MAP_SHARED, 0: MAP_PRIVATE */
    uint8_t kind;    /* enum fastmm_snapshot_area_kind */
};

/* What the entries of a run hold. Pages in no run have an empty entry. */
enum fastmm_snapshot_run_kind {
    FASTMM_SNAPSHOT_RUN_ANON = 2, /* anonymous pages; value is the first frame */
    FASTMM_SNAPSHOT_RUN_FILE,     /* pages of a file or of shared memory; the first frame */
    FASTMM_SNAPSHOT_RUN_ZERO,     /* the zero page, or the huge zero page; value 0 */
    FASTMM_SNAPSHOT_RUN_SWAP,     /* swapped out; value is the first offset in swap_type */
    FASTMM_SNAPSHOT_RUN_MARKER    /* value: FASTMM_MARKER_* (swp.h) in every entry */
};

#define FASTMM_SNAPSHOT_EXCLUSIVE  0x08u /* present pages: mapped by this process only */
#define FASTMM_SNAPSHOT_UFFD_WP    0x10u
#define FASTMM_SNAPSHOT_SOFT_DIRTY 0x20u
#define FASTMM_SNAPSHOT_PMD        0x40u /* mapped by 2 MiB entries */

/*
 * Consecutive pages of one area whose entries differ only in that frame numbers or swap offsets
 * count up by one. Frame numbers are not those of the machine: they keep its order and what is
 * adjacent, and frames of 2 MiB entries keep their alignment. Without
 * FASTMM_SNAPSHOT_FRAMES the values of pages and swap entries are 0, and so are swap types; markers
 * other than guards then pass for swap entries, because the kernel shows no difference.
 */
struct fastmm_snapshot_run {
    uint64_t address;
    uint64_t pages;
    uint64_t value;
    uint8_t kind;  /* enum fastmm_snapshot_run_kind */
    uint8_t flags; /* FASTMM_SNAPSHOT_EXCLUSIVE | ... */
    uint8_t swap_type;
};

struct fastmm_snapshot_summary {
    uint32_t seen;   /* FASTMM_SNAPSHOT_FRAMES | ZERO | HUGE */
    uint32_t levels; /* of page tables, 4 or 5 */
    uint64_t areas;
    uint64_t files;
    uint64_t area_pages; /* of address space */
    uint64_t runs;
    uint64_t frames; /* every frame number is below this */
    uint64_t anon_pages;
    uint64_t file_pages;
    uint64_t zero_pages;
    uint64_t swap_pages;
    uint64_t marker_pages;
    uint64_t exclusive_pages;
    uint64_t uffd_wp_pages; /* without markers */
    uint64_t soft_dirty_pages;
    uint64_t pmd_pages; /* pages, not entries, mapped by 2 MiB entries */
    /* Page tables that hold a non-empty entry: [0] of 4 KiB leaves, [1] of 2 MiB, ... the root. */
    uint64_t tables[5];
    /* Slots that each swap area must have: one more than the highest offset. */
    uint64_t swap_slots[FASTMM_SNAPSHOT_SWAP_TYPES];
};

enum fastmm_snapshot_reason {
    FASTMM_SNAPSHOT_OK,
    FASTMM_SNAPSHOT_NOT_A_SNAPSHOT,
    FASTMM_SNAPSHOT_BAD_VERSION,
    FASTMM_SNAPSHOT_BAD_HEADER,
    FASTMM_SNAPSHOT_TRUNCATED,
    FASTMM_SNAPSHOT_TRAILING_BYTES,
    FASTMM_SNAPSHOT_BAD_CHECKSUM,
    FASTMM_SNAPSHOT_BAD_NUMBER,
    FASTMM_SNAPSHOT_BAD_AREA,
    FASTMM_SNAPSHOT_EMPTY_AREA,
    FASTMM_SNAPSHOT_UNALIGNED,
    FASTMM_SNAPSHOT_OVERLAP,
    FASTMM_SNAPSHOT_NON_CANONICAL,
    FASTMM_SNAPSHOT_BAD_FILE,
    FASTMM_SNAPSHOT_BAD_RUN,
    FASTMM_SNAPSHOT_EMPTY_RUN,
    FASTMM_SNAPSHOT_RUN_BEYOND_AREA,
    FASTMM_SNAPSHOT_WRONG_BACKING,
    FASTMM_SNAPSHOT_BAD_FRAME,
    FASTMM_SNAPSHOT_BAD_SWAP,
    FASTMM_SNAPSHOT_NOT_JOINED,
    FASTMM_SNAPSHOT_WRONG_TOTALS,
    FASTMM_SNAPSHOT_REASONS
};

struct fastmm_snapshot_error {
    uint64_t offset; /* of the byte where the trouble was found */
    enum fastmm_snapshot_reason reason;
};

/* One line in English, without a full stop; "unknown reason" for a number that is none. */
FASTMM_API const char *fastmm_snapshot_reason_text(enum fastmm_snapshot_reason reason);

/* Private: how far an address space has been described. */
struct fastmm_snapshot_state {
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run last; /* of this area; pages is 0 when there is none */
    uint64_t next_page;              /* address of the first page not yet described */
    uint64_t next_frame;             /* what a frame number is coded relative to */
    uint64_t next_offset;            /* what a swap offset is coded relative to */
    uint64_t areas;
    uint64_t files;
    uint64_t runs;
    uint64_t frames; /* every frame number so far is below this */
    uint64_t framed_pages;
    uint32_t seen;
    uint32_t levels;
};

/* Private to the library; public so that the caller can place it. */
struct fastmm_snapshot_cursor {
    const unsigned char *data;
    uint64_t at;
    uint64_t body_end;
    struct fastmm_snapshot_state state;
    uint8_t in_area;  /* the end of the area has not been read yet */
    uint8_t in_group; /* the end of the group of runs has not been read yet */
    uint8_t skipped;  /* a gap was read and the run after it was not */
    uint8_t reason;   /* why the cursor stopped, enum fastmm_snapshot_reason */
};

/*
 * Checks all `size` bytes and places the cursor before the first area. `summary` and `error` may
 * be NULL. The bytes must outlive the cursor.
 *
 * 0; -EINVAL: data or cursor is NULL, or this is no snapshot; -ENOTSUP: a version this library
 * doesn't know; -EBADMSG: damaged or malformed. On failure only *error is written.
 */
FASTMM_API int fastmm_snapshot_open(const void *data, size_t size,
                                    struct fastmm_snapshot_summary *summary,
                                    struct fastmm_snapshot_error *error,
                                    struct fastmm_snapshot_cursor *cursor);

/*
 * The next area, leaving out what is unread of the current one. 1; 0 after the last; -EBADMSG when
 * the bytes are no longer those that fastmm_snapshot_open() checked.
 */
FASTMM_API int fastmm_snapshot_next_area(struct fastmm_snapshot_cursor *cursor,
                                         struct fastmm_snapshot_area *area);

/* The next run of the current area. 1; 0 after its last, or without an area; -EBADMSG as above. */
FASTMM_API int fastmm_snapshot_next_run(struct fastmm_snapshot_cursor *cursor,
                                        struct fastmm_snapshot_run *run);

/* Private to the library; public so that the caller can place it. */
struct fastmm_snapshot_writer {
    unsigned char *data;
    uint64_t capacity;
    uint64_t at;
    struct fastmm_snapshot_state state;
    struct fastmm_snapshot_run pending; /* not written yet; pages is 0 when there is none */
};

/*
 * Begins a snapshot in `data`. `seen` is a set of FASTMM_SNAPSHOT_FRAMES, ZERO and HUGE;
 * `levels` is 4 or 5. 0; -EINVAL: any of that is not so, or a pointer is NULL; -ENOSPC:
 * not even an empty snapshot fits.
 */
FASTMM_API int fastmm_snapshot_begin(void *data, size_t capacity, uint32_t seen, uint32_t levels,
                                     struct fastmm_snapshot_writer *writer);

/*
 * Adds an area past all earlier ones. 0; -EINVAL: it breaks a rule of the format (why is in
 * *reason unless that is NULL); -ENOSPC: it doesn't fit. On failure the writer has not changed.
 */
FASTMM_API int fastmm_snapshot_add_area(struct fastmm_snapshot_writer *writer,
                                        const struct fastmm_snapshot_area *area,
                                        enum fastmm_snapshot_reason *reason);

/* Adds a run to the last area, past its earlier ones. Results as for an area. */
FASTMM_API int fastmm_snapshot_add_run(struct fastmm_snapshot_writer *writer,
                                       const struct fastmm_snapshot_run *run,
                                       enum fastmm_snapshot_reason *reason);

/*
 * Completes the snapshot; *size is its length. 0; -EINVAL: finished already, or the frame numbers
 * are too sparse for the format (docs/snapshot-format.md); -ENOSPC: it doesn't fit.
 */
FASTMM_API int fastmm_snapshot_finish(struct fastmm_snapshot_writer *writer, size_t *size);

/* --- Loading -------------------------------------------------------------------------------- */

struct fastmm_machine;
struct fastmm_mm;

/* Frames that a machine must have free, with consecutive numbers, to load the snapshot. */
FASTMM_API uint64_t fastmm_snapshot_frames_needed(const struct fastmm_snapshot_summary *summary);

/*
 * Rebuilds the address space in the machine (mm.h): the same mappings, entries in the same places
 * and of the same kinds, frames in the same order. The machine must have the levels of tables, the
 * frames and, where pages are swapped out, swap areas with the slots that the summary tells.
 *
 * What pagemap doesn't show is filled in as a fault would have left it: anonymous pages are dirty,
 * and writable where the mapping is and the page is exclusive; pages of files are clean and not
 * writable; shared memory is writable where the mapping is; swap entries aren't exclusive. Where an
 * entry is write-protected by userfaultfd, its mapping is registered for that. Without frame
 * numbers frames and slots are handed out in order of address. 2 MiB entries become 512 entries of
 * 4 KiB, soft-dirty bits are left out, and areas of the kernel are private files.
 *
 * 0; as fastmm_snapshot_open(); -EBADMSG where the snapshot contradicts itself in a way that shows
 * only here; -ERANGE for too few levels; -ENOMEM, also for too few frames. `error` may be NULL and
 * is written on any failure, with FASTMM_SNAPSHOT_OK where the snapshot isn't to blame. On failure
 * the machine holds no more than before.
 */
FASTMM_API int fastmm_snapshot_load(const void *data, size_t size, struct fastmm_machine *machine,
                                    struct fastmm_snapshot_error *error, struct fastmm_mm **mm);

FASTMM_END_DECLS

#endif
