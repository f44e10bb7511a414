/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a result file. What is refused must say where; what is accepted has sound times.
 * Since random bytes hardly ever make JSON, they are also taken as indices into the words of the
 * formats.
 */
#include "results.h"

#include <stdio.h>
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

static void try_text(const char *text, size_t size)
{
    struct results results;
    struct tool_error error = {""};
    if (results_parse("input", text, size, &results, &error)) {
        require(!strncmp(error.text, "input:", 6), "an error begins with its place");
        return;
    }
    require(results.series_count > 0, "what is accepted has times");
    for (unsigned i = 0; i < results.series_count; i++) {
        const struct results_series *series = &results.series[i];
        for (unsigned k = 0; k < series->count; k++) {
            require(series->value[k] > 0, "times are above 0");
            require(!k || series->cluster[k] >= series->cluster[k - 1], "clusters rise");
        }
        require(results_find(&results, series->name) == series, "names are unique");
    }
    results_free(&results);
}

static void try_words(const uint8_t *data, size_t size)
{
    static const char *const words[] = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "1",
        "0",
        "-2.5",
        "1e3",
        "true",
        "null",
        "\"goals\"",
        "\"cells\"",
        "\"pairs\"",
        "\"ours\"",
        "\"rival\"",
        "\"blocks\"",
        "\"id\"",
        "\"a\"",
        "\"machine\"",
        "{\"goals\":[{\"cells\":[{\"ours\":\"a\",\"pairs\":[{\"rival\":\"b\",\"blocks\":[",
        "[0,\"ABBA\",1,2,1]",
        "]}]}]}]}",
        "{\"comparisons\":[{\"name\":\"n\",\"base\":\"x\",\"other\":\"y\",\"blocks\":[",
        "[0,1,2]",
        "]}]}",
        "{\"benchmarks\":[",
        "{\"run_name\":\"c\",\"run_type\":\"iteration\",\"real_time\":2,\"time_unit\":\"us\"}",
        "]}",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
    };
    static char text[LONGEST * 96];
    char *at = text;
    for (size_t i = 0; i < size; i++) {
        const char *word = words[data[i] % (sizeof(words) / sizeof(words[0]))];
        size_t length = strlen(word);
        memcpy(at, word, length);
        at += length;
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
