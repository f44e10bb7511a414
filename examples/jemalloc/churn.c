/* SPDX-License-Identifier: MIT */
/*
 * A program that keeps jemalloc busy: threads, blocks from 16 bytes to 24 MiB, blocks freed by
 * other threads, forks in between. It says how many requests were refused, and fails if a block
 * does not keep what was written.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 256, STEPS = 20000, FORKS = 20 };

static char *slots[SLOTS];
static uint64_t refused;

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t some_size(uint64_t r)
{
    if (r % 512 == 0)
        return (size_t)(1 << 20) + (size_t)(r >> 40);
    return 16 + (size_t)(r >> 40) % (r % 16 == 0 ? 200000 : 2000);
}

static void check(const char *p)
{
    size_t size;
    memcpy(&size, p, sizeof(size));
    if (p[size - 1] != (char)size) {
        fprintf(stderr, "a block of %zu bytes changed\n", size);
        abort();
    }
}

static void step(uint64_t r)
{
    size_t size = some_size(r);
    char *p = r & 1 << 10 ? malloc(size) : calloc(1, size);
    if (!p) {
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
    } else {
        if (!(r & 1 << 10) && (p[0] || p[size / 2] || p[size - 1])) {
            fprintf(stderr, "calloc of %zu bytes is not zero\n", size);
            abort();
        }
        memcpy(p, &size, sizeof(size));
        p[size - 1] = (char)size;
    }
    p = __atomic_exchange_n(&slots[(r >> 20) % SLOTS], p, __ATOMIC_ACQ_REL);
    if (p)
        check(p);
    free(p);
}

static void *churn(void *seed)
{
    uint64_t state = 0x9e3779b97f4a7c15u * ((uintptr_t)seed + 1);
    for (unsigned i = 0; i < STEPS; i++)
        step(next(&state));
    return NULL;
}

/* A child of a process whose threads are inside malloc must be able to allocate. */
static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        churn((void *)(uintptr_t)getpid());
        _exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "a child ended with status %#x\n", (unsigned)status);
        exit(1);
    }
}

int main(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, churn, (void *)i) != 0)
            return 1;
    for (unsigned i = 0; i < FORKS; i++)
        fork_once();
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        free(slots[i]);
    printf("refused %llu\n", (unsigned long long)refused);
    return 0;
}
