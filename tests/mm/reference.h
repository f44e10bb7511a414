/* SPDX-License-Identifier: MIT */
/*
 * A second model of the same semantics, as naive as can be: every page of a small window is a
 * struct, every count is found by counting, nothing is shared with the library but the names of
 * flags and results. Slow, and easy to believe.
 *
 * The window is four regions of 24 pages that lie where tables begin and end.
 */
#ifndef FASTMM_TESTS_MM_REFERENCE_H
#define FASTMM_TESTS_MM_REFERENCE_H

#include <fastmm/walk.h>

#define REF_REGIONS      4
#define REF_REGION_PAGES 24
#define REF_SLOTS        (REF_REGIONS * REF_REGION_PAGES)
#define REF_MMS          6
#define REF_OBJECTS      4
#define REF_OBJECT_PAGES 40
#define REF_PAGES        8192
#define REF_SWAP_SLOTS   64
#define REF_OUT          (-2)

enum ref_kind { REF_NONE, REF_ZERO, REF_PAGE, REF_SWAP, REF_MARKER };

struct ref_slot {
    /* the mapping */
    bool mapped;
    uint32_t flags; /* FASTMM_VM_* */
    int object;     /* or -1 */
    uint64_t pgoff;
    int group; /* slots of one mapping have the same */
    int anon;  /* likewise those whose anonymous pages may be one's; 0: never had any */
    bool changed, grew;
    /* the entry */
    enum ref_kind kind;
    int page;
    uint64_t value; /* swap offset, markers */
    bool rw, dirty, young, wp, soft, exclusive_swap;
};

struct ref_page {
    bool used, anon, exclusive, dirty, removed, lazy;
    int object;
    int pins;
    uint64_t pfn; /* the frame that the library uses for it, 0 while not known */
};

struct ref_mm {
    bool used, has_pinned;
    struct ref_slot slot[REF_SLOTS];
};

struct ref {
    uint64_t user_end;
    struct ref_mm mm[REF_MMS];
    struct ref_page page[REF_PAGES];
    int cache[REF_OBJECTS][REF_OBJECT_PAGES]; /* page, REF_OUT in swap, or -1 */
    int swap_cache[REF_SWAP_SLOTS];           /* page, or -1 */
    uint64_t fresh_slots; /* slots that the library chose have numbers from here on until seen */
    int groups, pages, anons;
    bool soft_dirty; /* does the machine track what is written? */
    bool table;      /* is there a leaf table where the next fault is? The caller knows. */
};

void ref_init(struct ref *r, uint64_t user_end);
uint64_t ref_address(const struct ref *r, int slot);

/* The operations of mm.h over slots [first, end) of one region, with the same results. */
int ref_map(struct ref *r, int mm, int first, int end, uint32_t flags, int object, uint64_t pgoff);
int ref_unmap(struct ref *r, int mm, int first, int end);
int ref_protect(struct ref *r, int mm, int first, int end, uint32_t prot);
int ref_zap(struct ref *r, int mm, int first, int end);
int ref_fault(struct ref *r, int mm, int slot, bool write);
int ref_force_write(struct ref *r, int mm, int slot);
int ref_pin(struct ref *r, int mm, int slot); /* counts nothing */
void ref_fork(struct ref *r, int parent, int child);
void ref_destroy(struct ref *r, int mm);
int ref_register(struct ref *r, int mm, int first, int end, uint32_t features);
int ref_unregister(struct ref *r, int mm, int first, int end);
int ref_wp(struct ref *r, int mm, int first, int end, bool protect);
void ref_clear_refs(struct ref *r, int mm);
int ref_protect_matching(struct ref *r, int mm, int first, int end,
                         const struct fastmm_page_match *match);
int ref_swap(struct ref *r, int mm, int slot, uint64_t offset, bool wp, bool exclusive);
int ref_marker(struct ref *r, int mm, int slot, uint64_t markers);
int ref_guard(struct ref *r, int mm, int first, int end, bool install);
int ref_poison(struct ref *r, int mm, int first, int end);
int ref_resize(struct ref *r, int mm, int first, int end, int new_end);
int ref_move(struct ref *r, int mm, int first, int end, int to, int size);
int ref_advise(struct ref *r, int mm, int first, int end, enum fastmm_advice advice);
int ref_free(struct ref *r, int mm, int first, int end);
int ref_prefault(struct ref *r, int mm, int slot, bool write);
int ref_pageout(struct ref *r, int mm, int first, int end);
int ref_remove(struct ref *r, int mm, int first, int end);

/* Ends the test if the library's machine differs from the reference in anything. */
void ref_compare(struct ref *r, struct fastmm_machine *machine, struct fastmm_mm *const *mms);

/* Entries that map the page, over all address spaces. */
int ref_mapcount(const struct ref *r, int page);

/* Pages of objects that are in swap. In which slots isn't known. */
int ref_pages_out(const struct ref *r);

/* Entries that name the swap slot. */
int ref_swap_users(const struct ref *r, uint64_t offset);

/* Does the swap cache have the page? */
bool ref_swap_cached(const struct ref *r, int page);

#endif
