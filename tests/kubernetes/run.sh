#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests against a real Kubernetes control plane.
#
# Usage: tests/kubernetes/run.sh BUILD_DIR [TEST...]
#
# BUILD_DIR/bin holds assayd and assay. A TEST is a name for unittest, such as
# test_bindings.Bindings.test_binding_without_uid; without one all run.
set -u

BUILD=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname -- "$0")" || exit 2

ASSAY_KUBE=$(./build.sh "$BUILD/../kubernetes")
status=$?
if [ $status -eq 77 ]; then
  echo "tests/kubernetes skipped: see the line above"
  exit 0
fi
[ $status -eq 0 ] || exit $status
export ASSAY_KUBE ASSAY_BIN=$BUILD/bin ASSAY_TEST_POCL_CACHE=$BUILD/pocl
[ $# -gt 0 ] || set -- test_*.py
exec /usr/bin/python3 -B -m unittest -v "${@%.py}"
