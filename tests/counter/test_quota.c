/* SPDX-License-Identifier: MIT */
/* Quotas: never past the limit, exactly to it, nothing lost between CPUs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fastmm/quota.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "support.h"

START_TEST(wrong_use_is_refused)
{
    struct fastmm_quota q = FASTMM_QUOTA_INIT(10, 2);
    struct fastmm_quota_range r;
    ck_assert_int_eq(fastmm_quota_init(&q, -1, 1), -EINVAL);
    ck_assert_int_eq(fastmm_quota_init(&q, 1, 0), -EINVAL);
    ck_assert_int_eq(fastmm_quota_init(&q, INT64_MAX, INT64_MAX), -EINVAL);
    ck_assert_int_eq(fastmm_quota_limit(&q), 10);
    ck_assert_int_eq(fastmm_quota_set_limit(&q, -1), -EINVAL);
    ck_assert(!fastmm_quota_add(&q, -1));
    ck_assert(!fastmm_quota_add(&q, INT64_MIN));
    ck_assert(!fastmm_quota_add(&q, INT64_MAX));
    fastmm_quota_return(&q, -5);
    ck_assert_int_eq(fastmm_quota_used(&q), 0);
    ck_assert_int_eq(fastmm_quota_range_init(&r, 5, 4, 9, 1), -EINVAL);
    ck_assert_int_eq(fastmm_quota_range_init(&r, 5, 10, 9, 1), -EINVAL);
    ck_assert_int_eq(fastmm_quota_range_init(&r, INT64_MIN, 0, INT64_MAX, 1), -EINVAL);
    ck_assert_int_eq(fastmm_quota_destroy(&q), 0);
    ck_assert_int_eq(fastmm_quota_destroy(&q), -EINVAL);
    ck_assert_int_eq(fastmm_quota_percpu(&q), -EINVAL);
}
END_TEST

static void succeeded_or_skip(int error)
{
    if (error == -ENOTSUP)
        test_skip("no rseq or no membarrier for it here");
    ck_assert_int_eq(error, 0);
}

static void percpu_or_skip(struct fastmm_quota *q)
{
    succeeded_or_skip(fastmm_quota_percpu(q));
}

static void range_percpu_or_skip(struct fastmm_quota_range *r)
{
    succeeded_or_skip(fastmm_quota_range_percpu(r));
}

/* A single thread on simulated CPUs has an exact model: one number. */
START_TEST(seeded_schedule_agrees_with_one_number)
{
    unsigned rows = (unsigned)_i;
    uint64_t state = test_seed() * 3 + rows;
    struct fastmm_quota q = FASTMM_QUOTA_INIT(5000, 16);
    int64_t used = 0, limit = 5000;
    simulate_cpus(rows);
    for (int k = 0; k < 30000; k++) {
        simulated_cpu = (uint32_t)(test_random(&state) % (rows + 1)); /* one is outside */
        int64_t v = (int64_t)(test_random(&state) % 50);
        if (test_random(&state) % 100 == 0)
            v = limit - used + (int64_t)(test_random(&state) % 3) - 1;
        if (v < 0)
            v = 0;
        /* Long slopes, so that both ends are reached. */
        if ((k / 1000 + (int)(test_random(&state) % 4 == 0)) % 2) {
            v = v < used ? v : used;
            fastmm_quota_return(&q, v);
            used -= v;
        } else {
            int fits = used + v <= limit;
            ck_assert_int_eq(fastmm_quota_add(&q, v), fits);
            used += fits ? v : 0;
        }
        if (test_random(&state) % 1000 == 0) {
            int64_t wanted = (int64_t)(test_random(&state) % 10000);
            ck_assert_int_eq(fastmm_quota_set_limit(&q, wanted), wanted < used ? -EBUSY : 0);
            limit = wanted < used ? limit : wanted;
            ck_assert_int_eq(fastmm_quota_limit(&q), limit);
        }
        if (k == 2000)
            percpu_or_skip(&q);
        ck_assert(!fastmm_quota_add(&q, -1 - v));
        fastmm_quota_return(&q, -1 - v);
        ck_assert_int_eq(fastmm_quota_used(&q), used);
    }
    ck_assert_int_eq(fastmm_quota_destroy(&q), 0);
}
END_TEST

static struct fastmm_quota shared = FASTMM_QUOTA_INIT(300, 4);
static int64_t in_use, most, refused_early;

