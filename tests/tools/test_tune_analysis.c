/* SPDX-License-Identifier: MIT */
/* What `fastmm tune` concludes, from tables of machines with and without traps. */
#include "test_main.h"
#include "tune.h"
#include <errno.h>

#include <errno.h>
#include <string.h>

#define NEVER FASTMM_COPY_NEVER

/* Rows: size, then vector, rep, stream, libc in ns; 0 where not measured. */
struct row {
    size_t size;
    double ns[TUNE_WAYS];
};

static struct tune_table table_of(const struct row *rows, unsigned count, double spread)
{
    struct tune_table t = {.job = "copy", .count = count};
    for (unsigned i = 0; i < count; i++) {
        t.size[i] = rows[i].size;
        for (int way = 0; way < TUNE_WAYS; way++)
            t.at[i][way] = (struct sample){rows[i].ns[way], rows[i].ns[way] > 0 ? spread : 0};
    }
    return t;
}

static const struct row rows[] = {
    {64, {2, 4, 0, 3}},
    {1024, {5, 11, 0, 5}},
    {65536, {650, 480, 1600, 480}},
    {1 << 20, {20e3, 15e3, 26e3, 18e3}},
    {1 << 25, {1.6e6, 1.4e6, 1.2e6, 2e6}},
    {1 << 26, {4.3e6, 4.2e6, 3.1e6, 6e6}},
};
#define ROWS 6

START_TEST(bands_are_maximal_and_cover_every_size)
{
    struct tune_table t = table_of(rows, ROWS, 0.01);
    struct tune_band bands[TUNE_MAX_SIZES];
    ck_assert_uint_eq(tune_bands(&t, bands), 3);
    ck_assert_uint_eq(bands[0].first, 64);
    ck_assert_uint_eq(bands[0].last, 1024);
    ck_assert_int_eq(bands[0].best, TUNE_VECTOR);
    ck_assert_double_eq_tol(bands[0].behind[TUNE_REP], 2.2, 1e-9);
    ck_assert_double_eq(bands[0].behind[TUNE_STREAM], 0);
    ck_assert_uint_eq(bands[1].first, 65536);
    ck_assert_int_eq(bands[1].best, TUNE_REP);
    ck_assert_uint_eq(bands[2].last, 1 << 26);
    ck_assert_int_eq(bands[2].best, TUNE_STREAM);
}
END_TEST

START_TEST(libc_is_no_way_that_the_library_could_take)
{
    struct row fast_libc = {64, {2, 4, 0, 1}};
    struct tune_table t = table_of(&fast_libc, 1, 0.01);
    struct tune_band bands[TUNE_MAX_SIZES];
    ck_assert_uint_eq(tune_bands(&t, bands), 1);
    ck_assert_int_eq(bands[0].best, TUNE_VECTOR);
}
END_TEST

START_TEST(a_lead_within_the_noise_changes_nothing)
{
    struct tune_table t = table_of(rows, ROWS, 0.9);
    struct tune_band bands[TUNE_MAX_SIZES];
    ck_assert_uint_eq(tune_bands(&t, bands), 1);
    ck_assert_int_eq(bands[0].best, TUNE_VECTOR);
    ck_assert_uint_eq(tune_crossover(&t, TUNE_REP, 1u << TUNE_VECTOR, 1 << 26), NEVER);
}
END_TEST

START_TEST(crossovers_hold_to_the_end)
{
    struct tune_table t = table_of(rows, ROWS, 0.01);
    const unsigned both = 1u << TUNE_VECTOR | 1u << TUNE_REP;
    ck_assert_uint_eq(tune_crossover(&t, TUNE_STREAM, both, 1 << 26), 1 << 25);
    ck_assert_uint_eq(tune_crossover(&t, TUNE_REP, 1u << TUNE_VECTOR, (1 << 25) - 1), 65536);
    /* Ahead in the middle and behind at the end is no crossover. */
    t.at[ROWS - 1][TUNE_REP].ns = 9e6;
    ck_assert_uint_eq(tune_crossover(&t, TUNE_REP, 1u << TUNE_VECTOR, 1 << 26), NEVER);
    /* Merely as good everywhere is none either. */
    ck_assert_uint_eq(tune_crossover(&t, TUNE_VECTOR, 1u << TUNE_VECTOR, 1 << 26), NEVER);
    /* Not measured can't win. */
    ck_assert_uint_eq(tune_crossover(&t, TUNE_STREAM, both, 1024), NEVER);
}
END_TEST

