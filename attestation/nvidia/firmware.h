// SPDX-License-Identifier: Apache-2.0
// Reads firmware, mode and neighbours in the opaque fields of a report, and which RIMs the report
// asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attestation/nvidia/device_chain.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/spdm.h"

namespace assay::attestation::nvidia {

enum class DeviceMode : std::uint8_t { kConfidential, kProtectedPcie };
// Returns "cc" or "ppcie".
[[nodiscard]] std::string_view name(DeviceMode mode);

struct WantedRim {
  RimSource source;
  std::string id;
};

struct FirmwareFacts {
  DeviceMode mode = DeviceMode::kConfidential;
  std::optional<std::string> driver;    // of a GPU
  std::string vbios;                    // "96.00.5E.00.01"; of a switch its BIOS
  std::vector<WantedRim> wanted;        // driver (of a GPU) and VBIOS
  std::vector<std::string> neighbours;  // PDIs: switches of a GPU, GPUs of a switch; sorted, unique
  // Whether measurement 35 counts: by the state of NVDEC 0. Nothing when the report does not say.
  std::optional<bool> has_nvdec;
};

// Reads the fields of a device of this kind. Errors: OPAQUE_FORMAT, OPAQUE_MISSING, OPAQUE_VERSION,
// MODE_CONTRADICTION.
[[nodiscard]] Checked<FirmwareFacts> read_firmware(const ReportView& report,
                                                   const DeviceChain& device);

}  // namespace assay::attestation::nvidia
