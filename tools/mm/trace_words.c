/* SPDX-License-Identifier: MIT */
#include "mm/trace_words.h"

#include <errno.h>
#include <fastmm/walk.h>

const struct trace_verb_words trace_verbs[TRACE_VERBS] = {
    [TRACE_MAP] = {"map", SHAPE_MAP},
    [TRACE_UNMAP] = {"unmap", SHAPE_RANGE},
    [TRACE_REMAP] = {"mremap", SHAPE_REMAP},
    [TRACE_PROTECT] = {"mprotect", SHAPE_PROTECT},
    [TRACE_READ] = {"read", SHAPE_PAGES},
    [TRACE_WRITE] = {"write", SHAPE_PAGES},
    [TRACE_FORCE_WRITE] = {"force-write", SHAPE_PAGES},
    [TRACE_DONTNEED] = {"dontneed", SHAPE_RANGE},
    [TRACE_FREE] = {"free", SHAPE_RANGE},
    [TRACE_PAGEOUT] = {"pageout", SHAPE_RANGE},
    [TRACE_REMOVE] = {"remove", SHAPE_RANGE},
    [TRACE_POPULATE_READ] = {"populate-read", SHAPE_RANGE},
    [TRACE_POPULATE_WRITE] = {"populate-write", SHAPE_RANGE},
    [TRACE_DONTFORK] = {"dontfork", SHAPE_RANGE},
    [TRACE_DOFORK] = {"dofork", SHAPE_RANGE},
    [TRACE_WIPEONFORK] = {"wipeonfork", SHAPE_RANGE},
    [TRACE_KEEPONFORK] = {"keeponfork", SHAPE_RANGE},
    [TRACE_GUARD] = {"guard", SHAPE_RANGE},
    [TRACE_UNGUARD] = {"unguard", SHAPE_RANGE},
    [TRACE_POISON] = {"poison", SHAPE_RANGE},
    [TRACE_PIN] = {"pin", SHAPE_PAGES},
    [TRACE_UNPIN] = {"unpin", SHAPE_PAGES},
    [TRACE_REGISTER] = {"register", SHAPE_REGISTER},
    [TRACE_UNREGISTER] = {"unregister", SHAPE_RANGE},
    [TRACE_WP] = {"wp", SHAPE_RANGE},
    [TRACE_UNWP] = {"unwp", SHAPE_RANGE},
    [TRACE_WP_MATCHING] = {"wp-matching", SHAPE_MATCH},
    [TRACE_CLEAR_REFS] = {"clear-refs", SHAPE_NOTHING},
    [TRACE_FORK] = {"fork", SHAPE_FORK},
    [TRACE_EXIT] = {"exit", SHAPE_NOTHING},
    [TRACE_ALLOCATIONS] = {"allocations", SHAPE_NUMBER},
    [TRACE_EXPECT] = {"expect", SHAPE_EXPECT},
    [TRACE_RSS] = {"rss", SHAPE_RSS},
};

const struct trace_word trace_prots[] = {
    {"none", 0},
    {"r", FASTMM_VM_READ},
    {"w", FASTMM_VM_WRITE},
    {"rw", FASTMM_VM_READ | FASTMM_VM_WRITE},
    {"rx", FASTMM_VM_READ | FASTMM_VM_EXEC},
    {"rwx", FASTMM_VM_READ | FASTMM_VM_WRITE | FASTMM_VM_EXEC},
    {NULL, 0},
};

const struct trace_word trace_map_flags[] = {
    {"dontfork", FASTMM_VM_DONTCOPY},
    {"wipeonfork", FASTMM_VM_WIPEONFORK},
    {"raw", FASTMM_VM_PFNMAP},
    {NULL, 0},
};

const struct trace_word trace_features[] = {
    {"async", FASTMM_VM_UFFD_ASYNC},
    {"unpopulated", FASTMM_VM_UFFD_UNPOPULATED},
    {"event-fork", FASTMM_VM_UFFD_FORK},
    {"event-remap", FASTMM_VM_UFFD_REMAP},
    {NULL, 0},
};

