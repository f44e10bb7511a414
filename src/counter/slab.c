/* SPDX-License-Identifier: MIT */
/*
 * The slab of per-CPU slots.
 *
 * Workload: hundreds of thousands of small groups, made and freed by any thread, at any time, also
 * by an allocator that can't be called back; tables of up to 8192 rows of which few are ever used.
 *
 * A chunk is one mapping: a head, then a row of 512 words for each CPU, FASTMM_COUNTER_STRIDE
 * apart. Words of one group are adjacent in each row, so one bitmap of 512 bits serves all rows:
 *
 *     base (page)   base + 576        base + 576 + 4160
 *     | head       | row 0 ........ |gap| row 1 ........ |gap| ...
 *
 * A row that is never written costs address space only.
 *
 * Invariants, all kept without a lock, so that neither a fork nor a signal at any instant can
 * leave the slab unusable:
 *   - a set bit in a chunk's `free` is a word nobody owns, zero in every row; who clears it by
 *     compare-and-swap owns it;
 *   - a chunk with a set bit in `free` has a valid `base`; who owns a word of it may use `base`;
 *   - only who owns all 512 words may unmap;
 *   - descriptors are static and outlive every mapping, so a stale look at one is harmless.
 */
#define _GNU_SOURCE
#include "counter/slab.h"

#include <errno.h>
#include <sys/mman.h>

#include "counter/mechanism.h"

enum {
    LINE_WORDS = 8,
    MASKS = 8,
    ROW_WORDS = 64 * MASKS,
    CHUNKS = 8192,
    PAGE = 4096,
};

/* Values of a descriptor's `base` that are no address. */
enum { CHUNK_NONE = 0, CHUNK_BUSY = 1 };

struct chunk {
    uint64_t free[MASKS];
    uintptr_t base;
};

struct chunk_head {
    uint8_t size[ROW_WORDS]; /* by first word: how many words the group there has */
    uint32_t index;          /* of the chunk's descriptor */
    uint8_t pad[60];
};

_Static_assert(sizeof(struct chunk_head) % 64 == 0, "rows start on a cache line");
_Static_assert(sizeof(struct chunk_head) + ROW_WORDS * 8 - 1 < 2 * PAGE, "see head_of()");
_Static_assert(FASTMM_COUNTER_STRIDE >= ROW_WORDS * 8, "rows don't overlap");
_Static_assert(FASTMM_COUNTER_STRIDE % 64 == 0, "slots of two CPUs share no line");

static struct chunk chunks[CHUNKS];
/*
 * Bit set: the chunk may have n adjacent free words in a line. A hint: it may be set for one that
 * has not. One bitmap for each n, because chunks of groups of 5 are full for groups of 5 long
 * before they are for others, and would all be searched by every further switch.
 */
static struct {
    uint64_t runs[LINE_WORDS]; /* [n - 1] */
} summary[CHUNKS / 64];
static size_t held;
static struct fastmm_counter_memory memory;

