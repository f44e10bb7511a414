/* SPDX-License-Identifier: MIT */
/*
 * The model against a naive second one: seeded random operations on several address spaces, both
 * compared in every entry, page and counter after each, and the library's own verifier run beside.
 * FASTMM_TEST_LONG=1 goes a hundred times further.
 */
#include "holds.h"
#include "reference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWAP_TYPE 2

struct world {
    struct ref *ref;
    struct fastmm_machine *machine;
    struct fastmm_mm *mm[REF_MMS];
    struct fastmm_object *object[REF_OBJECTS];
    uint64_t rng;
};

static uint64_t below(struct world *w, uint64_t limit)
{
    return test_random(&w->rng) % limit;
}

static bool chance(struct world *w, unsigned percent)
{
    return below(w, 100) < percent;
}

static void report(void *context, const struct fastmm_breach *b)
{
    (void)context;
    fprintf(stderr, "breach: %s, at %#llx, entry %#llx\n", b->rule, (unsigned long long)b->addr,
            (unsigned long long)b->pte);
}

static void open_world(struct world *w, unsigned impl, unsigned levels, bool soft, uint64_t seed)
{
    const struct fastmm_machine_config config = {
        .frames = 4096, .levels = levels, .impl = impl, .soft_dirty = soft};
    memset(w, 0, sizeof(*w));
    w->rng = seed;
    w->ref = malloc(sizeof(*w->ref));
    HOLDS(w->ref);
    ref_init(w->ref, fastmm_va_user_end(levels));
    w->ref->soft_dirty = soft;
    EQUAL(fastmm_machine_create(&config, &w->machine), 0);
    EQUAL(fastmm_machine_swap_on(w->machine, SWAP_TYPE, REF_SWAP_SLOTS), 0);
    for (int i = 0; i < REF_OBJECTS; i++)
        EQUAL(fastmm_object_create(w->machine, i % 2 ? FASTMM_OBJECT_SHMEM : FASTMM_OBJECT_FILE,
                                   REF_OBJECT_PAGES, &w->object[i]),
              0);
    EQUAL(fastmm_mm_create(w->machine, &w->mm[0]), 0);
    w->ref->mm[0].used = true;
}

static void unpin_all(struct world *w, int page)
{
    struct ref_page *p = &w->ref->page[page];
    while (p->pins) {
        EQUAL(fastmm_machine_unpin(w->machine, p->pfn), 0);
        p->pins--;
    }
    if ((p->anon || p->removed) && p->used && !ref_mapcount(w->ref, page) &&
        !ref_swap_cached(w->ref, page))
        p->used = false;
}

static void close_world(struct world *w)
{
    struct fastmm_machine_stats stats;
    for (int i = 0; i < REF_PAGES; i++)
        unpin_all(w, i);
    for (int i = 0; i < REF_MMS; i++)
        if (w->ref->mm[i].used) {
            int64_t rest[5];
            EQUAL(fastmm_mm_destroy(w->mm[i], rest), 0);
            for (int j = 0; j < 5; j++)
                EQUAL(rest[j], 0);
        }
    for (int i = 0; i < REF_OBJECTS; i++)
        fastmm_object_put(w->object[i]);
    fastmm_machine_get_stats(w->machine, &stats);
    EQUAL(stats.frames_used, 0);
    EQUAL(stats.tables, 0);
    EQUAL(stats.swap_used, 0);
    EQUAL(stats.mms + stats.objects, 0);
    EQUAL(fastmm_machine_check(w->machine, report, NULL), 0);
    EQUAL(fastmm_machine_destroy(w->machine), 0);
    free(w->ref);
}

/* --- Operations ------------------------------------------------------------------------------ */

struct where {
    int mm, first, end;
    uint64_t from, to;
};

