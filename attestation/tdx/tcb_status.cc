// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/tcb_status.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::attestation::tdx {
namespace {

constexpr std::array<std::string_view, 9> kNames = {
    "UpToDate",
    "SWHardeningNeeded",
    "ConfigurationNeeded",
    "ConfigurationAndSWHardeningNeeded",
    "OutOfDate",
    "OutOfDateConfigurationNeeded",
    "Revoked",
    "TDRelaunchAdvised",
    "TDRelaunchAdvisedConfigurationNeeded",
};

TcbStatus converge_out_of_date(TcbStatus platform) {
  switch (platform) {
    case TcbStatus::kUpToDate:
    case TcbStatus::kSwHardeningNeeded:
      return TcbStatus::kOutOfDate;
    case TcbStatus::kConfigurationNeeded:
    case TcbStatus::kConfigurationAndSwHardeningNeeded:
      return TcbStatus::kOutOfDateConfigurationNeeded;
    default:
      return platform;
  }
}

}  // namespace

std::string_view name(TcbStatus status) { return kNames[std::to_underlying(status)]; }

std::optional<TcbStatus> tcb_status_from(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return std::nullopt;
  }
  return static_cast<TcbStatus>(found - kNames.begin());
}

bool is_platform_status(TcbStatus status) { return status <= TcbStatus::kRevoked; }

bool is_component_status(TcbStatus status) {
  return status == TcbStatus::kUpToDate || status == TcbStatus::kOutOfDate ||
         status == TcbStatus::kRevoked;
}

bool needs_configuration(TcbStatus status) {
  return status == TcbStatus::kConfigurationNeeded ||
         status == TcbStatus::kConfigurationAndSwHardeningNeeded ||
         status == TcbStatus::kOutOfDateConfigurationNeeded ||
         status == TcbStatus::kTdRelaunchAdvisedConfigurationNeeded;
}

TcbStatus converge(TcbStatus platform, TcbStatus component) {
  switch (component) {
    case TcbStatus::kUpToDate:
      return platform;
    case TcbStatus::kOutOfDate:
      return converge_out_of_date(platform);
    default:
      return TcbStatus::kRevoked;
  }
}

}  // namespace assay::attestation::tdx
