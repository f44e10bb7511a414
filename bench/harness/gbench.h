/* SPDX-License-Identifier: MIT */
/* The one call from the C harness into Google Benchmark. */
#ifndef FASTMM_BENCH_GBENCH_H
#define FASTMM_BENCH_GBENCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* Registers every case and runs those that the --benchmark_* flags choose. The exit status. */
int gbench_run(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
