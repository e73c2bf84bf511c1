# SPDX-License-Identifier: Apache-2.0
# Refusals of the demo that are about seams: what a pod mounts, what a manifest leaves out, which
# machine a node's name belongs to. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

# change_review STATEMENT: changes the pod `p` in review.json by a Python statement.
change_review() {
  /usr/bin/python3 -c 'import json, sys
r = json.load(open("review.json"))
p = r["request"]["object"]
exec(sys.argv[1])
json.dump(r, open("review.json", "w"))' "$1"
}

refuse_mounted_elsewhere() {
  review llm-elsewhere "$CLAIM" "$NAME"
  change_review 'p["spec"]["volumes"].append({"name": "other", "hostPath": {"path": "/data/evil"}})
p["spec"]["containers"][0]["volumeMounts"][0]["name"] = "other"'
  refused 1 'volume-unaccounted' ask_webhook
  show_refusal
  proven "the pod declares the good claim and names the good model; what counts is what it mounts"
}

refuse_ignored_file() {
  cp -rl model ignoring
  printf 'import os\n' >ignoring/modeling_evil.py
  quietly assay manifest create ignoring --name "$NAME" --location pvc://inference/ignoring \
    --ignore '*.py' --out ignoring.json
  quietly assay sign ignoring.json --key keys/publisher.pem --out ignoring.signed.json
  quietly as release-ci assay push ignoring.signed.json
  local id
  id=$(json ignoring.json 'd["subject"][0]["digest"]["assay-tree-v1-sha256"]')
  [ "$id" != "$ID" ] || fail "rules that leave files out do not change the root"
  review llm-ignoring ignoring "assay-tree-v1-sha256:$id"
  refused 1 'parameters-mismatch' ask_webhook
  show_refusal
  proven "with other rules of what to leave out it is another artifact, and no policy here takes it"
  rm -rf ignoring
}

# File beside the model on the node; taken away again, so that the node is good afterwards.
refuse_extra_file() {
  printf 'import os\n' >"node/claims/$CLAIM/modeling_evil.py"
  refused 1 'extra .*modeling_evil.py' as release-ci assay job new "assay-tree-v1-sha256:$ID" \
    --node "$NODE" --wait
  grep -h 'extra' last.out | head -n 1 | sed 's/^/   /'
  rm "node/claims/$CLAIM/modeling_evil.py"
  proven "every byte of the model is right, and the file beside it is found all the same"
}

# The same machine under a second name that two operators registered.
refuse_second_name() {
  printf '{"id": "gpu-node-2", "node": "gpu-node-2", "principal": "node-agent"}\n' >second.json
  quietly as platform assay trust change --register second.json --sequence auto --out second-name.json
  quietly assay sign second-name.json --key keys/operator-1.pem --key keys/operator-2.pem \
    --out second-name.signed.json
  quietly as platform assay trust push second-name.signed.json
  refused 2 'platform-taken' as node-agent assay worker run --node gpu-node-2 \
    --map "pvc://inference/$CLAIM=$PWD/node/claims/$CLAIM" --device cpu \
    --evidence simulate --simulator-seed seed --once
  proven "one machine has one name: no pod is bound to a second"
}
