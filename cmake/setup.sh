#!/bin/sh
# SPDX-License-Identifier: MIT
# From a machine that has nothing to results, in one command. POSIX sh, because that is all such a
# machine has.
set -eu

usage() {
    cat <<'END'
usage: sh cmake/setup.sh [--no-install] VERB [ARGUMENT...]

  bench [ARGUMENT...]  install what is missing, build everything in build/release, and run the
                       benchmarks: the scorecard, then the claims; arguments go to fastmm-bench, and
                       `full` and --report to both (goals that are named run alone)
  test [ARGUMENT...]   the same, but run the tests; arguments go to ctest
  deps [GROUP...]      only install: groups `build` (the default), `bench`, `peers` and `ci`
  peers                only install the optional rivals that the benchmarks compare with
  help                 this text

Packages come from apt-get (Debian 12 and later, Ubuntu 24.04) or dnf (Fedora). The package manager
is touched only when something is missing, and never with --no-install; without root it is run by
`sudo -n`. No service is installed or started.
END
}

fail() {
    echo "setup.sh: $*" >&2
    exit 1
}

# What each group needs, one a line: a name, how to see that it is here, the packages that bring it
# for apt and for dnf (joined by commas; "-" where the distribution has none).
requirements() {
    case $1 in
    build)
        cat <<'END'
C-compiler        compiles:c        gcc,libc6-dev     gcc,glibc-devel
C++-compiler      compiles:c++      g++               gcc-c++
CMake-3.25        cmake:3.25        cmake             cmake
Ninja             tool:ninja        ninja-build       ninja-build
pkg-config        tool:pkg-config   pkg-config        pkgconf-pkg-config
awk               tool:awk          mawk              gawk
diff              tool:diff         diffutils         diffutils
Check             lib:check         check             check-devel
hwloc             lib:hwloc         libhwloc-dev      hwloc-devel
Google-Benchmark  lib:benchmark     libbenchmark-dev  google-benchmark-devel
END
        ;;
    bench)
        cat <<'END'
gnuplot           tool:gnuplot      gnuplot-nox       gnuplot-minimal
Git               tool:git          git               git
END
        ;;
    peers)
        cat <<'END'
liburcu           lib:liburcu       liburcu-dev       userspace-rcu-devel
DPDK              lib:libdpdk       libdpdk-dev       dpdk-devel
END
        ;;
    ci)
        cat <<'END'
Git               tool:git          git               git
Clang             tool:clang        clang             clang
clang-format      tool:clang-format clang-format      clang-tools-extra
fuzzer            fuzzes            libclang-rt-dev   compiler-rt
lld               tool:ld.lld       lld               lld
ShellCheck        tool:shellcheck   shellcheck        ShellCheck
Spin              tool:spin         spin              -
abidiff           tool:abidiff      abigail-tools     libabigail
jemalloc          lib:jemalloc      libjemalloc-dev   jemalloc-devel
taskset           tool:taskset      util-linux        util-linux
setpriv           tool:setpriv      util-linux        util-linux
aarch64-compiler  tool:aarch64-linux-gnu-gcc  gcc-aarch64-linux-gnu,libc6-dev-arm64-cross  -
aarch64-emulator  tool:qemu-aarch64 qemu-user         qemu-user
x86-64-emulator   tool:qemu-x86_64  qemu-user         qemu-user
Valgrind          tool:valgrind     valgrind          valgrind
END
        ;;
    *) fail "no group is named '$1' (build, bench, peers, ci)" ;;
    esac
}

# Does this compiler make programs? A compiler without the C library's headers doesn't.
compiles() {
    case $1 in
    c) source='#include <stdio.h>' candidates="${CC:-} cc gcc clang" ;;
    *) source='#include <cstdio>' candidates="${CXX:-} c++ g++ clang++" ;;
    esac
    scratch=$(mktemp -d)
    found=1
    for compiler in $candidates; do
        if printf '%s\nint main(void) { return 0; }\n' "$source" |
            "$compiler" -x "$1" - -o "$scratch/program" >/dev/null 2>&1; then
            found=0
            break
        fi
    done
    rm -rf "$scratch"
    return $found
}

# Does clang have the runtimes of its fuzzer and its sanitizers?
fuzzes() {
    scratch=$(mktemp -d)
    found=0
    printf '%s\n' 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n);' \
        'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }' |
        clang -fsanitize=fuzzer,address -x c - -o "$scratch/program" >/dev/null 2>&1 || found=1
    rm -rf "$scratch"
    return $found
}

# Is the cmake that would run at least version $1 (MAJOR.MINOR)?
cmake_is() {
    command -v cmake >/dev/null 2>&1 || return 1
    cmake --version | awk -v want="$1" '
        NR == 1 {
            split(want, w, "."); split($3, h, ".")
            exit !(h[1] > w[1] || (h[1] == w[1] && h[2] >= w[2]))
        }'
}

# Is the library $1 here, or else each of the packages $2?
library_is_here() {
    if command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "$1" 2>/dev/null; then
        return 0
    fi
    for package in $(words "$2"); do
        package_is_here "$package" || return 1
    done
}

package_is_here() {
    case $manager in
    apt) [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ] ;;
    dnf) rpm -q "$1" >/dev/null 2>&1 ;;
    *) return 1 ;;
    esac
}

words() {
    echo "$1" | tr ',' ' '
}

# is_here PROBE PACKAGES
is_here() {
    case $1 in
    compiles:*) compiles "${1#compiles:}" ;;
    cmake:*) cmake_is "${1#cmake:}" ;;
    fuzzes) fuzzes ;;
    tool:*) command -v "${1#tool:}" >/dev/null 2>&1 ;;
    lib:*) library_is_here "${1#lib:}" "$2" ;;
    esac
}

