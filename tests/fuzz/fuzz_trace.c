/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a trace. What is refused must say where; what is accepted must be written so that it
 * reads back as the same, and stand in an order in which it can run. Since random bytes hardly ever
 * make a word, they are also taken as indices into the words of the format.
 */
#include "mm/trace_words.h"

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
    require(again.soft_dirty == trace->soft_dirty, "the machine is the same");
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

enum { MOST_WORDS = 256, LONGEST_WORD = 24 };
static const char *words[MOST_WORDS];
static unsigned word_count;

static void add_word(const char *word)
{
    require(word_count < MOST_WORDS && strlen(word) < LONGEST_WORD, "there is room for a word");
    words[word_count++] = word;
}

/* Those of the format's tables, and what stands in no table. */
static void add_words(void)
{
    static const char *const others[] = {
        "p0",   "p1",   "p2", "\n", "\n",      "\n",     "0",       "1",      "2",
        "8",    "1024", "o0", "x1", "private", "shared", "machine", "object", "shmem",
        "file", "uffd", "=",  "ok", "segv",    "ENOENT", "EFAULT",  "#",
    };
    static const struct trace_word *const tables[] = {trace_prots, trace_map_flags, trace_features,
                                                      trace_categories, trace_attributes};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        add_word(others[i]);
    for (unsigned verb = 0; verb < TRACE_VERBS; verb++)
        add_word(trace_verbs[verb].name);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct trace_word *word = tables[i]; word->text; word++)
            add_word(word->text);
    for (enum trace_kind kind = 0; kind < TRACE_KINDS; kind++)
        add_word(trace_kind_name(kind));
    for (size_t i = 0; i < sizeof(trace_rss_names) / sizeof(trace_rss_names[0]); i++)
        add_word(trace_rss_names[i]);
}

static void try_words(const uint8_t *data, size_t size)
{
    char text[LONGEST * (LONGEST_WORD + 1)], *at = text;
    if (!word_count)
        add_words();
    for (size_t i = 0; i < size; i++) {
        const char *word = words[data[i] % word_count];
        size_t length = strlen(word);
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
