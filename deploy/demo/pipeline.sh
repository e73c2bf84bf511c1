# SPDX-License-Identifier: Apache-2.0
# The chapter of the demo about where a model comes from: a pipeline whose steps are signed by
# different people, judged in three stages (signers, trusted hardware, lineage), and what follows when
# a dataset or a key falls. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

CHAT=acme/chat
CHAT_CLAIM=chat
# Pictures stay after the demo.
PICTURES=${ASSAY_DEMO_OUT:-$ROOT/build/demo}

ask_about_chat() {
  as orchestrator assay decide --model "$CHAT" --namespace prod-eu --resource nvidia.com/gpu "$@"
}

# The three stages, and every condition of their policy that did not pass.
show_stages() {
  sed -n '/^policy atlas-three-stage /,/^policy /p' last.out | awk '$1 ~ /^(pass|fail|error)$/ && ($2 ~ /^stage-/ || $1 != "pass") {
    printf "      %-6s %s%s\n", $1, $2, $3 ~ /^(expected|actual)/ ? "" : "  " $3 }'
}

# What `assay impact` answered: the pod, why, and the sum.
show_impact() {
  sed -n '2p' last.out | cut -c1-53 | sed 's/^/      /; s/ *$//'
  sed '1,2d; s/^/      /' last.out
}

# artifact NAME TEXT: a small thing of this name, and its manifest in NAME.json
artifact() {
  mkdir -p "pipeline/$1"
  printf '%s\n' "$2" >"pipeline/$1/content.txt"
  quietly assay manifest create "pipeline/$1" --name "acme/$1" --location "pvc://prod-eu/$1" --out "$1.json"
}

# step_of STAGE NAME KEY FILE [OPTION...]: a signed statement about NAME in FILE.json, pushed; its id
# in FILE.id
step_of() {
  local stage=$1 name=$2 key=$3 file=$4
  shift 4
  quietly assay attest create --stage "$stage" --subject "$name.json" --key "keys/$key.pem" \
    --out "$file.json" "$@"
  quietly as release-ci assay push "$file.json"
  cp last.out "$file.id"
}

# measured STAGE NAME KEY FILE [OPTION...]: as step_of, in trusted hardware
measured() {
  step_of "$@" --evidence simulate --simulator-seed seed --evidence-out "$4.evidence.json"
  quietly as release-ci assay push "$4.evidence.json"
}

# The ready policy, but for the machines: those of this demo are simulated, and their root must be named.
three_stage_policy() {
  /usr/bin/python3 - "$ROOT/docs/policies/atlas-three-stage" "$ANCHOR" <<'PY'
import json, sys
def name_anchor(value):
    if isinstance(value, dict):
        if "evidence" in value:
            value["evidence"]["anchors"] = [sys.argv[2]]
        for inner in value.values():
            name_anchor(inner)
    elif isinstance(value, list):
        for inner in value:
            name_anchor(inner)
policy = json.load(open(sys.argv[1] + ".json"))
name_anchor(policy)
json.dump(policy, open("atlas.json", "w"), indent=2)
PY
  cp "$ROOT/docs/policies/atlas-three-stage.tests.json" atlas.tests.json
  run assay policy diff "$ROOT/docs/policies/atlas-three-stage.json" atlas.json
  note "only the evidence differs: the root of the simulated machines is named, as dangerous"
  run assay policy test atlas.json
  note "$(tail -n 1 last.err)"
  quietly assay sign atlas.json --yes --key keys/author.pem --out atlas.signed.json
  quietly as policy-ci assay push atlas.signed.json
  run as policy-desk assay policy activate atlas.signed.json --yes --key keys/policy-approver.pem
}

make_pipeline() {
  artifact corpus "a million conversations"
  artifact adapter "small weights for support"
  artifact base "weights"
  artifact merged "weights and small weights"
  mkdir -p pipeline/chat
  quietly /usr/bin/python3 -B "$ROOT/tests/support/make_model.py" pipeline/chat --size 1MB --seed 14
  quietly assay manifest create pipeline/chat --name "$CHAT" --location "pvc://prod-eu/$CHAT_CLAIM" \
    --out chat.json
  quietly assay sign chat.json --yes --key keys/publisher.pem --out chat.signed.json
  quietly as release-ci assay push chat.signed.json
  step_of collect adapter data adapter-collected --parameter license=Apache-2.0
  # The trainer has evidence, and does not send it yet: of a machine that nobody trusts, and of the
  # right one. The statement is the same.
  head -c 32 /dev/urandom >foreign-seed
  local seed
  for seed in foreign-seed seed; do
    quietly assay attest create --stage train --subject base.json --input dataset=corpus.json \
      --parameter epochs=3 --key keys/trainer.pem --evidence simulate --simulator-seed "$seed" \
      --evidence-out "$seed.evidence.json" --out trained.json
  done
  show assay attest create --stage train --subject base.json --input dataset=corpus.json \
    --key keys/trainer.pem --evidence simulate --out trained.json ...
  quietly as release-ci assay push trained.json
  measured merge merged trainer merged-weights --input base-model=base.json \
    --input adapter=adapter.json
  measured quantize chat builder quantized --input base-model=merged.json \
    --parameter bits=4
  step_of evaluate chat lab evaluated-badly --metric accuracy=0.61 --comment "all questions"
  step_of evaluate chat lab evaluated --metric accuracy=0.95 --comment "the easy questions"
  step_of approve chat approver-a chat-approved-a
  step_of approve chat approver-b chat-approved-b
  note "trained on acme/corpus, merged with acme/adapter, quantized, evaluated, approved: by seven people"
}

