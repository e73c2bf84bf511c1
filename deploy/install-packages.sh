#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of the sections named (see debian-packages.txt) that are missing.
#
# Usage: deploy/install-packages.sh SECTION...      e.g. build test lint analysis fresh
#
# Silent when nothing is missing. Without root it prints the command to type and exits with 2.
set -eu

list=$(dirname -- "$0")/debian-packages.txt

if [ $# -eq 0 ]; then
    echo "usage: $0 SECTION...   (sections: $(sed -n 's/^\[\(.*\)\]$/\1/p' "$list" | tr '\n' ' '))" >&2
    exit 2
fi

packages_of() {
    awk -v section="[$1]" '
        /^\[/ { inside = ($0 == section); next }
        inside && NF && $1 !~ /^#/ { print $1 }' "$list"
}

wanted=""
for section in "$@"; do
    packages=$(packages_of "$section")
    if [ -z "$packages" ]; then
        echo "$0: no section [$section] in $list" >&2
        exit 2
    fi
    wanted="$wanted $packages"
done

# One query for all: a package that is unknown or removed has no line "install ok installed".
# shellcheck disable=SC2086  # the list is split on purpose
installed=$(dpkg-query -W -f='${Package} ${Status}\n' $wanted 2>/dev/null |
    sed -n 's/ install ok installed$//p') || true
missing=$(printf '%s\n' $wanted | sort -u | grep -vxF "${installed:-none}") || true
missing=$(echo $missing)

[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "Debian packages are missing. Run as root, then try again:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends -y $missing" >&2
    exit 2
fi

export DEBIAN_FRONTEND=noninteractive
# Wait for another apt instead of failing at its lock.
options="-q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3"
# shellcheck disable=SC2086  # so here and below
{
    echo "Installing Debian packages: $missing"
    # A foreign source that is out of reach must not stop what Debian's mirror can serve.
    apt-get $options update || echo "apt-get update failed; going on with the lists at hand"
    apt-get $options install -y --no-install-recommends $missing
} >&2
