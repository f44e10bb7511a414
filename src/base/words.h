/* SPDX-License-Identifier: MIT */
/*
 * Records cleared and copied word by word. Compilers make calls of memset() and memcpy(), or string
 * instructions, of assignments and plain loops. The first call of copy must do without: it may come
 * from an embedder's memset() that is made of ours, or with the direction flag set. Atomic accesses
 * stay what they are, and may meet those of other threads.
 */
#ifndef FASTMM_SRC_BASE_WORDS_H
#define FASTMM_SRC_BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t record_word __attribute__((may_alias));

/* `bytes` is a multiple of 8. */
static inline void clear_words(void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(record_word); i++)
        __atomic_store_n((record_word *)to + i, 0, __ATOMIC_RELAXED);
}

static inline void copy_words(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(record_word); i++)
        __atomic_store_n((record_word *)to + i,
                         __atomic_load_n((const record_word *)from + i, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
}

#endif