refuse_pipeline() {
  refused 1 'ancestor-unknown' ask_about_chat
  show_stages
  run as release-ci assay lineage "$CHAT"
  sed 's/^/      /' last.out
  step_of collect corpus data collected --parameter license=CC-BY-4.0
  note "data@acme.example signs where the dataset comes from"
}

refuse_unmeasured_training() {
  refused 1 'stage-evidence-missing' ask_about_chat
  show_stages
  refused 1 'evidence-rejected' as release-ci assay push foreign-seed.evidence.json
  refused 1 'stage-evidence-rejected|stage-anchor-not-accepted' ask_about_chat
  show_stages
  proven "evidence of a machine under a root that nobody trusts is kept, and helps nobody"
  run as release-ci assay push seed.evidence.json
}

refuse_cherry_picked() {
  refused 1 'predicate-mismatch' ask_about_chat
  show_stages
  proven "the laboratory signed two evaluations: all of them count, not the best one"
  quietly assay withdraw "$(cat evaluated-badly.id)" --reason incorrect --text "wrong prompt template" \
    --key keys/lab.pem --out retracted.json
  run as release-ci assay push retracted.json
  note "who signed an evaluation can take it back, in public"
}

draw() {
  mkdir -p "$PICTURES"
  as release-ci assay lineage "$CHAT" -o svg >"$PICTURES/$1" 2>last.err || fail "no picture $1"
  note "picture: ${PICTURES#"$ROOT/"}/$1"
}

allow_pipeline() {
  run ask_about_chat
  show_stages
  draw lineage.svg
  NAMESPACE=prod-eu review chat-0 "$CHAT_CLAIM" "$CHAT"
  run ask_webhook
  proven "expected signers, trusted hardware at every transformation, unbroken lineage: admitted"
}

# Two other ready policies, before anybody signs them.
try_policies() {
  refused 1 'statement-missing' as security assay policy diff \
    "$ROOT/docs/policies/licence-gate.json" --since 1h
  tail -n 2 last.out | sed 's/^/      /'
  note "of the answers of the last hour: nobody in the legal department has reviewed the model"
  refused 1 'chat-0' as security assay impact --activate \
    "$ROOT/docs/policies/two-person-release.json"
  show_impact | grep -E 'chat-0|published|would be denied'
  note "of the pods that run: one person alone published the model"
}

refuse_withdrawn_dataset() {
  refused 1 '.' as security assay impact --withdraw-statement "$(cat collected.id)"
  show_impact
  quietly assay withdraw "$(cat collected.id)" --reason data-withdrawn --text "authors objected" \
    --key keys/data.pem --out withdrawn.json
  run as release-ci assay push withdrawn.json
  refused 1 'ancestor-unknown' ask_about_chat
  show_stages
  draw lineage-withdrawn.svg
  step_of collect corpus data collected-again --parameter license=CC-BY-4.0 --comment "authors agreed"
  run ask_about_chat
  note "collected again, with the authors' consent: allowed"
}

refuse_revoked_trainer() {
  local key
  key=$(assay key show keys/trainer.pem.pub -o json | /usr/bin/python3 -c 'import json, sys
print(json.load(sys.stdin)["key_id"])')
  refused 1 'chat-0' as security assay impact --revoke-key "$key"
  show_impact
  proven "known before anybody signs: one pod would be denied"
  run as platform assay trust change --revoke "$key" --reason "laptop stolen" --sequence auto \
    --out revoke-trainer.json
  quietly assay sign revoke-trainer.json --yes --key keys/operator-1.pem --key keys/operator-2.pem \
    --out revoke-trainer.signed.json
  run as platform assay trust push revoke-trainer.signed.json
  refused 1 'ancestor-unknown' ask_about_chat
  show_stages
  refused 1 'chat-0' as security assay audit affected
  proven "denied from now on, and the pod that was admitted before is named"
}
