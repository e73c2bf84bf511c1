// SPDX-License-Identifier: Apache-2.0
// EAT Attestation Results (EAR): the outcome of an appraisal (evidence_verifier.h) as a signed
// token for other services. Spec: draft-ietf-rats-ear-04 (names), draft-ietf-rats-ar4si
// (trustworthiness), RFC 7515, RFC 7519; ES256 only.
//
// {"eat_profile","iss","sub","iat","exp","eat_nonce","ear_verifier_id":{"developer","build"},
//  "ear_status","submods":{"tdx":{"ear_status","ear_trustworthiness_vector",
//  "ear_appraisal_policy_ids","ear_attester_claims","ear_verifier_claims"}}}
//
// The submodule of evidence has the name of its type. Composite evidence has one more for each
// part, "TYPE.PART", without policies and verifier claims.
//
// The status of a submodule is that of the worst value in its trustworthiness vector. Refused
// evidence has the status "contraindicated", whatever its vector says. The overall status is that
// of the worst submodule. A token contains no identifier of the hardware (PPID), because tokens are
// passed on to other services.
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
inline constexpr std::string_view kEarDeveloper = "https://assay.dev";
// The longest lifetime of a result. Results age quickly, so a token with a longer lifetime is
// neither made nor accepted.
inline constexpr std::chrono::seconds kMaxEarLifetime = std::chrono::hours(1);

// The claims of a token that do not come from the appraisal.
struct EarContext {
  std::string issuer;  // "iss"
  std::string build;   // version of the verifier
  std::string nonce;   // "eat_nonce": hex of the challenge; left out when empty
  std::string node;    // "sub"; left out when empty
  std::string policy;  // id of the appraisal policy: "sha256:..."; left out when empty
  Timestamp now;
  std::chrono::seconds lifetime{300};
};

// Makes a token, in JWS compact serialisation. `signer` must be ECDSA P-256. Errors:
// unsupported-key for another signer; invalid-parameter for a lifetime that is not positive or
// above kMaxEarLifetime.
[[nodiscard]] Result<std::string> make_ear(const AppraisedEvidence& appraised,
                                           const EarContext& context, const Signer& signer);

struct EarClaims {
  Json claims;
  std::string status;  // of the worst submodule: "affirming", "warning", "contraindicated", "none"
};
// Verifies a token made by make_ear() under `key`; only ES256 is accepted. Checks profile, issuer
// and times. Checks that no submodule has a better status than its worst claim, and that the
// overall status is that of the worst submodule. Values of the tier "none" claim nothing. A
// submodule that is "affirming" without a claim that affirms counts as "none", and "none" is worse
// than "affirming". A token with the status "contraindicated" is returned like any other, so the
// caller must look at the status. Errors: signature-invalid; schema-violation; evidence-rejected
// for another issuer, for a token that is not valid at `now` or has a lifetime above
// kMaxEarLifetime, and for a status that fails these checks.
[[nodiscard]] Result<EarClaims> verify_ear(std::string_view token, const PublicKey& key,
                                           std::string_view issuer, Timestamp now);

}  // namespace assay::attestation
