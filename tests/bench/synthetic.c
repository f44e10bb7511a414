/* SPDX-License-Identifier: MIT */
/*
 * A bench binary whose cases have known costs, for the tests of the harness: times that are said
 * rather than measured, sleeping threads, wrong results and missing features.
 */
#include "bench.h"

#include <dirent.h>
#include <signal.h>
#include <time.h>

enum { STEPS = 64 };

static int set_up(struct bench *b)
{
    b->bytes = 64;
    b->items = STEPS;
    bench_counter(b, "steps", STEPS);
    return 0;
}

static int fails(struct bench *b)
{
    (void)b;
    return -12;
}

static int lacks_feature(struct bench *b)
{
    return bench_skip(b, "no feature, \"%s\"", "by design");
}

/* args[0]: what an iteration costs, in units of work. */
static void busy(struct bench *b, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations * STEPS * (uint64_t)b->spec->args[0]; i++)
        bench_opaque(i);
}

/* args[0]: the nanoseconds that an iteration is said to take. */
static uint64_t said(struct bench *b, uint64_t iterations)
{
    return iterations * (uint64_t)b->spec->args[0];
}

static void doze(struct bench *b, uint64_t iterations)
{
    (void)b;
    for (uint64_t i = 0; i < iterations; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Dies when it is measured, though not when it is only tried. */
static void crash(struct bench *b, uint64_t iterations)
{
    (void)b;
    if (iterations > 1)
        raise(SIGKILL);
}

/* 2 when this process has more than one thread; a sanitizer may have made some, too. */
static uint64_t count_threads(struct bench *b)
{
    uint64_t count = 0;
    (void)b;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += *entry->d_name != '.';
    if (tasks)
        closedir(tasks);
    return count > 1 ? 2 : 1;
}

/* args[1]: the result. */
static uint64_t result(struct bench *b)
{
    return (uint64_t)b->spec->args[1];
}

static void add_cases(void)
{
    const struct bench_case work = {.setup = set_up, .loop = busy, .digest = result};
    const struct bench_case saying = {.setup = set_up, .timed = said, .digest = result};
    const struct bench_case sleeping = {.setup = set_up, .loop = doze};

    for (int size = 1; size <= 4; size *= 2) {
        struct bench_case c = work;
        c.args[0] = size;
        bench_add(&c, "synthetic/busy/fastmm/size:%d", size);
        c.args[0] = 2 * size;
        bench_add(&c, "synthetic/busy/twice/size:%d", size);

        c = saying;
        c.args[0] = 1000 * size;
        bench_add(&c, "synthetic/said/fastmm/size:%d", size);
        c.args[0] = 3000 * size;
        bench_add(&c, "synthetic/said/triple/size:%d", size);
        c.args[0] = 2000 * size;
        bench_add(&c, "synthetic/said/double/size:%d", size);
    }

    struct bench_case c = saying;
    c.args[0] = 1000;
    c.args[1] = 1;
    bench_add(&c, "synthetic/said/wrong/size:1");
    c = saying;
    c.setup = lacks_feature;
    bench_add(&c, "synthetic/said/missing/size:1");

    c.setup = fails;
    bench_add(&c, "synthetic/said/failing/size:1");
    bench_add(&(struct bench_case){.loop = crash}, "synthetic/crash/rival");
    bench_add(&(struct bench_case){.loop = busy, .args = {1}}, "synthetic/crash/fastmm");

    for (int threads = 1; threads <= 2; threads++) {
        c = saying;
        c.args[0] = 1000;
        c.args[1] = threads;
        bench_add(&c, "synthetic/count/says/n:%d", threads);
        c.digest = count_threads;
        bench_add(&c, "synthetic/count/fastmm/n:%d", threads);
    }

    c = sleeping;
    c.threads = 2;
    bench_add(&c, "synthetic/doze/fastmm");
    bench_add(&c, "synthetic/doze/rival");
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "synthetic", add_cases);
}