static struct where pick(struct world *w)
{
    struct where p;
    do
        p.mm = (int)below(w, REF_MMS);
    while (!w->ref->mm[p.mm].used);
    int base = (int)below(w, REF_REGIONS) * REF_REGION_PAGES;
    int length = 1 + (int)below(w, chance(w, 50) ? 4 : REF_REGION_PAGES);
    p.first = base + (int)below(w, (uint64_t)(REF_REGION_PAGES - length + 1));
    p.end = p.first + length;
    p.from = ref_address(w->ref, p.first);
    p.to = p.from + (uint64_t)length * 4096;
    return p;
}

/*
 * Mostly a range inside one mapping, registered ones first if there are any: operations that fail
 * for want of a mapping say little.
 */
static struct where pick_mapped(struct world *w)
{
    struct where p = pick(w);
    if (chance(w, 25))
        return p;
    const struct ref_slot *s = w->ref->mm[p.mm].slot;
    int start = (int)below(w, REF_SLOTS), found = -1;
    for (int i = 0; i < REF_SLOTS; i++) {
        int slot = (start + i) % REF_SLOTS;
        if (s[slot].mapped && (found < 0 || (s[slot].flags & FASTMM_VM_UFFD_WP)))
            found = slot;
        if (found == slot && (s[slot].flags & FASTMM_VM_UFFD_WP))
            break;
    }
    if (found < 0)
        return p;
    int length = 1 + (int)below(w, 8);
    p.first = found;
    p.end = found + 1;
    while (p.end - p.first < length && p.end % REF_REGION_PAGES && s[p.end].mapped &&
           s[p.end].group == s[found].group)
        p.end++;
    p.from = ref_address(w->ref, p.first);
    p.to = p.from + (uint64_t)(p.end - p.first) * 4096;
    return p;
}

static uint32_t some_prot(struct world *w)
{
    static const uint32_t prots[] = {0,
                                     FASTMM_VM_READ,
                                     FASTMM_VM_READ | FASTMM_VM_WRITE,
                                     FASTMM_VM_READ | FASTMM_VM_WRITE,
                                     FASTMM_VM_READ | FASTMM_VM_EXEC,
                                     FASTMM_VM_READ | FASTMM_VM_WRITE | FASTMM_VM_EXEC};
    return prots[below(w, 6)];
}

static void op_map(struct world *w)
{
    struct where p = pick(w);
    int object = chance(w, 50) ? -1 : (int)below(w, REF_OBJECTS);
    uint64_t pgoff = object < 0 ? 0 : below(w, REF_OBJECT_PAGES);
    uint32_t flags = some_prot(w);
    if (object >= 0 && chance(w, 50))
        flags |= FASTMM_VM_SHARED;
    if (chance(w, 5))
        flags |= FASTMM_VM_DONTCOPY;
    if (object < 0 && chance(w, 5))
        flags |= FASTMM_VM_WIPEONFORK;
    const struct fastmm_map map = {p.from, p.to, flags, object < 0 ? NULL : w->object[object],
                                   pgoff};
    EQUAL(fastmm_mm_map(w->mm[p.mm], &map),
          ref_map(w->ref, p.mm, p.first, p.end, flags, object, pgoff));
}

static void op_unmap(struct world *w)
{
    struct where p = pick(w);
    EQUAL(fastmm_mm_unmap(w->mm[p.mm], p.from, p.to), ref_unmap(w->ref, p.mm, p.first, p.end));
}

static void op_protect(struct world *w)
{
    struct where p = pick_mapped(w);
    uint32_t prot = some_prot(w);
    EQUAL(fastmm_mm_protect(w->mm[p.mm], p.from, p.to, prot),
          ref_protect(w->ref, p.mm, p.first, p.end, prot));
}

static void op_zap(struct world *w)
{
    struct where p = pick_mapped(w);
    EQUAL(fastmm_mm_zap(w->mm[p.mm], p.from, p.to), ref_zap(w->ref, p.mm, p.first, p.end));
}

static void op_resize(struct world *w)
{
    struct where p = pick_mapped(w);
    int room = REF_REGION_PAGES - p.first % REF_REGION_PAGES;
    int size = 1 + (int)below(w, (uint64_t)room);
    EQUAL(fastmm_mm_resize(w->mm[p.mm], p.from, p.to, p.from + (uint64_t)size * 4096),
          ref_resize(w->ref, p.mm, p.first, p.end, p.first + size));
}

