/* SPDX-License-Identifier: MIT */
/* The recorder on this very process, whose mappings are known, and on processes it can't read. */
#define _GNU_SOURCE /* memfd_create, memmem */
#include "recorder.h"
#include "snapshot_file.h"
#include "test_main.h"

#include <errno.h>
#include <fastmm/mm.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE          4096u
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, Linux 6.13 */
#define NOBODY        65534

static struct recording recording;
static struct tool_error error;

/* --- A process with known mappings ----------------------------------------------------------- */

enum { ANON_PAGES = 16, FILE_PAGES = 8, FAR = 64 };

/* Each with a page of PROT_NONE at either side, so that the kernel merges none with another. */
static struct known {
    unsigned char
        *anon; /* written at 0, 1, 2 and 9; read at 4; guards at 12 and 13 if it has them */
    unsigned char *shared; /* memfd, mapped from its second page on; written at 1 and 3 */
    unsigned char *file;   /* private file, read at 0; written at 2 */
    unsigned char *again;  /* the same file, shared and read-only, read at 2 */
    bool guards;
} known;

static unsigned char *map_apart(size_t pages, int prot, int flags, int fd, size_t offset)
{
    unsigned char *p =
        mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    void *at = mmap(p + PAGE, pages * PAGE, prot, flags | MAP_FIXED, fd, (off_t)(offset * PAGE));
    ck_assert_ptr_eq(at, p + PAGE);
    return p + PAGE;
}

static int temporary_file(size_t pages)
{
    char path[] = "/var/tmp/fastmm-recorder-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    static const unsigned char page[PAGE] = {1};
    for (size_t i = 0; i < pages; i++)
        ck_assert_int_eq(write(fd, page, PAGE), PAGE);
    return fd;
}

