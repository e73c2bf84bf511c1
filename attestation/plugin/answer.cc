// SPDX-License-Identifier: Apache-2.0
#include "attestation/plugin/answer.h"

#include <algorithm>

#include "attestation/trustworthiness.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay::attestation::plugin {
namespace {

// 9999-12-31T23:59:59Z: later ends are as good as none, and times are written with four digits.
constexpr std::uint64_t kLastSecond = 253'402'300'799;

std::unexpected<Error> no_answer(const std::string& why) {
  return fail(ErrorCode::kVerifierFailed, "the plug-in's answer is not valid: " + why);
}

Trustworthiness read_trustworthiness(const Json& json) {
  Trustworthiness trustworthiness;
  for (const auto& [aspect, member] : kAspects) {
    trustworthiness.*member = json.value(aspect, std::int16_t{0});
  }
  return trustworthiness;
}

Json text_object(const std::map<std::string, std::string>& texts) {
  Json json = Json::object();
  for (const auto& [name, text] : texts) {
    json[name] = text;
  }
  return json;
}

// Ascending by name, as the members of an object are.
std::vector<EvidencePart> read_parts(const Json& json) {
  std::vector<EvidencePart> parts;
  for (const auto& [name, part] : json.items()) {
    parts.push_back({name, read_trustworthiness(part["trustworthiness"]),
                     text_object(members::text_map(part, "measurements"))});
  }
  return parts;
}

// Evidence is accepted only when nothing in it is contraindicated, and something is claimed.
Status check_acceptance(const Answer& answer) {
  const auto is_contraindicated = [](const Trustworthiness& trustworthiness) {
    return tier_of(trustworthiness) == Tier::kContraindicated;
  };
  if (is_contraindicated(answer.trustworthiness) ||
      std::ranges::any_of(answer.parts, is_contraindicated, &EvidencePart::trustworthiness)) {
    return no_answer("it accepts evidence in which an aspect is contraindicated");
  }
  if (answer.trustworthiness == Trustworthiness{}) {
    return no_answer("it accepts evidence and claims nothing of it");
  }
  return {};
}

}  // namespace

Result<Answer> parse_answer(ByteView bytes, std::string_view type,
                            const ReportDataBytes& expected) {
  const auto json = parse_json(bytes);
  if (!json) {
    return no_answer(to_string(json.error()));
  }
  if (const Status valid = validate("plugin-answer", *json); !valid) {
    return no_answer(to_string(valid.error()));
  }
  if (members::text(*json, "type") != type) {
    return no_answer("it is about another type of evidence");
  }
  if (members::text(*json, "report_data") != hex_encode(expected)) {
    return no_answer("it is about other report data");
  }
  const Json none = Json::object();
  Answer answer;
  answer.accepted = members::text(*json, "verdict") == "accepted";
  answer.error = members::text(*json, "error");
  answer.tcb_status = members::text(*json, "tcb_status");
  ASSAY_ASSIGN(answer.platform, hex_decode(members::text(*json, "platform")));
  if (json->contains("valid_until")) {
    answer.valid_until = Timestamp(std::chrono::seconds(
        static_cast<std::int64_t>(std::min(members::number(*json, "valid_until"), kLastSecond))));
  }
  answer.measurements = members::text_map(*json, "measurements");
  answer.trustworthiness = read_trustworthiness(members::child(*json, "trustworthiness", none));
  answer.parts = read_parts(members::child(*json, "parts", none));
  answer.claims = members::child(*json, "claims", none);
  if (answer.accepted) {
    ASSAY_TRY(check_acceptance(answer));
  }
  return answer;
}

}  // namespace assay::attestation::plugin
