/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a program of copies, moves and fills within one buffer, run by this library and by
 * libc. Both buffers must be equal after each step, and so must the canaries around ours. Some
 * steps change the settings, sensible or not.
 */
#include <fastmm/copy.h>

#include <stdlib.h>
#include <string.h>

#define BYTES  20000u
#define CANARY 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char ours[CANARY + BYTES + CANARY], theirs[CANARY + BYTES + CANARY];

struct step {
    uint8_t what, value;
    uint16_t dst, src, n;
};

static void configure(const struct step *s)
{
    struct fastmm_copy_settings settings = {
        .implementation = s->value & 1 ? fastmm_copy_impl_name(s->dst % 8u) : NULL,
        .disable = s->value & 2 ? (uint64_t)1 << s->src % 64 : 0,
        .copy_rep_min = s->value & 4 ? s->n : 0,
        .fill_rep_min = s->value & 8 ? s->n : 0,
        .copy_stream_min = s->value & 16 ? (uint64_t)s->n << 4 : 0,
    };
    const char *reason = NULL;
    if (fastmm_copy_configure(&settings, &reason) != 0 && !reason)
        abort();
}

static void run_step(const struct step *s)
{
    size_t dst = s->dst % BYTES, src = s->src % BYTES, n = s->n;
    n = n < BYTES - dst ? n : BYTES - dst;
    n = n < BYTES - src ? n : BYTES - src;
    size_t apart = dst < src ? src - dst : dst - src, copied = n < apart ? n : apart;
    unsigned char *d = ours + CANARY + dst, *t = theirs + CANARY + dst;
    const unsigned char *from = ours + CANARY + src;
    switch (s->what % 9) {
    case 0:
        fastmm_copy(d, from, copied);
        break;
    case 1:
        fastmm_copy_masked(d, from, copied);
        break;
    case 2:
        fastmm_copy_stream(d, from, copied);
        break;
    case 3:
        fastmm_copy_call(d, from, copied);
        break;
    case 4:
        fastmm_move(d, from, n);
        memmove(t, theirs + CANARY + src, n);
        return;
    case 5:
        if (fastmm_move_with(s->value % FASTMM_COPY_IMPL_COUNT, d, from, n) == 0)
            memmove(t, theirs + CANARY + src, n);
        return;
    case 6:
        fastmm_fill(d, s->value, n);
        memset(t, s->value, n);
        return;
    case 7:
        if (fastmm_clear_huge(d, n, s->src) == 0)
            memset(t, 0, n);
        return;
    default:
        configure(s);
        return;
    }
    memcpy(t, theirs + CANARY + src, copied);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned i = 0; i < sizeof(ours); i++)
        ours[i] = theirs[i] = (unsigned char)(i * 2654435761u >> 21);
    while (size >= sizeof(struct step)) {
        struct step s;
        memcpy(&s, data, sizeof(s));
        data += sizeof(s);
        size -= sizeof(s);
        run_step(&s);
        if (memcmp(ours, theirs, sizeof(ours)) != 0)
            abort();
    }
    return 0;
}
