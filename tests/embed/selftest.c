/* SPDX-License-Identifier: MIT */
/*
 * A stranger's program on the single file: uses each part that is there and fails by its exit
 * status. Two threads, so that per-CPU slots are used.
 */
#include "fastmm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(what)                                           \
    do {                                                       \
        if (!(what)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
            return 1;                                          \
        }                                                      \
    } while (0)

#if FASTMM_HAVE_COUNTER
enum { ADDS = 100000 };

static struct fastmm_counter_group2 group = FASTMM_COUNTER_GROUP_INIT(2);
static struct fastmm_quota quota = FASTMM_QUOTA_INIT(1000, 10);

static void *count(void *unused)
{
    for (int i = 0; i < ADDS; i++) {
        fastmm_counter_group_inc(&group.group, 0);
        fastmm_counter_group_sub(&group.group, 1, 2);
    }
    return unused;
}

static int counters(void)
{
    pthread_t other;
    fastmm_counter_group_add(&group.group, 0, 5);
    EXPECT(pthread_create(&other, NULL, count, NULL) == 0);
    EXPECT(fastmm_counter_group_percpu(&group.group) == 0);
    count(NULL);
    pthread_join(other, NULL);
    EXPECT(fastmm_counter_group_sum(&group.group, 0) == 2 * ADDS + 5);
    EXPECT(fastmm_counter_group_sum(&group.group, 1) == -4 * ADDS);
    EXPECT(fastmm_quota_add(&quota, 1000));
    EXPECT(!fastmm_quota_add(&quota, 1));
    EXPECT(fastmm_counter_group_destroy(&group.group) == 0);
    EXPECT(fastmm_counter_trim() > 0);
    EXPECT(fastmm_counter_held() == 0);
    return 0;
}
#else
static int counters(void)
{
    return 0;
}
#endif

#if FASTMM_HAVE_COPY
static unsigned char from[200000], to[200000];

static int copies(void)
{
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i * 7 + i / 251 + 1);
    for (size_t n = 0; n < sizeof(from); n += n / 3 + 1) {
        memset(to, 0xee, sizeof(to));
        fastmm_copy(to, from, n);
        EXPECT(memcmp(to, from, n) == 0 && to[n] == 0xee);
        fastmm_move(to + 1, to, n);
        EXPECT(memcmp(to + 1, from, n) == 0);
        fastmm_clear(to, n);
        for (size_t i = 0; i < n; i++)
            EXPECT(to[i] == 0);
    }
    for (uint32_t impl = 0; impl < FASTMM_COPY_IMPL_COUNT; impl++) {
        memset(to, 0xee, sizeof(to));
        if (fastmm_copy_with(impl, to, from, 100001) == 0)
            EXPECT(memcmp(to, from, 100001) == 0 && to[100001] == 0xee);
    }
    EXPECT(fastmm_clear_huge(to, sizeof(to), 4096) == 0);
    for (size_t i = 0; i < sizeof(to); i++)
        EXPECT(to[i] == 0);
    return 0;
}
#else
static int copies(void)
{
    return 0;
}
#endif

int main(void)
{
    EXPECT(fastmm_version() ==
           FASTMM_VERSION_MAJOR * 10000 + FASTMM_VERSION_MINOR * 100 + FASTMM_VERSION_PATCH);
    return counters() || copies();
}
