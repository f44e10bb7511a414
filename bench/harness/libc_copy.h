/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_LIBC_COPY_H
#define FASTMM_BENCH_LIBC_COPY_H

/*
 * Whether the memcpy of this libc uses rep movsb here, as a sentence of less than 256 bytes: what
 * the loader's tunables say, and what a copy in the zone where rep movsb is slow on some CPUs
 * costs.
 */
void libc_copy_describe(char *out);

#endif
