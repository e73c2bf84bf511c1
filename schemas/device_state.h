// SPDX-License-Identifier: Apache-2.0
// One device (a GPU, a switch) by its accepted evidence, beside the node's processor. The
// words are the same for every vendor. Kept with the evidence, and a part of the facts of
// decisions.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

struct DeviceState {
  std::string vendor;        // "nvidia"
  std::string kind;          // "gpu" or "switch"
  Digest identity;           // of the device's own key: the same with every firmware
  std::string architecture;  // "hopper", "blackwell", "ls10"
  std::string mode;          // "cc" or "ppcie"; empty for a switch
  std::string driver;        // version that the device measured; empty for a switch
  std::string firmware;      // version: of a GPU its VBIOS
  // "rim": every measurement is as the vendor's signed manifest demands. "waived": the ones in
  // `waived` are not. "none": the appraisal policy asked for no comparison.
  std::string measurements;
  std::vector<std::string> waived{};  // "driver:9"
  std::string rim;                    // the manifests' certificates: "valid" or "expired"
  std::string revocation;             // "good", "hold" or "unknown"
  std::string debug;                  // "disabled" or "unknown"
  // By which devices of one board name each other; empty: unknown.
  std::string bus{};
  std::vector<std::string> neighbours{};
  bool operator==(const DeviceState&) const = default;
};
[[nodiscard]] Json to_json(const DeviceState& device);
// Errors: schema-violation; unknown-member.
[[nodiscard]] Result<DeviceState> read_json(json::As<DeviceState> type, const Json& json);

}  // namespace assay
