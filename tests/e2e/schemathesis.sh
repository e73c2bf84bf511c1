#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# schemathesis.sh BUILD SECONDS: Schemathesis (PyPI) in an environment of its own below build/, for
# so long. Skipped with a reason where it cannot be had.
set -eu
build=$(realpath "$1")
seconds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
version=4.32.5
home=$root/build/schemathesis-$version
program=$home/bin/schemathesis
if [ ! -x "$program" ]; then
  rm -rf "$home"
  if ! /usr/bin/python3 -m venv "$home" || ! "$home/bin/pip" install -q "schemathesis==$version"; then
    rm -rf "$home"
    echo "schemathesis: skipped, $version cannot be installed from PyPI (network, python3-venv)"
    exit 0
  fi
fi
cd "$root/tests/e2e"
ASSAY_SOURCE_DIR=$root ASSAY_BIN=$build/bin exec /usr/bin/python3 -B schemathesis_run.py "$program" "$seconds"
