/* SPDX-License-Identifier: MIT */
#include "effect_table.h"

#include <math.h>
#include <string.h>

enum { LABEL = 22 };

static void print_time(FILE *out, double value)
{
    int places = value < 100 ? 3 : value < 10000 ? 1 : 0;
    if (isnan(value))
        fprintf(out, " %10s", "-");
    else
        fprintf(out, " %10.*f", places, value);
}

static void print_sample(FILE *out, const char *label, const struct sample *sample, unsigned text)
{
    fprintf(out, "  %-*.*s %5u", LABEL, LABEL, label, sample->count);
    for (int i = 0; i < SAMPLE_FIGURES; i++)
        print_time(out, sample->figure[i]);
    if (text)
        fprintf(out, " %6u", text);
    fputc('\n', out);
}

/* Of a deviation a gain says nothing that the deviation doesn't. */
static bool has_gain(enum sample_figure figure)
{
    return figure != SAMPLE_STDDEV && figure != SAMPLE_COEFFVAR;
}

static void print_gains(FILE *out, const struct sample sample[2], const struct effect *effect)
{
    fprintf(out, "  %-*s %5s", LABEL, "gain %", "");
    for (int i = 0; i < SAMPLE_FIGURES; i++) {
        double gain = 100 * (1 - sample[1].figure[i] / sample[0].figure[i]);
        if (!has_gain((enum sample_figure)i) || isnan(gain))
            fprintf(out, " %10s", has_gain((enum sample_figure)i) ? "-" : "");
        else if (i == SAMPLE_AMEAN && effect->star)
            fprintf(out, " %+9.2f*", gain);
        else
            fprintf(out, " %+10.2f", gain);
    }
    fputc('\n', out);
}

static void print_title(FILE *out, bool text)
{
    fprintf(out, "  %-*s %5s", LABEL, "ns", "n");
    for (int i = 0; i < SAMPLE_FIGURES; i++)
        fprintf(out, " %10s", sample_name((enum sample_figure)i));
    fputs(text ? "   text\n" : "\n", out);
}

void effect_words(const struct effect *effect, char *out, size_t size)
{
    if (isnan(effect->gain))
        snprintf(out, size, "not measured");
    else if (isnan(effect->low))
        snprintf(out, size, "%+.2f %% [-, -]", effect->gain);
    else
        snprintf(out, size, "%+.2f %% [%+.2f, %+.2f]%s", effect->gain, effect->low, effect->high,
                 effect->star ? "*" : "");
}

static void print_outcome(FILE *out, const struct effect_row *row)
{
    char words[96];
    effect_words(&row->effect, words, sizeof(words));
    fprintf(out, "%s: %s, %s", row->title, effect_verdict_name(row->effect.verdict), words);
    if (isnan(row->effect.detectable))
        fprintf(out, " (%u clusters are too few to tell)", row->effect.clusters);
    else
        fprintf(out, ", could have seen %.2f %%", row->effect.detectable);
    if (row->brief && row->text[0])
        fprintf(out, ", text %u and %u", row->text[0], row->text[1]);
    fputc('\n', out);
}

void effect_table(FILE *out, const struct effect_row *rows, unsigned count)
{
    bool text = false;
    for (unsigned i = 0; i < count; i++)
        text |= rows[i].text[0] > 0;
    if (count)
        print_title(out, text);
    for (unsigned i = 0; i < count; i++) {
        const struct effect_row *row = &rows[i];
        if (!row->sample[0].count || !row->sample[1].count) {
            fprintf(out, "%s: not measured: %s\n", row->title, row->note ? row->note : "no times");
            continue;
        }
        print_outcome(out, row);
        if (row->brief)
            continue;
        for (int side = 0; side < 2; side++)
            print_sample(out, row->label[side], &row->sample[side], row->text[side]);
        print_gains(out, row->sample, &row->effect);
        if (row->note && (i == 0 || !rows[i - 1].note || strcmp(row->note, rows[i - 1].note) != 0))
            fprintf(out, "  %s\n", row->note);
    }
}
