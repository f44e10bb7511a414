/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "harness/report.h"
#include "harness/table.h"
#include "harness/text.h"
#include "need.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const titles[CLAIM_LAST + 1] = {
    NULL,
    "Claim 1: the normal-page lookup inlined (said to make fork of redis-server 3 to 4 % faster)",
    "Claim 2: copy and clear inlined (said to save 1.5 to 2.3 % of git's tests)",
    "Claim 3: counters atomic until the second thread (said to save 4.2 % of a fork, 2.3 % of an "
    "exec, 2.2 % of a shell, 6.7 % of a fault)",
    "Claim 4: the mapping's flag tested first (said to save 1.0 % of a fault)",
};

static struct effect_row shown(const struct claim_row *row, bool all)
{
    return (struct effect_row){.title = row->name,
                               .label = {row->side[0].label, row->side[1].label},
                               .sample = {row->sample[0], row->sample[1]},
                               .effect = row->effect,
                               .text = {row->side[0].text, row->side[1].text},
                               .note = *row->note ? row->note : NULL,
                               .brief = !all && !row->headline};
}

/* In lines of at most 100 characters, broken at spaces. */
static void print_wrapped(FILE *out, const char *text)
{
    enum { WIDTH = 100 };
    while (*text) {
        size_t length = strlen(text);
        if (length > WIDTH) {
            length = WIDTH;
            while (length && text[length] != ' ')
                length--;
            length = length ? length : WIDTH;
        }
        fprintf(out, "%.*s\n", (int)length, text);
        text += length;
        text += *text == ' ';
    }
}

static void print_claim(FILE *out, const struct claims *claims, unsigned claim, bool all)
{
    struct effect_row *rows = need(calloc(claims->count + 1, sizeof(*rows)));
    unsigned count = 0, verdicts[4] = {0}, aa = 0, missing = 0;
    double nothing = 0, least = INFINITY;
    for (unsigned i = 0; i < claims->count; i++) {
        const struct claim_row *row = &claims->rows[i];
        if (row->claim != claim)
            continue;
        rows[count++] = shown(row, all);
        if (!row->count) {
            missing++;
        } else if (row->aa) {
            aa++;
            nothing = fmax(nothing, fabs(row->effect.gain));
        } else {
            verdicts[row->effect.verdict]++;
            least = fmin(least, row->effect.detectable);
        }
    }
    char not_measured[40] = "";
    if (missing)
        snprintf(not_measured, sizeof(not_measured), " (and %u not measured)", missing);
    fputc('\n', out);
    print_wrapped(out, titles[claim]);
    print_wrapped(out, claims->about[claim]);
    fputc('\n', out);
    effect_table(out, rows, count);
    fprintf(out,
            "\n%u comparisons: %u better, %u worse, %u none, %u undecided%s. Of %u things compared "
            "with themselves\nthe largest difference was %.2f %%; the smallest difference that any "
            "row could have shown is %.2f %%.\n",
            count - aa - missing, verdicts[EFFECT_BETTER], verdicts[EFFECT_WORSE],
            verdicts[EFFECT_NONE], verdicts[EFFECT_UNDECIDED], not_measured, aa, nothing,
            isfinite(least) ? least : 0);
    free(rows);
}

static void print_claims(FILE *out, const struct claims_report *report, bool all)
{
    const struct claims *claims = report->claims;
    char sentence[CLAIM_SENTENCE];
    fputc('\n', out);
    for (int i = 0; i < CLAIM_SENTENCES; i++) {
        claims_sentence(claims, i, sentence, sizeof(sentence));
        print_wrapped(out, sentence);
        fputc('\n', out);
    }
    for (unsigned claim = 1; claim <= CLAIM_LAST; claim++)
        print_claim(out, claims, claim, all);
    fputs(
        "\ngain: time saved, in per cent of the first of the two. *: the 95 % interval of the "
        "bootstrap over\nplacements excludes none, by Holm's correction over the claim's table. A "
        "gain no larger than what\ncomparing a thing with itself showed is neither better nor "
        "worse.\n",
        out);
    for (unsigned i = 0; i < claims->skipped_count; i++) {
        fputs(i ? "" : "\nNot tried:\n", out);
        print_wrapped(out, claims->skipped[i]);
    }
    fprintf(out, "Measured in %.0f s.\n", report->seconds);
}

void claims_print(FILE *out, const struct claims_report *report)
{
    print_claims(out, report, report->claims->full);
}

void claims_text(FILE *out, const void *content)
{
    const struct claims_report *report = content;
    table_machine(out, report->machine);
    print_claims(out, report, true);
}

/* --- JSON --------------------------------------------------------------------------------------
 */

static void json_string(FILE *out, const char *key, const char *value)
{
    fprintf(out, "\"%s\": ", key);
    text_json(out, value);
}

static void json_number(FILE *out, const char *key, double value)
{
    fprintf(out, ", \"%s\": ", key);
    text_json_number(out, value);
}

static void json_sample(FILE *out, const char *key, const struct sample *sample)
{
    fprintf(out, ", \"%s\": {\"n\": %u", key, sample->count);
    for (int i = 0; i < SAMPLE_FIGURES; i++)
        json_number(out, sample_name((enum sample_figure)i), sample->figure[i]);
    fputc('}', out);
}

