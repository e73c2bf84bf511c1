#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the sources of a configured build folder (preset tidy).
#
# Usage: tests/lint/tidy.sh BUILD_DIR [FILE...]     without files: every source of the product
set -uo pipefail
cd "$(dirname -- "$0")/../.." || exit 2

build=$1
shift
if [ $# -eq 0 ]; then
    mapfile -t files < <(git ls-files -co --exclude-standard -- \
        'schemas/*.cc' 'gpu_hash/*.cc' 'attestation/*.cc' 'policy/*.cc' 'storage/*.cc' 'server/*.cc' \
        'client/*.cc' 'worker/*.cc' 'cli/*.cc')
    set -- "${files[@]}"
fi
[ $# -gt 0 ] || exit 0

printf '%s\0' "$@" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" \
    clang-tidy-19 --quiet -p "$build" --warnings-as-errors='*' 2> >(grep -v ' warnings\? generated' >&2)
