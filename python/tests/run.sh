#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD [PYTEST ARGUMENT...]: the package's tests, with pytest from PyPI in an environment of
# its own below build/. PyTorch is taken from PyPI, too (6 GB installed), unless the system's Python
# has it, ASSAY_TORCH=no, or less than 15 GB of disk are free: then tests that need it are skipped.
# It also builds the wheel, imports it from there, and checks the types. Skipped with a reason where pytest cannot be had.
set -eu
build=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
case $build in /*) ;; *) build=$root/$build ;; esac
home=$build/python-venv
python=$home/bin/python
mkdir -p "$build"
if [ ! -e "$home/.ready" ]; then
  rm -rf "$home"
  if ! /usr/bin/python3 -m venv --system-site-packages "$home" ||
     ! "$python" -m pip install -q --disable-pip-version-check pytest "setuptools>=61" wheel; then
    rm -rf "$home"
    echo "test-python: skipped, pytest cannot be installed from PyPI (network, python3-venv)"
    exit 0
  fi
  touch "$home/.ready"
fi
if [ "${ASSAY_TORCH:-yes}" != no ] && ! "$python" -c 'import torch' 2>/dev/null; then
  free=$(df --output=avail -BG "$build" | tail -1 | tr -dc 0-9)
  if [ "$free" -lt 15 ]; then
    echo "test-python: $free GB of disk are free, PyTorch is not installed"
  elif ! "$python" -m pip install -q --disable-pip-version-check torch numpy safetensors; then
    echo "test-python: PyTorch cannot be installed from PyPI"
  fi
fi
# The wheel has the sources, the mark of its types, and nothing that is bound to a machine.
rm -rf "$build/python-wheel"
mkdir -p "$build/python-wheel"
cp -r "$root/python/src" "$root/python/pyproject.toml" "$root/python/README.md" "$build/python-wheel"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
  -w "$build/python-wheel" "$build/python-wheel"
wheel=$(echo "$build"/python-wheel/assay_torch-*-py3-none-any.whl)
PYTHONPATH=$wheel "$python" -c 'import assay; assert ".whl" in assay.__file__, assay.__file__'
"$python" -m zipfile -l "$wheel" | grep -q 'assay/py.typed'
# Types, without those of PyTorch, which are others with each version.
cd "$root/python"
if "$python" -m mypy --version >/dev/null 2>&1 ||
   "$python" -m pip install -q --disable-pip-version-check mypy; then
  "$python" -m mypy --no-site-packages --cache-dir "$build/python-mypy"
else
  echo "test-python: mypy cannot be installed from PyPI, types are not checked"
fi
"$python" -B -m pytest -p no:cacheprovider --basetemp "$build/python-tests" "$@"
# With a real node agent and service, where they were built.
if [ -x "$build/bin/assayd" ] && [ $# -eq 0 ]; then
  PYTHONPATH=$root/tests/cli ASSAY_PROGRAM=$build/bin/assay ASSAY_TEST_POCL_CACHE=$build/pocl \
    "$python" -B "$root/tests/worker/test_memory.py" -k python_package
  cd "$root/tests/e2e"
  ASSAY_BIN=$build/bin "$python" -B -m unittest test_on_one_machine
fi
