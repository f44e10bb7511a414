/* SPDX-License-Identifier: MIT */
/*
 * A library whose indirect function is resolved while the loader relocates: objects loaded before
 * it, the preloaded one among them, come later. Its resolver copies and fills all the same.
 */
#include "preload_early.h"

#include <string.h>

static struct preload_early seen;

static int answer(void)
{
    return 42;
}

__attribute__((used)) static int (*resolve(void))(void)
{
    for (unsigned i = 0; i < PRELOAD_EARLY; i++)
        seen.from[i] = (unsigned char)(3 * i + 1);
    size_t size = PRELOAD_EARLY;
    __asm__ volatile("" : "+r"(size)); /* no constant, which compilers expand themselves */
    memset(seen.filled, 0x5a, size);
    memcpy(seen.copied, seen.from, size);
    memmove(seen.from + 1, seen.from, size - 1);
    memmove(seen.from, seen.from + 1, size - 1);
    return answer;
}

/*
 * Not exported, so that it is resolved with this library's own relocations, behind those of its
 * calls (which go without a PLT, whose entries come later still); an exported one waits for the
 * program's.
 */
static int indirect(void) __attribute__((ifunc("resolve")));

__attribute__((visibility("default"))) int preload_early_answer(void)
{
    return indirect();
}

const struct preload_early *preload_early_seen(void)
{
    return &seen;
}
