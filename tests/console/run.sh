#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD [TEST...]: the console in a headless Chromium, with the programs of BUILD. Playwright (PyPI)
# and axe-core (npm) go into a folder below the temporary directory, once. Skipped with a reason where
# something cannot be had. ASSAY_CONSOLE_ROWS=10000 says how many decisions a list must bear.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
shift
playwright=1.65.2 axe=4.14.1
home=${TMPDIR:-/tmp}/assay-console-$(id -u)

skip() {
  echo "console: skipped, $1"
  exit 0
}

[ -x /usr/bin/chromium ] || skip "no Chromium (Debian: apt-get install chromium)"
command -v npm >/dev/null || skip "no npm, which has axe-core (Debian: apt-get install npm)"
mkdir -p -m 700 "$home"
[ -O "$home" ] || skip "$home belongs to somebody else"
if [ ! -x "$home/venv-$playwright/bin/playwright" ]; then
  rm -rf "$home/venv-$playwright"
  if ! /usr/bin/python3 -m venv "$home/venv-$playwright" ||
    ! "$home/venv-$playwright/bin/pip" install -q "playwright==$playwright"; then
    rm -rf "$home/venv-$playwright"
    skip "playwright $playwright cannot be had from PyPI"
  fi
fi
if [ ! -f "$home/axe-$axe/package/axe.min.js" ]; then
  mkdir -p "$home/axe-$axe"
  (cd "$home/axe-$axe" && npm pack --silent "axe-core@$axe" >/dev/null && tar xf "axe-core-$axe.tgz") ||
    skip "axe-core $axe cannot be had from npm"
fi
cd "$root/tests/console"
export ASSAY_SOURCE_DIR=$root ASSAY_BIN=$build/bin ASSAY_AXE=$home/axe-$axe/package/axe.min.js
exec "$home/venv-$playwright/bin/python" -B -m unittest -v ${@:-test_browser}