/* The library takes settings with a threshold for rep, and refuses them where there is none. */
static void expect_usable(const struct fastmm_copy_settings *s)
{
    struct fastmm_copy_plan plan;
    const char *reason = "";
    int rc = fastmm_copy_plan_for(fastmm_cpu_native(), s, &plan, &reason);
#ifdef __x86_64__
    ck_assert_msg(rc == 0, "%s", reason);
#else
    ck_assert_int_eq(rc, -ENOTSUP);
#endif
}

START_TEST(settings_follow_from_the_tables)
{
    static struct tune_results r;
    r.copy = table_of(rows, ROWS, 0.01);
    r.clear = table_of(rows, 2, 0.01);
    struct fastmm_copy_settings s = tune_settings(&r);
    ck_assert_uint_eq(s.copy_stream_min, 1 << 25);
    ck_assert_uint_eq(s.copy_rep_min, 65536);
    ck_assert_uint_eq(s.fill_rep_min, NEVER);
    ck_assert_uint_eq(s.fill_stream_min, NEVER);
    expect_usable(&s);
}
END_TEST

START_TEST(thresholds_respect_the_floors_of_the_library)
{
    static const struct row rep_everywhere[] = {{16, {9, 1, 0, 9}}, {4096, {99, 9, 5, 99}}};
    static struct tune_results r;
    r.copy = r.clear = table_of(rep_everywhere, 2, 0.01);
    struct fastmm_copy_settings s = tune_settings(&r);
    ck_assert_uint_eq(s.copy_rep_min, FASTMM_COPY_REP_FLOOR);
    ck_assert_uint_eq(s.copy_stream_min, FASTMM_COPY_STREAM_FLOOR);
    expect_usable(&s);
}
END_TEST

/* The shape of AMD Zen 4 at 4 KiB: 27 times slower at 1..15, twice at 16..31. */
static struct tune_map zen4_map(void)
{
    struct tune_map map = {.size = 4096};
    for (unsigned alias = 0; alias < 4096; alias += alias < 96 ? 1 : 32) {
        double ns = alias >= 1 && alias < 16 ? 1151 : alias >= 16 && alias < 32 ? 100 : 42;
        if (alias == 8)
            ns = 1200;
        map.alias[map.count] = alias;
        map.at[map.count++] = (struct sample){ns, 0.01};
    }
    return map;
}

START_TEST(the_slow_zone_is_found)
{
    struct tune_map map = zen4_map();
    struct tune_zone zones[TUNE_MAX_ZONES];
    ck_assert_double_eq(tune_map_usual(&map), 42);
    ck_assert_uint_eq(tune_zones(&map, zones), 1);
    ck_assert_uint_eq(zones[0].first, 1);
    ck_assert_uint_eq(zones[0].last, 31);
    ck_assert_uint_eq(zones[0].worst, 8);
    ck_assert_double_eq_tol(zones[0].times, 1200.0 / 42, 1e-9);
}
END_TEST

START_TEST(a_trap_forbids_rep_unless_the_library_avoids_it)
{
    static struct tune_results r;
    struct tune_candidate c[TUNE_CANDIDATES];
    r.copy = r.clear = table_of(rows, ROWS, 0.01);
    r.maps[2] = zen4_map();
    ck_assert_uint_eq(tune_worst_zone(&r).worst, 8);

    ck_assert_uint_eq(tune_settings(&r).copy_rep_min, NEVER);
    r.avoided_first = 1;
    r.avoided_last = 63;
    ck_assert_uint_eq(tune_settings(&r).copy_rep_min, 65536);

    /* libc avoids nothing: streaming from where it beats libc, rep never, fills as measured. */
    ck_assert_uint_eq(tune_candidates(&r, c), 3);
    ck_assert_str_eq(c[0].tunable, "glibc.cpu.x86_non_temporal_threshold=0x2000000");
    ck_assert_str_eq(c[1].tunable, "glibc.cpu.x86_rep_movsb_threshold=0xffffffffffffffff");
    ck_assert_str_eq(c[2].tunable, "glibc.cpu.x86_rep_stosb_threshold=0x10000");

    /* The same zone in short copies, where nobody uses rep, is none. */
    r.maps[2].size = 512;
    ck_assert_double_eq(tune_worst_zone(&r).times, 1);
    tune_candidates(&r, c);
    ck_assert_str_eq(c[1].tunable, "glibc.cpu.x86_rep_movsb_threshold=0x10000");
}
END_TEST

