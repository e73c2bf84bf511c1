# SPDX-License-Identifier: Apache-2.0
# The chapter of the demo about a node that proves itself together with its GPUs: TDX and two GPUs,
# simulated, in one enrolment. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

CC_NODE=cc-node-1
CC_OTHER=cc-node-2
CC_PID=''

# make_gpus FILE [OPTION...]: two GPUs of the simulator; FILE gets their RIMs and OCSP answers
make_gpus() {
  local file=$1
  shift
  quietly assay evidence simulate --type nvidia-gpu --seed gpu-seed --devices 2 "$@" \
    --out-collateral "$file" --out-root gpu-root.pem -o json
}

# What the service is told at the start: the simulator's root, and that each node has two GPUs.
register_devices() {
  head -c 32 /dev/urandom >gpu-seed
  make_gpus gpus.json
  GPU_ANCHOR=$(json last.out 'd["root"]')
  json last.out 'json.dumps({"evidence_type": "nvidia-gpu", "policy": {},
    "dangerous_anchors": [d["dangerous_anchor"]]})' >gpu-appraisal.json
  local node
  for node in "$CC_NODE" "$CC_OTHER"; do
    printf '{"id": "%s", "node": "%s", "principal": "node-agent", "devices": 2}\n' \
      "$node" "$node" >"$node-registration.json"
  done
}

# cc_worker NODE MACHINE: options of a node agent on that machine, with the two GPUs
cc_worker() {
  CC_OPTIONS=(--node "$1" --map "pvc://inference/$CLAIM=$PWD/node/cc" --device cpu
    --evidence simulate --simulator-seed seed --simulator-platform "$2$2$2$2$2$2$2$2"
    --device-evidence simulate --device-seed gpu-seed --simulated-devices 2)
}

stop_cc_node() { stop CC_PID; }

enrol_with_devices() {
  cp -rl model node/cc
  cc_worker "$CC_NODE" 11aa
  refused 2 'REVOCATION_UNKNOWN' as node-agent assay worker run "${CC_OPTIONS[@]}"
  proven "GPUs about which nothing is known are refused: the service has no RIM and no OCSP answer yet"
  run as platform assay collateral import gpus.json
  show as node-agent assay worker run "${CC_OPTIONS[@]}"
  ASSAY_TOKEN_FILE=tokens/node-agent assay worker run "${CC_OPTIONS[@]}" >cc.log 2>cc.err &
  CC_PID=$!
  wait_until "the node with GPUs was not enrolled" "$CC_PID" cc.err grep -qs ' enrolled ' cc.log
  run as security assay node show "$CC_NODE"
  grep -E '^proven|GPU-' last.out | cut -c1-150 | sed 's/^/   /'
  proven "the processor's quote and both GPUs' reports answer one challenge, for the worker's key"
}

# device_policy VERSION DRIVER: policy-devices.json, for GPUs with at least this driver.
device_policy() {
  cat >policy-devices.json <<JSON
{
  "name": "confidential",
  "version": $1,
  "mode": "enforce",
  "match": {"namespaces": ["confidential"], "accelerators": "any"},
  "require": [
    {"id": "published-by-us", "manifest": {}},
    {"id": "genuine-gpus",
     "node": {"max_evidence_age_seconds": 3600, "anchors": ["$ANCHOR", "$GPU_ANCHOR"],
              "device": {"mode": ["cc"], "min_driver": "$2"}}}
  ]
}
JSON
}

ask_about_gpus() {
  as orchestrator assay decide --model "$NAME" --point bind --node "$CC_NODE" \
    --namespace confidential --resource nvidia.com/gpu "$@"
}

allow_with_devices() {
  run as release-ci assay job new "$NAME" --node "$CC_NODE" --wait
  device_policy 1 570.0
  enforce policy-devices
  run ask_about_gpus
  proven "both GPUs run in confidential mode, with firmware that signed RIMs describe"
  device_policy 2 580.0
  enforce policy-devices
  refused 1 'device-not-accepted' ask_about_gpus
  grep -ohm 1 'driver [0-9.]*, firmware [^,]*, kind gpu, lacks [a-z_]*' last.out | sed 's/^/      /;q'
  proven "old firmware: genuine, and older than the policy asks for"
}

# verify_gpus NONCE: the evidence in gpus.evidence, with the network off
verify_gpus() {
  assay evidence verify --type nvidia-gpu --collateral answer.json --root gpu-root.pem \
    --rim-root gpu-root.pem --nonce "$1" gpus.evidence
}

refuse_devices() {
  cc_worker "$CC_OTHER" 22bb
  refused 2 'platform-taken' as node-agent assay worker run "${CC_OPTIONS[@]}"
  proven "a GPU of $CC_NODE's evidence is not taken for one of $CC_OTHER"
  local nonce
  nonce=$(openssl rand -hex 32)
  make_gpus answer.json --nonce "$nonce" --out-quote gpus.evidence
  run verify_gpus "$nonce"
  refused 1 'NONCE_MISMATCH' verify_gpus "$(openssl rand -hex 32)"
  proven "a replayed answer names another nonce"
  make_gpus answer.json --nonce "$nonce" --out-quote gpus.evidence --fault firmware
  refused 1 'MEASUREMENT_MISMATCH' verify_gpus "$nonce"
  grep -hm 1 ' MEASUREMENT_MISMATCH' last.out | sed 's/^ */      /'
  proven "changed firmware is named by its measurement"
  make_gpus revoked.json --fault revoked
  run as platform assay collateral import revoked.json
  stop_cc_node
  cc_worker "$CC_NODE" 11aa
  refused 2 'CERTIFICATE_REVOKED' as node-agent assay worker run "${CC_OPTIONS[@]}"
  proven "a GPU whose certificate was revoked since is refused"
}

tell_devices() {
  enrol_with_devices
  allow_with_devices
  refuse_devices
}