/*
 * in_use is raised behind each add and lowered in front of each return, so it is never above what
 * is in use: past the limit it would prove the quota wrong.
 */
static void *churn(void *argument)
{
    uint64_t state = test_seed() ^ (uint64_t)pthread_self();
    int64_t mine = 0;
    errno = 4711; /* an allocator's free() must leave it alone */
    for (int k = 0; k < 200000; k++) {
        int64_t v = (int64_t)(test_random(&state) % 6) + 1;
        if (test_random(&state) % 2 && mine < 60 + (int64_t)(k / 1000 % 2) * 60) {
            if (!fastmm_quota_add(&shared, v))
                continue;
            mine += v;
            int64_t now = __atomic_add_fetch(&in_use, v, __ATOMIC_SEQ_CST);
            if (now > 300)
                __atomic_store_n(&most, now, __ATOMIC_SEQ_CST);
        } else if (mine >= v) {
            mine -= v;
            __atomic_sub_fetch(&in_use, v, __ATOMIC_SEQ_CST);
            fastmm_quota_return(&shared, v);
        }
    }
    __atomic_sub_fetch(&in_use, mine, __ATOMIC_SEQ_CST);
    fastmm_quota_return(&shared, mine);
    ck_assert_int_eq(errno, 4711);
    return argument;
}

START_TEST(threads_never_pass_the_limit)
{
    percpu_or_skip(&shared);
    run_threads(4, churn, NULL);
    ck_assert_int_eq(most, 0);
    ck_assert_int_eq(in_use, 0);
    ck_assert_int_eq(fastmm_quota_used(&shared), 0);
    ck_assert(!fastmm_quota_add(&shared, 301));
    ck_assert(fastmm_quota_add(&shared, 300));
    ck_assert(!fastmm_quota_add(&shared, 1));
}
END_TEST

/* Each ends with one revocation that meets threads in the middle of adds. */
#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 30 };
#else
enum { ROUNDS = 600 };
#endif

static int64_t got;

static void *grab_all(void *argument)
{
    while (fastmm_quota_add(&shared, 1))
        __atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
    return argument;
}

START_TEST(the_limit_is_reached_exactly_by_all_together)
{
    for (int k = 0; k < ROUNDS * (int)scaled(20); k++) {
        got = 0;
        ck_assert_int_eq(fastmm_quota_init(&shared, 3000 + k % 100, 8), 0);
        percpu_or_skip(&shared);
        run_threads(4, grab_all, NULL);
        ck_assert_int_eq(got, 3000 + k % 100);
        ck_assert_int_eq(fastmm_quota_destroy(&shared), 0);
    }
}
END_TEST

/* All room is taken, so each add can only be what another thread returned before. */
static void *pass_on(void *argument)
{
    for (int k = 0; k < 100000; k++) {
        fastmm_quota_return(&shared, 1);
        if (!fastmm_quota_add(&shared, 1)) {
            __atomic_add_fetch(&refused_early, 1, __ATOMIC_RELAXED);
            break;
        }
    }
    return argument;
}

START_TEST(what_was_returned_can_be_had_again)
{
    ck_assert_int_eq(fastmm_quota_init(&shared, 1 << 20, 8), 0);
    percpu_or_skip(&shared);
    ck_assert(fastmm_quota_add(&shared, 1 << 20));
    run_threads(4, pass_on, NULL);
    ck_assert_int_eq(refused_early, 0);
    ck_assert_int_eq(fastmm_quota_used(&shared), 1 << 20);
}
END_TEST

#ifdef FASTMM_COUNTER_RSEQ

/*
 * Credit that is revoked while a caller is in its sequence sends it to the slow path with the
 * critical-section pointer set. It must come back without, or its code could not be unloaded.
 */
