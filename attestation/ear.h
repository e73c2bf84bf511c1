// SPDX-License-Identifier: Apache-2.0
// EAT Attestation Results: the outcome of an appraisal as a signed token that others can use.
// Spec: draft-ietf-rats-ear-04 (names), RFC 7515, RFC 7519; ES256 only.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "attestation/evidence_verifier.h"
#include "attestation/keys.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

inline constexpr std::string_view kEarProfile = "tag:ietf.org,2026:rats/ear#04";
inline constexpr std::string_view kEarMediaType = "application/eat+jwt";

struct EarContext {
  std::string issuer;  // "iss"
  std::string build;   // version of the verifier
  std::string nonce;   // "eat_nonce": hex of the challenge
  std::string node;    // "sub"
  std::string policy;  // id of the appraisal policy: "sha256:..."
  Timestamp now;
  std::chrono::seconds lifetime{300};
};

// JWS compact serialisation. `signer` must be ECDSA P-256; unsupported-key otherwise.
[[nodiscard]] Result<std::string> make_ear(const AppraisedEvidence& appraised,
                                           const EarContext& context, const Signer& signer);

struct EarClaims {
  Json claims;
  std::string status;  // of the worst submodule: "affirming", "warning", "contraindicated", "none"
};
// Verifies a token made by make_ear() under `key` (alg pinned to ES256) and checks profile, issuer,
// times and that the overall status is the worst submodule's. signature-invalid, schema-violation,
// evidence-rejected.
[[nodiscard]] Result<EarClaims> verify_ear(std::string_view token, const PublicKey& key,
                                           std::string_view issuer, Timestamp now);

}  // namespace assay::attestation
