#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares verdicts on TDX quotes with those of another implementation, go-tdx-guest.
#
# Usage: tests/attestation/differential/run.sh BUILD_DIR
#
# BUILD_DIR/bin holds assay. Skipped, with the reason, where there is no Go or the module cannot be
# had (a few MB from the module proxy, once).
set -u -o pipefail

OLDEST_GO=23 # of go.mod: 1.23

skip() {
  echo "tests/attestation/differential skipped: $1"
  exit 0
}

BUILD=$(cd "$1" && pwd) || exit 2
cd "$(dirname -- "$0")" || exit 2
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || skip "there is no Go (1.$OLDEST_GO or newer)"
export GOTOOLCHAIN=local CGO_ENABLED=0
RELEASE=$(go env GOVERSION)
[[ $RELEASE =~ ^go1\.([0-9]+) && ${BASH_REMATCH[1]} -ge $OLDEST_GO ]] ||
  skip "Go is $RELEASE, and 1.$OLDEST_GO or newer is needed"
go mod download 2>/dev/null || skip "the Go module proxy cannot be reached"

mkdir -p "$BUILD/../differential" || exit 2
OTHER=$(cd "$BUILD/../differential" && pwd)/go-tdx-guest
go build -trimpath -o "$OTHER" . || exit 2
exec /usr/bin/python3 -B compare.py "$BUILD/bin/assay" "$OTHER"
