#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks of a build folder, one after the other, on an otherwise idle machine.
#
# Usage: bench/run.sh BUILD_DIR [NAME...]     without names: every program <build>/bin/*_bench
set -u

build=$1
shift
[ $# -gt 0 ] || set -- $(cd "$build/bin" 2>/dev/null && ls -- *_bench 2>/dev/null)

printf 'commit   %s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)"
printf 'machine  %s, %s cores\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
printf 'kernel   %s\n' "$(uname -sr)"

status=0
for name in "$@"; do
    printf '\n=== %s\n' "$name"
    "$build/bin/$name" || status=1
done
exit $status
