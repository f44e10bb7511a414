/* SPDX-License-Identifier: MIT */
#include "cpuid_dump.h"
#include "cpuid_values.h"
#include "test_main.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cpuid_dump dump;
static struct tool_error error;

static int parse(const char *text)
{
    return cpuid_dump_parse("a.txt", text, strlen(text), &dump, &error);
}

/* The table as a dump. Freed by the caller. */
static char *dump_of(const struct cpuid_table *t)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (unsigned i = 0; i < t->count; i++) {
        const struct cpuid_row *r = &t->rows[i];
        fprintf(f, "CPUID %08X: %08X-%08X-%08X-%08X", r->leaf, r->reg[0], r->reg[1], r->reg[2],
                r->reg[3]);
        fprintf(f, r->subleaf ? " [SL %02X]\n" : "\n", r->subleaf);
    }
    fclose(f);
    return text;
}

START_TEST(a_dump_of_each_cpu_decodes_as_the_cpu)
{
    struct cpuid_table t = cpuid_values_at((unsigned)_i);
    char *text = dump_of(&t);
    ck_assert_int_eq(parse(text), 0);
    free(text);
    ck_assert_uint_eq(dump.count, t.count);

    struct fastmm_cpuid_source source = cpuid_dump_source(&dump);
    struct fastmm_cpu direct = cpuid_decode(&t), through_text;
    fastmm_cpu_decode(&source, &through_text);
    ck_assert_mem_eq(&direct, &through_text, sizeof(direct));
}
END_TEST

START_TEST(what_is_written_is_read_back)
{
    struct fastmm_cpuid_source here;
    if (fastmm_cpuid_native(&here) != 0)
        test_skip("no CPUID on this architecture");
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    cpuid_dump_write(&here, f);
    fclose(f);
    ck_assert_int_eq(parse(text), 0);
    free(text);

    struct fastmm_cpuid_source source = cpuid_dump_source(&dump);
    here.xcr0 = source.xcr0; /* a dump has what could be enabled */
    struct fastmm_cpu direct, through_text;
    fastmm_cpu_decode(&here, &direct);
    fastmm_cpu_decode(&source, &through_text);
    ck_assert_mem_eq(&direct, &through_text, sizeof(direct));
}
END_TEST

START_TEST(other_lines_and_later_cpus_are_skipped)
{
    ck_assert_int_eq(parse("------[ Logical CPU #0 ]------\r\n"
                           "\r\n"
                           "  cpuid 00000000: 1-68747541-444d4163-69746e65 [AuthenticAMD]\r\n"
                           "CPUID 00000001: 00A20F12-00000000-00000000-178BFBFF\r\n"
                           "CPUID 00000007:  1-2-3-4 [SL  1f]  comment\r\n"
                           "------[ Logical CPU #1 ]------\r\n"
                           "CPUID 00000001: 00000000-00000000-00000000-00000000"),
                     0);
    ck_assert_uint_eq(dump.count, 3);
    ck_assert_uint_eq(dump.rows[1].reg[0], 0x00a20f12);
    ck_assert_uint_eq(dump.rows[2].subleaf, 0x1f);
    ck_assert_uint_eq(dump.rows[2].reg[3], 4);
}
END_TEST

static const struct {
    const char *text, *error;
} bad[] = {
    {"", "a.txt: no line 'CPUID 00000000:"},
    {"\n\nnothing here\n", "a.txt: no line 'CPUID 00000000:"},
    {"CPUID 00000001: 1-2-3-4\n", "a.txt: no line 'CPUID 00000000:"},
    {"CPUID", "a.txt:1: a blank"},
    {"\nCPUIDs\n", "a.txt:2: a blank"},
    {"CPUID x\n", "a.txt:1: a leaf"},
    {"CPUID 0000000 1-2-3-4", "a.txt:1: a leaf"},
    {"CPUID 123456789: 1-2-3-4", "a.txt:1: a leaf"},
    {"CPUID 0: 1-2-3", "a.txt:1: four registers"},
    {"CPUID 0: 1-2-3-", "a.txt:1: four registers"},
    {"CPUID 0: 1-2-3-g", "a.txt:1: four registers"},
    {"CPUID 0: 1-2-3-123456789", "a.txt:1: four registers"},
    {"CPUID 0: 1-2-3-4-5", "a.txt:1: junk"},
    {"#\n#\nCPUID 0: 1-2-3-4 [SL]", "a.txt:3: a subleaf"},
    {"CPUID 0: 1-2-3-4 [SL 1", "a.txt:1: a subleaf"},
};

START_TEST(junk_is_refused_by_line)
{
    ck_assert_int_eq(parse(bad[_i].text), -1);
    ck_assert_msg(strncmp(error.text, bad[_i].error, strlen(bad[_i].error)) == 0, "'%s' gave '%s'",
                  bad[_i].text, error.text);
}
END_TEST

START_TEST(too_many_leaves_are_refused)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (unsigned i = 0; i < 513; i++)
        fprintf(f, "CPUID %08X: 0-0-0-0\n", i);
    fclose(f);
    ck_assert_int_eq(parse(text), -1);
    ck_assert_str_eq(error.text, "a.txt:513: more than 512 leaves");
    free(text);
}
END_TEST

/* Lines of a real dump with bytes changed, cut and doubled: parsed or refused, never worse. */
START_TEST(mutated_dumps_do_no_harm)
{
    uint64_t state = test_seed();
    struct cpuid_table t = cpuid_values("Granite Rapids");
    char *good = dump_of(&t);
    size_t size = strlen(good);
    char *text = malloc(size);
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(text, good, size);
        for (uint64_t n = test_random(&state) % 8; n > 0; n--)
            text[test_random(&state) % size] = (char)test_random(&state);
        size_t cut = test_random(&state) % (size + 1);
        if (cpuid_dump_parse("a.txt", text, cut, &dump, &error) == 0) {
            struct fastmm_cpuid_source source = cpuid_dump_source(&dump);
            struct fastmm_cpu cpu;
            fastmm_cpu_decode(&source, &cpu);
            ck_assert_uint_eq(cpu.usable & ~cpu.advertised, 0);
        } else {
            ck_assert_ptr_eq(strstr(error.text, "a.txt:"), error.text);
        }
    }
    free(text);
    free(good);
}
END_TEST

START_TEST(unreadable_files_are_named)
{
    ck_assert_int_eq(cpuid_dump_read("/no/such/file", &dump, &error), -1);
    ck_assert_str_eq(error.text, "/no/such/file: No such file or directory");
    ck_assert_int_eq(cpuid_dump_read("/", &dump, &error), -1);
    ck_assert_str_eq(error.text, "/: Is a directory");
    ck_assert_int_eq(cpuid_dump_read("/dev/zero", &dump, &error), -1);
    ck_assert_str_eq(error.text, "/dev/zero: larger than 4 MiB, so not such a file");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.cpuid_dump");
    TCase *tc = tcase_create("cpuid_dump");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_dump_of_each_cpu_decodes_as_the_cpu, 0, (int)cpuid_values_count());
    tcase_add_test(tc, what_is_written_is_read_back);
    tcase_add_test(tc, other_lines_and_later_cpus_are_skipped);
    tcase_add_loop_test(tc, junk_is_refused_by_line, 0, (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_test(tc, too_many_leaves_are_refused);
    tcase_add_test(tc, mutated_dumps_do_no_harm);
    tcase_add_test(tc, unreadable_files_are_named);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