static void op_move(struct world *w)
{
    struct where p = pick_mapped(w);
    int length = p.end - p.first;
    int size = chance(w, 60) ? length : 1 + (int)below(w, 8);
    int to = (int)below(w, REF_REGIONS) * REF_REGION_PAGES +
             (int)below(w, (uint64_t)(REF_REGION_PAGES - size + 1));
    if (to < p.end && p.first < to + size)
        return;
    EQUAL(fastmm_mm_move(w->mm[p.mm], p.from, p.to, ref_address(w->ref, to), (uint64_t)size * 4096),
          ref_move(w->ref, p.mm, p.first, p.end, to, size));
}

static bool has_table(const struct fastmm_mm *mm, uint64_t page)
{
    struct fastmm_scan scan;
    EQUAL(fastmm_mm_scan(mm, page, page + 4096, &scan), 0);
    return scan.none + scan.present + scan.swap + scan.markers;
}

static void op_fault(struct world *w)
{
    struct where p = pick_mapped(w);
    bool write = chance(w, 60);
    for (int i = p.first; i < p.end; i++) {
        w->ref->table = has_table(w->mm[p.mm], ref_address(w->ref, i));
        EQUAL(fastmm_mm_fault(w->mm[p.mm], ref_address(w->ref, i) + below(w, 4096),
                              write ? FASTMM_WRITE : FASTMM_READ),
              ref_fault(w->ref, p.mm, i, write));
    }
}

static void op_force_write(struct world *w)
{
    struct where p = pick_mapped(w);
    for (int i = p.first; i < p.end; i++)
        EQUAL(fastmm_mm_force_write(w->mm[p.mm], ref_address(w->ref, i)),
              ref_force_write(w->ref, p.mm, i));
}

static void op_fork(struct world *w)
{
    struct where p = pick(w);
    for (int child = 0; child < REF_MMS; child++)
        if (!w->ref->mm[child].used) {
            EQUAL(fastmm_mm_fork(w->mm[p.mm], &w->mm[child]), 0);
            ref_fork(w->ref, p.mm, child);
            return;
        }
}

static void op_destroy(struct world *w)
{
    struct where p = pick(w);
    int others = 0;
    for (int i = 0; i < REF_MMS; i++)
        others += i != p.mm && w->ref->mm[i].used;
    if (!others)
        return;
    int64_t rest[5];
    EQUAL(fastmm_mm_destroy(w->mm[p.mm], rest), 0);
    ref_destroy(w->ref, p.mm);
}

static void op_register(struct world *w)
{
    struct where p = pick_mapped(w);
    uint32_t features = 0;
    if (chance(w, 40))
        features |= FASTMM_VM_UFFD_FORK;
    if (chance(w, 40))
        features |= FASTMM_VM_UFFD_UNPOPULATED;
    if (chance(w, 40))
        features |= FASTMM_VM_UFFD_ASYNC;
    if (chance(w, 40))
        features |= FASTMM_VM_UFFD_REMAP;
    EQUAL(fastmm_mm_uffd_register(w->mm[p.mm], p.from, p.to, features),
          ref_register(w->ref, p.mm, p.first, p.end, features));
}

static void op_unregister(struct world *w)
{
    struct where p = pick_mapped(w);
    EQUAL(fastmm_mm_uffd_unregister(w->mm[p.mm], p.from, p.to),
          ref_unregister(w->ref, p.mm, p.first, p.end));
}

static void op_wp(struct world *w)
{
    struct where p = pick_mapped(w);
    bool protect = chance(w, 60);
    int rc = protect ? fastmm_mm_uffd_protect(w->mm[p.mm], p.from, p.to)
                     : fastmm_mm_uffd_resolve(w->mm[p.mm], p.from, p.to);
    EQUAL(rc, ref_wp(w->ref, p.mm, p.first, p.end, protect));
}

