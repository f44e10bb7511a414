/* SPDX-License-Identifier: MIT */
/*
 * A process that does to its memory what it is told, and nothing else: the kernel's side of a
 * trace. The first is forked by whoever runs the trace, the others by one another as the trace
 * says, but all are children of the former, which reaps them, and none outlives it: an agent ends
 * when its socket does.
 *
 * Requests and replies are datagrams on a pair of Unix sockets. An agent makes system calls only,
 * so that its own memory stays as it was when it began; all of that is faulted in beforehand,
 * which leaves its resident set to the trace.
 */
#ifndef FASTMM_TOOLS_MM_AGENT_H
#define FASTMM_TOOLS_MM_AGENT_H

#include <stdint.h>
#include <sys/types.h>

enum agent_verb {
    AGENT_CALL,  /* system call arg[0] with arg[1..6]; one that doesn't end is EAGAIN */
    AGENT_TOUCH, /* arg[0]: address, arg[1]: pages, arg[2]: write? */
    AGENT_UFFD,  /* a userfaultfd with flags arg[0], as the reply's descriptor */
    AGENT_PIN,  /* page at arg[1] by name arg[0], below AGENT_PINS; 0: what has the name is unpinned
                 */
    AGENT_FORK, /* the new agent gets the descriptor sent along */
    AGENT_EXIT
};

#define AGENT_PINS 1024u

struct agent_request {
    uint32_t verb;
    int64_t arg[7];
};

struct agent_reply {
    int64_t result; /* 0 or more, or a negative errno */
    int32_t signal; /* that ended a touch, with its code and address */
    int32_t code;
    uint64_t where;
};

/* Runs until told to exit or the socket ends. Keeps the descriptors in keep[0 .. count) open. */
void agent_main(int socket, const int *keep, unsigned count) __attribute__((noreturn));

/* A datagram with a descriptor, if that is not -1. 0 or a negative errno. */
int agent_send(int socket, const void *data, size_t size, int descriptor);
/* Likewise; *descriptor is -1 if none came. -EPIPE if the other end is gone. */
int agent_receive(int socket, void *data, size_t size, int *descriptor);

#endif
