#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole story on one machine: hash, sign, push, judge, admit or refuse, verify on a node, bind or
# refuse, verify in memory, audit, prove.
#   deploy/demo/run.sh [MODEL_DIR]
# ASSAY_DEMO_CHAPTER=pipeline runs the chapter about a model's origin alone, =vendor that about a model
# which model_signing signed. Pictures stay in build/demo, or in ASSAY_DEMO_OUT.
# ASSAY_DEMO_CHAPTER=first ends at the first decision, and needs neither OpenCL nor a sandbox.
# ASSAY_DEMO_KEEP=1 leaves the service and its directory, and says how to look at the console.
# Uses the programs of build/release; works in a temporary directory; leaves nothing running else.
set -u -o pipefail
umask 077

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
MODEL=${1:+$(cd "$1" && pwd)}
if [ $# -gt 0 ] && [ -z "$MODEL" ]; then exit 2; fi
PATH=${ASSAY_BIN:-$ROOT/build/release/bin}:$PATH
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-demo.XXXXXX")
# Nothing of the user's own settings, and nothing left in their home.
export HOME=$WORK/home XDG_CACHE_HOME=$WORK/cache XDG_CONFIG_HOME=$WORK/home/.config
export POCL_CACHE_DIR=$WORK/cache/pocl
mkdir -p "$HOME" "$XDG_CACHE_HOME" "$POCL_CACHE_DIR"
START=$(date +%s)

# shellcheck source=deploy/demo/lib.sh
. "$ROOT/deploy/demo/lib.sh"
# shellcheck source=deploy/demo/service.sh
. "$ROOT/deploy/demo/service.sh"
# shellcheck source=deploy/demo/chain.sh
. "$ROOT/deploy/demo/chain.sh"
# shellcheck source=deploy/demo/devices.sh
. "$ROOT/deploy/demo/devices.sh"
# shellcheck source=deploy/demo/memory.sh
. "$ROOT/deploy/demo/memory.sh"
# shellcheck source=deploy/demo/pipeline.sh
. "$ROOT/deploy/demo/pipeline.sh"
# shellcheck source=deploy/demo/plugin.sh
. "$ROOT/deploy/demo/plugin.sh"
# shellcheck source=deploy/demo/vendor.sh
. "$ROOT/deploy/demo/vendor.sh"

finish() {
  stop_server
  stop_worker
  stop_edge_node
  stop_cc_node
  stop_service
  rm -rf "$WORK"
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$WORK" || exit 2

NAME=acme/demo-llm
CLAIM=models
CHAPTER=${ASSAY_DEMO_CHAPTER:-}
VOLUME=pv-models
NODE=gpu-node-1

review() { /usr/bin/python3 "$ROOT/deploy/demo/pod.py" "$@" >"$WORK/review.json"; }
ask_webhook() {
  assay admission test -f review.json --server "$ADMISSION" --cert tokens/kube.crt \
    --cert-key tokens/kube.key "$@"
}
# The lines of a refusal that name conditions; what is cut ends with dots.
show_refusal() {
  sed -n '/^ *assay: /,/^ *The whole decision/p' last.out | grep ' \[' |
    sed 's/^ */      /; s/^\(.\{150\}\).\{4,\}$/\1.../'
}

# publish DIR FILE: manifest of DIR, signed by the publisher, pushed; FILE.id holds the artifact id
publish() {
  quietly assay manifest create "$1" --name "$NAME" --location "pvc://inference/$3" --out "$2.json"
  quietly assay sign "$2.json" --yes --key keys/publisher.pem --out "$2.signed.json"
  quietly as release-ci assay push "$2.signed.json"
  json "$2.json" 'd["subject"][0]["digest"]["assay-tree-v1-sha256"]' >"$2.id"
}

# state STAGE MANIFEST KEY FILE [OPTION...]: a statement about the manifest's model, signed and pushed
state() {
  local stage=$1 manifest=$2 key=$3 file=$4
  shift 4
  quietly assay attest create --stage "$stage" --subject "$manifest" --out "$file.json" "$@"
  quietly assay sign "$file.json" --yes --key "keys/$key.pem" --out "$file.signed.json"
  quietly as release-ci assay push "$file.signed.json"
}

# variant DIR TEXT: the same model with another config.json; the shards are hard links
variant() {
  cp -rl model "$1"
  rm "$1/config.json"
  printf '{"variant": "%s"}\n' "$2" >"$1/config.json"
}

tell_pipeline() {
  step "Atlas's pipeline: a dataset, training, an adapter, quantisation, evaluation, approval"
  make_pipeline
  step "A ready policy for it: docs/policies/atlas-three-stage.json"
  three_stage_policy
  step "Refused: nobody says where the dataset comes from"
  refuse_pipeline
  step "Refused: trained without evidence; with evidence under a foreign root"
  refuse_unmeasured_training
  step "Refused: a cherry-picked evaluation"
  refuse_cherry_picked
  step "Allowed in three stages"
  allow_pipeline
  step "What two other ready policies would change"
  try_policies
  step "Refused: the dataset is withdrawn"
  refuse_withdrawn_dataset
  step "Refused: the trainer's key is revoked"
  refuse_revoked_trainer
}

finished() {
  end_step
  [ -z "${ASSAY_DEMO_KEEP:-}" ] || keep_service
  printf '\n%severything came out as expected%s (%d s)\n' "$GREEN" "$PLAIN" $(($(date +%s) - START))
  exit 0
}

printf '%sAssay: may this model run here?%s\n' "$BOLD" "$PLAIN"

step "A service with TLS, SQLite and the trust of two operators"
make_keys
make_principals
write_appraisal
make_plugin
register_devices
write_config
run assayd init --config service/assayd.json --bootstrap service/bootstrap.json
# What auditors are given out of band: the log's public key.
json last.out 'd["log_verifier_key"]' >log.vkey
[ -s log.vkey ] || fail "assayd init did not print the log's verifier key"
start_service
note "assayd serves $ASSAY_SERVER and webhooks on $ADMISSION"

case $CHAPTER in
  pipeline)
    tell_pipeline
    finished
    ;;
  vendor)
    step "A vendor's model, signed with model_signing of OpenSSF"
    tell_vendor
    finished
    ;;
