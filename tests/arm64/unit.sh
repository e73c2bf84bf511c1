#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs each program of unit tests once, several at a time: a start of its own for each case, as ctest has
# it, takes most of the time in an emulator. Leaves out the cases of not_emulated.txt.
#
# Usage: tests/arm64/unit.sh BUILD_DIR [PROGRAM...]     what they say stays in BUILD_DIR/unit
set -euo pipefail

build=$(realpath -- "$1")
export build list
list=$(realpath -- "$(dirname -- "$0")/not_emulated.txt")
shift
mkdir -p "$build/unit"

run_program() {
    local path=$1 name=${1##*/} left_out log status=0 begin=$SECONDS
    log=$build/unit/$name.log
    left_out=$(sed -n "s/^$name\.\([^ |]*\) *|.*/\1/p" "$list" | paste -sd ':')
    (cd "${path%/*}" && timeout 3600 "./$name" --gtest_brief=1 --gtest_color=no \
        --gtest_filter="*${left_out:+-$left_out}") >"$log" 2>&1 || status=$?
    if [ $status -ne 0 ]; then
        grep -E '^\[  FAILED  \] .*[.]|: Failure$|Assertion' "$log" | sort -u | head -n 20
        tail -n 3 "$log"
        echo "$name: FAILED, status $status"
        return 1
    fi
    echo "$name: $(counted PASSED "$log") passed, $(counted SKIPPED "$log") skipped, $((SECONDS - begin)) s"
}
counted() { sed -n "s/^\[ *$1 *\] \([0-9]*\) tests\{0,1\}[.,].*/\1/p" "$2" | grep . || echo 0; }
export -f run_program counted

# Which programs hold unit tests, the build has noted beside them (assay_test).
mapfile -t programs < <(grep -rl 'LABELS "unit' --include='*_labels.cmake' "$build/tests" |
    sed 's/_labels\.cmake$//' | sort | grep -E "/($(printf '%s|' "${@:-.*}" | sed 's/|$//'))\$")
printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c 'run_program "$0"'
