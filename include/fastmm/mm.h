/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine with many address spaces that behave as those of x86-64
 * Linux 6.18 do: mappings, page tables with real entries, faults, fork, zap,
 * protection, userfaultfd write protection, and resident-set counters.
 *
 * What is simulated is the bookkeeping. Frames have metadata (references, map
 * count, dirty, exclusive, pins) but no contents; file pages come into the page
 * cache when somebody faults on them; swapping is synchronous and happens on
 * request. There is no TLB, no reverse map and no reclaim.
 *
 *   machine   frames, zero page, swap areas, and the memory all else lives in
 *     object  the page cache of one file or shmem segment
 *     mm      one address space: VMAs, page tables, counters
 *       vma   one mapping
 *
 * Threads: a machine and everything in it belong to one thread at a time; two
 * machines share nothing. No call may be made from a signal handler that
 * interrupted another call on the same machine.
 *
 * Memory comes from the functions in the configuration, or from mmap. Nothing
 * is ever printed; entries that make no sense are recorded (struct
 * fastmm_bad_entry) and treated as no page.
 *
 * Errors beyond base.h's convention: -EINVAL for ranges that are empty or not
 * page-aligned and for flags that mean nothing; -ERANGE for ranges that wrap or
 * leave the user half; -ENOMEM where an allocation failed or, as in the kernel,
 * where a range has holes that it must not have.
 */
#ifndef FASTMM_MM_H
#define FASTMM_MM_H

#include <fastmm/swp.h>

#define FASTMM_MM_EPOCH 3

struct fastmm_machine;
struct fastmm_object;
struct fastmm_mm;

/* --- Frames --------------------------------------------------------------------------------- */

/* "No page": what a lookup answers for entries that map none. */
#define FASTMM_PFN_NONE UINT64_MAX

/* The frame that every read of untouched anonymous memory maps. Never counted. */
#define FASTMM_PFN_ZERO 1

/* The last entry that made no sense, and how many there were. */
struct fastmm_bad_entry {
    uint64_t count;
    uint64_t addr;
    fastmm_pte_t pte;
    uint32_t vma_flags;
};

/*
 * The frames of a machine. word[pfn] holds everything the hot paths touch (references, map count,
 * order, kind, state) in 8 bytes.
 */
struct fastmm_frames {
    uint64_t *word;
    uint64_t highest; /* no frame has a higher number */
    struct fastmm_bad_entry bad;
};

enum fastmm_frame_kind {
    FASTMM_FRAME_FREE,
    FASTMM_FRAME_RESERVED, /* taken out of the free ones, mapped by nothing yet */
    FASTMM_FRAME_ANON,
    FASTMM_FRAME_FILE,
    FASTMM_FRAME_SHMEM,
    FASTMM_FRAME_ZERO
};

struct fastmm_frame_info {
    enum fastmm_frame_kind kind;
    uint32_t refs;
    uint32_t mapcount;
    uint32_t pins;
    unsigned order;
    bool dirty;     /* the page was dirty in some mapping that is gone, or in the cache */
    bool young;     /* likewise accessed */
    bool exclusive; /* anonymous, of one address space alone */
};

/* --- Machine -------------------------------------------------------------------------------- */

/*
 * Builds of the inner loops of fork, zap and scan. All of them do exactly the same; BEST takes the
 * fastest that this CPU can run.
 */
enum fastmm_mm_impl { FASTMM_MM_BEST, FASTMM_MM_PLAIN, FASTMM_MM_AVX512 };

struct fastmm_machine_config {
    uint64_t frames;     /* how many can be in use at a time: 1 .. 2^32 */
    unsigned levels;     /* of page tables: 4 or 5; 0 means 4 */
    unsigned impl;       /* enum fastmm_mm_impl */
    bool soft_dirty;     /* entries say what was written since fastmm_mm_clear_refs() */
    bool no_huge_arenas; /* don't ask the system for huge pages under tables and frames */
    /*
     * Where memory comes from; NULL for mmap. `map` returns `bytes` (a multiple of 4096) of zeroed
     * memory aligned to `align` (a power of 2), or NULL. Both or neither.
     */
    void *(*map)(void *context, size_t bytes, size_t align);
    void (*unmap)(void *context, void *memory, size_t bytes);
    void *context;
};

