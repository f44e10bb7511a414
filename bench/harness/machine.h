/* SPDX-License-Identifier: MIT */
/*
 * What the figures were measured on, as far as it can move them, and what made them noisy. Nothing
 * in it names the machine or its owner.
 */
#ifndef FASTMM_BENCH_MACHINE_H
#define FASTMM_BENCH_MACHINE_H

enum { MACHINE_FACTS = 32, MACHINE_WARNINGS = 16 };

struct machine {
    unsigned facts, warnings;
    struct {
        const char *key;
        char *value;
    } fact[MACHINE_FACTS];
    char *warning[MACHINE_WARNINGS];
};

/* Takes about 10 ms. What can't be found out says "unknown". */
void machine_record(struct machine *machine);
/* The value of a fact, "unknown" when there is no such key. */
const char *machine_fact(const struct machine *machine, const char *key);
void machine_free(struct machine *machine);

#endif
