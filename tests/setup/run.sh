#!/bin/sh
# SPDX-License-Identifier: MIT
# One case of cmake/setup.sh on a machine that is made up: its PATH holds stubs and a few plain
# tools. The stubs write down how they were called ($log), and a package that "is installed" is a
# line in $installed, which the stubs of tools and libraries look at.
#
# usage: run.sh DIRECTORY_OF_SETUP_SH CASE
# shellcheck disable=SC2016 # the bodies of stubs are expanded when they run
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin tree=$work/tree
log=$work/log installed=$work/installed out=$work/out
mkdir -p "$bin" "$tree/cmake"
cp "$1/setup.sh" "$1/test-summary.awk" "$tree/cmake/"
: >"$log"
: >"$installed"

all_apt="gcc libc6-dev g++ cmake ninja-build pkg-config mawk diffutils check libhwloc-dev libbenchmark-dev"
all_dnf="gcc glibc-devel gcc-c++ cmake ninja-build pkgconf-pkg-config gawk diffutils check-devel"
all_dnf="$all_dnf hwloc-devel google-benchmark-devel"

for tool in awk cat cp dirname env getconf grep mkdir mktemp rm sh sleep tr; do
    ln -s "$(command -v $tool)" "$bin/$tool"
done
mv "$bin/awk" "$bin/plain-awk"
printf '#!/bin/sh\n' >"$bin/true"
chmod +x "$bin/true"

# stub NAME BODY: a command that writes down its call, then runs BODY. What stood there is removed
# first: written through, a link would change the machine's own tool.
stub() {
    rm -f "$bin/$1"
    printf '#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' "$1" "$log" "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# brings PACKAGE NAME BODY: the command NAME appears with PACKAGE.
brings() {
    mkdir -p "$work/brings/$1"
    printf '#!/bin/sh\n%s\n' "$3" >"$work/brings/$1/$2"
    chmod +x "$work/brings/$1/$2"
}

install_stub='for package; do
    case $package in -*|install|*=*) continue ;; esac
    echo "$package" >>"'$installed'"
    [ ! -d "'$work'/brings/$package" ] || cp "'$work'/brings/$package/"* "'$bin'/"
done'

brings gcc cc 'exit 0'
brings g++ c++ 'exit 0'
brings gcc-c++ c++ 'exit 0'
brings cmake cmake 'echo "cmake $*" >>"'"$log"'"; echo "cmake version 3.25.1"'
brings ninja-build ninja 'exit 0'
brings mawk awk 'exec plain-awk "$@"'
brings gawk awk 'exec plain-awk "$@"'
brings diffutils diff 'exit 0'
brings gnuplot-nox gnuplot 'exit 0'
brings git git 'exit 0'
brings pkg-config pkg-config 'exit 1' # so that libraries are looked up as packages
brings pkgconf-pkg-config pkg-config 'exit 1'

# machine apt|dnf|other root|user
machine() {
    case $1 in
    apt)
        stub apt-get "case \" \$* \" in *' install '*) $install_stub ;; esac"
        stub apt-cache 'exit 0'
        stub dpkg-query 'for package; do :; done
            grep -qxF "$package" "'"$installed"'" && printf "install ok installed"'
        ;;
    dnf)
        stub dnf "$install_stub"
        stub rpm 'grep -qxF "$2" "'"$installed"'"'
        ;;
    esac
    case $2 in
    root) stub id 'echo 0' ;;
    user) stub id 'echo 1000' ;;
    esac
}

have() {
    for package; do
        echo "$package" >>"$installed"
        [ ! -d "$work/brings/$package" ] || cp "$work/brings/$package/"* "$bin/"
    done
}

# setup STATUS ARGUMENTS...: runs it, expecting that exit status.
setup() {
    want=$1
    shift
    status=0
    PATH=$bin sh "$tree/cmake/setup.sh" "$@" >"$out" 2>&1 || status=$?
    if [ "$status" != "$want" ]; then
        bad "exit status $status instead of $want"
    fi
}

bad() {
    echo "FAILED: $*" >&2
    echo "--- it printed:" >&2
    cat "$out" >&2
    echo "--- it called:" >&2
    cat "$log" >&2
    exit 1
}

says() {
    grep -qF -- "$1" "$out" || bad "it does not say '$1'"
}

called() {
    grep -qF -- "$1" "$log" || bad "it did not call '$1'"
}