static void op_wp_matching(struct world *w)
{
    struct where p = pick_mapped(w);
    const struct fastmm_page_match match = {
        .mask = chance(w, 60) ? FASTMM_PAGE_IS_WRITTEN : 1u << below(w, 9),
        .inverted = chance(w, 30) ? 1u << below(w, 9) : 0,
        .check_async = chance(w, 30),
    };
    EQUAL(fastmm_mm_protect_matching(w->mm[p.mm], p.from, p.to, &match),
          ref_protect_matching(w->ref, p.mm, p.first, p.end, &match));
}

static void op_clear_refs(struct world *w)
{
    struct where p = pick(w);
    EQUAL(fastmm_mm_clear_refs(w->mm[p.mm]), w->ref->soft_dirty ? 0 : -ENOTSUP);
    if (w->ref->soft_dirty)
        ref_clear_refs(w->ref, p.mm);
}

static void op_pin(struct world *w)
{
    struct where p = pick_mapped(w);
    uint64_t pfn;
    int rc = fastmm_mm_pin(w->mm[p.mm], p.from, &pfn);
    EQUAL(rc, ref_pin(w->ref, p.mm, p.first));
    if (rc)
        return;
    struct ref_page *page = &w->ref->page[w->ref->mm[p.mm].slot[p.first].page];
    page->pfn = page->pfn ? page->pfn : pfn;
    page->pins++;
    w->ref->mm[p.mm].has_pinned = true;
    EQUAL(page->pfn, pfn);
}

static void op_unpin(struct world *w)
{
    int start = (int)below(w, REF_PAGES);
    for (int i = 0; i < REF_PAGES; i++) {
        int page = (start + i) % REF_PAGES;
        if (w->ref->page[page].pins) {
            unpin_all(w, page);
            return;
        }
    }
}

static void op_swap(struct world *w)
{
    struct where p = pick_mapped(w);
    bool wp = chance(w, 20), exclusive = chance(w, 50);
    uint64_t offset = below(w, REF_SWAP_SLOTS);
    const struct fastmm_populate run = {
        .start = p.from,
        .count = 1,
        .value = offset,
        .kind = FASTMM_POPULATE_SWAP,
        .swap_type = SWAP_TYPE,
        .flags = (wp ? FASTMM_POPULATE_UFFD_WP : 0) | (exclusive ? FASTMM_POPULATE_EXCLUSIVE : 0),
    };
    int rc = fastmm_mm_populate(w->mm[p.mm], &run, 1, NULL);
    /* It may be the slot of an object's page, which has no number in the reference. */
    if (rc == -EINVAL && ref_pages_out(w->ref) && !ref_swap_users(w->ref, offset))
        return;
    EQUAL(rc, ref_swap(w->ref, p.mm, p.first, offset, wp, exclusive));
}

static void op_marker(struct world *w)
{
    struct where p = pick_mapped(w);
    uint64_t markers = UINT64_C(1) << below(w, 3);
    const struct fastmm_populate run = {
        .start = p.from, .count = 1, .value = markers, .kind = FASTMM_POPULATE_MARKER};
    EQUAL(fastmm_mm_populate(w->mm[p.mm], &run, 1, NULL),
          ref_marker(w->ref, p.mm, p.first, markers));
}

static void op_guard(struct world *w)
{
    struct where p = pick_mapped(w);
    bool install = chance(w, 60);
    int rc = install ? fastmm_mm_guard_install(w->mm[p.mm], p.from, p.to)
                     : fastmm_mm_guard_remove(w->mm[p.mm], p.from, p.to);
    EQUAL(rc, ref_guard(w->ref, p.mm, p.first, p.end, install));
}

static void op_advise(struct world *w)
{
    struct where p = pick_mapped(w);
    enum fastmm_advice advice = (enum fastmm_advice)below(w, 4);
    EQUAL(fastmm_mm_advise(w->mm[p.mm], p.from, p.to, advice),
          ref_advise(w->ref, p.mm, p.first, p.end, advice));
}

