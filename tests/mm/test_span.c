/* SPDX-License-Identifier: MIT */
/*
 * Every build of the span operations against the plain one: two machines are put into the same
 * random state, one runs each build, and everything that an operation can touch must come out
 * equal bit for bit: all entries of parent and child, every word and bit of the frames, the order
 * in which freed frames come back, swap slots, counters, results.
 */
#include "space.h"

#include "mm/frame.h"
#include "mm/span.h"

#include <string.h>

#define SPAN_PAGES 1400 /* ends in the middle of a table */
#define FRAMES     4096

struct twin {
    struct fastmm_machine *machine;
    struct fastmm_mm *mm, *child;
    struct fastmm_object *shmem, *file;
    uint64_t frame;
};

enum style { SEQ, RUNS, RANDOM, MIXED, HOLES, STYLES };

static struct twin open_twin(unsigned impl, uint32_t flags, int object)
{
    const struct fastmm_machine_config config = {.frames = FRAMES, .impl = impl};
    struct twin t = {0};
    EQUAL(fastmm_machine_create(&config, &t.machine), 0);
    EQUAL(fastmm_machine_swap_on(t.machine, 3, 2 * SPAN_PAGES), 0);
    EQUAL(fastmm_object_create(t.machine, FASTMM_OBJECT_FILE, SPAN_PAGES, &t.file), 0);
    EQUAL(fastmm_object_create(t.machine, FASTMM_OBJECT_SHMEM, SPAN_PAGES, &t.shmem), 0);
    EQUAL(fastmm_machine_reserve(t.machine, 2048, 512, &t.frame), 0);
    t.mm = new_mm(t.machine);
    map_at(t.mm, BASE + PAGES(3), SPAN_PAGES - 3, flags,
           object == 0   ? NULL
           : object == 1 ? t.file
                         : t.shmem);
    return t;
}

/* One random page, the same in both: what it is depends on the generator alone. */
static void fill_page(struct twin *t, enum style style, uint64_t page, uint64_t *rng, bool uffd)
{
    uint64_t at = BASE + PAGES(page), dice = test_random(rng) % 100, other = test_random(rng);
    const struct fastmm_vma *vma = fastmm_mm_find(t->mm, at);
    bool file = vma->object, shared = vma->flags & FASTMM_VM_SHARED;
    uint32_t owned = FASTMM_POPULATE_EXCLUSIVE | (other % 8 ? FASTMM_POPULATE_DIRTY : 0) |
                     (other % 5 ? 0 : FASTMM_POPULATE_OLD);
    uint64_t frame = t->frame + (style == RANDOM ? (page * 769) % 2048 : page);
    if (style == RUNS)
        frame = t->frame + ((page / 13 * 37) * 13 + page % 13) % 2048;
    owned |= uffd && other % 3 == 0 ? FASTMM_POPULATE_UFFD_WP : FASTMM_POPULATE_WRITE;
    if (style == HOLES && dice < 60)
        return;
    if (style != MIXED || dice < 50) {
        if (file && (shared || other % 2))
            populate(t->mm, at, 1, FASTMM_POPULATE_CACHE, 0,
                     shared && other % 3 ? FASTMM_POPULATE_WRITE | FASTMM_POPULATE_DIRTY : 0);
        else
            populate(t->mm, at, 1, FASTMM_POPULATE_ANON, frame, owned);
    } else if (dice < 65) {
        populate(t->mm, at, 1, FASTMM_POPULATE_ZERO, 0, uffd ? FASTMM_POPULATE_UFFD_WP : 0);
    } else if (dice < 80) {
        const struct fastmm_populate run = {
            at,
            1,
            page,
            FASTMM_POPULATE_SWAP,
            3,
            (other % 2 ? FASTMM_POPULATE_EXCLUSIVE : 0) | (uffd ? FASTMM_POPULATE_UFFD_WP : 0)};
        fastmm_mm_populate(t->mm, &run, 1, NULL);
    } else if (dice < 95) {
        populate(t->mm, at, 1, FASTMM_POPULATE_MARKER, UINT64_C(1) << other % 3, 0);
    }
}

