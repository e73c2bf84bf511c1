// SPDX-License-Identifier: Apache-2.0
// Enrolments: shape by enrolment.schema.json.
#include "schemas/enrolment.h"

#include <algorithm>
#include <string_view>

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

// The longest evidence takes 8 MiB, in few values: anybody can sign an enrolment, with a key of
// their own.
constexpr std::size_t kMaxEnrolmentMemory = 10U << 20;
constexpr JsonLimits kLimits{.max_bytes = 12U << 20, .max_memory = kMaxEnrolmentMemory};

// Too long for a pattern of the schema. Compact JWS, RFC 7515 section 3.1.
bool is_token_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

Json to_json(const NodeDevice& device) {
  return {{"id", device.id}, {"name", device.name}, {"driver", device.driver}};
}

Json to_json(const Enrolment& enrolment) {
  Json devices = Json::array();
  for (const NodeDevice& device : enrolment.devices) {
    devices.push_back(to_json(device));
  }
  Json json = {{"request", to_json(enrolment.request)},
               {"nonce", text(enrolment.nonce)},
               {"public_key", base64_encode(enrolment.public_key)},
               {"devices", std::move(devices)}};
  if (enrolment.evidence) {
    json["evidence"] = to_json(*enrolment.evidence);
  }
  if (!enrolment.identity_token.empty()) {
    json["identity_token"] = enrolment.identity_token;
  }
  return json;
}

Result<Enrolment> parse_enrolment(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kLimits));
  ASSAY_TRY(validate("enrolment", json));
  Enrolment enrolment;
  const Json& request = json["request"];
  enrolment.request = {members::text(request, "audience"), members::text(request, "node"),
                       members::text(request, "platform"),
                       members::text(request, "identity_token")};
  enrolment.identity_token = members::text(json, "identity_token");
  if (!is_token_text(enrolment.identity_token)) {
    return fail(ErrorCode::kSchemaViolation, "a token has letters, digits, '_', '-' and '.' alone",
                "/identity_token");
  }
  ASSAY_ASSIGN(enrolment.nonce, parse_nonce(members::text(json, "nonce")));
  auto key = base64_decode(members::text(json, "public_key"));
  if (!key) {
    return members::under("/public_key", std::move(key).error());
  }
  enrolment.public_key = *std::move(key);
  if (const auto evidence = json.find("evidence"); evidence != json.end()) {
    auto read = evidence_from_json(*evidence);
    if (!read) {
      return members::under("/evidence", std::move(read).error());
    }
    enrolment.evidence = *std::move(read);
  }
  for (const Json& device : json["devices"]) {
    enrolment.devices.push_back({members::text(device, "id"), members::text(device, "name"),
                                 members::text(device, "driver")});
  }
  return enrolment;
}

}  // namespace assay
