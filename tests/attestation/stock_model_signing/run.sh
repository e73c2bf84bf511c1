#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Gives what `assay sign --format oms` writes to model_signing, and what that writes to `assay
# verify` and `assay manifest import`. The package comes from PyPI.
#
# Usage: tests/attestation/stock_model_signing/run.sh BUILD_DIR
#
# BUILD_DIR/bin holds assay. Where the package cannot be had, nothing is compared, with the reason.
set -u -o pipefail

MODEL_SIGNING=1.1.1

BUILD=$(cd "$1" && pwd) || exit 2
cd "$(dirname -- "$0")" || exit 2
VENV=$BUILD/../model_signing/venv
if [ ! -e "$VENV/.ready" ]; then
  # The package does not name pyOpenSSL, which it needs.
  if /usr/bin/python3 -m venv "$VENV" 2>/dev/null &&
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check \
      "model-signing==$MODEL_SIGNING" pyopenssl 2>/dev/null; then
    touch "$VENV/.ready"
  else
    rm -rf "$VENV"
    echo "tests/attestation/stock_model_signing: left out: no model-signing from PyPI, or no python3-venv"
    exit 0
  fi
fi
exec "$VENV/bin/python" -B compare.py "$BUILD/bin/assay"