START_TEST(no_call_leaves_the_critical_section_set)
{
    static const uint64_t section[4] __attribute__((aligned(32))) = {0, 1, 1, 0}; /* no code */
    struct fastmm_quota q = FASTMM_QUOTA_INIT(100, 4);
    become_threaded();
    percpu_or_skip(&q);
    ck_assert(!fastmm_quota_add(&q, 101));
    ck_assert_uint_ne(q.group.slots & FASTMM_COUNTER_TAG, 0);
    uint64_t *pointer =
        (uint64_t *)((char *)__builtin_thread_pointer() +
                     (fastmm_counter_id_offset() & -(intptr_t)FASTMM_COUNTER_AREA_ALIGN) + 8);
    for (int credit = 0; credit < 2; credit++) {
        __atomic_store_n(pointer, (uintptr_t)section, __ATOMIC_RELAXED);
        ck_assert(FASTMM_COUNTER_NAME(fastmm_quota_add_slow)(&q, 1));
        ck_assert_uint_eq(__atomic_load_n(pointer, __ATOMIC_RELAXED), 0);
        __atomic_store_n(pointer, (uintptr_t)section, __ATOMIC_RELAXED);
        FASTMM_COUNTER_NAME(fastmm_quota_return_slow)(&q, 1);
        ck_assert_uint_eq(__atomic_load_n(pointer, __ATOMIC_RELAXED), 0);
        ck_assert_int_eq(fastmm_quota_set_limit(&q, 100000), 0); /* credit again */
        ck_assert_uint_eq(q.group.slots & FASTMM_COUNTER_TAG, 0);
    }
}
END_TEST

#endif

START_TEST(ranges_hold_both_ends)
{
    struct fastmm_quota_range r;
    uint64_t state = test_seed();
    int64_t value = 3, floor = -20, limit = 1000;
    simulate_cpus(4);
    ck_assert_int_eq(fastmm_quota_range_init(&r, floor, value, limit, 4), 0);
    ck_assert_int_eq(fastmm_quota_range_percpu(&r), 0);
    for (int k = 0; k < 20000; k++) {
        simulated_cpu = (uint32_t)(test_random(&state) % 4);
        int64_t v = (int64_t)(test_random(&state) % 201) - 100 + (k / 500 % 2 ? 20 : -20);
        int fits = value + v >= floor && value + v <= limit;
        ck_assert_int_eq(fastmm_quota_range_add(&r, v), fits);
        value += fits ? v : 0;
        uint64_t dice = test_random(&state) % 100;
        int64_t end = value + (int64_t)(test_random(&state) % 600) - 50;
        if (dice == 0) {
            int refusal = end < floor ? -EINVAL : end < value ? -EBUSY : 0;
            ck_assert_int_eq(fastmm_quota_range_set_limit(&r, end), refusal);
            limit = refusal ? limit : end;
        } else if (dice == 1) {
            end = 2 * value - end;
            int refusal = end > limit ? -EINVAL : end > value ? -EBUSY : 0;
            ck_assert_int_eq(fastmm_quota_range_set_floor(&r, end), refusal);
            floor = refusal ? floor : end;
        }
        ck_assert_int_eq(fastmm_quota_range_limit(&r), limit);
        ck_assert_int_eq(fastmm_quota_range_floor(&r), floor);
        ck_assert_int_eq(fastmm_quota_range_used(&r), value - floor);
    }
    ck_assert(!fastmm_quota_range_add(&r, INT64_MIN));
    ck_assert(!fastmm_quota_range_add(&r, INT64_MAX));
    ck_assert_int_eq(fastmm_quota_range_destroy(&r), 0);
}
END_TEST

START_TEST(ranges_reach_the_ends_of_the_numbers)
{
    struct fastmm_quota_range r;
    ck_assert_int_eq(fastmm_quota_range_init(&r, INT64_MIN, INT64_MIN + 1, -1, 4), 0);
    for (int percpu = 0; percpu < 2; percpu++) {
        ck_assert_int_eq(fastmm_quota_range_floor(&r), INT64_MIN);
        ck_assert_int_eq(fastmm_quota_range_set_limit(&r, 0), -EINVAL); /* 2^63 apart */
        ck_assert(!fastmm_quota_range_add(&r, -2));
        ck_assert(fastmm_quota_range_add(&r, -1));
        ck_assert(fastmm_quota_range_add(&r, INT64_MAX));
        ck_assert(!fastmm_quota_range_add(&r, 1));
        ck_assert_int_eq(fastmm_quota_range_set_floor(&r, -1), 0);
        ck_assert_int_eq(fastmm_quota_range_set_limit(&r, INT64_MAX - 1), 0);
        ck_assert(fastmm_quota_range_add(&r, INT64_MAX));
        ck_assert(!fastmm_quota_range_add(&r, 1));
        ck_assert_int_eq(fastmm_quota_range_used(&r), INT64_MAX);
        ck_assert(fastmm_quota_range_add(&r, -INT64_MAX));
        ck_assert_int_eq(fastmm_quota_range_set_limit(&r, -1), 0);
        ck_assert_int_eq(fastmm_quota_range_set_floor(&r, INT64_MIN), 0);
        ck_assert(fastmm_quota_range_add(&r, INT64_MIN + 2));
        if (!percpu)
            range_percpu_or_skip(&r);
    }
}
END_TEST