esac

step "A model: config.json and two safetensors shards"
if [ -n "$MODEL" ]; then
  cp -r "$MODEL" model
  [ -f model/config.json ] || printf '{}\n' >model/config.json
  note "your model: $(du -shL model | cut -f1)"
else
  run /usr/bin/python3 -B "$ROOT/tests/support/make_model.py" model --size 300MB
  note "$(du -shL model | cut -f1) in $(find model -type f | wc -l) files"
fi

DEVICES="the CPU and through OpenCL"
[ "$CHAPTER" != first ] || DEVICES="the CPU"
step "Its manifest, on $DEVICES"
run assay manifest create model --name "$NAME" --location "pvc://inference/$CLAIM" \
  --device cpu --out manifest.json --outline manifest.outline
ID=$(json manifest.json 'd["subject"][0]["digest"]["assay-tree-v1-sha256"]')
if [ "$CHAPTER" = first ]; then
  note "its root is $ID"
else
  run assay manifest create model --name "$NAME" --location "pvc://inference/$CLAIM" \
    --device opencl --out manifest.opencl.json
  cmp -s manifest.json manifest.opencl.json || fail "CPU and OpenCL manifests differ"
  proven "both devices give the root $ID"
fi

step "Signed, verified against the files, pushed over TLS"
run assay sign manifest.json --yes --key keys/publisher.pem --out manifest.signed.json
run assay manifest verify manifest.signed.json model --key keys/publisher.pem.pub
proven "the files are the bytes that the publisher signed"
run as release-ci assay push manifest.signed.json -o json
cp last.out manifest.receipt.json
run as release-ci assay log checkpoint --verifier-key-file log.vkey --out checkpoint.early
run as release-ci assay push manifest.signed.json --outline manifest.outline
proven "a second push finds the first: nothing is stored twice; the outline will name bytes"