# look_for GROUP...: sets $missing to the names that are not here, $packages to what brings them, and
# $nowhere to those that this distribution doesn't have.
look_for() {
    missing='' packages='' nowhere=''
    list=$(for group in "$@"; do requirements "$group"; done)
    while read -r name probe apt dnf; do
        case $manager in
        dnf) wanted=$dnf ;;
        *) wanted=$apt ;;
        esac
        is_here "$probe" "$wanted" && continue
        missing="$missing $name"
        if [ "$wanted" = - ]; then
            nowhere="$nowhere $name"
        else
            for package in $(words "$wanted"); do
                case " $packages " in
                *" $package "*) ;;
                *) packages="$packages $package" ;;
                esac
            done
        fi
    done <<END
$list
END
    missing=${missing# } packages=${packages# } nowhere=${nowhere# }
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

apt_get() {
    as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l \
        apt-get -y -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# The lists have a lock of their own, for which apt-get does not wait.
apt_update() {
    tries=0
    log=$(mktemp)
    until apt_get update >"$log" 2>&1; do
        tries=$((tries + 1))
        if [ $tries -ge 60 ] || ! grep -q 'Could not get lock' "$log"; then
            cat "$log" >&2
            rm -f "$log"
            return 1
        fi
        [ $tries != 1 ] || echo "waiting for another package manager to finish"
        sleep 10
    done
    cat "$log"
    rm -f "$log"
}

install_by_apt() {
    updated=no
    for package in "$@"; do
        if [ $updated = no ] && ! apt-cache show "$package" >/dev/null 2>&1; then
            apt_update || return 1
            updated=yes
        fi
    done
    apt_get install --no-install-recommends "$@" && return 0
    # An old list names files that are gone.
    [ $updated = no ] || return 1
    apt_update && apt_get install --no-install-recommends "$@"
}

install_by_dnf() {
    as_root dnf -y --setopt=install_weak_deps=False install "$@" </dev/null
}

# deps GROUP...: installs what is missing of these groups, and sees that it is there afterwards.
deps() {
    look_for "$@"
    if [ -z "$missing" ]; then
        echo "setup.sh: nothing is missing ($*)"
        return 0
    fi
    echo "setup.sh: missing: $missing"
    [ -z "$nowhere" ] || echo "setup.sh: not in this distribution, left out: $nowhere"
    [ -n "$packages" ] || return 0
    if [ $install = no ]; then
        fail "nothing is installed because of --no-install; these packages would be: $packages"
    fi
    case $manager in
    none)
        fail "neither apt-get nor dnf is here; install what brings this, by Debian's names: $packages"
        ;;
    esac
    if [ "$(id -u)" != 0 ] && ! sudo -n true </dev/null >/dev/null 2>&1; then
        fail "installing needs root, and 'sudo -n' does not work here; have root install: $packages"
    fi
    echo "setup.sh: installing by $manager: $packages"
    # shellcheck disable=SC2086 # a list
    "install_by_$manager" $packages || fail "installing failed: $packages"

    skipped=$nowhere
    look_for "$@"
    [ "$missing" = "$skipped" ] || fail "still missing after installing: $missing"
    fresh=--fresh # what an earlier configuration did not find, it must look for again
}

# step NAME COMMAND...: says what it does, and which step it was that failed.
step() {
    name=$1
    shift
    echo "setup.sh: $name"
    "$@" || fail "$name failed"
}

# A part that is left out although all that it needs is here would be a silent failure.
configure() {
    mkdir -p build
    log=build/configure.log
    status=0
    # shellcheck disable=SC2086 # empty, or one word
    cmake --preset release $fresh >$log 2>&1 || status=$?
    cat $log
    [ $status = 0 ] || return 1
    ! grep -E '^-- fastmm: [^:]*(tests|benchmarks|tools)[^:]* left out' $log >&2
}

# build [GROUP...]: with what these groups need beside it.
build() {
    deps build "$@"
    step configure configure
    step build cmake --build --preset release
}

verb_bench() {
    build bench
    step bench build/release/bench/fastmm-bench "$@"
    case $#,${1:-},${2:-} in
    0,* | 1,default, | 1,full, | 1,--report=* | 2,--report,* | \
        2,default,--report=* | 2,full,--report=* | 3,default,--report | 3,full,--report)
        step claims build/release/bench/fastmm-bench-claims "$@"
        ;;
    esac
}

verb_test() {
    build
    results=build/release/tests.xml
    rm -f $results
    echo "setup.sh: test: ctest --preset release $*"
    status=0
    ctest --preset release -j "$(getconf _NPROCESSORS_ONLN)" \
        --output-junit "$PWD/$results" --test-output-size-passed 1000000 "$@" || status=$?
    [ -f $results ] || fail "test failed: ctest wrote no results (exit status $status)"
    awk -f cmake/test-summary.awk $results || fail "test failed"
    [ $status = 0 ] || fail "test failed: ctest's exit status was $status"
}

# Kept apart from the verb's own arguments wherever it stands.
install=yes
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
    --no-install) install=no ;;
    *) set -- "$@" "$argument" ;;
    esac
    count=$((count - 1))
done

if [ $# = 0 ]; then
    usage >&2
    exit 2
fi
verb=$1
shift

if command -v apt-get >/dev/null 2>&1; then
    manager=apt
elif command -v dnf >/dev/null 2>&1; then
    manager=dnf
else
    manager=none
fi
fresh=

cd "$(dirname "$0")/.."
case $verb in
bench) verb_bench "$@" ;;
test) verb_test "$@" ;;
deps)
    [ $# != 0 ] || set -- build
    deps "$@"
    ;;
peers) deps peers ;;
help | -h | --help) usage ;;
*)
    usage >&2
    fail "no verb is named '$verb'"
    ;;
esac
