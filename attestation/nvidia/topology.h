// SPDX-License-Identifier: Apache-2.0
// Protected PCIe: eight GPUs and four switches of one board, which name each other by their
// physical identities. Identities of the devices are those of their certificates, so that a switch
// of one machine does not count for GPUs of another one.
#pragma once

#include <span>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/verify.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kTopologyGpus = 8;
inline constexpr std::size_t kTopologySwitches = 4;

// Checks that no device is there twice: devices of any mode. Errors: TOPOLOGY_DOUBLED.
[[nodiscard]] Outcome check_distinct(std::span<const DeviceFacts> devices);

// Checks that `devices` are kTopologyGpus GPUs in protected PCIe mode and kTopologySwitches
// switches, that each GPU names exactly these switches, and each switch exactly these GPUs. Errors:
// TOPOLOGY_COUNT, TOPOLOGY_DOUBLED, TOPOLOGY_MISMATCH.
[[nodiscard]] Outcome check_topology(std::span<const DeviceFacts> devices);

}  // namespace assay::attestation::nvidia
