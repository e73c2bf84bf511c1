// SPDX-License-Identifier: Apache-2.0
// Evidence of devices as tools write it: a list of {"arch","nonce","evidence","certificate"} as
// nvattest and NVIDIA's service have it, one such object, or {"device_evidence_list":[...]} of
// Trustee.
#pragma once

#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/verify.h"
#include "schemas/core/json.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxDevices = 64;
inline constexpr std::size_t kMaxEvidenceFile = 4U << 20;
inline constexpr std::size_t kMaxDeviceEvidence = 64U << 10;  // JSON of one device

// Parses a file. "evidence" is the report in base64 or hex, "certificate" the PEM chain in base64.
// Members that are not known are ignored, as others write them. Errors: EVIDENCE_FORMAT,
// INPUT_TOO_LARGE.
[[nodiscard]] Checked<std::vector<Evidence>> parse_evidence(ByteView json);

// Parses the evidence of one device: one such object, without members that are not known. Errors:
// EVIDENCE_FORMAT, INPUT_TOO_LARGE.
[[nodiscard]] Checked<Evidence> parse_device(ByteView json);

// Returns the facts about one device, for people and programs.
[[nodiscard]] Json to_json(const DeviceFacts& facts);
// Returns {"error","meaning","expected","actual"}.
[[nodiscard]] Json to_json(const Failure& failure);

}  // namespace assay::attestation::nvidia
