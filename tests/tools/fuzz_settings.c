/* SPDX-License-Identifier: MIT */
/* Any bytes as a settings file: refused with nothing changed, or understood and written back. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fastmm_copy_settings s, before, back;
    struct fastmm_copy_plan plan;
    struct tool_error error;
    memset(&s, 0x5a, sizeof(s));
    before = s;
    if (settings_parse("f", (const char *)data, size, &s, &error) != 0) {
        if (memcmp(&s, &before, sizeof(s)) != 0 || strncmp(error.text, "f:", 2) != 0)
            abort();
        return 0;
    }
    char *text = NULL;
    size_t length;
    FILE *f = open_memstream(&text, &length);
    settings_write(&s, f);
    fclose(f);
    if (settings_parse("f", text, length, &back, &error) != 0 || memcmp(&s, &back, sizeof(s)) != 0)
        abort();
    free(text);
    fastmm_copy_plan_for(fastmm_cpu_native(), &s, &plan, NULL); /* refused or not */
    return 0;
}
