# SPDX-License-Identifier: Apache-2.0
# The chapter of the demo about weights in memory: registered by the process that computes with them,
# verified where they lie, watched, and asked about at serve. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

SERVER_PID=''
SERVED=acme/demo-small

# publish_served: a small model of its own, so that memory is looked at often on any machine.
publish_served() {
  quietly /usr/bin/python3 -B "$ROOT/tests/support/make_model.py" served --size 20MB --seed 7
  NAME=$SERVED publish served served served
  quietly assay manifest create served --name "$SERVED" --location pvc://inference/served \
    --out served.json --outline served.outline
  quietly as release-ci assay push served.signed.json --outline served.outline
  state evaluate served.json evaluator served-e --metric accuracy=0.95 --metric latency_p99=9:ms
  state approve served.json approver-a served-a
  state approve served.json approver-b served-b
  cp -r served/. node/claims/served/
  quietly as release-ci assay job new "$SERVED" --node "$NODE" --wait
}

# start_server: loads the model and registers its memory; what it says is in server.log.
start_server() {
  mkfifo server.in
  show serve.py served register.sock "$SERVED"
  /usr/bin/python3 -B "$ROOT/deploy/demo/serve.py" served "$PWD/register.sock" \
    "assay-tree-v1-sha256:$(cat served.id)" <server.in >server.log 2>server.err &
  SERVER_PID=$!
  exec 8>server.in
  until_said server.log '"registered"'
}

stop_server() {
  [ -n "$SERVER_PID" ] || return 0
  exec 8>&-
  kill -TERM "$SERVER_PID" 2>/dev/null
  wait "$SERVER_PID" 2>/dev/null
  SERVER_PID=''
}

# until_said FILE PATTERN: waits for a line.
until_said() {
  wait_until "$1 never says '$2'" "$SERVER_PID" server.err grep -qsE -- "$2" "$1"
}

ask_to_serve() {
  as orchestrator assay decide --model "$SERVED" --point serve --node "$NODE" \
    --resource nvidia.com/gpu "$@"
}

memory_policy() {
  cat >policy-memory.json <<'JSON'
{
  "name": "loaded",
  "version": 1,
  "mode": "enforce",
  "match": {"accelerators": "any"},
  "require": [
    {"id": "published-by-us", "manifest": {}},
    {"id": "loaded", "report": {"scope": "device-memory", "in_place": true, "max_uncovered_bytes": 0}}
  ]
}
JSON
}

verify_in_memory() {
  memory_policy
  run assay policy lint policy-memory.json
  enforce policy-memory
  start_server
  note "$(grep -c . <(json served.json '"\n".join(e["name"] for e in d["predicate"]["entries"] if e["kind"] == "tensor")')) \
tensors lie in shared memory; the node agent has a descriptor of each piece"
  refused 1 'report-missing' ask_to_serve
  proven "that the files are right says nothing about the weights in memory"
  run as release-ci assay job new "$SERVED" --node "$NODE" --instance main --wait
  note "$(grep -o ' hashed .*' worker.log | tail -n 1 | sed 's/^ //')"
  until_said server.log '"verified"'
  until_allowed ask_to_serve
  run ask_to_serve
  proven "hashed where the process has them, and no byte copied; serve is allowed"
}

refuse_changed_memory() {
  local tensor
  tensor=$(json served.json 'max((e for e in d["predicate"]["entries"] if e["kind"] == "tensor"), key=lambda e: e["size"])["name"]')
  note "the process writes one bit of $tensor"
  printf 'flip %s\n' "$tensor" >&8
  until_said server.log '"violated"'
  until_refused ask_to_serve
  refused 1 'instance-violated' ask_to_serve
  grep -h 'instance-violated' last.out | head -n 1 | cut -c1-150 | sed 's/^ */      /'
  refused 1 "^differs .*$tensor" as release-ci assay job new "$SERVED" --node "$NODE" \
    --instance main --wait
  grep '^differs' last.out | sed 's/^/   /'
  refused 1 'model-mismatch' ask_to_serve
  grep -oh '"differing":"[^"]*"' last.out | head -n 1 | sed 's/^/      loaded: /'
  proven "found within a period, and named: the tensor and the range of its bytes"
  stop_server
}