not_called() {
    ! grep -qF -- "$1" "$log" || bad "it called '$1'"
}

case_nothing_missing() {
    machine apt root
    # shellcheck disable=SC2086 # a list
    have $all_apt
    setup 0 deps
    says "nothing is missing"
    not_called apt-get
}

case_everything_missing_apt() {
    machine apt root
    setup 0 deps
    says "setup.sh: installing by apt: $all_apt"
    called "apt-get -y -o DPkg::Lock::Timeout=600 install --no-install-recommends $all_apt"
    not_called update
}

case_everything_missing_dnf() {
    machine dnf root
    setup 0 deps
    called "dnf -y --setopt=install_weak_deps=False install $all_dnf"
}

case_one_missing() {
    machine apt root
    # shellcheck disable=SC2086,SC2046 # lists
    have $(echo $all_apt | sed 's/libhwloc-dev//')
    setup 0 deps
    says "missing: hwloc"
    called "install --no-install-recommends libhwloc-dev"
    grep -q 'recommends libhwloc-dev$' "$log" || bad "more than the missing one is installed"
}

case_old_cmake() {
    machine apt root
    # shellcheck disable=SC2086 # a list
    have $all_apt
    stub cmake 'echo "cmake version 3.18.4"'
    brings cmake cmake 'echo "cmake version 3.18.4"'
    setup 1 deps
    says "missing: CMake-3.25"
    says "still missing after installing: CMake-3.25"
}

case_no_package_lists() {
    machine apt root
    stub apt-cache "[ -e '$work/lists' ]"
    stub apt-get "case \" \$* \" in
        *' update '*) : >'$work/lists' ;;
        *' install '*) [ -e '$work/lists' ] || exit 100; $install_stub ;;
    esac"
    setup 0 deps
    called "DPkg::Lock::Timeout=600 update"
}

case_old_package_lists() {
    machine apt root
    stub apt-get "case \" \$* \" in
        *' update '*) : >'$work/lists' ;;
        *' install '*) [ -e '$work/lists' ] || exit 100; $install_stub ;;
    esac"
    setup 0 deps
    called "DPkg::Lock::Timeout=600 update"
}

case_lists_locked() {
    machine apt root
    stub sleep 'exit 0'
    stub apt-cache 'exit 100'
    stub apt-get "case \" \$* \" in
        *' update '*)
            [ -e '$work/tried' ] && exit 0
            : >'$work/tried'
            echo 'E: Could not get lock /var/lib/apt/lists/lock' >&2
            exit 100 ;;
        *' install '*) $install_stub ;;
    esac"
    setup 0 deps
    says "waiting for another package manager"
}

case_unknown_system() {
    machine other root
    setup 1 deps
    says "neither apt-get nor dnf is here"
    says "$all_apt"
}

case_unknown_system_complete() {
    machine other root
    # shellcheck disable=SC2086 # a list
    have $all_apt
    stub pkg-config 'exit 0'
    setup 0 deps
    says "nothing is missing"
}

case_no_install() {
    machine apt root
    for place in first last; do
        case $place in
        first) setup 1 --no-install test ;;
        last) setup 1 test --no-install ;;
        esac
        says "nothing is installed because of --no-install"
        says "$all_apt"
        not_called apt-get
    done
}

case_user_without_sudo() {
    machine apt user
    setup 1 deps
    says "installing needs root"
    says "$all_apt"
    not_called apt-get
}

case_user_with_refusing_sudo() {
    machine apt user
    stub sudo 'exit 1'
    setup 1 deps
    says "'sudo -n' does not work here"
    not_called apt-get
}

case_user_with_sudo() {
    machine apt user
    stub sudo 'shift; exec "$@"'
    setup 0 deps
    called "sudo -n env LC_ALL=C DEBIAN_FRONTEND=noninteractive"
    called "apt-get -y"
}

case_install_fails() {
    machine apt root
    stub apt-get 'echo "E: no space left"; exit 100'
    setup 1 test
    says "E: no space left"
    says "installing failed"
    not_called "cmake --preset"
}

case_update_fails() {
    machine apt root
    stub apt-cache 'exit 100'
    stub apt-get 'echo "E: no network"; exit 100'
    setup 1 deps
    says "E: no network"
    says "installing failed"
}

