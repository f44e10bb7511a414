# SPDX-License-Identifier: MIT
# Writes many C files as one.
#
# usage: awk -f amalgamate.awk -v include=DIR -v src=DIR [-v header=NAME] ROOT...
#
# Each root and what it includes from the two directories, each included file once, where it is first
# needed. With `header`, headers of the include directory are left to that one file.
#
# File scope is kept: a name that two sources define for themselves is given the source's own name as
# a suffix, and macros that a source defines end with it. A file between "#pragma" lines is compiled
# for the instruction set that src/copy/CMakeLists.txt names for it.

BEGIN {
    targets["avx2.c"] = "avx2"
    targets["avx512.c"] = "avx512f,avx512bw,avx512vl"
    # The walker's headers still grow in number, so what is not listed is its.
    parts["fastmm"] = parts["base"] = ""
    parts["counter"] = parts["bounded"] = parts["quota"] = "FASTMM_HAVE_COUNTER"
    parts["cpu"] = parts["copy"] = "FASTMM_HAVE_COPY"
    parts["mm"] = "FASTMM_HAVE_MM"

    for (i = 1; i < ARGC; i++)
        scan(ARGV[i], ARGV[i])
    if (header != "")
        print "#define _GNU_SOURCE\n#include \"" header "\""
    for (i = 1; i < ARGC; i++)
        source(ARGV[i])
}

function base(path) { sub(/.*\//, "", path); return path }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
function exists(path,    line, status) {
    status = (getline line < path)
    close(path)
    return status >= 0
}

# A file that is meant to be included several times, differently each time.
function is_template(path) { return base(path) == "vector.h" }

# The file that an #include line of `from` names, if it is one of ours.
function included(line, from,    name, path) {
    if (!match(line, /^[ \t]*#[ \t]*include[ \t]*[<"][^>"]*[>"]/))
        return ""
    name = substr(line, RSTART, RLENGTH)
    gsub(/^[^<"]*[<"]|[>"]$/, "", name)
    if (name ~ /^fastmm(\/|\.h)/)
        return include "/" name
    path = folder(from) "/" name
    if (exists(path))
        return path
    path = src "/" name
    return exists(path) ? path : ""
}

# Notes each name that the file, or a template in it, defines at file scope.
function scan(path, root,    line, name, inner) {
    while ((getline line < path) > 0) {
        inner = included(line, path)
        if (inner != "" && is_template(inner))
            scan(inner, root)
        name = ""
        if (match(line, /^(static|FASTMM_INLINE)[^(=;]*[A-Za-z0-9_]+(\[[^]]*\])?[ ]*[(=;]/)) {
            name = substr(line, RSTART, RLENGTH)
            sub(/(\[[^]]*\])?[ ]*[(=;]$/, "", name)
            sub(/.*[^A-Za-z0-9_]/, "", name)
        } else if (match(line, /^(struct|enum|union) [a-z0-9_]+ \{/)) {
            split(line, words, " ")
            name = words[2]
        } else if (match(line, /^\} [a-z0-9_]+\[[A-Za-z0-9_]*\] = \{/)) {
            name = line
            gsub(/^\} |\[.*/, "", name)
        } else if (match(line, /^typedef .* [a-z0-9_]+( __attribute__.*)?;$/)) {
            name = line
            sub(/( __attribute__.*)?;$/, "", name)
            sub(/.* /, "", name)
        } else if (match(line, /^typedef .* [a-z0-9_]+$/)) {
            name = line
            sub(/.* /, "", name)
        }
        if (name != "" && !((name, root) in defines)) {
            defines[name, root] = 1
            definers[name]++
        }
    }
    close(path)
}

# Words of code that are names of this root's own and of another's too get its suffix. Members keep
# theirs.
function renamed(line, root,    out, word, before, suffix) {
    suffix = base(root)
    sub(/\..*/, "", suffix)
    out = ""
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(line, RSTART, RLENGTH)
        before = substr(line, 1, RSTART - 1)
        out = out before word
        if (((word, root) in defines) && definers[word] > 1 && out !~ /(\.|->)[A-Za-z0-9_]*$/)
            out = out "_" suffix
        line = substr(line, RSTART + RLENGTH)
    }
    return out line
}

function emit(path, root,    line, inner, own, comment, macro) {
    if (path in done && !is_template(path))
        return
    done[path] = 1
    own = path == root || is_template(path)
    comment = 0
    while ((getline line < path) > 0) {
        if (line ~ /SPDX-License-Identifier/ || line ~ /^#[ ]*define _GNU_SOURCE/)
            continue
        inner = included(line, path)
        if (inner != "") {
            if (header == "" || inner !~ ("^" include "/"))
                guarded(inner, root)
            continue
        }
        if (line ~ /^[ ]*#[ ]*define / && own) {
            macro = line
            sub(/^[ ]*#[ ]*define /, "", macro)
            sub(/[^A-Za-z0-9_].*/, "", macro)
            macros[macro] = 1
        }
        if (line ~ /^[ ]*\/\*/)
            comment = 1
        print comment || !own ? line : renamed(line, root)
        if (line ~ /\*\//)
            comment = 0
    }
    close(path)
}

# A public header belongs to a part that can be left out.
function guarded(path, root,    part, name) {
    if (path in done && !is_template(path))
        return
    name = base(path)
    sub(/(_inline|_rseq)?\.h$/, "", name)
    part = ""
    if (path ~ ("^" include "/fastmm/"))
        part = name in parts ? parts[name] : parts["mm"]
    if (part != "")
        print "#if " part
    emit(path, root)
    if (part != "")
        print "#endif"
}

function source(path,    target, part, macro, name) {
    if (path in done)
        return
    name = base(path)
    part = path ~ ("^" src "/") ? base(folder(path)) : ""
    part = part in parts ? parts[part] : ""
    target = header != "" && (name in targets) ? targets[name] : ""
    print "\n/* ---- " name " ---- */\n"
    if (part != "")
        print "#if " part
    if (target != "") {
        print "#if defined(__x86_64__) && defined(__clang__)"
        print "#pragma clang attribute push(__attribute__((target(\"" target "\"))), apply_to = function)"
        print "#elif defined(__x86_64__)"
        print "#pragma GCC push_options\n#pragma GCC target(\"" target "\")\n#endif"
    }
    split("", macros)
    emit(path, path)
    if (header != "")
        for (macro in macros)
            print "#undef " macro
    if (target != "") {
        print "#if defined(__x86_64__) && defined(__clang__)\n#pragma clang attribute pop"
        print "#elif defined(__x86_64__)\n#pragma GCC pop_options\n#endif"
    }
    if (part != "")
        print "#endif"
}
