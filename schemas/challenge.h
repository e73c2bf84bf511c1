// SPDX-License-Identifier: Apache-2.0
// Challenges: single-use nonces that the service hands out, each for one principal, purpose, node
// and job. Schemas: challenge-request.schema.json, challenge.schema.json.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// 32 random bytes. Written as 64 lowercase hex digits.
using Nonce = std::array<std::uint8_t, 32>;
[[nodiscard]] std::string text(const Nonce& nonce);
// invalid-encoding unless 64 lowercase hex digits.
[[nodiscard]] Result<Nonce> parse_nonce(std::string_view text);

// What a nonce may be spent on. Stable: the names are stored.
enum class ChallengePurpose : std::uint8_t {
  kEnrol,   // "enrol": an enrolment or its renewal
  kReport,  // "report": a verification report; comes with a lease, cannot be asked for
  kSpot,    // "spot": the answers to a spot check; comes with a report's answer
};
[[nodiscard]] std::string_view name(ChallengePurpose purpose);
[[nodiscard]] Result<ChallengePurpose> challenge_purpose_from(std::string_view name);

// Name of a node: a DNS subdomain (RFC 1123), as Kubernetes names nodes; at most 253 characters.
// invalid-parameter otherwise.
[[nodiscard]] Status check_node_name(std::string_view name);

// Body of POST /v1/challenges: {"purpose":"enrol","node":NAME}.
struct ChallengeRequest {
  ChallengePurpose purpose;
  std::string node;
};
[[nodiscard]] Json to_json(const ChallengeRequest& request);
[[nodiscard]] Result<ChallengeRequest> parse_challenge_request(ByteView body);

// {"nonce","audience","purpose","node","expires_at"}, and "job" where it is bound to one.
struct Challenge {
  Nonce nonce;
  std::string audience;  // who asks: what must stand in the signed answer
  ChallengePurpose purpose;
  std::string node;
  std::string job;  // empty: bound to none
  Timestamp expires_at;
};
[[nodiscard]] Json to_json(const Challenge& challenge);
[[nodiscard]] Result<Challenge> challenge_from_json(const Json& json);

}  // namespace assay
