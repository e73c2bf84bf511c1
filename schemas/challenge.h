// SPDX-License-Identifier: Apache-2.0
// Challenges: single-use nonces that the service hands out. Each is valid for one principal,
// purpose and node, and for one job when it names a job. Schemas: challenge-request.schema.json,
// challenge.schema.json.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json_values.h"

namespace assay {

// 32 random bytes; the text form is 64 lowercase hex digits.
using Nonce = std::array<std::uint8_t, 32>;
[[nodiscard]] std::string text(const Nonce& nonce);
// Parses the text form of a nonce. Errors: invalid-encoding unless `text` is 64 lowercase hex
// digits.
[[nodiscard]] Result<Nonce> parse_nonce(std::string_view text);

// What a nonce may be used for. The names are stored and must not change. Leases are explained in
// schemas/job.h, reports and spot checks in schemas/verification_report.h.
enum class ChallengePurpose : std::uint8_t {
  kEnrol,      // "enrol": an enrolment or its renewal
  kReport,     // "report": a verification report; issued only with the lease of a job
  kSpot,       // "spot": the answers to a spot check; issued only in answer to a report
  kStatement,  // "statement": the member "freshness" of a lifecycle statement
};
[[nodiscard]] std::string_view name(ChallengePurpose purpose);
// Returns the purpose with this name. Errors: invalid-parameter when there is none.
[[nodiscard]] Result<ChallengePurpose> challenge_purpose_from(std::string_view name);

// Checks the name of a node: a DNS subdomain (RFC 1123) of at most 253 characters, as Kubernetes
// names nodes. Errors: invalid-parameter.
[[nodiscard]] Status check_node_name(std::string_view name);

// Body of POST /v1/challenges: {"purpose":"enrol","node":NAME}.
struct ChallengeRequest {
  ChallengePurpose purpose;
  std::string node;
};
[[nodiscard]] Json to_json(const ChallengeRequest& request);
[[nodiscard]] Result<ChallengeRequest> parse_challenge_request(ByteView body);

// A challenge. JSON: {"nonce","audience","purpose","expires_at"}, "node" unless it is for a
// statement, and "job" when the challenge is bound to a job.
struct Challenge {
  Nonce nonce;
  std::string audience;  // name of the service; the signed answer must contain it
  ChallengePurpose purpose;
  std::string node;  // empty: not bound to a node
  std::string job;   // empty: not bound to a job
  Timestamp expires_at;
};
[[nodiscard]] Json to_json(const Challenge& challenge);
// Checks the schema too.
[[nodiscard]] Result<Challenge> read_json(json::As<Challenge> type, const Json& json);

}  // namespace assay
