// SPDX-License-Identifier: Apache-2.0
// Who signed an OMS bundle (OMS v1.0 sections 4.1 and 8.2).
//
// Times. A bundle that a key signed has no time. A certificate is judged at one time that the
// caller gives, by default now: nothing in the bundle proves when it was signed, so a certificate
// that has expired is refused, as the spec demands, and a caller who knows better passes that time.
// model_signing judges at the start of the certificate's validity, so it never finds one expired.
// A bundle of sigstore proves its time, and attestation/sigstore judges at that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attestation/keys.h"
#include "attestation/oms/bundle.h"
#include "attestation/oms/statement.h"
#include "attestation/sigstore/trusted_root.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::oms {

// Whom the caller trusts to have signed. A bundle of another method is refused.
struct TrustedPublicKey {
  PublicKey key;  // ECDSA on P-256, P-384 or P-521
};
// The certificate of the signer must name the purpose code signing and lead to one of the roots, or
// be one of them (section 8.2). It may be a CA, as those of model_signing's own tests are.
struct TrustedRoots {
  std::vector<x509::Certificate> roots;
  Timestamp at;  // when all certificates of the path must be valid
};
struct TrustedIdentity {
  std::string identity;  // the SAN of the certificate, compared exactly
  std::string issuer;    // of the OIDC token, compared exactly
  sigstore::TrustedRoot trusted_root;
  Timestamp now;  // nothing may have been signed later
};
using Trust = std::variant<TrustedPublicKey, TrustedRoots, TrustedIdentity>;

// Who signed, as verified.
struct Signed {
  std::string method;            // "key", "certificate" or "sigstore"
  std::string signer;            // key id, or what the certificate names
  std::string issuer;            // of the certificate; empty for a key
  std::optional<Timestamp> at;   // the time that counted; absent for a key
  std::optional<PublicKey> key;  // that made the signature
  Statement statement;
};

// Verifies the signature of `bundle`, whose bytes are `json`, and then reads its statement. The
// hint of a key must be the SHA-256 of the key's PEM or DER when there is one: model_signing
// refuses another hint. A signature of model_signing 0.2 is verified in that release's own form
// when `old_form` accepts it. Errors: untrusted-signer when the bundle was signed by another method
// or names another key; unsupported-key for a key that OMS does not have, such as Ed25519;
// signature-invalid; those of certificates and of sigstore; those of parse_oms_statement().
[[nodiscard]] Result<Signed> verify_bundle(const Bundle& bundle, ByteView json, const Trust& trust,
                                           OldForm old_form);

// Returns the hint of `key`: hex of SHA-256 over its PEM.
[[nodiscard]] std::string hint_of(const PublicKey& key);

// Signs `statement` with `signer`, with an empty `chain` by the method of keys, otherwise with the
// certificates of `chain`, the signer's first. Returns the bundle as JSON. Errors: unsupported-key
// with advice for a key that OMS does not have; key-unusable when the first certificate is not that
// of the key; those of encode_oms_statement().
[[nodiscard]] Result<std::string> sign_bundle(const Statement& statement, const Signer& signer,
                                              std::span<const Bytes> chain);

}  // namespace assay::attestation::oms
