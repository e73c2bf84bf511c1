// SPDX-License-Identifier: Apache-2.0
// What an event log proves about the start of a machine. Facts about evidence (policy/facts.h) hold
// it, and policies make demands on it (schemas/boot_demands.h).
//
// A register covers digests and their order. The kind and the text of an event are claims of
// whoever hands in the log, so that nothing here depends on them: a digest counts because it was
// extended, whatever the log calls it. Only digests that firmware makes of texts of its own
// (separators, actions, partition tables) are left out of RTMR1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// The most digests of one register that are listed. A longer log is not known in part.
inline constexpr std::size_t kMaxMeasured = 256;

struct MeasuredBoot {
  // Whether the firmware measured the UEFI variable SecureBoot as on, and at no time as off;
  // nullopt: it measured neither.
  std::optional<bool> secure_boot{};
  // SHA-384 digests in lowercase hex, each once, in the order in which they were first extended.
  // nullopt: more than kMaxMeasured.
  std::optional<std::vector<std::string>> rtmr1{};  // by the firmware: what it started
  std::optional<std::vector<std::string>> rtmr2{};  // by boot loader and kernel
  bool operator==(const MeasuredBoot&) const = default;
};

// Writes {"secure_boot","rtmr1","rtmr2"}; what is not known is null.
[[nodiscard]] Json to_json(const MeasuredBoot& boot);
// Parses what to_json() wrote. Errors: schema-violation, with the member's place.
[[nodiscard]] Result<MeasuredBoot> measured_boot_from_json(const Json& json);

}  // namespace assay
