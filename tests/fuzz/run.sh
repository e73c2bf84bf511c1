#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs libFuzzer programs one after the other (preset fuzz).
#
# Usage: tests/fuzz/run.sh BUILD_DIR SECONDS [TARGET...]     without targets: all that are built
#
# Seeds come from tests/fuzz/corpus/TARGET and tests/vectors/regress/TARGET, a dictionary from
# tests/fuzz/dict/TARGET.dict; what is found new is kept in BUILD_DIR/corpus/TARGET. An input that
# fails lies in BUILD_DIR/crashes afterwards: put it into tests/vectors/regress/TARGET with the fix.
set -u
cd "$(dirname -- "$0")/../.." || exit 2

build=$1
seconds=$2
shift 2
if [ $# -eq 0 ]; then
    for program in "$build"/bin/*_fuzz; do
        [ ! -x "$program" ] || set -- "$@" "$(basename -- "$program" _fuzz)"
    done
fi

status=0
mkdir -p "$build/crashes"
for target in "$@"; do
    seeds=()
    for folder in tests/fuzz/corpus/$target tests/vectors/regress/$target; do
        [ ! -d "$folder" ] || seeds+=("$folder")
    done
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0
        -artifact_prefix="$build/crashes/$target-")
    [ ! -f "tests/fuzz/dict/$target.dict" ] || options+=(-dict="tests/fuzz/dict/$target.dict")
    mkdir -p "$build/corpus/$target"
    if "$build/bin/${target}_fuzz" "${options[@]}" "$build/corpus/$target" ${seeds[@]+"${seeds[@]}"} \
        >"$build/$target.log" 2>&1; then
        echo "$target: $(tail -n 1 "$build/$target.log")"
    else
        status=1
        echo "$target: FAILED, see $build/$target.log and $build/crashes" >&2
        tail -n 40 "$build/$target.log" >&2
    fi
done
exit $status