#define CATEGORY(name, category)                                 \
    {name, TRACE_MATCH(FASTMM_PAGE_IS_##category)},              \
    {                                                            \
        "not-" name, TRACE_MATCH_LACK(FASTMM_PAGE_IS_##category) \
    }

const struct trace_word trace_categories[] = {
    {"check-async", TRACE_MATCH_CHECK},
    CATEGORY("written", WRITTEN),
    CATEGORY("file", FILE),
    CATEGORY("present", PRESENT),
    CATEGORY("swapped", SWAPPED),
    CATEGORY("zero", PFNZERO),
    CATEGORY("guard", GUARD),
    {NULL, 0},
};

const struct trace_word trace_attributes[] = {
    {"rw", TRACE_IS_RW},
    {"ro", TRACE_IS_RO},
    {"dirty", TRACE_IS_DIRTY},
    {"clean", TRACE_IS_CLEAN},
    {"wp", TRACE_IS_WP},
    {"not-wp", TRACE_IS_NOT_WP},
    {"alone", TRACE_IS_ALONE},
    {"not-alone", TRACE_IS_NOT_ALONE},
    {"soft-dirty", TRACE_IS_SOFT},
    {"not-soft-dirty", TRACE_IS_NOT_SOFT},
    {NULL, 0},
};

const char *const trace_rss_names[4] = {"file", "anon", "swap", "shmem"};

const char *trace_kind_name(enum trace_kind kind)
{
    static const char *const names[TRACE_KINDS] = {
        [TRACE_NONE] = "none",
        [TRACE_ZERO] = "zero",
        [TRACE_ANON] = "anon",
        [TRACE_FILE] = "file",
        [TRACE_SHMEM] = "shmem",
        [TRACE_RAW] = "raw",
        [TRACE_SWAP] = "swap",
        [TRACE_MARK_UFFD_WP] = "uffd-wp-marker",
        [TRACE_MARK_POISON] = "poison-marker",
        [TRACE_MARK_GUARD] = "guard-marker",
        [TRACE_PRESENT] = "page",
        [TRACE_SWP] = "swap-format",
        [TRACE_OTHER] = "other",
    };
    return names[kind];
}

enum trace_kind trace_kind_class(enum trace_kind kind)
{
    static const enum trace_kind classes[TRACE_KINDS] = {
        [TRACE_NONE] = TRACE_NONE,       [TRACE_ZERO] = TRACE_PRESENT,
        [TRACE_ANON] = TRACE_PRESENT,    [TRACE_FILE] = TRACE_PRESENT,
        [TRACE_SHMEM] = TRACE_PRESENT,   [TRACE_RAW] = TRACE_PRESENT,
        [TRACE_SWAP] = TRACE_SWP,        [TRACE_MARK_UFFD_WP] = TRACE_SWP,
        [TRACE_MARK_POISON] = TRACE_SWP, [TRACE_MARK_GUARD] = TRACE_SWP,
        [TRACE_PRESENT] = TRACE_PRESENT, [TRACE_SWP] = TRACE_SWP,
        [TRACE_OTHER] = TRACE_OTHER,
    };
    return classes[kind];
}

const char *trace_outcome_name(int outcome)
{
    static const struct {
        int outcome;
        const char *name;
    } names[] = {
        {0, "ok"},
        {FASTMM_FAULT_SIGSEGV, "segv"},
        {FASTMM_FAULT_SIGBUS, "bus"},
        {FASTMM_FAULT_UFFD_WP, "uffd"},
        {-EACCES, "EACCES"},
        {-EAGAIN, "EAGAIN"},
        {-EBUSY, "EBUSY"},
        {-EEXIST, "EEXIST"},
        {-EFAULT, "EFAULT"},
        {-EHWPOISON, "EHWPOISON"},
        {-EINVAL, "EINVAL"},
        {-EIO, "EIO"},
        {-ENOENT, "ENOENT"},
        {-ENOMEM, "ENOMEM"},
        {-ENOTSUP, "ENOTSUP"},
        {-EOVERFLOW, "EOVERFLOW"},
        {-EPERM, "EPERM"},
        {-ERANGE, "ERANGE"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].outcome == outcome)
            return names[i].name;
    return NULL;
}
