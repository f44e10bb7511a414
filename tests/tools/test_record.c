/* SPDX-License-Identifier: MIT */
/* `fastmm record` and `fastmm snapshot` as commands: exit status, files, nothing left behind. */
#include "snapshot_file.h"
#include "test_main.h"
#include "tool.h"

#include <fastmm/snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static char file[128];

static void enter(void)
{
    strcpy(directory, "/tmp/fastmm-record-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(file, sizeof(file), "%s/out", directory);
}

/* The directory must hold nothing but the file, if that. */
static void leave(void)
{
    unlink(file);
    ck_assert_int_eq(rmdir(directory), 0);
}

static int run(int (*tool)(int, char **), const char *name, ...)
{
    char *argv[12] = {(char *)(uintptr_t)name};
    int argc = 1;
    va_list args;
    va_start(args, name);
    while ((argv[argc] = va_arg(args, char *)))
        argc++;
    va_end(args);
    return tool(argc, argv);
}

#define record(...)   run(tool_record, "record", __VA_ARGS__, NULL)
#define snapshot(...) run(tool_snapshot, "snapshot", __VA_ARGS__, NULL)

static const char *own_pid(void)
{
    static char text[24];
    snprintf(text, sizeof(text), "%d", (int)getpid());
    return text;
}

static void write_file(const char *text)
{
    ck_assert_int_eq(snapshot_file_write(file, (const unsigned char *)text, strlen(text), false),
                     0);
}

static void expect_file(const char *text)
{
    unsigned char *data;
    size_t size;
    ck_assert_int_eq(snapshot_file_read(file, &data, &size), 0);
    ck_assert_uint_eq(size, strlen(text));
    ck_assert_mem_eq(data, text, size);
    free(data);
}

START_TEST(a_recording_can_be_read_again)
{
    enter();
    ck_assert_int_eq(record("--pid", own_pid(), "-o", file), TOOL_OK);
    ck_assert_int_eq(snapshot(file), TOOL_OK);
    leave();
}
END_TEST

START_TEST(a_file_that_exists_is_replaced_only_by_force)
{
    enter();
    write_file("precious");
    ck_assert_int_eq(record("-p", own_pid(), "-o", file), TOOL_FAILED);
    expect_file("precious");
    ck_assert_int_eq(record("-p", own_pid(), "-f", "-o", file), TOOL_OK);
    ck_assert_int_eq(snapshot(file), TOOL_OK);
    leave();
}
END_TEST

START_TEST(what_is_no_regular_file_is_never_replaced)
{
    struct stat status;
    enter();
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    ck_assert_int_eq(record("-p", own_pid(), "-o", file), TOOL_FAILED);
    ck_assert_int_eq(record("-p", own_pid(), "-f", "-o", file), TOOL_FAILED);
    ck_assert_int_eq(snapshot(file), TOOL_FAILED);
    ck_assert_int_eq(lstat(file, &status), 0);
    ck_assert(S_ISFIFO(status.st_mode));
    unlink(file);
    ck_assert_int_eq(symlink("/nowhere/at/all", file), 0);
    ck_assert_int_eq(record("-p", own_pid(), "-f", "-o", file), TOOL_FAILED);
    leave();
}
END_TEST

/*
 * The exit status of a recording on a full disk, for which a limit on the size of files stands. In
 * a child, because the limit would hit the test frame's own files too.
 */
static int record_on_full_disk(const char *force)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {100, 100};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit))
            _exit(99);
        _exit(run(tool_record, "record", "-p", own_pid(), "-o", file, force, NULL));
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_full_disk_leaves_nothing_behind)
{
    if (TEST_EMULATED)
        test_skip("an emulator does not hand the limit of a file's size on");
    enter();
    ck_assert_int_eq(record_on_full_disk(NULL), TOOL_FAILED);
    ck_assert_int_ne(access(file, F_OK), 0);
    write_file("precious");
    ck_assert_int_eq(record_on_full_disk("-f"), TOOL_FAILED);
    expect_file("precious");
    leave();
}
END_TEST

START_TEST(a_process_that_cannot_be_read_leaves_no_file)
{
    enter();
    ck_assert_int_eq(record("-p", "2147483647", "-o", file), TOOL_FAILED);
    ck_assert_int_ne(access(file, F_OK), 0);
    leave();
}
END_TEST

START_TEST(calls_that_make_no_sense_are_refused)
{
    enter();
    ck_assert_int_eq(record("-o", file), TOOL_USAGE);
    ck_assert_int_eq(record("-p", own_pid()), TOOL_USAGE);
    ck_assert_int_eq(record("-p", "0", "-o", file), TOOL_USAGE);
    ck_assert_int_eq(record("-p", "-1", "-o", file), TOOL_USAGE);
    ck_assert_int_eq(record("-p", "12x", "-o", file), TOOL_USAGE);
    ck_assert_int_eq(record("-p", "99999999999999999999", "-o", file), TOOL_USAGE);
    ck_assert_int_eq(record("-p", own_pid(), "-o", file, "more"), TOOL_USAGE);
    ck_assert_int_eq(record("--what"), TOOL_USAGE);
    ck_assert_int_eq(record("-o"), TOOL_USAGE);
    ck_assert_int_eq(record("--help"), TOOL_OK);
    ck_assert_int_eq(snapshot("a", "b"), TOOL_USAGE);
    ck_assert_int_eq(snapshot("--what"), TOOL_USAGE);
    ck_assert_int_eq(snapshot("--help"), TOOL_OK);
    leave();
}
END_TEST

START_TEST(junk_is_named_as_such)
{
    enter();
    ck_assert_int_eq(snapshot(file), TOOL_FAILED);
    ck_assert_int_eq(snapshot(directory), TOOL_FAILED);
    ck_assert_int_eq(snapshot("/dev/zero"), TOOL_FAILED);
    write_file("");
    ck_assert_int_eq(snapshot(file), TOOL_FAILED);
    unlink(file);
    write_file("this is not a snapshot at all, but it is long enough to be one");
    ck_assert_int_eq(snapshot(file), TOOL_FAILED);
    leave();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.record");
    TCase *tc = tcase_create("record");
    tcase_add_test(tc, a_recording_can_be_read_again);
    tcase_add_test(tc, a_file_that_exists_is_replaced_only_by_force);
    tcase_add_test(tc, what_is_no_regular_file_is_never_replaced);
    tcase_add_test(tc, a_full_disk_leaves_nothing_behind);
    tcase_add_test(tc, a_process_that_cannot_be_read_leaves_no_file);
    tcase_add_test(tc, calls_that_make_no_sense_are_refused);
    tcase_add_test(tc, junk_is_named_as_such);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
