// SPDX-License-Identifier: Apache-2.0
// Enrolment: a worker key says which node it speaks for, and evidence says where that key lives.
// Schema: enrolment.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/evidence.h"

namespace assay {

// DSSE payload, signed by the worker key that it names: proof of possession.
inline constexpr std::string_view kEnrolmentPayloadType = "application/vnd.assay.enrolment+json";

// A device that can hash, as the node describes it.
struct NodeDevice {
  std::string id;  // "cpu", "opencl:0"
  std::string name;
  std::string driver;
  bool operator==(const NodeDevice&) const = default;
};
[[nodiscard]] Json to_json(const NodeDevice& device);

struct Enrolment {
  EnrolmentRequest request;
  Nonce nonce;
  Bytes public_key;                  // SubjectPublicKeyInfo DER of the worker key
  std::optional<Evidence> evidence;  // absent: an unmeasured worker
  std::vector<NodeDevice> devices;   // at most 64
  std::string identity_token{};      // ServiceAccount token; empty: none
};
[[nodiscard]] Json to_json(const Enrolment& enrolment);
[[nodiscard]] Result<Enrolment> parse_enrolment(ByteView payload);

}  // namespace assay
