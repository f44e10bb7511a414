/* SPDX-License-Identifier: MIT */
/* What a stranger's first program does: asks for the version and uses each part once. */
#include <fastmm.h>

#include <stdio.h>

static int check(int ok, const char *what)
{
    printf("%s: %s\n", what, ok ? "ok" : "WRONG");
    return ok ? 0 : 1;
}

static int version(void)
{
    unsigned built =
        FASTMM_VERSION_MAJOR * 10000 + FASTMM_VERSION_MINOR * 100 + FASTMM_VERSION_PATCH;
    return check(fastmm_version() == built, "version");
}

static int counter(void)
{
    static struct fastmm_counter hits = FASTMM_COUNTER_INIT;
    fastmm_counter_add(&hits, 5);
    int err = fastmm_counter_percpu(&hits);
    fastmm_counter_inc(&hits);
    fastmm_counter_sub_call(&hits, 2);
    int64_t sum = fastmm_counter_sum(&hits);
    return check(err == 0 && sum == 4 && fastmm_counter_destroy(&hits) == 0, "counter");
}

static int copy(void)
{
    unsigned char from[300], to[301];
    fastmm_fill(from, 7, sizeof(from));
    fastmm_clear(to, sizeof(to));
    fastmm_copy(to, from, sizeof(from));
    fastmm_move_call(to + 1, to, 3);
    return check(to[0] == 7 && to[299] == 7 && to[300] == 0, "copy");
}

static int walker(void)
{
    struct fastmm_machine_config config = {64, 0, false, NULL, NULL, NULL};
    struct fastmm_map map = {0x10000, 0x12000, FASTMM_VM_READ | FASTMM_VM_WRITE, NULL, 0};
    struct fastmm_machine *machine;
    struct fastmm_mm *mm;
    fastmm_pte_t pte;
    int64_t rss[FASTMM_RSS_COUNTERS];

    if (fastmm_machine_create(&config, &machine) || fastmm_mm_create(machine, &mm))
        return check(0, "walker: a machine and an address space");
    int err = fastmm_mm_map(mm, &map);
    err |= fastmm_mm_fault(mm, 0x11000, FASTMM_WRITE);
    err |= fastmm_mm_lookup(mm, 0x11000, &pte);
    if (err)
        return check(0, "walker: a mapped and faulted page");
    uint64_t frame = fastmm_normal_page(fastmm_machine_frames(machine), fastmm_mm_find(mm, 0x11000),
                                        0x11000, pte);
    fastmm_mm_rss(mm, rss);
    int ok = frame == fastmm_pte_pfn(pte) && rss[FASTMM_RSS_ANON] == 1;
    ok &= fastmm_mm_destroy(mm, NULL) == 0 && fastmm_machine_destroy(machine) == 0;
    return check(ok, "walker");
}

int main(void)
{
    return version() + counter() + copy() + walker();
}
