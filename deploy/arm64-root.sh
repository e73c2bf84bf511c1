#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a folder with Debian's arm64 libraries and headers, for a compiler and an emulator to look into:
# the packages -dev and -headers of [build] and [test], and what they depend on. With them come a kernel
# and a shell (tests/arm64/boot.sh).
#
# Usage: deploy/arm64-root.sh FOLDER
#
# apt resolves, downloads and verifies with a state of its own, from the archives that it uses on this
# machine; dpkg-deb unpacks. No package of this machine changes and no root is needed. The folder is made
# again when the list of packages or this script changes.
set -euo pipefail

folder=$(realpath -m -- "$1")
here=$(cd -- "$(dirname -- "$0")" && pwd)

# intel-ipsec-mb is for x86 alone. The first three are what every program needs.
packages=(libc6-dev libstdc++6 libgcc-s1)
mapfile -t -O 3 packages < <(awk '
    /^\[/ { inside = ($0 == "[build]" || $0 == "[test]"); next }
    inside && /(-dev|-headers)$/ && $1 != "libipsec-mb-dev" { print $1 }' "$here/debian-packages.txt")

wanted=$({ printf '%s\n' "${packages[@]}"; cat "$0"; } | sha256sum)
[ "$(cat "$folder/.made-from" 2>/dev/null)" != "$wanted" ] || exit 0

work=$folder.new
rm -rf "$work"
mkdir -p "$work"/apt/{lists,archives}/partial "$work"/apt/parts "$work"/files/usr/lib
: >"$work/apt/status"

# shellcheck disable=SC2016  # apt's own placeholders
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
    grep -E '/debian(-security)?/? [a-z]+(-updates|-security)? ' | sort -u >"$work/apt/sources.list" || true
if [ ! -s "$work/apt/sources.list" ]; then
    echo "$0: apt has no lists of a Debian archive: apt-get update" >&2
    exit 2
fi

options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Acquire::Retries=3
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o Dir::State="$work/apt"
    -o Dir::State::status="$work/apt/status" -o Dir::State::lists="$work/apt/lists"
    -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts="$work/apt/parts"
    -o Dir::Cache="$work/apt" -o Dir::Cache::archives="$work/apt/archives")
echo "Unpacking Debian's arm64 packages: ${packages[*]}"
apt-get "${options[@]}" update >"$work/log"
apt-get "${options[@]}" install -y --no-install-recommends --download-only "${packages[@]}" >>"$work/log" ||
    { tail -n 20 "$work/log" >&2; exit 1; }
# Without the tools that would install them.
kernel=$(apt-cache "${options[@]}" depends linux-image-arm64 | sed -n 's/^ *Depends: //p' | head -n 1)
(cd "$work/apt/archives" && apt-get "${options[@]}" download "$kernel" busybox-static >>"$work/log")

ln -s usr/lib "$work/files/lib"
for package in "$work"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/files" --keep-directory-symlink --no-same-owner \
        --exclude './usr/share/doc' --exclude './usr/share/locale' --exclude './usr/share/man' --wildcards \
        --exclude './lib/modules/*/kernel/[as]*' --exclude './lib/modules/*/kernel/drivers/[!v]*'
done
# A link to /lib/... means the folder's, not this machine's.
find "$work/files" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfnr "$work/files$(readlink "$link")" "$link"
done

printf '%s\n' "$wanted" >"$work/files/.made-from"
rm -rf "$folder"
mv "$work/files" "$folder"
rm -rf "$work"