case_not_in_distribution() {
    machine dnf root
    brings git git 'exit 0'
    brings clang clang 'exit 0'
    brings clang-tools-extra clang-format 'exit 0'
    brings ShellCheck shellcheck 'exit 0'
    brings util-linux taskset 'exit 0'
    brings util-linux setpriv 'exit 0'
    brings qemu-user qemu-aarch64 'exit 0'
    brings qemu-user qemu-x86_64 'exit 0'
    brings lld ld.lld 'exit 0'
    brings libabigail abidiff 'exit 0'
    brings valgrind valgrind 'exit 0'
    setup 0 deps ci
    says "not in this distribution, left out: Spin aarch64-compiler"
}

case_no_verb() {
    machine apt root
    setup 2
    says "usage:"
    setup 1 frobnicate
    says "no verb is named 'frobnicate'"
    setup 1 deps frobnicate
    says "no group is named 'frobnicate'"
    setup 0 help
    says "usage:"
}

# ready: a machine where everything is there, whose ctest writes results $1 and exits with $2.
ready() {
    machine apt root
    # shellcheck disable=SC2086 # a list
    have $all_apt
    mkdir -p "$tree/build/release/bench"
    printf '%s' "$1" >"$work/results.xml"
    stub ctest "while [ \$1 != --output-junit ]; do shift; done
        cat '$work/results.xml' >\"\$2\"; exit $2"
}

results='
	<testcase name="counter.sum" status="run">
		<system-out>SKIP: no &lt;rseq&gt; here
</system-out>
	</testcase>
	<testcase name="copy.ermsb" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out>SKIP: this CPU has no ERMS</system-out>
	</testcase>
'

case_test_summary() {
    ready "$results" 0
    setup 0 test
    says "counter.sum: no <rseq> here"
    says "copy.ermsb: this CPU has no ERMS"
    says "1 passed, 0 failed, 1 skipped"
    called "cmake --preset release"
    called "cmake --build --preset release"
}

case_test_fails() {
    ready "$results	<testcase name=\"mm.fork\" status=\"fail\">
	</testcase>
" 8
    setup 1 test
    says "  mm.fork"
    says "1 passed, 1 failed, 1 skipped"
    says "setup.sh: test failed"
}

case_test_missing_program() {
    ready '	<testcase name="mm.fork" status="notrun">
		<skipped message="Unable to find executable"/>
	</testcase>
' 0
    setup 1 test
    says "0 passed, 1 failed, 0 skipped"
}

case_no_tests() {
    ready '' 0
    setup 1 test
    says "0 passed, 0 failed, 0 skipped"
}

case_build_fails() {
    ready "$results" 0
    stub cmake 'case $1 in
        --version) echo "cmake version 3.25.1" ;;
        --build) exit 2 ;;
    esac'
    setup 1 test
    says "setup.sh: build failed"
    not_called ctest
}

case_part_left_out() {
    ready "$results" 0
    stub cmake 'case $1 in
        --version) echo "cmake version 3.25.1" ;;
        --preset) echo "-- fastmm: tests are left out: Check was not found" ;;
    esac'
    setup 1 test
    says "setup.sh: configure failed"
    not_called ctest
}

# ready_to_bench STATUS: a machine whose scorecard ends with this status.
ready_to_bench() {
    ready "$results" 0
    have gnuplot-nox git
    stub fastmm-bench "exit $1"
    stub fastmm-bench-claims 'exit 0'
    mv "$bin/fastmm-bench" "$bin/fastmm-bench-claims" "$tree/build/release/bench/"
}

case_bench_passes_arguments() {
    ready_to_bench 3
    setup 1 bench full --report 'a dir'
    called "fastmm-bench full --report a dir"
    says "setup.sh: bench failed"
    not_called fastmm-bench-claims
}

case_bench_tries_the_claims() {
    ready_to_bench 0
    setup 0 bench full --report 'a dir'
    called "fastmm-bench-claims full --report a dir"
}

case_bench_of_some_goals_leaves_the_claims() {
    ready_to_bench 0
    setup 0 bench 'counter.*'
    called "fastmm-bench counter.*"
    setup 0 bench 'counter.*' --report 'a dir'
    setup 0 bench 'counter.*' '--report=a dir'
    not_called fastmm-bench-claims
}

case_bench_brings_gnuplot() {
    ready "$results" 0
    setup 1 bench
    says "missing: gnuplot Git"
    called "install --no-install-recommends gnuplot-nox git"
}

"case_$2"
