// SPDX-License-Identifier: Apache-2.0
// Devices of one board.
#include "attestation/nvidia/topology.h"

#include <algorithm>
#include <string>
#include <vector>

namespace assay::attestation::nvidia {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : " ") + item;
  }
  return text;
}

// Sorted identities of the devices of one kind.
Checked<std::vector<std::string>> pdis(std::span<const BoardDevice> devices, DeviceKind kind) {
  std::vector<std::string> all;
  for (const BoardDevice& device : devices) {
    if (device.kind != kind) {
      continue;
    }
    if (!device.pdi) {
      return reject(NvidiaError::kTopologyMismatch, "an identity in the certificate",
                    device.identity.text());
    }
    all.push_back(*device.pdi);
  }
  std::ranges::sort(all);
  return all;
}

Outcome check_neighbours(std::span<const BoardDevice> devices, DeviceKind kind,
                         const std::vector<std::string>& wanted) {
  for (const BoardDevice& device : devices) {
    if (device.kind == kind && device.neighbours != wanted) {
      return reject(NvidiaError::kTopologyMismatch, joined(wanted), joined(device.neighbours),
                    device.pdi.value_or(""));
    }
  }
  return {};
}

}  // namespace

BoardDevice board_device(const DeviceFacts& facts) {
  return {facts.identity, facts.kind, facts.firmware.mode == DeviceMode::kProtectedPcie, facts.pdi,
          facts.firmware.neighbours};
}

Outcome check_distinct(std::span<const BoardDevice> devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (devices[i].identity == devices[j].identity ||
          (devices[i].pdi && devices[i].pdi == devices[j].pdi)) {
        return reject(NvidiaError::kTopologyDoubled,
                      "devices " + std::to_string(j) + " and " + std::to_string(i) + " to differ",
                      devices[i].identity.text());
      }
    }
  }
  return {};
}

Outcome check_topology(std::span<const BoardDevice> devices) {
  const auto gpus = std::ranges::count(devices, DeviceKind::kGpu, &BoardDevice::kind);
  const auto protected_gpus = std::ranges::count_if(devices, [](const BoardDevice& device) {
    return device.kind == DeviceKind::kGpu && device.is_protected;
  });
  if (gpus != kTopologyGpus || protected_gpus != gpus ||
      devices.size() != kTopologyGpus + kTopologySwitches) {
    return reject(NvidiaError::kTopologyCount, "8 GPUs in protected PCIe mode and 4 switches",
                  std::to_string(protected_gpus) + " of " + std::to_string(gpus) + " GPUs, and " +
                      std::to_string(devices.size() - static_cast<std::size_t>(gpus)) +
                      " switches");
  }
  if (auto checked = check_distinct(devices); !checked) {
    return checked;
  }
  const auto gpu_pdis = pdis(devices, DeviceKind::kGpu);
  const auto switch_pdis = pdis(devices, DeviceKind::kSwitch);
  for (const auto* names : {&gpu_pdis, &switch_pdis}) {
    if (!*names) {
      return std::unexpected(names->error());
    }
  }
  if (auto checked = check_neighbours(devices, DeviceKind::kGpu, *switch_pdis); !checked) {
    return checked;
  }
  return check_neighbours(devices, DeviceKind::kSwitch, *gpu_pdis);
}

Checked<bool> check_together(std::span<const BoardDevice> devices) {
  // A switch beside others is one of a board: alone it says nothing about the GPUs beside it.
  const bool is_board = std::ranges::any_of(devices, [&](const BoardDevice& device) {
    return device.kind == DeviceKind::kGpu ? device.is_protected : devices.size() > 1;
  });
  if (auto checked = is_board ? check_topology(devices) : check_distinct(devices); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  return is_board;
}

}  // namespace assay::attestation::nvidia
