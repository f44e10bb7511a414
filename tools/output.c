/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "tool.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int fail(const struct output *o)
{
    tool_complain("%s: %s", o->path, strerror(errno));
    if (o->file)
        unlink(o->part);
    return TOOL_FAILED;
}

int output_open(struct output *o, const char *path)
{
    o->path = path;
    o->file = NULL;
    if ((size_t)snprintf(o->part, sizeof(o->part), "%s.part", path) >= sizeof(o->part)) {
        errno = ENAMETOOLONG;
        return fail(o);
    }
    o->file = fopen(o->part, "w");
    return o->file ? TOOL_OK : fail(o);
}

int output_finish(struct output *o)
{
    bool failed = fflush(o->file) != 0 || ferror(o->file);
    if (fclose(o->file) != 0 || failed || rename(o->part, o->path) != 0)
        return fail(o);
    return TOOL_OK;
}

void output_drop(struct output *o)
{
    fclose(o->file);
    unlink(o->part);
}
