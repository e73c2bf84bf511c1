// SPDX-License-Identifier: Apache-2.0
// The choice between engines as a pure function. Internal to this folder.
#pragma once

#include <optional>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/dispatch.h"

namespace assay::gpu_hash {

// Index of the OpenCL device to use out of `devices` (in the order of list_devices()), or nothing
// for the CPU engine. device-not-found; usage when the choice is of several devices; internal for
// auto, which is auto_choice.h.
[[nodiscard]] Result<std::optional<unsigned>> choose_device(const DeviceChoice& choice,
                                                            const std::vector<DeviceInfo>& devices);

// True when `choice` may be of several OpenCL devices.
[[nodiscard]] bool chooses_several(const DeviceChoice& choice);

// Their indices, at least one. device-not-found; limit-exceeded when there are more than can share
// the work.
[[nodiscard]] Result<std::vector<unsigned>> choose_devices(const DeviceChoice& choice,
                                                           const std::vector<DeviceInfo>& devices);

// choose_device() on this machine, auto included.
[[nodiscard]] Result<std::optional<unsigned>> resolve_device(const DeviceChoice& choice,
                                                             const EngineOptions& options);

}  // namespace assay::gpu_hash
