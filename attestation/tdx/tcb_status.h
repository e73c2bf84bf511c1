// SPDX-License-Identifier: Apache-2.0
// TCB statuses and how those of platform, TDX module and quoting enclave become one.
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
  // Only ever a result: the TD runs on a module that was updated after its launch.
  kTdRelaunchAdvised,
  kTdRelaunchAdvisedConfigurationNeeded,
};

// "UpToDate" and so on, as Intel writes them.
[[nodiscard]] std::string_view name(TcbStatus status);
[[nodiscard]] std::optional<TcbStatus> tcb_status_from(std::string_view name);
// Statuses that a platform level may have: all but the relaunch ones.
[[nodiscard]] bool is_platform_status(TcbStatus status);
// Statuses that a level of a module or of the quoting enclave may have: UpToDate, OutOfDate,
// Revoked.
[[nodiscard]] bool is_component_status(TcbStatus status);
// True when the platform's configuration must change (BIOS settings, for instance).
[[nodiscard]] bool needs_configuration(TcbStatus status);

// The platform's status after a component (TDX module, then quoting enclave) has had its say.
// `component` is one of is_component_status().
[[nodiscard]] TcbStatus converge(TcbStatus platform, TcbStatus component);

// What a matched TCB level says.
struct TcbVerdict {
  TcbStatus status = TcbStatus::kRevoked;
  Timestamp date;
  std::vector<std::string> advisories;  // opaque: INTEL-SA-nnnnn, INTEL-DOC-nnnnn
};

}  // namespace assay::attestation::tdx
