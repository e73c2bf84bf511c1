// SPDX-License-Identifier: Apache-2.0
// Attestation results of another verifier as evidence: which verifier is believed, and what its
// token must say. Specs: draft-ietf-rats-ear-04 and, for verifiers of today, draft-fv-rats-ear-05
// (names with dots); RFC 9711 (EAT), RFC 7515, RFC 7519, RFC 8725.
//
// A token is data of whoever hands it in. It counts only under a pinned key, for our challenge, for
// the report data that we expect, and for an hour at most. Pure functions: no clock, no network.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/keys.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"
#include "schemas/evidence.h"

namespace assay::attestation {

// The type of evidence that results are presented as.
inline constexpr std::string_view kEarEvidence = "ear";
inline constexpr std::string_view kEarEvidenceMediaType = "application/vnd.assay.ear-evidence+json";

// Limits on a token and its header (bytes, decoded): the verifier may put the machine's event log
// into one, and chains of certificates, which nobody looks at, into the other.
inline constexpr std::size_t kMaxOutsideTokenBytes = 256U << 10;
inline constexpr std::size_t kMaxOutsideHeaderBytes = 16U << 10;

// The two generations of names in tokens. A token with names of both is refused: two readers could
// take it for two results.
enum class EarNames : std::uint8_t { kUnderscores, kDots };

// The appraisal policy of evidence of type "ear": the one verifier that is believed.
struct OutsideVerifier {
  Digest anchor;           // SHA-256 of the JCS of the key set
  std::string issuer{};    // "iss"
  std::string audience{};  // must be in "aud"; empty: the token must have none
  std::string profile{};   // "eat_profile"; decides about the names
  EarNames names = EarNames::kUnderscores;
  std::string algorithm{};  // "ES256" or "ES384"
  struct Key {
    std::string kid;  // empty only for a verifier with one key
    PublicKey key;
  };
  std::vector<Key> keys{};
  std::chrono::seconds max_age{300};
  std::vector<std::string> submods{};  // each must be in the token; others may be, and count too
  bool accept_warning = false;         // "warning" is good enough, not only "affirming"
  // JSON Pointers (RFC 6901) into the claims. At least one of the first two is there.
  std::string report_data{};  // the report data of the machine's own evidence
  std::string key{};          // the key that the machine was seen to hold
  std::string platform{};     // an id of the machine; empty: none is known
};

// Parses {"issuer","audience","profile","algorithm","jwks","max_age_seconds","submods",
// "accept_warning","report_data","key","platform"}. Errors: unknown-member, schema-violation,
// unsupported-key; Error::where is the place in the policy.
[[nodiscard]] Result<OutsideVerifier> parse_outside_verifier(const Json& json);

// What a node hands in: {"ear":TOKEN,"key":HEX,"request":HEX}. The other two are what our own
// report data are made of besides the challenge: SHA-256 of the worker's key, and the third part
// (schemas/evidence.h). They are not believed: only with the challenge in the token do they give
// the expected report data, which nobody can bring about for another challenge.
struct EarEvidence {
  std::string token;
  Digest key;
  Digest request;
};
[[nodiscard]] Json to_json(const EarEvidence& evidence);
// Errors: schema-violation, invalid-encoding.
[[nodiscard]] Result<EarEvidence> parse_ear_evidence(ByteView document);

// What a token comes to. `error` is empty for one that is accepted, else one of
// EAR_FORMAT, EAR_KEY, EAR_ALG, EAR_SIGNATURE, EAR_PROFILE, EAR_ISSUER, EAR_AUDIENCE,
// EAR_NOT_YET_VALID, EAR_EXPIRED, EAR_NONCE_MISMATCH, EAR_BINDING_MISMATCH, EAR_SUBMOD_MISSING,
// EAR_STATUS_UNKNOWN, EAR_STATUS_INCONSISTENT, EAR_STATUS_NOT_ACCEPTED:status.
struct EarVerdict {
  std::string error;
  std::string detail;                    // for people
  std::string status;                    // of the worst submodule; empty when not established
  Bytes platform;                        // id of the machine; empty when none is asked for
  std::optional<Timestamp> valid_until;  // when the token is too old or expires
  Json submods = Json::object();         // aspects of each submodule, the worst of them for each
  // The worst value of each aspect over all submodules; an aspect that a submodule leaves out is
  // absent.
  Json aspects = Json::object();
};
[[nodiscard]] EarVerdict verify_outside_ear(const EarEvidence& evidence,
                                            const OutsideVerifier& verifier,
                                            const ReportDataBytes& expected, Timestamp now);

}  // namespace assay::attestation
