#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the single file: fastmm.h and fastmm.c in OUT, for who would rather add two files than a
# library.
#
# usage: amalgamate.sh CC TOP OUT SOURCE...
set -eu
cc=$1 top=$2 out=$3
shift 3
include=$top/include src=$top/src
mkdir -p "$out"
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
amalgamate() {
    awk -f "$top/cmake/amalgamate.awk" -v include="$include" -v src="$src" "$@"
}

license() {
    printf '/* SPDX-License-Identifier: MIT */\n/*\n'
    sed -e 's/^/ * /' -e 's/ *$//' "$top/LICENSE"
    printf ' */\n'
}

# Epochs and twins are pasted together by macros, so names are taken from what the preprocessor makes
# of the files, and those that only other architectures have from the text. What is a macro, and what
# is pasted, renames itself.
names() {
    cat "$work/body.h" "$work/body.c" |
        sed -n 's/^ *# *define \(fastmm_[a-z0-9_]*\).*/\1/p; s/.*FASTMM_[A-Z]*_NAME(\(fastmm_[a-z0-9_]*\).*/\1/p' |
        sort -u >"$work/not"
    {
        "$cc" -E -P "$work/fastmm.c"
        cat "$work/body.h" "$work/body.c"
    } | grep -o '\bfastmm_[a-z0-9_]*\b' | sort -u | comm -23 - "$work/not"
}

head_of_header() {
    sed 's/^/ * /; s/ *$//' <<'END' | { echo '/*'; cat; echo ' */'; }
The whole library in two files, made from its sources: read those to understand it. To build it,
compile fastmm.c, as C11 or later with GNU extensions, and link the result. Both files take these
macros, which must be the same wherever fastmm.h is included:

  FASTMM_ONLY_COUNTER, FASTMM_ONLY_COPY
      Leave out everything else; both together: keep both.
  FASTMM_PREFIX
      Put in front of every name, so that several copies can live in one program:
      -D FASTMM_PREFIX=mine_ makes fastmm_counter_add() a macro for mine_fastmm_counter_add().
  FASTMM_API
      What each exported function is declared with. Empty: as the compiler's -fvisibility says.
END
    cat <<'END'
#ifndef FASTMM_SINGLE_H
#define FASTMM_SINGLE_H

#if defined(FASTMM_ONLY_COUNTER) || defined(FASTMM_ONLY_COPY)
#    define FASTMM_HAVE_MM 0
#else
#    define FASTMM_HAVE_MM 1
#endif
#if FASTMM_HAVE_MM || defined(FASTMM_ONLY_COUNTER)
#    define FASTMM_HAVE_COUNTER 1
#else
#    define FASTMM_HAVE_COUNTER 0
#endif
#if FASTMM_HAVE_MM || defined(FASTMM_ONLY_COPY)
#    define FASTMM_HAVE_COPY 1
#else
#    define FASTMM_HAVE_COPY 0
#endif
END
}

renaming() {
    cat <<'END'

#ifdef FASTMM_PREFIX
#    define FASTMM_RENAME_PASTE(prefix, name) prefix##name
#    define FASTMM_RENAME(prefix, name)       FASTMM_RENAME_PASTE(prefix, name)
END
    sed 's/.*/#    define & FASTMM_RENAME(FASTMM_PREFIX, &)/' "$work/names"
    echo '#endif'
}

amalgamate "$include/fastmm.h" >"$work/body.h"
amalgamate -v header=fastmm.h "$@" >"$work/body.c"
{ head_of_header; cat "$work/body.h"; echo '#endif'; } >"$work/fastmm.h"
cp "$work/body.c" "$work/fastmm.c"
names >"$work/names"
{ license; head_of_header; renaming; cat "$work/body.h"; echo; echo '#endif'; } >"$work/fastmm.h"
{ license; cat "$work/body.c"; } >"$work/fastmm.c"
mv "$work/fastmm.h" "$work/fastmm.c" "$out"
