#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proves that a bare Debian 12 is enough: makes one in a folder (debootstrap, minbase), clones HEAD
# into it, types the commands of docs/getting-started.md, runs `make demo` and `make test`, and types
# docs/installing.md, as root.
#
# Usage: deploy/fresh.sh [COMMAND...]        other commands to run in the clone, each one argument
#
# Packages come from the mirrors, proxies and keys that apt uses on this machine. Needs root and
# debootstrap, some 6 GB below ${TMPDIR:-/var/tmp}, and mounts nothing where that is not permitted. The
# base system is kept as a tarball in ${XDG_CACHE_HOME:-~/.cache}/assay for 14 days; nothing else stays.
set -euo pipefail
cd "$(dirname -- "$0")/.."

suite=bookworm
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay/$suite-minbase.tar.gz
[ $# -gt 0 ] || set -- "tests/e2e/walk.sh docs/getting-started.md && git clean -fdq" "make demo" "make test" \
    tests/packages/installed.sh

if [ "$(id -u)" -ne 0 ]; then
    echo "deploy/fresh.sh needs root: it makes a system of its own and changes into it" >&2
    exit 2
fi
if ! command -v debootstrap >/dev/null; then
    echo "debootstrap is missing: deploy/install-packages.sh fresh" >&2
    exit 2
fi

# Mounts in a namespace of our own cannot outlive us, however we end.
if [ -z "${ASSAY_FRESH_UNSHARED:-}" ] && unshare --mount true 2>/dev/null; then
    ASSAY_FRESH_UNSHARED=1 exec unshare --mount --propagation private -- "$0" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/var/tmp}/assay-fresh.XXXXXX")
root=$work/root
mounted=()

cleanup() {
    local status=$? i
    trap - EXIT INT TERM HUP
    for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
        umount "${mounted[i]}" 2>/dev/null || umount -l "${mounted[i]}" || true
    done
    # Never across a mount that could not be removed.
    rm -rf --one-file-system "$work" || true
    exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

timed() {
    local name=$1 from=$SECONDS status=0
    shift
    "$@" || status=$?
    durations+=$(printf '%-45s %5d s%s' "$name" $((SECONDS - from)) \
        "$([ $status -eq 0 ] || echo '  FAILED')")$'\n'
    return $status
}
durations=""

# "URI suite component" of each Debian archive that apt uses here.
archives() {
    # shellcheck disable=SC2016  # apt's own placeholders
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
        grep -E "/debian(-security)?/? $suite(-updates|-security)? " | sort -u
}

proxy_variables() {
    env | grep -iE '^(http|https|ftp|all|no)_proxy=' || true
}

make_base() {
    local mirror proxy=""
    if [ -n "$(find "$cache" -mtime -14 2>/dev/null)" ]; then
        mkdir -p "$root"
        tar -xzf "$cache" -C "$root" --numeric-owner
        return
    fi
    mirror=$(archives | awk -v suite=$suite '$2 == suite { print $1; exit }')
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    env ${proxy:+http_proxy="$proxy"} debootstrap --variant=minbase $suite "$root" \
        "${mirror:-http://deb.debian.org/debian}" >"$work/debootstrap.log" 2>&1 ||
        { tail -n 30 "$work/debootstrap.log" "$root/debootstrap/debootstrap.log" >&2; return 1; }
    rm -f "$root"/var/cache/apt/archives/*.deb
    mkdir -p "${cache%/*}"
    tar -czf "$cache.new" -C "$root" --numeric-owner --one-file-system .
    mv "$cache.new" "$cache"
}

# The new system's apt works as this machine's: archives, keys, proxies, certificate authorities.
configure_apt() {
    local list=$root/etc/apt/sources.list
    archives | sed 's/^/deb /' >"$list"
    if [ ! -s "$list" ]; then
        cp /etc/apt/sources.list "$list" 2>/dev/null || true
        cp -a /etc/apt/sources.list.d/. "$root/etc/apt/sources.list.d/"
    fi
    apt-config dump | grep -E '^Acquire::.*"' >"$root/etc/apt/apt.conf.d/90host" || true
    mkdir -p "$root/usr/share/keyrings" "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
    cp -a /etc/apt/trusted.gpg.d/. "$root/etc/apt/trusted.gpg.d/"
    cp -n /usr/share/keyrings/* "$root/usr/share/keyrings/" 2>/dev/null || true
    [ ! -e /etc/ssl/certs/ca-certificates.crt ] ||
        cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
}

# Only in a mount namespace of our own: unmounting a bound /dev must never reach the real one.
try_mount() {
    local target=$root/${*: -1}
    mkdir -p "$target"
    if [ -n "${ASSAY_FRESH_UNSHARED:-}" ] && mount "${@:1:$#-1}" "$target" 2>/dev/null; then
        mounted+=("$target")
    else
        echo "not permitted to mount ${*: -1}; going on without" >&2
    fi
}

mount_kernel_views() {
    try_mount -t proc proc proc
    try_mount --rbind /sys sys
    try_mount --rbind /dev dev
}

inside() {
    local variables
    mapfile -t variables < <(proxy_variables)
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        "${variables[@]}" /bin/bash -c "$1"
}

timed base make_base
configure_apt
mount_kernel_views
git clone --quiet --no-hardlinks . "$root/assay"
# What a person types on it before the first `make`.
timed prepare inside "apt-get update -q >/dev/null &&
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends make git >/dev/null"

status=0
for command in "$@"; do
    echo "=== $command"
    timed "$command" inside "cd /assay && $command" || { status=1; break; }
done
printf '\n%s' "$durations"
exit $status
