#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the unit tests of an arm64 build and the first half of the demo: with QEMU's translation of system
# calls, and what that cannot do (not_emulated.txt) on a kernel that QEMU boots.
#
# Usage: tests/arm64/run.sh BUILD_DIR
set -euo pipefail
cd "$(dirname -- "$0")/../.."

build=$1
root=build/arm64-root
status=0

tests/arm64/emulate.sh $root tests/arm64/unit.sh "$build" || status=1

mapfile -t names < <(sed -n 's/^\([a-z][^ |]*\) *|.*/\1/p' tests/arm64/not_emulated.txt)
# Once for each program: its cases, as GoogleTest names them.
declare -A cases
for name in "${names[@]}"; do
    cases[${name%%.*}]+=${name#*.}:
done
commands="export HOME=/tmp TZ=UTC0; failed=0"
for program in "${!cases[@]}"; do
    path=$(find "$build/tests" -name "$program" -type f)
    commands+="; (cd ${path%/*} && ./$program --gtest_brief=1 --gtest_filter='${cases[$program]%:}') || failed=1"
done
tests/arm64/boot.sh $root "$commands; exit \$failed" || status=1

ASSAY_BIN=$(realpath -- "$build/bin") ASSAY_DEMO_CHAPTER=first \
    tests/arm64/emulate.sh $root deploy/demo/run.sh || status=1
exit $status
