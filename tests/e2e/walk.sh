#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Types the commands of a page into one shell, as a reader would: every fenced block that is marked
# `sh` or with no language, in order, in the root of the repository. The first failure ends it.
#
# Usage: tests/e2e/walk.sh PAGE
set -euo pipefail
cd "$(dirname -- "$0")/../.."

commands=$(awk '
    /^```/ && inside { inside = 0; next }
    /^```(sh)?$/ { inside = typed = 1; next }
    /^```/ { inside = 1; typed = 0; next }
    inside && typed' "$1")
[ -n "$commands" ] || { echo "$1 has no commands" >&2; exit 2; }

# shellcheck disable=SC2016  # $(...) is for the other shell
exec bash -euxc 'trap "kill \$(jobs -p) 2>/dev/null || true" EXIT
'"$commands"
