# SPDX-License-Identifier: Apache-2.0
# Keys, principals, configuration and start of the demo's assayd. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

LIFECYCLE=https://assay.dev/lifecycle/v1
YEAR_AHEAD=$(date -u -d '+1 year' +%Y-%m-%dT%H:%M:%SZ)
SERVICE_PID=''

# make_key NAME ALGORITHM: keys/NAME.pem and keys/NAME.pem.pub
make_key() { quietly assay key new --algorithm "$2" --out "keys/$1.pem"; }

# describe NAME PURPOSE IDENTITY [OPTION...]: keys/NAME.json, what the trust store will say of it
describe() {
  local name=$1 purpose=$2 identity=$3
  shift 3
  quietly assay key describe "keys/$name.pem.pub" --purpose "$purpose" --identity "$identity" \
    --not-after "$YEAR_AHEAD" --out "keys/$name.json" "$@"
}

make_keys() {
  mkdir -p keys tokens
  local name
  for name in publisher approver-a author policy-approver operator-1 operator-2 stranger \
    data trainer builder lab; do
    make_key "$name" ed25519
  done
  make_key evaluator ecdsa-p256
  make_key approver-b ecdsa-p256
  describe operator-1 operator olga@acme.example
  describe operator-2 operator omar@acme.example
  describe publisher publisher release@acme.example --namespace acme
  describe evaluator signer eva@acme.example --role "evaluate:$LIFECYCLE:acme"
  describe approver-a signer anna@acme.example --role "approve:$LIFECYCLE:acme"
  describe approver-b signer ben@acme.example --role "approve:$LIFECYCLE:acme"
  describe data signer data@acme.example --role "collect:$LIFECYCLE:acme"
  describe trainer signer train@acme.example --role "train:$LIFECYCLE:acme" \
    --role "merge:$LIFECYCLE:acme"
  describe builder signer release-build@acme.example --role "quantize:$LIFECYCLE:acme"
  describe lab signer lab@institute.example --role "evaluate:$LIFECYCLE:acme"
  describe author author paula@acme.example
  describe policy-approver approver quentin@acme.example
}

# principal NAME ROLE...: tokens/NAME (the token) and tokens/NAME.json
principal() {
  local name=$1 roles=()
  shift
  for role in "$@"; do roles+=(--role "$role"); done
  quietly assay token new --principal "$name" "${roles[@]}" --token-out "tokens/$name" \
    --out "tokens/$name.json"
}

make_principals() {
  principal release-ci submitter reader
  principal policy-ci policy-author reader
  principal policy-desk policy-approver reader
  principal security auditor reader
  principal platform admin
  principal node-agent worker
  principal orchestrator decider
  # The API server of the cluster shows a client certificate; its key is pinned.
  quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj /CN=kube-apiserver -keyout tokens/kube.key -out tokens/kube.crt
  chmod 600 tokens/kube.key
  quietly assay token new --principal kube-apiserver --role admission --certificate tokens/kube.crt \
    --out tokens/kube-apiserver.json
}