static void *map_anonymous(size_t bytes, void *context)
{
    (void)context;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void unmap_anonymous(void *p, size_t bytes, void *context)
{
    (void)context;
    munmap(p, bytes);
}

static void *map(size_t bytes)
{
    return memory.map ? memory.map(bytes, memory.context) : map_anonymous(bytes, NULL);
}

static void unmap(void *p, size_t bytes)
{
    if (memory.unmap)
        memory.unmap(p, bytes, memory.context);
    else
        unmap_anonymous(p, bytes, NULL);
}

static size_t chunk_bytes(unsigned rows)
{
    size_t bytes = sizeof(struct chunk_head) + (size_t)rows * FASTMM_COUNTER_STRIDE;
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Row 0 begins sizeof(head) behind a page boundary and is a page long. */
static struct chunk_head *head_of(uintptr_t slot)
{
    return (struct chunk_head *)((slot - sizeof(struct chunk_head)) & ~(uintptr_t)(PAGE - 1));
}

static unsigned word_of(uintptr_t slot)
{
    return (unsigned)((slot - (uintptr_t)head_of(slot) - sizeof(struct chunk_head)) / 8);
}

/* The bits at which a run of n set bits begins and ends within one line of 8. */
static uint64_t runs(uint64_t mask, unsigned n)
{
    uint64_t starts = mask;
    for (unsigned k = 1; k < n; k++)
        starts &= mask >> k;
    return starts & (0xffu >> (n - 1)) * 0x0101010101010101ull;
}

static void mark_available(unsigned index, unsigned n)
{
    uint64_t *hint = &summary[index / 64].runs[n - 1];
    uint64_t bit = 1ull << index % 64;
    if (!(__atomic_load_n(hint, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(hint, bit, __ATOMIC_RELEASE);
}

static void mark_available_for_all(unsigned index)
{
    uint64_t marked = 1ull << index % 64;
    for (unsigned n = 1; n <= LINE_WORDS; n++)
        marked &= __atomic_load_n(&summary[index / 64].runs[n - 1], __ATOMIC_RELAXED);
    for (unsigned n = 1; n <= LINE_WORDS && !marked; n++)
        mark_available(index, n);
}

/* A free that comes between the look and the clearing sets the bit again, or is seen here. */
static void mark_full(unsigned index, unsigned n)
{
    __atomic_fetch_and(&summary[index / 64].runs[n - 1], ~(1ull << index % 64), __ATOMIC_SEQ_CST);
    for (unsigned m = 0; m < MASKS; m++) {
        if (runs(__atomic_load_n(&chunks[index].free[m], __ATOMIC_SEQ_CST), n)) {
            mark_available(index, n);
            return;
        }
    }
}

/* The first of n words that are now the caller's, or -1. */
static int claim(struct chunk *c, unsigned n)
{
    for (unsigned m = 0; m < MASKS; m++) {
        uint64_t mask = __atomic_load_n(&c->free[m], __ATOMIC_RELAXED);
        uint64_t starts;
        while ((starts = runs(mask, n)) != 0) {
            unsigned bit = (unsigned)__builtin_ctzll(starts);
            uint64_t words = ((1ull << n) - 1) << bit;
            if (__atomic_compare_exchange_n(&c->free[m], &mask, mask & ~words, 0, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return (int)(64 * m + bit);
        }
    }
    return -1;
}

static uintptr_t slot_at(uintptr_t base, unsigned word, unsigned n)
{
    ((struct chunk_head *)base)->size[word] = (uint8_t)n;
    return base + sizeof(struct chunk_head) + 8 * (uintptr_t)word;
}

static uintptr_t alloc_from_chunks(unsigned n)
{
    for (unsigned s = 0; s < CHUNKS / 64; s++) {
        uint64_t candidates = __atomic_load_n(&summary[s].runs[n - 1], __ATOMIC_ACQUIRE);
        for (; candidates; candidates &= candidates - 1) {
            unsigned index = 64 * s + (unsigned)__builtin_ctzll(candidates);
            int word = claim(&chunks[index], n);
            if (word >= 0)
                return slot_at(__atomic_load_n(&chunks[index].base, __ATOMIC_RELAXED),
                               (unsigned)word, n);
            mark_full(index, n);
        }
    }
    return 0;
}

/* The index of a descriptor that is now the caller's, or CHUNKS. */
static unsigned claim_descriptor(void)
{
    for (unsigned index = 0; index < CHUNKS; index++) {
        uintptr_t base = __atomic_load_n(&chunks[index].base, __ATOMIC_RELAXED);
        if (base == CHUNK_NONE &&
            __atomic_compare_exchange_n(&chunks[index].base, &base, CHUNK_BUSY, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return index;
    }
    return CHUNKS;
}

/* A new chunk, its first n words taken. */
static uintptr_t alloc_chunk(unsigned n, unsigned rows)
{
    unsigned index = claim_descriptor();
    if (index == CHUNKS)
        return 0;
    struct chunk *c = &chunks[index];
    struct chunk_head *head = map(chunk_bytes(rows));
    uintptr_t base = (uintptr_t)head;
    if (!head || base % PAGE || (intptr_t)base < 0) {
        if (head)
            unmap(head, chunk_bytes(rows));
        __atomic_store_n(&c->base, CHUNK_NONE, __ATOMIC_RELEASE);
        return 0;
    }
    head->index = index;
    __atomic_fetch_add(&held, chunk_bytes(rows), __ATOMIC_RELAXED);
    uintptr_t slot = slot_at(base, 0, n);
    __atomic_store_n(&c->base, base, __ATOMIC_RELAXED);
    for (unsigned m = 0; m < MASKS; m++)
        __atomic_store_n(&c->free[m], m ? ~0ull : ~0ull << n, __ATOMIC_RELEASE);
    mark_available_for_all(index);
    return slot;
}

uintptr_t fastmm_counter_slab_alloc(unsigned n, unsigned rows)
{
    uintptr_t slot = alloc_from_chunks(n);
    return slot ? slot : alloc_chunk(n, rows);
}

unsigned fastmm_counter_slab_size(uintptr_t slot)
{
    return head_of(slot)->size[word_of(slot)];
}

void fastmm_counter_slab_free(uintptr_t slot, unsigned used)
{
    struct chunk_head *head = head_of(slot);
    unsigned word = word_of(slot);
    unsigned n = head->size[word];
    for (unsigned row = 0; row < used; row++) {
        int64_t *words = (int64_t *)(slot + (uintptr_t)row * FASTMM_COUNTER_STRIDE);
        for (unsigned k = 0; k < n; k++)
            if (words[k]) /* a write would make untouched pages resident */
                words[k] = 0;
    }
    unsigned index = head->index;
    uint64_t words = ((1ull << n) - 1) << word % 64;
    __atomic_fetch_or(&chunks[index].free[word / 64], words, __ATOMIC_SEQ_CST);
    mark_available_for_all(index);
}

/* All words of the chunk, or none. */
static int claim_all(struct chunk *c)
{
    for (unsigned m = 0; m < MASKS; m++) {
        uint64_t all = ~0ull;
        if (__atomic_compare_exchange_n(&c->free[m], &all, 0, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            continue;
        while (m-- > 0)
            __atomic_fetch_or(&c->free[m], ~0ull, __ATOMIC_RELEASE);
        return 0;
    }
    return 1;
}

size_t fastmm_counter_held(void)
{
    return __atomic_load_n(&held, __ATOMIC_RELAXED);
}

size_t fastmm_counter_trim(void)
{
    if (!fastmm_counter_held())
        return 0;
    size_t bytes = chunk_bytes(fastmm_counter_rows());
    size_t released = 0;
    for (unsigned index = 0; index < CHUNKS; index++) {
        struct chunk *c = &chunks[index];
        if (__atomic_load_n(&c->base, __ATOMIC_RELAXED) <= CHUNK_BUSY)
            continue;
        if (!claim_all(c)) {
            mark_available_for_all(index);
            continue;
        }
        for (unsigned n = 1; n <= LINE_WORDS; n++)
            mark_full(index, n);
        void *base = (void *)__atomic_load_n(&c->base, __ATOMIC_RELAXED);
        __atomic_store_n(&c->base, CHUNK_BUSY, __ATOMIC_RELAXED);
        unmap(base, bytes);
        __atomic_fetch_sub(&held, bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&c->base, CHUNK_NONE, __ATOMIC_RELEASE);
        released += bytes;
    }
    return released;
}

int fastmm_counter_set_memory(const struct fastmm_counter_memory *functions)
{
    static const struct fastmm_counter_memory builtin;
    if (functions && (!functions->map || !functions->unmap))
        return -EINVAL;
    if (fastmm_counter_held())
        return -EBUSY;
    memory = functions ? *functions : builtin;
    return 0;
}