static void make_known(void)
{
    volatile unsigned char sink;
    known.anon = map_apart(ANON_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    known.anon[0] = known.anon[PAGE] = known.anon[2 * PAGE] = known.anon[9 * PAGE] = 1;
    sink = known.anon[4 * PAGE];
    /* An emulator says that it has done this, and has not. */
    known.guards = !TEST_EMULATED && madvise(known.anon + 12 * PAGE, 2 * PAGE, GUARD_INSTALL) == 0;

    int memory = memfd_create("fastmm", 0);
    ck_assert_int_eq(ftruncate(memory, (FILE_PAGES + 1) * PAGE), 0);
    known.shared = map_apart(FILE_PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 1);
    known.shared[PAGE] = known.shared[3 * PAGE] = 1;

    int file = temporary_file(FILE_PAGES);
    known.file = map_apart(FILE_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    known.again = map_apart(FILE_PAGES, PROT_READ, MAP_SHARED, file, 0);
    sink = known.file[0];
    known.file[2 * PAGE] = 2;
    sink = known.again[2 * PAGE];
    (void)sink;
    close(memory);
    close(file);
}

static void record_self(void)
{
    int rc = recorder_run("/proc", getpid(), &recording, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
}

/* --- Looking into a recording ---------------------------------------------------------------- */

/* The entry at `address` as a run of one page (kind 0 when empty), and its area. */
static void look_up(const void *address, struct fastmm_snapshot_area *area,
                    struct fastmm_snapshot_run *page)
{
    struct fastmm_snapshot_cursor c;
    struct fastmm_snapshot_run run;
    uint64_t at = (uintptr_t)address;
    memset(page, 0, sizeof(*page));
    ck_assert_int_eq(fastmm_snapshot_open(recording.data, recording.size, NULL, NULL, &c), 0);
    while (fastmm_snapshot_next_area(&c, area) > 0) {
        if (at < area->start || at >= area->end)
            continue;
        while (fastmm_snapshot_next_run(&c, &run) > 0) {
            if (at < run.address || at >= run.address + run.pages * PAGE)
                continue;
            *page = run;
            page->value +=
                run.kind == FASTMM_SNAPSHOT_RUN_ANON || run.kind == FASTMM_SNAPSHOT_RUN_FILE
                    ? (at - run.address) / PAGE
                    : 0;
            page->address = at;
            page->pages = 1;
        }
        return;
    }
    ck_abort_msg("%p is in no area", address);
}

static void expect_area(const void *start, size_t pages, uint8_t kind, uint8_t prot, uint8_t shared,
                        uint64_t offset)
{
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run page;
    look_up(start, &area, &page);
    ck_assert_uint_eq(area.start, (uintptr_t)start);
    ck_assert_uint_eq(area.end, (uintptr_t)start + pages * PAGE);
    ck_assert_uint_eq(area.kind, kind);
    ck_assert_uint_eq(area.prot, prot);
    ck_assert_uint_eq(area.shared, shared);
    ck_assert_uint_eq(area.offset, offset);
}

/* `kinds` names the entries: A anonymous, F file, Z zero page, G guard, . empty, ? any. */
static void expect_pages(const unsigned char *start, const char *kinds)
{
    static const char letters[] = {[0] = '.',
                                   [FASTMM_SNAPSHOT_RUN_ANON] = 'A',
                                   [FASTMM_SNAPSHOT_RUN_FILE] = 'F',
                                   [FASTMM_SNAPSHOT_RUN_ZERO] = 'Z',
                                   [FASTMM_SNAPSHOT_RUN_SWAP] = 'S',
                                   [FASTMM_SNAPSHOT_RUN_MARKER] = 'G'};
    char got[65] = {0};
    size_t count = strlen(kinds);
    for (size_t i = 0; i < count; i++) {
        struct fastmm_snapshot_area area;
        struct fastmm_snapshot_run page;
        look_up(start + i * PAGE, &area, &page);
        got[i] = kinds[i] == '?' ? '?' : letters[page.kind];
        if (page.kind == FASTMM_SNAPSHOT_RUN_MARKER)
            ck_assert_uint_eq(page.value, FASTMM_MARKER_GUARD);
    }
    ck_assert_str_eq(got, kinds);
}

static void expect_known(void)
{
    struct fastmm_snapshot_area area, again;
    struct fastmm_snapshot_run page, cached;
    bool zero = recording.seen & FASTMM_SNAPSHOT_ZERO;
    expect_area(known.anon, ANON_PAGES, FASTMM_SNAPSHOT_AREA_ANON, 3, 0, 0);
    expect_pages(known.anon, !zero          ? "AAA.?....A..??.."
                             : known.guards ? "AAA.Z....A..GG.."
                                            : "AAA.Z....A......");
    look_up(known.anon, &area, &page);
    ck_assert_uint_eq(page.flags & FASTMM_SNAPSHOT_EXCLUSIVE, FASTMM_SNAPSHOT_EXCLUSIVE);
    look_up(known.anon - PAGE, &area, &page);
    ck_assert_uint_eq(area.prot, 0);
    ck_assert_uint_eq(page.kind, 0);

    expect_area(known.shared, FILE_PAGES, FASTMM_SNAPSHOT_AREA_SHMEM, 3, 1, 1);
    expect_pages(known.shared, ".F.F....");

    /* A read fault maps cached neighbours too. */
    expect_area(known.file, FILE_PAGES, FASTMM_SNAPSHOT_AREA_FILE, 3, 0, 0);
    expect_pages(known.file, "F?A?????");
    expect_area(known.again, FILE_PAGES, FASTMM_SNAPSHOT_AREA_FILE, 1, 1, 0);
    expect_pages(known.again, "??F?????");
    look_up(known.file, &area, &page);
    look_up(known.again, &again, &cached);
    ck_assert_uint_eq(area.file, again.file);
    if (cached.kind == FASTMM_SNAPSHOT_RUN_FILE && recording.seen & FASTMM_SNAPSHOT_FRAMES)
        ck_assert_uint_eq(page.value, cached.value);
}

/* Tables of each level, leaves first, that the entries of the snapshot need. */
static void count_tables(struct fastmm_snapshot_cursor *c, uint64_t tables[4])
{
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run run;
    uint64_t last[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    memset(tables, 0, 4 * sizeof(tables[0]));
    while (fastmm_snapshot_next_area(c, &area) == 1)
        while (fastmm_snapshot_next_run(c, &run) == 1)
            for (uint64_t i = 0; i < run.pages; i++)
                for (unsigned level = run.flags & FASTMM_SNAPSHOT_PMD ? 1 : 0; level < 4; level++) {
                    uint64_t which = (run.address + i * PAGE) >> (21 + 9 * level);
                    tables[level] += which != last[level];
                    last[level] = which;
                }
}

START_TEST(own_process_is_recorded_as_it_is)
{
    make_known();
    record_self();
    expect_known();
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor c;
    ck_assert_int_eq(fastmm_snapshot_open(recording.data, recording.size, &sum, NULL, &c), 0);
    ck_assert_uint_eq(sum.seen, recording.seen);
    uint64_t tables[4];
    count_tables(&c, tables);
    for (int level = 0; level < 4; level++)
        ck_assert_uint_eq(sum.tables[level], tables[level]);
    ck_assert_uint_eq(sum.tables[3], 1);
}
END_TEST

/* From this process to a machine and back to counts. */
START_TEST(own_process_can_be_rebuilt)
{
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor c;
    struct fastmm_snapshot_error why;
    struct fastmm_scan scan = {0};
    struct fastmm_machine *machine;
    struct fastmm_mm *mm;
    fastmm_pte_t first, third, swapped;
    make_known();
    record_self();
    ck_assert_int_eq(fastmm_snapshot_open(recording.data, recording.size, &sum, NULL, &c), 0);
    struct fastmm_machine_config config = {.frames = fastmm_snapshot_frames_needed(&sum) + 4096,
                                           .levels = sum.levels};
    ck_assert_int_eq(fastmm_machine_create(&config, &machine), 0);
    for (unsigned type = 0; type < FASTMM_SNAPSHOT_SWAP_TYPES; type++)
        if (sum.swap_slots[type])
            ck_assert_int_eq(fastmm_machine_swap_on(machine, type, sum.swap_slots[type]), 0);
    int rc = fastmm_snapshot_load(recording.data, recording.size, machine, &why, &mm);
    ck_assert_msg(rc == 0, "%d: %s at %llu", rc, fastmm_snapshot_reason_text(why.reason),
                  (unsigned long long)why.offset);
    ck_assert_int_eq(fastmm_mm_scan(mm, 0, UINT64_MAX, &scan), 0);
    ck_assert_uint_eq(scan.present, sum.anon_pages + sum.file_pages + sum.zero_pages);
    ck_assert_uint_eq(scan.swap, sum.swap_pages);
    ck_assert_uint_eq(scan.markers, sum.marker_pages);

    ck_assert_int_eq(fastmm_mm_lookup(mm, (uintptr_t)known.anon, &first), 0);
    ck_assert_int_eq(fastmm_mm_lookup(mm, (uintptr_t)known.anon + 3 * PAGE, &third), 0);
    ck_assert_int_eq(fastmm_mm_lookup(mm, (uintptr_t)known.anon + 12 * PAGE, &swapped), 0);
    ck_assert(fastmm_pte_present(first) && fastmm_pte_write(first) && fastmm_pte_dirty(first));
    ck_assert_uint_eq(third, 0);
    ck_assert_uint_eq(swapped, known.guards ? fastmm_marker_make(FASTMM_MARKER_GUARD) : 0);
    ck_assert_int_eq(fastmm_machine_check(machine, NULL, NULL), 0);
    ck_assert_int_eq(fastmm_mm_destroy(mm, NULL), 0);
    ck_assert_int_eq(fastmm_machine_destroy(machine), 0);
}
END_TEST

/* Becomes an ordinary user and stays one's own reader. */
static void become_nobody(void)
{
    if (getuid() == 0) {
        ck_assert_int_eq(setgid(NOBODY), 0);
        ck_assert_int_eq(setuid(NOBODY), 0);
    }
    ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
}

START_TEST(own_process_is_recorded_by_an_ordinary_user_without_frames)
{
    make_known();
    become_nobody();
    record_self();
    ck_assert_uint_eq(recording.seen & FASTMM_SNAPSHOT_FRAMES, 0);
    expect_known();
}
END_TEST

/* Frame numbers of the kernel, from pagemap directly, for pages of known.anon. */
static uint64_t raw_frame(const void *address)
{
    uint64_t word = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &word, 8, (off_t)((uintptr_t)address / PAGE * 8)), 8);
    close(fd);
    return word & ((UINT64_C(1) << 55) - 1);
}

static uint64_t recorded_frame(const void *address)
{
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run page;
    look_up(address, &area, &page);
    ck_assert_uint_eq(page.kind, FASTMM_SNAPSHOT_RUN_ANON);
    return page.value;
}

START_TEST(frames_keep_their_order_and_adjacency)
{
    unsigned char *pages =
        map_apart(FAR, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t state = test_seed();
    for (unsigned i = 0; i < FAR; i++) /* most of them, in no order */
        pages[test_random(&state) % FAR * PAGE] = 1;
    for (unsigned i = 0; i < FAR; i++)
        pages[i * PAGE] = 1;
    if (!raw_frame(pages))
        test_skip("frame numbers are hidden: no CAP_SYS_ADMIN");
    record_self();
    ck_assert_uint_ne(recording.seen & FASTMM_SNAPSHOT_FRAMES, 0);
    for (unsigned i = 0; i < FAR; i++) {
        for (unsigned j = 0; j < FAR; j++) {
            uint64_t a = raw_frame(pages + i * PAGE), b = raw_frame(pages + j * PAGE);
            uint64_t x = recorded_frame(pages + i * PAGE), y = recorded_frame(pages + j * PAGE);
            ck_assert_int_eq(a < b, x < y);
            ck_assert_int_eq(a + 1 == b, x + 1 == y);
        }
    }
}
END_TEST

START_TEST(entries_of_2_mib_are_told)
{
    size_t bytes = 4u << 20;
    unsigned char *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    unsigned char *huge =
        (unsigned char *)(((uintptr_t)p + (2u << 20) - 1) & -(uintptr_t)(2u << 20));
    if (madvise(p, bytes, MADV_HUGEPAGE))
        test_skip("no transparent huge pages here");
    huge[5 * PAGE] = 1;
    record_self();
    if (!(recording.seen & FASTMM_SNAPSHOT_HUGE))
        test_skip("the kernel has no PAGEMAP_SCAN to tell them");
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run page;
    look_up(huge, &area, &page);
    if (page.kind == 0)
        test_skip("the kernel gave no huge page");
    ck_assert_uint_eq(page.flags & FASTMM_SNAPSHOT_PMD, FASTMM_SNAPSHOT_PMD);
    ck_assert_uint_eq(page.value % 512, 0);
    look_up(huge + 511 * PAGE, &area, &page);
    ck_assert_uint_eq(page.flags & FASTMM_SNAPSHOT_PMD, FASTMM_SNAPSHOT_PMD);
}
END_TEST

/* --- Processes that can't be recorded --------------------------------------------------------- */

static void expect_failure(const char *proc, long pid, int rc, const char *words)
{
    static const struct recording untouched;
    memset(&recording, 0, sizeof(recording));
    int got = recorder_run(proc, pid, &recording, &error);
    ck_assert_msg(got == rc, "%d instead of %d: %s", got, rc, error.text);
    ck_assert_msg(strstr(error.text, words), "'%s' isn't in '%s'", words, error.text);
    ck_assert_mem_eq(&recording, &untouched, sizeof(recording));
}

static pid_t ended_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    ck_assert_int_gt(pid, 0);
    return pid;
}

START_TEST(no_such_process_is_an_error)
{
    pid_t pid = ended_process();
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    expect_failure("/proc", pid, -ESRCH, "no process");
}
END_TEST

START_TEST(a_process_without_memory_is_an_error)
{
    pid_t pid = ended_process();
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    expect_failure("/proc", pid, -ENODATA, "no address space");
    waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(a_process_of_somebody_else_is_an_error)
{
    if (getuid() != 0)
        test_skip("not root, so no process of another user is at hand for sure");
    pid_t parent = getppid();
    ck_assert_int_eq(setgid(NOBODY), 0);
    ck_assert_int_eq(setuid(NOBODY), 0);
    expect_failure("/proc", parent, -EACCES, "permission");
}
END_TEST

/* --- A procfs made by hand ---------------------------------------------------------------------
 */

static char fake[64];

static void fake_file(const char *name, const void *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/7/%s", fake, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    close(fd);
}

static void fake_open(const char *maps)
{
    char path[128];
    strcpy(fake, "/tmp/fastmm-proc-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fake));
    snprintf(path, sizeof(path), "%s/7", fake);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    fake_file("maps", maps, strlen(maps));
}

static void fake_close(void)
{
    static const char *const names[] = {"7/maps",     "7/pagemap", "7/mountinfo",
                                        "kpageflags", "7",         ""};
    char path[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", fake, names[i]);
        if (unlink(path))
            rmdir(path);
    }
}

#define MAPS "1000-5000 rw-p 00000000 00:00 0 \n"

START_TEST(a_process_that_vanishes_midway_is_an_error)
{
    fake_open(MAPS);
    expect_failure(fake, 7, -EAGAIN, "ended while");
    uint64_t words[3] = {0};
    fake_file("pagemap", words, sizeof(words));
    expect_failure(fake, 7, -EAGAIN, "ended while");
    fake_close();
}
END_TEST

START_TEST(mappings_that_make_no_sense_are_an_error)
{
    static const char *const bad[] = {"hello\n",
                                      "1000-5000 rw-p\n",
                                      "1000 5000 rw-p 00000000 00:00 0\n",
                                      "1000-5000 r 00000000 00:00 0\n",
                                      MAPS "zz\n",
                                      "1000-1000 rw-p 00000000 00:00 0 \n",
                                      "5000-1000 rw-p 00000000 00:00 0 \n",
                                      "1000-5001 rw-p 00000000 00:00 0 \n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fake_open(bad[i]);
        expect_failure(fake, 7, -EPROTO, "understood");
        fake_close();
    }
    static const uint64_t words[8];
    fake_open(MAPS "4000-6000 rw-p 00000000 00:00 0 \n");
    fake_file("pagemap", words, sizeof(words));
    expect_failure(fake, 7, -EAGAIN, "changed while");
    fake_close();
}
END_TEST

/* Every kind of word, on a kernel without PAGEMAP_SCAN: a plain file has no ioctl. */
START_TEST(words_of_pagemap_are_understood)
{
#define PRESENT (UINT64_C(1) << 63)
#define SWAP    (UINT64_C(1) << 62)
#define FILE_   (UINT64_C(1) << 61)
#define GUARD   (UINT64_C(1) << 58)
#define WP      (UINT64_C(1) << 57)
#define ALONE   (UINT64_C(1) << 56)
#define SOFT    (UINT64_C(1) << 55)
    static const uint64_t words[16] = {
        [1] = PRESENT | ALONE | 1000,
        [2] = PRESENT | ALONE | 1001,
        [3] = PRESENT | ALONE | 1003,
        [4] = PRESENT | 900,
        [5] = PRESENT | SOFT | WP | 901,
        [6] = SWAP | WP | 2 | 77 << 5,
        [7] = SWAP | 2 | 78 << 5,
        [8] = SWAP | WP | 31 | 1 << 5,
        [9] = SWAP | GUARD | 31 | 4 << 5,
        [10] = SWAP | 31 | 2 << 5,
        [11] = SWAP | 24 | 900 << 5,
        [12] = PRESENT | FILE_ | 5000,
        [13] = PRESENT | 6, /* the zero page, as kpageflags will say */
    };
    static const struct fastmm_snapshot_run expected[] = {
        {0x1000, 2, 3, FASTMM_SNAPSHOT_RUN_ANON, FASTMM_SNAPSHOT_EXCLUSIVE, 0},
        {0x3000, 1, 6, FASTMM_SNAPSHOT_RUN_ANON, FASTMM_SNAPSHOT_EXCLUSIVE, 0},
        {0x4000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0},
        {0x5000, 1, 1, FASTMM_SNAPSHOT_RUN_ANON,
         FASTMM_SNAPSHOT_SOFT_DIRTY | FASTMM_SNAPSHOT_UFFD_WP, 0},
        {0x6000, 1, 77, FASTMM_SNAPSHOT_RUN_SWAP, FASTMM_SNAPSHOT_UFFD_WP, 2},
        {0x7000, 1, 78, FASTMM_SNAPSHOT_RUN_SWAP, 0, 2},
        {0x8000, 1, FASTMM_MARKER_UFFD_WP, FASTMM_SNAPSHOT_RUN_MARKER, 0, 0},
        {0x9000, 1, FASTMM_MARKER_GUARD, FASTMM_SNAPSHOT_RUN_MARKER, 0, 0},
        {0xa000, 1, FASTMM_MARKER_POISON, FASTMM_SNAPSHOT_RUN_MARKER, 0, 0},
        {0xc000, 1, 8, FASTMM_SNAPSHOT_RUN_FILE, 0, 0},
        {0xd000, 1, 0, FASTMM_SNAPSHOT_RUN_ZERO, 0, 0},
    };
    static const uint64_t flags[7] = {[6] = UINT64_C(1) << 24};
    struct fastmm_snapshot_cursor c;
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run run;
    char path[128];
    fake_open("1000-10000 r--p 00003000 08:01 5                  /some where/secret name\n"
              "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n");
    fake_file("pagemap", words, sizeof(words));
    snprintf(path, sizeof(path), "%s/kpageflags", fake);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, flags, sizeof(flags)), sizeof(flags));
    close(fd);
    int rc = recorder_run(fake, 7, &recording, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    fake_close();

    ck_assert_uint_eq(recording.seen, FASTMM_SNAPSHOT_FRAMES | FASTMM_SNAPSHOT_ZERO);
    ck_assert_uint_eq(recording.unsettled, 1);
    ck_assert_uint_eq(recording.skipped_areas, 1);
    ck_assert(!recording.changed);
    ck_assert_ptr_null(memmem(recording.data, recording.size, "secret", 6));
    ck_assert_int_eq(fastmm_snapshot_open(recording.data, recording.size, NULL, NULL, &c), 0);
    ck_assert_int_eq(fastmm_snapshot_next_area(&c, &area), 1);
    ck_assert_uint_eq(area.kind, FASTMM_SNAPSHOT_AREA_FILE);
    ck_assert_uint_eq(area.offset, 3);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const struct fastmm_snapshot_run *e = &expected[i];
        ck_assert_int_eq(fastmm_snapshot_next_run(&c, &run), 1);
        ck_assert_msg(
            run.address == e->address && run.pages == e->pages && run.value == e->value &&
                run.kind == e->kind && run.flags == e->flags && run.swap_type == e->swap_type,
            "run %zu: %llx %llu %llu %u %x", i, (unsigned long long)run.address,
            (unsigned long long)run.pages, (unsigned long long)run.value, run.kind, run.flags);
    }
    ck_assert_int_eq(fastmm_snapshot_next_run(&c, &run), 0);
    ck_assert_int_eq(fastmm_snapshot_next_area(&c, &area), 0);
}
END_TEST

START_TEST(frames_of_2_mib_keep_their_alignment)
{
    struct fastmm_snapshot_run runs[] = {
        {0, 1, 7, FASTMM_SNAPSHOT_RUN_ANON, 0, 0},
        {0, 512, 1024, FASTMM_SNAPSHOT_RUN_ANON, FASTMM_SNAPSHOT_PMD, 0},
        {0, 3, 1536, FASTMM_SNAPSHOT_RUN_FILE, 0, 0},
        {0, 1, 9, FASTMM_SNAPSHOT_RUN_ANON, 0, 0},
        {0, 1, 77, FASTMM_SNAPSHOT_RUN_SWAP, 0, 0},
        {0, 1, 1022, FASTMM_SNAPSHOT_RUN_ANON, 0, 0},
    };
    static const uint64_t expected[] = {0, 512, 1024, 2, 77, 4};
    ck_assert_int_eq(recorder_number_frames(runs, 6), 0);
    for (size_t i = 0; i < 6; i++)
        ck_assert_uint_eq(runs[i].value, expected[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.recorder");
    TCase *self = tcase_create("self");
    tcase_add_test(self, own_process_is_recorded_as_it_is);
    tcase_add_test(self, own_process_can_be_rebuilt);
    tcase_add_test(self, own_process_is_recorded_by_an_ordinary_user_without_frames);
    tcase_add_test(self, frames_keep_their_order_and_adjacency);
    tcase_add_test(self, entries_of_2_mib_are_told);
    tcase_set_timeout(self, 60);
    suite_add_tcase(suite, self);
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, no_such_process_is_an_error);
    tcase_add_test(errors, a_process_without_memory_is_an_error);
    tcase_add_test(errors, a_process_of_somebody_else_is_an_error);
    tcase_add_test(errors, a_process_that_vanishes_midway_is_an_error);
    tcase_add_test(errors, mappings_that_make_no_sense_are_an_error);
    suite_add_tcase(suite, errors);
    TCase *words = tcase_create("words");
    tcase_add_test(words, words_of_pagemap_are_understood);
    tcase_add_test(words, frames_of_2_mib_keep_their_alignment);
    suite_add_tcase(suite, words);
    return test_main(suite);
}
