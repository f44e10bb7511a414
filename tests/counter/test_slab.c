/* SPDX-License-Identifier: MIT */
/* Where slots come from: disjoint, zero, in one line, given back, never more than asked for. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/slab.h"
#include "counter/slots.h"
#include "support.h"

enum { GROUPS = 700 };

static struct fastmm_counter_group8 groups[GROUPS];

/* A model beside the library: what each counter must read. */
START_TEST(random_lives_never_mix_values)
{
    static int64_t expected[GROUPS][8];
    static unsigned size[GROUPS];
    unsigned rows = (unsigned)_i;
    uint64_t state = test_seed() + rows;
    simulate_cpus(rows);
    for (int k = 0; k < 60000; k++) {
        unsigned g = (unsigned)(test_random(&state) % GROUPS);
        struct fastmm_counter_group *group = &groups[g].group;
        simulated_cpu = (uint32_t)(test_random(&state) % rows);
        uint64_t dice = test_random(&state) % 16;
        if (!size[g]) {
            size[g] = (unsigned)(test_random(&state) % 8) + 1;
            memset(expected[g], 0, sizeof(expected[g]));
            ck_assert_int_eq(fastmm_counter_group_init(group, size[g]), 0);
        } else if (dice == 0) {
            ck_assert_int_eq(fastmm_counter_group_destroy(group), 0);
            size[g] = 0;
            continue;
        } else if (dice == 1) {
            ck_assert_int_eq(fastmm_counter_group_atomic(group), 0);
        } else if (dice < 6) {
            ck_assert_int_eq(fastmm_counter_group_percpu(group), 0);
        }
        unsigned i = (unsigned)(test_random(&state) % size[g]);
        int64_t v = (int64_t)test_random(&state) >> 20;
        fastmm_counter_group_add(group, i, v);
        expected[g][i] += v;
        int64_t sums[8];
        fastmm_counter_group_sums(group, sums);
        ck_assert_mem_eq(sums, expected[g], size[g] * sizeof(int64_t));
    }
    for (unsigned g = 0; g < GROUPS; g++)
        if (size[g])
            fastmm_counter_group_destroy(&groups[g].group);
    size_t held = fastmm_counter_held();
    ck_assert_uint_eq(fastmm_counter_trim(), held);
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

START_TEST(slots_of_a_group_share_one_line_and_none_with_other_cpus)
{
    for (unsigned n = 1; n <= 8; n++) {
        for (unsigned k = 0; k < 600; k++) {
            uintptr_t slot = fastmm_counter_slab_alloc(n, 2);
            ck_assert_uint_ne(slot, 0);
            ck_assert_uint_eq(fastmm_counter_slab_size(slot), n);
            ck_assert_uint_eq(slot / 64, (slot + 8 * n - 1) / 64);
        }
    }
    ck_assert_uint_eq(FASTMM_COUNTER_STRIDE % 64, 0);
    ck_assert_uint_ge(FASTMM_COUNTER_STRIDE, 4096);
}
END_TEST

START_TEST(a_word_costs_eight_bytes_a_cpu)
{
    simulate_cpus(64);
    static struct fastmm_counter counters[512 * 4];
    struct fastmm_counter_group *pointers[512 * 4];
    ck_assert_int_eq(fastmm_counter_groups_init(&counters[0].group, 1, 512 * 4), 0);
    for (int k = 0; k < 512 * 4; k++)
        pointers[k] = &counters[k].group;
    ck_assert_int_eq(fastmm_counter_groups_percpu(pointers, 512 * 4), 0);
    double each = (double)fastmm_counter_held() / (512 * 4) / 64;
    ck_assert_double_lt(each, 8.4);
}
END_TEST

/*
 * Groups of 5 leave 3 words of every line, and chunks full for them must not be searched again:
 * this many would take minutes.
 */
START_TEST(all_that_there_can_be_and_no_more)
{
    enum { MOST = 8192 * 64 };
#ifdef __SANITIZE_THREAD__
    test_skip("one thread: TSan would take half a minute and see nothing");
#endif
    struct fastmm_counter_group5 *many = calloc(MOST + 1, sizeof(*many));
    ck_assert_ptr_nonnull(many);
    become_threaded();
    ck_assert_int_eq(fastmm_counter_groups_init(&many[0].group, 5, MOST + 1), 0);
    for (int k = 0; k < MOST; k++)
        ck_assert_int_eq(fastmm_counter_group_percpu(&many[k].group), 0);
    ck_assert_int_eq(fastmm_counter_group_percpu(&many[MOST].group), -ENOMEM);
    fastmm_counter_group_inc(&many[MOST].group, 4);
    ck_assert_int_eq(fastmm_counter_group_sum(&many[MOST].group, 4), 1);
    ck_assert_int_eq(fastmm_counter_group_destroy(&many[7].group), 0);
    ck_assert_int_eq(fastmm_counter_group_percpu(&many[MOST].group), 0);
    ck_assert_int_eq(fastmm_counter_group_sum(&many[MOST].group, 4), 1);
    ck_assert_int_eq(fastmm_counter_groups_destroy(&many[0].group, 5, 7), 0);
    ck_assert_int_eq(fastmm_counter_groups_destroy(&many[8].group, 5, MOST - 7), 0);
    fastmm_counter_trim();
    ck_assert_uint_eq(fastmm_counter_held(), 0);
    free(many);
}
END_TEST

static size_t mapped;
static int fail_at;
static void *offset_by;

static void *counting_map(size_t bytes, void *context)
{
    ck_assert_ptr_eq(context, &mapped);
    if (fail_at == 0)
        return NULL;
    fail_at--;
    void *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    mapped += bytes;
    return (char *)p + (uintptr_t)offset_by;
}

static void counting_unmap(void *p, size_t bytes, void *context)
{
    ck_assert_ptr_eq(context, &mapped);
    mapped -= bytes;
    munmap((char *)p - (uintptr_t)offset_by, bytes + 4096);
}

static const struct fastmm_counter_memory counting = {counting_map, counting_unmap, &mapped};

START_TEST(allocation_may_fail_at_every_point)
{
    become_threaded();
    struct fastmm_counter_memory half = counting;
    half.unmap = NULL;
    ck_assert_int_eq(fastmm_counter_set_memory(&half), -EINVAL);
    ck_assert_int_eq(fastmm_counter_set_memory(&counting), 0);
    for (int k = 0; k < 12; k++) {
        struct fastmm_counter_group *pointers[GROUPS];
        fail_at = k;
        for (unsigned g = 0; g < GROUPS; g++) {
            pointers[g] = &groups[g].group;
            fastmm_counter_group_init(pointers[g], 8);
            fastmm_counter_group_add(pointers[g], 7, g);
        }
        int error = fastmm_counter_groups_percpu(pointers, GROUPS);
        ck_assert_int_eq(error, k < 11 ? -ENOMEM : 0); /* 700 groups, 64 in a chunk */
        for (int g = 0; g < GROUPS; g++) {
            int percpu = pointers[g]->slots > FASTMM_COUNTER_GROUP_MAX;
            ck_assert_int_eq(percpu, g < 64 * k);
            fastmm_counter_group_add(pointers[g], 7, 1000);
            ck_assert_int_eq(fastmm_counter_group_sum(pointers[g], 7), g + 1000);
        }
        fail_at = 100;
        ck_assert_int_eq(fastmm_counter_groups_percpu(pointers, GROUPS), 0); /* goes on */
        ck_assert_int_eq(fastmm_counter_set_memory(NULL), -EBUSY);
        ck_assert_uint_eq(mapped, fastmm_counter_held());
        for (unsigned g = 0; g < GROUPS; g++) {
            ck_assert_int_eq(fastmm_counter_group_sum(pointers[g], 7), g + 1000);
            ck_assert_int_eq(fastmm_counter_group_destroy(pointers[g]), 0);
        }
        size_t held = fastmm_counter_held();
        ck_assert_uint_eq(fastmm_counter_trim(), held);
        ck_assert_uint_eq(mapped, 0);
    }
}
END_TEST

/* More often than there can be chunks: a failure costs nothing for good. */
START_TEST(unusable_memory_is_refused_and_given_back)
{
    enum { TIMES = 8193 };
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    offset_by = (void *)64;
    fail_at = TIMES;
    ck_assert_int_eq(fastmm_counter_set_memory(&counting), 0);
    for (int k = 0; k < 2 * TIMES; k++) {
        ck_assert_int_eq(fastmm_counter_percpu(&c), -ENOMEM);
        ck_assert_uint_eq(mapped, 0);
        ck_assert_uint_eq(fastmm_counter_held(), 0);
    }
    offset_by = 0;
    fail_at = 1;
    ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
}
END_TEST

/* Resident pages among the first `pages` behind p. */
static size_t resident(uintptr_t p, size_t pages)
{
    unsigned char *map = calloc(1, pages);
    size_t count = 0;
    ck_assert_int_eq(mincore((void *)(p & ~(uintptr_t)4095), pages * 4096, map), 0);
    for (size_t k = 0; k < pages; k++)
        count += map[k] & 1;
    free(map);
    return count;
}

START_TEST(cpus_never_used_cost_no_memory)
{
    simulate_cpus(8192);
    static struct fastmm_counter_group4 many[100];
    for (int k = 0; k < 100; k++) {
        ck_assert_int_eq(fastmm_counter_group_init(&many[k].group, 4), 0);
        ck_assert_int_eq(fastmm_counter_group_percpu(&many[k].group), 0);
        for (simulated_cpu = 0; simulated_cpu < 3; simulated_cpu++)
            fastmm_counter_group_inc(&many[k].group, 1);
        ck_assert_int_eq(fastmm_counter_group_sum(&many[k].group, 1), 3);
    }
    size_t pages = 8192ul * FASTMM_COUNTER_STRIDE / 4096;
    uintptr_t slots = many[0].group.slots;
    ck_assert_uint_le(resident(slots, pages), 5);
    for (int k = 0; k < 100; k++)
        ck_assert_int_eq(fastmm_counter_group_destroy(&many[k].group), 0);
    ck_assert_uint_le(resident(slots, pages), 5);
}
END_TEST

static void *live_and_trim(void *argument)
{
    uint64_t state = test_seed() ^ (uint64_t)pthread_self();
    struct fastmm_counter_group8 mine[40];
    for (int k = 0; k < 300 * (int)scaled(50); k++) {
        unsigned n = (unsigned)(test_random(&state) % 8) + 1;
        for (int g = 0; g < 40; g++) {
            fastmm_counter_group_init(&mine[g].group, n);
            ck_assert_int_eq(fastmm_counter_group_percpu(&mine[g].group), 0);
            for (unsigned i = 0; i < n; i++) {
                ck_assert_int_eq(fastmm_counter_group_sum(&mine[g].group, i), 0);
                fastmm_counter_group_add(&mine[g].group, i, g + 1);
                fastmm_counter_group_add(&mine[g].group, i, 100);
            }
        }
        for (int g = 0; g < 40; g++) {
            for (unsigned i = 0; i < n; i++)
                ck_assert_int_eq(fastmm_counter_group_sum(&mine[g].group, i), g + 101);
            ck_assert_int_eq(fastmm_counter_group_destroy(&mine[g].group), 0);
        }
        if (test_random(&state) % 4 == 0)
            fastmm_counter_trim();
    }
    return argument;
}

START_TEST(threads_make_free_and_trim_at_once)
{
    run_threads(4, live_and_trim, NULL);
    fastmm_counter_trim();
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.slab");
    TCase *tc = tcase_create("slab");
    tcase_set_timeout(tc, 0);
    tcase_add_loop_test(tc, random_lives_never_mix_values, 1, 4);
    tcase_add_loop_test(tc, random_lives_never_mix_values, 200, 201);
    tcase_add_test(tc, slots_of_a_group_share_one_line_and_none_with_other_cpus);
    tcase_add_test(tc, a_word_costs_eight_bytes_a_cpu);
    tcase_add_test(tc, all_that_there_can_be_and_no_more);
    tcase_add_test(tc, allocation_may_fail_at_every_point);
    tcase_add_test(tc, unusable_memory_is_refused_and_given_back);
    tcase_add_test(tc, cpus_never_used_cost_no_memory);
    tcase_add_test(tc, threads_make_free_and_trim_at_once);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
