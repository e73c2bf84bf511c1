// SPDX-License-Identifier: Apache-2.0
// What --device auto takes: the engine that brings host memory to a root fastest, by measurement.
#pragma once

#include <optional>
#include <string>

#include "gpu_hash/dispatch.h"

namespace assay::gpu_hash {

struct AutoChoice {
  std::optional<unsigned> index;  // among the OpenCL devices; nothing is the CPU engine
  std::string id;                 // as --device takes it
  std::string reason;             // one sentence for people
};

// On this machine. A device is measured once (choose/choose.h), and the rates are kept in the
// user's cache under device, driver and processor. Nothing is measured without a GPU or
// accelerator: an OpenCL device on a CPU is never faster than the CPU engine. A device that fails,
// its self-test for one, is not taken.
[[nodiscard]] AutoChoice choose_auto(const EngineOptions& options = {});

}  // namespace assay::gpu_hash