static struct fastmm_quota_range range;
static int64_t at_least, at_most; /* what the value is surely not below, nor above */
static int changing;

/* at_least follows a rise and goes ahead of a fall; at_most the other way round. */
static void move_value(int64_t v)
{
    int64_t *ahead = v > 0 ? &at_most : &at_least, *behind = v > 0 ? &at_least : &at_most;
    __atomic_add_fetch(ahead, v, __ATOMIC_SEQ_CST);
    int moved = fastmm_quota_range_add(&range, v);
    __atomic_add_fetch(moved ? behind : ahead, moved ? v : -v, __ATOMIC_SEQ_CST);
}

static void *move_up_and_down(void *argument)
{
    uint64_t state = test_seed() ^ (uint64_t)pthread_self();
    while (__atomic_load_n(&changing, __ATOMIC_ACQUIRE)) {
        int64_t slope = test_random(&state) % 2 ? 1 : -1;
        for (int k = 0; k < 300; k++)
            move_value(slope * (int64_t)(test_random(&state) % 9) + 1 - slope);
    }
    return argument;
}

static void *change_both_ends(void *argument)
{
    uint64_t state = test_seed();
    int64_t floor = -300, limit = 300;
    int changes[2] = {0, 0};
    for (int k = 0; k < 1500 * (int)scaled(50); k++) {
        int64_t end = (int64_t)(test_random(&state) % 500);
        if (fastmm_quota_range_set_limit(&range, end) == 0) {
            changes[0] += end < limit;
            limit = end;
        }
        if (fastmm_quota_range_set_floor(&range, -end) == 0) {
            changes[1] += -end > floor;
            floor = -end;
        }
        for (int n = 0; n < 20; n++) {
            ck_assert_int_le(__atomic_load_n(&at_least, __ATOMIC_SEQ_CST), limit);
            ck_assert_int_ge(__atomic_load_n(&at_most, __ATOMIC_SEQ_CST), floor);
        }
    }
    ck_assert_int_gt(changes[0], 0);
    ck_assert_int_gt(changes[1], 0);
    __atomic_store_n(&changing, 0, __ATOMIC_RELEASE);
    return argument;
}

START_TEST(ends_change_under_fire)
{
    pthread_t changer;
    changing = 1;
    ck_assert_int_eq(fastmm_quota_range_init(&range, -300, 0, 300, 4), 0);
    if (_i)
        range_percpu_or_skip(&range);
    pthread_create(&changer, NULL, change_both_ends, NULL);
    run_threads(4, move_up_and_down, NULL);
    pthread_join(changer, NULL);
    ck_assert_int_eq(at_least, at_most);
    int64_t floor = fastmm_quota_range_floor(&range), limit = fastmm_quota_range_limit(&range);
    ck_assert_int_eq(fastmm_quota_range_used(&range), at_least - floor);
    ck_assert(!fastmm_quota_range_add(&range, limit - at_least + 1));
    ck_assert(fastmm_quota_range_add(&range, limit - at_least));
    ck_assert(!fastmm_quota_range_add(&range, floor - limit - 1));
    ck_assert(fastmm_quota_range_add(&range, floor - limit));
}
END_TEST

static int pieces_left;

