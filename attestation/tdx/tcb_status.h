// SPDX-License-Identifier: Apache-2.0
// TCB statuses, and how the statuses of platform, TDX module and quoting enclave merge into one.
// Intel QVL steps 4.1.2.4.17 and 4.1.2.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"

namespace assay::attestation::tdx {

enum class TcbStatus : std::uint8_t {
  kUpToDate,
  kSwHardeningNeeded,
  kConfigurationNeeded,
  kConfigurationAndSwHardeningNeeded,
  kOutOfDate,
  kOutOfDateConfigurationNeeded,
  kRevoked,
  // The next two statuses occur only in results, never in TCB levels. They mean that the TDX module
  // was updated after the TD's launch.
  kTdRelaunchAdvised,
  kTdRelaunchAdvisedConfigurationNeeded,
};

// Returns "UpToDate" and so on, in Intel's spelling.
[[nodiscard]] std::string_view name(TcbStatus status);
[[nodiscard]] std::optional<TcbStatus> tcb_status_from(std::string_view name);
// Returns true for a status that a platform level can have: all but the relaunch statuses.
[[nodiscard]] bool is_platform_status(TcbStatus status);
// Returns true for a status that a level of a module or of the quoting enclave can have: UpToDate,
// OutOfDate, Revoked.
[[nodiscard]] bool is_component_status(TcbStatus status);
// Returns true when the platform's configuration must change (BIOS settings, for instance).
[[nodiscard]] bool needs_configuration(TcbStatus status);

// Merges the status of a component into the platform's status: first that of the TDX module, then
// that of the quoting enclave. is_component_status() must be true for `component`.
[[nodiscard]] TcbStatus converge(TcbStatus platform, TcbStatus component);

// The content of a matched TCB level.
struct TcbVerdict {
  TcbStatus status = TcbStatus::kRevoked;
  Timestamp date;
  std::vector<std::string> advisories;  // opaque: INTEL-SA-nnnnn, INTEL-DOC-nnnnn
};

}  // namespace assay::attestation::tdx
