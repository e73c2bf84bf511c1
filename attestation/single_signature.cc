// SPDX-License-Identifier: Apache-2.0
#include "attestation/single_signature.h"

#include "attestation/keys.h"

namespace assay::attestation {

Status verify_single_signature(const Envelope& envelope, ByteView public_key) {
  if (envelope.signatures.size() != 1) {
    return fail(ErrorCode::kSignatureInvalid, "exactly one signature is taken here, the worker's");
  }
  ASSAY_ASSIGN(const auto key, PublicKey::from_der(public_key));
  const EnvelopeSignature& signature = envelope.signatures.front();
  if (!signature.keyid_hint.empty() && signature.keyid_hint != key.id().digest().hex()) {
    return fail(ErrorCode::kUntrustedSigner,
                "the signature names another key than the request; sign with the worker's key");
  }
  return key.verify(pre_authentication_encoding(envelope.payload_type, envelope.payload),
                    signature.signature);
}

}  // namespace assay::attestation
