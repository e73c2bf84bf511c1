// SPDX-License-Identifier: Apache-2.0
// Enrolments: shape by enrolment.schema.json.
#include "schemas/enrolment.h"

#include <algorithm>
#include <string_view>

#include "schemas/document.h"

namespace assay {
namespace {

// The longest evidence takes 8 MiB, in few values: anybody can sign an enrolment, with a key of
// their own.
constexpr std::size_t kMaxEnrolmentMemory = 10U << 20;
constexpr JsonLimits kLimits{.max_bytes = 12U << 20, .max_memory = kMaxEnrolmentMemory};

// Too long for a pattern of the schema. Compact JWS, RFC 7515 section 3.1.
Status check_token(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  return plain ? Status()
               : fail(ErrorCode::kSchemaViolation,
                      "a token has letters, digits, '_', '-' and '.' alone");
}

}  // namespace

static auto members_of(json::As<NodeDevice>) {
  return std::tuple(json::always("id", &NodeDevice::id), json::always("name", &NodeDevice::name),
                    json::always("driver", &NodeDevice::driver));
}
Json to_json(const NodeDevice& device) { return json::write(device); }
Result<NodeDevice> read_json(json::As<NodeDevice> /*type*/, const Json& json) {
  return json::read<NodeDevice>(json);
}

static auto members_of(json::As<PresentedDevice>) {
  return std::tuple(json::always("uuid", &PresentedDevice::uuid),
                    json::always("evidence", &PresentedDevice::evidence));
}
Json to_json(const PresentedDevice& device) { return json::write(device); }
Result<PresentedDevice> read_json(json::As<PresentedDevice> /*type*/, const Json& json) {
  return json::read<PresentedDevice>(json);
}

static auto members_of(json::As<Enrolment>) {
  using T = Enrolment;
  return std::tuple(json::always("request", &T::request),
                    json::always("nonce", &T::nonce, document::kNonce),
                    json::always("public_key", &T::public_key),
                    json::if_set("evidence", &T::evidence), json::always("devices", &T::devices),
                    json::if_set("identity_token", &T::identity_token, json::checked(check_token)),
                    json::if_set("device_evidence", &T::device_evidence));
}
Json to_json(const Enrolment& enrolment) { return json::write(enrolment); }
Result<Enrolment> parse_enrolment(ByteView payload) {
  return document::parse<Enrolment>(payload, "enrolment", kLimits);
}

}  // namespace assay
