/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* NULL, or what is wrong with the value. */
typedef const char *(*parse_value)(const char *text, struct fastmm_copy_settings *out,
                                   size_t offset);

static uint64_t *field(struct fastmm_copy_settings *settings, size_t offset)
{
    return (uint64_t *)(void *)((char *)settings + offset);
}

static const struct {
    const char *name;
    unsigned shift;
} units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};

static const char *parse_size(const char *text, struct fastmm_copy_settings *out, size_t offset)
{
    uint64_t value = 0;
    if (strcmp(text, "never") == 0) {
        *field(out, offset) = FASTMM_COPY_NEVER;
        return NULL;
    }
    if (!isdigit((unsigned char)*text))
        return "a size is expected, such as 2112, 24 MiB or never";
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return "the size is larger than memory can be";
    while (*text == ' ' || *text == '\t')
        text++;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(text, units[i].name) == 0) {
            if (value == 0)
                return "0 is no threshold; leave the line out for the default";
            if (value > (uint64_t)PTRDIFF_MAX >> units[i].shift)
                return "the size is larger than memory can be";
            *field(out, offset) = value << units[i].shift;
            return NULL;
        }
    return "a unit is B, KiB, MiB or GiB";
}

static const char *parse_features(const char *text, struct fastmm_copy_settings *out, size_t offset)
{
    char name[32];
    uint64_t features = 0;
    while (*text) {
        size_t length = strcspn(text, " \t,");
        snprintf(name, sizeof(name), "%.*s", length < 31 ? (int)length : 31, text);
        int feature = fastmm_cpu_feature_by_name(name);
        if (feature < 0)
            return "no such feature; 'fastmm info' lists them";
        features |= (uint64_t)1 << feature;
        text += length;
        text += strspn(text, " \t,");
    }
    if (!features)
        return "features are expected, such as avx512f fsrm";
    *field(out, offset) = features;
    return NULL;
}

static const char *parse_implementation(const char *text, struct fastmm_copy_settings *out,
                                        size_t offset)
{
    (void)offset;
    int impl = fastmm_copy_impl_by_name(text);
    if (impl < 0)
        return "no such implementation; they are scalar, sse2, avx2, avx512, rep and stream";
    out->implementation = fastmm_copy_impl_name((uint32_t)impl);
    return NULL;
}

static const struct {
    const char *name;
    parse_value parse;
    size_t offset;
} keys[] = {
    {"implementation", parse_implementation, 0},
    {"disable", parse_features, offsetof(struct fastmm_copy_settings, disable)},
    {"copy_rep_min", parse_size, offsetof(struct fastmm_copy_settings, copy_rep_min)},
    {"fill_rep_min", parse_size, offsetof(struct fastmm_copy_settings, fill_rep_min)},
    {"copy_stream_min", parse_size, offsetof(struct fastmm_copy_settings, copy_stream_min)},
    {"fill_stream_min", parse_size, offsetof(struct fastmm_copy_settings, fill_stream_min)},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

/* Splits "key = value" in place. NULL, or what is wrong. */
static const char *split(char *line, char **value)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return "'key = value' is expected";
    *value = equals + 1;
    *value += strspn(*value, " \t");
    while (equals > line && (equals[-1] == ' ' || equals[-1] == '\t'))
        equals--;
    *equals = '\0';
    return NULL;
}

static int parse_line(const struct text_lines *lines, char *line, unsigned *seen,
                      struct fastmm_copy_settings *out, struct tool_error *error)
{
    char *value;
    const char *wrong = split(line, &value);
    if (wrong)
        return text_fail(lines, error, "%s", wrong);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(line, keys[i].name) != 0)
            continue;
        if (*seen >> i & 1)
            return text_fail(lines, error, "%s is set a second time", keys[i].name);
        *seen |= 1u << i;
        wrong = keys[i].parse(value, out, keys[i].offset);
        return wrong ? text_fail(lines, error, "%s: %s", keys[i].name, wrong) : 0;
    }
    return text_fail(lines, error, "no setting has this name");
}

int settings_parse(const char *file, const char *bytes, size_t size,
                   struct fastmm_copy_settings *out, struct tool_error *error)
{
    struct text_lines lines = {file, bytes, bytes + size, 0};
    struct fastmm_copy_settings settings = {0};
    char line[256];
    unsigned seen = 0;
    bool cut;
    if (memchr(bytes, '\0', size))
        return tool_fail(error, "%s: not a text file", file);
    while (text_next(&lines, line, sizeof(line), &cut)) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (cut)
            return text_fail(&lines, error, "the line is too long for a setting");
        if (parse_line(&lines, line, &seen, &settings, error) != 0)
            return -1;
    }
    *out = settings;
    return 0;
}

int settings_read(const char *path, struct fastmm_copy_settings *out, struct tool_error *error)
{
    struct text text;
    if (text_read(path, &text, error) != 0)
        return -1;
    int result = settings_parse(path, text.bytes, text.size, out, error);
    free(text.bytes);
    return result;
}

void settings_write(const struct fastmm_copy_settings *settings, FILE *out)
{
    struct fastmm_copy_settings copy = *settings;
    if (settings->implementation)
        fprintf(out, "implementation = %s\n", settings->implementation);
    if (settings->disable) {
        fprintf(out, "disable =");
        for (unsigned f = 0; f < FASTMM_CPU_FEATURE_COUNT; f++)
            if (settings->disable >> f & 1)
                fprintf(out, " %s", fastmm_cpu_describe((enum fastmm_cpu_feature)f)->name);
        fputc('\n', out);
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (keys[i].parse != parse_size)
            continue;
        uint64_t bytes = *field(&copy, keys[i].offset);
        if (bytes == FASTMM_COPY_NEVER)
            fprintf(out, "%s = never\n", keys[i].name);
        else if (bytes)
            fprintf(out, "%s = %" PRIu64 "\n", keys[i].name, bytes);
    }
}
