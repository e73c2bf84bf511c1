// SPDX-License-Identifier: Apache-2.0
// The choice between engines as a pure function. Internal to this folder.
#pragma once

#include <optional>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/dispatch.h"

namespace assay::gpu_hash {

// Index of the OpenCL device to use out of `devices` (in the order of list_devices()), or nothing
// for the CPU engine. device-not-found; internal for auto, which is auto_choice.h.
[[nodiscard]] Result<std::optional<unsigned>> choose_device(const DeviceChoice& choice,
                                                            const std::vector<DeviceInfo>& devices);

// The same on this machine, auto included.
[[nodiscard]] Result<std::optional<unsigned>> resolve_device(const DeviceChoice& choice,
                                                             const EngineOptions& options);

}  // namespace assay::gpu_hash
