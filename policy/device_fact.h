// SPDX-License-Identifier: Apache-2.0
// One device of a node, by the device's own evidence.
// Part of the facts document (policy/facts.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/anchor.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/device_state.h"

namespace assay::policy {

struct DeviceFact {
  std::string uuid;  // as reports name it; the word of the node's agent
  Timestamp appraised_at;
  bool current = false;                    // appraised under what is in force
  std::string error{};                     // error code if refused at present; empty: accepted
  std::optional<Timestamp> valid_until{};  // as StageEvidenceFact::valid_until
  std::optional<Anchor> anchor{};
  bool anchor_is_vendor = false;
  std::optional<DeviceState> state{};  // of accepted evidence
  bool operator==(const DeviceFact&) const = default;
};
[[nodiscard]] Json to_json(const DeviceFact& device);
[[nodiscard]] Result<DeviceFact> read_json(json::As<DeviceFact> type, const Json& json);

struct NodeFact;  // policy/facts.h

// Returns whether accepted evidence of the node compared what drives its devices (firmware, kernel
// and what it starts) with reference values. Other waivers change
// nothing: without that, the evidence of a device on another machine could be shown here. Types of
// evidence that are not known by name never do.
[[nodiscard]] bool covers_guest(const NodeFact& node);

// Returns whether the device's evidence counts at `now` beside that of its node.
[[nodiscard]] bool is_attested(const NodeFact& node, const DeviceFact& device, Timestamp now);

}  // namespace assay::policy