static void same_tables(const struct fastmm_mm *one, const struct fastmm_mm *two)
{
    static fastmm_pte_t left[SPAN_PAGES], right[SPAN_PAGES];
    EQUAL(fastmm_mm_read(one, BASE, SPAN_PAGES, left), 0);
    EQUAL(fastmm_mm_read(two, BASE, SPAN_PAGES, right), 0);
    for (size_t i = 0; i < SPAN_PAGES; i++)
        EQUAL(left[i], right[i]);
    EQUAL(one->tables, two->tables);
    for (unsigned i = 0; i < FASTMM_RSS_COUNTERS; i++)
        EQUAL(rss_of(one, (enum fastmm_rss)i), rss_of(two, (enum fastmm_rss)i));
    struct fastmm_scan s1, s2;
    EQUAL(fastmm_mm_scan(one, BASE + PAGES(1), BASE + PAGES(SPAN_PAGES - 5), &s1), 0);
    EQUAL(fastmm_mm_scan(two, BASE + PAGES(1), BASE + PAGES(SPAN_PAGES - 5), &s2), 0);
    EQUAL(memcmp(&s1, &s2, sizeof(s1)), 0);
}

static void same_machines(const struct twin *a, const struct twin *b)
{
    const struct fastmm_machine *one = a->machine, *two = b->machine;
    size_t words = one->frames.highest + 1;
    for (size_t i = 0; i < words; i++)
        EQUAL(one->frames.word[i], two->frames.word[i]);
    EQUAL(memcmp(one->swap[3].users, two->swap[3].users, one->swap[3].slots * 4), 0);
    EQUAL(one->free_head, two->free_head);
    EQUAL(one->swap_used, two->swap_used);
    EQUAL(one->frames.bad.count, two->frames.bad.count);
    same_tables(a->mm, b->mm);
    if (a->child)
        same_tables(a->child, b->child);
}

static void close_twin(struct twin *t)
{
    for (uint64_t pfn = FRAME_FIRST; pfn <= t->machine->frames.highest; pfn++)
        while (fastmm_machine_unpin(t->machine, pfn) == 0)
            ;
    if (t->child)
        end_mm(t->child);
    end_mm(t->mm);
    fastmm_object_put(t->file);
    fastmm_object_put(t->shmem);
    end_machine(t->machine);
}

/* The next entry maps the same page once more. Neither may be writable then. */
static void map_twice(struct twin *t, uint64_t page)
{
    fastmm_pte_t *entry = fastmm_table_find(t->mm, BASE + PAGES(page));
    if (!entry || !fastmm_pte_present(*entry) || fastmm_pte_special(*entry))
        return;
    uint64_t pfn = fastmm_pte_pfn(*entry);
    if (!frame_is_anon(t->machine->frames.word[pfn]))
        return;
    *entry = fastmm_pte_wrprotect(*entry);
    frame_clear_exclusive(&t->machine->frames, pfn);
    (void)fastmm_mm_zap(t->mm, BASE + PAGES(page + 1), BASE + PAGES(page + 2));
    (void)populate(t->mm, BASE + PAGES(page + 1), 1, FASTMM_POPULATE_ANON, pfn, 0);
}

/* The same rare thing in both. */
static void add_rarity(struct twin *t, uint64_t rare, uint64_t page)
{
    uint64_t pfn;
    if (rare == 1)
        (void)fastmm_mm_pin(t->mm, BASE + PAGES(page), &pfn);
    if (rare == 2)
        map_twice(t, page);
}

static void both(struct twin *t, uint64_t rng, uint64_t limit)
{
    int rc[2], results[2];
    uint64_t from = BASE + PAGES(3 + test_random(&rng) % 600);
    uint64_t to = from + PAGES(1 + test_random(&rng) % 700);
    for (int i = 0; i < 2; i++) {
        fastmm_machine_fail_after(t[i].machine, limit);
        rc[i] = fastmm_mm_fork(t[i].mm, &t[i].child);
        fastmm_machine_fail_after(t[i].machine, UINT64_MAX);
    }
    EQUAL(rc[0], rc[1]);
    same_machines(&t[0], &t[1]);
    for (int i = 0; i < 2; i++)
        results[i] = fastmm_mm_zap(t[i].child ? t[i].child : t[i].mm, from, to);
    EQUAL(results[0], results[1]);
    same_machines(&t[0], &t[1]);
    for (int i = 0; i < 2; i++)
        results[i] = fastmm_mm_unmap(t[i].mm, from, to);
    EQUAL(results[0], results[1]);
    same_machines(&t[0], &t[1]);
    for (int i = 0; i < 2; i++)
        check_machine(t[i].machine);
}

