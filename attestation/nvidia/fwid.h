// SPDX-License-Identifier: Apache-2.0
// The digest of the firmware in the leaf of a device chain. Hopper and LS10 have the extension
// 2.23.133.5.4.1 (SEQUENCE of version, device key, FWID), Blackwell TcbInfo, 2.23.133.5.4.1.1.
// Source: TCG DICE Attestation Architecture 1.1 sections 6.1.1 and 6.1.2. Internal to this folder.
#pragma once

#include <optional>

#include "attestation/nvidia/error.h"
#include "attestation/x509/certificate.h"

namespace assay::attestation::nvidia {

struct Firmware {
  std::optional<Bytes> fwid;   // 48 bytes; nothing when the certificate has neither extension
  bool is_debuggable = false;  // flags of TcbInfo: not secure, recovery or debug
};

// The values of both extensions; nothing for one that the certificate lacks.
struct FirmwareExtensions {
  std::optional<Bytes> composite;  // 2.23.133.5.4.1
  std::optional<Bytes> tcb_info;   // 2.23.133.5.4.1.1
};

// Reads the extension. Of several digests in TcbInfo the first counts. Errors: FWID_FORMAT for
// anything else than one of the two forms with a SHA-384, and for both at once.
[[nodiscard]] Checked<Firmware> read_extensions(const FirmwareExtensions& extensions);
[[nodiscard]] Checked<Firmware> firmware_of(const x509::Certificate& leaf);

}  // namespace assay::attestation::nvidia
