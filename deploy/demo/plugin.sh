# SPDX-License-Identifier: Apache-2.0
# A second node, whose evidence a verifier plug-in verifies. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

PLUGIN_NODE=edge-node-1
PLUGIN_SOURCE=$ROOT/deploy/examples/verifier-plugin
EDGE_PID=''

# The example, built as its author would: service/plugin.so. What runs on the node is named by its
# digest in an appraisal, as the measurements of a TDX guest are.
make_plugin() {
  mkdir -p service
  quietly cc -shared -fPIC -O2 -I "$ROOT" -o service/plugin.so \
    "$PLUGIN_SOURCE/example_hmac.c" -lcrypto
  PLUGIN_SHA256=$(sha256sum service/plugin.so | cut -d' ' -f1)
  local image
  image=$(printf 'an image' | sha256sum | cut -d' ' -f1)
  cat >plugin-appraisal.json <<JSON
{"evidence_type": "example-hmac", "policy": {"reference_values": {"image": ["$image"]}}}
JSON
  cat >plugin-registration.json <<JSON
{"id": "edge-node", "node": "$PLUGIN_NODE", "principal": "node-agent"}
JSON
}

stop_edge_node() { stop EDGE_PID; }

enrol_edge_node() {
  run assay evidence plugin check service/plugin.so "$PLUGIN_SOURCE/vectors.json"
  proven "genuine evidence is accepted; cut, flipped and replayed it is rejected"
  mkdir -p node/edge
  local options=(--node "$PLUGIN_NODE" --map "pvc://inference/$CLAIM=$PWD/node/edge" --device cpu
    --evidence command --evidence-command "$PLUGIN_SOURCE/evidence.py"
    --evidence-type example-hmac)
  show as node-agent assay worker run "${options[@]}"
  ASSAY_TOKEN_FILE=tokens/node-agent assay worker run "${options[@]}" >edge.log 2>edge.err &
  EDGE_PID=$!
  wait_until "the second node was not enrolled" "$EDGE_PID" edge.err grep -qs ' enrolled ' edge.log
  stop_edge_node
  quietly as security assay node show "$PLUGIN_NODE" -o json
  [ "$(json last.out 'd["measured"]["anchor"]')" = "plugin:$PLUGIN_SHA256" ] ||
    fail "the anchor of the node is not the plug-in"
  proven "enrolled: the anchor of its evidence is plugin:${PLUGIN_SHA256:0:16}..."
  review --bind llm-good "$PLUGIN_NODE"
  refused 1 'anchor-not-accepted' ask_webhook
  proven "no policy names that anchor, so nothing is bound there"
}
