#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# devices.sh BUILD: the engine tests on every OpenCL platform that can be had without a GPU, one
# after the other, each as the only platform there is. A platform that cannot be had is skipped with
# a reason; none at all, or one that is there and runs nothing, is a failure.
#
#   PoCL     Debian pocl-opencl-icd
#   rusticl  Debian mesa-opencl-icd, on llvmpipe
#   Intel    PyPI intel-opencl-rt, unpacked below build/
set -u
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$build/tests/gpu_hash/gpu_hash_tests
# What touches a device; the rest of the program is the same on every platform.
filter='*opencl*:*OpenCl*:*Resident*:*SmallTaggedObjects*:*SmallObjects*:SelfTestDevices.*:Artifact.*'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# LOGS=DIR keeps the tests' output there.
[ -z "${LOGS:-}" ] || trap 'mkdir -p "$LOGS"; cp "$work"/*.log "$LOGS"; rm -rf "$work"' EXIT
ran=0
failed=0

skip() { echo "$1: skipped, $2"; }

# run NAME ICD_FILE LEFT_OUT [VARIABLE=VALUE...]: the tests with that platform alone, but for those
# that the filter LEFT_OUT names.
run() {
  local name=$1 icd=$2 left_out=$3
  shift 3
  mkdir -p "$work/$name"
  cp "$icd" "$work/$name/only.icd"
  local log=$work/$name.log begin=$SECONDS status=0
  env OCL_ICD_VENDORS="$work/$name" "$@" \
    "$program" --gtest_filter="$filter${left_out:+-$left_out}" >"$log" 2>&1 || status=$?
  local passed skipped
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\?\..*/\1/p' "$log" | tail -n 1)
  skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) tests\?, .*/\1/p' "$log" | tail -n 1)
  # Without a device every one of these is skipped, and nothing was tested.
  local on_device
  on_device=$(grep -c '^\[       OK \] .*/opencl ' "$log")
  if [ "$status" -ne 0 ] || [ "$on_device" -eq 0 ]; then
    grep -E '^\[  FAILED  \]|no OpenCL device|: Failure' "$log" | sort | uniq -c | head -n 20
    tail -n 5 "$log"
    echo "$name: FAILED, ${passed:-0} passed, ${skipped:-0} skipped, status $status"
    failed=$((failed + 1))
    return
  fi
  ran=$((ran + 1))
  echo "$name: ${passed:-0} passed, ${skipped:-0} skipped, $((SECONDS - begin)) s"
}

[ -x "$program" ] || { echo "$program is not built" >&2; exit 2; }

if [ -e /etc/OpenCL/vendors/pocl.icd ]; then
  run pocl /etc/OpenCL/vendors/pocl.icd ""
else
  skip pocl "Debian's pocl-opencl-icd is not installed"
fi

if [ -e /etc/OpenCL/vendors/rusticl.icd ]; then
  # Mesa 22.3 ends the process when a program binary is none, instead of saying so.
  run rusticl /etc/OpenCL/vendors/rusticl.icd OpenCl.GarbageInTheCache_IsReplaced \
    RUSTICL_ENABLE=llvmpipe
else
  skip rusticl "Debian's mesa-opencl-icd is not installed (as root: deploy/install-packages.sh devices)"
fi

# Its wheels hold a library and no Python; pip puts them below the environment's lib.
version=2026.2.0
home=$root/build/intel-opencl-$version
if [ ! -e "$home/lib/libintelocl.so" ]; then
  rm -rf "$home"
  if ! /usr/bin/python3 -m venv "$home" >"$work/pip.log" 2>&1 ||
    ! "$home/bin/pip" install -q --no-deps --no-compile "intel-opencl-rt==$version" \
      "intel-cmplr-lib-rt==$version" tbb==2023.2.0 >>"$work/pip.log" 2>&1; then
    rm -rf "$home"
  fi
fi
if [ -e "$home/lib/libintelocl.so" ]; then
  echo "$home/lib/libintelocl.so" >"$work/intel.icd"
  run intel "$work/intel.icd" "" LD_LIBRARY_PATH="$home/lib"
else
  skip intel "intel-opencl-rt $version cannot be installed from PyPI (network, python3-venv)"
fi

echo "$ran platforms passed, $failed failed"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