step "Statements: an evaluation with a metric (ECDSA P-256), two approvals"
state evaluate manifest.json evaluator evaluation --metric accuracy=0.947 --metric latency_p99=41:ms
state approve manifest.json approver-a approval-a --comment "red team done"
state approve manifest.json approver-b approval-b
note "eva evaluated, anna and ben approved"

step "A policy: published, accuracy at least 0.9, two people approve"
cp "$ROOT/deploy/examples/policy-demo.json" policy.json
run assay policy lint policy.json
quietly assay sign policy.json --yes --key keys/author.pem --out policy.signed.json
run as policy-ci assay push policy.signed.json -o json
POLICY=$(json last.out 'd["id"] if isinstance(d, dict) and "id" in d else (d["items"] if isinstance(d, dict) else d)[0]["id"]')
refused 1 'wrong-purpose|untrusted-signer|threshold-not-met' \
  as policy-desk assay policy activate "$POLICY" --without-tests --key keys/author.pem
proven "its author alone cannot put it in force"
run as policy-desk assay policy activate "$POLICY" --without-tests --key keys/policy-approver.pem

step "Kubernetes asks: a pod with the good model"
review llm-good "$CLAIM" "$NAME"
run ask_webhook --mutate
grep -q "$ID" last.out || fail "the patch does not pin the artifact id"
proven "admitted at create, and the pod is pinned to $NAME@assay-tree-v1-sha256:${ID:0:16}..."
run ask_webhook

[ "$CHAPTER" != first ] || finished

step "A node proves itself: TDX evidence for a key that is in memory alone"
mkdir -p node/claims/served service/mirror/acme
cp -r model "node/claims/$CLAIM"
cp -rl model service/mirror/acme/demo-llm
start_worker "$NODE"
run as security assay node show "$NODE"
sed -n '/^state\|^evidence\|^enrolled/s/^/   /p' last.out
note "the machine is simulated: its root counts because this demo names it, as dangerous"
proven "quote, collateral and measurements are appraised, and the worker's key is bound to them"

step "The node hashes the model where the pod mounts it, through OpenCL"
review --claim "$CLAIM" "$VOLUME"
run ask_webhook
note "the claim $CLAIM is bound to the volume $VOLUME, which is the one that the node has mounted"
run as release-ci assay job new "$NAME" --node "$NODE" --wait
grep -q 'a measured worker' last.out || fail "the report does not come from a measured worker"
note "$(grep -o ' hashed .*' worker.log | tail -n 1 | sed 's/^ //')"
proven "signed report of a measured worker, and 16 random spans answered: a spot check finds a \
hundredth of missing bytes with 15 % probability"

step "Kubernetes asks: may the pod go to this node?"
node_policy 1 3600
run assay policy lint policy-node.json
enforce policy-node
review --bind llm-good "$NODE"
run ask_webhook
proven "bound: the node's evidence and its report are as the policy asks"
review --bind llm-good gpu-node-2  # it never enrolled
refused 1 'node-not-enrolled' ask_webhook
proven "a node that never enrolled gets nothing"

step "A second node: its evidence is verified by a plug-in"
enrol_edge_node

step "A confidential node: TDX and two GPUs prove themselves in one enrolment"
tell_devices

step "A vendor's model, signed with model_signing of OpenSSF"
tell_vendor

step "In memory: the weights that a process computes with"
publish_served
verify_in_memory

step "Refused: one bit flipped in that memory"
refuse_changed_memory

step "Refused: (a) one flipped byte"
cp -r model flipped
flip "$(shard flipped)"
refused 1 'content-mismatch|changed' assay manifest verify manifest.signed.json flipped \
  --key keys/publisher.pem.pub --outline manifest.outline
note "$(grep -hE 'bytes|range|changed' last.out last.err | head -n 1 | sed 's/^ *//')"
quietly assay hash flipped -o json
FLIPPED=$(json last.out 'd["artifact"]')
review llm-flipped "$CLAIM" "$FLIPPED"
refused 1 'manifest-missing' ask_webhook
show_refusal
rm -rf flipped

