# SPDX-License-Identifier: MIT
# Reads the file that `ctest --output-junit` wrote: names each skip with its reason, then closes with
# "N passed, N failed, N skipped", counted in entries of CTest. A program of many cases may skip some
# and pass as a whole; those cases are named all the same, as the lines "SKIP: reason" of its output.
# What a tool complained of before it asked to be skipped is the reason, too.
# Lines "FIGURE: text" of any output are shown, since a figure that nobody sees was not measured.

function plain(text) {
    gsub(/&lt;/, "<", text)
    gsub(/&gt;/, ">", text)
    gsub(/&quot;/, "\"", text)
    gsub(/&apos;/, "'", text)
    gsub(/&amp;/, "\\&", text)
    return text
}

function attribute(line, key) {
    if (!match(line, " " key "=\"[^\"]*\""))
        return ""
    return plain(substr(line, RSTART + length(key) + 3, RLENGTH - length(key) - 4))
}

/^\t<testcase / {
    name = attribute($0, "name")
    status = attribute($0, "status")
    message = complaint = ""
    count = 0
}

/^\t\t<skipped / { message = attribute($0, "message") }

{
    line = $0
    sub(/^\t\t<system-out>/, "", line)
    sub(/<\/system-out>$/, "", line)
    if (line ~ /^SKIP: /)
        reasons[count++] = plain(substr(line, 7))
    if (line ~ /^fastmm: /) {
        complaint = plain(line)
        sub(/^.*: /, "", complaint)
    }
    if (line ~ /^FIGURE: /)
        figures[++figure_lines] = name ": " plain(substr(line, 9))
}

# CTest calls "notrun" both what asked to be skipped and what could not be started.
/^\t<\/testcase>/ {
    if (status == "run") {
        passed++
    } else if (status == "disabled" || (status == "notrun" && message ~ /^SKIP_/)) {
        skipped++
        if (count == 0)
            reasons[count++] = status == "disabled" ? "disabled" : complaint ? complaint : "no reason given"
    } else {
        failed++
        failures[failed] = name
        count = 0
    }
    for (i = 0; i < count; i++) {
        skip = name ": " reasons[i]
        if (!times[skip]++)
            skips[++skip_lines] = skip
    }
}

END {
    if (figure_lines)
        print "figures:"
    for (i = 1; i <= figure_lines; i++)
        print "  " figures[i]
    if (skip_lines)
        print "skipped here, with the reason:"
    for (i = 1; i <= skip_lines; i++)
        print "  " skips[i] (times[skips[i]] > 1 ? " (" times[skips[i]] " times)" : "")
    if (failed)
        print "failed:"
    for (i = 1; i <= failed; i++)
        print "  " failures[i]
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed || passed + skipped == 0
}
