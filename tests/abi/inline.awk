# SPDX-License-Identifier: MIT
# What of a header lands in callers' code: for each macro, inline function and struct a line
# "header kind name sum", and one for the conditions that choose among them. The sums are of the text
# without comments and without what white space there is. The version is meant to change.
#
# usage: awk -f inline.awk HEADER...

BEGIN {
    for (i = 1; i < 256; i++)
        code[sprintf("%c", i)] = i
}

# Without comments, of which one may go on from line to line.
function bare(line,    out, at) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (!at)
                return out
            line = substr(line, at + 2)
            in_comment = 0
        }
        at = index(line, "/*")
        if (!at)
            return out line
        out = out substr(line, 1, at - 1) " "
        line = substr(line, at + 2)
        in_comment = 1
    }
    return out
}

function sum_of(text,    sum, i, n) {
    gsub(/[ \t\\]+/, " ", text)
    gsub(/^ | $/, "", text)
    n = length(text)
    for (i = 1; i <= n; i++)
        sum = (sum * 257 + code[substr(text, i, 1)]) % 4294967291
    return sprintf("%08x", sum)
}

function finish() {
    if (name !~ /^FASTMM_VERSION_/)
        print header, kind, name, sum_of(text)
    kind = text = ""
}

function begin(what, called) {
    kind = what
    name = called
    text = ""
}

# The name before the first parenthesis.
function function_name(line) {
    sub(/\(.*/, "", line)
    sub(/.*[ *]/, "", line)
    return line
}

FNR == 1 {
    if (header != "")
        print header, "conditions", "-", sum_of(conditions)
    header = FILENAME
    sub(/.*\//, "", header)
    conditions = ""
}

{ line = bare($0) }

kind == "" && line ~ /^ *# *define / {
    begin("macro", line)
    sub(/^ *# *define /, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
}
kind == "" && line ~ /^ *# *(if|ifdef|ifndef|elif|else|endif)/ { conditions = conditions " " line }
kind == "" && line ~ /^(FASTMM_INLINE|static inline) / { begin("function", function_name(line)) }
kind == "" && line ~ /^struct [a-z0-9_]+ \{/ {
    split(line, words, " ")
    begin("struct", words[2])
}

kind != "" { text = text " " line }
kind == "macro" && line !~ /\\$/ { finish() }
kind == "function" && text !~ /\{/ && line ~ /;$/ { kind = "" } # declared only
(kind == "function" || kind == "struct") && line ~ /^\}/ { finish() }

END { print header, "conditions", "-", sum_of(conditions) }
