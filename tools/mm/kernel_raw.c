/* SPDX-License-Identifier: MIT */
/*
 * A BPF program copies 4096 bytes of kernel memory from where it is told into memory that is shared
 * with it, and says who ran it. Everything else is done from here: the way from a task to its page
 * tables by the kernel's type information, and the way down the tables through the kernel's direct
 * map of all memory, whose begin is found by trying: there, and only there, a walk ends at the
 * frame that pagemap states for a page of our own.
 */
#define _GNU_SOURCE /* CPU sets and system calls */
#include "mm/kernel_raw.h"

#include "mm/btf.h"

#include <fastmm/pte.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLE_BYTES 4096u

/* What is shared with the program. */
struct shared {
    uint64_t address; /* in */
    uint64_t task;    /* out: who ran it */
    int64_t result;   /* out */
    uint64_t unused[5];
    uint64_t word[TABLE_BYTES / 8]; /* out */
};
#define AT(member) ((int16_t)offsetof(struct shared, member))

#define DIRECT_MAP_STEP (UINT64_C(1) << 30)
#define DIRECT_MAP_MOST 65536u /* steps: 64 TiB */

static struct {
    bool tried, works;
    int map, program;
    volatile struct shared *shared;
    uint32_t mm_at, pgd_at;
    uint64_t direct_map;
    union bpf_attr run; /* an agent passes the address of its own copy */
} raw = {.map = -1, .program = -1};

static long bpf(int command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* --- The program ----------------------------------------------------------------------------- */

static bool make_map(void)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = sizeof(struct shared);
    attr.max_entries = 1;
    attr.map_flags = BPF_F_MMAPABLE;
    raw.map = (int)bpf(BPF_MAP_CREATE, &attr);
    if (raw.map < 0)
        return false;
    size_t bytes = (sizeof(struct shared) + 4095) & ~(size_t)4095;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, raw.map, 0);
    if (memory == MAP_FAILED)
        return false;
    madvise(memory, bytes, MADV_DONTFORK); /* an agent's resident set is its own */
    raw.shared = memory;
    return true;
}

static struct bpf_insn insn(unsigned code, unsigned to, unsigned from, int16_t offset,
                            int32_t value)
{
    return (struct bpf_insn){.code = (uint8_t)code,
                             .dst_reg = to & 15u,
                             .src_reg = from & 15u,
                             .off = offset,
                             .imm = value};
}

static bool make_program(void)
{
    const struct bpf_insn code[] = {
        /* r6 = shared */
        insn(BPF_LD | BPF_DW | BPF_IMM, 6, BPF_PSEUDO_MAP_VALUE, 0, raw.map),
        insn(0, 0, 0, 0, 0),
        /* shared->task = bpf_get_current_task() */
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_task),
        insn(BPF_STX | BPF_MEM | BPF_DW, 6, 0, AT(task), 0),
        /* shared->result = bpf_probe_read_kernel(shared->word, TABLE_BYTES, shared->address) */
        insn(BPF_LDX | BPF_MEM | BPF_DW, 3, 6, AT(address), 0),
        insn(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0),
        insn(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, AT(word)),
        insn(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, TABLE_BYTES),
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel),
        insn(BPF_STX | BPF_MEM | BPF_DW, 6, 0, AT(result), 0),
        insn(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
        insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.prog_type = BPF_PROG_TYPE_SYSCALL;
    attr.prog_flags = BPF_F_SLEEPABLE;
    attr.insns = (uint64_t)(uintptr_t)code;
    attr.insn_cnt = sizeof(code) / sizeof(code[0]);
    attr.license = (uint64_t)(uintptr_t) "Dual MIT/GPL";
    raw.program = (int)bpf(BPF_PROG_LOAD, &attr);
    memset(&raw.run, 0, sizeof(raw.run));
    raw.run.test.prog_fd = (uint32_t)raw.program;
    return raw.program >= 0;
}

static bool peek(uint64_t address)
{
    union bpf_attr attr = raw.run;
    raw.shared->address = address;
    raw.shared->result = -1;
    return !bpf(BPF_PROG_TEST_RUN, &attr) && raw.shared->result == 0;
}

static uint64_t peek_word(uint64_t address)
{
    return peek(address) ? raw.shared->word[0] : 0;
}