static void json_row(FILE *out, const struct claim_row *row)
{
    const struct effect *e = &row->effect;
    fprintf(out, "\n    {\"claim\": %u, ", row->claim);
    json_string(out, "name", row->name);
    fputs(", ", out);
    json_string(out, "base", row->side[0].label);
    fputs(", ", out);
    json_string(out, "other", row->side[1].label);
    fprintf(out, ", \"aa\": %s, ", row->aa ? "true" : "false");
    json_string(out, "verdict", effect_verdict_name(e->verdict));
    json_number(out, "gain_percent", e->gain);
    json_number(out, "low", e->low);
    json_number(out, "high", e->high);
    json_number(out, "p", e->p);
    json_number(out, "p_holm", e->holm);
    json_number(out, "detectable_percent", e->detectable);
    json_number(out, "floor_percent", e->floor);
    fprintf(out, ", \"text_bytes\": [%u, %u], ", row->side[0].text, row->side[1].text);
    json_string(out, "note", row->note);
    json_sample(out, "base_figures", &row->sample[0]);
    json_sample(out, "other_figures", &row->sample[1]);
    fputs(",\n     \"blocks\": [", out);
    for (unsigned i = 0; i < row->count; i++)
        fprintf(out, "%s[%u, %.6g, %.6g]", i ? ", " : "", row->placement[i], row->ns[0][i],
                row->ns[1][i]);
    fputs("]}", out);
}

static void json_cost(FILE *out, const char *key, const struct kernel_cost *cost)
{
    fprintf(out, "%s\"%s\": {\"ns\": ", *key == 'f' && key[1] == 'o' ? "" : ", ", key);
    text_json_number(out, cost->ns);
    json_number(out, "faults", cost->faults);
    fputc('}', out);
}

static void json_kernel(FILE *out, const struct kernel_costs *kernel)
{
    fputs("  \"kernel\": {", out);
    json_cost(out, "fork", &kernel->fork);
    json_cost(out, "exec", &kernel->exec);
    json_cost(out, "shell", &kernel->shell);
    json_cost(out, "anon_fault", &kernel->anon_fault);
    json_cost(out, "file_fault", &kernel->file_fault);
    json_number(out, "tables", kernel->tables);
    fputs("},\n", out);
}

void claims_json(FILE *out, const void *content)
{
    const struct claims_report *report = content;
    const struct claims *claims = report->claims;
    char sentence[CLAIM_SENTENCE];
    fputs("{\n  \"format\": 1,\n  \"gain\": \"time saved, in per cent of the base\",\n  \"block\": "
          "[\"placement\", \"base, ns\", \"other, ns\"],\n",
          out);
    fprintf(out, "  \"run\": \"%s\", \"seconds\": %.1f,\n",
            claims->smoke  ? "smoke"
            : claims->full ? "full"
                           : "default",
            report->seconds);
    report_machine(out, report->machine);
    json_kernel(out, &claims->kernel);
    fputs("  \"sentences\": [", out);
    for (int i = 0; i < CLAIM_SENTENCES; i++) {
        claims_sentence(claims, i, sentence, sizeof(sentence));
        fputs(i ? ",\n    " : "\n    ", out);
        text_json(out, sentence);
    }
    fputs("\n  ],\n  \"not_tried\": [", out);
    for (unsigned i = 0; i < claims->skipped_count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        text_json(out, claims->skipped[i]);
    }
    fputs("\n  ],\n  \"comparisons\": [", out);
    for (unsigned i = 0; i < claims->count; i++) {
        if (i)
            fputc(',', out);
        json_row(out, &claims->rows[i]);
    }
    fputs("\n  ]\n}\n", out);
}

/* --- CSV ---------------------------------------------------------------------------------------
 */

static void csv_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, ",%.6g", value);
    else
        fputs(",-", out);
}

static void csv_row(FILE *out, const struct claim_row *row)
{
    const struct effect *e = &row->effect;
    fprintf(out, "%u,", row->claim);
    text_csv(out, row->name);
    fprintf(out, ",%s,%s,%d,%s", row->side[0].label, row->side[1].label, row->aa,
            effect_verdict_name(e->verdict));
    const double figures[] = {e->gain, e->low, e->high, e->holm, e->detectable, e->floor};
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        csv_number(out, figures[i]);
    fprintf(out, ",%u,%u,%u", row->side[0].text, row->side[1].text, row->count);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < SAMPLE_FIGURES; i++)
            csv_number(out, row->sample[side].figure[i]);
    fputc(',', out);
    text_csv(out, row->note);
    fputc(',', out);
    for (unsigned i = 0; i < row->count; i++)
        fprintf(out, "%s%u/%.6g/%.6g", i ? " " : "", row->placement[i], row->ns[0][i],
                row->ns[1][i]);
    fputc('\n', out);
}

void claims_csv(FILE *out, const void *content)
{
    const struct claims_report *report = content;
    fputs("claim,name,base,other,aa,verdict,gain_percent,low,high,p_holm,detectable_percent,"
          "floor_percent,base_text,other_text,n",
          out);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < SAMPLE_FIGURES; i++)
            fprintf(out, ",%s_%s", side ? "other" : "base", sample_name((enum sample_figure)i));
    fputs(",note,blocks (placement/base/other)\n", out);
    for (unsigned i = 0; i < report->claims->count; i++)
        csv_row(out, &report->claims->rows[i]);
}
