# SPDX-License-Identifier: Apache-2.0
# Helpers of the demo: steps with times, commands shown as a person would type them, and expected
# refusals that fail the demo when they do not come.
# shellcheck shell=bash

if [ -t 1 ]; then
  BOLD=$'\e[1m' GREEN=$'\e[32m' RED=$'\e[31m' DIM=$'\e[2m' PLAIN=$'\e[0m'
else
  BOLD='' GREEN='' RED='' DIM='' PLAIN=''
fi

STEP_START=0
STEP_NUMBER=0

now_ms() { date +%s%3N; }

# step TITLE: closes the step before and opens the next one.
step() {
  end_step
  STEP_NUMBER=$((STEP_NUMBER + 1))
  STEP_START=$(now_ms)
  printf '\n%s%d. %s%s\n' "$BOLD" "$STEP_NUMBER" "$1" "$PLAIN"
}

end_step() {
  if [ "$STEP_START" -ne 0 ]; then
    local ms=$(($(now_ms) - STEP_START))
    printf '   %s(%d.%03d s)%s\n' "$DIM" $((ms / 1000)) $((ms % 1000)) "$PLAIN"
  fi
  STEP_START=0
}

proven() { printf '   %sproven:%s %s\n' "$GREEN" "$PLAIN" "$1"; }
note() { printf '   %s\n' "$1"; }

fail() {
  printf '\n%sdemo failed:%s %s\n' "$RED" "$PLAIN" "$1" >&2
  [ -s "$WORK/last.out" ] && sed 's/^/   | /' "$WORK/last.out" | tail -n 20 >&2
  [ -s "$WORK/last.err" ] && sed 's/^/   | /' "$WORK/last.err" | tail -n 20 >&2
  if [ -s "$WORK/assayd.log" ]; then
    printf '   last lines of the service:\n' >&2
    tail -n 5 "$WORK/assayd.log" >&2
  fi
  exit 1
}

# The command as a person would type it; `as NAME` is a caller's token file.
show() {
  local words="$*" who=''
  if [ "$1" = as ]; then
    who="  ($2)"
    words="${*:3}"
  fi
  words=${words/#ask_webhook/assay admission test -f review.json}
  words=${words/#ask_about_chat/assay decide --model $CHAT --namespace prod-eu --resource nvidia.com/gpu}
  words=${words/#ask_about_gpus/assay decide --model $NAME --point bind --node $CC_NODE --namespace confidential --resource nvidia.com/gpu}
  words=${words/#verify_gpus/assay evidence verify --type nvidia-gpu --collateral answer.json --root gpu-root.pem --rim-root gpu-root.pem --nonce}
  words=${words/#ask_to_serve/assay decide --model $SERVED --point serve --node $NODE}
  words=${words//"$ROOT/"/}
  printf '   %s$ %s%s%s\n' "$DIM" "$words" "$who" "$PLAIN"
}

# quietly COMMAND...: preparation that is not part of the story.
quietly() {
  "$@" >"$WORK/last.out" 2>"$WORK/last.err" || fail "exit $? from: $*"
}

# run COMMAND...: shown, must succeed; its output stays in last.out.
run() {
  show "$@"
  local status=0
  "$@" >"$WORK/last.out" 2>"$WORK/last.err" || status=$?
  [ "$status" -eq 0 ] || fail "exit $status from: $*"
}

# refused STATUS PATTERN COMMAND...: shown, must exit with STATUS and say PATTERN.
refused() {
  local want=$1 pattern=$2 status=0
  shift 2
  show "$@"
  "$@" >"$WORK/last.out" 2>"$WORK/last.err" || status=$?
  [ "$status" -eq "$want" ] || fail "expected exit $want, got $status from: $*"
  # No pipe: grep ends at the first match, and what writes into the pipe then fails.
  grep -qE -- "$pattern" "$WORK/last.out" "$WORK/last.err" ||
    fail "the refusal does not say '$pattern': $*"
}

# until_refused COMMAND...: tried again for up to 10 s, until it exits with 1.
until_refused() {
  local tries=0 status=0
  while [ "$status" -ne 1 ]; do
    [ "$tries" -lt 100 ] || fail "never refused: $*"
    [ "$tries" -eq 0 ] || sleep 0.1
    tries=$((tries + 1)) status=0
    "$@" >"$WORK/last.out" 2>"$WORK/last.err" || status=$?
  done
}

# until_allowed COMMAND...: tried again for up to 20 s, until it exits with 0.
until_allowed() {
  local tries=0
  until "$@" >"$WORK/last.out" 2>"$WORK/last.err"; do
    [ "$tries" -lt 200 ] || fail "never allowed: $*"
    tries=$((tries + 1))
    sleep 0.1
  done
}

# json FILE EXPRESSION: evaluates a Python expression over the document `d`.
json() {
  /usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$1" "$2"
}

# flip FILE [OFFSET]: changes one bit of one byte, by default in the middle.
flip() {
  /usr/bin/python3 - "$@" <<'PY'
import os, sys
with open(sys.argv[1], "r+b") as f:
    place = int(sys.argv[2]) if len(sys.argv) > 2 else os.path.getsize(sys.argv[1]) // 2
    f.seek(place); byte = f.read(1); f.seek(place); f.write(bytes([byte[0] ^ 1]))
PY
}

# shard DIR: a file of the model in DIR to change a byte of.
shard() {
  local found
  found=$(find "$1" -name '*.safetensors' | sort | head -n 1)
  printf '%s\n' "${found:-$1/config.json}"
}
