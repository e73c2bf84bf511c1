#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lint without a compiler: format, includes, coroutine forms, files, reasons, schemas, words.
# Takes seconds.
#
# Usage: tests/lint/check.sh [-f]        -f rewrites files in the project's format first
#
# The checks that compile (headers alone, clang-tidy) are `make lint` and `make tidy`.
set -u
cd "$(dirname -- "$0")/../.." || exit 2

format=clang-format-19
python=/usr/bin/python3
status=0

cpp_files() {
    git ls-files -co --exclude-standard -z -- '*.h' '*.cc' |
        while IFS= read -r -d '' path; do [ -f "$path" ] && printf '%s\0' "$path"; done
}

if ! command -v $format >/dev/null; then
    echo "$format is missing: deploy/install-packages.sh lint" >&2
    exit 2
fi
[ "${1:-}" != -f ] || cpp_files | xargs -0 -r -n 16 -P 2 $format -i
unformatted=$(cpp_files | xargs -0 -r $format --dry-run 2>&1 |
    sed -n 's/^\([^ ]*:[0-9]*\):[0-9]*: .*clang-format.*/\1/p' | sort -t: -u -k1,1)
if [ -n "$unformatted" ]; then
    printf '%s: not in the format of the project (make format)\n' $unformatted >&2
    status=1
fi

for check in includes console coroutines files local_names verifiers limits reasons schemas docs words; do
    PYTHONDONTWRITEBYTECODE=1 $python tests/lint/check_$check.py || status=1
done

[ $status -eq 0 ] || echo "lint failed" >&2
exit $status
