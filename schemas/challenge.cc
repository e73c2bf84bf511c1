// SPDX-License-Identifier: Apache-2.0
// Challenges: shape by challenge-request and challenge.schema.json.
#include "schemas/challenge.h"

#include <algorithm>

#include "schemas/core/names.h"
#include "schemas/document.h"

namespace assay {
namespace {

constexpr JsonLimits kRequestLimits{64U << 10};
constexpr std::size_t kMaxNodeName = 253;

constexpr Names<ChallengePurpose, 4> kPurposes = {{{{ChallengePurpose::kEnrol, "enrol"},
                                                    {ChallengePurpose::kReport, "report"},
                                                    {ChallengePurpose::kSpot, "spot"},
                                                    {ChallengePurpose::kStatement, "statement"}}}};

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

std::string_view name(ChallengePurpose purpose) { return kPurposes.of(purpose); }

Result<ChallengePurpose> challenge_purpose_from(std::string_view name) {
  return kPurposes.parse(name, "a nonce is for enrol, report, spot or statement");
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

static auto members_of(json::As<ChallengeRequest>) {
  using T = ChallengeRequest;
  return std::tuple(json::always("purpose", &T::purpose, json::named(challenge_purpose_from)),
                    json::always("node", &T::node));
}
Json to_json(const ChallengeRequest& request) { return json::write(request); }
Result<ChallengeRequest> parse_challenge_request(ByteView body) {
  return document::parse<ChallengeRequest>(body, "challenge-request", kRequestLimits);
}

static auto members_of(json::As<Challenge>) {
  using T = Challenge;
  return std::tuple(json::always("nonce", &T::nonce, document::kNonce),
                    json::always("audience", &T::audience),
                    json::always("purpose", &T::purpose, json::named(challenge_purpose_from)),
                    json::if_set("node", &T::node), json::if_set("job", &T::job),
                    json::always("expires_at", &T::expires_at));
}
Json to_json(const Challenge& challenge) { return json::write(challenge); }
Result<Challenge> read_json(json::As<Challenge> /*type*/, const Json& json) {
  ASSAY_TRY(validate("challenge", json));
  return json::read<Challenge>(json);
}

}  // namespace assay