static void *few_pieces(size_t bytes, void *context)
{
    (void)context;
    if (pieces_left == 0)
        return NULL;
    pieces_left--;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void give_piece_back(void *p, size_t bytes, void *context)
{
    (void)context;
    munmap(p, bytes);
}

/* The first half finds no memory, then the second, then both do. */
START_TEST(both_halves_of_a_range_switch_or_none)
{
    static const struct fastmm_counter_memory few = {few_pieces, give_piece_back, NULL};
    enum { ALL_BUT_ONE = 511 };
    static struct fastmm_counter fill[ALL_BUT_ONE + 1];
    struct fastmm_quota_range r;
    simulate_cpus(4);
    ck_assert_int_eq(fastmm_counter_set_memory(&few), 0);
    ck_assert_int_eq(fastmm_quota_range_init(&r, 0, 5, 10, 1), 0);
    int error = fastmm_quota_range_percpu(&r);
    if (error == -ENOTSUP)
        test_skip("no membarrier here");
    ck_assert_int_eq(error, -ENOMEM);
    pieces_left = 1;
    for (int k = 0; k < ALL_BUT_ONE; k++) {
        fastmm_counter_init(&fill[k]);
        ck_assert_int_eq(fastmm_counter_percpu(&fill[k]), 0);
    }
    ck_assert_int_eq(fastmm_quota_range_percpu(&r), -ENOMEM);
    ck_assert_uint_eq(r.up.group.slots, 1);
    ck_assert_uint_eq(r.down.group.slots, 1);
    ck_assert(fastmm_quota_range_add(&r, 5));
    ck_assert(!fastmm_quota_range_add(&r, 1));
    fastmm_counter_init(&fill[ALL_BUT_ONE]); /* what the first half had is free again */
    ck_assert_int_eq(fastmm_counter_percpu(&fill[ALL_BUT_ONE]), 0);
    fastmm_counter_destroy(&fill[0]);
    fastmm_counter_destroy(&fill[1]);
    ck_assert_int_eq(fastmm_quota_range_percpu(&r), 0);
    ck_assert_uint_gt(r.up.group.slots, 8);
    ck_assert_uint_gt(r.down.group.slots, 8);
    fastmm_quota_destroy(&r.down);
    ck_assert_int_eq(fastmm_quota_range_percpu(&r), -EINVAL);
}
END_TEST

static struct fastmm_quota held_up = FASTMM_QUOTA_INIT(300, 1);
static int got_the_lock;

static void interrupted(int signal)
{
    (void)signal;
}

static void *need_the_lock(void *argument)
{
    errno = 4711;
    int right = fastmm_quota_set_limit(&held_up, 400) == 0 && errno == 4711;
    __atomic_store_n(&got_the_lock, 1, __ATOMIC_RELEASE);
    return right ? argument : NULL;
}

/* The signals end its sleep in the kernel with an error, which is no business of the caller's. */
START_TEST(who_needs_the_lock_waits_for_a_fork)
{
    const struct sigaction action = {.sa_handler = interrupted}; /* and the call isn't restarted */
    const struct timespec moment = {.tv_nsec = 2000000};
    pthread_t thread;
    void *right;
    sigaction(SIGUSR1, &action, NULL);
    fastmm_quota_fork_prepare();
    ck_assert_int_eq(pthread_create(&thread, NULL, need_the_lock, &held_up), 0);
    for (int k = 0; k < 50; k++) {
        nanosleep(&moment, NULL);
        pthread_kill(thread, SIGUSR1);
    }
    ck_assert(!__atomic_load_n(&got_the_lock, __ATOMIC_ACQUIRE));
    fastmm_quota_fork_parent();
    pthread_join(thread, &right);
    ck_assert_ptr_nonnull(right);
}
END_TEST

START_TEST(without_rseq_it_stays_one_word)
{
    struct fastmm_counter_seam seam = {.no_rseq = 1};
    struct fastmm_quota q = FASTMM_QUOTA_INIT(10, 1);
    ck_assert_int_eq(fastmm_counter_seam_set(&seam), 0);
    ck_assert_int_eq(fastmm_quota_percpu(&q), -ENOTSUP);
    ck_assert(fastmm_quota_add(&q, 10));
    ck_assert(!fastmm_quota_add(&q, 1));
    fastmm_quota_return(&q, 4);
    ck_assert_int_eq(fastmm_quota_used(&q), 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.quota");
    TCase *tc = tcase_create("quota");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, wrong_use_is_refused);
    tcase_add_loop_test(tc, seeded_schedule_agrees_with_one_number, 1, 6);
    tcase_add_loop_test(tc, seeded_schedule_agrees_with_one_number, 300, 301);
    tcase_add_test(tc, threads_never_pass_the_limit);
    tcase_add_test(tc, the_limit_is_reached_exactly_by_all_together);
    tcase_add_test(tc, what_was_returned_can_be_had_again);
#ifdef FASTMM_COUNTER_RSEQ
    tcase_add_test(tc, no_call_leaves_the_critical_section_set);
#endif
    tcase_add_test(tc, ranges_hold_both_ends);
    tcase_add_test(tc, ranges_reach_the_ends_of_the_numbers);
    tcase_add_loop_test(tc, ends_change_under_fire, 0, 2);
    tcase_add_test(tc, both_halves_of_a_range_switch_or_none);
    tcase_add_test(tc, who_needs_the_lock_waits_for_a_fork);
    tcase_add_test(tc, without_rseq_it_stays_one_word);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