FASTMM_BEGIN_DECLS

/* The name of what a machine made with `impl` runs ("avx512"), or NULL if this CPU can't. */
FASTMM_API const char *fastmm_mm_impl_name(enum fastmm_mm_impl impl);

/*
 * Makes a machine. -EINVAL for a configuration out of its ranges, -ENOTSUP for a build that this
 * CPU can't run, -ENOMEM.
 */
FASTMM_API int fastmm_machine_create(const struct fastmm_machine_config *config,
                                     struct fastmm_machine **machine);

/*
 * Returns all memory of the machine. -EBUSY, and nothing changes, while an address space or an
 * object is left in it.
 */
FASTMM_API int fastmm_machine_destroy(struct fastmm_machine *machine);

struct fastmm_machine_stats {
    uint64_t frames_used; /* neither free nor reserved, the zero page not counted */
    uint64_t frames_free;
    uint64_t frames_reserved;
    uint64_t mms;
    uint64_t objects;
    uint64_t tables;           /* page-table pages of all address spaces */
    uint64_t blocks;           /* live allocations of any kind, tables among them */
    uint64_t swap_used;        /* references to swap slots */
    uint64_t pfn_reservations; /* VMAs that hold a reservation of raw frames */
    uint64_t huge_arena_bytes; /* arena bytes for which huge pages were granted by request */
};

FASTMM_API void fastmm_machine_get_stats(const struct fastmm_machine *machine,
                                         struct fastmm_machine_stats *stats);

/*
 * Lets `successes` more allocations (tables, mappings, objects, frames) succeed and every later
 * one fail with -ENOMEM, to try out what happens then. UINT64_MAX switches that off.
 */
FASTMM_API void fastmm_machine_fail_after(struct fastmm_machine *machine, uint64_t successes);

/* Gives swap area `type` (0 .. 22) that many slots. -EBUSY if it has some, -EINVAL, -ENOMEM. */
FASTMM_API int fastmm_machine_swap_on(struct fastmm_machine *machine, unsigned type,
                                      uint64_t slots);

/*
 * Takes `count` frames with consecutive numbers, the first a multiple of `align` (a power of 2),
 * out of those never used, for fastmm_mm_populate(). -ENOMEM when there are no such frames.
 */
FASTMM_API int fastmm_machine_reserve(struct fastmm_machine *machine, uint64_t count,
                                      uint64_t align, uint64_t *first);

/* Gives those of [first, first + count) back that are still reserved. Frames in use stay. */
FASTMM_API int fastmm_machine_unreserve(struct fastmm_machine *machine, uint64_t first,
                                        uint64_t count);

/* The frames, for the lookups in mm_inline.h. Valid until the machine is destroyed. */
FASTMM_API struct fastmm_frames *fastmm_machine_frames(struct fastmm_machine *machine);

/* -EINVAL for a number that no frame has. */
FASTMM_API int fastmm_machine_frame(const struct fastmm_machine *machine, uint64_t pfn,
                                    struct fastmm_frame_info *info);

/* --- Objects -------------------------------------------------------------------------------- */

enum fastmm_object_kind {
    FASTMM_OBJECT_FILE, /* a file system that wants to know of the first write to a page */
    FASTMM_OBJECT_SHMEM
};

/* An empty page cache for a file of `pages` pages (1 .. 2^32). The caller holds a reference. */
FASTMM_API int fastmm_object_create(struct fastmm_machine *machine, enum fastmm_object_kind kind,
                                    uint64_t pages, struct fastmm_object **object);

