/* SPDX-License-Identifier: MIT */
/*
 * Feeds a fuzz target where libFuzzer is missing: files named on the command line, or a fixed
 * number of random inputs made of the small and the large bytes that formats are sensitive to.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUTS  100000u
#define LONGEST 256u

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int run_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return EXIT_FAILURE;
    }
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    return EXIT_SUCCESS;
}

static void run_random(void)
{
    uint64_t state = 1;
    for (unsigned i = 0; i < INPUTS; i++) {
        size_t size = next(&state) % LONGEST;
        uint8_t *data = malloc(size + 1); /* exact, so that a sanitizer sees a read past it */
        for (size_t j = 0; j < size; j++) {
            uint64_t random = next(&state);
            uint8_t byte = (uint8_t)(random >> 8);
            data[j] = random % 4 ? byte & (random % 4 == 1 ? 0x07 : 0x1f) : byte;
        }
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    printf("%u random inputs\n", INPUTS);
}

int main(int argc, char **argv)
{
    if (argc == 1)
        run_random();
    for (int i = 1; i < argc; i++)
        if (run_file(argv[i]))
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
