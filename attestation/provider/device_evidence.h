// SPDX-License-Identifier: Apache-2.0
// Evidence of the accelerators of this machine, as provider.h gives that of the machine itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/challenge.h"
#include "schemas/core/error.h"
#include "schemas/enrolment.h"

namespace assay::attestation {

inline constexpr const char* kNvmlLibraryName = "libnvidia-ml.so.1";
inline constexpr const char* kNscqLibraryName = "libnvidia-nscq.so.2";

// A device that the machine has, and whether it can give evidence.
struct ListedDevice {
  std::string uuid;          // "GPU-01234567-89ab-cdef-0123-456789abcdef", "SWX-..."
  std::string kind;          // "gpu" or "switch"
  std::string architecture;  // "HOPPER", "BLACKWELL", "LS10"; empty: one that gives no evidence
  std::string mode;          // "cc", "ppcie", "devtools" or "off"
};

class DeviceEvidenceSource {
 public:
  virtual ~DeviceEvidenceSource() = default;

  // Returns the devices, without asking them for evidence. Errors: device-not-found when the
  // machine has no driver; device-failed.
  [[nodiscard]] virtual Result<std::vector<ListedDevice>> list() = 0;
  // Asks every device for evidence that answers `nonce` (device_nonce() in schemas/evidence.h).
  // A device needs about a second. Errors: those of list(); device-not-confidential, with the UUID,
  // when confidential computing is off; evidence-unavailable for an answer that is none;
  // limit-exceeded for more devices than an enrolment takes.
  [[nodiscard]] virtual Result<std::vector<PresentedDevice>> collect(const Nonce& nonce) = 0;
};

// GPUs, through the management library of the driver (NVML). `library` is the name that dlopen()
// gets. Each call opens the library anew: a driver may come later.
[[nodiscard]] std::unique_ptr<DeviceEvidenceSource> make_nvml_devices(
    std::string library = kNvmlLibraryName);
// NVSwitches, through the library of their driver (NSCQ).
[[nodiscard]] std::unique_ptr<DeviceEvidenceSource> make_nscq_devices(
    std::string library = kNscqLibraryName);
// GPUs, then switches where GPUs are in protected PCIe mode: without it switches belong to the
// host, and give no evidence to a guest.
[[nodiscard]] std::unique_ptr<DeviceEvidenceSource> make_machine_devices(
    std::string nvml = kNvmlLibraryName, std::string nscq = kNscqLibraryName);

// Makes what a device answered into evidence. Errors: evidence-unavailable for sizes that no
// device has, for a report over another nonce, and for a chain that is no PEM.
struct DeviceAnswer {
  std::string uuid;
  std::string_view architecture;
  ByteView report;
  ByteView certificates;
};
[[nodiscard]] Result<PresentedDevice> present_device(const DeviceAnswer& answer,
                                                     const Nonce& nonce);
// Takes a UUID out of a buffer of a library. Errors: evidence-unavailable for a text without end,
// or with other characters than letters, digits and '-'.
[[nodiscard]] Result<std::string> read_uuid(ByteView buffer);

}  // namespace assay::attestation
