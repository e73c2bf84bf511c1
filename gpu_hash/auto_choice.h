// SPDX-License-Identifier: Apache-2.0
// Chooses the engine for --device auto: the one that was measured to hash data in host memory
// fastest.
#pragma once

#include <optional>
#include <string>

#include "gpu_hash/dispatch.h"

namespace assay::gpu_hash {

struct AutoChoice {
  std::optional<unsigned> index;  // among the OpenCL devices; absent: the CPU engine
  std::string id;                 // in the form that --device takes
  std::string reason;             // one sentence for people
};

// Chooses the engine on this machine. Each device is measured once (choose/choose.h). The measured
// rates are stored in the user's cache, by device, driver and processor. Without a GPU or
// accelerator, chooses the CPU engine without measuring, because an OpenCL device on a CPU is never
// faster than the CPU engine. A device that fails, for example in its self-test, is not chosen.
[[nodiscard]] AutoChoice choose_auto(Drivers& drivers, const EngineOptions& options = {});

}  // namespace assay::gpu_hash
