// SPDX-License-Identifier: Apache-2.0
#include "attestation/oms/verify.h"

#include <utility>

#include "attestation/oms/old_form.h"
#include "attestation/oms/signer.h"
#include "schemas/statement.h"

namespace assay::attestation::oms {
namespace {

Status check_signature(const Envelope& envelope, const PublicKey& key, OldForm old_form) {
  const Bytes message = pre_authentication_encoding(envelope.payload_type, envelope.payload);
  Status status = key.verify(message, envelope.signatures.front().signature);
  if (!status && old_form == OldForm::kAccepted) {
    return verify_old(envelope, key);
  }
  return status;
}

}  // namespace

Result<Signed> verify_bundle(const Bundle& bundle, ByteView json, const Trust& trust,
                             OldForm old_form) {
  ASSAY_ASSIGN(VerifiedSigner signer, signer_of(bundle, json, trust));
  if (signer.key) {
    ASSAY_TRY(check_algorithm(signer.key->algorithm()));
    ASSAY_TRY(check_signature(bundle.envelope, *signer.key, old_form));
  }
  ASSAY_ASSIGN(Statement statement, parse_oms_statement(bundle.envelope.payload, old_form));
  return Signed{std::string(method_of(bundle.material)),
                std::move(signer.signer),
                std::move(signer.issuer),
                signer.at,
                std::move(signer.key),
                std::move(statement)};
}

Result<std::string> sign_bundle(const Statement& statement, const Signer& signer,
                                std::span<const Bytes> chain) {
  ASSAY_TRY(check_algorithm(signer.algorithm()));
  ASSAY_ASSIGN(const PublicKey key, PublicKey::from_der(signer.public_key()));
  ASSAY_ASSIGN(const std::string payload, encode_oms_statement(statement));
  const Signer* const signers[] = {&signer};
  ASSAY_ASSIGN(Envelope envelope,
               sign_envelope(kStatementPayloadType, as_bytes(payload), signers, kKeyidNone));
  Material material = KeyMaterial{hint_of(key)};
  if (!chain.empty()) {
    ASSAY_ASSIGN(const x509::Certificate certificate, x509::Certificate::from_der(chain.front()));
    if (certificate.key_der() != signer.public_key()) {
      return fail(ErrorCode::kKeyUnusable, "the first certificate is that of another key");
    }
    material = CertificateMaterial{{chain.begin(), chain.end()}};
  }
  return encode_bundle({std::move(material), std::move(envelope)});
}

}  // namespace assay::attestation::oms
