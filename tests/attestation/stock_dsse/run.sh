#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Gives what `assay sign` writes to DSSE verifiers of others: go-securesystemslib and sigstore's Go
# package (Go modules), and securesystemslib for Python (PyPI).
#
# Usage: tests/attestation/stock_dsse/run.sh BUILD_DIR
#
# BUILD_DIR/bin holds assay. What cannot be had is left out, with the reason.
set -u -o pipefail

OLDEST_GO=23 # of go.mod: 1.23
SECURESYSTEMSLIB=1.6.0

without() { echo "tests/attestation/stock_dsse: left out: $1"; }

BUILD=$(cd "$1" && pwd) || exit 2
cd "$(dirname -- "$0")" || exit 2
mkdir -p "$BUILD/../stock_dsse" || exit 2
HOME_OF_OTHERS=$(cd "$BUILD/../stock_dsse" && pwd)

GO_PROGRAM=$HOME_OF_OTHERS/stock-dsse
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
export GOTOOLCHAIN=local CGO_ENABLED=0
if ! [[ $(go env GOVERSION 2>/dev/null) =~ ^go1\.([0-9]+) && ${BASH_REMATCH[1]} -ge $OLDEST_GO ]]; then
  without "verifiers in Go (there is no Go 1.$OLDEST_GO or newer)"
  GO_PROGRAM=-
elif ! go mod download 2>/dev/null; then
  without "verifiers in Go (the Go module proxy cannot be reached)"
  GO_PROGRAM=-
else
  go build -trimpath -o "$GO_PROGRAM" . || exit 2
fi

PYTHON=$HOME_OF_OTHERS/venv/bin/python
if [ ! -e "$HOME_OF_OTHERS/venv/.ready" ]; then
  if /usr/bin/python3 -m venv "$HOME_OF_OTHERS/venv" 2>/dev/null &&
    "$PYTHON" -m pip install -q --disable-pip-version-check \
      "securesystemslib[crypto]==$SECURESYSTEMSLIB" 2>/dev/null; then
    touch "$HOME_OF_OTHERS/venv/.ready"
  else
    rm -rf "$HOME_OF_OTHERS/venv"
    without "securesystemslib for Python (PyPI, python3-venv)"
    PYTHON=/usr/bin/python3
    [ "$GO_PROGRAM" != - ] || exit 0
  fi
fi
exec "$PYTHON" -B compare.py "$BUILD/bin/assay" "$GO_PROGRAM"
