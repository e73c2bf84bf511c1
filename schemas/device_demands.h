// SPDX-License-Identifier: Apache-2.0
// Demands of a policy on the devices of a node, as their own evidence shows it
// (schemas/device_state.h). Part of conditions on nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Demands without members ask for accepted evidence of all devices. An empty list is no constraint.
struct DeviceDemands {
  std::vector<std::string> vendor{};        // "nvidia"
  std::vector<std::string> architecture{};  // "hopper", "blackwell", "ls10"
  std::vector<std::string> mode{};          // of GPUs: "cc", "ppcie"
  bool allow_waived = false;                // JSON: "measurements": "waived"; otherwise "rim"
  std::optional<std::string> min_driver{};  // "580.65.06": numbers between dots; of GPUs
  std::optional<std::string> min_vbios{};   // "96.00.5E.00.01": hex between dots; of GPUs
  std::optional<std::uint64_t> max_age_seconds{};  // of each device's evidence
  // As many devices as the node's registration states, and every one as demanded. Otherwise one GPU
  // that is as demanded is enough.
  bool all = true;
  bool operator==(const DeviceDemands&) const = default;
};
[[nodiscard]] Json to_json(const DeviceDemands& demands);
[[nodiscard]] Result<DeviceDemands> read_json(json::As<DeviceDemands> type, const Json& json);

// Compares versions part by part, as numbers of this base (10 or 16) between dots; missing parts
// are 0. Returns nothing when one cannot be read.
[[nodiscard]] std::optional<bool> is_older_version(const std::string& version,
                                                   const std::string& least, int base);

}  // namespace assay
