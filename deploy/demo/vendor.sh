# SPDX-License-Identifier: Apache-2.0
# The chapter of the demo about a model that its vendor signed with another tool, model_signing of
# OpenSSF: imported, decided, admitted. Sourced by run.sh, runs in $WORK.
# shellcheck shell=bash

OMS=https://model_signing/signature/v1.0
VENDOR=acme/vendor-llm
MODEL_SIGNING_RELEASE=model-signing==1.1.1

# find_model_signing: a Python with the package, in SIGNING_PYTHON. ASSAY_MODEL_SIGNING names one that
# is there; otherwise the package comes from PyPI, once, into build/demo.
find_model_signing() {
  local home=$ROOT/build/demo/model_signing
  SIGNING_PYTHON=${ASSAY_MODEL_SIGNING:-$home/bin/python}
  "$SIGNING_PYTHON" -c 'import model_signing.signing' 2>last.err && return
  [ -z "${ASSAY_MODEL_SIGNING:-}" ] || return 1
  note "installing $MODEL_SIGNING_RELEASE from PyPI into build/demo"
  mkdir -p "$ROOT/build/demo"
  # pyOpenSSL: the package needs it and does not name it.
  if /usr/bin/python3 -m venv "$home" && "$home/bin/python" -m pip install --quiet --retries 1 \
    --timeout 15 "$MODEL_SIGNING_RELEASE" pyopenssl; then
    return
  fi >last.out 2>last.err
  rm -rf "$home"
  return 1
}

vendor_signs() {
  quietly /usr/bin/python3 -B "$ROOT/tests/support/make_model.py" vendor --size 5MB --seed 21
  quietly openssl ecparam -name prime256v1 -genkey -noout -out keys/vendor.ec
  quietly openssl pkey -in keys/vendor.ec -pubout -out keys/vendor.pem.pub
  show model_signing sign key vendor --private_key keys/vendor.ec --signature vendor.sig
  quietly "$SIGNING_PYTHON" -m model_signing sign key vendor --private_key keys/vendor.ec --signature vendor.sig
}

import_vendor() {
  run assay verify vendor vendor.sig --key keys/vendor.pem.pub
  run assay manifest import vendor vendor.sig --key keys/vendor.pem.pub --name "$VENDOR" \
    --location pvc://vendors/vendor --sign-key keys/publisher.pem --out vendor.json \
    --out-evidence vendor.oms.json
  run as release-ci assay push vendor.json
  refused 1 'untrusted-signer' as release-ci assay push vendor.oms.json
  proven "the vendor's signature counts once two operators trust its key"
}

# Two operators let the vendor sign bytes, under whatever name they come.
trust_vendor() {
  describe vendor signer signing@vendor.example --role "*:$OMS:*"
  quietly as platform assay trust change --add-key keys/vendor.json --sequence auto --out vendor-trust.json
  quietly assay sign vendor-trust.json --yes --key keys/operator-1.pem --key keys/operator-2.pem \
    --out vendor-trust.signed.json
  run as platform assay trust push vendor-trust.signed.json
  cat >policy-vendor.json <<JSON
{
  "name": "signed-by-the-vendor",
  "version": 1,
  "mode": "enforce",
  "match": {"namespaces": ["vendors"]},
  "require": [
    {"id": "published-by-us", "manifest": {"signers": {"at_least": 1}}},
    {"id": "signed-by-the-vendor",
     "statement": {"predicate_type": "$OMS",
                   "signers": {"at_least": 1, "identities": ["signing@vendor.example"]}}}
  ]
}
JSON
  enforce policy-vendor
}

admit_vendor() {
  state evaluate vendor.json evaluator vendor-e --metric accuracy=0.93
  state approve vendor.json approver-a vendor-a
  state approve vendor.json approver-b vendor-b
  NAMESPACE=vendors review llm-vendor vendor "$VENDOR"
  refused 1 'statement-missing' ask_webhook
  show_refusal
  run as release-ci assay push vendor.oms.json
  run ask_webhook
  proven "admitted: the vendor signed these bytes, we published, evaluated and approved them"
  flip "$(shard vendor)"
  refused 1 'mismatch|changed' assay verify vendor vendor.sig --key keys/vendor.pem.pub
  proven "with one changed bit the vendor's signature is refused"
}

tell_vendor() {
  if ! find_model_signing; then
    note "skipped: model_signing cannot be installed here: $(tail -n 1 last.err)"
    return
  fi
  vendor_signs
  import_vendor
  trust_vendor
  admit_vendor
}
