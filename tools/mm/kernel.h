/* SPDX-License-Identifier: MIT */
/* What the parts of the kernel's world share: its processes, and what is open to look at them. */
#ifndef FASTMM_TOOLS_MM_KERNEL_H
#define FASTMM_TOOLS_MM_KERNEL_H

#include "mm/agent.h"
#include "mm/world.h"

#include <fastmm/mm.h>
#include <sched.h>

/* One userfaultfd for each set of features, since those belong to the descriptor. */
#define KERNEL_UFFDS 16u

struct kernel_process {
    pid_t pid; /* 0: none */
    int socket, pagemap, status, maps;
    bool pinned[TRACE_PAGES];
    uint64_t root;                   /* of its page tables, if they can be read */
    int uffd[KERNEL_UFFDS];          /* -1: not opened */
    uint8_t registered[TRACE_PAGES]; /* 1 + index of the userfaultfd, 0: none */
    bool mapped[TRACE_PAGES], dontfork[TRACE_PAGES];
};

struct kernel {
    struct world world;
    struct kernel_process process[TRACE_PROCESSES];
    int object[TRACE_OBJECTS];  /* descriptors, or -1 */
    int page_count, page_flags; /* of /proc, or -1 */
    int64_t own_rss[4];         /* of an agent without a trace's pages */
    uint64_t words[TRACE_PAGES], raw[TRACE_PAGES];
    cpu_set_t cpus; /* as they were before */
};

static inline uint64_t kernel_address(unsigned page)
{
    return TRACE_BASE + (uint64_t)page * FASTMM_PAGE_SIZE;
}

/* kernel_agent.c: a request and its reply. -1 with *error if the agent doesn't answer. */
int kernel_ask(const struct kernel_process *p, const struct agent_request *request, int descriptor,
               struct agent_reply *reply, int *received, struct tool_error *error);
/* Likewise for what userfaultfds may want to hear of before it ends; `child`, if it is a fork. */
int kernel_ask_heard(const struct kernel_process *p, struct kernel_process *child,
                     const struct agent_request *request, int descriptor, struct agent_reply *reply,
                     struct tool_error *error);
/* The first agent. -1 with *error. */
int kernel_start(struct kernel *k, struct tool_error *error);
/* A child of `parent`; 0 with *result 0 or a negative errno. */
int kernel_fork(struct kernel *k, unsigned parent, unsigned child, int64_t *result,
                struct tool_error *error);
/* Ends the process, by force if need be, and closes what was open of it. */
void kernel_end(struct kernel_process *p, bool politely);

/* kernel_uffd.c */
/* 0, or WORLD_NOT_PERMITTED with the reason if the trace registers with what isn't allowed here. */
int kernel_uffd_probe(const struct trace *trace, struct tool_error *error);
int kernel_register(struct kernel *k, const struct trace_op *op, int *outcome,
                    struct tool_error *error);
int kernel_unregister(struct kernel *k, const struct trace_op *op, int *outcome,
                      struct tool_error *error);
int kernel_protect(struct kernel *k, const struct trace_op *op, int *outcome,
                   struct tool_error *error);
int kernel_poison(struct kernel *k, const struct trace_op *op, int *outcome,
                  struct tool_error *error);
/* Descriptors that want to hear of forks and moves; returns how many. */
unsigned kernel_listeners(const struct kernel_process *p, unsigned *which);
/* Takes the message of a fork or a move off uffd `which`. */
void kernel_hear(const struct kernel_process *p, struct kernel_process *child, unsigned which);
/* Do registrations with this userfaultfd (1 + index) follow when a mapping moves? */
bool kernel_follows(unsigned registered);

/* kernel_swap.c */
/* 0, or WORLD_NOT_PERMITTED with the reason if the trace swaps and that isn't possible here. */
int kernel_swap_probe(const struct trace *trace, struct tool_error *error);

/* kernel_remap.c */
int kernel_remap(struct kernel *k, const struct trace_op *op, int *outcome,
                 struct tool_error *error);

/* kernel_look.c */
void kernel_look_open(struct kernel *k);
int kernel_look_rss(const struct kernel_process *p, int64_t rss[4], struct tool_error *error);
int kernel_look(struct kernel *k, struct world_view *view, struct tool_error *error);

/* kernel_scan.c */
int kernel_look_categories(const struct kernel *k, const struct kernel_process *p,
                           struct world_space *space);
/* The outcome. */
int kernel_protect_matching(const struct kernel_process *p, const struct trace_op *op);

/* kernel_maps.c: the mappings of the trace's pages. */
int kernel_look_mappings(const struct kernel_process *p, struct world_space *space,
                         struct tool_error *error);
/* Is there a page, and protected by userfaultfd? */
bool kernel_is_wp(struct kernel_process *p, unsigned page);

#endif