write_config() {
  mkdir -p service
  cat >service/assayd.json <<JSON
{
  "api": {"address": "127.0.0.1", "port": 0, "console": true},
  "admission": {"address": "127.0.0.1", "port": 0, "client_auth": "required"},
  "tls": {"certificate_file": "tls.crt", "private_key_file": "tls.key"},
  "store": {"kind": "sqlite", "path": "assay.db"},
  "anchor_file": "anchor",
  "log": {"origin": "demo.assay.dev/log", "key_file": "log.pem"},
  "service_key_file": "service.pem",
  "ready_file": "ready.json",
  "attestation": {"ear_key_files": ["ear.pem"],
    "plugins": [{"type": "example-hmac", "media_type": "application/vnd.example.hmac",
      "path": "plugin.so", "sha256": "sha256:$PLUGIN_SHA256"}]},
  "nodes": {"mirror": "mirror", "spot_checks": 16}
}
JSON
  local keys=() principals=() file
  for file in keys/*.json; do keys+=(--key "$file"); done
  for file in tokens/*.json; do principals+=(--principal "$file"); done
  # Which node the agent may enrol. Names that nobody registered are refused.
  cat >registration.json <<JSON
{"id": "gpu-node", "node": "$NODE", "principal": "node-agent"}
JSON
  quietly assay trust bootstrap "${keys[@]}" "${principals[@]}" --appraisal appraisal.json \
    --appraisal stage-appraisal.json --appraisal plugin-appraisal.json \
    --appraisal gpu-appraisal.json --register registration.json --register plugin-registration.json \
    --register "$CC_NODE-registration.json" --register "$CC_OTHER-registration.json" --out service/bootstrap.json
}

# The machine of the demo is a simulated TDX guest: its root is no vendor's, and must be named as
# dangerous. What runs in it is measured all the same, and compared with reference values.
write_appraisal() {
  head -c 32 /dev/urandom >seed
  quietly assay evidence simulate --seed seed --out-root simulator.pem -o json
  cp last.out machine.json
  ANCHOR=$(json machine.json 'd["root"]')
  json machine.json 'json.dumps({"evidence_type": "tdx",
    "policy": {"reference_values": d["reference_values"]},
    "dangerous_anchors": [d["dangerous_anchor"]]})' >appraisal.json
  # The same machine for every stage of a model's life that shows evidence.
  json appraisal.json 'json.dumps({**d, "stage": "*"})' >stage-appraisal.json
}

# wait_until WHAT PID LOG CHECK...: until CHECK passes. The demo fails, with the end of LOG, when
# process PID ends before that, or after 30 s.
wait_until() {
  local what=$1 pid=$2 log=$3 waited=0
  shift 3
  until "$@"; do
    if [ "$waited" -ge 300 ] || ! kill -0 "$pid" 2>/dev/null; then
      fail "$what: $(tail -n 5 "$log")"
    fi
    waited=$((waited + 1))
    sleep 0.1
  done
}

start_service() {
  rm -f service/ready.json
  assayd run --config service/assayd.json >>assayd.log 2>&1 &
  SERVICE_PID=$!
  wait_until "assayd did not start" "$SERVICE_PID" assayd.log test -s service/ready.json
  export ASSAY_SERVER ASSAY_CA=service/tls.crt
  ASSAY_SERVER=https://127.0.0.1:$(json service/ready.json 'd["api_port"]')
  ADMISSION=https://127.0.0.1:$(json service/ready.json 'd["admission_port"]')
}

# ended VARIABLE: waits for the process whose id is in the variable, and empties it; its exit status.
ended() {
  local status=0
  wait "${!1}" || status=$?
  printf -v "$1" ''
  return "$status"
}

# stop VARIABLE: ends that process, if there is one; its exit status.
stop() {
  [ -n "${!1}" ] || return 0
  kill -TERM "${!1}" 2>/dev/null
  ended "$1"
}

stop_service() { stop SERVICE_PID; }

# keep_service: the service outlives the demo, with its directory; everything else ends.
keep_service() {
  stop_server
  stop_worker
  stop_edge_node
  stop_cc_node
  [ -n "$SERVICE_PID" ] || start_service
  trap - EXIT
  printf '\n%sthe service goes on%s\n' "$BOLD" "$PLAIN"
  printf '   console  %s/console   (its certificate is its own: the browser will warn)\n' "$ASSAY_SERVER"
  printf '   token    %s   (roles auditor and reader)\n' "$(cat tokens/security)"
  printf '   log key  %s\n' "$(cat log.vkey)"
  printf '   files    %s\n' "$WORK"
  printf '   end it   kill %s; rm -r %s\n' "$SERVICE_PID" "$WORK"
}

# node_policy VERSION SECONDS: policy-node.json, for evidence that is at most so old.
node_policy() {
  cat >policy-node.json <<JSON
{
  "name": "gpu-nodes",
  "version": $1,
  "mode": "enforce",
  "match": {"accelerators": "any"},
  "require": [
    {"id": "published-by-us", "manifest": {}},
    {"id": "genuine-node", "node": {"max_evidence_age_seconds": $2, "anchors": ["$ANCHOR"]}},
    {"id": "verified-there", "report": {"scope": "files", "max_age_seconds": 3600}}
  ]
}
JSON
}

# enforce FILE: signed by the author, pushed, put in force by the approver.
enforce() {
  quietly assay sign "$1.json" --yes --key keys/author.pem --out "$1.signed.json"
  quietly as policy-ci assay push "$1.signed.json"
  local id
  id=$(cat last.out)
  quietly as policy-desk assay policy activate "$id" --without-tests --key keys/policy-approver.pem
}

WORKER_PID=''

# start_worker NODE: the node agent, until it is enrolled; its events are in worker.log.
start_worker() {
  local options=(--node "$1" --map "pvc://inference/$CLAIM=$PWD/node/claims/$CLAIM,volume=$VOLUME"
    --map "pvc://inference/served=$PWD/node/claims/served" --device opencl
    --evidence simulate --simulator-seed seed
    --register-socket "$PWD/register.sock" --register-uid "$(id -u)")
  show as node-agent assay worker run "${options[@]}"
  ASSAY_TOKEN_FILE=tokens/node-agent assay worker run "${options[@]}" >worker.log 2>worker.err &
  WORKER_PID=$!
  wait_until "the worker was not enrolled" "$WORKER_PID" worker.err grep -qs ' enrolled ' worker.log
}

# worker_ended: waits for the worker to end by itself; its exit status.
worker_ended() { ended WORKER_PID; }

stop_worker() { stop WORKER_PID; }

# as NAME COMMAND...: the command with NAME's token
as() {
  local name=$1
  shift
  ASSAY_TOKEN_FILE=tokens/$name "$@"
}