/* Drops the caller's reference. With the last one (mappings hold one each) the pages are freed. */
FASTMM_API void fastmm_object_put(struct fastmm_object *object);

/*
 * Brings pages [first, first + count) into the cache (readahead). -EINVAL beyond the end; -ENOMEM,
 * and the pages before the one that failed stay.
 */
FASTMM_API int fastmm_object_read(struct fastmm_object *object, uint64_t first, uint64_t count);

/* --- Address spaces and mappings ------------------------------------------------------------ */

/* Flags of a mapping. The first group may be given to fastmm_mm_map(). */
#define FASTMM_VM_READ       (1u << 0)
#define FASTMM_VM_WRITE      (1u << 1)
#define FASTMM_VM_EXEC       (1u << 2)
#define FASTMM_VM_SHARED     (1u << 3)
#define FASTMM_VM_PFNMAP     (1u << 4) /* raw frames, no page behind any entry */
#define FASTMM_VM_DONTCOPY   (1u << 5) /* not inherited by fork */
#define FASTMM_VM_WIPEONFORK (1u << 6) /* inherited empty; private anonymous only */
/* The second group says what happened to it since. */
#define FASTMM_VM_MIXEDMAP         (1u << 8)
#define FASTMM_VM_MAYWRITE         (1u << 9)
#define FASTMM_VM_ANON_VMA         (1u << 10) /* has, or had, anonymous pages of its own */
#define FASTMM_VM_GUARD            (1u << 11) /* a guard was once installed in it */
#define FASTMM_VM_UFFD_WP          (1u << 12) /* registered for write-protect faults */
#define FASTMM_VM_UFFD_FORK        (1u << 13) /* its context follows into children */
#define FASTMM_VM_UFFD_UNPOPULATED (1u << 14) /* empty anonymous entries are protected too */
#define FASTMM_VM_UFFD_ASYNC       (1u << 15) /* faults resolve without an event; implies that */
#define FASTMM_VM_FORKED           (1u << 16) /* its anonymous pages may be a parent's */
#define FASTMM_VM_UFFD_REMAP       (1u << 17) /* its context follows when it is moved */
#define FASTMM_VM_UFFD_LOST        (1u << 18) /* its registration ended, protection may be left */
#define FASTMM_VM_SOFT_TRACKED     (1u << 19) /* fastmm_mm_clear_refs() was called since */

#define FASTMM_VM_PROT (FASTMM_VM_READ | FASTMM_VM_WRITE | FASTMM_VM_EXEC)
#define FASTMM_VM_UFFD                                                                             \
    (FASTMM_VM_UFFD_WP | FASTMM_VM_UFFD_FORK | FASTMM_VM_UFFD_UNPOPULATED | FASTMM_VM_UFFD_ASYNC | \
     FASTMM_VM_UFFD_REMAP)

struct fastmm_vma {
    uint64_t start, end; /* bytes; end is exclusive */
    uint64_t page_prot;  /* bits of a new leaf; shared mappings that track writes lack RW */
    uint64_t pgoff; /* page of the object, or raw frame, that `start` maps; of anonymous memory:
                       number of the page at which it was first mapped */
    struct fastmm_object *object; /* NULL for anonymous and raw mappings */
    uint32_t flags;               /* FASTMM_VM_* */
    uint32_t anon_vma;            /* equal for mappings whose anonymous pages may be one's; or 0 */
};

struct fastmm_map {
    uint64_t start, end;
    uint32_t flags;               /* first group of FASTMM_VM_* */
    struct fastmm_object *object; /* of the same machine; NULL for anonymous and raw mappings */
    uint64_t pgoff;               /* first page of the object, or first raw frame */
};

/* Resident-set counters, in the kernel's order. */
enum fastmm_rss { FASTMM_RSS_FILE, FASTMM_RSS_ANON, FASTMM_RSS_SWAP, FASTMM_RSS_SHMEM };
#define FASTMM_RSS_COUNTERS 4

