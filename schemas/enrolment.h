// SPDX-License-Identifier: Apache-2.0
// Enrolment: the holder of a worker key states for which node the key signs, and evidence
// (schemas/evidence.h) shows in which hardware the key is kept.
// Schema: enrolment.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/evidence.h"

namespace assay {

// DSSE payload type. The worker key named in the payload signs the payload, which proves possession
// of the key.
inline constexpr std::string_view kEnrolmentPayloadType = "application/vnd.assay.enrolment+json";

// A device that can hash, as the node describes it.
struct NodeDevice {
  std::string id;  // "cpu", "opencl:0"
  std::string name;
  std::string driver;
  bool operator==(const NodeDevice&) const = default;
};
[[nodiscard]] Json to_json(const NodeDevice& device);
[[nodiscard]] Result<NodeDevice> read_json(json::As<NodeDevice> type, const Json& json);

// Evidence of one device, as the node presents it.
struct PresentedDevice {
  std::string
      uuid;  // as reports name the device: "GPU-..."; the node's word for whose evidence it is
  Evidence evidence;
};
[[nodiscard]] Json to_json(const PresentedDevice& device);
[[nodiscard]] Result<PresentedDevice> read_json(json::As<PresentedDevice> type, const Json& json);

inline constexpr std::size_t kMaxPresentedDevices = 32;

struct Enrolment {
  EnrolmentRequest request;
  Nonce nonce;
  Bytes public_key;                  // SubjectPublicKeyInfo DER of the worker key
  std::optional<Evidence> evidence;  // absent: an unmeasured worker
  std::vector<NodeDevice> devices;   // at most 64
  std::string identity_token{};      // ServiceAccount token; empty: none
  // Beside evidence of the node; as many, and in the order, as request.devices.
  std::vector<PresentedDevice> device_evidence{};
};
[[nodiscard]] Json to_json(const Enrolment& enrolment);
[[nodiscard]] Result<Enrolment> parse_enrolment(ByteView payload);

}  // namespace assay