static void op_free(struct world *w)
{
    struct where p = pick_mapped(w);
    EQUAL(fastmm_mm_free(w->mm[p.mm], p.from, p.to), ref_free(w->ref, p.mm, p.first, p.end));
}

static void op_prefault(struct world *w)
{
    struct where p = pick_mapped(w);
    bool write = chance(w, 50);
    for (int i = p.first; i < p.end; i++) {
        uint64_t at = ref_address(w->ref, i);
        w->ref->table = has_table(w->mm[p.mm], at);
        EQUAL(fastmm_mm_prefault(w->mm[p.mm], at, at + 4096, write ? FASTMM_WRITE : FASTMM_READ),
              ref_prefault(w->ref, p.mm, i, write));
    }
}

static void op_remove(struct world *w)
{
    struct where p = pick_mapped(w);
    EQUAL(fastmm_mm_remove(w->mm[p.mm], p.from, p.to), ref_remove(w->ref, p.mm, p.first, p.end));
}

static void op_pageout(struct world *w)
{
    struct where p = pick_mapped(w);
    EQUAL(fastmm_mm_pageout(w->mm[p.mm], p.from, p.to), ref_pageout(w->ref, p.mm, p.first, p.end));
}

static void op_poison(struct world *w)
{
    struct where p = pick_mapped(w);
    EQUAL(fastmm_mm_uffd_poison(w->mm[p.mm], p.from, p.to),
          ref_poison(w->ref, p.mm, p.first, p.end));
}

static const struct {
    void (*run)(struct world *w);
    unsigned weight;
} operations[] = {
    {op_map, 14},       {op_unmap, 4},       {op_protect, 8}, {op_zap, 5},
    {op_fault, 30},     {op_force_write, 5}, {op_fork, 6},    {op_destroy, 4},
    {op_register, 5},   {op_unregister, 2},  {op_wp, 10},     {op_wp_matching, 8},
    {op_clear_refs, 4}, {op_pin, 3},         {op_unpin, 3},   {op_swap, 4},
    {op_marker, 2},     {op_guard, 4},       {op_poison, 3},  {op_resize, 3},
    {op_move, 8},       {op_advise, 3},      {op_free, 4},    {op_prefault, 5},
    {op_remove, 4},     {op_pageout, 8},
};

static void one_operation(struct world *w)
{
    unsigned total = 0;
    for (size_t j = 0; j < sizeof(operations) / sizeof(operations[0]); j++)
        total += operations[j].weight;
    uint64_t ticket = below(w, total);
    size_t i = 0;
    while (ticket >= operations[i].weight)
        ticket -= operations[i++].weight;
    operations[i].run(w);
}

static void run_world(unsigned impl, unsigned levels, bool soft, uint64_t seed, int steps)
{
    struct world w;
    open_world(&w, impl, levels, soft, seed);
    for (int i = 0; i < steps; i++) {
        one_operation(&w);
        ref_compare(w.ref, w.machine, w.mm);
        EQUAL(fastmm_machine_check(w.machine, report, NULL), 0);
    }
    close_world(&w);
}

static void run_worlds(unsigned impl)
{
    int count = test_long() ? 2000 : 20;
    uint64_t seed = test_seed() + impl;
    if (!fastmm_mm_impl_name((enum fastmm_mm_impl)impl))
        test_skip("this CPU can't run build %u of the walker", impl);
    for (int i = 0; i < count; i++)
        run_world(impl, i % 4 ? 4 : 5, i % 2, test_random(&seed), 1500);
}

START_TEST(plain)
{
    run_worlds(FASTMM_MM_PLAIN);
}
END_TEST

START_TEST(avx512)
{
    run_worlds(FASTMM_MM_AVX512);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.model");
    TCase *tcase = tcase_create("random");
    tcase_set_timeout(tcase, 36000);
    tcase_add_test(tcase, plain);
    tcase_add_test(tcase, avx512);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
