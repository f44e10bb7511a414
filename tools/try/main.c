/* SPDX-License-Identifier: MIT */
/* The program behind `fastmm mm try`: loads primitives and puts them through everything there is.
 */
#include "host.h"
#include "parts.h"

#include "mm/commands.h"
#include "tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: fastmm mm try MINE.so [TRACE...] [--seed N] [--ops N]\n"
    "\n"
    "Tries a lookup, a setter or a fork body of your own in place of the library's: whether it\n"
    "answers the same, also in made-up traces, whether the given traces hold, whether the running\n"
    "kernel agrees, and how fast it is. docs/tools.md shows how to write one.\n"
    "\n"
    "  --seed N   where chance begins (1)\n"
    "  --ops N    operations of made-up traces (4000)\n"
    "\n"
    "Exit status: 0 equal and agreed, 1 not, 2 misuse or failure.\n";

static bool to_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && end != text && !*end && *text != '-';
}

static const struct fastmm_try *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        tool_complain("%s", dlerror());
        return NULL;
    }
    const struct fastmm_try *user = dlsym(library, "fastmm_try");
    if (!user)
        tool_complain("%s: exports no 'fastmm_try'", path);
    else if (user->version != FASTMM_TRY_VERSION)
        tool_complain("%s: is of version %u of the seam, this is version %u", path, user->version,
                      FASTMM_TRY_VERSION);
    else if (!user->normal_page && !user->set_range && !user->fork_range)
        tool_complain("%s: has nothing to try", path);
    else
        return user;
    dlclose(library);
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, ops = 4000;
    int files = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(usage, stdout);
            return mm_finish(RUN_AGREED);
        }
        if (argv[i][0] != '-') {
            argv[1 + files++] = argv[i];
            continue;
        }
        uint64_t *number = !strcmp(argv[i], "--seed")  ? &seed
                           : !strcmp(argv[i], "--ops") ? &ops
                                                       : NULL;
        if (!number || !to_number(value, number))
            return tool_misused("mm", "'%s %s' makes no sense", argv[i], value);
        i++;
    }
    if (!files)
        return tool_misused("mm", "try needs a shared object");
    const struct fastmm_try *user = load(argv[1]);
    if (!user)
        return TOOL_USAGE;
    printf("%s\n", user->name ? user->name : argv[1]);
    bool good = try_equal(user, seed);
    good = try_traces(user, seed, ops, argv + 2, (unsigned)files - 1) && good;
    good = try_kernel(user, seed, ops) && good;
    if (good)
        try_bench(user);
    return mm_finish(good ? RUN_AGREED : RUN_DIFFERED);
}
