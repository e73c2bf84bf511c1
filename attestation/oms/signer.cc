// SPDX-License-Identifier: Apache-2.0
#include "attestation/oms/signer.h"

#include <algorithm>

#include "schemas/core/sha.h"

namespace assay::attestation::oms {
namespace {

std::unexpected<Error> other_method(const Bundle& bundle, std::string_view wanted) {
  return fail(ErrorCode::kUntrustedSigner,
              "the bundle was signed by the method " + std::string(method_of(bundle.material)) +
                  ", and is to be verified by the method " + std::string(wanted));
}

Result<PublicKey> copy_of(const PublicKey& key) { return PublicKey::from_der(key.der()); }

Result<VerifiedSigner> by_key(const Bundle& bundle, const TrustedPublicKey& trust) {
  const auto* material = std::get_if<KeyMaterial>(&bundle.material);
  if (material == nullptr) {
    return other_method(bundle, "key");
  }
  ASSAY_TRY(check_algorithm(trust.key.algorithm()));
  const std::string hint = lower_case(material->hint);
  if (!hint.empty() && hint != hint_of(trust.key) && hint != sha256(trust.key.der()).hex()) {
    return fail(ErrorCode::kUntrustedSigner, "the bundle names another key: " + hint,
                "/verificationMaterial/publicKey/hint");
  }
  ASSAY_ASSIGN(PublicKey key, copy_of(trust.key));
  std::string signer = key.id().text();
  return VerifiedSigner{std::move(signer), {}, std::nullopt, std::move(key)};
}

}  // namespace

std::string hint_of(const PublicKey& key) { return sha256(as_bytes(key.pem())).hex(); }

Status check_algorithm(SignatureAlgorithm algorithm) {
  if (algorithm == SignatureAlgorithm::kEcdsaP256 || algorithm == SignatureAlgorithm::kEcdsaP384) {
    return {};
  }
  return fail(ErrorCode::kUnsupportedKey,
              "OMS has keys of ECDSA on P-256, P-384 and P-521, and none of " +
                  std::string(name(algorithm)) +
                  "; make one with: assay key new --algorithm ecdsa-p384");
}

Result<VerifiedSigner> signer_of(const Bundle& bundle, ByteView /*json*/, const Trust& trust) {
  if (const auto* key = std::get_if<TrustedPublicKey>(&trust)) {
    return by_key(bundle, *key);
  }
  return fail(ErrorCode::kUntrustedSigner, "certificates are not verified yet");
}

}  // namespace assay::attestation::oms
