/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a trace. What is refused must say where; what is accepted must be written so that it
 * reads back as the same, and stand in an order in which it can run. Since random bytes hardly ever
 * make a word, they are also taken as indices into the words of the format.
 */
#include "mm/trace.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void require_order(const struct trace *trace)
{
    struct trace_state state;
    unsigned first, count;
    trace_state_init(&state);
    trace_window(trace, &first, &count);
    require(count > 0 && first + count <= TRACE_PAGES, "the window lies within the pages");
    for (size_t i = 0; i < trace->count; i++)
        require(!trace_step(&state, trace, &trace->op[i]), "every operation can run in its turn");
}

static void require_round_trip(const struct trace *trace)
{
    char *text = NULL;
    size_t size = 0;
    struct trace again;
    struct tool_error error;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL, "there is memory");
    trace_print(out, trace);
    fclose(out);
    require(!trace_parse("again", text, size, &again, &error), "what was written can be read");
    require(again.count == trace->count, "as many operations are read as were written");
    for (size_t i = 0; i < trace->count; i++) {
        again.op[i].line = trace->op[i].line;
        require(!memcmp(&again.op[i], &trace->op[i], sizeof(again.op[i])),
                "an operation reads back as the same");
    }
    trace_free(&again);
    free(text);
}

static void try_text(const char *text, size_t size)
{
    struct trace trace;
    struct tool_error error = {""};
    if (trace_parse("input", text, size, &trace, &error)) {
        require(!strncmp(error.text, "input:", 6), "an error begins with its place");
        return;
    }
    require_order(&trace);
    require_round_trip(&trace);
    trace_free(&trace);
}

static void try_words(const uint8_t *data, size_t size)
{
    static const char *const words[] = {
        "p0",
        "p1",
        "p2",
        "map",
        "unmap",
        "mprotect",
        "read",
        "write",
        "dontneed",
        "free",
        "guard",
        "unguard",
        "register",
        "unregister",
        "wp",
        "unwp",
        "fork",
        "exit",
        "expect",
        "rss",
        "\n",
        "\n",
        "\n",
        "0",
        "1",
        "2",
        "8",
        "1024",
        "private",
        "shared",
        "o0",
        "object",
        "shmem",
        "file",
        "rw",
        "r",
        "none",
        "anon",
        "x1",
        "=",
        "ok",
        "uffd",
        "ENOENT",
        "async",
        "event-fork",
        "#",
        "unpopulated",
        "dontfork",
        "wipeonfork",
        "mremap",
        "force-write",
        "pageout",
        "remove",
        "populate-read",
        "populate-write",
        "dofork",
        "keeponfork",
        "poison",
        "pin",
        "unpin",
        "wp-matching",
        "clear-refs",
        "allocations",
        "w",
        "rx",
        "rwx",
        "raw",
        "event-remap",
        "check-async",
        "ro",
        "dirty",
        "clean",
        "not-wp",
        "alone",
        "not-alone",
        "soft-dirty",
        "not-soft-dirty",
    };
    char text[LONGEST * 24], *at = text;
    for (size_t i = 0; i < size; i++) {
        const char *word = words[data[i] % (sizeof(words) / sizeof(words[0]))];
        size_t length = strlen(word);
        require(length < 24, "a word fits");
        memcpy(at, word, length);
        at[length] = ' ';
        at += length + 1;
    }
    try_text(text, (size_t)(at - text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > LONGEST)
        return 0;
    try_text((const char *)data, size);
    try_words(data, size);
    return 0;
}
