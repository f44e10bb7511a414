#!/bin/sh
# SPDX-License-Identifier: MIT
# Unpacks Check for arm64, from the distribution's packages, into DIRECTORY. To install it the proper
# way would add a foreign architecture to the machine; here apt keeps lists of its own, beside the
# result, and the machine stays as it is. Does nothing when DIRECTORY is complete.
#
# usage: aarch64-check.sh DIRECTORY
set -eu
mkdir -p "$1"
directory=$(cd "$1" && pwd)
[ ! -e "$directory/complete" ] || exit 0

apt=$directory/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
: >"$apt/status"
cat >"$apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
export APT_CONFIG="$apt/apt.conf"
apt-get -q update
cd "$apt/packages"
apt-get -q download check libsubunit-dev
for package in *.deb; do
    dpkg-deb -x "$package" "$directory"
done
cd "$directory"
rm -rf "$apt"
: >complete