static void one_round(unsigned impl, uint64_t seed)
{
    static const uint32_t kinds[] = {RW, RW, RW | FASTMM_VM_SHARED, RW | FASTMM_VM_SHARED};
    static const int objects[] = {0, 1, 1, 2};
    uint64_t rng = seed;
    uint64_t kind = test_random(&rng) % 4, rare = test_random(&rng) % 4;
    enum style style = (enum style)(test_random(&rng) % STYLES);
    bool uffd = test_random(&rng) % 2;
    uint32_t features = FASTMM_VM_UFFD_UNPOPULATED | FASTMM_VM_UFFD_ASYNC |
                        (test_random(&rng) % 2 ? FASTMM_VM_UFFD_FORK : 0);
    uint64_t rare_page = 3 + test_random(&rng) % 1000;
    uint64_t limit = test_random(&rng) % 4 ? UINT64_MAX : test_random(&rng) % 12;
    struct twin t[2];
    for (int i = 0; i < 2; i++) {
        uint64_t pages = rng;
        t[i] = open_twin(i ? impl : FASTMM_MM_PLAIN, kinds[kind], objects[kind]);
        if (uffd)
            EQUAL(fastmm_mm_uffd_register(t[i].mm, BASE + PAGES(3), BASE + PAGES(SPAN_PAGES),
                                          features),
                  0);
        for (uint64_t page = 3; page < SPAN_PAGES; page++)
            fill_page(&t[i], style, page, &pages, uffd);
        if (uffd && rare_page % 2)
            EQUAL(fastmm_mm_uffd_protect(t[i].mm, BASE + PAGES(rare_page / 2 + 3),
                                         BASE + PAGES(rare_page + 300)),
                  0);
        add_rarity(&t[i], rare, rare_page);
        check_machine(t[i].machine);
    }
    same_machines(&t[0], &t[1]);
    both(t, rng, limit);
    close_twin(&t[0]);
    close_twin(&t[1]);
}

START_TEST(avx512_equals_plain)
{
    uint64_t seed = test_seed();
    if (!fastmm_mm_impl_name(FASTMM_MM_AVX512))
        test_skip("this CPU has no AVX-512");
    for (int i = 0; i < 400; i++)
        one_round(FASTMM_MM_AVX512, test_random(&seed));
}
END_TEST

/* Page 77 has room for `room` more mappings, and the fork needs more. */
static void fork_without_room(unsigned impl, bool twice, uint64_t room)
{
    struct twin t = open_twin(impl, RW, 0);
    uint64_t rng = 1;
    for (uint64_t page = 3; page < SPAN_PAGES; page++)
        fill_page(&t, SEQ, page, &rng, false);
    if (twice)
        map_twice(&t, 77);
    uint64_t *word = &t.machine->frames.word[fastmm_pte_pfn(pte_at(t.mm, BASE + PAGES(77)))];
    uint64_t before = *word,
             full = before + (FRAME_MAP_GUARD - room - frame_maps(before)) * FRAME_MAPPED;
    *word = full;
    EQUAL(fastmm_mm_fork(t.mm, &t.child), -EOVERFLOW);
    EQUAL(*word, full);
    HOLDS(!t.child);
    *word = before;
    close_twin(&t);
}

/* A count that is full is refused, also when an earlier entry of the same line filled it. */
START_TEST(full_counts)
{
    for (unsigned impl = FASTMM_MM_PLAIN; impl <= FASTMM_MM_AVX512; impl++) {
        if (!fastmm_mm_impl_name((enum fastmm_mm_impl)impl))
            continue;
        fork_without_room(impl, false, 0);
        fork_without_room(impl, true, 0);
        fork_without_room(impl, true, 1);
    }
}
END_TEST

START_TEST(builds)
{
    struct fastmm_machine *machine = NULL;
    struct fastmm_machine_config config = {.frames = 64, .impl = 99};
    EQUAL(fastmm_machine_create(&config, &machine), -EINVAL);
    HOLDS(!fastmm_mm_impl_name((enum fastmm_mm_impl)99));
    EQUAL(strcmp(fastmm_mm_impl_name(FASTMM_MM_PLAIN), "plain"), 0);
    HOLDS(fastmm_mm_impl_name(FASTMM_MM_BEST) != NULL);
    config.impl = FASTMM_MM_AVX512;
    int rc = fastmm_machine_create(&config, &machine);
    EQUAL(rc, fastmm_mm_impl_name(FASTMM_MM_AVX512) ? 0 : -ENOTSUP);
    if (!rc)
        end_machine(machine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.span");
    TCase *tcase = tcase_create("builds");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, avx512_equals_plain);
    tcase_add_test(tcase, full_counts);
    tcase_add_test(tcase, builds);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