step "Refused: (b) a manifest signed by an unknown key"
variant unknown "signed by a stranger"
quietly assay manifest create unknown --name "$NAME" --location pvc://inference/stranger \
  --out unknown.json
quietly assay sign unknown.json --yes --key keys/stranger.pem --out unknown.signed.json
refused 1 'untrusted-signer' as release-ci assay push unknown.signed.json
proven "it is not even stored"
review llm-unknown stranger "assay-tree-v1-sha256:$(json unknown.json 'd["subject"][0]["digest"]["assay-tree-v1-sha256"]')"
refused 1 'manifest-missing' ask_webhook
show_refusal

step "Refused: (c) the evaluation is missing"
variant unevaluated "not evaluated"
publish unevaluated unevaluated unevaluated
state approve unevaluated.json approver-a unevaluated-a
state approve unevaluated.json approver-b unevaluated-b
review llm-unevaluated unevaluated "assay-tree-v1-sha256:$(cat unevaluated.id)"
refused 1 'evaluated: statement-missing|statement-missing' ask_webhook
show_refusal

step "Refused: (d) approved twice by one person"
variant single "one approver"
publish single single single
state evaluate single.json evaluator single-e --metric accuracy=0.95
state approve single.json approver-a single-a --comment "first look"
state approve single.json approver-a single-b --comment "second look"
review llm-single single "assay-tree-v1-sha256:$(cat single.id)"
refused 1 'signers-insufficient' ask_webhook
show_refusal

step "Refused: (e) a GPU pod that names no model"
review llm-nameless scratch
refused 1 'model-reference-missing' ask_webhook
show_refusal

step "Refused: (f) the pod mounts another directory than the model's"
refuse_mounted_elsewhere

step "Refused: (g) a manifest that leaves a file out, and that file on the node"
refuse_ignored_file
refuse_extra_file

step "Refused: (h) a second name for one machine"
refuse_second_name

step "Refused: (i) one byte flipped on the node"
flip "$(shard "node/claims/$CLAIM")"
refused 1 'changed .* \[[0-9]+, [0-9]+\)' as release-ci assay job new "assay-tree-v1-sha256:$ID" \
  --node "$NODE" --wait
grep '^differs' last.out | sed 's/^/   /'
review --bind llm-good "$NODE"
refused 1 'model-mismatch' ask_webhook
show_refusal

step "Refused: (j) evidence that is stale"
node_policy 2 1
enforce policy-node
until_refused ask_webhook
refused 1 'evidence-stale' ask_webhook
show_refusal

step "Refused: (k) the node is revoked"
run as platform assay trust change --revoke-node "$NODE" --reason "stolen" --sequence auto \
  --out revoke.json
quietly assay sign revoke.json --yes --key keys/operator-1.pem --key keys/operator-2.pem \
  --out revoke.signed.json
run as platform assay trust push revoke.signed.json
refused 1 'node-revoked' ask_webhook
show_refusal
worker_ended && fail "the worker of a revoked node goes on"
grep -q 'node-revoked' worker.err || fail "the worker does not say why it ended"
proven "two operators ended the node; its worker is turned away and stops"

tell_pipeline

step "The audit trail"
run as security assay audit events --limit 1000
sed 's/^/   /' last.out | tail -n 12
DECISION=$(as security assay decision list --verdict deny --quiet -o json | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
print((d["items"] if isinstance(d, dict) else d)[0]["id"])')
run as security assay decision replay "$DECISION"
proven "the last refusal, evaluated again from its case file, gives the same digest"
run as security assay log mirror mirror --verifier-key-file log.vkey

step "Proven offline, with the server stopped"
stop_service || fail "assayd did not stop cleanly"
run assay log verify mirror --verifier-key-file log.vkey --since checkpoint.early \
  --receipt manifest.receipt.json
proven "checkpoint signature, every entry, the manifest's receipt, and that nothing was rewritten \
since the early checkpoint"
ENTRY=$(find mirror -path '*entries*' -type f | sort | head -n 1)
flip "$ENTRY" 100
refused 1 'refused: .*tile/entries' assay log verify mirror --verifier-key-file log.vkey
proven "with one changed byte the log is refused"

finished
