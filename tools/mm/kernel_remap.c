/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MREMAP_MAYMOVE and CPU sets */
/* mremap on the running kernel, and what is known of a process's pages before and after it. */
#include "mm/kernel.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void forget(struct kernel_process *p, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        p->mapped[i] = p->dontfork[i] = false;
        p->registered[i] = 0;
    }
}

static void resized(struct kernel_process *p, const struct trace_op *op)
{
    unsigned end = op->first + op->count, new_end = op->first + op->size;
    forget(p, new_end < end ? new_end : end, end);
    for (unsigned i = end; i < new_end; i++) {
        p->mapped[i] = p->mapped[end - 1];
        p->dontfork[i] = p->dontfork[end - 1];
        p->registered[i] = p->registered[end - 1];
    }
}

/*
 * How many pages got there. Of several mappings those before the first that is registered do, and
 * where there is none, what is there stays.
 */
static unsigned pages_moved(const struct kernel_process *p, const struct trace_op *op, int outcome)
{
    unsigned done = 0;
    if (!outcome)
        return op->size;
    if (outcome != -EFAULT || op->size != op->count || !p->mapped[op->first])
        return 0;
    while (done < op->size && !p->registered[op->first + done])
        done++;
    return done;
}

static void moved(struct kernel_process *p, const struct trace_op *op, unsigned pages)
{
    const struct kernel_process before = *p;
    for (unsigned i = 0; i < (pages == op->size ? op->count : pages); i++)
        forget(p, op->first + i, op->first + i + 1);
    for (unsigned i = 0; i < pages; i++) {
        if (op->size == op->count && !before.mapped[op->first + i])
            continue;
        unsigned from = op->first + (i < op->count ? i : op->count - 1), to = op->target + i;
        p->mapped[to] = before.mapped[from];
        p->dontfork[to] = before.dontfork[from];
        p->registered[to] = kernel_follows(before.registered[from]) ? before.registered[from] : 0;
    }
}

int kernel_remap(struct kernel *k, const struct trace_op *op, int *outcome,
                 struct tool_error *error)
{
    struct kernel_process *p = &k->process[op->process];
    const int64_t page = FASTMM_PAGE_SIZE;
    const struct agent_request request = {
        .verb = AGENT_CALL,
        .arg = {SYS_mremap, (int64_t)kernel_address(op->first), op->count * page, op->size * page,
                op->moves ? MREMAP_MAYMOVE | MREMAP_FIXED : 0, (int64_t)kernel_address(op->target)},
    };
    struct agent_reply reply;
    if (kernel_ask_heard(p, NULL, &request, -1, &reply, error))
        return -1;
    *outcome = reply.result < 0 ? (int)reply.result : 0;
    if (op->moves)
        moved(p, op, pages_moved(p, op, *outcome));
    else if (!*outcome)
        resized(p, op);
    return 0;
}
