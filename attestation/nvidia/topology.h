// SPDX-License-Identifier: Apache-2.0
// Protected PCIe: eight GPUs and four switches of one board, which name each other by their
// physical identities. Identities of the devices are those of their certificates, so that a switch
// of one machine does not count for GPUs of another one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/verify.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kTopologyGpus = 8;
inline constexpr std::size_t kTopologySwitches = 4;

// The part of a device that its neighbours are compared with.
struct BoardDevice {
  Digest identity;
  DeviceKind kind;
  bool is_protected;  // in protected PCIe mode
  std::optional<std::string> pdi;
  std::vector<std::string> neighbours;
};
[[nodiscard]] BoardDevice board_device(const DeviceFacts& facts);

// Checks that no device is there twice: devices of any mode. Errors: TOPOLOGY_DOUBLED.
[[nodiscard]] Outcome check_distinct(std::span<const BoardDevice> devices);

// Checks that `devices` are kTopologyGpus GPUs in protected PCIe mode and kTopologySwitches
// switches, that each GPU names exactly these switches, and each switch exactly these GPUs. Errors:
// TOPOLOGY_COUNT, TOPOLOGY_DOUBLED, TOPOLOGY_MISMATCH.
[[nodiscard]] Outcome check_topology(std::span<const BoardDevice> devices);

// Checks devices that stand together: a GPU in protected PCIe mode, and a switch beside others, are
// worth as much as the board that they are on. Returns whether they are such a board. Errors: as
// above.
[[nodiscard]] Checked<bool> check_together(std::span<const BoardDevice> devices);

}  // namespace assay::attestation::nvidia
