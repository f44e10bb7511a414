/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

_Bool program_directory(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length < 0)
        return 0;
    out[length] = '\0';
    *strrchr(out, '/') = '\0';
    return 1;
}
