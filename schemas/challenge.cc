// SPDX-License-Identifier: Apache-2.0
// Challenges: shape by challenge-request and challenge.schema.json.
#include "schemas/challenge.h"

#include <algorithm>

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr JsonLimits kRequestLimits{64U << 10};
constexpr std::size_t kMaxNodeName = 253;

constexpr std::array<std::pair<ChallengePurpose, std::string_view>, 4> kPurposes = {
    {{ChallengePurpose::kEnrol, "enrol"},
     {ChallengePurpose::kReport, "report"},
     {ChallengePurpose::kSpot, "spot"},
     {ChallengePurpose::kStatement, "statement"}}};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_label(std::string_view label) {
  return !label.empty() && is_alphanumeric(label.front()) && is_alphanumeric(label.back()) &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-'; });
}

}  // namespace

std::string text(const Nonce& nonce) { return hex_encode(nonce); }

Result<Nonce> parse_nonce(std::string_view text) {
  Nonce nonce{};
  const auto bytes = hex_decode(text);
  if (!bytes || bytes->size() != nonce.size()) {
    return fail(ErrorCode::kInvalidEncoding, "a nonce is 64 lowercase hex digits");
  }
  std::copy(bytes->begin(), bytes->end(), nonce.begin());
  return nonce;
}

std::string_view name(ChallengePurpose purpose) {
  for (const auto& [value, known] : kPurposes) {
    if (value == purpose) {
      return known;
    }
  }
  return "unknown";
}

Result<ChallengePurpose> challenge_purpose_from(std::string_view name) {
  for (const auto& [value, known] : kPurposes) {
    if (known == name) {
      return value;
    }
  }
  return fail(ErrorCode::kInvalidParameter, "a nonce is for enrol, report, spot or statement");
}

Status check_node_name(std::string_view name) {
  bool valid = !name.empty() && name.size() <= kMaxNodeName;
  for (std::size_t start = 0; valid && start <= name.size();) {
    const std::size_t dot = std::min(name.find('.', start), name.size());
    valid = is_label(name.substr(start, dot - start));
    start = dot + 1;
  }
  if (!valid) {
    return fail(ErrorCode::kInvalidParameter,
                "a node name looks like gpu-node-1.example: a-z, 0-9 and '-' in parts joined by "
                "'.', at most 253 characters");
  }
  return {};
}

Json to_json(const ChallengeRequest& request) {
  return {{"purpose", name(request.purpose)}, {"node", request.node}};
}

Result<ChallengeRequest> parse_challenge_request(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kRequestLimits));
  ASSAY_TRY(validate("challenge-request", json));
  ASSAY_ASSIGN(const ChallengePurpose purpose,
               challenge_purpose_from(members::text(json, "purpose")));
  return ChallengeRequest{purpose, members::text(json, "node")};
}

Json to_json(const Challenge& challenge) {
  Json json = {{"nonce", text(challenge.nonce)},
               {"audience", challenge.audience},
               {"purpose", name(challenge.purpose)},
               {"expires_at", to_rfc3339(challenge.expires_at)}};
  if (!challenge.node.empty()) {
    json["node"] = challenge.node;
  }
  if (!challenge.job.empty()) {
    json["job"] = challenge.job;
  }
  return json;
}

Result<Challenge> challenge_from_json(const Json& json) {
  ASSAY_TRY(validate("challenge", json));
  ASSAY_ASSIGN(const Nonce nonce, parse_nonce(members::text(json, "nonce")));
  ASSAY_ASSIGN(const ChallengePurpose purpose,
               challenge_purpose_from(members::text(json, "purpose")));
  ASSAY_ASSIGN(const Timestamp expires_at, members::time(json, "expires_at"));
  return Challenge{.nonce = nonce,
                   .audience = members::text(json, "audience"),
                   .purpose = purpose,
                   .node = members::text(json, "node"),
                   .job = members::text(json, "job"),
                   .expires_at = expires_at};
}

}  // namespace assay
