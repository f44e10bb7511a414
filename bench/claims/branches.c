/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "branches.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100

static struct branches counted;

/* Jcc, also behind a prefix, LOOP and JCXZ. */
static bool is_conditional(const unsigned char *code)
{
    while (*code == 0x2e || *code == 0x3e || *code == 0xf2 || *code == 0x66)
        code++;
    return (*code >= 0x70 && *code <= 0x7f) || (*code >= 0xe0 && *code <= 0xe3) ||
           (*code == 0x0f && (code[1] & 0xf0) == 0x80);
}

static bool is_call(const unsigned char *code)
{
    return *code == 0xe8 || (*code == 0xff && (code[1] & 0x38) == 0x10);
}

/* Before each instruction. */
static void step(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    const ucontext_t *state = context;
    const unsigned char *code = (const unsigned char *)(uintptr_t)state->uc_mcontext.gregs[REG_RIP];
    counted.instructions++;
    counted.conditional += is_conditional(code);
    counted.calls += is_call(code);
}

static void set_stepping(bool on)
{
    if (on)
        __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
    else
        __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq"
                         :
                         : "i"(~TRAP_FLAG)
                         : "memory", "cc");
}

/* Not inlined, so that nothing of the caller's lies below the stack pointer. */
static __attribute__((noinline)) void stepped(void (*work)(void *context, const void *variant),
                                              void *context, const void *variant)
{
    set_stepping(true);
    work(context, variant);
    set_stepping(false);
}

static void nothing(void *context, const void *variant)
{
    (void)context;
    (void)variant;
    __asm__ volatile("");
}

bool branches_count(void (*work)(void *context, const void *variant), void *context,
                    const void *variant, struct branches *out)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = step;
    action.sa_flags = SA_SIGINFO;
    if (sigaction(SIGTRAP, &action, &before) != 0)
        return false;
    counted = (struct branches){0};
    stepped(nothing, NULL, NULL);
    const struct branches empty = counted;
    counted = (struct branches){0};
    stepped(work, context, variant);
    sigaction(SIGTRAP, &before, NULL);
    *out = (struct branches){counted.instructions - empty.instructions,
                             counted.conditional - empty.conditional, counted.calls - empty.calls};
    return empty.instructions > 0;
}
