// SPDX-License-Identifier: Apache-2.0
#include "attestation/oms/signer.h"

#include <algorithm>

#include "attestation/sigstore/verify.h"
#include "attestation/x509/path.h"
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

Result<VerifiedSigner> by_certificate(const Bundle& bundle, const TrustedRoots& trust) {
  const auto* material = std::get_if<CertificateMaterial>(&bundle.material);
  if (material == nullptr) {
    return other_method(bundle, "certificate");
  }
  std::vector<x509::Certificate> chain;
  for (const Bytes& der : material->chain) {
    ASSAY_ASSIGN(x509::Certificate one, x509::Certificate::from_der(der));
    chain.push_back(std::move(one));
  }
  ASSAY_ASSIGN(const x509::VerifiedPath path,
               x509::verify_path(chain.front(), std::span(chain).subspan(1), trust.roots,
                                 {.time = trust.at,
                                  .purpose = x509::kCodeSigning,
                                  .require_key_usage = false,
                                  .allow_ca_leaf = true,
                                  .allow_anchor_leaf = true}));
  ASSAY_ASSIGN(PublicKey key, path.leaf().public_key());
  return VerifiedSigner{path.leaf().subject(), path.leaf().issuer(), trust.at, std::move(key)};
}

Result<VerifiedSigner> by_identity(const Bundle& bundle, ByteView json,
                                   const TrustedIdentity& trust) {
  if (!std::holds_alternative<SigstoreMaterial>(bundle.material)) {
    return other_method(bundle, "sigstore");
  }
  ASSAY_ASSIGN(const sigstore::WantedIdentity wanted,
               sigstore::WantedIdentity::exactly(trust.issuer, trust.identity));
  ASSAY_ASSIGN(const sigstore::Bundle whole, sigstore::parse_bundle(json));
  const auto* content = std::get_if<sigstore::DsseContent>(&whole.content);
  if (content == nullptr || content->payload != bundle.envelope.payload ||
      content->payload_type != bundle.envelope.payload_type) {
    return fail(ErrorCode::kInternal, "two readings of one bundle differ");
  }
  ASSAY_ASSIGN(
      const sigstore::VerifiedBundle verified,
      sigstore::verify_bundle(whole, {.signer = sigstore::Keyless{trust.trusted_root, wanted},
                                      .artifact = nullptr,
                                      .now = trust.now}));
  if (!verified.identity || verified.times.empty()) {
    return fail(ErrorCode::kInternal, "a bundle without an identity or a time was verified");
  }
  const auto last = std::ranges::max(verified.times, {}, &sigstore::CountedTime::time);
  return VerifiedSigner{verified.identity->subject, verified.identity->issuer, last.time,
                        std::nullopt};
}

}  // namespace

std::string hint_of(const PublicKey& key) { return sha256(as_bytes(key.pem())).hex(); }

Status check_algorithm(SignatureAlgorithm algorithm) {
  if (algorithm == SignatureAlgorithm::kEcdsaP256 || algorithm == SignatureAlgorithm::kEcdsaP384 ||
      algorithm == SignatureAlgorithm::kEcdsaP521) {
    return {};
  }
  return fail(ErrorCode::kUnsupportedKey,
              "OMS has keys of ECDSA on P-256, P-384 and P-521, and none of " +
                  std::string(name(algorithm)) +
                  "; make one with: assay key new --algorithm ecdsa-p384");
}

Result<VerifiedSigner> signer_of(const Bundle& bundle, ByteView json, const Trust& trust) {
  if (const auto* key = std::get_if<TrustedPublicKey>(&trust)) {
    return by_key(bundle, *key);
  }
  if (const auto* roots = std::get_if<TrustedRoots>(&trust)) {
    return by_certificate(bundle, *roots);
  }
  return by_identity(bundle, json, std::get<TrustedIdentity>(trust));
}

}  // namespace assay::attestation::oms
