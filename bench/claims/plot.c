/* SPDX-License-Identifier: MIT */
/* One picture for each claim: every comparison's gain with its interval, and what A/A made. */
#define _GNU_SOURCE
#include "output.h"

#include "harness/report.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct picture {
    const struct claims *claims;
    unsigned claim;
    const char *svg;
};

static bool is_shown(const struct claim_row *row, unsigned claim)
{
    return row->claim == claim && isfinite(row->effect.low) && isfinite(row->effect.high);
}

/*
 * In gnuplot's strings a per cent sign is a format, and a backtick starts a shell. Names have
 * neither, but for the one of the user's command, which is a path.
 */
static void print_label(FILE *out, const struct claim_row *row)
{
    fputc('"', out);
    for (const char *c = row->name; *c; c++)
        fputc(isalnum((unsigned char)*c) || strchr("._/:+-", *c) ? *c : '_', out);
    fprintf(out, " %s%+.2f %s\"", row->aa ? "(A/A) " : "", row->effect.gain,
            effect_verdict_name(row->effect.verdict));
}

enum { KINDS = EFFECT_UNDECIDED + 2 }; /* the verdicts, and A/A */

/* The rows of one kind; returns how many. */
static unsigned print_rows(FILE *out, const struct picture *picture, int wanted)
{
    unsigned line = 0, printed = 0;
    for (unsigned i = 0; i < picture->claims->count; i++) {
        const struct claim_row *row = &picture->claims->rows[i];
        if (!is_shown(row, picture->claim))
            continue;
        line++;
        int kind = row->aa ? KINDS - 1 : (int)row->effect.verdict;
        if (kind != wanted)
            continue;
        fprintf(out, "%.6g %u %.6g %.6g\n", row->effect.gain, line, row->effect.low,
                row->effect.high);
        printed++;
    }
    return printed;
}

static void print_plot(FILE *out, const struct picture *picture)
{
    static const char *const names[KINDS] = {"better", "worse", "none", "undecided", "A/A"};
    static const char *const colours[KINDS] = {"#1b7837", "#b2182b", "#4d4d4d", "#999999",
                                               "#2166ac"};
    unsigned printed[KINDS];
    const char *separator = "plot ";
    for (int kind = 0; kind < KINDS; kind++) {
        fprintf(out, "$kind%d << end\n", kind);
        printed[kind] = print_rows(out, picture, kind);
        fputs("end\n", out);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (!printed[kind])
            continue;
        fprintf(out, "%s$kind%d using 1:2:3:4 with xerrorbars pt 7 ps 0.5 lc rgb '%s' title '%s'",
                separator, kind, colours[kind], names[kind]);
        separator = ", ";
    }
    fputc('\n', out);
}

static void print_script(FILE *out, const void *content)
{
    const struct picture *picture = content;
    unsigned rows = 0;
    for (unsigned i = 0; i < picture->claims->count; i++)
        rows += is_shown(&picture->claims->rows[i], picture->claim);
    fprintf(
        out,
        "set terminal svg size 1100,%u noenhanced font 'sans-serif,11' background 'white'\n"
        "set output '%s'\n"
        "set title 'Claim %u: time saved, per cent of the base, with 95 %% intervals'\n"
        "set xlabel 'gain, %%'\nset grid x\nset xzeroaxis\nset arrow from 0, graph 0 to 0, graph "
        "1 nohead lc 'black'\nset yrange [%u:0]\nset key below samplen 2\nset bmargin 6\nset ytics "
        "(",
        140 + 16 * rows, picture->svg, picture->claim, rows + 1);
    for (unsigned i = 0, line = 0; i < picture->claims->count; i++)
        if (is_shown(&picture->claims->rows[i], picture->claim)) {
            fprintf(out, "%s\\\n", line ? "," : "");
            print_label(out, &picture->claims->rows[i]);
            fprintf(out, " %u", ++line);
        }
    fputs(")\n", out);
    print_plot(out, picture);
}

static int run_gnuplot(const char *directory, const char *script, char *error, size_t size)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (chdir(directory) == 0)
            execlp("gnuplot", "gnuplot", script, (char *)NULL);
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        snprintf(error, size, "gnuplot can't be started: %s", strerror(errno));
        return -errno;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    bool missing = WIFEXITED(status) && WEXITSTATUS(status) == 127;
    snprintf(error, size, missing ? "gnuplot is not here" : "gnuplot failed on %s/%s", directory,
             script);
    return missing ? -ENOENT : -EIO;
}

static bool any_shown(const struct claims *claims, unsigned claim)
{
    for (unsigned i = 0; i < claims->count; i++)
        if (is_shown(&claims->rows[i], claim))
            return true;
    return false;
}

int claims_plot(const char *directory, const struct claims_report *report, char *error, size_t size)
{
    char plots[4096];
    snprintf(plots, sizeof(plots), "%s/claims", directory);
    int status = report_directory(plots, error, size);
    for (unsigned claim = 1; claim <= CLAIM_LAST && !status; claim++) {
        char script[32], svg[32];
        if (!any_shown(report->claims, claim))
            continue;
        snprintf(script, sizeof(script), "claim%u.gnuplot", claim);
        snprintf(svg, sizeof(svg), "claim%u.svg", claim);
        const struct picture picture = {report->claims, claim, svg};
        status = report_file(plots, script, print_script, &picture, error, size);
        if (!status)
            status = run_gnuplot(plots, script, error, size);
    }
    return status;
}