START_TEST(a_flat_map_has_no_zone)
{
    struct tune_map map = zen4_map();
    struct tune_zone zones[TUNE_MAX_ZONES];
    for (unsigned i = 0; i < map.count; i++)
        map.at[i].ns = 42 + (i % 3);
    ck_assert_uint_eq(tune_zones(&map, zones), 0);
    map.count = 0; /* no rep on this machine */
    ck_assert_uint_eq(tune_zones(&map, zones), 0);
}
END_TEST

START_TEST(more_zones_than_fit_are_cut)
{
    struct tune_map map = zen4_map();
    struct tune_zone zones[TUNE_MAX_ZONES + 1];
    memset(zones, 0xa5, sizeof(zones));
    for (unsigned i = 0; i < map.count; i++)
        map.at[i].ns = i % 3 ? 10 : 100;
    ck_assert_uint_eq(tune_zones(&map, zones), TUNE_MAX_ZONES);
    ck_assert_uint_eq(zones[TUNE_MAX_ZONES].first, 0xa5a5a5a5u);
}
END_TEST

START_TEST(the_knee_is_the_last_size_on_the_level)
{
    struct tune_short curve = {
        .count = 4, .size = {1, 64, 127, 128}, .at = {{2.4, 0}, {2.5, 0}, {2.4, 0}, {9, 0}}};
    struct tune_knee knee = tune_find_knee(&curve);
    ck_assert_uint_eq(knee.size, 127);
    ck_assert_double_eq(knee.level, 2.4);
    ck_assert_double_eq(knee.beyond, 9);
    curve.count = 3;
    knee = tune_find_knee(&curve);
    ck_assert_uint_eq(knee.size, 127);
    ck_assert_double_eq(knee.beyond, 0);
}
END_TEST

START_TEST(summaries_are_medians)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 2, 3}, one[] = {7};
    ck_assert_double_eq(measure_summary(odd, 3).ns, 3);
    ck_assert_double_eq_tol(measure_summary(odd, 3).spread, 2.0 / 3, 1e-9);
    ck_assert_double_eq(measure_summary(even, 4).ns, 2.5);
    ck_assert_double_eq(measure_summary(one, 1).ns, 7);
    ck_assert_double_eq(measure_summary(one, 1).spread, 0);
    ck_assert_double_eq(measure_summary(NULL, 0).ns, 0);
}
END_TEST

static unsigned calls;

static void count_call(void *dst, const void *src, size_t n)
{
    (void)dst, (void)src;
    calls += (unsigned)n;
}

START_TEST(every_cell_gets_a_result)
{
    struct sample results[3] = {{0, 0}};
    struct measure_cell cells[3];
    for (unsigned i = 0; i < 3; i++)
        cells[i] = (struct measure_cell){count_call, NULL, NULL, 1, &results[i]};
    ck_assert_int_eq(measure_cells(cells, 3, (struct measure_effort){3, 100}), 0);
    ck_assert_uint_ge(calls, 9);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_double_gt(results[i].ns, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.tune_analysis");
    TCase *tc = tcase_create("tune");
    tcase_add_test(tc, bands_are_maximal_and_cover_every_size);
    tcase_add_test(tc, libc_is_no_way_that_the_library_could_take);
    tcase_add_test(tc, a_lead_within_the_noise_changes_nothing);
    tcase_add_test(tc, crossovers_hold_to_the_end);
    tcase_add_test(tc, settings_follow_from_the_tables);
    tcase_add_test(tc, thresholds_respect_the_floors_of_the_library);
    tcase_add_test(tc, the_slow_zone_is_found);
    tcase_add_test(tc, a_trap_forbids_rep_unless_the_library_avoids_it);
    tcase_add_test(tc, a_flat_map_has_no_zone);
    tcase_add_test(tc, more_zones_than_fit_are_cut);
    tcase_add_test(tc, the_knee_is_the_last_size_on_the_level);
    tcase_add_test(tc, summaries_are_medians);
    tcase_add_test(tc, every_cell_gets_a_result);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