/* --- The way to the tables ------------------------------------------------------------------- */

static bool read_offsets(void)
{
    size_t room = (size_t)64 << 20, size = 0;
    unsigned char *bytes = malloc(room);
    int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;
    while (bytes && fd >= 0 && size < room && (got = read(fd, bytes + size, room - size)) > 0)
        size += (size_t)got;
    bool found = size && btf_offset(bytes, size, "task_struct", "mm", &raw.mm_at) &&
                 btf_offset(bytes, size, "mm_struct", "pgd", &raw.pgd_at);
    if (fd >= 0)
        close(fd);
    free(bytes);
    return found;
}

uint64_t kernel_raw_root(void)
{
    uint64_t mm = peek_word(raw.shared->task + raw.mm_at);
    return mm ? peek_word(mm + raw.pgd_at) : 0;
}

/* The table of leaves for the address, as an address of the kernel; 0 if there is none. */
static uint64_t leaf_table(uint64_t table, uint64_t address, uint64_t direct_map)
{
    for (unsigned level = 4; level > 1; level--) {
        uint64_t entry = peek_word(table + fastmm_va_index(address, level) * sizeof(uint64_t));
        if (!(entry & FASTMM_PTE_PRESENT) || (level < 4 && (entry & FASTMM_PTE_PSE)))
            return 0;
        table = direct_map + (entry & FASTMM_PTE_PFN_MASK);
    }
    return table;
}

/* The frame of the page, as pagemap states it. */
static uint64_t stated_pfn(const volatile void *page)
{
    uint64_t word = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t at = (off_t)((uintptr_t)page / FASTMM_PAGE_SIZE * sizeof(word));
    if (fd < 0 || pread(fd, &word, sizeof(word), at) != (ssize_t)sizeof(word))
        word = 0;
    if (fd >= 0)
        close(fd);
    return word >> 63 ? word & ((UINT64_C(1) << 55) - 1) : 0;
}

static bool find_direct_map(void)
{
    static volatile uint64_t own[2 * FASTMM_PAGE_SIZE / 8];
    const volatile uint64_t *word = &own[FASTMM_PAGE_SIZE / 8]; /* a page that is all ours */
    own[FASTMM_PAGE_SIZE / 8] = 1;
    uint64_t address = (uint64_t)(uintptr_t)word, pfn = stated_pfn(word);
    peek(0); /* fails, but says who we are */
    uint64_t root = pfn ? kernel_raw_root() : 0;
    for (uint64_t i = 0; root && i < DIRECT_MAP_MOST; i++) {
        uint64_t base = (root & ~(DIRECT_MAP_STEP - 1)) - i * DIRECT_MAP_STEP;
        uint64_t table = leaf_table(root, address, base);
        uint64_t entry = table ? peek_word(table + fastmm_va_index(address, 1) * 8) : 0;
        if ((entry & FASTMM_PTE_PRESENT) && fastmm_pte_pfn(entry) == pfn) {
            raw.direct_map = base;
            return true;
        }
    }
    return false;
}

/* --- Interface ------------------------------------------------------------------------------- */

bool kernel_raw_open(void)
{
    if (!raw.tried)
        raw.works = make_map() && make_program() && read_offsets() && find_direct_map();
    raw.tried = true;
    return raw.works;
}

int kernel_raw_descriptor(void)
{
    return raw.works ? raw.program : -1;
}

struct agent_request kernel_raw_request(void)
{
    raw.shared->address = 0;
    return (struct agent_request){
        .verb = AGENT_CALL,
        .arg = {SYS_bpf, BPF_PROG_TEST_RUN, (int64_t)(uintptr_t)&raw.run, sizeof(raw.run)},
    };
}

bool kernel_raw_read(uint64_t root, uint64_t address, size_t count, uint64_t *entries)
{
    while (count) {
        unsigned first = fastmm_va_index(address, 1);
        size_t n = FASTMM_PTES - first < count ? FASTMM_PTES - first : count;
        uint64_t table = leaf_table(root, address, raw.direct_map);
        if (table && !peek(table))
            return false;
        for (size_t i = 0; i < n; i++)
            entries[i] = table ? raw.shared->word[first + i] : 0;
        address += n * FASTMM_PAGE_SIZE;
        entries += n;
        count -= n;
    }
    return true;
}
