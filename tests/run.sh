#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a build folder in random order and in a random time zone. The last line is
# "N passed, N failed" (", N skipped" when a test needs what this machine lacks).
#
# Usage: tests/run.sh BUILD_DIR [ctest options]
#
# The long suites (labels slow, torture, analysis) run only when an option -L selects by label.
# JOBS and TZ may be set from outside.
set -u

build=$1
shift
results=$build/test-results.xml

# POSIX zones need no zone files.
zones=(UTC0 AAA+11 BBB-5:45 CCC-14)
export TZ=${TZ:-${zones[RANDOM % ${#zones[@]}]}}

selection=(-LE '^(slow|torture|analysis)$')
for option in "$@"; do
    [[ $option != -L* && $option != --label-regex* ]] || selection=()
done

# Frames are many times larger under the sanitizers.
if ! grep -q '^ASSAY_SANITIZE:[A-Z]*=$' "$build/CMakeCache.txt"; then
    ulimit -s 131072
    export LSAN_OPTIONS="suppressions=$(realpath -- "$(dirname -- "$0")/lsan.supp"):print_suppressions=0"
    # The sanitizer takes what lies in front of a loaded library's thread-local memory for its own
    # record of it. With PoCL's compiler that is something else, and the leak checker follows it.
    export ASAN_OPTIONS=intercept_tls_get_addr=0
fi

# Which codes the tests see (tests/support/seen_codes.h). That nothing is missing, only all tests say.
ASSAY_SEEN_CODES=$(realpath -m -- "$build/seen-codes")
export ASSAY_SEEN_CODES
rm -f "$results" "$ASSAY_SEEN_CODES"
# One more than there are processors: the tests of leases and time limits wait most of their time.
jobs=$((${JOBS:-$(nproc)} + 1))

echo "Tests of $build with TZ=$TZ"
ctest --test-dir "$build" --output-on-failure --schedule-random --no-tests=error \
    --parallel "$jobs" --output-junit "$(realpath -m -- "$results")" "${selection[@]}" "$@"
status=$?

codes=unchecked
if [ $# -eq 0 ] && grep -q '^ASSAY_HASH_ONLY:[A-Z]*=OFF' "$build/CMakeCache.txt"; then
    codes=seen
    /usr/bin/python3 -B "$(dirname -- "$0")/support/check_seen_codes.py" "$ASSAY_SEEN_CODES" || codes=missing
fi

/usr/bin/python3 - "$results" "$codes" <<'PYTHON' || status=1
import sys
import xml.etree.ElementTree

try:
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
except (OSError, xml.etree.ElementTree.ParseError):
    cases = []
passed = skipped = 0
for case in cases:
    reason = case.find("skipped")
    passed += case.get("status") == "run"
    # Any other reason not to run, such as a missing program, is a failure.
    skipped += case.get("status") == "disabled" or (
        reason is not None and reason.get("message", "").startswith("SKIP_"))
failed = len(cases) - passed - skipped
passed += sys.argv[2] == "seen"
failed += sys.argv[2] == "missing"
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not cases else 0)
PYTHON
exit $status
