/* SPDX-License-Identifier: MIT */
/*
 * One bit for each page and mark, in leaves of 1 GiB that are mapped when first needed. No locks,
 * so that a fork at any instant leaves it usable.
 */
#define _GNU_SOURCE
#include "book.h"

#include <stdint.h>
#include <sys/mman.h>

enum { PAGE_SHIFT = 12, LEAF_SHIFT = 30, ADDRESS_BITS = 48 };
enum { LEAVES = 1 << (ADDRESS_BITS - LEAF_SHIFT), LEAF_WORDS = 1 << (LEAF_SHIFT - PAGE_SHIFT - 6) };

struct leaf {
    uint64_t words[BOOK_MARKS][LEAF_WORDS];
};

static struct leaf *leaves[LEAVES];

static struct leaf *leaf_of(uintptr_t address)
{
    if (address >> ADDRESS_BITS)
        return NULL;
    return __atomic_load_n(&leaves[address >> LEAF_SHIFT], __ATOMIC_ACQUIRE);
}

static int make_leaf(uintptr_t address)
{
    if (address >> ADDRESS_BITS)
        return -1;
    struct leaf *none = NULL;
    struct leaf *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return -1;
    if (!__atomic_compare_exchange_n(&leaves[address >> LEAF_SHIFT], &none, made, 0,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        munmap(made, sizeof(*made)); /* another thread was first */
    return 0;
}

int book_prepare(const void *p, size_t bytes)
{
    uintptr_t last = ((uintptr_t)p + bytes - 1) >> LEAF_SHIFT;
    for (uintptr_t i = (uintptr_t)p >> LEAF_SHIFT; i <= last; i++)
        if (!leaf_of(i << LEAF_SHIFT) && make_leaf(i << LEAF_SHIFT) != 0)
            return -1;
    return 0;
}

static uint64_t *word_of(enum book_mark mark, uintptr_t address)
{
    uintptr_t page = (address & (((uintptr_t)1 << LEAF_SHIFT) - 1)) >> PAGE_SHIFT;
    return &leaf_of(address)->words[mark][page / 64];
}

/* The bits of the first word of [*address, end), which is left behind. */
static uint64_t next_bits(uintptr_t *address, uintptr_t end)
{
    unsigned first = (unsigned)(*address >> PAGE_SHIFT) % 64;
    uintptr_t pages = (end - *address) >> PAGE_SHIFT;
    unsigned n = pages < 64 - first ? (unsigned)pages : 64 - first;
    *address += (uintptr_t)n << PAGE_SHIFT;
    return ~(uint64_t)0 >> (64 - n) << first;
}

void book_mark(enum book_mark mark, const void *p, size_t bytes)
{
    uintptr_t address = (uintptr_t)p, end = address + bytes;
    while (address < end) {
        uint64_t *word = word_of(mark, address);
        __atomic_fetch_or(word, next_bits(&address, end), __ATOMIC_RELAXED);
    }
}

void book_unmark(enum book_mark mark, const void *p, size_t bytes)
{
    uintptr_t address = (uintptr_t)p, end = address + bytes;
    while (address < end) {
        uint64_t *word = word_of(mark, address);
        __atomic_fetch_and(word, ~next_bits(&address, end), __ATOMIC_RELAXED);
    }
}

int book_has(enum book_mark mark, const void *p)
{
    uintptr_t address = (uintptr_t)p;
    if (!leaf_of(address))
        return 0;
    uint64_t word = __atomic_load_n(word_of(mark, address), __ATOMIC_RELAXED);
    return (int)(word >> (address >> PAGE_SHIFT) % 64 & 1);
}

size_t book_bytes(enum book_mark mark)
{
    size_t pages = 0;
    for (unsigned i = 0; i < LEAVES; i++)
        for (unsigned w = 0; leaves[i] && w < LEAF_WORDS; w++)
            pages += (size_t)__builtin_popcountll(leaves[i]->words[mark][w]);
    return pages << PAGE_SHIFT;
}
