#!/bin/sh
# SPDX-License-Identifier: MIT
# Unpacks packages of the distribution into DIRECTORY, for one architecture, and installs nothing: a
# foreign architecture isn't added to the machine, and a package that brings a service starts none.
# apt keeps lists of its own meanwhile, so this needs no root. With --libraries come the libraries, but
# for libc, that the packages ask for by themselves. Does nothing when DIRECTORY is complete.
#
# usage: unpack.sh [--libraries] DIRECTORY ARCHITECTURE PACKAGE...
set -eu
libraries=
if [ "$1" = --libraries ]; then
    libraries=yes
    shift
fi
mkdir -p "$1"
directory=$(cd "$1" && pwd)
architecture=$2
shift 2
[ ! -e "$directory/complete" ] || exit 0

apt=$directory/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
: >"$apt/status"
cat >"$apt/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "$(id -un)";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
export APT_CONFIG="$apt/apt.conf"
apt-get -q update
if [ -n "$libraries" ]; then
    # shellcheck disable=SC2046 # a list
    set -- "$@" $(apt-cache depends "$@" | sed -n 's/^ *Depends: \(lib[a-z0-9.+-]*\)$/\1/p' |
        grep -v '^libc6$' | sort -u)
fi
cd "$apt/packages"
apt-get -q download "$@"
for package in *.deb; do
    dpkg-deb -x "$package" "$directory"
done
cd "$directory"
rm -rf "$apt"
: >complete
