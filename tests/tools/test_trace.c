/* SPDX-License-Identifier: MIT */
/* The trace format: what is refused, where the error points, and what an operation is read as. */
#include "test_main.h"

#include "mm/trace.h"

#include <errno.h>
#include <fastmm/mm.h>
#include <string.h>

/* A sound beginning, so that the place of the error is known: line 2, at `column`. */
static const struct {
    const char *line;
    unsigned column;
    const char *what;
} refused[] = {
    {"p8 exit", 1, "p0 to p7 is expected"},
    {"q0 exit", 1, "p0 to p7 is expected"},
    {"p0", 3, "no operation ''"},
    {"p0 mmap 0 1 rw", 4, "no operation 'mmap'"},
    {"p1 read 0", 1, "this process doesn't exist yet"},
    {"p0 fork p0", 1, "the child has a number that was used before"},
    {"p0 fork", 8, "p0 to p7 is expected"},
    {"p0 read", 8, "a page is expected"},
    {"p0 read 1024", 9, "a page is expected"},
    {"p0 read 99999999999999999999999", 9, "a page is expected"},
    {"p0 read -1", 9, "a page is expected"},
    {"p0 read 1000 25", 14, "a count of pages is expected, 1 to 24"},
    {"p0 read 1 0", 11, "a count of pages is expected"},
    {"p0 unmap 1", 11, "a count of pages is expected"},
    {"p0 map 0 1", 11, "a protection is expected"},
    {"p0 map 0 1 wx", 12, "a protection is expected"},
    {"p0 map 0 1 rw shared", 21, "o0 to o3 is expected"},
    {"p0 map 0 1 rw shared o0", 1, "this object wasn't declared"},
    {"p0 mremap 0 4", 14, "a count of pages is expected"},
    {"p0 mremap 0 4 4 1021", 21, "pages end at 1024"},
    {"p0 mremap 1020 2 5", 19, "pages end at 1024"},
    {"p0 map 0 1 rw nonsense", 15, "the line should end here"},
    {"p0 read 0 = 7", 13, "an outcome is expected"},
    {"p0 read 0 extra", 11, "the line should end here"},
    {"p0 register 0 1 fork", 17, "the line should end here"},
    {"p0 expect 0", 12, "what the entry holds is expected"},
    {"p0 expect 0 anon xx", 18, "x and the number of entries"},
    {"p0 rss total 1", 8, "a counter is expected"},
    {"object o0 tape 4", 11, "shmem or file is expected"},
    {"object o0 shmem 0", 17, "a count of pages is expected"},
    {"object o4 shmem 1", 8, "o0 to o3 is expected"},
};

START_TEST(test_refused)
{
    char text[256], place[32];
    struct tool_error error;
    struct trace trace;
    int length = snprintf(text, sizeof(text), "# first\n%s\n", refused[_i].line);
    snprintf(place, sizeof(place), "t:2:%u: ", refused[_i].column);
    ck_assert_int_eq(trace_parse("t", text, (size_t)length, &trace, &error), -1);
    ck_assert_msg(!strncmp(error.text, place, strlen(place)), "%s: %s", refused[_i].line,
                  error.text);
    ck_assert_msg(strstr(error.text, refused[_i].what) != NULL, "%s: %s", refused[_i].line,
                  error.text);
    ck_assert_ptr_null(trace.op);
}
END_TEST

static struct trace parse(const char *text)
{
    struct tool_error error;
    struct trace trace;
    ck_assert_msg(!trace_parse("t", text, strlen(text), &trace, &error), "%s", error.text);
    return trace;
}

START_TEST(test_read)
{
    struct trace t = parse("object o2 shmem 9 # nine\n"
                           "\n"
                           "\tp0 map 3 4 rw shared o2 5 dontfork = EEXIST#end\r\n"
                           "p0 register 3 4 async event-fork\n"
                           "p0 fork p7\n"
                           "p7 expect 3 anon rw not-wp x2\n"
                           "p7 rss shmem 3");
    ck_assert_uint_eq(t.count, 5);
    ck_assert_uint_eq(t.object[2].pages, 9);
    const struct trace_op *op = t.op;
    ck_assert_uint_eq(op->line, 3);
    ck_assert_uint_eq(op->flags,
                      FASTMM_VM_READ | FASTMM_VM_WRITE | FASTMM_VM_SHARED | FASTMM_VM_DONTCOPY);
    ck_assert_int_eq(op->object, 2);
    ck_assert_uint_eq(op->offset, 5);
    ck_assert(op->has_outcome);
    ck_assert_int_eq(op->outcome, -EEXIST);
    ck_assert_uint_eq(op[1].flags, FASTMM_VM_UFFD_ASYNC | FASTMM_VM_UFFD_FORK);
    ck_assert_uint_eq(op[2].child, 7);
    ck_assert_uint_eq(op[3].attributes, TRACE_IS_RW | TRACE_IS_NOT_WP);
    ck_assert_int_eq(op[3].number, 2);
    ck_assert_uint_eq(op[4].counter, FASTMM_RSS_SHMEM);
    trace_free(&t);
}
END_TEST

START_TEST(test_window)
{
    unsigned first, count;
    struct trace t = parse("p0 read 7\np0 map 20 4 r\np0 fork p1\np0 mremap 20 4 5 6\n"
                           "p0 mremap 20 4 8\n");
    trace_window(&t, &first, &count);
    ck_assert_uint_eq(first, 6);
    ck_assert_uint_eq(count, 22);
    trace_free(&t);
}
END_TEST

START_TEST(test_gone)
{
    struct tool_error error;
    struct trace trace;
    static const char text[] = "p0 fork p1\np1 exit\np1 exit\n";
    ck_assert_int_eq(trace_parse("t", text, sizeof(text) - 1, &trace, &error), -1);
    ck_assert_str_eq(error.text, "t:3:1: this process doesn't exist any more");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.trace");
    TCase *tcase = tcase_create("trace");
    tcase_add_loop_test(tcase, test_refused, 0, (int)(sizeof(refused) / sizeof(refused[0])));
    tcase_add_test(tcase, test_read);
    tcase_add_test(tcase, test_window);
    tcase_add_test(tcase, test_gone);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
