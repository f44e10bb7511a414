/* SPDX-License-Identifier: MIT */
/* Buffers and lists for the cases, and the digests that hold rivals to the same result. */
#ifndef FASTMM_BENCH_COPY_SETUP_H
#define FASTMM_BENCH_COPY_SETUP_H

#include "copy/rival.h"
#include "copy/sizes.h"

/* struct bench_case.args of every case here. */
enum { COPY_ARG_SIZE, COPY_ARG_ALIAS, COPY_ARG_IMPL, COPY_ARG_NEEDS };

/* What COPY_ARG_IMPL says: which implementation to force, or this for none. */
#define COPY_FORCE_NONE -1

/*
 * A case of one loop of `rival` with everything else as most have it: copy_setup_fixed() and no
 * implementation forced. Its needs are those of the rival.
 */
struct bench_case copy_case(const struct copy_rival *rival, int64_t size, int64_t alias,
                            copy_loop *loop);

/*
 * Callbacks of struct bench_case. setup_fixed: one pair of blocks of args[SIZE] bytes with
 * (dst - src) & 4095 = args[ALIAS]. setup_list: a list drawn from config, struct copy_sizes.
 * setup_mixed: a list of args[SIZE] at offsets within a page. setup_cold: arenas far larger than
 * caches.
 */
int copy_setup_fixed(struct bench *b);
int copy_setup_list(struct bench *b);
int copy_setup_mixed(struct bench *b);
int copy_setup_cold(struct bench *b);
void copy_teardown(struct bench *b);
uint64_t copy_digest(struct bench *b);

#endif
