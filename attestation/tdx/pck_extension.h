// SPDX-License-Identifier: Apache-2.0
// The SGX extension of a PCK certificate (OID 1.2.840.113741.1.13.1): the platform and its security
// versions. Intel "PCK Certificate and CRL Profile Specification", section 1.3.5.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

struct PckExtension {
  std::array<std::uint8_t, 16> ppid{};
  std::array<std::uint8_t, 16> components{};  // SGX TCB component SVNs
  std::uint16_t pcesvn = 0;
  std::array<std::uint8_t, 2> pceid{};
  std::array<std::uint8_t, 6> fmspc{};
  std::uint8_t sgx_type = 0;  // 0 standard, 1 scalable, 2 scalable with integrity
  // Present only in certificates that the platform CA issued.
  std::optional<std::array<std::uint8_t, 16>> platform_instance_id;
  bool operator==(const PckExtension&) const = default;
};

// Parses the extension's value. Returns nullopt when it is not DER, when a required member is
// missing or occurs twice, or when a number is out of range. Unknown members are skipped, because
// they too are signed by Intel.
[[nodiscard]] std::optional<PckExtension> parse_pck_extension(ByteView der);

}  // namespace assay::attestation::tdx
