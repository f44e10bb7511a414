/* SPDX-License-Identifier: MIT */
/*
 * Benchmark cases in C. A case is a struct of callbacks and a name; what runs it (Google
 * Benchmark's loop, or the scorecard's alternating blocks) is the harness's business, and the
 * timed loop never leaves C.
 *
 * Names: <primitive>/<job>/<implementation>[/key:value]..., for example
 * "copy/fixed/libc/size:4096/alias:8". The library's own implementation is "fastmm"; a rival is
 * named for what it is. Names hold letters, digits and _ : . - + only. Thread counts belong in the
 * name: the part "/threads:N" is appended by bench_add() for cases with more than one.
 *
 * A rival meets the same contract as ours: `digest` gives the state after a fixed piece of work,
 * and the scorecard refuses to time two cases whose digests differ.
 */
#ifndef FASTMM_BENCH_H
#define FASTMM_BENCH_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_case;

/* One running instance of a case: one for each thread, all with the same `data`. */
struct bench {
    const struct bench_case *spec;
    void *data;       /* what setup() made */
    unsigned thread;  /* 0 .. threads - 1 */
    unsigned threads; /* how many run at the same time */
    double bytes;     /* bytes processed per iteration and thread; setup() may set it */
    double items;     /* items processed per iteration and thread; times are given per item */
};

struct bench_case {
    const char *name;
    const char *label;  /* shown beside the result, or NULL */
    unsigned threads;   /* 0 means 1 */
    int64_t args[4];    /* the case's own parameters */
    const void *config; /* more of them, not copied */
    int figures;        /* true: its counters are results, and every report shows them */

    /* Untimed, once, in the first thread. 0, or what bench_skip() returned. May be NULL. */
    int (*setup)(struct bench *b);
    /*
     * The timed batch, in each thread: `iterations` repetitions, nothing else. With threads a batch
     * is done in many small calls, and the first thread to end it stops the others, so that no
     * thread is measured alone: a thread must not wait for another one's iterations.
     */
    void (*loop)(struct bench *b, uint64_t iterations);
    /*
     * Instead of loop, for work that must be undone between repetitions: does them and returns
     * the nanoseconds that counted, measured with bench_now(). One thread only.
     */
    uint64_t (*timed)(struct bench *b, uint64_t iterations);
    /* Untimed, once, in the first thread, after all have ended. May be NULL. */
    void (*teardown)(struct bench *b);
    /*
     * Does a fixed piece of the case's work on the state that setup() made and returns a digest
     * of the result. Two cases that are compared must return the same. Runs between setup() and
     * teardown(), alone. May be NULL where there is no state to compare.
     */
    uint64_t (*digest)(struct bench *b);
};

/* Registers a copy of *spec under a printf-style name. */
void bench_add(const struct bench_case *spec, const char *name, ...)
    __attribute__((format(printf, 2, 3)));

/* Says why the case can't run here; setup() returns its result. The case counts as skipped. */
int bench_skip(struct bench *b, const char *reason, ...) __attribute__((format(printf, 2, 3)));

/*
 * A figure of the case's own, shown beside the time: bytes of code, branches, ... For setup(),
 * digest() and timed(), and for loop() in thread 0.
 */
void bench_counter(struct bench *b, const char *name, double value);

/* main() of a bench binary; `add_cases` registers everything. */
int bench_main(int argc, char **argv, const char *primitive, void (*add_cases)(void));

/* Nanoseconds on the monotonic clock. */
static inline uint64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The compiler must assume that *p is read and written here: no store before it is dropped. */
static inline void bench_clobber(void *p)
{
    __asm__ volatile("" : : "g"(p) : "memory");
}

/* The compiler must produce `value` here and may assume nothing of what it is afterwards. */
static inline uint64_t bench_opaque(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* FNV-1a over n bytes, started with or continued from `seed`, for digests. */
static inline uint64_t bench_digest(uint64_t seed, const void *data, uint64_t n)
{
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = seed ? seed : 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

#ifdef __cplusplus
}
#endif

#endif