/* An empty address space. -ENOMEM. */
FASTMM_API int fastmm_mm_create(struct fastmm_machine *machine, struct fastmm_mm **mm);

/*
 * Unmaps everything and frees the address space. -EUCLEAN if a counter wasn't zero afterwards or a
 * table was left, with the rests in residue[] (by enum fastmm_rss, then tables; may be NULL): that
 * would be a fault of this library. The address space is gone either way.
 */
FASTMM_API int fastmm_mm_destroy(struct fastmm_mm *mm, int64_t residue[FASTMM_RSS_COUNTERS + 1]);

/*
 * Maps [start, end). Neighbours that are alike become one mapping, here as after every change of
 * protection or registration, unless their anonymous pages came about apart. -EEXIST where
 * something is mapped already; -EINVAL for shared anonymous memory (give it a shmem object) and
 * other flags that exclude each other; -EOVERFLOW when the offset runs out of 52 bits. Faults
 * beyond the end of an object are SIGBUS, not an error here. Raw mappings (PFNMAP) are entered into
 * the tables at once.
 */
FASTMM_API int fastmm_mm_map(struct fastmm_mm *mm, const struct fastmm_map *map);

/* Unmaps what is mapped in [start, end), splitting mappings that reach out of it. */
FASTMM_API int fastmm_mm_unmap(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/*
 * mremap in place: [start, end) comes to end at `new_end`. What is cut off is unmapped, whatever it
 * is. -EFAULT where nothing is mapped at `start`. To grow, the range must be the end of one mapping
 * (-EFAULT if it isn't in one, or in a raw one, -ENOMEM if it ends before it) with room behind it
 * (-ENOMEM); -EINVAL when the offset runs out of 52 bits.
 */
FASTMM_API int fastmm_mm_resize(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                uint64_t new_end);

/*
 * mremap with MREMAP_MAYMOVE and MREMAP_FIXED: [start, end) goes to [to, to + size) with its
 * entries. What was mapped there is unmapped, and so is what doesn't fit; the rest must lie in one
 * mapping (-EFAULT), where the kernel also takes several, one by one, unless they are registered. A
 * registration ends with the move unless UFFD_REMAP is among its features, and with it all
 * protection. -EINVAL where the ranges overlap; growing fails as in fastmm_mm_resize(). After
 * -ENOMEM, as in the kernel, what was in the way or didn't fit may be gone.
 */
FASTMM_API int fastmm_mm_move(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t to,
                              uint64_t size);

/* mprotect: `prot` of READ, WRITE, EXEC. -ENOMEM for a hole. */
FASTMM_API int fastmm_mm_protect(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint32_t prot);

/*
 * MADV_DONTNEED: drops pages and swap entries; uffd-wp of files and shmem, and guards, stay as
 * markers. Tables that end up empty and lie wholly in the range are freed. -ENOMEM for a hole.
 */
FASTMM_API int fastmm_mm_zap(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/*
 * MADV_GUARD_INSTALL: whatever is in [start, end) goes, and every access is SIGSEGV until
 * fastmm_mm_guard_remove(). Guards outlive MADV_DONTNEED, mprotect and userfaultfd's protection,
 * and are inherited. -ENOMEM for a hole, or if a table couldn't be had; -EINVAL for raw mappings.
 * -EAGAIN where uffd-wp in a mapping of an object is in the way, which the kernel (6.18) tries to
 * overcome for ever. Mappings count as having had anonymous pages then, nothing else has changed.
 */
FASTMM_API int fastmm_mm_guard_install(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* MADV_GUARD_REMOVE: guards become empty entries; all else stays. -ENOMEM, -EINVAL likewise. */
FASTMM_API int fastmm_mm_guard_remove(struct fastmm_mm *mm, uint64_t start, uint64_t end);

enum fastmm_advice {
    FASTMM_ADVICE_DONTFORK, /* not inherited by fork */
    FASTMM_ADVICE_DOFORK,
    FASTMM_ADVICE_WIPEONFORK, /* inherited empty; anonymous memory only */
    FASTMM_ADVICE_KEEPONFORK
};

/*
 * madvise: what fork is to do with [start, end). -ENOMEM for a hole; -EINVAL for mappings that
 * can't have it.
 */
FASTMM_API int fastmm_mm_advise(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                enum fastmm_advice advice);

/*
 * MADV_FREE: nobody needs the contents of [start, end) any more. Swap entries go; pages stay, clean
 * and old, writable if they were. -ENOMEM for a hole; -EINVAL unless all of it is anonymous.
 */
FASTMM_API int fastmm_mm_free(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/*
 * MADV_PAGEOUT: pages that one entry maps and nobody has pinned go into a free slot of the first
 * swap area that has one. Anonymous ones leave an entry, and stay if there is no slot; those that
 * fastmm_mm_free() was told of go for good unless they were written since. Those of shmem leave
 * nothing, or the marker of their protection, and belong to the object wherever they are; those
 * never written go for good, and pinned ones only lose the entry. Pages of files stay. -ENOMEM for
 * a hole, -EINVAL for raw mappings.
 */
FASTMM_API int fastmm_mm_pageout(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/*
 * MADV_REMOVE: the pages of shmem that shared mappings show in [start, end) cease to exist, here
 * and in all other mappings of their objects; private copies stay. -ENOMEM for a hole, -EINVAL for
 * anonymous and raw mappings, -EACCES for private ones, -ENOTSUP for files, whose pages a kernel
 * reads again with their neighbours. Takes time in proportion to the mappings of the machine.
 */
FASTMM_API int fastmm_mm_remove(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* What a touched byte does to the thread that touched it. */
enum fastmm_fault {
    FASTMM_FAULT_OK,
    FASTMM_FAULT_SIGSEGV,
    FASTMM_FAULT_SIGBUS,
    FASTMM_FAULT_UFFD_WP /* the thread waits for whoever handles the write-protect event */
};

enum fastmm_access { FASTMM_READ, FASTMM_WRITE };

/*
 * One access to the byte at `addr`, as hardware and the kernel's fault handler do it together: to
 * its end, or to the signal or event that stops it. Returns an enum fastmm_fault, or -ENOMEM when
 * a frame or a table couldn't be had, or -EOVERFLOW when a page is mapped more than 2^24 times.
 * Tables and cached pages that were made before a failure stay, as in the kernel, and serve the
 * next attempt; no entry and no counter has changed.
 */
FASTMM_API int fastmm_mm_fault(struct fastmm_mm *mm, uint64_t addr, enum fastmm_access access);

/*
 * An access to `size` bytes (at least 1) that may span pages: stops at the first byte that can't
 * be had and puts its address into *where (may be NULL). Addresses don't wrap.
 */
FASTMM_API int fastmm_mm_access(struct fastmm_mm *mm, uint64_t addr, uint64_t size,
                                enum fastmm_access access, uint64_t *where);

/*
 * A write to /proc/PID/mem at `addr`, as debuggers do it (FOLL_FORCE): private mappings can be
 * written without permission, and get a copy if the page isn't theirs alone. -EIO where nothing is
 * mapped, for raw mappings and shared ones without permission, and where a write would raise a
 * signal or an event; else an error of fastmm_mm_fault().
 */
FASTMM_API int fastmm_mm_force_write(struct fastmm_mm *mm, uint64_t addr);

/*
 * MADV_POPULATE_READ, MADV_POPULATE_WRITE: faults the pages of [start, end) in, up to the first
 * that can't be had: -ENOMEM where nothing is mapped, -EINVAL where access isn't allowed or frames
 * are raw, -EHWPOISON at poison, -EFAULT for other signals and events, or an error of
 * fastmm_mm_fault(). Pages before that stay.
 */
FASTMM_API int fastmm_mm_prefault(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                  enum fastmm_access access);

/*
 * Writes "4" to /proc/PID/clear_refs: from now on pagemap says of each page whether it was written
 * since. Pages that may be under DMA are left out, as written. -ENOTSUP on a machine that doesn't
 * track that.
 */
FASTMM_API int fastmm_mm_clear_refs(struct fastmm_mm *mm);

/*
 * A copy-on-write copy. On failure there is no child and nothing leaks; as in the kernel, private
 * pages of the parent may then be write-protected and no longer exclusive, which costs the next
 * write a fault and changes nothing else. -ENOMEM, -EOVERFLOW.
 */
FASTMM_API int fastmm_mm_fork(struct fastmm_mm *parent, struct fastmm_mm **child);

/*
 * Pins the page at `addr` for writing, as for DMA (FOLL_LONGTERM): faults it in first. Returns as
 * fastmm_mm_fault(), or -EINVAL for raw mappings, -EFAULT for shared ones of files, whose writes
 * are to be noticed. The page can't be reused or shared until fastmm_machine_unpin().
 */
FASTMM_API int fastmm_mm_pin(struct fastmm_mm *mm, uint64_t addr, uint64_t *pfn);

/* -EINVAL if the frame isn't pinned. */
FASTMM_API int fastmm_machine_unpin(struct fastmm_machine *machine, uint64_t pfn);

/* --- userfaultfd write protection ----------------------------------------------------------- */

/*
 * Registers the mappings of [start, end), with any of UFFD_FORK, UFFD_REMAP, UFFD_UNPOPULATED,
 * UFFD_ASYNC. Holes don't matter, but -EINVAL if there is nothing else; likewise for raw mappings
 * and, without UFFD_ASYNC, for files. -EBUSY where part is registered with other features.
 */
FASTMM_API int fastmm_mm_uffd_register(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                       uint32_t features);

/*
 * Resolves all protection of [start, end), drops markers, and ends the registration. Holes don't
 * matter, but -EINVAL if there is nothing else, and where a file or a raw mapping isn't registered.
 */
FASTMM_API int fastmm_mm_uffd_unregister(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* Protects or resolves. -ENOENT if nothing is mapped, or a mapping isn't registered. */
FASTMM_API int fastmm_mm_uffd_protect(struct fastmm_mm *mm, uint64_t start, uint64_t end);
FASTMM_API int fastmm_mm_uffd_resolve(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/*
 * UFFDIO_POISON: every access to [start, end) is SIGBUS from then on, until the entries are zapped
 * or unmapped. -ENOENT unless one registered mapping holds the range; -EINVAL for files; -EFAULT
 * beyond the end of an object; -EEXIST where an entry isn't empty; -ENOMEM. As in the kernel, a
 * private mapping at `start` counts as having had anonymous pages whatever the result.
 */
FASTMM_API int fastmm_mm_uffd_poison(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* --- Looking -------------------------------------------------------------------------------- */

/*
 * The raw leaf of `addr`, 0 where there is none. -EFAULT for an address in the non-canonical hole,
 * -ERANGE for one of the upper half.
 */
FASTMM_API int fastmm_mm_lookup(const struct fastmm_mm *mm, uint64_t addr, fastmm_pte_t *pte);

/* The mapping that holds `addr`, or NULL. Valid until the next call that changes mappings. */
FASTMM_API const struct fastmm_vma *fastmm_mm_find(const struct fastmm_mm *mm, uint64_t addr);

/* The index-th mapping in order of address, or NULL beyond the last. */
FASTMM_API const struct fastmm_vma *fastmm_mm_vma(const struct fastmm_mm *mm, size_t index);

/* Exact counters, by enum fastmm_rss, in pages (swap: entries). */
FASTMM_API void fastmm_mm_rss(const struct fastmm_mm *mm, int64_t rss[FASTMM_RSS_COUNTERS]);

/* Page-table pages of this address space, the root among them. */
FASTMM_API uint64_t fastmm_mm_tables(const struct fastmm_mm *mm);

/* The machine that it was created in. */
FASTMM_API struct fastmm_machine *fastmm_mm_machine(const struct fastmm_mm *mm);

/* What a scan counts. `none` counts empty entries of tables that exist. */
struct fastmm_scan {
    uint64_t none, present, swap, markers; /* every entry is one of these */
    uint64_t writable, dirty, young, special, uffd_wp;
};

/* Adds up the entries of [start, end); start and end may be 0 and UINT64_MAX for everything. */
FASTMM_API int fastmm_mm_scan(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                              struct fastmm_scan *scan);

/*
 * Puts the raw leaves of pages [start, start + 4096 * count) into ptes[], 0 where there are none.
 * -EINVAL, -ERANGE as for ranges.
 */
FASTMM_API int fastmm_mm_read(const struct fastmm_mm *mm, uint64_t start, size_t count,
                              fastmm_pte_t *ptes);

/* --- Loading -------------------------------------------------------------------------------- */

enum fastmm_populate_kind {
    FASTMM_POPULATE_ANON,  /* frames value, value + 1, ...: reserved, or anonymous already (then
                              the page is shared with whoever maps it) */
    FASTMM_POPULATE_CACHE, /* the object's pages; those not cached yet become frames value,
                              value + 1, ... (reserved), or new ones if value is 0 */
    FASTMM_POPULATE_ZERO,  /* the zero page */
    FASTMM_POPULATE_SWAP,  /* slots value, value + 1, ... of area `swap_type` */
    FASTMM_POPULATE_MARKER /* one of FASTMM_MARKER_* in value, the same for all */
};

#define FASTMM_POPULATE_WRITE     (1u << 0) /* RW; refused where only a private owner may have it */
#define FASTMM_POPULATE_DIRTY     (1u << 1)
#define FASTMM_POPULATE_OLD       (1u << 2) /* without Accessed */
#define FASTMM_POPULATE_UFFD_WP   (1u << 3) /* registered mappings only */
#define FASTMM_POPULATE_EXCLUSIVE (1u << 4) /* pages and swap slots with this one user */

/* A run of pages that are alike, with numbers that count up. */
struct fastmm_populate {
    uint64_t start; /* address */
    uint64_t count; /* pages */
    uint64_t value; /* see the kind */
    uint8_t kind;   /* enum fastmm_populate_kind */
    uint8_t swap_type;
    uint32_t flags; /* FASTMM_POPULATE_* */
};

/*
 * Installs runs of entries, as a loader does that rebuilds a recorded address space. All of a run
 * must lie in one mapping whose entries there are empty (-EEXIST), and be possible there: an
 * entry that the kernel could not have made is refused with -EINVAL. On failure *done runs were
 * installed whole (may be NULL) and the failing one not at all.
 */
FASTMM_API int fastmm_mm_populate(struct fastmm_mm *mm, const struct fastmm_populate *runs,
                                  size_t count, size_t *done);

/* --- Checking ------------------------------------------------------------------------------- */

/* One broken invariant. */
struct fastmm_breach {
    const char *rule; /* static text */
    const struct fastmm_mm *mm;
    uint64_t addr; /* or frame number, where mm is NULL */
    fastmm_pte_t pte;
};

/*
 * Verifies every invariant over the whole machine, calling `report` for each breach (may be NULL).
 * Returns 0, or -EUCLEAN if there was any, or -ENOMEM if there was no memory to count in.
 * Takes time in proportion to frames and entries.
 */
FASTMM_API int fastmm_machine_check(struct fastmm_machine *machine,
                                    void (*report)(void *context,
                                                   const struct fastmm_breach *breach),
                                    void *context);

FASTMM_END_DECLS

#endif
